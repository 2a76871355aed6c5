// SPDX-License-Identifier: Apache-2.0
// The keeper's kernels on a GPU against the host: inputs bit for bit, what is measured of an output bit
// for bit, redraws that are what they claim to be, canaries that are noticed; and how fast they are.
#include "tests/gpu/kernels_checks.h"
#include "tests/gpu/runner_kit.h"

static void test_speed(const struct kernels *k)
{
    struct fault f = {0};
    const int64_t shape[] = {8192, 7168};
    CUdeviceptr o = room(8192u * 7168 * 2), y = room(8192ul * 7168 * 8);
    struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
    struct seed seed = seed_draw();
    must(kernels_fill(k, seed, &normal, 0, DTYPE_bf16, o, 8192 * 7168, &f), &f);
    must(kernels_fill(k, seed, &normal, 0, DTYPE_f64, y, 8192 * 7168, &f), &f);
    struct compare_task task = {.name = "C", .dtype = DTYPE_bf16, .oracle_dtype = DTYPE_f64,
                                .ndim = 2, .shape = shape, .rule = {1e-2, 1e-2, 4e-4, false}};
    struct compare_result r;
    must(gpu_compare(k, &task, o, y, &r, &f), &f);
    double start = now_s();
    must(gpu_compare(k, &task, o, y, &r, &f), &f);
    ok(r.strict && r.exact, "a large output equals its oracle");
    printf("# compare.m8192_n7168_ms %.2f\n", (now_s() - start) * 1e3);
}

int main(void)
{
    struct kit kit;
    struct kernels k;
    struct fault f = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open(&kit, "small");
    must(kernels_open(&k, kit.arch, &f), &f);
    check_kernels(&k, kit.problem);
    test_speed(&k);
    kernels_close(&k);
    printf("1..%d\n", checks);
    return failed > 0;
}
