/* SPDX-License-Identifier: Apache-2.0
 * The kernels that use every function of the headers for sm_90a (tests/gpu/arch_functions.cu), run
 * on ptxvm: what each does is checked, and so is every access on the way. On a GPU
 * tests/gpu/arch_functions.c runs them, and more sizes. */
#include "tests/unit/arch_machine.h"

enum { SIDE = 8, INT32 = 3, FLOAT32 = 7 /* CUtensorMapDataType */ };

static void wgmma_multiplies(void **state)
{
    (void)state;
    static const char *const names[] = {
        "product<bf16, bf16, float, 64, swizzle::b128, major::k, major::k, 4, false>",
        "product<bf16, bf16, float, 64, swizzle::b128, major::k, major::k, 4, true>",
        "product<bf16, bf16, float, 24, swizzle::b64, major::mn, major::k, 2, false>",
        "product<bf16, bf16, float, 64, swizzle::b32, major::mn, major::mn, 2, false>",
        "product<bf16, bf16, float, 64, swizzle::none, major::k, major::mn, 2, true>",
        "product<f16, f16, uint32_t, 40, swizzle::b128, major::k, major::k, 4, false>",
        "product<tf32, tf32, float, 32, swizzle::b128, major::k, major::k, 4, true>",
        "product<e4m3, e5m2, float, 32, swizzle::b128, major::k, major::k, 4, true>",
        "product<e5m2, e4m3, uint32_t, 32, swizzle::b64, major::k, major::k, 2, false>",
        "product<s8, u8, int, 48, swizzle::b128, major::k, major::k, 4, true>",
        "product<u8, s8, int, 32, swizzle::b128, major::k, major::k, 4, false>",
        NULL,
    };
    struct machine m;
    need_toolkit();
    machine_open(&m, "", NULL, "tests/gpu/arch_functions.cu", names);
    for (size_t i = 0; names[i]; i++)
        run(&m, names[i], 1, 128, SHARED, &m.bad, sizeof m.bad);
    machine_close(&m);
}

static void put_map(uint8_t *at, uint64_t base, int type, int rank, unsigned side, unsigned box)
{
    struct plan_tensor_map map = {.rank = rank, .data_type = type, .element_bits = 32};
    uint64_t bytes = 4;
    for (int i = 0; i < rank; i++) {
        map.dims[i] = side;
        map.box[i] = box;
        map.element_strides[i] = 1;
        map.strides[i] = bytes;
        bytes *= side;
    }
    tensor_map_encode(&map, base, at);
}

/* The box at (4, 3, 2, …) of `in` at (0, 2, 3, …) of `out`: see the kernel. */
static int wanted(int rank, int mode, const int *in, const int *out, size_t at)
{
    size_t from = 0, unit = 1, rest = at;
    for (int k = 0; k < rank; k++, rest /= SIDE, unit *= SIDE) {
        size_t first = k ? 1 + k % 3 : 0, digit = rest % SIDE;
        if (digit < first || digit >= first + 4)
            return out[at];
        from += (digit - first + (size_t)(k ? 2 + k % 2 : 4)) * unit;
    }
    int v = in[from], w = out[at];
    return mode < 2 ? v : mode == 2 ? w + v : mode == 3 ? (v < w ? v : w) : (v > w ? v : w);
}

static void check_boxes(struct machine *m, int rank, int mode)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= SIDE;
    int *in = malloc(count * 4), *out = malloc(count * 4);
    char name[32];
    uint64_t from = ptxvm_alloc(m->kit.vm, "in", count * 4, 256, PTXVM_READ_WRITE);
    uint64_t to = ptxvm_alloc(m->kit.vm, "out", count * 4, 256, PTXVM_READ_WRITE);
    _Alignas(64) uint8_t params[2 * MAP + 16] = {0};
    for (size_t i = 0; i < count; i++) {
        in[i] = (int)((uint32_t)i * 2654435761u >> 8) % 1000 - 500;
        out[i] = (int)((uint32_t)i * 40503u >> 4) % 1000 - 500;
    }
    ptxvm_write(m->kit.vm, from, in, count * 4);
    ptxvm_write(m->kit.vm, to, out, count * 4);
    put_map(params, from, INT32, rank, SIDE, 4);
    put_map(params + MAP, to, INT32, rank, SIDE, 4);
    memcpy(params + 2 * MAP, &mode, sizeof mode);
    memcpy(params + 2 * MAP + 8, &m->bad, sizeof m->bad);
    snprintf(name, sizeof name, "boxes<%d>", rank);
    run(m, name, 1, 32, 0, params, sizeof params);
    const int *got = ptxvm_host(m->kit.vm, to, count * 4);
    for (size_t i = 0; i < count; i++)
        if (got[i] != wanted(rank, mode, in, out, i))
            fail_msg("rank %d mode %d: element %zu is %d, not %d", rank, mode, i, got[i],
                     wanted(rank, mode, in, out, i));
    free(in);
    free(out);
}

static void boxes_and_blocks(void **state)
{
    (void)state;
    static const char *const names[] = {"boxes<1>", "boxes<2>", "boxes<3>", "boxes<4>", "boxes<5>",
                                        "pair",     "block",    "meet",     "epilogue", "warps",
                                        NULL};
    struct machine m;
    float g[1024], sums[64];
    need_toolkit();
    machine_open(&m, "", NULL, "tests/gpu/arch_functions.cu", names);
    for (int rank = 1; rank <= 5; rank++)
        for (int mode = 0; mode < 5; mode++)
            check_boxes(&m, rank, mode);

    struct ptxvm *vm = m.kit.vm;
    uint64_t dg = ptxvm_alloc(vm, "g", sizeof g, 256, PTXVM_READ_WRITE);
    uint64_t dout = ptxvm_alloc(vm, "out", 512, 256, PTXVM_READ_WRITE);
    uint64_t dsums = ptxvm_alloc(vm, "sums", sizeof sums, 256, PTXVM_READ_WRITE);
    for (int i = 0; i < 1024; i++)
        g[i] = (float)(i + 1);
    for (int i = 0; i < 64; i++)
        sums[i] = (float)i;
    ptxvm_write(vm, dg, g, sizeof g);
    ptxvm_write(vm, dsums, sums, sizeof sums);
    _Alignas(64) struct {
        uint8_t map[MAP];
        uint64_t g, out, sums, bad;
    } pair = {.g = dg, .out = dout, .sums = dsums, .bad = m.bad};
    put_map(pair.map, dg, FLOAT32, 2, 32, 16);
    run(&m, "pair", 2, 256, 0, &pair, sizeof pair);
    const float *out = ptxvm_host(vm, dout, 512), *added = ptxvm_host(vm, dsums, sizeof sums);
    for (int i = 0; i < 64; i++)
        assert_true(out[i] == g[i] && out[64 + i] == g[i] && added[i] == (float)i + 2 * g[i]);
    run(&m, "block", 1, 128, 0, (const uint64_t[]){dg, m.bad}, 16);
    uint64_t words = ptxvm_alloc(vm, "words", 8, 256, PTXVM_READ_WRITE);
    uint64_t c = ptxvm_alloc(vm, "c", 64 * 96 * 2, 256, PTXVM_READ_WRITE);
    uint64_t partial = ptxvm_alloc(vm, "partial", 64 * 96 * 4, 256, PTXVM_READ_WRITE);
    run(&m, "meet", 4, 64, 0, (const uint64_t[]){words, words + 4, m.bad}, 24);
    run(&m, "epilogue", 1, 128, 0, (const uint64_t[]){c, partial, m.bad}, 24);
    run(&m, "warps", 1, 32, 0, (const uint64_t[]){dg, m.bad}, 16);
    machine_close(&m);
}

static void every_function_is_in_it(void **state)
{
    (void)state;
    char missing[64];
    struct buf kernels = read_tree("tests/gpu/arch_functions.cu");
    assert_true(functions_called("sm_90a", kernels.data, missing) > 80);
    assert_string_equal(missing, "");
    buf_release(&kernels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_in_it),
        cmocka_unit_test(wgmma_multiplies),
        cmocka_unit_test(boxes_and_blocks),
    };
    return cmocka_run_group_tests(tests, machine_setup, machine_teardown);
}
