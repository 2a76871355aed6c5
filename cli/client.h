/* SPDX-License-Identifier: Apache-2.0
 * The service seen from outside: requests with size ceilings and deadlines, problem+json turned into a
 * fault, the token sent only where it is safe. The only file of the CLI that knows libcurl. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "core/buf.h"
#include "core/err.h"

/* Options every command that talks to a server has: put CLIENT_ROWS at the front of the option table. */
enum { CLIENT_SERVER, CLIENT_TOKEN_FILE, CLIENT_ROW_COUNT };
#define CLIENT_DEFAULT_SERVER "http://127.0.0.1:8080"
#define CLIENT_ROWS                                                                                \
    {"server", 's', "URL", "PTXBENCH_SERVER", "the service, " CLIENT_DEFAULT_SERVER " by default"}, \
    {                                                                                              \
        "token-file", 0, "FILE", "PTXBENCH_TOKEN_FILE", "holds the token; or set $PTXBENCH_TOKEN"  \
    }

struct client {
    char *server, *token; /* owned; token NULL: anonymous */
    void *curl;
};

/* From the values of CLIENT_ROWS. Refuses to send a token over plain http except to this machine. Call
 * from one thread; release in any case. */
enum err client_open(struct client *c, const char *const *values, struct fault *f);
void client_release(struct client *c);

struct request {
    const char *method, *path;    /* path begins with '/' and may carry a query */
    const char *accept;           /* NULL: application/json */
    const char *content_type;     /* of the body */
    const void *body;             /* NULL: none */
    size_t body_len;
    const char *idempotency_key;  /* NULL: none */
    int timeout_s;                /* 0: 30 */
};

/* Sends it and appends the body of a 2xx answer to `out`. Any other answer is a fault whose detail is the
 * server's. ERR_UNAVAILABLE: nobody answered; ERR_BUSY, ERR_DATABASE, ERR_DRAINING: worth another try. */
enum err client_send(struct client *c, const struct request *q, struct buf *out, struct fault *f);

/* As client_send, the answer read as JSON: a new reference in *out. */
enum err client_json(struct client *c, const struct request *q, json_t **out, struct fault *f);

/* Reads a text/event-stream until `event` returns false (ERR_NONE), the stream ends (ERR_UNAVAILABLE) or
 * the server says no. `*last_id` is where to resume and is kept up to date. */
struct stream {
    const char *path;
    bool (*event)(void *arg, const char *kind, const json_t *data);
    void *arg;
    long long last_id; /* 0: from the beginning */
    long timeout_s;    /* ERR_DEADLINE after that long; 0: none */
};
enum err client_stream(struct client *c, struct stream *s, struct fault *f);

/* Appends "name=value" to a path, percent-encoded, after '?' or '&'; nothing if value is NULL. */
void path_query(struct buf *path, const char *name, const char *value);

#endif
