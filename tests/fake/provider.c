// SPDX-License-Identifier: Apache-2.0
// Stands in for providers of language models: their four HTTP APIs on real sockets of this host,
// with and without TLS, well and badly behaved.
//     fake-provider LOG NAME[=PEM]...
// opens a port for each NAME, with TLS if there is a PEM (certificates and key), and prints "NAME
// PORT" for each. What it does is said by the model's name in the request, up to the first '@': see
// acts[] and mishaps[]. LOG has one line of JSON for every request, {"listener", "method", "path",
// "headers", "model", "body"}, and for every handshake of TLS, {"listener", "handshake": BOOL}.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <openssl/err.h>

#include "core/util.h"
#include "tests/fake/provider_errors.h"

enum { REQUEST_MAX = 16 << 20, LOGGED_MAX = 1 << 16 };

static int log_fd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of log_fd and of seen */
static json_t *seen;                                     /* how often "format model" was asked */

static void say(json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    size_t n = strlen(text);
    text[n] = '\n'; /* one write: a line is never seen half */
    pthread_mutex_lock(&lock);
    if (write(log_fd, text, n + 1) < 0)
        _exit(1);
    pthread_mutex_unlock(&lock);
    free(text);
    json_decref(line);
}

/* ---- requests ---- */

/* The head's fields, names in lower case. */
static json_t *fields_of(const struct exchange *x)
{
    json_t *fields = json_object();
    char line[4096], name[128];
    const char *at = strstr(x->in.data, "\r\n"), *end = x->in.data + x->head;
    for (at = at ? at + 2 : end; at < end && *at != '\r'; at = strstr(at, "\r\n") + 2) {
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\r"), at);
        size_t n = strcspn(line, ":"), i;
        for (i = 0; i < n && i + 1 < sizeof(name); i++)
            name[i] = (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] + 32 : line[i]);
        name[i] = '\0';
        const char *value = line + n + (line[n] == ':');
        json_object_set_new(fields, name, json_string(value + strspn(value, " ")));
    }
    return fields;
}

static size_t body_length(const struct exchange *x)
{
    const char *at = strcasestr(x->in.data, "\r\nContent-Length:");
    return at ? strtoul(at + 17, NULL, 10) : 0;
}

/* Head and body. False: the connection is over. */
static bool read_request(struct exchange *x)
{
    size_t whole = SIZE_MAX;
    x->head = 0;
    while (x->in.len < whole) {
        char *to = buf_room(&x->in, 16384);
        ssize_t did = to ? take(x, to, 16384) : 0;
        if (did <= 0)
            return false;
        x->in.len += (size_t)did;
        x->in.data[x->in.len] = '\0';
        const char *end = x->head ? NULL : strstr(x->in.data, "\r\n\r\n");
        if (end) {
            x->head = (size_t)(end + 4 - x->in.data);
            whole = x->head + body_length(x);
        }
    }
    return true;
}

/* Which provider's address it is. False: nobody's. */
static bool find_format(struct exchange *x)
{
    static const char *const ends[] = {"/chat/completions", "/responses", "/messages"};
    const char *model = json_string_value(json_object_get(x->body, "model"));
    const char *gemini = strstr(x->path, "/models/");
    x->stream = json_is_true(json_object_get(x->body, "stream"));
    if (gemini) {
        gemini += strlen("/models/");
        snprintf(x->model, sizeof(x->model), "%.*s", (int)strcspn(gemini, ":"), gemini);
        x->stream = strstr(gemini, ":streamGenerateContent?alt=sse");
        x->format = GEMINI;
        return x->stream || strstr(gemini, ":generateContent");
    }
    snprintf(x->model, sizeof(x->model), "%s", model ? model : "");
    for (x->format = CHAT; x->format < GEMINI; x->format++) {
        size_t n = strlen(x->path), m = strlen(ends[x->format]);
        if (n >= m && !strcmp(x->path + n - m, ends[x->format]))
            return true;
    }
    return false;
}

static bool understand(struct exchange *x)
{
    json_t *fields = fields_of(x);
    const char *key = json_string_value(json_object_get(fields, "authorization"));
    if (key)
        key += !strncmp(key, "Bearer ", 7) ? 7 : 0;
    if (!key)
        key = json_string_value(json_object_get(fields, "x-api-key"));
    if (!key)
        key = json_string_value(json_object_get(fields, "x-goog-api-key"));
    snprintf(x->key, sizeof(x->key), "%s", key ? key : "");
    if (sscanf(x->in.data, "%15s %511s", x->method, x->path) != 2)
        x->path[0] = '\0';
    json_decref(x->body);
    x->body = json_loads(x->in.data + x->head, 0, NULL);
    x->model[0] = '\0';
    bool known = find_format(x);
    snprintf(x->act, sizeof(x->act), "%.*s", (int)strcspn(x->model, "@"), x->model);
    say(json_pack("{s:s, s:s, s:s, s:s, s:o, s:O?}", "listener", x->at->name, "method", x->method,
                  "path", x->path, "model", x->model, "headers", fields, "body",
                  x->in.len < LOGGED_MAX ? x->body : NULL));
    return known;
}

/* How often this model was asked before now. */
static int asked(const struct exchange *x)
{
    char name[160];
    snprintf(name, sizeof(name), "%d %s", x->format, x->model);
    pthread_mutex_lock(&lock);
    int n = (int)json_integer_value(json_object_get(seen, name));
    json_object_set_new(seen, name, json_integer(n + 1));
    pthread_mutex_unlock(&lock);
    return n;
}

static void obey(struct exchange *x)
{
    for (size_t i = 0; i < COUNT_OF(acts); i++)
        if (!strcmp(x->act, acts[i].name)) {
            acts[i].act(x);
            return;
        }
    for (size_t i = 0; i < COUNT_OF(mishaps); i++)
        if (!strcmp(x->act, mishaps[i].name)) {
            if (mishaps[i].times > 0 && asked(x) >= mishaps[i].times)
                act_normal(x);
            else
                go_wrong(x, &mishaps[i]);
            return;
        }
    send_body(x, 418, "text/plain", "", "no such behaviour", 17);
}

/* ---- connections ---- */

static bool shake_hands(struct exchange *x)
{
    if (!x->at->tls)
        return true;
    x->ssl = SSL_new(x->at->tls);
    bool good = x->ssl && SSL_set_fd(x->ssl, x->fd) && SSL_accept(x->ssl) == 1;
    say(json_pack("{s:s, s:b}", "listener", x->at->name, "handshake", good));
    x->rude = !good;
    return good;
}

static void hang_up(struct exchange *x)
{
    struct linger at_once = {1, 0};
    if (x->ssl && !x->rude)
        SSL_shutdown(x->ssl);
    SSL_free(x->ssl);
    if (x->rude)
        setsockopt(x->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    shutdown(x->fd, SHUT_WR);
    close(x->fd);
    ERR_clear_error();
}

static void *serve(void *arg)
{
    struct exchange *x = arg;
    int yes = 1;
    setsockopt(x->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    buf_init(&x->in, REQUEST_MAX);
    bool go = shake_hands(x);
    while (go && !x->close && read_request(x)) {
        if (understand(x))
            obey(x);
        else
            send_body(x, 404, "text/plain", "", "nothing is here", 15);
        buf_clear(&x->in);
    }
    hang_up(x);
    buf_release(&x->in);
    json_decref(x->body);
    free(x);
    return NULL;
}

static void *listen_on(void *arg)
{
    const struct listener *at = arg;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int fd; (fd = accept4(at->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        struct exchange *x = calloc(1, sizeof(*x));
        pthread_t thread;
        *x = (struct exchange){.at = at, .fd = fd};
        if (pthread_create(&thread, &detached, serve, x))
            _exit(1);
    }
    return NULL;
}

static bool open_port(struct listener *at, char *what)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    char *pem = strchr(what, '=');
    at->name = what;
    if (pem) {
        *pem++ = '\0';
        at->tls = SSL_CTX_new(TLS_server_method());
        if (!at->tls || SSL_CTX_use_certificate_chain_file(at->tls, pem) != 1 ||
            SSL_CTX_use_PrivateKey_file(at->tls, pem, SSL_FILETYPE_PEM) != 1)
            return false;
    }
    at->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(at->fd, (struct sockaddr *)&address, len) || listen(at->fd, 128) ||
        getsockname(at->fd, (struct sockaddr *)&address, &len))
        return false;
    at->port = ntohs(address.sin_port);
    return true;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3 || argc - 2 > LISTENERS) {
        fprintf(stderr, "usage: fake-provider LOG NAME[=PEM]...\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    seen = json_object();
    log_fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (int i = 2; i < argc; i++)
        if (log_fd < 0 || !open_port(&listeners[i - 2], argv[i])) {
            fprintf(stderr, "fake-provider: cannot open %s\n", argv[i]);
            return 1;
        }
    for (int i = 2; i < argc; i++) {
        if (pthread_create(&thread, NULL, listen_on, &listeners[i - 2]))
            return 1;
        printf("%s %d\n", listeners[i - 2].name, listeners[i - 2].port);
    }
    fflush(stdout);
    pthread_join(thread, NULL);
    return 1;
}
