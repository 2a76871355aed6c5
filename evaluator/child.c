// SPDX-License-Identifier: Apache-2.0
#include "evaluator/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/child_spawn.h"

enum { TICK_MS = 100, READ_CHUNK = 64 * KIB };

struct child {
    struct child_spec spec;
    struct child_result *result; /* while it is waited for */
    struct child_ends ends;      /* -1 when closed */
    struct frame_reader reader;
    struct buf input; /* frames still to write; `written` of them are gone */
    size_t written, received;
    bool waited;  /* all input is in `input` */
    bool stopped; /* result->end is decided; the group is being killed */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- watching ---- */

static void stop(struct child *r, enum child_end end)
{
    if (r->stopped)
        return;
    r->stopped = true;
    r->result->end = end;
    kill(-r->ends.pid, SIGKILL);
    kill(r->ends.pid, SIGKILL); /* in case it had not yet made its own group */
}

static void write_some(struct child *r)
{
    while (r->written < r->input.len) {
        ssize_t n =
            send(r->ends.in, r->input.data + r->written, r->input.len - r->written, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) { /* it does not read on; how it ends says why */
            close_fd(&r->ends.in);
            return;
        }
        r->written += (size_t)n;
    }
    if (r->waited && !r->spec.hold_input)
        close_fd(&r->ends.in);
}

static void take_frames(struct child *r, const char *bytes, size_t n)
{
    struct frame frame;
    r->received += n;
    if (r->received > r->spec.output_max || frame_feed(&r->reader, bytes, n, NULL) != ERR_NONE) {
        stop(r, CHILD_BAD_OUTPUT);
        return;
    }
    while (!r->stopped && frame_next(&r->reader, &frame))
        if (r->spec.on_frame && !r->spec.on_frame(&frame, r->spec.arg))
            stop(r, CHILD_BAD_OUTPUT);
}

static void take_log(struct child *r, const char *bytes, size_t n)
{
    struct buf *log = &r->result->log;
    size_t room = r->spec.log_max - log->len;
    if (n > room) {
        r->result->log_cut = true;
        n = room;
    }
    buf_add(log, bytes, n);
}

/* Reads what is there now; at most a few chunks, so that the deadline is looked at in between. */
static void read_some(struct child *r, int *fd, void (*take)(struct child *, const char *, size_t))
{
    char chunk[READ_CHUNK];
    for (int i = 0; *fd >= 0 && i < 16; i++) {
        ssize_t n = read(*fd, chunk, sizeof chunk);
        if (n > 0)
            take(r, chunk, (size_t)n);
        else if (n == 0 || (errno != EINTR && errno != EAGAIN))
            close_fd(fd);
        else if (errno == EAGAIN)
            return;
    }
}

static int64_t resident_bytes(pid_t pid)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *second = strchr(text, ' ');
    return second ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

/* The leader and the programs it started itself: that is as deep as our children go. */
static int64_t group_resident_bytes(pid_t leader)
{
    char path[64], text[1024];
    int64_t sum = resident_bytes(leader);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)leader, (int)leader);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sum;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    for (char *at = text, *end; *at; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        sum += resident_bytes((pid_t)pid);
    }
    return sum;
}

static void watch_limits(struct child *r, int64_t deadline)
{
    const struct child_spec *spec = &r->spec;
    if (spec->tick && !spec->tick(spec->arg))
        stop(r, CHILD_CANCELLED);
    if (now_ms() >= deadline)
        stop(r, CHILD_TIMED_OUT);
    if (spec->memory_bytes && !r->stopped && group_resident_bytes(r->ends.pid) > spec->memory_bytes)
        stop(r, CHILD_OUT_OF_MEMORY);
}

static void watch(struct child *r)
{
    const struct child_spec *spec = &r->spec;
    int64_t begin = now_ms(), deadline = begin + spec->timeout_ms, next_tick = begin;
    for (;;) {
        bool more_input = r->ends.in >= 0 && r->written < r->input.len;
        struct pollfd fds[] = {
            {.fd = r->ends.pidfd, .events = POLLIN},
            {.fd = r->ends.out, .events = POLLIN},
            {.fd = r->ends.log, .events = POLLIN},
            {.fd = more_input ? r->ends.in : -1, .events = POLLOUT},
            {.fd = spec->wake_fd > 0 && !r->stopped ? spec->wake_fd : -1, .events = POLLIN},
        };
        if (poll(fds, COUNT_OF(fds), TICK_MS) < 0 && errno != EINTR)
            stop(r, CHILD_CANCELLED);
        if (fds[3].revents)
            write_some(r);
        if (fds[1].revents)
            read_some(r, &r->ends.out, take_frames);
        if (fds[2].revents)
            read_some(r, &r->ends.log, take_log);
        if (fds[0].revents)
            return;
        if (!r->stopped && (fds[4].revents || now_ms() >= next_tick || now_ms() >= deadline)) {
            watch_limits(r, deadline);
            next_tick = now_ms() + TICK_MS;
        }
    }
}

/* The leader is gone: end what it left behind, reap it, take what still lies in the pipes. */
static void finish(struct child *r)
{
    int status = 0;
    struct rusage usage = {0};
    kill(-r->ends.pid, SIGKILL);
    while (wait4(r->ends.pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    for (size_t before = 0; r->ends.out >= 0 && !r->stopped && before != r->received;) {
        before = r->received;
        read_some(r, &r->ends.out, take_frames);
    }
    read_some(r, &r->ends.log, take_log);
    struct child_result *out = r->result;
    out->max_rss_bytes = (int64_t)usage.ru_maxrss * KIB;
    out->cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                  (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    if (!r->stopped)
        out->end = WIFSIGNALED(status) ? CHILD_SIGNALLED : CHILD_EXITED;
    out->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

struct child *child_start(const struct child_spec *spec, struct fault *f)
{
    struct child *r = calloc(1, sizeof *r);
    if (!r) {
        fault_set(f, ERR_NO_MEMORY, "cannot start %s: out of memory", spec->program);
        return NULL;
    }
    *r = (struct child){.spec = *spec, .ends = {.pidfd = -1, .in = -1, .out = -1, .log = -1}};
    frame_reader_init(&r->reader);
    buf_init(&r->input, 4 * (size_t)LIMIT_FRAME);
    enum err e = ERR_NONE;
    for (size_t i = 0; i < spec->input_count; i++)
        frame_add(&r->input, spec->input[i].kind, spec->input[i].data, spec->input[i].len);
    if (r->input.failed)
        e = fault_set(f, ERR_NO_MEMORY, "cannot frame the input of %s", spec->program);
    if (e == ERR_NONE)
        e = child_spawn(spec, &r->ends, f);
    if (e == ERR_NONE) {
        write_some(r);
        return r;
    }
    child_free(r);
    return NULL;
}

bool child_add(struct child *r, enum frame_kind kind, const void *data, size_t len)
{
    frame_add(&r->input, kind, data, len);
    return !r->input.failed;
}

void child_wait(struct child *r, struct child_result *out)
{
    int64_t begin = now_ms();
    *out = (struct child_result){0};
    buf_init(&out->log, r->spec.log_max);
    r->result = out;
    r->waited = true;
    if (r->ends.in >= 0)
        write_some(r);
    watch(r);
    finish(r);
    r->ends.pid = 0;
    out->wall_ms = now_ms() - begin;
}

void child_free(struct child *r)
{
    if (!r)
        return;
    if (r->ends.pid > 0) {
        kill(-r->ends.pid, SIGKILL);
        kill(r->ends.pid, SIGKILL); /* in case it had not yet made its own group */
        while (waitpid(r->ends.pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_fd(&r->ends.in), close_fd(&r->ends.out), close_fd(&r->ends.log), close_fd(&r->ends.pidfd);
    frame_reader_release(&r->reader);
    buf_release(&r->input);
    free(r);
}

enum err child_run(const struct child_spec *spec, struct child_result *out, struct fault *f)
{
    *out = (struct child_result){0};
    int64_t begin = now_ms();
    struct fault why = {0};
    struct child *r = child_start(spec, &why);
    if (!r)
        return fault_set(f, why.code, "%s", why.detail);
    child_wait(r, out);
    child_free(r);
    out->wall_ms = now_ms() - begin;
    return ERR_NONE;
}

void child_result_release(struct child_result *r)
{
    buf_release(&r->log);
}

const char *child_describe(const struct child_result *r, char *out, size_t size)
{
    static const char *const texts[] = {
        [CHILD_TIMED_OUT] = "ran past its deadline and was killed",
        [CHILD_OUT_OF_MEMORY] = "used more memory than it may and was killed",
        [CHILD_BAD_OUTPUT] = "answered with something that is not an answer and was killed",
        [CHILD_CANCELLED] = "was cancelled",
    };
    if (r->end == CHILD_EXITED)
        snprintf(out, size, "exited with status %d", r->code);
    else if (r->end == CHILD_SIGNALLED)
        snprintf(out, size, "was killed by signal %d (%s)", r->code, strsignal(r->code));
    else
        snprintf(out, size, "%s", texts[r->end]);
    return out;
}
