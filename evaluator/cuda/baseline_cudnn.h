/* SPDX-License-Identifier: Apache-2.0
 * For evaluator/cuda/baseline_cudnn*.c and their tests only. */
#ifndef EVALUATOR_CUDA_BASELINE_CUDNN_H
#define EVALUATOR_CUDA_BASELINE_CUDNN_H

#include "evaluator/cuda/baseline_cudnn_graph.h"
#include "evaluator/cuda/baseline_parts.h"

#ifdef HAVE_CUDNN

/* Opens the library and its parts and fills `cudnn` and out->version; needs no device. It is looked
 * for in the folder $PTXBENCH_CUDNN if that is set, else in the wheels of the Pythons of $PATH, in
 * the toolkit, and where the loader looks. ERR_UNAVAILABLE says what is missing. */
enum err cudnn_load(struct baseline_library *out, struct fault *f);
#endif

#endif
