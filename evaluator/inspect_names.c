/* SPDX-License-Identifier: Apache-2.0
 * Readable kernel names. Enough of the Itanium C++ ABI's mangling to say what a submitter wrote:
 * nested names, no arguments. */
#include <ctype.h>
#include <string.h>

#include "core/text.h"
#include "core/util.h"
#include "evaluator/inspect.h"
#include "evaluator/ptxvm/ptx.h"

/* "<digits><name>" at *p: appends the name and moves on. */
static bool take_name(const char **p, char *out, size_t size, size_t *n)
{
    char *after;
    if (!isdigit((unsigned char)**p))
        return false;
    unsigned long len = strtoul(*p, &after, 10);
    if (!len || len > strlen(after))
        return false;
    int wrote = snprintf(out + *n, size - *n, "%s%.*s", *n ? "::" : "",
                         (int)(len < 512 ? len : 512), after);
    *n = *n + (size_t)wrote < size ? *n + (size_t)wrote : size - 1;
    *p = after + len;
    return true;
}

void inspect_demangle(const char *symbol, char *out, size_t size)
{
    const char *p = symbol;
    size_t n = 0;
    if (strncmp(p, "_Z", 2) == 0) {
        p += p[2] == 'N' ? 3 : 2;
        while (take_name(&p, out, size, &n) && symbol[2] == 'N')
            ;
    }
    if (!n)
        snprintf(out, size, "%s", symbol);
}

static void add(char *out, size_t size, const char *symbol)
{
    char name[256];
    size_t n = strlen(out);
    inspect_demangle(symbol, name, sizeof name);
    snprintf(out + n, size - n, "%s%s", n ? ", " : "", name);
}

void inspect_kernel_names(const struct cubin *cubin, const struct ptx_module *ptx, char *out,
                          size_t size)
{
    struct cubin_function fn;
    out[0] = '\0';
    for (unsigned at = 0; cubin && cubin_next(cubin, &at, &fn);)
        if (fn.entry)
            add(out, size, fn.name);
    for (uint32_t i = 0; !cubin && ptx && i < ptx->func_count; i++)
        if (ptx->funcs[i].is_entry)
            add(out, size, ptx->funcs[i].name);
    if (!out[0])
        snprintf(out, size, "none");
    out[text_cut(out, strlen(out), size - 1)] = '\0';
}
