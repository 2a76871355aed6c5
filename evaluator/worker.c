// SPDX-License-Identifier: Apache-2.0
// The worker's loop: one poll() over signals, the listener and the child; everything else is a due
// time. A database error ends the session (worker_run begins a new one): crash-only, within the
// process.
#include "evaluator/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/db/listen.h"
#include "core/db/migrate.h"
#include "core/log.h"
#include "evaluator/device.h"
#include "evaluator/worker_device.h"
#include "evaluator/worker_hands.h"
#include "evaluator/worker_keeper.h"

enum {
    STATEMENT_TIMEOUT_MS = 30000,
    PRUNE_MS = 60000,
    RETRY_FIRST_MS = 250,
    RETRY_MAX_MS = 10000,
    AHEAD_MS = 100, /* a worker that has a job leaves the next one to idle workers for so long */
    FIXED_FDS = 3,
    SESSION_FDS = FIXED_FDS + HANDS_FDS,
};

struct worker {
    const struct worker_config *config;
    char name[LIMIT_WORKER_NAME], host[80];
    int signals;    /* signalfd of SIGTERM and SIGINT */
    int stop_asked; /* 1: drain; 2: give the job back */

    struct worker_keeper keeper;
    struct worker_device device;
    unsigned told; /* of keeper.changes, those that the database has heard of */
    unsigned healths_told;

    struct db *db; /* of the session */
    struct listener *listener;
    struct worker_hands hands;
    bool hinted; /* a job was queued, or we just became free: claim without waiting for the poll */
    int64_t claim_due, beat_due, reap_due, prune_due;
};

/* A wait of about `ms`, so that workers do not move in step. */
static int64_t jittered(int ms)
{
    uint16_t r;
    random_bytes(&r, sizeof(r));
    return ms - ms / 4 + (int64_t)ms / 2 * r / UINT16_MAX;
}

/* A second job only while the first has the device: then its compiler idles. */
static bool may_claim(const struct worker *w)
{
    int most = w->keeper.ordinal < 0 || hands_compile(&w->hands) ? 1 : HANDS;
    return !w->stop_asked && hands_busy(&w->hands) < most && worker_keeper_serves(&w->keeper);
}

/* ---- hints ---- */

static bool serves(const struct worker *w, const char *lane)
{
    size_t n = strlen(lane);
    for (const char *at = strstr(w->device.lanes, lane); at && n; at = strstr(at + 1, lane))
        if (strchr("{,", at[-1]) && strchr(",}", at[n])) /* lanes has a brace at each end */
            return true;
    return false;
}

static void notified(void *arg, const char *channel, const char *payload)
{
    struct worker *w = arg;
    if (strcmp(channel, CHANNEL_JOB_QUEUED) == 0 && serves(w, payload))
        w->hinted = true;
    else if (strcmp(channel, CHANNEL_JOB_CANCEL) == 0 && hands_hold(&w->hands, strtoll(payload, NULL, 10)))
        w->beat_due = 0; /* the heartbeat tells whether it is true */
}

static void listening_again(void *arg)
{
    ((struct worker *)arg)->hinted = true;
}

/* ---- the device ---- */

static enum err tell_health(struct worker *w, struct fault *f)
{
    const char *detail, *state = worker_keeper_state(&w->keeper, &detail);
    const struct keeper *k = &w->keeper.keeper;
    bool measured = w->keeper.running && k->health && k->healths != w->healths_told;
    char *health = measured ? json_dumps(k->health, JSON_COMPACT) : NULL;
    enum err e = queue_worker_health(w->db, w->name, state, detail, health, f);
    free(health);
    w->healths_told = k->healths;
    return e;
}

static enum err introduce(struct worker *w, struct fault *f)
{
    const struct worker_config *c = w->config;
    const struct worker_device *d = &w->device;
    return queue_worker_start(w->db,
                              &(struct worker_info){.name = w->name,
                                                    .host = w->host,
                                                    .device = c->device,
                                                    .device_uuid = d->uuid,
                                                    .device_model = d->model,
                                                    .driver = d->driver[0] ? d->driver : NULL,
                                                    .lanes = d->lanes,
                                                    .lease_ms = c->lease_ms},
                              f);
}

/* Once its keeper is ready, a GPU is known for what it is. */
static bool learn_device(struct worker *w)
{
    struct worker_device d;
    struct fault f = {0};
    if (!w->keeper.running || !w->keeper.keeper.device)
        return false;
    if (worker_device_gpu(&d, w->keeper.keeper.device, w->config->archs, &f) != ERR_NONE) {
        worker_keeper_blame(&w->keeper, w->keeper.generation, f.detail);
        return false;
    }
    bool new = strcmp(d.uuid, w->device.uuid) != 0;
    w->device = d;
    return new;
}

/* Tells the database what has become of the device since it last heard. */
static enum err tell_device(struct worker *w, struct fault *f)
{
    if (w->told == w->keeper.changes)
        return ERR_NONE;
    bool new = learn_device(w);
    w->told = w->keeper.changes;
    w->hinted = true; /* it may serve now */
    enum err e = new ? introduce(w, f) : ERR_NONE;
    return e == ERR_NONE ? tell_health(w, f) : e;
}

/* ---- what is due ---- */

/* The keeper of the worker's device, or NULL for one that has none. */
static struct keeper *keeper_of(struct worker *w)
{
    return w->keeper.ordinal >= 0 ? &w->keeper.keeper : NULL;
}

static enum err claim(struct worker *w, struct fault *f)
{
    bool got;
    struct worker_job *work = hands_free(&w->hands);
    w->hinted = false;
    w->claim_due = now_ms() + jittered(w->config->poll_ms);
    enum err e =
        queue_claim(w->db, w->name, w->device.lanes, w->config->lease_ms, &work->job, &got, f);
    if (e == ERR_NONE && got) {
        if (!hands_busy(&w->hands))
            w->beat_due = now_ms() + w->config->beat_ms;
        work->generation = w->keeper.generation;
        return worker_job_start(work, w->db, w->config, keeper_of(w), f);
    }
    if (e == ERR_NONE && w->config->exit_when_idle)
        w->stop_asked = 1;
    return e;
}

static enum err renew(struct worker *w, struct worker_job *work, struct fault *f)
{
    bool mine, cancel;
    enum err e = queue_heartbeat(w->db, &work->job, w->config->lease_ms, &mine, &cancel, f);
    if (e == ERR_NONE && !mine)
        worker_job_stop(work, STOP_LEASE_LOST);
    else if (e == ERR_NONE && cancel)
        worker_job_stop(work, STOP_CANCELLED);
    return e;
}

/* Renews the leases, or at least says that we live. */
static enum err beat(struct worker *w, struct fault *f)
{
    enum err e = ERR_NONE;
    w->beat_due = now_ms() + w->config->beat_ms;
    for (int i = 0; e == ERR_NONE && i < HANDS; i++)
        if (w->hands.job[i].busy)
            e = renew(w, &w->hands.job[i], f);
    return e == ERR_NONE && !hands_busy(&w->hands) ? queue_worker_seen(w->db, w->name, f) : e;
}

static enum err reap(struct worker *w, struct fault *f)
{
    int count;
    w->reap_due = now_ms() + w->config->reap_ms;
    enum err e = queue_reap(w->db, &count, f);
    if (e == ERR_NONE && count)
        log_warn("took back jobs of lost workers", "count=%d", count);
    if (e == ERR_NONE && now_ms() >= w->prune_due) {
        w->prune_due = now_ms() + PRUNE_MS;
        e = queue_prune(w->db, &count, f);
    }
    return e;
}

/* Turns a hint into a time to claim. */
static void heed_hint(struct worker *w)
{
    int64_t due = now_ms() + (hands_busy(&w->hands) ? AHEAD_MS : 0);
    if (w->hinted && due < w->claim_due)
        w->claim_due = due;
    w->hinted = false;
}

static enum err do_what_is_due(struct worker *w, struct fault *f)
{
    enum err e = tell_device(w, f);
    if (may_claim(w))
        heed_hint(w);
    if (e == ERR_NONE && may_claim(w) && now_ms() >= w->claim_due)
        e = claim(w, f);
    if (e == ERR_NONE && now_ms() >= w->beat_due)
        e = beat(w, f);
    if (e == ERR_NONE && now_ms() >= w->reap_due)
        e = reap(w, f);
    hands_stop_overdue(&w->hands);
    return e;
}

static int time_to_wait(const struct worker *w, int listener_ms)
{
    int64_t now = now_ms(), due = w->beat_due < w->reap_due ? w->beat_due : w->reap_due;
    if (hands_budget_end(&w->hands) < due)
        due = hands_budget_end(&w->hands);
    if (may_claim(w) && w->claim_due < due)
        due = w->claim_due;
    if (worker_keeper_due(&w->keeper) < due)
        due = worker_keeper_due(&w->keeper);
    if (now + listener_ms < due)
        due = now + listener_ms;
    return due > now ? (int)(due - now) : 0;
}

/* ---- signals ---- */

static void read_signals(struct worker *w)
{
    struct signalfd_siginfo s;
    while (read(w->signals, &s, sizeof(s)) == sizeof(s)) {
        w->stop_asked++;
        log_info(w->stop_asked == 1 ? "draining" : "giving back what is in hand", "signal=%u jobs=%d",
                 s.ssi_signo, hands_busy(&w->hands));
    }
    if (w->stop_asked > 1)
        hands_stop(&w->hands, STOP_RELEASE);
}

/* ---- the session ---- */

static enum err session_open(struct worker *w, struct fault *f)
{
    static const char *const channels[] = {CHANNEL_JOB_QUEUED, CHANNEL_JOB_CANCEL, NULL};
    const struct worker_config *c = w->config;
    enum err e = migrate_check(c->database, c->home, f);
    if (e != ERR_NONE)
        return e;
    struct db_options o = {.conninfo = c->database,
                           .application = "ptxbench-worker",
                           .statement_timeout_ms = STATEMENT_TIMEOUT_MS};
    struct listen_hooks hooks = {notified, listening_again, w};
    w->db = db_open(&o, f);
    w->listener = listener_new(&o, channels, &hooks);
    if (!w->db || !w->listener)
        return w->db ? fault_set(f, ERR_NO_MEMORY, "cannot listen") : ERR_DATABASE;
    int64_t now = now_ms();
    w->hinted = true;
    w->claim_due = now;
    w->beat_due = now + c->beat_ms;
    w->reap_due =
        now + c->lease_ms; /* after an outage all heartbeats are late: nobody is lost yet */
    w->prune_due = now + c->lease_ms + jittered(PRUNE_MS);
    e = introduce(w, f);
    w->healths_told = 0;
    return e == ERR_NONE && w->keeper.ordinal >= 0 ? tell_health(w, f) : e;
}

static void session_close(struct worker *w)
{
    hands_release(&w->hands);
    listener_free(w->listener);
    db_close(w->db);
    w->listener = NULL;
    w->db = NULL;
}

static enum err advance(struct worker *w, struct worker_job *work, struct fault *f)
{
    bool was_on_device = work->on_device;
    enum err e = worker_job_advance(work, f);
    if (!work->busy) {
        hands_begin_budgets(&w->hands);
        if (work->device_failed)
            worker_keeper_blame(&w->keeper, work->generation, work->device_detail);
    }
    if (!work->busy || was_on_device != work->on_device)
        w->hinted = true; /* a hand is free, and there may be more to do */
    return e;
}

static enum err session_turn(struct worker *w, struct fault *f)
{
    int listener_ms = listener_pump(w->listener);
    worker_keeper_turn(&w->keeper);
    enum err e = do_what_is_due(w, f);
    if (e != ERR_NONE || (w->stop_asked && !hands_busy(&w->hands)))
        return e;
    struct pollfd fds[SESSION_FDS] = {{w->signals, POLLIN, 0},
                                      {listener_socket(w->listener), POLLIN, 0},
                                      {worker_keeper_fd(&w->keeper), POLLIN, 0}};
    hands_fds(&w->hands, fds + FIXED_FDS);
    if (!w->hinted || !may_claim(w)) {
        if (poll(fds, SESSION_FDS, time_to_wait(w, listener_ms)) < 0 && errno != EINTR)
            return fault_set(f, ERR_IO, "cannot poll: %s", strerror(errno));
    }
    read_signals(w);
    for (int i = 0; e == ERR_NONE && i < HANDS; i++)
        if (w->hands.job[i].busy)
            e = advance(w, &w->hands.job[i], f);
    return e;
}

static enum err session(struct worker *w, struct fault *f)
{
    enum err e = session_open(w, f);
    if (e == ERR_NONE)
        log_info("worker ready", "name=%s device=%s lanes=%s", w->name, w->config->device,
                 w->device.lanes);
    while (e == ERR_NONE && !(w->stop_asked && !hands_busy(&w->hands)))
        e = session_turn(w, f);
    if (e == ERR_NONE)
        e = queue_worker_stop(w->db, w->name, f);
    session_close(w);
    return e;
}

/* Sleeps, but not through a signal. */
static void pause_ms(struct worker *w, int ms)
{
    struct pollfd fd = {w->signals, POLLIN, 0};
    if (poll(&fd, 1, (int)jittered(ms)) > 0)
        read_signals(w);
}

static enum err device_init(struct worker *w, struct fault *f)
{
    const struct worker_config *c = w->config;
    worker_keeper_init(&w->keeper, device_ordinal(c->device));
    if (w->keeper.ordinal < 0)
        return worker_device_cpu(&w->device, w->host, c->archs, f);
    worker_device_unknown(&w->device, c->device, w->host);
    return ERR_NONE;
}

enum err worker_run(const struct worker_config *config, struct fault *f)
{
    struct worker w = {.config = config};
    gethostname(w.host, sizeof(w.host) - 1);
    snprintf(w.name, sizeof(w.name), "%s:%d:%lld", w.host, getpid(), (long long)time(NULL));
    if (device_init(&w, f) != ERR_NONE)
        return ERR_CONFLICT;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    w.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w.signals < 0)
        return fault_set(f, ERR_IO, "cannot watch signals: %s", strerror(errno));
    enum err e = ERR_DATABASE;
    for (int retry_ms = RETRY_FIRST_MS; !w.stop_asked;) {
        int64_t began = now_ms();
        e = session(&w, f);
        if (e == ERR_NONE || e == ERR_CONFLICT)
            break;
        if (now_ms() - began > RETRY_MAX_MS)
            retry_ms = RETRY_FIRST_MS; /* it was up for a while */
        log_error("session ended", "reason=\"%s\" retry_ms=%d", f ? f->detail : err_title(e),
                  retry_ms);
        pause_ms(&w, retry_ms);
        retry_ms = 2 * retry_ms < RETRY_MAX_MS ? 2 * retry_ms : RETRY_MAX_MS;
    }
    worker_keeper_stop(&w.keeper);
    close(w.signals);
    return e == ERR_CONFLICT ? e : ERR_NONE;
}
