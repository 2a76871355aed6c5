// SPDX-License-Identifier: Apache-2.0
#include "core/prompt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/pack.h"
#include "core/text.h"
#include "core/tokenizer.h"
#include "core/util.h"

enum { MAX_PART = 1 * MIB, MAX_VARIANT = 64 * KIB };

/* What a component is made with. */
struct making {
    const struct prompt_request *request;
    const struct workload *workload;
    const char *argument; /* of "hint:NAME"; "" if there is none */
    struct buf *out;
    struct fault *f;
};

/* A whole file below arch/<folder>. */
static enum err add_file(struct making *m, const char *folder, const char *name, const char *ending)
{
    char path[PATH_MAX];
    struct buf text;
    snprintf(path, sizeof(path), "%s/arch/%s/%s%s", m->request->home, folder, name, ending);
    buf_init(&text, MAX_PART);
    enum err e = read_file(path, &text, m->f);
    if (e == ERR_NONE)
        buf_add(m->out, text.data ? text.data : "", text.len);
    buf_release(&text);
    return e;
}

static enum err make_parameters(struct making *m)
{
    prompt_parameters(m->request->arch, m->out);
    return ERR_NONE;
}

static enum err make_templates(struct making *m)
{
    struct pack_files headers = {0};
    enum err e = pack_headers(&headers, m->request->home, m->request->arch->name, m->f);
    buf_adds(
        m->out,
        "# Template functions\n\nDevice functions in namespace ptxbench; include the headers that "
        "you use. What follows \"PTX:\" is what a function emits.\n");
    for (size_t i = 0; i < headers.count && e == ERR_NONE; i++)
        if (!strstr(headers.items[i].name, "_operands")) { /* included by others */
            buf_addf(m->out, "\n```cpp <ptxbench/%s>\n", headers.items[i].name);
            prompt_declarations(headers.items[i].text, m->out);
            buf_adds(m->out, "```\n");
        }
    pack_release(&headers);
    return e;
}

static enum err make_contract(struct making *m)
{
    enum err e = add_file(m, "common", "contract", ".md");
    buf_adds(m->out, "\n");
    return e == ERR_NONE ? add_file(m, m->request->arch->name, "contract", ".md") : e;
}

/* Of the architecture, or one that every architecture can use. */
static enum err make_hint(struct making *m)
{
    char folder[32];
    struct making own = *m;
    own.f = NULL;
    snprintf(folder, sizeof(folder), "%s/hints", m->request->arch->name);
    return add_file(&own, folder, m->argument, ".md") == ERR_NONE
               ? ERR_NONE
               : add_file(m, "common/hints", m->argument, ".md");
}

static enum err make_example(struct making *m)
{
    char folder[32];
    snprintf(folder, sizeof(folder), "%s/examples", m->request->arch->name);
    buf_adds(m->out, "# A complete kernel with its launch plan\n\n```cuda\n");
    enum err e = add_file(m, folder, m->argument, ".cu");
    buf_adds(m->out, "```\n");
    return e;
}

static enum err make_problem(struct making *m)
{
    prompt_problem(m->request->problem, m->workload, m->request->arch->num_sms, m->out);
    return ERR_NONE;
}

static enum err make_output_format(struct making *m)
{
    return add_file(m, "common", "output_format", ".md");
}

static const struct component {
    const char *name;
    bool takes_argument;
    enum err (*make)(struct making *m);
} components[] = {
    {"parameters", false, make_parameters}, {"templates", false, make_templates},
    {"contract", false, make_contract},     {"hint", true, make_hint},
    {"guidance", true, make_hint},          {"example", true, make_example},
    {"problem", false, make_problem},       {"output_format", false, make_output_format},
};

/* A name of a file without folder and ending: letters, digits, '_' and '-'. */
static bool is_plain_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return n && n <= LIMIT_NAME && !s[n];
}

/* ---- variants ---- */

struct variant {
    const char *name, *use;
    json_t *components;
};

/* New reference to the document that `out` borrows from, or NULL. */
static json_t *read_variant(const char *home, const char *arch, const char *name,
                            struct variant *out, struct fault *f)
{
    static const struct json_field fields[] = {
        {"name", JSON_TEXT, true, offsetof(struct variant, name), 1, LIMIT_NAME, NULL},
        {"for", JSON_TEXT, true, offsetof(struct variant, use), 1, 200, NULL},
        {"components", JSON_LIST, true, offsetof(struct variant, components), 1, PROMPT_PARTS,
         NULL},
    };
    char path[PATH_MAX], first[LIMIT_DETAIL];
    struct buf text;
    struct faults faults = {0};
    json_t *document = NULL;
    snprintf(path, sizeof(path), "%s/arch/%s/variants/%s.json", home, arch, name);
    buf_init(&text, MAX_VARIANT);
    if (read_file(path, &text, f) == ERR_NONE)
        document = json_parse(text.data ? text.data : "", text.len, f);
    buf_release(&text);
    if (document && (!json_read(document, fields, COUNT_OF(fields), out, "$", &faults) ||
                     strcmp(out->name, name) != 0)) {
        fault_set(f, ERR_INVALID, "cannot use prompt variant %s: %s", path,
                  faults_any(&faults) ? faults_first(&faults, first, sizeof(first))
                                      : "its name is not that of its file");
        json_decref(document);
        document = NULL;
    }
    faults_release(&faults);
    return document;
}

json_t *prompt_variants(const char *home, const struct arch *arch, struct fault *f)
{
    char folder[PATH_MAX];
    struct pack_files files = {0};
    json_t *list = json_array();
    snprintf(folder, sizeof(folder), "%s/arch/%s/variants", home, arch->name);
    enum err e = pack_add_folder(&files, folder, ".json", f);
    for (size_t i = 0; i < files.count && e == ERR_NONE; i++) {
        char name[LIMIT_NAME + 1];
        struct variant v;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(files.items[i].name, "."),
                 files.items[i].name);
        json_t *document = read_variant(home, arch->name, name, &v, f);
        if (!document || json_array_append_new(list, document))
            e = ERR_INVALID;
    }
    pack_release(&files);
    if (e == ERR_NONE)
        return list;
    json_decref(list);
    return NULL;
}

/* ---- assembly ---- */

static enum err add_part(struct prompt *p, const struct component *c, struct making *m)
{
    struct buf text;
    buf_init(&text, MAX_PART);
    m->out = &text;
    enum err e = c->make(m);
    if (e == ERR_NONE && text.len && text.data[text.len - 1] != '\n')
        buf_adds(&text, "\n");
    struct prompt_part *part = &p->parts[p->count];
    if (e == ERR_NONE) {
        snprintf(part->component, sizeof(part->component), "%s", c->name);
        part->text = buf_take(&text, &part->len);
        if (!part->text)
            e = fault_set(m->f, ERR_TOO_LARGE, "cannot build prompt: %s is over %d bytes", c->name,
                          MAX_PART);
    }
    buf_release(&text);
    if (e != ERR_NONE)
        return e;
    const struct tokenizer *t = m->request->tokenizer;
    part->tokens =
        t ? tokenizer_count(t, part->text, part->len) : tokenizer_estimate(part->text, part->len);
    p->tokens += part->tokens;
    p->count++;
    return ERR_NONE;
}

/* One entry of "components": "parameters", "hint:cluster-multicast". */
static enum err add_entry(struct prompt *p, const char *entry, struct making *m)
{
    const char *colon = strchr(entry, ':');
    size_t n = colon ? (size_t)(colon - entry) : strlen(entry);
    m->argument = colon ? colon + 1 : "";
    for (size_t i = 0; i < COUNT_OF(components); i++)
        if (strlen(components[i].name) == n && !strncmp(components[i].name, entry, n)) {
            if (components[i].takes_argument != is_plain_name(m->argument))
                break;
            return add_part(p, &components[i], m);
        }
    return fault_set(m->f, ERR_INVALID, "cannot build prompt: '%s' is no component", entry);
}

enum err prompt_build(const struct prompt_request *r, struct prompt *out, struct fault *f)
{
    const char *name = r->variant ? r->variant : "contract";
    const struct problem *p = r->problem;
    struct making m = {.request = r, .f = f};
    struct variant v;
    size_t i;
    json_t *entry;
    *out = (struct prompt){.estimated = !r->tokenizer};
    m.workload = r->workload ? r->workload : p->paper_workload ? p->paper_workload : p->workloads;
    if (!is_plain_name(name))
        return fault_set(f, ERR_NOT_FOUND, "there is no prompt variant of that name for %s",
                         r->arch->name);
    struct fault why = {0};
    json_t *document = read_variant(r->home, r->arch->name, name, &v, &why);
    if (!document)
        return why.code == ERR_IO || why.code == ERR_NOT_FOUND
                   ? fault_set(f, ERR_NOT_FOUND, "there is no prompt variant '%s' for %s", name,
                               r->arch->name)
                   : fault_set(f, ERR_INTERNAL, "%s", why.detail);
    enum err e = ERR_NONE;
    json_array_foreach(v.components, i, entry)
    {
        const char *text = json_string_value(entry);
        e = add_entry(out, text ? text : "", &m);
        if (e != ERR_NONE)
            break;
    }
    json_decref(document);
    return e;
}

void prompt_release(struct prompt *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->parts[i].text);
    *p = (struct prompt){0};
}

void prompt_text(const struct prompt *p, struct buf *out)
{
    for (size_t i = 0; i < p->count; i++) {
        if (i)
            buf_adds(out, "\n");
        buf_add(out, p->parts[i].text, p->parts[i].len);
    }
}
