/* SPDX-License-Identifier: Apache-2.0
 * Spawning and watching one child. After fork() only async-signal-safe calls are made, so a caller
 * with threads is fine. Everything the child needs is laid out before. */
#include "evaluator/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"

enum { TICK_MS = 100, FIRST_FREE_FD = 16, READ_CHUNK = 64 * KIB, MAX_ARGUMENTS = 16 };

/* All of the environment a child sees: where the installation and the compiler are. */
static const char *const kept_variables[] = {"PTXBENCH_HOME", "PTXBENCH_BIN", "CUDA_HOME"};
enum { KEPT = COUNT_OF(kept_variables) };

struct launch {
    char path[512];
    char *argv[MAX_ARGUMENTS + 2];
    char *envp[KEPT + 1];
    char env_text[KEPT][512];
    pid_t parent;
    int in, out, log, error; /* the child's ends */
};

struct run {
    const struct child_spec *spec;
    struct child_result *result;
    pid_t pid;
    int pidfd, in, out, log; /* our ends; -1 when closed */
    struct frame_reader reader;
    struct buf input; /* frames still to write; `written` of them are gone */
    size_t written, received;
    bool stopped; /* result->end is decided; the group is being killed */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- the child's side ---- */

static void close_from(int first)
{
    if (syscall(SYS_close_range, first, ~0U, 0) == 0)
        return;
    for (int fd = first; fd < 4096; fd++)
        close(fd);
}

static _Noreturn void die(int error_fd)
{
    int e = errno;
    ssize_t ignored = write(error_fd, &e, sizeof e);
    (void)ignored;
    _exit(127);
}

/* A parent that ignores or blocks a signal must not hand that down: SIGPIPE and SIGTERM matter. */
static void default_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < 32; s++)
        signal(s, SIG_DFL);
}

static _Noreturn void become(const struct launch *l)
{
    setsid();
    default_signals();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        die(l->error);
    if (getppid() != l->parent) /* it died before the line above */
        _exit(127);
    int error = fcntl(l->error, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int in = fcntl(l->in, F_DUPFD, FIRST_FREE_FD), out = fcntl(l->out, F_DUPFD, FIRST_FREE_FD);
    int log = fcntl(l->log, F_DUPFD, FIRST_FREE_FD);
    if (error < 0 || in < 0 || out < 0 || log < 0)
        die(l->error);
    if (dup2(in, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(out, CHILD_ANSWER_FD) < 0 ||
        dup3(error, CHILD_ANSWER_FD + 1, O_CLOEXEC) < 0)
        die(error);
    close_from(CHILD_ANSWER_FD + 2);
    execve(l->path, l->argv, l->envp);
    die(CHILD_ANSWER_FD + 1);
}

/* ---- starting ---- */

static enum err lay_out(struct launch *l, const struct child_spec *spec, struct fault *f)
{
    if (snprintf(l->path, sizeof l->path, "%s/%s", program_dir(), spec->program) >=
        (int)sizeof l->path)
        return fault_set(f, ERR_INTERNAL, "cannot start %s: path too long", spec->program);
    l->argv[0] = l->path;
    size_t n = 0;
    for (; spec->arguments && spec->arguments[n]; n++) {
        if (n == MAX_ARGUMENTS)
            return fault_set(f, ERR_INTERNAL, "cannot start %s: too many arguments", spec->program);
        l->argv[n + 1] =
            (char *)(uintptr_t)spec->arguments[n]; /* execve wants char *, writes none */
    }
    size_t kept = 0;
    for (size_t i = 0; i < KEPT; i++) {
        const char *value = getenv(kept_variables[i]);
        if (value && snprintf(l->env_text[kept], sizeof l->env_text[kept], "%s=%s",
                              kept_variables[i], value) < (int)sizeof l->env_text[kept])
            l->envp[kept] = l->env_text[kept], kept++;
    }
    l->parent = getpid();
    return ERR_NONE;
}

static bool nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

/* stdin is a socket pair, since only a socket can be written without raising SIGPIPE. */
static enum err start(struct run *r, struct launch *l, struct fault *f)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, log[2] = {-1, -1}, error[2] = {-1, -1};
    int why = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        pipe2(log, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0 || !nonblocking(in[1]) ||
        !nonblocking(out[0]) || !nonblocking(log[0]))
        why = errno;
    if (!why) {
        l->in = in[0], l->out = out[1], l->log = log[1], l->error = error[1];
        r->pid = fork();
        if (r->pid == 0)
            become(l);
        why = r->pid < 0 ? errno : 0;
    }
    close_fd(&in[0]), close_fd(&out[1]), close_fd(&log[1]), close_fd(&error[1]);
    r->in = in[1], r->out = out[0], r->log = log[0];
    if (!why && (r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0)) < 0)
        why = errno;
    int child_errno;
    if (!why && read(error[0], &child_errno, sizeof child_errno) == sizeof child_errno)
        why = child_errno;
    close_fd(&error[0]);
    if (!why)
        return ERR_NONE;
    if (r->pid > 0) {
        kill(r->pid, SIGKILL);
        waitpid(r->pid, NULL, 0);
    }
    return fault_set(f, ERR_INTERNAL, "cannot start %s: %s", r->spec->program, strerror(why));
}

/* ---- watching ---- */

static void stop(struct run *r, enum child_end end)
{
    if (r->stopped)
        return;
    r->stopped = true;
    r->result->end = end;
    kill(-r->pid, SIGKILL);
    kill(r->pid, SIGKILL); /* in case it had not yet made its own group */
}

static void write_some(struct run *r)
{
    while (r->written < r->input.len) {
        ssize_t n =
            send(r->in, r->input.data + r->written, r->input.len - r->written, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) { /* it does not read on; how it ends says why */
            close_fd(&r->in);
            return;
        }
        r->written += (size_t)n;
    }
    if (!r->spec->hold_input)
        close_fd(&r->in);
}

static void take_frames(struct run *r, const char *bytes, size_t n)
{
    struct frame frame;
    r->received += n;
    if (r->received > r->spec->output_max || frame_feed(&r->reader, bytes, n, NULL) != ERR_NONE) {
        stop(r, CHILD_BAD_OUTPUT);
        return;
    }
    while (!r->stopped && frame_next(&r->reader, &frame))
        if (r->spec->on_frame && !r->spec->on_frame(&frame, r->spec->arg))
            stop(r, CHILD_BAD_OUTPUT);
}

static void take_log(struct run *r, const char *bytes, size_t n)
{
    struct buf *log = &r->result->log;
    size_t room = r->spec->log_max - log->len;
    if (n > room) {
        r->result->log_cut = true;
        n = room;
    }
    buf_add(log, bytes, n);
}

/* Reads what is there now; at most a few chunks, so that the deadline is looked at in between. */
static void read_some(struct run *r, int *fd, void (*take)(struct run *, const char *, size_t))
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

static void watch_limits(struct run *r, int64_t deadline)
{
    const struct child_spec *spec = r->spec;
    if (spec->tick && !spec->tick(spec->arg))
        stop(r, CHILD_CANCELLED);
    if (now_ms() >= deadline)
        stop(r, CHILD_TIMED_OUT);
    if (spec->memory_bytes && !r->stopped && group_resident_bytes(r->pid) > spec->memory_bytes)
        stop(r, CHILD_OUT_OF_MEMORY);
}

static void watch(struct run *r)
{
    const struct child_spec *spec = r->spec;
    int64_t begin = now_ms(), deadline = begin + spec->timeout_ms, next_tick = begin;
    bool more_input = true;
    for (;;) {
        more_input = more_input && r->in >= 0 && r->written < r->input.len;
        struct pollfd fds[] = {
            {.fd = r->pidfd, .events = POLLIN},
            {.fd = r->out, .events = POLLIN},
            {.fd = r->log, .events = POLLIN},
            {.fd = more_input ? r->in : -1, .events = POLLOUT},
            {.fd = spec->wake_fd > 0 && !r->stopped ? spec->wake_fd : -1, .events = POLLIN},
        };
        if (poll(fds, COUNT_OF(fds), TICK_MS) < 0 && errno != EINTR)
            stop(r, CHILD_CANCELLED);
        if (fds[3].revents)
            write_some(r);
        if (fds[1].revents)
            read_some(r, &r->out, take_frames);
        if (fds[2].revents)
            read_some(r, &r->log, take_log);
        if (fds[0].revents)
            return;
        if (!r->stopped && (fds[4].revents || now_ms() >= next_tick || now_ms() >= deadline)) {
            watch_limits(r, deadline);
            next_tick = now_ms() + TICK_MS;
        }
    }
}

/* The leader is gone: end what it left behind, reap it, take what still lies in the pipes. */
static void finish(struct run *r)
{
    int status = 0;
    struct rusage usage = {0};
    kill(-r->pid, SIGKILL);
    while (wait4(r->pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    for (size_t before = 0; r->out >= 0 && !r->stopped && before != r->received;) {
        before = r->received;
        read_some(r, &r->out, take_frames);
    }
    read_some(r, &r->log, take_log);
    struct child_result *out = r->result;
    out->max_rss_bytes = (int64_t)usage.ru_maxrss * KIB;
    out->cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                  (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    if (!r->stopped)
        out->end = WIFSIGNALED(status) ? CHILD_SIGNALLED : CHILD_EXITED;
    out->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

enum err child_run(const struct child_spec *spec, struct child_result *out, struct fault *f)
{
    struct launch l = {0};
    struct run r = {.spec = spec, .result = out, .pidfd = -1, .in = -1, .out = -1, .log = -1};
    *out = (struct child_result){0};
    buf_init(&out->log, spec->log_max);
    frame_reader_init(&r.reader);
    buf_init(&r.input, 4 * (size_t)LIMIT_FRAME);
    int64_t begin = now_ms();
    enum err e = lay_out(&l, spec, f);
    for (size_t i = 0; i < spec->input_count; i++)
        frame_add(&r.input, spec->input[i].kind, spec->input[i].data, spec->input[i].len);
    if (e == ERR_NONE && r.input.failed)
        e = fault_set(f, ERR_NO_MEMORY, "cannot frame the input of %s", spec->program);
    if (e == ERR_NONE)
        e = start(&r, &l, f);
    if (e == ERR_NONE) {
        write_some(&r);
        watch(&r);
        finish(&r);
    }
    out->wall_ms = now_ms() - begin;
    close_fd(&r.in), close_fd(&r.out), close_fd(&r.log), close_fd(&r.pidfd);
    frame_reader_release(&r.reader);
    buf_release(&r.input);
    return e;
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
