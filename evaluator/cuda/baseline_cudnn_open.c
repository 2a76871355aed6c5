// SPDX-License-Identifier: Apache-2.0
// Finding and opening cuDNN. The library is a shell that opens its parts when they are first used,
// and NVRTC when it first compiles; a confined process can open nothing, so everything is opened
// here.
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/baseline_cudnn.h"
#include "evaluator/cuda_paths.h"

#ifdef HAVE_CUDNN

static const struct baseline_entry entries[] = {
#define CUDNN(name) {"cudnn" #name, offsetof(struct cudnn, name)},
#include "evaluator/cuda/baseline_cudnn.def"
#undef CUDNN
};

#define TOOLKIT "/usr/local/cuda/lib64"

/* The parts that attention needs, as they depend on each other. */
static const char *const parts[] = {
    "libcudnn_graph.so.9",
    "libcudnn_heuristic.so.9",
    "libcudnn_engines_runtime_compiled.so.9",
    "libcudnn_engines_precompiled.so.9",
};

static void *open_in(const char *folder, const char *name, int flags)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return n < (int)sizeof(path) ? dlopen(path, flags) : NULL;
}

/* The wheel of one Python: `bin` is the folder of its program. */
static void *open_wheel(const char *bin, size_t length, char folder[PATH_MAX])
{
    char pattern[PATH_MAX];
    void *library = NULL;
    glob_t found = {0};
    snprintf(pattern, sizeof(pattern), "%.*s/../lib/python3*/*-packages/nvidia/cudnn/lib",
             (int)length, bin);
    if (glob(pattern, GLOB_ONLYDIR, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !library;) { /* the newest first */
            snprintf(folder, PATH_MAX, "%s", found.gl_pathv[i]);
            library = open_in(folder, "libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
        }
    globfree(&found);
    return library;
}

/* What frameworks on this host run comes first: the library inside the Python that $PATH finds.
 * `folder` is empty if only the loader knows where it is. */
static void *find_library(char folder[PATH_MAX])
{
    const char *chosen = getenv("PTXBENCH_CUDNN"), *path = getenv("PATH");
    void *library = NULL;
    if (chosen && chosen[0]) { /* whoever names one wants no other */
        snprintf(folder, PATH_MAX, "%s", chosen);
        return open_in(folder, "libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t n; path && *path && !library; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        library = open_wheel(path, n, folder);
    }
    if (library)
        return library;
    snprintf(folder, PATH_MAX, "%s", TOOLKIT);
    library = open_in(folder, "libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    folder[0] = '\0';
    return dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
}

/* Later requests by these names find what is open already. */
static void open_compiler(void)
{
    struct cuda_paths paths;
    cuda_paths_find(&paths);
    if (paths.nvrtc[0])
        dlopen(paths.nvrtc, RTLD_NOW | RTLD_GLOBAL);
    if (paths.builtins[0])
        dlopen(paths.builtins, RTLD_NOW | RTLD_GLOBAL);
}

static void open_parts(const char *folder)
{
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (folder[0])
            open_in(folder, parts[i], RTLD_NOW | RTLD_LOCAL);
        else
            dlopen(parts[i], RTLD_NOW | RTLD_LOCAL);
}

enum err cudnn_load(struct baseline_library *out, struct fault *f)
{
    char folder[PATH_MAX];
    open_compiler();
    void *library = find_library(folder);
    if (!library)
        return fault_set(f, ERR_UNAVAILABLE, "cannot load cuDNN: %s", dlerror());
    open_parts(folder);
    enum err e = baseline_load(library, "cuDNN", entries, COUNT_OF(entries), &cudnn, f);
    if (e != ERR_NONE)
        return e;
    size_t version = cudnn.GetVersion(); /* 91900 for 9.19.0 */
    snprintf(out->version, sizeof(out->version), "%zu.%zu.%zu", version / 10000,
             version / 100 % 100, version % 100);
    return ERR_NONE;
}

enum err baseline_cudnn_open(struct baseline_library *out, const struct driver_device *d,
                             struct fault *f)
{
    (void)d; /* its context is current */
    enum err e = cudnn_load(out, f);
    cudnnHandle_t handle = NULL;
    if (e == ERR_NONE)
        e = cudnn_check(cudnn.Create(&handle), f, "start cuDNN");
    out->handle = handle;
    return e;
}

#else

enum err baseline_cudnn_open(struct baseline_library *out, const struct driver_device *d,
                             struct fault *f)
{
    (void)out, (void)d;
    return fault_set(f, ERR_UNAVAILABLE,
                     "this build knows no cuDNN: cudnn_graph.h was not there when it was made");
}

#endif
