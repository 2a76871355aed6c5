/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench eval`: the stages a worker runs, here, without server or database. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/body.h"
#include "cli/commands.h"
#include "cli/eval_view.h"
#include "cli/options.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/submission.h"
#include "core/util.h"
#include "evaluator/device.h"

enum { PROBLEM, WORKLOAD, ARCH, DEVICE, LANGUAGE, MODE, LAUNCH, OPTION, SWEEP, SAVE, JSON, ROWS };

/* --sweep on the cpu leaves out workloads of more FLOPs than this: about ten seconds each. */
static const int64_t sweep_flops_cpu = 1000 * 1000 * 1000;

static const struct option_row rows[ROWS] = {
    [PROBLEM] = {"problem", 'p', "NAME", "PTXBENCH_PROBLEM", "what it computes; gemm by default"},
    [WORKLOAD] = {"workload", 'w', "NAME", NULL, "its size; the problem's own default otherwise"},
    [ARCH] = {"arch", 'a', "NAME", "PTXBENCH_ARCH", "sm_90a (default), sm_100a"},
    [DEVICE] = {"device", 'd', "NAME", NULL, "cpu (default)"},
    [LANGUAGE] = {"language", 'l', "NAME", NULL, "cuda or ptx; found from the source otherwise"},
    [MODE] = {"mode", 'm', "NAME", NULL, "compile, check or rank (default)"},
    [LAUNCH] = {"launch", 0, "FILE", NULL, "launch plan as JSON, unless the source embeds one"},
    [OPTION] = {"options", 0, "LIST", NULL, "compiler options, separated by commas"},
    [SWEEP] = {"sweep", 0, NULL, NULL, "all workloads of the problem (on the cpu: the small ones)"},
    [SAVE] = {"save", 's', "FOLDER", NULL, "write report.json, ptx, cubin, log and capture there"},
    [JSON] = {"json", 'j', NULL, NULL, "print the report as JSON, nothing else"},
};

static const struct usage usage = {
    .command = "eval",
    .operands = "FILE",
    .summary = "Evaluates a source file on this machine: compiles, inspects, checks, times.",
    .rows = rows,
    .count = ROWS,
    .min = 1,
    .max = 1,
    .notes = "exit status: 0 PASSED; another verdict has its own (ptxbench help); 1 the file or its\n"
             "plan is not valid, 64 bad command line. With --sweep: that of the first that failed.",
};

static const struct body_text texts[] = {
    {PROBLEM, "problem", "gemm"}, {WORKLOAD, "workload", NULL}, {ARCH, "arch", "sm_90a"},
    {DEVICE, "device", "cpu"},    {LANGUAGE, "language", NULL}, {MODE, "mode", NULL},
};

static bool parse(const struct registry *r, const json_t *body, struct submission *s)
{
    struct faults faults = {0};
    size_t i;
    json_t *item;
    bool ok = submission_parse(r, body, s, &faults);
    json_array_foreach(faults.items, i, item)
        fprintf(stderr, "ptxbench eval: %s: %s\n", json_string_value(json_object_get(item, "path")),
                json_string_value(json_object_get(item, "detail")));
    faults_release(&faults);
    return ok;
}

static enum err save_file(const char *folder, const char *name, const void *data, size_t len,
                          struct fault *f)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    bool ok = out && fwrite(data, 1, len, out) == len;
    if (out && fclose(out))
        ok = false;
    return ok ? ERR_NONE : fault_set(f, ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

static enum err save(const char *folder, const struct evaluation *e, struct fault *f)
{
    const struct {
        const char *name;
        const struct buf *bytes;
    } artefacts[] = {{"kernel.ptx", &e->ptx}, {"kernel.cubin", &e->cubin}, {"log.txt", &e->log},
                     {"capture.bin", &e->capture}};
    if (mkdir(folder, 0777) && errno != EEXIST)
        return fault_set(f, ERR_IO, "cannot make folder %s: %s", folder, strerror(errno));
    char *text = json_dumps(e->report, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    enum err code = text ? save_file(folder, "report.json", text, strlen(text), f) : ERR_NO_MEMORY;
    free(text);
    for (size_t i = 0; i < COUNT_OF(artefacts) && code == ERR_NONE; i++)
        if (artefacts[i].bytes->len)
            code = save_file(folder, artefacts[i].name, artefacts[i].bytes->data,
                             artefacts[i].bytes->len, f);
    return code;
}

/* One workload. Returns the exit code. */
static int eval_one(const struct registry *r, const char *file, const char *const *values,
                    const json_t *body)
{
    struct submission s;
    struct evaluation e = {0};
    struct fault f = {0};
    int code = CLI_FAILED;
    bool table = values[SWEEP] != NULL, json = values[JSON] != NULL;
    const struct evaluation_hooks hooks = {.arg = stdout,
                                           .event = table || json ? NULL : view_event};
    if (parse(r, body, &s)) {
        struct evaluation_request request = {.registry = r, .submission = &s, .device = s.device};
        if (!table && !json)
            view_head(stdout, file, &s);
        enum err failed = evaluate(&request, &hooks, &e, &f);
        if (failed == ERR_NONE && values[SAVE])
            failed = save(values[SAVE], &e, &f);
        code = failed == ERR_NONE ? verdict_exit_code(e.verdict) : cli_failed("eval", &f);
        if (failed == ERR_NONE && json)
            json_print(stdout, e.report);
        else if (failed == ERR_NONE && table)
            view_row(stdout, &s, &e);
        else if (failed == ERR_NONE)
            view_end(stdout, &e);
        evaluation_release(&e);
    }
    submission_release(&s);
    return code;
}

static int eval_sweep(const struct registry *r, const char *file, const char *const *values,
                      json_t *body)
{
    const char *name = json_string_value(json_object_get(body, "problem"));
    const char *device = json_string_value(json_object_get(body, "device"));
    const struct problem *p = problems_find(&r->problems, name);
    int first = CLI_OK;
    size_t left_out = 0;
    for (size_t i = 0; p && i < p->workload_count; i++) {
        if (!strcmp(device, "cpu") && problem_flops(p, &p->workloads[i]) > sweep_flops_cpu) {
            left_out++;
            continue;
        }
        json_object_set_new(body, "workload", json_string(p->workloads[i].name));
        int code = eval_one(r, file, values, body);
        first = first == CLI_OK ? code : first;
    }
    if (!p)
        return eval_one(r, file, values, body); /* says what is wrong with the name */
    if (left_out && !values[JSON])
        printf("  %zu workloads of over %lld MFLOP left out: too large for the cpu device\n",
               left_out, (long long)sweep_flops_cpu / 1000000);
    return first;
}

int cmd_eval(int argc, char **argv)
{
    const char *values[ROWS];
    int code;
    int operand = options_read(&usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    const char *file = argv[operand], *device = values[DEVICE] ? values[DEVICE] : "cpu";
    struct fault f = {0};
    struct registry registry;
    if (!device_find(device)) {
        fault_set(&f, ERR_UNAVAILABLE, "there is no device '%.32s' here; cpu is on every machine", device);
        return cli_failed("eval", &f);
    }
    if (registry_load(&registry, home_dir(), &f) != ERR_NONE)
        return cli_failed("eval", &f);
    json_t *body = json_object();
    const struct body_files files = {file, values[LAUNCH], values[OPTION]};
    if (body_build(&files, texts, COUNT_OF(texts), values, body, &f) != ERR_NONE)
        code = cli_failed("eval", &f);
    else if (values[SWEEP])
        code = eval_sweep(&registry, file, values, body);
    else
        code = eval_one(&registry, file, values, body);
    json_decref(body);
    registry_release(&registry);
    return code;
}
