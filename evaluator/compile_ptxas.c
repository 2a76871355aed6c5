// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compile_ptxas.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/child.h"
#include "evaluator/sandbox.h"

enum { MAX_RAW_LOG = 4 * MIB, MAX_ARGUMENTS = 48, PATH = 64 };

static const char *const loaders[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};
static const char *const libraries[] = {"libc.so.6",      "libm.so.6",  "libpthread.so.0",
                                        "libdl.so.2",     "librt.so.1", "libgcc_s.so.1",
                                        "libstdc++.so.6", "libz.so.1"};

void ptxas_needs(const struct cuda_paths *paths, const char *out[PTXAS_NEEDS])
{
    static char names[COUNT_OF(libraries)][CUDA_PATH];
    size_t n = 0;
    out[n++] = paths->ptxas;
    for (size_t i = 0; i < COUNT_OF(loaders); i++)
        if (access(loaders[i], X_OK) == 0)
            out[n++] = loaders[i];
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        struct link_map *map = NULL;
        void *library = dlopen(libraries[i], RTLD_LAZY);
        if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] == '/') {
            snprintf(names[i], sizeof names[i], "%s", map->l_name);
            out[n++] = names[i];
        }
    }
    out[n] = NULL;
}

static void fail(struct ptxas_output *out, enum err error, const char *what)
{
    out->error = error;
    snprintf(out->why, sizeof out->why, "%s", what);
}

/* A place for one file: in the scratch folder, or in memory under a /proc path. */
static int open_place(const char *name, char path[PATH])
{
    int fd;
    if (sandbox_scratch()) {
        snprintf(path, PATH, "%s/%s", sandbox_scratch(), name);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    } else {
        fd = memfd_create(name, 0);
        snprintf(path, PATH, "/proc/self/fd/%d", fd);
    }
    return fd;
}

static _Noreturn void become(char *const *argv, int log, pid_t parent)
{
    char *const none[] = {NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* In a process namespace of its own it sees no parent at all. */
    if (getppid() != parent && getppid() != 0)
        _exit(126);
    dup2(log, 1);
    dup2(log, 2);
    close(log);
    close(CHILD_ANSWER_FD); /* that is ours */
    execve(argv[0], argv, none);
    _exit(127);
}

/* Everything it prints, up to a ceiling; then how it ended and what it used. */
static int run(char *const *argv, struct ptxas_output *out, struct rusage *used)
{
    int pipes[2], status = -1;
    if (pipe(pipes) != 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        become(argv, pipes[1], parent);
    }
    close(pipes[1]);
    for (char chunk[4096]; pid > 0;) {
        ssize_t n = read(pipes[0], chunk, sizeof chunk);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        size_t room = MAX_RAW_LOG - out->log.len;
        buf_add(&out->log, chunk, n < 0 ? 0 : (size_t)n < room ? (size_t)n : room);
    }
    close(pipes[0]);
    while (pid > 0 && wait4(pid, &status, 0, used) < 0 && errno == EINTR)
        ;
    return status;
}

/* Did it use less processor time than it may? Of too much memory it does not die by a signal. */
static bool had_time_left(const struct rusage *used)
{
    struct rlimit most;
    return getrlimit(RLIMIT_CPU, &most) == 0 &&
           (rlim_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec + 2) < most.rlim_cur;
}

static void judge(int status, const struct rusage *used, struct ptxas_output *out)
{
    if (status == -1 || (WIFEXITED(status) && (WEXITSTATUS(status) & ~1) == 126))
        fail(out, ERR_INTERNAL, "cannot run ptxas");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && had_time_left(used))
        fail(out, ERR_INTERNAL, "ptxas was killed from outside");
    else if (WIFSIGNALED(status))
        fail(out, ERR_INVALID,
             WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
                 ? "the assembler used more time or memory than it may"
                 : "the assembler gave up on this source");
    else if (WEXITSTATUS(status) != 0)
        fail(out, ERR_INVALID, "ptxas refuses the source");
}

static void take_cubin(int fd, struct ptxas_output *out)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *room;
    if (size <= 0) {
        fail(out, ERR_INVALID, "the assembler made no code");
    } else if (size > LIMIT_CUBIN) {
        fail(out, ERR_TOO_LARGE, "");
        snprintf(out->why, sizeof out->why, "the cubin is %lld bytes; at most %d are allowed",
                 (long long)size, LIMIT_CUBIN);
    } else if (!(room = buf_room(&out->cubin, (size_t)size)) ||
               pread(fd, room, (size_t)size, 0) != (ssize_t)size) {
        fail(out, ERR_INTERNAL, "cannot read what ptxas wrote");
    } else {
        out->cubin.len += (size_t)size;
    }
}

/* Messages name the input's path; the submitter knows it by another name. */
static void rename_in_log(struct buf *log, const char *path, const char *name)
{
    struct buf renamed;
    buf_init(&renamed, log->max);
    const char *at = log->data ? log->data : "";
    for (const char *hit; (hit = strstr(at, path)); at = hit + strlen(path)) {
        buf_add(&renamed, at, (size_t)(hit - at));
        buf_adds(&renamed, name);
    }
    buf_adds(&renamed, at);
    buf_release(log);
    *log = renamed;
}

void ptxas_assemble(const struct ptxas_job *job, struct ptxas_output *out)
{
    *out = (struct ptxas_output){.error = ERR_NONE};
    buf_init(&out->log, 2 * (size_t)MAX_RAW_LOG);
    buf_init(&out->cubin, LIMIT_CUBIN + 1);
    char in_path[PATH], out_path[PATH], arch[32];
    int in = open_place("in.ptx", in_path), cubin = open_place("out.cubin", out_path);
    snprintf(arch, sizeof arch, "-arch=%s", job->arch);
    if (in < 0 || cubin < 0 || !write_all(in, job->ptx, job->ptx_len)) {
        fail(out, ERR_INTERNAL, "cannot hand the source to ptxas");
    } else {
        const char *argv[MAX_ARGUMENTS] = {job->program, arch, "-v"};
        size_t n = 3;
        for (size_t i = 0; i < job->option_count && n < MAX_ARGUMENTS - 4; i++)
            argv[n++] = job->options[i];
        argv[n++] = in_path;
        argv[n++] = "-o";
        argv[n++] = out_path;
        char *writable[MAX_ARGUMENTS];
        memcpy(writable, argv, sizeof writable); /* execve takes char *, and writes none */
        struct rusage used = {0};
        int status = run(writable, out, &used);
        judge(status, &used, out);
        rename_in_log(&out->log, in_path, job->name);
        if (out->error == ERR_NONE) {
            int made =
                sandbox_scratch() ? open(out_path, O_RDONLY) : cubin; /* it may be a new file */
            take_cubin(made, out);
        }
    }
}

void ptxas_output_release(struct ptxas_output *out)
{
    buf_release(&out->log);
    buf_release(&out->cubin);
}

void ptxas_version_of(const void *cubin, size_t len, char *out, size_t size)
{
    static const char mark[] = "Cuda compilation tools, release ";
    const char *at = len ? memmem(cubin, len, mark, sizeof mark - 1) : NULL;
    size_t left = at ? len - (size_t)(at - (const char *)cubin) : 0;
    const char *v = at ? memmem(at, left < 80 ? left : 80, ", V", 3) : NULL;
    size_t n = 0;
    for (; v && v + 3 + n < (const char *)cubin + len && n + 1 < size; n++) {
        char c = v[3 + n];
        if (c != '.' && (c < '0' || c > '9'))
            break;
        out[n] = c;
    }
    out[n] = '\0';
}
