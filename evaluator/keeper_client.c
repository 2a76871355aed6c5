// SPDX-License-Identifier: Apache-2.0
// The owner's side of a keeper: a child process behind one socket. Nothing here waits but keeper_wait
// and, at its end, keeper_stop.
#include "evaluator/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.h"
#include "core/util.h"
#include "evaluator/wire.h"

static const char program[] = "ptxbench-keeper";

/* What it sees of our environment: where the installation and the libraries are. */
static const char *const kept_variables[] = {
    "PATH",           "PTXBENCH_HOME",   "PTXBENCH_BIN",        "CUDA_HOME",
    "PTXBENCH_CUDNN", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"};
enum { KEPT = COUNT_OF(kept_variables), VARIABLE = 4096, SEND_MS = 2000, GRACE_MS = 2000 };

struct launch {
    char path[512], ordinal[16];
    char *argv[4];
    char text[KEPT][VARIABLE];
    char *envp[KEPT + 1];
    pid_t parent;
};

static enum err lay_out(struct launch *l, int ordinal, struct fault *f)
{
    static char name[] = "ptxbench-keeper", option[] = "--device";
    snprintf(l->path, sizeof(l->path), "%s/%s", program_dir(), program);
    if (access(l->path, X_OK) != 0)
        return fault_set(f, ERR_UNAVAILABLE,
                         "cannot use a GPU: there is no %s here (was this built without CUDA headers?)",
                         program);
    snprintf(l->ordinal, sizeof(l->ordinal), "%d", ordinal);
    l->argv[0] = name;
    l->argv[1] = option;
    l->argv[2] = l->ordinal;
    size_t n = 0;
    for (size_t i = 0; i < KEPT; i++) {
        const char *value = getenv(kept_variables[i]);
        if (value &&
            snprintf(l->text[n], VARIABLE, "%s=%s", kept_variables[i], value) < VARIABLE) {
            l->envp[n] = l->text[n];
            n++;
        }
    }
    l->parent = getpid();
    return ERR_NONE;
}

/* The child's side: only async-signal-safe calls up to execve. */
static _Noreturn void become(const struct launch *l, int control, int empty)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != l->parent) /* it died before the line above */
        _exit(126);
    /* Above all numbers that are about to be taken, or one would close the other. */
    int socket = fcntl(control, F_DUPFD_CLOEXEC, WIRE_FD + 1);
    if (socket < 0 || dup2(empty, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
        dup2(socket, WIRE_FD) < 0)
        _exit(126);
    syscall(SYS_close_range, WIRE_FD + 1, ~0U, 0); /* ours are close-on-exec, a library's may not be */
    execve(l->path, l->argv, l->envp);
    _exit(127);
}

static enum err spawn(struct keeper *k, const struct launch *l, struct fault *f)
{
    int ends[2], empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (empty < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        int why = errno;
        if (empty >= 0)
            close(empty);
        return fault_set(f, ERR_IO, "cannot start a keeper: %s", strerror(why));
    }
    pid_t pid = fork();
    if (pid == 0)
        become(l, ends[1], empty);
    int why = errno;
    close(empty);
    close(ends[1]);
    k->control = ends[0];
    if (pid < 0) {
        close(ends[0]);
        return fault_set(f, ERR_IO, "cannot start a keeper: %s", strerror(why));
    }
    setpgid(pid, pid); /* whichever of the two is first */
    k->pid = pid;
    k->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (k->pidfd < 0)
        return fault_set(f, ERR_IO, "cannot watch a keeper: %s", strerror(errno));
    fcntl(k->pidfd, F_SETFD, FD_CLOEXEC);
    return ERR_NONE;
}

enum err keeper_start(struct keeper *k, int ordinal, struct fault *f)
{
    struct launch l = {0};
    *k = (struct keeper){.ordinal = ordinal, .pidfd = -1, .control = -1};
    enum err e = lay_out(&l, ordinal, f);
    if (e != ERR_NONE)
        return e;
    frame_reader_init(&k->said);
    e = spawn(k, &l, f);
    if (e != ERR_NONE)
        keeper_stop(k);
    return e;
}

/* ---- listening ---- */

static enum err nonsense(struct fault *f)
{
    return fault_set(f, ERR_BAD_REQUEST, "the keeper says what makes no sense");
}

static enum err take_event(struct keeper *k, const json_t *event, struct fault *f)
{
    const char *kind = json_string_value(json_object_get(event, "kind"));
    json_t *device = json_object_get(event, "device");
    if (kind && !strcmp(kind, "failed")) {
        const char *detail = json_string_value(json_object_get(event, "detail"));
        return fault_set(f, ERR_UNAVAILABLE, "%s", detail ? detail : "the keeper failed");
    }
    if (kind && !strcmp(kind, "ready") && json_is_string(json_object_get(device, "name")) &&
        json_is_string(json_object_get(device, "uuid"))) {
        json_decref(k->device);
        k->device = json_incref(device);
        return ERR_NONE;
    }
    if (kind && !strcmp(kind, "health")) {
        json_decref(k->health);
        k->health = json_copy((json_t *)event);
        k->healths++;
        return ERR_NONE;
    }
    return nonsense(f);
}

static enum err take_frames(struct keeper *k, struct fault *f)
{
    struct frame frame;
    while (frame_next(&k->said, &frame)) {
        json_t *event = frame.kind == FRAME_EVENT ? json_parse(frame.data, frame.len, NULL) : NULL;
        enum err e = event ? take_event(k, event, f) : nonsense(f);
        json_decref(event);
        if (e != ERR_NONE)
            return e;
    }
    return ERR_NONE;
}

/* Its socket is closed: how did it end? It may be a moment away from its end. */
static enum err tell_end(const struct keeper *k, struct fault *f)
{
    struct pollfd end = {.fd = k->pidfd, .events = POLLIN};
    siginfo_t how = {0};
    if (poll(&end, 1, 100) == 1 && waitid(P_PID, (id_t)k->pid, &how, WEXITED | WNOHANG | WNOWAIT) == 0)
        return fault_set(f, ERR_UNAVAILABLE, "the keeper %s %d",
                         how.si_code == CLD_EXITED ? "ended with status" : "was killed by signal",
                         how.si_status);
    return fault_set(f, ERR_UNAVAILABLE, "the keeper is gone");
}

enum err keeper_listen(struct keeper *k, struct fault *f)
{
    char bytes[16 * KIB];
    for (;;) {
        ssize_t n = recv(k->control, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return ERR_NONE;
        if (n <= 0)
            return tell_end(k, f);
        enum err e = frame_feed(&k->said, bytes, (size_t)n, f);
        if (e == ERR_NONE)
            e = take_frames(k, f);
        if (e != ERR_NONE)
            return e == ERR_UNAVAILABLE ? e : nonsense(f);
    }
}

enum err keeper_wait(struct keeper *k, int64_t timeout_ms, struct fault *f)
{
    int64_t end = now_ms() + timeout_ms;
    for (;;) {
        enum err e = keeper_listen(k, f);
        if (e != ERR_NONE || k->device)
            return e;
        int64_t left = end - now_ms();
        if (left <= 0)
            return fault_set(f, ERR_DEADLINE, "the keeper of device cuda:%d was not ready in %lld s",
                             k->ordinal, (long long)timeout_ms / 1000);
        struct pollfd said = {.fd = k->control, .events = POLLIN};
        poll(&said, 1, left > INT32_MAX ? INT32_MAX : (int)left);
    }
}

/* ---- connections, end ---- */

enum err keeper_connect(struct keeper *k, int *fd, struct fault *f)
{
    int ends[2];
    *fd = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fault_set(f, ERR_IO, "cannot connect to the keeper: %s", strerror(errno));
    json_t *request = json_pack("{s:s}", "op", "connect");
    enum err e = wire_send_json(k->control, FRAME_REQUEST, request, &ends[1], 1, SEND_MS, f);
    json_decref(request);
    close(ends[1]);
    if (e != ERR_NONE)
        close(ends[0]);
    else
        *fd = ends[0];
    return e;
}

void keeper_stop(struct keeper *k)
{
    if (k->pid > 0) {
        close(k->control); /* asks it to end */
        struct pollfd end = {.fd = k->pidfd, .events = POLLIN};
        if (k->pidfd >= 0)
            poll(&end, 1, GRACE_MS);
        kill(-k->pid, SIGKILL); /* and what it may have left in its group */
        kill(k->pid, SIGKILL);
        while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (k->pidfd >= 0)
            close(k->pidfd);
    }
    json_decref(k->device);
    json_decref(k->health);
    frame_reader_release(&k->said);
    *k = (struct keeper){.pidfd = -1, .control = -1};
}
