// SPDX-License-Identifier: Apache-2.0
#include "core/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"

enum { HEADER = 8 };

static void put_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static enum err header_check(const unsigned char *p, uint32_t *kind, uint32_t *len, struct fault *f)
{
    *kind = get_u32(p);
    *len = get_u32(p + 4);
    if (!*kind || *kind >= FRAME_KIND_COUNT)
        return fault_set(f, ERR_BAD_REQUEST, "cannot read frame: unknown kind %u", *kind);
    if (*len > LIMIT_FRAME)
        return fault_set(f, ERR_TOO_LARGE, "cannot read frame: %u bytes is over the limit", *len);
    return ERR_NONE;
}

bool frame_write(int fd, enum frame_kind kind, const void *data, size_t len)
{
    unsigned char header[HEADER];
    if (len > LIMIT_FRAME)
        return false;
    put_u32(header, kind);
    put_u32(header + 4, (uint32_t)len);
    return write_all(fd, header, HEADER) && write_all(fd, data, len);
}

void frame_add(struct buf *to, enum frame_kind kind, const void *data, size_t len)
{
    unsigned char header[HEADER];
    if (len > LIMIT_FRAME) {
        to->failed = true;
        return;
    }
    put_u32(header, kind);
    put_u32(header + 4, (uint32_t)len);
    buf_add(to, header, HEADER);
    buf_add(to, data, len);
}

bool frame_write_json(int fd, enum frame_kind kind, const json_t *value)
{
    /* 15 digits, as the server prints: with 17, 594.722 would read 594.72199999999998. */
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    bool ok = text && frame_write(fd, kind, text, strlen(text));
    free(text);
    return ok;
}

void frame_reader_init(struct frame_reader *r)
{
    buf_init(&r->in, LIMIT_FRAME + 2 * HEADER + 64 * KIB);
    r->taken = 0;
}

void frame_reader_release(struct frame_reader *r)
{
    buf_release(&r->in);
}

enum err frame_feed(struct frame_reader *r, const void *bytes, size_t n, struct fault *f)
{
    if (r->taken) {
        memmove(r->in.data, r->in.data + r->taken, r->in.len - r->taken);
        r->in.len -= r->taken;
        r->taken = 0;
    }
    buf_add(&r->in, bytes, n);
    if (r->in.failed)
        return fault_set(f, ERR_TOO_LARGE, "cannot buffer frames: over the limit");
    uint32_t kind, len;
    if (r->in.len >= HEADER)
        return header_check((unsigned char *)r->in.data, &kind, &len, f);
    return ERR_NONE;
}

bool frame_next(struct frame_reader *r, struct frame *out)
{
    uint32_t kind, len;
    if (r->in.len - r->taken < HEADER)
        return false;
    const unsigned char *p = (unsigned char *)r->in.data + r->taken;
    if (header_check(p, &kind, &len, NULL) != ERR_NONE || r->in.len - r->taken - HEADER < len)
        return false;
    *out = (struct frame){(enum frame_kind)kind, (const char *)p + HEADER, len};
    r->taken += HEADER + len;
    return true;
}

static bool read_exact(int fd, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)to + done, n - done);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

enum err frame_read(int fd, enum frame_kind *kind, char **data, size_t *len, struct fault *f)
{
    unsigned char header[HEADER];
    uint32_t k, n;
    if (!read_exact(fd, header, HEADER))
        return fault_set(f, ERR_IO, "cannot read frame: the other side closed");
    enum err e = header_check(header, &k, &n, f);
    if (e != ERR_NONE)
        return e;
    char *bytes = malloc((size_t)n + 1);
    if (!bytes)
        return fault_set(f, ERR_NO_MEMORY, "cannot read frame of %u bytes", n);
    if (!read_exact(fd, bytes, n)) {
        free(bytes);
        return fault_set(f, ERR_IO, "cannot read frame: the other side closed");
    }
    bytes[n] = '\0';
    *kind = (enum frame_kind)k;
    *data = bytes;
    *len = n;
    return ERR_NONE;
}
