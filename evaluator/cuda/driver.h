/* SPDX-License-Identifier: Apache-2.0
 * The CUDA driver, loaded at run time: one table of functions, one device, its primary context. Nothing
 * of CUDA is linked, so the programs start and say what is missing where there is no driver.
 *
 *     if (driver_open(0, &device, f) != ERR_NONE) …
 *     e = driver_check(cu.MemAlloc(&p, n), f, "allocate %zu bytes for %s", n, name);
 */
#ifndef EVALUATOR_CUDA_DRIVER_H
#define EVALUATOR_CUDA_DRIVER_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

/* Every function of driver.def; filled by driver_load(), read-only afterwards. */
struct driver {
#define DRIVER(name, version) PFN_cu##name##_v##version name;
#include "evaluator/cuda/driver.def"
#undef DRIVER
};
extern struct driver cu;

/* What the rest needs to know of the device. */
struct driver_device {
    CUdevice device;
    CUcontext context; /* the primary one, current in the thread that opened it */
    char name[128];
    char uuid[37];     /* "xxxxxxxx-xxxx-…", as nvidia-smi prints it behind "GPU-" */
    int version;       /* of the driver's API, 13000 for 13.0 */
    int sm, num_sms;   /* 90, 132 */
    int shared_bytes;  /* most that one block can have */
    int64_t l2_bytes, memory_bytes;
    size_t granule;    /* allocation granularity of mappable memory, 2 MiB */
};

/* Loads libcuda.so.1 and all functions. ERR_UNAVAILABLE names what is missing. Idempotent. */
enum err driver_load(struct fault *f);

/* driver_load(), then device `ordinal` with its context: local memory is not shrunk back between
 * launches (CU_CTX_LMEM_RESIZE_TO_MAX), no persisting L2, small printf buffer, least device heap. */
enum err driver_open(int ordinal, struct driver_device *out, struct fault *f);
void driver_close(struct driver_device *d);

/* ERR_NONE if `r` is success; else ERR_NO_MEMORY or ERR_UNAVAILABLE with "cannot <what>: <driver's text>". */
__attribute__((format(printf, 3, 4))) enum err driver_check(CUresult r, struct fault *f,
                                                            const char *what, ...);
/* "an illegal memory access was encountered". Static text. */
const char *driver_text(CUresult r);

/* Is the context lost after this result, so that the process has to end? */
bool driver_is_sticky(CUresult r);
/* What a kernel did wrong, as a word of the report: "illegal_access", "misaligned_address",
 * "illegal_instruction", "assert", "launch_failed", "timeout", …; NULL if `r` does not say that. */
const char *driver_fault_kind(CUresult r);

#endif
