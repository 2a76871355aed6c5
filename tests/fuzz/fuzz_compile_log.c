/* SPDX-License-Identifier: Apache-2.0
 * What a compiler printed is foreign text: the first byte of the input says where the PTX begins,
 * the rest is log and PTX. */
#include "evaluator/compile_log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const headers[] = {"cuda.h", NULL}, *const folders[] = {"/cuda/include",
                                                                               NULL};
    if (!size)
        return 0;
    size_t split = (size - 1) * data[0] / 256;
    char *log = calloc(1, split + 1), *ptx = calloc(1, size - split);
    if (!log || !ptx)
        abort();
    memcpy(log, data + 1, split);
    memcpy(ptx, data + 1 + split, size - 1 - split);
    const struct log_names names = {
        .source = "kernel.cu", .headers = headers, .folders = folders, .ptx = ptx};
    struct buf shown;
    char first[64];
    long stores, loads;
    buf_init(&shown, 16 * MIB);
    compile_log_show(log, split, &names, 4096, &shown);
    if (shown.len > 4096 || (shown.len && !text_is_utf8(shown.data, shown.len)))
        abort();
    for (size_t i = 0; i < shown.len; i++)
        if ((unsigned char)shown.data[i] < 0x20 && shown.data[i] != '\n' && shown.data[i] != '\t')
            abort();
    json_decref(compile_log_warnings(log, split, ptx));
    compile_log_first_error(log, split, &names, first, sizeof first);
    compile_log_spills(log, "k", &stores, &loads);
    compile_log_shared(log);
    compile_log_rejects_name(log, "k");
    buf_release(&shown);
    free(log);
    free(ptx);
    return 0;
}
