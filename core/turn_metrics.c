// SPDX-License-Identifier: Apache-2.0
#include "core/turn_metrics.h"

#include <math.h>
#include <stdio.h>
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

/* How many of the ascending speedups are greater than p. */
static size_t count_above(const json_t *speedups, double p)
{
    size_t low = 0, high = json_array_size(speedups);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (json_number_value(json_array_get(speedups, middle)) > p)
            high = middle;
        else
            low = middle + 1;
    }
    return json_array_size(speedups) - low;
}

/* Where there are only quantiles, each stands for an equal share of the turns. */
static double fraction_above(const json_t *variant, const char *speedups, const char *total,
                             double p)
{
    const json_t *list = json_object_get(variant, speedups);
    size_t listed = json_array_size(list);
    int64_t of = integer_of(variant, "of");
    if (!listed || of <= 0)
        return 0;
    return (double)count_above(list, p) * (double)integer_of(variant, total) / (double)listed /
           (double)of;
}

static json_t *fast_p_at(const json_t *item, double p)
{
    struct band all = {0}, target = {0};
    size_t i;
    json_t *variant;
    json_array_foreach(json_object_get(item, "variants"), i, variant)
    {
        band_add(&all, fraction_above(variant, "speedups", "correct", p));
        band_add(&target, fraction_above(variant, "speedups_target", "target", p));
    }
    return json_pack("{s:f, s:o, s:o}", "p", p, "all", band_json(&all), "target",
                     band_json(&target));
}

void fast_p_shape(json_t *document, const double *p, size_t count, bool curves)
{
    size_t i, j;
    json_t *item, *variant;
    json_array_foreach(json_object_get(document, "items"), i, item)
    {
        json_t *points = json_array();
        for (size_t k = 0; k < count; k++)
            json_array_append_new(points, fast_p_at(item, p[k]));
        json_object_set_new(item, "points", points);
        json_array_foreach(json_object_get(item, "variants"), j, variant)
        {
            if (curves)
                continue;
            json_object_del(variant, "speedups");
            json_object_del(variant, "speedups_target");
        }
    }
}

void transitions_shape(json_t *document)
{
    json_t *titles = json_object();
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        json_object_set_new(titles, labels[i].name, json_string(labels[i].title));
    json_object_set_new(document, "label_titles", titles);
}
