// SPDX-License-Identifier: Apache-2.0
// ptxbench-agent: drives agent runs from the queue. `ask` makes one call without a database.
#include <getopt.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/ask.h"
#include "core/log.h"
#include "core/util.h"

enum exit_code { EXIT_OK = 0, EXIT_REFUSED = 1, EXIT_USAGE = 64 };

enum { PROVIDERS, PROVIDER, MODEL, MAX_OUTPUT, VERSION, HELP, OPTIONS };

static int usage(int code)
{
    fputs("usage: ptxbench-agent ask --provider NAME --model NAME [--providers FILE] [--max-output "
          "N]\n"
          "\n"
          "Makes one call of a model, without a database: reads messages (a JSON array, or an "
          "object\n"
          "{\"messages\", \"params\"}) and prints how it ended and what came, as one JSON object. "
          "Exit\n"
          "status 0: answered; 1: not.\n"
          "\n"
          "  --providers FILE  the providers of this host; $PTXBENCH_PROVIDERS, else\n"
          "                    $XDG_CONFIG_HOME/ptxbench/providers.json, "
          "/etc/ptxbench/providers.json\n"
          "  --provider NAME   one of them\n"
          "  --model NAME      one of its models\n"
          "  --max-output N    tokens that the model may make; as many as it can\n"
          "  --version, --help\n",
          code ? stderr : stdout);
    return code;
}

/* The text of each option in values[], from the command line or the environment. */
static bool options_read(int argc, char **argv, const char *values[OPTIONS])
{
    static const struct option options[OPTIONS + 1] = {
        [PROVIDERS] = {"providers", required_argument, NULL, 0},
        [PROVIDER] = {"provider", required_argument, NULL, 0},
        [MODEL] = {"model", required_argument, NULL, 0},
        [MAX_OUTPUT] = {"max-output", required_argument, NULL, 0},
        [VERSION] = {"version", no_argument, NULL, 0},
        [HELP] = {"help", no_argument, NULL, 0}};
    values[PROVIDERS] = getenv("PTXBENCH_PROVIDERS");
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

static int refuse(const struct fault *f)
{
    fprintf(stderr, "ptxbench-agent: %s\n", f->detail);
    return EXIT_REFUSED;
}

static int ask_once(const struct providers *providers, const char *const values[OPTIONS])
{
    struct ask a = {.providers = providers, .provider = values[PROVIDER], .model = values[MODEL]};
    struct fault f = {0};
    bool answered = false;
    if (values[MAX_OUTPUT]) {
        char *end;
        a.max_output = strtoll(values[MAX_OUTPUT], &end, 10);
        if (*end || a.max_output < 1) {
            fputs("ptxbench-agent: --max-output takes a number of tokens\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (ask(&a, stdin, stdout, &answered, &f) != ERR_NONE)
        return refuse(&f);
    return answered ? EXIT_OK : EXIT_REFUSED;
}

int main(int argc, char **argv)
{
    const char *values[OPTIONS] = {0};
    bool asks = argc > 1 && !strcmp(argv[1], "ask");
    setlocale(LC_CTYPE, "C.UTF-8");
    log_init("ptxbench-agent", LOG_INFO);
    if (!options_read(argc - asks, argv + asks, values))
        return usage(EXIT_USAGE);
    if (values[HELP])
        return usage(0);
    if (values[VERSION])
        return puts("ptxbench-agent " PTXBENCH_VERSION) < 0;
    if (!asks || !values[PROVIDER] || !values[MODEL])
        return usage(EXIT_USAGE);
    struct providers providers;
    struct fault f = {0};
    int code = providers_load(providers_path(values[PROVIDERS]), &providers, &f) == ERR_NONE
                   ? ask_once(&providers, values)
                   : refuse(&f);
    providers_release(&providers);
    return code;
}
