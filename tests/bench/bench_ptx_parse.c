/* SPDX-License-Identifier: Apache-2.0
 * How fast PTX is parsed: one kernel of about 7.5 MB with 10,000 registers, labels and scopes in
 * the proportions of a real unrolled kernel, made in memory. Processor time, median of several runs
 * (the parser is one thread, and the machine may be shared). One JSON line. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"

enum { RUNS = 9, TEXT_BYTES = 7500000, REGS = 10000 };

static void add_block(struct buf *b, unsigned n)
{
    unsigned r = n * 7 % (REGS - 16);
    buf_addf(b, "$L__BB0_%u:\n\t.loc\t1 %u 13\n", n, n % 900 + 1);
    buf_addf(b, "\tld.shared.v4.f32 \t{%%f%u, %%f%u, %%f%u, %%f%u}, [%%r%u+%u];\n", r, r + 1, r + 2,
             r + 3, r, n % 4096 * 16);
    for (unsigned i = 0; i < 8; i++)
        buf_addf(b, "\tfma.rn.f32 \t%%f%u, %%f%u, %%f%u, %%f%u;\n", r + i + 4, r, r + i, r + 4);
    buf_addf(b,
             "\tcvta.to.global.u64 \t%%rd%u, %%rd%u;\n\tmad.wide.s32 \t%%rd%u, %%r%u, 4, %%rd%u;\n",
             r, r + 1, r + 2, r, r + 1);
    buf_addf(b, "\tmov.f32 \t%%f%u, 0f3F800000;\n\tsetp.lt.s32 \t%%p%u, %%r%u, %u;\n", r, n % 1000,
             r, n);
    buf_adds(b, "\t// begin inline asm\n\t{\n.reg .pred "
                "P;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P, [%r1], 0;\n"
                "@P bra.uni DONE;\nbra.uni WAIT;\nDONE:\n}\n\t// end inline asm\n");
    buf_addf(b, "\t@%%p%u bra \t$L__BB0_%u;\n", n % 1000, n);
}

static bool make_text(struct buf *b)
{
    buf_init(b, 16 * MIB);
    buf_addf(b,
             ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(\n\t.param .u64 "
             "k_param_0\n)\n{\n"
             "\t.reg .pred \t%%p<%d>;\n\t.reg .b32 \t%%r<%d>;\n\t.reg .b32 \t%%f<%d>;\n\t.reg .b64 "
             "\t%%rd<%d>;\n",
             REGS, REGS, REGS, REGS);
    for (unsigned n = 0; b->len < TEXT_BYTES && !b->failed; n++)
        add_block(b, n);
    buf_adds(b, "\tret;\n}\n");
    return !b->failed;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    struct buf text;
    struct fault f = {0};
    double rates[RUNS];
    if (!make_text(&text))
        return 1;
    for (int i = 0; i < RUNS; i++) {
        double start = cpu_s();
        struct ptx_module *m = ptx_parse(text.data, text.len, &f);
        double seconds = cpu_s() - start;
        if (!m) {
            fprintf(stderr, "%s\n", f.detail);
            return 1;
        }
        rates[i] = (double)text.len / 1e6 / seconds;
        ptx_free(m);
    }
    qsort(rates, RUNS, sizeof *rates, by_value);
    printf("{\"name\":\"ptxvm.parse_mb_per_s\",\"value\":%.1f,\"unit\":\"MB/s\"}\n",
           rates[RUNS / 2]);
    buf_release(&text);
    return 0;
}
