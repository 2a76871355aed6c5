/* SPDX-License-Identifier: Apache-2.0
 * language "ptx": the source is the PTX; ptxas makes the cubin where it is installed, and where it
 * is not, the parser of the cpu device decides. */
#include <ctype.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/compile_child.h"
#include "evaluator/compile_log.h"
#include "evaluator/compile_ptxas.h"
#include "evaluator/ptxvm/ptx.h"

/* Skips blanks and comments. */
static const char *skip(const char *p)
{
    for (;;) {
        while (isspace((unsigned char)*p))
            p++;
        if (p[0] == '/' && p[1] == '/') {
            p += strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            const char *close = strstr(p + 2, "*/");
            p = close ? close + 2 : p + strlen(p);
        } else {
            return p;
        }
    }
}

/* The module begins with .version and .target; anything else is not PTX. */
static bool target_is(const char *source, const char *arch, struct answer *out)
{
    const char *p = skip(source);
    if (strncmp(p, ".version", 8) == 0) {
        p = skip(p + 8);
        p = skip(p + strspn(p, "0123456789."));
    }
    if (strncmp(p, ".target", 7) != 0) {
        answer_fail(out, VERDICT_COMPILE_ERROR, STAGE_compile,
                    "the source does not begin with .version and .target");
        return false;
    }
    p = skip(p + 7);
    size_t n = strcspn(p, ", \t\r\n/");
    if (n == strlen(arch) && memcmp(p, arch, n) == 0)
        return true;
    answer_fail(out, VERDICT_COMPILE_ERROR, STAGE_compile, "the source says .target %.*s, not %s",
                n < 32 ? (int)n : 32, p, arch);
    return false;
}

static void assemble(const struct toolchain *t, const struct wire_request *r, struct answer *out)
{
    struct ptxas_output made;
    const char *options[LIMIT_ARCH_OPTIONS + COUNT_OF(r->options)];
    size_t count = 0;
    for (const char *const *option = t->arch->ptx_options; *option; option++)
        options[count++] = *option;
    for (size_t i = 0; i < r->option_count; i++)
        options[count++] = r->options[i];
    struct ptxas_job job = {
        .program = t->paths.ptxas,
        .arch = t->arch->name,
        .ptx = out->ptx.data,
        .name = "kernel.ptx",
        .ptx_len = out->ptx.len,
        .options = options,
        .option_count = count,
    };
    ptxas_assemble(&job, &made);
    out->raw_log = buf_take(&made.log, &out->raw_log_len);
    if (made.error == ERR_NONE) {
        char version[32];
        ptxas_version_of(made.cubin.data, made.cubin.len, version, sizeof version);
        snprintf(out->compiler, sizeof out->compiler, "ptxas %s", version);
        json_object_set_new(out->versions, "ptxas", json_string(version));
        out->cubin = made.cubin;
        made.cubin = (struct buf){0};
    } else if (made.error == ERR_INTERNAL) {
        out->error = ERR_INTERNAL;
        answer_fail(out, VERDICT_INFRA_ERROR, STAGE_compile, "%s", made.why);
    } else {
        const struct log_names names = {.source = "kernel.ptx"};
        char first[LIMIT_DETAIL / 2] = "";
        if (out->raw_log)
            compile_log_first_error(out->raw_log, out->raw_log_len, &names, first, sizeof first);
        answer_fail(out, VERDICT_COMPILE_ERROR, STAGE_compile, "the source does not assemble: %s",
                    first[0] ? first : made.why);
    }
    ptxas_output_release(&made);
}

static void parse_only(struct answer *out)
{
    struct fault f = {0};
    struct ptx_module *m = ptx_parse(out->ptx.data, out->ptx.len, &f);
    snprintf(out->no_cubin, sizeof out->no_cubin, "ptxas is not installed on this host");
    snprintf(out->compiler, sizeof out->compiler, "ptxvm parser");
    if (!m)
        answer_fail(out, VERDICT_COMPILE_ERROR, STAGE_compile, "the source is not PTX: %s",
                    f.detail);
    ptx_free(m);
}

void compile_ptx(const struct toolchain *t, const struct wire_request *r, const char *source,
                 size_t len, struct answer *out)
{
    for (const char *const *option = t->arch->ptx_options; *option; option++)
        json_array_append_new(out->options, json_string(*option));
    for (size_t i = 0; i < r->option_count; i++)
        json_array_append_new(out->options, json_string(r->options[i]));
    buf_init(&out->ptx, LIMIT_PTX + 1);
    buf_add(&out->ptx, source, len);
    out->symbols = calloc(r->name_count + 1, sizeof *out->symbols);
    for (size_t i = 0; out->symbols && i < r->name_count; i++)
        out->symbols[i] = strdup(r->names[i]); /* in PTX a kernel's name is its symbol */
    snprintf(out->compiler, sizeof out->compiler, "ptxas");
    if (!target_is(source, t->arch->name, out))
        return;
    if (t->paths.ptxas[0])
        assemble(t, r, out);
    else
        parse_only(out);
}
