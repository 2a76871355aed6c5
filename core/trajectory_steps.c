// SPDX-License-Identifier: Apache-2.0
// Steps out of the messages of a file, checked member by member.
#include <stdlib.h>
#include <string.h>

#include "core/trajectory_parts.h"
#include "core/util.h"
#include "core/words.h"

enum {
    TEXT_MOST = 8 * MIB, /* of an answer, of what was thought for it */
    NOTE_MOST = 64 * KIB,
    ERRORS_MOST = 64,
    CALLS_MOST = 64,
    FIRST_TURN = 2, /* its message */
};

static const char *const states[] = {"call", "evaluate", "conclude", "done", "left", NULL};
static const char *const call_states[] = {"started", "stored", "partial", "failed", NULL};
static const char *const finishes[] = {"none", "stop", "length", "refused", "other", NULL};
static const char *const extractions[] = {"kernel", "no_block",  "no_kernel",
                                          "cut",    "too_large", NULL};
static const char *const labels[] = {
#define LABEL(name, title) #name,
#include "core/labels.def"
#undef LABEL
    NULL};
static const char *const verdicts[] = {
#define VERDICT(name, exit_code, fault_of, label, meaning) #name,
#include "core/verdicts.def"
#undef VERDICT
    NULL};

static const struct json_field step_fields[] = {
    {.name = "n", .kind = JSON_INT64, .required = true, .min = 0, .max = RUN_TURNS - 1},
    {.name = "try", .kind = JSON_INT64, .required = true, .min = 0, .max = 1000},
    {.name = "state", .kind = JSON_CHOICE, .required = true, .choices = states},
    {.name = "counted", .kind = JSON_YESNO},
    {.name = "label", .kind = JSON_CHOICE, .choices = labels},
    {.name = "correct", .kind = JSON_YESNO},
    {.name = "inst", .kind = JSON_YESNO},
    {.name = "speedup", .kind = JSON_DOUBLE},
    {.name = "extraction", .kind = JSON_CHOICE, .choices = extractions},
    {.name = "source", .kind = JSON_TEXT, .min = 0, .max = LIMIT_SOURCE},
    {.name = "errors", .kind = JSON_LIST, .min = 0, .max = ERRORS_MOST},
    {.name = "submission", .kind = JSON_TEXT, .min = UUID_TEXT - 1, .max = UUID_TEXT - 1},
    {.name = "verdict", .kind = JSON_CHOICE, .choices = verdicts},
    {.name = "feedback", .kind = JSON_MEMBER},
    {.name = "feedback_text", .kind = JSON_TEXT, .min = 0, .max = TEXT_MOST},
    {.name = "supervision", .kind = JSON_TEXT, .min = 0, .max = NOTE_MOST},
    {.name = "created_at", .kind = JSON_TEXT, .min = 1, .max = 64},
    {.name = "finished_at", .kind = JSON_TEXT, .min = 1, .max = 64},
    {.name = "call", .kind = JSON_MEMBER},
    {.name = "calls", .kind = JSON_LIST, .min = 0, .max = CALLS_MOST},
};

#define COUNTER(what)                                                                              \
    {                                                                                              \
        .name = what, .kind = JSON_INT64, .min = 0, .max = INT64_C(1) << 53                        \
    }

static const struct json_field call_fields[] = {
    COUNTER("id"),
    {.name = "status", .kind = JSON_CHOICE, .required = true, .choices = call_states},
    {.name = "finish", .kind = JSON_CHOICE, .choices = finishes},
    {.name = "answer", .kind = JSON_TEXT, .min = 0, .max = TEXT_MOST},
    {.name = "reasoning", .kind = JSON_TEXT, .min = 0, .max = TEXT_MOST},
    {.name = "blocks", .kind = JSON_LIST, .min = 0, .max = 4096},
    COUNTER("tokens_in"),
    COUNTER("cached"),
    COUNTER("cache_write"),
    COUNTER("tokens_out"),
    COUNTER("reasoning_tokens"),
    COUNTER("http_status"),
    {.name = "provider", .kind = JSON_TEXT, .min = 0, .max = LIMIT_NAME},
    {.name = "model", .kind = JSON_TEXT, .min = 0, .max = 2 * LIMIT_NAME - 1},
    {.name = "usd", .kind = JSON_DOUBLE},
    {.name = "request_sha256", .kind = JSON_TEXT, .min = SHA256_HEX - 1, .max = SHA256_HEX - 1},
    {.name = "started_at", .kind = JSON_TEXT, .min = 1, .max = 64},
    {.name = "finished_at", .kind = JSON_TEXT, .min = 1, .max = 64},
    {.name = "error", .kind = JSON_TEXT, .min = 0, .max = 4096},
};

/* Steps of a file while they are read. */
struct reading {
    json_t *steps;
    struct faults *faults;
};

static const char *text_at(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s ? s : "";
}

/* ---- steps that are told ---- */

static json_t *call_of(const json_t *told, const char *path, struct faults *faults)
{
    uint8_t bytes[SHA256_BYTES];
    json_t *call = trajectory_checked(told, call_fields, COUNT_OF(call_fields), path, faults);
    const char *sha = json_string_value(json_object_get(call, "request_sha256"));
    trajectory_check_time(call, "started_at", path, faults);
    trajectory_check_time(call, "finished_at", path, faults);
    if (sha && strlen(sha) == SHA256_HEX - 1 && !hex_decode(sha, bytes, SHA256_BYTES))
        faults_add(faults, json_at(path, "request_sha256").text, "must be hex digits");
    if (json_number_value(json_object_get(call, "usd")) < 0)
        faults_add(faults, json_at(path, "usd").text, "must not be negative");
    return call;
}

/* These are told without texts. */
static void check_calls(json_t *step, const char *path, struct faults *faults)
{
    static const char *const texts[] = {"answer", "reasoning", "blocks"};
    json_t *list = json_object_get(step, "calls"), *kept = json_array(), *call;
    struct json_path at = json_at(path, "calls");
    size_t i;
    json_array_foreach(list, i, call)
    {
        json_t *checked = call_of(call, json_at_index(at.text, i).text, faults);
        for (size_t k = 0; k < COUNT_OF(texts); k++)
            json_object_del(checked, texts[k]);
        json_array_append_new(kept, checked);
    }
    json_object_set_new(step, "calls", kept);
}

/* What the database would refuse, or count wrongly. */
static void check_sense(const json_t *step, const char *path, struct faults *faults)
{
    const char *label = json_string_value(json_object_get(step, "label"));
    bool correct = json_is_true(json_object_get(step, "correct"));
    const json_t *speedup = json_object_get(step, "speedup");
    const char *submission = json_string_value(json_object_get(step, "submission"));
    if (json_is_true(json_object_get(step, "counted")) && !label)
        faults_add(faults, json_at(path, "label").text, "is required of a step that counts");
    if (correct != (label && !strcmp(label, "correct")))
        faults_add(faults, json_at(path, "correct").text,
                   "must be true with the label correct, "
                   "and only then");
    if (json_is_number(speedup) && (!correct || !(json_number_value(speedup) > 0)))
        faults_add(faults, json_at(path, "speedup").text,
                   "must be over 0 and only of a correct turn");
    if (submission && !uuid_is_valid(submission))
        faults_add(faults, json_at(path, "submission").text, "must be the id of a submission");
}

static json_t *step_of(const json_t *told, const char *path, struct faults *faults)
{
    json_t *step = trajectory_checked(told, step_fields, COUNT_OF(step_fields), path, faults);
    if (strcmp(text_at(step, "state"), "done") != 0) /* nobody goes on with it */
        json_object_set_new(step, "state", json_string("left"));
    json_t *call = json_object_get(step, "call");
    if (json_is_object(call))
        json_object_set_new(step, "call", call_of(call, json_at(path, "call").text, faults));
    check_calls(step, path, faults);
    trajectory_check_time(step, "created_at", path, faults);
    trajectory_check_time(step, "finished_at", path, faults);
    check_sense(step, path, faults);
    return step;
}

/* ---- the conversation ---- */

static bool is_role(const json_t *message, const char *role)
{
    return !strcmp(text_at(message, "role"), role);
}

/* Feedback less what a supervisor added to it. New reference. */
static json_t *feedback_text(const json_t *content, const char *supervision)
{
    size_t n = json_string_length(content), m = strlen(supervision);
    const char *text = json_string_value(content);
    if (m && n == m && !strcmp(text, supervision))
        return json_string("");
    if (m && n >= m + 2 && !memcmp(text + n - m - 2, "\n\n", 2) &&
        !strcmp(text + n - m, supervision))
        return json_stringn(text, n - m - 2);
    return json_incref((json_t *)content);
}

static json_t *reasoning_of(const json_t *answer, const char *path, struct faults *faults)
{
    json_t *text = json_object_get(answer, "reasoning_content");
    if (!text || json_is_null(text))
        return json_null();
    if (json_is_string(text) && json_string_length(text) <= TEXT_MOST &&
        strlen(json_string_value(text)) == json_string_length(text))
        return json_incref(text);
    faults_add(faults, json_at(path, "reasoning_content").text,
               "must be a string of at most %d bytes, without NUL", TEXT_MOST);
    return json_null();
}

/* Turn n: an answer, and its feedback unless it is the last message. */
static void add_turn(struct reading *r, const json_t *answer, const json_t *feedback, json_int_t n,
                     const char *path, const char *next)
{
    struct json_path extra = json_at(path, "extra"), own = json_at(extra.text, "ptxbench");
    const json_t *asked = json_object_get(answer, "extra");
    const json_t *told = json_object_get(asked, "ptxbench");
    json_t *content = trajectory_content(answer, TEXT_MOST, path, r->faults);
    json_t *said = feedback ? trajectory_content(feedback, TEXT_MOST, next, r->faults) : NULL;
    json_t *step = told ? json_copy((json_t *)told) : trajectory_guess(answer, feedback, n);
    json_t *call = json_object_get(step, "call");
    call = json_is_object(call) ? json_copy(call) : json_pack("{s:s}", "status", "stored");
    json_object_set_new(call, "answer", content ? content : json_null());
    json_object_set_new(call, "reasoning", reasoning_of(answer, path, r->faults));
    json_object_set_new(step, "call", call);
    json_object_set_new(step, "feedback_text",
                        said ? feedback_text(said, text_at(step, "supervision")) : json_null());
    json_decref(said);
    json_t *checked = step_of(step, told ? own.text : path, r->faults);
    if (json_integer_value(json_object_get(checked, "n")) != n)
        faults_add(r->faults, json_at(own.text, "n").text, "must be %lld, by its place",
                   (long long)n);
    if (json_is_true(json_object_get(checked, "counted")) != (feedback != NULL))
        faults_add(r->faults, json_at(own.text, "counted").text,
                   "must be true with feedback behind it, and only then");
    json_array_append_new(r->steps, checked);
    json_decref(step);
}

static size_t read_turns(struct reading *r, const json_t *messages, const char *path)
{
    size_t count = json_array_size(messages), turns = 0;
    struct json_path list = json_at(path, "messages");
    if (count > FIRST_TURN && is_role(json_array_get(messages, count - 1), "exit"))
        count--;
    if (count > FIRST_TURN + 2 * RUN_TURNS) {
        faults_add(r->faults, list.text, "has more than %d turns", RUN_TURNS);
        return 0;
    }
    for (size_t i = FIRST_TURN; i < count; i += 2, turns++) {
        struct json_path at = json_at_index(list.text, i), next = json_at_index(list.text, i + 1);
        const json_t *answer = json_array_get(messages, i);
        const json_t *feedback = i + 1 < count ? json_array_get(messages, i + 1) : NULL;
        bool fit = is_role(answer, "assistant");
        if (!fit)
            faults_add(r->faults, json_at(at.text, "role").text, "must be assistant");
        if (feedback && !is_role(feedback, "user"))
            faults_add(r->faults, json_at(next.text, "role").text, "must be user");
        else if (fit)
            add_turn(r, answer, feedback, (json_int_t)turns, at.text, next.text);
    }
    return turns;
}

static void read_others(struct reading *r, const json_t *others, const char *path)
{
    struct json_path info = json_at(path, "info"), own = json_at(info.text, "ptxbench");
    struct json_path list = json_at(own.text, "others");
    const json_t *step;
    size_t i;
    if (json_array_size(others) > TRAJECTORY_TRIES) {
        faults_add(r->faults, list.text, "has more than %d entries", TRAJECTORY_TRIES);
        return;
    }
    json_array_foreach(others, i, step)
    {
        struct json_path at = json_at_index(list.text, i);
        json_t *checked = step_of(step, at.text, r->faults);
        if (json_is_true(json_object_get(checked, "counted")))
            faults_add(r->faults, json_at(at.text, "counted").text,
                       "must be false: steps that count are in the messages");
        json_array_append_new(r->steps, checked);
    }
}

/* ---- order ---- */

static int compare(const void *a, const void *b)
{
    static const char *const keys[] = {"n", "try"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, keys[i]));
        json_int_t y = json_integer_value(json_object_get(*(json_t *const *)b, keys[i]));
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* By n and try. New reference. */
static json_t *sorted(const json_t *steps, const char *path, struct faults *faults)
{
    enum { MOST = RUN_TURNS + TRAJECTORY_TRIES };
    json_t *items[MOST], *list = json_array();
    size_t count = json_array_size(steps);
    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(steps, i);
    qsort(items, count, sizeof(items[0]), compare);
    for (size_t i = 0; i < count; i++) {
        if (i && !compare(&items[i - 1], &items[i]))
            faults_add(faults, path, "has turn %lld, try %lld twice",
                       (long long)json_integer_value(json_object_get(items[i], "n")),
                       (long long)json_integer_value(json_object_get(items[i], "try")));
        json_array_append(list, items[i]);
    }
    return list;
}

json_t *trajectory_steps(const json_t *messages, const json_t *others, const char *path,
                         size_t *turns, struct faults *faults)
{
    struct reading r = {json_array(), faults};
    *turns = read_turns(&r, messages, path);
    read_others(&r, others, path);
    json_t *list = sorted(r.steps, path, faults);
    json_decref(r.steps);
    return list;
}
