/* SPDX-License-Identifier: Apache-2.0
 * The providers of language models that this host may call. A run names a provider and a model;
 * where that is, what it costs and with which key it is reached stands in a file of the host's
 * owner and nowhere else, so that nobody who can start a run can make this host open an address or
 * run a program of his choice.
 *
 * { "providers": {
 *     "NAME": {
 *       "format": "openai_chat" | "openai_responses" | "anthropic" | "gemini" | "replay" |
 *                 "script",
 *       "url": "https://…/v1",           less the format's own path; http:// only to this host
 *       "key_env": "NAME" or "key_file": "/path",    neither: no key is sent
 *       "folder": "/path",               replay: answers in files, see agent/talk_replay.h
 *       "program": ["/path", "arg"],     script: messages on its input, the answer on its output
 *       "models": {"NAME": {"context": 200000, "max_output": 64000,
 *                           "price": {"input", "cached", "cache_write", "output"}}},
 *                                        US dollars per million tokens
 *       "concurrency": 8, "requests_per_minute": 60,
 *       "timeout_s": 1800,               of a whole call
 *       "stall_s": 60 } } }              an answer that has begun may pause for so long */
#ifndef AGENT_PROVIDERS_H
#define AGENT_PROVIDERS_H

#include "agent/llm.h"
#include "core/err.h"

enum { PROVIDER_KEY_MAX = 4096, PROVIDER_ARGS = 16, PROVIDERS_FILE_MAX = 1024 * 1024 };

struct provider_model {
    const char *name;
    int64_t context;    /* tokens; 0: not known */
    int64_t max_output; /* tokens */
    struct llm_prices prices;
};

/* Texts are borrowed from the file's document. */
struct provider {
    const char *name, *format, *url, *key_env, *key_file, *folder;
    const char *program[PROVIDER_ARGS + 1]; /* NULL-terminated; [0] NULL: none */
    struct provider_model *models;
    size_t model_count;
    int64_t concurrency, requests_per_minute; /* requests_per_minute 0: no limit */
    int64_t timeout_s, stall_s;               /* of a call; without a byte once some have come */
};

struct providers {
    json_t *document; /* owned */
    struct provider *items;
    size_t count;
};

/* All faults at once, each with its JSON path. `out` is the caller's to release in any case. */
bool providers_parse(const json_t *document, struct providers *out, struct faults *faults);
/* Reads the file. ERR_NOT_FOUND if there is none. */
enum err providers_load(const char *path, struct providers *out, struct fault *f);
void providers_release(struct providers *p);

const struct provider *providers_find(const struct providers *p, const char *name);
/* NULL: the model is not on the provider's list. */
const struct provider_model *provider_model(const struct provider *p, const char *name);
/* Tokens that a call may make at most: the model's own limit, or less if `params` says so. */
int64_t provider_max_output(const struct provider_model *m, const json_t *params);

/* The provider's key, anew at each call so that it may be changed, appended to `out`; nothing if it
 * has none. Wipe it with provider_key_wipe. No text of `f` holds any of it. */
enum err provider_key(const struct provider *p, struct buf *out, struct fault *f);
void provider_key_wipe(struct buf *key);

#endif
