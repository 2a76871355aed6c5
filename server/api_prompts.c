// SPDX-License-Identifier: Apache-2.0
// Prompts, as an agent or a person gets them.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/prompt.h"
#include "core/tokenizer.h"
#include "core/util.h"
#include "server/api.h"
#include "server/service.h"

enum { MAX_PROMPT = 4 * MIB };

/* Of $PTXBENCH_TOKENIZER; read when the first prompt is asked for. Without one, or if it cannot be read, tokens are
 * estimated, and the answer says so. */
static const struct tokenizer *tokenizer;

static void load_tokenizer(void)
{
    const char *path = getenv("PTXBENCH_TOKENIZER");
    if (path && *path)
        tokenizer = tokenizer_load(path, NULL);
}

const struct tokenizer *prompts_tokenizer(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_tokenizer);
    return tokenizer;
}

static json_t *parts_of(const struct prompt *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "component", p->parts[i].component, "tokens",
                                              (json_int_t)p->parts[i].tokens, "text", p->parts[i].text));
    return list;
}

static enum err answer_prompt(struct request *r, const struct prompt_request *q, const struct prompt *p)
{
    struct buf text;
    const char *accept = r->headers.accept;
    buf_init(&text, MAX_PROMPT);
    prompt_text(p, &text);
    if (text.failed) {
        buf_release(&text);
        return fault_set(&r->fault, ERR_INTERNAL, "the prompt is over %d bytes", MAX_PROMPT);
    }
    if (accept && strstr(accept, "text/plain"))
        return answer_tag(r, answer_buf(r, 200, "text/plain; charset=utf-8", &text));
    json_t *document = json_pack("{s:s, s:s, s:s, s:s, s:I, s:b, s:o}", "arch", q->arch->name, "problem",
                                 q->problem->name, "workload", q->workload->name, "variant", q->variant, "tokens",
                                 (json_int_t)p->tokens, "estimated", p->estimated, "components", parts_of(p));
    json_object_set_new(document, "text", json_string(text.data));
    buf_release(&text);
    return answer_tag(r, answer_json(r, 200, document));
}

static enum err find(struct request *r, struct prompt_request *q)
{
    const struct registry *registry = &r->service->registry;
    const char *arch = request_query(r, "arch"), *problem = request_query(r, "problem");
    const char *workload = request_query(r, "workload"), *variant = request_query(r, "variant");
    if (!arch || !problem)
        return fault_set(&r->fault, ERR_BAD_PARAMETER, "arch and problem are needed");
    *q = (struct prompt_request){.home = home_dir(),
                                 .arch = archs_find(&registry->archs, arch),
                                 .problem = problems_find(&registry->problems, problem),
                                 .variant = variant ? variant : "contract"};
    if (!q->arch)
        return fault_set(&r->fault, ERR_NOT_FOUND, "there is no architecture '%.64s'; /v1/archs lists them", arch);
    if (!q->problem)
        return fault_set(&r->fault, ERR_NOT_FOUND, "there is no problem '%.64s'; /v1/problems lists them", problem);
    q->workload = workload ? problem_workload(q->problem, workload) : q->problem->paper_workload;
    if (!q->workload)
        return fault_set(&r->fault, ERR_NOT_FOUND, "problem '%s' has no workload '%.64s'", q->problem->name,
                         workload ? workload : "");
    return ERR_NONE;
}

enum err prompt_preview(struct request *r)
{
    struct prompt_request q;
    struct prompt p;
    enum err e = find(r, &q);
    if (e != ERR_NONE)
        return e;
    q.tokenizer = prompts_tokenizer();
    e = prompt_build(&q, &p, &r->fault);
    if (e == ERR_NONE)
        e = answer_prompt(r, &q, &p);
    prompt_release(&p);
    return e;
}

enum err prompts_list(struct request *r)
{
    const char *name = request_query(r, "arch");
    const struct arch *arch = name ? archs_find(&r->service->registry.archs, name) : NULL;
    if (!arch)
        return fault_set(&r->fault, name ? ERR_NOT_FOUND : ERR_BAD_PARAMETER,
                         name ? "there is no architecture of that name; /v1/archs lists them" : "arch is needed");
    json_t *variants = prompt_variants(home_dir(), arch, &r->fault);
    return variants ? answer_tag(r, answer_json(r, 200, json_pack("{s:o}", "items", variants))) : r->fault.code;
}
