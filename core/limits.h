/* SPDX-License-Identifier: Apache-2.0
 * Every ceiling of the service in one place. A buffer, a list or a wait that foreign input can grow
 * takes its maximum from here. Bytes unless the name says otherwise. */
#ifndef CORE_LIMITS_H
#define CORE_LIMITS_H

enum limits {
    KIB = 1024,
    MIB = 1024 * 1024,

    LIMIT_SOURCE = 1 * MIB,         /* submission source, UTF-8 */
    LIMIT_BODY = 8 * MIB,           /* HTTP body: source after JSON escaping, plan beside it */
    LIMIT_LABEL = 200,              /* label, method */
    LIMIT_LOG = 64 * KIB,           /* compiler log kept */
    LIMIT_LOGS = 2 * LIMIT_LOG + KIB, /* that, a line between, what kernels printed */
    LIMIT_PTX = 32 * MIB,           /* PTX text accepted or produced */
    LIMIT_CUBIN = 16 * MIB,         /* compiled module */
    LIMIT_GLOBALS = 256 * MIB,      /* module-scope variables of a compiled module */
    LIMIT_REPORT = 1 * MIB,         /* evaluation report, JSON */
    LIMIT_CAPTURE = 1 * MIB,        /* captured scratch buffer; literal buffer data */
    LIMIT_EVENT = 4 * KIB,          /* data of one progress event */
    LIMIT_FRAME = 64 * MIB,         /* one frame between processes */
    LIMIT_DETAIL = 512,             /* text of one error */
    LIMIT_FAULTS = 32,              /* errors reported at once for one input */
    LIMIT_EXPR = 256,               /* one launch plan expression */
    LIMIT_NAME = 64,                /* names of problems, axes, tensors, buffers */
    LIMIT_KERNEL_EXPR = 1024,       /* name expression of one launch */

    LIMIT_LAUNCHES = 16,            /* count: launches of a plan */
    LIMIT_ARGS = 64,                /* count: arguments of one launch, struct members included */
    LIMIT_BUFFERS = 32,             /* count: scratch buffers of a plan */
    LIMIT_TENSOR_MAPS = 32,         /* count */
    LIMIT_DEFINES = 32,             /* count */
    LIMIT_PARAM_BYTES = 4096,       /* kernel parameters of one launch */
    LIMIT_TENSORS = 16,             /* count: tensors of a problem */
    LIMIT_AXES = 16,                /* count: axes of a problem */
    LIMIT_DIMS = 5,                 /* count: dimensions of a tensor or tensor map */
    LIMIT_DISTRIBUTIONS = 8,        /* count: input distributions of a problem */
    LIMIT_STRUCT_DEPTH = 4,         /* levels of struct arguments */
    LIMIT_WORKLOADS = 256,          /* count: workloads of a problem */
    LIMIT_WAIT_S = 60,              /* seconds: longest ?wait= */
};

#endif
