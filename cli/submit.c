/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench submit`: a file, its options, and an Idempotency-Key, so that a second try after a lost
 * answer is the same submission. */
#include <string.h>
#include <unistd.h>

#include "cli/body.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/util.h"

enum { TRIES = 3 };

enum {
    PROBLEM = CLIENT_ROW_COUNT, WORKLOAD, ARCH, DEVICE, LANGUAGE, MODE, LABEL, METHOD, VISIBILITY,
    LAUNCH, OPTION, DRY_RUN, WAIT, TIMEOUT, JSON, ROWS
};

static const struct option_row rows[ROWS] = {
    CLIENT_ROWS,
    [PROBLEM] = {"problem", 'p', "NAME", "PTXBENCH_PROBLEM", "what it computes, such as gemm"},
    [WORKLOAD] = {"workload", 'w', "NAME", NULL, "its size; the problem's own default otherwise"},
    [ARCH] = {"arch", 'a', "NAME", "PTXBENCH_ARCH", "sm_90a, sm_100a"},
    [DEVICE] = {"device", 'd', "NAME", NULL, "gpu, cpu, or a device model"},
    [LANGUAGE] = {"language", 'l', "NAME", NULL, "cuda or ptx; found from the source otherwise"},
    [MODE] = {"mode", 'm', "NAME", NULL, "compile, check or rank"},
    [LABEL] = {"label", 0, "TEXT", NULL, "who or what made it, shown on the board"},
    [METHOD] = {"method", 0, "TEXT", NULL, "how it was made, shown on the board"},
    [VISIBILITY] = {"visibility", 0, "WORD", NULL, "public or private; private needs a token"},
    [LAUNCH] = {"launch", 0, "FILE", NULL, "launch plan as JSON, unless the source embeds one"},
    [OPTION] = {"options", 0, "LIST", NULL, "compiler options, separated by commas"},
    [DRY_RUN] = {"dry-run", 'n', NULL, NULL, "validate only; nothing is stored"},
    [WAIT] = {"wait", 0, NULL, NULL, "follow it until it has a verdict"},
    [TIMEOUT] = {"timeout", 't', "SECONDS", NULL, "longest --wait, 3600 by default"},
    [JSON] = {"json", 'j', NULL, NULL, "print the service's answer as it is"},
};

static const struct usage usage = {
    .command = "submit",
    .operands = "FILE",
    .summary = "Sends a source file (- for standard input) to the service.",
    .rows = rows,
    .count = ROWS,
    .min = 1,
    .max = 1,
    .notes = "exit status: 0 accepted, or with --wait PASSED; another verdict has its own (ptxbench help);\n"
             "1 could not be sent or was refused, 64 bad command line, 75 no verdict in time.",
};

static const struct body_text texts[] = {
    {PROBLEM, "problem", NULL},   {WORKLOAD, "workload", NULL}, {ARCH, "arch", NULL},
    {DEVICE, "device", NULL},     {LANGUAGE, "language", NULL}, {MODE, "mode", NULL},
    {LABEL, "label", NULL},       {METHOD, "method", NULL},     {VISIBILITY, "visibility", NULL},
};

/* The key makes a second try safe when the first one's answer was lost. */
static enum err post(struct client *c, const json_t *body, bool dry_run, json_t **out, struct fault *f)
{
    char key[UUID_TEXT];
    char *text = json_canonical(body);
    uuid7(key);
    struct request q = {
        .method = "POST",
        .path = dry_run ? "/v1/submissions?dry_run=1" : "/v1/submissions",
        .content_type = "application/json",
        .body = text,
        .body_len = text ? strlen(text) : 0,
        .idempotency_key = dry_run ? NULL : key,
    };
    enum err e = text ? ERR_UNAVAILABLE : fault_set(f, ERR_NO_MEMORY, "out of memory");
    for (int i = 0; e == ERR_UNAVAILABLE && i < TRIES; i++) {
        if (i)
            sleep((unsigned)i);
        e = client_json(c, &q, out, f);
    }
    free(text);
    return e;
}

int cmd_submit(int argc, char **argv)
{
    const char *values[ROWS];
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL, *body = NULL;
    long timeout_s = FOLLOW_DEFAULT_S;
    int code;
    int operand = options_read(&usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (values[TIMEOUT] && !option_number("timeout", values[TIMEOUT], 1, 7L * 24 * 3600, &timeout_s))
        return CLI_USAGE;

    body = json_object();
    enum err e = client_open(&c, values, &f);
    if (!e)
        e = body_build(&(struct body_files){argv[operand], values[LAUNCH], values[OPTION]}, texts,
                       COUNT_OF(texts), values, body, &f);
    if (!e)
        e = post(&c, body, values[DRY_RUN], &answer, &f);
    bool wait = values[WAIT] && !values[DRY_RUN];
    if (!e && wait) {
        const char *id = json_string_value(json_object_get(answer, "id"));
        json_t *final = NULL;
        if (!values[JSON])
            fprintf(stderr, "%s\n", id ? id : "?");
        e = follow(&c, id ? id : "", values[JSON] ? NULL : stderr, timeout_s, &final, &f);
        json_decref(answer);
        answer = final;
    }
    if (e) {
        code = cli_failed("submit", &f);
    } else {
        if (values[JSON])
            json_print(stdout, answer);
        else if (values[DRY_RUN])
            puts("valid");
        else
            submission_print(stdout, answer);
        code = wait ? submission_exit_code(answer) : CLI_OK;
    }
    json_decref(answer);
    json_decref(body);
    client_release(&c);
    return code;
}
