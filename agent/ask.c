// SPDX-License-Identifier: Apache-2.0
#include "agent/ask.h"

#include <string.h>

#include "agent/talk.h"
#include "core/json.h"

enum { INPUT_MAX = 64 * MIB, WAIT_MS = 1000 };

struct asking {
    const struct provider_model *model;
    FILE *out;
    bool ended, answered;
};

static json_t *number(int64_t v)
{
    return v < 0 ? json_null() : json_integer(v);
}

static json_t *usage(const struct llm_usage *u)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "input", number(u->input), "cached",
                     number(u->cached), "cache_write", number(u->cache_write), "output",
                     number(u->output), "reasoning", number(u->reasoning));
}

static json_t *text(const struct buf *b)
{
    return json_stringn(b->len ? b->data : "", b->len);
}

static void on_end(void *arg, const struct talk_result *r)
{
    struct asking *s = arg;
    struct llm_answer *a = r->answer;
    double usd = llm_cost(&a->usage, &s->model->prices);
    json_t *told = json_pack(
        "{s:s, s:o, s:o, s:s, s:o, s:o, s:O?, s:s, s:o, s:o}", "end", talk_end_name(r->end),
        "status", r->status ? json_integer(r->status) : json_null(), "retry_after_s",
        r->retry_after_s ? json_integer(r->retry_after_s) : json_null(), "detail", r->detail,
        "answer", text(&a->text), "reasoning", text(&a->reasoning), "blocks", a->blocks, "finish",
        llm_finish_name(a->finish), "usage", usage(&a->usage), "usd",
        usd < 0 ? json_null() : json_real(usd));
    if (told)
        json_dumpf(told, s->out, JSON_COMPACT);
    fputc('\n', s->out);
    json_decref(told);
    s->ended = true;
    s->answered = r->end == TALK_ANSWERED;
}

static enum err read_input(FILE *in, json_t **messages, json_t **params, struct fault *f)
{
    struct buf b;
    char *room;
    buf_init(&b, INPUT_MAX);
    for (size_t n = 1; n && (room = buf_room(&b, 64 * KIB)); b.len += n)
        n = fread(room, 1, 64 * KIB, in);
    json_t *input = b.failed ? NULL : json_parse(b.data, b.len, f);
    buf_release(&b);
    if (!input)
        return b.failed ? fault_set(f, ERR_TOO_LARGE, "the messages are too large") : ERR_NOT_JSON;
    *messages = json_incref(json_is_array(input) ? input : json_object_get(input, "messages"));
    *params = json_incref(json_object_get(input, "params"));
    json_decref(input);
    if (json_array_size(*messages))
        return ERR_NONE;
    return fault_set(f, ERR_INVALID,
                     "the input must be an array of messages, or an object that "
                     "has one in \"messages\"");
}

static int answers_in(const json_t *messages)
{
    const json_t *m;
    size_t i;
    int n = 0;
    json_array_foreach(messages, i, m)
    {
        const char *role = json_string_value(json_object_get(m, "role"));
        n += role && !strcmp(role, "assistant");
    }
    return n;
}

static enum err talk(const struct talk_request *r, struct asking *s, struct fault *f)
{
    struct talker *t = talker_new(f);
    if (!t)
        return ERR_NO_MEMORY;
    enum err e = talk_start(t, r, f) ? ERR_NONE : f->code;
    while (e == ERR_NONE && !s->ended)
        e = talk_wait(t, NULL, 0, WAIT_MS, f);
    talker_free(t);
    return e;
}

enum err ask(const struct ask *a, FILE *in, FILE *out, bool *answered, struct fault *f)
{
    const struct provider *p = providers_find(a->providers, a->provider);
    const struct provider_model *m = p ? provider_model(p, a->model) : NULL;
    if (!m)
        return fault_set(f, ERR_NOT_FOUND, p ? "provider %s has no model %s" : "no provider %s",
                         a->provider, a->model);
    json_t *messages = NULL, *params = NULL;
    struct asking s = {.model = m, .out = out};
    enum err e = read_input(in, &messages, &params, f);
    if (e == ERR_NONE)
        e = talk(&(struct talk_request){.provider = p,
                                        .model = m,
                                        .messages = messages,
                                        .params = params,
                                        .max_output = a->max_output
                                                          ? a->max_output
                                                          : provider_max_output(m, params),
                                        .turn = answers_in(messages),
                                        .on_end = on_end,
                                        .arg = &s},
                 &s, f);
    json_decref(messages);
    json_decref(params);
    *answered = s.answered;
    return e;
}
