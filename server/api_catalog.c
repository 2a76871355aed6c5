// SPDX-License-Identifier: Apache-2.0
// What may be submitted for: problems and architectures, from the registry that main loaded.
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/service.h"

static json_t *problem_row(const struct problem *p)
{
    json_t *row = json_pack("{s:s, s:s, s:i, s:s}", "name", p->name, "title", p->title, "workloads",
                            (int)p->workload_count, "default_workload",
                            p->paper_workload ? p->paper_workload->name : "");
    json_object_set_new(row, "cpu_workload",
                        p->cpu_workload ? json_string(p->cpu_workload->name) : json_null());
    json_t *names = json_array();
    for (size_t i = 0; i < p->workload_count; i++)
        json_array_append_new(names, json_string(p->workloads[i].name));
    json_object_set_new(row, "workload_names", names);
    json_object_set_new(row, "url", json_sprintf("/v1/problems/%s", p->name));
    return row;
}

enum err problems_list(struct request *r)
{
    const struct problems *all = &r->service->registry.problems;
    json_t *items = json_array();
    for (size_t i = 0; i < all->count; i++)
        json_array_append_new(items, problem_row(&all->items[i]));
    return answer_tag(r, answer_json(r, 200, json_pack("{s:o}", "items", items)));
}

/* Documents are shared by threads, and jansson's reference counts are atomic where it was built so;
 * a dump takes none, which is why this does not go through answer_json. */
static enum err answer_document(struct request *r, const json_t *document)
{
    char *text = json_dumps(document, JSON_INDENT(1));
    if (!request_keep(r, text, free))
        return fault_set(&r->fault, ERR_NO_MEMORY, "cannot build the answer");
    r->out.status = 200;
    r->out.type = "application/json";
    r->out.body = text;
    r->out.len = strlen(text);
    return answer_tag(r, ERR_NONE);
}

enum err problem_get(struct request *r)
{
    const struct problem *p = problems_find(&r->service->registry.problems, r->captures[0]);
    if (!p)
        return fault_set(&r->fault, ERR_NOT_FOUND,
                         "there is no problem '%s'; /v1/problems lists them", r->captures[0]);
    return answer_document(r, p->document);
}

enum err archs_list(struct request *r)
{
    const struct archs *all = &r->service->registry.archs;
    json_t *items = json_array();
    for (size_t i = 0; i < all->count; i++) {
        const struct arch *a = &all->items[i];
        json_t *row = json_pack("{s:s, s:s, s:s, s:i}", "name", a->name, "title", a->title, "gpu",
                                a->gpu, "num_sms", a->num_sms);
        json_t *devices = json_array();
        for (size_t d = 0; d < a->device_count; d++)
            json_array_append_new(devices, json_string(a->devices[d]));
        json_object_set_new(row, "devices", devices);
        json_object_set_new(row, "url", json_sprintf("/v1/archs/%s", a->name));
        json_array_append_new(items, row);
    }
    return answer_tag(r, answer_json(r, 200, json_pack("{s:o}", "items", items)));
}

enum err arch_get(struct request *r)
{
    const struct arch *a = archs_find(&r->service->registry.archs, r->captures[0]);
    if (!a)
        return fault_set(&r->fault, ERR_NOT_FOUND,
                         "there is no architecture '%s'; /v1/archs lists them", r->captures[0]);
    return answer_document(r, a->document);
}
