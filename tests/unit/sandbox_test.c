/* SPDX-License-Identifier: Apache-2.0
 * evaluator/sandbox: a forked process confines itself, tries what it must not do, and answers by
 * exit status. Each host is played several times: as it is, as an ordinary user, and as containers
 * that refuse namespaces, mounts and Landlock. */
#include "evaluator/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/util.h"

static char visible[] = "/tmp/sandbox_test.XXXXXX";
static const char *tree[2];

enum host { AS_IT_IS, ORDINARY_USER, POOR_CONTAINER, POORER_CONTAINER, NOTHING, HOSTS };
static const char *const host_names[] = {"as it is", "ordinary user", "no namespaces",
                                         "no namespaces, no Landlock", "nothing, ordinary user"};

/* Plays a container runtime: these calls are refused before the sandbox starts. */
static void refuse_calls(bool landlock_too)
{
    static const int calls[] = {SCMP_SYS(unshare), SCMP_SYS(mount), SCMP_SYS(pivot_root)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
    if (landlock_too)
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), 444, 0);
    seccomp_load(filter);
    seccomp_release(filter);
}

static void become(enum host host)
{
    if ((host == ORDINARY_USER || host == NOTHING) && geteuid() == 0 &&
        (setresgid(1234, 1234, 1234) || setresuid(1234, 1234, 1234)))
        _exit(120);
    if (host >= POOR_CONTAINER) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* so that an ordinary user may load the filter */
        refuse_calls(host >= POORER_CONTAINER);
    }
}

/* One thing that must fail. Returns true if it was possible. */
static bool opens_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}
static bool opens_passwd(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0;
}
static bool sees_passwd(void)
{
    struct statx found;
    return statx(AT_FDCWD, "/etc/passwd", 0, STATX_TYPE, &found) == 0;
}
static bool opens_environ(void)
{
    return open("/proc/self/environ", O_RDONLY) >= 0 || open("/proc/self/fd/0", O_RDONLY) >= 0;
}
static bool escapes_by_dots(void)
{
    return open("../../../../../../etc/passwd", O_RDONLY) >= 0;
}
static bool traces_parent(void)
{
    return ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0;
}
static bool kills_parent(void)
{
    return kill(getppid(), 0) == 0;
}
static bool writes_file(void)
{
    return open("/tmp/escaped", O_CREAT | O_WRONLY, 0600) >= 0 ||
           open("escaped", O_CREAT | O_WRONLY, 0600) >= 0 ||
           mkdir("/tmp/escaped-folder", 0700) == 0;
}
static bool writes_visible(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/header.h", visible);
    return open(path, O_WRONLY) >= 0 || open("/header.h", O_WRONLY) >= 0 || unlink(path) == 0;
}
static bool mounts(void)
{
    return mount("none", "/", "tmpfs", 0, NULL) == 0;
}
static bool unshares(void)
{
    return syscall(SYS_unshare, 0x10000000) == 0;
}
static bool is_root(void)
{
    return geteuid() == 0 || setresuid(0, 0, 0) == 0;
}
static bool executes(void)
{
    char *const argv[] = {(char *)(uintptr_t) "/bin/true", NULL};
    execve("/bin/true", argv, argv + 1);
    return false; /* success would not come back here, but exit with 0 */
}
static bool forks(void)
{
    return syscall(SYS_fork) >= 0;
}
static bool uses_rings(void)
{
    return syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != EPERM ||
           syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != EPERM ||
           syscall(SYS_userfaultfd, 0) >= 0 || errno != EPERM ||
           syscall(SYS_keyctl, 0, 0, 0, 0, 0) >= 0 || errno != EPERM;
}
static bool raises_limits(void)
{
    return syscall(SYS_prlimit64, 0, 1, &(uint64_t[2]){1 << 30, 1 << 30}, NULL) == 0;
}

static const struct {
    const char *name;
    bool (*possible)(void);
} attempts[] = {
    {"socket", opens_socket},
    {"/etc/passwd", opens_passwd},
    {"statx", sees_passwd},
    {"/proc/self", opens_environ},
    {"..", escapes_by_dots},
    {"ptrace", traces_parent},
    {"kill", kills_parent},
    {"write", writes_file},
    {"write visible", writes_visible},
    {"mount", mounts},
    {"unshare", unshares},
    {"root", is_root},
    {"fork", forks},
    {"io_uring and others", uses_rings},
    {"limits", raises_limits},
    {"exec", executes},
};
enum { ENTER_FAILED = 121, NOT_VISIBLE = 122, NO_THREAD = 123, FINE = 124 };

static void *nothing(void *arg)
{
    return arg;
}

static int status_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

static bool reads_visible(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/header.h", sandbox_active(SANDBOX_LAYER_CHROOT) ? "" : visible);
    return open(path, O_RDONLY) >= 0;
}

/* Runs every attempt of a role on a host; what was possible is the exit status. */
static int try_all(enum sandbox_role role, enum host host)
{
    become(host);
    struct sandbox_spec spec = {
        .role = role, .read_only = role == SANDBOX_COMPILE ? tree : NULL, .cpu_s = 60};
    if (sandbox_enter(&spec, NULL) != ERR_NONE)
        return ENTER_FAILED;
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return NO_THREAD;
    if (role == SANDBOX_COMPILE && sandbox_files_confined() && !reads_visible())
        return NOT_VISIBLE;
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        if (attempts[i].possible())
            return (int)i + 1;
    return FINE;
}

static void nothing_forbidden_is_possible(void **state)
{
    (void)state;
    static const enum sandbox_role roles[] = {SANDBOX_COMPILE, SANDBOX_COMPUTE, SANDBOX_GPU};
    for (size_t r = 0; r < COUNT_OF(roles); r++)
        for (int host = 0; host < HOSTS; host++) {
            fflush(stdout);
            pid_t pid = fork();
            if (pid == 0)
                _exit(try_all(roles[r], (enum host)host));
            int status = status_of(pid);
            if (status != FINE)
                fail_msg("role %d, %s: %s (%d)", (int)roles[r], host_names[host],
                         status > 0 && status <= (int)COUNT_OF(attempts) ? attempts[status - 1].name
                                                                         : "set-up",
                         status);
        }
}

/* CUPTI ends its process unless a file that it asks for is there, or is not there. */
static void files_are_not_there_for_a_gpu(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct sandbox_spec spec = {.role = SANDBOX_GPU};
        bool entered = sandbox_enter(&spec, NULL) == ERR_NONE;
        _exit(entered && !sees_passwd() && errno == ENOENT && !opens_passwd() && errno == EPERM
                  ? FINE
                  : ENTER_FAILED);
    }
    assert_int_equal(status_of(pid), FINE);
}

/* Exit status: bits of the layers that confine files. */
static int layers_on(enum host host)
{
    become(host);
    struct sandbox_spec spec = {.role = SANDBOX_COMPILE, .read_only = tree};
    if (sandbox_enter(&spec, NULL) != ERR_NONE)
        return ENTER_FAILED;
    json_t *names = sandbox_layers();
    bool last_is_seccomp =
        !strcmp(json_string_value(json_array_get(names, json_array_size(names) - 1)), "seccomp");
    return (int)sandbox_active(SANDBOX_LAYER_PRIVATE_ROOT) |
           sandbox_active(SANDBOX_LAYER_CHROOT) << 1 | sandbox_active(SANDBOX_LAYER_LANDLOCK) << 2 |
           sandbox_files_confined() << 3 | last_is_seccomp << 4;
}

static void what_is_missing_is_not_listed(void **state)
{
    (void)state;
    for (int host = 0; host < HOSTS; host++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(layers_on((enum host)host));
        int on = status_of(pid);
        assert_true(on & 16);
        assert_int_equal(!!(on & 8), !!(on & 7));
        if (host == POORER_CONTAINER)
            assert_int_equal(on & 5, 0);
        if (host == POOR_CONTAINER)
            assert_int_equal(on & 1, 0);
        if (host == NOTHING)
            assert_int_equal(on & 15, 0);
    }
}

static void processor_time_ends(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct sandbox_spec spec = {.role = SANDBOX_COMPUTE, .cpu_s = 1};
        if (sandbox_enter(&spec, NULL) != ERR_NONE)
            _exit(ENTER_FAILED);
        for (volatile unsigned i = 0;; i++)
            ;
    }
    int status = status_of(pid);
    assert_true(status == 200 + SIGXCPU || status == 200 + SIGKILL);
}

static void dies_with_its_parent_after_changing_ids(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t parent = fork();
    if (parent == 0) {
        if (fork() == 0) {
            struct sandbox_spec spec = {.role = SANDBOX_COMPUTE};
            bool ok = sandbox_enter(&spec, NULL) == ERR_NONE;
            ssize_t n = write(pipes[1], ok ? "y" : "n", 1);
            for (;;)
                usleep(n > 0 ? 100000 : 1);
        }
        close(pipes[1]);
        for (;;)
            pause();
    }
    close(pipes[1]);
    char byte = 0;
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    assert_int_equal(read(pipes[0], &byte, 1), 0); /* ends only when the grandchild is gone */
    close(pipes[0]);
}

static int make_tree(void **state)
{
    (void)state;
    char path[128];
    if (!mkdtemp(visible) || chmod(visible, 0755) != 0)
        return -1;
    tree[0] = visible;
    snprintf(path, sizeof path, "%s/header.h", visible);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    close(fd);
    return fd < 0 ? -1 : 0;
}

static int remove_tree(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/header.h", visible);
    unlink(path);
    rmdir(visible);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_forbidden_is_possible),
        cmocka_unit_test(files_are_not_there_for_a_gpu),
        cmocka_unit_test(what_is_missing_is_not_listed),
        cmocka_unit_test(processor_time_ends),
        cmocka_unit_test(dies_with_its_parent_after_changing_ids),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
