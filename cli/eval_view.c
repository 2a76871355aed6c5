// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/eval_timing.h"
#include "core/submission.h"
#include "core/text.h"

enum { EXCERPT_LINES = 12 };

#define GREEN "\033[32m"
#define RED "\033[31m"
#define DIM "\033[2m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static const char *paint(FILE *out, const char *colour)
{
    const char *no = getenv("NO_COLOR");
    return isatty(fileno(out)) && !(no && *no) ? colour : "";
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

void view_head(FILE *out, const char *file, const char *device, const struct submission *s)
{
    fprintf(out, "%s%s%s: %s %s (", paint(out, BOLD), file, paint(out, PLAIN), s->problem->name,
            s->workload->name);
    for (size_t i = 0; i < s->problem->axis_count; i++)
        fprintf(out, "%s%s=%lld", i ? " " : "", s->problem->axes[i],
                (long long)s->workload->axes[i]);
    fprintf(out, "), %s on %s\n", s->arch->name, device);
}

void view_event(void *arg, const json_t *event)
{
    FILE *out = arg;
    const char *state = text_of(event, "state");
    if (strcmp(text_of(event, "kind"), "stage") != 0 || !strcmp(state, "started"))
        return;
    bool skipped = !strcmp(state, "skipped"), passed = !strcmp(state, "passed");
    fprintf(out, "  %-9s %s%-8s%s", text_of(event, "stage"),
            paint(out, skipped  ? DIM
                       : passed ? GREEN
                                : RED),
            state, paint(out, PLAIN));
    if (skipped)
        fprintf(out, "%12s %s%s%s", "", paint(out, DIM), text_of(event, "detail"),
                paint(out, PLAIN));
    else
        fprintf(out, "%9.1f ms", number_of(event, "wall_ms"));
    fputc('\n', out);
    fflush(out);
}

/* Where in the log the reason begins: the first line of an error, or what the kernels printed. */
static const char *excerpt_start(const struct evaluation *e)
{
    if (!e->log.len)
        return NULL;
    if (e->verdict != VERDICT_COMPILE_ERROR)
        return strstr(e->log.data, EVALUATION_PRINTED);
    const char *from = strstr(e->log.data, "error");
    while (from && from > e->log.data && from[-1] != '\n')
        from--;
    return from ? from : e->log.data;
}

static void print_excerpt(FILE *out, const struct evaluation *e)
{
    const char *from = excerpt_start(e);
    if (!from)
        return;
    fputc('\n', out);
    for (int n = 0; n < EXCERPT_LINES && *from; n++) {
        char line[256];
        size_t len = strcspn(from, "\n");
        size_t shown = len < sizeof(line) ? len : sizeof(line) - 1;
        snprintf(line, sizeof(line), "%.*s", (int)shown, from);
        text_sanitize(line);
        fprintf(out, "    %s\n", line);
        from += len + (from[len] == '\n');
    }
    if (*from)
        fprintf(out, "    … %zu bytes more (--save keeps them)\n", strlen(from));
}

static void print_tensor(FILE *out, const json_t *trial, const json_t *t)
{
    bool paper = json_is_true(json_object_get(t, "paper"));
    const json_t *bad = json_object_get(t, "first_bad"), *hint;
    size_t i;
    fprintf(out, "  %-9s %s: ", text_of(trial, "distribution"), text_of(t, "name"));
    if (json_is_null(json_object_get(t, "max_abs")))
        fprintf(out, "no element is finite\n");
    else
        fprintf(out, "max abs %.3g, max rel %.3g, excess over rounding %.2g%s\n",
                number_of(t, "max_abs"), number_of(t, "max_rel"), number_of(t, "excess"),
                json_is_true(json_object_get(t, "exact")) ? ", every bit right" : "");
    if (!paper) {
        const size_t shape = JSON_ENCODE_ANY | JSON_REAL_PRECISION(7);
        char *got = json_dumps(json_object_get(bad, "got"), shape);
        char *want = json_dumps(json_object_get(bad, "want"), shape);
        char *index = json_dumps(json_object_get(bad, "index"), JSON_COMPACT);
        fprintf(out, "            first of %.0f wrong elements: %s%s is %s, should be %s\n",
                number_of(t, "bad"), text_of(t, "name"), index ? index : "", got ? got : "",
                want ? want : "");
        free(got);
        free(want);
        free(index);
    }
    json_array_foreach(json_object_get(t, "hints"), i, hint)
        fprintf(out, "            %s\n", json_string_value(hint));
}

static void print_check(FILE *out, const json_t *report)
{
    const json_t *trial, *tensor;
    size_t i, j;
    json_array_foreach(json_object_get(json_object_get(report, "check"), "trials"), i, trial)
        json_array_foreach(json_object_get(trial, "tensors"), j, tensor)
            print_tensor(out, trial, tensor);
}

static void print_faults(FILE *out, const json_t *faults)
{
    const json_t *fault, *value;
    const char *key;
    size_t i;
    json_array_foreach((json_t *)faults, i, fault)
        json_object_foreach((json_t *)fault, key, value)
    {
        char *text = json_is_string(value) ? strdup(json_string_value(value))
                                           : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        if (text && *text && strcmp(key, "detail") != 0) {
            text_sanitize(text);
            fprintf(out, "    %-12s %s\n", key, text);
        }
        free(text);
    }
}

/* What went well and need not. */
static void print_notes(FILE *out, const json_t *faults)
{
    const json_t *fault;
    size_t i;
    json_array_foreach((json_t *)faults, i, fault)
    {
        char detail[LIMIT_DETAIL];
        snprintf(detail, sizeof(detail), "%s", text_of(fault, "detail"));
        text_sanitize(detail);
        if (!strcmp(text_of(fault, "kind"), "note"))
            fprintf(out, "  note      %s\n", detail);
    }
}

static void print_figures(FILE *out, const json_t *report)
{
    const json_t *kernel, *warning, *target = json_object_get(report, "target");
    size_t i;
    json_array_foreach(
        json_object_get(report, "kernels"), i,
        kernel) if (json_is_number(json_object_get(kernel,
                                                   "registers"))) /* known to an assembler only */
        fprintf(out, "  kernel    %s: %.0f registers, %.0f bytes shared, %.0f bytes spilled\n",
                text_of(kernel, "name"), number_of(kernel, "registers"),
                number_of(kernel, "shared_bytes"), number_of(kernel, "spill_store_bytes"));
    json_array_foreach(json_object_get(json_object_get(report, "compile"), "warnings"), i, warning)
        fprintf(out, "  warning   %s\n", text_of(warning, "text"));
    if (json_is_object(json_object_get(report, "counts")))
        fprintf(out, "  counted   %.0f thread instructions, target instructions %s\n",
                number_of(json_object_get(report, "counts"), "thread_instructions"),
                json_is_true(json_object_get(target, "executed")) ? "executed" : "not executed");
}

static void print_flags(FILE *out, const json_t *report)
{
    const json_t *flag;
    size_t i;
    json_array_foreach(json_object_get(report, "flags"), i, flag)
        fprintf(out, "  %s", json_string_value(flag));
}

void view_end(FILE *out, const struct evaluation *e)
{
    bool passed = e->verdict == VERDICT_PASSED;
    const json_t *findings = json_object_get(json_object_get(e->report, "sanitize"), "findings");
    print_figures(out, e->report);
    print_check(out, e->report);
    view_timing(out, e->report);
    if (passed && json_array_size(findings)) {
        fprintf(out, "  sanitize  found this on ptxvm, which decides nothing:\n");
        print_faults(out, findings);
    }
    fprintf(out, "%s%s%s", paint(out, passed ? GREEN BOLD : RED BOLD), verdict_name(e->verdict),
            paint(out, PLAIN));
    print_flags(out, e->report);
    fprintf(out, "  in %.2f s\n", number_of(e->report, "wall_ms") / 1e3);
    if (passed) {
        print_notes(out, json_object_get(e->report, "faults"));
        return;
    }
    char detail[LIMIT_DETAIL];
    snprintf(detail, sizeof(detail), "%s", text_of(e->report, "detail"));
    text_sanitize(detail);
    fprintf(out, "  %s\n", detail);
    print_faults(out, json_object_get(e->report, "faults"));
    print_faults(out, findings);
    print_excerpt(out, e);
}

void view_row(FILE *out, const struct submission *s, const struct evaluation *e)
{
    bool passed = e->verdict == VERDICT_PASSED;
    fprintf(out, "  %-24s %s%-20s%s %7.2f s", s->workload->name, paint(out, passed ? GREEN : RED),
            verdict_name(e->verdict), paint(out, PLAIN), number_of(e->report, "wall_ms") / 1e3);
    view_timing_row(out, e->report);
    print_flags(out, e->report);
    fputc('\n', out);
    fflush(out);
}
