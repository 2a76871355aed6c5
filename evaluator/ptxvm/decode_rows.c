/* SPDX-License-Identifier: Apache-2.0
 * The table of all rows: which exec file executes which forms. Forms are looked up by their text
 * without ".rn" (it is the default wherever it may be left out); then by their beginning. */
#include "evaluator/ptxvm/rows.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { INDEX_SIZE = 8192, KEY = 256 };

static const struct row *rows_by_hash[INDEX_SIZE];
static pthread_once_t rows_once = PTHREAD_ONCE_INIT;

static uint32_t hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static uint32_t slot_of(const char *s, size_t n)
{
    uint32_t slot = hash(s, n) % INDEX_SIZE;
    for (; rows_by_hash[slot]; slot = (slot + 1) % INDEX_SIZE)
        if (strncmp(rows_by_hash[slot]->form, s, n) == 0 && rows_by_hash[slot]->form[n] == '\0')
            break;
    return slot;
}

/* The first table that has a form wins, so the faster variants come first. */
static void add_table(const struct row *rows)
{
    for (; rows->form; rows++) {
        uint32_t slot = slot_of(rows->form, strlen(rows->form));
        if (!rows_by_hash[slot])
            rows_by_hash[slot] = rows;
    }
}

static const struct row *const plain[] = {
#define TABLE(name) rows_##name,
    EXEC_FAST(TABLE) EXEC_PLAIN(TABLE)
#undef TABLE
};

#if ROWS_HAVE_AVX2
static const struct row *const avx2[] = {
#define TABLE(name) rows_##name##_avx2,
    EXEC_FAST(TABLE)
#undef TABLE
};

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}
#endif

static void build(void)
{
#if ROWS_HAVE_AVX2
    for (size_t i = 0; has_avx2() && i < sizeof avx2 / sizeof avx2[0]; i++)
        add_table(avx2[i]);
#endif
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        add_table(plain[i]);
}

static size_t canonical(const char *text, char key[KEY])
{
    size_t n = 0;
    for (const char *s = text; *s && n < KEY - 1;) {
        if (strncmp(s, ".rn", 3) == 0 && (s[3] == '.' || s[3] == '\0')) {
            s += 3;
            continue;
        }
        key[n++] = *s++;
    }
    key[n] = '\0';
    return n;
}

/* The row of a form with its types moved behind its other words, where the manual has them; the
 * assembler takes them in any order. */
static const struct row *find_in_order(const struct ptx_form *form)
{
    char text[2 * KEY], key[KEY];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", ptx_op_name((enum ptx_op)form->op));
    for (int types = 0; types < 2; types++)
        for (int i = 0; i < form->word_count && n < sizeof text; i++) {
            if (form->words[i] == PTX_WORD_SHAPE)
                return NULL;
            if ((form->words[i] < PTX_TYPE_COUNT) == (types == 1))
                n += (size_t)snprintf(text + n, sizeof text - n, ".%s",
                                      ptx_word_name((enum ptx_word)form->words[i]));
        }
    return n < sizeof text ? rows_by_hash[slot_of(key, canonical(text, key))] : NULL;
}

const struct row *row_find(const struct ptx_form *form)
{
    pthread_once(&rows_once, build);
    char key[KEY];
    size_t n = canonical(form->text, key);
    const struct row *row = rows_by_hash[slot_of(key, n)];
    if (!row)
        row = find_in_order(form);
    if (row)
        return row;
    while (n > 0) {
        while (n > 0 && key[--n] != '.')
            ;
        if (n == 0)
            return NULL;
        row = rows_by_hash[slot_of(key, n)];
        if (row && row->decode)
            return row;
    }
    return NULL;
}

size_t rows_count(void)
{
    pthread_once(&rows_once, build);
    size_t n = 0;
    for (size_t i = 0; i < INDEX_SIZE; i++)
        n += rows_by_hash[i] != NULL;
    return n;
}
