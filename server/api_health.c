// SPDX-License-Identifier: Apache-2.0
// Is it alive, is it ready, what is it?
#include "core/db/migrate.h"
#include "server/api.h"
#include "server/hub.h"
#include "server/service.h"

enum { SCHEMA_TRUST_MS = 10000 }; /* a schema that was right is looked at again after this */

enum err health_get(struct request *r)
{
    return answer_json(r, 200, json_pack("{s:s}", "status", "alive"));
}

enum err version_get(struct request *r)
{
    return answer_json(r, 200, json_pack("{s:s, s:s}", "version", PTXBENCH_VERSION, "api", "v1"));
}

/* migrate_check opens a connection of its own, so a good answer is kept for a while. */
static enum err check_schema(const struct service *s, struct fault *f)
{
    static _Atomic int64_t good_until_ms;
    if (now_ms() < atomic_load(&good_until_ms))
        return ERR_NONE;
    enum err e = migrate_check(s->config.database, home_dir(), f);
    if (!e)
        atomic_store(&good_until_ms, now_ms() + SCHEMA_TRUST_MS);
    return e;
}

enum err ready_get(struct request *r)
{
    if (!r->db)
        return ERR_DATABASE;
    enum err e = store_health(r->db, &r->fault);
    if (!e)
        e = check_schema(r->service, &r->fault);
    json_t *queue = NULL;
    if (!e)
        e = store_queue(r->db, &queue, &r->fault);
    if (e) /* whatever it is, not ready is 503 */
        return err_status(e) == 503 ? e : ERR_UNAVAILABLE;
    json_t *lanes = json_object_get(queue, "lanes");
    json_t *document =
        json_pack("{s:b, s:b, s:O}", "ready", 1, "listening", hub_state(r->service->hub).listening,
                  "lanes", lanes ? lanes : json_null());
    json_decref(queue);
    return answer_json(r, 200, document);
}
