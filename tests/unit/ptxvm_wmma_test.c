/* SPDX-License-Identifier: Apache-2.0
 * wmma against a plain triple loop: shapes, types, both layouts, strides, loads and stores from
 * global and shared memory. */
#include "tests/unit/ptxvm_kit.h"

#include <math.h>

#include "core/buf.h"
#include "evaluator/ptxvm/floats.h"

struct trial {
    const char *type, *acc, *store; /* operands, C, D */
    unsigned m, n, k, a_count, b_count;
    bool a_col, b_col;
};

static const struct trial trials[] = {
    {"f16", "f32", "f32", 16, 16, 16, 8, 8, false, true},
    {"f16", "f16", "f16", 32, 8, 16, 8, 8, true, true},
    {"f16", "f32", "f16", 8, 32, 16, 8, 8, false, false},
    {"bf16", "f32", "f32", 16, 16, 16, 4, 4, true, false},
    {"tf32", "f32", "f32", 16, 16, 8, 4, 4, false, true},
    {"s8", "s32", "s32", 32, 8, 16, 4, 1, false, true},
    {"u8", "s32", "s32", 8, 32, 16, 1, 4, true, false},
};

enum { STRIDE = 40, BYTES = 64 * STRIDE * 4 };

static const struct float_format *format_of(const char *type)
{
    return strcmp(type, "f16") == 0                                ? &format_f16
           : strcmp(type, "bf16") == 0                             ? &format_bf16
           : strcmp(type, "tf32") == 0 || strcmp(type, "f32") == 0 ? &format_f32
                                                                   : NULL;
}

static unsigned bytes_of(const char *type)
{
    return type[strlen(type) - 1] == '8' ? 1 : strstr(type, "16") ? 2 : 4;
}

/* Writes or reads element (row, column). */
static double element(unsigned char *image, const char *type, bool col, unsigned row,
                      unsigned column, const double *write)
{
    unsigned bytes = bytes_of(type);
    unsigned char *at = image + (col ? column * STRIDE + row : row * STRIDE + column) * bytes;
    const struct float_format *f = format_of(type);
    uint32_t bits = 0;
    if (write) {
        bits = f ? float_narrow(*write, f, ROUND_NEAREST, false) : (uint32_t)(int32_t)*write;
        memcpy(at, &bits, bytes);
    }
    memcpy(&bits, at, bytes);
    return f                ? float_widen(bits, f)
           : bytes == 4     ? (int32_t)bits
           : type[0] == 's' ? (int8_t)bits
                            : (double)bits;
}

static void add(struct buf *b, char letter, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_addf(b, "%s%c%u", i ? ", " : "{", letter, i);
    buf_adds(b, "}");
}

static char *kernel(const struct trial *t)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    const char *al = t->a_col ? "col" : "row", *bl = t->b_col ? "col" : "row";
    unsigned c = strcmp(t->acc, "f16") == 0 ? 4 : 8, d = strcmp(t->store, "f16") == 0 ? 4 : 8;
    buf_addf(&b,
             KIT_HEAD
             ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) {\n"
             ".reg .b32 a<8>, b<8>, c<8>, d<8>, s;\n.reg .b64 x, y, z;\nld.param.u64 x, [pa];\n"
             "ld.param.u64 y, [pb];\nld.param.u64 z, [pc];\nmov.u32 s, %u;\n"
             "wmma.load.a.sync.aligned.%s.m%un%uk%u.global.%s ",
             STRIDE, al, t->m, t->n, t->k, t->type);
    add(&b, 'a', t->a_count);
    buf_addf(&b, ", [x], s;\nwmma.load.b.sync.aligned.%s.m%un%uk%u.%s ", bl, t->m, t->n, t->k,
             t->type);
    add(&b, 'b', t->b_count);
    buf_addf(&b, ", [y], s;\nwmma.load.c.sync.aligned.row.m%un%uk%u.%s ", t->m, t->n, t->k, t->acc);
    add(&b, 'c', c);
    buf_addf(&b, ", [z], s;\nwmma.mma.sync.aligned.%s.%s.m%un%uk%u.%s", al, bl, t->m, t->n, t->k,
             t->store);
    if (strcmp(t->type, "f16") != 0)
        buf_addf(&b, ".%s.%s", t->type, t->type);
    buf_addf(&b, ".%s ", t->acc);
    add(&b, 'd', d), buf_adds(&b, ", "), add(&b, 'a', t->a_count), buf_adds(&b, ", ");
    add(&b, 'b', t->b_count), buf_adds(&b, ", "), add(&b, 'c', c);
    buf_addf(&b, ";\nwmma.store.d.sync.aligned.col.m%un%uk%u.global.%s [z+%d], ", t->m, t->n, t->k,
             t->store, BYTES);
    add(&b, 'd', d);
    buf_adds(&b, ", s;\nret;\n}\n");
    char *text = buf_take(&b, NULL);
    buf_release(&b);
    return text;
}

static void try_one(const struct trial *t)
{
    unsigned char *image = calloc(4, BYTES);
    unsigned char *a = image, *b = image + BYTES, *c = image + 2 * BYTES, *d = image + 3 * BYTES;
    uint64_t state = t->m;
    for (unsigned i = 0; i < 32 * 32; i++) {
        unsigned row = i / 32, column = i % 32;
        double v = (double)(kit_random(&state) % 17) - (t->type[0] == 'u' ? 0 : 8);
        element(a, t->type, t->a_col, row, column, &v);
        v = (double)(kit_random(&state) % 15);
        element(b, t->type, t->b_col, row, column, &v);
        v = (double)(kit_random(&state) % 100);
        element(c, t->acc, false, row, column, &v);
    }
    char *ptx = kernel(t);
    struct kit k;
    kit_open(&k, ptx, NULL);
    uint64_t p[3] = {ptxvm_alloc(k.vm, "a", BYTES, 256, PTXVM_READ_ONLY),
                     ptxvm_alloc(k.vm, "b", BYTES, 256, PTXVM_READ_ONLY),
                     ptxvm_alloc(k.vm, "c", 2 * BYTES, 256, PTXVM_READ_WRITE)};
    assert_true(ptxvm_write(k.vm, p[0], a, BYTES) && ptxvm_write(k.vm, p[1], b, BYTES) &&
                ptxvm_write(k.vm, p[2], c, 2 * BYTES));
    kit_run(&k, 1, 32, 0, p, 3);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[2], c, 2 * BYTES));
    for (unsigned row = 0; row < t->m; row++)
        for (unsigned column = 0; column < t->n; column++) {
            double want = element(c, t->acc, false, row, column, NULL);
            for (unsigned x = 0; x < t->k; x++)
                want += element(a, t->type, t->a_col, row, x, NULL) *
                        element(b, t->type, t->b_col, x, column, NULL);
            double got = element(d, t->store, true, row, column, NULL);
            if (got != want) /* small integers: exact in every type */
                fail_msg("%s m%un%uk%u (%u, %u): %g, not %g", t->type, t->m, t->n, t->k, row,
                         column, got, want);
        }
    kit_close(&k);
    free(ptx);
    free(image);
}

static void shapes_types_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        try_one(&trials[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_types_layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
