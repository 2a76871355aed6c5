// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

enum {
    SECTOR = 32,     /* bytes */
    ORACLE_CTAS = 48 /* that are run for one output at most: a fraction of a second each */
};

/* Elements of one output that both sides have, side by side. */
struct pairs {
    const struct world *got_world;
    struct oracle_part *oracle;
    size_t tensor;
    int64_t size; /* bytes of an element */
    uint64_t seed;
    char *why;             /* LIMIT_DETAIL bytes */
    unsigned char *wanted; /* oracle CTAs: a bit each */
    uint64_t *ctas;
    size_t cta_count, cta_cap;
    unsigned char *got, *want;
    int64_t *index;
    size_t count, cap;
    int64_t written, row; /* row: elements of one */
    int64_t last;         /* written before; -1: none */
    int64_t missing, first_missing;
    bool lost, failed;
};

/* Elements are seen in order. */
static void see_gap(struct pairs *p, int64_t element)
{
    int64_t gap = element - p->last - 1, size = p->size;
    if (p->last >= 0 && gap > 0 && gap * size < SECTOR && element / p->row == p->last / p->row) {
        p->first_missing = p->missing ? p->first_missing : p->last + 1;
        p->missing += gap;
    }
    p->last = element;
}

static void see_cta(void *arg, int64_t element)
{
    struct pairs *p = arg;
    uint64_t cta = oracle_part_cta(p->oracle, p->tensor, element);
    p->written++;
    see_gap(p, element);
    if (cta == UINT64_MAX) {
        p->lost = true;
        return;
    }
    if (p->wanted[cta / 8] >> cta % 8 & 1)
        return;
    p->wanted[cta / 8] |= (unsigned char)(1u << cta % 8);
    if (p->cta_count == p->cta_cap) {
        p->cta_cap = p->cta_cap ? 2 * p->cta_cap : 256;
        uint64_t *ctas = realloc(p->ctas, p->cta_cap * sizeof(*ctas));
        p->failed |= !ctas;
        if (!ctas)
            return;
        p->ctas = ctas;
    }
    p->ctas[p->cta_count++] = cta;
}

static bool grow(struct pairs *p, size_t got, size_t want)
{
    size_t cap = p->cap ? 2 * p->cap : 64 * 1024;
    unsigned char *g = realloc(p->got, cap * got), *w = g ? realloc(p->want, cap * want) : NULL;
    int64_t *i = w ? realloc(p->index, cap * sizeof(*i)) : NULL;
    p->got = g ? g : p->got, p->want = w ? w : p->want, p->index = i ? i : p->index;
    p->failed |= !i;
    p->cap = i ? cap : p->cap;
    return i != NULL;
}

static void pair_up(void *arg, int64_t element)
{
    struct pairs *p = arg;
    const struct world *a = p->got_world, *b = &p->oracle->world;
    size_t got = dtype_bytes(a->problem->tensors[p->tensor].dtype);
    size_t want = dtype_bytes(b->problem->tensors[p->tensor].dtype);
    if (p->failed || !world_is_written(b, p->tensor, element) ||
        (p->count == p->cap && !grow(p, got, want)))
        return;
    memcpy(p->got + p->count * got,
           (const unsigned char *)a->data[p->tensor] + (size_t)element * got, got);
    memcpy(p->want + p->count * want,
           (const unsigned char *)b->data[p->tensor] + (size_t)element * want, want);
    p->index[p->count++] = element;
}

/* Keeps at most ORACLE_CTAS of them, drawn at random. */
static void thin_out(struct pairs *p)
{
    uint64_t state = p->seed;
    for (size_t i = 0; i < p->cta_count && i < ORACLE_CTAS; i++) {
        size_t k = i + world_random(&state) % (p->cta_count - i);
        uint64_t swap = p->ctas[i];
        p->ctas[i] = p->ctas[k];
        p->ctas[k] = swap;
    }
    p->cta_count = p->cta_count < ORACLE_CTAS ? p->cta_count : ORACLE_CTAS;
}

/* [i, j] of an element; new reference. */
static json_t *place_of(const struct pairs *p, int64_t flat)
{
    int64_t shape[LIMIT_DIMS];
    json_t *index = json_array();
    problem_shape(p->got_world->problem, p->got_world->workload, p->tensor, shape);
    for (int d = p->got_world->problem->tensors[p->tensor].ndim - 1; d >= 0; d--) {
        json_array_insert_new(index, 0, json_integer(flat % shape[d]));
        flat /= shape[d];
    }
    return index;
}

/* The place in the tensor instead of the one among the pairs; what speaks of rows and columns goes.
 */
static void name_places(struct pairs *p, const struct compare_result *r, json_t *entry)
{
    static const char *const shaped[] = {"bad_box",   "worst_tile", "worst_row",
                                         "bad_tiles", "tiles",      "bad_rows"};
    if (r->bad)
        json_object_set_new(json_object_get(entry, "first_bad"), "index",
                            place_of(p, p->index[r->first_bad]));
    for (size_t i = 0; i < COUNT_OF(shaped); i++)
        json_object_del(entry, shaped[i]);
}

static bool cannot(const struct pairs *p, const char *why)
{
    snprintf(p->why, LIMIT_DETAIL, "%s", why);
    return false;
}

static bool compare_pairs(struct pairs *p, const struct distribution *d, struct check_tally *tally,
                          json_t *list)
{
    const struct problem *problem = p->got_world->problem;
    const struct tensor_def *def = &problem->tensors[p->tensor];
    const int64_t shape[] = {(int64_t)p->count};
    struct compare_task task = {.name = def->name,
                                .dtype = def->dtype,
                                .output = p->got,
                                .oracle_dtype = def->oracle_dtype,
                                .oracle = p->want,
                                .ndim = 1,
                                .shape = shape,
                                .rule = check_rule(problem, p->tensor, d)};
    double excess_max = task.rule.excess_max;
    task.rule.excess_max = 0; /* its parts are none of this sample */
    struct compare_result r;
    struct fault f = {0};
    if (compare(&task, &r, &f) != ERR_NONE)
        return cannot(p, f.detail);
    r.hint_count = 0; /* they speak of rows and columns */
    check_tally_output(tally, &task, &r, d, " that the sampled CTAs wrote", list);
    name_places(p, &r, json_array_get(list, json_array_size(list) - 1));
    if (r.paper && excess_max > 0 && r.excess > excess_max)
        tally->flags |= FLAG_loose;
    return true;
}

static bool find_pairs(struct pairs *p)
{
    p->wanted = calloc(p->oracle->ctas / 8 + 1, 1);
    if (!p->wanted)
        return cannot(p, "out of memory");
    world_written(p->got_world, p->tensor, see_cta, p);
    if (p->lost)
        return cannot(p, "an element was written that no CTA of the oracle makes");
    thin_out(p);
    if (p->cta_count && !oracle_part_run(p->oracle, p->ctas, p->cta_count, p->why))
        return false;
    world_written(p->got_world, p->tensor, pair_up, p);
    if (p->failed)
        return cannot(p, "out of memory");
    if (p->written && !p->count)
        return cannot(p, "the CTAs of the oracle did not make the elements they should");
    return true;
}

/* Elements that the candidate left out, if it wrote no wrong ones. */
static void judge_gaps(const struct pairs *p, const struct distribution *d,
                       struct check_tally *tally)
{
    json_t *index = place_of(p, p->first_missing);
    char *text = json_dumps(index, 0);
    if (tally->verdict == VERDICT_PASSED && text)
        check_tally_stop(tally, VERDICT_INCORRECT_NUMERICAL,
                         "%s: %lld elements between those that the sampled CTAs wrote are not "
                         "written on %s inputs, first %s",
                         p->got_world->problem->tensors[p->tensor].name, (long long)p->missing,
                         d->name, text);
    free(text);
    json_decref(index);
}

bool pairs_judge(const struct pairs_task *task, struct check_tally *tally, json_t *list,
                 struct pairs_count *count, char why[LIMIT_DETAIL])
{
    const struct world *got = task->candidate;
    const struct tensor_def *def = &got->problem->tensors[task->tensor];
    int64_t shape[LIMIT_DIMS];
    problem_shape(got->problem, got->workload, task->tensor, shape);
    struct pairs p = {.got_world = got,
                      .oracle = task->oracle,
                      .tensor = task->tensor,
                      .size = (int64_t)dtype_bytes(def->dtype),
                      .row = def->ndim ? shape[def->ndim - 1] : 1,
                      .last = -1,
                      .seed = task->seed,
                      .why = why};
    bool ok = find_pairs(&p);
    count->written += p.written;
    count->checked += (int64_t)p.count;
    if (ok && p.count)
        ok = compare_pairs(&p, task->distribution, tally, list);
    if (ok && p.missing)
        judge_gaps(&p, task->distribution, tally);
    free(p.wanted), free(p.ctas), free(p.got), free(p.want), free(p.index);
    return ok;
}
