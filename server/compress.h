/* SPDX-License-Identifier: Apache-2.0
 * Answers made smaller: gzip (RFC 1952), for clients that ask for it. */
#ifndef SERVER_COMPRESS_H
#define SERVER_COMPRESS_H

#include "server/request.h"

enum { COMPRESS_FAST = 1, COMPRESS_BEST = 9 };

/* The gzip form of some bytes, in *out (caller frees), or NULL there if it is not smaller. */
enum err compress_bytes(const char *bytes, size_t len, int level, char **out, size_t *out_len,
                        struct fault *f);

/* Can the client read gzip? */
bool compress_wanted(const struct request *r);

/* Compresses the finished answer of `r` where that is worth it: large text, and the client reads
 * gzip. Its entity tag becomes a weak one. Never fails: then the answer stays as it is. */
void compress_answer(struct request *r);

#endif
