// SPDX-License-Identifier: Apache-2.0
// Request headers: lines of "Name: value" given to the door and to every reader of a value.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/door.h"
#include "server/fields.h"
#include "server/service.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_value(const char *value)
{
    char text[FIELD_MEDIA];
    uint8_t address[16];
    struct cidr range;
    int64_t n;
    field_media_type(value, text);
    check(strlen(text) < FIELD_MEDIA);
    int weight = field_accept_weight(value, "text/plain");
    check(weight >= 0 && weight <= 1000);
    (void)field_etag_matches(value, "\"0123456789abcdef\"");
    (void)field_bearer(value);
    (void)field_host(value, text);
    (void)field_origin_is(value, "localhost");
    if (field_number(value, 1000, &n))
        check(n >= 0 && n <= 1000);
    if (address_parse(value, address) && cidr_parse(value, &range))
        check(cidr_holds(&range, address));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct service service;
    service.config.listen = "127.0.0.1";
    service.config.proxy_count = 1;
    cidr_parse("127.0.0.0/8", &service.config.proxies[0]);
    char *lines = malloc(size + 1), *rest = lines;
    check(lines);
    memcpy(lines, data, size);
    lines[size] = '\0';
    struct request r = {.service = &service,
                        .address = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
    struct door d = {.headers = &r.headers};
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = '\0';
        char *value = colon + 1 + strspn(colon + 1, " ");
        read_value(value);
        door_header(&d, line, value);
    }
    enum err e = door_check(&d, &r);
    check(!e || r.fault.detail[0]);
    free(lines);
    return 0;
}
