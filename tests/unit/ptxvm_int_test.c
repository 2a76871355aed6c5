/* SPDX-License-Identifier: Apache-2.0
 * Integer, logic, shift, bit field and selection instructions against models written from the PTX
 * manual's pseudo code, bit by bit where that is plainest. */
#include "tests/unit/ptxvm_kit.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

typedef uint64_t u64;
typedef int64_t s64;
#define MODEL(name, expr)                                                                          \
    static u64 name(u64 a, u64 b, u64 c)                                                           \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (u64)(expr);                                                                        \
    }
#define S16(x) ((s64)(int16_t)(x))
#define S32(x) ((s64)(int32_t)(x))

MODEL(m_add, a + b)
MODEL(m_sub, a - b)
MODEL(m_add_sat, S32(a) + S32(b) > INT32_MAX   ? INT32_MAX
                 : S32(a) + S32(b) < INT32_MIN ? INT32_MIN
                                               : S32(a) + S32(b))
MODEL(m_mul, a *b)
MODEL(m_mulhi_u32, a *b >> 32)
MODEL(m_mulhi_s32, (S32(a) * S32(b)) >> 32)
MODEL(m_mulhi_u64, (uwide)a *b >> 64)
MODEL(m_mulhi_s64, ((wide)(s64)a * (s64)b) >> 64)
MODEL(m_mulhi_u16, a *b >> 16)
MODEL(m_mulhi_s16, S16(a) * S16(b) >> 16)
MODEL(m_wide_s32, S32(a) * S32(b))
MODEL(m_wide_s16, S16(a) * S16(b))
MODEL(m_mad, a *b + c)
MODEL(m_madhi_s32, (S32(a) * S32(b) >> 32) + S32(c))
MODEL(m_madwide_s32, (u64)(S32(a) * S32(b)) + c)
MODEL(m_mul24lo, (a & 0xffffff) * (b & 0xffffff))
MODEL(m_mul24hi_s, ((S32(a << 8) >> 8) * (S32(b << 8) >> 8)) >> 16)
MODEL(m_sad_u32, c + (a > b ? a - b : b - a))
MODEL(m_sad_s32, c + (u64)(S32(a) > S32(b) ? S32(a) - S32(b) : S32(b) - S32(a)))
MODEL(m_div_u32, b ? a / b : 0xffffffff)
MODEL(m_div_s32, b ? S32(a) / S32(b) : -1)
MODEL(m_rem_u32, b ? a % b : UINT64_MAX)
MODEL(m_rem_s32, b ? S32(a) % S32(b) : -1)
MODEL(m_div_u64, b ? a / b : UINT64_MAX)
MODEL(m_div_s64, b ? (s64)((wide)(s64)a / (s64)b) : -1)
MODEL(m_rem_s64, b ? (s64)((wide)(s64)a % (s64)b) : -1)
MODEL(m_div_s16, S16(b) ? S16(a) / S16(b) : -1)
MODEL(m_min_s32, S32(a) < S32(b) ? a : b)
MODEL(m_max_u64, a > b ? a : b)
MODEL(m_min_s16, S16(a) < S16(b) ? a : b)
MODEL(m_abs_s32, S32(a) < 0 ? -S32(a) : S32(a))
MODEL(m_neg, 0 - a)
MODEL(m_cnot, a == 0)
MODEL(m_lop3, ((~a & b) | (c ^ a)))
MODEL(m_and, a &b)
MODEL(m_or, a | b)
MODEL(m_xor, a ^ b)
MODEL(m_not, ~a)
MODEL(m_shl32, b > 31 ? 0 : a << b)
MODEL(m_shr_u32, b > 31 ? 0 : a >> b)
MODEL(m_shr_s32, S32(a) >> (b > 31 ? 31 : b))
MODEL(m_shl64, (uint32_t)b > 63 ? 0 : a << b)
MODEL(m_shr_s64, (s64)a >> ((uint32_t)b > 63 ? 63 : b))
MODEL(m_shr_s16, S16(a) >> (b > 15 ? 15 : b))
MODEL(m_shfl_l, ((b << 32 | a) << (c & 31)) >> 32)
MODEL(m_shf_r_clamp, (b << 32 | a) >> (c > 32 ? 32 : c))
MODEL(m_selp, a < b ? a : c)
MODEL(m_slct, S32(c) >= 0 ? a : b)
MODEL(m_add_carry, a + b)
MODEL(m_sub_carry, a - b)
MODEL(m_mad_carry, a *b + c)

static u64 m_popc(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    u64 n = 0;
    for (int i = 0; i < 64; i++)
        n += a >> i & 1;
    return n;
}

static u64 m_clz32(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    u64 n = 0;
    while (n < 32 && !(a >> (31 - n) & 1))
        n++;
    return n;
}

static u64 m_clz64(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    u64 n = 0;
    while (n < 64 && !(a >> (63 - n) & 1))
        n++;
    return n;
}

static u64 m_brev(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    u64 r = 0;
    for (int i = 0; i < 32; i++)
        r |= (a >> i & 1) << (31 - i);
    return r;
}

static u64 m_bfind_s32(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    uint32_t x = S32(a) < 0 ? ~(uint32_t)a : (uint32_t)a;
    for (int i = 31; i >= 0; i--)
        if (x >> i & 1)
            return (u64)i;
    return 0xffffffff;
}

/* Pseudo code of the manual. */
static u64 m_bfe(u64 a, u64 b, u64 c, int msb, bool is_signed)
{
    int pos = b & 0xff, len = c & 0xff;
    u64 sign = !is_signed || len == 0 ? 0 : a >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1;
    u64 d = 0;
    for (int i = 0; i <= msb; i++)
        d |= (i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
    return d;
}
static u64 m_bfe_u32(u64 a, u64 b, u64 c)
{
    return m_bfe(a, b, c, 31, false);
}
static u64 m_bfe_s32(u64 a, u64 b, u64 c)
{
    return m_bfe(a, b, c, 31, true);
}
static u64 m_bfe_s64(u64 a, u64 b, u64 c)
{
    return m_bfe(a, b > 255 ? 255 : b, c > 255 ? 255 : c, 63, true);
}

/* bfi with field a into 0x5a5a5a5a at b, length c */
static u64 m_bfi(u64 a, u64 b, u64 c)
{
    u64 f = 0x5a5a5a5a;
    int pos = b & 0xff, len = c & 0xff;
    for (int i = 0; i < len && pos + i <= 31; i++)
        f = (f & ~(UINT64_C(1) << (pos + i))) | (a >> i & 1) << (pos + i);
    return f;
}

static u64 m_prmt(u64 a, u64 b, u64 c)
{
    u64 bytes = a | b << 32, r = 0;
    for (int i = 0; i < 4; i++) {
        int sel = c >> 4 * i & 15;
        u64 byte = bytes >> 8 * (sel & 7) & 0xff;
        if (sel & 8)
            byte = byte >> 7 ? 0xff : 0;
        r |= byte << 8 * i;
    }
    return r;
}

static u64 m_fns(u64 a, u64 b, u64 c)
{
    int base = b & 31, n = (int)(c & 7) - 3;
    if (n == 0)
        return a >> base & 1 ? (u64)base : 0xffffffff;
    int seen = 0;
    for (int at = base; at >= 0 && at<32; at += n> 0 ? 1 : -1)
        if (a >> at & 1 && ++seen == abs(n))
            return (u64)at;
    return 0xffffffff;
}

static u64 m_dp4a(u64 a, u64 b, u64 c)
{
    for (int i = 0; i < 32; i += 8)
        c += (u64)((s64)(int8_t)(a >> i) * (s64)(uint8_t)(b >> i));
    return c;
}

static u64 m_dp2a_hi(u64 a, u64 b, u64 c)
{
    return c + (u64)(S16(a) * (int8_t)(b >> 16) + S16(a >> 16) * (int8_t)(b >> 24));
}

static u64 m_bmsk(u64 a, u64 b, u64 c)
{
    (void)c;
    u64 r = 0;
    for (u64 i = 0; i < 32; i++)
        r |= (u64)(i >= a && i - a < b) << i;
    return a > 31 ? 0 : r;
}

static u64 m_szext(u64 a, u64 b, u64 c)
{
    (void)c;
    return b > 31 ? a : b == 0 ? 0 : (u64)(S32(a << (32 - b)) >> (32 - b));
}

static u64 m_add16x2(u64 a, u64 b, u64 c)
{
    (void)c;
    return ((a + b) & 0xffff) | ((a >> 16) + (b >> 16)) << 16;
}

MODEL(m_turn_32, (uint32_t)a >> 16 | (a & 0xffff) << 16)
MODEL(m_swap_64, a >> 32 | a << 32)
MODEL(m_turn_64, a >> 48 | (a >> 16 & 0xffff0000) | (a & 0xffff0000) << 16 | a << 48)
MODEL(m_bytes, __builtin_bswap32((uint32_t)a))

static u64 m_addc_out(u64 a, u64 b, u64 c)
{
    (void)c;
    return (u64)(((uwide)a + b) >> 64);
}

static const struct kit_case cases[] = {
    {"add.s32 wr, wa, wb;", "wwww", m_add},
    {"add.u64 dr, da, db;", "dddd", m_add},
    {"add.s16 hr, ha, hb;", "hhhh", m_add},
    {"sub.u32 wr, wa, wb;", "wwww", m_sub},
    {"sub.s64 dr, da, db;", "dddd", m_sub},
    {"add.sat.s32 wr, wa, wb;", "wwww", m_add_sat},
    {"add.u16x2 wr, wa, wb;", "wwww", m_add16x2},
    {"mul.lo.s32 wr, wa, wb;", "wwww", m_mul},
    {"mul.lo.u64 dr, da, db;", "dddd", m_mul},
    {"mul.lo.u16 hr, ha, hb;", "hhhh", m_mul},
    {"mul.hi.u32 wr, wa, wb;", "wwww", m_mulhi_u32},
    {"mul.hi.s32 wr, wa, wb;", "wwww", m_mulhi_s32},
    {"mul.hi.u64 dr, da, db;", "dddd", m_mulhi_u64},
    {"mul.hi.s64 dr, da, db;", "dddd", m_mulhi_s64},
    {"mul.hi.u16 hr, ha, hb;", "hhhh", m_mulhi_u16},
    {"mul.hi.s16 hr, ha, hb;", "hhhh", m_mulhi_s16},
    {"mul.wide.u32 dr, wa, wb;", "wwwd", m_mul},
    {"mul.wide.s32 dr, wa, wb;", "wwwd", m_wide_s32},
    {"mul.wide.u16 wr, ha, hb;", "hhhw", m_mul},
    {"mul.wide.s16 wr, ha, hb;", "hhhw", m_wide_s16},
    {"mad.lo.s32 wr, wa, wb, wc;", "wwww", m_mad},
    {"mad.lo.u64 dr, da, db, dc;", "dddd", m_mad},
    {"mad.hi.s32 wr, wa, wb, wc;", "wwww", m_madhi_s32},
    {"mad.wide.s32 dr, wa, wb, dc;", "wwdd", m_madwide_s32},
    {"mul24.lo.u32 wr, wa, wb;", "wwww", m_mul24lo},
    {"mul24.hi.s32 wr, wa, wb;", "wwww", m_mul24hi_s},
    {"sad.u32 wr, wa, wb, wc;", "wwww", m_sad_u32},
    {"sad.s32 wr, wa, wb, wc;", "wwww", m_sad_s32},
    {"div.u32 wr, wa, wb;", "wwww", m_div_u32},
    {"div.s32 wr, wa, wb;", "wwww", m_div_s32},
    {"rem.u32 wr, wa, wb;", "wwww", m_rem_u32},
    {"rem.s32 wr, wa, wb;", "wwww", m_rem_s32},
    {"div.u64 dr, da, db;", "dddd", m_div_u64},
    {"div.s64 dr, da, db;", "dddd", m_div_s64},
    {"rem.s64 dr, da, db;", "dddd", m_rem_s64},
    {"div.s16 hr, ha, hb;", "hhhh", m_div_s16},
    {"min.s32 wr, wa, wb;", "wwww", m_min_s32},
    {"max.u64 dr, da, db;", "dddd", m_max_u64},
    {"min.s16 hr, ha, hb;", "hhhh", m_min_s16},
    {"abs.s32 wr, wa;", "wwww", m_abs_s32},
    {"neg.s64 dr, da;", "dddd", m_neg},
    {"neg.s16 hr, ha;", "hhhh", m_neg},
    {"and.b32 wr, wa, wb;", "wwww", m_and},
    {"or.b64 dr, da, db;", "dddd", m_or},
    {"xor.b16 hr, ha, hb;", "hhhh", m_xor},
    {"not.b32 wr, wa;", "wwww", m_not},
    {"cnot.b32 wr, wa;", "wwww", m_cnot},
    /* (~a & b) | (c ^ a): bit k of the table is f of the bits of k as a, b, c */
    {"lop3.b32 wr, wa, wb, wc, 94;", "wwww", m_lop3},
    {"shl.b32 wr, wa, wb;", "wwww", m_shl32},
    {"shr.u32 wr, wa, wb;", "wwww", m_shr_u32},
    {"shr.s32 wr, wa, wb;", "wwww", m_shr_s32},
    {"shr.s64 dr, da, wb;", "dwwd", m_shr_s64},
    {"shl.b64 dr, da, wb;", "dwwd", m_shl64},
    {"shr.s16 hr, ha, wb;", "hwwh", m_shr_s16},
    {"shf.l.wrap.b32 wr, wa, wb, wc;", "wwww", m_shfl_l},
    {"shf.r.clamp.b32 wr, wa, wb, wc;", "wwww", m_shf_r_clamp},
    {"popc.b32 wr, wa;", "wwww", m_popc},
    {"popc.b64 wr, da;", "dwww", m_popc},
    {"clz.b32 wr, wa;", "wwww", m_clz32},
    {"clz.b64 wr, da;", "dwww", m_clz64},
    {"brev.b32 wr, wa;", "wwww", m_brev},
    {"bfind.s32 wr, wa;", "wwww", m_bfind_s32},
    {"bfe.u32 wr, wa, wb, wc;", "wwww", m_bfe_u32},
    {"bfe.s32 wr, wa, wb, wc;", "wwww", m_bfe_s32},
    {"bfe.s64 dr, da, wb, wc;", "dwwd", m_bfe_s64},
    {"mov.b32 wt, 0x5a5a5a5a; bfi.b32 wr, wa, wt, wb, wc;", "wwww", m_bfi},
    {"prmt.b32 wr, wa, wb, wc;", "wwww", m_prmt},
    {"and.b32 wb, wb, 31; and.b32 wc, wc, 7; sub.s32 wc, wc, 3; fns.b32 wr, wa, wb, wc;", "wwww",
     m_fns},
    {"dp4a.s32.u32 wr, wa, wb, wc;", "wwww", m_dp4a},
    {"dp2a.hi.s32.s32 wr, wa, wb, wc;", "wwww", m_dp2a_hi},
    {"bmsk.clamp.b32 wr, wa, wb;", "wwww", m_bmsk},
    {"szext.clamp.s32 wr, wa, wb;", "wwww", m_szext},
    {"setp.lt.u32 p, wa, wb; selp.b32 wr, wa, wc, p;", "wwww", m_selp},
    {"slct.b32.s32 wr, wa, wb, wc;", "wwww", m_slct},
    /* 64-bit arithmetic out of 32-bit carry chains */
    {"{.reg .b16 x, y; mov.b32 {x, y}, wa; mov.b32 wr, {y, x};}", "wwww", m_turn_32},
    {"{.reg .b16 x, y, u, v; mov.b64 {x, y, u, v}, da; mov.b64 dr, {v, u, y, x};}", "dddd",
     m_turn_64},
    {"{.reg .b32 x, y; mov.b64 {x, y}, da; mov.b64 dr, {y, x};}", "dddd", m_swap_64},
    {"{.reg .b8 x, y, u, v; mov.b32 {x, y, u, v}, wa; mov.b32 wr, {v, u, y, x};}", "wwww",
     m_bytes},
    {"{.reg .b32 x, y, u, v; mov.b64 {x, y}, da; mov.b64 {u, v}, db;"
     "add.cc.u32 x, x, u; addc.u32 y, y, v; mov.b64 dr, {x, y};}",
     "dddd", m_add_carry},
    {"{.reg .b32 x, y, u, v; mov.b64 {x, y}, da; mov.b64 {u, v}, db;"
     "sub.cc.u32 x, x, u; subc.u32 y, y, v; mov.b64 dr, {x, y};}",
     "dddd", m_sub_carry},
    {"add.cc.u64 dt, da, db; addc.u64 dr, 0, 0;", "dddd", m_addc_out},
    {"{.reg .b32 x, y, u, v, lo, hi; mov.b64 {u, v}, dc;"
     "mad.lo.cc.u32 lo, wa, wb, u; madc.hi.u32 hi, wa, wb, v; mov.b64 dr, {lo, hi};}",
     "wwdd", m_mad_carry},
};

static void instructions_match_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        kit_check(&cases[i]);
}

/* ---- conversions between integers ---- */

MODEL(c_u8_s16, (u64)(int16_t)(int8_t)a)
MODEL(c_s64_s32, S32(a))
MODEL(c_u64_u16, a & 0xffff)
MODEL(c_sat_u8_s32, S32(a) < 0 ? 0 : S32(a) > 255 ? 255 : a)
MODEL(c_sat_s16_s32, S32(a) < -32768 ? -32768 : S32(a) > 32767 ? 32767 : S32(a))
MODEL(c_sat_s32_u64, a > INT32_MAX ? INT32_MAX : a)
MODEL(c_sat_u32_s64, (s64)a<0 ? 0 : a> UINT32_MAX ? UINT32_MAX : a)
MODEL(c_sat_s8_s64, (s64)a<-128 ? -128 : (s64)a> 127 ? 127 : (s64)a)
MODEL(c_narrow, a)

static const struct kit_case conversions[] = {
    {"cvt.s16.s8 hr, wa;", "wwwh", c_u8_s16},
    {"cvt.s64.s32 dr, wa;", "wwwd", c_s64_s32},
    {"cvt.u64.u16 dr, ha;", "hhhd", c_u64_u16},
    {"cvt.sat.u8.s32 wr, wa;", "wwww", c_sat_u8_s32},
    {"cvt.sat.s16.s32 wr, wa;", "wwww", c_sat_s16_s32},
    {"cvt.sat.s32.u64 wr, da;", "dddw", c_sat_s32_u64},
    {"cvt.sat.u32.s64 wr, da;", "dddw", c_sat_u32_s64},
    {"cvt.sat.s8.s64 wr, da;", "dddw", c_sat_s8_s64},
    {"cvt.u32.u64 wr, da;", "dddw", c_narrow},
    {"cvt.u16.u32 hr, wa;", "wwwh", c_narrow},
    {"cvt.u32.u32 dr, wa;", "wwwd", c_narrow},
    {"cvt.s32.s32 dr, wa;", "wwwd", c_s64_s32},
};

static void integer_conversions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++)
        kit_check(&conversions[i]);
}

/* ---- comparisons: every test on every integer type, with Boolean operators ---- */

static bool holds(const char *test, u64 a, u64 b, bool is_signed, unsigned bits)
{
    u64 flip = is_signed ? UINT64_C(1) << (bits - 1) : 0;
    a ^= flip, b ^= flip;
    return strcmp(test, "eq") == 0                              ? a == b
           : strcmp(test, "ne") == 0                            ? a != b
           : strcmp(test, "lt") == 0 || strcmp(test, "lo") == 0 ? a < b
           : strcmp(test, "le") == 0 || strcmp(test, "ls") == 0 ? a <= b
           : strcmp(test, "gt") == 0 || strcmp(test, "hi") == 0 ? a > b
                                                                : a >= b;
}

static const char *model_test;
static unsigned model_bits;
static bool model_signed;
static u64 m_compare(u64 a, u64 b, u64 c)
{
    bool t = holds(model_test, a, b, model_signed, model_bits), other = c & 1;
    return (u64)(t && other) | (u64)(!t && other) << 1;
}

static void comparisons(void **state)
{
    (void)state;
    static const char *const tests[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const struct {
        const char *type, *widths, *a, *b;
        unsigned bits;
        bool is_signed;
    } types[] = {
        {"u16", "hhww", "ha", "hb", 16, false}, {"s16", "hhww", "ha", "hb", 16, true},
        {"u32", "wwww", "wa", "wb", 32, false}, {"s32", "wwww", "wa", "wb", 32, true},
        {"u64", "ddww", "da", "db", 64, false}, {"s64", "ddww", "da", "db", 64, true},
    };
    for (size_t t = 0; t < 6; t++)
        for (size_t i = 0; i < 6; i++) {
            char body[512];
            snprintf(body, sizeof body,
                     "and.b32 wt, wc, 1; setp.eq.u32 p, wt, 1; setp.%s.and.%s p|q, %s, %s, p;"
                     "selp.b32 wr, 1, 0, p; selp.b32 wu, 2, 0, q; or.b32 wr, wr, wu;",
                     tests[i], types[t].type, types[t].a, types[t].b);
            model_test = tests[i], model_bits = types[t].bits, model_signed = types[t].is_signed;
            kit_check(&(struct kit_case){body, types[t].widths, m_compare});
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_match_models),
        cmocka_unit_test(integer_conversions),
        cmocka_unit_test(comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
