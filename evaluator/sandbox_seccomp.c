/* SPDX-License-Identifier: Apache-2.0
 * System calls as rows: what a role may do. Everything else is EPERM, so that a library that tries
 * gets an answer; nothing of socket, ptrace, mount, bpf, io_uring, keyctl, userfaultfd has a row.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/sandbox_parts.h"

enum {
    C = 1 << SANDBOX_COMPILE,
    A = 1 << SANDBOX_ASSEMBLE,
    V = 1 << SANDBOX_COMPUTE,
    G = 1 << SANDBOX_GPU,
    ALL = C | A | V | G,
};

/* What must hold of one argument: its bits under `mask` equal `value`. */
enum condition {
    ANY,
    READS_ONLY_1, /* open flags without writing or creating */
    READS_ONLY_2,
    EMPTY_PATH_3,   /* about a descriptor, not a path */
    THREAD_0,       /* clone flags of a thread */
    NO_NAMESPACE_0, /* clone flags without a new namespace */
    SELF_0,         /* this process; the value is filled in when the filter is built */
    NULL_2,         /* limits are read, not set */
    SET_NAME_0,
    SET_DEATH_0, /* the signal at the parent's death */
};

enum {
    WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND,
    NAMESPACES = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                 CLONE_NEWPID | CLONE_NEWCGROUP,
    THREAD = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND,
};

static const struct {
    unsigned argument;
    uint64_t mask, value;
} conditions[] = {
    [READS_ONLY_1] = {1, WRITING, 0},
    [READS_ONLY_2] = {2, WRITING, 0},
    [EMPTY_PATH_3] = {3, UINT32_MAX, AT_EMPTY_PATH},
    [THREAD_0] = {0, THREAD | NAMESPACES, THREAD},
    [NO_NAMESPACE_0] = {0, NAMESPACES, 0},
    [SELF_0] = {0, UINT32_MAX, 0},
    [NULL_2] = {2, UINT64_MAX, 0},
    [SET_NAME_0] = {0, UINT32_MAX, PR_SET_NAME},
    [SET_DEATH_0] = {0, UINT32_MAX, PR_SET_PDEATHSIG},
};

struct row {
    int call;
    unsigned roles;
    enum condition condition;
};

#define CALL(name) SCMP_SYS(name)

/* clang-format off */
static const struct row rows[] = {
    /* bytes through descriptors that are open */
    {CALL(read), ALL, ANY}, {CALL(readv), ALL, ANY}, {CALL(write), ALL, ANY},
    {CALL(writev), ALL, ANY}, {CALL(pread64), ALL, ANY}, {CALL(close), ALL, ANY},
    {CALL(fstat), ALL, ANY}, {CALL(lseek), ALL, ANY}, {CALL(fcntl), ALL, ANY},
    {CALL(poll), ALL, ANY}, {CALL(ppoll), ALL, ANY}, {CALL(newfstatat), V, EMPTY_PATH_3},
    {CALL(getcwd), C | A, ANY}, /* NVRTC reads past a buffer when it is refused */
    /* memory */
    {CALL(mmap), ALL, ANY}, {CALL(munmap), ALL, ANY}, {CALL(mprotect), ALL, ANY},
    {CALL(mremap), ALL, ANY}, {CALL(madvise), ALL, ANY}, {CALL(brk), ALL, ANY},
    /* threads, signals, time */
    {CALL(clone), C | V | G, THREAD_0}, {CALL(clone), A, NO_NAMESPACE_0}, {CALL(futex), ALL, ANY},
    {CALL(set_robust_list), ALL, ANY}, {CALL(get_robust_list), ALL, ANY},
    {CALL(set_tid_address), ALL, ANY}, {CALL(rseq), ALL, ANY}, {CALL(membarrier), ALL, ANY},
    {CALL(sched_yield), ALL, ANY}, {CALL(sched_getaffinity), ALL, ANY},
    {CALL(rt_sigaction), ALL, ANY}, {CALL(rt_sigprocmask), ALL, ANY},
    {CALL(rt_sigreturn), ALL, ANY}, {CALL(sigaltstack), ALL, ANY},
    {CALL(restart_syscall), ALL, ANY}, {CALL(tgkill), C | V | G, SELF_0}, {CALL(tgkill), A, ANY},
    {CALL(getpid), ALL, ANY}, {CALL(gettid), ALL, ANY}, {CALL(getppid), ALL, ANY},
    {CALL(getuid), ALL, ANY}, {CALL(geteuid), ALL, ANY}, {CALL(getgid), ALL, ANY},
    {CALL(getegid), ALL, ANY}, {CALL(clock_gettime), ALL, ANY}, {CALL(clock_getres), ALL, ANY},
    {CALL(gettimeofday), ALL, ANY}, {CALL(time), ALL, ANY}, {CALL(nanosleep), ALL, ANY},
    {CALL(clock_nanosleep), ALL, ANY}, {CALL(getrusage), ALL, ANY}, {CALL(times), ALL, ANY},
    {CALL(getrlimit), ALL, ANY}, {CALL(prlimit64), ALL, NULL_2}, {CALL(sysinfo), ALL, ANY},
    {CALL(uname), ALL, ANY}, {CALL(getrandom), ALL, ANY}, {CALL(arch_prctl), ALL, ANY},
    {CALL(prctl), ALL, SET_NAME_0}, {CALL(exit), ALL, ANY}, {CALL(exit_group), ALL, ANY},
    /* the assembler: a child process, its input and output */
    {CALL(fork), A, ANY}, {CALL(vfork), A, ANY}, {CALL(execve), A, ANY}, {CALL(wait4), A, ANY},
    {CALL(waitid), A, ANY}, {CALL(pipe), A, ANY}, {CALL(pipe2), A, ANY}, {CALL(dup), A, ANY},
    {CALL(dup2), A, ANY}, {CALL(dup3), A, ANY}, {CALL(ftruncate), A, ANY},
    {CALL(unlink), A, ANY}, {CALL(unlinkat), A, ANY}, {CALL(openat), A, ANY},
    {CALL(open), A, ANY}, {CALL(creat), A, ANY}, {CALL(kill), A, ANY},
    {CALL(prctl), A, SET_DEATH_0}, {CALL(memfd_create), A, ANY},
    /* a CUDA context that is open already, and the keeper's descriptors; no file (driver 580 asks for
     * none, measured with a filter that traps) */
    {CALL(ioctl), G, ANY}, {CALL(recvmsg), G, ANY}, {CALL(sendmsg), G, ANY},
};

/* Files by name, where only harmless ones can be seen. */
static const struct row path_rows[] = {
    {CALL(open), C, READS_ONLY_1}, {CALL(openat), C, READS_ONLY_2},
    {CALL(stat), C | A, ANY}, {CALL(lstat), C | A, ANY}, {CALL(newfstatat), C | A, ANY},
    {CALL(statx), C | A, ANY}, {CALL(access), C | A, ANY}, {CALL(faccessat), C | A, ANY},
    {CALL(readlink), C | A, ANY}, {CALL(readlinkat), C | A, ANY}, {CALL(getdents64), C | A, ANY},
};
/* clang-format on */

/* Calls that are refused with another answer than EPERM. */
static const struct {
    int call;
    unsigned roles;
    int error;
} answers[] = {
    /* makes the C library fall back to clone, whose flags can be looked at */
    {CALL(clone3), ALL, ENOSYS},
    /* CUPTI asks for the kernel's clock source when it sets its metrics, and ends the process if it
     * hears anything but yes or "not there" */
    {CALL(statx), G, ENOENT},
};

static int add_row(scmp_filter_ctx filter, const struct row *row)
{
    if (row->condition == ANY)
        return seccomp_rule_add(filter, SCMP_ACT_ALLOW, row->call, 0);
    struct scmp_arg_cmp holds = {
        .arg = conditions[row->condition].argument,
        .op = SCMP_CMP_MASKED_EQ,
        .datum_a = conditions[row->condition].mask,
        .datum_b =
            row->condition == SELF_0 ? (scmp_datum_t)getpid() : conditions[row->condition].value,
    };
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, row->call, 1, holds);
}

/* A call that this machine does not have (open on arm64) is no fault. */
static bool add_rows(scmp_filter_ctx filter, const struct row *from, size_t count, unsigned role)
{
    for (size_t i = 0; i < count; i++) {
        int rc = from[i].roles & role ? add_row(filter, &from[i]) : 0;
        if (rc != 0 && rc != -EDOM && rc != -EINVAL)
            return false;
    }
    return true;
}

static bool add_answers(scmp_filter_ctx filter, unsigned role)
{
    bool ok = true;
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        if (answers[i].roles & role)
            ok = ok && seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)answers[i].error),
                                        answers[i].call, 0) == 0;
    return ok;
}

enum err sandbox_seccomp(const struct sandbox_spec *spec, struct fault *f)
{
    unsigned role = 1u << spec->role;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    bool ok = filter && add_rows(filter, rows, COUNT_OF(rows), role);
    if (ok && (sandbox_files_confined() || spec->role == SANDBOX_ASSEMBLE))
        ok = add_rows(filter, path_rows, COUNT_OF(path_rows), role);
    ok = ok && add_answers(filter, role);
    if (ok && spec->role == SANDBOX_GPU) /* the driver's threads as well */
        ok = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0;
    int rc = ok ? seccomp_load(filter) : -ENOMEM;
    if (filter)
        seccomp_release(filter);
    if (rc != 0)
        return fault_set(f, ERR_UNAVAILABLE, "cannot confine: seccomp: %s", strerror(-rc));
    sandbox_mark(SANDBOX_LAYER_SECCOMP);
    return ERR_NONE;
}
