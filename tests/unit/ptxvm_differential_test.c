/* SPDX-License-Identifier: Apache-2.0
 * The kernels of tests/gpu/differential_*.h on ptxvm alone: they run, their results do not depend
 * on the schedule, and where bits are fixed they are those that an H200 gave
 * (tests/data/differential/h200.txt, written by gpu_differential --record). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/gpu/differential_vm.h"

enum { LINE = 1024 };

/* What a GPU gave, by name of the case. */
struct recorded {
    struct entry {
        uint64_t hash;
        char *name;
    } * items;
    size_t count;
};

static void read_recorded(struct recorded *r)
{
    char line[LINE];
    FILE *in = fopen(PTXBENCH_SOURCE_DIR "/tests/data/differential/h200.txt", "r");
    assert_non_null(in);
    *r = (struct recorded){calloc(4096, sizeof(struct entry)), 0};
    while (r->count < 4096 && fgets(line, sizeof(line), in)) {
        char *end;
        line[strcspn(line, "\n")] = '\0';
        r->items[r->count].hash = strtoull(line, &end, 16);
        r->items[r->count++].name = strdup(end + (*end == ' '));
    }
    fclose(in);
}

static void recorded_release(struct recorded *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->items[i].name);
    free(r->items);
}

static const struct entry *find(const struct recorded *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->items[i].name, name))
            return &r->items[i];
    return NULL;
}

/* Runs a case; fails the test if it ends badly. `out` is the caller's to free. */
static unsigned char *run(const struct diff_cases *all, size_t i,
                          const struct ptxvm_options *options)
{
    const struct diff_case *c = &all->items[i];
    char why[PTXVM_TEXT];
    unsigned char *in = malloc(c->in_bytes), *out = malloc(c->out_bytes);
    diff_fill(c, diff_seed(c), in);
    diff_fill_out(c, diff_seed(c), out);
    if (!diff_run_vm(all, i, options, in, out, why))
        fail_msg("%s: %s", c->name, why);
    free(in);
    return out;
}

static void results_are_those_of_the_hardware(void **state)
{
    struct diff_cases *all = *state;
    struct recorded r;
    size_t compared = 0, wrong = 0;
    read_recorded(&r);
    for (size_t i = 0; i < all->count; i++) {
        const struct entry *want = find(&r, all->items[i].name);
        unsigned char *out = run(all, i, &(struct ptxvm_options){.threads = 1});
        compared += want != NULL;
        if (want && diff_hash(&all->items[i], out) != want->hash) {
            print_error("%s: other bits than the hardware's\n", all->items[i].name);
            wrong++;
        }
        free(out);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(compared, r.count); /* a row that was renamed has to be recorded again */
    assert_true(compared > 2500);
    recorded_release(&r);
}

static void results_do_not_depend_on_the_schedule(void **state)
{
    struct diff_cases *all = *state;
    const struct ptxvm_options plain = {.threads = 1}, other = {.threads = 3, .seed = 12345};
    for (size_t i = 0; i < all->count; i++) {
        if (!strncmp(all->items[i].group, "forms", 5))
            continue; /* one thread each */
        unsigned char *a = run(all, i, &plain), *b = run(all, i, &other);
        if (memcmp(a, b, all->items[i].out_bytes) != 0)
            fail_msg("%s: another schedule gives other bits", all->items[i].name);
        free(a);
        free(b);
    }
}

static void names_are_unique(void **state)
{
    const struct diff_cases *all = *state;
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(all->items[i].name, all->items[k].name);
}

static int open_cases(void **state)
{
    struct diff_cases *all = calloc(1, sizeof(*all));
    if (!all)
        return -1;
    diff_add_all(all);
    *state = all;
    return 0;
}

static int close_cases(void **state)
{
    diff_free(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(results_are_those_of_the_hardware),
        cmocka_unit_test(results_do_not_depend_on_the_schedule),
    };
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
