/* SPDX-License-Identifier: Apache-2.0
 * The commands of commands.def. Each gets argv from its own name on and returns an exit code of
 * cli/options.h or of a verdict. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "core/err.h"

#define COMMAND(name, function, summary) int function(int argc, char **argv);
#include "cli/commands.def"
#undef COMMAND

/* Says on stderr why a command failed; returns CLI_FAILED. */
int cli_failed(const char *command, const struct fault *f);

#endif
