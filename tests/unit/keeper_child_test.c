// SPDX-License-Identifier: Apache-2.0
// The keeper's end of a runner, held against processes that play one: this very program, started
// under the name ptxbench-gpu, misbehaves in the way that the number of its device says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef HAVE_CUDA
#include "core/util.h"
#include "evaluator/cuda/keeper_child.h"
#include "tests/unit/as_gpu.h"

enum { GOOD, FAILS, SILENT, DIES, GARBAGE, FLOODS, HANGS, CUTS, NONSENSE, FAULTS };
enum { SHORT_MS = 300, LONG_MS = 20000, FLOOD = 4 * 1024 * 1024 };

/* ---- the runner that is played ---- */

static void say(const char *kind, enum frame_kind frame)
{
    json_t *event = json_pack("{s:s, s:s, s:b}", "kind", kind, "detail", "on purpose", "ok", 1);
    wire_send_json(WIRE_FD, frame, event, NULL, 0, LONG_MS, NULL);
    json_decref(event);
}

static void misbehave(int how)
{
    static const char fault[] =
        "{\"ok\": false, \"fault\": {\"kind\": \"assert\", \"detail\": \"x\"}}";
    struct wire_message m = {0};
    switch (how) {
    case DIES:
        raise(SIGKILL);
        break;
    case GARBAGE:
        if (write(WIRE_FD, "this is no frame, it is text", 28) != 28)
            _exit(1);
        break;
    case FLOODS:
        for (int i = 0; i < FLOOD / 16; i++)
            fputs("0123456789abcde\n", stdout);
        fflush(stdout);
        break;
    case HANGS:
        pause();
        break;
    case CUTS: /* a header that promises more than comes */
        if (write(WIRE_FD, "\4\0\0\0\100\0\0\0{", 9) != 9)
            _exit(1);
        pause();
        break;
    case NONSENSE:
        wire_send(WIRE_FD, FRAME_PTX, "x", 1, NULL, 0, LONG_MS, NULL);
        break;
    case FAULTS:
        wire_send(WIRE_FD, FRAME_RESULT, fault, sizeof(fault) - 1, NULL, 0, LONG_MS, NULL);
        wire_receive(WIRE_FD, &m, LIMIT_FRAME, LONG_MS, NULL);
        wire_message_release(&m);
        break;
    default:
        break;
    }
}

static int play(int how)
{
    struct wire_message m;
    if (how == FAILS)
        say("failed", FRAME_EVENT);
    if (how == SILENT)
        pause();
    if (how == FAILS)
        return 1;
    say("ready", FRAME_EVENT);
    while (wire_receive(WIRE_FD, &m, LIMIT_FRAME, LONG_MS, NULL) == ERR_NONE) {
        misbehave(how);
        bool capture = json_is_true(json_object_get(m.json, "capture"));
        if (capture)
            wire_send(WIRE_FD, FRAME_CAPTURE, "seven b", 7, NULL, 0, LONG_MS, NULL);
        say("result", FRAME_RESULT);
        wire_message_release(&m);
    }
    return 0;
}

/* ---- the tests ---- */

static struct keeper_child child;
static struct keeper_end end;

static bool begin(int how)
{
    struct fault f = {0};
    end = (struct keeper_end){0};
    assert_int_equal(keeper_child_start(&child, "runner", how, &f), ERR_NONE);
    return keeper_child_ready(&child, how == SILENT ? SHORT_MS : LONG_MS, NULL, &end);
}

static json_t *ask(int64_t timeout_ms, const struct keeper_watch *watch, struct buf *capture)
{
    struct keeper_ask a = {.request =
                               json_pack("{s:s, s:b}", "op", "x", "capture", capture != NULL)};
    struct keeper_wait w = {.timeout_ms = timeout_ms, .watch = watch, .capture = capture};
    return keeper_child_ask(&child, &a, &w, &end);
}

static void finish(void)
{
    keeper_child_stop(&child);
    keeper_end_release(&end);
    assert_int_equal(child.pid, 0);
}

static void a_good_one_answers(void **state)
{
    (void)state;
    struct buf capture;
    buf_init(&capture, LIMIT_CAPTURE);
    assert_true(begin(GOOD));
    json_t *answer = ask(LONG_MS, NULL, &capture);
    assert_non_null(answer);
    assert_int_equal(capture.len, 7);
    json_decref(answer);
    buf_release(&capture);
    assert_true(keeper_child_alive(&child));
    finish();
}

static void several_are_asked_before_the_first_answers(void **state)
{
    (void)state;
    struct keeper_wait w = {.timeout_ms = LONG_MS};
    assert_true(begin(GOOD));
    for (int i = 0; i < 40; i++) {
        struct keeper_ask a = {.request = json_pack("{s:s}", "op", "x")};
        assert_true(keeper_child_send(&child, &a, &end));
    }
    for (int i = 0; i < 40; i++) {
        json_t *answer = keeper_child_receive(&child, &w, &end);
        assert_non_null(answer);
        json_decref(answer);
    }
    finish();
}

/* How a process ends that misbehaves when it is asked. */
static void ends(int how, enum verdict verdict, const char *words)
{
    assert_true(begin(how));
    int64_t start = now_ms();
    json_t *answer = ask(how == HANGS ? SHORT_MS : LONG_MS, NULL, NULL);
    assert_null(answer);
    assert_int_equal(end.verdict, verdict);
    if (!strstr(end.detail, words))
        fail_msg("\"%s\" does not say \"%s\"", end.detail, words);
    assert_true(now_ms() - start < LONG_MS / 2);
    finish();
}

static void misbehaviour_costs_one_process(void **state)
{
    (void)state;
    ends(DIES, VERDICT_INFRA_ERROR, "");
    ends(GARBAGE, VERDICT_INFRA_ERROR, "cannot read a frame");
    ends(HANGS, VERDICT_TIMEOUT, "too long");
    ends(CUTS, VERDICT_INFRA_ERROR, "too long");
    ends(NONSENSE, VERDICT_INFRA_ERROR, "nonsense");
    ends(FAULTS, VERDICT_RUNTIME_ERROR, "assert: x");
}

static void one_that_does_not_start_says_why(void **state)
{
    (void)state;
    assert_false(begin(FAILS));
    assert_int_equal(end.verdict, VERDICT_INFRA_ERROR);
    assert_non_null(strstr(end.detail, "on purpose"));
    finish();
    assert_false(begin(SILENT));
    assert_int_equal(end.verdict, VERDICT_INFRA_ERROR);
    assert_non_null(strstr(end.detail, "in time"));
    finish();
}

static void what_is_printed_is_kept_up_to_a_limit(void **state)
{
    (void)state;
    struct buf printed;
    buf_init(&printed, LIMIT_LOG);
    assert_true(begin(FLOODS));
    json_t *answer = ask(LONG_MS, NULL, NULL);
    assert_non_null(answer); /* it was not stuck on a full pipe */
    json_decref(answer);
    keeper_child_take_printed(&child, &printed);
    assert_int_equal(printed.len, LIMIT_LOG);
    assert_memory_equal(printed.data, "0123456789abcde\n0123", 20);
    buf_release(&printed);
    finish();
}

static void nobody_waits_for_one_who_is_gone(void **state)
{
    (void)state;
    int ends_of[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_of), 0);
    struct keeper_watch watch = {{ends_of[0]}, 1};
    assert_false(keeper_watch_ended(&watch));
    assert_true(begin(HANGS));
    close(ends_of[1]);
    assert_true(keeper_watch_ended(&watch));
    assert_null(ask(LONG_MS, &watch, NULL));
    assert_int_equal(end.verdict, VERDICT_CANCELLED);
    close(ends_of[0]);
    finish();
}

static void a_dead_one_is_known_to_be_dead(void **state)
{
    (void)state;
    assert_true(begin(GOOD));
    pid_t pid = child.pid;
    keeper_child_kill(&child);
    for (int i = 0; i < 200 && keeper_child_alive(&child); i++)
        usleep(10000);
    assert_false(keeper_child_alive(&child));
    assert_int_equal(kill(pid, 0), -1);
    finish();
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    int device = as_gpu_device(argc, argv);
    if (device >= 0)
        return play(device);
    as_gpu_make();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_one_answers),
        cmocka_unit_test(several_are_asked_before_the_first_answers),
        cmocka_unit_test(misbehaviour_costs_one_process),
        cmocka_unit_test(one_that_does_not_start_says_why),
        cmocka_unit_test(what_is_printed_is_kept_up_to_a_limit),
        cmocka_unit_test(nobody_waits_for_one_who_is_gone),
        cmocka_unit_test(a_dead_one_is_known_to_be_dead),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    as_gpu_remove();
    return failed;
}
#else
int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
