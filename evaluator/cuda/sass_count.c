// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/sass_count.h"

#include <stdlib.h>
#include <string.h>

#include "evaluator/cuda/tensor_shape.h"

enum { INSTRUCTION = 16, THREADS_A_WARP = 32 };

static int by_place(const void *a, const void *b)
{
    const struct sass_record *x = a, *y = b;
    int order = strcmp(x->function, y->function);
    return order ? order : (x->pc > y->pc) - (x->pc < y->pc);
}

void sass_records_sort(struct sass_records *r)
{
    size_t kept = 0;
    if (r->count)
        qsort(r->items, r->count, sizeof(r->items[0]), by_place);
    for (size_t i = 0; i < r->count; i++) {
        struct sass_record *last = kept ? &r->items[kept - 1] : NULL;
        if (last && by_place(last, &r->items[i]) == 0) {
            last->warps += r->items[i].warps;
            last->threads += r->items[i].threads;
        } else {
            r->items[kept++] = r->items[i];
        }
    }
    r->count = kept;
}

void sass_records_release(struct sass_records *r)
{
    free(r->items);
    *r = (struct sass_records){0};
}

/* Index of the first record that is not before this place. */
static size_t first_at(const struct sass_records *r, const char *function, uint32_t pc)
{
    const struct sass_record place = {.function = function, .pc = pc};
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_place(&r->items[middle], &place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add(struct sass_count *to, const struct sass_record *r)
{
    to->warps += r->warps;
    to->threads += r->threads;
}

/* Operations of a tensor instruction, for those warps whose threads took part. */
static void add_flops(struct sass_summary *out, const uint8_t *instruction, const char *name,
                      const struct sass_record *r)
{
    struct tensor_shape shape;
    if (tensor_shape(instruction, &shape))
        out->tensor_flops += (double)r->threads / THREADS_A_WARP * tensor_shape_flops(&shape);
    else if (r->threads)
        out->shapeless = name;
}

static const char *mnemonic(const struct sass_family *family, unsigned opcode)
{
    for (size_t i = 0; i < family->opcode_count; i++)
        if (family->opcodes[i] == opcode)
            return family->mnemonics[i];
    return family->name;
}

/* One instruction: `r` is what was seen there, NULL if nobody looked. */
static bool add_instruction(struct sass_summary *out, const struct arch *arch,
                            const uint8_t *instruction, const struct sass_record *r)
{
    unsigned opcode = cubin_opcode(instruction);
    const struct sass_family *family = arch_family(arch, opcode);
    if (!r)
        return !family;
    add(&out->total, r);
    out->patched++;
    if (!family)
        return true;
    add(&out->families[family - arch->families], r);
    out->target = out->target || (family->target && r->threads);
    if (family->tensor)
        add_flops(out, instruction, mnemonic(family, opcode), r);
    return true;
}

/* The record of one instruction, NULL if there is none. `*next` runs along the sorted records. */
static const struct sass_record *record_at(const struct sass_records *records, size_t *next,
                                           const char *function, uint32_t pc)
{
    const struct sass_record place = {.function = function, .pc = pc};
    while (*next < records->count && by_place(&records->items[*next], &place) < 0)
        ++*next;
    if (*next == records->count || by_place(&records->items[*next], &place) != 0)
        return NULL;
    return &records->items[*next];
}

static enum err add_function(struct sass_summary *out, const struct arch *arch,
                             const struct cubin_function *fn, const struct sass_records *records,
                             struct fault *f)
{
    size_t next = first_at(records, fn->name, 0);
    for (uint32_t pc = 0; pc + INSTRUCTION <= fn->code_len; pc += INSTRUCTION)
        if (!add_instruction(out, arch, fn->code + pc, record_at(records, &next, fn->name, pc)))
            return fault_set(f, ERR_UNAVAILABLE,
                             "cannot count instructions: the one at byte %u of %s was not watched",
                             pc, fn->name);
    return ERR_NONE;
}

/* Every warp of every launch passes the first instruction of its kernel, so that too few there tell
 * of a launch that nobody watched. */
static enum err check_launches(const struct sass_launch *launches, size_t count,
                               const struct sass_records *records, struct fault *f)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t expected = 0;
        for (size_t j = 0; j < count; j++)
            if (!strcmp(launches[j].kernel, launches[i].kernel))
                expected += launches[j].warps;
        size_t next = first_at(records, launches[i].kernel, 0);
        const struct sass_record *first = record_at(records, &next, launches[i].kernel, 0);
        uint64_t seen = first ? first->warps : 0;
        if (seen < expected)
            return fault_set(f, ERR_UNAVAILABLE,
                             "cannot count instructions: %llu of %llu warps of %s were watched",
                             (unsigned long long)seen, (unsigned long long)expected,
                             launches[i].kernel);
    }
    return ERR_NONE;
}

enum err sass_summarise(const struct cubin *cubin, const struct arch *arch,
                        const struct sass_launch *launches, size_t launch_count,
                        const struct sass_records *records, struct sass_summary *out,
                        struct fault *f)
{
    const char *entries[LIMIT_LAUNCHES] = {0};
    struct cubin_reach reach;
    struct cubin_function fn;
    *out = (struct sass_summary){0};
    for (size_t i = 0; i < launch_count; i++)
        entries[i] = launches[i].kernel;
    cubin_reach(cubin, entries, launch_count, &reach);
    enum err e = check_launches(launches, launch_count, records, f);
    for (unsigned at = 0; e == ERR_NONE && cubin_next(cubin, &at, &fn);)
        if (cubin_reached(&reach, fn.section))
            e = add_function(out, arch, &fn, records, f);
    return e;
}
