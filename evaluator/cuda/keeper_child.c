// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"

enum { SEND_MS = 10 * 1000, REST_MS = 5 * 1000, CHUNK = 16 * KIB };

/* All of the environment it sees: where the installation and the toolkit are. */
static const char *const kept_variables[] = {
    "PATH",           "PTXBENCH_HOME",   "PTXBENCH_BIN",        "CUDA_HOME",
    "PTXBENCH_CUDNN", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"};

struct launch {
    char path[PATH_MAX], number[16], variables[COUNT_OF(kept_variables)][PATH_MAX + 32];
    char *argv[5], *envp[COUNT_OF(kept_variables) + 1];
    pid_t parent;
};

static void lay_out(struct launch *l, const char *role, int ordinal)
{
    snprintf(l->path, sizeof(l->path), "%s/ptxbench-gpu", program_dir());
    snprintf(l->number, sizeof(l->number), "%d", ordinal);
    l->argv[0] = l->path;
    l->argv[1] = (char *)(uintptr_t)role; /* execve wants char *, writes none */
    l->argv[2] = (char *)(uintptr_t) "--device";
    l->argv[3] = l->number;
    l->argv[4] = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < COUNT_OF(kept_variables); i++) {
        const char *value = getenv(kept_variables[i]);
        if (!value)
            continue;
        snprintf(l->variables[kept], sizeof(l->variables[kept]), "%s=%s", kept_variables[i], value);
        l->envp[kept] = l->variables[kept];
        kept++;
    }
    l->envp[kept] = NULL;
    l->parent = getpid();
}

/* In the child: its socket becomes WIRE_FD, what it prints goes into the pipe. */
static void become(const struct launch *l, int fd, int print)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != l->parent)
        _exit(127);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (dup2(null, 0) < 0 || dup2(print, 1) < 0 || dup2(print, 2) < 0 ||
        (fd == WIRE_FD ? fcntl(fd, F_SETFD, 0) : dup2(fd, WIRE_FD)) < 0)
        _exit(127);
    close_range(WIRE_FD + 1, UINT_MAX,
                0); /* the driver's own descriptors do not all close on exec */
    execve(l->path, l->argv, l->envp);
    _exit(127);
}

enum err keeper_child_start(struct keeper_child *c, const char *role, int ordinal, struct fault *f)
{
    int ends[2], print[2];
    struct launch *l = malloc(sizeof(*l));
    *c = (struct keeper_child){.fd = -1, .print = -1};
    if (!l || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        free(l);
        return fault_set(f, ERR_UNAVAILABLE, "cannot start a %s: no room for it", role);
    }
    if (pipe2(print, O_CLOEXEC) != 0)
        print[0] = print[1] = -1;
    lay_out(l, role, ordinal);
    pid_t pid = print[0] < 0 ? -1 : fork();
    if (pid == 0)
        become(l, ends[1], print[1]);
    free(l);
    close(ends[1]);
    if (print[1] >= 0)
        close(print[1]);
    c->fd = ends[0];
    c->print = print[0];
    c->pid = pid > 0 ? pid : 0;
    buf_init(&c->printed, LIMIT_LOG);
    if (c->pid && fcntl(c->print, F_SETFL, O_NONBLOCK) == 0)
        return ERR_NONE;
    keeper_child_stop(c);
    return fault_set(f, ERR_UNAVAILABLE, "cannot start a %s: %s", role, strerror(errno));
}

bool keeper_child_alive(struct keeper_child *c)
{
    if (c->pid && waitpid(c->pid, NULL, WNOHANG) == c->pid)
        c->pid = 0;
    return c->pid != 0;
}

void keeper_child_kill(struct keeper_child *c)
{
    if (c->pid)
        kill(c->pid, SIGKILL);
}

void keeper_child_stop(struct keeper_child *c)
{
    if (c->pid) {
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (c->fd > 0)
        close(c->fd);
    if (c->print > 0)
        close(c->print);
    buf_release(&c->printed);
    json_decref(c->ready);
    *c = (struct keeper_child){.fd = -1, .print = -1};
}

/* Takes what is in the pipe now, and keeps what there is room for. */
static void read_printed(struct keeper_child *c)
{
    char chunk[CHUNK];
    ssize_t n = read(c->print, chunk, sizeof(chunk));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(c->print);
        c->print = -1;
    }
    size_t room = c->printed.max - c->printed.len;
    if (n > 0 && room)
        buf_add(&c->printed, chunk, (size_t)n < room ? (size_t)n : room);
}

void keeper_child_take_printed(struct keeper_child *c, struct buf *out)
{
    for (size_t i = 0; c->print > 0 && i < LIMIT_LOG / CHUNK; i++)
        read_printed(c);
    size_t room = out->max - out->len;
    if (c->printed.len && room)
        buf_add(out, c->printed.data, c->printed.len < room ? c->printed.len : room);
    buf_clear(&c->printed);
}

enum { FRAMES, PRINTED, WATCHED };

static size_t fill_polls(const struct keeper_watch *watch, struct pollfd *polls)
{
    size_t count = watch ? watch->count : 0;
    for (size_t i = 0; i < count; i++)
        polls[i] = (struct pollfd){.fd = watch->fds[i], .events = POLLRDHUP};
    return count;
}

bool keeper_watch_ended(const struct keeper_watch *w)
{
    struct pollfd polls[KEEPER_WATCHED];
    size_t count = fill_polls(w, polls);
    bool ended = false;
    if (poll(polls, count, 0) > 0)
        for (size_t i = 0; i < count; i++)
            ended = ended || polls[i].revents;
    return ended;
}

/* Waits until the process has said something. */
static bool wait_for_frame(struct keeper_child *c, int64_t deadline_ms,
                           const struct keeper_watch *watch, struct keeper_end *end)
{
    for (;;) {
        struct pollfd polls[WATCHED + KEEPER_WATCHED] = {
            [FRAMES] = {.fd = c->fd, .events = POLLIN},
            [PRINTED] = {.fd = c->print, .events = POLLIN},
        };
        size_t watched = fill_polls(watch, &polls[WATCHED]);
        int64_t left = deadline_ms - now_ms();
        int n = poll(polls, WATCHED + watched, left > INT_MAX ? INT_MAX : left > 0 ? (int)left : 0);
        if (n == 0 && left <= 0)
            return keeper_end_set(end, VERDICT_TIMEOUT, "it took too long");
        if (n < 0 && errno != EINTR)
            return keeper_end_set(end, VERDICT_INFRA_ERROR, "cannot wait: %s", strerror(errno));
        for (size_t i = 0; n > 0 && i < watched; i++)
            if (polls[WATCHED + i].revents)
                return keeper_end_set(end, VERDICT_CANCELLED, "nobody waits for the answer");
        if (n > 0 && polls[PRINTED].revents)
            read_printed(c);
        if (n > 0 && polls[FRAMES].revents)
            return true;
    }
}

/* How it ended, for a process that is gone; it is reaped. */
static void describe_end(struct keeper_child *c, const char *otherwise, struct keeper_end *end)
{
    int status = 0;
    if (c->pid && waitpid(c->pid, &status, WNOHANG) == c->pid) {
        c->pid = 0;
        if (WIFSIGNALED(status))
            keeper_end_set(end, VERDICT_INFRA_ERROR, "the process was killed by signal %d",
                           WTERMSIG(status));
        else
            keeper_end_set(end, VERDICT_INFRA_ERROR, "the process exited with status %d",
                           WEXITSTATUS(status));
    } else {
        keeper_end_set(end, VERDICT_INFRA_ERROR, "the process does not answer: %.400s", otherwise);
    }
}

static bool receive(struct keeper_child *c, const struct keeper_wait *wait, struct wire_message *m,
                    struct keeper_end *end)
{
    struct fault f = {0};
    *m = (struct wire_message){0};
    if (!wait_for_frame(c, now_ms() + wait->timeout_ms, wait->watch, end))
        return false;
    if (wire_receive(c->fd, m, LIMIT_REPORT, REST_MS, &f) == ERR_NONE)
        return true;
    describe_end(c, f.detail, end);
    return false;
}

bool keeper_child_ready(struct keeper_child *c, int64_t timeout_ms,
                        const struct keeper_watch *watch, struct keeper_end *end)
{
    if (c->ready)
        return true;
    struct keeper_wait wait = {.timeout_ms = timeout_ms, .watch = watch};
    struct wire_message m;
    bool ok = receive(c, &wait, &m, end);
    const char *kind = json_string_value(json_object_get(m.json, "kind"));
    const char *why = json_string_value(json_object_get(m.json, "detail"));
    if (ok && kind && !strcmp(kind, "ready"))
        c->ready = json_incref(m.json);
    else if (ok)
        ok = keeper_end_set(end, VERDICT_INFRA_ERROR,
                            "a process for the device did not start: %.400s",
                            why ? why : "it gave no reason");
    else if (end->verdict == VERDICT_TIMEOUT)
        keeper_end_set(end, VERDICT_INFRA_ERROR, "a process for the device did not start in time");
    wire_message_release(&m);
    return ok && c->ready;
}

bool keeper_child_send(struct keeper_child *c, const struct keeper_ask *ask, struct keeper_end *end)
{
    struct fault f = {0};
    enum err e =
        wire_send_json(c->fd, FRAME_REQUEST, ask->request, ask->fds, ask->fd_count, SEND_MS, &f);
    if (e == ERR_NONE && ask->cubin)
        e = wire_send(c->fd, FRAME_CUBIN, ask->cubin, ask->cubin_len, NULL, 0, SEND_MS, &f);
    json_decref(ask->request);
    if (e != ERR_NONE)
        describe_end(c, f.detail, end);
    return e == ERR_NONE;
}

json_t *keeper_child_receive(struct keeper_child *c, const struct keeper_wait *wait,
                             struct keeper_end *end)
{
    int64_t deadline_ms = now_ms() + wait->timeout_ms;
    for (;;) {
        struct wire_message m;
        struct keeper_wait left = *wait;
        left.timeout_ms = deadline_ms - now_ms();
        json_t *answer = NULL;
        bool ok = receive(c, &left, &m, end);
        if (ok && m.kind == FRAME_CAPTURE && wait->capture)
            buf_add(wait->capture, m.data, m.len);
        if (ok && m.kind == FRAME_RESULT)
            answer = json_incref(m.json);
        else if (ok && m.kind != FRAME_CAPTURE)
            ok = keeper_end_set(end, VERDICT_INFRA_ERROR, "the process answers nonsense");
        wire_message_release(&m);
        if (answer && !keeper_answer_judge(answer, end)) {
            json_decref(answer);
            return NULL;
        }
        if (answer || !ok)
            return answer;
    }
}

json_t *keeper_child_ask(struct keeper_child *c, const struct keeper_ask *ask,
                         const struct keeper_wait *wait, struct keeper_end *end)
{
    return keeper_child_send(c, ask, end) ? keeper_child_receive(c, wait, end) : NULL;
}
