// SPDX-License-Identifier: Apache-2.0
#include "core/messages.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/limits.h"
#include "core/tokenizer.h"

enum { JOINED_MAX = 32 * MIB };

static const char *const names[] = {"full", "latest-pair", "single-user"};

int history_find(const char *name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i], name))
            return (int)i;
    return -1;
}

const char *history_name(enum history h)
{
    return names[h];
}

static void add(json_t *list, const char *role, const json_t *content)
{
    json_array_append_new(list, json_pack("{s:s, s:O}", "role", role, "content", content));
}

static void add_turn(json_t *list, const json_t *turn)
{
    json_t *blocks = json_object_get(turn, "blocks");
    add(list, "assistant", json_object_get(turn, "answer"));
    if (json_array_size(blocks))
        json_object_set(json_array_get(list, json_array_size(list) - 1), "blocks", blocks);
    add(list, "user", json_object_get(turn, "feedback"));
}

static void join(struct buf *b, const json_t *text)
{
    buf_addf(b, "\n\n%s", json_string_value(text) ? json_string_value(text) : "");
}

static json_t *joined(const char *task, const json_t *past)
{
    const json_t *turn;
    struct buf b;
    size_t i;
    buf_init(&b, JOINED_MAX);
    buf_adds(&b, task);
    json_array_foreach(past, i, turn)
    {
        join(&b, json_object_get(turn, "answer"));
        join(&b, json_object_get(turn, "feedback"));
    }
    json_t *text = b.failed ? NULL : json_stringn(b.len ? b.data : "", b.len);
    buf_release(&b);
    return text;
}

json_t *messages_build(enum history h, const char *system, const char *task, const json_t *past)
{
    json_t *list = json_array(), *first = json_string(system);
    json_t *then = h == HISTORY_SINGLE_USER ? joined(task, past) : json_string(task);
    size_t n = json_array_size(past), i = h == HISTORY_LATEST_PAIR && n ? n - 1 : 0;
    size_t want = h == HISTORY_SINGLE_USER ? 2 : 2 + 2 * (n - i);
    add(list, "system", first);
    add(list, "user", then);
    for (; h != HISTORY_SINGLE_USER && i < n; i++)
        add_turn(list, json_array_get(past, i));
    json_decref(first);
    json_decref(then);
    if (json_array_size(list) == want)
        return list;
    json_decref(list);
    return NULL;
}

static int64_t estimate(const json_t *text)
{
    return json_is_string(text)
               ? tokenizer_estimate(json_string_value(text), json_string_length(text))
               : 0;
}

static int64_t blocks_tokens(const json_t *blocks)
{
    char *text = blocks ? json_dumps(blocks, JSON_COMPACT) : NULL;
    int64_t tokens = text ? tokenizer_estimate(text, strlen(text)) : 0;
    free(text);
    return tokens;
}

int64_t messages_tokens(const json_t *messages)
{
    const json_t *message;
    int64_t tokens = 0;
    size_t i;
    json_array_foreach(messages, i, message) tokens +=
        MESSAGE_TOKENS + estimate(json_object_get(message, "content")) +
        blocks_tokens(json_object_get(message, "blocks"));
    return tokens;
}

bool messages_fit(const json_t *messages, int64_t context, int64_t output)
{
    return context == 0 || messages_tokens(messages) + output <= context;
}
