// SPDX-License-Identifier: Apache-2.0
// How many jobs a second go through the queue: claim, two heartbeats, one event, deliver a report.
// Eight workers, durable commits, all that the service writes beside a job. Prints "name value
// unit".
#include "../unit/cluster.h"

#include <pthread.h>

#include "core/db/migrate.h"
#include "core/db/queue.h"
#include "core/db/store.h"
#include "core/log.h"

enum { WORKERS = 8, OWNERS = 50, JOBS_PER_OWNER = 400, MEASURED_MS = 5000 };

static const char setup[] =
    "INSERT INTO owners (id, name) SELECT n, 'owner' || n FROM generate_series(1, $1::int) n";
static const char fill[] = "SELECT count(*) FROM generate_series(1, $2::int) j CROSS JOIN "
                           "generate_series(1, $1::int) o CROSS JOIN LATERAL "
                           "submission_create(gen_random_uuid(), o, '{\"problem\":\"gemm\"}', "
                           "convert_to('source ' || j % 100, 'UTF8'), "
                           "'gemm', 'small', 'sm_90a', 'cuda', 'cpu', 'rank', NULL, NULL, "
                           "'public', 1, 60, 100000, NULL, NULL) c";

struct bench_worker {
    pthread_t thread;
    int64_t end;
    int cycles;
    bool failed;
};

static bool cycle(struct db *db, const char *name, int n)
{
    struct job j;
    bool got, mine = true, cancel;
    char report[200];
    if (queue_claim(db, name, "{sm_90a/cpu}", 30000, &j, &got, NULL) != ERR_NONE || !got)
        return false;
    bool ok =
        queue_event(db, &j, "stage", "{\"kind\":\"stage\",\"stage\":\"check\"}", NULL) == ERR_NONE;
    for (int i = 0; i < 2; i++)
        ok = ok && queue_heartbeat(db, &j, 30000, &mine, &cancel, NULL) == ERR_NONE && mine;
    snprintf(report, sizeof(report),
             "{\"schema\":1,\"verdict\":\"PASSED\",\"device_model\":\"ptxvm\",\"id\":\"%s%d\"}",
             j.submission_id, n);
    struct delivery d = {.job = &j, .report = report, .report_len = strlen(report)};
    ok = ok && store_deliver(db, &d, &mine, NULL) == ERR_NONE && mine;
    job_release_memory(&j);
    return ok;
}

static void *work(void *arg)
{
    struct bench_worker *w = arg;
    char name[40];
    snprintf(name, sizeof(name), "bench:%p", arg);
    struct db *db = db_open(&(struct db_options){.conninfo = database_conninfo}, NULL);
    struct worker_info info = {.name = name,
                               .host = "bench",
                               .device = "cpu",
                               .device_uuid = "cpu:bench",
                               .device_model = "ptxvm",
                               .lanes = "{sm_90a/cpu}",
                               .lease_ms = 30000};
    w->failed = !db || queue_worker_start(db, &info, NULL) != ERR_NONE;
    while (!w->failed && now_ms() < w->end) {
        w->failed = !cycle(db, name, w->cycles);
        w->cycles++;
    }
    db_close(db);
    return NULL;
}

static bool fill_queue(void)
{
    char owners[16], jobs[16];
    snprintf(owners, sizeof(owners), "%d", OWNERS);
    snprintf(jobs, sizeof(jobs), "%d", JOBS_PER_OWNER);
    PGconn *pg = PQconnectdb(database_conninfo);
    PGresult *made = PQexecParams(pg, setup, 1, NULL, (const char *[]){owners}, NULL, NULL, 0);
    PGresult *filled =
        PQexecParams(pg, fill, 2, NULL, (const char *[]){owners, jobs}, NULL, NULL, 0);
    PGresult *analyzed = PQexec(pg, "VACUUM ANALYZE");
    bool ok = PQresultStatus(made) == PGRES_COMMAND_OK && PQresultStatus(filled) == PGRES_TUPLES_OK;
    if (!ok)
        fputs(PQerrorMessage(pg), stderr);
    PQclear(made);
    PQclear(filled);
    PQclear(analyzed);
    PQfinish(pg);
    return ok;
}

static bool measure(void)
{
    struct bench_worker workers[WORKERS] = {0};
    int64_t begin = now_ms();
    int cycles = 0;
    bool failed = false;
    for (int i = 0; i < WORKERS; i++) {
        workers[i].end = begin + MEASURED_MS;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        cycles += workers[i].cycles;
        failed = failed || workers[i].failed;
    }
    printf("queue.job_cycles_per_s %.1f 1/s\n", 1000.0 * cycles / (double)(now_ms() - begin));
    return !failed;
}

int main(void)
{
    struct migrate_report report;
    struct fault f = {0};
    log_init("bench_queue", LOG_WARN);
    if (!database_start(true)) {
        fprintf(stderr, "PostgreSQL is not installed\n");
        database_stop();
        return 1;
    }
    bool ok = migrate(database_conninfo, home_dir(), &report, &f) == ERR_NONE;
    if (!ok)
        fprintf(stderr, "%s\n", f.detail);
    ok = ok && fill_queue() && measure();
    database_stop();
    return ok ? 0 : 1;
}
