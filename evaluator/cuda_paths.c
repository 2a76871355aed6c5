// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda_paths.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"

/* Each is a glob pattern; of several matches the last, which is the newest, is taken. */
static const char *const homes[] = {"/usr/local/cuda", "/usr/local/cuda-[0-9]*", "/opt/cuda",
                                    "/usr"};
static const char *const library_folders[] = {"lib64", "lib", "targets/*-linux/lib",
                                              "lib/*-linux-gnu"};
static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
static const char *const include_folders[] = {"include", "targets/*-linux/include"};

/* Real path of the last match of "<folder>/<pattern>". */
static bool find(char out[CUDA_PATH], const char *folder, const char *pattern)
{
    char path[PATH_MAX], real[PATH_MAX];
    glob_t matches = {0};
    bool found = snprintf(path, sizeof path, "%s/%s", folder, pattern) < (int)sizeof path &&
                 glob(path, 0, NULL, &matches) == 0 && matches.gl_pathc > 0 &&
                 realpath(matches.gl_pathv[matches.gl_pathc - 1], real) && strlen(real) < CUDA_PATH;
    if (found)
        memcpy(out, real, strlen(real) + 1);
    globfree(&matches);
    return found;
}

static void find_nvrtc(struct cuda_paths *p)
{
    for (size_t i = 0; i < COUNT_OF(library_folders); i++)
        for (size_t k = 0; k < COUNT_OF(nvrtc_names); k++) {
            char folder[CUDA_PATH];
            if (!find(folder, p->home, library_folders[i]) ||
                !find(p->nvrtc, folder, nvrtc_names[k]))
                continue;
            if (find(p->builtins, folder, "libnvrtc-builtins.so.[0-9]*"))
                snprintf(p->version, sizeof p->version, "%.15s",
                         strstr(p->builtins, ".so.") + strlen(".so."));
            return;
        }
}

static bool find_in(struct cuda_paths *p, const char *home)
{
    *p = (struct cuda_paths){0};
    char marker[CUDA_PATH];
    if (!find(p->home, home, ""))
        return false;
    find_nvrtc(p);
    if (find(p->ptxas, p->home, "bin/ptxas") && access(p->ptxas, X_OK) != 0)
        p->ptxas[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(include_folders) && !p->includes[0][0]; i++)
        if (find(p->includes[0], p->home, include_folders[i]) &&
            !find(marker, p->includes[0], "cuda_fp16.h"))
            p->includes[0][0] = '\0';
    if (p->includes[0][0])
        find(p->includes[1], p->includes[0], "cccl");
    return p->nvrtc[0] || p->ptxas[0];
}

bool cuda_paths_find(struct cuda_paths *out)
{
    const char *chosen = getenv("CUDA_HOME");
    if (chosen && chosen[0])
        return find_in(out, chosen); /* whoever names one wants no other */
    for (size_t i = 0; i < COUNT_OF(homes); i++) {
        char home[CUDA_PATH];
        if (find(home, "", homes[i]) && find_in(out, home))
            return true;
    }
    *out = (struct cuda_paths){0};
    return false;
}
