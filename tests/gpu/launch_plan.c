// SPDX-License-Identifier: Apache-2.0
// Compiles a source and launches its plan once, in this process and with nothing in the way: for
// tools that look at a program from outside (ncu, compute-sanitizer) and cannot follow a confined
// one.
//
//   gpu_launch_plan source.cu [workload]                                   default: small
#include "evaluator/cuda/launch.h"
#include "tests/gpu/runner_kit.h"

int main(int argc, char **argv)
{
    struct kit k;
    struct kit_slot slot;
    struct kit_code code;
    struct buf source;
    struct fault f = {0};
    struct launch_fault fault = {.launch = -1};
    struct faults faults = {0};
    if (argc < 2) {
        printf("1..0 # SKIP usage: gpu_launch_plan source.cu [workload]\n");
        return KIT_GPU_MISSING;
    }
    kit_open(&k, argc > 2 ? argv[2] : "small");
    kit_slot_new(&k, &slot, MEMORY_START, NULL);
    buf_init(&source, LIMIT_SOURCE);
    if (read_file(argv[1], &source, &f) != ERR_NONE)
        kit_die("source", &f);
    kit_compile(&k, source.data, &code);
    struct plan *plan = plan_parse(code.plan, k.problem, k.workload, k.arch, "$", &faults);
    struct launcher_spec spec = {.device = &k.device,
                                 .problem = k.problem,
                                 .workload = k.workload,
                                 .plan = plan,
                                 .symbols = code.symbols,
                                 .cubin = code.compiled.cubin.data,
                                 .cubin_len = code.compiled.cubin.len};
    CUdeviceptr tensors[LIMIT_TENSORS] = {0};
    for (size_t i = 0; i < KIT_TENSORS; i++)
        tensors[i] = slot.maps[i].address;
    struct launcher *l = launcher_new(&spec, &fault);
    bool ok = l && launcher_load(l, &fault) && launcher_bind(l, 0, tensors, &fault) &&
              launcher_run(l, 0, NULL, &fault);
    printf("%s\n", ok ? "launched" : fault.detail);
    launcher_free(l);
    return ok ? 0 : 1;
}
