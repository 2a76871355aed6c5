/* SPDX-License-Identifier: Apache-2.0
 * Values of request headers: media types, entity tags, tokens, hosts, origins, client addresses.
 * Pure and fuzzed: every string here came from somebody else. NULL stands for a header that was not
 * sent. */
#ifndef SERVER_FIELDS_H
#define SERVER_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { FIELD_MEDIA = 128, FIELD_ADDRESS = 64 };

/* "Application/JSON; charset=utf-8" gives "application/json"; absent or oversized gives "". */
void field_media_type(const char *content_type, char out[FIELD_MEDIA]);

/* Weight 0 to 1000 that an Accept header gives a type; the most specific range counts. Absent:
 * 1000. */
int field_accept_weight(const char *accept, const char *type);

/* Does If-None-Match hold this quoted entity tag (weak comparison) or "*"? */
bool field_etag_matches(const char *if_none_match, const char *etag);

/* The token of "Bearer <token>", or NULL. Borrowed. */
const char *field_bearer(const char *authorization);

/* The host of an authority ("localhost:8080", "[::1]:80"), lower case, without port; false if
 * malformed. */
bool field_host(const char *authority, char out[FIELD_MEDIA]);

/* Does an Origin header ("http://host:port") name this Host header? */
bool field_origin_is(const char *origin, const char *host);

/* Decimal number of a whole field, within [0, max]; false otherwise. */
bool field_number(const char *text, int64_t max, int64_t *out);

/* An address range such as 10.0.0.0/8 or ::1/128. IPv4 is kept as IPv4-mapped IPv6. */
struct cidr {
    uint8_t address[16];
    int bits; /* leading bits of the mapped form that must agree */
};
bool cidr_parse(const char *text, struct cidr *out);
bool cidr_holds(const struct cidr *range, const uint8_t address[16]);

/* An IP address as 16 bytes (IPv4 mapped) from text or a socket address. */
bool address_parse(const char *text, uint8_t out[16]);
bool address_of(const struct sockaddr *peer, uint8_t out[16]);
void address_text(const uint8_t address[16], char out[FIELD_ADDRESS]);
bool address_is_loopback(const uint8_t address[16]);

#endif
