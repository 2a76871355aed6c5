// SPDX-License-Identifier: Apache-2.0
// How far a verdict can be off: the baseline as its own candidate, every verdict in a fresh runner,
// by the scheme of the service (ABBA blocks behind a gate, as many as it would measure), beside
// what most benchmarks do (all of one, then all of the other).
//
//   gpu_fidelity [verdicts [problem [workload]]]       defaults: 20, gemm, the problem's own
//
// The last lines are figures: name value.
#include "evaluator/cuda/keeper_order.h"
#include "tests/gpu/runner_kit.h"

enum { SLOTS_MAX = ADMIT_SLOTS_MAX, SEQUENCE = 50, SEQUENCE_MIN = 10, WARM_MS = 300 };
#define SLOTS_BYTES (INT64_C(24) << 30)
#define SEQUENCE_US 400e3

/* What is opened has to have a candidate; it never runs. */
static const char any_plan[] =
    "/*ptxbench-launch {\"launches\": [{\"kernel\": \"k\", \"grid\": [1], "
    "\"block\": [32], \"args\": []}]} */\n"
    "__global__ void k() {}\n";

static int slots_used; /* of each side */

static json_t *entry(const char *side, int slot)
{
    return json_pack("[s, i]", side, slot);
}

/* One batch of blocks b c c b over so many slots, behind `lead` pairs; those of the second side lie
 * behind the first's. Appends the blocks. */
static bool batch(struct kit_runner *r, int slots, int lead, struct timing_block *blocks)
{
    double us[2 * SLOTS_MAX];
    json_t *order = json_array();
    for (int i = 0; i < lead; i++) {
        json_array_append_new(order, entry("b", slots_used));
        json_array_append_new(order, entry("b", 0));
    }
    for (int i = 0; i < slots; i += 2) {
        json_array_append_new(order, entry("b", slots_used + i));
        json_array_append_new(order, entry("b", i));
        json_array_append_new(order, entry("b", i + 1));
        json_array_append_new(order, entry("b", slots_used + i + 1));
    }
    json_t *answer =
        kit_ask(r, json_pack("{s:s, s:o, s:i}", "op", "batch", "order", order, "untimed", 2 * lead),
                NULL, 0);
    json_t *list = json_object_get(answer, "us");
    for (size_t i = 0; i < 2 * (size_t)slots; i++)
        us[i] = json_number_value(json_array_get(list, i));
    order_blocks(us, slots, blocks);
    return kit_ok(answer);
}

/* The mean time of some runs in a row, over one side's slots. */
static double sequence(struct kit_runner *r, int first_slot, int runs)
{
    json_t *order = json_array();
    for (int i = 0; i < runs; i++)
        json_array_append_new(order, entry("b", first_slot + i % slots_used));
    json_t *answer = kit_ask(
        r, json_pack("{s:s, s:o, s:i}", "op", "batch", "order", order, "untimed", 0), NULL, 0);
    json_t *us = json_object_get(answer, "us");
    double sum = 0;
    for (size_t i = 0; i < json_array_size(us); i++)
        sum += json_real_value(json_array_get(us, i));
    kit_ok(answer);
    return sum / runs;
}

struct verdict_times {
    double start_ms, setup_ms, warm_ms, batches_ms;
    size_t blocks;
};

static bool begin(struct kit_runner *r, const struct kit *k, const struct kit_code *code,
                  const struct kit_slot *slots, struct verdict_times *t)
{
    double at = now_s();
    bool ok = kit_start(r);
    t->start_ms = (now_s() - at) * 1e3;
    at = now_s();
    ok = ok && kit_ok(kit_open_code(r, k, code));
    for (int i = 0; ok && i < 2 * slots_used; i++)
        ok = kit_ok(kit_map(r, &slots[i], i, "end"));
    t->setup_ms = (now_s() - at) * 1e3;
    return ok;
}

/* Until the clocks are up. */
static bool warm_up(struct kit_runner *r, struct verdict_times *t)
{
    struct timing_block blocks[SLOTS_MAX / 2];
    double at = now_s();
    bool ok = true;
    while (ok && now_s() - at < WARM_MS / 1e3)
        ok = batch(r, 2, 1, blocks);
    t->warm_ms = (now_s() - at) * 1e3;
    return ok;
}

/* One verdict in a fresh process. *sequential is the ratio by the other scheme. */
static bool verdict(const struct kit *k, const struct kit_code *code, const struct kit_slot *slots,
                    struct timing_summary *out, double *sequential, struct verdict_times *t)
{
    struct kit_runner r;
    struct timing_block blocks[ORDER_BLOCKS + ORDER_BATCHES_MIN * SLOTS_MAX / 2];
    struct timing_limits limits = {0};
    bool ok = begin(&r, k, code, slots, t) && warm_up(&r, t) && batch(&r, 2, 1, blocks);
    double at = now_s();
    double us = blocks[0].baseline[0] + blocks[0].candidate[0];
    struct order_spread spread = order_spread(slots_used, 2 * us);
    size_t count = (size_t)(spread.batches * spread.slots / 2);
    for (int i = 0; ok && i < spread.batches; i++)
        ok = batch(&r, spread.slots, spread.lead, &blocks[i * spread.slots / 2]);
    t->batches_ms = (now_s() - at) * 1e3;
    t->blocks = count;
    ok = ok && timing_summarise(blocks, count, &limits, 1, out);
    double runs = fmin(SEQUENCE, fmax(SEQUENCE_MIN, 2 * SEQUENCE_US / us));
    double first = ok ? sequence(&r, slots_used, (int)runs) : 1;
    *sequential = first / (ok ? sequence(&r, 0, (int)runs) : 1);
    kit_stop(&r);
    return ok;
}

static void show(const struct timing_summary *s, const struct verdict_times *t, double sequential)
{
    printf("# %.4f [%.4f, %.4f] of %.1f us by %zu blocks, in sequence %.4f; start %.0f ms, "
           "set-up %.0f, warm-up %.0f, batches %.0f\n",
           s->speedup, s->ci_low, s->ci_high, s->baseline_us, t->blocks, sequential, t->start_ms,
           t->setup_ms, t->warm_ms, t->batches_ms);
}

/* Both sides have slots as the keeper gives them. */
static void make_slots(const struct kit *k, struct kit_slot *slots)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < k->problem->tensor_count; i++)
        bytes += (int64_t)k->bytes[i];
    int fit = (int)(SLOTS_BYTES / bytes) / 2 * 2;
    slots_used = fit < 2 ? 2 : fit > SLOTS_MAX ? SLOTS_MAX : fit;
    for (int i = 0; i < 2 * slots_used; i++)
        kit_slot_new(k, &slots[i], MEMORY_END, i ? &slots[0] : NULL);
}

int main(int argc, char **argv)
{
    struct kit k;
    static struct kit_slot slots[2 * SLOTS_MAX];
    struct kit_code code;
    long verdicts = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
    double worst = 0, worst_sequential = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open_problem(&k, argc > 2 ? argv[2] : "gemm", argc > 3 ? argv[3] : NULL);
    make_slots(&k, slots);
    kit_compile(&k, any_plan, &code);
    for (long i = 0; i < verdicts; i++) {
        struct timing_summary s = {0};
        struct verdict_times t = {0};
        double sequential = 1;
        if (!verdict(&k, &code, slots, &s, &sequential, &t)) {
            printf("Bail out! a runner failed\n");
            return 1;
        }
        show(&s, &t, sequential);
        worst = fmax(worst, fabs(log(s.speedup)));
        worst_sequential = fmax(worst_sequential, fabs(log(sequential)));
    }
    bool ok = worst <= 0.003;
    printf("%sok 1 - the worst of %ld verdicts on %s is within 0.3 %%\n1..1\n", ok ? "" : "not ",
           verdicts, k.problem->name);
    printf("fidelity.%s.worst_deviation %.5f\nfidelity.%s.sequential_worst_deviation %.5f\n",
           k.problem->name, worst, k.problem->name, worst_sequential);
    return !ok;
}
