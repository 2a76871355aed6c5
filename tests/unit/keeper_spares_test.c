// SPDX-License-Identifier: Apache-2.0
// Spare processes: this very program plays ptxbench-gpu and is ready, fails or keeps silent as the
// number of its device says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#ifdef HAVE_CUDA
#include "core/util.h"
#include "evaluator/cuda/keeper_spares.h"
#include "tests/unit/as_gpu.h"

enum behaviour { READY, FAILS, SILENT };
enum { ANSWER_MS = 30000 };

static int play(enum behaviour behaviour)
{
    json_t *event = json_pack("{s:s, s:s}", "kind", behaviour == FAILS ? "failed" : "ready",
                              "detail", "on purpose");
    if (behaviour != SILENT)
        wire_send_json(WIRE_FD, FRAME_EVENT, event, NULL, 0, ANSWER_MS, NULL);
    json_decref(event);
    if (behaviour != FAILS)
        pause();
    return 1;
}

static pid_t take(struct keeper_spares *s, enum keeper_role role)
{
    struct keeper_child c;
    struct keeper_end end = {0};
    assert_true(keeper_spares_take(s, role, NULL, &c, &end));
    assert_non_null(c.ready);
    pid_t pid = c.pid;
    keeper_child_stop(&c);
    return pid;
}

static void two_in_a_row_are_there(void **state)
{
    (void)state;
    struct keeper_spares s;
    keeper_spares_init(&s, READY);
    keeper_spares_start(&s);
    keeper_spares_settle(&s, NULL);
    assert_true(keeper_spares_ready(&s));
    for (int role = 0; role < KEEPER_ROLES; role++) {
        pid_t first = s.children[role][0].pid, second = s.children[role][1].pid;
        assert_int_equal(take(&s, (enum keeper_role)role), first);
        assert_int_equal(take(&s, (enum keeper_role)role), second);
        pid_t third = take(&s, (enum keeper_role)role); /* started now */
        assert_true(third != first && third != second);
    }
    keeper_spares_stop(&s);
}

static void one_that_is_ready_goes_first(void **state)
{
    (void)state;
    struct keeper_spares s;
    keeper_spares_init(&s, READY);
    keeper_spares_start(&s);
    keeper_spares_settle(&s, NULL);
    pid_t second = s.children[KEEPER_RUNNER][1].pid;
    s.ordinal = SILENT; /* the one in place of the first never gets ready */
    take(&s, KEEPER_RUNNER);
    keeper_spares_start(&s);
    assert_false(keeper_spares_ready(&s));
    assert_int_equal(take(&s, KEEPER_RUNNER), second);
    keeper_spares_stop(&s);
}

static void one_that_has_ended_is_replaced(void **state)
{
    (void)state;
    struct keeper_spares s;
    keeper_spares_init(&s, READY);
    keeper_spares_start(&s);
    keeper_spares_settle(&s, NULL);
    pid_t first = s.children[KEEPER_RUNNER][0].pid, second = s.children[KEEPER_RUNNER][1].pid;
    keeper_child_stop(&s.children[KEEPER_RUNNER][0]);
    assert_int_equal(kill(second, SIGKILL), 0);
    for (int i = 0; i < 500 && keeper_child_alive(&s.children[KEEPER_RUNNER][1]); i++)
        usleep(10000);
    pid_t third = take(&s, KEEPER_RUNNER);
    assert_true(third != first && third != second);
    keeper_spares_stop(&s);
}

static void one_that_fails_says_why(void **state)
{
    (void)state;
    struct keeper_spares s;
    struct keeper_child c;
    struct keeper_end end = {0};
    keeper_spares_init(&s, FAILS);
    keeper_spares_start(&s);
    for (int i = 0; i < 500 && !keeper_spares_ready(&s); i++) /* failed is done as well */
        usleep(10000);
    assert_true(keeper_spares_ready(&s));
    assert_false(keeper_spares_take(&s, KEEPER_VERIFIER, NULL, &c, &end));
    assert_int_equal(end.verdict, VERDICT_INFRA_ERROR);
    assert_non_null(strstr(end.detail, "on purpose"));
    keeper_end_release(&end);
    keeper_spares_stop(&s);
}

int main(int argc, char **argv)
{
    int device = as_gpu_device(argc, argv);
    if (device >= 0)
        return play((enum behaviour)device);
    as_gpu_make();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_in_a_row_are_there),
        cmocka_unit_test(one_that_is_ready_goes_first),
        cmocka_unit_test(one_that_has_ended_is_replaced),
        cmocka_unit_test(one_that_fails_says_why),
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
