/* SPDX-License-Identifier: Apache-2.0
 * The code of the hints for sm_90a (tests/gpu/arch_hints.cu stands behind it), run on ptxvm: it
 * computes what the hint says, with every access and barrier checked. */
#include "tests/unit/arch_machine.h"

enum { ROWS = 256, K = 384, BF16 = 9 /* CUtensorMapDataType */, SWIZZLE_128B = 3 };

static void open_hint(struct machine *m, const char *macro, const char *hint)
{
    char define[64], path[128];
    snprintf(define, sizeof define, "#define %s", macro);
    snprintf(path, sizeof path, "arch/%s", hint);
    machine_open(m, define, path, "tests/gpu/arch_hints.cu", (const char *const[]){"hint", NULL});
}

static void attention(void **state)
{
    (void)state;
    static const char *const hints[][2] = {
        {"HINT_turns", "sm_90a/hints/attention-forward.md"},
        {"HINT_forward", "sm_90a/hints/attention-forward-overlap.md"},
        {"HINT_backward", "sm_90a/hints/attention-backward.md"},
    };
    need_toolkit();
    for (size_t i = 0; i < COUNT_OF(hints); i++) {
        struct machine m;
        open_hint(&m, hints[i][0], hints[i][1]);
        run(&m, "hint", 1, 128, SHARED, &m.bad, sizeof m.bad);
        machine_close(&m);
    }
}

/* A matrix of bf16, `columns` wide, in boxes {64, rows}. */
static void put_map(uint8_t *at, uint64_t base, uint64_t columns, uint64_t rows, uint32_t box_rows)
{
    struct plan_tensor_map map = {.rank = 2,
                                  .data_type = BF16,
                                  .element_bits = 16,
                                  .swizzle = SWIZZLE_128B,
                                  .dims = {columns, rows},
                                  .strides = {2, 2 * columns},
                                  .box = {64, box_rows},
                                  .element_strides = {1, 1}};
    tensor_map_encode(&map, base, at);
}

/* -2 to 2, and its bits. */
static int small(int which, int row, int k)
{
    return (int)((uint32_t)(which * 7919 + row * 131 + k) * 2654435761u >> 20) % 5 - 2;
}

static uint16_t bits_of(int v)
{
    return v == 0 ? 0 : (uint16_t)((v < 0 ? 0x8000 : 0) | (v * v == 1 ? 0x3f80 : 0x4000));
}

static uint64_t put_matrix(struct ptxvm *vm, const char *name, int which)
{
    uint64_t base = ptxvm_alloc(vm, name, ROWS * K * 2, 256, PTXVM_READ_WRITE);
    uint16_t *at = ptxvm_host(vm, base, ROWS * K * 2);
    for (int i = 0; i < ROWS * K; i++)
        at[i] = bits_of(small(which, i / K, i % K));
    return base;
}

/* 256 x 256 by two blocks, six steps through a ring of four stages. */
static void cluster_multicast(void **state)
{
    (void)state;
    struct machine m;
    need_toolkit();
    open_hint(&m, "HINT_cluster", "sm_90a/hints/cluster-multicast.md");
    struct ptxvm *vm = m.kit.vm;
    _Alignas(64) struct {
        uint8_t a[MAP], b[MAP];
        uint64_t c;
        int k;
    } params = {.k = K};
    put_map(params.a, put_matrix(vm, "a", 0), K, ROWS, 128);
    put_map(params.b, put_matrix(vm, "b", 1), K, ROWS, 128);
    params.c = ptxvm_alloc(vm, "c", ROWS * ROWS * 4, 256, PTXVM_READ_WRITE);
    run(&m, "hint", 2, 384, 227 * 1024, &params, 2 * MAP + 12);
    const float *c = ptxvm_host(vm, params.c, ROWS * ROWS * 4);
    for (int i = 0; i < ROWS * ROWS; i++) {
        int want = 0;
        for (int k = 0; k < K; k++)
            want += small(0, i / ROWS, k) * small(1, i % ROWS, k);
        if (c[i] != (float)want)
            fail_msg("C[%d, %d] is %g, not %d", i / ROWS, i % ROWS, (double)c[i], want);
    }
    machine_close(&m);
}

/* Two consumers store 64 x 256 each, four boxes one after the other through the same memory. */
static void staged_store(void **state)
{
    (void)state;
    struct machine m;
    need_toolkit();
    open_hint(&m, "HINT_store", "sm_90a/hints/warp-specialised.md");
    _Alignas(64) struct {
        uint8_t c[MAP];
    } params;
    uint64_t base = ptxvm_alloc(m.kit.vm, "c", 128 * 256 * 2, 256, PTXVM_READ_WRITE);
    put_map(params.c, base, 256, 128, 64);
    run(&m, "hint", 1, 256, SHARED, &params, sizeof params);
    const uint16_t *c = ptxvm_host(m.kit.vm, base, 128 * 256 * 2);
    for (int i = 0; i < 128 * 256; i++)
        assert_int_equal(c[i], bits_of((i / 256 + i % 256) % 5 - 2));
    machine_close(&m);
}

/* Five blocks, tiles of a matrix that they do not divide: each is taken once. */
static void persistent_tiles(void **state)
{
    (void)state;
    struct machine m;
    need_toolkit();
    open_hint(&m, "HINT_tiles", "common/hints/persistent.md");
    uint64_t seen = ptxvm_alloc(m.kit.vm, "seen", 7 * 9 * 4, 256, PTXVM_READ_WRITE);
    run(&m, "hint", 5, 1, 0, &seen, sizeof seen);
    const uint32_t *counts = ptxvm_host(m.kit.vm, seen, 7 * 9 * 4);
    for (int i = 0; i < 7 * 9; i++)
        assert_int_equal(counts[i], 1);
    machine_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention),
        cmocka_unit_test(cluster_multicast),
        cmocka_unit_test(staged_store),
        cmocka_unit_test(persistent_tiles),
    };
    return cmocka_run_group_tests(tests, machine_setup, machine_teardown);
}
