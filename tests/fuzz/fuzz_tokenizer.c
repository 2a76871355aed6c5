// SPDX-License-Identifier: Apache-2.0
// A tokenizer file is foreign bytes. The first byte says how many of the rest are text to count with it.
#include <stdint.h>
#include <stdlib.h>

#include "core/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const char *text = (const char *)data + 1;
    size_t n = data[0] < size - 1 ? data[0] : size - 1;
    struct tokenizer *t = tokenizer_parse(text + n, size - 1 - n, NULL);
    int64_t estimate = tokenizer_estimate(text, size - 1), most = (int64_t)size;
    if (estimate < 0 || estimate > 2 * most)
        abort();
    if (t && (tokenizer_count(t, text, n) < 0 || tokenizer_count(t, text, n) > (int64_t)n))
        abort();
    tokenizer_free(t);
    return 0;
}
