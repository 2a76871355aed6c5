/* SPDX-License-Identifier: Apache-2.0
 * What a confined process can see: namespaces, a private root of read-only binds, or, where mounts
 * are not allowed, the include folder as root; Landlock on top. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/sandbox_parts.h"

#define SCRATCH "/scratch"
/* Any folder that always exists and that no read-only tree lies in: the new root is built on it. */
#define BUILD_SITE "/proc"

/* ---- namespaces ---- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool enter_user_namespace(void)
{
    char uids[64], gids[64];
    snprintf(uids, sizeof uids, "%d %d 1", SANDBOX_NOBODY, (int)geteuid());
    snprintf(gids, sizeof gids, "%d %d 1", SANDBOX_NOBODY, (int)getegid());
    prctl(PR_SET_DUMPABLE, 1); /* else the maps belong to root */
    return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", uids) && write_text("/proc/self/gid_map", gids);
}

/* Could an ordinary user make a user namespace with a mount namespace inside? */
static bool user_namespace_works(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(sandbox_become_nobody() && enter_user_namespace() && unshare(CLONE_NEWNS) == 0 &&
                      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
                  ? 0
                  : 1);
    int status = 1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool mount_namespace;

void sandbox_namespaces(const struct sandbox_spec *spec)
{
    static const struct {
        int flag;
        enum sandbox_layer layer;
    } kinds[] = {
        {CLONE_NEWNET, SANDBOX_LAYER_NET_NS},
        {CLONE_NEWIPC, SANDBOX_LAYER_IPC_NS},
        {CLONE_NEWUTS, SANDBOX_LAYER_UTS_NS},
    };
    mount_namespace = unshare(CLONE_NEWNS) == 0;
    if (!mount_namespace && user_namespace_works() && sandbox_become_nobody() &&
        enter_user_namespace()) {
        sandbox_mark(SANDBOX_LAYER_USER_NS);
        mount_namespace = unshare(CLONE_NEWNS) == 0;
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (unshare(kinds[i].flag) == 0)
            sandbox_mark(kinds[i].layer);
    /* Holds for children only, and forbids new threads until there is one: for the assembler alone.
     */
    if (spec->role == SANDBOX_ASSEMBLE && unshare(CLONE_NEWPID) == 0)
        sandbox_mark(SANDBOX_LAYER_PID_NS);
}

/* ---- private root ---- */

/* Makes every folder of `path`, and `path` itself as a folder or an empty file. */
static bool make_place(const char *path, bool folder)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return false;
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    if (folder)
        return mkdir(part, 0755) == 0 || errno == EEXIST;
    int fd = open(part, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* In a user namespace the flags that a mount has already must be kept. */
static unsigned long kept_flags(const char *path)
{
    static const struct {
        unsigned long stat, mount;
    } flags[] = {{ST_NOEXEC, MS_NOEXEC},
                 {ST_NOATIME, MS_NOATIME},
                 {ST_NODIRATIME, MS_NODIRATIME},
                 {ST_RELATIME, MS_RELATIME}};
    struct statvfs s;
    unsigned long kept = 0;
    if (statvfs(path, &s) == 0)
        for (size_t i = 0; i < COUNT_OF(flags); i++)
            if (s.f_flag & flags[i].stat)
                kept |= flags[i].mount;
    return kept;
}

static bool bind_read_only(const char *path)
{
    char target[PATH_MAX];
    struct stat st;
    if (stat(path, &st) != 0 ||
        snprintf(target, sizeof target, BUILD_SITE "%s", path) >= (int)sizeof target)
        return false;
    return make_place(target, S_ISDIR(st.st_mode)) &&
           mount(path, target, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           mount(NULL, target, NULL,
                 MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | kept_flags(path),
                 NULL) == 0;
}

static bool build_root(const struct sandbox_spec *spec)
{
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", BUILD_SITE, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755") != 0)
        return false;
    for (const char *const *path = spec->read_only; path && *path; path++)
        if (!bind_read_only(*path))
            return false;
    if (spec->role == SANDBOX_ASSEMBLE) {
        char options[64];
        snprintf(options, sizeof options, "size=%lld,nr_inodes=16,mode=777",
                 3 * (long long)spec->file_bytes);
        if (mkdir(BUILD_SITE SCRATCH, 0777) != 0 ||
            mount("tmpfs", BUILD_SITE SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                  options) != 0)
            return false;
        sandbox_set_scratch(SCRATCH);
    }
    return mount(NULL, BUILD_SITE, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV,
                 NULL) == 0;
}

static bool enter_root(void)
{
    return chdir(BUILD_SITE) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
           umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

/* Without mounts, the one folder a compiler reads can still be all there is. Its files are then
 * below
 * "/": callers that name them by absolute path must ask sandbox_active(SANDBOX_LAYER_CHROOT). */
static bool enter_folder(const struct sandbox_spec *spec)
{
    return spec->role == SANDBOX_COMPILE && spec->read_only && spec->read_only[0] &&
           !spec->read_only[1] && chroot(spec->read_only[0]) == 0 && chdir("/") == 0;
}

void sandbox_files(const struct sandbox_spec *spec)
{
    if (mount_namespace && build_root(spec) && enter_root())
        sandbox_mark(SANDBOX_LAYER_PRIVATE_ROOT);
    else if (sandbox_set_scratch(NULL), enter_folder(spec))
        sandbox_mark(SANDBOX_LAYER_CHROOT);
}

/* ---- Landlock ---- */

/* Own declarations: the kernel's header on a build host may be older than the kernel it runs on. */
struct landlock_ruleset {
    uint64_t fs, net, scoped;
};
struct __attribute__((packed)) landlock_path {
    uint64_t allowed;
    int32_t parent;
};
enum {
    LL_EXECUTE = 1 << 0,
    LL_WRITE_FILE = 1 << 1,
    LL_READ_FILE = 1 << 2,
    LL_READ_DIR = 1 << 3,
    LL_REMOVE_FILE = 1 << 5,
    LL_MAKE_REG = 1 << 8,
    LL_TRUNCATE = 1 << 14,
    LL_FILE_RIGHTS = LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE,
    LL_CREATE = 444,
    LL_ADD = 445,
    LL_RESTRICT = 446
};

/* Each version of the interface knows more rights; all that are known are taken away. */
static const struct {
    size_t size; /* of struct landlock_ruleset */
    int fs_rights;
    uint64_t net, scoped;
} landlock_versions[] = {
    {0, 0, 0, 0},   {8, 13, 0, 0},  {8, 14, 0, 0},  {8, 15, 0, 0},
    {16, 15, 3, 0}, {16, 16, 3, 0}, {24, 16, 3, 3},
};

static bool landlock_allow(int ruleset, const char *path, uint64_t rights, uint64_t handled)
{
    struct landlock_path rule = {rights & handled, open(path, O_PATH | O_CLOEXEC)};
    struct stat st;
    if (rule.parent < 0)
        return false;
    if (fstat(rule.parent, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed &= LL_FILE_RIGHTS;
    long rc = syscall(LL_ADD, ruleset, 1, &rule, 0);
    close(rule.parent);
    return rc == 0;
}

void sandbox_landlock(const struct sandbox_spec *spec)
{
    long abi = syscall(LL_CREATE, NULL, 0, 1);
    if (abi < 1)
        return;
    size_t version =
        (size_t)abi < COUNT_OF(landlock_versions) ? (size_t)abi : COUNT_OF(landlock_versions) - 1;
    struct landlock_ruleset rules = {(1ULL << landlock_versions[version].fs_rights) - 1,
                                     landlock_versions[version].net,
                                     landlock_versions[version].scoped};
    int fd = (int)syscall(LL_CREATE, &rules, landlock_versions[version].size, 0);
    if (fd < 0)
        return;
    bool ok = true;
    uint64_t read = LL_READ_FILE | LL_READ_DIR | (spec->role == SANDBOX_ASSEMBLE ? LL_EXECUTE : 0);
    if (sandbox_active(SANDBOX_LAYER_CHROOT))
        ok = landlock_allow(fd, "/", read, rules.fs);
    for (const char *const *path = spec->read_only;
         ok && path && *path && !sandbox_active(SANDBOX_LAYER_CHROOT); path++)
        ok = landlock_allow(fd, *path, read, rules.fs);
    if (ok && sandbox_scratch())
        ok = landlock_allow(
            fd, sandbox_scratch(),
            LL_READ_FILE | LL_WRITE_FILE | LL_MAKE_REG | LL_REMOVE_FILE | LL_TRUNCATE, rules.fs);
    if (ok && syscall(LL_RESTRICT, fd, 0) == 0)
        sandbox_mark(SANDBOX_LAYER_LANDLOCK);
    close(fd);
}
