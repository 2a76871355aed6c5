/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench eval`: the stages a worker runs, here, without server or database. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/body.h"
#include "cli/commands.h"
#include "cli/eval_keeper.h"
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
    [DEVICE] = {"device", 'd', "NAME", NULL, "cpu (default), cuda:0, cuda:1 …; gpu is cuda:0"},
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

/* What all evaluations of one command have in common. */
struct eval {
    struct registry registry;
    const char *file, *device;
    const char *const *values;
    struct eval_keeper keeper; /* runs if the device is a GPU and the mode needs it */
};

/* One workload. Returns the exit code. */
static int eval_one(const struct eval *eval, const json_t *body)
{
    const char *const *values = eval->values;
    struct submission s;
    struct evaluation e = {0};
    struct fault f = {0};
    int code = CLI_FAILED;
    bool table = values[SWEEP] != NULL, json = values[JSON] != NULL;
    const struct evaluation_hooks hooks = {.arg = stdout,
                                           .event = table || json ? NULL : view_event};
    if (parse(&eval->registry, body, &s)) {
        struct evaluation_request request = {
            .registry = &eval->registry, .submission = &s, .device = eval->device,
            .keeper = eval->keeper.access.connect ? &eval->keeper.access : NULL,
        };
        if (!table && !json)
            view_head(stdout, eval->file, eval->device, &s);
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

static int eval_sweep(struct eval *eval, json_t *body)
{
    const char *name = json_string_value(json_object_get(body, "problem"));
    const struct problem *p = problems_find(&eval->registry.problems, name);
    int first = CLI_OK;
    size_t left_out = 0;
    for (size_t i = 0; p && i < p->workload_count; i++) {
        if (!strcmp(eval->device, "cpu") && problem_flops(p, &p->workloads[i]) > sweep_flops_cpu) {
            left_out++;
            continue;
        }
        json_object_set_new(body, "workload", json_string(p->workloads[i].name));
        int code = eval_one(eval, body);
        first = first == CLI_OK ? code : first;
        if (code == verdict_exit_code(VERDICT_INFRA_ERROR))
            eval_keeper_stop(&eval->keeper); /* the next gets another */
    }
    if (!p)
        return eval_one(eval, body); /* says what is wrong with the name */
    if (left_out && !eval->values[JSON])
        printf("  %zu workloads of over %lld MFLOP left out: too large for the cpu device\n",
               left_out, (long long)sweep_flops_cpu / 1000000);
    return first;
}

/* A submission for any GPU, evaluated on this one. */
static enum err prepare_gpu(struct eval *eval, json_t *body, struct fault *f)
{
    int ordinal = device_ordinal(eval->device);
    const char *mode = json_string_value(json_object_get(body, "mode"));
    if (ordinal < 0)
        return ERR_NONE;
    json_object_set_new(body, "device", json_string("gpu"));
    return mode && mode_find(mode) == MODE_COMPILE ? ERR_NONE
                                                   : eval_keeper_start(&eval->keeper, ordinal, f);
}

static int eval_all(struct eval *eval, json_t *body, struct fault *f)
{
    const struct body_files files = {eval->file, eval->values[LAUNCH], eval->values[OPTION]};
    if (body_build(&files, texts, COUNT_OF(texts), eval->values, body, f) != ERR_NONE ||
        prepare_gpu(eval, body, f) != ERR_NONE)
        return cli_failed("eval", f);
    return eval->values[SWEEP] ? eval_sweep(eval, body) : eval_one(eval, body);
}

int cmd_eval(int argc, char **argv)
{
    const char *values[ROWS];
    int code;
    int operand = options_read(&usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    struct fault f = {0};
    struct eval eval = {.file = argv[operand], .device = values[DEVICE] ? values[DEVICE] : "cpu",
                        .values = values};
    if (!strcmp(eval.device, "gpu"))
        eval.device = "cuda:0";
    if (!device_find(eval.device)) {
        fault_set(&f, ERR_UNAVAILABLE,
                  "there is no device '%.32s' here; cpu is on every machine, cuda:0 is its first GPU",
                  eval.device);
        return cli_failed("eval", &f);
    }
    if (registry_load(&eval.registry, home_dir(), &f) != ERR_NONE)
        return cli_failed("eval", &f);
    json_t *body = json_object();
    code = eval_all(&eval, body, &f);
    json_decref(body);
    eval_keeper_stop(&eval.keeper);
    registry_release(&eval.registry);
    return code;
}
