/* SPDX-License-Identifier: Apache-2.0
 * What providers of language models have in common: a request in, an answer out. A provider's way
 * of writing both is a row of agent/llm_formats.c; nothing here opens a socket. Tokens are counts;
 * NULL and -1 are "not told". */
#ifndef AGENT_LLM_H
#define AGENT_LLM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

enum {
    LLM_ANSWER_MAX = 8 * 1024 * 1024, /* bytes of text, of reasoning */
    LLM_RAW_MAX = 32 * 1024 * 1024,   /* bytes of a whole answer as it came */
    LLM_ERROR = 512,
    LLM_BLOCKS_MAX = 1024,
};

/* Why a model stopped. */
enum llm_finish {
    LLM_NONE,    /* it has not, as far as was told: a stream that was cut */
    LLM_STOP,    /* it was done */
    LLM_LENGTH,  /* its limit of tokens, or its context, was reached */
    LLM_REFUSED, /* it, or a filter, would not */
    LLM_OTHER,
};
const char *llm_finish_name(enum llm_finish f); /* "stop" */

struct llm_usage {
    int64_t input;       /* all tokens sent, cached ones among them */
    int64_t cached;      /* read from the provider's cache */
    int64_t cache_write; /* written to it */
    int64_t output;      /* all tokens made, reasoning among them */
    int64_t reasoning;
    double cost_usd; /* told by the provider; < 0: not */
};

struct llm_answer {
    struct buf text, reasoning;
    enum llm_finish finish;
    struct llm_usage usage;
    json_t *blocks; /* what must be sent back as it came, as one array (signed thoughts); owned or
                       NULL */
    struct buf thought, signature; /* of the block that is being told */
    char error[LLM_ERROR];         /* what the provider said went wrong; "" */
    bool busy;                     /* and that it is for want of room: later may do */
    bool done;                     /* the provider said that this is all */
};
void llm_answer_init(struct llm_answer *a);
void llm_answer_release(struct llm_answer *a);
/* The provider said that it failed, and why; foreign text. */
void llm_answer_fail(struct llm_answer *a, const char *why);
/* The same by an error object: {"message", "type" | "code" | "status"}, or a text. */
void llm_answer_fail_by(struct llm_answer *a, const json_t *error);

/* `messages`: [{"role": "system"|"user"|"assistant", "content": "…", "blocks": […]?}], the system
 * message first if there is one. `params`: what the run asked for: "temperature", "top_p", "effort"
 * ("low" … "xhigh", "none"), "max_tokens". */
struct llm_request {
    const char *model;
    const json_t *messages, *params;
    int64_t max_output; /* tokens; more than 0 */
};

struct llm_format {
    const char *name;                             /* as the providers' file says */
    const char *path;                             /* behind the provider's URL; %s: the model */
    const char *key_header, *key_prefix;          /* "Authorization", "Bearer " */
    const char *header;                           /* a further header line; NULL: none */
    json_t *(*body)(const struct llm_request *r); /* new reference */
    /* One event of a stream, or a whole body (name NULL). False: it is none that this format has.
     */
    bool (*read)(struct llm_answer *a, const char *name, const json_t *data);
};

/* NULL: no such format. */
const struct llm_format *llm_format_find(const char *name);

/* Feeds one event's data, which may be no JSON ("[DONE]"). False with f: what came is not an
 * answer. */
bool llm_read_event(const struct llm_format *format, struct llm_answer *a, const char *name,
                    const char *data, size_t len, struct fault *f);
/* A whole body, as it comes with an error or without streaming. */
bool llm_read_body(const struct llm_format *format, struct llm_answer *a, const char *body,
                   size_t len, struct fault *f);

/* Prices in US dollars per million tokens; < 0: not known. */
struct llm_prices {
    double input, cached, cache_write, output;
};
/* What a call cost: as the provider told, else by the prices; < 0 if neither is known. */
double llm_cost(const struct llm_usage *u, const struct llm_prices *p);

#endif
