// SPDX-License-Identifier: Apache-2.0
// The parts of a prompt that are made of arch.json and problem.json.
#include <string.h>

#include "core/json.h"
#include "core/prompt.h"
#include "core/util.h"

enum unit { COUNT, BYTES, SPEED, CLOCK, CYCLES };

/* Numbers of arch.json; what an architecture does not have is left out. */
static const struct number {
    const char *label, *group, *field; /* group NULL: a member of the document itself */
    enum unit unit;
} numbers[] = {
    {"SMs", NULL, "num_sms", COUNT},
    {"clock at most", NULL, "max_clock_mhz", CLOCK},
    {"device memory", "parameters", "memory_bytes", BYTES},
    {"device memory, bytes a second", NULL, "memory_bytes_per_s", SPEED},
    {"L2", "parameters", "l2_bytes", BYTES},
    {"L2, bytes a second at most, about", "parameters", "l2_bytes_per_s", SPEED},
    {"shared memory of an SM", "parameters", "shared_bytes_per_sm", BYTES},
    {"shared memory of a block at most", NULL, "max_shared_bytes", BYTES},
    {"shared memory, bytes a cycle and SM", "parameters", "shared_bytes_per_cycle_per_sm", COUNT},
    {"tensor memory of an SM", "parameters", "tmem_bytes_per_sm", BYTES},
    {"tensor memory, lanes", "parameters", "tmem_lanes", COUNT},
    {"tensor memory, columns of 32 bits", "parameters", "tmem_columns", COUNT},
    {"registers of an SM", "parameters", "registers_per_sm", COUNT},
    {"registers of a thread at most", "parameters", "max_registers_per_thread", COUNT},
    {"threads of a block at most", NULL, "max_threads_per_block", COUNT},
    {"threads of an SM at most", "parameters", "max_threads_per_sm", COUNT},
    {"blocks of an SM at most", "parameters", "max_blocks_per_sm", COUNT},
    {"blocks of a cluster, portable", "parameters", "portable_cluster", COUNT},
    {"blocks of a cluster at most", NULL, "max_cluster", COUNT},
    {"named barriers of a block", "parameters", "named_barriers", COUNT},
    {"exponentials and the like, a cycle and SM", "parameters", "mufu_per_cycle_per_sm", COUNT},
    {"latency of tensor memory", "latency_cycles", "tmem", CYCLES},
    {"latency of shared memory", "latency_cycles", "shared", CYCLES},
    {"latency of L2", "latency_cycles", "l2", CYCLES},
    {"latency of device memory", "latency_cycles", "memory", CYCLES},
};

static void add_number(struct buf *out, double v, enum unit unit)
{
    static const char *const sizes[] = {"bytes", "KiB", "MiB"};
    size_t i = 0;
    switch (unit) {
    case COUNT:
        buf_addf(out, "%.0f", v);
        break;
    case CLOCK:
        buf_addf(out, "%.0f MHz", v);
        break;
    case CYCLES:
        buf_addf(out, "about %.0f cycles", v);
        break;
    case SPEED:
        buf_addf(out, "%.2f TB/s", v / 1e12);
        break;
    case BYTES:
        if (v >= 1e9) {
            buf_addf(out, "%.0f GB", v / 1e9);
            break;
        }
        for (; i + 1 < COUNT_OF(sizes) && v >= 1024; i++)
            v /= 1024;
        buf_addf(out, "%.0f %s", v, sizes[i]);
    }
}

/* Families that count as written for this GPU: what makes them, and what they are called in SASS.
 */
static void add_targets(const struct arch *arch, struct buf *out)
{
    const char *before = " ";
    buf_adds(out,
             "\nTarget instructions, of which at least one must execute for a kernel to count as "
             "written for this GPU (in brackets their names in SASS):");
    for (size_t i = 0; i < arch->family_count; i++) {
        const struct sass_family *family = &arch->families[i];
        if (!family->target)
            continue;
        buf_addf(out, "%s%s (", before, family->ptx ? family->ptx : family->name);
        for (size_t k = 0; k < family->opcode_count; k++)
            buf_addf(out, "%s%s", k ? ", " : "", family->mnemonics[k]);
        buf_adds(out, ")");
        before = "; ";
    }
    buf_adds(out, ".\n");
}

void prompt_parameters(const struct arch *arch, struct buf *out)
{
    const json_t *peaks = json_object_get(arch->document, "peak_flops_per_cycle_per_sm");
    const char *type;
    json_t *v;
    buf_addf(out, "# %s: %s, %s\n\n| | |\n|---|---|\n", arch->name, arch->title, arch->gpu);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const json_t *group =
            numbers[i].group ? json_object_get(arch->document, numbers[i].group) : arch->document;
        const json_t *number = json_object_get(group, numbers[i].field);
        if (!number)
            continue;
        buf_addf(out, "| %s | ", numbers[i].label);
        add_number(out, json_number_value(number), numbers[i].unit);
        buf_adds(out, " |\n");
    }
    json_object_foreach((json_t *)peaks, type, v) buf_addf(
        out, "| %s, dense | %.0f FLOP a cycle and SM: %.0f TFLOP/s at %.0f MHz |\n", type,
        json_number_value(v), json_number_value(v) * arch->num_sms * arch->max_clock_mhz * 1e-6,
        arch->max_clock_mhz);
    add_targets(arch, out);
}

static void add_tensor(const struct problem *p, const struct workload *w, size_t i, struct buf *out)
{
    const struct tensor_def *t = &p->tensors[i];
    int64_t shape[LIMIT_DIMS];
    problem_shape(p, w, i, shape);
    buf_addf(out, "| `%s` | %s | %s | ", t->name, t->role == TENSOR_INPUT ? "input" : "output",
             dtype_name(t->dtype));
    for (int d = 0; d < t->ndim; d++)
        buf_addf(out, "%s%s", d ? ", " : "[", t->dims[d]);
    for (int d = 0; d < t->ndim; d++)
        buf_addf(out, "%s%lld", d ? ", " : "] = [", (long long)shape[d]);
    buf_addf(out, "] | %s |\n", t->description);
}

static void add_strict(const struct problem *p, struct buf *out)
{
    const char *between = " The error beyond rounding, relative in the L2 norm, should stay below";
    bool any = false;
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (!(p->tensors[i].strict_excess > 0))
            continue;
        buf_addf(out, "%s %g in `%s`", any ? "," : between, p->tensors[i].strict_excess,
                 p->tensors[i].name);
        any = true;
    }
    if (any)
        buf_adds(out, ": accumulate in 32 bits.");
}

void prompt_problem(const struct problem *p, const struct workload *w, int num_sms, struct buf *out)
{
    const char *text = json_string_value(json_object_get(p->document, "description"));
    buf_addf(out, "# Problem %s: %s\n\n%s\n\nWorkload %s:", p->name, p->title, text ? text : "",
             w->name);
    for (size_t i = 0; i < p->axis_count; i++)
        buf_addf(out, " %s = %lld%s", p->axes[i], (long long)w->axes[i],
                 i + 1 < p->axis_count ? "," : "");
    buf_addf(out, "; num_sms = %d.\n\n| tensor | | type | shape | |\n|---|---|---|---|---|\n",
             num_sms);
    for (size_t i = 0; i < p->tensor_count; i++)
        add_tensor(p, w, i, out);
    buf_addf(out,
             "\nAll tensors are row-major and contiguous. %.4g GFLOP, at least %.4g MB to and from "
             "memory. "
             "An element is wrong if it is off by more than %g and by more than %g of its value; ",
             (double)problem_flops(p, w) / 1e9, (double)problem_bytes(p, w) / 1e6, p->atol,
             p->rtol);
    if (p->bad_share > 0)
        buf_addf(out, "more than %g of an output's elements wrong fail the kernel,", p->bad_share);
    else
        buf_adds(out, "one wrong element fails the kernel,");
    buf_adds(out, " NaN and infinity too.");
    add_strict(p, out);
    buf_adds(
        out,
        " Inputs are drawn anew, outputs are poisoned before each launch; the answer is compared "
        "with an oracle of higher precision. Speed is measured against the vendor's library on a "
        "cold L2.\n");
}
