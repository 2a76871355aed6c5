/* SPDX-License-Identifier: Apache-2.0
 * The cubin reader on arbitrary bytes: no crash, no endless loop, no read outside. */
#include "core/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An architecture whose one family holds a handful of opcodes; no file is needed. */
static const struct arch arch = {
    .name = "sm_90a",
    .sm = 90,
    .families = {{.name = "gmma", .opcodes = {0x1f0, 0x1f1, 0x1f2, 0x1f3}, .opcode_count = 4}},
    .family_count = 1,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cubin c;
    struct cubin_function fn;
    static struct cubin_reach reach;
    if (cubin_open(&c, data, size, NULL) != ERR_NONE)
        return 0;
    uint64_t counts[16] = {0}, at = 0, sum = 0;
    const char *name = NULL;
    for (unsigned i = 0; cubin_next(&c, &i, &fn);) {
        cubin_reach(&c, &fn.name, 1, &reach);
        if (cubin_reached(&reach, fn.section))
            cubin_count(&fn, &arch, counts);
        struct cubin_function found;
        if (cubin_find(&c, fn.name, &found))
            for (unsigned p = 0; p < found.param_count; p++)
                sum += found.params[p].size;
    }
    while (cubin_next_undefined(&c, &at, &name))
        sum += (unsigned char)name[0];
    sum += cubin_global_bytes(&c) + cubin_constant_bytes(&c);
    static volatile uint64_t used; /* so that nothing above is optimised away */
    used = sum;
    return (void)used, 0;
}
