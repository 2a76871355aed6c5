// SPDX-License-Identifier: Apache-2.0
//
// The oracle of gemm: C = A B^T with every product and every sum in double precision. Submissions
// are held against it; it is never timed and never the baseline. It is device code like any other,
// so the same file serves a GPU and the CPU device. oracle.ptx is this file compiled;
// tests/unit/oracle_test.c says how and checks that the two agree.
//
// A thread makes an 8 x 8 block of C in registers, so that each value it loads is used eight
// times. Products of two bf16 numbers are exact in double, and the sum of a few thousand of them
// is good to about 1e-15: thirteen digits more than any submission can show.

enum { SIDE = 8, AT_ONCE = 4 /* of k, where K allows it */ };

// A bf16 is the upper half of a float.
__device__ double widen(unsigned bits)
{
    return __uint_as_float(bits);
}

// sum += x y^T
__device__ void add_products(double (&sum)[SIDE][SIDE], const double (&x)[SIDE],
                             const double (&y)[SIDE])
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            sum[i][j] = fma(x[i], y[j], sum[i][j]);
}

extern "C" __global__ void gemm_oracle(const unsigned short *__restrict__ A,
                                       const unsigned short *__restrict__ B,
                                       double *__restrict__ C, int M, int N, int K)
{
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * SIDE;
    int column = (blockIdx.x * blockDim.x + threadIdx.x) * SIDE;
    if (row >= M || column >= N)
        return;

    // Rows past the edge repeat the last one: computed, never stored.
    const unsigned short *a[SIDE], *b[SIDE];
    for (int i = 0; i < SIDE; i++) {
        a[i] = A + (long long)min(row + i, M - 1) * K;
        b[i] = B + (long long)min(column + i, N - 1) * K;
    }

    double sum[SIDE][SIDE] = {};
    int k = 0;
    if (K % AT_ONCE == 0) { // rows begin at multiples of 8 bytes
#pragma unroll 1
        for (; k < K; k += AT_ONCE) {
            uint2 u[SIDE], v[SIDE];
            for (int i = 0; i < SIDE; i++) {
                u[i] = *(const uint2 *)(a[i] + k);
                v[i] = *(const uint2 *)(b[i] + k);
            }
#pragma unroll
            for (int step = 0; step < AT_ONCE; step++) {
                double x[SIDE], y[SIDE];
                for (int i = 0; i < SIDE; i++) {
                    unsigned s = step < 2 ? u[i].x : u[i].y, t = step < 2 ? v[i].x : v[i].y;
                    x[i] = widen(step % 2 ? s & 0xffff0000 : s << 16);
                    y[i] = widen(step % 2 ? t & 0xffff0000 : t << 16);
                }
                add_products(sum, x, y);
            }
        }
    }
#pragma unroll 1
    for (; k < K; k++) {
        double x[SIDE], y[SIDE];
        for (int i = 0; i < SIDE; i++) {
            x[i] = widen(a[i][k] << 16);
            y[i] = widen(b[i][k] << 16);
        }
        add_products(sum, x, y);
    }

    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            if (row + i < M && column + j < N)
                C[(long long)(row + i) * N + column + j] = sum[i][j];
}
