// SPDX-License-Identifier: Apache-2.0
#include "server/run_parts.h"

#include <string.h>

#include "core/run.h"

json_t *run_lane(struct request *r, const char *provider)
{
    json_t *queue = NULL, *lane, *found = NULL;
    size_t i;
    const char *name = request_printf(r, "llm/%s", provider);
    if (store_queue(r->db, &queue, &r->fault))
        return NULL;
    json_array_foreach(json_object_get(queue, "lanes"), i, lane)
    {
        const char *its = json_string_value(json_object_get(lane, "name"));
        if (its && !strcmp(its, name))
            found = json_pack("{s:s, s:O, s:O}", "name", name, "healthy",
                              json_object_get(lane, "healthy"), "workers",
                              json_object_get(lane, "workers"));
    }
    json_decref(queue);
    return found ? found : json_pack("{s:s, s:b, s:i}", "name", name, "healthy", 0, "workers", 0);
}

json_t *run_shape(struct request *r, json_t *document)
{
    const char *id = json_string_value(json_object_get(document, "id"));
    const char *state = json_string_value(json_object_get(document, "state"));
    const char *provider = json_string_value(json_object_get(document, "provider"));
    if (!id)
        return document;
    json_object_set_new(document, "url", json_sprintf("/v1/runs/%s", id));
    json_object_set_new(document, "events", json_sprintf("/v1/runs/%s/events", id));
    json_object_set_new(document, "export", json_sprintf("/v1/runs/%s/export", id));
    if (provider && state && strcmp(state, "done") != 0)
        json_object_set_new(document, "lane", run_lane(r, provider));
    return document;
}

enum err run_body(struct request *r, bool may_lack, json_t **out)
{
    char type[FIELD_MEDIA];
    field_media_type(r->headers.content_type, type);
    size_t n = strlen(type);
    *out = NULL;
    if (!r->body.len && may_lack)
        return (*out = request_keep_json(r, json_object())) ? ERR_NONE : ERR_NO_MEMORY;
    if (strcmp(type, "application/json") != 0 && (n < 5 || strcmp(type + n - 5, "+json") != 0))
        return fault_set(&r->fault, ERR_CONTENT_TYPE, "the body must be application/json");
    *out =
        request_keep_json(r, json_parse(r->body.data ? r->body.data : "", r->body.len, &r->fault));
    return *out ? ERR_NONE : r->fault.code ? r->fault.code : ERR_NO_MEMORY;
}

enum err run_trajectory_number(struct request *r, int *out)
{
    int64_t number;
    if (!field_number(r->captures[1], RUN_TRAJECTORIES - 1, &number))
        return fault_set(&r->fault, ERR_NOT_FOUND, "no run has a trajectory of that number");
    *out = (int)number;
    return ERR_NONE;
}

void run_check_private(struct request *r, bool is_private, const char *path)
{
    if (is_private && r->who.owner_id == OWNER_ANONYMOUS)
        faults_add(&r->faults, path, "private needs a token: without one nobody could read it");
}
