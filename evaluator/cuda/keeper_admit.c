// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_admit.h"

#define SLOTS_BYTES (INT64_C(24) << 30)

/* On an 80 GB device this leaves 20 GB: three contexts of 0.6 GB and a plan's scratch of 8 GiB
 * twice. */
#define BUDGET_SHARE 0.75

int64_t admit_bytes(const struct admit_sizes *s, int slots)
{
    return (slots + 1) * (s->inputs + 2 * s->outputs) + s->bases * (s->inputs + s->answers) +
           s->lanes * s->lane;
}

int admit_slots(const struct admit_sizes *s, int64_t budget)
{
    int64_t one = s->inputs + s->outputs, slots = one > 0 ? SLOTS_BYTES / one : ADMIT_SLOTS_MAX;
    slots = slots > ADMIT_SLOTS_MAX   ? ADMIT_SLOTS_MAX
            : slots < ADMIT_SLOTS_MIN ? ADMIT_SLOTS_MIN
                                      : slots;
    for (slots -= slots % 2; slots >= ADMIT_SLOTS_MIN; slots -= 2)
        if (admit_bytes(s, (int)slots) <= budget)
            return (int)slots;
    return 0;
}

int64_t admit_budget(int64_t free_bytes, int64_t held_bytes)
{
    return (int64_t)((double)(free_bytes + held_bytes) * BUDGET_SHARE);
}

int admit_victim(const struct admit_entry *entries, size_t count, int64_t need, int64_t budget)
{
    int64_t held = 0;
    int oldest = ADMIT_NEVER;
    for (size_t i = 0; i < count; i++) {
        held += entries[i].bytes;
        if (oldest < 0 || entries[i].used < entries[oldest].used)
            oldest = (int)i;
    }
    if (need > budget)
        return ADMIT_NEVER;
    return held + need <= budget ? ADMIT_FITS : oldest;
}
