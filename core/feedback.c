// SPDX-License-Identifier: Apache-2.0
// Feedback as a document: what of a verdict helps to write the next kernel. Nothing here judges:
// the verdict comes with the report, and foreign text stays in members of its own.
#include "core/feedback.h"

#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/text.h"
#include "core/util.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* Sets a member to a copy, null if there is nothing to copy. */
static void copy(json_t *to, const char *key, const json_t *from, const char *member)
{
    json_t *value = json_object_get(from, member);
    json_object_set_new(to, key, value ? json_deep_copy(value) : json_null());
}

/* A string that may hold anything: invalid UTF-8 would not become JSON. Cut at `max` bytes. */
static json_t *foreign(const char *s, size_t max)
{
    size_t len = strlen(s), keep = text_cut(s, len, max);
    char *clean = strndup(s, keep);
    if (!clean)
        return json_null();
    for (char *line = clean; line;) { /* lines stay lines */
        char *newline = strchr(line, '\n');
        if (newline)
            *newline = '\0';
        text_sanitize(line);
        if (newline) {
            size_t now = strlen(line);
            memset(line + now, ' ', (size_t)(newline - line) - now);
            *newline = '\n';
        }
        line = newline ? newline + 1 : NULL;
    }
    json_t *text = json_string(clean);
    free(clean);
    return text;
}

static json_t *begin(const struct feedback_turn *t, const char *verdict, json_t *detail)
{
    json_t *f = json_pack("{s:i, s:i, s:s, s:o, s:n, s:n, s:f, s:b, s:n, s:n}", "turn", t->turn,
                          "of", t->of, "verdict", verdict, "detail", detail, "speedup", "ci95",
                          "target_speedup", t->target_speedup, "target_met", 0, "best", "since");
    if (f && t->best_turn)
        json_object_set_new(
            f, "best", json_pack("{s:i, s:f}", "turn", t->best_turn, "speedup", t->best_speedup));
    if (f && t->last_verdict)
        json_object_set_new(
            f, "since",
            json_pack("{s:s, s:o}", "verdict", t->last_verdict, "speedup",
                      t->last_speedup > 0 ? json_real(t->last_speedup) : json_null()));
    return f;
}

json_t *feedback_of_extraction(const struct feedback_turn *turn, const struct extraction *x)
{
    return begin(turn, "EXTRACTION", json_string(extract_state_text(x->state)));
}

json_t *feedback_of_plan(const struct feedback_turn *turn, const json_t *errors)
{
    json_t *f = begin(turn, "PLAN",
                      json_string("the submission was not accepted: its plan or its "
                                  "source breaks a rule"));
    json_t *list = json_array();
    const json_t *error;
    size_t i;
    json_array_foreach(errors, i, error) if (i < FEEDBACK_ITEMS)
        json_array_append_new(list, json_pack("{s:s, s:o}", "path", text_of(error, "path"), "text",
                                              foreign(text_of(error, "detail"), LIMIT_DETAIL)));
    if (json_object_set_new(f, "errors", list)) {
        json_decref(f);
        return NULL;
    }
    return f;
}

/* The lines of the source around line `n` (from 1), each with its number. */
static void add_excerpt(json_t *list, const char *source, long n)
{
    struct buf b;
    long line = 1;
    buf_init(&b, 4 * KIB);
    for (const char *at = source; *at; line++) {
        size_t len = strcspn(at, "\n");
        if (line >= n - FEEDBACK_CONTEXT && line <= n + FEEDBACK_CONTEXT)
            buf_addf(&b, "%c%5ld  %.*s\n", line == n ? '>' : ' ', line,
                     (int)(len < 200 ? len : 200), at);
        at += len + (at[len] == '\n');
    }
    if (b.len && !b.failed)
        json_array_append_new(
            list, json_pack("{s:I, s:o}", "line", (json_int_t)n, "text", foreign(b.data, b.len)));
    buf_release(&b);
}

/* How a line of the log says that a line of the source is wrong: name, number, word. */
static const struct {
    const char *name, *word;
} complaints[] = {{"kernel.cu(", "): error"},
                  {"kernel.cu(", "): ptxas; error"},
                  {"kernel.ptx, line ", "; error"}};

/* The line of the source that one line of the log calls wrong; 0: none. */
static long complaint(const char *at, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(complaints); i++) {
        const char *name = memmem(at, len, complaints[i].name, strlen(complaints[i].name));
        if (!name)
            continue;
        char *end;
        long n = strtol(name + strlen(complaints[i].name), &end, 10);
        if (n > 0 && end < at + len &&
            !strncmp(end, complaints[i].word, strlen(complaints[i].word)))
            return n;
    }
    return 0;
}

static json_t *excerpts(const char *log, const char *source)
{
    json_t *list = json_array();
    long before = 0;
    for (const char *at = log; source && *at && json_array_size(list) < FEEDBACK_ITEMS;) {
        size_t len = strcspn(at, "\n");
        long n = complaint(at, len);
        if (n && n != before)
            add_excerpt(list, source, n);
        before = n ? n : before;
        at += len + (at[len] == '\n');
    }
    return list;
}

static json_t *warnings(const json_t *compile)
{
    json_t *list = json_array();
    const json_t *w;
    size_t i;
    json_array_foreach(json_object_get(compile, "warnings"), i, w)
    {
        json_int_t line = json_integer_value(json_object_get(w, "line"));
        const char *code = text_of(w, "code"), *text = text_of(w, "text");
        json_t *entry =
            line ? json_sprintf("line %lld: %s%s%s", (long long)line, code, *code ? ": " : "", text)
                 : json_sprintf("%s%s%s", code, *code ? ": " : "", text);
        if (i < FEEDBACK_ITEMS)
            json_array_append_new(list, entry);
        else
            json_decref(entry);
    }
    return list;
}

/* "first of 12 wrong elements: C[0,3] is 1.5, should be 2; the hints", or the errors of a right
 * one. */
static json_t *tensor_text(const json_t *t)
{
    const size_t shape = JSON_ENCODE_ANY | JSON_REAL_PRECISION(7) | JSON_COMPACT;
    const json_t *bad = json_object_get(t, "first_bad"), *hint;
    struct buf b;
    size_t i;
    buf_init(&b, 2 * KIB);
    if (json_is_number(json_object_get(t, "max_abs")))
        buf_addf(&b, "max abs error %.3g, max rel %.3g, excess over rounding %.2g",
                 json_number_value(json_object_get(t, "max_abs")),
                 json_number_value(json_object_get(t, "max_rel")),
                 json_number_value(json_object_get(t, "excess")));
    else
        buf_adds(&b, "no element is finite");
    if (bad) {
        char *got = json_dumps(json_object_get(bad, "got"), shape);
        char *want = json_dumps(json_object_get(bad, "want"), shape);
        char *index = json_dumps(json_object_get(bad, "index"), shape);
        buf_addf(&b, "; %.0f of %.0f elements are wrong, first at %s: got %s, expected %s",
                 json_number_value(json_object_get(t, "bad")),
                 json_number_value(json_object_get(t, "elements")), index ? index : "?",
                 got ? got : "?", want ? want : "?");
        free(got);
        free(want);
        free(index);
    }
    json_array_foreach(json_object_get(t, "hints"), i, hint)
        buf_addf(&b, "; %s", json_string_value(hint) ? json_string_value(hint) : "");
    json_t *text = b.failed ? json_null() : json_string(b.data);
    buf_release(&b);
    return text;
}

static json_t *numbers(const json_t *check)
{
    json_t *list = json_array();
    const json_t *trial, *t;
    size_t i, k;
    json_array_foreach(json_object_get(check, "trials"), i, trial) json_array_foreach(
        json_object_get(trial, "tensors"), k, t) if (json_array_size(list) < FEEDBACK_ITEMS)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "tensor", text_of(t, "name"),
                                              "distribution", text_of(trial, "distribution"),
                                              "text", tensor_text(t)));
    return list;
}

/* "… in gemm, CTA (1,0,0), thread (3,0,0): ld.global.b16 %a16, [%pa]; (line 88 of the PTX, line 12
 * of the source)" */
static json_t *fault_text(const json_t *fault)
{
    static const char *const places[] = {"cta", "thread"}, *const words[] = {"CTA", "thread"};
    struct buf b;
    buf_init(&b, 4 * KIB);
    buf_adds(&b, text_of(fault, "detail"));
    if (*text_of(fault, "kernel"))
        buf_addf(&b, " in %s", text_of(fault, "kernel"));
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const json_t *at = json_object_get(fault, places[i]);
        if (json_array_size(at) == 3)
            buf_addf(&b, ", %s (%lld,%lld,%lld)", words[i],
                     (long long)json_integer_value(json_array_get(at, 0)),
                     (long long)json_integer_value(json_array_get(at, 1)),
                     (long long)json_integer_value(json_array_get(at, 2)));
    }
    json_int_t ptx = json_integer_value(json_object_get(fault, "ptx_line"));
    json_int_t line = json_integer_value(json_object_get(fault, "line"));
    if (*text_of(fault, "instruction"))
        buf_addf(&b, ": %s", text_of(fault, "instruction"));
    if (line || ptx)
        buf_addf(&b, " (line %lld of the %s)", (long long)(line ? line : ptx),
                 line ? "source" : "PTX");
    json_t *text = foreign(b.data ? b.data : "", LIMIT_DETAIL);
    buf_release(&b);
    return text;
}

static json_t *faults(const json_t *report)
{
    json_t *list = json_array();
    const json_t *fault;
    size_t i;
    json_array_foreach(json_object_get(report, "faults"), i, fault) if (i < FEEDBACK_ITEMS)
        json_array_append_new(list, fault_text(fault));
    return list;
}

static json_t *kernels(const json_t *report)
{
    json_t *list = json_array();
    const json_t *k;
    size_t i;
    json_array_foreach(json_object_get(report, "kernels"), i, k)
    {
        json_int_t spilled = json_integer_value(json_object_get(k, "spill_store_bytes")) +
                             json_integer_value(json_object_get(k, "spill_load_bytes"));
        json_array_append_new(
            list,
            json_sprintf("%.*s: %lld registers, %lld bytes spilled, %lld bytes of static shared "
                         "memory",
                         LIMIT_NAME, text_of(k, "name"),
                         (long long)json_integer_value(json_object_get(k, "registers")),
                         (long long)spilled,
                         (long long)json_integer_value(json_object_get(k, "shared_bytes"))));
    }
    return list;
}

static json_t *timing(const json_t *report)
{
    const json_t *t = json_object_get(report, "timing"), *b = json_object_get(report, "baseline");
    if (!json_is_object(t))
        return json_null();
    json_t *out = json_object();
    copy(out, "candidate_us", report, "candidate_us");
    copy(out, "baseline_us", b, "us");
    copy(out, "baseline", b, "name");
    copy(out, "tflops", t, "tflops");
    copy(out, "roofline_share", t, "roofline_share");
    copy(out, "floor_us", t, "floor_us");
    copy(out, "launches", t, "launches");
    return out;
}

static json_t *target(const json_t *report)
{
    const json_t *t = json_object_get(report, "target"), *family;
    json_t *out = json_object(), *families = json_object();
    const char *name;
    copy(out, "executed", t, "executed");
    copy(out, "tensor_share", t, "tensor_share");
    copy(out, "reason", t, "reason");
    json_object_foreach(json_object_get(t, "families"), name, family)
        copy(families, name, family, "warps");
    json_object_set_new(out, "families", families);
    return out;
}

json_t *feedback_of_report(const struct feedback_turn *turn, const json_t *report, const char *log,
                           const char *source)
{
    const char *verdict = text_of(report, "verdict");
    json_t *f = begin(turn, verdict, foreign(text_of(report, "detail"), LIMIT_DETAIL));
    if (!f)
        return NULL;
    if (!*text_of(report, "detail"))
        json_object_set_new(f, "detail", json_null());
    const json_t *speedup = json_object_get(report, "speedup");
    double value = json_number_value(json_object_get(speedup, "value"));
    bool passed = !strcmp(verdict, "PASSED");
    if (passed && value > 0) {
        copy(f, "speedup", speedup, "value");
        copy(f, "ci95", speedup, "ci95");
        json_object_set_new(f, "target_met", json_boolean(value >= turn->target_speedup));
    }
    bool unbuilt = !strcmp(verdict, "COMPILE_ERROR");
    json_object_set_new(f, "log", log && !passed ? foreign(log, FEEDBACK_LOG) : json_null());
    json_object_set_new(f, "excerpts", unbuilt && log ? excerpts(log, source) : json_array());
    json_object_set_new(f, "warnings", warnings(json_object_get(report, "compile")));
    json_object_set_new(f, "numbers", numbers(json_object_get(report, "check")));
    json_object_set_new(f, "faults", faults(report));
    json_object_set_new(f, "timing", passed ? timing(report) : json_null());
    json_object_set_new(f, "kernels", kernels(report));
    json_object_set_new(f, "target", target(report));
    json_t *flags = json_object_get(report, "flags");
    json_object_set_new(f, "flags", flags ? json_deep_copy(flags) : json_array());
    json_object_set_new(f, "strict",
                        json_boolean(is_true(json_object_get(report, "check"), "strict")));
    return f;
}
