/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of the PTX parser: any bytes parse or fail with a place; what parses is written as
 * PTX that parses again and is written the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names of module scope may look like the canonical ones of a function ("$v0", "%r1_2") and hide
 * them: such a text, though right, is not written back faithfully. */
static bool has_canonical_name(const struct ptx_module *m)
{
    for (uint32_t i = 0; i < m->func_count; i++)
        if (strchr("$%", m->funcs[i].name[0]))
            return true;
    for (uint32_t i = 0; i < m->var_count; i++)
        if (m->vars[i].func == PTX_NONE && strchr("$%", m->vars[i].name[0]))
            return true;
    return false;
}

static void check_round_trip(const struct ptx_module *m)
{
    struct buf first, second;
    struct fault f = {0};
    buf_init(&first, 8 * MIB);
    buf_init(&second, 8 * MIB);
    ptx_format_module(m, &first);
    if (!first.failed) {
        struct ptx_module *again = ptx_parse(first.data, first.len, &f);
        if (!again && f.code != ERR_TOO_LARGE)
            abort();
        if (again) {
            ptx_format_module(again, &second);
            if (second.failed || second.len != first.len ||
                memcmp(first.data, second.data, first.len))
                abort();
        }
        ptx_free(again);
    }
    buf_release(&first);
    buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault f = {0};
    struct ptx_module *m = ptx_parse((const char *)data, size, &f);
    if (!m && (!f.code || !strchr(f.detail, ':')))
        abort();
    if (m && !has_canonical_name(m))
        check_round_trip(m);
    ptx_free(m);
    return 0;
}
