// SPDX-License-Identifier: Apache-2.0
#include "server/door.h"

#include <string.h>
#include <strings.h>

#include "server/routes.h"
#include "server/service.h"

const struct response_header door_headers[] = {
    {"Content-Security-Policy",
     "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-cache"},
    {"Vary", "Accept, Accept-Encoding, Authorization"},
};
const size_t door_header_count = COUNT_OF(door_headers);

static const struct {
    const char *name;
    size_t offset;
} wanted[] = {
    {"Host", offsetof(struct request_headers, host)},
    {"Origin", offsetof(struct request_headers, origin)},
    {"Authorization", offsetof(struct request_headers, authorization)},
    {"Content-Type", offsetof(struct request_headers, content_type)},
    {"Content-Encoding", offsetof(struct request_headers, content_encoding)},
    {"Accept", offsetof(struct request_headers, accept)},
    {"Accept-Encoding", offsetof(struct request_headers, accept_encoding)},
    {"If-None-Match", offsetof(struct request_headers, if_none_match)},
    {"Idempotency-Key", offsetof(struct request_headers, idempotency_key)},
    {"Last-Event-ID", offsetof(struct request_headers, last_event_id)},
    {"X-Forwarded-For", offsetof(struct request_headers, forwarded_for)},
    {"X-Request-Id", offsetof(struct request_headers, request_id)},
};

static const char *const proxy_marks[] = {"X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"};

static void length_header(struct door *d, const char *value)
{
    int64_t n;
    bool good = field_number(value, INT64_MAX, &n);
    if (!good || (d->lengths && n != d->content_length))
        d->framing_bad = true;
    else
        d->content_length = n;
    d->lengths++;
}

void door_header(struct door *d, const char *name, const char *value)
{
    if (!value)
        value = "";
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!strcasecmp(name, wanted[i].name))
            *(const char **)(void *)((char *)d->headers + wanted[i].offset) = value;
    for (size_t i = 0; i < COUNT_OF(proxy_marks); i++)
        d->headers->proxied = d->headers->proxied || !strcasecmp(name, proxy_marks[i]);
    if (!strcasecmp(name, "Content-Length"))
        length_header(d, value);
    if (!strcasecmp(name, "Transfer-Encoding"))
        d->chunked = true;
    if (!strcasecmp(name, "Expect"))
        d->expects_continue = true;
    d->framing_bad = d->framing_bad || (d->chunked && d->lengths);
}

static bool host_served(const struct config *c, const char *authority)
{
    char host[FIELD_MEDIA], bare[FIELD_MEDIA];
    if (!field_host(authority, host))
        return false;
    if (!strcmp(host, "localhost") || !strcmp(host, "127.0.0.1") || !strcmp(host, "[::1]"))
        return true;
    size_t n = strlen(host);
    bool bracketed = host[0] == '[' && n > 2;
    snprintf(bare, sizeof(bare), "%.*s", (int)(bracketed ? n - 2 : n), host + bracketed);
    if (!strcasecmp(bare, c->listen))
        return true;
    for (int i = 0; i < c->host_count; i++)
        if (!strcasecmp(host, c->hosts[i]))
            return true;
    return false;
}

static bool is_proxy(const struct config *c, const uint8_t address[16])
{
    for (int i = 0; i < c->proxy_count; i++)
        if (cidr_holds(&c->proxies[i], address))
            return true;
    return false;
}

/* Walks X-Forwarded-For from its end, over the proxies we trust, to the first address we must not.
 * What stands before that was written by anybody. */
static void find_client(const struct config *c, const char *forwarded, uint8_t address[16])
{
    size_t end = forwarded ? strlen(forwarded) : 0;
    while (end && is_proxy(c, address)) {
        size_t start = end;
        while (start && forwarded[start - 1] != ',')
            start--;
        char text[FIELD_ADDRESS];
        snprintf(text, sizeof(text), "%.*s", (int)(end - start), forwarded + start);
        const char *trimmed = text + strspn(text, " \t");
        text[trimmed - text + strcspn(trimmed, " \t")] = '\0';
        uint8_t next[16];
        if (!address_parse(trimmed, next))
            return;
        memcpy(address, next, 16);
        end = start ? start - 1 : 0;
    }
}

enum err door_check(const struct door *d, struct request *r)
{
    const struct config *c = &r->service->config;
    const struct request_headers *h = &r->headers;
    /* A proxy on this machine makes everybody look local, so any trace of one ends that privilege.
     */
    r->local = address_is_loopback(r->address) && !h->proxied && !is_proxy(c, r->address);
    find_client(c, h->forwarded_for, r->address);
    if (d->framing_bad)
        return fault_set(&r->fault, ERR_BAD_REQUEST,
                         "the length of the body is stated in more than one way");
    if (!host_served(c, h->host))
        return fault_set(&r->fault, ERR_MISDIRECTED,
                         "the host '%.64s' is not served here; the option --host adds one",
                         h->host ? h->host : "");
    if (h->origin && !field_origin_is(h->origin, h->host))
        return fault_set(&r->fault, ERR_FOREIGN_ORIGIN,
                         "a page of '%.64s' may not use this service", h->origin);
    if (h->content_encoding && strcasecmp(h->content_encoding, "identity"))
        return fault_set(&r->fault, ERR_CONTENT_TYPE, "the content encoding '%.64s' is not taken",
                         h->content_encoding);
    return ERR_NONE;
}

enum err door_too_large(struct request *r)
{
    if (!r->route->body)
        return fault_set(&r->fault, ERR_TOO_LARGE, "this address takes no body");
    return fault_set(&r->fault, ERR_TOO_LARGE, "the body is over %zu bytes", r->route->body);
}
