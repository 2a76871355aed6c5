/* SPDX-License-Identifier: Apache-2.0
 * getopt_long behind the option table. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 32, FIRST_CODE = 256, CODE_HELP = FIRST_CODE + ROWS_MAX };

/* "  -s, --server URL" in a column of its own. */
static void print_row(const struct option_row *row)
{
    char left[64];
    char letter[] = {'-', row->letter, ',', ' ', '\0'};
    snprintf(left, sizeof(left), "  %s--%s%s%s", row->letter ? letter : "    ", row->name,
             row->value ? " " : "", row->value ? row->value : "");
    printf("%-30s %s", left, row->help);
    if (row->env)
        printf(" [$%s]", row->env);
    putchar('\n');
}

void usage_print(const struct usage *u)
{
    printf("usage: ptxbench %s%s%s%s\n\n%s\n\noptions:\n", u->command, u->count ? " [option…]" : "",
           u->operands[0] ? " " : "", u->operands, u->summary);
    for (size_t i = 0; i < u->count; i++)
        print_row(&u->rows[i]);
    print_row(&(struct option_row){.name = "help", .letter = 'h', .help = "print this and exit"});
    if (u->notes)
        printf("\n%s\n", u->notes);
}

static int usage_error(const struct usage *u, const char *problem)
{
    fprintf(stderr, "ptxbench %s: %s\ntry: ptxbench %s --help\n", u->command, problem, u->command);
    return CLI_USAGE;
}

/* Fills getopt's two tables from ours. */
static void getopt_tables(const struct usage *u, struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (size_t i = 0; i < u->count; i++) {
        const struct option_row *row = &u->rows[i];
        longs[i] = (struct option){row->name, row->value ? required_argument : no_argument, NULL,
                                   FIRST_CODE + (int)i};
        if (row->letter) {
            *shorts++ = row->letter;
            if (row->value)
                *shorts++ = ':';
        }
    }
    longs[u->count] = (struct option){"help", no_argument, NULL, CODE_HELP};
    longs[u->count + 1] = (struct option){0};
    *shorts++ = 'h';
    *shorts = '\0';
}

/* Row of what getopt returned: a code of ours or a short letter. */
static size_t row_of(const struct usage *u, int code)
{
    if (code >= FIRST_CODE)
        return (size_t)(code - FIRST_CODE);
    size_t i = 0;
    while (i < u->count && u->rows[i].letter != code)
        i++;
    return i;
}

int options_read(const struct usage *u, int argc, char **argv, const char **values, int *exit_code)
{
    struct option longs[ROWS_MAX + 2];
    char shorts[2 * ROWS_MAX + 3];
    char problem[256];
    if (u->count > ROWS_MAX)
        abort();
    getopt_tables(u, longs, shorts);
    for (size_t i = 0; i < u->count; i++) {
        const char *given = u->rows[i].env ? getenv(u->rows[i].env) : NULL;
        values[i] = given && given[0] ? given : NULL;
    }

    optind = 1;
    opterr = 0;
    for (int code; (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (code == CODE_HELP || code == 'h') {
            usage_print(u);
            *exit_code = CLI_OK;
            return -1;
        }
        size_t row = code == '?' || code == ':' ? u->count : row_of(u, code);
        if (row < u->count) {
            values[row] = u->rows[row].value ? optarg : "";
            continue;
        }
        char letter[] = {'-', (char)optopt, '\0'};
        const char *word = optopt > 0 && optopt < FIRST_CODE ? letter : argv[optind - 1];
        snprintf(problem, sizeof(problem),
                 code == ':' ? "option %s needs a value" : "there is no option %s", word);
        *exit_code = usage_error(u, problem);
        return -1;
    }

    int operands = argc - optind;
    if (operands >= u->min && operands <= u->max)
        return optind;
    if (u->max == 0)
        snprintf(problem, sizeof(problem), "unexpected operand %s", argv[optind]);
    else
        snprintf(problem, sizeof(problem), "expected %s", u->operands);
    *exit_code = usage_error(u, problem);
    return -1;
}

bool option_number(const char *name, const char *text, long min, long max, long *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max) {
        fprintf(stderr, "ptxbench: --%s must be a whole number from %ld to %ld, not '%s'\n", name, min,
                max, text);
        return false;
    }
    *out = value;
    return true;
}
