// SPDX-License-Identifier: Apache-2.0
#include "evaluator/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json.h"
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

/* Waits until the socket is ready; a deadline of -1 never passes. */
static enum err wait_for(int fd, short events, int64_t deadline_ms, struct fault *f)
{
    for (;;) {
        int64_t left = deadline_ms < 0 ? -1 : deadline_ms - now_ms();
        if (deadline_ms >= 0 && left <= 0)
            return fault_set(f, ERR_DEADLINE, "the other process took too long");
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left);
        if (n > 0)
            return ERR_NONE;
        if (n < 0 && errno != EINTR)
            return fault_set(f, ERR_IO, "cannot wait for the other process: %s", strerror(errno));
    }
}

static int64_t deadline_of(int64_t timeout_ms)
{
    return timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
}

union control {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS)];
};

/* Sends `len` bytes, the descriptors with the first of them. */
static enum err send_all(int fd, const void *data, size_t len, const int *fds, size_t fd_count,
                         int64_t deadline_ms, struct fault *f)
{
    union control control = {.bytes = {0}};
    struct iovec bytes = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    struct msghdr m = {.msg_iov = &bytes, .msg_iovlen = 1};
    if (fd_count) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
    }
    while (bytes.iov_len) {
        enum err e = wait_for(fd, POLLOUT, deadline_ms, f);
        if (e != ERR_NONE)
            return e;
        ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return fault_set(f, ERR_IO, "cannot write to the other process: %s", strerror(errno));
        if (n <= 0)
            continue;
        bytes.iov_base = (char *)bytes.iov_base + n;
        bytes.iov_len -= (size_t)n;
        m.msg_control = NULL;
        m.msg_controllen = 0;
    }
    return ERR_NONE;
}

enum err wire_send(int fd, enum frame_kind kind, const void *data, size_t len, const int *fds,
                   size_t fd_count, int64_t timeout_ms, struct fault *f)
{
    if (len > LIMIT_FRAME || fd_count > WIRE_FDS)
        return fault_set(f, ERR_TOO_LARGE, "cannot send a frame: it is over the limit");
    unsigned char header[HEADER];
    put_u32(header, kind);
    put_u32(header + 4, (uint32_t)len);
    int64_t deadline_ms = deadline_of(timeout_ms);
    enum err e = send_all(fd, header, HEADER, fds, fd_count, deadline_ms, f);
    return e != ERR_NONE ? e : send_all(fd, data, len, NULL, 0, deadline_ms, f);
}

enum err wire_send_json(int fd, enum frame_kind kind, const json_t *value, const int *fds,
                        size_t fd_count, int64_t timeout_ms, struct fault *f)
{
    char *text = json_dumps(value, JSON_COMPACT);
    if (!text)
        return fault_set(f, ERR_NO_MEMORY, "cannot send a frame: out of memory");
    enum err e = wire_send(fd, kind, text, strlen(text), fds, fd_count, timeout_ms, f);
    free(text);
    return e;
}

/* Keeps what fits of the descriptors and closes the rest. */
static void take_fds(struct msghdr *m, struct wire_message *out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (out->fd_count < WIRE_FDS)
                out->fds[out->fd_count++] = fd;
            else
                close(fd);
        }
    }
}

static enum err receive_all(int fd, void *data, size_t len, struct wire_message *out,
                            int64_t deadline_ms, struct fault *f)
{
    for (size_t got = 0; got < len;) {
        enum err e = wait_for(fd, POLLIN, deadline_ms, f);
        if (e != ERR_NONE)
            return e;
        union control control;
        struct iovec bytes = {.iov_base = (char *)data + got, .iov_len = len - got};
        struct msghdr m = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes)};
        ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n > 0) {
            take_fds(&m, out);
            got += (size_t)n;
        } else if (n == 0) {
            return fault_set(f, ERR_IO, "the other process is gone");
        } else if (errno != EINTR && errno != EAGAIN) {
            return fault_set(f, ERR_IO, "cannot read from the other process: %s", strerror(errno));
        }
    }
    return ERR_NONE;
}

static bool is_json(enum frame_kind kind)
{
    return kind == FRAME_REQUEST || kind == FRAME_EVENT || kind == FRAME_RESULT;
}

enum err wire_receive(int fd, struct wire_message *out, size_t max, int64_t timeout_ms,
                      struct fault *f)
{
    *out = (struct wire_message){0};
    int64_t deadline_ms = deadline_of(timeout_ms);
    unsigned char header[HEADER];
    enum err e = receive_all(fd, header, HEADER, out, deadline_ms, f);
    if (e != ERR_NONE)
        return e;
    out->kind = (enum frame_kind)get_u32(header);
    out->len = get_u32(header + 4);
    if (!out->kind || out->kind >= FRAME_KIND_COUNT || out->len > max)
        return fault_set(f, ERR_BAD_REQUEST, "cannot read a frame of kind %u and %zu bytes",
                         (unsigned)out->kind, out->len);
    out->data = malloc(out->len + 1);
    if (!out->data)
        return fault_set(f, ERR_NO_MEMORY, "cannot read a frame of %zu bytes", out->len);
    e = receive_all(fd, out->data, out->len, out, deadline_ms, f);
    if (e != ERR_NONE)
        return e;
    out->data[out->len] = 0;
    if (is_json(out->kind) && !(out->json = json_parse(out->data, out->len, f)))
        return ERR_BAD_REQUEST;
    return ERR_NONE;
}

void wire_message_release(struct wire_message *m)
{
    free(m->data);
    json_decref(m->json);
    for (size_t i = 0; i < m->fd_count; i++)
        if (m->fds[i] >= 0)
            close(m->fds[i]);
    *m = (struct wire_message){0};
}
