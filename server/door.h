/* SPDX-License-Identifier: Apache-2.0
 * Whom we speak to at all: framing that can be read in two ways, hosts that are not ours, pages of
 * other sites, encodings we do not take. Judged from the headers alone, before routing. Pure. */
#ifndef SERVER_DOOR_H
#define SERVER_DOOR_H

#include "server/request.h"

struct door {
    struct request_headers *headers; /* filled by door_header */
    int64_t content_length;          /* 0 without one */
    int lengths;                     /* Content-Length headers seen */
    bool chunked, expects_continue;
    bool framing_bad; /* set by door_header */
};

/* Takes in one header; `value` may be NULL. */
void door_header(struct door *d, const char *name, const char *value);

/* Holds the headers against the rules and finds out who the client is: r->address comes in as that
 * of the connection and leaves as that of the client; sets r->local. */
enum err door_check(const struct door *d, struct request *r);

/* The fault of a body over the limit of r->route. */
enum err door_too_large(struct request *r);

/* On every answer. */
extern const struct response_header door_headers[];
extern const size_t door_header_count;

#endif
