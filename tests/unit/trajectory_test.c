// SPDX-License-Identifier: Apache-2.0
// Trajectories in files: there and back, files of the paper's agent, and what is not taken.
#include <stdlib.h>

#include "tests/unit/domain.h"

#include "core/trajectory.h"

#define ID "01a22971-c52b-75bd-b28d-feb012af546b"
#define SHA "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define CALL                                                                                       \
    "'status': 'stored', 'finish': 'stop', 'tokens_in': 900, 'cached': 100, 'cache_write': null, " \
    "'tokens_out': 70, 'reasoning_tokens': 20, 'usd': 0.25, 'http_status': 200, 'provider': "      \
    "'replay', 'model': 'm', 'request_sha256': '" SHA "', 'started_at': "                          \
    "'2026-11-30T09:44:21.5+00:00', 'finished_at': '2026-11-30T09:45:00+00:00', 'error': null"
#define TIMES                                                                                      \
    "'created_at': '2026-11-30T09:44:20+00:00', 'finished_at': '2026-11-30T09:46:00.25+00:00'"

static const struct trajectory_import nothing;

/* A run as runs_get() gives it. */
static json_t *a_run(void)
{
    return quoted(
        "{'id': '" ID
        "', 'name': 'mine', 'owner': 'me', 'state': 'done', 'reason': null, 'rev': 7, "
        "'problem': 'gemm', 'workload': 'small', 'arch': 'sm_90a', 'device': 'cpu', 'provider': "
        "'replay', 'model': 'm', 'condition': '', 'params': {'temperature': 0.5}, 'history': "
        "'full', "
        "'feedback': 'full', 'variants': [{'variant': 0, 'name': 'contract', 'tokens': 12, "
        "'estimated': true}], 'per_variant': 2, 'trajectories': 2, 'turns': 8, 'target_speedup': "
        "1.2, 'budget': {'tokens': null, 'usd': 2.5}, 'visibility': 'public', 'created_at': "
        "'2026-11-30T09:44:20+00:00', 'finished_at': '2026-11-30T09:50:00+00:00', 'grid': []}");
}

#define STEP "'state': 'done', 'submission': null, " TIMES ", "

/* Three turns: the second was done twice for a fault of the service, the third met the target. */
static const char *const steps_text[] = {
    "{" STEP "'n': 0, 'try': 0, 'counted': true, 'label': 'plan', 'correct': false, 'inst': null, "
    "'speedup': null, 'extraction': 'kernel', 'source': '__global__ void k() {}', 'errors': "
    "[{'path': '$.launch', 'detail': 'is required'}], 'verdict': null, 'feedback': {'turn': 1, "
    "'verdict': 'PLAN'}, 'feedback_text': 'no plan\\nis there', 'supervision': 'look at the plan', "
    "'call': {'id': 1, 'answer': 'an answer é', 'reasoning': 'a thought', 'blocks': [{'type': "
    "'thinking', 'signature': 'x'}], " CALL "}, 'calls': [{'id': 1, " CALL "}]}",
    "{" STEP
    "'n': 1, 'try': 0, 'counted': false, 'label': 'infra', 'correct': false, 'inst': null, "
    "'speedup': null, 'extraction': 'kernel', 'source': 'v1', 'errors': null, 'verdict': "
    "'INFRA_ERROR', 'feedback': null, 'feedback_text': null, 'supervision': null, 'call': {'id': "
    "2, "
    "'answer': 'second', 'reasoning': null, 'blocks': null, " CALL "}, 'calls': [{'id': 2, " CALL
    "}]}",
    "{" STEP "'n': 1, 'try': 1, 'counted': true, 'label': 'numerical', 'correct': false, 'inst': "
    "true, 'speedup': null, 'extraction': 'kernel', 'source': 'v1', 'errors': null, 'verdict': "
    "'INCORRECT_NUMERICAL', 'feedback': {'turn': 2}, 'feedback_text': 'wrong', 'supervision': "
    "null, 'call': {'id': 2, 'answer': 'second', 'reasoning': null, 'blocks': null, " CALL
    "}, 'calls': []}",
    "{" STEP "'n': 2, 'try': 0, 'counted': true, 'label': 'correct', 'correct': true, 'inst': "
    "false, 'speedup': 1.25, 'extraction': 'kernel', 'source': 'v2', 'errors': null, 'verdict': "
    "'PASSED', 'feedback': {'turn': 3}, 'feedback_text': 'good', 'supervision': null, 'call': "
    "{'id': 3, 'answer': 'third', 'reasoning': null, 'blocks': null, " CALL
    "}, 'calls': [{'id': 3, " CALL "}]}",
};

static json_t *a_trajectory(int n)
{
    json_t *steps = json_array();
    json_t *t = quoted("{'run': '" ID "', 'variant': 0, 'variant_name': 'contract', 'state': "
                       "'done', 'reason': 'target', 'detail': null, 'system': 'be brief', 'task': "
                       "'C = A B', 'history': 'full'}");
    for (size_t i = 0; i < COUNT_OF(steps_text); i++)
        json_array_append_new(steps, quoted(steps_text[i]));
    json_object_set_new(json_array_get(steps, 1), "submission", json_string(ID));
    json_object_set_new(t, "trajectory", json_integer(n));
    json_object_set_new(t, "steps", steps);
    return t;
}

static json_t *import(const char *text, const struct trajectory_import *given)
{
    struct faults faults = {0};
    json_t *out;
    if (!trajectory_import(&registry, text, strlen(text), given, &out, &faults)) {
        char *all = json_dumps(faults.items, JSON_INDENT(1) | JSON_ENCODE_ANY);
        fail_msg("%s", all);
    }
    assert_false(faults_any(&faults));
    return out;
}

static char *export(const json_t *run, const json_t *trajectory)
{
    json_t *document = trajectory_export(run, trajectory);
    char *text = json_canonical(document);
    json_decref(document);
    assert_non_null(text);
    return text;
}

/* Run and trajectory as the database would give them of an import. */
static json_t *run_of(const json_t *imported)
{
    json_t *run = json_copy(json_object_get(imported, "run"));
    json_object_set(run, "variants", json_object_get(imported, "prompts"));
    return run;
}

static json_t *trajectory_of(const json_t *imported, size_t i)
{
    json_t *t = json_copy(json_array_get(json_object_get(imported, "trajectories"), i));
    const json_t *prompt = json_array_get(json_object_get(imported, "prompts"), 0);
    json_object_set(t, "variant_name", json_object_get(prompt, "name"));
    json_object_set(t, "system", json_object_get(prompt, "system"));
    json_object_set(t, "task", json_object_get(prompt, "task"));
    json_object_set_new(t, "state", json_string("done"));
    return t;
}

static void there_and_back(void **state)
{
    (void)state;
    json_t *run = a_run(), *first = a_trajectory(0), *second = a_trajectory(3);
    char *one = export(run, first), *two = export(run, second), lines[32 * KIB];
    snprintf(lines, sizeof(lines), "%s\n%s\n", one, two);
    json_t *imported = import(lines, &nothing), *again = run_of(imported);
    for (size_t i = 0; i < 2; i++) {
        json_t *t = trajectory_of(imported, i);
        char *text = export(again, t);
        assert_string_equal(text, i ? two : one);
        json_decref(t);
        free(text);
    }
    /* Nothing of a step is lost on the way either. */
    json_t *whole = trajectory_of(imported, 0);
    assert_true(json_equal(json_object_get(whole, "steps"), json_object_get(first, "steps")));
    json_decref(whole);
    json_decref(imported);
    json_decref(again);
    json_decref(run);
    json_decref(first);
    json_decref(second);
    free(one);
    free(two);
}

/* Does the document's member at a path of names and numbers equal this JSON? */
static void expect(const json_t *document, const char *path, const char *want)
{
    char *end, *copy = strdup(path), *rest = NULL;
    const json_t *v = document;
    for (char *name = strtok_r(copy, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
        size_t i = strtoul(name, &end, 10);
        v = *end ? json_object_get(v, name) : json_array_get(v, i);
    }
    json_t *wrapped = quoted(want);
    if (!json_equal(v, wrapped)) {
        char *got = json_dumps(v, JSON_ENCODE_ANY);
        fail_msg("%s is %s, not %s", path, got ? got : "not there", want);
    }
    json_decref(wrapped);
    free(copy);
}

static void the_layout(void **state)
{
    (void)state;
    json_t *run = a_run(), *t = a_trajectory(0), *d = trajectory_export(run, t);
    expect(d, "trajectory_format", "'mini-swe-agent-1.1'");
    expect(d, "info.exit_status", "'Submitted'");
    expect(d, "info.submission", "'v2'");
    expect(d, "info.model_stats", "{'instance_cost': 0.75, 'api_calls': 3}");
    expect(d, "info.config.model", "{'model_name': 'm', 'model_kwargs': {'temperature': 0.5}}");
    expect(d, "info.ptxbench.run.id", "'" ID "'");
    assert_int_equal(json_array_size(json_object_get(d, "messages")), 2 + 2 * 3 + 1);
    expect(d, "messages.0", "{'role': 'system', 'content': 'be brief'}");
    expect(d, "messages.1", "{'role': 'user', 'content': 'C = A B'}");
    expect(d, "messages.2.role", "'assistant'");
    expect(d, "messages.2.reasoning_content", "'a thought'");
    expect(d, "messages.2.extra.cost", "0.25");
    expect(d, "messages.2.extra.timestamp", "1796031900.0");
    expect(d, "messages.2.extra.response.usage.completion_tokens_details.reasoning_tokens", "20");
    expect(d, "messages.3.content", "'no plan\\nis there\\n\\nlook at the plan'");
    expect(d, "messages.3.extra.event", "'test_failed'");
    expect(d, "messages.4.content", "'second'");
    expect(d, "messages.5.extra.traces", "[{'status': 'INCORRECT_NUMERICAL', 'speedup': null}]");
    expect(d, "messages.7.extra.all_passed", "true");
    expect(d, "messages.7.extra.min_speedup", "1.25");
    expect(d, "messages.7.extra.target_met", "true");
    expect(d, "messages.8",
           "{'role': 'exit', 'content': 'Submitted', 'extra': {'exit_status': "
           "'Submitted', 'submission': 'v2', 'min_speedup': 1.25}}");
    expect(d, "info.ptxbench.others.0.label", "'infra'");
    json_decref(d);
    json_decref(run);
    json_decref(t);
}

/* A run that goes on: the last answer has no feedback. */
static void an_open_one(void **state)
{
    (void)state;
    json_t *run = a_run(), *t = a_trajectory(0), *steps = json_object_get(t, "steps");
    json_t *last = json_array_get(steps, 3);
    json_object_set_new(t, "state", json_string("running"));
    json_object_set_new(t, "reason", json_null());
    json_object_set_new(last, "state", json_string("evaluate"));
    json_object_set_new(last, "counted", json_false());
    static const char *const unknown[] = {"label",   "correct",  "speedup",       "inst",
                                          "verdict", "feedback", "feedback_text", "finished_at"};
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        json_object_set_new(last, unknown[i], json_null());
    char *text = export(run, t);
    json_t *d = json_loads(text, 0, NULL), *imported = import(text, &nothing);
    assert_int_equal(json_array_size(json_object_get(d, "messages")), 2 + 2 * 2 + 1 + 1);
    expect(d, "info.exit_status", "'Unfinished'");
    expect(d, "info.submission", "''");
    expect(d, "messages.6.content", "'third'");
    expect(d, "messages.7.role", "'exit'");
    expect(imported, "trajectories.0.reason", "'cancelled'");
    expect(imported, "trajectories.0.detail", "'was not done when it was exported'");
    expect(imported, "trajectories.0.steps.3.state", "'left'");
    expect(imported, "trajectories.0.steps.3.call.answer", "'third'");
    free(text);
    json_decref(d);
    json_decref(imported);
    json_decref(run);
    json_decref(t);
}

#define PAPER(turns)                                                                               \
    "{'info': {'model_stats': {'instance_cost': 1.5, 'api_calls': 2}, 'config': {'agent': "        \
    "{'step_limit': 8}, 'agent_type': 'x', 'model': {'model_name': 'z-ai/glm-5.1', "               \
    "'model_kwargs': {'temperature': 1.0, 'top_p': 5, 'api_base': 'http://10.0.0.1'}}}, "          \
    "'mini_version': '1.1', 'exit_status': 'LimitsExceeded', 'submission': ''}, 'messages': ["     \
    "{'role': 'system', 'content': 's'}, {'role': 'user', 'content': [{'type': 'text', 'text': "   \
    "'t'}, {'type': 'text', 'text': 'u'}]}" turns                                                  \
    ", {'role': 'exit', 'content': '', 'extra': {}}], 'trajectory_format': "                       \
    "'mini-swe-agent-1.1'}"
#define ANSWER                                                                                     \
    ", {'role': 'assistant', 'content': '```cpp\\n__global__ void k() {}\\n```', 'extra': "        \
    "{'cost': 0.5, 'timestamp': 1796031900.5, 'response': {'usage': {'prompt_tokens': 9, "         \
    "'completion_tokens': 5, 'completion_tokens_details': {'reasoning_tokens': 3}}}}}"
#define FEEDBACK(extra) ", {'role': 'user', 'content': 'it PASSED', 'extra': {" extra "}}"

static json_t *import_quoted(const char *text, const struct trajectory_import *given)
{
    json_t *document = quoted(text);
    char *dumped = json_canonical(document);
    json_t *imported = import(dumped, given);
    json_decref(document);
    free(dumped);
    return imported;
}

static void a_file_of_the_paper(void **state)
{
    (void)state;
    const struct trajectory_import given = {
        .problem = "gemm", .arch = "sm_90a", .model = "not this", .is_private = true};
    json_t *d = import_quoted(
        PAPER(ANSWER FEEDBACK("'event': 'evaluation', 'all_passed': true, 'min_speedup': 0.75, "
                              "'timestamp': 1796031960") ANSWER),
        &given);
    expect(d, "run.model", "'z-ai/glm-5.1'");
    expect(d, "run.problem", "'gemm'");
    expect(d, "run.workload", "'m8192_n7168_k5120'");
    expect(d, "run.provider", "null");
    expect(d, "run.params", "{'temperature': 1.0}");
    expect(d, "run.turns", "2");
    expect(d, "run.per_variant", "1");
    expect(d, "run.visibility", "'private'");
    expect(d, "run.source", "'imported: mini-swe-agent 1.1'");
    expect(d, "prompts",
           "[{'variant': 0, 'name': 'imported-0', 'system': 's', 'task': 'tu', "
           "'tokens': 0, 'estimated': true}]");
    expect(d, "trajectories.0.reason", "'turns'");
    expect(d, "trajectories.0.steps.0.label", "'correct'");
    expect(d, "trajectories.0.steps.0.verdict", "'PASSED'");
    expect(d, "trajectories.0.steps.0.speedup", "0.75");
    expect(d, "trajectories.0.steps.0.inst", "null");
    expect(d, "trajectories.0.steps.0.source", "'__global__ void k() {}\\n'");
    expect(d, "trajectories.0.steps.0.feedback_text", "'it PASSED'");
    expect(d, "trajectories.0.steps.0.finished_at", "'2026-11-30T09:46:00.000000+00:00'");
    expect(d, "trajectories.0.steps.0.call.usd", "0.5");
    expect(d, "trajectories.0.steps.0.call.tokens_in", "9");
    expect(d, "trajectories.0.steps.0.call.reasoning_tokens", "3");
    expect(d, "trajectories.0.steps.0.call.finished_at", "'2026-11-30T09:45:00.500000+00:00'");
    expect(d, "trajectories.0.steps.1.state", "'left'");
    expect(d, "trajectories.0.steps.1.counted", "false");
    expect(d, "trajectories.0.steps.1.label", "null");
    json_decref(d);
}

/* What a turn came to is in its fields; its text says "PASSED" each time. */
static void labels_of_the_paper(void **state)
{
    (void)state;
    static const struct {
        const char *extra, *label, *verdict;
    } rows[] = {
        {"'event': 'no_code'", "'extraction'", "null"},
        {"'event': 'cublas_banned'", "'other'", "null"},
        {"'event': 'test_failed', 'returncode': 1", "'other'", "null"},
        {"'event': 'test_failed', 'returncode': 137", "'profile_timeout'", "null"},
        {"'event': 'evaluation', 'all_passed': false, 'traces': [{'status': 'PASSED'}, {'status': "
         "'INCORRECT_NUMERICAL'}]",
         "'numerical'", "'INCORRECT_NUMERICAL'"},
        {"'event': 'evaluation', 'all_passed': false, 'traces': [{'evaluation': {'status': "
         "'RUNTIME_ERROR'}}], 'min_speedup': 2",
         "'runtime'", "'RUNTIME_ERROR'"},
        {"'event': 'evaluation', 'all_passed': false, 'traces': [{'status': 'TIMEOUT'}]",
         "'timeout'", "'TIMEOUT'"},
        {"'event': 'evaluation', 'all_passed': false, 'traces': [{'status': 'INCORRECT_SHAPE'}]",
         "'other'", "'INCORRECT_SHAPE'"},
        {"'event': 'evaluation', 'all_passed': 'true', 'traces': 7", "'other'", "null"},
        {"'event': 7", "'other'", "null"},
        {"", "'other'", "null"},
    };
    const struct trajectory_import given = {.problem = "gemm"};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[2048];
        snprintf(text, sizeof(text), PAPER(ANSWER FEEDBACK("%s")), rows[i].extra);
        json_t *d = import_quoted(text, &given);
        expect(d, "trajectories.0.steps.0.label", rows[i].label);
        expect(d, "trajectories.0.steps.0.verdict", rows[i].verdict);
        expect(d, "trajectories.0.steps.0.correct", "false");
        expect(d, "trajectories.0.steps.0.speedup", "null");
        json_decref(d);
    }
}

/* Those that were sent the same are of one variant. */
static void variants_by_prompt(void **state)
{
    (void)state;
    const struct trajectory_import given = {.problem = "gemm"};
    char lines[8192];
    size_t n = 0;
    static const char *const systems[] = {"a", "b", "a"};
    for (size_t i = 0; i < COUNT_OF(systems); i++) {
        json_t *document = quoted(PAPER(""));
        json_t *messages = json_object_get(document, "messages");
        json_object_set_new(json_array_get(messages, 0), "content", json_string(systems[i]));
        char *text = json_dumps(document, JSON_INDENT(1)); /* lines may be broken anywhere */
        n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%s\n", text);
        json_decref(document);
        free(text);
    }
    json_t *d = import(lines, &given);
    expect(d, "trajectories.0.variant", "0");
    expect(d, "trajectories.1.variant", "1");
    expect(d, "trajectories.2.variant", "0");
    expect(d, "trajectories.2.trajectory", "2");
    expect(d, "run.per_variant", "2");
    expect(d, "run.turns", "1");
    json_decref(d);
}

static void refused(const char *text, const char *path, const char *detail)
{
    struct faults faults = {0};
    json_t *out;
    assert_false(trajectory_import(&registry, text, strlen(text), &nothing, &out, &faults));
    assert_null(out);
    expect_fault(&faults, path, detail);
    faults_release(&faults);
}

/* Each is a good document with one member put otherwise. */
static void bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *at, *value, *path, *detail;
    } rows[] = {
        {"trajectory_format", "'swe-bench'", "$.trajectory_format", "must be mini-swe-agent-1.1"},
        {"messages", "7", "$", "must be an object with messages"},
        {"messages.0.role", "'user'", "$.messages[0].role", "must be system"},
        {"messages.1.content", "null", "$.messages[1].content", "must be text"},
        {"messages.2.role", "'tool'", "$.messages[2].role", "must be assistant"},
        {"messages.3.role", "'assistant'", "$.messages[3].role", "must be user"},
        {"messages.2.content", "'a\\u0000'", "$.messages[2].content", "without NUL"},
        {"messages.2.reasoning_content", "7", "$.messages[2].reasoning_content",
         "must be a string"},
        {"messages.2.extra.ptxbench", "7", "$.messages[2].extra.ptxbench", "must be an object"},
        {"messages.2.extra.ptxbench.n", "1", "$.messages[2].extra.ptxbench.n", "must be 0"},
        {"messages.2.extra.ptxbench.label", "'fine'", "$.messages[2].extra.ptxbench.label",
         "must be one of correct, numerical"},
        {"messages.2.extra.ptxbench.label", "null", "$.messages[2].extra.ptxbench.label",
         "is required of a step that counts"},
        {"messages.2.extra.ptxbench.correct", "true", "$.messages[2].extra.ptxbench.correct",
         "must be true with the label correct"},
        {"messages.2.extra.ptxbench.speedup", "2", "$.messages[2].extra.ptxbench.speedup",
         "only of a correct turn"},
        {"messages.2.extra.ptxbench.counted", "false", "$.messages[2].extra.ptxbench.counted",
         "must be true with feedback"},
        {"messages.2.extra.ptxbench.verdict", "'GOOD'", "$.messages[2].extra.ptxbench.verdict",
         "must be one of PASSED"},
        {"messages.2.extra.ptxbench.feedback", "{'a': ['\\u0000']}",
         "$.messages[2].extra.ptxbench.feedback", "must not hold a NUL"},
        {"messages.2.extra.ptxbench.created_at", "'2026-02-31T00:00:00Z'",
         "$.messages[2].extra.ptxbench.created_at", "must be a time"},
        {"messages.2.extra.ptxbench.call.tokens_in", "-1",
         "$.messages[2].extra.ptxbench.call.tokens_in", "must be 0 to"},
        {"messages.2.extra.ptxbench.call.usd", "-1", "$.messages[2].extra.ptxbench.call.usd",
         "must not be negative"},
        {"messages.2.extra.ptxbench.call.request_sha256", "'x'",
         "$.messages[2].extra.ptxbench.call.request_sha256", "must be of 64 to 64 bytes"},
        {"info.ptxbench.schema", "2", "$.info.ptxbench.schema", "must be 1"},
        {"info.ptxbench.run", "null", "$.info.ptxbench.run", "must be an object"},
        {"info.ptxbench.run.id", "'" ID "'", NULL, NULL},
        {"info.ptxbench.run.id", "'01A22971-c52b-75bd-b28d-feb012af546b'", "$.info.ptxbench.run.id",
         "must be the id of a run"},
        {"info.ptxbench.run.problem", "'a b'", "$.info.ptxbench.run.problem", "must be a name"},
        {"info.ptxbench.run.problem", "null", "$.info.ptxbench.run.problem",
         "say it with the query parameter problem"},
        {"info.ptxbench.run.model", "'a\\nb'", "$.info.ptxbench.run.model", "must be one line"},
        {"info.ptxbench.run.provider", "'/bin/sh'", "$.info.ptxbench.run.provider",
         "must be a name"},
        {"info.ptxbench.run.params", "{'url': 'x'}", "$.info.ptxbench.run.params.url",
         "is not a known field"},
        {"info.ptxbench.run.turns", "2", "$.info.ptxbench.run.turns", "there are 3 turns"},
        {"info.ptxbench.run.turns", "65", "$.info.ptxbench.run.turns", "must be 1 to 64"},
        {"info.ptxbench.run.history", "'all'", "$.info.ptxbench.run.history",
         "is no history policy"},
        {"info.ptxbench.run.budget.usd", "'1'", "$.info.ptxbench.run.budget.usd",
         "must be a number"},
        {"info.ptxbench.trajectory", "256", "$.info.ptxbench.trajectory", "must be 0 to 255"},
        {"info.ptxbench.variant", "-1", "$.info.ptxbench.variant", "must be 0 to 15"},
        {"info.ptxbench.reason", "'bored'", "$.info.ptxbench.reason", "must be one of turns"},
        {"info.ptxbench.reason", "null", "$.info.ptxbench.reason", "is required"},
        {"info.ptxbench.others.0.counted", "true", "$.info.ptxbench.others[0].counted",
         "must be false"},
        {"info.ptxbench.others.0.try", "1", "$", "has turn 1, try 1 twice"},
    };
    json_t *run = a_run(), *t = a_trajectory(0), *good = trajectory_export(run, t);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *end, *rest = NULL, *copy = strdup(rows[i].at), *last = copy;
        json_t *d = json_deep_copy(good), *v = d;
        for (char *name = strtok_r(copy, ".", &rest); name; name = strtok_r(NULL, ".", &rest)) {
            size_t k = strtoul(name, &end, 10);
            last = name;
            if (rest && *rest)
                v = *end ? json_object_get(v, name) : json_array_get(v, k);
        }
        assert_int_equal(json_object_set_new(v, last, quoted(rows[i].value)), 0);
        char *text = json_canonical(d);
        if (rows[i].path)
            refused(text, rows[i].path, rows[i].detail);
        else
            json_decref(import(text, &nothing));
        json_decref(d);
        free(text);
        free(copy);
    }
    json_decref(good);
    json_decref(run);
    json_decref(t);
}

static void bad_texts(void **state)
{
    (void)state;
    json_t *run = a_run(), *t = a_trajectory(0), *u = a_trajectory(1);
    char *one = export(run, t), lines[32 * KIB];
    refused("", "$", "is empty");
    refused("[]", "$", "must be an object with messages");
    refused("{\"a\": 1, \"a\": 2}", "$[0]", "is not JSON: line 1");
    snprintf(lines, sizeof(lines), "%s\n{\"mess", one);
    refused(lines, "$[1]", "is not JSON");
    snprintf(lines, sizeof(lines), "%s\n%s", one, one);
    refused(lines, "$[1].info.ptxbench.trajectory", "is that of another document too");
    json_object_set_new(u, "task", json_string("another"));
    char *two = export(run, u);
    snprintf(lines, sizeof(lines), "%s\n%s", one, two);
    refused(lines, "$[1].messages", "begins otherwise than another trajectory of variant 0");
    free(two);
    json_object_set_new(run, "model", json_string("other"));
    two = export(run, u);
    snprintf(lines, sizeof(lines), "%s\n%s", one, two);
    refused(lines, "$[1].info", "is of another run than the first document");
    free(two);
    free(one);
    json_decref(run);
    json_decref(t);
    json_decref(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),      cmocka_unit_test(the_layout),
        cmocka_unit_test(an_open_one),         cmocka_unit_test(a_file_of_the_paper),
        cmocka_unit_test(labels_of_the_paper), cmocka_unit_test(variants_by_prompt),
        cmocka_unit_test(bad_files),           cmocka_unit_test(bad_texts),
    };
    return cmocka_run_group_tests_name("trajectory", tests, registry_setup, registry_teardown);
}
