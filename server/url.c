// SPDX-License-Identifier: Apache-2.0
#include "server/url.h"

#include <string.h>

#include "core/text.h"
#include "core/util.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    int lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Decodes s[0, n) in place and ends it with a NUL, for which s[n] must be free to overwrite. */
static enum err decode(char *s, size_t n, bool plus_is_space, struct fault *f)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '%') {
            int high = n - i > 2 ? hex_value(s[i + 1]) : -1;
            int low = high >= 0 ? hex_value(s[i + 2]) : -1;
            if (low < 0)
                return fault_set(f, ERR_BAD_REQUEST,
                                 "cannot decode the address: '%%' without two hex digits");
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        s[to++] = c;
    }
    if (!text_is_utf8(s, to))
        return fault_set(f, ERR_BAD_REQUEST,
                         "cannot decode the address: it is not UTF-8 or holds a NUL");
    s[to] = '\0';
    return ERR_NONE;
}

static enum err parse_path(char *path, struct url *u, struct fault *f)
{
    if (path[0] != '/')
        return fault_set(f, ERR_BAD_REQUEST, "cannot read the address: it does not start with '/'");
    if (!path[1])
        return ERR_NONE;
    for (char *segment = path + 1; segment;) {
        char *slash = strchr(segment, '/');
        size_t n = slash ? (size_t)(slash - segment) : strlen(segment);
        if (u->segment_count == URL_SEGMENTS)
            return fault_set(f, ERR_NOT_FOUND, "no address here has more than %d parts",
                             URL_SEGMENTS);
        enum err e = decode(segment, n, false, f);
        if (e)
            return e;
        u->segments[u->segment_count++] = segment;
        segment = slash ? slash + 1 : NULL;
    }
    return ERR_NONE;
}

static enum err parse_query(char *query, struct url *u, struct fault *f)
{
    for (char *pair = query; pair;) {
        char *next = strchr(pair, '&');
        size_t n = next ? (size_t)(next - pair) : strlen(pair);
        pair[n] = '\0';
        char *equals = strchr(pair, '=');
        char *value = equals ? equals + 1 : pair + n;
        size_t name_len = equals ? (size_t)(equals - pair) : n;
        if (n) {
            enum err e = decode(value, (size_t)(pair + n - value), true, f);
            if (!e)
                e = decode(pair, name_len, true, f);
            if (e)
                return e;
            if (u->parameter_count == URL_PARAMETERS)
                return fault_set(f, ERR_BAD_REQUEST, "more than %d query parameters",
                                 URL_PARAMETERS);
            if (url_parameter(u, pair))
                return fault_set(f, ERR_BAD_PARAMETER, "query parameter '%.64s' is given twice",
                                 pair);
            u->parameters[u->parameter_count++] = (struct url_parameter){pair, value};
        }
        pair = next ? next + 1 : NULL;
    }
    return ERR_NONE;
}

enum err url_parse(const char *target, struct url *u, struct fault *f)
{
    u->segment_count = u->parameter_count = 0;
    size_t n = strlen(target);
    if (n > URL_TARGET)
        return fault_set(f, ERR_BAD_REQUEST, "the address is over %d bytes", URL_TARGET);
    memcpy(u->text, target, n + 1);
    char *query = strchr(u->text, '?');
    if (query)
        *query++ = '\0';
    enum err e = parse_path(u->text, u, f);
    return e || !query ? e : parse_query(query, u, f);
}

const char *url_parameter(const struct url *u, const char *name)
{
    for (size_t i = 0; i < u->parameter_count; i++)
        if (!strcmp(u->parameters[i].name, name))
            return u->parameters[i].value;
    return NULL;
}

static bool is_digits(const char *s)
{
    size_t n = strspn(s, "0123456789");
    return n > 0 && n <= 18 && !s[n];
}

static const struct {
    const char *word;
    bool (*accepts)(const char *segment);
} capture_types[] = {
    {":uuid", uuid_is_valid},
    {":name", text_is_name},
    {":int", is_digits},
};

/* Does one segment match pattern[0, n)? `*captured` says whether that is a typed capture. */
static bool segment_matches(const char *segment, const char *pattern, size_t n, bool *captured)
{
    *captured = pattern[0] == ':';
    for (size_t i = 0; *captured && i < COUNT_OF(capture_types); i++)
        if (strlen(capture_types[i].word) == n && !memcmp(capture_types[i].word, pattern, n))
            return capture_types[i].accepts(segment);
    return !*captured && strlen(segment) == n && !memcmp(segment, pattern, n);
}

bool url_matches(const struct url *u, const char *pattern, const char **captures, size_t max)
{
    size_t captured = 0, i = 0;
    const char *p = pattern + 1;
    for (; *p && i < u->segment_count; i++) {
        size_t n = strcspn(p, "/");
        bool is_capture;
        if (!segment_matches(u->segments[i], p, n, &is_capture))
            return false;
        if (is_capture && captured < max)
            captures[captured++] = u->segments[i];
        p += n;
        p += *p == '/';
    }
    return !*p && i == u->segment_count;
}

void url_encode(struct buf *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
    for (; *text; text++)
        buf_addf(out, strchr(plain, *text) ? "%c" : "%%%02X", (unsigned char)*text);
}
