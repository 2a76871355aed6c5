/* SPDX-License-Identifier: Apache-2.0
 * How our processes talk over pipes: frames of a kind, a length and bytes. The reader bounds every
 * frame before it allocates. Layout: u32 kind, u32 length, both little-endian, then the bytes. */
#ifndef CORE_FRAME_H
#define CORE_FRAME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

enum frame_kind {
    FRAME_REQUEST = 1, /* JSON: what to do */
    FRAME_SOURCE,      /* bytes: submission source */
    FRAME_EVENT,       /* JSON: {"kind", …}, progress */
    FRAME_RESULT,      /* JSON: the answer */
    FRAME_PTX,         /* bytes: artefacts … */
    FRAME_CUBIN,
    FRAME_LOG,
    FRAME_CAPTURE,
    FRAME_KIND_COUNT
};

/* Blocking writes. False on error (the reader is gone). */
bool frame_write(int fd, enum frame_kind kind, const void *data, size_t len);
bool frame_write_json(int fd, enum frame_kind kind, const json_t *value);

/* The same for who writes later: header and bytes appended to `to`, whose `failed` says if they fit. */
void frame_add(struct buf *to, enum frame_kind kind, const void *data, size_t len);

/* Incremental reader: feed it what the pipe gave, take out whole frames. */
struct frame_reader {
    struct buf in;
    size_t taken; /* bytes of `in` that were already handed out */
};

struct frame {
    enum frame_kind kind;
    const char *data; /* borrowed: valid until the next frame_feed */
    size_t len;
};

void frame_reader_init(struct frame_reader *r);
void frame_reader_release(struct frame_reader *r);
/* Appends bytes. ERR_BAD_REQUEST if the stream is not frames, ERR_TOO_LARGE over LIMIT_FRAME. */
enum err frame_feed(struct frame_reader *r, const void *bytes, size_t n, struct fault *f);
/* Next whole frame, or false if more bytes are needed. */
bool frame_next(struct frame_reader *r, struct frame *out);

/* Blocking read of exactly one frame for children that serve one request; caller frees *data (which
 * is NUL-terminated). ERR_IO at end of file. */
enum err frame_read(int fd, enum frame_kind *kind, char **data, size_t *len, struct fault *f);

#endif
