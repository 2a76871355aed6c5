/* SPDX-License-Identifier: Apache-2.0
 * Order matters: mounts and ids need privilege, so they come first; Landlock and seccomp take away
 * what the earlier steps still needed. */
#include "evaluator/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/sandbox_parts.h"

enum { DEFAULT_TASKS = 512, OPEN_FILES = 256, STACK_BYTES = 64 * MIB };

#if defined(__SANITIZE_ADDRESS__)
#define SHADOW_MEMORY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHADOW_MEMORY true
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SHADOW_MEMORY true
#endif
#ifndef SHADOW_MEMORY
#define SHADOW_MEMORY false
#endif

static bool active[SANDBOX_LAYER_COUNT];
static const char *scratch;

static const struct {
    const char *name, *meaning;
} layers[] = {
#define LAYER(id, name, meaning) {name, meaning},
#include "evaluator/sandbox_layers.def"
#undef LAYER
};

void sandbox_mark(enum sandbox_layer layer)
{
    active[layer] = true;
}

bool sandbox_active(enum sandbox_layer layer)
{
    return active[layer];
}

const char *sandbox_layer_name(enum sandbox_layer layer)
{
    return layers[layer].name;
}

const char *sandbox_layer_meaning(enum sandbox_layer layer)
{
    return layers[layer].meaning;
}

bool sandbox_files_confined(void)
{
    return active[SANDBOX_LAYER_PRIVATE_ROOT] || active[SANDBOX_LAYER_CHROOT] ||
           active[SANDBOX_LAYER_LANDLOCK];
}

const char *sandbox_scratch(void)
{
    return scratch;
}

void sandbox_set_scratch(const char *path)
{
    scratch = path;
}

json_t *sandbox_layers(void)
{
    json_t *names = json_array();
    for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
        if (active[i])
            json_array_append_new(names, json_string(layers[i].name));
    return names;
}

static bool limit(int resource, rlim_t value)
{
    struct rlimit now, wanted = {value, value};
    if (getrlimit(resource, &now) == 0 && now.rlim_max < value)
        wanted = (struct rlimit){now.rlim_max, now.rlim_max};
    return setrlimit((__rlimit_resource_t)resource, &wanted) == 0;
}

/* The number of tasks is counted per user id: an ordinary user's other programs would count too, so
 * it is limited only for an id or a namespace of our own. */
static void limit_tasks(const struct sandbox_spec *spec)
{
    if (active[SANDBOX_LAYER_USER_NS] || active[SANDBOX_LAYER_UNPRIVILEGED])
        limit(RLIMIT_NPROC, (rlim_t)(spec->threads ? spec->threads : DEFAULT_TASKS));
}

static bool limit_resources(const struct sandbox_spec *spec)
{
    bool ok = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, (rlim_t)spec->file_bytes) &&
              limit(RLIMIT_NOFILE, OPEN_FILES) && limit(RLIMIT_STACK, STACK_BYTES) &&
              limit(RLIMIT_MEMLOCK, 0) && limit(RLIMIT_MSGQUEUE, 0);
    if (spec->cpu_s)
        ok = ok && limit(RLIMIT_CPU, (rlim_t)spec->cpu_s);
    /* A sanitizer's shadow is terabytes of address space: there the parent's watch on resident
     * memory has to do. */
    if (spec->memory_bytes && !SHADOW_MEMORY)
        ok = ok && limit(RLIMIT_AS, (rlim_t)spec->memory_bytes);
    return ok;
}

bool sandbox_become_nobody(void)
{
    if (geteuid() != 0)
        return true;
    if (setgroups(0, NULL) != 0 || setresgid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) != 0 ||
        setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) != 0)
        return false;
    sandbox_mark(SANDBOX_LAYER_UNPRIVILEGED);
    return true;
}

static void drop_capabilities(void)
{
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    if (syscall(SYS_capset, &header, none) == 0)
        sandbox_mark(SANDBOX_LAYER_NO_CAPS);
}

/* Changing ids clears the death signal, and the parent may have died in between. */
static void die_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent && getppid() != parent)
        _exit(127);
}

enum err sandbox_enter(const struct sandbox_spec *spec, struct fault *f)
{
    pid_t parent = getppid();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fault_set(f, ERR_UNAVAILABLE, "cannot confine: no_new_privs: %s", strerror(errno));
    sandbox_mark(SANDBOX_LAYER_NO_NEW_PRIVS);
    if (!limit_resources(spec))
        return fault_set(f, ERR_UNAVAILABLE, "cannot confine: limits: %s", strerror(errno));
    sandbox_mark(SANDBOX_LAYER_RLIMITS);
    if (spec->role != SANDBOX_GPU) {
        sandbox_namespaces(spec);
        sandbox_files(spec);
    }
    for (int cap = 0; cap < 64; cap++) /* what is still permitted goes with the user id */
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    if (!sandbox_become_nobody())
        return fault_set(f, ERR_UNAVAILABLE, "cannot confine: cannot give up root: %s",
                         strerror(errno));
    drop_capabilities();
    limit_tasks(spec);
    prctl(PR_SET_DUMPABLE, 0);
    die_with_parent(parent);
    if (spec->role != SANDBOX_GPU) /* it would not hold for the driver's threads */
        sandbox_landlock(spec);
    return sandbox_seccomp(spec, f);
}
