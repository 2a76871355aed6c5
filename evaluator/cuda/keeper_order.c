// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_order.h"

int order_batches(int slots)
{
    int per_batch = slots / 2, needed = (ORDER_BLOCKS_MIN + per_batch - 1) / per_batch;
    return needed < ORDER_BATCHES_MIN ? ORDER_BATCHES_MIN : needed;
}

static void put(json_t *order, const char *side, int slot)
{
    json_array_append_new(order, json_pack("[s, i]", side, slot));
}

json_t *order_batch(int slots)
{
    json_t *order = json_array();
    put(order, "b", ORDER_DUMMY_BASELINE);
    put(order, "c", ORDER_DUMMY);
    for (int i = 0; i < slots; i += 2) {
        put(order, "b", ORDER_BASELINE + i);
        put(order, "c", ORDER_CANDIDATE + i);
        put(order, "c", ORDER_CANDIDATE + i + 1);
        put(order, "b", ORDER_BASELINE + i + 1);
    }
    return order;
}

void order_blocks(const double *us, int slots, struct timing_block *out)
{
    for (int i = 0; i < slots / 2; i++) {
        const double *t = us + 4 * i;
        out[i] = (struct timing_block){
            .baseline = {t[0], t[3]}, .candidate = {t[1], t[2]}, .opens_batch = i == 0};
    }
}

double order_roofline_us(double flops, double bytes, double flops_per_s, double bytes_per_s)
{
    double compute = flops_per_s > 0 ? flops / flops_per_s : 0;
    double memory = bytes_per_s > 0 ? bytes / bytes_per_s : 0;
    return 1e6 * (compute > memory ? compute : memory);
}
