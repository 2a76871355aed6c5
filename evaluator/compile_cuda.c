/* SPDX-License-Identifier: Apache-2.0
 * language "cuda": NVRTC makes PTX and cubin for the exact architecture. */
#include <ctype.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/compile_child.h"
#include "evaluator/compile_log.h"
#include "evaluator/inspect.h"

enum { MAX_OPTIONS = LIMIT_ARCH_OPTIONS + LIMIT_DEFINES + 32, OPTION_TEXT = 96 };

struct options {
    const char *list[MAX_OPTIONS];
    char texts[LIMIT_DEFINES + 1][OPTION_TEXT];
    size_t count, own;
};

static void add(struct options *o, const char *option, json_t *shown)
{
    o->list[o->count++] = option;
    if (shown)
        json_array_append_new(shown, json_string(option));
}

static void gather(struct options *o, const struct toolchain *t, const struct wire_request *r,
                   json_t *shown)
{
    *o = (struct options){.count = 0};
    snprintf(o->texts[o->own], OPTION_TEXT, "-arch=%s", t->arch->name);
    add(o, o->texts[o->own++], shown);
    for (const char *const *option = t->arch->cuda_options; *option; option++)
        add(o, *option, shown);
    add(o, "--ptxas-options=-v", shown); /* its log says what each kernel spills */
    for (size_t i = 0; i < r->define_count; i++) {
        snprintf(o->texts[o->own], OPTION_TEXT, "-D%s=%lld", r->defines[i].name,
                 (long long)r->defines[i].value);
        add(o, o->texts[o->own++], shown);
    }
    for (size_t i = 0; i < r->option_count; i++)
        add(o, r->options[i], shown);
    for (size_t i = 0; i < CUDA_INCLUDES; i++)
        if (t->includes[i][0])
            add(o, t->includes[i], NULL); /* a path of this host: not part of the report */
}

/* A name expression is pasted into a line that the compiler reads: it must stay on that line. */
static bool names_are_lines(const struct wire_request *r, struct answer *out)
{
    for (size_t i = 0; i < r->name_count; i++)
        for (const char *p = r->names[i]; *p; p++)
            if (iscntrl((unsigned char)*p) || *p == '#' || *p == '\\') {
                answer_fail(out, VERDICT_LAUNCH_ERROR, STAGE_inspect,
                            "kernel %.200s: not a name expression", r->names[i]);
                return false;
            }
    return true;
}

static void take_log(struct answer *out, struct nvrtc_output *made)
{
    free(out->raw_log);
    out->raw_log = made->log;
    out->raw_log_len = made->log ? strlen(made->log) : 0;
    made->log = NULL;
}

/* The compilation failed because of a name expression if it succeeds without any: then the module
 * can also say which kernels it has. */
static bool blame_names(const struct toolchain *t, struct nvrtc_job job, const char *log,
                        struct answer *out)
{
    struct nvrtc_output made;
    size_t bad = 0;
    while (bad + 1 < job.name_count && !compile_log_rejects_name(log, job.names[bad]))
        bad++;
    const char *name = job.names[bad];
    job.name_count = 0;
    nvrtc_compile(t->nvrtc, &job, &made);
    struct cubin cubin;
    bool blamed = made.error == ERR_NONE &&
                  cubin_open(&cubin, made.cubin.data, made.cubin.len, NULL) == ERR_NONE;
    if (blamed) {
        char kernels[LIMIT_DETAIL / 2];
        inspect_kernel_names(&cubin, NULL, kernels, sizeof kernels);
        answer_fail(out, VERDICT_LAUNCH_ERROR, STAGE_inspect,
                    "kernel %.160s: there is no such kernel; the module has: %s%s", name, kernels,
                    strchr(name, '<') ? " (and templates that nothing names)" : "");
    } else {
        take_log(out, &made);
    }
    nvrtc_output_release(&made);
    return blamed;
}

static void refuse(const struct toolchain *t, const char *why, struct answer *out)
{
    const struct log_names names = {.source = "kernel.cu", .ptx = out->ptx.data};
    char first[LIMIT_DETAIL / 2];
    long shared = compile_log_shared(out->raw_log);
    compile_log_first_error(out->raw_log, out->raw_log_len, &names, first, sizeof first);
    if (!first[0] && shared > t->arch->max_shared_bytes) /* NVRTC fails without a word about it */
        answer_fail(out, VERDICT_COMPILE_ERROR, STAGE_compile,
                    "%ld bytes of static shared memory are more than the %d of %s", shared,
                    t->arch->max_shared_bytes, t->arch->name);
    else
        answer_fail(out, VERDICT_COMPILE_ERROR, STAGE_compile, "the source does not compile: %s",
                    first[0] ? first : why);
}

static void take_artefacts(struct answer *out, struct nvrtc_output *made)
{
    out->ptx = made->ptx, out->cubin = made->cubin, out->symbols = made->lowered;
    made->ptx = made->cubin = (struct buf){0};
    made->lowered = NULL, made->lowered_count = 0;
}

void compile_cuda(const struct toolchain *t, const struct wire_request *r, const char *source,
                  struct answer *out)
{
    struct options options;
    struct nvrtc_output made;
    gather(&options, t, r, out->options);
    snprintf(out->compiler, sizeof out->compiler, "NVRTC %s", t->nvrtc_version);
    json_object_set_new(out->versions, "nvrtc", json_string(t->nvrtc_version));
    if (!names_are_lines(r, out))
        return;
    struct nvrtc_job job = {
        .source = source,
        .source_name = "kernel.cu",
        .headers = &t->headers,
        .options = options.list,
        .option_count = options.count,
        .names = r->names,
        .name_count = r->name_count,
    };
    nvrtc_compile(t->nvrtc, &job, &made);
    take_log(out, &made);
    take_artefacts(out, &made);
    if (made.error == ERR_TOO_LARGE)
        answer_fail(out, VERDICT_COMPILE_ERROR, STAGE_compile, "%s", made.why);
    else if (made.error != ERR_NONE && (!strstr(out->raw_log, "__nv_name_map") || !r->name_count ||
                                        !blame_names(t, job, out->raw_log, out)))
        refuse(t, made.why, out);
    nvrtc_output_release(&made);
}
