// SPDX-License-Identifier: Apache-2.0
/* The owner's side of a keeper against a fake one: it becomes ready, fails, dies, hangs, babbles; no
 * process and no descriptor is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "evaluator/keeper.h"
#include "evaluator/keeper_line.h"
#include "fake_bin.h"

enum { SOON_MS = 20000 };

static int open_count(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* Waits until listening says that it is over. */
static enum err listen_to_the_end(struct keeper *k, struct fault *f)
{
    enum err e = ERR_NONE;
    for (int64_t end = now_ms() + SOON_MS; e == ERR_NONE && now_ms() < end; usleep(10000))
        e = keeper_listen(k, f);
    return e;
}

static void it_becomes_ready(void **state)
{
    (void)state;
    struct keeper k;
    struct fault f = {0};
    int before = open_count();
    assert_int_equal(keeper_start(&k, 3, &f), ERR_NONE);
    assert_int_equal(keeper_wait(&k, SOON_MS, &f), ERR_NONE);
    assert_string_equal(json_string_value(json_object_get(k.device, "name")), "NVIDIA H200");
    assert_int_equal(json_integer_value(json_object_get(k.device, "sm")), 90);
    for (int64_t end = now_ms() + SOON_MS; !k.health && now_ms() < end; usleep(10000))
        assert_int_equal(keeper_listen(&k, &f), ERR_NONE);
    assert_string_equal(json_string_value(json_object_get(k.health, "state")), "ok");
    pid_t pid = k.pid;
    int64_t start = now_ms();
    keeper_stop(&k);
    assert_true(now_ms() - start < 1500); /* it ends by itself once asked */
    assert_true(is_gone(pid));
    assert_int_equal(open_count(), before);
    keeper_stop(&k);
    keeper_stop(&(struct keeper){0});
    assert_int_equal(open_count(), before);
}

static void what_goes_wrong_at_the_start_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *act, *said;
        enum err err;
        int wait_ms;
    } rows[] = {
        {"failed", "cannot load the CUDA driver", ERR_UNAVAILABLE, SOON_MS},
        {"die", "ended with status 9", ERR_UNAVAILABLE, SOON_MS},
        {"hang", "was not ready", ERR_DEADLINE, 300},
        {"garbage", "makes no sense", ERR_BAD_REQUEST, SOON_MS},
    };
    int before = open_count();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct keeper k;
        struct fault f = {0};
        fake_say("start", rows[i].act);
        assert_int_equal(keeper_start(&k, 0, &f), ERR_NONE);
        assert_int_equal(keeper_wait(&k, rows[i].wait_ms, &f), rows[i].err);
        assert_non_null(strstr(f.detail, rows[i].said));
        pid_t pid = k.pid;
        keeper_stop(&k);
        assert_true(is_gone(pid));
        fake_reset();
    }
    assert_int_equal(open_count(), before);
}

static void a_keeper_that_is_killed_is_noticed(void **state)
{
    (void)state;
    struct keeper k;
    struct fault f = {0};
    assert_int_equal(keeper_start(&k, 0, &f), ERR_NONE);
    assert_int_equal(keeper_wait(&k, SOON_MS, &f), ERR_NONE);
    kill(k.pid, SIGKILL);
    assert_int_equal(listen_to_the_end(&k, &f), ERR_UNAVAILABLE);
    assert_non_null(strstr(f.detail, "killed by signal 9"));
    int fd;
    assert_int_not_equal(keeper_connect(&k, &fd, &f), ERR_NONE);
    assert_int_equal(fd, -1);
    keeper_stop(&k);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* One connection, asked once. */
static void ask_once(struct keeper *k, const char *op, const struct keeper_wait_spec *spec,
                     struct outcome *out)
{
    int fd;
    assert_int_equal(keeper_connect(k, &fd, NULL), ERR_NONE);
    struct keeper_line *line = keeper_line_new(fd);
    json_t *request = json_pack("{s:s, s:i}", "op", op, "ms", 1000);
    keeper_line_ask(line, request, NULL, spec, out);
    json_decref(request);
    keeper_line_free(line);
}

static void a_line_gives_an_outcome_whatever_happens(void **state)
{
    (void)state;
    static const struct {
        const char *act;
        enum verdict verdict;
        const char *detail;
        struct keeper_wait_spec spec;
    } rows[] = {
        {"", VERDICT_PASSED, "", {.silence_ms = SOON_MS}},
        {"wrong", VERDICT_INCORRECT_NUMERICAL, "7 of 64", {.silence_ms = SOON_MS}},
        {"sick", VERDICT_INFRA_ERROR, "the context is lost", {.silence_ms = SOON_MS}},
        {"die", VERDICT_INFRA_ERROR, "it ended", {.silence_ms = SOON_MS}},
        {"garbage", VERDICT_INFRA_ERROR, "makes no sense", {.silence_ms = SOON_MS}},
        {"hang", VERDICT_INFRA_ERROR, "it hangs", {.silence_ms = 300}},
        {"hang", VERDICT_CANCELLED, "cancelled", {.tick = never}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct keeper k;
        struct outcome out;
        fake_say("check", *rows[i].act ? rows[i].act : NULL);
        assert_int_equal(keeper_start(&k, 0, NULL), ERR_NONE); /* not waited for: it may come later */
        ask_once(&k, "check", &rows[i].spec, &out);
        assert_int_equal(out.verdict, rows[i].verdict);
        assert_non_null(strstr(out.detail, rows[i].detail));
        assert_int_equal(out.log.len, rows[i].verdict == VERDICT_PASSED ? 6 : 0);
        outcome_release(&out);
        keeper_stop(&k);
        fake_reset();
    }
}

/* The second connection waits for the first to close. */
static void connections_are_served_in_turn(void **state)
{
    (void)state;
    struct keeper k;
    struct outcome out;
    int first, second;
    const struct keeper_wait_spec spec = {.silence_ms = SOON_MS};
    assert_int_equal(keeper_start(&k, 0, NULL), ERR_NONE);
    assert_int_equal(keeper_connect(&k, &first, NULL), ERR_NONE);
    assert_int_equal(keeper_connect(&k, &second, NULL), ERR_NONE);
    struct keeper_line *a = keeper_line_new(first), *b = keeper_line_new(second);
    json_t *request = json_pack("{s:s, s:i}", "op", "check", "ms", 1000);
    keeper_line_ask(b, request, NULL, &(struct keeper_wait_spec){.silence_ms = 300}, &out);
    assert_int_equal(out.verdict, VERDICT_INFRA_ERROR);
    outcome_release(&out);
    keeper_line_ask(a, request, NULL, &spec, &out);
    assert_int_equal(out.verdict, VERDICT_PASSED);
    outcome_release(&out);
    keeper_line_free(a);
    keeper_line_free(b);
    ask_once(&k, "check", &spec, &out); /* and goes on */
    assert_int_equal(out.verdict, VERDICT_PASSED);
    outcome_release(&out);
    json_decref(request);
    keeper_stop(&k);
}

static void a_missing_program_is_said(void **state)
{
    (void)state;
    struct keeper k;
    struct fault f = {0};
    char path[512], aside[512];
    snprintf(path, sizeof(path), "%s/ptxbench-keeper", fake_bin);
    snprintf(aside, sizeof(aside), "%s/aside", fake_bin);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(keeper_start(&k, 0, &f), ERR_UNAVAILABLE);
    assert_non_null(strstr(f.detail, "ptxbench-keeper"));
    assert_int_equal(rename(aside, path), 0);
    keeper_stop(&k);
}

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    return fake_bin_make() ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    fake_bin_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_becomes_ready),
        cmocka_unit_test(what_goes_wrong_at_the_start_is_told),
        cmocka_unit_test(a_keeper_that_is_killed_is_noticed),
        cmocka_unit_test(a_line_gives_an_outcome_whatever_happens),
        cmocka_unit_test(connections_are_served_in_turn),
        cmocka_unit_test(a_missing_program_is_said),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
