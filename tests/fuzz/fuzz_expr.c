// SPDX-License-Identifier: Apache-2.0
// Any text as an expression: an answer or a fault that fits, never anything else.
#include <stddef.h>
#include <stdint.h>

#include "core/expr.h"
#include "core/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct expr_var vars[] = {
        {"M", 8192}, {"N", 7168}, {"big", INT64_MAX}, {"low", INT64_MIN}};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    struct fault f = {0};
    int64_t v = 0, again = 0;
    enum err e = expr_eval(text, vars, 4, &v, &f);
    if ((e != ERR_NONE && (e != ERR_INVALID || !f.detail[0])) ||
        !text_is_utf8(f.detail, strlen(f.detail)))
        abort();
    if (expr_eval(text, vars, 4, &again, NULL) != e || v != again)
        abort();
    free(text);
    return 0;
}
