// SPDX-License-Identifier: Apache-2.0
#include "server/fields.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

static const char *skip_space(const char *s)
{
    return s + strspn(s, " \t");
}

void field_media_type(const char *content_type, char out[FIELD_MEDIA])
{
    out[0] = '\0';
    if (!content_type)
        return;
    const char *s = skip_space(content_type);
    size_t n = strcspn(s, "; \t,");
    if (n >= FIELD_MEDIA)
        return;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)tolower((unsigned char)s[i]);
    out[n] = '\0';
}

/* Weight of one range's parameters ("; q=0.5"): 0 to 1000. */
static int weight_of(const char *parameters, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++) {
        if (tolower((unsigned char)parameters[i]) != 'q' || parameters[i + 1] != '=' ||
            (i && isalnum((unsigned char)parameters[i - 1])))
            continue;
        int value = 0, scale = 1000;
        bool fraction = false;
        for (size_t j = i + 2; j < n && scale > 0; j++) {
            if (parameters[j] == '.') {
                fraction = true;
            } else if (isdigit((unsigned char)parameters[j])) {
                scale = fraction ? scale / 10 : scale;
                value += (parameters[j] - '0') * scale;
            } else {
                break;
            }
        }
        return value > 1000 ? 1000 : value;
    }
    return 1000;
}

/* How well does a range fit a type? 3 exact, 2 "text" + any, 1 any, 0 not at all. */
static int range_fits(const char *range, size_t n, const char *type)
{
    size_t major = strcspn(type, "/");
    if (n == strlen(type) && !strncasecmp(range, type, n))
        return 3;
    if (n == major + 2 && !strncasecmp(range, type, major + 1) && range[n - 1] == '*')
        return 2;
    return n == 3 && !memcmp(range, "*/*", 3);
}

int field_accept_weight(const char *accept, const char *type)
{
    if (!accept)
        return 1000;
    int best_fit = 0, weight = 0;
    for (const char *s = accept; *s;) {
        s = skip_space(s);
        size_t whole = strcspn(s, ","), n = strcspn(s, "; \t,");
        int fit = range_fits(s, n, type);
        if (fit > best_fit) {
            best_fit = fit;
            weight = weight_of(s + n, whole - n);
        }
        s += whole;
        s += *s == ',';
    }
    return weight;
}

bool field_etag_matches(const char *if_none_match, const char *etag)
{
    if (!if_none_match)
        return false;
    size_t n = strlen(etag);
    for (const char *s = if_none_match; *s;) {
        s += strspn(s, " \t,");
        if (*s == '*')
            return true;
        if (!strncmp(s, "W/", 2))
            s += 2;
        if (!strncmp(s, etag, n) && strchr(" \t,", s[n]))
            return true;
        s += strcspn(s, ",");
    }
    return false;
}

const char *field_bearer(const char *authorization)
{
    if (!authorization || strncasecmp(authorization, "Bearer ", 7))
        return NULL;
    const char *token = skip_space(authorization + 7);
    return *token ? token : NULL;
}

bool field_host(const char *authority, char out[FIELD_MEDIA])
{
    out[0] = '\0';
    if (!authority)
        return false;
    size_t n = authority[0] == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
    if (n == 0 || n >= FIELD_MEDIA || n > strlen(authority))
        return false;
    const char *port = authority + n;
    if (*port && (*port != ':' || port[1 + strspn(port + 1, "0123456789")]))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)tolower((unsigned char)authority[i]);
    out[n] = '\0';
    return true;
}

bool field_origin_is(const char *origin, const char *host)
{
    const char *authority = origin ? strstr(origin, "://") : NULL;
    return authority && host && !strcasecmp(authority + 3, host);
}

bool field_number(const char *text, int64_t max, int64_t *out)
{
    size_t n = text ? strspn(text, "0123456789") : 0;
    if (n == 0 || n > 18 || text[n])
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (text[i] - '0');
    if (value > max)
        return false;
    *out = value;
    return true;
}

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool address_parse(const char *text, uint8_t out[16])
{
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    memcpy(out, mapped_prefix, sizeof(mapped_prefix));
    return inet_pton(AF_INET, text, out + 12) == 1;
}

bool address_of(const struct sockaddr *peer, uint8_t out[16])
{
    if (peer->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, peer, sizeof(v6));
        memcpy(out, &v6.sin6_addr, 16);
        return true;
    }
    if (peer->sa_family != AF_INET)
        return false;
    struct sockaddr_in v4;
    memcpy(&v4, peer, sizeof(v4));
    memcpy(out, mapped_prefix, sizeof(mapped_prefix));
    memcpy(out + 12, &v4.sin_addr, 4);
    return true;
}

static bool is_mapped(const uint8_t address[16])
{
    return !memcmp(address, mapped_prefix, sizeof(mapped_prefix));
}

void address_text(const uint8_t address[16], char out[FIELD_ADDRESS])
{
    if (is_mapped(address))
        inet_ntop(AF_INET, address + 12, out, FIELD_ADDRESS);
    else
        inet_ntop(AF_INET6, address, out, FIELD_ADDRESS);
}

bool address_is_loopback(const uint8_t address[16])
{
    static const uint8_t v6[16] = {[15] = 1};
    return is_mapped(address) ? address[12] == 127 : !memcmp(address, v6, 16);
}

bool cidr_parse(const char *text, struct cidr *out)
{
    char address[FIELD_ADDRESS];
    size_t n = strcspn(text, "/");
    if (n >= sizeof(address))
        return false;
    memcpy(address, text, n);
    address[n] = '\0';
    if (!address_parse(address, out->address))
        return false;
    int width = strchr(address, ':') ? 128 : 32;
    int64_t bits = width;
    if (text[n] && !field_number(text + n + 1, width, &bits))
        return false;
    out->bits = (int)bits + 128 - width;
    return true;
}

bool cidr_holds(const struct cidr *range, const uint8_t address[16])
{
    int whole = range->bits / 8, rest = range->bits % 8;
    if (memcmp(range->address, address, (size_t)whole))
        return false;
    return !rest || (range->address[whole] ^ address[whole]) >> (8 - rest) == 0;
}
