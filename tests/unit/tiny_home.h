/* SPDX-License-Identifier: Apache-2.0
 * A home folder ($PTXBENCH_HOME) for tests that evaluate: the real architectures and the real
 * gemm, but with one workload small enough for a sanitized build: 93 x 64, K = 128. */
#ifndef TESTS_TINY_HOME_H
#define TESTS_TINY_HOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char tiny_home[64] = "/tmp/ptxbench-home-XXXXXX";

static inline bool tiny_link(const char *what)
{
    char from[512], to[512];
    snprintf(from, sizeof(from), "%s/%s", PTXBENCH_SOURCE_DIR, what);
    snprintf(to, sizeof(to), "%s/%s", tiny_home, what);
    return symlink(from, to) == 0;
}

/* Makes the folder and points $PTXBENCH_HOME at it. Call before anything asks for home_dir(). */
static inline bool tiny_home_make(void)
{
    char path[512];
    json_t *problem = json_load_file(PTXBENCH_SOURCE_DIR "/problems/gemm/problem.json", 0, NULL);
    if (!problem || !mkdtemp(tiny_home))
        return false;
    json_object_set_new(problem, "default_workload", json_string("tiny"));
    json_object_set_new(problem, "cpu_workload", json_string("tiny"));
    json_object_set_new(problem, "workloads",
                        json_pack("[{s:s, s:{s:i, s:i, s:i}, s:b}]", "name", "tiny", "axes", "M", 93,
                                  "N", 64, "K", 128, "paper", 1));
    snprintf(path, sizeof(path), "%s/problems", tiny_home);
    bool ok = mkdir(path, 0755) == 0;
    snprintf(path, sizeof(path), "%s/problems/gemm", tiny_home);
    ok = ok && mkdir(path, 0755) == 0 && tiny_link("arch") && tiny_link("problems/gemm/oracle.cu") &&
         tiny_link("problems/gemm/oracle.ptx");
    snprintf(path, sizeof(path), "%s/problems/gemm/problem.json", tiny_home);
    ok = ok && json_dump_file(problem, path, 0) == 0 && setenv("PTXBENCH_HOME", tiny_home, 1) == 0;
    json_decref(problem);
    return ok && chmod(tiny_home, 0755) == 0;
}

static inline void tiny_home_remove(void)
{
    static const char *const parts[] = {"problems/gemm/problem.json", "problems/gemm/oracle.cu",
                                        "problems/gemm/oracle.ptx", "problems/gemm", "problems",
                                        "arch", "."};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", tiny_home, parts[i]);
        if (unlink(path))
            rmdir(path);
    }
    rmdir(tiny_home);
}

#endif
