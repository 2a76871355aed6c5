/* SPDX-License-Identifier: Apache-2.0
 * One request and its answer, as handlers see them. A handler is `enum err f(struct request *r)`:
 * it reads `r`, fills r->out and returns ERR_NONE, or returns an error after filling r->fault or
 * r->faults. It runs on a database thread and never waits: what must wait parks (request_park).
 * Everything a handler allocates is given to request_keep and freed with the request. No HTTP
 * library here. */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/db/store.h"
#include "core/err.h"
#include "server/fields.h"
#include "server/url.h"

struct service;
struct route;
struct stream;

enum method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OPTIONS, METHOD_OTHER };

enum { REQUEST_CAPTURES = 2, RESPONSE_HEADERS = 24, REQUEST_ID = 65 };

struct response_header {
    const char *name;  /* literal */
    const char *value; /* literal or kept by the request */
};

struct response {
    int status;
    const char *type; /* content type; NULL: no body */
    const char *body; /* kept by the request, or static */
    size_t len;
    struct stream *stream; /* instead of a body */
    struct response_header headers[RESPONSE_HEADERS];
    size_t header_count;
};

struct request;
typedef enum err handler_fn(struct request *r);

/* Headers a handler may look at; NULL if absent. Borrowed for the life of the request. */
struct request_headers {
    const char *host, *origin, *authorization, *content_type, *content_encoding, *accept;
    const char *accept_encoding;
    const char *if_none_match, *idempotency_key, *last_event_id, *forwarded_for, *request_id;
    bool proxied; /* some proxy header was there */
};

struct request {
    const struct service *service;
    const struct route *route;
    enum method method;
    struct url url;
    const char *captures[REQUEST_CAPTURES]; /* typed by the pattern of the route */
    struct request_headers headers;
    struct buf body;
    uint8_t address[16]; /* of the client, seen through trusted proxies */
    bool local;          /* a loopback peer that no proxy stands before */
    char id[REQUEST_ID]; /* X-Request-Id */

    struct token who; /* owner 0 without rights: no token */
    struct db *db;    /* while a handler runs, not on `on_spot` routes */
    struct fault fault;
    struct faults faults;
    struct response out;
    bool from_cache; /* `out` is a kept answer, finished */

    /* Parking: see request_park. */
    handler_fn *again;
    char topic[UUID_TEXT];
    uint64_t ticket;         /* what the hub had heard when this run of the handler began */
    int64_t wait_ms;         /* of ?wait= */
    int64_t deadline_ms;     /* now_ms() when the wait is over; 0: no wait so far */
    int64_t repoll_ms;       /* when the hub runs it again in any case */
    char subject[UUID_TEXT]; /* what a parked handler comes back to */
    int finished_status;     /* of that answer, once the subject is done */

    int64_t busy_ms; /* time in the queue and in handlers, waits left out */
    int64_t queued_ms;
    struct request *next; /* link of the queue or the list it stands in */
    struct kept *kept;
    void (*done)(struct request *r); /* hands the finished request back to the HTTP side */
    void *connection;
};

void request_release(struct request *r);

/* Calls release(p) when the request ends. Returns p; NULL (released at once) when out of memory. */
void *request_keep(struct request *r, void *p, void (*release)(void *));
/* Formatted text that lives as long as the request. "" when out of memory. */
__attribute__((format(printf, 2, 3))) const char *request_printf(struct request *r, const char *fmt,
                                                                 ...);
/* Takes the reference and gives it back when the request ends; passes NULL through. */
json_t *request_keep_json(struct request *r, json_t *taken);

/* Query parameter, or NULL. */
const char *request_query(const struct request *r, const char *name);
/* Whole number parameter within [min, max]; `fallback` if absent; ERR_BAD_PARAMETER otherwise. */
enum err request_number(struct request *r, const char *name, int64_t min, int64_t max,
                        int64_t fallback, int64_t *out);
/* "1" or "true", "0" or "false". */
enum err request_yesno(struct request *r, const char *name, bool *out);

/* A time (now_ms) at most `ms` and at least `ms - ms / part` away, so that what began together
 * spreads out. */
int64_t jittered_ms(int64_t ms, int64_t part);

/* Whom the store shows things to: the owner of the token, nobody, or an administrator. */
int64_t request_viewer(const struct request *r);

/* Stops this run of the handler: `again` runs on a database thread once something happens to
 * `topic` (a submission id), from time to time, and at last when the wait is over. */
enum err request_park(struct request *r, const char *topic, handler_fn *again);
/* Is there time left of ?wait=? */
bool request_may_wait(const struct request *r);

/* How documents are written: 15 digits, so that 12.3 stays 12.3. */
#define ANSWER_JSON (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))

void answer_header(struct request *r, const char *name, const char *value);
/* Take `document`; it is an internal error if it is NULL. */
enum err answer_json(struct request *r, int status, json_t *document);
enum err answer_text(struct request *r, int status, const char *type, const char *text);
/* The bytes of a buffer, which is emptied. */
enum err answer_buf(struct request *r, int status, const char *type, struct buf *taken);
/* 304 without a body if If-None-Match holds the tag: the caller returns then. */
bool answer_not_modified(struct request *r, const char *etag);
/* Gives a finished 200 answer an entity tag made of its bytes, or turns it into 304. Passes `e`
 * through. */
enum err answer_tag(struct request *r, enum err e);
/* problem+json for an error, from r->fault and r->faults. */
void answer_problem(struct request *r, enum err e);

#endif
