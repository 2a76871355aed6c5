// SPDX-License-Identifier: Apache-2.0
// CSV of foreign hands: any bytes give rows or a fault, and the fields stay inside the text.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/csv_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_reader r;
    struct fault f = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    bool got = csv_open(&r, text, size, &f) == ERR_NONE;
    while (got && csv_next(&r, &got, &f) == ERR_NONE && got)
        for (size_t i = 0; i < r.count; i++)
            if (r.fields[i] < text || r.fields[i] + strlen(r.fields[i]) > text + size)
                abort();
    free(text);
    return 0;
}
