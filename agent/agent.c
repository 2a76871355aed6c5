// SPDX-License-Identifier: Apache-2.0
// The agent's loop: one wait over calls, the listener and signals; everything else is a due time.
#include "agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/agent_parts.h"
#include "core/db/listen.h"
#include "core/db/migrate.h"
#include "core/log.h"
#include "core/util.h"

enum {
    STATEMENT_TIMEOUT_MS = 30000,
    RETRY_FIRST_MS = 250,
    RETRY_MAX_MS = 10000,
    LAST_MS = 5000, /* after a second signal, so long for what is still to be stored */
};

/* ---- hints ---- */

static void notified(void *arg, const char *channel, const char *payload)
{
    struct agent *a = arg;
    if (!strcmp(channel, CHANNEL_JOB_QUEUED)) {
        a->hinted = a->hinted || agent_lane(a, payload);
        return;
    }
    for (const struct hand *h = a->hands; h; h = h->sibling)
        if (h->job.id == strtoll(payload, NULL, 10))
            a->beat_due = 0; /* the heartbeat tells whether it is true */
}

static void listening_again(void *arg)
{
    ((struct agent *)arg)->hinted = true;
}

/* ---- what is due ---- */

static void advance_hands(struct agent *a)
{
    for (struct hand **at = &a->hands; *at;) {
        struct hand *h = *at;
        hand_advance(h);
        if (!h->done) {
            at = &h->sibling;
            continue;
        }
        if (h->delay_ms > 0 && now_ms() + h->delay_ms < a->claim_due)
            a->claim_due = now_ms() + h->delay_ms; /* nobody tells when it is over */
        *at = h->sibling;
        hand_free(h);
        a->hinted = true; /* there is room, and perhaps a next step */
    }
}

static void give_back(struct agent *a)
{
    for (struct hand *h = a->hands; h; h = h->sibling)
        hand_stop(h, "the agent was stopped");
}

static enum err do_what_is_due(struct agent *a, struct fault *f)
{
    int64_t now = now_ms();
    enum err e = a->introduced ? ERR_NONE : agent_introduce(a, f);
    advance_hands(a);
    if (e == ERR_NONE && now >= a->beat_due)
        e = agent_beat(a, f);
    if (e == ERR_NONE && now >= a->reap_due)
        e = agent_reap(a, f);
    if (e == ERR_NONE && agent_may_claim(a) && (a->hinted || now >= a->claim_due)) {
        e = agent_claim(a, f);
        advance_hands(a);
    }
    if (a->stop_asked && now >= a->stop_ms)
        give_back(a);
    return e;
}

/* An outage: calls go on, and nothing is asked of the database for a moment. */
static void outage(struct agent *a, const struct fault *f)
{
    int64_t again = now_ms() + agent_jittered(2 * RETRY_FIRST_MS);
    log_error("the database failed", "reason=\"%s\"", f->detail);
    a->hinted = false;
    a->claim_due = a->claim_due > again ? a->claim_due : again;
    a->beat_due = a->beat_due > again ? a->beat_due : again;
    a->reap_due = now_ms() + a->config->lease_ms; /* all heartbeats are late: nobody is lost yet */
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int time_to_wait(const struct agent *a, int listener_ms)
{
    int64_t now = now_ms(), due = earlier(earlier(a->beat_due, a->reap_due), now + listener_ms);
    for (const struct hand *h = a->hands; h; h = h->sibling)
        if (h->next || h->done)
            due = earlier(due, h->due_ms);
    if (a->stop_asked)
        due = a->stop_ms > now ? earlier(due, a->stop_ms) : due;
    if (agent_may_claim(a)) {
        due = a->hinted ? now : earlier(due, a->claim_due);
        for (size_t i = 0; i < a->config->providers->count; i++)
            if (lane_opens(&a->lanes[i]) > now)
                due = earlier(due, lane_opens(&a->lanes[i]));
    }
    return due > now ? (int)(due - now) : 0;
}

/* A lane that opens is as good as a hint. */
static void heed_lanes(struct agent *a, int64_t before)
{
    for (size_t i = 0; i < a->config->providers->count; i++)
        if (lane_opens(&a->lanes[i]) > before && lane_opens(&a->lanes[i]) <= now_ms())
            a->hinted = true;
}

static void read_signals(struct agent *a)
{
    struct signalfd_siginfo s;
    while (read(a->signals, &s, sizeof(s)) == sizeof(s)) {
        a->stop_asked++;
        a->stop_ms = now_ms() + (a->stop_asked == 1 ? a->config->grace_ms : 0);
        log_info(a->stop_asked == 1 ? "draining" : "giving back what is in hand",
                 "signal=%u calls=%zu", s.ssi_signo, talk_running(a->bench.talker));
    }
}

/* ---- life ---- */

static bool is_over(const struct agent *a)
{
    if (a->config->exit_when_idle && a->idle)
        return true;
    return a->stop_asked && (!a->hands || now_ms() > a->stop_ms + LAST_MS);
}

static enum err turn(struct agent *a, struct fault *f)
{
    int listener_ms = listener_pump(a->listener);
    struct fault why = {0};
    if (do_what_is_due(a, &why) != ERR_NONE)
        outage(a, &why);
    if (is_over(a))
        return ERR_NONE;
    int64_t before = now_ms();
    struct pollfd fds[] = {{a->signals, POLLIN, 0}, {listener_socket(a->listener), POLLIN, 0}};
    enum err e = talk_wait(a->bench.talker, fds, COUNT_OF(fds), time_to_wait(a, listener_ms), f);
    heed_lanes(a, before);
    read_signals(a);
    return e;
}

/* Sleeps, but not through a signal. */
static void pause_ms(struct agent *a, int ms)
{
    struct pollfd fd = {a->signals, POLLIN, 0};
    if (poll(&fd, 1, (int)agent_jittered(ms)) > 0)
        read_signals(a);
}

/* Until there is a database of our schema. */
static enum err connect_database(struct agent *a, struct fault *f)
{
    static const char *const channels[] = {CHANNEL_JOB_QUEUED, CHANNEL_JOB_CANCEL, NULL};
    const struct agent_config *c = a->config;
    struct db_options o = {.conninfo = c->database,
                           .application = "ptxbench-agent",
                           .statement_timeout_ms = STATEMENT_TIMEOUT_MS};
    struct listen_hooks hooks = {notified, listening_again, a};
    for (int retry_ms = RETRY_FIRST_MS; !a->bench.db && !a->stop_asked;) {
        enum err e = migrate_check(c->database, c->home, f);
        if (e == ERR_CONFLICT)
            return e;
        a->bench.db = e == ERR_NONE ? db_open(&o, f) : NULL;
        if (a->bench.db)
            break;
        log_error("no database", "reason=\"%s\" retry_ms=%d", f->detail, retry_ms);
        pause_ms(a, retry_ms);
        retry_ms = 2 * retry_ms < RETRY_MAX_MS ? 2 * retry_ms : RETRY_MAX_MS;
    }
    a->listener = listener_new(&o, channels, &hooks);
    return a->listener ? ERR_NONE : fault_set(f, ERR_NO_MEMORY, "cannot listen: out of memory");
}

static enum err open_agent(struct agent *a, struct fault *f)
{
    const struct providers *p = a->config->providers;
    a->bench.name = a->name;
    a->lanes = calloc(p->count, sizeof(*a->lanes));
    a->bench.talker = talker_new(f);
    if (!a->lanes || !a->bench.talker)
        return fault_set(f, ERR_NO_MEMORY, "cannot start: out of memory");
    for (size_t i = 0; i < p->count; i++)
        lane_init(&a->lanes[i], &p->items[i]);
    enum err e = registry_load(&a->bench.registry, a->config->home, f);
    if (e == ERR_NONE)
        e = connect_database(a, f);
    int64_t now = now_ms();
    a->hinted = true;
    a->beat_due = now + a->config->beat_ms;
    a->reap_due = now + a->config->lease_ms; /* as after an outage, see there */
    return e;
}

static void close_agent(struct agent *a)
{
    while (a->hands) {
        struct hand *h = a->hands;
        a->hands = h->sibling;
        hand_free(h);
    }
    struct fault f = {0};
    if (a->bench.db && queue_worker_stop(a->bench.db, a->name, &f) != ERR_NONE)
        log_warn("could not say goodbye", "reason=\"%s\"", f.detail);
    listener_free(a->listener);
    db_close(a->bench.db);
    talker_free(a->bench.talker);
    registry_release(&a->bench.registry);
    free(a->lanes);
}

static enum err watch_signals(struct agent *a, struct fault *f)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    a->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return a->signals < 0 ? fault_set(f, ERR_IO, "cannot watch signals: %s", strerror(errno))
                          : ERR_NONE;
}

enum err agent_run(const struct agent_config *config, struct fault *f)
{
    struct agent a = {.config = config};
    gethostname(a.host, sizeof(a.host) - 1);
    snprintf(a.name, sizeof(a.name), "%s:%d:%lld", a.host, getpid(), (long long)time(NULL));
    enum err e = watch_signals(&a, f);
    if (e == ERR_NONE)
        e = open_agent(&a, f);
    if (e == ERR_NONE)
        log_info("agent ready", "name=%s providers=%zu", a.name, config->providers->count);
    while (e == ERR_NONE && !is_over(&a))
        e = turn(&a, f);
    close_agent(&a);
    if (a.signals >= 0)
        close(a.signals);
    return e;
}
