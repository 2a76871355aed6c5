// SPDX-License-Identifier: Apache-2.0
// The routes table told to people (/v1) and to programs (/v1/openapi.json). Nothing is written by
// hand twice.
#include <string.h>

#include "core/util.h"
#include "core/words.h"
#include "server/api.h"
#include "server/routes.h"

enum { TEMPLATE = 128 };

/* Calls f(name, arg) for each word of a space-separated list. */
static void each_word(const char *list, void (*f)(const char *word, size_t n, void *arg), void *arg)
{
    for (const char *s = list; s && *s; s += strcspn(s, " "), s += *s == ' ')
        f(s, strcspn(s, " "), arg);
}

static void add_name(const char *word, size_t n, void *list)
{
    json_array_append_new(list, json_stringn(word, n));
}

static json_t *verdicts(void)
{
    json_t *list = json_array();
    for (int v = 0; v < VERDICT_COUNT; v++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", verdict_name((enum verdict)v),
                                              "meaning", verdict_meaning((enum verdict)v)));
    return list;
}

enum err index_get(struct request *r)
{
    json_t *items = json_array();
    for (size_t i = 0; i < route_count; i++) {
        char path[TEMPLATE];
        route_template(&routes[i], path, sizeof(path));
        json_t *row = json_pack("{s:s, s:s, s:s}", "method", method_name(routes[i].method), "path",
                                path, "summary", routes[i].summary);
        json_t *query = json_array();
        each_word(routes[i].query, add_name, query);
        json_object_set_new(row, "query", query);
        json_array_append_new(items, row);
    }
    return answer_tag(
        r, answer_json(r, 200,
                       json_pack("{s:s, s:s, s:s, s:o, s:o}", "service", "ptxbench", "version",
                                 PTXBENCH_VERSION, "openapi", "/v1/openapi.json", "endpoints",
                                 items, "verdicts", verdicts())));
}

static void add_query(const char *word, size_t n, void *list)
{
    const struct parameter *p = parameter_find(word, n);
    json_array_append_new(list, json_pack("{s:s%, s:s, s:s, s:{s:s}}", "name", word, n, "in",
                                          "query", "description", p ? p->meaning : "", "schema",
                                          "type", p ? p->type : "string"));
}

static void add_captures(const char *path, json_t *list)
{
    for (const char *open = strchr(path, '{'); open; open = strchr(open + 1, '{'))
        json_array_append_new(list, json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name", open + 1,
                                              strcspn(open + 1, "}"), "in", "path", "required", 1,
                                              "schema", "type", "string"));
}

static void add_property(const char *word, size_t n, void *properties)
{
    const struct parameter *p = parameter_find(word, n);
    if (!p || !strcmp(p->name, "wait") || !strcmp(p->name, "dry_run"))
        return;
    bool list = !strcmp(p->name, "options");
    json_t *schema =
        json_pack("{s:s, s:s}", "type", list ? "array" : p->type, "description", p->meaning);
    if (list)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    json_object_set_new(properties, p->name, schema);
}

/* A body of a row that says what its members are. */
struct members {
    json_t *properties, *required;
};

static void add_member(const char *word, size_t n, void *to)
{
    struct members *m = to;
    bool must = word[n - 1] == '!';
    const struct parameter *p = member_find(word, n - must);
    if (!p)
        return;
    json_object_set_new(m->properties, p->name,
                        json_pack("{s:s, s:s}", "type", p->type, "description", p->meaning));
    if (must)
        json_array_append_new(m->required, json_string(p->name));
}

static json_t *members_body_of(const struct route *route)
{
    struct members m = {json_object(), json_array()};
    each_word(route->members, add_member, &m);
    bool must = json_array_size(m.required) > 0;
    json_t *body = json_pack("{s:b, s:{s:{s:{s:s, s:o, s:b, s:o}}}}", "required", must, "content",
                             "application/json", "schema", "type", "object", "required", m.required,
                             "additionalProperties", route->lines, "properties", m.properties);
    if (route->lines)
        json_object_set_new(json_object_get(body, "content"), "application/x-ndjson",
                            json_pack("{s:{s:s}}", "schema", "type", "string"));
    return body;
}

/* A body is a submission: the query parameters of the same row, source and launch. */
static json_t *submission_body_of(const struct route *route)
{
    json_t *properties =
        json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "source", "type", "string", "description",
                  "device code, UTF-8", "launch", "type", "object", "description",
                  "the launch plan, unless the source holds it in a comment /*ptxbench-launch");
    each_word(route->query, add_property, properties);
    return json_pack("{s:b, s:{s:{s:{s:s, s:[s, s, s], s:b, s:o}}, s:{s:{s:s}}}}", "required", 1,
                     "content", "application/json", "schema", "type", "object", "required",
                     "problem", "arch", "source", "additionalProperties", 0, "properties",
                     properties, "text/plain", "schema", "type", "string");
}

static json_t *answers_of(const struct route *route)
{
    const char *code = route->method == METHOD_POST ? "2XX" : "200";
    return json_pack("{s:{s:s, s:{s:{}}}, s:{s:s, s:{s:{s:{s:s}}}}}", code, "description",
                     "success", "content", route->answer, "default", "description",
                     "RFC 9457 problem", "content", "application/problem+json", "schema", "$ref",
                     "#/components/schemas/Problem");
}

static json_t *operation(const struct route *route, const char *path)
{
    json_t *parameters = json_array();
    add_captures(path, parameters);
    each_word(route->query, add_query, parameters);
    json_t *op = json_pack("{s:s, s:o, s:o}", "summary", route->summary, "parameters", parameters,
                           "responses", answers_of(route));
    if (route->body)
        json_object_set_new(op, "requestBody",
                            route->members ? members_body_of(route) : submission_body_of(route));
    if (route->need != NEED_NOTHING)
        json_object_set_new(op, "security", json_pack("[{s:[]}, {}]", "bearer"));
    return op;
}

static json_t *problem_schema(void)
{
    json_t *codes = json_array();
    for (int e = ERR_NONE + 1; e < ERR_COUNT; e++)
        json_array_append_new(codes, json_string(err_code((enum err)e)));
    return json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s, s:o}, s:{s:s}, s:{s:s}}}", "type",
                     "object", "properties", "type", "type", "string", "title", "type", "string",
                     "status", "type", "integer", "code", "type", "string", "enum", codes, "detail",
                     "type", "string", "errors", "type", "array");
}

enum err openapi_get(struct request *r)
{
    json_t *paths = json_object();
    for (size_t i = 0; i < route_count; i++) {
        char path[TEMPLATE];
        route_template(&routes[i], path, sizeof(path));
        json_t *item = json_object_get(paths, path);
        if (!item) {
            json_object_set_new(paths, path, json_object());
            item = json_object_get(paths, path);
        }
        json_object_set_new(item, routes[i].method == METHOD_POST ? "post" : "get",
                            operation(&routes[i], path));
    }
    return answer_tag(
        r,
        answer_json(r, 200,
                    json_pack("{s:s, s:{s:s, s:s}, s:o, s:{s:{s:o}, s:{s:{s:s, s:s}}}}", "openapi",
                              "3.1.0", "info", "title", "PTXBench", "version", PTXBENCH_VERSION,
                              "paths", paths, "components", "schemas", "Problem", problem_schema(),
                              "securitySchemes", "bearer", "type", "http", "scheme", "bearer")));
}
