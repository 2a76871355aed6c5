// SPDX-License-Identifier: Apache-2.0
/* evaluate() as its callers see it: stages, events, verdicts, artefacts, cancelling, and the
 * worker's child role over pipes. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "core/frame.h"
#include "core/json.h"
#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/evaluate.h"
#include "evaluator/inputs.h"
#include "tests/unit/tiny_home.h"

static struct registry registry;
static bool have_nvrtc;

static void submit(const char *file, const char *mode, struct submission *s)
{
    char path[512];
    struct buf source;
    struct faults faults = {0};
    buf_init(&source, LIMIT_SOURCE);
    snprintf(path, sizeof(path), "%s/problems/gemm/examples/%s", PTXBENCH_SOURCE_DIR, file);
    assert_int_equal(read_file(path, &source, NULL), ERR_NONE);
    json_t *query = json_pack("{s:s, s:s, s:s, s:s}", "problem", "gemm", "arch", "sm_90a", "device",
                              "cpu", "mode", mode);
    if (!submission_bare(&registry, source.data, source.len, query, s, &faults)) {
        char first[LIMIT_DETAIL];
        fail_msg("%s", faults_first(&faults, first, sizeof(first)));
    }
    json_decref(query);
    buf_release(&source);
}

static struct evaluation_request request_of(const struct submission *s)
{
    return (struct evaluation_request){.registry = &registry, .submission = s, .device = "cpu",
                                       .id = "42"};
}

static const char *text(const json_t *object, const char *key)
{
    const char *t = json_string_value(json_object_get(object, key));
    return t ? t : "";
}

/* States of the six stages, one letter each: "ppfsss". */
static void states(const json_t *report, char out[STAGE_COUNT + 1])
{
    for (int i = 0; i < STAGE_COUNT; i++)
        out[i] = text(json_array_get(json_object_get(report, "stages"), (size_t)i), "state")[0];
    out[STAGE_COUNT] = '\0';
}

static void need_nvrtc(void)
{
    if (!have_nvrtc) {
        print_message("skipped: NVRTC is not installed\n");
        skip();
    }
}

static void run_mode(const char *file, const char *mode, const char *want_states)
{
    struct submission s = {0};
    struct evaluation e;
    char got[STAGE_COUNT + 1];
    submit(file, mode, &s);
    struct evaluation_request q = request_of(&s);
    assert_int_equal(evaluate(&q, NULL, &e, NULL), ERR_NONE);
    states(e.report, got);
    if (strcmp(got, want_states)) {
        char *all = json_dumps(e.report, JSON_INDENT(1));
        print_message("%s\n%s\n", all, e.log.data ? e.log.data : "");
        free(all);
    }
    assert_string_equal(got, want_states);
    assert_int_equal(e.verdict, VERDICT_PASSED);
    assert_int_equal(e.flags, 0);
    assert_string_equal(text(e.report, "verdict"), "PASSED");
    assert_string_equal(text(e.report, "id"), "42");
    assert_true(e.ptx.len > 0);
    bool checked = strcmp(mode, "compile") != 0;
    const json_t *check = json_object_get(e.report, "check");
    assert_int_equal(json_is_true(json_object_get(check, "strict")), checked);
    assert_int_equal(json_array_size(json_object_get(check, "trials")), checked ? 2 : 0);
    assert_int_equal(json_is_false(json_object_get(json_object_get(e.report, "target"), "executed")),
                     checked);
    evaluation_release(&e);
    submission_release(&s);
}

static void ptx_passes(void **state)
{
    (void)state;
    run_mode("naive.ptx", "compile", "ppssss");
    run_mode("naive.ptx", "check", "pppsss");
    run_mode("naive.ptx", "rank", "pppssp");
}

static void cuda_passes(void **state)
{
    (void)state;
    need_nvrtc();
    run_mode("naive.cu", "check", "pppsss");
    run_mode("tiled.cu", "rank", "pppssp");
}

/* Two evaluations never see the same inputs, and a report says what its own were. */
static void seeds_are_fresh_and_published(void **state)
{
    (void)state;
    char seeds[2][SEED_TEXT];
    for (int i = 0; i < 2; i++) {
        struct submission s = {0};
        struct evaluation e;
        submit("naive.ptx", "check", &s);
        struct evaluation_request q = request_of(&s);
        assert_int_equal(evaluate(&q, NULL, &e, NULL), ERR_NONE);
        const json_t *list = json_object_get(e.report, "seeds");
        assert_int_equal(json_array_size(list), 2);
        snprintf(seeds[i], SEED_TEXT, "%s", json_string_value(json_array_get(list, 0)));
        const json_t *trials = json_object_get(json_object_get(e.report, "check"), "trials");
        assert_string_equal(text(json_array_get(trials, 0), "seed"), seeds[i]);
        evaluation_release(&e);
        submission_release(&s);
    }
    assert_int_equal(strlen(seeds[0]), SEED_TEXT - 1);
    assert_string_not_equal(seeds[0], seeds[1]);
}

struct witness {
    char kinds[64]; /* first letters of the states seen */
    size_t progress;
    const char *cancel_at; /* stage whose start turns the cancel flag on */
    bool cancel;
};

static void on_event(void *arg, const json_t *event)
{
    struct witness *w = arg;
    if (!strcmp(text(event, "kind"), "progress")) {
        w->progress++;
        return;
    }
    size_t n = strlen(w->kinds);
    w->kinds[n] = !strcmp(text(event, "state"), "started") ? '>' : text(event, "state")[0];
    w->cancel = w->cancel || (w->cancel_at && !strcmp(text(event, "stage"), w->cancel_at) &&
                              !strcmp(text(event, "state"), "started"));
}

static bool on_cancelled(void *arg)
{
    return ((struct witness *)arg)->cancel;
}

static void events_tell_the_story(void **state)
{
    (void)state;
    struct submission s = {0};
    struct evaluation e;
    struct witness w = {0};
    const struct evaluation_hooks hooks = {&w, on_event, on_cancelled};
    submit("naive.ptx", "check", &s);
    struct evaluation_request q = request_of(&s);
    assert_int_equal(evaluate(&q, &hooks, &e, NULL), ERR_NONE);
    assert_string_equal(w.kinds, ">p>p>psss");
    assert_int_equal(w.progress, 2);
    evaluation_release(&e);
    submission_release(&s);
}

static void cancelling_ends_it(void **state)
{
    (void)state;
    static const struct {
        const char *at, *states;
    } rows[] = {{"compile", "fsssss"}, {"check", "ppfsss"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct submission s = {0};
        struct evaluation e;
        struct witness w = {.cancel_at = rows[i].at};
        const struct evaluation_hooks hooks = {&w, on_event, on_cancelled};
        char got[STAGE_COUNT + 1];
        submit("naive.ptx", "rank", &s);
        struct evaluation_request q = request_of(&s);
        assert_int_equal(evaluate(&q, &hooks, &e, NULL), ERR_NONE);
        states(e.report, got);
        assert_string_equal(got, rows[i].states);
        assert_int_equal(e.verdict, VERDICT_CANCELLED);
        evaluation_release(&e);
        submission_release(&s);
    }
}

static void an_unknown_device_is_our_failure(void **state)
{
    (void)state;
    struct submission s = {0};
    struct evaluation e;
    submit("naive.ptx", "check", &s);
    struct evaluation_request q = request_of(&s);
    q.device = "abacus:0";
    assert_int_equal(evaluate(&q, NULL, &e, NULL), ERR_NONE);
    assert_int_equal(e.verdict, VERDICT_INFRA_ERROR);
    assert_non_null(strstr(text(e.report, "detail"), "abacus"));
    evaluation_release(&e);
    evaluation_release(&(struct evaluation){0});
    submission_release(&s);
}

/* Starts the role in a child process. */
static pid_t start_role(int *to, int *from)
{
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        close(in[1]);
        close(out[0]);
        _exit(evaluate_role(in[0], out[1]));
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
    return pid;
}

static void the_role_serves_one_evaluation(void **state)
{
    (void)state;
    struct submission s = {0};
    submit("naive.ptx", "check", &s);
    int to, from, status;
    pid_t pid = start_role(&to, &from);
    json_t *ask = json_pack("{s:s, s:s, s:o}", "device", "cpu", "id", "9", "submission",
                            submission_document(&s));
    assert_true(frame_write_json(to, FRAME_REQUEST, ask));
    assert_true(frame_write(to, FRAME_SOURCE, s.source, s.source_len));
    size_t seen[FRAME_KIND_COUNT] = {0};
    enum frame_kind kind = FRAME_EVENT;
    while (kind != FRAME_RESULT) {
        char *data = NULL;
        size_t len;
        assert_int_equal(frame_read(from, &kind, &data, &len, NULL), ERR_NONE);
        seen[kind]++;
        if (kind == FRAME_RESULT) {
            json_t *report = json_parse(data, len, NULL);
            assert_string_equal(text(report, "verdict"), "PASSED");
            assert_string_equal(text(report, "id"), "9");
            json_decref(report);
        }
        free(data);
    }
    assert_true(seen[FRAME_EVENT] >= 9);
    assert_int_equal(seen[FRAME_PTX], 1);
    close(to);
    close(from);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    json_decref(ask);
    submission_release(&s);
}

static void the_role_refuses_nonsense(void **state)
{
    (void)state;
    static const char *const asks[] = {"{}", "[1", "{\"device\":\"cpu\",\"submission\":{}}"};
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        int to, from, status;
        pid_t pid = start_role(&to, &from);
        char byte;
        frame_write(to, FRAME_REQUEST, asks[i], strlen(asks[i]));
        frame_write(to, FRAME_SOURCE, "x", 1);
        assert_int_equal(read(from, &byte, 1), 0); /* nothing, and closed */
        close(to);
        close(from);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    }
}

static int set_up(void **state)
{
    (void)state;
    struct fault f = {0};
    if (!tiny_home_make() || registry_load(&registry, home_dir(), &f) != ERR_NONE) {
        print_error("%s\n", f.detail);
        return -1;
    }
    signal(SIGPIPE, SIG_IGN);
    json_t *can = compile_capabilities();
    have_nvrtc = json_is_string(json_object_get(can, "nvrtc"));
    json_decref(can);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    registry_release(&registry);
    tiny_home_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_passes),
        cmocka_unit_test(cuda_passes),
        cmocka_unit_test(seeds_are_fresh_and_published),
        cmocka_unit_test(events_tell_the_story),
        cmocka_unit_test(cancelling_ends_it),
        cmocka_unit_test(an_unknown_device_is_our_failure),
        cmocka_unit_test(the_role_serves_one_evaluation),
        cmocka_unit_test(the_role_refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
