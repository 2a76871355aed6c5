/* SPDX-License-Identifier: Apache-2.0
 * One instance of a compiled module on the device, with the functions that a plan names. Loading the same
 * bytes again gives fresh module-scope variables. */
#ifndef EVALUATOR_CUDA_MODULE_H
#define EVALUATOR_CUDA_MODULE_H

#include "evaluator/cuda/launch.h"

struct module {
    CUmodule handle;
    CUfunction launches[LIMIT_LAUNCHES]; /* of plan.launches */
    CUfunction fills[LIMIT_BUFFERS];     /* of plan.buffers[i].launch; NULL: not filled so */
};

/* False with a fault: "module" if the driver refuses the cubin or a function is not in it, "launch" if it
 * refuses what a launch asks of its function. */
bool module_load(struct module *m, const struct launcher_spec *spec, struct launch_fault *fault);
void module_unload(struct module *m);

#endif
