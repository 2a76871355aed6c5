/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench prompt`: the text that a model or a person needs to write a kernel, or how large its parts are. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/json.h"
#include "core/prompt.h"
#include "core/submission.h"
#include "core/tokenizer.h"
#include "core/util.h"

enum { ARCH, PROBLEM, WORKLOAD, VARIANT, TOKENIZER, SIZES, LIST, ROWS };

static const struct option_row rows[ROWS] = {
    [ARCH] = {"arch", 'a', "NAME", "PTXBENCH_ARCH", "sm_90a (default), sm_100a"},
    [PROBLEM] = {"problem", 'p', "NAME", "PTXBENCH_PROBLEM", "what to compute; gemm by default"},
    [WORKLOAD] = {"workload", 'w', "NAME", NULL, "its size; the problem's own default otherwise"},
    [VARIANT] = {"variant", 'V', "NAME", NULL, "which components; contract by default"},
    [TOKENIZER] = {"tokenizer", 0, "FILE", "PTXBENCH_TOKENIZER", "tokenizer.json to count tokens with"},
    [SIZES] = {"sizes", 0, NULL, NULL, "print the tokens of each component instead of the text"},
    [LIST] = {"list", 'l', NULL, NULL, "list the variants of the architecture"},
};

static const struct usage usage = {
    .command = "prompt",
    .operands = "",
    .summary = "Prints a prompt: numbers of the GPU, template functions, rules, hints, the problem.",
    .rows = rows,
    .count = ROWS,
    .notes = "Without a tokenizer the tokens are estimated.",
};

static enum err list(const struct arch *arch, struct fault *f)
{
    size_t i;
    json_t *v, *variants = prompt_variants(home_dir(), arch, f);
    if (!variants)
        return f->code;
    json_array_foreach(variants, i, v)
        printf("%-18s %s\n", json_string_value(json_object_get(v, "name")),
               json_string_value(json_object_get(v, "for")));
    json_decref(variants);
    return ERR_NONE;
}

static void print_sizes(const struct prompt *p)
{
    for (size_t i = 0; i < p->count; i++)
        printf("%-14s %7lld\n", p->parts[i].component, (long long)p->parts[i].tokens);
    printf("%-14s %7lld tokens%s\n", "all", (long long)p->tokens, p->estimated ? " (estimate)" : "");
}

static enum err print(const struct prompt_request *request, bool sizes, struct fault *f)
{
    struct prompt p;
    enum err e = prompt_build(request, &p, f);
    if (e == ERR_NONE && sizes)
        print_sizes(&p);
    for (size_t i = 0; i < p.count && e == ERR_NONE && !sizes; i++)
        printf("%s%s", i ? "\n" : "", p.parts[i].text);
    prompt_release(&p);
    return e;
}

/* Fills the request from the command line; ERR_NOT_FOUND for a name that is not there. */
static enum err find(const struct registry *r, const char *const *values, struct prompt_request *q, struct fault *f)
{
    const char *arch = values[ARCH] ? values[ARCH] : "sm_90a";
    const char *problem = values[PROBLEM] ? values[PROBLEM] : "gemm";
    q->arch = archs_find(&r->archs, arch);
    q->problem = problems_find(&r->problems, problem);
    if (!q->arch)
        return fault_set(f, ERR_NOT_FOUND, "there is no architecture '%.64s'", arch);
    if (!q->problem)
        return fault_set(f, ERR_NOT_FOUND, "there is no problem '%.64s'", problem);
    if (values[WORKLOAD]) {
        q->workload = problem_workload(q->problem, values[WORKLOAD]);
        if (!q->workload)
            return fault_set(f, ERR_NOT_FOUND, "problem '%s' has no workload '%.64s'", problem, values[WORKLOAD]);
    }
    return ERR_NONE;
}

int cmd_prompt(int argc, char **argv)
{
    const char *values[ROWS];
    int code;
    if (options_read(&usage, argc, argv, values, &code) < 0)
        return code;
    struct fault f = {0};
    struct registry registry;
    struct tokenizer *tokenizer = NULL;
    if (registry_load(&registry, home_dir(), &f) != ERR_NONE)
        return cli_failed("prompt", &f);
    struct prompt_request q = {.home = home_dir(), .variant = values[VARIANT]};
    enum err e = find(&registry, values, &q, &f);
    if (e == ERR_NONE && values[TOKENIZER]) {
        q.tokenizer = tokenizer = tokenizer_load(values[TOKENIZER], &f);
        e = tokenizer ? ERR_NONE : f.code;
    }
    if (e == ERR_NONE)
        e = values[LIST] ? list(q.arch, &f) : print(&q, values[SIZES] != NULL, &f);
    tokenizer_free(tokenizer);
    registry_release(&registry);
    return e == ERR_NONE ? CLI_OK : cli_failed("prompt", &f);
}
