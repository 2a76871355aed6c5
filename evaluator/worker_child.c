// SPDX-License-Identifier: Apache-2.0
#include "evaluator/worker_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/evaluate.h"

/* The only variables a child sees: no credential of the database gets through. */
static const char *const kept_variables[] = {"PATH", "PTXBENCH_HOME", "PTXBENCH_BIN", "CUDA_HOME"};
enum { KEPT = COUNT_OF(kept_variables), READ_CHUNK = 64 * KIB, READS_PER_PUMP = 64 };

struct environment {
    char text[KEPT][4096];
    char *list[KEPT + 1];
};

static void environment_init(struct environment *e)
{
    size_t n = 0;
    for (size_t i = 0; i < KEPT; i++) {
        const char *value = getenv(kept_variables[i]);
        if (!value)
            continue;
        snprintf(e->text[n], sizeof(e->text[n]), "%s=%s", kept_variables[i], value);
        e->list[n] = e->text[n];
        n++;
    }
    e->list[n] = NULL;
}

/* Child's side: only async-signal-safe calls up to execve. */
static _Noreturn void become(const struct worker_child_spec *spec, char *const argv[],
                             char *const envp[], int in, int out, pid_t parent)
{
    static const char self[] = "/proc/self/exe";
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a dead worker must not leave a kernel running */
    if (getppid() != parent)          /* it died before the line above */
        _exit(126);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    /* Above all numbers that are about to be taken, or one would close the other. */
    int keeper = spec->keeper_fd < 0
                     ? 0
                     : fcntl(spec->keeper_fd, F_DUPFD_CLOEXEC, EVALUATE_KEEPER_FD + 1);
    if (keeper < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        (keeper && dup2(keeper, EVALUATE_KEEPER_FD) < 0))
        _exit(126);
    execve(spec->program ? spec->program : self, argv, envp);
    _exit(127);
}

static bool make_pipe(int fds[2], int our_end)
{
    return pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[our_end], F_SETFL, O_NONBLOCK) == 0;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static enum err spawn(struct worker_child *c, const struct worker_child_spec *spec, int in, int out,
                      struct fault *f)
{
    struct environment environment;
    environment_init(&environment);
    static char role[] = "evaluate", name[] = "ptxbench-worker";
    char *const argv[] = {name, role, NULL};
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return fault_set(f, ERR_IO, "cannot start an evaluation: %s", strerror(errno));
    if (pid == 0)
        become(spec, argv, environment.list, in, out, parent);
    setpgid(pid, pid); /* whichever of the two is first */
    c->pid = pid;
    c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (c->pidfd < 0)
        return fault_set(f, ERR_IO, "cannot watch an evaluation: %s", strerror(errno));
    fcntl(c->pidfd, F_SETFD, FD_CLOEXEC);
    return ERR_NONE;
}

enum err worker_child_start(struct worker_child *c, const struct worker_child_spec *spec,
                            struct fault *f)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    *c = (struct worker_child){.pidfd = -1, .in = -1, .out = -1};
    frame_reader_init(&c->reader);
    buf_init(&c->input, (size_t)2 * LIMIT_BODY);
    frame_add(&c->input, FRAME_REQUEST, spec->request, strlen(spec->request));
    frame_add(&c->input, FRAME_SOURCE, spec->source, spec->source_len);
    enum err e = ERR_NONE;
    if (c->input.failed)
        e = fault_set(f, ERR_NO_MEMORY, "cannot hold the input of an evaluation");
    else if (!make_pipe(to, 1) || !make_pipe(from, 0))
        e = fault_set(f, ERR_IO, "cannot make a pipe: %s", strerror(errno));
    c->in = to[1];
    c->out = from[0];
    if (e == ERR_NONE)
        e = spawn(c, spec, to[0], from[1], f);
    close_fd(to[0]);
    close_fd(from[1]);
    if (e != ERR_NONE)
        worker_child_release(c);
    return e;
}

void worker_child_fds(const struct worker_child *c, struct pollfd fds[WORKER_CHILD_FDS])
{
    bool there = c->pid > 0, writing = there && c->written < c->input.len;
    fds[0] = (struct pollfd){there ? c->pidfd : -1, POLLIN, 0};
    fds[1] = (struct pollfd){there && !c->out_closed ? c->out : -1, POLLIN, 0};
    fds[2] = (struct pollfd){writing ? c->in : -1, POLLOUT, 0};
}

static void write_some(struct worker_child *c)
{
    while (c->written < c->input.len) {
        ssize_t put = write(c->in, c->input.data + c->written, c->input.len - c->written);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN)
            return;
        if (put < 0) { /* it is going: its end will say why */
            c->written = c->input.len;
            return;
        }
        c->written += (size_t)put;
    }
}

enum err worker_child_pump(struct worker_child *c, struct fault *f)
{
    static char chunk[READ_CHUNK];
    write_some(c);
    for (int i = 0; i < READS_PER_PUMP && !c->out_closed; i++) {
        ssize_t got = read(c->out, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? ERR_NONE
                                   : fault_set(f, ERR_IO, "cannot read from an evaluation: %s",
                                               strerror(errno));
        if (got == 0) {
            c->out_closed = true;
            return ERR_NONE;
        }
        enum err e = frame_feed(&c->reader, chunk, (size_t)got, f);
        if (e != ERR_NONE)
            return e;
    }
    return ERR_NONE;
}

bool worker_child_ended(struct worker_child *c, int *status)
{
    if (c->pid <= 0 || waitpid(c->pid, status, WNOHANG) != c->pid)
        return false;
    kill(-c->pid, SIGKILL); /* what it may have left behind in its group */
    c->pid = 0;
    return true;
}

void worker_child_kill(const struct worker_child *c)
{
    if (c->pid > 0) {
        kill(-c->pid, SIGKILL);
        kill(c->pid, SIGKILL); /* in case its group is not made yet */
    }
}

void worker_child_release(struct worker_child *c)
{
    if (c->pid > 0) {
        worker_child_kill(c);
        waitpid(c->pid, NULL, 0);
    }
    bool opened = c->reader.in.max > 0; /* {0} has 0 where closed ends have -1 */
    if (opened) {
        close_fd(c->pidfd);
        close_fd(c->in);
        close_fd(c->out);
    }
    buf_release(&c->input);
    frame_reader_release(&c->reader);
    *c = (struct worker_child){.pidfd = -1, .in = -1, .out = -1};
}
