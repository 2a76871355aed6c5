/* SPDX-License-Identifier: Apache-2.0
 * What a worker tells the database of the device it serves. */
#ifndef EVALUATOR_WORKER_DEVICE_H
#define EVALUATOR_WORKER_DEVICE_H

#include <jansson.h>

#include "core/arch.h"

struct worker_device {
    char uuid[128], model[64];
    char driver[32]; /* "": none */
    char lanes[512]; /* array text: "{sm_90a/gpu,sm_90a/h200}"; "{}" while the device is unknown */
};

/* The device cpu: a lane for every architecture that this installation describes. */
enum err worker_device_cpu(struct worker_device *d, const char *host, const struct archs *archs,
                           struct fault *f);

/* A GPU whose keeper has not said yet what it is. */
void worker_device_unknown(struct worker_device *d, const char *name, const char *host);

/* A GPU, from the "device" of its keeper's ready event: the lanes of the architectures that are for its
 * SM version, "gpu" and, where the architecture lists it, by model. */
enum err worker_device_gpu(struct worker_device *d, const json_t *device, const struct archs *archs,
                           struct fault *f);

#endif
