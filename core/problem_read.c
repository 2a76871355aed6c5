// SPDX-License-Identifier: Apache-2.0
// The schema of problems/<name>/problem.json. Unknown fields are errors; everything is required
// unless marked [optional].
//
//   name              like the folder
//   title             one line
//   description       [optional] what is computed, for people and models
//   axes              ["M", "N", "K"]: names, in the order workloads are shown
//   tensors           inputs, then outputs: the ABI order. Each: name, role ("input", "output"),
//                     dtype, shape (expressions over the axes, outermost first; contiguous),
//                     description [optional], derived [optional, false]: an input that is not drawn
//                     but made of the others by the oracle's "derive"
//   workloads         each: name, axes {name: value}, uuid [optional], paper [optional, false]
//   default_workload  name of the workload for GPUs
//   cpu_workload      name of the workload for the CPU device
//   flops, bytes      expressions: useful FLOPs and least memory traffic of one evaluation
//   rules             {"paper": {"atol", "rtol", share [optional, 0]}, "strict": {"excess", parts
//                     [optional, 1]}}; excess is one bound, or {output: bound} for every output;
//                     see evaluator/compare.h
//   distributions     ways to draw the inputs. Each: name, kind ("normal": mean, deviation;
//                     "spiky": these, spike_deviation, spikes of 65,536; "integers": low, high; see
//                     evaluator/inputs.h), exact [optional, false], slack [optional, 1]
//   redraw            [optional] the exact transform that makes further inputs and answers of one
//                     base: a row of evaluator/cuda/redraw.c
//   oracle            {"source": file, "ptx": file [optional], "outputs": {tensor: "f32" | "f64"},
//                     "launch": launch plan, whose outputs have the types of "outputs",
//                     "derive": {"launch"} [with derived inputs]: launch plan that writes those}.
//                     A file lies in the problem's folder, or beside it: "../common/<file>"
#include "core/problem_read.h"

#include "core/json.h"
#include "core/text.h"
#include "core/util.h"

/* A tensor of more than a tebibyte fits no device; the bound keeps byte counts far from overflow.
 */
#define TENSOR_BYTES_MAX (INT64_C(1) << 40)

struct document {
    const char *name, *title, *description, *default_workload, *cpu_workload, *flops, *bytes,
        *redraw;
    json_t *axes, *tensors, *workloads, *rules, *distributions, *oracle;
};

#define AT(member) offsetof(struct document, member)

static const struct json_field document_fields[] = {
    {"name", JSON_TEXT, true, AT(name), 1, LIMIT_NAME, NULL},
    {"title", JSON_TEXT, true, AT(title), 1, 127, NULL},
    {"description", JSON_TEXT, false, AT(description), 0, 16 * KIB, NULL},
    {"axes", JSON_LIST, true, AT(axes), 1, LIMIT_AXES, NULL},
    {"tensors", JSON_LIST, true, AT(tensors), 2, LIMIT_TENSORS, NULL},
    {"workloads", JSON_LIST, true, AT(workloads), 1, LIMIT_WORKLOADS, NULL},
    {"default_workload", JSON_TEXT, true, AT(default_workload), 1, LIMIT_NAME, NULL},
    {"cpu_workload", JSON_TEXT, true, AT(cpu_workload), 1, LIMIT_NAME, NULL},
    {"flops", JSON_TEXT, true, AT(flops), 1, LIMIT_EXPR, NULL},
    {"bytes", JSON_TEXT, true, AT(bytes), 1, LIMIT_EXPR, NULL},
    {"rules", JSON_MEMBER, true, AT(rules), 0, 0, NULL},
    {"distributions", JSON_LIST, true, AT(distributions), 1, LIMIT_DISTRIBUTIONS, NULL},
    {"redraw", JSON_TEXT, false, AT(redraw), 1, LIMIT_NAME, NULL},
    {"oracle", JSON_MEMBER, true, AT(oracle), 0, 0, NULL},
};

/* Copies a name that must be an identifier. */
static void copy_name(char out[LIMIT_NAME + 1], const char *name, const char *path,
                      struct faults *faults)
{
    if (text_is_name(name))
        snprintf(out, LIMIT_NAME + 1, "%s", name);
    else
        faults_add(faults, path, "'%.64s' is not a name: letters, digits, '_'", name);
}

static void read_axes(struct problem *p, const json_t *list, struct faults *faults)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        const char *name = json_is_string(v) ? json_string_value(v) : "";
        copy_name(p->axes[i], name, "$.axes", faults);
        bool taken = !strcmp(name, "num_sms");
        for (size_t other = 0; other < i; other++)
            taken = taken || !strcmp(p->axes[other], name);
        if (taken)
            faults_add(faults, "$.axes", "'%s' is taken", name);
    }
    p->axis_count = json_array_size(list);
}

struct tensor_fields {
    const char *name, *dtype, *description;
    int role;
    bool derived;
    json_t *shape;
};

static void read_shape(struct tensor_def *t, const json_t *shape, const char *path,
                       struct faults *faults)
{
    size_t d;
    json_t *v;
    json_array_foreach(shape, d, v)
    {
        if (!json_is_string(v) || json_string_length(v) > LIMIT_EXPR)
            faults_add(faults, path, "shape entry %zu must be an expression", d);
        else
            snprintf(t->dims[d], sizeof(t->dims[d]), "%s", json_string_value(v));
    }
    t->ndim = (int)json_array_size(shape);
}

static void read_tensor(struct problem *p, const json_t *v, const char *path, struct faults *faults)
{
    static const char *const roles[] = {"input", "output", NULL}; /* enum tensor_role */
    static const struct json_field fields[] = {
        {"name", JSON_TEXT, true, offsetof(struct tensor_fields, name), 1, LIMIT_NAME, NULL},
        {"role", JSON_CHOICE, true, offsetof(struct tensor_fields, role), 0, 0, roles},
        {"dtype", JSON_TEXT, true, offsetof(struct tensor_fields, dtype), 1, 16, NULL},
        {"shape", JSON_LIST, true, offsetof(struct tensor_fields, shape), 1, LIMIT_DIMS, NULL},
        {"description", JSON_TEXT, false, offsetof(struct tensor_fields, description), 0, 255,
         NULL},
        {"derived", JSON_YESNO, false, offsetof(struct tensor_fields, derived), 0, 0, NULL},
    };
    struct tensor_fields in = {.description = ""};
    if (!json_read(v, fields, COUNT_OF(fields), &in, path, faults))
        return;
    int dtype = dtype_find(in.dtype);
    if (dtype < 0)
        faults_add(faults, path, "'%s' is not a dtype", in.dtype);
    if (problem_tensor(p, in.name) >= 0)
        faults_add(faults, path, "tensor '%s' is given twice", in.name);
    if (in.role == TENSOR_INPUT && p->tensor_count &&
        p->tensors[p->tensor_count - 1].role == TENSOR_OUTPUT)
        faults_add(faults, path, "inputs come before outputs");
    if (in.derived && in.role != TENSOR_INPUT)
        faults_add(faults, path, "only an input is derived");
    struct tensor_def *t = &p->tensors[p->tensor_count++];
    copy_name(t->name, in.name, path, faults);
    t->role = (enum tensor_role)in.role;
    t->derived = in.derived;
    t->dtype = t->oracle_dtype = dtype < 0 ? DTYPE_f32 : (enum dtype)dtype;
    snprintf(t->description, sizeof(t->description), "%s", in.description);
    read_shape(t, in.shape, path, faults);
}

struct workload_fields {
    const char *name, *uuid;
    bool paper;
    json_t *axes;
};

static void read_workload(struct problem *p, const json_t *v, const char *path,
                          struct faults *faults)
{
    static const struct json_field fields[] = {
        {"name", JSON_TEXT, true, offsetof(struct workload_fields, name), 1, LIMIT_NAME, NULL},
        {"axes", JSON_MEMBER, true, offsetof(struct workload_fields, axes), 0, 0, NULL},
        {"uuid", JSON_TEXT, false, offsetof(struct workload_fields, uuid), 1, 36, NULL},
        {"paper", JSON_YESNO, false, offsetof(struct workload_fields, paper), 0, 0, NULL},
    };
    struct workload_fields in = {.uuid = ""};
    if (!json_read(v, fields, COUNT_OF(fields), &in, path, faults))
        return;
    if (problem_workload(p, in.name))
        faults_add(faults, path, "workload '%s' is given twice", in.name);
    struct workload *w = &p->workloads[p->workload_count++];
    copy_name(w->name, in.name, path, faults);
    snprintf(w->uuid, sizeof(w->uuid), "%s", in.uuid);
    w->paper = in.paper;
    for (size_t i = 0; i < p->axis_count; i++) {
        const json_t *value = json_object_get(in.axes, p->axes[i]);
        w->axes[i] = json_integer_value(value);
        if (w->axes[i] < 1 || w->axes[i] > INT32_MAX)
            faults_add(faults, path, "axis %s must be 1 to %d", p->axes[i], INT32_MAX);
    }
    if (json_object_size(in.axes) != p->axis_count)
        faults_add(faults, path, "must give every axis and no other");
}

/* The values of `text` over the axes of `w`, which must be 1 to `most`; 1 after a fault. */
static int64_t judged(const struct problem *p, const struct workload *w, const char *text,
                      int64_t most, const char *what, struct faults *faults)
{
    struct expr_var vars[LIMIT_AXES + 1];
    size_t count = problem_vars(p, w, 0, vars) - 1; /* without num_sms */
    int64_t v = 0;
    struct fault why = {0};
    if (expr_eval(text, vars, count, &v, &why) != ERR_NONE)
        faults_add(faults, "$.workloads", "%s of '%s': %s", what, w->name, why.detail);
    else if (v < 1 || v > most)
        faults_add(faults, "$.workloads", "%s of '%s' is %lld, not 1 to %lld", what, w->name,
                   (long long)v, (long long)most);
    else
        return v;
    return 1;
}

/* Evaluates every expression for one workload, so that the lookups cannot fail later. */
static void check_workload(const struct problem *p, const struct workload *w, struct faults *faults)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        int64_t bytes = 8; /* room for an oracle in f64 */
        for (int d = 0; d < p->tensors[i].ndim; d++)
            bytes *= judged(p, w, p->tensors[i].dims[d], TENSOR_BYTES_MAX / bytes,
                            p->tensors[i].name, faults);
    }
    judged(p, w, p->flops, INT64_MAX, "flops", faults);
    judged(p, w, p->bytes, INT64_MAX, "bytes", faults);
}

static const struct workload *chosen(const struct problem *p, const char *name, const char *path,
                                     struct faults *faults)
{
    const struct workload *w = problem_workload(p, name);
    if (!w)
        faults_add(faults, path, "'%s' is not a workload", name);
    return w;
}

/* One number for every output, or one for each by name. */
static void read_excess(struct problem *p, const json_t *excess, struct faults *faults)
{
    size_t outputs = 0;
    for (size_t i = 0; i < p->tensor_count; i++) {
        struct tensor_def *t = &p->tensors[i];
        if (t->role != TENSOR_OUTPUT)
            continue;
        outputs++;
        const json_t *v = json_is_object(excess) ? json_object_get(excess, t->name) : excess;
        t->strict_excess = json_number_value(v);
        if (!json_is_number(v) || t->strict_excess < 0)
            faults_add(faults, "$.rules.strict.excess", "must give '%s' a number, 0 or more",
                       t->name);
    }
    if (json_is_object(excess) && json_object_size(excess) != outputs)
        faults_add(faults, "$.rules.strict.excess", "must name every output and nothing else");
}

struct rules_fields {
    json_t *paper, *strict, *excess;
    double atol, rtol, share, parts;
};

static void read_rules(struct problem *p, const json_t *rules, struct faults *faults)
{
    static const struct json_field members[] = {
        {"paper", JSON_MEMBER, true, offsetof(struct rules_fields, paper), 0, 0, NULL},
        {"strict", JSON_MEMBER, true, offsetof(struct rules_fields, strict), 0, 0, NULL},
    };
    static const struct json_field paper[] = {
        {"atol", JSON_DOUBLE, true, offsetof(struct rules_fields, atol), 0, 0, NULL},
        {"rtol", JSON_DOUBLE, true, offsetof(struct rules_fields, rtol), 0, 0, NULL},
        {"share", JSON_DOUBLE, false, offsetof(struct rules_fields, share), 0, 0, NULL},
    };
    static const struct json_field strict[] = {
        {"excess", JSON_VALUE, true, offsetof(struct rules_fields, excess), 0, 0, NULL},
        {"parts", JSON_DOUBLE, false, offsetof(struct rules_fields, parts), 0, 0, NULL},
    };
    struct rules_fields in = {.parts = 1};
    if (!json_read(rules, members, COUNT_OF(members), &in, "$.rules", faults))
        return;
    json_read(in.paper, paper, COUNT_OF(paper), &in, "$.rules.paper", faults);
    if (json_read(in.strict, strict, COUNT_OF(strict), &in, "$.rules.strict", faults))
        read_excess(p, in.excess, faults);
    if (in.atol < 0 || in.rtol < 0 || in.share < 0)
        faults_add(faults, "$.rules", "bounds must not be negative");
    if (in.share > 1e-3 || in.parts < 1)
        faults_add(faults, "$.rules", "share must be at most 1e-3, parts at least 1");
    p->atol = in.atol;
    p->rtol = in.rtol;
    p->bad_share = in.share;
    p->parts = in.parts;
}

struct distribution_fields {
    const char *name;
    int kind;
    double mean, deviation, spike_deviation, slack;
    int64_t spikes, low, high;
    bool exact;
};

/* Which members a kind takes, and that its inputs vary. */
static void check_distribution(const json_t *v, const struct distribution_fields *in,
                               const char *path, struct faults *faults)
{
    static const struct {
        const char *member;
        bool taken[3]; /* by enum distribution_kind */
    } members[] = {
        {"mean", {true, false, true}},    {"deviation", {true, false, true}},
        {"low", {false, true, false}},    {"high", {false, true, false}},
        {"spikes", {false, false, true}}, {"spike_deviation", {false, false, true}},
    };
    bool fits = true;
    for (size_t i = 0; i < COUNT_OF(members); i++)
        fits = fits && !!json_object_get(v, members[i].member) == members[i].taken[in->kind];
    if (!fits)
        faults_add(faults, path,
                   "normal takes mean and deviation, spiky these and spikes and spike_deviation, "
                   "integers take low and high");
    else if (in->kind == DISTRIBUTION_INTEGERS ? in->low >= in->high : !(in->deviation > 0))
        faults_add(faults, path, "inputs must vary: deviation above 0, low below high");
    else if (in->kind == DISTRIBUTION_SPIKY && !(in->spike_deviation > 0))
        faults_add(faults, path, "spikes must vary: spike_deviation above 0");
    if (!(in->slack >= 1))
        faults_add(faults, path, "slack must be at least 1");
}

static void read_distribution(struct problem *p, const json_t *v, const char *path,
                              struct faults *faults)
{
    static const char *const kinds[] = {"normal", "integers", "spiky",
                                        NULL}; /* enum distribution_kind */
    static const struct json_field fields[] = {
        {"name", JSON_TEXT, true, offsetof(struct distribution_fields, name), 1, LIMIT_NAME, NULL},
        {"kind", JSON_CHOICE, true, offsetof(struct distribution_fields, kind), 0, 0, kinds},
        {"mean", JSON_DOUBLE, false, offsetof(struct distribution_fields, mean), 0, 0, NULL},
        {"deviation", JSON_DOUBLE, false, offsetof(struct distribution_fields, deviation), 0, 0,
         NULL},
        {"spike_deviation", JSON_DOUBLE, false,
         offsetof(struct distribution_fields, spike_deviation), 0, 0, NULL},
        {"spikes", JSON_INT64, false, offsetof(struct distribution_fields, spikes), 1, 65535, NULL},
        {"low", JSON_INT64, false, offsetof(struct distribution_fields, low), -65536, 65536, NULL},
        {"high", JSON_INT64, false, offsetof(struct distribution_fields, high), -65536, 65536,
         NULL},
        {"exact", JSON_YESNO, false, offsetof(struct distribution_fields, exact), 0, 0, NULL},
        {"slack", JSON_DOUBLE, false, offsetof(struct distribution_fields, slack), 0, 0, NULL},
    };
    struct distribution_fields in = {.slack = 1};
    if (!json_read(v, fields, COUNT_OF(fields), &in, path, faults))
        return;
    check_distribution(v, &in, path, faults);
    for (size_t i = 0; i < p->distribution_count; i++)
        if (!strcmp(p->distributions[i].name, in.name))
            faults_add(faults, path, "distribution '%s' is given twice", in.name);
    struct distribution *d = &p->distributions[p->distribution_count++];
    *d = (struct distribution){
        .kind = (enum distribution_kind)in.kind,
        .mean = in.mean,
        .deviation = in.deviation,
        .spike_deviation = in.spike_deviation,
        .spikes = in.spikes,
        .low = in.low,
        .high = in.high,
        .exact = in.exact,
        .slack = in.slack,
    };
    copy_name(d->name, in.name, path, faults);
}

struct oracle_fields {
    const char *source, *ptx;
    json_t *outputs, *launch, *derive, *derive_launch;
};

static void copy_file_name(char out[LIMIT_NAME + 1], const char *name, const char *path,
                           struct faults *faults)
{
    static const char shared[] = "../common/";
    const char *file = strncmp(name, shared, strlen(shared)) == 0 ? name + strlen(shared) : name;
    if (strchr(file, '/') || file[0] == '.')
        faults_add(faults, path, "'%s' must be a file of the problem's folder or of %s", name,
                   shared);
    snprintf(out, LIMIT_NAME + 1, "%s", name);
}

static void read_derive(struct problem *p, struct oracle_fields *in, struct faults *faults)
{
    static const struct json_field fields[] = {
        {"launch", JSON_MEMBER, true, offsetof(struct oracle_fields, derive_launch), 0, 0, NULL},
    };
    bool derived = false;
    for (size_t i = 0; i < p->tensor_count; i++)
        derived = derived || p->tensors[i].derived;
    if (derived != !!in->derive)
        faults_add(faults, "$.oracle", "'derive' belongs with derived tensors");
    if (in->derive &&
        json_read(in->derive, fields, COUNT_OF(fields), in, "$.oracle.derive", faults))
        p->derive_launch = in->derive_launch;
}

static void read_oracle(struct problem *p, json_t *oracle, struct faults *faults)
{
    static const struct json_field fields[] = {
        {"source", JSON_TEXT, true, offsetof(struct oracle_fields, source), 1, LIMIT_NAME, NULL},
        {"ptx", JSON_TEXT, false, offsetof(struct oracle_fields, ptx), 1, LIMIT_NAME, NULL},
        {"outputs", JSON_MEMBER, true, offsetof(struct oracle_fields, outputs), 0, 0, NULL},
        {"launch", JSON_MEMBER, true, offsetof(struct oracle_fields, launch), 0, 0, NULL},
        {"derive", JSON_MEMBER, false, offsetof(struct oracle_fields, derive), 0, 0, NULL},
    };
    struct oracle_fields in = {.ptx = ""};
    if (!json_read(oracle, fields, COUNT_OF(fields), &in, "$.oracle", faults))
        return;
    p->oracle = oracle;
    p->oracle_launch = in.launch;
    read_derive(p, &in, faults);
    copy_file_name(p->oracle_source, in.source, "$.oracle.source", faults);
    copy_file_name(p->oracle_ptx, in.ptx, "$.oracle.ptx", faults);
    size_t outputs = 0;
    for (size_t i = 0; i < p->tensor_count; i++) {
        struct tensor_def *t = &p->tensors[i];
        if (t->role != TENSOR_OUTPUT)
            continue;
        outputs++;
        const char *name = json_string_value(json_object_get(in.outputs, t->name));
        int dtype = name ? dtype_find(name) : -1;
        if (dtype == DTYPE_f32 || dtype == DTYPE_f64)
            t->oracle_dtype = (enum dtype)dtype;
        else
            faults_add(faults, "$.oracle.outputs", "must give '%s' as f32 or f64", t->name);
    }
    if (json_object_size(in.outputs) != outputs)
        faults_add(faults, "$.oracle.outputs", "must name every output and nothing else");
}

/* Calls `read` on each entry with its path. */
static void each(struct problem *p, const json_t *list, const char *field,
                 void (*read)(struct problem *, const json_t *, const char *, struct faults *),
                 struct faults *faults)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        char path[64];
        snprintf(path, sizeof(path), "$.%s[%zu]", field, i);
        read(p, v, path, faults);
    }
}

void problem_read(struct problem *p, struct faults *faults)
{
    struct document in = {0};
    if (!json_read(p->document, document_fields, COUNT_OF(document_fields), &in, "$", faults))
        return;
    p->workloads = calloc(json_array_size(in.workloads), sizeof(*p->workloads));
    if (!p->workloads) {
        faults_add(faults, "$.workloads", "out of memory");
        return;
    }
    copy_name(p->name, in.name, "$.name", faults);
    snprintf(p->title, sizeof(p->title), "%s", in.title);
    snprintf(p->redraw, sizeof(p->redraw), "%s", in.redraw ? in.redraw : "");
    snprintf(p->flops, sizeof(p->flops), "%s", in.flops);
    snprintf(p->bytes, sizeof(p->bytes), "%s", in.bytes);
    read_axes(p, in.axes, faults);
    each(p, in.tensors, "tensors", read_tensor, faults);
    if (!p->tensor_count || p->tensors[p->tensor_count - 1].role != TENSOR_OUTPUT ||
        p->tensors[0].role != TENSOR_INPUT)
        faults_add(faults, "$.tensors", "must hold an input and an output");
    each(p, in.workloads, "workloads", read_workload, faults);
    each(p, in.distributions, "distributions", read_distribution, faults);
    read_rules(p, in.rules, faults);
    read_oracle(p, in.oracle, faults);
    for (size_t i = 0; i < p->workload_count && !faults_any(faults); i++)
        check_workload(p, &p->workloads[i], faults);
    p->paper_workload = chosen(p, in.default_workload, "$.default_workload", faults);
    p->cpu_workload = chosen(p, in.cpu_workload, "$.cpu_workload", faults);
}
