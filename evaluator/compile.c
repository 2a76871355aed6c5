/* SPDX-License-Identifier: Apache-2.0
 * This side of the compile child: request out, answer in, death into a verdict. */
#include "evaluator/compile.h"

#include <signal.h>
#include <string.h>

#include "core/text.h"
#include "core/util.h"
#include "evaluator/child.h"
#include "evaluator/compile_child.h"
#include "evaluator/compile_log.h"
#include "evaluator/cuda_paths.h"

enum { PRINTED_MAX = 16 * KIB, ANSWER_MAX = LIMIT_PTX + LIMIT_CUBIN + LIMIT_LOG + 4 * MIB };

/* How far the child got; only while it compiles is its death the source's fault. */
enum phase { PHASE_STARTING, PHASE_READY, PHASE_COMPILING, PHASE_INSPECTING };
static const char *const phase_names[] = {"starting", "ready", "compiling", "inspecting"};

struct answering {
    const struct compile_request *request;
    struct compile_result *out;
    enum phase phase;
    json_t *result;
};

static void decide(struct compile_result *out, enum verdict verdict, enum err error,
                   const char *detail)
{
    free(out->detail);
    out->verdict = verdict;
    out->stage = STAGE_compile;
    out->error = error;
    out->detail = strdup(detail);
}

/* ---- frames ---- */

static bool keep(struct buf *to, const struct frame *frame)
{
    buf_add(to, frame->data, frame->len);
    return !to->failed;
}

static bool take_event(struct answering *a, const struct frame *frame)
{
    json_t *event = json_loadb(frame->data, frame->len, 0, NULL);
    const char *phase = json_string_value(json_object_get(event, "phase"));
    for (size_t i = 0; phase && i < COUNT_OF(phase_names); i++)
        if (!strcmp(phase, phase_names[i]))
            a->phase = (enum phase)i;
    json_t *layers = json_object_get(event, "sandbox");
    if (json_is_array(layers)) {
        json_decref(a->out->sandbox);
        a->out->sandbox = json_incref(layers);
    }
    json_decref(event);
    return phase;
}

static bool take_result(struct answering *a, const struct frame *frame)
{
    json_decref(a->result);
    a->result = json_loadb(frame->data, frame->len, 0, NULL);
    return a->result;
}

static bool on_frame(const struct frame *frame, void *arg)
{
    struct answering *a = arg;
    switch (frame->kind) {
    case FRAME_EVENT:
        return take_event(a, frame);
    case FRAME_PTX:
        return keep(&a->out->ptx, frame);
    case FRAME_CUBIN:
        return keep(&a->out->cubin, frame);
    case FRAME_LOG:
        return keep(&a->out->log, frame);
    case FRAME_RESULT:
        return take_result(a, frame);
    default:
        return false;
    }
}

static bool on_tick(void *arg)
{
    struct answering *a = arg;
    return !a->request->tick || a->request->tick(a->request->arg);
}

/* ---- the answer ---- */

static enum stage stage_find(const char *name)
{
    return !strcmp(name, stage_name(STAGE_inspect)) ? STAGE_inspect : STAGE_compile;
}

static enum err error_find(const char *code)
{
    for (int e = 0; e < ERR_COUNT; e++)
        if (!strcmp(err_code((enum err)e), code))
            return (enum err)e;
    return ERR_INTERNAL;
}

static bool take_names(struct compile_result *out, const json_t *names)
{
    size_t i;
    json_t *pair;
    out->kernels = calloc(json_array_size(names) + 1, sizeof *out->kernels);
    if (!out->kernels)
        return false;
    json_array_foreach((json_t *)(uintptr_t)names, i, pair)
    {
        const char *name = json_string_value(json_array_get(pair, 0));
        const char *symbol = json_string_value(json_array_get(pair, 1));
        if (!name || !symbol)
            return false;
        out->kernels[out->kernel_count++] = (struct compile_kernel){strdup(name), strdup(symbol)};
    }
    return true;
}

static void replace(json_t **to, json_t *with)
{
    json_decref(*to);
    *to = json_incref(with);
}

/* False if the answer is not one that our child gives. */
static bool read_answer(struct answering *a)
{
    struct compile_result *out = a->out;
    const char *verdict, *stage, *error;
    json_t *detail, *no_cubin, *names, *compiler, *kernels, *families, *versions;
    json_int_t compile_ms, inspect_ms;
    if (json_unpack(a->result, "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}",
                    "verdict", &verdict, "stage", &stage, "error", &error, "detail", &detail,
                    "no_cubin", &no_cubin, "names", &names, "compiler", &compiler, "kernels",
                    &kernels, "families", &families, "versions", &versions, "compile_ms",
                    &compile_ms, "inspect_ms", &inspect_ms) != 0 ||
        verdict_find(verdict) < 0 || !take_names(out, names))
        return false;
    decide(out, (enum verdict)verdict_find(verdict), error_find(error),
           json_is_string(detail) ? json_string_value(detail) : "");
    if (out->verdict == VERDICT_PASSED) {
        free(out->detail);
        out->detail = NULL;
    }
    out->stage = stage_find(stage);
    if (json_is_string(no_cubin))
        out->no_cubin_reason = strdup(json_string_value(no_cubin));
    out->log_cut = json_is_true(json_object_get(compiler, "log_truncated"));
    out->compile_ms = compile_ms, out->inspect_ms = inspect_ms;
    replace(&out->compiler, compiler), replace(&out->kernel_table, kernels);
    replace(&out->families, families), replace(&out->versions, versions);
    return true;
}

/* ---- without an answer ---- */

/* What the source did to the compiler. */
static void blame_source(struct compile_result *out, const struct child_result *child,
                         int64_t timeout_ms)
{
    char text[LIMIT_DETAIL];
    bool killed = child->end == CHILD_SIGNALLED;
    if (child->end == CHILD_TIMED_OUT)
        snprintf(text, sizeof text, "the compiler did not finish within %lld s",
                 (long long)(timeout_ms / 1000));
    else if (child->end == CHILD_OUT_OF_MEMORY)
        snprintf(text, sizeof text, "the compiler used more than %d MiB of memory",
                 COMPILE_MEMORY_MIB);
    else if (killed && (child->code == SIGXCPU || child->code == SIGKILL))
        snprintf(text, sizeof text, "the compiler used more processor time or memory than it may");
    else if (killed && child->code == SIGABRT)
        snprintf(text, sizeof text, "the compiler gave up on this source, out of memory as a rule");
    else if (killed)
        snprintf(text, sizeof text, "the compiler crashed on this source (signal %d)", child->code);
    else
        snprintf(text, sizeof text, "the compiler gave up on this source (status %d)", child->code);
    decide(out, VERDICT_COMPILE_ERROR, ERR_NONE, text);
}

/* Killed although it had spent neither its time nor its memory: by an operator, or by a machine that
 * ran out of memory over something else. */
static bool killed_from_outside(const struct child_result *child, int64_t timeout_ms)
{
    return child->end == CHILD_SIGNALLED && child->code == SIGKILL && child->cpu_ms < timeout_ms &&
           child->max_rss_bytes < COMPILE_MEMORY_MIB / 2 * (int64_t)MIB;
}

static void no_answer(struct answering *a, const struct child_result *child, int64_t timeout_ms)
{
    char how[128], text[LIMIT_DETAIL];
    if (child->end == CHILD_CANCELLED) {
        decide(a->out, VERDICT_CANCELLED, ERR_NONE, "cancelled while compiling");
    } else if (a->phase == PHASE_COMPILING && child->end != CHILD_BAD_OUTPUT &&
               !killed_from_outside(child, timeout_ms)) {
        blame_source(a->out, child, timeout_ms);
    } else {
        snprintf(text, sizeof text, "the compile child %s while %s: %.300s",
                 child_describe(child, how, sizeof how), phase_names[a->phase],
                 child->log.data ? child->log.data : "it said nothing");
        text_sanitize(text);
        decide(a->out, VERDICT_INFRA_ERROR, ERR_INTERNAL, text);
    }
}

/* What the child printed itself is the last word of a compiler that died. */
static void add_printed(struct compile_result *out, const struct child_result *child)
{
    const struct log_names names = {.source = "kernel.cu"};
    if (out->log.len < LIMIT_LOG && child->log.len)
        compile_log_show(child->log.data, child->log.len, &names, LIMIT_LOG - out->log.len,
                         &out->log);
}

static void init(struct compile_result *out)
{
    *out = (struct compile_result){
        .verdict = VERDICT_INFRA_ERROR,
        .stage = STAGE_compile,
        .compiler = json_pack("{s:s, s:[], s:[], s:b}", "compiler", "", "options", "warnings",
                              "log_truncated", false),
        .kernel_table = json_array(),
        .families = json_object(),
        .sandbox = json_array(),
        .versions = json_object(),
    };
    buf_init(&out->ptx, LIMIT_PTX + 1);
    buf_init(&out->cubin, LIMIT_CUBIN + 1);
    buf_init(&out->log, LIMIT_LOG + 16 * KIB + 8 * PRINTED_MAX);
}

void compile_run(const struct compile_request *request, struct compile_result *out)
{
    int64_t timeout_ms = request->timeout_ms ? request->timeout_ms : COMPILE_TIMEOUT_MS;
    char seconds[32];
    struct answering a = {.request = request, .out = out};
    struct child_result child;
    struct fault f = {0};
    init(out);
    snprintf(seconds, sizeof seconds, "%lld", (long long)((timeout_ms + 999) / 1000));
    json_t *document = wire_encode(request);
    char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    const struct child_input input[] = {
        {FRAME_REQUEST, text, text ? strlen(text) : 0},
        {FRAME_SOURCE, request->source, request->source_len},
    };
    struct child_spec spec = {
        .program = "ptxbench-compile",
        .arguments = (const char *const[]){request->language, request->arch->name, seconds, NULL},
        .input = input,
        .input_count = COUNT_OF(input),
        .timeout_ms = timeout_ms,
        .memory_bytes = COMPILE_MEMORY_MIB * (int64_t)MIB,
        .output_max = ANSWER_MAX,
        .log_max = PRINTED_MAX,
        .on_frame = on_frame,
        .tick = on_tick,
        .wake_fd = request->wake_fd,
        .arg = &a,
    };
    if (child_run(&spec, &child, &f) != ERR_NONE)
        decide(out, VERDICT_INFRA_ERROR, ERR_INTERNAL, f.detail);
    else if (child.end != CHILD_EXITED || child.code != 0 || !a.result || !read_answer(&a))
        no_answer(&a, &child, timeout_ms);
    if (out->verdict != VERDICT_PASSED)
        add_printed(out, &child);
    out->wall_ms = child.wall_ms;
    out->max_rss_bytes = child.max_rss_bytes;
    if (!out->compile_ms)
        out->compile_ms = child.wall_ms;
    child_result_release(&child);
    json_decref(a.result);
    json_decref(document);
    free(text);
}

void compile_result_release(struct compile_result *r)
{
    for (size_t i = 0; i < r->kernel_count; i++) {
        free(r->kernels[i].name);
        free(r->kernels[i].symbol);
    }
    free(r->kernels);
    free(r->detail);
    free(r->no_cubin_reason);
    buf_release(&r->ptx), buf_release(&r->cubin), buf_release(&r->log);
    json_decref(r->compiler), json_decref(r->kernel_table), json_decref(r->families);
    json_decref(r->sandbox), json_decref(r->versions);
}

const char *compile_symbol(const struct compile_result *r, const char *name)
{
    for (size_t i = 0; i < r->kernel_count; i++)
        if (!strcmp(r->kernels[i].name, name))
            return r->kernels[i].symbol;
    return NULL;
}

json_t *compile_registers(const struct compile_result *r)
{
    json_t *registers = json_object(), *kernel;
    size_t i;
    json_array_foreach(r->kernel_table, i, kernel)
    {
        const char *symbol = json_string_value(json_object_get(kernel, "symbol"));
        json_t *count = json_object_get(kernel, "registers");
        if (symbol && json_is_integer(count))
            json_object_set(registers, symbol, count);
    }
    return registers;
}

json_t *compile_capabilities(void)
{
    struct cuda_paths paths;
    bool found = cuda_paths_find(&paths);
    const char *version = paths.version[0] ? paths.version : "unknown";
    return json_pack("{s:o, s:o, s:o}", "nvrtc",
                     paths.nvrtc[0] ? json_string(version) : json_null(), "ptxas",
                     paths.ptxas[0] ? json_string(version) : json_null(), "cuda",
                     found ? json_string(paths.home) : json_null());
}
