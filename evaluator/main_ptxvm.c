/* SPDX-License-Identifier: Apache-2.0
 * ptxvm: the CPU device on the command line, for people who write kernels. */
#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/tool/tool.h"

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "a kernel with its plan, against the oracle of a problem", tool_run},
    {"launch", "one kernel of a PTX file, with buffers and arguments given by hand", tool_launch},
};

static int usage(FILE *out, int code)
{
    fprintf(out, "usage: ptxvm COMMAND …\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "ptxvm COMMAND --help says more.\n");
    return code;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (!strcmp(name, commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    bool asked = !strcmp(name, "help") || !strcmp(name, "--help");
    return asked ? usage(stdout, TOOL_OK) : usage(stderr, TOOL_USAGE);
}
