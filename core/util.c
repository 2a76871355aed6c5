// SPDX-License-Identifier: Apache-2.0
#include "core/util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void random_bytes(void *out, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = getrandom((char *)out + done, n - done, 0);
        if (got < 0 && errno != EINTR) {
            fprintf(stderr, "cannot draw random bytes: %s\n", strerror(errno));
            abort();
        }
        done += got > 0 ? (size_t)got : 0;
    }
}

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES])
{
    if (!EVP_Digest(data, len, out, NULL, EVP_sha256(), NULL)) {
        fprintf(stderr, "cannot compute SHA-256\n");
        abort();
    }
}

void hex_encode(const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_decode(const char *hex, uint8_t *bytes, size_t n)
{
    if (strlen(hex) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void sha256_hex(const void *data, size_t len, char out[SHA256_HEX])
{
    uint8_t digest[SHA256_BYTES];
    sha256(data, len, digest);
    hex_encode(digest, sizeof(digest), out);
}

bool base64_decode(const char *s, size_t len, struct buf *out)
{
    if (len % 4 || len > INT_MAX)
        return false;
    if (!len)
        return true;
    for (size_t i = 0; i < len; i++) /* EVP_DecodeBlock forgives white space; we do not */
        if (!isalnum((unsigned char)s[i]) && s[i] != '+' && s[i] != '/' && !(s[i] == '=' && i + 2 >= len))
            return false;
    size_t padding = (s[len - 1] == '=') + (s[len - 2] == '=');
    if (s[len - 2] == '=' && s[len - 1] != '=')
        return false;
    size_t n = len / 4 * 3 - padding;
    unsigned char *whole = malloc(len / 4 * 3 + 1);
    bool ok = whole && EVP_DecodeBlock(whole, (const unsigned char *)s, (int)len) >= 0;
    if (ok)
        buf_add(out, whole, n);
    free(whole);
    return ok && !out->failed;
}

void uuid7(char out[UUID_TEXT])
{
    uint8_t b[16];
    random_bytes(b, sizeof(b));
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
    for (int i = 0; i < 6; i++)
        b[i] = (uint8_t)(ms >> (40 - 8 * i));
    b[6] = 0x70 | (b[6] & 0x0f);
    b[8] = 0x80 | (b[8] & 0x3f);
    char hex[33];
    hex_encode(b, 16, hex);
    snprintf(out, UUID_TEXT, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

bool uuid_is_valid(const char *s)
{
    for (int i = 0; i < UUID_TEXT - 1; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? s[i] != '-' : hex_digit(s[i]) < 0)
            return false;
    }
    return s[UUID_TEXT - 1] == '\0';
}

enum err read_file(const char *path, struct buf *b, struct fault *f)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fault_set(f, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    enum err e = ERR_NONE;
    for (;;) {
        size_t want = b->max - b->len < 64 * KIB ? b->max - b->len + 1 : 64 * KIB;
        char chunk[64 * KIB + 1];
        ssize_t got = read(fd, chunk, want);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            e = fault_set(f, ERR_IO, "cannot read %s: %s", path, strerror(errno));
        else if (got > 0)
            buf_add(b, chunk, (size_t)got);
        if (got <= 0)
            break;
        if (b->failed) {
            e = fault_set(f, ERR_TOO_LARGE, "cannot read %s: larger than %zu bytes", path, b->max);
            break;
        }
    }
    close(fd);
    if (e == ERR_NONE)
        buf_add(b, "", 0); /* data is a string even when the file is empty */
    return e;
}

bool write_all(int fd, const void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = write(fd, (const char *)data + done, n - done);
        if (put < 0 && errno != EINTR)
            return false;
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

const char *program_dir(void)
{
    static char dir[PATH_MAX];
    if (!dir[0]) {
        const char *env = getenv("PTXBENCH_BIN");
        if (env) {
            snprintf(dir, sizeof(dir), "%s", env);
        } else {
            ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
            dir[n > 0 ? n : 0] = '\0';
            char *slash = strrchr(dir, '/');
            if (slash)
                *slash = '\0';
        }
    }
    return dir;
}

const char *home_dir(void)
{
    static char dir[PATH_MAX];
    if (!dir[0]) {
        const char *env = getenv("PTXBENCH_HOME");
        if (env)
            snprintf(dir, sizeof(dir), "%s", env);
        else if (access(PTXBENCH_SOURCE_DIR "/problems", R_OK) == 0)
            snprintf(dir, sizeof(dir), "%s", PTXBENCH_SOURCE_DIR);
        else
            snprintf(dir, sizeof(dir), "%.*s/../share/ptxbench", PATH_MAX - 32, program_dir());
    }
    return dir;
}
