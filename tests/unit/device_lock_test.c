// SPDX-License-Identifier: Apache-2.0
/* The lock that keepers of one device share: modes, deadline, turns, death, and what others may
 * have laid at its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef HAVE_CUDA
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/cuda/device_lock.h"

enum { SHORT_MS = 50, LONG_MS = 20000 };

static char uuid[UUID_TEXT], path[128], turn[128];

static int name_device(void **state)
{
    (void)state;
    uuid7(uuid);
    snprintf(path, sizeof(path), "/tmp/ptxbench-gpu-%s.lock", uuid);
    snprintf(turn, sizeof(turn), "/tmp/ptxbench-gpu-%s.turn", uuid);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(path);
    rmdir(path);
    unlink(turn);
    return 0;
}

static void must_open(struct device_lock *l)
{
    struct fault f = {0};
    if (device_lock_open(l, uuid, &f) != ERR_NONE)
        fail_msg("%s", f.detail);
}

static void shared_with_shared_only(void **state)
{
    (void)state;
    struct device_lock a, b;
    must_open(&a);
    must_open(&b);
    assert_int_equal(device_lock_take(&a, DEVICE_LOCK_SHARED, SHORT_MS, NULL), ERR_NONE);
    assert_int_equal(device_lock_take(&b, DEVICE_LOCK_SHARED, SHORT_MS, NULL), ERR_NONE);
    struct fault f = {0};
    int64_t start = now_ms();
    assert_int_equal(device_lock_take(&b, DEVICE_LOCK_EXCLUSIVE, SHORT_MS, &f), ERR_DEADLINE);
    assert_true(now_ms() - start >= SHORT_MS);
    assert_non_null(strstr(f.detail, "50 ms"));
    device_lock_drop(&a);
    assert_int_equal(device_lock_take(&b, DEVICE_LOCK_EXCLUSIVE, SHORT_MS, NULL), ERR_NONE);
    assert_int_equal(device_lock_take(&a, DEVICE_LOCK_SHARED, SHORT_MS, NULL), ERR_DEADLINE);
    device_lock_close(&b);
    assert_int_equal(device_lock_take(&a, DEVICE_LOCK_SHARED, SHORT_MS, NULL), ERR_NONE);
    device_lock_close(&a);
    device_lock_close(&a);
    assert_int_equal(device_lock_take(&a, DEVICE_LOCK_SHARED, SHORT_MS, &f), ERR_UNAVAILABLE);
}

/* A process that takes the lock, says so through the pipe, and holds it until it is killed. */
static pid_t holder(enum device_lock_mode mode, int64_t timeout_ms, int said)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    struct device_lock l;
    char ok = device_lock_open(&l, uuid, NULL) == ERR_NONE &&
              device_lock_take(&l, mode, timeout_ms, NULL) == ERR_NONE;
    if (write(said, &ok, 1) == 1)
        pause();
    _exit(0);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void goes_with_its_process(void **state)
{
    (void)state;
    int said[2];
    char ok = 0;
    struct device_lock l;
    must_open(&l);
    assert_int_equal(pipe(said), 0);
    pid_t pid = holder(DEVICE_LOCK_EXCLUSIVE, SHORT_MS, said[1]);
    assert_int_equal(read(said[0], &ok, 1), 1);
    assert_true(ok);
    assert_int_equal(device_lock_take(&l, DEVICE_LOCK_SHARED, SHORT_MS, NULL), ERR_DEADLINE);
    end(pid);
    assert_int_equal(device_lock_take(&l, DEVICE_LOCK_EXCLUSIVE, LONG_MS, NULL), ERR_NONE);
    device_lock_close(&l);
    close(said[0]);
    close(said[1]);
}

static void newcomers_wait_for_who_waits(void **state)
{
    (void)state;
    int said[2];
    char ok = 0;
    struct device_lock a, b;
    must_open(&a);
    must_open(&b);
    assert_int_equal(pipe(said), 0);
    assert_int_equal(device_lock_take(&a, DEVICE_LOCK_SHARED, SHORT_MS, NULL), ERR_NONE);
    pid_t pid = holder(DEVICE_LOCK_EXCLUSIVE, LONG_MS, said[1]);
    enum err e = ERR_NONE; /* until the other one waits, newcomers are let in */
    for (int64_t start = now_ms(); e == ERR_NONE && now_ms() - start < LONG_MS;) {
        e = device_lock_take(&b, DEVICE_LOCK_SHARED, SHORT_MS, NULL);
        device_lock_drop(&b);
    }
    assert_int_equal(e, ERR_DEADLINE);
    device_lock_drop(&a);
    assert_int_equal(read(said[0], &ok, 1), 1);
    assert_true(ok);
    end(pid);
    device_lock_close(&a);
    device_lock_close(&b);
    close(said[0]);
    close(said[1]);
}

static void is_for_every_user(void **state)
{
    (void)state;
    struct device_lock l;
    struct stat s;
    mode_t before = umask(077);
    must_open(&l);
    umask(before);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0666);
    device_lock_close(&l);
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    struct device_lock l;
    struct fault f = {0};
    char target[128];
    snprintf(target, sizeof(target), "/tmp/ptxbench-target-%s", uuid);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(device_lock_open(&l, uuid, &f), ERR_UNAVAILABLE);
    assert_true(access(target, F_OK) != 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(device_lock_open(&l, uuid, &f), ERR_UNAVAILABLE);
    assert_non_null(strstr(f.detail, "it is no file"));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(device_lock_open(&l, uuid, &f), ERR_UNAVAILABLE);
    assert_int_equal(l.device, -1);
}

#define LOCK_TEST(name) cmocka_unit_test_setup_teardown(name, name_device, remove_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(shared_with_shared_only),      LOCK_TEST(goes_with_its_process),
        LOCK_TEST(newcomers_wait_for_who_waits), LOCK_TEST(is_for_every_user),
        LOCK_TEST(refuses_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
