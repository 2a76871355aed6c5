/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench run`: what its subcommands share. Each gets argv from its own name on and returns an
 * exit code. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <jansson.h>
#include <stdio.h>

#include "cli/client.h"

/* How a run ended, as an exit code beside those of cli/options.h: 0 if every trajectory ended by
 * itself. The first two are those of the verdicts INFRA_ERROR and CANCELLED. */
enum run_exit { RUN_INFRA = 10, RUN_CANCELLED = 11, RUN_BUDGET = 20, RUN_PROVIDER = 21 };
#define RUN_NOTES                                                                                  \
    "exit status: 0 the run is done by itself, 75 it is not done, 11 cancelled, 20 out of "        \
    "budget,\n21 stopped by the provider, 10 by the service; 1 failed, 64 bad command line."

/* By `state` and `reason` of a run; CLI_UNFINISHED while it is running. */
int run_exit_code(const json_t *run);

/* The first options of every subcommand. */
enum { RUN_JSON = CLIENT_ROW_COUNT, RUN_ROW_COUNT };
#define RUN_ROWS                                                                                   \
    CLIENT_ROWS,                                                                                   \
    {                                                                                              \
        "json", 'j', NULL, NULL, "print the service's answer as it is"                             \
    }

/* Appends "/v1/runs/ID" and what follows; an id that is none is refused, so that it can name no
 * other path. */
enum err run_path(struct buf *path, const char *id, const char *tail, struct fault *f);
/* One request about one run, its answer as JSON: GET, or POST of `body` (NULL: of nothing). */
enum err run_get(struct client *c, const char *id, const char *tail, json_t **out, struct fault *f);
enum err run_post(struct client *c, const char *id, const char *tail, const json_t *body,
                  json_t **out, struct fault *f);

/* A real number; false with a message on stderr that names the option. */
bool run_real(const char *name, const char *text, double *out);
enum { RUN_INDEX_MAX = 9999, RUN_TAIL = 96 };
/* An operand that counts from 0; false with a message on stderr that says what it is. */
bool run_index(const char *what, const char *text, int *out);
/* A run as its table; as wide as the terminal, if it is one. */
void run_print(FILE *out, const json_t *run);
/* "running  ID": what the service says of a run that was begun or changed. */
void run_print_state(const json_t *answer);

/* Follows a run until it is done or timeout_s are over, and prints it: on a terminal as a table
 * that is drawn again in place, else one line per event. With `json`: nothing but the document at
 * the end. Returns an exit code; `command` is what errors name. */
enum { RUN_WATCH_S = 7 * 24 * 3600 };
int run_follow(const char *command, struct client *c, const char *id, long timeout_s, bool json);

int run_start(int argc, char **argv);
int run_list(int argc, char **argv); /* cli/boards.c */
int run_show(int argc, char **argv);
int run_print_messages(int argc, char **argv);
int run_watch(int argc, char **argv);
int run_cancel(int argc, char **argv);
int run_resume(int argc, char **argv);
int run_extend(int argc, char **argv);
int run_supervise(int argc, char **argv);
int run_export(int argc, char **argv);
int run_import(int argc, char **argv);

#endif
