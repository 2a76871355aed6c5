// SPDX-License-Identifier: Apache-2.0
//
// The keeper's own device code, in three files that are compiled as one, in this order:
//
//   kernels_common.cu     types, and arithmetic that rounds as the host does
//   kernels_inputs.cu     inputs and their redraws; what was touched that should not have been
//   kernels_compare.cu    what is measured of an output
//
// NVRTC compiles them when the keeper starts (evaluator/cuda/kernels.c). Every number here equals what the host
// code makes (evaluator/inputs.c, evaluator/compare.c) bit for bit: no multiplication is fused with an addition.
// Only sums run in another order, one part per lane of a warp. tests/gpu/kernels.c holds the two against each
// other.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum dtype { F64, F32, F16, BF16 }; // the first rows of core/dtypes.def, in their order
enum { TILE = 64 };

// Rounds towards the odd neighbour: a second rounding to fewer bits is then as good as one rounding.
static __device__ float to_float_odd(double v)
{
    float f = __double2float_rz(v);
    return (double)f == v ? f : __uint_as_float(__float_as_uint(f) | 1);
}

static __device__ u16 to_bf16(double v)
{
    u32 bits = __float_as_uint(to_float_odd(v));
    if (v != v)
        return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static __device__ u16 to_f16(double v)
{
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v != v ? (float)v : to_float_odd(v)));
    return bits;
}

static __device__ double from_f16(u16 bits)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
    return f;
}

static __device__ double from_bf16(u16 bits)
{
    return __uint_as_float((u32)bits << 16);
}

static __device__ double load(int t, const void *array, i64 i)
{
    switch (t) {
    case F64: return ((const double *)array)[i];
    case F32: return ((const float *)array)[i];
    case F16: return from_f16(((const u16 *)array)[i]);
    default: return from_bf16(((const u16 *)array)[i]);
    }
}

static __device__ void store(int t, void *array, i64 i, double v)
{
    switch (t) {
    case F64: ((double *)array)[i] = v; break;
    case F32: ((float *)array)[i] = __double2float_rn(v); break;
    case F16: ((u16 *)array)[i] = to_f16(v); break;
    default: ((u16 *)array)[i] = to_bf16(v); break;
    }
}

static __device__ double round_to(int t, double v)
{
    switch (t) {
    case F64: return v;
    case F32: return __double2float_rn(v);
    case F16: return from_f16(to_f16(v));
    default: return from_bf16(to_bf16(v));
    }
}

static __device__ i64 first_index()
{
    return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ i64 index_step()
{
    return (i64)gridDim.x * blockDim.x;
}
