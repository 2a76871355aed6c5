/* SPDX-License-Identifier: Apache-2.0
 * For tests in which this very program plays ptxbench-gpu: a folder in which it has that name, and
 * $PTXBENCH_BIN that says so. */
#ifndef TESTS_AS_GPU_H
#define TESTS_AS_GPU_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char as_gpu_folder[] = "/tmp/as_gpu.XXXXXX";

static inline void as_gpu_path(char out[64])
{
    snprintf(out, 64, "%s/ptxbench-gpu", as_gpu_folder);
}

/* Call before anything asks for program_dir(). */
static inline void as_gpu_make(void)
{
    char own[PATH_MAX], path[64];
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (n <= 0 || !mkdtemp(as_gpu_folder))
        abort();
    own[n] = 0;
    as_gpu_path(path);
    if (symlink(own, path) != 0 || setenv("PTXBENCH_BIN", as_gpu_folder, 1) != 0)
        abort();
}

static inline void as_gpu_remove(void)
{
    char path[64];
    as_gpu_path(path);
    unlink(path);
    rmdir(as_gpu_folder);
}

/* Was this process started as ptxbench-gpu? Then `device` is the number that it was given. */
static inline int as_gpu_device(int argc, char **argv)
{
    return argc == 4 && !strcmp(argv[2], "--device") ? (int)strtol(argv[3], NULL, 10) : -1;
}

#endif
