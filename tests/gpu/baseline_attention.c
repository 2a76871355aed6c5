// SPDX-License-Identifier: Apache-2.0
// The baselines of attention: one confined runner plans each, another gets the plan as text, runs
// it, and sampled rows of three heads are those of attention in double precision. The backward pass
// gets what the forward pass before it has computed.
//
//   gpu_baseline_attention [all | WORKLOAD…]     one line per problem and workload, then TAP
#include "tests/gpu/baseline_reference.h"
#include "tests/gpu/runner_kit.h"

/* Largest error of a row's element over the largest element: bf16 in and out, P rounded. */
#define ERROR_MAX 0.012
#define LSE_ERROR_MAX 1e-5
enum { OUTPUTS = 3 };

static const char *const quick[] = {"s4096_d128", "s512_d64", "s1024_d96", "s1024_d256"};

/* Each forward pass stands before the backward pass that needs it. */
static const struct {
    const char *problem;
    bool backward, causal;
    const char *outputs[OUTPUTS];
} cases[] = {
    {"mha_fwd", false, false, {"O", "LSE"}},
    {"mha_bwd", true, false, {"dQ", "dK", "dV"}},
    {"mha_fwd_causal", false, true, {"O", "LSE"}},
    {"mha_bwd_causal", true, true, {"dQ", "dK", "dV"}},
};

static const char source[] =
    "/*ptxbench-launch {\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [32], "
    "\"args\": [{\"tensor\": \"%s\"}]}]} */\n__global__ void k(unsigned short *out) { out[0] = 0; "
    "}\n";

/* The module of the plan is never run: one compilation does for all problems. */
static json_t *open_runner(struct kit *k, struct kit_runner *r, const char *output,
                           const struct kit_slot *slot)
{
    static bool compiled;
    static struct compile_result module;
    char text[sizeof(source) + LIMIT_NAME];
    struct kit_code code;
    struct fault f = {0};
    snprintf(text, sizeof(text), source, output);
    if (!compiled) {
        kit_compile(k, text, &code);
        module = code.compiled;
        compiled = true;
        json_decref(code.plan);
        json_decref(code.symbols);
    }
    code = (struct kit_code){plan_embedded(text, strlen(text), &f), json_object(), module};
    json_object_set_new(code.symbols, "k", json_string(compile_symbol(&module, "k")));
    json_t *answer = kit_open_code(r, k, &code);
    json_decref(code.plan);
    json_decref(code.symbols);
    return kit_ok(answer) ? kit_map(r, slot, 0, "end") : NULL;
}

static double number(const json_t *j, const char *member)
{
    return json_number_value(json_object_get(j, member));
}

static json_t *timed(struct kit_runner *r, json_t *request, double *ms)
{
    double start_s = now_s();
    json_t *answer = kit_ask(r, request, NULL, 0);
    *ms = (now_s() - start_s) * 1e3;
    if (json_is_true(json_object_get(answer, "ok")))
        return answer;
    kit_ok(answer);
    return NULL;
}

struct outcome {
    double us, cold_ms, warm_ms;
    char *name; /* of the baseline; owned */
};

/* Do both answers say the same of their baseline? Both may say nothing. */
static bool equal(const json_t *a, const json_t *b, const char *member)
{
    const char *x = json_string_value(json_object_get(json_object_get(a, "baseline"), member)),
               *y = json_string_value(json_object_get(json_object_get(b, "baseline"), member));
    return x && y ? !strcmp(x, y) : x == y;
}

/* Plans on one runner, runs on another. */
static bool run(struct kit *k, struct kit_runner pair[2], const char *output,
                const struct kit_slot *slot, struct outcome *out)
{
    json_t *mapped[2] = {open_runner(k, &pair[0], output, slot),
                         open_runner(k, &pair[1], output, slot)};
    if (!mapped[0] || !mapped[1] || !kit_ok(mapped[0]) || !kit_ok(mapped[1]))
        return false;
    json_t *plan =
        timed(&pair[0], json_pack("{s:s, s:[i]}", "op", "plan", "slots", 0), &out->cold_ms);
    if (!plan)
        return false;
    json_t *again = timed(
        &pair[1], json_pack("{s:s, s:O}", "op", "plan", "choice", json_object_get(plan, "choice")),
        &out->warm_ms);
    bool same = again && equal(plan, again, "name") && equal(plan, again, "engine");
    out->us = json_number_value(json_array_get(json_object_get(plan, "us"), 0));
    out->name = json_dumps(json_object_get(plan, "baseline"), JSON_COMPACT);
    json_decref(plan);
    json_decref(again);
    if (!same)
        return false;
    double ms;
    json_t *answer = timed(
        &pair[1], json_pack("{s:s, s:i, s:s}", "op", "launch", "slot", 0, "side", "baseline"), &ms);
    bool ok = answer && number(answer, "us") > 0;
    json_decref(answer);
    return ok;
}

static bool check(const struct kit *k, const struct kit_slot *s, size_t at, double errors[OUTPUTS])
{
    struct reference_task t = {.backward = cases[at].backward,
                               .causal = cases[at].causal,
                               .heads = k->workload->axes[0] * k->workload->axes[1],
                               .s = (size_t)k->workload->axes[2],
                               .d = (size_t)k->workload->axes[3]};
    for (size_t i = 0; i < k->problem->tensor_count; i++)
        t.tensors[i] = s->maps[i].address;
    bool ok = reference_compare(&t, errors);
    for (size_t i = 0; i < OUTPUTS && cases[at].outputs[i]; i++)
        ok = ok && errors[i] <= (strcmp(cases[at].outputs[i], "LSE") ? ERROR_MAX : LSE_ERROR_MAX);
    return ok;
}

/* O and the logarithms: tensors 3 and 4 of the forward pass, 3 and 5 of the backward pass. */
static void take_forward(const struct kit *k, const struct kit_slot *from,
                         const struct kit_slot *to)
{
    cu.MemcpyDtoDAsync(to->maps[3].address, from->maps[3].address, k->bytes[3], NULL);
    cu.MemcpyDtoDAsync(to->maps[5].address, from->maps[4].address, k->bytes[5], NULL);
    cu.StreamSynchronize(NULL);
}

static void slot_free(struct kit_slot *s)
{
    for (size_t i = 0; i < LIMIT_TENSORS; i++) {
        memory_unmap(&s->maps[i]);
        memory_release(&s->blocks[i]);
    }
}

static void report(const struct kit *k, size_t at, const struct outcome *o,
                   const double errors[OUTPUTS])
{
    printf("# %-15s %-11s %9.1f us %6.1f TFLOP/s, planned in %.0f ms, from text in %.1f ms; error",
           k->problem->name, k->workload->name, o->us,
           (double)problem_flops(k->problem, k->workload) / o->us / 1e6, o->cold_ms, o->warm_ms);
    for (size_t i = 0; i < OUTPUTS && cases[at].outputs[i]; i++)
        printf(" %s %.1e", cases[at].outputs[i], errors[i]);
    printf("; %s\n", o->name ? o->name : "-");
    if (k->workload == k->problem->paper_workload)
        printf(
            "baseline_ms.%s %.4f\nbaseline_plan_ms.%s.cold %.0f\nbaseline_plan_ms.%s.warm %.1f\n",
            k->problem->name, o->us / 1e3, k->problem->name, o->cold_ms, k->problem->name,
            o->warm_ms);
}

static size_t tests, failed;

/* Both directions of one workload, by two runners. */
static void try_workload(struct kit *k, struct kit_runner runners[2], const char *workload)
{
    struct kit_slot forward = {0};
    for (size_t at = 0; at < COUNT_OF(cases); at++) {
        struct kit_slot slot = {0};
        struct outcome o = {0};
        double errors[OUTPUTS] = {0};
        k->problem = problems_find(&k->registry.problems, cases[at].problem);
        k->workload = k->problem ? problem_workload(k->problem, workload) : NULL;
        if (!k->workload)
            continue;
        kit_measure(k);
        kit_slot_new(k, &slot, MEMORY_END, NULL);
        if (cases[at].backward)
            take_forward(k, &forward, &slot);
        bool ok = run(k, runners, cases[at].outputs[0], &slot, &o) && check(k, &slot, at, errors);
        report(k, at, &o, errors);
        free(o.name);
        failed += !ok;
        printf("%sok %zu - the baseline of %s is right on %s\n", ok ? "" : "not ", ++tests,
               cases[at].problem, workload);
        slot_free(cases[at].backward ? &slot : &forward);
        if (!cases[at].backward)
            forward = slot;
    }
    slot_free(&forward);
}

int main(int argc, char **argv)
{
    struct kit k;
    struct kit_runner runners[2];
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open_problem(&k, "mha_fwd", NULL);
    const struct problem *all = k.problem;
    if (!kit_start(&runners[0]) || !kit_start(&runners[1]))
        kit_die("a runner failed", NULL);
    if (argc == 2 && !strcmp(argv[1], "all"))
        for (size_t i = 0; i < all->workload_count; i++)
            try_workload(&k, runners, all->workloads[i].name);
    for (int i = 1; i < argc && strcmp(argv[1], "all") != 0; i++)
        try_workload(&k, runners, argv[i]);
    for (size_t i = 0; i < COUNT_OF(quick) && argc == 1; i++)
        try_workload(&k, runners, quick[i]);
    kit_stop(&runners[0]);
    kit_stop(&runners[1]);
    printf("1..%zu\n", tests);
    return failed != 0;
}
