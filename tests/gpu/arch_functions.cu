// SPDX-License-Identifier: Apache-2.0
// Every function of the headers for sm_90a at work, each result held against what plain code gives. A kernel counts what
// is wrong in *bad. Compiled by tests/gpu/arch_functions.c as a submission would be, with all headers included and
// `using namespace ptxbench` in front.

template <class X, class Y> constexpr bool same = false;
template <class X> constexpr bool same<X, X> = true;

template <class T> struct element; // bytes, and the bits of a small integer
template <> struct element<bf16> {
    using type = uint16_t;
    static __device__ type of(int v) { return v == 0 ? 0 : (v < 0 ? 0x8000 : 0) | (v * v == 1 ? 0x3f80 : 0x4000); }
};
template <> struct element<f16> {
    using type = uint16_t;
    static __device__ type of(int v) { return v == 0 ? 0 : (v < 0 ? 0x8000 : 0) | (v * v == 1 ? 0x3c00 : 0x4000); }
};
template <> struct element<tf32> {
    using type = uint32_t;
    static __device__ type of(int v) { return __float_as_uint((float)v); }
};
template <> struct element<e4m3> {
    using type = uint8_t;
    static __device__ type of(int v) { return v == 0 ? 0 : (v < 0 ? 0x80 : 0) | (v * v == 1 ? 0x38 : 0x40); }
};
template <> struct element<e5m2> {
    using type = uint8_t;
    static __device__ type of(int v) { return v == 0 ? 0 : (v < 0 ? 0x80 : 0) | (v * v == 1 ? 0x3c : 0x40); }
};
template <> struct element<s8> {
    using type = uint8_t;
    static __device__ type of(int v) { return (uint8_t)v; }
};
template <> struct element<u8> {
    using type = uint8_t;
    static __device__ type of(int v) { return (uint8_t)v; }
};

// -2 to 2; of u8 what its bits mean.
template <class T> __device__ int value(int which, int row, int k)
{
    unsigned h = (which * 7919 + row * 131 + k) * 2654435761u;
    int v = (int)(h >> 20) % 5 - 2;
    return same<T, u8> ? v & 255 : v;
}

__device__ float half_to_float(uint32_t h)
{
    float f;
    asm("{.reg .b16 x; cvt.u16.u32 x, %1; cvt.f32.f16 %0, x;}" : "=f"(f) : "r"(h & 0xffff));
    return f;
}

// ---- wgmma: all layouts of shared memory, both places of A ----

// K_STEPS instructions; A as 64 x K, B as N x K, stored with swizzle S in the order that MA and MB say.
template <class A, class B, class D, int N, swizzle S, major MA, major MB, int K_STEPS, bool Registers>
__global__ void product(unsigned *bad)
{
    using TA = typename element<A>::type;
    using TB = typename element<B>::type;
    constexpr int es = sizeof(TA), step = 32 / es, K = K_STEPS * step, s = (int)S;
    extern __shared__ char raw[];
    char *sa = (char *)align_up<1024>(raw), *sb = sa + (64 * K * es + 1023) / 1024 * 1024;
    int t = threadIdx.x;
    auto place = [&](int mn, int k, int rows, major m) { // byte of an element in its tile
        if (m == major::k)
            return k * es / s * rows * s + (int)swizzled<S>(mn, k * es % s);
        return mn * es / s * K * s + (int)swizzled<S>(k, mn * es % s);
    };
#pragma unroll 1
    for (int i = t; i < 64 * K; i += 128)
        *(TA *)(sa + place(i / K, i % K, 64, MA)) = element<A>::of(value<A>(0, i / K, i % K));
#pragma unroll 1
    for (int i = t; i < N * K; i += 128)
        *(TB *)(sb + place(i / K, i % K, N, MB)) = element<B>::of(value<B>(1, i / K, i % K));
    fence_proxy_async_shared();
    __syncthreads();
    auto tile = [&](char *p, int rows, major m, int k) {
        if (m == major::mn)
            return advance(descriptor_mn_major<S>(p, K), 2 * es * 4 * s * k);
        if (S == swizzle::none)
            return advance(descriptor_k_major<S>(p, rows), 2 * rows * 16 * k);
        return advance(descriptor_k_major<S>(p + 32 * k / s * rows * s, rows), 32 * k % s);
    };
    constexpr bool half = same<D, uint32_t>;
    D d[half ? N / 4 : N / 2];
    for (auto &x : d)
        x = 7; // `keep` is false first: may not matter
    uint32_t a[K_STEPS][4];
    int lane = t % 32, warp = t / 32;
    for (int k = 0; k < K_STEPS; k++)
        for (int r = 0; r < 4; r++) {
            int row = warp * 16 + lane / 4 + (r & 1) * 8, col = k * step + lane % 4 * (4 / es) + (r >> 1) * 4 * (4 / es);
            a[k][r] = 0;
            for (int i = 0; i < 4 / es; i++)
                a[k][r] |= (uint32_t)element<A>::of(value<A>(0, row, col + i)) << 8 * es * i;
        }
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < K_STEPS; k++)
        if constexpr (Registers)
            wgmma<A, B, MB>(d, a[k], tile(sb, N, MB, k), k > 0);
        else
            wgmma<A, B, MA, MB>(d, tile(sa, 64, MA, k), tile(sb, N, MB, k), k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(d);
    float *sums = (float *)(sb + (N * K * es + 1023) / 1024 * 1024);
    for (int j = 0; j < N / 8; j++)
        for (int i = 0; i < 4; i++) {
            int row = warp * 16 + lane / 4 + i / 2 * 8, col = 8 * j + 2 * (lane % 4) + i % 2;
            if constexpr (half)
                sums[row * N + col] = half_to_float(d[2 * j + i / 2] >> (16 * (i & 1)));
            else
                sums[row * N + col] = (float)d[4 * j + i];
        }
    __syncthreads();
#pragma unroll 1
    for (int i = t; i < 64 * N; i += 128) {
        int want = 0;
#pragma unroll 1
        for (int k = 0; k < K; k++)
            want += value<A>(0, i / N, k) * value<B>(1, i % N, k);
        if (sums[i] != (float)want)
            atomicAdd(bad, 1u);
    }
}

// ---- TMA: boxes of four elements in each dimension ----

// In: 8^D floats, each its own index. The host looks at `out`. mode: 0 store, 1 store with policies, 2 add, 3 min, 4 max
// (of s32 maps, where floats are illegal).
template <int D>
__global__ void boxes(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int mode,
                      unsigned *bad)
{
    __shared__ alignas(128) uint32_t s[1024];
    __shared__ uint64_t bar;
    int at[D], to[D];
    for (int i = 0; i < D; i++)
        at[i] = i ? 2 + i % 2 : 4, to[i] = i ? 1 + i % 3 : 0;
    if (threadIdx.x)
        return;
    mbarrier_init(&bar, 1);
    fence_mbarrier_init();
    tma_prefetch_map(&in);
    tma_prefetch(&in, at);
    if (mbarrier_test(&bar, 0))
        atomicAdd(bad, 1u);
    mbarrier_arrive_expect(&bar, 4 << 2 * D);
    if (mode == 1)
        tma_load(s, &in, &bar, at, policy_evict_first());
    else
        tma_load(s, &in, &bar, at);
    mbarrier_wait(&bar, 0);
    if (!mbarrier_test(&bar, 0))
        atomicAdd(bad, 1u);
    if (mode == 0)
        tma_store(&out, s, to);
    if (mode == 1)
        tma_store(&out, s, to, policy_evict_last());
    if (mode == 2)
        tma_reduce_add(&out, s, to);
    if (mode == 3)
        tma_reduce_min(&out, s, to);
    if (mode == 4)
        tma_reduce_max(&out, s, to);
    tma_commit();
    tma_wait_read<0>();
    tma_wait<0>();
    mbarrier_invalidate(&bar);
}

// ---- two blocks: distributed shared memory, multicast, remote barriers, rings ----

struct Pair {
    alignas(128) float box[2][256]; // by tma_load_multicast with and without policy
    alignas(128) float run[64], copy[64];
    alignas(16) uint32_t words[8];
    uint64_t full[2], bulk, copied, stored, emptied, released, plain;
    float sum;
    pipeline<2> ring;
};

__device__ void expect(unsigned *bad, bool right)
{
    if (!right)
        atomicAdd(bad, 1u);
}

__device__ void init(Pair &s)
{
    for (uint64_t *bar : {&s.full[0], &s.full[1], &s.bulk, &s.copied, &s.stored, &s.released})
        mbarrier_init(bar, 1);
    mbarrier_init(&s.emptied, 2);
    mbarrier_init(&s.plain, 3);
    s.ring.init(2);
    s.sum = 0;
    s.words[5] = s.words[6] = 0;
}

__device__ void announce(Pair &s, uint32_t rank)
{
    mbarrier_arrive_expect(&s.full[0], 1024);
    mbarrier_arrive_expect(&s.full[1], 1024);
    mbarrier_arrive_expect(&s.bulk, 256);
    mbarrier_arrive_expect(&s.stored, 20);
    if (rank == 0) { // for both blocks
        mbarrier_expect(&s.copied, 256);
        mbarrier_arrive(&s.copied);
        mbarrier_arrive_expect_at(&s.copied, 1, 256);
    }
}

__device__ void exchange(Pair &s, const CUtensorMap *map, const float *g, float *out, float *sums, uint32_t rank,
                         unsigned *bad)
{
    uint32_t other = rank ^ 1, v[4] = {rank, 1, 2, 3};
    if (rank == 0) {
        tma_load_multicast(s.box[0], map, &s.full[0], {4, 2}, 3);
        tma_load_multicast(s.box[1], map, &s.full[1], {4, 3}, 3, policy_evict_last());
        bulk_prefetch(g, 256);
        bulk_load_multicast(s.run, g, 256, &s.bulk, 3);
    }
    mbarrier_wait(&s.bulk, 0);
    bulk_copy_to_block(cluster_address(s.copy, other), s.run, 256, cluster_address(&s.copied, other));
    cluster_store_async(cluster_address(&s.words[4], other), 77 + rank, cluster_address(&s.stored, other));
    cluster_store_async(cluster_address(s.words, other), v, cluster_address(&s.stored, other));
    for (uint64_t *bar : {&s.full[0], &s.full[1], &s.copied, &s.stored})
        mbarrier_wait(bar, 0);
    mbarrier_arrive_at(&s.emptied, 0);
    mbarrier_arrive_at(&s.emptied, 1);
    mbarrier_wait(&s.emptied, 0);
    cluster_store(cluster_address(&s.words[5], other), 5 + rank);
    mbarrier_arrive_release_at(&s.released, other);
    mbarrier_wait_cluster(&s.released, 0);
    expect(bad, s.words[5] == 5 + other);
    expect(bad, cluster_load(cluster_address(&s.words[4], rank)) == 77 + other);
    expect(bad, s.words[0] == other && s.words[3] == 3);
    for (int i = 0; i < 256; i++) { // the map is 32 x 32 floats, each its index + 1
        expect(bad, s.box[0][i] == (2 + i / 16) * 32 + 4 + i % 16 + 1);
        expect(bad, s.box[1][i] == (3 + i / 16) * 32 + 4 + i % 16 + 1);
    }
    cluster_add(cluster_address(&s.sum, 0), 2.5f);
    *cluster_pointer(&s.words[6], other) = 9 + rank;
    bulk_store(out + rank * 64, s.copy, 256);
    bulk_reduce_add(sums, s.run, 256);
    tma_commit();
    tma_wait_read<0>();
    tma_wait<0>();
}

// Warpgroup 0 of each block loads ten pieces of 16 bytes through a ring of two, warpgroup 1 reads them; both blocks
// release the stages of both.
__device__ void go_round(Pair &s, const float *g, uint32_t rank, unsigned *bad)
{
    pipeline_stage<2> at;
    int t = threadIdx.x;
    if (t < 128) {
        setmaxnreg_dec<24>();
        for (int i = 0; i < 10 && t == 0; i++, at.advance()) {
            s.ring.wait_empty(at);
            bulk_load(at.index ? s.copy : s.run, g + i % 4 * 4, 16, s.ring.expect(at, 16));
        }
        return;
    }
    setmaxnreg_inc<104>();
    for (int i = 0; i < 10; i++, at.advance()) {
        s.ring.wait_full(at);
        expect(bad, (at.index ? s.copy : s.run)[1] == g[i % 4 * 4 + 1]);
        named_barrier_sync(1, 128);
        if (t - 128 == (int)rank)
            s.ring.release(at);
        else if (t < 130)
            s.ring.release_at(at, t - 128);
    }
}

__global__ __cluster_dims__(2, 1, 1) __launch_bounds__(256, 1) void pair(const __grid_constant__ CUtensorMap map,
                                                                       const float *g, float *out, float *sums,
                                                                       unsigned *bad)
{
    __shared__ Pair s;
    uint32_t rank = cluster_rank();
    int t = threadIdx.x;
    if (t == 0)
        init(s);
    cluster_sync();
    expect(bad, cluster_size() == 2);
    if (t == 0)
        announce(s, rank);
    if (t < 3) { // the barrier counts three
        mbarrier_arrive(&s.plain);
        mbarrier_wait(&s.plain, 0);
    }
    cluster_sync();
    if (t == 0)
        exchange(s, &map, g, out, sums, rank, bad);
    cluster_arrive();
    cluster_wait();
    if (t == 0)
        expect(bad, s.sum == (rank ? 0.f : 5.f) && s.words[6] == 9 + (rank ^ 1));
    __syncthreads();
    go_round(s, g, rank, bad);
    cluster_arrive_relaxed();
    cluster_wait();
}

// ---- one block: matrices, conversions, warps, fences, dependent launches ----

template <bool Transpose, int Count> __device__ void matrices(uint16_t (*m)[8][8], unsigned *bad)
{
    int l = threadIdx.x;
    uint32_t r[Count], back[Count];
    for (int i = 0; i < Count; i++)
        r[i] = (l * 2 + 1) << 16 | (l * 2 + 64 * i);
    void *row = &m[l / 8 % Count][l % 8][0];
    stmatrix<Transpose>(row, r);
    __syncwarp();
    for (int i = 0; i < Count; i++)
        for (int e = 0; e < 2; e++) {
            int a = l / 4, b = 2 * (l % 4) + e;
            uint16_t got = Transpose ? m[i][b][a] : m[i][a][b];
            expect(bad, got == (uint16_t)(r[i] >> 16 * e));
        }
    ldmatrix<Transpose>(back, row);
    for (int i = 0; i < Count; i++)
        expect(bad, back[i] == r[i]);
    __syncwarp();
}

// A (16 x 16) B (16 x 8) of small integers, the operands loaded by ldmatrix.
template <class T> __device__ void warp_product(uint16_t (&m)[4][8][8], unsigned *bad)
{
    int l = threadIdx.x;
    uint32_t a[4], b[2];
    float d[4] = {1, 2, 3, 4};
    for (int i = l; i < 256; i += 32)
        m[i / 64][i / 8 % 8][i % 8] = element<T>::of(value<T>(0, i / 64 % 2 * 8 + i / 8 % 8, i / 128 * 8 + i % 8));
    __syncwarp();
    ldmatrix(a, &m[l / 8][l % 8][0]);
    __syncwarp();
    for (int i = l; i < 128; i += 32)
        m[i / 64][i / 8 % 8][i % 8] = element<T>::of(value<T>(1, i / 8 % 8, i / 64 * 8 + i % 8));
    __syncwarp();
    ldmatrix(b, &m[l / 8 % 2][l % 8][0]);
    if (same<T, bf16>)
        mma_bf16(d, a, b[0], b[1]);
    else
        mma_f16(d, a, b[0], b[1]);
    for (int i = 0; i < 4; i++) {
        int row = l / 4 + i / 2 * 8, column = 2 * (l % 4) + i % 2, want = i + 1;
        for (int k = 0; k < 16; k++)
            want += value<T>(0, row, k) * value<T>(1, column, k);
        expect(bad, d[i] == (float)want);
    }
    __syncwarp();
}

__global__ void warps(const float *g, unsigned *bad)
{
    __shared__ alignas(16) uint16_t m[4][8][8];
    __shared__ alignas(16) float copied[128];
    int t = threadIdx.x;
    warp_product<bf16>(m, bad);
    warp_product<f16>(m, bad);
    copy_async(&copied[4 * t], &g[4 * t], t % 5 * 4);
    copy_async_commit();
    copy_async_commit();
    copy_async_wait<1>();
    __syncwarp();
    for (int i = t; i < 128; i += 32)
        expect(bad, copied[i] == (i % 4 < i / 4 % 5 ? g[i] : 0));
}

__global__ __launch_bounds__(128, 1) void block(float *g, unsigned *bad)
{
    __shared__ alignas(128) uint16_t m[4][8][8];
    __shared__ alignas(16) float copied[4];
    __shared__ uint64_t bar;
    __shared__ int handed;
    int t = threadIdx.x;
    wait_for_previous_launch();
    allow_next_launch();
    if (t == 0) {
        mbarrier_init(&bar, 32);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (t < 32) {
        matrices<false, 1>(m, bad);
        matrices<false, 2>(m, bad);
        matrices<false, 4>(m, bad);
        matrices<true, 1>(m, bad);
        matrices<true, 2>(m, bad);
        matrices<true, 4>(m, bad);
        expect(bad, pack_bf16(1.f, -2.f) == 0xc0003f80 && pack_f16(1.f, 2.f) == 0x40003c00);
        expect(bad, pack_e4m3(1.f, 2.f) == 0x4038 && exp2_approx(3.f) == 8.f);
        uint32_t v[4] = {1, 2, 3, (uint32_t)t}, back[4];
        shared_store(shared_address(m) + 16 * t, v);
        shared_load(back, shared_address(m) + 16 * t);
        expect(bad, back[0] == 1 && back[3] == t);
        expect(bad, __popc(__ballot_sync(~0u, elect_one())) == 1);
        expect(bad, sm_id() < 1024);
        expect(bad, shared_address(m) < 228 * 1024);
        expect(bad, descriptor<swizzle::b64>(m, 16, 512) ==
                        ((uint64_t)shared_address(m) >> 4 | 1ull << 16 | 32ull << 32 | 2ull << 62));
        if (t == 0) // cp.async, and an arrival when it has been written
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(copied)),
                         "l"(__cvta_generic_to_global(g)) : "memory");
        mbarrier_arrive_after_cp_async(&bar);
        mbarrier_wait(&bar, 0);
        expect(bad, copied[1] == g[1]);
        handed = 7;
        named_barrier_arrive(2, 64);
    } else if (t < 64) {
        named_barrier_sync(2, 64);
        expect(bad, handed == 7);
    }
    fence_block();
    fence_cluster();
    fence_gpu();
    fence_proxy_async();
    fence_proxy_async_global();
}

// ---- all blocks meet; each adds what all have added before ----

__global__ void meet(uint32_t *counter, uint32_t *sum, unsigned *bad)
{
    for (uint32_t round = 1; round <= 3; round++) {
        if (threadIdx.x == 0)
            atomicAdd(sum, 1u);
        grid_sync(counter);
        expect(bad, *(volatile uint32_t *)sum == round * gridDim.x);
        grid_sync(counter);
    }
}

// ---- sums to memory: 64 x 96, of which 50 rows and 80 columns are wanted, and boxes in shared memory ----

__global__ __launch_bounds__(128, 1) void epilogue(uint32_t *c, float *partial, unsigned *bad)
{
    __shared__ alignas(1024) char boxes[2 * 64 * 128];
    float d[48];
    int t = threadIdx.x;
    auto value = [](int row, int column) { return (float)(row - 2 * column); }; // exact in bf16
    for (int i = 0; i < 48; i++)
        d[i] = value(wgmma_row(i), wgmma_column(i));
    for (int i = t; i < 64 * 48; i += 128)
        c[i] = 7, partial[2 * i] = partial[2 * i + 1] = 7;
    __syncthreads();
    wgmma_store_bf16(c, 96, 50, 80, d);
    wgmma_store_f32(partial, 96, 50, 80, d);
    wgmma_stage_bf16(boxes, 64, 0, d);
    __syncthreads();
    for (int i = t; i < 64 * 48; i += 128) {
        int row = i / 48, column = i % 48 * 2;
        bool wanted = row < 50 && column < 80;
        uint32_t pair = pack_bf16(value(row, column), value(row, column + 1));
        expect(bad, c[i] == (wanted ? pair : 7));
        expect(bad, partial[2 * i] == (wanted ? value(row, column) : 7));
        expect(bad, *(uint32_t *)(boxes + column / 64 * 64 * 128 +
                                  swizzled<swizzle::b128>(row, column % 64 * 2)) == pair);
    }
}

// ---- latencies: a chain of dependent loads ----

// The first `warm` loads are not timed: they bring the chain into L2.
__global__ void chase(const uint32_t *chain, int warm, int steps, uint32_t *out)
{
    uint32_t at = 0;
    for (int i = 0; i < warm; i++)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
    long long start = clock64();
    for (int i = 0; i < steps; i++)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
    out[0] = (uint32_t)((clock64() - start) / steps);
    out[1] = at;
}

__global__ void chase_shared(int steps, uint32_t *out)
{
    __shared__ uint32_t s[256];
    for (int i = 0; i < 256; i++)
        s[i] = shared_address(&s[(i + 33) % 256]);
    uint32_t at = shared_address(s);
    long long start = clock64();
    for (int i = 0; i < steps; i++)
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    out[0] = (uint32_t)((clock64() - start) / steps);
    out[1] = at;
}
