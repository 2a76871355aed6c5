// SPDX-License-Identifier: Apache-2.0
// Atomics of CUDA and of cuda::atomic, locks between CTAs, and cuda::std.
#include <cstdint>
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
#include <cuda/semaphore>
#include <cuda/latch>

extern "C" __global__ void updates(const uint32_t *in, uint32_t *out)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i];
    atomicAdd(&out[0], x);
    atomicSub(&out[1], x);
    atomicMin(&out[2], x | 0x80000000u);
    atomicMax((int *)&out[3], (int)(x & 0x7fffffff));
    atomicXor(&out[4], x);
    atomicOr(&out[5], x & 0x0f0f);
    atomicAnd(&out[6], x | 0xff);
    atomicInc(&out[7], 99);
    atomicDec(&out[8], 99);
    atomicAdd((unsigned long long *)&out[10], (unsigned long long)x << 16);
    atomicAdd((float *)&out[12], (float)(x & 0xff));
    atomicAdd((double *)&out[14], (double)(x & 0xff));
    atomicExch(&out[16], 5);
    atomicCAS(&out[17], 0, 77);
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> a(out[18]);
    a.fetch_add(x & 15, cuda::memory_order_relaxed);
    a.fetch_max(3);
    cuda::atomic_ref<uint32_t, cuda::thread_scope_system> b(out[19]);
    b.fetch_xor(x, cuda::memory_order_acq_rel);
    uint32_t seen = 0;
    cuda::atomic_ref<uint32_t, cuda::thread_scope_block> c(out[20]);
    while (!c.compare_exchange_weak(seen, seen + 3))
        ;
    cuda::atomic_ref<uint16_t, cuda::thread_scope_device> h(*(uint16_t *)&out[21]);
    h.fetch_add((uint16_t)1);
    cuda::atomic_ref<uint8_t, cuda::thread_scope_device> byte(*((uint8_t *)&out[22] + 1));
    byte.fetch_add((uint8_t)1);
    cuda::atomic_ref<float, cuda::thread_scope_device> f(*(float *)&out[23]);
    f.fetch_add(1.0f);
    cuda::atomic_ref<int64_t, cuda::thread_scope_device> m(*(int64_t *)&out[24]);
    m.fetch_min(-(int64_t)(x & 0xffff));
}

__device__ uint32_t lock_word, critical;

extern "C" __global__ void locks(const uint32_t *in, uint32_t *out)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            __threadfence();
            *(volatile uint32_t *)&critical = *(volatile uint32_t *)&critical * 3 + 1;
            out[0] = critical;
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
    (void)in;
}

__device__ cuda::atomic<uint32_t, cuda::thread_scope_device> turn{0};

extern "C" __global__ void turns(const uint32_t *in, uint32_t *out)
{
    if (threadIdx.x)
        return;
    uint32_t order = gridDim.x - 1 - blockIdx.x;
    while (turn.load(cuda::memory_order_acquire) != order)
        __nanosleep(20);
    out[order + 1] = out[order] * 7 + in[blockIdx.x];
    turn.store(order + 1, cuda::memory_order_release);
}

extern "C" __global__ void wide(const uint32_t *in, uint32_t *out)
{
    uint64_t lo, hi;
    asm volatile("{ .reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
                 : "=l"(lo), "=l"(hi) : "l"(out) : "memory");
    for (bool done = false; !done;) {
        uint64_t a = lo, b = hi;
        asm volatile("{\n.reg .b128 old, cmp, val;\nmov.b128 cmp, {%0, %1};\nmov.b128 val, {%3, %4};\n"
                     "atom.relaxed.gpu.global.cas.b128 old, [%2], cmp, val;\nmov.b128 {%0, %1}, old;\n}"
                     : "+l"(lo), "+l"(hi)
                     : "l"(out), "l"(lo + in[blockIdx.x * blockDim.x + threadIdx.x]), "l"(hi + 1)
                     : "memory");
        done = a == lo && b == hi;
    }
}

extern "C" __global__ void containers(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i];
    cuda::std::array<uint32_t, 8> a{};
    for (uint32_t k = 0; k < a.size(); k++)
        a[k] = in[(i + k) % 256] & 0xff;
    for (uint32_t k = 1; k < a.size(); k++)
        for (uint32_t j = k; j && a[j - 1] > a[j]; j--)
            cuda::std::swap(a[j - 1], a[j]);
    cuda::std::optional<uint32_t> o = x & 1 ? cuda::std::optional<uint32_t>(x >> 1) : cuda::std::nullopt;
    cuda::std::variant<int, uint64_t> v;
    if (x & 2)
        v = (uint64_t)x << 20;
    else
        v = (int)(x & 0xfff);
    auto t = cuda::std::make_tuple(x, i, cuda::std::popcount(x));
    cuda::std::complex<float> z(1.0f, (float)(x & 3)), zz = z * z;
    uint32_t r = a[2] + 3 * a[7] + o.value_or(9) + (uint32_t)cuda::std::get<2>(t) + cuda::std::get<1>(t);
    r += cuda::std::visit([](auto y) { return (uint32_t)(y >> 3); }, v);
    r += (uint32_t)(int)zz.real() + (uint32_t)(int)zz.imag() + cuda::std::countl_zero(x | 1);
    out[i] = r;
}

extern "C" __global__ void latches(const uint32_t *in, uint32_t *out)
{
    __shared__ cuda::latch<cuda::thread_scope_block> *dummy;
    __shared__ alignas(8) char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ alignas(8) char room2[sizeof(cuda::binary_semaphore<cuda::thread_scope_block>)];
    __shared__ uint32_t data[64];
    auto *l = (cuda::latch<cuda::thread_scope_block> *)room;
    auto *s = (cuda::binary_semaphore<cuda::thread_scope_block> *)room2;
    uint32_t i = threadIdx.x;
    if (i == 0) {
        new (l) cuda::latch<cuda::thread_scope_block>(64);
        new (s) cuda::binary_semaphore<cuda::thread_scope_block>(1);
        dummy = l;
        data[0] = 0;
    }
    __syncthreads();
    s->acquire();
    *(volatile uint32_t *)&data[0] = *(volatile uint32_t *)&data[0] + (in[i] & 0xff);
    s->release();
    l->arrive_and_wait();
    out[i] = data[0] + (dummy == l);
}
