// SPDX-License-Identifier: Apache-2.0
#include "core/turn_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

static const struct {
    const char *name, *title;
} labels[] = {
#define LABEL(name, title) {#name, title},
#include "core/labels.def"
#undef LABEL
};

const char *label_title(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        if (!strcmp(labels[i].name, name))
            return labels[i].title;
    return NULL;
}

const char *label_of_title(const char *title)
{
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        if (!strcmp(labels[i].title, title))
            return labels[i].name;
    return NULL;
}

void percent_text(int64_t part, int64_t of, char out[PERCENT_TEXT])
{
    out[0] = '\0';
    if (of > 0) /* not 100 * (part / of): that is another double at some of them */
        snprintf(out, PERCENT_TEXT, "%.1f", 100.0 * (double)part / (double)of);
}

void wilson95(int64_t k, int64_t n, double *low, double *high)
{
    const double z = 1.959963984540054; /* 97.5 % point of the normal distribution */
    *low = 0;
    *high = 1;
    if (n <= 0)
        return;
    double p = (double)k / (double)n, zz = z * z / (double)n;
    double middle = (p + zz / 2) / (1 + zz);
    double half = z / (1 + zz) * sqrt(p * (1 - p) / (double)n + zz / (4 * (double)n));
    *low = k == 0 ? 0 : fmax(0, middle - half);
    *high = k == n ? 1 : fmin(1, middle + half);
}

static int64_t integer_of(const json_t *object, const char *member)
{
    return (int64_t)json_integer_value(json_object_get(object, member));
}

/* Mean, least and greatest, added one by one. */
struct band {
    double sum, low, high;
    size_t count;
};

static void band_add(struct band *b, double value)
{
    b->low = b->count && b->low < value ? b->low : value;
    b->high = b->count && b->high > value ? b->high : value;
    b->sum += value;
    b->count++;
}

static json_t *band_json(const struct band *b)
{
    return b->count ? json_pack("{s:f, s:f, s:f}", "mean", b->sum / (double)b->count, "low", b->low,
                                "high", b->high)
                    : json_null();
}

static void add_rate(json_t *at, const char *what)
{
    int64_t k = integer_of(at, what), n = integer_of(at, "of");
    char member[32], text[PERCENT_TEXT];
    double low, high;
    percent_text(k, n, text);
    snprintf(member, sizeof(member), "%s_percent", what);
    json_object_set_new(at, member, json_string(text));
    wilson95(k, n, &low, &high);
    snprintf(member, sizeof(member), "%s_ci95", what);
    json_object_set_new(at, member, json_pack("[f, f]", low, high));
    struct band band = {0};
    size_t i;
    json_t *variant;
    json_array_foreach(json_object_get(at, "variants"), i, variant)
        band_add(&band, (double)integer_of(variant, what) / (double)integer_of(variant, "of"));
    snprintf(member, sizeof(member), "%s_band", what);
    json_object_set_new(at, member, band_json(&band));
}

void turn_correctness_shape(json_t *document)
{
    size_t i, j;
    json_t *item, *at;
    json_array_foreach(json_object_get(document, "items"), i, item)
        json_array_foreach(json_object_get(item, "at"), j, at)
    {
        add_rate(at, "correct");
        add_rate(at, "target");
    }
}

/* ---- Fast_p ---- */

void fast_p_variant_release(struct fast_p_variant *v)
{
    free(v->reached);
    free(v->reached_target);
    *v = (struct fast_p_variant){0};
}

size_t fast_p_quantiles(double *reached, size_t count)
{
    if (count <= FAST_P_QUANTILES)
        return count;
    for (size_t i = 0; i < FAST_P_QUANTILES; i++)
        reached[i] = reached[(2 * i + 1) * count / (2 * (size_t)FAST_P_QUANTILES)];
    return FAST_P_QUANTILES;
}

/* How many of the ascending speedups are greater than p. */
static size_t count_above(const double *reached, size_t count, double p)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reached[middle] > p)
            high = middle;
        else
            low = middle + 1;
    }
    return count - low;
}

/* Where there are only quantiles, each stands for an equal share of the turns. */
static double fraction_above(const double *reached, size_t count, int64_t total, int64_t of,
                             double p)
{
    if (!count || of <= 0)
        return 0;
    return (double)count_above(reached, count, p) * (double)total / (double)count / (double)of;
}

json_t *fast_p_points(const struct fast_p_variant *variants, size_t variant_count, const double *p,
                      size_t count)
{
    json_t *points = json_array();
    for (size_t k = 0; k < count; k++) {
        struct band all = {0}, target = {0};
        for (size_t i = 0; i < variant_count; i++) {
            const struct fast_p_variant *v = &variants[i];
            band_add(&all, fraction_above(v->reached, v->reached_count, v->correct, v->of, p[k]));
            band_add(&target, fraction_above(v->reached_target, v->reached_target_count, v->target,
                                             v->of, p[k]));
        }
        json_array_append_new(points, json_pack("{s:f, s:o, s:o}", "p", p[k], "all",
                                                band_json(&all), "target", band_json(&target)));
    }
    return points;
}

void transitions_shape(json_t *document)
{
    json_t *titles = json_object();
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        json_object_set_new(titles, labels[i].name, json_string(labels[i].title));
    json_object_set_new(document, "label_titles", titles);
}
