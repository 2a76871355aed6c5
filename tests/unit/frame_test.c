// SPDX-License-Identifier: Apache-2.0
// Frames between processes: whole, in pieces, several at once, and streams that are not frames.
#include "core/frame.h"

#include <fcntl.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/util.h"

/* What a pipe holds after these writes. */
static size_t written(void (*write_to)(int fd), char *out, size_t size)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    write_to(fds[1]);
    close(fds[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], out + len, size - len)) > 0;)
        len += (size_t)n;
    close(fds[0]);
    return len;
}

static void three_frames(int fd)
{
    json_t *v = json_pack("{s:i}", "a", 1);
    assert_true(frame_write(fd, FRAME_LOG, "hello", 5));
    assert_true(frame_write(fd, FRAME_PTX, NULL, 0));
    assert_true(frame_write_json(fd, FRAME_RESULT, v));
    json_decref(v);
}

static void laid_into_a_buffer_is_the_same(void **state)
{
    (void)state;
    char bytes[256];
    size_t len = written(three_frames, bytes, sizeof(bytes));
    struct buf b;
    buf_init(&b, 256);
    frame_add(&b, FRAME_LOG, "hello", 5);
    frame_add(&b, FRAME_PTX, NULL, 0);
    frame_add(&b, FRAME_RESULT, "{\"a\":1}", 7);
    assert_false(b.failed);
    assert_int_equal(b.len, len);
    assert_memory_equal(b.data, bytes, len);
    frame_add(&b, FRAME_LOG, bytes, 256);
    assert_true(b.failed);
    buf_release(&b);
}

static void arrives_in_any_pieces(void **state)
{
    (void)state;
    char bytes[256];
    size_t len = written(three_frames, bytes, sizeof(bytes));
    assert_int_equal(len, 8 + 5 + 8 + 8 + 7);
    for (size_t piece = 1; piece <= len; piece++) {
        struct frame_reader r;
        struct frame f;
        struct fault fault = {0};
        int count = 0;
        frame_reader_init(&r);
        for (size_t at = 0; at < len; at += piece) {
            size_t n = len - at < piece ? len - at : piece;
            assert_int_equal(frame_feed(&r, bytes + at, n, &fault), ERR_NONE);
            while (frame_next(&r, &f)) {
                static const struct {
                    enum frame_kind kind;
                    const char *data;
                } want[] = {{FRAME_LOG, "hello"}, {FRAME_PTX, ""}, {FRAME_RESULT, "{\"a\":1}"}};
                assert_true(count < 3);
                assert_int_equal(f.kind, want[count].kind);
                assert_int_equal(f.len, strlen(want[count].data));
                assert_memory_equal(f.data, want[count].data, f.len);
                count++;
            }
        }
        assert_int_equal(count, 3);
        frame_reader_release(&r);
    }
}

static void refuses_what_is_not_frames(void **state)
{
    (void)state;
    static const struct {
        unsigned char header[8];
        enum err error;
    } rows[] = {
        {{0, 0, 0, 0, 1, 0, 0, 0}, ERR_BAD_REQUEST},
        {{FRAME_KIND_COUNT, 0, 0, 0, 1, 0, 0, 0}, ERR_BAD_REQUEST},
        {{'G', 'E', 'T', ' ', '/', ' ', 'H', 'T'}, ERR_BAD_REQUEST},
        {{FRAME_LOG, 0, 0, 0, 1, 0, 0, 4}, ERR_TOO_LARGE}, /* 64 MiB + 1 */
        {{FRAME_LOG, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, ERR_TOO_LARGE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct frame_reader r;
        struct frame f;
        frame_reader_init(&r);
        assert_int_equal(frame_feed(&r, rows[i].header, 8, NULL), rows[i].error);
        assert_false(frame_next(&r, &f));
        frame_reader_release(&r);

        int fds[2];
        enum frame_kind kind;
        char *data = NULL;
        size_t len;
        assert_int_equal(pipe(fds), 0);
        assert_true(write_all(fds[1], rows[i].header, 8));
        close(fds[1]);
        assert_int_equal(frame_read(fds[0], &kind, &data, &len, NULL), rows[i].error);
        assert_null(data);
        close(fds[0]);
    }
}

/* A bad header behind a good frame shows once the good one is taken. */
static void a_bad_frame_behind_a_good_one(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {FRAME_LOG, 0, 0, 0, 1, 0, 0, 0, 'x',
                                          99,        0, 0, 0, 0, 0, 0, 0};
    struct frame_reader r;
    struct frame f;
    frame_reader_init(&r);
    assert_int_equal(frame_feed(&r, bytes, sizeof(bytes), NULL), ERR_NONE);
    assert_true(frame_next(&r, &f));
    assert_false(frame_next(&r, &f));
    assert_int_equal(frame_feed(&r, "", 0, NULL), ERR_BAD_REQUEST);
    frame_reader_release(&r);
}

static void reads_one_frame_blocking(void **state)
{
    (void)state;
    int fds[2];
    enum frame_kind kind;
    char *data;
    size_t len;
    assert_int_equal(pipe(fds), 0);
    three_frames(fds[1]);
    assert_true(write_all(fds[1], "\x04\0\0\0\x09\0\0\0cut", 11));
    close(fds[1]);
    static const size_t lengths[] = {5, 0, 7};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(frame_read(fds[0], &kind, &data, &len, NULL), ERR_NONE);
        assert_int_equal(len, lengths[i]);
        assert_int_equal(data[len], '\0');
        free(data);
    }
    assert_int_equal(frame_read(fds[0], &kind, &data, &len, NULL),
                     ERR_IO); /* ends within a frame */
    assert_int_equal(frame_read(fds[0], &kind, &data, &len, NULL), ERR_IO); /* at the end */
    close(fds[0]);
}

static void writes_nothing_too_large(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_WRONLY);
    assert_true(fd >= 0);
    assert_false(frame_write(fd, FRAME_LOG, "", (size_t)LIMIT_FRAME + 1));
    close(fd);
    assert_false(frame_write(-1, FRAME_LOG, "x", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laid_into_a_buffer_is_the_same),
        cmocka_unit_test(arrives_in_any_pieces),
        cmocka_unit_test(refuses_what_is_not_frames),
        cmocka_unit_test(a_bad_frame_behind_a_good_one),
        cmocka_unit_test(reads_one_frame_blocking),
        cmocka_unit_test(writes_nothing_too_large),
    };
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
