/* SPDX-License-Identifier: Apache-2.0
 * PTX of the kernels that timing needs: "write" and "read" flush the L2 cache, "scrub" wipes shared
 * memory, "empty" is the floor, "sample" picks elements of an output. */
#ifndef EVALUATOR_CUDA_BATCH_KERNELS_H
#define EVALUATOR_CUDA_BATCH_KERNELS_H

extern const char batch_kernels_ptx[];

#endif
