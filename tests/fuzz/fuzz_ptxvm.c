/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: parses PTX text and launches its first entry under tiny budgets. Whatever the
 * program does, the device neither crashes nor hangs nor grows, and ends with a status. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUFFER = 4096, PARAMS = 4096 };

static const struct ptxvm_options limits = {.threads = 1,
                                            .instruction_budget = 200000,
                                            .deadline_ms = 500,
                                            .memory_max = 32u << 20,
                                            .print_max = 1024};

static void launch_entry(struct ptxvm *vm, const char *name, uint64_t buffer)
{
    struct ptxvm_kernel kernel;
    uint64_t params[PARAMS / 8];
    if (!ptxvm_kernel(vm, name, &kernel) || kernel.param_bytes > PARAMS)
        return;
    for (size_t i = 0; i < PARAMS / 8; i++)
        params[i] = buffer;
    struct ptxvm_launch l = {.symbol = name,
                             .grid = {2, 1, 1},
                             .block = {kernel.required_block[0] ? kernel.required_block[0] : 48,
                                       kernel.required_block[1] ? kernel.required_block[1] : 1,
                                       kernel.required_block[2] ? kernel.required_block[2] : 1},
                             .shared_bytes = 1024,
                             .cooperative = kernel.param_count > 1,
                             .params = params,
                             .param_bytes = kernel.param_bytes};
    struct ptxvm_result r;
    ptxvm_launch(vm, &l, &r);
    if (!r.log || (r.status != PTXVM_OK && !r.fault.detail[0]))
        abort();
    json_decref(ptxvm_fault_json(&r));
    ptxvm_result_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault f = {0};
    struct ptxvm_options options = limits;
    options.seed = size % 4; /* some schedules too */
    struct ptx_module *m = ptx_parse((const char *)data, size, &f);
    struct ptxvm *vm = m ? ptxvm_new(&options, &f) : NULL;
    if (vm && ptxvm_load(vm, m, &f) == ERR_NONE) {
        uint64_t buffer = ptxvm_alloc(vm, "buffer", BUFFER, 256, PTXVM_READ_WRITE);
        for (uint32_t i = 0; i < m->func_count; i++)
            if (m->funcs[i].is_entry && m->funcs[i].has_body) {
                launch_entry(vm, m->funcs[i].name, buffer);
                break;
            }
    }
    ptxvm_free(vm);
    ptx_free(m);
    return 0;
}
