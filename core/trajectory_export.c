// SPDX-License-Identifier: Apache-2.0
// Runs of the store as documents of another agent's layout.
#include <string.h>

#include "core/trajectory_parts.h"
#include "core/util.h"
#include "core/words.h"

const char *const trajectory_run_members[] = {
    "id",     "name",       "problem",     "workload",    "arch",     "device", "provider",
    "model",  "condition",  "params",      "history",     "feedback", "turns",  "target_speedup",
    "budget", "created_at", "finished_at", "per_variant", NULL};

/* What the paper's agent calls the ends that ours have. */
static const struct {
    const char *reason, *exit_status;
} exits[] = {{"target", "Submitted"},
             {"turns", "LimitsExceeded"},
             {"budget", "LimitsExceeded"},
             {"context", "ContextWindowExceededError"},
             {"cancelled", "UserInterruption"},
             {"provider", "APIError"},
             {"infra", "InfraError"}};

static const char *text_at(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s ? s : "";
}

/* A member, or null. Borrowed. */
static json_t *at(const json_t *object, const char *name)
{
    json_t *v = json_object_get(object, name);
    return v ? v : json_null();
}

static json_t *without(const json_t *object, const char *const *names)
{
    json_t *copy = json_is_object(object) ? json_copy((json_t *)object) : json_object();
    for (; *names; names++)
        json_object_del(copy, *names);
    return copy;
}

static const char *exit_status(const json_t *trajectory)
{
    const char *reason = text_at(trajectory, "reason");
    for (size_t i = 0; i < COUNT_OF(exits); i++)
        if (!strcmp(reason, exits[i].reason))
            return exits[i].exit_status;
    return "Unfinished";
}

/* ---- which steps are the conversation ---- */

static bool has_answer(const json_t *step)
{
    return json_is_string(json_object_get(json_object_get(step, "call"), "answer"));
}

/* Counted, or the last one's answer that nobody has judged. */
static bool is_turn(const json_t *steps, size_t i, json_int_t n)
{
    const json_t *step = json_array_get(steps, i);
    bool last = i + 1 == json_array_size(steps);
    bool open = strcmp(text_at(step, "state"), "done") != 0 &&
                !json_is_string(json_object_get(step, "feedback_text"));
    return json_integer_value(json_object_get(step, "n")) == n && has_answer(step) &&
           (json_is_true(json_object_get(step, "counted")) || (last && open));
}

static const json_t *best_of(const json_t *steps)
{
    const json_t *step, *best = NULL;
    double speedup = -1;
    size_t i;
    json_array_foreach(steps, i, step)
    {
        double s = json_number_value(json_object_get(step, "speedup"));
        if (json_is_true(json_object_get(step, "counted")) &&
            json_is_true(json_object_get(step, "correct")) && s > speedup) {
            best = step;
            speedup = s;
        }
    }
    return best;
}

/* ---- messages ---- */

static json_t *timestamp_of(const json_t *object)
{
    double seconds;
    return trajectory_seconds(text_at(object, "finished_at"), &seconds) ? json_real(seconds)
                                                                        : json_null();
}

/* As an OpenAI-compatible provider would have told it. */
static json_t *response_of(const json_t *call, const char *model)
{
    const json_t *in = at(call, "tokens_in"), *out = at(call, "tokens_out");
    return json_pack("{s:s, s:[{s:O}], s:{s:O, s:O, s:{s:O}, s:{s:O}}}", "model", model, "choices",
                     "finish_reason", at(call, "finish"), "usage", "prompt_tokens", in,
                     "completion_tokens", out, "prompt_tokens_details", "cached_tokens",
                     at(call, "cached"), "completion_tokens_details", "reasoning_tokens",
                     at(call, "reasoning_tokens"));
}

static json_t *answer_of(const json_t *step, const char *model)
{
    static const char *const texts[] = {"answer", "reasoning", NULL};
    static const char *const elsewhere[] = {"feedback_text", NULL};
    const json_t *call = json_object_get(step, "call");
    json_t *own = without(step, elsewhere);
    json_object_set_new(own, "call", without(call, texts));
    json_t *message =
        json_pack("{s:s, s:O, s:{s:[], s:o, s:O, s:o, s:o}}", "role", "assistant", "content",
                  at(call, "answer"), "extra", "actions", "response", response_of(call, model),
                  "cost", at(call, "usd"), "timestamp", timestamp_of(call), "ptxbench", own);
    if (json_is_string(json_object_get(call, "reasoning")))
        json_object_set(message, "reasoning_content", json_object_get(call, "reasoning"));
    return message;
}

/* Of the evaluation; what was imported has it in its feedback alone. */
static const char *verdict_of(const json_t *step)
{
    const char *told = text_at(step, "verdict");
    const char *fed = text_at(json_object_get(step, "feedback"), "verdict");
    return *told ? told : verdict_find(fed) >= 0 ? fed : "";
}

static const char *event_of(const json_t *step)
{
    const char *extraction = text_at(step, "extraction");
    return *verdict_of(step)                                  ? "evaluation"
           : *extraction && strcmp(extraction, "kernel") != 0 ? "no_code"
                                                              : "test_failed";
}

static json_t *traces_of(const json_t *step)
{
    return *verdict_of(step) ? json_pack("[{s:s, s:O}]", "status", verdict_of(step), "speedup",
                                         at(step, "speedup"))
                             : json_array();
}

/* The next message: feedback, and below it what somebody added. */
static json_t *feedback_of(const json_t *step, const json_t *run)
{
    const char *supervision = text_at(step, "supervision"), *text = text_at(step, "feedback_text");
    double target = json_number_value(json_object_get(run, "target_speedup"));
    double speedup = json_number_value(json_object_get(step, "speedup"));
    json_t *content =
        json_sprintf("%s%s%s", text, *text && *supervision ? "\n\n" : "", supervision);
    return json_pack("{s:s, s:o, s:{s:s, s:i, s:o, s:n, s:s, s:o, s:b, s:O, s:b}}", "role", "user",
                     "content", content, "extra", "raw_output", text, "returncode",
                     json_is_true(json_object_get(step, "correct")) ? 0 : 1, "timestamp",
                     timestamp_of(step), "exception_info", "event", event_of(step), "traces",
                     traces_of(step), "all_passed", json_is_true(json_object_get(step, "correct")),
                     "min_speedup", at(step, "speedup"), "target_met",
                     target > 0 && speedup >= target);
}

static json_t *exit_of(const json_t *trajectory, const json_t *best)
{
    const char *status = exit_status(trajectory);
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:O}}", "role", "exit", "content", status, "extra",
                     "exit_status", status, "submission", text_at(best, "source"), "min_speedup",
                     at(best, "speedup"));
}

/* Puts each step into the conversation or among the others. */
static json_t *messages_of(const json_t *run, const json_t *trajectory, json_t *others)
{
    const json_t *steps = json_object_get(trajectory, "steps"), *step;
    json_t *list =
        json_pack("[{s:s, s:O}, {s:s, s:O}]", "role", "system", "content", at(trajectory, "system"),
                  "role", "user", "content", at(trajectory, "task"));
    json_int_t n = 0;
    size_t i;
    json_array_foreach(steps, i, step)
    {
        if (!is_turn(steps, i, n)) {
            json_array_append(others, (json_t *)step);
            continue;
        }
        json_array_append_new(list, answer_of(step, text_at(run, "model")));
        if (json_is_true(json_object_get(step, "counted")))
            json_array_append_new(list, feedback_of(step, run));
        n++;
    }
    json_array_append_new(list, exit_of(trajectory, best_of(steps)));
    return list;
}

/* ---- info ---- */

static json_t *stats_of(const json_t *trajectory)
{
    const json_t *step, *call;
    double cost = 0;
    json_int_t calls = 0;
    size_t i, k;
    json_array_foreach(json_object_get(trajectory, "steps"), i, step)
        json_array_foreach(json_object_get(step, "calls"), k, call)
    {
        cost += json_number_value(json_object_get(call, "usd"));
        calls++;
    }
    return json_pack("{s:f, s:I}", "instance_cost", cost, "api_calls", calls);
}

static json_t *config_of(const json_t *run)
{
    return json_pack(
        "{s:{s:O, s:O, s:O, s:O}, s:s, s:{s:O, s:O}, s:O, s:{s:O, s:O, s:O, s:O}, s:s}", "agent",
        "step_limit", at(run, "turns"), "target_speedup", at(run, "target_speedup"), "history",
        at(run, "history"), "feedback", at(run, "feedback"), "agent_type", "ptxbench-agent",
        "model", "model_name", at(run, "model"), "model_kwargs", at(run, "params"), "model_type",
        at(run, "provider"), "environment", "problem", at(run, "problem"), "workload",
        at(run, "workload"), "arch", at(run, "arch"), "device", at(run, "device"),
        "environment_type", "ptxbench");
}

static json_t *own_of(const json_t *run, const json_t *trajectory)
{
    json_t *kept = json_object();
    for (const char *const *name = trajectory_run_members; *name; name++)
        json_object_set(kept, *name, at(run, *name));
    size_t i;
    const json_t *v, *prompt = NULL;
    json_array_foreach(json_object_get(run, "variants"), i,
                       v) if (json_equal(json_object_get(v, "variant"), at(trajectory, "variant")))
        prompt = v;
    return json_pack("{s:i, s:o, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:O}", "schema", 1, "run", kept,
                     "trajectory", at(trajectory, "trajectory"), "variant",
                     at(trajectory, "variant"), "variant_name", at(trajectory, "variant_name"),
                     "tokens", at(prompt, "tokens"), "estimated", at(prompt, "estimated"), "state",
                     at(trajectory, "state"), "reason", at(trajectory, "reason"), "detail",
                     at(trajectory, "detail"));
}

json_t *trajectory_export(const json_t *run, const json_t *trajectory)
{
    json_t *others = json_array(), *own = own_of(run, trajectory);
    json_t *messages = messages_of(run, trajectory, others);
    json_object_set_new(own, "others", others);
    const json_t *best = best_of(json_object_get(trajectory, "steps"));
    return json_pack("{s:{s:o, s:o, s:s, s:s, s:s, s:o}, s:o, s:s}", "info", "model_stats",
                     stats_of(trajectory), "config", config_of(run), "mini_version", "1.1",
                     "exit_status", exit_status(trajectory), "submission", text_at(best, "source"),
                     "ptxbench", own, "messages", messages, "trajectory_format",
                     "mini-swe-agent-1.1");
}
