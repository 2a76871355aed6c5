/* SPDX-License-Identifier: Apache-2.0
 * How many functions the headers of an architecture offer, and how large each component of its pack
 * is: tokens by the tokenizer.json that PTXBENCH_TOKENIZER names, else estimated, which the unit
 * says. JSON lines. */
#include <stdlib.h>

#include "core/prompt.h"
#include "core/submission.h"
#include "core/tokenizer.h"
#include "tests/arch_names.h"

static void print(const char *name, const char *arch, const char *component, long long value,
                  const char *unit)
{
    printf("{\"name\":\"%s.%s%s%s\",\"value\":%lld,\"unit\":\"%s\"}\n", name, arch,
           component ? "." : "", component ? component : "", value, unit);
}

static enum err measure(const struct registry *r, const struct arch *arch,
                        const struct tokenizer *t, struct fault *f)
{
    char missing[64];
    struct prompt p;
    struct prompt_request q = {.home = home_dir(),
                               .arch = arch,
                               .problem = problems_find(&r->problems, "gemm"),
                               .variant = "contract",
                               .tokenizer = t};
    if (!q.problem)
        return fault_set(f, ERR_NOT_FOUND, "there is no problem 'gemm'");
    enum err e = prompt_build(&q, &p, f);
    if (e == ERR_NONE)
        print("template_functions", arch->name, NULL, functions_called(arch->name, NULL, missing),
              "functions");
    for (size_t i = 0; i < p.count && e == ERR_NONE; i++)
        print("pack_tokens", arch->name, p.parts[i].component, p.parts[i].tokens,
              p.estimated ? "tokens, estimated" : "tokens");
    prompt_release(&p);
    return e;
}

int main(void)
{
    struct registry registry;
    struct fault f = {0};
    const char *path = getenv("PTXBENCH_TOKENIZER");
    struct tokenizer *t = path ? tokenizer_load(path, &f) : NULL;
    enum err e = path && !t ? f.code : registry_load(&registry, home_dir(), &f);
    for (size_t i = 0; e == ERR_NONE && i < registry.archs.count; i++)
        e = measure(&registry, &registry.archs.items[i], t, &f);
    if (e != ERR_NONE)
        fprintf(stderr, "%s\n", f.detail);
    else
        registry_release(&registry);
    tokenizer_free(t);
    return e != ERR_NONE;
}
