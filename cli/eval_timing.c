// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_timing.h"

#include <string.h>

#include "core/text.h"

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool has_number(const json_t *object, const char *key)
{
    return json_is_number(json_object_get(object, key));
}

/* A text that came from elsewhere, fit for one line. */
static void print_text(FILE *out, const json_t *object, const char *key)
{
    char line[200];
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(line, sizeof(line), "%s", text ? text : "?");
    text_sanitize(line);
    fputs(line, out);
}

static void print_speedup(FILE *out, const json_t *report)
{
    const json_t *speedup = json_object_get(report, "speedup"),
                 *ci = json_object_get(speedup, "ci95");
    fprintf(out, "%.3f [%.3f, %.3f]", number_of(speedup, "value"),
            json_number_value(json_array_get(ci, 0)), json_number_value(json_array_get(ci, 1)));
}

static void print_rates(FILE *out, const json_t *timing)
{
    if (has_number(timing, "tflops"))
        fprintf(out, ", %.1f TFLOP/s", number_of(timing, "tflops"));
    if (has_number(timing, "roofline_share"))
        fprintf(out, ", %.0f %% of the roofline", 100 * number_of(timing, "roofline_share"));
}

static void print_baseline(FILE *out, const json_t *report)
{
    const json_t *baseline = json_object_get(report, "baseline");
    if (!json_is_object(baseline))
        return;
    fputs(" over ", out);
    print_text(out, baseline, "name");
    fputc(' ', out);
    print_text(out, baseline, "version");
    fprintf(out, " (%.2f us)", number_of(baseline, "us"));
}

static void print_launches(FILE *out, const json_t *timing)
{
    const json_t *launches = json_object_get(timing, "launches"), *launch;
    size_t i;
    if (json_array_size(launches) < 2)
        return;
    json_array_foreach((json_t *)launches, i, launch) {
        fputs(i ? ", " : "  launches  ", out);
        print_text(out, launch, "kernel");
        fprintf(out, " %.2f us", number_of(launch, "us"));
    }
    fputc('\n', out);
}

/* Families that were executed, with what counted them. */
static void print_target(FILE *out, const json_t *target)
{
    const char *name;
    json_t *family;
    bool any = false;
    fputs("  executed ", out);
    json_object_foreach(json_object_get(target, "families"), name, family)
        if (number_of(family, "threads") > 0) {
            fprintf(out, "%s %s %.0f", any ? "," : "", name, number_of(family, "warps"));
            any = true;
        }
    if (any)
        fputs(" warp instructions", out);
    if (has_number(target, "tensor_share"))
        fprintf(out, "%s %.1f %% of the FLOPs on tensor units", any ? ";" : "",
                100 * number_of(target, "tensor_share"));
    if (json_is_string(json_object_get(target, "reason"))) {
        fputs(any ? "; " : " unknown: ", out);
        print_text(out, target, "reason");
    } else if (!any) {
        fputs(" no instruction of a family", out);
    }
    fputc('\n', out);
}

void view_timing(FILE *out, const json_t *report)
{
    const json_t *timing = json_object_get(report, "timing");
    if (!json_is_object(timing))
        return;
    fprintf(out, "  timed     %.2f us", number_of(report, "candidate_us"));
    print_rates(out, timing);
    fprintf(out, "; empty kernel %.2f us; %.0f blocks\n", number_of(timing, "floor_us"),
            number_of(timing, "blocks"));
    print_launches(out, timing);
    if (json_is_object(json_object_get(report, "speedup"))) {
        fputs("  speedup   ", out);
        print_speedup(out, report);
        print_baseline(out, report);
        fputc('\n', out);
    }
    print_target(out, json_object_get(report, "target"));
}

void view_timing_row(FILE *out, const json_t *report)
{
    const json_t *timing = json_object_get(report, "timing");
    if (!json_is_object(json_object_get(report, "speedup")))
        return;
    fputs("  ", out);
    print_speedup(out, report);
    fprintf(out, " %9.2f us", number_of(report, "candidate_us"));
    if (has_number(timing, "tflops"))
        fprintf(out, " %6.1f TFLOP/s", number_of(timing, "tflops"));
    if (has_number(timing, "roofline_share"))
        fprintf(out, " %3.0f %%", 100 * number_of(timing, "roofline_share"));
}
