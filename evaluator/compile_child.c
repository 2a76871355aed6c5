// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compile_child.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core/frame.h"
#include "core/text.h"
#include "core/submission.h"
#include "core/submission_options.h"
#include "core/util.h"
#include "evaluator/child.h"
#include "evaluator/compile_log.h"
#include "evaluator/compile_ptxas.h"
#include "evaluator/inspect.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/sandbox.h"

enum { CPU_SLACK_S = 5 };

void answer_fail(struct answer *a, enum verdict verdict, enum stage stage, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->detail, sizeof a->detail, fmt, args);
    va_end(args);
    text_sanitize(a->detail);
    a->verdict = verdict;
    a->stage = stage;
}

/* ---- before confinement ---- */

static void load(struct toolchain *t, const char *arch)
{
    if (!cuda_paths_find(&t->paths))
        t->paths = (struct cuda_paths){0};
    if (!t->cuda)
        return;
    t->nvrtc = nvrtc_load(&t->paths, &t->missing);
    if (t->nvrtc && headers_load(&t->headers, home_dir(), arch, &t->missing) != ERR_NONE)
        t->nvrtc = NULL;
    if (t->nvrtc)
        nvrtc_version(t->nvrtc, t->nvrtc_version, sizeof t->nvrtc_version);
}

static enum err confine(struct toolchain *t, int seconds, struct fault *f)
{
    const char *visible[PTXAS_NEEDS] = {NULL};
    struct sandbox_spec spec = {
        .role = SANDBOX_COMPUTE,
        .read_only = visible,
        .file_bytes = 0,
        .memory_bytes = COMPILE_MEMORY_MIB * (int64_t)MIB,
        .cpu_s = seconds + CPU_SLACK_S,
    };
    size_t n = 0;
    if (t->cuda) {
        spec.role = SANDBOX_COMPILE;
        for (size_t i = 0; i < CUDA_INCLUDES; i++) { /* cccl lies inside include, as a rule */
            bool inside = n && !strncmp(t->paths.includes[i], visible[0], strlen(visible[0]));
            if (t->paths.includes[i][0] && !inside)
                visible[n++] = t->paths.includes[i];
        }
    } else if (t->paths.ptxas[0]) {
        spec.role = SANDBOX_ASSEMBLE;
        spec.file_bytes = LIMIT_PTX;
        ptxas_needs(&t->paths, visible);
    }
    enum err e = sandbox_enter(&spec, f);
    size_t hidden = sandbox_active(SANDBOX_LAYER_CHROOT) ? strlen(t->paths.includes[0]) : 0;
    for (size_t i = 0; i < CUDA_INCLUDES; i++)
        if (t->paths.includes[i][0] && strlen(t->paths.includes[i]) >= hidden)
            snprintf(t->includes[i], sizeof t->includes[i], "-I%s%s", hidden ? "/" : "",
                     t->paths.includes[i] + hidden);
    return e;
}

/* ---- the work ---- */

static void event(const char *phase, json_t *sandbox, json_t *versions)
{
    json_t *message =
        json_pack("{s:s, s:o*, s:O*}", "phase", phase, "sandbox", sandbox, "versions", versions);
    frame_write_json(CHILD_ANSWER_FD, FRAME_EVENT, message);
    json_decref(message);
}

static void run_inspection(const struct toolchain *t, const struct wire_request *r,
                           struct answer *a, struct inspect_result *found)
{
    struct cubin cubin;
    struct fault f = {0};
    int64_t begin = now_ms();
    if (a->cubin.len && cubin_open(&cubin, a->cubin.data, a->cubin.len, &f) != ERR_NONE) {
        a->error = ERR_INTERNAL;
        answer_fail(a, VERDICT_INFRA_ERROR, STAGE_inspect, "%s", f.detail);
        return;
    }
    struct ptx_module *ptx = ptx_parse(a->ptx.data, a->ptx.len, NULL);
    struct inspect_request request = {
        .arch = t->arch,
        .cubin = a->cubin.len ? &cubin : NULL,
        .ptx = ptx,
        .launches = r->launches,
        .launch_count = r->launch_count,
        .names = r->names,
        .symbols = (const char *const *)a->symbols,
        .name_count = r->name_count,
        .log = a->raw_log,
    };
    inspect_result_release(found);
    inspect(&request, found);
    if (found->verdict != VERDICT_PASSED)
        answer_fail(a, found->verdict, STAGE_inspect, "%s", found->detail);
    ptx_free(ptx);
    a->inspect_ms = now_ms() - begin;
}

/* The options were judged when they were submitted; this child trusts nobody. */
static bool options_allowed(const struct toolchain *t, const struct wire_request *r,
                            struct answer *a)
{
    struct faults faults = {0};
    char first[LIMIT_DETAIL / 2];
    submission_options_check(json_object_get(r->document, "options"),
                             t->cuda ? LANGUAGE_CUDA : LANGUAGE_PTX, "$.options", &faults);
    bool fine = !faults_any(&faults);
    if (!fine)
        answer_fail(a, VERDICT_REJECTED, STAGE_compile, "%s",
                    faults_first(&faults, first, sizeof first));
    faults_release(&faults);
    return fine;
}

static void work(const struct toolchain *t, const struct wire_request *r, const char *source,
                 size_t len, struct answer *a, struct inspect_result *found)
{
    int64_t begin = now_ms();
    if (t->cuda && !t->nvrtc) {
        a->error = t->missing.code;
        answer_fail(a, VERDICT_INFRA_ERROR, STAGE_compile, "%s", t->missing.detail);
        return;
    }
    if (!options_allowed(t, r, a))
        return;
    event("compiling", NULL, NULL);
    if (t->cuda)
        compile_cuda(t, r, source, a);
    else
        compile_ptx(t, r, source, len, a);
    a->compile_ms = now_ms() - begin;
    if (a->verdict != VERDICT_PASSED)
        return;
    event("inspecting", NULL, NULL);
    run_inspection(t, r, a, found);
}

/* ---- the answer ---- */

static bool send_log(const struct toolchain *t, const struct answer *a)
{
    const char *folders[CUDA_INCLUDES + 1] = {NULL};
    struct log_names names = {.source = t->cuda ? "kernel.cu" : "kernel.ptx",
                              .headers = t->headers.names,
                              .folders = folders,
                              .ptx = t->cuda ? a->ptx.data : NULL};
    struct buf shown;
    for (size_t i = 0, n = 0; i < CUDA_INCLUDES; i++)
        if (t->includes[i][0])
            folders[n++] = t->includes[i] + strlen("-I");
    buf_init(&shown, LIMIT_LOG + 16 * KIB + 8 * a->raw_log_len);
    bool cut = compile_log_show(a->raw_log, a->raw_log_len, &names, LIMIT_LOG, &shown);
    if (shown.len)
        frame_write(CHILD_ANSWER_FD, FRAME_LOG, shown.data, shown.len);
    buf_release(&shown);
    return cut;
}

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *names_of(const struct wire_request *r, const struct answer *a)
{
    json_t *names = json_array();
    for (size_t i = 0; a->symbols && i < r->name_count; i++)
        if (a->symbols[i])
            json_array_append_new(names, json_pack("[s,s]", r->names[i], a->symbols[i]));
    return names;
}

static bool send_answer(const struct toolchain *t, const struct wire_request *r, struct answer *a,
                        struct inspect_result *found)
{
    bool cut = send_log(t, a);
    if (a->ptx.len)
        frame_write(CHILD_ANSWER_FD, FRAME_PTX, a->ptx.data, a->ptx.len);
    if (a->cubin.len)
        frame_write(CHILD_ANSWER_FD, FRAME_CUBIN, a->cubin.data, a->cubin.len);
    json_t *warnings =
        compile_log_warnings(a->raw_log, a->raw_log_len, t->cuda ? a->ptx.data : NULL);
    json_t *result =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:{s:s, s:O, s:o, s:b}, s:O, s:O, s:O, s:I, s:I}",
                  "verdict", verdict_name(a->verdict), "stage", stage_name(a->stage), "error",
                  err_code(a->error), "detail", text_or_null(a->detail), "no_cubin",
                  text_or_null(a->no_cubin), "names", names_of(r, a), "compiler", "compiler",
                  a->compiler, "options", a->options, "warnings", warnings, "log_truncated", cut,
                  "kernels", found->kernels, "families", found->families, "versions", a->versions,
                  "compile_ms", (json_int_t)a->compile_ms, "inspect_ms", (json_int_t)a->inspect_ms);
    bool ok = result && frame_write_json(CHILD_ANSWER_FD, FRAME_RESULT, result);
    json_decref(result);
    return ok;
}

static int serve(const struct toolchain *t)
{
    enum frame_kind kind;
    char *request = NULL, *source = NULL;
    size_t request_len, source_len;
    struct wire_request wire = {0};
    struct fault f = {0};
    if (frame_read(0, &kind, &request, &request_len, &f) != ERR_NONE || kind != FRAME_REQUEST ||
        frame_read(0, &kind, &source, &source_len, &f) != ERR_NONE || kind != FRAME_SOURCE ||
        wire_decode(&wire, request, request_len, &f) != ERR_NONE) {
        fprintf(stderr, "cannot serve: %s\n", f.detail);
        return 2;
    }
    close(0); /* nothing of the request can be included by name */
    struct answer a = {.verdict = VERDICT_PASSED,
                       .stage = STAGE_compile,
                       .error = ERR_NONE,
                       .versions = json_object(),
                       .options = json_array()};
    struct inspect_result found = {.kernels = json_array(), .families = json_object()};
    work(t, &wire, source, source_len, &a, &found);
    return send_answer(t, &wire, &a, &found) ? 0 : 3;
}

int compile_role(int argc, char **argv)
{
    static struct toolchain t;
    struct archs archs;
    struct fault f = {0};
    if (argc != 4 || (t.cuda = !strcmp(argv[1], "cuda"), !t.cuda && strcmp(argv[1], "ptx") != 0)) {
        fprintf(stderr, "usage: ptxbench-compile cuda|ptx ARCH SECONDS\n"
                        "The worker's child: one request on stdin, the answer on descriptor 3.\n");
        return 2;
    }
    if (archs_load(&archs, home_dir(), &f) != ERR_NONE || !(t.arch = archs_find(&archs, argv[2]))) {
        fprintf(stderr, "cannot compile for %s: %s\n", argv[2], f.detail);
        return 2;
    }
    load(&t, argv[2]);
    if (confine(&t, (int)strtol(argv[3], NULL, 10), &f) != ERR_NONE) {
        fprintf(stderr, "%s\n", f.detail);
        return 2;
    }
    event("ready", sandbox_layers(), NULL);
    return serve(&t);
}
