// SPDX-License-Identifier: Apache-2.0
// Frames with descriptors between keeper and runner: they arrive together, deadlines hold, a peer
// that is gone or speaks nonsense is noticed, and no descriptor is left behind.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef HAVE_CUDA

#include "core/util.h"
#include "evaluator/wire.h"

enum { SOON_MS = 2000 };

static int open_count(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void descriptors_ride_on_their_frame(void **state)
{
    (void)state;
    int ends[2], before = open_count();
    struct wire_message m;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int i = 0; i < 3; i++) { /* three frames in flight, with 0, 1 and 2 descriptors */
        int fds[2] = {open("/dev/null", O_RDONLY), open("/dev/zero", O_RDONLY)};
        json_t *v = json_pack("{s:i}", "n", i);
        assert_int_equal(wire_send_json(ends[0], FRAME_REQUEST, v, fds, (size_t)i, SOON_MS, NULL),
                         ERR_NONE);
        json_decref(v);
        close(fds[0]);
        close(fds[1]);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wire_receive(ends[1], &m, LIMIT_FRAME, SOON_MS, NULL), ERR_NONE);
        assert_int_equal(json_integer_value(json_object_get(m.json, "n")), i);
        assert_int_equal(m.fd_count, i);
        char byte = 1;
        if (i > 0)
            assert_int_equal(read(m.fds[0], &byte, 1), 0); /* /dev/null */
        if (i > 1)
            assert_int_equal(read(m.fds[1], &byte, 1), 1); /* /dev/zero */
        wire_message_release(&m);
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(open_count(), before);
}

/* A frame that the socket cannot hold at once. */
static void large_frames_come_whole(void **state)
{
    (void)state;
    int ends[2];
    size_t len = 4 * MIB;
    char *bytes = malloc(len);
    struct wire_message m;
    assert_non_null(bytes);
    random_bytes(bytes, len);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(wire_send(ends[0], FRAME_CUBIN, bytes, len, NULL, 0, SOON_MS, NULL) != ERR_NONE);
    assert_int_equal(wire_receive(ends[1], &m, LIMIT_FRAME, SOON_MS, NULL), ERR_NONE);
    assert_int_equal(m.kind, FRAME_CUBIN);
    assert_int_equal(m.len, len);
    assert_memory_equal(m.data, bytes, len);
    wire_message_release(&m);
    free(bytes);
    close(ends[0]);
    close(ends[1]);
}

static void silence_ends_at_the_deadline(void **state)
{
    (void)state;
    int ends[2];
    struct wire_message m;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    int64_t start = now_ms();
    assert_int_equal(wire_receive(ends[1], &m, LIMIT_FRAME, 50, NULL), ERR_DEADLINE);
    assert_in_range(now_ms() - start, 45, SOON_MS);
    assert_int_equal(write(ends[0], "\1\0\0\0\5", 5), 5); /* half a header is no frame */
    assert_int_equal(wire_receive(ends[1], &m, LIMIT_FRAME, 50, NULL), ERR_DEADLINE);
    wire_message_release(&m);
    char block[64 * KIB] = {0}; /* and a peer that does not read */
    start = now_ms();
    enum err e = ERR_NONE;
    for (int i = 0; i < 1000 && e == ERR_NONE; i++)
        e = wire_send(ends[0], FRAME_LOG, block, sizeof(block), NULL, 0, 50, NULL);
    assert_int_equal(e, ERR_DEADLINE);
    close(ends[0]);
    close(ends[1]);
}

static void a_peer_that_is_gone_is_noticed(void **state)
{
    (void)state;
    int ends[2];
    struct wire_message m;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    close(ends[0]);
    assert_int_equal(wire_receive(ends[1], &m, LIMIT_FRAME, SOON_MS, NULL), ERR_IO);
    assert_int_equal(wire_send(ends[1], FRAME_LOG, "x", 1, NULL, 0, SOON_MS, NULL), ERR_IO);
    close(ends[1]);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const streams[] = {
        "\0\0\0\0\0\0\0\0",          /* no kind */
        "\x7f\0\0\0\0\0\0\0",        /* unknown kind */
        "\7\0\0\0\1\1\0\0",          /* over the caller's limit of 256 bytes */
        "\1\0\0\0\2\0\0\0[}xxxxxxxx" /* a request that is not JSON */
    };
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        int ends[2];
        struct wire_message m;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        assert_int_equal(write(ends[0], streams[i], i == 3 ? 10 : 8), i == 3 ? 10 : 8);
        assert_int_equal(wire_receive(ends[1], &m, 256, SOON_MS, NULL), ERR_BAD_REQUEST);
        wire_message_release(&m);
        close(ends[0]);
        close(ends[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_ride_on_their_frame),
        cmocka_unit_test(large_frames_come_whole),
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(a_peer_that_is_gone_is_noticed),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}

#endif
