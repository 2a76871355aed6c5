// SPDX-License-Identifier: Apache-2.0
#include "evaluator/keeper_line.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json.h"
#include "core/util.h"

enum { TICK_MS = 100, READ_CHUNK = 64 * KIB, READS_PER_TURN = 16 };

struct keeper_line {
    int fd;
    struct frame_reader reader;
    struct buf to_send; /* frames; `sent` bytes of them are gone */
    size_t sent;
};

struct keeper_line *keeper_line_new(int fd)
{
    struct keeper_line *line = calloc(1, sizeof(*line));
    if (!line) {
        close(fd);
        return NULL;
    }
    line->fd = fd;
    frame_reader_init(&line->reader);
    buf_init(&line->to_send, (size_t)LIMIT_CUBIN + LIMIT_BODY);
    return line;
}

void keeper_line_free(struct keeper_line *line)
{
    if (!line)
        return;
    close(line->fd);
    frame_reader_release(&line->reader);
    buf_release(&line->to_send);
    free(line);
}

static const char ended[] = "it ended", nonsense[] = "it said what makes no sense";

/* Both return NULL, or why there will be no more. */
static const char *send_some(struct keeper_line *line)
{
    while (line->sent < line->to_send.len) {
        ssize_t n = send(line->fd, line->to_send.data + line->sent, line->to_send.len - line->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? NULL : ended;
        line->sent += (size_t)n;
    }
    return NULL;
}

static const char *receive_some(struct keeper_line *line, int64_t *heard_ms)
{
    static _Thread_local char chunk[READ_CHUNK];
    for (int i = 0; i < READS_PER_TURN; i++) {
        ssize_t n = recv(line->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? NULL : ended;
        if (n == 0)
            return ended;
        if (frame_feed(&line->reader, chunk, (size_t)n, NULL) != ERR_NONE)
            return nonsense;
        *heard_ms = now_ms();
    }
    return NULL;
}

/* Takes frames up to the result. False: one of them makes no sense. */
static bool take_frames(struct keeper_line *line, const struct keeper_wait_spec *spec,
                        struct outcome *out)
{
    struct frame frame;
    while (!out->json && frame_next(&line->reader, &frame))
        if (!outcome_take(out, &frame, spec->progress, spec->arg))
            return false;
    return true;
}

static bool is_stopped(const struct keeper_wait_spec *spec)
{
    return spec->tick && !spec->tick(spec->arg);
}

/* Moves bytes until there is a result; NULL, or why there is none. */
static const char *converse(struct keeper_line *line, const struct keeper_wait_spec *spec,
                            struct outcome *out)
{
    int64_t heard_ms = now_ms();
    while (!out->json) {
        bool sending = line->sent < line->to_send.len;
        struct pollfd p = {.fd = line->fd, .events = (short)(POLLIN | (sending ? POLLOUT : 0))};
        if (poll(&p, 1, TICK_MS) < 0 && errno != EINTR)
            return "it cannot be waited for";
        const char *deaf = receive_some(line, &heard_ms), *mute = send_some(line);
        if (!take_frames(line, spec, out))
            return nonsense;
        if (!out->json && (deaf || mute))
            return deaf ? deaf : mute;
        if (spec->silence_ms && now_ms() - heard_ms > spec->silence_ms)
            return "it hangs";
        if (is_stopped(spec))
            return "";
    }
    return outcome_read(out) ? NULL : "its answer has no verdict";
}

void keeper_line_ask(struct keeper_line *line, const json_t *request, const struct buf *cubin,
                     const struct keeper_wait_spec *spec, struct outcome *out)
{
    outcome_init(out);
    char *text = json_dumps(request, JSON_COMPACT | JSON_REAL_PRECISION(17));
    buf_clear(&line->to_send);
    line->sent = 0;
    if (text)
        frame_add(&line->to_send, FRAME_REQUEST, text, strlen(text));
    if (cubin)
        frame_add(&line->to_send, FRAME_CUBIN, cubin->data, cubin->len);
    bool ready = text && !line->to_send.failed;
    free(text);
    const char *why = ready ? converse(line, spec, out) : "there is no memory to ask it";
    if (!why)
        return;
    char detail[LIMIT_DETAIL];
    snprintf(detail, sizeof(detail), "the keeper of the device failed: %s", why);
    outcome_give_up(out, *why ? VERDICT_INFRA_ERROR : VERDICT_CANCELLED,
                    *why ? detail : "cancelled on request");
}
