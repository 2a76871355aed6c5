// SPDX-License-Identifier: Apache-2.0
// Which problem has which baselines. A kind is a table of functions and a file of its own.
#include "evaluator/cuda/baseline.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/baseline_parts.h"

/* By problem, best first: the next is taken only where the one before has no library or no plan. */
static const struct {
    const char *problem;
    const struct baseline_kind *kind;
} table[] = {
    {"gemm", &baseline_cublas},
    {"mha_fwd", &baseline_cudnn},
    {"mha_fwd", &baseline_composed},
    {"mha_fwd_causal", &baseline_cudnn},
    {"mha_fwd_causal", &baseline_composed},
    {"mha_bwd", &baseline_cudnn},
    {"mha_bwd", &baseline_composed},
    {"mha_bwd_causal", &baseline_cudnn},
    {"mha_bwd_causal", &baseline_composed},
};

static const struct {
    const char *problem;
    bool backward, causal;
} attention[] = {
    {"mha_fwd", false, false},
    {"mha_fwd_causal", false, true},
    {"mha_bwd", true, false},
    {"mha_bwd_causal", true, true},
};

static const struct {
    const char *name;
    enum err (*open)(struct baseline_library *out, const struct driver_device *d, struct fault *f);
} libraries[BASELINE_LIBRARIES] = {
    [BASELINE_CUBLAS] = {"cuBLAS", baseline_cublas_open},
    [BASELINE_CUDNN] = {"cuDNN", baseline_cudnn_open},
};

enum err baseline_libraries_open(struct baseline_libraries *out, const struct driver_device *d,
                                 struct fault *f)
{
    enum err all = ERR_UNAVAILABLE;
    for (size_t i = 0; i < BASELINE_LIBRARIES; i++) {
        struct baseline_library *l = &out->of[i];
        struct fault missing = {0};
        *l = (struct baseline_library){.name = libraries[i].name};
        if (libraries[i].open(l, d, &missing) == ERR_NONE) {
            all = ERR_NONE;
            continue;
        }
        l->handle = NULL;
        memcpy(l->missing, missing.detail, sizeof(l->missing));
        if (i == 0)
            *f = missing;
    }
    return all;
}

int64_t baseline_axis(const struct problem *p, const struct workload *w, const char *name)
{
    for (size_t i = 0; i < p->axis_count; i++)
        if (!strcmp(p->axes[i], name))
            return w->axes[i];
    return 0;
}

bool baseline_attention(const struct problem *p, const struct workload *w,
                        struct baseline_attention *out)
{
    for (size_t i = 0; i < COUNT_OF(attention); i++) {
        if (strcmp(p->name, attention[i].problem) != 0)
            continue;
        *out = (struct baseline_attention){attention[i].backward,    attention[i].causal,
                                           baseline_axis(p, w, "B"), baseline_axis(p, w, "H"),
                                           baseline_axis(p, w, "S"), baseline_axis(p, w, "D")};
        return true;
    }
    return false;
}

enum err baseline_load(void *library, const char *called, const struct baseline_entry *entries,
                       size_t count, void *functions, struct fault *f)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, entries[i].name);
        if (!symbol)
            return fault_set(f, ERR_UNAVAILABLE, "cannot use %s: it has no %s", called,
                             entries[i].name);
        memcpy((char *)functions + entries[i].offset, &symbol, sizeof(symbol));
    }
    return ERR_NONE;
}

/* A choice is the kind's name, a colon, and the kind's own text. */
static const char *choice_of(const struct baseline_kind *kind, const char *choice)
{
    size_t n = strlen(kind->name);
    return !strncmp(choice, kind->name, n) && choice[n] == ':' ? choice + n + 1 : NULL;
}

char *baseline_choice(const struct baseline *b)
{
    char *own = b->kind->choice(b), *text = NULL;
    size_t size = own ? strlen(b->kind->name) + strlen(own) + 2 : 0;
    if (own && (text = malloc(size)))
        snprintf(text, size, "%s:%s", b->kind->name, own);
    free(own);
    return text;
}

struct baseline *baseline_new(const struct baseline_libraries *from, const struct driver_device *d,
                              const struct problem *p, const struct workload *w, const char *choice,
                              struct fault *f)
{
    struct fault first = {0}; /* why the best one cannot be had */
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct baseline_kind *kind = table[i].kind;
        struct baseline_task t = {&from->of[kind->library], d, p, w, NULL};
        struct fault why = {0};
        if (strcmp(p->name, table[i].problem) != 0 ||
            (choice && !(t.choice = choice_of(kind, choice))))
            continue;
        struct baseline *b = t.library->handle ? kind->plan(&t, &why) : NULL;
        if (b) {
            b->kind = kind;
            b->library = t.library;
            memcpy(b->reason, first.detail, sizeof(b->reason));
            return b;
        }
        if (!t.library->handle)
            fault_set(&why, ERR_UNAVAILABLE, "%s", t.library->missing);
        if (!first.detail[0])
            first = why;
    }
    if (first.detail[0])
        *f = first;
    else
        fault_set(f, ERR_UNAVAILABLE, "there is no baseline for problem %s%s", p->name,
                  choice ? " of that name" : "");
    return NULL;
}

void baseline_free(struct baseline *b)
{
    if (b)
        b->kind->free(b);
}

json_t *baseline_json(const struct baseline *b)
{
    json_t *out = json_pack("{s:s, s:s}", "name", b->kind->name, "version", b->library->version);
    if (b->engine[0])
        json_object_set_new(out, "engine", json_string(b->engine));
    if (b->reason[0])
        json_object_set_new(out, "reason", json_string(b->reason));
    return out;
}

size_t baseline_choices(const struct baseline *b)
{
    return b->choices;
}

void baseline_choose(struct baseline *b, size_t i)
{
    if (b->kind->choose)
        b->kind->choose(b, i);
}

enum err baseline_enqueue(const struct baseline *b, const CUdeviceptr tensors[LIMIT_TENSORS],
                          CUstream stream, struct fault *f)
{
    return b->kind->enqueue(b, tensors, stream, f);
}

size_t baseline_operations(const struct baseline *b)
{
    return b->operations;
}
