/* SPDX-License-Identifier: Apache-2.0
 * evaluator/child: this program is its own child. Run with an argument it plays one part. */
#include "evaluator/child.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/util.h"

extern char **environ;

/* ---- the parts ---- */

/* Answers every frame with the same frame, writing while the parent still writes. */
static int play_echo(void)
{
    enum frame_kind kind;
    char *data;
    size_t len;
    while (frame_read(0, &kind, &data, &len, NULL) == ERR_NONE) {
        if (!frame_write(CHILD_ANSWER_FD, kind, data, len))
            return 2;
        free(data);
    }
    return 0;
}

/* Prints its environment and open descriptors. */
static int play_look(void)
{
    for (char **e = environ; *e; e++)
        printf("env %s\n", *e);
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("fd %d\n", fd);
    int death = 0;
    prctl(PR_GET_PDEATHSIG, &death);
    printf("pdeathsig %d session %d group %d\n", death, getsid(0) == getpid(),
           getpgrp() == getpid());
    fflush(stdout);
    return 7;
}

static int play_flood(void)
{
    char text[4096];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 4096; i++)
        if (!write_all(2, text, sizeof text))
            return 1;
    return 0;
}

static int play_frames(void)
{
    static char big[MIB];
    while (frame_write(CHILD_ANSWER_FD, FRAME_LOG, big, sizeof big))
        ;
    return 0;
}

static int play_garbage(void)
{
    return write_all(CHILD_ANSWER_FD, "this is no frame at all", 23) ? 0 : 1;
}

static int play_sleep(void)
{
    sleep(100);
    return 0;
}

/* Leaves a grandchild that holds every pipe. */
static int play_orphan(void)
{
    if (fork() == 0) {
        char text[32];
        snprintf(text, sizeof text, "%d", (int)getpid());
        frame_write(CHILD_ANSWER_FD, FRAME_RESULT, text, strlen(text));
        sleep(100);
    }
    usleep(200 * 1000);
    return 0;
}

static int play_eat(void)
{
    char *volatile p = malloc((size_t)400 * MIB);
    for (size_t i = 0; p && i < (size_t)400 * MIB; i += 4096)
        p[i] = 1;
    sleep(100);
    return 0;
}

static int play_abort(void)
{
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    return 0;
}

/* A parent that is to be killed: starts `sleep`, says its pid, waits. */
static int play_parent(void);

static const struct part {
    const char *name;
    int (*play)(void);
} parts[] = {
    {"echo", play_echo},     {"look", play_look},       {"flood", play_flood},
    {"frames", play_frames}, {"garbage", play_garbage}, {"sleep", play_sleep},
    {"orphan", play_orphan}, {"eat", play_eat},         {"abort", play_abort},
    {"parent", play_parent},
};

/* ---- helpers ---- */

static char self_name[256];

static struct child_spec spec_of(const char *const *arguments)
{
    return (struct child_spec){.program = self_name,
                               .arguments = arguments,
                               .timeout_ms = 20000,
                               .output_max = 256 * (size_t)MIB,
                               .log_max = 64 * KIB,
                               .wake_fd = -1};
}

#define PART(name) ((const char *const[]){name, NULL})

struct taken {
    struct buf last;
    size_t frames, bytes;
};

static bool take(const struct frame *frame, void *arg)
{
    struct taken *t = arg;
    t->frames++;
    t->bytes += frame->len;
    buf_clear(&t->last);
    buf_add(&t->last, frame->data, frame->len);
    return true;
}

static int play_parent(void)
{
    const char *const *arguments = PART("sleep");
    struct child_spec spec = spec_of(arguments);
    struct child_result result;
    pid_t pid = fork(); /* the child of a child_run caller: find its child through /proc */
    if (pid == 0) {
        child_run(&spec, &result, NULL);
        _exit(0);
    }
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    for (int i = 0; i < 100 && !strchr(text, ' '); i++) {
        usleep(20 * 1000);
        FILE *file = fopen(path, "r");
        if (file && !fgets(text, sizeof text, file))
            text[0] = '\0';
        if (file)
            fclose(file);
    }
    usleep(100 * 1000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return frame_write(CHILD_ANSWER_FD, FRAME_RESULT, text, strlen(text)) ? 0 : 1;
}

static bool gone_soon(pid_t pid)
{
    for (int i = 0; i < 100; i++) {
        char path[64], line[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "r");
        if (!file)
            return true;
        bool read = fgets(line, sizeof line, file) != NULL;
        fclose(file);
        const char *state = read ? strrchr(line, ')') : NULL;
        if (!state || state[2] == 'Z') /* nobody may reap it here, but it is dead */
            return true;
        usleep(20 * 1000);
    }
    return false;
}

/* ---- tests ---- */

static void echoes_more_than_a_pipe_holds(void **state)
{
    (void)state;
    size_t len = 8 * (size_t)MIB;
    char *data = malloc(len);
    random_bytes(data, len);
    struct child_input input[] = {
        {FRAME_REQUEST, "{}", 2}, {FRAME_SOURCE, data, len}, {FRAME_PTX, data, len}};
    struct taken t = {0};
    buf_init(&t.last, len);
    struct child_spec spec = spec_of(PART("echo"));
    spec.input = input, spec.input_count = 3, spec.on_frame = take, spec.arg = &t;
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.end, CHILD_EXITED);
    assert_int_equal(r.code, 0);
    assert_int_equal(t.frames, 3);
    assert_int_equal(t.last.len, len);
    assert_memory_equal(t.last.data, data, len);
    child_result_release(&r);
    buf_release(&t.last);
    free(data);
}

static void child_sees_nothing_of_ours(void **state)
{
    (void)state;
    setenv("SECRET", "do not tell", 1);
    int extra = open("/dev/null", O_RDONLY); /* not close-on-exec, on purpose */
    struct child_spec spec = spec_of(PART("look"));
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.code, 7);
    assert_null(strstr(r.log.data, "SECRET"));
    assert_null(strstr(r.log.data, "PATH="));
    assert_non_null(strstr(r.log.data, "env PTXBENCH_BIN="));
    assert_non_null(strstr(r.log.data, "fd 3\n"));
    assert_null(strstr(r.log.data, "fd 4\n"));
    assert_non_null(strstr(r.log.data, "pdeathsig 9 session 1 group 1"));
    child_result_release(&r);
    close(extra);
}

static void log_is_capped(void **state)
{
    (void)state;
    struct child_spec spec = spec_of(PART("flood"));
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.end, CHILD_EXITED);
    assert_int_equal(r.log.len, 64 * KIB);
    assert_true(r.log_cut);
    child_result_release(&r);
}

static void ends_as(const char *part, enum child_end end, struct child_spec spec, const char *says)
{
    spec.arguments = PART(part);
    struct child_result r;
    int64_t begin = now_ms();
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.end, end);
    assert_true(now_ms() - begin < 10000);
    char text[128];
    assert_non_null(strstr(child_describe(&r, text, sizeof text), says));
    child_result_release(&r);
}

static void limits_end_the_child(void **state)
{
    (void)state;
    struct child_spec spec = spec_of(NULL);
    spec.output_max = 4 * MIB;
    ends_as("frames", CHILD_BAD_OUTPUT, spec, "not an answer");
    ends_as("garbage", CHILD_BAD_OUTPUT, spec, "not an answer");
    spec.timeout_ms = 200;
    ends_as("sleep", CHILD_TIMED_OUT, spec, "deadline");
    spec.timeout_ms = 20000;
    ends_as("abort", CHILD_SIGNALLED, spec, "signal 6");
    spec.memory_bytes = 200 * (int64_t)MIB;
    ends_as("eat", CHILD_OUT_OF_MEMORY, spec, "memory");
}

static bool refuse(const struct frame *frame, void *arg)
{
    (void)frame, (void)arg;
    return false;
}

static void caller_can_refuse_a_frame(void **state)
{
    (void)state;
    struct child_spec spec = spec_of(PART("orphan"));
    spec.on_frame = refuse;
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.end, CHILD_BAD_OUTPUT);
    child_result_release(&r);
}

static bool read_wake(void *arg)
{
    char byte;
    return read(*(int *)arg, &byte, 1) != 1;
}

static void a_wake_cancels(void **state)
{
    (void)state;
    int wake[2];
    assert_int_equal(pipe2(wake, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(write(wake[1], "x", 1), 1);
    struct child_spec spec = spec_of(PART("sleep"));
    spec.wake_fd = wake[0], spec.tick = read_wake, spec.arg = &wake[0];
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.end, CHILD_CANCELLED);
    assert_true(r.wall_ms < 5000);
    child_result_release(&r);
    close(wake[0]), close(wake[1]);
}

static void grandchildren_do_not_outlive_it(void **state)
{
    (void)state;
    struct taken t = {0};
    buf_init(&t.last, KIB);
    struct child_spec spec = spec_of(PART("orphan"));
    spec.on_frame = take, spec.arg = &t;
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.end, CHILD_EXITED);
    assert_true(r.wall_ms < 10000);
    assert_int_equal(t.frames, 1);
    assert_true(gone_soon((pid_t)strtol(t.last.data, NULL, 10)));
    child_result_release(&r);
    buf_release(&t.last);
}

static void dies_with_its_parent(void **state)
{
    (void)state;
    struct taken t = {0};
    buf_init(&t.last, KIB);
    struct child_spec spec = spec_of(PART("parent"));
    spec.on_frame = take, spec.arg = &t;
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(t.frames, 1);
    pid_t pid = (pid_t)strtol(t.last.data, NULL, 10);
    assert_true(pid > 1);
    assert_true(gone_soon(pid));
    child_result_release(&r);
    buf_release(&t.last);
}

static void held_stdin_stays_open(void **state)
{
    (void)state;
    struct child_input input[] = {{FRAME_REQUEST, "{}", 2}};
    struct child_spec spec = spec_of(PART("echo"));
    spec.input = input, spec.input_count = 1, spec.hold_input = true, spec.timeout_ms = 300;
    struct child_result r;
    assert_int_equal(child_run(&spec, &r, NULL), ERR_NONE);
    assert_int_equal(r.end, CHILD_TIMED_OUT);
    child_result_release(&r);
}

static void a_missing_program_is_an_error(void **state)
{
    (void)state;
    struct child_spec spec = spec_of(NULL);
    spec.program = "no-such-program";
    struct child_result r;
    struct fault f;
    assert_int_equal(child_run(&spec, &r, &f), ERR_INTERNAL);
    assert_non_null(strstr(f.detail, "No such file"));
    child_result_release(&r);
}

/* Input that comes while the child already works, an answer that nobody reads until then, and one
 * that is given up. */
static void a_child_starts_before_all_its_input_is_there(void **state)
{
    (void)state;
    struct taken t = {0};
    buf_init(&t.last, MIB);
    char *late = calloc(1, MIB / 2);
    const struct child_input first[] = {{FRAME_PTX, "first", 5}};
    struct child_spec spec = spec_of(PART("echo"));
    spec.input = first, spec.input_count = 1, spec.on_frame = take, spec.arg = &t;
    struct child *c = child_start(&spec, NULL);
    assert_non_null(c);
    assert_non_null(late);
    usleep(50 * 1000);
    assert_int_equal(t.frames, 0);
    for (int i = 0; i < 4; i++)
        assert_true(child_add(c, FRAME_SOURCE, late, MIB / 2));
    struct child_result r;
    child_wait(c, &r);
    assert_int_equal(r.end, CHILD_EXITED);
    assert_int_equal(r.code, 0);
    assert_int_equal(t.frames, 5);
    assert_int_equal(t.bytes, 5 + 2 * MIB);
    assert_int_equal(t.last.len, MIB / 2);
    child_result_release(&r);
    child_free(c);
    spec = spec_of(PART("sleep"));
    int64_t begin = now_ms();
    c = child_start(&spec, NULL);
    assert_non_null(c);
    child_free(c);
    assert_true(now_ms() - begin < 10000);
    buf_release(&t.last);
    free(late);
}

int main(int argc, char **argv)
{
    char path[512];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return 1;
    snprintf(self_name, sizeof self_name, "%s", slash + 1);
    *slash = '\0';
    setenv("PTXBENCH_BIN", path, 1);
    for (size_t i = 0; argc > 1 && i < COUNT_OF(parts); i++)
        if (!strcmp(argv[1], parts[i].name))
            _exit(parts[i].play());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(echoes_more_than_a_pipe_holds),
        cmocka_unit_test(child_sees_nothing_of_ours),
        cmocka_unit_test(log_is_capped),
        cmocka_unit_test(limits_end_the_child),
        cmocka_unit_test(caller_can_refuse_a_frame),
        cmocka_unit_test(a_wake_cancels),
        cmocka_unit_test(grandchildren_do_not_outlive_it),
        cmocka_unit_test(dies_with_its_parent),
        cmocka_unit_test(held_stdin_stays_open),
        cmocka_unit_test(a_missing_program_is_an_error),
        cmocka_unit_test(a_child_starts_before_all_its_input_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
