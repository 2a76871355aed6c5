/* SPDX-License-Identifier: Apache-2.0
 * Spawning one child. After fork() only async-signal-safe calls are made, so a caller with threads
 * is fine. Everything the child needs is laid out before. */
#include "evaluator/child_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"

enum { FIRST_FREE_FD = 16, MAX_ARGUMENTS = 16 };

/* All of the environment a child sees: where the installation and the compiler are. */
static const char *const kept_variables[] = {"PTXBENCH_HOME", "PTXBENCH_BIN", "CUDA_HOME"};
enum { KEPT = COUNT_OF(kept_variables) };

/* And how its memory comes: a compiler takes some 40 MB in small pieces and gives nothing back, and
 * a sixth of its time went into faults of 4 KiB pages (2026-11-30: 9,400 faults, with this 3,800).
 */
static char huge_pages[] = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

struct launch {
    char path[512];
    char *argv[MAX_ARGUMENTS + 2];
    char *envp[KEPT + 2];
    char env_text[KEPT][512];
    pid_t parent;
    int in, out, log, error; /* the child's ends */
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
    l->envp[kept] = huge_pages;
    l->parent = getpid();
    return ERR_NONE;
}

static bool nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

/* stdin is a socket pair, since only a socket can be written without raising SIGPIPE. */
enum err child_spawn(const struct child_spec *spec, struct child_ends *out, struct fault *f)
{
    struct launch l = {0};
    int in[2] = {-1, -1}, answer[2] = {-1, -1}, log[2] = {-1, -1}, error[2] = {-1, -1};
    int why = 0;
    pid_t pid = 0;
    enum err e = lay_out(&l, spec, f);
    if (e != ERR_NONE)
        return e;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0 ||
        pipe2(answer, O_CLOEXEC) != 0 || pipe2(log, O_CLOEXEC) != 0 ||
        pipe2(error, O_CLOEXEC) != 0 || !nonblocking(in[1]) || !nonblocking(answer[0]) ||
        !nonblocking(log[0]))
        why = errno;
    if (!why) {
        l.in = in[0], l.out = answer[1], l.log = log[1], l.error = error[1];
        pid = fork();
        if (pid == 0)
            become(&l);
        why = pid < 0 ? errno : 0;
    }
    close_fd(&in[0]), close_fd(&answer[1]), close_fd(&log[1]), close_fd(&error[1]);
    int pidfd = why ? -1 : (int)syscall(SYS_pidfd_open, pid, 0), child_errno;
    if (!why && pidfd < 0)
        why = errno;
    if (!why && read(error[0], &child_errno, sizeof child_errno) == sizeof child_errno)
        why = child_errno;
    close_fd(&error[0]);
    *out = (struct child_ends){
        .pid = pid, .pidfd = pidfd, .in = in[1], .out = answer[0], .log = log[0]};
    if (!why)
        return ERR_NONE;
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    close_fd(&in[1]), close_fd(&answer[0]), close_fd(&log[0]), close_fd(&pidfd);
    *out = (struct child_ends){.pidfd = -1, .in = -1, .out = -1, .log = -1};
    return fault_set(f, ERR_INTERNAL, "cannot start %s: %s", spec->program, strerror(why));
}
