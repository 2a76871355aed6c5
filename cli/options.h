/* SPDX-License-Identifier: Apache-2.0
 * Command-line options by table: one row per option gives parsing, the default from the environment and
 * the --help text. Knows nothing of any command. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes of every command. A verdict gives verdict_exit_code() (0 to 13); these are beside them. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* input or output, network, or the server refused */
    CLI_USAGE = 64,      /* the command line is not valid */
    CLI_UNFINISHED = 75, /* no verdict yet */
};

struct option_row {
    const char *name;  /* long name without "--" */
    char letter;       /* short form, or 0 */
    const char *value; /* what the value is ("URL"); NULL: a switch */
    const char *env;   /* environment variable that gives the default; NULL: none */
    const char *help;
};

struct usage {
    const char *command;  /* "submit" */
    const char *operands; /* "FILE", "" */
    const char *summary;
    const struct option_row *rows;
    size_t count;
    int min, max;      /* operands */
    const char *notes; /* printed after the options; NULL: none */
};

/* Reads argv (argv[0] is the command's name) into values[u->count]: the text given, "" for a switch that
 * is set, NULL for what neither the command line nor the environment has. All borrowed. Returns the
 * index of the first operand, or -1 with *exit_code set: --help was printed (CLI_OK) or the command
 * line is wrong (CLI_USAGE, reason on stderr). */
int options_read(const struct usage *u, int argc, char **argv, const char **values, int *exit_code);

void usage_print(const struct usage *u);

/* A whole number between min and max; false with a message on stderr that names the option. */
bool option_number(const char *name, const char *text, long min, long max, long *out);

#endif
