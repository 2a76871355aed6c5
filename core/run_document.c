// SPDX-License-Identifier: Apache-2.0
// What is kept of a run, and the messages that come of it.
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/run.h"
#include "core/util.h"

enum { MAX_PROMPT = 4 * MIB };

/* The system message is what all problems of an architecture share, the task what begins with the
 * problem: one behind the other they are the prompt as GET /v1/prompts/preview shows it. */
static json_t *split(const struct prompt *p, struct fault *f)
{
    struct buf text[2];
    buf_init(&text[0], MAX_PROMPT);
    buf_init(&text[1], MAX_PROMPT);
    size_t at = 0;
    for (size_t i = 0; i < p->count; i++) {
        at = at || !strcmp(p->parts[i].component, "problem");
        if (text[at].len)
            buf_adds(&text[at], "\n");
        buf_add(&text[at], p->parts[i].text, p->parts[i].len);
    }
    json_t *parts = NULL;
    if (text[0].failed || text[1].failed)
        fault_set(f, ERR_TOO_LARGE, "a prompt is over %d bytes", MAX_PROMPT);
    else if (!text[0].len || !text[1].len)
        fault_set(f, ERR_INTERNAL,
                  "a prompt must say something before and something with the problem");
    else
        parts = json_pack("{s:s%, s:s%}", "system", text[0].data, text[0].len, "task", text[1].data,
                          text[1].len);
    buf_release(&text[0]);
    buf_release(&text[1]);
    return parts;
}

static json_t *prompt_of(const struct run_request *q, size_t i, const char *home,
                         const struct tokenizer *tokenizer, struct fault *f)
{
    struct prompt p;
    struct prompt_request request = {.home = home,
                                     .arch = q->arch,
                                     .problem = q->problem,
                                     .workload = q->workload,
                                     .variant = q->variants[i],
                                     .tokenizer = tokenizer};
    json_t *document = prompt_build(&request, &p, f) == ERR_NONE ? split(&p, f) : NULL;
    if (document) {
        json_object_set_new(document, "variant", json_integer((json_int_t)i));
        json_object_set_new(document, "name", json_string(q->variants[i]));
        json_object_set_new(document, "tokens", json_integer(p.tokens));
        json_object_set_new(document, "estimated", json_boolean(p.estimated));
    }
    prompt_release(&p);
    return document;
}

static json_t *request_document(const struct run_request *q)
{
    json_t *variants = json_array();
    for (size_t i = 0; i < q->variant_count; i++)
        json_array_append_new(variants, json_string(q->variants[i]));
    json_t *budget = json_object();
    json_object_set_new(budget, "tokens",
                        q->max_tokens ? json_integer(q->max_tokens) : json_null());
    json_object_set_new(budget, "usd", q->max_usd > 0 ? json_real(q->max_usd) : json_null());
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:i, s:i, s:f, s:s, s:s, s:O, "
                     "s:o, s:s}",
                     "problem", q->problem->name, "workload", q->workload->name, "arch",
                     q->arch->name, "device", q->device, "name", q->name, "provider", q->provider,
                     "model", q->model, "condition", q->condition, "variants", variants,
                     "trajectories", q->per_variant, "turns", q->turns, "target_speedup",
                     q->target_speedup, "history", history_name(q->history), "feedback",
                     q->style == FEEDBACK_PAPER ? "paper" : "full", "params", q->params, "budget",
                     budget, "visibility", q->is_private ? "private" : "public");
}

json_t *run_document(const struct run_request *q, const char *home,
                     const struct tokenizer *tokenizer, struct fault *f)
{
    json_t *document = request_document(q), *prompts = json_array();
    for (size_t i = 0; i < q->variant_count; i++) {
        json_t *prompt = prompt_of(q, i, home, tokenizer, f);
        if (!prompt || json_array_append_new(prompts, prompt)) {
            json_decref(prompts);
            json_decref(document);
            return NULL;
        }
    }
    if (!document || json_object_set_new(document, "prompts", prompts)) {
        json_decref(document);
        fault_set(f, ERR_NO_MEMORY, "cannot make the document of a run");
        return NULL;
    }
    return document;
}

json_t *run_messages(enum history h, const char *system, const char *task, const json_t *past)
{
    char hex[SHA256_HEX];
    json_t *messages = messages_build(h, system, task, past);
    char *text = messages ? json_canonical(messages) : NULL;
    if (!text) {
        json_decref(messages);
        return NULL;
    }
    sha256_hex(text, strlen(text), hex);
    free(text);
    return json_pack("{s:o, s:s, s:I}", "messages", messages, "sha256", hex, "tokens",
                     (json_int_t)messages_tokens(messages));
}
