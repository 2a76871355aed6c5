/* SPDX-License-Identifier: Apache-2.0
 * Small things every room needs: clocks, random bytes, SHA-256, hex, base64, UUIDv7, whole files. */
#ifndef CORE_UTIL_H
#define CORE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

enum { SHA256_BYTES = 32, SHA256_HEX = 65, UUID_TEXT = 37 };

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Monotonic milliseconds and seconds; only differences mean anything. */
int64_t now_ms(void);
double now_s(void);

/* Milliseconds of processor time that all threads of this process have used. */
int64_t cpu_ms(void);

/* Random bytes from the kernel; dies if there are none, since every secret depends on them. */
void random_bytes(void *out, size_t n);

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES]);
void hex_encode(const uint8_t *bytes, size_t n, char *out /* 2n + 1 */);
bool hex_decode(const char *hex, uint8_t *bytes, size_t n); /* exactly 2n digits */
void sha256_hex(const void *data, size_t len, char out[SHA256_HEX]);

/* Decodes standard base64 (padding required). False if it is malformed or over out->max. */
bool base64_decode(const char *s, size_t len, struct buf *out);

/* RFC 9562 version 7: 48 bits of Unix milliseconds, then random. Text in lower case. */
void uuid7(char out[UUID_TEXT]);
bool uuid_is_valid(const char *s); /* 36 characters, lower-case hex and hyphens in place */

/* Reads a whole file of at most b->max bytes. */
enum err read_file(const char *path, struct buf *b, struct fault *f);

/* Writes all bytes, over short writes and EINTR. False on error (errno kept). */
bool write_all(int fd, const void *data, size_t n);

/* Folder that holds problems/, arch/, static/, sql/: $PTXBENCH_HOME, else the source tree of a build,
 * else ../share/ptxbench beside the program. Static text, computed once. */
const char *home_dir(void);
/* Folder of the running program (its siblings are the other programs): $PTXBENCH_BIN, else from
 * /proc/self/exe. Static text. */
const char *program_dir(void);

#endif
