// SPDX-License-Identifier: Apache-2.0
// The smallest parts of a plan: integers that may be expressions, kernel names that hold them, and
// names that point at memory.
#include "core/plan_parts.h"

#include "core/buf.h"
#include "core/json.h"
#include "core/text.h"

bool plan_integer(struct plan_context *c, const json_t *v, const char *path, int64_t min,
                  int64_t max, int64_t *out)
{
    int64_t value = json_integer_value(v);
    if (json_is_string(v)) {
        struct fault why = {0};
        const char *text = json_string_value(v);
        if (strlen(text) != json_string_length(v)) {
            faults_add(c->faults, path, "must not hold a NUL");
            return false;
        }
        if (expr_eval(text, c->vars, c->var_count, &value, &why) != ERR_NONE) {
            faults_add(c->faults, path, "%s", why.detail);
            return false;
        }
    } else if (!json_is_integer(v)) {
        faults_add(c->faults, path, "must be an integer or an expression");
        return false;
    }
    if (value < min || value > max) {
        faults_add(c->faults, path, "must be %lld to %lld, not %lld", (long long)min,
                   (long long)max, (long long)value);
        return false;
    }
    *out = value;
    return true;
}

size_t plan_integers(struct plan_context *c, const json_t *list, const char *path, size_t most,
                     int64_t min, const int64_t *max, bool same, int64_t *out)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count < 1 || count > most) {
        faults_add(c->faults, path, "must be a list of 1 to %zu entries", most);
        return 0;
    }
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        good &= plan_integer(c, json_array_get(list, i), json_at_index(path, i).text, min,
                             max[same ? 0 : i], &out[i]);
    }
    return good ? count : 0;
}

/* Evaluates the expression of text[0, len) and appends its value. */
static bool expand(struct plan_context *c, const char *text, size_t len, const char *path,
                   struct buf *out)
{
    char expression[LIMIT_EXPR + 2];
    snprintf(expression, sizeof(expression), "%.*s",
             (int)(len < LIMIT_EXPR + 1 ? len : LIMIT_EXPR + 1), text);
    int64_t value;
    struct fault why = {0};
    if (expr_eval(expression, c->vars, c->var_count, &value, &why) != ERR_NONE) {
        faults_add(c->faults, path, "%s", why.detail);
        return false;
    }
    buf_addf(out, "%lld", (long long)value);
    return true;
}

char *plan_kernel_name(struct plan_context *c, const char *text, const char *path)
{
    struct buf out;
    buf_init(&out, LIMIT_KERNEL_EXPR);
    const char *problem = NULL;
    bool good = true;
    for (const char *at = text; *at && !problem && good;) {
        size_t plain = strcspn(at, "{}");
        buf_add(&out, at, plain);
        at += plain;
        if (*at == '}') {
            problem = "has a '}' without '{'";
        } else if (*at == '{') {
            size_t inside = strcspn(at + 1, "{}");
            if (at[1 + inside] != '}')
                problem = "has a '{' that is not closed";
            else
                good = expand(c, at + 1, inside, path, &out);
            at += inside + 2 - (problem != NULL);
        }
    }
    if (!problem && out.failed)
        problem = "is too long once expanded";
    for (const char *at = text; *at && !problem; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            problem = "must not hold control characters";
    if (!problem && !text[strspn(text, " ")])
        problem = "must not be blank";
    if (problem)
        faults_add(c->faults, path, "%s", problem);
    if (problem || !good) {
        buf_release(&out);
        return NULL;
    }
    char *name = buf_take(&out, NULL);
    if (!name)
        faults_add(c->faults, path, "out of memory");
    return name;
}

bool plan_members(struct plan_context *c, const json_t *object, const char *path, size_t limit)
{
    if (json_object_size(object) > limit) {
        faults_add(c->faults, path, "must have at most %zu members, not %zu", limit,
                   json_object_size(object));
        return false;
    }
    const char *name;
    json_t *v;
    bool good = true;
    json_object_foreach((json_t *)object, name, v) if (!text_is_name(name))
    {
        faults_add(c->faults, path, "'%.64s' is not a name: letters, digits, '_', at most %d bytes",
                   name, LIMIT_NAME);
        good = false;
    }
    return good;
}

/* The names of one space with commas between, for the fault of an unknown one. */
static void names_of(const struct plan_context *c, enum plan_space space, char *out, size_t size)
{
    size_t n = 0, count = space == PLAN_TENSOR ? c->problem->tensor_count : c->plan->buffer_count;
    snprintf(out, size, "none");
    for (size_t i = 0; i < count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "",
                              space == PLAN_TENSOR ? c->problem->tensors[i].name
                                                   : c->plan->buffers[i].name);
}

bool plan_memory_find(struct plan_context *c, enum plan_space space, const char *name,
                      const char *path, struct plan_memory *out)
{
    *out = (struct plan_memory){.space = space, .index = -1};
    if (space == PLAN_TENSOR) {
        out->index = problem_tensor(c->problem, name);
        if (out->index >= 0) {
            const struct tensor_def *t = &c->problem->tensors[out->index];
            out->dtype = t->dtype;
            out->ndim = t->ndim;
            out->elements = problem_shape(c->problem, c->workload, (size_t)out->index, out->shape);
            return true;
        }
    }
    for (size_t i = 0; space == PLAN_BUFFER && i < c->plan->buffer_count; i++) {
        const struct plan_buffer *b = &c->plan->buffers[i];
        if (strcmp(b->name, name) != 0)
            continue;
        out->index = (int)i;
        out->dtype = b->dtype;
        out->ndim = b->ndim;
        memcpy(out->shape, b->shape, sizeof(out->shape));
        out->elements = b->elements;
        return true;
    }
    char known[256];
    names_of(c, space, known, sizeof(known));
    faults_add(c->faults, path, "'%.64s' is not a %s; there are: %s", name,
               space == PLAN_TENSOR ? "tensor of the problem" : "buffer of the plan", known);
    return false;
}
