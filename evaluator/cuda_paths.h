/* SPDX-License-Identifier: Apache-2.0
 * Where a CUDA toolkit lies on this host, found at run time: $CUDA_HOME, /usr/local/cuda, the newest
 * /usr/local/cuda-*, /opt/cuda, /usr. $CUDA_HOME excludes the others. Looks at files only. */
#ifndef EVALUATOR_CUDA_PATHS_H
#define EVALUATOR_CUDA_PATHS_H

#include <stdbool.h>

enum { CUDA_PATH = 512, CUDA_INCLUDES = 2 };

/* Empty texts for what is not there. */
struct cuda_paths {
    char home[CUDA_PATH];
    char nvrtc[CUDA_PATH];                  /* libnvrtc.so.N */
    char builtins[CUDA_PATH];               /* libnvrtc-builtins.so.N.M of the same folder */
    char ptxas[CUDA_PATH];
    char includes[CUDA_INCLUDES][CUDA_PATH]; /* include, include/cccl */
    char version[16];                       /* "13.0" by the name of the builtins; "" if unknown */
};

/* False if there is neither NVRTC nor ptxas. Resolves symbolic links. */
bool cuda_paths_find(struct cuda_paths *out);

#endif
