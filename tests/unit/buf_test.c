// SPDX-License-Identifier: Apache-2.0
// Buffers: growth, the maximum, failure that sticks, and hand-over.
#include "core/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void grows_up_to_its_maximum(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 1000);
    for (int i = 0; i < 1000; i++)
        buf_add(&b, "x", 1);
    assert_false(b.failed);
    assert_int_equal(b.len, 1000);
    assert_int_equal(b.data[1000], '\0');
    buf_add(&b, "", 0);
    assert_false(b.failed);
    buf_adds(&b, "y");
    assert_true(b.failed);
    assert_int_equal(b.len, 1000);
    buf_add(&b, "", 0); /* failure sticks, even for nothing */
    assert_null(buf_room(&b, 0));
    assert_true(b.failed);
    size_t len = 7;
    assert_null(buf_take(&b, &len));
    assert_null(b.data);
    assert_false(b.failed); /* ready for another use */
    assert_int_equal(b.max, 1000);
    buf_adds(&b, "again");
    assert_string_equal(b.data, "again");
    buf_release(&b);
    buf_release(&b);
}

static void formats(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 12);
    buf_addf(&b, "%d-%s", 42, "abc");
    buf_addf(&b, "%s", "");
    assert_string_equal(b.data, "42-abc");
    buf_addf(&b, "%06d", 7);
    assert_string_equal(b.data, "42-abc000007"); /* exactly full */
    buf_addf(&b, "%c", 'x');
    assert_true(b.failed);
    assert_string_equal(b.data, "42-abc000007");
    buf_clear(&b);
    assert_false(b.failed);
    assert_string_equal(b.data, "");
    buf_release(&b);
}

static void hands_over(void **state)
{
    (void)state;
    struct buf b;
    size_t len = 7;
    buf_init(&b, 8);
    char *empty = buf_take(&b, &len);
    assert_string_equal(empty, "");
    assert_int_equal(len, 0);
    free(empty);
    assert_non_null(buf_room(&b, 8)); /* room that is never used is still a string */
    char *unused = buf_take(&b, NULL);
    assert_string_equal(unused, "");
    free(unused);
    buf_add(&b, "a\0b", 3);
    char *bytes = buf_take(&b, &len);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "a\0b", 4);
    free(bytes);
}

static void sizes_do_not_wrap(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100);
    buf_adds(&b, "0123456789");
    assert_null(buf_room(&b, SIZE_MAX));
    buf_clear(&b);
    buf_adds(&b, "0123456789");
    assert_null(buf_room(&b, SIZE_MAX - 5));
    buf_clear(&b);
    assert_non_null(buf_room(&b, 100));
    assert_null(buf_room(&b, 101));
    buf_release(&b);
    buf_init(&b, 0);
    buf_adds(&b, "x");
    assert_true(b.failed);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_up_to_its_maximum),
        cmocka_unit_test(formats),
        cmocka_unit_test(hands_over),
        cmocka_unit_test(sizes_do_not_wrap),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
