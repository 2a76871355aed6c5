// SPDX-License-Identifier: Apache-2.0
// Inline PTX with braces, labels, local registers and predicates, expanded several times.
#include <cstdint>

__device__ uint32_t collatz(uint32_t x)
{
    uint32_t n;
    asm volatile("{\n"
                 ".reg .pred %%odd, p<2>;\n"
                 ".reg .b32 t, h;\n"
                 "mov.u32 t, %1;\n"
                 "mov.u32 %0, 0;\n"
                 "LOOP:\n"
                 "setp.le.u32 p0, t, 1;\n"
                 "@p0 bra DONE;\n"
                 "and.b32 h, t, 1;\n"
                 "setp.ne.u32 %%odd, h, 0;\n"
                 "@%%odd mad.lo.u32 t, t, 3, 1;\n"
                 "@!%%odd shr.u32 t, t, 1;\n"
                 "add.u32 %0, %0, 1;\n"
                 "setp.lt.u32 p1, %0, 500;\n"
                 "@p1 bra LOOP;\n"
                 "DONE:\n"
                 "}\n"
                 : "=r"(n)
                 : "r"(x));
    return n;
}

extern "C" __global__ void labels(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    out[i] = collatz(in[i] % 97 + 1) + 1000 * collatz(i + 1);
    if (i % 2)
        out[i] += 1000000 * (collatz(i * 3) % 10);
}

extern "C" __global__ void vectors(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, a, b, c, d;
    asm volatile("{ .reg .v4 .u32 v; ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(in + 4 * i));
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(out + 2 * i), "r"(a ^ c), "r"(b + d) : "memory");
}

extern "C" __global__ void carries(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, r0, r1, r2, r3;
    asm("{\n.reg .u32 lo;\n"
        "mul.lo.u32 %0, %4, %6;\n mul.hi.u32 %1, %4, %6;\n"
        "mad.lo.cc.u32 %1, %5, %6, %1;\n madc.hi.u32 %2, %5, %6, 0;\n"
        "mad.lo.cc.u32 %1, %4, %7, %1;\n madc.hi.cc.u32 %2, %4, %7, %2;\n addc.u32 %3, 0, 0;\n"
        "mad.lo.cc.u32 %2, %5, %7, %2;\n madc.hi.u32 %3, %5, %7, %3;\n}"
        : "=&r"(r0), "=&r"(r1), "=&r"(r2), "=&r"(r3)
        : "r"(in[4 * i]), "r"(in[4 * i + 1]), "r"(in[4 * i + 2]), "r"(in[4 * i + 3]));
    out[4 * i] = r0, out[4 * i + 1] = r1, out[4 * i + 2] = r2, out[4 * i + 3] = r3;
}

extern "C" __global__ void specials(const uint32_t *in, uint32_t *out)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, lane, warp, lt, v;
    uint64_t wide;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm volatile("{ .reg .b16 h0, h1; mov.b32 {h0, h1}, %1; mov.b32 %0, {h1, h0}; }" : "=r"(v) : "r"(in[i]));
    asm volatile("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(v), "r"(lane));
    out[i] = (uint32_t)(wide >> 32) + 100 * warp + (uint32_t)wide + lt;
}
