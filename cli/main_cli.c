/* SPDX-License-Identifier: Apache-2.0
 * The program `ptxbench`: finds the command in the table and runs it. */
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/log.h"
#include "core/util.h"
#include "core/words.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
#define COMMAND(name, function, summary) {name, function, summary},
#include "cli/commands.def"
#undef COMMAND
};

static void print_help(void)
{
    puts("usage: ptxbench COMMAND [option…] [operand…]\n\ncommands:");
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    puts("\nptxbench COMMAND --help says more. Exit status of eval, show, watch and submit --wait:");
    for (int v = 0; v < VERDICT_COUNT; v++)
        printf("  %3d %-20s %s\n", verdict_exit_code((enum verdict)v), verdict_name((enum verdict)v),
               verdict_meaning((enum verdict)v));
    printf("  %3d %-20s %s\n", CLI_FAILED, "-", "input or output, network, or refused by the service");
    printf("  %3d %-20s %s\n", CLI_USAGE, "-", "the command line is not valid");
    printf("  %3d %-20s %s\n", CLI_UNFINISHED, "-", "no verdict yet");
}

int main(int argc, char **argv)
{
    log_init("ptxbench", LOG_WARN);
    setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGPIPE, SIG_IGN); /* a reader that left is an error of write, not a death */

    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help();
        return argc > 1 ? CLI_OK : CLI_USAGE;
    }
    if (strcmp(name, "--version") == 0)
        name = "version";
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "ptxbench: there is no command %s\ntry: ptxbench help\n", name);
    return CLI_USAGE;
}
