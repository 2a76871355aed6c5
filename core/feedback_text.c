// SPDX-License-Identifier: Apache-2.0
// Feedback as text: the sections of a message, in order, each a row that says how it is written and
// whether the paper's agent saw it too.
#include "core/feedback.h"

#include <string.h>

#include "core/limits.h"
#include "core/text.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool has(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value);
}

static void head(const json_t *f, struct buf *out)
{
    buf_addf(out, "Turn %d of %d: ", (int)number_of(f, "turn"), (int)number_of(f, "of"));
    const char *verdict = text_of(f, "verdict");
    if (has(f, "speedup")) {
        const json_t *ci = json_object_get(f, "ci95");
        buf_addf(out, "%s, speedup %.4f", verdict, number_of(f, "speedup"));
        if (json_array_size(ci) == 2)
            buf_addf(out, " (95 %% interval %.4f to %.4f)",
                     json_number_value(json_array_get(ci, 0)),
                     json_number_value(json_array_get(ci, 1)));
        buf_addf(out, ". The target of %.2f is %s.\n", number_of(f, "target_speedup"),
                 json_is_true(json_object_get(f, "target_met")) ? "reached" : "not reached");
    } else {
        buf_addf(out, "%s.\n", verdict);
    }
    if (has(f, "detail"))
        buf_addf(out, "%s\n", text_of(f, "detail"));
}

static void history(const json_t *f, struct buf *out)
{
    const json_t *best = json_object_get(f, "best"), *since = json_object_get(f, "since");
    if (json_is_object(since)) {
        buf_addf(out, "The turn before: %s", text_of(since, "verdict"));
        if (has(since, "speedup"))
            buf_addf(out, ", speedup %.4f", number_of(since, "speedup"));
        buf_adds(out, ".\n");
    }
    if (json_is_object(best))
        buf_addf(out, "Best so far: %.4f at turn %d.\n", number_of(best, "speedup"),
                 (int)number_of(best, "turn"));
    else if (json_is_object(since))
        buf_adds(out, "No kernel before this turn was correct.\n");
}

static void errors(const json_t *f, struct buf *out)
{
    const json_t *error;
    size_t i;
    json_array_foreach(json_object_get(f, "errors"), i, error)
        buf_addf(out, "- %s: %s\n", text_of(error, "path"), text_of(error, "text"));
}

/* A list of strings, or of objects with a member "text". */
static void list(const json_t *f, const char *key, const char *title, struct buf *out)
{
    const json_t *entries = json_object_get(f, key), *entry;
    size_t i;
    if (json_array_size(entries))
        buf_addf(out, "\n%s:\n", title);
    json_array_foreach(entries, i, entry) buf_addf(
        out, "- %s\n", json_is_string(entry) ? json_string_value(entry) : text_of(entry, "text"));
}

static void excerpts(const json_t *f, struct buf *out)
{
    const json_t *excerpt;
    size_t i;
    json_array_foreach(json_object_get(f, "excerpts"), i, excerpt)
        buf_addf(out, "%s%s", i ? "   …\n" : "\nYour source there:\n", text_of(excerpt, "text"));
}

static void numbers(const json_t *f, struct buf *out)
{
    const json_t *n;
    size_t i;
    json_array_foreach(json_object_get(f, "numbers"), i, n)
        buf_addf(out, "%s- %s on %s inputs: %s\n", i ? "" : "\nOutputs:\n", text_of(n, "tensor"),
                 text_of(n, "distribution"), text_of(n, "text"));
}

static void faults(const json_t *f, struct buf *out)
{
    list(f, "faults", "Faults", out);
}

static void warnings(const json_t *f, struct buf *out)
{
    list(f, "warnings", "Compiler warnings", out);
}

static void kernels(const json_t *f, struct buf *out)
{
    list(f, "kernels", "Kernels", out);
}

static void log_text(const json_t *f, struct buf *out)
{
    if (has(f, "log") && *text_of(f, "log"))
        buf_addf(out, "\nOutput:\n%s\n", text_of(f, "log"));
}

static void times(const json_t *f, struct buf *out)
{
    const json_t *t = json_object_get(f, "timing");
    if (json_is_object(t))
        buf_addf(out, "\nYour kernel: %.1f us; %s: %.1f us.\n", number_of(t, "candidate_us"),
                 text_of(t, "baseline"), number_of(t, "baseline_us"));
}

static void roofline(const json_t *f, struct buf *out)
{
    const json_t *t = json_object_get(f, "timing"), *launches = json_object_get(t, "launches"), *l;
    size_t i;
    if (!json_is_object(t))
        return;
    buf_addf(out, "That is %.0f TFLOP/s, %.0f %% of what the device can do at most.\n",
             number_of(t, "tflops"), 100 * number_of(t, "roofline_share"));
    if (json_array_size(launches) > 1)
        json_array_foreach(launches, i, l) buf_addf(out, "- launch %zu, %s: %.1f us\n", i,
                                                    text_of(l, "kernel"), number_of(l, "us"));
}

static void target(const json_t *f, struct buf *out)
{
    const json_t *t = json_object_get(f, "target"), *executed = json_object_get(t, "executed");
    const json_t *families = json_object_get(t, "families"), *count;
    const char *name;
    if (!t)
        return;
    buf_addf(out, "\nTarget instructions: %s",
             json_is_true(executed)    ? "executed"
             : json_is_false(executed) ? "not executed"
                                       : "not known whether executed");
    const char *before = " (executed by warps: ";
    json_object_foreach((json_t *)families, name, count) if (json_is_number(count))
    {
        buf_addf(out, "%s%s %.0f", before, name, json_number_value(count));
        before = ", ";
    }
    buf_adds(out, *before == ',' ? ")" : "");
    if (json_is_number(json_object_get(t, "tensor_share")))
        buf_addf(out, "; they did %.0f %% of the arithmetic", 100 * number_of(t, "tensor_share"));
    buf_adds(out, ".\n");
}

static void flags(const json_t *f, struct buf *out)
{
    const json_t *flag;
    size_t i;
    json_array_foreach(json_object_get(f, "flags"), i, flag)
        buf_addf(out, "%s%s", i ? ", " : "Flags: ", json_string_value(flag));
    if (json_array_size(json_object_get(f, "flags")))
        buf_adds(out, ".\n");
}

static void what_next(const json_t *f, struct buf *out)
{
    buf_adds(out, has(f, "speedup") ? "\nMake it faster. " : "\nMend it. ");
    buf_adds(out, "Answer with the whole kernel in one fenced block.\n");
}

static const struct section {
    void (*write)(const json_t *f, struct buf *out);
    bool paper;
} sections[] = {
    {head, true},   {history, false}, {errors, true},    {log_text, true},  {excerpts, false},
    {faults, true}, {numbers, true},  {times, true},     {roofline, false}, {target, false},
    {flags, false}, {kernels, false}, {warnings, false}, {what_next, true},
};

int feedback_style_find(const char *name)
{
    return !strcmp(name, "full") ? FEEDBACK_FULL : !strcmp(name, "paper") ? FEEDBACK_PAPER : -1;
}

void feedback_render(const json_t *feedback, enum feedback_style style, struct buf *out)
{
    static const char cut[] = "\n[the rest is left out]\n";
    struct buf section;
    size_t count = sizeof(sections) / sizeof(sections[0]), used = 0;
    buf_init(&section, (size_t)4 * FEEDBACK_MAX);
    for (size_t i = 0; i < count; i++) {
        if (style == FEEDBACK_PAPER && !sections[i].paper)
            continue;
        buf_clear(&section);
        sections[i].write(feedback, &section);
        size_t left = FEEDBACK_MAX - sizeof(cut) - used;
        size_t keep = text_cut(section.len ? section.data : "", section.len, left);
        buf_add(out, section.data, keep);
        used += keep;
        if (keep < section.len) {
            buf_adds(out, cut);
            break;
        }
    }
    buf_release(&section);
}
