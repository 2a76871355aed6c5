// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/util.h"
#include "server/hub.h"
#include "server/pool.h"
#include "server/routes.h"
#include "server/service.h"

enum { ROUTES = 64, STATUSES = 600, METRICS_TEXT = 1 * MIB };

static const int64_t bounds_ms[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};

struct metrics {
    _Atomic uint32_t requests[ROUTES][STATUSES];
    _Atomic uint64_t buckets[COUNT_OF(bounds_ms) + 1];
    _Atomic uint64_t busy_ms;
};

struct metrics *metrics_new(void)
{
    return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *m)
{
    free(m);
}

void metrics_request(struct metrics *m, size_t route, int status, int64_t busy_ms)
{
    if (route < ROUTES && status > 0 && status < STATUSES)
        m->requests[route][status]++;
    size_t i = 0;
    while (i < COUNT_OF(bounds_ms) && busy_ms > bounds_ms[i])
        i++;
    m->buckets[i]++;
    m->busy_ms += (uint64_t)busy_ms;
}

/* ---- what this process knows ---- */

static double parked(const struct service *s)
{
    return (double)hub_state(s->hub).parked;
}

static double streams(const struct service *s)
{
    return (double)hub_state(s->hub).streams;
}

static double listening(const struct service *s)
{
    return hub_state(s->hub).listening;
}

static double waiting(const struct service *s)
{
    return (double)pool_state(s->pool).queued;
}

static double threads(const struct service *s)
{
    return (double)pool_state(s->pool).threads;
}

static double busy(const struct service *s)
{
    return (double)pool_state(s->pool).busy;
}

static double draining(const struct service *s)
{
    return atomic_load(&s->draining);
}

static const struct {
    const char *name, *help;
    double (*read)(const struct service *s);
} gauges[] = {
    {"ptxbench_http_parked_requests", "requests that wait for a submission (?wait=)", parked},
    {"ptxbench_http_streams", "open event streams", streams},
    {"ptxbench_db_listening", "1 while the LISTEN connection is up", listening},
    {"ptxbench_db_pool_waiting", "requests waiting for a database thread", waiting},
    {"ptxbench_db_pool_threads", "database threads", threads},
    {"ptxbench_db_pool_busy", "database threads with a request in hand", busy},
    {"ptxbench_draining", "1 once the process shuts down", draining},
};

/* ---- what the database knows: members of store_metrics ---- */

static const struct {
    const char *name, *type, *help, *member;
} stored[] = {
    {"ptxbench_jobs_queued", "gauge", "jobs waiting for a worker", "queued"},
    {"ptxbench_jobs_oldest_seconds", "gauge", "age of the oldest waiting job", "oldest_age_s"},
    {"ptxbench_jobs_running", "gauge", "jobs held by workers", "running"},
    {"ptxbench_jobs", "gauge", "jobs by state, finished ones until they are pruned", "jobs"},
    {"ptxbench_job_attempts", "gauge", "attempts by outcome", "attempts"},
    {"ptxbench_workers_healthy", "gauge", "workers seen lately", "workers_healthy"},
    {"ptxbench_devices", "gauge", "devices that workers serve, by state", "devices"},
    {"ptxbench_device_temperature_celsius", "gauge", "as last told", "device_temperature"},
    {"ptxbench_submissions", "gauge", "submissions stored", "submissions"},
    {"ptxbench_runs", "gauge", "agent runs by state", "runs"},
    {"ptxbench_llm_calls_open", "gauge", "calls of models under way", "calls_open"},
    {"ptxbench_llm_usd", "gauge", "dollars that agent runs have cost, as far as known", "llm_usd"},
    {"ptxbench_blob_bytes", "gauge", "bytes of sources, reports and artefacts", "blob_bytes"},
};

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_requests(struct buf *b, struct metrics *m)
{
    head(b, "ptxbench_http_requests_total", "counter", "answers by route and status");
    for (size_t i = 0; i < ROUTES && i < route_count + 2; i++)
        for (int status = 0; status < STATUSES; status++) {
            uint32_t n = m->requests[i][status];
            const struct route *route = i < route_count ? &routes[i] : &files_route;
            if (n)
                buf_addf(
                    b,
                    "ptxbench_http_requests_total{method=\"%s\",route=\"%s\",status=\"%d\"} %u\n",
                    i == route_count ? "" : method_name(route->method),
                    i == route_count ? "none" : route->pattern, status, n);
        }
    head(b, "ptxbench_http_request_seconds", "histogram", "time in the queue and in handlers");
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT_OF(bounds_ms); i++) {
        sum += m->buckets[i];
        buf_addf(b, "ptxbench_http_request_seconds_bucket{le=\"%g\"} %llu\n",
                 (double)bounds_ms[i] / 1000, (unsigned long long)sum);
    }
    sum += m->buckets[COUNT_OF(bounds_ms)];
    buf_addf(b, "ptxbench_http_request_seconds_bucket{le=\"+Inf\"} %llu\n",
             (unsigned long long)sum);
    buf_addf(b, "ptxbench_http_request_seconds_sum %g\n", (double)m->busy_ms / 1000);
    buf_addf(b, "ptxbench_http_request_seconds_count %llu\n", (unsigned long long)sum);
}

/* A label value: backslash, quote and newline escaped. */
static void print_label(struct buf *b, const char *name, const json_t *value, bool first)
{
    buf_addf(b, "%s%s=\"", first ? "" : ",", name);
    if (json_is_integer(value))
        buf_addf(b, "%lld", (long long)json_integer_value(value));
    for (const char *s = json_is_string(value) ? json_string_value(value) : ""; *s; s++) {
        if (*s == '\n')
            buf_adds(b, "\\n");
        else
            buf_addf(b, "%s%c", strchr("\\\"", *s) ? "\\" : "", *s);
    }
    buf_adds(b, "\"");
}

/* {"lane":"sm_90a/cpu","count":3}: "count" or "value" is the value, the rest are labels. */
static void print_row(struct buf *b, const char *name, const json_t *row)
{
    const char *key;
    json_t *value;
    double number = 0;
    bool first = true;
    buf_adds(b, name);
    json_object_foreach((json_t *)row, key, value)
    {
        if (!strcmp(key, "count") || !strcmp(key, "value")) {
            number = json_number_value(value);
            continue;
        }
        buf_adds(b, first ? "{" : "");
        print_label(b, key, value, first);
        first = false;
    }
    buf_addf(b, "%s %.17g\n", first ? "" : "}", number);
}

static void print_stored(struct buf *b, const json_t *document)
{
    for (size_t i = 0; i < COUNT_OF(stored); i++) {
        const json_t *member = json_object_get(document, stored[i].member);
        head(b, stored[i].name, stored[i].type, stored[i].help);
        if (json_is_number(member))
            buf_addf(b, "%s %.17g\n", stored[i].name, json_number_value(member));
        size_t k;
        json_t *row;
        json_array_foreach(member, k, row) print_row(b, stored[i].name, row);
    }
}

enum err metrics_get(struct request *r)
{
    struct buf b;
    buf_init(&b, METRICS_TEXT);
    head(&b, "ptxbench_info", "gauge", "version of this process");
    buf_addf(&b, "ptxbench_info{version=\"%s\"} 1\n", PTXBENCH_VERSION);
    print_requests(&b, r->service->metrics);
    for (size_t i = 0; i < COUNT_OF(gauges); i++) {
        head(&b, gauges[i].name, "gauge", gauges[i].help);
        buf_addf(&b, "%s %g\n", gauges[i].name, gauges[i].read(r->service));
    }
    json_t *document = NULL;
    enum err e = r->db ? store_metrics(r->db, &document, &r->fault) : ERR_DATABASE;
    if (e)
        log_warn("cannot read the metrics of the database", "detail=\"%s\"", r->fault.detail);
    head(&b, "ptxbench_db_up", "gauge", "1 if the database answered this request");
    buf_addf(&b, "ptxbench_db_up %d\n", !e);
    if (!e)
        print_stored(&b, document);
    json_decref(document);
    return answer_buf(r, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}
