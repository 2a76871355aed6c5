/* SPDX-License-Identifier: Apache-2.0
 * Warp-wide instructions inside functions that lanes call apart: from two places, or at different
 * depths of a recursion. They stand in different frames and meet all the same, under each schedule. */
#include "tests/unit/ptxvm_kit.h"

enum { LANES = 32, SCHEDULES = 24 };

#define ENTRY_HEAD                                                                                 \
    ".visible .entry k(.param .u64 out) {\n.reg .b32 i, x, n, r<2>; .reg .b64 d<3>; .reg .pred "   \
    "p;\n"                                                                                         \
    "ld.param.u64 d0, [out]; mov.u32 i, %tid.x; mul.lo.u32 x, i, 0x9e3779b9; shr.u32 x, x, 12;\n"  \
    "mul.wide.u32 d1, i, 4; add.u64 d0, d0, d1;\n"

/* Odd lanes call from one place, even ones from another. */
#define CALLED_APART(result, body)                                                                 \
    KIT_HEAD                                                                                       \
    ".func (.reg .b32 r) f(.reg .b32 i, .reg .b32 x) {\n.reg .b32 t, u; .reg .b64 w; .reg .pred "  \
    "q, p;\n" body "\n" result "\nret;\n}\n" ENTRY_HEAD                                            \
    "and.b32 n, i, 1; setp.ne.u32 p, n, 0; @p bra ODD;\n"                                          \
    "call (r0), f, (i, x); bra E;\nODD: call (r0), f, (i, x);\nE: st.global.u32 [d0], r0; "        \
    "ret;\n}\n"

static uint32_t value_of(uint32_t lane)
{
    return (lane * UINT32_C(0x9e3779b9)) >> 12;
}

static void run(const char *ptx, uint64_t seed, uint32_t *out)
{
    struct kit k;
    kit_open(&k, ptx, &(struct ptxvm_options){.seed = seed, .threads = 1});
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", LANES * 4, 4, PTXVM_READ_WRITE)};
    kit_run(&k, 1, LANES, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[0], out, LANES * 4));
    kit_close(&k);
}

static uint32_t partner(uint32_t i)
{
    return value_of(i ^ 5) + (i ^ 5);
}

static uint32_t up(uint32_t i)
{
    return i >= 3 ? value_of(i - 3) + 1000000 : value_of(i);
}

static uint32_t sum(uint32_t i)
{
    uint32_t s = i;
    for (uint32_t k = 0; k < LANES; k++)
        s += value_of(k);
    return s;
}

static uint32_t ballot(uint32_t i)
{
    uint32_t b = 0;
    for (uint32_t k = 0; k < LANES; k++)
        b |= (value_of(k) & 1) << k;
    return b + i;
}

static uint32_t matching(uint32_t i)
{
    uint32_t b = 0;
    for (uint32_t k = 0; k < LANES; k++)
        b |= (uint32_t)((value_of(k) & 3) == (value_of(i) & 3)) << k;
    return b;
}

static uint32_t none_of_all(uint32_t i)
{
    return i + 7;
}

static uint32_t leader(uint32_t i)
{
    return i == 0 ? 100 : 0;
}

static const struct {
    const char *ptx;
    uint32_t (*model)(uint32_t lane);
} rows[] = {
    {CALLED_APART("add.u32 r, t, u;",
                  "shfl.sync.bfly.b32 t, x, 5, 31, -1; shfl.sync.bfly.b32 u, i, 5, 31, -1;"),
     partner},
    {CALLED_APART("add.u32 r, t, u;",
                  "shfl.sync.up.b32 t|p, x, 3, 0, -1; selp.u32 u, 1000000, 0, p;"),
     up},
    {CALLED_APART("add.u32 r, t, i;", "redux.sync.add.u32 t, x, -1;"), sum},
    {CALLED_APART("add.u32 r, t, i;",
                  "and.b32 u, x, 1; setp.ne.u32 q, u, 0; vote.sync.ballot.b32 t, q, -1;"),
     ballot},
    {CALLED_APART("mov.u32 r, t;",
                  "and.b32 u, x, 3; cvt.u64.u32 w, u; match.any.sync.b64 t, w, -1;"),
     matching},
    {CALLED_APART("add.u32 r, t, i; @!p add.u32 r, r, 7;", "match.all.sync.b32 t|p, x, -1;"),
     none_of_all},
    {CALLED_APART("selp.u32 r, 1, 7, p; add.u32 r, r, i;",
                  "setp.lt.u32 q, i, 20; vote.sync.all.pred p, q, -1;"),
     none_of_all},
    {CALLED_APART("selp.u32 r, 100, 0, p;", "elect.sync t|p, -1;"), leader},
};

static void lanes_meet_wherever_they_called_from(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint64_t seed = 0; seed < SCHEDULES; seed++) {
            uint32_t out[LANES];
            run(rows[i].ptx, seed, out);
            for (uint32_t lane = 0; lane < LANES; lane++)
                if (out[lane] != rows[i].model(lane))
                    fail_msg("row %zu, seed %u, lane %u: %u, the model says %u", i, (unsigned)seed,
                             lane, out[lane], rows[i].model(lane));
        }
}

/* Lanes go down i % 4 times before the shuffle. What those below keep in the frames above, where
 * others shuffle, outlives it. */
static const char recursion[] = KIT_HEAD
    ".func (.reg .b32 r) g(.reg .b32 n, .reg .b32 x) {\n.reg .pred p; .reg .b32 a, m, keep;\n"
    "add.u32 keep, x, 7; setp.eq.u32 p, n, 0; @p bra S;\n"
    "sub.u32 m, n, 1; add.u32 a, x, 1; call (a), g, (m, a); mad.lo.u32 r, a, 3, keep; ret;\n"
    "S: shfl.sync.bfly.b32 a, x, 1, 31, -1; mad.lo.u32 r, a, 5, keep; ret;\n}\n" ENTRY_HEAD
    "and.b32 n, i, 3; call (r0), g, (n, x); st.global.u32 [d0], r0; ret;\n}\n";

static void what_callers_keep_outlives_a_meeting(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SCHEDULES; seed++) {
        uint32_t out[LANES];
        run(recursion, seed, out);
        for (uint32_t i = 0; i < LANES; i++) {
            uint32_t n = i & 3, x = value_of(i) + n;
            uint32_t r = (value_of(i ^ 1) + ((i ^ 1) & 3)) * 5 + x + 7;
            for (uint32_t k = n; k-- > 0;)
                r = r * 3 + value_of(i) + k + 7;
            assert_int_equal(out[i], r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_meet_wherever_they_called_from),
        cmocka_unit_test(what_callers_keep_outlives_a_meeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
