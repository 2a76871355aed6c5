// SPDX-License-Identifier: Apache-2.0
// Attention on a GPU, as the service evaluates it.
//
//   gpu_attention examples [problem…]     every example of the problems against the baseline, and
//   where the
//                                         time goes; REPEAT (default 3) verdicts each
//   gpu_attention variants [problem…]     what the strict rule says of an honest kernel and of
//   wrong ones gpu_attention sizes [problem…]        the fastest example at every head size, and at
//   the shortest and longest
//                                         sequence
//
// Without problems: all four. The last lines are figures: name value.
#include <dirent.h>

#include "tests/gpu/keeper_kit.h"

enum { SLOW_PLAN_MS = 20 * 1000, NAMES = 16 };

static const char *const problem_names[] = {"mha_fwd", "mha_fwd_causal", "mha_bwd",
                                            "mha_bwd_causal", NULL};

static const struct problem *find_problem(const char *name)
{
    const struct problem *p = problems_find(&registry.problems, name);
    if (!p)
        die("there is no such problem", name);
    return p;
}

/* ---- examples ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The examples of a problem, without ".cu", sorted. */
static size_t list_examples(const char *problem, char names_of[NAMES][LIMIT_NAME])
{
    char path[600];
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/problems/%s/examples", home_dir(), problem);
    DIR *d = opendir(path);
    for (struct dirent *e; d && n < NAMES && (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length > 3 && length < LIMIT_NAME && !strcmp(e->d_name + length - 3, ".cu"))
            snprintf(names_of[n++], LIMIT_NAME, "%.*s", (int)length - 3, e->d_name);
    }
    if (d)
        closedir(d);
    qsort(names_of, n, LIMIT_NAME, by_text);
    return n;
}

/* Every output's excess in the check: those of the candidate, or the baseline's. */
static void print_excess(const char *problem, const char *variant, const json_t *tensors)
{
    size_t i;
    json_t *t;
    json_array_foreach((json_t *)tensors, i, t)
    {
        printf("strict_excess.%s.%s.%s %.4g\n", problem, variant, text(t, "name"),
               number(t, "excess"));
        printf("# %s %s %s: bad %.0f, worst tile %.4g, bad tiles %.0f of %.0f, bad rows %.0f of "
               "%.0f\n",
               problem, variant, text(t, "name"), number(t, "bad"),
               number(json_object_get(t, "worst_tile"), "excess"), number(t, "bad_tiles"),
               number(t, "tiles"), number(t, "bad_rows"), number(t, "rows"));
    }
}

static const json_t *tensors_of(const json_t *check, size_t trial)
{
    return json_object_get(json_array_get(json_object_get(check, "trials"), trial), "tensors");
}

static void print_check(const char *problem, const char *variant, const json_t *result)
{
    const json_t *check = json_object_get(result, "check");
    char spiky[80];
    print_excess(problem, variant, tensors_of(check, 0));
    snprintf(spiky, sizeof(spiky), "%.60s.spiky", variant);
    print_excess(problem, spiky, tensors_of(check, 1));
}

static void try_example(const char *problem, const char *name, long repeat, bool best)
{
    struct code c;
    struct lane lane = {INFINITY, INFINITY, NULL};
    double speedup = 0, baseline_us = 0;
    char what[200];
    compile_file(&c, problem, find_problem(problem)->paper_workload->name, name);
    c.plan_ms = SLOW_PLAN_MS;
    for (long i = 0; i < repeat; i++) {
        struct outcome o;
        bool paused = i % 2 == 0;
        if (paused)
            usleep(PAUSE_US);
        bool passed = evaluate(&c, best ? VERIFY : TIME, &o); /* counting a slow one takes long */
        show_example(name, &o);
        if (!passed)
            show(name, &o);
        if (passed && i > 0)
            note_lane(&lane, &o, paused);
        speedup = number(json_object_get(o.results[TIME], "speedup"), "value");
        baseline_us = number(json_object_get(o.results[TIME], "baseline"), "us");
        if (i == 0) {
            char *timing = json_dumps(json_object_get(o.results[TIME], "timing"), JSON_COMPACT);
            printf("# timing %.2600s\n", timing ? timing : "");
            free(timing);
            print_check(problem, name, o.results[CHECK]);
            if (best)
                print_excess(
                    problem, "baseline",
                    json_object_get(json_object_get(o.results[CHECK], "check"), "baseline"));
        }
        snprintf(what, sizeof(what), "%.60s %.60s is evaluated", problem, name);
        report(passed, what);
        outcome_release(&o);
    }
    printf("speedup.%s.%s %.4f\n", problem, name, speedup);
    if (best) {
        printf("baseline_ms.%s %.4f\n", problem, baseline_us / 1e3);
        show_lane(&lane, problem);
    } else {
        json_decref(lane.parts);
    }
    code_release(&c);
}

/* The last of them by name is the fastest one, and the one whose lane is told. */
static void try_examples(const char *problem)
{
    static char names_of[NAMES][LIMIT_NAME];
    const char *asked = getenv("REPEAT");
    long repeat = asked ? strtol(asked, NULL, 10) : 3;
    size_t n = list_examples(problem, names_of);
    for (size_t i = 0; i < n; i++)
        try_example(problem, names_of[i], i + 1 < n ? 1 : repeat, i + 1 == n);
}

/* ---- sizes ---- */

/* The longest of the default head size, and one of every other size at the default length. */
static bool is_a_corner(const struct workload *w, const struct workload *usual)
{
    enum { S = 2, D = 3, SHORTEST = 512, LONGEST = 16384 };
    int64_t s = w->axes[S], d = w->axes[D];
    return d == usual->axes[D] ? s == SHORTEST || s == LONGEST : s == usual->axes[S];
}

static void try_size(const struct problem *p, const char *name, const struct workload *w)
{
    struct code c;
    struct outcome o;
    char what[200];
    compile_file(&c, p->name, w->name, name);
    c.plan_ms = SLOW_PLAN_MS;
    bool passed = evaluate(&c, VERIFY, &o);
    const json_t *time = o.results[TIME];
    show_example(name, &o);
    if (!passed)
        show(name, &o);
    snprintf(what, sizeof(what), "%.60s %.60s is evaluated at %.60s", p->name, name, w->name);
    report(passed, what);
    if (passed) {
        printf("speedup.%s.%s.%s %.4f\n", p->name, name, w->name,
               number(json_object_get(time, "speedup"), "value"));
        printf("baseline_ms.%s.%s %.4f\n", p->name, w->name,
               number(json_object_get(time, "baseline"), "us") / 1e3);
    }
    outcome_release(&o);
    code_release(&c);
}

static void try_sizes(const char *problem)
{
    static char names_of[NAMES][LIMIT_NAME];
    const struct problem *p = find_problem(problem);
    size_t n = list_examples(problem, names_of);
    for (size_t i = 0; n > 0 && i < p->workload_count; i++)
        if (is_a_corner(&p->workloads[i], p->paper_workload))
            try_size(p, names_of[n - 1], &p->workloads[i]);
}

/* ---- variants ---- */

static const struct variant {
    const char *name, *word;
    bool causal_only;
} variants[] = {
    {"honest", "HONEST", false},
    {"fp16_sums", "FP16_SUMS", false},
    {"bf16_scores", "BF16_SCORES", false},
    {"skipped_tile", "SKIPPED_TILE", false},
    {"skipped_rows", "SKIPPED_ROWS", false},
    {"last_block_dropped", "LAST_BLOCK", false},
    {"edge_off_by_one", "EDGE", true},
};

static void add_file(struct buf *source, const char *name)
{
    char path[600];
    struct fault f = {0};
    snprintf(path, sizeof(path), "%s/%s", home_dir(), name);
    if (read_file(path, source, &f) != ERR_NONE)
        die(path, f.detail);
}

static json_t *variant_plan(const struct problem *p, bool backward, bool causal)
{
    json_t *args = json_array();
    for (size_t i = 0; i < p->tensor_count; i++)
        json_array_append_new(args, json_pack("{s:s}", "tensor", p->tensors[i].name));
    json_array_append_new(args, json_pack("{s:s}", "i32", "S"));
    json_array_append_new(args, json_pack("{s:s}", "i32", "D"));
    json_array_append_new(args, json_pack("{s:i}", "i32", causal));
    return json_pack("{s:[{s:s, s:[s, s, s], s:[i], s:o}]}", "launches", "kernel",
                     backward ? "backward_variant" : "forward_variant", "grid", "S/64", "H", "B",
                     "block", 256, "args", args);
}

static void try_variant(const struct problem *p, const struct variant *v)
{
    struct code c;
    struct outcome o;
    struct buf source;
    char what[200];
    bool causal = strstr(p->name, "causal"), backward = strstr(p->name, "bwd");
    buf_init(&source, LIMIT_SOURCE);
    buf_adds(&source,
             "enum { HONEST, FP16_SUMS, BF16_SCORES, SKIPPED_TILE, SKIPPED_ROWS, LAST_BLOCK, "
             "EDGE };\n");
    buf_addf(&source, "enum { VARIANT = %s };\n", v->word);
    add_file(&source, "problems/common/attention.cu");
    add_file(&source, "tests/gpu/attention_variants/variants.cu");
    compile_plan(&c, p->name, p->paper_workload->name, source.data,
                 variant_plan(p, backward, causal));
    c.plan_ms = SLOW_PLAN_MS;
    double start = now_s();
    bool passed = evaluate(&c, CHECK, &o), honest = !strcmp(v->name, "honest");
    int flags = (int)number(o.results[CHECK], "flags");
    printf("# %s %s: %s, %.1f s: %s\n", p->name, v->name, text(last_result(&o), "verdict"),
           now_s() - start, text(last_result(&o), "detail"));
    print_check(p->name, v->name, o.results[CHECK]);
    const json_t *hint = json_object_get(
        json_array_get(tensors_of(json_object_get(o.results[CHECK], "check"), 0), 0), "hints");
    char *hints = json_dumps(hint, JSON_COMPACT);
    printf("# hints %.600s\n", hints ? hints : "none");
    free(hints);
    bool strict = passed && !(flags & FLAG_loose);
    snprintf(what, sizeof(what), "%s: %s %s", p->name, v->name,
             honest ? "is strict" : "is found out");
    report(strict == honest, what);
    outcome_release(&o);
    code_release(&c);
    buf_release(&source);
}

static void try_variants(const char *problem)
{
    const struct problem *p = find_problem(problem);
    for (size_t i = 0; i < COUNT_OF(variants); i++)
        if (!variants[i].causal_only || strstr(problem, "causal"))
            try_variant(p, &variants[i]);
}

int main(int argc, char **argv)
{
    struct fault f = {0};
    const char *mode = argc > 1 ? argv[1] : "examples";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (registry_load(&registry, home_dir(), &f) != ERR_NONE)
        die("registry", f.detail);
    if (!start())
        return GPU_MISSING;
    for (const char *const *p = argc > 2 ? (const char *const *)argv + 2 : problem_names; *p; p++) {
        if (!strcmp(mode, "variants"))
            try_variants(*p);
        else if (!strcmp(mode, "sizes"))
            try_sizes(*p);
        else
            try_examples(*p);
    }
    keeper_stop(&keeper);
    printf("1..%d\n", tests);
    return failed != 0;
}
