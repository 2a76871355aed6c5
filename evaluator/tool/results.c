// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/results.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "core/words.h"
#include "evaluator/runner_families.h"

/* ---- making ---- */

json_t *results_begin(const char *file, const struct submission *s)
{
    return json_pack(
        "{s:s, s:n, s:[], s:n, s:s, s:s, s:s, s:n, s:[], s:n, s:{s:n, s:n, s:{}}, s:s, s:[]}",
        "file", file, "verdict", "flags", "detail", "problem", s->problem->name, "workload",
        s->workload->name, "arch", s->arch->name, "check", "faults", "counts", "target", "executed",
        "tensor_share", "families", "log", "", "notes");
}

void results_verdict(json_t *report, const char *verdict, unsigned flags, const char *detail,
                     json_t *check)
{
    json_object_set_new(report, "verdict", verdict ? json_string(verdict) : json_null());
    json_object_set_new(report, "flags", flags_names(flags));
    json_object_set_new(report, "detail", *detail ? json_string(detail) : json_null());
    json_object_set_new(report, "check", check ? check : json_null());
}

void results_counts(json_t *report, const struct rig_counts *counts, const struct submission *s)
{
    bool executed = false;
    for (size_t i = 0; i < s->arch->family_count; i++)
        executed |= s->arch->families[i].target && counts->families[i].threads;
    json_object_set_new(report, "counts", rig_counts_json(counts, s->arch));
    json_t *target = json_object_get(report, "target");
    json_object_set_new(target, "families", rig_families_json(counts, s->arch));
    json_object_set_new(target, "executed", json_boolean(executed));
    json_object_set_new(
        target, "tensor_share",
        json_real(counts->tensor_flops / (double)problem_flops(s->problem, s->workload)));
}

void results_log(json_t *report, const struct buf *log)
{
    json_t *text = log->len ? json_stringn(log->data, log->len) : NULL;
    if (text)
        json_object_set_new(report, "log", text);
}

void results_note(json_t *report, const char *fmt, ...)
{
    char text[LIMIT_DETAIL];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    json_array_append_new(json_object_get(report, "notes"), json_string(text));
}

/* ---- showing ---- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static json_int_t integer_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void show_error(FILE *out, const json_t *tensor, const char *key)
{
    const json_t *v = json_object_get(tensor, key);
    if (json_is_number(v))
        fprintf(out, ", %s %.3g", key, json_number_value(v));
}

static void show_tensor(FILE *out, const char *distribution, const json_t *t)
{
    const json_t *bad = json_object_get(t, "first_bad");
    fprintf(out, "  %-10s %s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " elements wrong",
            distribution, text_of(t, "name"), integer_of(t, "bad"), integer_of(t, "elements"));
    show_error(out, t, "max_abs");
    show_error(out, t, "excess");
    fprintf(out, "%s\n", json_is_true(json_object_get(t, "exact")) ? ", bit for bit" : "");
    if (bad) {
        char *index = json_dumps(json_object_get(bad, "index"), JSON_ENCODE_ANY);
        char *got =
            json_dumps(json_object_get(bad, "got"), JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        char *want =
            json_dumps(json_object_get(bad, "want"), JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        fprintf(out, "             first at %s: got %s, want %s\n", index, got, want);
        free(index), free(got), free(want);
    }
    size_t i;
    json_t *hint;
    json_array_foreach(json_object_get(t, "hints"), i, hint)
        fprintf(out, "             %s\n", json_string_value(hint));
}

static void show_check(FILE *out, const json_t *report)
{
    size_t i, k;
    json_t *trial, *tensor;
    json_array_foreach(json_object_get(json_object_get(report, "check"), "trials"), i, trial)
    {
        json_array_foreach(json_object_get(trial, "tensors"), k, tensor)
            show_tensor(out, text_of(trial, "distribution"), tensor);
        if (json_is_false(json_object_get(trial, "deterministic")))
            fprintf(out, "             two runs gave different bits\n");
    }
}

/* The line of the source, once it is known to be one of this file. */
static void show_line(FILE *out, const char *source, json_int_t line)
{
    for (json_int_t i = 1; source && i < line; i++) {
        source = strchr(source, '\n');
        source = source ? source + 1 : NULL;
    }
    if (source && line)
        fprintf(out, "  %5" JSON_INTEGER_FORMAT " | %.*s\n", line, (int)strcspn(source, "\n"),
                source);
}

static void show_place(FILE *out, const json_t *o, const char *key, const char *what)
{
    const json_t *v = json_object_get(o, key);
    if (json_array_size(v) == 3)
        fprintf(out,
                ", %s (%" JSON_INTEGER_FORMAT ",%" JSON_INTEGER_FORMAT ",%" JSON_INTEGER_FORMAT ")",
                what, json_integer_value(json_array_get(v, 0)),
                json_integer_value(json_array_get(v, 1)), json_integer_value(json_array_get(v, 2)));
}

static void show_fault(FILE *out, const char *file, const json_t *f, const char *source)
{
    const char *kind = text_of(f, "kind"), *from = text_of(f, "file"), *slash = strrchr(from, '/');
    bool ours = !strcmp(slash ? slash + 1 : from, "kernel.cu"); /* as the compiler calls it */
    fprintf(out, "%s in %s", *kind ? kind : text_of(f, "status"), text_of(f, "kernel"));
    show_place(out, f, "cta", "CTA");
    show_place(out, f, "thread", "thread");
    fprintf(out, "\n  %s\n", text_of(f, "detail"));
    if (json_object_get(f, "line"))
        fprintf(out, "  %s:%" JSON_INTEGER_FORMAT "\n", ours ? file : from, integer_of(f, "line"));
    if (ours)
        show_line(out, source, integer_of(f, "line"));
    if (*text_of(f, "instruction"))
        fprintf(out, "  ptx %" JSON_INTEGER_FORMAT " | %s\n", integer_of(f, "ptx_line"),
                text_of(f, "instruction"));
}

static void show_rows(FILE *out, const json_t *counts)
{
    size_t i;
    json_t *row;
    const char *name;
    fprintf(out, "%16s %14s  family\n", "threads", "warps");
    json_object_foreach(json_object_get(counts, "by_family"), name, row)
        fprintf(out, "%16" JSON_INTEGER_FORMAT " %14" JSON_INTEGER_FORMAT "  %s\n",
                integer_of(row, "threads"), integer_of(row, "warps"), name);
    fprintf(out, "%16s %14s  instruction\n", "threads", "warps");
    json_array_foreach(json_object_get(counts, "by_instruction"), i, row)
        fprintf(out, "%16" JSON_INTEGER_FORMAT " %14" JSON_INTEGER_FORMAT "  %s\n",
                integer_of(row, "threads"), integer_of(row, "warps"), text_of(row, "name"));
}

static void show_counts(FILE *out, const json_t *report, bool rows)
{
    const json_t *counts = json_object_get(report, "counts"),
                 *target = json_object_get(report, "target");
    const json_t *share = json_object_get(target, "tensor_share");
    if (!json_is_object(counts))
        return;
    fprintf(out,
            "  %" JSON_INTEGER_FORMAT " thread instructions, %" JSON_INTEGER_FORMAT
            " warp instructions, %" JSON_INTEGER_FORMAT " CTAs",
            integer_of(counts, "thread_instructions"), integer_of(counts, "warp_instructions"),
            integer_of(counts, "ctas"));
    if (json_is_number(share))
        fprintf(out, ", %.4g %% of the FLOPs by tensor instructions",
                100 * json_number_value(share));
    fprintf(out, "\n");
    if (rows)
        show_rows(out, counts);
}

static void show_sample(FILE *out, const json_t *report)
{
    const json_t *s = json_object_get(report, "sample");
    if (json_is_object(s))
        fprintf(out,
                "  %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
                " %s run, %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
                " elements that they wrote checked\n",
                integer_of(s, "run"), integer_of(s, "of"), text_of(s, "unit"),
                integer_of(s, "checked"), integer_of(s, "written"));
}

static void show_schedules(FILE *out, const json_t *report)
{
    const json_t *s = json_object_get(report, "schedules");
    size_t i;
    json_t *row;
    if (!json_is_object(s))
        return;
    fprintf(out, "  %" JSON_INTEGER_FORMAT " schedules, %zu differ from the first\n",
            integer_of(s, "run"), json_array_size(json_object_get(s, "differ")));
    json_array_foreach(json_object_get(s, "differ"), i, row)
        fprintf(out, "    seed %" JSON_INTEGER_FORMAT ": %s\n", integer_of(row, "seed"),
                text_of(row, "detail"));
}

void results_show(FILE *out, const json_t *report, const char *source, bool counts)
{
    size_t i;
    json_t *item;
    const char *verdict = text_of(report, "verdict"), *log = text_of(report, "log");
    if (*log)
        fprintf(out, "%s%s", log, log[strlen(log) - 1] == '\n' ? "" : "\n");
    fprintf(out, "%s", *verdict ? verdict : "CANNOT TELL");
    json_array_foreach(json_object_get(report, "flags"), i, item)
        fprintf(out, " (%s)", json_string_value(item));
    fprintf(out, "  %s: %s %s on %s\n", text_of(report, "file"), text_of(report, "problem"),
            text_of(report, "workload"), text_of(report, "arch"));
    json_t *faults = json_object_get(report, "faults");
    if (*text_of(report, "detail") && !json_array_size(faults))
        fprintf(out, "  %s\n", text_of(report, "detail"));
    json_array_foreach(faults, i, item) show_fault(out, text_of(report, "file"), item, source);
    show_check(out, report);
    show_sample(out, report);
    show_schedules(out, report);
    json_array_foreach(json_object_get(report, "notes"), i, item)
        fprintf(out, "  note: %s\n", json_string_value(item));
    show_counts(out, report, counts);
}
