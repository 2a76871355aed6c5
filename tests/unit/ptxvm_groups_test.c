/* SPDX-License-Identifier: Apache-2.0
 * The groups of instructions of real kernels, and for each the test that holds it against a C
 * model: those of the other ptxvm tests by name of file and a text that has to stand there, those
 * that no other has by a model below. tests/unit/ptxvm_differential_test.c holds the same groups
 * against an H200. */
#include "tests/unit/ptxvm_kit.h"

#include <fenv.h>
#include <math.h>

#include "core/buf.h"
#include "core/dtype.h"
#include "core/util.h"

enum { GROUPS_MIN = 60, SOURCE_MAX = 1 << 20 };

/* `test` NULL: the case `text` below. */
static const struct group {
    const char *name, *test, *text;
} groups[] = {
    {"integer add and sub, saturating", "int", "add.sat.s32"},
    {"integer mul, low and high", "int", "mul.hi"},
    {"mul.wide", "int", "mul.wide"},
    {"mad", "int", "mad.hi"},
    {"mad.wide", "int", "mad.wide"},
    {"mul24 and mad24", "int", "mul24"},
    {"sad", "int", "sad."},
    {"integer div and rem", "int", "div.s32"},
    {"integer min and max", "int", "min.s16"},
    {"abs and neg", "int", "abs.s"},
    {"popc, clz", "int", "popc"},
    {"bfind", "int", "bfind"},
    {"brev", "int", "brev"},
    {"fns", "int", "fns"},
    {"bfe", "int", "bfe"},
    {"bfi", "int", "bfi"},
    {"szext and bmsk", "int", "szext"},
    {"dp4a and dp2a", "int", "dp4a"},
    {"carry chains", "int", "addc"},
    {"and, or, xor, not, cnot", "int", "cnot"},
    {"lop3", "int", "lop3"},
    {"shl and shr", "int", "shl.b"},
    {"shf", "int", "shf."},
    {"prmt", "int", "prmt"},
    {"selp and slct", "int", "slct"},
    {"integer setp", "int", "comparisons"},
    {"predicate logic", NULL, "and.pred"},
    {"set", NULL, "set.gtu"},
    {"testp", "float", "testp"},
    {"float setp", "float", "comparisons"},
    {"f32 rounded down and up", NULL, "add.rm"},
    {"fma rounded to zero", NULL, "fma.rz"},
    {"f32 div and rcp, rounded", NULL, "rcp.rp"},
    {"sqrt, rounded", NULL, "sqrt.rm"},
    {"f32 flushed and saturated", "float", ".ftz"},
    {"f32 min and max with NaN", "float", "max.NaN"},
    {"xorsign", NULL, "max.xorsign"},
    {"copysign", "float", "copysign"},
    {"f64 fma", "float", "double_fma"},
    {"f16", "float", "add.f16"},
    {"f16x2", NULL, "mul.rn.f16x2"},
    {"bf16x2", "float", "bf16x2"},
    {"approximations", "float", "approximations"},
    {"cvt between integers", "int", "cvt.sat"},
    {"cvt float to integer", NULL, "cvt.rmi"},
    {"cvt integer to float", NULL, "cvt.rz.f32.s32"},
    {"cvt between floats", "float", "cvt.rn.f16"},
    {"cvt to fp8", "float", "e4m3x2"},
    {"cvt to tf32", "float", "tf32"},
    {"cvt.pack", "float", "cvt.pack"},
    {"mov of vectors", "memory", "mov.b128"},
    {"cvta and generic addresses", "memory", "generic_addresses_reach_every_space"},
    {"isspacep", "memory", "isspacep"},
    {"loads and stores of vectors", "memory", "vectors_and_narrow_types"},
    {"local memory", "memory", "local_arrays_are_private_and_indexed"},
    {"constants and module variables", "memory", "variables_are_initialised"},
    {"cache operators and prefetch", NULL, "ld.global.cg"},
    {"atom and red", "memory", "atomics_are_atomic_across_ctas"},
    {"atom.cas", "memory", "compare_and_swap"},
    {"atom of halves", NULL, "atom.global.add.noftz.f16"},
    {"special registers", "memory", "special_registers"},
    {"cluster registers", NULL, "%clusterid"},
    {"time and hints", NULL, "nanosleep"},
    {"branches and loops", "flow", "loops_end_lane_by_lane_and_reconverge"},
    {"brx.idx", "flow", "brx.idx"},
    {"calls", "flow", "functions_are_called"},
    {"indirect calls", "flow", "callprototype"},
    {"exit and trap", "flow", "trap"},
    {"vote, match, redux, shfl, elect", "flow", "lanes_exchange"},
    {"activemask", "flow", "activemask"},
    {"barriers", "flow", "bar.arrive"},
    {"barriers that reduce", "flow", "bar.red"},
    {"bar.warp.sync", "flow", "bar.warp.sync"},
    {"vprintf", "flow", "vprintf"},
    {"__assertfail", "flow", "__assertfail"},
    {"cp.async", "mma", "cp.async.ca"},
    {"ldmatrix and stmatrix", "mma", "ldmatrix"},
    {"mma.sync", "mma", "every_shape_and_type"},
    {"wmma", "wmma", "wmma.mma"},
    {"wgmma", "wgmma", "every_type_and_swizzle"},
    {"mbarrier", "tma", "phases_follow_arrivals"},
    {"tensor copies", "tma", "boxes_come_and_go"},
    {"tensor reductions", "tma", "boxes_reduce"},
    {"bulk copies", "tma", "bulk_copies_reach_the_cluster"},
    {"st.async and red.async", "tma", "stores_complete_on_barriers"},
    {"clusters, mapa, getctarank", "tma", "clusters_share_memory"},
    {"setmaxnreg", "schedule", "setmaxnreg"},
};

/* ---- models of those that no other test has ---- */

static float as_f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

/* Every NaN of f32 arithmetic is this one. */
static uint64_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return f != f ? 0x7fffffff : bits;
}

static uint64_t pred_logic(uint64_t a, uint64_t b, uint64_t c)
{
    bool p = (int32_t)a > (int32_t)b, q = (uint32_t)a < (uint32_t)c;
    return ((p && q) || !q ? 1u : 0u) + (p != q ? 2u : 0u);
}

static uint64_t set_gtu(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return !(as_f32(a) <= as_f32(b)) ? 0xffffffff : 0;
}

/* The host's own arithmetic, rounded the other way. `volatile`, so that it happens between the
 * calls. */
static uint64_t rounded(int mode, float (*operation)(float, float, float), uint64_t a, uint64_t b,
                        uint64_t c)
{
    volatile float r;
    fesetround(mode);
    r = operation(as_f32(a), as_f32(b), as_f32(c));
    fesetround(FE_TONEAREST);
    return bits_of(r);
}

static float add_float(float a, float b, float c)
{
    volatile float x = a, y = b;
    (void)c;
    return x + y;
}

static float divide_float(float a, float b, float c)
{
    volatile float x = a, y = b;
    (void)c;
    return x / y;
}

static float invert_float(float a, float b, float c)
{
    volatile float one = 1, x = a;
    (void)b, (void)c;
    return one / x;
}

static float root_float(float a, float b, float c)
{
    volatile float x = a;
    (void)b, (void)c;
    return sqrtf(x);
}

static uint64_t add_rm(uint64_t a, uint64_t b, uint64_t c)
{
    return rounded(FE_DOWNWARD, add_float, a, b, c);
}

static uint64_t add_rp(uint64_t a, uint64_t b, uint64_t c)
{
    return rounded(FE_UPWARD, add_float, a, b, c);
}

static uint64_t fma_rz(uint64_t a, uint64_t b, uint64_t c)
{
    return rounded(FE_TOWARDZERO, fmaf, a, b, c);
}

static uint64_t div_rz(uint64_t a, uint64_t b, uint64_t c)
{
    return rounded(FE_TOWARDZERO, divide_float, a, b, c);
}

static uint64_t rcp_rp(uint64_t a, uint64_t b, uint64_t c)
{
    return rounded(FE_UPWARD, invert_float, a, b, c);
}

static uint64_t sqrt_rm(uint64_t a, uint64_t b, uint64_t c)
{
    return rounded(FE_DOWNWARD, root_float, a, b, c);
}

static uint64_t max_xorsign(uint64_t a, uint64_t b, uint64_t c)
{
    float x = fabsf(as_f32(a)), y = fabsf(as_f32(b));
    uint64_t sign = (a ^ b) & 0x80000000;
    (void)c;
    if (x != x && y != y)
        return 0x7fffffff;
    return (bits_of(x != x || y > x ? y : x) & 0x7fffffff) | sign;
}

static uint64_t half_of(double v)
{
    return v != v ? 0x7fff : f16_from_double(v);
}

/* A product of two halves is exact in double. */
static uint64_t mul_f16x2(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return half_of(f16_to_double((uint16_t)a) * f16_to_double((uint16_t)b)) |
           half_of(f16_to_double((uint16_t)(a >> 16)) * f16_to_double((uint16_t)(b >> 16))) << 16;
}

/* So is their sum. */
static uint64_t add_f16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return half_of(f16_to_double((uint16_t)a) + f16_to_double((uint16_t)b));
}

static uint64_t floor_of(uint64_t a, uint64_t b, uint64_t c)
{
    double v = floor((double)as_f32(a));
    (void)b, (void)c;
    return (uint64_t)(v != v          ? 0
                      : v > INT32_MAX ? INT32_MAX
                      : v < INT32_MIN ? INT32_MIN
                                      : (int64_t)v);
}

/* The float nearest to zero of those around the integer. */
static uint64_t cut_to_float(uint64_t a, uint64_t b, uint64_t c)
{
    double exact = (double)(int32_t)a;
    float f = (float)exact;
    (void)b, (void)c;
    return bits_of(fabs((double)f) > fabs(exact) ? nextafterf(f, 0) : f);
}

static uint64_t first(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return a;
}

static uint64_t one(uint64_t a, uint64_t b, uint64_t c)
{
    (void)a, (void)b, (void)c;
    return 1;
}

static const struct kit_case cases[] = {
    {"{.reg .pred m; setp.lt.u32 q, wa, wc; setp.gt.s32 p, wa, wb; and.pred m, p, q; xor.pred p, "
     "p, q; "
     "not.pred q, q; or.pred m, m, q; mov.pred q, m; selp.u32 wr, 1, 0, q; @p add.u32 wr, wr, 2;}",
     "wwww", pred_logic},
    {"set.gtu.u32.f32 wr, wa, wb;", "wwww", set_gtu},
    {"add.rm.f32 wr, wa, wb;", "wwww", add_rm},
    {"add.rp.f32 wr, wa, wb;", "wwww", add_rp},
    {"fma.rz.f32 wr, wa, wb, wc;", "wwww", fma_rz},
    {"div.rz.f32 wr, wa, wb;", "wwww", div_rz},
    {"rcp.rp.f32 wr, wa;", "wwww", rcp_rp},
    {"sqrt.rm.f32 wr, wa;", "wwww", sqrt_rm},
    {"max.xorsign.abs.f32 wr, wa, wb;", "wwww", max_xorsign},
    {"mul.rn.f16x2 wr, wa, wb;", "wwww", mul_f16x2},
    {"cvt.rmi.s32.f32 wr, wa;", "wwww", floor_of},
    {"cvt.rz.f32.s32 wr, wa;", "wwww", cut_to_float},
    {"st.global.cg.u32 [%y], wa; ld.global.cg.u32 wt, [%y]; st.global.wt.u32 [%y], wt; "
     "ld.global.cv.u32 wt, [%y]; st.global.cs.u32 [%y], wt; prefetch.global.L2 [%y]; "
     "{.reg .b64 pol; createpolicy.fractional.L2::evict_last.b64 pol, 1.0; "
     "st.global.L2::cache_hint.u32 [%y], wt, pol; "
     "ld.global.L1::no_allocate.L2::128B.L2::cache_hint.u32 wr, [%y], "
     "pol;}",
     "wwww", first},
    {"st.global.b16 [%y], ha; atom.global.add.noftz.f16 ht, [%y], hb; ld.global.b16 hr, [%y];",
     "hhhh", add_f16},
    {"mov.u32 wr, %clusterid.x; mov.u32 wt, %ctaid.x; sub.u32 wr, wr, wt; mov.u32 wt, "
     "%cluster_nctarank; "
     "add.u32 wr, wr, wt; mov.u32 wt, %cluster_ctarank; add.u32 wr, wr, wt; mov.pred p, "
     "%is_explicit_cluster; "
     "@p add.u32 wr, wr, 7;",
     "wwww", one},
    {"mov.u64 da, %globaltimer; nanosleep.u32 1000; griddepcontrol.launch_dependents; "
     "griddepcontrol.wait; "
     "mov.u64 db, %globaltimer; setp.gt.u64 p, db, da; selp.u32 wr, 1, 0, p;",
     "wwww", one},
};

static void models_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        kit_check(&cases[i]);
}

/* ---- the list ---- */

static bool has_case(const char *text)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strstr(cases[i].body, text))
            return true;
    return false;
}

static bool stands_in(const char *test, const char *text)
{
    char path[512];
    struct buf source;
    struct fault f = {0};
    buf_init(&source, SOURCE_MAX);
    snprintf(path, sizeof path, PTXBENCH_SOURCE_DIR "/tests/unit/ptxvm_%s_test.c", test);
    bool found = read_file(path, &source, &f) == ERR_NONE && strstr(source.data, text);
    buf_release(&source);
    return found;
}

static void every_group_has_a_model(void **state)
{
    (void)state;
    assert_true(COUNT_OF(groups) >= GROUPS_MIN);
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        const struct group *g = &groups[i];
        if (g->test ? !stands_in(g->test, g->text) : !has_case(g->text))
            fail_msg("%s: '%s' is not in the test of %s", g->name, g->text,
                     g->test ? g->test : "groups");
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(g->name, groups[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_agree),
        cmocka_unit_test(every_group_has_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
