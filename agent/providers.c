// SPDX-License-Identifier: Apache-2.0
#include "agent/providers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/util.h"

enum { MODELS = 256, PROVIDERS = 64 };

/* What a format needs of its provider beside a name. */
static const struct need {
    const char *format;
    bool url, folder, program;
} needs[] = {
    {"openai_chat", .url = true}, {"openai_responses", .url = true}, {"anthropic", .url = true},
    {"gemini", .url = true},      {"replay", .folder = true},        {"script", .program = true},
};

struct provider_fields {
    const char *format, *url, *key_env, *key_file, *folder;
    json_t *program, *models;
    int64_t concurrency, requests_per_minute, timeout_s, stall_s;
};

#define FIELD(f) .name = #f, .offset = offsetof(struct provider_fields, f)

static const struct json_field provider_fields[] = {
    {FIELD(format), .kind = JSON_TEXT, .required = true, .min = 1, .max = LIMIT_NAME},
    {FIELD(url), .kind = JSON_TEXT, .min = 1, .max = 1024},
    {FIELD(key_env), .kind = JSON_TEXT, .min = 1, .max = 256},
    {FIELD(key_file), .kind = JSON_TEXT, .min = 1, .max = 1024},
    {FIELD(folder), .kind = JSON_TEXT, .min = 1, .max = 1024},
    {FIELD(program), .kind = JSON_LIST, .min = 1, .max = PROVIDER_ARGS},
    {FIELD(models), .kind = JSON_MEMBER, .required = true},
    {FIELD(concurrency), .kind = JSON_INT64, .min = 1, .max = 1024},
    {FIELD(requests_per_minute), .kind = JSON_INT64, .min = 0, .max = 1000000},
    {FIELD(timeout_s), .kind = JSON_INT64, .min = 1, .max = 86400},
    {FIELD(stall_s), .kind = JSON_INT64, .min = 1, .max = 86400},
};

struct model_fields {
    int64_t context, max_output;
    json_t *price;
};

static const struct json_field model_fields[] = {
    {.name = "context",
     .kind = JSON_INT64,
     .offset = offsetof(struct model_fields, context),
     .min = 0,
     .max = 100000000},
    {.name = "max_output",
     .kind = JSON_INT64,
     .required = true,
     .offset = offsetof(struct model_fields, max_output),
     .min = 1,
     .max = 10000000},
    {.name = "price", .kind = JSON_MEMBER, .offset = offsetof(struct model_fields, price)},
};

static const struct json_field price_fields[] = {
    {.name = "input", .kind = JSON_DOUBLE, .offset = offsetof(struct llm_prices, input)},
    {.name = "cached", .kind = JSON_DOUBLE, .offset = offsetof(struct llm_prices, cached)},
    {.name = "cache_write",
     .kind = JSON_DOUBLE,
     .offset = offsetof(struct llm_prices, cache_write)},
    {.name = "output", .kind = JSON_DOUBLE, .offset = offsetof(struct llm_prices, output)},
};

static bool starts(const char *s, const char *with)
{
    return !strncasecmp(s, with, strlen(with));
}

/* A key that went over the network in the clear would be no secret any more. Behind the host comes
 * a port and nothing else: "http://localhost:x@example.org" is another host. */
static bool is_url(const char *url)
{
    static const char *const near[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
    if (starts(url, "https://"))
        return url[8] != '\0';
    for (size_t i = 0; i < COUNT_OF(near); i++) {
        if (!starts(url, near[i]))
            continue;
        const char *rest = url + strlen(near[i]);
        if (*rest == ':')
            rest += 1 + strspn(rest + 1, "0123456789");
        if (!*rest || *rest == '/')
            return true;
    }
    return false;
}

static void read_model(const char *name, const json_t *value, const char *path,
                       struct provider_model *out, struct faults *faults)
{
    struct model_fields got = {0};
    *out = (struct provider_model){.name = name, .prices = {-1, -1, -1, -1}};
    json_read(value, model_fields, COUNT_OF(model_fields), &got, path, faults);
    out->context = got.context;
    out->max_output = got.max_output;
    if (got.price)
        json_read(got.price, price_fields, COUNT_OF(price_fields), &out->prices,
                  json_at(path, "price").text, faults);
}

static void read_models(json_t *models, const char *path, struct provider *p, struct faults *faults)
{
    const char *name;
    json_t *value;
    size_t n = json_object_size(models);
    if (!n || n > MODELS) {
        faults_add(faults, path, "must name 1 to %d models", MODELS);
        return;
    }
    p->models = calloc(n, sizeof(*p->models));
    if (!p->models) {
        faults_add(faults, path, "out of memory");
        return;
    }
    json_object_foreach(models, name, value)
        read_model(name, value, json_at(path, name).text, &p->models[p->model_count++], faults);
}

static void read_program(const json_t *list, const char *path, struct provider *p,
                         struct faults *faults)
{
    const json_t *arg;
    size_t i;
    json_array_foreach(list, i, arg)
    {
        p->program[i] = json_string_value(arg);
        if (!p->program[i])
            faults_add(faults, json_at_index(path, i).text, "must be a text");
    }
    if (p->program[0] && p->program[0][0] != '/')
        faults_add(faults, path, "must begin with the full path of a program");
}

static void judge(const struct provider *p, const char *path, struct faults *faults)
{
    const struct need *need = NULL;
    for (size_t i = 0; i < COUNT_OF(needs); i++)
        if (p->format && !strcmp(needs[i].format, p->format))
            need = &needs[i];
    if (!p->format)
        return;
    if (!need) {
        faults_add(faults, json_at(path, "format").text, "is no format that is known here");
        return;
    }
    if (need->url != (p->url != NULL))
        faults_add(faults, json_at(path, "url").text, "%s with the format %s",
                   need->url ? "is needed" : "has no meaning", p->format);
    else if (p->url && !is_url(p->url))
        faults_add(faults, json_at(path, "url").text,
                   "must be https://…, or http:// to this host itself");
    if (need->folder != (p->folder != NULL))
        faults_add(faults, json_at(path, "folder").text, "%s with the format %s",
                   need->folder ? "is needed" : "has no meaning", p->format);
    if (need->program != (p->program[0] != NULL))
        faults_add(faults, json_at(path, "program").text, "%s with the format %s",
                   need->program ? "is needed" : "has no meaning", p->format);
    if (p->key_env && p->key_file)
        faults_add(faults, json_at(path, "key_file").text, "stands beside key_env: one is enough");
}

static void read_provider(const char *name, const json_t *value, const char *path,
                          struct provider *p, struct faults *faults)
{
    struct provider_fields got = {.concurrency = 8, .timeout_s = 1800, .stall_s = 60};
    json_read(value, provider_fields, COUNT_OF(provider_fields), &got, path, faults);
    *p = (struct provider){.name = name,
                           .format = got.format,
                           .url = got.url,
                           .key_env = got.key_env,
                           .key_file = got.key_file,
                           .folder = got.folder,
                           .concurrency = got.concurrency,
                           .requests_per_minute = got.requests_per_minute,
                           .timeout_s = got.timeout_s,
                           .stall_s = got.stall_s};
    read_program(got.program, json_at(path, "program").text, p, faults);
    if (got.models)
        read_models(got.models, json_at(path, "models").text, p, faults);
    judge(p, path, faults);
}

bool providers_parse(const json_t *document, struct providers *out, struct faults *faults)
{
    static const struct json_field fields[] = {
        {.name = "providers", .kind = JSON_MEMBER, .required = true}};
    json_t *providers = NULL, *value;
    const char *name;
    *out = (struct providers){.document = json_incref((json_t *)document)};
    if (!json_read(document, fields, COUNT_OF(fields), &providers, "$", faults))
        return false;
    size_t n = json_object_size(providers);
    out->items = n && n <= PROVIDERS ? calloc(n, sizeof(*out->items)) : NULL;
    if (!out->items) {
        faults_add(faults, "$.providers", "must name 1 to %d providers", PROVIDERS);
        return false;
    }
    json_object_foreach(providers, name, value) read_provider(
        name, value, json_at("$.providers", name).text, &out->items[out->count++], faults);
    return !faults_any(faults);
}

enum err providers_load(const char *path, struct providers *out, struct fault *f)
{
    struct buf text;
    struct faults faults = {0};
    struct fault why = {0};
    *out = (struct providers){0};
    if (access(path, F_OK) && errno == ENOENT)
        return fault_set(f, ERR_NOT_FOUND, "there are no providers: %s does not exist", path);
    buf_init(&text, PROVIDERS_FILE_MAX);
    enum err e = read_file(path, &text, f);
    json_t *document = e ? NULL : json_parse(text.data, text.len, &why);
    buf_release(&text);
    if (e)
        return e;
    if (!document)
        return fault_set(f, ERR_NOT_JSON, "cannot read the providers in %s: %s", path, why.detail);
    if (!providers_parse(document, out, &faults)) {
        char first[LIMIT_DETAIL];
        e = fault_set(f, ERR_INVALID, "the providers in %s: %s", path,
                      faults_first(&faults, first, sizeof(first)));
    }
    faults_release(&faults);
    json_decref(document);
    return e;
}

void providers_release(struct providers *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i].models);
    free(p->items);
    json_decref(p->document);
    *p = (struct providers){0};
}

const struct provider *providers_find(const struct providers *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->items[i].name, name))
            return &p->items[i];
    return NULL;
}

const struct provider_model *provider_model(const struct provider *p, const char *name)
{
    for (size_t i = 0; i < p->model_count; i++)
        if (!strcmp(p->models[i].name, name))
            return &p->models[i];
    return NULL;
}

int64_t provider_max_output(const struct provider_model *m, const json_t *params)
{
    int64_t asked = json_integer_value(json_object_get(params, "max_tokens"));
    return asked > 0 && asked < m->max_output ? asked : m->max_output;
}

/* Others who can read the file have the key. */
static enum err key_of_file(const struct provider *p, struct buf *out, struct fault *f)
{
    struct stat st;
    if (stat(p->key_file, &st))
        return fault_set(f, ERR_IO, "cannot open the key of provider %s in %s: %s", p->name,
                         p->key_file, strerror(errno));
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return fault_set(f, ERR_FORBIDDEN,
                         "the key of provider %s in %s can be read by others: chmod 600 it",
                         p->name, p->key_file);
    return read_file(p->key_file, out, f);
}

enum err provider_key(const struct provider *p, struct buf *out, struct fault *f)
{
    enum err e = ERR_NONE;
    buf_init(out, PROVIDER_KEY_MAX);
    buf_room(out, PROVIDER_KEY_MAX); /* so that it is never moved and leaves no copy behind */
    const char *value = p->key_env ? getenv(p->key_env) : NULL;
    if (p->key_env && (!value || !*value))
        return fault_set(f, ERR_UNAVAILABLE, "provider %s has no key: %s is not set", p->name,
                         p->key_env);
    if (value)
        buf_adds(out, value);
    else if (p->key_file)
        e = key_of_file(p, out, f);
    while (!e && out->len && strchr(" \t\r\n", out->data[out->len - 1]))
        out->data[--out->len] = '\0';
    if (!e && (out->failed || (out->len && strcspn(out->data, "\r\n") != out->len)))
        e = fault_set(f, ERR_INVALID, "the key of provider %s is not one line", p->name);
    return e;
}

void provider_key_wipe(struct buf *key)
{
    if (key->data)
        explicit_bzero(key->data, key->cap);
    buf_release(key);
}
