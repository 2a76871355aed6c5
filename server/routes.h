/* SPDX-License-Identifier: Apache-2.0
 * The one table of endpoints. 404, 405 with Allow, OPTIONS, HEAD, the check of query parameters,
 * body limits, the index at /v1, /v1/openapi.json and the labels in /metrics all come from it. */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include "server/request.h"

/* What a caller must hold. Reading needs nothing: the store hides what is private. */
enum need {
    NEED_NOTHING,
    NEED_SUBMIT, /* scope submit, or an anonymous caller on this machine */
    NEED_ADMIN,  /* scope admin */
};

struct route {
    enum method method;  /* GET rows serve HEAD too */
    const char *pattern; /* see url_matches */
    handler_fn *handler;
    enum need need;
    bool on_spot;        /* runs on the HTTP thread: no SQL, microseconds, no token looked at */
    bool cached;         /* public, changes with events only: one answer serves many (cache.h) */
    bool without_db;     /* runs even while the database is away: r->db is NULL then */
    size_t body;         /* most bytes of a body; 0: takes none */
    const char *members; /* of a JSON body, separated by spaces, "!" behind those that must be
                          * there; NULL: a submission */
    bool lines;          /* a body may be several such, one a line */
    const char *query;   /* names of its query parameters, separated by spaces */
    const char *summary;
    const char *answer; /* content type of a success */
};

extern const struct route routes[];
extern const size_t route_count;
/* Files of the page: not a row, since every path is its own. */
extern const struct route files_route;

enum { ROUTES_ALLOW = 64 };

/* Finds the row for r->url and r->method, fills r->route and r->captures, and writes the methods of
 * that address to `allow`. ERR_NOT_FOUND, ERR_METHOD, or ERR_BAD_PARAMETER for a query parameter
 * the row lacks. */
enum err routes_find(struct request *r, char allow[ROUTES_ALLOW]);

/* Position of the row, for counters: below route_count + 2. */
size_t route_index(const struct route *route);
/* "/v1/submissions/{id}" for "/v1/submissions/:uuid". */
void route_template(const struct route *route, char *out, size_t size);

const char *method_name(enum method m);
enum method method_find(const char *name);

/* A query parameter or a member of a body, for the documents: its JSON schema type and meaning. */
struct parameter {
    const char *name, *type, *meaning;
};
/* NULL for a name that no row of parameters.def, of members.def has. */
const struct parameter *parameter_find(const char *name, size_t n);
const struct parameter *member_find(const char *name, size_t n);

#endif
