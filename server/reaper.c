// SPDX-License-Identifier: Apache-2.0
#include "server/reaper.h"

#include "core/db/db.h"
#include "core/db/queue.h"
#include "core/log.h"
#include "core/util.h"

enum { STATEMENT_MS = 5000 };

void reaper_init(struct reaper *r, const struct config *config)
{
    *r = (struct reaper){.config = config, .due_ms = now_ms() + config->lease_ms};
}

static enum err sweep(struct reaper *r, struct fault *f)
{
    struct db_options options = {.conninfo = r->config->database,
                                 .application = "ptxbench-server reaper",
                                 .statement_timeout_ms = STATEMENT_MS};
    if (!r->db && !(r->db = db_open(&options, f)))
        return ERR_DATABASE;
    int count = 0;
    enum err e = queue_reap(r->db, &count, f);
    if (!e && count)
        log_warn("took back jobs of lost workers", "count=%d", count);
    return e;
}

int reaper_turn(struct reaper *r)
{
    int64_t now = now_ms();
    if (now >= r->due_ms) {
        struct fault f = {0};
        bool failed = sweep(r, &f) != ERR_NONE;
        if (failed) {
            log_warn("cannot look for lost jobs", "detail=\"%s\"", f.detail);
            reaper_release(r);
        }
        /* after an outage every heartbeat has failed: give workers a lease to renew theirs */
        r->due_ms = now_ms() + (failed ? r->config->lease_ms : r->config->reap_ms);
        now = now_ms();
    }
    return r->due_ms > now ? (int)(r->due_ms - now) : 0;
}

void reaper_release(struct reaper *r)
{
    if (r->db)
        db_close(r->db);
    r->db = NULL;
}
