/* SPDX-License-Identifier: Apache-2.0
 * How the device fares while it is used: clocks, temperature, power, what holds the clocks down, memory
 * errors. From libnvidia-ml.so.1, loaded at run time. Everything may be unknown: a library that is
 * missing or a device that does not tell is no error of a measurement, only a gap in its record.
 *
 *     nvml_open(&n, device.uuid, &why);       // on failure n is closed, and all samples are unknown
 *     nvml_read(&n, &sample); nvml_set_add(&set, &sample);
 *     json_object_set_new(timing, "environment", nvml_set_json(&set));
 *     limits.slowed_down = nvml_slowed_down(&set); */
#ifndef EVALUATOR_CUDA_NVML_H
#define EVALUATOR_CUDA_NVML_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* One reading. Unknown: NAN, false and -1. */
struct nvml_sample {
    double sm_mhz, memory_mhz, max_sm_mhz, temperature_c, power_w;
    bool throttle_known;
    uint32_t throttle;       /* bits of enum nvml_throttle */
    int64_t ecc_uncorrected; /* since the driver was loaded */
};

/* Reasons why clocks are not at their maximum; names in nvml_throttle.def. */
enum nvml_throttle {
#define THROTTLE(id, bit, name, slowdown) NVML_THROTTLE_##id = (bit),
#include "evaluator/cuda/nvml_throttle.def"
#undef THROTTLE
};

/* An open device. `{0}` is none. */
struct nvml {
    void *library; /* of dlopen, ours */
    void *device;  /* the library's */
};

/* `uuid` as driver_device.uuid has it, without "GPU-". ERR_UNAVAILABLE says what is missing; `out` is
 * then closed and may be read all the same. */
enum err nvml_open(struct nvml *out, const char *uuid, struct fault *f);
void nvml_close(struct nvml *n);

/* Reads everything the device tells; about 1 ms. On a closed device everything is unknown. */
void nvml_read(const struct nvml *n, struct nvml_sample *out);

/* {"temperature_c", "sm_mhz", "memory_mhz", "power_w", "throttle": ["sw_power_cap", …], "ecc_errors"};
 * unknown members are null. New reference. */
json_t *nvml_sample_json(const struct nvml_sample *s);

/* Readings around one measurement; of more than NVML_SAMPLES the latest. `{0}` is empty. */
enum { NVML_SAMPLES = 256 };
struct nvml_set {
    struct nvml_sample samples[NVML_SAMPLES];
    size_t count; /* ever added */
};
void nvml_set_add(struct nvml_set *set, const struct nvml_sample *s);

/* {"samples": n, "max_sm_mhz": x, "sm_mhz": {"min", "median", "max"}, "memory_mhz", "temperature_c",
 *  "power_w": likewise, "throttle": {name: share of the samples, only those seen},
 *  "ecc_errors": those that came in between}; unknown members are null. New reference. */
json_t *nvml_set_json(const struct nvml_set *set);

/* Was a hardware or thermal slowdown seen? The software power cap is how these devices normally run. */
bool nvml_slowed_down(const struct nvml_set *set);

#endif
