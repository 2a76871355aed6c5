// SPDX-License-Identifier: Apache-2.0
#include "server/compress.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { WORTH_BYTES = 4 * KIB };

enum err compress_bytes(const char *bytes, size_t len, int level, char **out, size_t *out_len,
                        struct fault *f)
{
    enum { GZIP_WINDOW = 15 + 16, MEMORY = 8 };
    *out = NULL;
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (unsigned)len};
    if (deflateInit2(&z, level, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return fault_set(f, ERR_NO_MEMORY, "cannot compress an answer");
    size_t most = deflateBound(&z, (unsigned long)len);
    char *to = malloc(most);
    z.next_out = (unsigned char *)to;
    z.avail_out = (unsigned)most;
    bool done = to && deflate(&z, Z_FINISH) == Z_STREAM_END;
    *out_len = z.total_out;
    deflateEnd(&z);
    if (done && *out_len < len) {
        *out = to;
        return ERR_NONE;
    }
    free(to);
    return done ? ERR_NONE : fault_set(f, ERR_NO_MEMORY, "cannot compress an answer");
}

bool compress_wanted(const struct request *r)
{
    const char *accepts = r->headers.accept_encoding;
    return accepts && field_accept_weight(accepts, "gzip") > 0;
}

static bool is_text(const char *type)
{
    return type && (!strncmp(type, "application/json", 16) || !strncmp(type, "text/", 5));
}

void compress_answer(struct request *r)
{
    if (r->out.status != 200 || r->out.stream || r->out.len < WORTH_BYTES ||
        !is_text(r->out.type) || !compress_wanted(r))
        return;
    char *small;
    size_t len;
    struct fault ignored = {0};
    if (compress_bytes(r->out.body, r->out.len, COMPRESS_FAST, &small, &len, &ignored) || !small ||
        !request_keep(r, small, free))
        return;
    r->out.body = small;
    r->out.len = len;
    answer_header(r, "Content-Encoding", "gzip");
    for (size_t i = 0; i < r->out.header_count; i++)
        if (!strcmp(r->out.headers[i].name, "ETag"))
            r->out.headers[i].value = request_printf(r, "W/%s", r->out.headers[i].value);
}
