/* SPDX-License-Identifier: Apache-2.0
 * ptxvm: executes PTX on the CPU, the way the hardware would and with every access checked.
 *
 * A `struct ptxvm` is one simulated device: a 64-bit address space with named allocations and at
 * most one loaded module. Instances are cheap (no big reservation), so the candidate and the oracle
 * each get their own and share tensor bytes by mapping the same host memory into both with
 * ptxvm_map.
 *
 *     vm = ptxvm_new(&options, f);  ptxvm_load(vm, module, f);
 *     a = ptxvm_map(vm, "A", host_a, bytes, PTXVM_READ_ONLY);
 *     ptxvm_launch(vm, &launch, &result);   … result.status, result.fault …
 *     ptxvm_result_release(&result);  ptxvm_free(vm);
 *
 * One thread at a time may call into one vm; ptxvm_launch spreads CTAs over threads of its own. The
 * program sees simulated addresses only, and simulated time. Results and counts are a function of
 * module, memory, launch and seed with one thread, for every program. With several, only where no
 * result depends on which CTA comes first: a race between CTAs, the order of their floating-point
 * atomics and the turns of a loop that waits for another CTA are then the host's.
 *
 * A seed permutes the order in which CTAs begin and warps have their turns, and draws how long a
 * turn is, down to a single instruction. Every schedule is one that the hardware may choose: CTAs
 * that fit on the device at once all make progress, later ones begin when earlier ones have ended,
 * and every thread of a CTA that has begun makes progress. */
#ifndef EVALUATOR_PTXVM_PTXVM_H
#define EVALUATOR_PTXVM_PTXVM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct ptx_module; /* evaluator/ptxvm/ptx.h */
struct ptxvm;

/* Zero in any field means the default given behind it. */
struct ptxvm_options {
    uint64_t seed;               /* the schedule; 0: in order, each warp for as long as it can */
    int threads;                 /* host threads; online CPUs, at most PTXVM_THREADS_MAX */
    uint64_t instruction_budget; /* thread instructions of one launch; 2^40 */
    int64_t deadline_ms;         /* processor time of one launch, all threads together; 60 s */
    size_t memory_max;           /* bytes of all allocations, local and shared memory; 4 GiB */
    int num_sms;                 /* what %nsmid says; 132 */
    size_t print_max;            /* bytes of printf and assert text kept per launch; 64 KiB */
};

enum { PTXVM_THREADS_MAX = 64, PTXVM_NAME = 64, PTXVM_FORM = 160, PTXVM_TEXT = 512, PTXVM_DETAIL = 2048 };

enum ptxvm_access { PTXVM_READ_WRITE, PTXVM_READ_ONLY };

/* Status of a launch. BUDGET and DEADLINE are "took too long", LAUNCH is a launch that never began.
 */
enum ptxvm_status {
    PTXVM_OK,
    PTXVM_FAULT,       /* memory access the hardware would fault on, or run past a stack */
    PTXVM_TRAP,        /* the program executed `trap` (or `brkpt`) */
    PTXVM_ASSERT,      /* a device assertion failed; its text is in fault.detail */
    PTXVM_UNSUPPORTED, /* an instruction this executor does not execute yet; our fault, not theirs
                        */
    PTXVM_BUDGET,      /* instruction budget spent */
    PTXVM_DEADLINE,    /* the processor time allowed is spent */
    PTXVM_DEADLOCK,    /* every live warp of a CTA waits for something that cannot come */
    PTXVM_LAUNCH, /* bad configuration: unknown kernel, block too big, parameters of another size …
                   */
    PTXVM_NO_MEMORY, /* memory_max reached, or the host has no more */
    PTXVM_STATUS_COUNT
};

/* Kinds of fault.kind when the status is PTXVM_FAULT; PTXVM_KIND_NONE otherwise. */
enum ptxvm_kind {
    PTXVM_KIND_NONE,
    PTXVM_OUT_OF_BOUNDS_READ,
    PTXVM_OUT_OF_BOUNDS_WRITE,
    PTXVM_MISALIGNED,
    PTXVM_READ_ONLY_WRITE, /* store to an input, to .const, to a sealed allocation */
    PTXVM_NULL_ACCESS,     /* first 64 KiB of the address space */
    PTXVM_WRONG_SPACE,     /* e.g. ld.shared with an address outside the shared window */
    PTXVM_STACK_OVERFLOW,  /* call depth or local memory exhausted */
    PTXVM_BAD_BRANCH,      /* indirect call to something that is no function of the module */
    PTXVM_BAD_BARRIER,     /* barrier number or thread count out of range */
    PTXVM_BAD_OPERAND,     /* operand value the instruction does not allow */
    PTXVM_KIND_COUNT
};

const char *ptxvm_status_name(enum ptxvm_status s); /* "ok", "fault", … */
const char *ptxvm_kind_name(enum ptxvm_kind k);     /* "out_of_bounds_read", … */

/* What went wrong, where. Meaningful unless status is PTXVM_OK. */
struct ptxvm_fault {
    enum ptxvm_kind kind;
    char detail[PTXVM_DETAIL];    /* for people: one sentence, or one for each that waits */
    char kernel[PTXVM_TEXT];      /* symbol */
    char instruction[PTXVM_TEXT]; /* text of the PTX instruction, or "" */
    char file[PTXVM_TEXT];        /* .loc source file, or "" */
    char allocation[PTXVM_NAME];  /* nearest allocation, or "" */
    uint64_t address;             /* simulated; bytes = size of the access; 0 if no access */
    uint64_t bytes;
    int64_t distance; /* bytes past the end (> 0) or before the start (< 0) of `allocation` */
    uint32_t cta[3], thread[3]; /* valid if `located` */
    uint32_t ptx_line;          /* 1-based; 0: unknown */
    uint32_t source_line;       /* .loc; 0: unknown */
    bool located;
};

/* Dynamic counts of a launch. One row per instruction form that was executed. */
struct ptxvm_count {
    char name[PTXVM_FORM];   /* opcode with its modifiers, e.g. "ld.global.v4.f32" */
    uint64_t warps, threads; /* warp instructions; thread instructions with a true predicate */
};

struct ptxvm_counts {
    uint64_t thread_instructions, warp_instructions, ctas;
    struct ptxvm_count *rows; /* most threads first; owned by the result */
    size_t row_count;
};

struct ptxvm_result {
    enum ptxvm_status status;
    struct ptxvm_fault fault;
    char *log; /* printf output, NUL-terminated, at most print_max; owned; never NULL after a launch
                */
    size_t log_dropped; /* bytes over print_max */
    struct ptxvm_counts counts;
    char note[PTXVM_TEXT];   /* for people: what went well and need not; "" as a rule. So far: CTAs of a
                              * launch that is not cooperative wait for each other */
    double wall_ms;
};

/* A device with nothing in it. NULL with a fault when out of memory. */
struct ptxvm *ptxvm_new(const struct ptxvm_options *options, struct fault *f);
void ptxvm_free(struct ptxvm *vm); /* NULL is fine */

/* Loads the one module of this vm: places and initialises its variables, checks what it can. `m` is
 * borrowed and must outlive the vm. */
enum err ptxvm_load(struct ptxvm *vm, const struct ptx_module *m, struct fault *f);

/* Device memory of `bytes` zero bytes at a multiple of `align` (power of two, at least 256 is
 * used). Returns its address, or 0 when memory_max would be passed. Freed with the vm. */
uint64_t ptxvm_alloc(struct ptxvm *vm, const char *name, size_t bytes, size_t align,
                     enum ptxvm_access access);
/* The same over memory of the embedder, which must stay valid and unmoved while the vm lives; it
 * does not count against memory_max. `host` must be 16-byte aligned. */
uint64_t ptxvm_map(struct ptxvm *vm, const char *name, void *host, size_t bytes,
                   enum ptxvm_access access);
/* Changes what the program may do with the allocation that starts at `address`. */
bool ptxvm_protect(struct ptxvm *vm, uint64_t address, enum ptxvm_access access);

/* Copies between device and host whatever the protection; false if [address, address + n) is not
 * inside one allocation. ptxvm_host gives the bytes in place (NULL likewise), valid with the vm. */
bool ptxvm_write(struct ptxvm *vm, uint64_t address, const void *bytes, size_t n);
bool ptxvm_read(struct ptxvm *vm, uint64_t address, void *bytes, size_t n);
void *ptxvm_host(struct ptxvm *vm, uint64_t address, size_t n);

/* Address of a module-scope .global or .const variable, 0 if there is none; `bytes` may be NULL. */
uint64_t ptxvm_symbol(const struct ptxvm *vm, const char *name, size_t *bytes);

/* What the module says about a kernel. */
struct ptxvm_kernel {
    size_t param_bytes, param_count; /* parameters laid out as the driver does */
    size_t shared_bytes;             /* static shared memory; 0 before its first launch */
    size_t local_bytes;              /* declared local memory per thread, without what it calls */
    uint32_t required_block[3];      /* .reqntid; zeros: not given */
    uint32_t max_threads;            /* .maxntid product; 0: not given */
    uint32_t required_cluster[3];    /* .reqnctapercluster; zeros: not given */
};

/* False if the loaded module has no such entry. */
bool ptxvm_kernel(const struct ptxvm *vm, const char *symbol, struct ptxvm_kernel *out);
/* Parameter i of an entry: offset, size, alignment in the parameter block. */
bool ptxvm_kernel_param(const struct ptxvm *vm, const char *symbol, size_t i, size_t *offset,
                        size_t *bytes, size_t *align);

/* Tells each instruction of one warp, with the lanes that executed it and the values of its registers, as one
 * line: "file:line  mask  instruction  // %r1=3 %r2=[1 2 3 4 …]". From a thread of the launch. */
struct ptxvm_trace {
    uint64_t cta;  /* number in the grid, x fastest */
    uint32_t warp; /* in the CTA */
    void (*line)(void *arg, const char *line);
    void *arg;
};

struct ptxvm_launch {
    const char *symbol;
    uint32_t grid[3], block[3]; /* every entry at least 1 */
    uint32_t cluster[3];        /* zeros: what the kernel requires, else 1 */
    size_t shared_bytes;        /* dynamic shared memory */
    bool cooperative;           /* all CTAs at once, and they may wait for each other (grid.sync) */
    uint32_t registers;         /* of a thread, as ptxas gave it; 0: as many as the launch allows */
    const void *params;         /* exactly the kernel's param_bytes, laid out as the driver does */
    size_t param_bytes;
    const uint64_t *sample;     /* numbers of the clusters to run instead of all; NULL: all */
    size_t sample_count;
    const struct ptxvm_trace *trace; /* NULL: none */
};

/* Runs a launch to its end. Always fills `result` (release it even after a failure). */
void ptxvm_launch(struct ptxvm *vm, const struct ptxvm_launch *launch, struct ptxvm_result *result);
void ptxvm_result_release(struct ptxvm_result *result); /* {0} is fine */

/* The fault as a JSON object for the report, NULL when status is PTXVM_OK; the counts as
 * {"thread_instructions", "warp_instructions", "ctas", "by_opcode": {name: {"warps", "threads"}}}.
 * Caller owns the reference. */
json_t *ptxvm_fault_json(const struct ptxvm_result *result);
json_t *ptxvm_counts_json(const struct ptxvm_result *result);

#endif
