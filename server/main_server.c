// SPDX-License-Identifier: Apache-2.0
// ptxbench-server: HTTP in front of PostgreSQL. Reads its options, starts the parts in order, waits
// for a signal, drains, stops them in reverse.
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/db/migrate.h"
#include "core/log.h"
#include "core/util.h"
#include "server/cache.h"
#include "server/files.h"
#include "server/http.h"
#include "server/hub.h"
#include "server/metrics.h"
#include "server/pool.h"
#include "server/reaper.h"

enum {
    OTHER_FILES = 256, /* descriptors beside client connections */
    MOST_THREADS = 64,
    MOST_LIMIT = 1000000,
};

struct options {
    struct config config;
    bool verbose, help, version;
};

/* One option: its name, what it takes (NULL: nothing), what it does. */
static const struct {
    const char *name, *takes, *meaning;
    char key;
} table[] = {
    {"database", "CONNINFO", "PostgreSQL to use (default: $PTXBENCH_DATABASE, else libpq's own)",
     'd'},
    {"listen", "ADDRESS", "numeric address to listen on (default 127.0.0.1)", 'l'},
    {"port", "PORT", "port to listen on; 0 takes any free one (default 8080)", 'p'},
    {"port-search", NULL, "if the port is busy, take the next free one", 's'},
    {"host", "NAME", "a host name to answer to, beside localhost; may be repeated", 'H'},
    {"trusted-proxy", "CIDR", "believe X-Forwarded-For of these peers; may be repeated", 't'},
    {"http-threads", "N", "threads that speak HTTP (default 2)", 'T'},
    {"db-threads", "N", "threads that speak SQL (default: processors and one, 3 to 16)", 'D'},
    {"queued-limit", "N", "unfinished submissions per owner (default 100)", 'q'},
    {"lease-ms", "MS", "how long a silent worker keeps its job (default 30000)", 'L'},
    {"reap-ms", "MS", "between two looks for jobs of lost workers (default 10000)", 'R'},
    {"verbose", NULL, "log every request", 'v'},
    {"version", NULL, "print the version", 'V'},
    {"help", NULL, "print this", 'h'},
};

static void print_help(void)
{
    printf("usage: ptxbench-server [option...]\n\nServes the PTXBench API and page over HTTP.\n\n");
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char left[40];
        snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].takes ? " " : "",
                 table[i].takes ? table[i].takes : "");
        printf("  %-24s %s\n", left, table[i].meaning);
    }
}

static enum err set_number(const char *text, int64_t min, int64_t max, int *out, struct fault *f)
{
    int64_t n;
    if (!field_number(text, max, &n) || n < min)
        return fault_set(f, ERR_BAD_PARAMETER, "'%s' is not a whole number from %lld to %lld", text,
                         (long long)min, (long long)max);
    *out = (int)n;
    return ERR_NONE;
}

static enum err set_option(struct options *o, int key, const char *value, struct fault *f)
{
    struct config *c = &o->config;
    switch (key) {
    case 'd':
        c->database = value;
        return ERR_NONE;
    case 'l':
        c->listen = value;
        return ERR_NONE;
    case 'p':
        return set_number(value, 0, 65535, &c->port, f);
    case 's':
        c->port_search = true;
        return ERR_NONE;
    case 'H':
        if (c->host_count == SERVICE_HOSTS)
            return fault_set(f, ERR_BAD_PARAMETER, "more than %d hosts", SERVICE_HOSTS);
        c->hosts[c->host_count++] = value;
        return ERR_NONE;
    case 't':
        if (c->proxy_count == SERVICE_PROXIES || !cidr_parse(value, &c->proxies[c->proxy_count]))
            return fault_set(f, ERR_BAD_PARAMETER, "'%s' is not an address range, or the %dth",
                             value, SERVICE_PROXIES + 1);
        c->proxy_count++;
        return ERR_NONE;
    case 'T':
        return set_number(value, 1, MOST_THREADS, &c->http_threads, f);
    case 'D':
        return set_number(value, 1, MOST_THREADS, &c->db_threads, f);
    case 'q':
        return set_number(value, 1, MOST_LIMIT, &c->queued_limit, f);
    case 'L':
        return set_number(value, 1, MOST_LIMIT, &c->lease_ms, f);
    case 'R':
        return set_number(value, 1, MOST_LIMIT, &c->reap_ms, f);
    case 'v':
        o->verbose = true;
        return ERR_NONE;
    case 'V':
        o->version = true;
        return ERR_NONE;
    default:
        o->help = true;
        return key == 'h' ? ERR_NONE : fault_set(f, ERR_BAD_PARAMETER, "see --help");
    }
}

/* Answering one board after another on two processors, 2, 3, 4 and 8 threads came to 6,120, 5,440, 4,460 and 4,110
 * requests a second (2026-11-30, AMD EPYC, tests/bench/board.sh with --db-threads): PostgreSQL needs the processors
 * as well, and more threads only take turns. One more than processors, so that slow statements leave some. */
static int usual_db_threads(void)
{
    enum { LEAST = 3, MOST = 16 };
    long n = sysconf(_SC_NPROCESSORS_ONLN) + 1;
    return n < LEAST ? LEAST : n > MOST ? MOST : (int)n;
}

static enum err read_options(int argc, char **argv, struct options *o, struct fault *f)
{
    const char *database = getenv("PTXBENCH_DATABASE");
    o->config = (struct config){.database = database ? database : "",
                                .listen = "127.0.0.1",
                                .port = 8080,
                                .http_threads = 2,
                                .db_threads = usual_db_threads(),
                                .queued_limit = DEFAULT_QUEUED_LIMIT,
                                .lease_ms = 30000,
                                .reap_ms = 10000};
    struct option longs[COUNT_OF(table) + 1] = {0};
    for (size_t i = 0; i < COUNT_OF(table); i++)
        longs[i] = (struct option){table[i].name, table[i].takes ? required_argument : no_argument,
                                   NULL, table[i].key};
    enum err e = ERR_NONE;
    for (int key; !e && (key = getopt_long(argc, argv, "hvV", longs, NULL)) != -1;)
        e = set_option(o, key, optarg, f);
    if (!e && optind < argc)
        e = fault_set(f, ERR_BAD_PARAMETER, "unexpected argument '%s'; see --help", argv[optind]);
    return e;
}

/* The default of 1,024 descriptors would let connections hang without an error. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    rlim_t want = SERVICE_CONNECTIONS + OTHER_FILES;
    limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < want)
        log_warn("cannot raise the number of open files", "want=%lu have=%lu", (unsigned long)want,
                 (unsigned long)limit.rlim_cur);
}

/* A database that is away comes back; one whose tables do not fit does not. */
static enum err check_database(const struct config *c, struct fault *f)
{
    enum err e = migrate_check(c->database, home_dir(), f);
    if (e != ERR_DATABASE)
        return e;
    log_warn("the database cannot be reached; serving 503 until it can", "detail=\"%s\"",
             f->detail);
    *f = (struct fault){0};
    return ERR_NONE;
}

static enum err start(struct service *s, struct http **http, struct fault *f)
{
    enum err e = check_database(&s->config, f);
    if (!e)
        e = registry_load(&s->registry, home_dir(), f);
    if (e)
        return e;
    s->metrics = metrics_new();
    char url[HTTP_URL];
    if (!s->metrics || !(s->cache = cache_new()) || !(s->files = files_load(home_dir(), f)) ||
        !(s->hub = hub_start(s, f)) || !(s->pool = pool_start(s, f)) ||
        !(*http = http_start(s, url, f)))
        return f->code ? f->code : ERR_NO_MEMORY;
    printf("LISTENING %s\n", url); /* for programs that start this one */
    fflush(stdout);
    log_info("listening", "url=%s version=%s", url, PTXBENCH_VERSION);
    return ERR_NONE;
}

/* Ends every wait, then everything. A connection that is still suspended would make the HTTP
 * library abort, so in that case the process just ends. */
static void stop(struct service *s, struct http *http)
{
    atomic_store(&s->draining, true);
    if (http) {
        http_quiesce(http);
        log_info("draining", "connections=%zu", http_connections(http));
        hub_drain(s->hub);
        if (!http_settle(http, SERVICE_DRAIN_MS)) {
            log_error("requests did not end in time", "ms=%d", SERVICE_DRAIN_MS);
            _exit(1);
        }
    }
    http_stop(http);
    pool_stop(s->pool);
    hub_stop(s->hub);
    files_free(s->files);
    metrics_free(s->metrics);
    cache_free(s->cache);
    registry_release(&s->registry);
}

/* Sweeps the queue until one of the signals comes. */
static int wait_for_signal(const sigset_t *signals, const struct config *config)
{
    struct reaper reaper;
    reaper_init(&reaper, config);
    int got;
    do {
        int ms = reaper_turn(&reaper);
        struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
        got = sigtimedwait(signals, NULL, &wait);
    } while (got < 0);
    reaper_release(&reaper);
    return got;
}

int main(int argc, char **argv)
{
    static struct options o;
    static struct service service;
    struct fault fault = {0};
    enum err e = read_options(argc, argv, &o, &fault);
    if (o.help)
        print_help();
    if (o.version)
        printf("ptxbench-server %s\n", PTXBENCH_VERSION);
    if (e)
        fprintf(stderr, "ptxbench-server: %s\n", fault.detail);
    if (e || o.help || o.version)
        return e ? 2 : 0;
    log_init("ptxbench-server", o.verbose ? LOG_DEBUG : LOG_INFO);
    sigset_t signals; /* blocked in every thread; main waits for them */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();
    mallopt(M_MMAP_THRESHOLD, 1 * MIB); /* what the next answer needs again is not given back: */
    mallopt(M_TRIM_THRESHOLD, 2 * MIB); /* that took a twentieth of the time of a board */
    service.config = o.config;
    struct http *http = NULL;
    e = start(&service, &http, &fault);
    if (e) {
        log_error("cannot start", "detail=\"%s\"", fault.detail);
    } else {
        log_info("stopping", "signal=%d", wait_for_signal(&signals, &o.config));
    }
    stop(&service, http);
    return e ? 1 : 0;
}
