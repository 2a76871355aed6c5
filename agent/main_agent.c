// SPDX-License-Identifier: Apache-2.0
// ptxbench-agent: drives agent runs from the queue. `ask` makes one call without a database.
#include <getopt.h>
#include <locale.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/ask.h"
#include "core/log.h"
#include "core/util.h"

enum exit_code { EXIT_OK = 0, EXIT_REFUSED = 1, EXIT_USAGE = 64 };

/* Each an option and an environment variable. */
static const struct {
    const char *name, *env;
    int fallback, min, max;
    const char *help;
} numbers[] = {
    {"concurrency", "PTXBENCH_CONCURRENCY", 64, 1, 1024,
     "calls under way at most, beside each provider's own limit"},
    {"grace-ms", "PTXBENCH_GRACE_MS", 60000, 0, 3600000,
     "after SIGTERM calls under way may go on for so long"},
    {"lease-ms", "PTXBENCH_LEASE_MS", 30000, 200, 600000,
     "a step is given to another after this silence"},
    {"beat-ms", "PTXBENCH_BEAT_MS", 5000, 50, 60000, "leases are renewed this often"},
    {"poll-ms", "PTXBENCH_POLL_MS", 5000, 50, 600000,
     "the queue is looked at this often, hints aside"},
    {"reap-ms", "PTXBENCH_REAP_MS", 10000, 50, 600000,
     "jobs of lost agents are looked for this often"},
};
enum { CONCURRENCY, GRACE, LEASE, BEAT, POLL, REAP, NUMBERS };
enum { PROVIDERS = NUMBERS, DATABASE, PROVIDER, MODEL, MAX_OUTPUT, IDLE, VERSION, HELP, OPTIONS };

static int usage(int code)
{
    FILE *to = code ? stderr : stdout;
    fputs("usage: ptxbench-agent [--providers FILE] [--database CONNINFO]\n"
          "       ptxbench-agent ask --provider NAME --model NAME [--providers FILE] [--max-output "
          "N]\n"
          "\n"
          "Drives the agent runs whose providers this host has: calls models, submits their "
          "kernels,\n"
          "tells them what came of it. SIGTERM finishes the calls under way; a second one gives "
          "them\n"
          "back at once. `ask` makes one call without a database: it reads messages (a JSON array, "
          "or\n"
          "{\"messages\", \"params\"}) and prints how it ended and what came; exit status 0: "
          "answered.\n"
          "\n"
          "  --providers FILE     the providers of this host; $PTXBENCH_PROVIDERS, else\n"
          "                       $XDG_CONFIG_HOME/ptxbench/providers.json,\n"
          "                       /etc/ptxbench/providers.json\n"
          "  --database CONNINFO  libpq connection string or URI; $PTXBENCH_DATABASE\n",
          to);
    for (size_t i = 0; i < NUMBERS; i++)
        fprintf(to, "  --%s N%*s %s; $%s, %d\n", numbers[i].name, 16 - (int)strlen(numbers[i].name),
                "", numbers[i].help, numbers[i].env, numbers[i].fallback);
    fputs("  --exit-when-idle     end when nothing can be claimed\n"
          "  --provider NAME      ask: one of the file's\n"
          "  --model NAME         ask: one of the provider's\n"
          "  --max-output N       ask: tokens that the model may make; as many as it can\n"
          "  --version, --help\n",
          to);
    return code;
}

static int refuse(const struct fault *f)
{
    fprintf(stderr, "ptxbench-agent: %s\n", f->detail);
    return EXIT_REFUSED;
}

/* The text of each option in values[], from the command line or the environment. */
static bool options_read(int argc, char **argv, const char *values[OPTIONS])
{
    struct option options[OPTIONS + 1] = {[PROVIDERS] = {"providers", required_argument, NULL, 0},
                                          [DATABASE] = {"database", required_argument, NULL, 0},
                                          [PROVIDER] = {"provider", required_argument, NULL, 0},
                                          [MODEL] = {"model", required_argument, NULL, 0},
                                          [MAX_OUTPUT] = {"max-output", required_argument, NULL, 0},
                                          [IDLE] = {"exit-when-idle", no_argument, NULL, 0},
                                          [VERSION] = {"version", no_argument, NULL, 0},
                                          [HELP] = {"help", no_argument, NULL, 0}};
    values[PROVIDERS] = getenv("PTXBENCH_PROVIDERS");
    values[DATABASE] = getenv("PTXBENCH_DATABASE");
    for (size_t i = 0; i < NUMBERS; i++) {
        options[i] = (struct option){numbers[i].name, required_argument, NULL, 0};
        values[i] = getenv(numbers[i].env);
    }
    int c, i;
    while ((c = getopt_long(argc, argv, "", options, &i)) == 0)
        values[i] = optarg ? optarg : "";
    return c == -1 && optind == argc;
}

/* Where the providers' file is unless somebody says. */
static const char *providers_path(const char *given)
{
    static char path[1024];
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (given && *given)
        return given;
    if (config && *config)
        snprintf(path, sizeof(path), "%s/ptxbench/providers.json", config);
    else
        snprintf(path, sizeof(path), "%s/.config/ptxbench/providers.json", home ? home : "");
    return access(path, F_OK) ? "/etc/ptxbench/providers.json" : path;
}

static bool number_read(const char *name, const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    if (!*end && end != text && *out >= min && *out <= max)
        return true;
    fprintf(stderr, "ptxbench-agent: --%s takes %lld to %lld, not %s\n", name, (long long)min,
            (long long)max, text);
    return false;
}

static int ask_once(const struct providers *providers, const char *const values[OPTIONS])
{
    struct ask a = {.providers = providers, .provider = values[PROVIDER], .model = values[MODEL]};
    struct fault f = {0};
    bool answered = false;
    if (values[MAX_OUTPUT] &&
        !number_read("max-output", values[MAX_OUTPUT], 1, 10000000, &a.max_output))
        return EXIT_USAGE;
    if (ask(&a, stdin, stdout, &answered, &f) != ERR_NONE)
        return refuse(&f);
    return answered ? EXIT_OK : EXIT_REFUSED;
}

static int serve(const struct providers *providers, const char *const values[OPTIONS])
{
    int64_t n[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++) {
        n[i] = numbers[i].fallback;
        if (values[i] &&
            !number_read(numbers[i].name, values[i], numbers[i].min, numbers[i].max, &n[i]))
            return EXIT_USAGE;
    }
    if (n[LEASE] < 2 * n[BEAT]) {
        fprintf(stderr, "ptxbench-agent: a lease of %lld ms needs two heartbeats of %lld ms\n",
                (long long)n[LEASE], (long long)n[BEAT]);
        return EXIT_USAGE;
    }
    struct agent_config c = {.database = values[DATABASE],
                             .home = home_dir(),
                             .providers = providers,
                             .concurrency = (int)n[CONCURRENCY],
                             .lease_ms = (int)n[LEASE],
                             .beat_ms = (int)n[BEAT],
                             .poll_ms = (int)n[POLL],
                             .reap_ms = (int)n[REAP],
                             .grace_ms = (int)n[GRACE],
                             .exit_when_idle = values[IDLE] != NULL};
    struct fault f = {0};
    return agent_run(&c, &f) == ERR_NONE ? EXIT_OK : refuse(&f);
}

int main(int argc, char **argv)
{
    const char *values[OPTIONS] = {0};
    bool asks = argc > 1 && !strcmp(argv[1], "ask");
    setlocale(LC_CTYPE, "C.UTF-8");
    mallopt(M_MMAP_THRESHOLD, 128 * KIB); /* so that what was large goes back at once */
    log_init("ptxbench-agent", LOG_INFO);
    if (!options_read(argc - asks, argv + asks, values))
        return usage(EXIT_USAGE);
    if (values[HELP])
        return usage(0);
    if (values[VERSION])
        return puts("ptxbench-agent " PTXBENCH_VERSION) < 0;
    if (asks && (!values[PROVIDER] || !values[MODEL]))
        return usage(EXIT_USAGE);
    if (!asks && !values[DATABASE]) {
        fputs("ptxbench-agent: needs --database or $PTXBENCH_DATABASE\n", stderr);
        return EXIT_USAGE;
    }
    struct providers providers;
    struct fault f = {0};
    int code = providers_load(providers_path(values[PROVIDERS]), &providers, &f) != ERR_NONE
                   ? refuse(&f)
               : asks ? ask_once(&providers, values)
                      : serve(&providers, values);
    providers_release(&providers);
    return code;
}
