// SPDX-License-Identifier: Apache-2.0
// The keeper from "open" to "verify" without a GPU: its own code over a driver in host memory, and
// in the place of runners and verifiers this very program, which computes the tiny gemm honestly or
// cheats in the way that the number of its device says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef HAVE_CUDA
#include "evaluator/cuda/keeper_job.h"
#include "tests/unit/as_gpu.h"
#include "tests/unit/fake_runner.h"
#include "tests/unit/tiny_home.h"

enum { RUN_MS = 20 * 1000, ENDLESS_RUN_MS = 1000 };

/* ---- the keeper ---- */

static struct keeper_process process;

static void oracle(void **arguments)
{
    multiply(fake_at(*(CUdeviceptr *)arguments[0]), fake_at(*(CUdeviceptr *)arguments[1]),
             fake_at(*(CUdeviceptr *)arguments[2]), true);
}

static void fill_oracle(void)
{
    struct oracle_code *code = &process.cache.codes[0];
    *code = (struct oracle_code){.problem = &process.registry.problems.items[0],
                                 .symbols = json_pack("{s:s}", "gemm_oracle", "gemm_oracle")};
    buf_init(&code->cubin, LIMIT_CUBIN);
    buf_adds(&code->cubin, "cubin");
}

/* A keeper on the fake device; its oracle is compiled already. */
static void open_keeper(enum behaviour behaviour, int owner[2])
{
    struct fault f = {0};
    char name[40];
    process = (struct keeper_process){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, owner), 0);
    process.control = owner[0];
    assert_int_equal(registry_load(&process.registry, home_dir(), &f), ERR_NONE);
    process.gpu = (struct keeper_gpu){.ordinal = (int)behaviour,
                                      .device.granule = FAKE_GRANULE,
                                      .arch = archs_find(&process.registry.archs, "sm_90a"),
                                      .flops_per_s = 1e15,
                                      .bytes_per_s = 4e12};
    fake_driver(&process.gpu.kernels, oracle);
    snprintf(name, sizeof(name), "test-%ld", (long)getpid());
    assert_int_equal(device_lock_open(&process.gpu.lock, name, &f), ERR_NONE);
    assert_int_equal(
        keeper_cache_init(&process.cache, &process.gpu, &process.registry.problems, &f), ERR_NONE);
    fill_oracle();
    keeper_spares_init(&process.spares, (int)behaviour);
}

static void remove_lock(const char *what)
{
    char path[80];
    snprintf(path, sizeof(path), "/tmp/ptxbench-gpu-test-%ld.%s", (long)getpid(), what);
    unlink(path);
}

static void close_keeper(int owner[2])
{
    keeper_spares_stop(&process.spares);
    keeper_cache_release(&process.cache);
    fake_free(process.gpu.kernels.counts);
    fake_free(process.gpu.kernels.places);
    device_lock_close(&process.gpu.lock);
    registry_release(&process.registry);
    close(owner[0]);
    close(owner[1]);
}

/* ---- its client, in a thread ---- */

enum { OPEN, CHECK, TIME, VERIFY, OPERATIONS };
static const char *const names[] = {"open", "check", "time", "verify"};

struct client {
    int fd, last;
    size_t more;                 /* launches of the plan beside the first */
    json_t *results[OPERATIONS]; /* NULL: not reached */
    size_t progress;
};

static json_t *receive(struct client *c)
{
    for (;;) {
        struct wire_message m;
        json_t *result = NULL;
        bool ok = wire_receive(c->fd, &m, LIMIT_FRAME, ANSWER_MS, NULL) == ERR_NONE;
        c->progress += ok && m.kind == FRAME_EVENT;
        if (ok && m.kind == FRAME_RESULT)
            result = json_incref(m.json);
        wire_message_release(&m);
        if (result || !ok)
            return result;
    }
}

/* What a run may take: long, on a busy machine, but where it is waited for. */
static int run_ms(void)
{
    return process.gpu.ordinal == NEVER_ENDS ? ENDLESS_RUN_MS : RUN_MS;
}

static void *client(void *arg)
{
    struct client *c = arg;
    bool going = true;
    for (int i = OPEN; going && i <= c->last; i++) {
        json_t *request = json_pack(
            "{s:s, s:i, s:s, s:s, s:s, s:{}, s:{s:[{s:s, s:[i], s:[i], s:[]}]}}", "op", names[i],
            "ms", run_ms(), "problem", "gemm", "workload", "tiny", "arch", "sm_90a", "symbols",
            "launch", "launches", "kernel", "k", "grid", 1, "block", 32, "args");
        json_t *launches = json_object_get(json_object_get(request, "launch"), "launches");
        for (size_t n = 0; n < c->more; n++)
            json_array_append_new(launches, json_deep_copy(json_array_get(launches, 0)));
        wire_send_json(c->fd, FRAME_REQUEST, request, NULL, 0, ANSWER_MS, NULL);
        json_decref(request);
        if (i == OPEN)
            wire_send(c->fd, FRAME_CUBIN, "cubin", 5, NULL, 0, ANSWER_MS, NULL);
        c->results[i] = receive(c);
        const char *verdict = json_string_value(json_object_get(c->results[i], "verdict"));
        going = verdict && !strcmp(verdict, "PASSED");
    }
    close(c->fd);
    return NULL;
}

/* One submission on the keeper that is open, of a plan with `more` launches beside the first. */
static void submit_plan(struct client *c, size_t more, int last)
{
    int ends[2];
    pthread_t thread;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *c = (struct client){.fd = ends[1], .last = last, .more = more};
    assert_int_equal(pthread_create(&thread, NULL, client, c), 0);
    keeper_job_run(&process, ends[0]);
    pthread_join(thread, NULL);
}

static void submit(struct client *c, int last)
{
    submit_plan(c, 0, last);
}

static void client_release(struct client *c)
{
    for (int i = 0; i < OPERATIONS; i++)
        json_decref(c->results[i]);
}

static const json_t *member(const struct client *c, int operation, const char *name)
{
    return json_object_get(c->results[operation], name);
}

static void expect(const struct client *c, int operation, const char *verdict, const char *words)
{
    const char *got = json_string_value(member(c, operation, "verdict"));
    const char *detail = json_string_value(member(c, operation, "detail"));
    assert_non_null(got);
    if (strcmp(got, verdict) != 0 || !strstr(detail, words))
        fail_msg("%s: %s (%s) instead of %s (%s)", names[operation], got, detail, verdict, words);
    if (operation < VERIFY && strcmp(verdict, "PASSED") != 0)
        assert_null(c->results[operation + 1]);
}

/* A submission of that behaviour on a keeper of its own, up to `last`, which gives that verdict. */
static void behaves(enum behaviour behaviour, int last, const char *verdict, const char *words,
                    struct client *c)
{
    int owner[2];
    open_keeper(behaviour, owner);
    submit(c, last);
    close_keeper(owner);
    expect(c, last, verdict, words);
}

/* ---- the tests ---- */

static void an_honest_one_passes(void **state)
{
    (void)state;
    struct client c;
    behaves(HONEST, VERIFY, "PASSED", "", &c);
    const json_t *check = member(&c, CHECK, "check"), *timing = member(&c, TIME, "timing");
    assert_true(json_is_true(json_object_get(check, "paper")));
    assert_true(json_is_true(json_object_get(check, "strict")));
    assert_int_equal(json_array_size(json_object_get(check, "trials")), 2);
    assert_int_equal(json_array_size(json_object_get(check, "baseline")), 1);
    assert_int_equal(json_array_size(member(&c, CHECK, "seeds")), 2);
    assert_int_equal(json_integer_value(member(&c, CHECK, "flags")), 0);
    assert_float_equal(json_number_value(json_object_get(member(&c, TIME, "speedup"), "value")),
                       1.2, 1e-4);
    assert_int_equal(json_integer_value(json_object_get(timing, "blocks")), 33);
    assert_int_equal(json_integer_value(json_object_get(timing, "batches")), 5);
    assert_true(json_is_true(json_object_get(member(&c, VERIFY, "target"), "executed")));
    assert_string_equal(json_string_value(json_array_get(member(&c, VERIFY, "sandbox"), 0)),
                        "seccomp");
    assert_int_equal(c.progress, 2 + 3 + 4); /* distributions; ahead of the batches; batches */
    client_release(&c);
}

static void no_published_seed_is_used_again(void **state)
{
    (void)state;
    enum { TURNS = 7 };
    int owner[2];
    struct client c[TURNS];
    struct fault f = {0};
    json_t *seen = json_object();
    open_keeper(HONEST, owner);
    for (size_t i = 0; i < TURNS; i++) {
        submit(&c[i], CHECK);
        expect(&c[i], CHECK, "PASSED", "");
        const json_t *seeds = member(&c[i], CHECK, "seeds");
        for (size_t n = 0; n < json_array_size(seeds); n++)
            json_object_set_new(seen, json_string_value(json_array_get(seeds, n)), json_true());
        if (i % 2)
            assert_int_equal(keeper_cache_renew(&process.cache, &f), ERR_NONE);
    }
    assert_int_equal(json_object_size(seen), 2 * TURNS);
    assert_int_equal(process.cache.count, 1); /* the workload stayed */
    close_keeper(owner);
    for (size_t i = 0; i < TURNS; i++)
        client_release(&c[i]);
    json_decref(seen);
}

static void wrong_outputs_are_found(void **state)
{
    (void)state;
    struct client c;
    behaves(WRITES_ZEROES, CHECK, "INCORRECT_NUMERICAL", "elements are wrong on normal inputs", &c);
    assert_true(json_is_false(json_object_get(member(&c, CHECK, "check"), "paper")));
    client_release(&c);
    behaves(WRONG_WHEN_TIMED, TIME, "INCORRECT_NUMERICAL", "while it was timed", &c);
    client_release(&c);
    behaves(LATE, TIME, "INCORRECT_NUMERICAL", "were written later", &c);
    client_release(&c);
    behaves(VARIES, CHECK, "PASSED", "", &c);
    assert_true(json_integer_value(member(&c, CHECK, "flags")) & FLAG_nondeterministic);
    client_release(&c);
}

static void bad_accesses_are_laid_to_a_tensor(void **state)
{
    (void)state;
    struct client c;
    behaves(WRITES_BESIDE, CHECK, "RUNTIME_ERROR", "ahead of tensor C", &c);
    const json_t *found = json_array_get(member(&c, CHECK, "faults"), 0);
    assert_string_equal(json_string_value(json_object_get(found, "tensor")), "C");
    assert_int_equal(json_integer_value(json_object_get(found, "distance")), -1);
    client_release(&c);
    behaves(WRITES_AN_INPUT, CHECK, "RUNTIME_ERROR", "it writes to tensor B, which is an input",
            &c);
    found = json_array_get(member(&c, CHECK, "faults"), 0);
    assert_string_equal(json_string_value(json_object_get(found, "kind")), "illegal_access");
    assert_string_equal(json_string_value(json_object_get(found, "tensor")), "B");
    client_release(&c);
    behaves(READS_BEHIND_B, CHECK, "RUNTIME_ERROR", "it reaches behind the end of tensor B", &c);
    found = json_array_get(member(&c, CHECK, "faults"), 0);
    assert_string_equal(json_string_value(json_object_get(found, "tensor")), "B");
    client_release(&c);
    behaves(READS_ANYWHERE, CHECK, "RUNTIME_ERROR", "at an address that is not near a tensor", &c);
    found = json_array_get(member(&c, CHECK, "faults"), 0);
    assert_null(json_object_get(found, "tensor"));
    client_release(&c);
}

static void times_are_judged(void **state)
{
    (void)state;
    struct client c;
    behaves(IMPOSSIBLY_FAST, TIME, "IMPLAUSIBLE", "at best", &c);
    client_release(&c);
    behaves(SLOW, TIME, "PASSED", "", &c);
    assert_true(json_integer_value(json_object_get(member(&c, TIME, "timing"), "blocks")) > 30);
    client_release(&c);
    behaves(VERY_SLOW, TIME, "PASSED", "", &c);
    assert_int_equal(json_integer_value(json_object_get(member(&c, TIME, "timing"), "blocks")), 2);
    client_release(&c);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct client c;
    behaves(WITHOUT_BASELINE, TIME, "INFRA_ERROR", "there is no baseline", &c);
    assert_true(json_is_true(json_object_get(member(&c, CHECK, "check"), "paper")));
    client_release(&c);
    behaves(NO_VERIFIER, VERIFY, "PASSED", "", &c);
    const json_t *target = member(&c, VERIFY, "target");
    assert_true(json_is_null(json_object_get(target, "executed")));
    assert_non_null(
        strstr(json_string_value(json_object_get(target, "reason")), "no counters here"));
    client_release(&c);
}

static void every_launch_is_counted(void **state)
{
    (void)state;
    int owner[2];
    for (size_t launches = 1; launches <= 5; launches += 2) { /* more than there are spares */
        struct client c;
        open_keeper(HONEST, owner);
        submit_plan(&c, launches - 1, VERIFY);
        close_keeper(owner);
        expect(&c, VERIFY, "PASSED", "");
        const json_t *target = member(&c, VERIFY, "target");
        const json_t *gmma = json_object_get(json_object_get(target, "families"), "gmma");
        assert_int_equal(json_integer_value(json_object_get(gmma, "warps")), 4 * launches);
        assert_int_equal(json_integer_value(json_object_get(gmma, "threads")), 128 * launches);
        assert_true(json_is_true(json_object_get(target, "executed")));
        client_release(&c);
    }
}

static void a_runner_costs_one_submission(void **state)
{
    (void)state;
    struct client c;
    behaves(NEVER_ENDS, CHECK, "TIMEOUT", "one run of the plan did not end within 1000 ms", &c);
    client_release(&c);
    behaves(DIES_WHEN_TIMED, TIME, "INFRA_ERROR", "", &c);
    client_release(&c);
    int owner[2];
    open_keeper(NEVER_ENDS, owner);
    for (int i = 0; i < 2; i++) { /* the same keeper serves on */
        submit(&c, CHECK);
        expect(&c, CHECK, "TIMEOUT", "");
        client_release(&c);
    }
    close_keeper(owner);
}

/* What is asked wrongly is refused; nothing of it reaches a runner. */
static void requests_out_of_turn_are_refused(void **state)
{
    (void)state;
    int owner[2];
    struct client c;
    open_keeper(HONEST, owner);
    for (int i = 0; i < 2; i++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        json_t *request = i ? json_pack("{s:s}", "op", "check")
                            : json_pack("{s:s, s:s, s:s, s:s}", "op", "open", "problem", "gemm",
                                        "workload", "huge", "arch", "sm_90a");
        wire_send_json(ends[1], FRAME_REQUEST, request, NULL, 0, ANSWER_MS, NULL);
        wire_send(ends[1], FRAME_CUBIN, "x", 1, NULL, 0, ANSWER_MS, NULL);
        json_decref(request);
        keeper_job_run(&process, ends[0]);
        c = (struct client){.fd = ends[1], .results = {receive(&(struct client){.fd = ends[1]})}};
        expect(&c, OPEN, "INFRA_ERROR", i ? "no check here" : "no such workload");
        client_release(&c);
        close(ends[1]);
    }
    close_keeper(owner);
}

static void the_cache_makes_room(void **state)
{
    (void)state;
    int owner[2];
    struct fault f = {0};
    struct admit_sizes sizes;
    open_keeper(HONEST, owner);
    const struct problem *p = &process.registry.problems.items[0];
    const struct workload *one = &p->workloads[0], other = *one;
    keeper_task_sizes(&process.gpu, p, one, &sizes);
    int64_t whole = admit_bytes(&sizes, ADMIT_SLOTS_MAX);
    fake_free_bytes = (size_t)whole * 3 / 2; /* three quarters of that: room for one */
    struct keeper_task *t = keeper_cache_get(&process.cache, 0, p, one, &f);
    assert_non_null(t);
    assert_int_equal(t->slots, ADMIT_SLOTS_MAX);
    assert_ptr_equal(keeper_cache_get(&process.cache, 0, p, one, &f), t);
    t = keeper_cache_get(&process.cache, 0, p, &other, &f);
    assert_non_null(t);
    assert_ptr_equal(t->workload, &other);
    assert_int_equal(process.cache.count, 1); /* the first had to go */
    fake_free_bytes = 8 * (size_t)whole;
    assert_non_null(keeper_cache_get(&process.cache, 0, p, one, &f));
    assert_int_equal(process.cache.count, 2);
    keeper_cache_release(&process.cache);

    assert_int_equal(
        keeper_cache_init(&process.cache, &process.gpu, &process.registry.problems, &f), ERR_NONE);
    fill_oracle();
    fake_free_bytes = (size_t)admit_bytes(&sizes, 4) * 4 / 3 + 4;
    t = keeper_cache_get(&process.cache, 0, p, one, &f);
    assert_non_null(t);
    assert_int_equal(t->slots, 4);
    keeper_cache_release(&process.cache);

    assert_int_equal(
        keeper_cache_init(&process.cache, &process.gpu, &process.registry.problems, &f), ERR_NONE);
    fake_free_bytes = (size_t)whole / 16;
    assert_null(keeper_cache_get(&process.cache, 0, p, one, &f));
    assert_non_null(strstr(f.detail, "of device memory"));
    fake_free_bytes = (size_t)1 << 30;
    close_keeper(owner);
}

/* Whatever allocation fails, nothing is left behind and the next try works. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    int owner[2];
    struct fault f = {0};
    open_keeper(HONEST, owner);
    const struct problem *p = &process.registry.problems.items[0];
    long failures = 0;
    for (bool done = false; !done; failures++) {
        fake_fail_at = failures + 1;
        done = keeper_cache_get(&process.cache, 0, p, &p->workloads[0], &f) != NULL;
        done = done && fake_fail_at > 0; /* nothing was left to fail */
        if (!done)
            assert_int_equal(process.cache.count, 0);
        assert_true(failures < 1000);
    }
    fake_fail_at = 0;
    assert_true(failures > 100);
    assert_int_equal(process.cache.count, 1);
    close_keeper(owner);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    int device = as_gpu_device(argc, argv);
    if (device >= 0)
        return play(argv[1], device);
    if (!tiny_home_make())
        return 1;
    as_gpu_make();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_one_passes),
        cmocka_unit_test(no_published_seed_is_used_again),
        cmocka_unit_test(wrong_outputs_are_found),
        cmocka_unit_test(bad_accesses_are_laid_to_a_tensor),
        cmocka_unit_test(times_are_judged),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(every_launch_is_counted),
        cmocka_unit_test(a_runner_costs_one_submission),
        cmocka_unit_test(requests_out_of_turn_are_refused),
        cmocka_unit_test(the_cache_makes_room),
        cmocka_unit_test(every_allocation_may_fail),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_lock("lock");
    remove_lock("turn");
    as_gpu_remove();
    tiny_home_remove();
    return failed;
}
#else
#include <stdio.h>

int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
