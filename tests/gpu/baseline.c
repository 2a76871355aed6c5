// SPDX-License-Identifier: Apache-2.0
// The baseline on every workload of gemm, all in one confined runner: it has a kernel for each
// shape, and sampled elements of its answer are those of a product in double precision.
//
//   gpu_baseline           one line per workload, then TAP
#include "tests/gpu/runner_kit.h"

enum { PERIOD = 4 * 1024 * 1024 - 3, SAMPLES = 48 }; /* inputs repeat; rows do not, as it is odd */

static uint16_t pattern[PERIOD];

static void make_pattern(void)
{
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < PERIOD; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        pattern[i] = bf16_from_float((float)(x >> 40) / (float)(1 << 23) - 1);
    }
}

static void fill_slot(const struct kit *k, struct kit_slot *s)
{
    struct fault f = {0};
    for (size_t i = 0; i < KIT_TENSORS; i++) {
        if (memory_create(&s->blocks[i], &k->device, k->bytes[i], true, &f) != ERR_NONE ||
            memory_map(&s->maps[i], &k->device, &s->blocks[i], k->bytes[i], MEMORY_END,
                       MEMORY_READ_WRITE, &f) != ERR_NONE)
            kit_die("slot", &f);
        CUdeviceptr at = s->maps[i].address;
        cu.MemsetD8Async(at, 0xff, k->bytes[i], NULL); /* NaNs where nothing is written */
        for (size_t done = 0; i < 2 && done < k->bytes[i]; done += sizeof(pattern)) {
            size_t left = k->bytes[i] - done;
            cu.MemcpyHtoD(at + done, pattern, left < sizeof(pattern) ? left : sizeof(pattern));
        }
    }
    cu.StreamSynchronize(NULL);
}

static void free_slot(struct kit_slot *s)
{
    for (size_t i = 0; i < KIT_TENSORS; i++) {
        memory_unmap(&s->maps[i]);
        memory_release(&s->blocks[i]);
    }
}

/* Holds one element against the sum in double precision; the last row and column come first. */
static bool sample(const struct kit *k, const struct kit_slot *s, size_t n)
{
    size_t rows = (size_t)k->workload->axes[0], columns = (size_t)k->workload->axes[1],
           inner = (size_t)k->workload->axes[2];
    size_t row = n ? (n * 7919) % rows : rows - 1,
           column = n ? (n * 104729) % columns : columns - 1;
    uint16_t bits = 0;
    if (cu.MemcpyDtoH(&bits, s->maps[2].address + 2 * (row * columns + column), 2) != CUDA_SUCCESS)
        return false;
    double sum = 0, scale = 0;
    for (size_t i = 0; i < inner; i++) {
        double term = (double)bf16_to_float(pattern[(row * inner + i) % PERIOD]) *
                      (double)bf16_to_float(pattern[(column * inner + i) % PERIOD]);
        sum += term;
        scale += fabs(term);
    }
    double got = (double)bf16_to_float(bits);
    return fabs(got - sum) <= fabs(sum) / 256 + scale * 1e-6;
}

static double run_baseline(struct kit_runner *r)
{
    double us = -1;
    for (int i = 0; i < 2; i++) { /* the first run loads the library's kernel */
        json_t *answer =
            kit_ask(r, json_pack("{s:s, s:i, s:s}", "op", "launch", "slot", 0, "side", "baseline"),
                    NULL, 0);
        us = json_real_value(json_object_get(answer, "us"));
        if (!kit_ok(answer))
            return -1;
    }
    return us;
}

static bool try_workload(struct kit *k, struct kit_runner *r, const char *source)
{
    struct kit_code code;
    static bool compiled; /* the module is not run: one compilation will do */
    static struct compile_result module;
    struct kit_slot slot;
    kit_measure(k);
    fill_slot(k, &slot);
    if (!compiled) {
        kit_compile(k, source, &code);
        module = code.compiled;
        compiled = true;
        json_decref(code.plan);
        json_decref(code.symbols);
    }
    struct fault f = {0};
    code = (struct kit_code){plan_embedded(source, strlen(source), &f), json_object(), module};
    json_object_set_new(code.symbols, "k", json_string(compile_symbol(&module, "k")));
    bool ok = kit_ok(kit_open_code(r, k, &code)) && kit_ok(kit_map(r, &slot, 0, "end"));
    double us = ok ? run_baseline(r) : -1;
    size_t right = 0;
    for (size_t i = 0; us >= 0 && i < SAMPLES; i++)
        right += sample(k, &slot, i);
    printf("# %-20s %9.1f us %7.1f TFLOP/s, %zu of %d samples right\n", k->workload->name, us,
           (double)problem_flops(k->problem, k->workload) / us / 1e6, right, SAMPLES);
    free_slot(&slot);
    json_decref(code.plan);
    json_decref(code.symbols);
    return right == SAMPLES;
}

int main(void)
{
    static const char source[] =
        "/*ptxbench-launch {\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [32], "
        "\"args\": [{\"tensor\": \"C\"}]}]} */\n__global__ void k(unsigned short *C) { C[0] = 0; "
        "}\n";
    struct kit k;
    struct kit_runner r;
    int failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open(&k, "small");
    make_pattern();
    if (!kit_start(&r))
        kit_die("a runner failed", NULL);
    for (size_t i = 0; i < k.problem->workload_count; i++) {
        k.workload = &k.problem->workloads[i];
        bool ok = try_workload(&k, &r, source);
        failed += !ok;
        printf("%sok %zu - the baseline is right on %s\n", ok ? "" : "not ", i + 1,
               k.workload->name);
    }
    kit_stop(&r);
    printf("1..%zu\n", k.problem->workload_count);
    return failed != 0;
}
