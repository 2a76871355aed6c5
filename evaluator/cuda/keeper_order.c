// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_order.h"

#include <math.h>

static int at_least(int least, int v)
{
    return v < least ? least : v;
}

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

struct order_spread order_spread(int slots_max, double block_us)
{
    double room = block_us > 0 ? ceil(ORDER_BLOCKS_US / block_us) : ORDER_BLOCKS;
    int blocks = room < ORDER_BLOCKS ? at_least(ORDER_BLOCKS_MIN, (int)room) : ORDER_BLOCKS;
    int per_batch = ceil_div(blocks, ORDER_BATCHES_MIN);
    per_batch = per_batch > slots_max / 2 ? slots_max / 2 : per_batch;
    int lead = block_us >= ORDER_LEAD_BLOCK_US ? (int)ceil(2 * ORDER_LEAD_US / block_us) : 1;
    return (struct order_spread){at_least(ORDER_BATCHES_MIN, ceil_div(blocks, per_batch)),
                                 2 * per_batch, lead};
}

static void put(json_t *order, const char *side, int slot)
{
    json_array_append_new(order, json_pack("[s, i]", side, slot));
}

json_t *order_batch(int slots, int lead)
{
    json_t *order = json_array();
    for (int i = 0; i < lead; i++) {
        put(order, "b", ORDER_DUMMY_BASELINE);
        put(order, "c", ORDER_DUMMY);
    }
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
