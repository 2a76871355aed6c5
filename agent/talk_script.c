// SPDX-License-Identifier: Apache-2.0
// The format `script`: a program of the host's file. It reads {"model", "messages", "params",
// "max_output"} on its input and writes the answer, either as it is or as {"text", "finish"?,
// "usage"?, "reasoning"?} (see talk_parts.h), and ends with status 0. It runs in a process group of
// its own, which is killed at the end whatever happens, and sees little of our environment.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/talk_parts.h"
#include "core/json.h"
#include "core/util.h"

enum {
    INPUT_MAX = 64 * MIB,
    STDERR_KEPT = 4 * KIB,
    CHUNK = 16 * KIB,
    READS = 16,
    LAST_READS = 1024,
    VARIABLE = 4096
};

/* Beside these, the variable that the provider's key_env names. */
static const char *const kept_variables[] = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"};
enum { KEPT = COUNT_OF(kept_variables), PIPES = 4 };

enum pipe { IN, OUT, ERR, PID }; /* PID: a pidfd, readable when the program has ended */

struct script {
    pid_t pid; /* 0: reaped */
    int status;
    int fds[PIPES]; /* our ends; -1: closed */
    struct buf input, output;
    size_t written;
    char last[STDERR_KEPT + 1]; /* of what it wrote to stderr */
    size_t last_len;
};

struct environment {
    char text[KEPT + 1][VARIABLE];
    char *list[KEPT + 2];
};

/* ---- the program's side ---- */

static void add_variable(struct environment *e, size_t *n, const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    if (value && snprintf(e->text[*n], VARIABLE, "%s=%s", name, value) < VARIABLE) {
        e->list[*n] = e->text[*n];
        ++*n;
    }
}

static void environment_init(struct environment *e, const struct provider *p)
{
    size_t n = 0;
    for (size_t i = 0; i < KEPT; i++)
        add_variable(e, &n, kept_variables[i]);
    add_variable(e, &n, p->key_env);
    e->list[n] = NULL;
}

/* Only async-signal-safe calls up to execve. */
static _Noreturn void become(const struct provider *p, char *const envp[], const int theirs[3],
                             pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(126);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < 3; i++)
        if (dup2(theirs[i], i) < 0)
            _exit(126);
    syscall(SYS_close_range, 3, ~0U, 0);
    /* execve takes char *, but writes none */
    execve(p->program[0], (char *const *)(uintptr_t)p->program, envp);
    _exit(127);
}

/* ---- starting ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Told to epoll before it is closed: a child that is just being made may hold a copy. */
static void drop(struct talk *k, enum pipe which)
{
    struct script *s = k->own;
    if (s->fds[which] >= 0)
        epoll_ctl(k->talker->epoll, EPOLL_CTL_DEL, s->fds[which], NULL);
    close_fd(&s->fds[which]);
}

static bool make_pipes(struct script *s, int theirs[3])
{
    for (int i = 0; i < 3; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            return false;
        theirs[i] = ends[i == IN ? 0 : 1];
        s->fds[i] = ends[i == IN ? 1 : 0];
        if (fcntl(s->fds[i], F_SETFL, O_NONBLOCK))
            return false;
    }
    return true;
}

static bool spawn(struct script *s, const struct provider *p, const int theirs[3])
{
    static struct environment environment; /* large; there is one thread */
    environment_init(&environment, p);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(p, environment.list, theirs, parent);
    explicit_bzero(environment.text, sizeof(environment.text));
    if (pid < 0)
        return false;
    setpgid(pid, pid); /* whichever of the two is first */
    s->pid = pid;
    s->fds[PID] = (int)syscall(SYS_pidfd_open, pid, 0);
    return s->fds[PID] >= 0;
}

static bool watch(struct talk *k)
{
    struct script *s = k->own;
    bool ok = true;
    for (int i = 0; i < PIPES; i++) {
        struct epoll_event e = {.events = i == IN ? EPOLLOUT : EPOLLIN, .data.ptr = k};
        ok = ok && !epoll_ctl(k->talker->epoll, EPOLL_CTL_ADD, s->fds[i], &e);
    }
    return ok;
}

static void write_input(struct buf *b, const struct talk_request *r)
{
    json_t *input =
        json_pack("{s:s, s:O, s:O?, s:I}", "model", r->model->name, "messages", r->messages,
                  "params", r->params, "max_output", (json_int_t)r->max_output);
    char *text = input ? json_dumps(input, JSON_COMPACT) : NULL;
    json_decref(input);
    if (text)
        buf_adds(b, text);
    b->failed = b->failed || !text;
    free(text);
}

static enum err start(struct talk *k, struct fault *f)
{
    const struct provider *p = k->request.provider;
    int theirs[3] = {-1, -1, -1};
    struct script *s = calloc(1, sizeof(*s));
    if (!s)
        return fault_set(f, ERR_NO_MEMORY, "cannot run a program: out of memory");
    k->own = s;
    for (int i = 0; i < PIPES; i++)
        s->fds[i] = -1;
    buf_init(&s->input, INPUT_MAX);
    buf_init(&s->output, LLM_ANSWER_MAX);
    write_input(&s->input, &k->request);
    enum err e = ERR_NONE;
    if (s->input.failed)
        e = fault_set(f, ERR_TOO_LARGE, "cannot run %s: its input is too large", p->program[0]);
    else if (!make_pipes(s, theirs) || !spawn(s, p, theirs) || !watch(k))
        e = fault_set(f, ERR_IO, "cannot run %s: %s", p->program[0], strerror(errno));
    for (int i = 0; i < 3; i++)
        close_fd(&theirs[i]);
    k->due_ms = now_ms() + p->timeout_s * 1000;
    return e;
}

/* ---- while it runs ---- */

static void write_some(struct talk *k)
{
    struct script *s = k->own;
    while (s->fds[IN] >= 0 && s->written < s->input.len) {
        ssize_t n = write(s->fds[IN], s->input.data + s->written, s->input.len - s->written);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && errno != EINTR)
            break; /* it does not read on; how it ends says why */
        s->written += n > 0 ? (size_t)n : 0;
    }
    drop(k, IN);
    buf_release(&s->input);
}

/* Reads a little of one pipe; at its end, or for want of more, false. */
static bool read_some(struct talk *k, enum pipe which, char *chunk, ssize_t *n)
{
    struct script *s = k->own;
    if (s->fds[which] < 0)
        return false;
    do
        *n = read(s->fds[which], chunk, CHUNK);
    while (*n < 0 && errno == EINTR);
    if (*n == 0 || (*n < 0 && errno != EAGAIN))
        drop(k, which);
    return *n > 0;
}

static void keep_last(struct script *s, const char *bytes, size_t n)
{
    if (n > STDERR_KEPT) {
        bytes += n - STDERR_KEPT;
        n = STDERR_KEPT;
    }
    size_t over = s->last_len + n > STDERR_KEPT ? s->last_len + n - STDERR_KEPT : 0;
    memmove(s->last, s->last + over, s->last_len - over);
    s->last_len -= over;
    memcpy(s->last + s->last_len, bytes, n);
    s->last_len += n;
    s->last[s->last_len] = '\0';
}

static void read_all(struct talk *k, int reads)
{
    struct script *s = k->own;
    char chunk[CHUNK];
    ssize_t n;
    for (int i = 0; i < reads && read_some(k, OUT, chunk, &n); i++)
        buf_add(&s->output, chunk, (size_t)n);
    for (int i = 0; i < reads && read_some(k, ERR, chunk, &n); i++)
        keep_last(s, chunk, (size_t)n);
}

/* The group first: as long as its leader is not reaped, the number is nobody else's. */
static void kill_group(struct script *s)
{
    if (s->pid <= 0)
        return;
    kill(-s->pid, SIGKILL);
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, &s->status, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}

/* ---- how it ends ---- */

/* The last line of stderr that is not blank. */
static const char *last_line(struct script *s)
{
    for (size_t n = s->last_len; n && isspace((unsigned char)s->last[n - 1]); n--)
        s->last[n - 1] = '\0';
    const char *newline = strrchr(s->last, '\n');
    return newline ? newline + 1 : s->last;
}

static void end_badly(struct talk *k)
{
    struct script *s = k->own;
    const char *program = k->request.provider->program[0], *line = last_line(s);
    const char *colon = *line ? ": " : "";
    if (WIFSIGNALED(s->status))
        talk_ended(k, TALK_BROKEN, "%s was killed by signal %d%s%s", program, WTERMSIG(s->status),
                   colon, line);
    else if (WEXITSTATUS(s->status) == 127 && !*line)
        talk_ended(k, TALK_REFUSED, "cannot run %s", program);
    else
        talk_ended(k, TALK_BROKEN, "%s ended with status %d%s%s", program, WEXITSTATUS(s->status),
                   colon, line);
}

/* An object with a text is told in members; everything else is the text. */
static bool read_answer(struct talk *k, struct fault *f)
{
    struct script *s = k->own;
    struct fault ignored = {0};
    const char *at = s->output.len ? s->output.data : "";
    size_t blank = strspn(at, " \t\r\n");
    json_t *told = at[blank] == '{' ? json_parse(at, s->output.len, &ignored) : NULL;
    bool ok = true;
    k->answer.finish = LLM_STOP;
    if (told && json_object_get(told, "text")) {
        ok = talk_read_told(told, &k->answer, NULL, f);
    } else {
        buf_release(&k->answer.text);
        k->answer.text = s->output;
        buf_init(&s->output, LLM_ANSWER_MAX);
    }
    json_decref(told);
    return ok;
}

static void end(struct talk *k)
{
    struct script *s = k->own;
    struct fault why = {0};
    const char *program = k->request.provider->program[0];
    if (s->output.failed)
        talk_ended(k, TALK_BROKEN, "%s wrote more than %d MiB", program, LLM_ANSWER_MAX / MIB);
    else if (!WIFEXITED(s->status) || WEXITSTATUS(s->status))
        end_badly(k);
    else if (!read_answer(k, &why))
        talk_ended(k, TALK_BROKEN, "%s wrote no answer: %s", program, why.detail);
    else if (k->answer.finish == LLM_NONE)
        talk_ended(k, TALK_CUT, "%s says that its answer broke off", program);
    else
        talk_ended(k, TALK_ANSWERED, "%s", "");
}

static void ready(struct talk *k)
{
    struct script *s = k->own;
    siginfo_t info = {0};
    write_some(k);
    read_all(k, READS);
    bool gone = waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
    if (!gone && !s->output.failed)
        return;
    kill_group(s);
    read_all(k, LAST_READS); /* what is left in the pipes */
    end(k);
}

static void due(struct talk *k)
{
    struct script *s = k->own;
    kill_group(s);
    read_all(k, READS);
    talk_ended(k, TALK_BROKEN, "%s took longer than %lld s", k->request.provider->program[0],
               (long long)k->request.provider->timeout_s);
}

static void release(struct talk *k)
{
    struct script *s = k->own;
    if (!s)
        return;
    kill_group(s);
    for (int i = 0; i < PIPES; i++)
        drop(k, (enum pipe)i);
    buf_release(&s->input);
    buf_release(&s->output);
    free(s);
    k->own = NULL;
}

const struct talk_way talk_script = {
    .format = "script", .start = start, .ready = ready, .due = due, .release = release};
