// SPDX-License-Identifier: Apache-2.0
/* The device cuda against a fake keeper: which stages ask what, how its answers reach the report, what
 * becomes of a keeper that fails, and the sanitizer beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "core/json.h"
#include "core/submission.h"
#include "evaluator/compile.h"
#include "evaluator/evaluate.h"
#include "evaluator/keeper.h"
#include "evaluator/sanitize.h"
#include "fake_bin.h"

static struct registry registry;
static bool have_assembler;

/* ---- submissions ---- */

#define PTX_HEAD ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k("
#define PTX_POINTERS ".param .u64 a, .param .u64 b, .param .u64 c"
#define PTX_SIZES ", .param .u32 m, .param .u32 n, .param .u32 q"
#define PTX_BODY ")\n{ .reg .u64 %p; .reg .u32 %v; mov.u32 %v, 7; ld.param.u64 %p, [c]; cvta.to.global.u64 %p, %p;\n"

static const char clean[] = PTX_HEAD PTX_POINTERS PTX_SIZES PTX_BODY "ret; }\n";
static const char outside[] = PTX_HEAD PTX_POINTERS PTX_SIZES PTX_BODY "st.global.u32 [%p+-4], %v; ret; }\n";
static const char deadlock[] = PTX_HEAD PTX_POINTERS PTX_SIZES PTX_BODY "bar.sync 1, 64; ret; }\n";
static const char trap[] = PTX_HEAD PTX_POINTERS PTX_SIZES PTX_BODY "trap; }\n";
static const char one_size[] = PTX_HEAD PTX_POINTERS PTX_BODY "st.global.u32 [%p+-4], %v; ret; }\n";

#define PLAN(sizes)                                                                                  \
    "{\"launches\": [{\"kernel\": \"k\", \"grid\": [\"M/31\"], \"block\": [32], \"args\": ["           \
    "{\"tensor\": \"A\"}, {\"tensor\": \"B\"}, {\"tensor\": \"C\"}" sizes "]}]}"
#define TELL(a, b, c) ", {\"i32\": \"" a "\"}, {\"i32\": \"" b "\"}, {\"i32\": \"" c "\"}"

static const char told[] = PLAN(TELL("M", "N", "K*2"));
static const char untold[] = PLAN("");

/* workload m93_…: M/31 is inexact at `small`; `plan` NULL: a grid that fits everywhere. */
static void submit(const char *source, const char *plan, const char *mode, struct submission *s)
{
    struct faults faults = {0};
    char first[LIMIT_DETAIL];
    json_t *launch = json_parse(plan, strlen(plan), NULL);
    json_t *grid = json_object_get(json_array_get(json_object_get(launch, "launches"), 0), "grid");
    if (strcmp(mode, "odd") != 0)
        json_array_set_new(grid, 0, json_string("1"));
    json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "problem", "gemm", "workload",
                             "m93_n128_k2048", "arch", "sm_90a", "device", "gpu", "mode",
                             strcmp(mode, "odd") ? mode : "rank", "source", source, "launch", launch);
    if (!submission_parse(&registry, body, s, &faults))
        fail_msg("%s", faults_first(&faults, first, sizeof(first)));
    json_decref(body);
}

/* ---- the keeper ---- */

struct owner {
    struct keeper keeper;
    int connects;
    bool refuses;
};

static enum err on_connect(void *arg, int *fd, const json_t **device, struct fault *f)
{
    struct owner *o = arg;
    o->connects++;
    if (o->refuses)
        return fault_set(f, ERR_UNAVAILABLE, "no keeper today");
    enum err e = keeper_wait(&o->keeper, 20000, f);
    if (e == ERR_NONE)
        e = keeper_connect(&o->keeper, fd, f);
    *device = o->keeper.device;
    return e;
}

static bool cancel_at_check;
static bool cancelled;

static void on_event(void *arg, const json_t *event)
{
    (void)arg;
    const char *stage = json_string_value(json_object_get(event, "stage"));
    if (cancel_at_check && !strcmp(stage, "check"))
        cancelled = true;
}

static bool on_cancelled(void *arg)
{
    (void)arg;
    return cancelled;
}

/* Evaluates with a keeper of its own. */
static void run(const char *source, const char *plan, const char *mode, struct owner *o,
                struct evaluation *out)
{
    struct submission s = {0};
    const struct keeper_access access = {o, on_connect};
    const struct evaluation_hooks hooks = {.event = on_event, .cancelled = on_cancelled};
    submit(source, plan, mode, &s);
    assert_int_equal(keeper_start(&o->keeper, 0, NULL), ERR_NONE);
    struct evaluation_request q = {.registry = &registry, .submission = &s, .device = "cuda:0",
                                   .keeper = &access, .id = "7"};
    assert_int_equal(evaluate(&q, &hooks, out, NULL), ERR_NONE);
    keeper_stop(&o->keeper);
    submission_release(&s);
}

static const char *text(const json_t *object, const char *key)
{
    const char *t = json_string_value(json_object_get(object, key));
    return t ? t : "";
}

static const json_t *stage(const struct evaluation *e, enum stage s)
{
    return json_array_get(json_object_get(e->report, "stages"), s);
}

static void states(const struct evaluation *e, char out[STAGE_COUNT + 1])
{
    for (int i = 0; i < STAGE_COUNT; i++)
        out[i] = text(stage(e, (enum stage)i), "state")[0];
    out[STAGE_COUNT] = '\0';
}

static void need_assembler(void)
{
    if (!have_assembler) {
        print_message("skipped: there is no assembler\n");
        skip();
    }
}

/* ---- tests ---- */

static void each_mode_asks_what_it_needs(void **state)
{
    (void)state;
    need_assembler();
    static const struct {
        const char *mode, *states, *asked;
        int connects;
    } rows[] = {
        {"compile", "ppssss", "start\n", 0},
        {"check", "pppsss", "start\nopen m93_n128_k2048\ncubin\ncheck\n", 1},
        {"rank", "pppppp", "start\nopen m93_n128_k2048\ncubin\ncheck\ntime\nverify\n", 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct owner o = {0};
        struct evaluation e;
        char got[STAGE_COUNT + 1];
        run(clean, told, rows[i].mode, &o, &e);
        states(&e, got);
        assert_string_equal(got, rows[i].states);
        assert_int_equal(e.verdict, VERDICT_PASSED);
        assert_int_equal(o.connects, rows[i].connects);
        struct buf asked = fake_log();
        if (rows[i].connects) /* else it may not even have begun when it was stopped */
            assert_string_equal(asked.data, rows[i].asked);
        buf_release(&asked);
        evaluation_release(&e);
        fake_reset();
    }
}

static void the_report_holds_what_the_keeper_said(void **state)
{
    (void)state;
    need_assembler();
    struct owner o = {0};
    struct evaluation e;
    run(clean, told, "rank", &o, &e);
    assert_string_equal(text(e.report, "device"), "cuda:0");
    assert_string_equal(text(e.report, "device_model"), "NVIDIA H200");
    assert_string_equal(text(json_object_get(e.report, "environment"), "uuid"), "GPU-00000000-fake");
    assert_true(json_number_value(json_object_get(json_object_get(e.report, "speedup"), "value")) == 1.25);
    assert_string_equal(text(json_object_get(e.report, "baseline"), "name"), "cuBLAS");
    assert_true(json_is_true(json_object_get(json_object_get(e.report, "check"), "strict")));
    assert_int_equal(json_array_size(json_object_get(e.report, "seeds")), 1);
    assert_true(json_is_true(json_object_get(json_object_get(e.report, "target"), "executed")));
    assert_true(json_is_object(json_object_get(e.report, "timing")));
    assert_non_null(strstr(e.log.data, EVALUATION_PRINTED "hello\n"));
    assert_true(e.cubin.len > 0);
    const json_t *found = json_object_get(e.report, "sanitize");
    assert_string_equal(text(found, "workload"), "small");
    assert_int_equal(json_array_size(json_object_get(found, "findings")), 0);
    evaluation_release(&e);
}

static void what_becomes_of_a_keeper_becomes_of_the_stage(void **state)
{
    (void)state;
    need_assembler();
    static const struct {
        const char *op, *act, *states, *detail;
        enum verdict verdict;
    } rows[] = {
        {"open", "die", "ppfsss", "it ended", VERDICT_INFRA_ERROR},
        {"check", "wrong", "ppfsss", "7 of 64", VERDICT_INCORRECT_NUMERICAL},
        {"check", "sick", "ppfsss", "the context is lost", VERDICT_INFRA_ERROR},
        {"time", "die", "ppppfs", "it ended", VERDICT_INFRA_ERROR},
        {"time", "wrong", "ppppfs", "7 of 64", VERDICT_INCORRECT_NUMERICAL},
        {"verify", "garbage", "pppppf", "makes no sense", VERDICT_INFRA_ERROR},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct owner o = {0};
        struct evaluation e;
        char got[STAGE_COUNT + 1];
        fake_say(rows[i].op, rows[i].act);
        run(clean, told, "rank", &o, &e);
        states(&e, got);
        assert_string_equal(got, rows[i].states);
        assert_int_equal(e.verdict, rows[i].verdict);
        assert_non_null(strstr(text(e.report, "detail"), rows[i].detail));
        assert_true(json_is_null(json_object_get(e.report, "speedup")));
        evaluation_release(&e);
        fake_reset();
    }
}

static void a_submission_that_waits_can_be_cancelled(void **state)
{
    (void)state;
    need_assembler();
    struct owner o = {0};
    struct evaluation e;
    cancel_at_check = true;
    fake_say("open", "hang");
    int64_t start = now_ms();
    run(clean, told, "rank", &o, &e);
    assert_int_equal(e.verdict, VERDICT_CANCELLED);
    assert_true(now_ms() - start < 20000);
    evaluation_release(&e);
    fake_reset();
    cancel_at_check = cancelled = false;
}

static void without_a_keeper_it_is_our_failure(void **state)
{
    (void)state;
    need_assembler();
    struct owner o = {.refuses = true};
    struct evaluation e;
    run(clean, told, "rank", &o, &e);
    assert_int_equal(e.verdict, VERDICT_INFRA_ERROR);
    assert_string_equal(text(e.report, "detail"), "no keeper today");
    evaluation_release(&e);
}

static void the_sanitizer_decides_only_what_it_is_sure_of(void **state)
{
    (void)state;
    need_assembler();
    static const struct {
        const char *source, *plan, *mode, *state, *detail;
        enum verdict verdict;
        size_t findings;
    } rows[] = {
        {outside, told, "rank", "failed", "C", VERDICT_SANITIZER_ERROR, 1},
        {deadlock, told, "rank", "failed", "", VERDICT_SANITIZER_ERROR, 1},
        {trap, told, "rank", "passed", "", VERDICT_PASSED, 1},
        {one_size, untold, "rank", "skipped", "does not tell its kernels M", VERDICT_PASSED, 0},
        {outside, told, "odd", "skipped", "does not fit workload small", VERDICT_PASSED, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct owner o = {0};
        struct evaluation e;
        run(rows[i].source, rows[i].plan, rows[i].mode, &o, &e);
        if (strcmp(text(stage(&e, STAGE_sanitize), "state"), rows[i].state) != 0)
            fail_msg("row %zu: sanitize %s: %s; %s", i, text(stage(&e, STAGE_sanitize), "state"),
                     text(stage(&e, STAGE_sanitize), "detail"), text(e.report, "detail"));
        assert_non_null(strstr(text(stage(&e, STAGE_sanitize), "detail"), rows[i].detail));
        assert_int_equal(e.verdict, rows[i].verdict);
        const json_t *found = json_object_get(e.report, "sanitize");
        assert_int_equal(json_array_size(json_object_get(found, "findings")), rows[i].findings);
        assert_int_equal(json_is_null(json_object_get(e.report, "speedup")),
                         rows[i].verdict != VERDICT_PASSED);
        evaluation_release(&e);
        fake_reset();
    }
}

/* The role of the worker's child: the connection is descriptor EVALUATE_KEEPER_FD. */
static void the_role_uses_the_connection_it_was_given(void **state)
{
    (void)state;
    need_assembler();
    struct keeper k;
    struct submission s = {0};
    int in[2], out[2], fd, status;
    submit(clean, told, "check", &s);
    assert_int_equal(keeper_start(&k, 0, NULL), ERR_NONE);
    assert_int_equal(keeper_wait(&k, 20000, NULL), ERR_NONE);
    assert_int_equal(keeper_connect(&k, &fd, NULL), ERR_NONE);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (!pid) {
        int a = dup(in[0]), b = dup(out[1]);
        close(in[1]);
        dup2(fd, EVALUATE_KEEPER_FD);
        _exit(evaluate_role(a, b));
    }
    close(in[0]);
    close(out[1]);
    close(fd);
    json_t *request = json_pack("{s:s, s:O, s:o}", "device", "cuda:0", "gpu", k.device, "submission",
                                submission_document(&s));
    assert_true(frame_write_json(in[1], FRAME_REQUEST, request));
    assert_true(frame_write(in[1], FRAME_SOURCE, s.source, s.source_len));
    enum frame_kind kind = FRAME_EVENT;
    while (kind != FRAME_RESULT) {
        char *data = NULL;
        size_t len;
        assert_int_equal(frame_read(out[0], &kind, &data, &len, NULL), ERR_NONE);
        if (kind == FRAME_RESULT) {
            json_t *report = json_parse(data, len, NULL);
            assert_string_equal(text(report, "verdict"), "PASSED");
            assert_string_equal(text(report, "device_model"), "NVIDIA H200");
            json_decref(report);
        }
        free(data);
    }
    close(in[1]);
    close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    json_decref(request);
    submission_release(&s);
    keeper_stop(&k);
}

static int set_up(void **state)
{
    (void)state;
    struct fault f = {0};
    signal(SIGPIPE, SIG_IGN);
    if (!fake_bin_make() || registry_load(&registry, home_dir(), &f) != ERR_NONE) {
        print_error("%s\n", f.detail);
        return -1;
    }
    json_t *can = compile_capabilities();
    have_assembler = json_is_string(json_object_get(can, "ptxas"));
    json_decref(can);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    registry_release(&registry);
    fake_bin_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mode_asks_what_it_needs),
        cmocka_unit_test(the_report_holds_what_the_keeper_said),
        cmocka_unit_test(what_becomes_of_a_keeper_becomes_of_the_stage),
        cmocka_unit_test(a_submission_that_waits_can_be_cancelled),
        cmocka_unit_test(without_a_keeper_it_is_our_failure),
        cmocka_unit_test(the_sanitizer_decides_only_what_it_is_sure_of),
        cmocka_unit_test(the_role_uses_the_connection_it_was_given),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
