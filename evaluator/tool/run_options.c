// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/run_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/ptxvm/ptxvm.h"

enum { TRACE_LINES = 10000, DEADLINE_S = 600, MAX_SCHEDULES = 1000, MAX_SAMPLE = 4096 };

const char run_usage[] =
    "usage: ptxvm run FILE [options]\n"
    "Runs a kernel (.cu or .ptx) on the CPU, checks every access and the results against the "
    "problem's oracle.\n"
    "  --problem NAME        gemm by default\n"
    "  --workload NAME       its size; a small one by default, the paper's with --ctas\n"
    "  --arch NAME           sm_90a by default\n"
    "  --plan FILE           launch plan as JSON, unless the source embeds one\n"
    "  --count               exact dynamic counts by instruction and by family\n"
    "  --trace KERNEL,CTA,WARP  each instruction of one warp; CTA is a number or x:y:z\n"
    "  --trace-lines N       at most so many (10000); 0: no limit\n"
    "  --ctas N              only N random CTAs (or clusters) of the real grid, and what they "
    "wrote\n"
    "  --seed N              inputs, CTAs of --ctas, order of CTAs and warps (1)\n"
    "  --schedules N         N orders of CTAs and warps, seeds from --seed on: results must agree "
    "bit for "
    "bit\n"
    "  --threads N           of the host that share the CTAs (all); 1 with --seed or --schedules: "
    "then the "
    "same\n"
    "                        command gives the same answer and counts, for kernels that race, too\n"
    "  --deadline S          processor time of one run, seconds (600)\n"
    "  --json                one JSON object on stdout, the trace on stderr\n"
    "exit status: 0 right; 1 wrong; 2 bad command line; 3 cannot tell (no compiler here, CTAs of "
    "--ctas that\n"
    "wait for others, an instruction that is not executed yet)\n";

enum { TRACE_LINES_OPTION = 'L', THREADS_OPTION = 'T' };

static const struct option options[] = {
    {"problem", required_argument, NULL, 'p'},
    {"workload", required_argument, NULL, 'w'},
    {"arch", required_argument, NULL, 'a'},
    {"plan", required_argument, NULL, 'P'},
    {"count", no_argument, NULL, 'c'},
    {"trace", required_argument, NULL, 't'},
    {"trace-lines", required_argument, NULL, 'L'},
    {"ctas", required_argument, NULL, 'n'},
    {"seed", required_argument, NULL, 's'},
    {"schedules", required_argument, NULL, 'S'},
    {"threads", required_argument, NULL, 'T'},
    {"deadline", required_argument, NULL, 'd'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool read_number(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(s, &end, 10);
    return errno == 0 && end != s && *end == '\0' && *s != '-' && *out >= min && *out <= max;
}

/* KERNEL,CTA,WARP; the kernel's name may have commas itself. x:y:z stays packed, 21 bits each and
 * one to know it by, until the grid is known. */
static bool read_trace(const char *s, struct run_options *o)
{
    const char *warp = strrchr(s, ','), *cta = warp;
    while (cta && cta > s && (cta == warp || *cta != ','))
        cta--;
    if (!warp || cta == s || (size_t)(cta - s) >= sizeof(o->trace_kernel))
        return false;
    memcpy(o->trace_kernel, s, (size_t)(cta - s));
    o->trace_kernel[cta - s] = '\0';
    unsigned x, y = 0, z = 0;
    int used = 0, fields = sscanf(cta + 1, "%u%n:%u%n:%u%n", &x, &used, &y, &used, &z, &used);
    if (fields < 1 || cta + 1 + used != warp || y > 65535 || z > 65535)
        return false;
    o->trace_cta = fields == 1 ? x : UINT64_C(1) << 63 | (uint64_t)z << 47 | (uint64_t)y << 31 | x;
    return read_number(warp + 1, 0, 31, &o->trace_warp);
}

static bool read_option(struct run_options *o, int option, const char *value)
{
    uint64_t n;
    switch (option) {
    case 'p':
        o->problem = value;
        return true;
    case 'w':
        o->workload = value;
        return true;
    case 'a':
        o->arch = value;
        return true;
    case 'P':
        o->plan = value;
        return true;
    case 'c':
        return o->count = true;
    case 'j':
        return o->json = true;
    case 'h':
        return o->help = true;
    case 't':
        return read_trace(value, o);
    case TRACE_LINES_OPTION:
        return read_number(value, 0, UINT64_MAX, &o->trace_lines);
    case 'n':
        return read_number(value, 1, MAX_SAMPLE, &o->ctas);
    case 's':
        o->repeatable = true;
        return read_number(value, 0, UINT64_MAX, &o->seed);
    case 'S':
        return read_number(value, 1, MAX_SCHEDULES, &o->schedules);
    case THREADS_OPTION:
        if (!read_number(value, 1, PTXVM_THREADS_MAX, &n))
            return false;
        o->threads = (int)n;
        return true;
    case 'd':
        if (!read_number(value, 1, 1000000, &n))
            return false;
        o->deadline_ms = (int64_t)n * 1000;
        return true;
    default:
        return false;
    }
}

bool run_options_read(int argc, char **argv, struct run_options *out)
{
    *out = (struct run_options){
        .seed = 1, .schedules = 1, .trace_lines = TRACE_LINES, .deadline_ms = DEADLINE_S * 1000};
    optind = 1;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (o == '?') {
            fprintf(stderr, "%s", run_usage);
            return false;
        } else if (!read_option(out, o, optarg)) {
            fprintf(stderr, "ptxvm run: not a value of this option: %s\n", optarg ? optarg : "");
            return false;
        }
    if (out->help)
        return true;
    if (optind != argc - 1 || (out->ctas && out->schedules > 1)) {
        fprintf(stderr, "ptxvm run: %s\n%s",
                optind != argc - 1 ? "one file is needed"
                                   : "--ctas and --schedules do not go together",
                run_usage);
        return false;
    }
    if (!out->threads && (out->repeatable || out->schedules > 1))
        out->threads = 1;
    out->file = argv[optind];
    return true;
}
