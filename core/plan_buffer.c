// SPDX-License-Identifier: Apache-2.0
// Scratch buffers of a plan: dtype, shape, and what is in them before the first launch. All names
// are known before any initial launch is read, because it may point at its own buffer.
#include "core/json.h"
#include "core/plan_parts.h"
#include "core/util.h"

struct buffer_fields {
    const char *dtype;
    json_t *shape, *init;
    bool capture;
};

struct init_fields {
    const char *data;
    json_t *launch;
};

/* Shape, elements and bytes; no elements after a fault. */
static void read_shape(struct plan_context *c, struct plan_buffer *b, const json_t *shape,
                       const char *path)
{
    static const int64_t most = PLAN_SCRATCH_BYTES;
    b->ndim = (int)plan_integers(c, shape, path, LIMIT_DIMS, 1, &most, true, b->shape);
    int64_t bytes = (int64_t)dtype_bytes(b->dtype);
    for (int d = 0; d < b->ndim; d++)
        if (__builtin_mul_overflow(bytes, b->shape[d], &bytes) || bytes > PLAN_SCRATCH_BYTES) {
            faults_add(c->faults, path, "makes more than the %lld bytes of scratch a plan may have",
                       (long long)PLAN_SCRATCH_BYTES);
            return;
        }
    if (!b->ndim)
        return;
    b->bytes = bytes;
    b->elements = bytes / (int64_t)dtype_bytes(b->dtype);
}

static void read_data(struct plan_context *c, struct plan_buffer *b, const char *text,
                      const char *path)
{
    b->init = BUFFER_DATA;
    buf_init(&b->data, LIMIT_CAPTURE);
    if (!base64_decode(text, strlen(text), &b->data))
        faults_add(c->faults, path, "must be base64 with padding, of at most %d bytes",
                   LIMIT_CAPTURE);
    else if (b->elements && (int64_t)b->data.len > b->bytes)
        faults_add(c->faults, path, "holds %zu bytes, more than the buffer's %lld", b->data.len,
                   (long long)b->bytes);
}

/* "zero", "poison", {"data": base64} or {"launch": …}. The launch is left for later. */
static json_t *read_init(struct plan_context *c, struct plan_buffer *b, json_t *v, const char *path)
{
    static const struct json_field fields[] = {
        {"data", JSON_TEXT, false, offsetof(struct init_fields, data), 0, LIMIT_BODY, NULL},
        {"launch", JSON_MEMBER, false, offsetof(struct init_fields, launch), 0, 0, NULL},
    };
    const char *word = json_string_value(v);
    if (!v || (word && !strcmp(word, "poison")))
        return NULL; /* BUFFER_POISON */
    if (word && !strcmp(word, "zero")) {
        b->init = BUFFER_ZERO;
        return NULL;
    }
    struct init_fields in = {0};
    if (!json_is_object(v) || json_object_size(v) != 1) {
        faults_add(c->faults, path,
                   "must be \"zero\", \"poison\", {\"data\": base64} or {\"launch\": launch}");
        return NULL;
    }
    if (!json_read(v, fields, COUNT_OF(fields), &in, path, c->faults))
        return NULL;
    if (in.data)
        read_data(c, b, in.data, json_at(path, "data").text);
    else if (in.launch)
        b->init = BUFFER_LAUNCH;
    return in.launch;
}

/* Everything but the initial launch, which is returned (borrowed). */
static json_t *read_buffer(struct plan_context *c, struct plan_buffer *b, const json_t *v,
                           const char *path)
{
    static const struct json_field fields[] = {
        {"dtype", JSON_TEXT, true, offsetof(struct buffer_fields, dtype), 1, 16, NULL},
        {"shape", JSON_VALUE, true, offsetof(struct buffer_fields, shape), 0, 0, NULL},
        {"init", JSON_VALUE, false, offsetof(struct buffer_fields, init), 0, 0, NULL},
        {"capture", JSON_YESNO, false, offsetof(struct buffer_fields, capture), 0, 0, NULL},
    };
    struct buffer_fields in = {0};
    json_read(v, fields, COUNT_OF(fields), &in, path, c->faults);
    b->capture = in.capture;
    int dtype =
        in.dtype ? dtype_find(in.dtype) : DTYPE_u8; /* the least there is, to judge the shape */
    if (dtype < 0)
        faults_add(c->faults, json_at(path, "dtype").text, "'%s' is not a dtype", in.dtype);
    b->dtype = dtype < 0 ? DTYPE_u8 : (enum dtype)dtype;
    if (in.shape)
        read_shape(c, b, in.shape, json_at(path, "shape").text);
    if (!in.dtype || dtype < 0)
        b->elements = 0; /* what points at it cannot be judged */
    return read_init(c, b, in.init, json_at(path, "init").text);
}

void plan_read_buffers(struct plan_context *c, const json_t *object, const char *path)
{
    if (!plan_members(c, object, path, LIMIT_BUFFERS))
        return;
    json_t *launches[LIMIT_BUFFERS] = {NULL};
    int64_t total = 0;
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)object, name, v)
    {
        struct json_path child = json_at(path, name);
        if (problem_tensor(c->problem, name) >= 0)
            faults_add(c->faults, child.text, "is the name of a tensor of the problem");
        struct plan_buffer *b = &c->plan->buffers[c->plan->buffer_count];
        snprintf(b->name, sizeof(b->name), "%s", name);
        launches[c->plan->buffer_count++] = read_buffer(c, b, v, child.text);
        total += b->bytes;
    }
    if (total > PLAN_SCRATCH_BYTES)
        faults_add(c->faults, path, "take %lld bytes together, over the limit of %lld",
                   (long long)total, (long long)PLAN_SCRATCH_BYTES);
    for (size_t i = 0; i < c->plan->buffer_count; i++) {
        struct plan_buffer *b = &c->plan->buffers[i];
        if (!launches[i])
            continue;
        b->launch = calloc(1, sizeof(*b->launch));
        if (!b->launch) {
            faults_add(c->faults, path, "out of memory");
            return;
        }
        struct json_path child = json_at(json_at(path, b->name).text, "init.launch");
        plan_read_launch(c, launches[i], child.text, (int)i, b->launch);
        if (b->launch->programmatic_dependent)
            faults_add(c->faults, child.text,
                       "programmatic_dependent: there is no launch before it");
    }
}
