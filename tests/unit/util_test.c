// SPDX-License-Identifier: Apache-2.0
// Hashes against published values, base64, UUIDs, and reading and writing whole files.
#include "core/util.h"

#include <fcntl.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void sha256_of_known_texts(void **state)
{
    (void)state;
    char hex[SHA256_HEX];
    sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void hex_both_ways(void **state)
{
    (void)state;
    uint8_t bytes[4];
    char text[9];
    assert_true(hex_decode("00ff10ab", bytes, 4));
    hex_encode(bytes, 4, text);
    assert_string_equal(text, "00ff10ab");
    assert_false(hex_decode("00ff10a", bytes, 4));
    assert_false(hex_decode("00ff10abc", bytes, 4));
    assert_false(hex_decode("00FF10AB", bytes, 4));
    assert_false(hex_decode("00ff10ag", bytes, 4));
    assert_true(hex_decode("", bytes, 0));
}

static void base64(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bytes; /* bytes NULL: refused */
    } rows[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
        {"+/+/", "\xfb\xff\xbf"},
        {"Zg", NULL},
        {"Zg=", NULL},
        {"Zg===", NULL},
        {"Z===", NULL},
        {"====", NULL},
        {"Zm=v", NULL},
        {"Zg==Zg==", NULL},
        {"Zm 9", NULL},
        {"Zm9\n", NULL},
        {" Zm9", NULL},
        {"Zm-_", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf b;
        buf_init(&b, 16);
        bool good = base64_decode(rows[i].text, strlen(rows[i].text), &b);
        if (good != (rows[i].bytes != NULL))
            fail_msg("'%s'", rows[i].text);
        if (good) {
            assert_int_equal(b.len, strlen(rows[i].bytes));
            if (b.len)
                assert_memory_equal(b.data, rows[i].bytes, b.len);
        }
        buf_release(&b);
    }
    struct buf small;
    buf_init(&small, 2);
    assert_true(base64_decode("Zm8=", 4, &small));
    buf_clear(&small);
    assert_false(base64_decode("Zm9v", 4, &small));
    buf_release(&small);
}

static void uuids_are_ordered_and_distinct(void **state)
{
    (void)state;
    char last[UUID_TEXT] = "", u[UUID_TEXT];
    for (int i = 0; i < 1000; i++) {
        uuid7(u);
        assert_true(uuid_is_valid(u));
        assert_int_equal(u[14], '7');
        assert_non_null(strchr("89ab", u[19]));
        assert_true(strncmp(last, u, 13) <= 0); /* milliseconds never go back within a test */
        assert_string_not_equal(last, u);
        memcpy(last, u, sizeof(u));
    }
    assert_false(uuid_is_valid(""));
    assert_false(uuid_is_valid("01234567-89ab-7def-8123-456789abcde"));
    assert_false(uuid_is_valid("01234567-89ab-7def-8123-456789abcdef0"));
    assert_false(uuid_is_valid("01234567-89AB-7def-8123-456789abcdef"));
    assert_false(uuid_is_valid("01234567089ab-7def-8123-456789abcdef"));
}

static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/ptxbench-util-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    enum { SIZE = 200000 };
    char *bytes = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 7);
    assert_true(write_all(fd, bytes, SIZE));
    close(fd);
    struct buf b;
    struct fault f = {0};
    buf_init(&b, SIZE);
    assert_int_equal(read_file(path, &b, &f), ERR_NONE);
    assert_int_equal(b.len, SIZE);
    assert_memory_equal(b.data, bytes, SIZE);
    buf_release(&b);
    buf_init(&b, SIZE - 1);
    assert_int_equal(read_file(path, &b, &f), ERR_TOO_LARGE);
    assert_non_null(strstr(f.detail, "199999 bytes"));
    buf_release(&b);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(read_file(path, &b, &f), ERR_NONE);
    assert_string_equal(b.data, "");
    buf_release(&b);
    unlink(path);
    assert_int_equal(read_file(path, &b, &f), ERR_IO);
    assert_int_equal(read_file("/tmp", &b, &f), ERR_IO); /* a folder */
    buf_release(&b);
    free(bytes);
    assert_false(write_all(-1, "x", 1));
    assert_true(write_all(-1, "", 0));
}

static void clocks_and_random(void **state)
{
    (void)state;
    int64_t a = now_ms();
    double s = now_s();
    assert_true(now_ms() >= a && now_s() >= s);
    assert_true(s * 1000 - (double)a < 1000 && s * 1000 - (double)a > -1000);
    uint8_t x[32] = {0}, y[32] = {0};
    random_bytes(x, sizeof(x));
    random_bytes(y, sizeof(y));
    assert_memory_not_equal(x, y, sizeof(x));
}

static void folders(void **state)
{
    (void)state;
    char path[4200];
    snprintf(path, sizeof(path), "%s/problems", home_dir());
    assert_int_equal(access(path, R_OK), 0);
    assert_true(program_dir()[0] == '/');
    assert_ptr_equal(home_dir(), home_dir());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_of_known_texts),
        cmocka_unit_test(hex_both_ways),
        cmocka_unit_test(base64),
        cmocka_unit_test(uuids_are_ordered_and_distinct),
        cmocka_unit_test(files),
        cmocka_unit_test(clocks_and_random),
        cmocka_unit_test(folders),
    };
    return cmocka_run_group_tests_name("util", tests, NULL, NULL);
}
