// SPDX-License-Identifier: Apache-2.0
// How far a verdict can be off: the baseline as its own candidate, every verdict in a fresh runner,
// by the scheme of the service (ABBA blocks behind a gate), beside what most benchmarks do (all of
// one, then all of the other). Then the files named on the command line against the baseline, once
// each.
//
//   gpu_fidelity [verdicts [source.cu …]]       defaults: 20 verdicts
//
// The last lines are figures: name value.
#include "evaluator/timing_stats.h"
#include "tests/gpu/runner_kit.h"

enum { SLOTS = 16, BATCHES = 4, SEQUENCE = 50, WARM_MS = 300 };

static const char any_plan[] =
    "/*ptxbench-launch {\"launches\": [{\"kernel\": \"k\", \"grid\": [1], "
    "\"block\": [32], \"args\": [{\"tensor\": \"C\"}]}]} */\n"
    "__global__ void k(unsigned short *C) { C[0] = 0; }\n";

static json_t *entry(const char *side, int slot)
{
    return json_pack("[s, i]", side, slot);
}

/* One batch of SLOTS / 2 blocks b c c b; baseline slots lie behind the candidate's. Appends the
 * blocks. */
static bool batch(struct kit_runner *r, const char *candidate, struct timing_block *blocks)
{
    json_t *order = json_array();
    json_array_append_new(order, entry("b", SLOTS));
    json_array_append_new(order, entry(candidate, 0));
    for (int i = 0; i < SLOTS; i += 2) {
        json_array_append_new(order, entry("b", SLOTS + i));
        json_array_append_new(order, entry(candidate, i));
        json_array_append_new(order, entry(candidate, i + 1));
        json_array_append_new(order, entry("b", SLOTS + i + 1));
    }
    json_t *answer = kit_ask(
        r, json_pack("{s:s, s:o, s:i}", "op", "batch", "order", order, "untimed", 2), NULL, 0);
    json_t *us = json_object_get(answer, "us");
    for (size_t i = 0; i < SLOTS / 2 && json_array_size(us) == 2 * SLOTS; i++) {
        double t[4];
        for (size_t j = 0; j < 4; j++)
            t[j] = json_real_value(json_array_get(us, 4 * i + j));
        blocks[i] = (struct timing_block){{t[0], t[3]}, {t[1], t[2]}, i == 0};
    }
    return kit_ok(answer);
}

static double by_median(const struct timing_block *blocks, size_t n, struct timing_summary *out)
{
    struct timing_limits limits = {0};
    timing_summarise(blocks, n, &limits, 1, out);
    return out->speedup;
}

/* The mean time of SEQUENCE runs in a row, over one side's slots. */
static double sequence(struct kit_runner *r, int first_slot)
{
    json_t *order = json_array();
    for (int i = 0; i < SEQUENCE; i++)
        json_array_append_new(order, entry("b", first_slot + i % SLOTS));
    json_t *answer = kit_ask(
        r, json_pack("{s:s, s:o, s:i}", "op", "batch", "order", order, "untimed", 0), NULL, 0);
    json_t *us = json_object_get(answer, "us");
    double sum = 0;
    for (size_t i = 0; i < json_array_size(us); i++)
        sum += json_real_value(json_array_get(us, i));
    kit_ok(answer);
    return sum / SEQUENCE;
}

struct verdict_times {
    double start_ms, setup_ms, warm_ms, batches_ms;
};

static bool begin(struct kit_runner *r, const struct kit *k, const struct kit_code *code,
                  const struct kit_slot *slots, struct verdict_times *t)
{
    double at = now_s();
    bool ok = kit_start(r);
    t->start_ms = (now_s() - at) * 1e3;
    at = now_s();
    ok = ok && kit_ok(kit_open_code(r, k, code));
    for (int i = 0; ok && i < 2 * SLOTS; i++)
        ok = kit_ok(kit_map(r, &slots[i], i, "end"));
    t->setup_ms = (now_s() - at) * 1e3;
    at = now_s();
    ok = ok && kit_ok(kit_ask(r,
                              json_pack("{s:s, s:i, s:i, s:i}", "op", "warm", "candidate", 0,
                                        "baseline", SLOTS, "ms", WARM_MS),
                              NULL, 0));
    t->warm_ms = (now_s() - at) * 1e3;
    return ok;
}

/* One verdict in a fresh process. */
static bool verdict(const struct kit *k, const struct kit_code *code, const struct kit_slot *slots,
                    const char *candidate, struct timing_summary *out, double *sequential,
                    struct verdict_times *t)
{
    struct kit_runner r;
    struct timing_block blocks[BATCHES * SLOTS / 2];
    bool ok = begin(&r, k, code, slots, t);
    double at = now_s();
    for (size_t i = 0; ok && i < BATCHES; i++)
        ok = batch(&r, candidate, &blocks[i * SLOTS / 2]);
    t->batches_ms = (now_s() - at) * 1e3;
    if (ok)
        by_median(blocks, COUNT_OF(blocks), out);
    if (ok && sequential) {
        double first = sequence(&r, SLOTS);
        *sequential = first / sequence(&r, 0);
    }
    if (ok && !sequential) {
        json_t *answer = kit_ask(&r, json_pack("{s:s, s:i}", "op", "floor", "count", 20), NULL, 0);
        char *text = json_dumps(json_object_get(answer, "us"), JSON_COMPACT);
        printf("# empty kernel, us: %.200s\n", text);
        free(text);
        kit_ok(answer);
    }
    kit_stop(&r);
    return ok;
}

static void show(const char *name, const struct timing_summary *s, const struct verdict_times *t)
{
    printf("# %-28s %.4f [%.4f, %.4f]  candidate %.1f us, baseline %.1f us; start %.0f ms, set-up "
           "%.0f, warm-up %.0f, batches %.0f\n",
           name, s->speedup, s->ci_low, s->ci_high, s->candidate_us, s->baseline_us, t->start_ms,
           t->setup_ms, t->warm_ms, t->batches_ms);
    fflush(stdout);
}

/* How many of 16-bit elements of the outputs of two slots differ. */
static size_t differ(const struct kit *k, const struct kit_slot *a, const struct kit_slot *b)
{
    size_t n = k->bytes[2], count = 0;
    uint16_t *x = malloc(n), *y = malloc(n);
    if (!x || !y || cu.MemcpyDtoH(x, a->maps[2].address, n) ||
        cu.MemcpyDtoH(y, b->maps[2].address, n))
        kit_die("read outputs", NULL);
    for (size_t i = 0; i < n / 2; i++)
        count += x[i] != y[i];
    free(x);
    free(y);
    return count;
}

static void try_file(const struct kit *k, const struct kit_slot *slots, const char *path)
{
    struct buf source;
    struct fault f = {0};
    buf_init(&source, LIMIT_SOURCE);
    if (read_file(path, &source, &f) != ERR_NONE)
        kit_die(path, &f);
    struct kit_code code;
    struct timing_summary s = {0};
    struct verdict_times t = {0};
    kit_compile(k, source.data, &code);
    if (!verdict(k, &code, slots, "c", &s, NULL, &t))
        printf("# %s did not run\n", path);
    show(strrchr(path, '/') ? strrchr(path, '/') + 1 : path, &s, &t);
    printf("# elements that differ from the baseline's: %zu of %zu\n",
           differ(k, &slots[3], &slots[SLOTS + 3]), k->bytes[2] / 2);
    buf_release(&source);
}

int main(int argc, char **argv)
{
    struct kit k;
    static struct kit_slot slots[2 * SLOTS];
    struct kit_code code;
    long verdicts = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
    double worst = 0, worst_sequential = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open(&k, "m8192_n7168_k5120");
    for (size_t i = 0; i < COUNT_OF(slots); i++)
        kit_slot_new(&k, &slots[i], MEMORY_END, i ? &slots[0] : NULL);
    kit_compile(&k, any_plan, &code);
    for (long i = 0; i < verdicts; i++) {
        struct timing_summary s = {0};
        struct verdict_times t = {0};
        double sequential = 1;
        if (!verdict(&k, &code, slots, "b", &s, &sequential, &t)) {
            printf("Bail out! a runner failed\n");
            return 1;
        }
        show("the baseline against itself", &s, &t);
        printf("#   in sequence %.4f\n", sequential);
        worst = fmax(worst, fabs(log(s.speedup)));
        worst_sequential = fmax(worst_sequential, fabs(log(sequential)));
    }
    for (int i = 2; i < argc; i++)
        try_file(&k, slots, argv[i]);
    bool ok = worst <= 0.003;
    printf("%sok 1 - the worst of %ld verdicts is within 0.3 %%\n1..1\n", ok ? "" : "not ",
           verdicts);
    printf("fidelity.gemm.worst_deviation %.5f\nfidelity.gemm.sequential_worst_deviation %.5f\n",
           worst, worst_sequential);
    return !ok;
}
