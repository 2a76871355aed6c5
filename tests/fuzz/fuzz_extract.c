// SPDX-License-Identifier: Apache-2.0
// Answers of models: whatever they are, what is taken from them lies in them and keeps its
// promises.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract.h"
#include "core/limits.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct extraction x;
    extract((const char *)data, size, &x);
    check((x.state == EXTRACT_KERNEL) == (x.source.len > 0));
    check(x.state == EXTRACT_KERNEL || x.plan.len == 0);
    check(x.source.len <= LIMIT_SOURCE && x.source.len <= size && x.plan.len <= size);
    check(x.state == EXTRACT_NO_BLOCK || x.state == EXTRACT_CUT || x.blocks > 0);
    check(*extract_state_text(x.state) == '\0' || x.state != EXTRACT_KERNEL);
    extraction_release(&x);
    return 0;
}
