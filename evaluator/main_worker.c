// SPDX-License-Identifier: Apache-2.0
// ptxbench-worker: serves one device from the queue. Its hidden role `evaluate` is the child that
// the worker starts for each job; that one has no database.
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arch.h"
#include "core/log.h"
#include "core/util.h"
#include "evaluator/device.h"
#include "evaluator/evaluate.h"
#include "evaluator/worker.h"

enum exit_code { EXIT_DRAINED = 0, EXIT_REFUSED = 1, EXIT_USAGE = 64 };

/* Times, each an option and an environment variable: short ones are for tests. */
static const struct {
    const char *name, *env;
    int fallback, min, max;
    const char *help;
} times[] = {
    {"lease-ms", "PTXBENCH_LEASE_MS", 30000, 200, 600000,
     "a job is given to another after this silence"},
    {"beat-ms", "PTXBENCH_BEAT_MS", 5000, 50, 60000, "the lease is renewed this often"},
    {"poll-ms", "PTXBENCH_POLL_MS", 5000, 50, 600000,
     "the queue is looked at this often, hints aside"},
    {"reap-ms", "PTXBENCH_REAP_MS", 10000, 50, 600000,
     "jobs of lost workers are looked for this often"},
};
enum { LEASE, BEAT, POLL, REAP, TIMES };

static int usage(int code)
{
    FILE *to = code ? stderr : stdout;
    fputs("usage: ptxbench-worker [--device DEVICE] [--database CONNINFO]\n\n"
          "Takes jobs from the queue and evaluates them, one at a time, each in a confined child.\n"
          "A GPU is served by way of ptxbench-keeper, which this starts, and starts again.\n"
          "SIGTERM finishes the job in hand and ends; a second one gives it back first.\n\n"
          "  --device DEVICE      cpu (default), cuda:0, cuda:1, ...\n"
          "  --database CONNINFO  libpq connection string or URI; $PTXBENCH_DATABASE\n",
          to);
    for (size_t i = 0; i < TIMES; i++)
        fprintf(to, "  --%s N%*s %s; $%s, %d\n", times[i].name, 16 - (int)strlen(times[i].name), "",
                times[i].help, times[i].env, times[i].fallback);
    fputs("  --exit-when-idle     end when nothing is queued\n"
          "  --evaluator PROGRAM  tests only: run PROGRAM in place of the evaluation\n"
          "  --version, --help\n",
          to);
    return code;
}

static bool time_read(size_t i, const char *text, int *out)
{
    char *end;
    long v = strtol(text, &end, 10);
    if (*end || end == text || v < times[i].min || v > times[i].max) {
        fprintf(stderr, "ptxbench-worker: --%s takes %d to %d, not %s\n", times[i].name,
                times[i].min, times[i].max, text);
        return false;
    }
    *out = (int)v;
    return true;
}

static int serve(struct worker_config c)
{
    struct fault f = {0};
    struct archs archs = {0};
    enum err e = archs_load(&archs, home_dir(), &f);
    if (e == ERR_NONE) {
        c.home = home_dir();
        c.archs = &archs;
        e = worker_run(&c, &f);
    }
    if (e != ERR_NONE)
        log_error("worker refused to run", "reason=\"%s\"", f.detail);
    archs_release(&archs);
    return e == ERR_NONE ? EXIT_DRAINED : EXIT_REFUSED;
}

/* Frames must not meet anything that a library prints: stdout becomes stderr. */
static int evaluate_frames(void)
{
    int out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return EXIT_REFUSED;
    log_init("ptxbench-evaluate", LOG_WARN);
    return evaluate_role(STDIN_FILENO, out);
}

enum { DEVICE = TIMES, DATABASE, EVALUATOR, IDLE, VERSION, HELP, OPTIONS };

/* The text of each option in values[], from the command line or the environment. */
static bool options_read(int argc, char **argv, const char *values[OPTIONS])
{
    struct option options[OPTIONS + 1] = {[DEVICE] = {"device", required_argument, NULL, 0},
                                          [DATABASE] = {"database", required_argument, NULL, 0},
                                          [EVALUATOR] = {"evaluator", required_argument, NULL, 0},
                                          [IDLE] = {"exit-when-idle", no_argument, NULL, 0},
                                          [VERSION] = {"version", no_argument, NULL, 0},
                                          [HELP] = {"help", no_argument, NULL, 0}};
    values[DEVICE] = "cpu";
    values[DATABASE] = getenv("PTXBENCH_DATABASE");
    for (size_t i = 0; i < TIMES; i++) {
        options[i] = (struct option){times[i].name, required_argument, NULL, 0};
        values[i] = getenv(times[i].env);
    }
    int c, i;
    while ((c = getopt_long(argc, argv, "", options, &i)) == 0)
        values[i] = optarg ? optarg : "";
    return c == -1 && optind == argc;
}

static bool config_read(struct worker_config *c, const char *const values[OPTIONS])
{
    int ms[TIMES];
    for (size_t i = 0; i < TIMES; i++) {
        ms[i] = times[i].fallback;
        if (values[i] && !time_read(i, values[i], &ms[i]))
            return false;
    }
    *c = (struct worker_config){.database = values[DATABASE],
                                .device = values[DEVICE],
                                .evaluator = values[EVALUATOR],
                                .exit_when_idle = values[IDLE] != NULL,
                                .lease_ms = ms[LEASE],
                                .beat_ms = ms[BEAT],
                                .poll_ms = ms[POLL],
                                .reap_ms = ms[REAP]};
    if (!c->database)
        fputs("ptxbench-worker: needs --database or $PTXBENCH_DATABASE\n", stderr);
    else if (!device_find(c->device))
        fprintf(stderr,
                "ptxbench-worker: cannot serve device %s: this build has none of that name\n",
                c->device);
    else if (c->lease_ms < 2 * c->beat_ms)
        fprintf(stderr, "ptxbench-worker: a lease of %d ms needs two heartbeats of %d ms\n",
                c->lease_ms, c->beat_ms);
    else
        return true;
    return false;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "evaluate") == 0)
        return evaluate_frames();
    const char *values[OPTIONS] = {0};
    if (!options_read(argc, argv, values))
        return usage(EXIT_USAGE);
    if (values[HELP])
        return usage(0);
    if (values[VERSION])
        return puts("ptxbench-worker " PTXBENCH_VERSION) < 0;
    struct worker_config config;
    if (!config_read(&config, values))
        return EXIT_USAGE;
    log_init("ptxbench-worker", LOG_INFO);
    return serve(config);
}
