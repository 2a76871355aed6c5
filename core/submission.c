// SPDX-License-Identifier: Apache-2.0
// One parser for every way a submission arrives. Reading is by field table; then each name is
// looked up, each default filled in, and the plan resolved, so that one answer holds every fault.
#include "core/submission.h"

#include <string.h>

#include "core/json.h"
#include "core/lookup.h"
#include "core/submission_options.h"
#include "core/text.h"
#include "core/util.h"

static const char *const languages[] = {"cuda", "ptx", NULL};          /* enum language */
static const char *const modes[] = {"compile", "check", "rank", NULL}; /* enum mode */

enum { LANGUAGE_UNSAID = -1 };

struct body {
    const char *problem, *workload, *arch, *device, *label, *method, *source;
    int language, mode;
    json_t *launch, *options;
};

#define AT(member) offsetof(struct body, member)

static const struct json_field body_fields[] = {
    {"problem", JSON_TEXT, true, AT(problem), 1, LIMIT_NAME, NULL},
    {"workload", JSON_TEXT, false, AT(workload), 1, LIMIT_NAME, NULL},
    {"arch", JSON_TEXT, true, AT(arch), 1, LIMIT_NAME, NULL},
    {"device", JSON_TEXT, false, AT(device), 1, LIMIT_DEVICE, NULL},
    {"language", JSON_CHOICE, false, AT(language), 0, 0, languages},
    {"mode", JSON_CHOICE, false, AT(mode), 0, 0, modes},
    {"source", JSON_TEXT, false, AT(source), 1, LIMIT_SOURCE, NULL},
    {"launch", JSON_MEMBER, false, AT(launch), 0, 0, NULL},
    {"options", JSON_LIST, false, AT(options), 0, LIMIT_OPTIONS, NULL},
    {"label", JSON_TEXT, false, AT(label), 0, LIMIT_LABEL, NULL},
    {"method", JSON_TEXT, false, AT(method), 0, LIMIT_LABEL, NULL},
};

/* What a parse works on. */
struct parse {
    const struct registry *registry;
    const json_t *body;
    struct body in;
    struct submission *out;
    struct faults *faults;
};

const char *language_name(enum language l)
{
    return languages[l];
}

const char *mode_name(enum mode m)
{
    return modes[m];
}

static int find(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

int language_find(const char *name)
{
    return find(languages, name);
}

int mode_find(const char *name)
{
    return find(modes, name);
}

static void find_problem(struct parse *p)
{
    struct submission *s = p->out;
    s->problem = lookup_problem(p->registry, p->in.problem, "$.problem", p->faults);
    if (s->problem)
        s->workload =
            lookup_workload(s->problem, p->in.workload, s->device, "$.workload", p->faults);
}

static void find_arch(struct parse *p)
{
    p->out->arch = lookup_arch(p->registry, p->in.arch, "$.arch", p->faults);
}

static void check_device(struct parse *p)
{
    if (p->out->arch)
        lookup_device(p->out->arch, p->out->device, "$.device", p->faults);
}

/* PTX starts with .version, after blanks and comments; nothing in CUDA C++ does. */
static enum language guess_language(const char *s)
{
    for (;;) {
        s += strspn(s, " \t\r\n");
        bool block = !strncmp(s, "/*", 2);
        if (!block && strncmp(s, "//", 2) != 0)
            return strncmp(s, ".version", 8) == 0 ? LANGUAGE_PTX : LANGUAGE_CUDA;
        const char *end = strstr(s + 2, block ? "*/" : "\n");
        if (!end)
            return LANGUAGE_CUDA;
        s = end + (block ? 2 : 1);
    }
}

static bool check_source(const char *source, size_t len, struct faults *faults)
{
    const char *why = !source || !len              ? "is required"
                      : len > LIMIT_SOURCE         ? "must be at most 1 MiB"
                      : memchr(source, '\0', len)  ? "must not hold a NUL"
                      : !text_is_utf8(source, len) ? "must be UTF-8"
                      : len >= 3 && !memcmp(source, "\xef\xbb\xbf", 3)
                          ? "must not begin with a byte order mark"
                          : NULL;
    if (why)
        faults_add(faults, "$.source", "%s", why);
    return !why;
}

/* A member that is there and not null. */
static const json_t *member(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);
    return json_is_null(v) ? NULL : v;
}

/* Finds the plan and resolves it. `embedded`: may it be in the source? */
static void find_plan(struct parse *p, bool embedded)
{
    struct submission *s = p->out;
    const char *path = "$.launch";
    struct fault why = {0};
    json_t *found = embedded && s->source ? plan_embedded(s->source, s->source_len, &why) : NULL;
    s->launch = found ? found : json_incref(p->in.launch);
    if (why.code != ERR_NONE)
        faults_add(p->faults, "$.source", "%s", why.detail);
    else if (found && p->in.launch)
        faults_add(p->faults, path, "is given and the source holds a launch plan too: which one?");
    else if (!s->launch && s->source && !member(p->body, "launch"))
        faults_add(p->faults, path,
                   "is required: here, or in the source as a comment that starts with "
                   "/*ptxbench-launch");
    if (found)
        path = "$.source#launch";
    if (s->launch && why.code == ERR_NONE && s->problem && s->workload && s->arch)
        s->plan = plan_parse(s->launch, s->problem, s->workload, s->arch, path, p->faults);
    if (s->plan && s->plan->define_count && s->language == LANGUAGE_PTX)
        faults_add(p->faults, json_at(path, "defines").text, "do not apply to language ptx");
}

static char *copy_line(const char *text)
{
    char *copy = strdup(text);
    if (copy)
        text_sanitize(copy);
    return copy;
}

static bool parse(const struct registry *r, const json_t *body, const char *source, size_t len,
                  bool embedded, struct submission *out, struct faults *faults)
{
    *out = (struct submission){0};
    size_t before = json_array_size(faults->items) + faults->dropped;
    struct parse p = {
        .registry = r,
        .body = body,
        .out = out,
        .faults = faults,
        .in = {.language = LANGUAGE_UNSAID, .mode = MODE_RANK, .label = "", .method = ""},
    };
    if (!json_read(body, body_fields, COUNT_OF(body_fields), &p.in, "$", faults) &&
        !json_is_object(body))
        return false;
    const json_t *given = member(body, "source");
    if (source && given)
        faults_add(faults, "$.source", "is given twice");
    if (!source && !given)
        faults_add(faults, "$.source", "is required");
    const char *text = source ? source : p.in.source;
    size_t text_len = source ? len : json_string_length(given);
    if (text && check_source(text, text_len, faults)) {
        out->source_len = text_len;
        out->source = strndup(text, text_len);
    }
    out->mode = (enum mode)p.in.mode;
    snprintf(out->device, sizeof(out->device), "%s",
             p.in.device              ? p.in.device
             : out->mode == MODE_RANK ? "gpu"
                                      : "cpu");
    out->language = p.in.language != LANGUAGE_UNSAID ? (enum language)p.in.language
                    : out->source                    ? guess_language(out->source)
                                                     : LANGUAGE_CUDA;
    find_problem(&p);
    find_arch(&p);
    check_device(&p);
    submission_options_check(p.in.options, out->language, "$.options", faults);
    find_plan(&p, embedded);
    out->options = p.in.options ? json_incref(p.in.options) : json_array();
    out->label = copy_line(p.in.label);
    out->method = copy_line(p.in.method);
    if (json_array_size(faults->items) + faults->dropped == before && out->plan && out->source &&
        out->options && out->label && out->method)
        return true;
    if (!faults_any(faults))
        faults_add(faults, "$", "out of memory");
    submission_release(out);
    return false;
}

bool submission_parse(const struct registry *r, const json_t *body, struct submission *out,
                      struct faults *faults)
{
    return parse(r, body, NULL, 0, true, out, faults);
}

/* "a,b" as ["a", "b"]. New reference. */
static json_t *split(const char *text)
{
    json_t *list = json_array();
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n)
            json_array_append_new(list, json_stringn(text, n));
        text += n + (text[n] == ',');
    }
    return list;
}

bool submission_bare(const struct registry *r, const char *source, size_t len, const json_t *query,
                     struct submission *out, struct faults *faults)
{
    json_t *body = query ? json_copy((json_t *)query) : json_object();
    const char *options = json_string_value(json_object_get(body, "options"));
    if (options)
        json_object_set_new(body, "options", split(options));
    bool good = parse(r, body, source ? source : "", len, true, out, faults);
    json_decref(body);
    return good;
}

json_t *submission_document(const struct submission *s)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:O, s:O, s:s, s:s}", "problem",
                     s->problem->name, "workload", s->workload->name, "arch", s->arch->name,
                     "language", language_name(s->language), "device", s->device, "mode",
                     mode_name(s->mode), "options", s->options, "launch", s->launch, "label",
                     s->label, "method", s->method);
}

bool submission_from_document(const struct registry *r, const json_t *document, const char *source,
                              size_t len, struct submission *out, struct faults *faults)
{
    return parse(r, document, source ? source : "", len, false, out, faults);
}

void submission_release(struct submission *s)
{
    plan_free(s->plan);
    json_decref(s->launch);
    json_decref(s->options);
    free(s->source);
    free(s->label);
    free(s->method);
    *s = (struct submission){0};
}

void submission_lane(const struct submission *s, char out[LANE_TEXT])
{
    snprintf(out, LANE_TEXT, "%s/%s", s->arch->name, s->device);
}
