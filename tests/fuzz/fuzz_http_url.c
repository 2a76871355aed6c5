// SPDX-License-Identifier: Apache-2.0
// A request target: parsed, matched against every route, its parameters encoded and read back.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "server/routes.h"
#include "server/url.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was decoded survives encoding and decoding again. */
static void check_round_trip(const char *value)
{
    struct buf b;
    struct url again;
    buf_init(&b, 4 * URL_TARGET);
    buf_adds(&b, "/?v=");
    url_encode(&b, value);
    if (b.len <= URL_TARGET) {
        check(url_parse(b.data, &again, NULL) == ERR_NONE);
        check(strcmp(url_parameter(&again, "v"), value) == 0);
    }
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *target = malloc(size + 1);
    struct url *u = malloc(sizeof(*u));
    struct fault f = {0};
    check(target && u);
    memcpy(target, data, size);
    target[size] = '\0';
    enum err e = url_parse(target, u, &f);
    check(e == f.code);
    for (size_t i = 0; !e && i < u->segment_count; i++)
        check(text_is_utf8(u->segments[i], strlen(u->segments[i])));
    for (size_t i = 0; !e && i < u->parameter_count; i++)
        check_round_trip(u->parameters[i].value);
    for (size_t i = 0; !e && i < route_count; i++) {
        const char *captures[REQUEST_CAPTURES];
        (void)url_matches(u, routes[i].pattern, captures, REQUEST_CAPTURES);
    }
    free(u);
    free(target);
    return 0;
}
