/* SPDX-License-Identifier: Apache-2.0
 * Inside of ptxvm: what a device, a decoded program, a running CTA and a warp are made of.
 *
 * A warp's registers are rows: 32 lanes side by side, 4, 8 or 16 bytes each; predicates are one bit
 * per lane. An instruction is a `struct op` with a handler that works on whole rows under a mask.
 * Lanes that took different ways are `struct group`s of the warp; a called function has its own
 * `struct frame` of rows. One host thread runs a CTA, so inside a CTA nothing is concurrent. */
#ifndef EVALUATOR_PTXVM_VM_H
#define EVALUATOR_PTXVM_VM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"

enum {
    VM_LANES = 32,
    VM_MAX_THREADS = 1024, /* of a CTA */
    VM_MAX_WARPS = VM_MAX_THREADS / VM_LANES,
    VM_BARRIER_CLUSTER = 16, /* behind the 16 of the CTA: the cluster's */
    VM_BARRIERS,
    VM_MAX_DEPTH = 512,         /* calls */
    VM_LOCAL_MAX = 512 * 1024,  /* local memory of a thread, bytes */
    VM_LOCAL_START = 128,       /* first valid local address: 0 stays a null pointer */
    VM_CLUSTER_MAX = 16,        /* CTAs */
    VM_PEER_SHIFT = 18,         /* shared addresses above: memory of the CTA of that rank, plus 1 */
    VM_SHARED_START = 1024,     /* first valid shared address, as on the hardware */
    VM_SHARED_MAX = 227 * 1024, /* static and dynamic shared memory of a CTA */
    VM_SHARED_SM = 228 * 1024,
    VM_SM_THREADS = 2048,
    VM_SM_CTAS = 32,
    VM_SM_REGISTERS = 64 * 1024,
    VM_REGISTER_UNIT = 8,
    VM_GUARD = 64 * 1024, /* unmapped bytes between allocations, at least */
    VM_SINK = 512,        /* bytes at the start of a frame that nobody reads */
    VM_PRED_TRUE = 0,     /* predicate slots with a fixed meaning */
    VM_PRED_FALSE = 1,
    VM_PRED_SINK = 2,
    VM_PRED_FIRST = 3,
};

#define VM_FULL UINT32_C(0xffffffff)
#define VM_NULL_END UINT64_C(0x10000)
#define VM_GLOBAL_BASE UINT64_C(0x010000000000)
#define VM_PARAM_BASE UINT64_C(0x5000000000)    /* kernel parameters */
#define VM_WORKSPACE UINT64_C(0x5100000000)     /* of a cooperative grid */
#define VM_FUNC_BASE UINT64_C(0x6000000000)     /* addresses of functions, 16 bytes apart */
#define VM_SHARED_WINDOW UINT64_C(0x7000000000) /* generic addresses of shared memory */
#define VM_LOCAL_WINDOW UINT64_C(0x7100000000)
#define VM_WINDOW_BITS 24

/* ---- memory ---- */

struct allocation {
    uint64_t start, size;
    unsigned char *host;
    bool owned, read_only, is_const;
    char name[PTXVM_NAME];
};

struct memory {
    struct allocation *items; /* ascending start */
    size_t count, cap;
    uint64_t next;      /* where the next allocation may start */
    atomic_size_t used; /* bytes held, against max */
    size_t max;
};

/* ---- programs ---- */

struct warp;
struct op;

/* Executes one op for the lanes in `exec` (never empty). Returns the op to go on with, or NULL
 * after setting w->event and w->next. */
typedef const struct op *handler(struct warp *w, const struct op *op, uint32_t exec);

/* References to rows: byte offset in the frame, or, with bit 0 set, in the constants. References to
 * predicates: their slot. Which one a field holds is fixed by the handler. */
struct op {
    handler *run;
    uint32_t d, e;       /* results */
    uint32_t a, b, c;    /* operands */
    uint32_t guard;      /* predicate slot */
    uint32_t flip;       /* VM_FULL: guard negated */
    uint32_t id;         /* index into program.origins: where it came from, what it counts as */
    uint32_t aux;        /* the handler's own */
    uint16_t defs, uses; /* entries of `list`: results first */
    int64_t imm;
    union {
        const uint32_t *list;    /* further references */
        const struct op *target; /* branch */
        const struct function *callee;
        uint64_t index; /* of either while decoding */
    };
};

struct origin {
    uint32_t func, instr; /* module->funcs, its instrs */
    uint32_t form;        /* module->forms; PTX_NONE: helper op that counts nothing */
};

struct function {
    const struct ptx_func *ptx;
    uint32_t index; /* module->funcs */
    struct op *ops; /* op_count and then one `fell off the end` */
    uint32_t op_count;
    uint32_t *lists;         /* storage of op.list */
    uint32_t row_bytes;      /* frame rows */
    uint32_t preds;          /* predicate slots */
    uint32_t local_bytes;    /* results, parameters, local variables of a thread; multiple of 16 */
    uint32_t *slots, *sizes; /* local offsets and bytes of its results, then of its parameters */
    uint32_t *places;        /* by PTX register: its row or predicate slot; PTX_NONE: has none */
};

/* A constant that has a row already. */
struct pooled {
    uint64_t lo, hi;
    uint32_t width, offset;
    bool used;
};

/* An entry with everything it can call, laid out for one shared memory map. */
struct program {
    const struct ptx_module *module;
    const struct ptx_func *entry;
    struct function **functions; /* by module->funcs; NULL: not reachable */
    uint32_t function_count;
    unsigned char *constants; /* rows that never change */
    size_t constant_bytes, constant_cap;
    struct pooled *pool; /* hash table, while decoding only */
    uint32_t pool_mask, pool_count;
    struct origin *origins;
    uint32_t origin_count, origin_cap;
    uint32_t shared_static; /* bytes from VM_SHARED_START; dynamic memory follows */
    uint64_t *var_address;  /* by module->vars: shared addresses of this program, offsets of
                               locals and function parameters in their frame */
    struct program *next;
};

struct ptxvm {
    struct ptxvm_options options;
    struct memory memory;
    const struct ptx_module *module;
    uint64_t *var_address; /* by module->vars, .global and .const */
    struct program *programs;
    pthread_mutex_t wide; /* 16-byte atomics */
    uint64_t launches;
    uint64_t time_ns; /* %globaltimer when the next launch begins */
};

/* ---- execution ---- */

/* Where a checker of races, proxies or uninitialised reads would hang, at no cost while it is off.
 * Every access of a lane passes through access.c or, whole rows at a time, resolve() of
 * exec_memory.c; every asynchronous copy through reduce_apply() or the memcpy beside it in
 * exec_bulk.c, exec_tma.c, exec_cp_async.c, exec_st_async.c; every edge of happens-before through
 * complete() of exec_barrier.c, mbarrier_apply(), group_meet(), the ordered loads and stores of
 * exec_memory.c, and exec_atom.c. Shadow bytes would be one more pointer in struct allocation and
 * struct cta, and the checking handlers one more set of rows that row_find() prefers when a launch
 * asks for them, as it prefers the AVX2 ones: so the rows that run without a checker do not know of
 * it. */

enum event {
    EVENT_NONE,
    EVENT_RESCHEDULE, /* groups changed; go on at next */
    EVENT_BLOCK,      /* execute `next` again once the group is ready */
    EVENT_YIELD,      /* let others run, then go on at next */
    EVENT_STOP,       /* launch ends: fault recorded */
};

struct frame {
    struct frame *parent; /* NULL: the entry */
    const struct function *function;
    const struct op *call; /* in the parent; lanes return behind it */
    uint32_t live;         /* lanes that have not returned */
    uint32_t depth;
    uint32_t local_base;
    uint32_t stack[VM_LANES]; /* bytes that alloca took, behind the function's own */
    uint32_t stack_top;       /* the greatest of them */
    uint32_t *preds;
    uint32_t *carry; /* CC.CF, a bit per lane */
    unsigned char *rows;
};

enum wait {
    WAIT_NONE,
    WAIT_BARRIER,
    WAIT_WARP,
    WAIT_WARPGROUP, /* for the other warps of four, at the same op */
    WAIT_REGISTERS, /* for others to give registers back */
    WAIT_MBARRIER,  /* for a phase of the mbarrier at wait_for */
};

/* Lanes of a warp at one place. */
struct group {
    struct frame *frame;
    const struct op *pc;
    uint32_t mask;
    enum wait wait;
    uint32_t wait_for; /* WAIT_WARP: lanes that must come; WAIT_BARRIER: its number */
    bool resumed;      /* the wait is over: the op at pc may complete */
    bool impatient;  /* nothing else could run: try_wait at pc says "not yet" instead of waiting */
    uint32_t result; /* of bar.red */
    uint64_t last_run; /* turn of the warp */
};

struct warp {
    unsigned char *base[2]; /* rows of the frame, constants */
    uint32_t *preds;
    uint32_t mask; /* lanes of the running group */
    struct frame *frame;
    struct cta *cta;
    struct worker *worker;
    struct group *group; /* the running one */
    enum event event;
    const struct op *next;
    struct group groups[VM_LANES + 1];
    int group_count;
    uint32_t live, lanes; /* not exited; existing */
    uint32_t index;       /* in the CTA */
    uint64_t turn;
    uint32_t *local;       /* word-interleaved: word i of lane l at [i * 32 + l] */
    uint32_t local_bytes;  /* per lane */
    bool expired;          /* the slice ran out: take another group */
    uint32_t registers;    /* of a thread, by setmaxnreg; 0: as many as at the start */
    struct tracer *tracer; /* NULL: not traced */
};

struct barrier {
    uint32_t arrived[VM_MAX_WARPS]; /* lanes */
    uint32_t extra;                 /* arrivals of lanes that had arrived before */
    uint32_t expected;              /* threads; 0: all of the CTA */
    uint32_t and_value, or_value, popc;
    bool active;
};

struct cta {
    struct run *run;
    struct worker *worker;
    uint32_t id[3];
    uint64_t linear;
    unsigned char *shared; /* shared_bytes from VM_SHARED_START */
    uint32_t shared_bytes;
    struct warp *warps;
    uint32_t warp_count, live_warps;
    struct barrier barriers[VM_BARRIERS];
    uint8_t order[VM_MAX_WARPS]; /* of the warps' turns */
    uint64_t random;             /* state; moves only with a seed */
    size_t charged;              /* bytes, besides frames and shared memory */
    struct cluster *cluster;
    uint32_t rank;            /* in the cluster */
    uint32_t spare_registers; /* given back by setmaxnreg, of all threads */
};

/* CTAs that run together, on one host thread. */
struct cluster {
    struct cta *ctas[VM_CLUSTER_MAX];
    uint32_t count;
    uint32_t impatience; /* times that it was stuck since a barrier or a phase of an mbarrier was
                            complete */
    struct cluster *next;
};

/* Dynamic counts of one op. */
struct tally {
    uint64_t warps, threads;
};

struct worker {
    struct run *run;
    struct tally *tallies; /* by op.id */
    uint32_t *hints;       /* by op.id: allocation hit last */
    /* What ended CTAs and functions had, to be used again: to touch fresh pages can take longer
     * than a CTA. They stay charged. */
    struct frame **spare_frames; /* by function.index, a list each */
    unsigned char *spare_shared; /* a list: each begins with the address of the next */
    size_t spare_bytes;
    uint64_t steps; /* clock of this worker */
    uint64_t looks; /* at the clock */
    pthread_t thread;
};

/* One launch. */
struct run {
    struct ptxvm *vm;
    const struct program *program;
    const struct ptxvm_launch *launch;
    struct allocation params;    /* kernel parameters, read-only */
    struct allocation workspace; /* of a cooperative grid: the barrier of grid.sync */
    uint64_t grid_id;            /* launches of this device so far */
    atomic_bool grid_barrier;    /* the program asked for the workspace, and there is none */
    uint32_t block[3], grid[3], cluster[3], threads, warps, shared_bytes, dynamic_bytes;
    uint64_t ctas, clusters;
    atomic_ullong next_cluster, finished, spent;
    atomic_bool stop;
    atomic_bool relies;     /* result->note says so: on CTAs being there at the same time */
    atomic_ullong slept_ns; /* by all warps: see vm_time */
    int64_t start_ms, start_cpu_ms;
    atomic_llong look_ms;   /* wall time before which the deadline cannot have passed */
    uint32_t resident_max;  /* clusters of one worker at a time */
    uint64_t shift, stride; /* cluster n to begin is number shift + n * stride */
    pthread_mutex_t lock;   /* result */
    struct ptxvm_result *result;
    struct buf log;
};

/* What %globaltimer says: no time of the host, so that it is the same in every run. A nanosecond
 * passes with every 32 thread instructions of the launch, and those that warps sleep. It moves
 * between turns of warps. */
static inline uint64_t vm_time(struct run *run)
{
    return run->vm->time_ns + atomic_load_explicit(&run->spent, memory_order_relaxed) / VM_LANES +
           atomic_load_explicit(&run->slept_ns, memory_order_relaxed);
}

/* End of the local memory of a frame. */
static inline uint32_t frame_end(const struct frame *f)
{
    return f->local_base + f->function->local_bytes + f->stack_top;
}

static inline void *vm_row(const struct warp *w, uint32_t ref)
{
    return w->base[ref & 1] + (ref & ~UINT32_C(1));
}

/* Lanes in a mask; without the library call that processors before SSE4 need. */
static inline uint32_t vm_count(uint32_t mask)
{
    mask -= mask >> 1 & 0x55555555;
    mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
    return ((mask + (mask >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* Word of local memory that holds byte `offset` of a lane (checked by access_local before). */
static inline uint32_t *local_word(const struct warp *w, int lane, uint64_t offset)
{
    return &w->local[(offset >> 2) * VM_LANES + (uint32_t)lane];
}

/* ---- memory.c ---- */
void memory_empty(struct memory *m);
uint64_t memory_add(struct memory *m, const char *name, void *host, size_t bytes, size_t align,
                    bool read_only);
/* Allocation that holds [address, address + n), or NULL. */
struct allocation *memory_find(const struct memory *m, uint64_t address, uint64_t n);
const struct allocation *memory_nearest(const struct memory *m, uint64_t address);
/* Charges bytes to the ceiling; false if it would be passed. */
bool memory_charge(struct memory *m, size_t bytes);
void memory_refund(struct memory *m, size_t bytes);

/* ---- access.c: checked access of lanes ---- */
enum access { ACCESS_READ, ACCESS_WRITE };
/* Allocation that holds [address, address + n), or NULL. */
const struct allocation *access_find(struct warp *w, const struct op *op, uint64_t address,
                                     uint64_t n);
/* Host address of n bytes of lane `lane` (aligned to `align`), or NULL with the launch stopped.
 * Local memory is not contiguous: see local_word. */
unsigned char *access_global(struct warp *w, const struct op *op, int lane, uint64_t address,
                             uint32_t n, uint32_t align, enum access mode);
unsigned char *access_shared(struct warp *w, const struct op *op, int lane, uint64_t address,
                             uint32_t n, uint32_t align, enum access mode);
bool access_local(struct warp *w, const struct op *op, int lane, uint64_t address, uint32_t n,
                  uint32_t align, enum access mode);
/* Copies of a byte string in any space by generic address (printf arguments). False: stopped. */
bool access_copy(struct warp *w, const struct op *op, int lane, uint64_t address, void *out,
                 uint32_t n);

/* ---- fault.c: ends of a launch; each returns NULL so that a handler can return it ---- */
const struct op *stop_access(struct warp *w, const struct op *op, int lane, enum ptxvm_kind kind,
                             uint64_t address, uint32_t n, uint32_t align, const char *space);
__attribute__((format(printf, 6, 7))) const struct op *stop_at(struct warp *w, const struct op *op,
                                                               int lane, enum ptxvm_status status,
                                                               enum ptxvm_kind kind,
                                                               const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void stop_run(struct run *run, enum ptxvm_status status,
                                                    const char *fmt, ...);
/* Fills the place of `op` in a fault. */
void fault_locate(struct ptxvm_fault *f, const struct warp *w, const struct op *op, int lane);

/* ---- program.c ---- */
struct program *program_new(struct ptxvm *vm, const struct ptx_func *entry, struct fault *f);
void program_free(struct program *p);

/* ---- sched.c ---- */
enum cta_state { CTA_DONE, CTA_RUNNING, CTA_STUCK, CTA_STOPPED };
/* The next number of a CTA's schedule below `n`; 0 without a seed. */
uint32_t sched_draw(struct cta *c, uint32_t n);
/* Runs a CTA for about `steps` warp instructions. */
enum cta_state cta_run(struct cta *c, int64_t steps);

/* ---- trace.c ---- */
/* Begins the trace of a warp if the launch wants it traced. False: no memory. */
bool trace_begin(struct warp *w);
void trace_end(struct warp *w);
/* Around each step of a traced warp. */
void trace_before(struct warp *w);
void trace_after(struct warp *w);

/* ---- cta.c ---- */
/* NULL when memory is short (no status set). */
struct cta *cta_new(struct worker *worker, uint64_t linear);
void cta_free(struct cta *c);
/* Appends who waits for what, those of the same kind together; returns the first that waits. */
const struct group *cta_describe_waits(struct cta *c, struct buf *text, struct warp **who);

/* ---- cluster.c ---- */
/* NULL when memory is short (no status set). */
struct cluster *cluster_new(struct worker *worker, uint64_t index);
void cluster_free(struct cluster *k); /* NULL is fine */
enum cta_state cluster_run(struct cluster *k, int64_t steps);
/* Of a cluster that is stuck: lets every try_wait return false. False: none waits, or they do so in
 * vain. */
bool cluster_lose_patience(struct cluster *k);
/* Stops the launch with who waits for what. */
void cluster_report_deadlock(struct cluster *k);
/* The CTA whose shared memory an address names; makes the address one of that CTA's own. NULL: the
 * cluster has no such CTA. */
struct cta *cluster_shared(struct cta *c, uint64_t *address);

/* ---- residency.c ---- */
/* After a cluster used up its turn: notes it if it waits for CTAs outside, of which the device
 * holds `resident` at once. */
void residency_look(struct cluster *k, uint64_t resident);
/* After a launch: says it with the reason of one that took too long. */
void residency_explain(struct ptxvm_result *result);

/* New frame for `mask` lanes of a warp, or NULL with the launch stopped (`op` is to blame). */
struct frame *frame_new(struct warp *w, const struct op *op, const struct function *fn,
                        struct frame *parent, uint32_t mask);
/* Takes `bytes` from the stack of lanes: their addresses in local memory. False: launch stopped. */
bool frame_grow(struct warp *w, const struct op *op, uint32_t exec, const uint64_t *bytes,
                uint32_t align, uint64_t *address);
/* Lanes leave a frame; the last one frees it. */
void frame_leave(struct warp *w, struct frame *f, uint32_t mask);
/* Frees what the worker keeps to use again. */
void spares_free(struct worker *worker);

/* ---- group.c: divergence ---- */
/* Splits lanes off the running group; they go on at pc in `frame`. */
void group_split(struct warp *w, uint32_t mask, struct frame *frame, const struct op *pc);
/* Makes the running group be `exec` alone; its other lanes go on behind op. */
void group_narrow(struct warp *w, const struct op *op, uint32_t exec);
/* Chooses the group to run, merging those that meet. False: none is ready. */
bool group_pick(struct warp *w);
/* First op, behind the running one, where another group stands. */
const struct op *group_fence(const struct warp *w);
/* Lanes in `exec` come to a warp-wide op of `members`. True: all live members are here, go on.
 * False: parked, return NULL. */
bool group_meet(struct warp *w, const struct op *op, uint32_t exec, uint32_t members);
/* The same for lanes that each say who the members are, in row `mask`: those of one member mask
 * wait for each other and run; others come to this op again by themselves. */
const struct op *group_together(struct warp *w, const struct op *op, uint32_t exec, uint32_t mask,
                                void (*run)(struct warp *, const struct op *, uint32_t));
/* These lanes did not execute op after all: they will come back to it. */
void group_uncount(struct warp *w, const struct op *op, uint32_t lanes);
/* Lanes exited: some waits may be over. */
void group_recheck(struct warp *w);

/* ---- exec_barrier.c ---- */
void barrier_recheck(struct cta *c);

/* ---- vm.c, report.c ---- */
struct program *vm_program(struct ptxvm *vm, const char *symbol, struct fault *f);
void counts_gather(struct run *run, const struct worker *workers, uint32_t count);

/* ---- launch.c ---- */
/* A function by index in module->funcs (aliases resolved), or NULL. */
const struct function *vm_function(const struct program *p, uint32_t index);

#endif
