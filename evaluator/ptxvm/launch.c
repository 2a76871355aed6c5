/* SPDX-License-Identifier: Apache-2.0
 * A launch: checks the configuration, spreads CTAs over host threads, keeps no more of them alive
 * at a time than the modelled device would, gathers counts. */
#include "evaluator/ptxvm/vm.h"

#include <string.h>

#include "core/util.h"

/* Warp instructions before a worker looks at another CTA: some milliseconds, so that a grid whose
 * CTAs wait for each other gets going. */
enum { CTA_BITS = 18, CTA_STEPS = 1 << CTA_BITS };

enum { WORKSPACE = 256 /* bytes of a cooperative grid's workspace: two words are used */ };

const struct function *vm_function(const struct program *p, uint32_t index)
{
    if (index < p->function_count && p->module->funcs[index].alias != PTX_NONE)
        index = p->module->funcs[index].alias;
    return index < p->function_count ? p->functions[index] : NULL;
}

/* ---- configuration ---- */

static const char *const grid_name[3] = {"grid x", "grid y", "grid z"};
static const char *const block_name[3] = {"block x", "block y", "block z"};
static const char *const cluster_name[3] = {"cluster x", "cluster y", "cluster z"};

static bool refuse(struct run *run, const char *what, unsigned long long is,
                   unsigned long long limit)
{
    stop_run(run, PTXVM_LAUNCH, "%s is %llu, the limit is %llu", what, is, limit);
    return false;
}

/* The kernel itself says what it takes. */
static bool refuse_by(struct run *run, const char *what, uint32_t is, const char *directive,
                      uint32_t says)
{
    stop_run(run, PTXVM_LAUNCH, "%s is %u, but %s of %.200s says %u", what, is, directive,
             run->launch->symbol, says);
    return false;
}

static bool check_sizes(struct run *run)
{
    static const uint64_t grid_max[3] = {INT32_MAX, 65535, 65535};
    static const uint64_t block_max[3] = {1024, 1024, 64};
    uint64_t threads = 1;
    run->ctas = 1;
    for (int i = 0; i < 3; i++) {
        if (!run->grid[i] || run->grid[i] > grid_max[i])
            return refuse(run, grid_name[i], run->grid[i], grid_max[i]);
        if (!run->block[i] || run->block[i] > block_max[i])
            return refuse(run, block_name[i], run->block[i], block_max[i]);
        run->ctas *= run->grid[i];
        threads *= run->block[i];
    }
    if (threads > VM_MAX_THREADS)
        return refuse(run, "threads of a block", threads, VM_MAX_THREADS);
    run->threads = (uint32_t)threads;
    run->warps = (uint32_t)((threads + VM_LANES - 1) / VM_LANES);
    return true;
}

/* A warp gets its registers in units of 8 a thread. */
static uint64_t registers_of_block(const struct run *run)
{
    uint64_t each = (run->launch->registers + (uint64_t)VM_REGISTER_UNIT - 1) / VM_REGISTER_UNIT;
    return each * VM_REGISTER_UNIT * run->warps * VM_LANES;
}

static bool check_registers(struct run *run)
{
    uint64_t all = registers_of_block(run);
    return all <= VM_SM_REGISTERS || refuse(run, "registers of a block", all, VM_SM_REGISTERS);
}

static bool check_directives(struct run *run, const struct ptxvm_launch *launch)
{
    struct ptxvm_kernel k;
    ptxvm_kernel(run->vm, launch->symbol, &k);
    if (launch->param_bytes != k.param_bytes) {
        stop_run(run, PTXVM_LAUNCH, "%zu bytes of parameters given, the kernel takes %zu",
                 launch->param_bytes, k.param_bytes);
        return false;
    }
    if (k.max_threads && run->threads > k.max_threads)
        return refuse_by(run, "threads of a block", run->threads, ".maxntid (__launch_bounds__)",
                         k.max_threads);
    for (int i = 0; i < 3; i++) {
        uint32_t want = k.required_block[i] ? k.required_block[i] : 1;
        if (k.required_block[0] && want != run->block[i])
            return refuse_by(run, block_name[i], run->block[i], ".reqntid", want);
        uint32_t given = launch->cluster[i] > 1 ? launch->cluster[i] : 1;
        uint32_t required = k.required_cluster[i] > 1 ? k.required_cluster[i] : 1;
        if (launch->cluster[i] && k.required_cluster[0] && given != required)
            return refuse_by(run, cluster_name[i], given, ".reqnctapercluster (__cluster_dims__)",
                             required);
        run->cluster[i] = launch->cluster[i] ? given : required;
        if (run->grid[i] % run->cluster[i]) {
            stop_run(run, PTXVM_LAUNCH, "%s is %u, which is no multiple of %s, %u", grid_name[i],
                     run->grid[i], cluster_name[i], run->cluster[i]);
            return false;
        }
    }
    uint64_t size = (uint64_t)run->cluster[0] * run->cluster[1] * run->cluster[2];
    if (size > VM_CLUSTER_MAX)
        return refuse(run, "CTAs of a cluster", size, VM_CLUSTER_MAX);
    run->clusters = run->ctas / size;
    for (size_t i = 0; launch->sample && i < launch->sample_count; i++)
        if (launch->sample[i] >= run->clusters)
            return refuse(run, "number of a sampled cluster", launch->sample[i], run->clusters - 1);
    uint64_t shared = run->program->shared_static + (uint64_t)launch->shared_bytes;
    if (launch->shared_bytes > VM_SHARED_MAX || shared > VM_SHARED_MAX)
        return refuse(run, "shared memory of a block, static and dynamic,", shared, VM_SHARED_MAX);
    run->dynamic_bytes = (uint32_t)launch->shared_bytes;
    run->shared_bytes = (uint32_t)shared;
    return check_registers(run);
}

/* CTAs that the modelled device holds at once. Where the registers of a thread are not known
 * (ptxas says), threads and shared memory decide. */
static uint64_t resident_ctas(const struct run *run)
{
    uint32_t threads = run->warps * VM_LANES;
    uint32_t per_sm = VM_SM_THREADS / threads;
    uint32_t by_shared = VM_SHARED_SM / (run->shared_bytes + VM_SHARED_START);
    uint64_t registers = registers_of_block(run);
    uint32_t by_registers = registers ? (uint32_t)(VM_SM_REGISTERS / registers) : VM_SM_CTAS;
    per_sm = per_sm < by_shared ? per_sm : by_shared;
    per_sm = per_sm < by_registers ? per_sm : by_registers;
    per_sm = per_sm > VM_SM_CTAS ? VM_SM_CTAS : per_sm ? per_sm : 1;
    return (uint64_t)per_sm * (uint64_t)run->vm->options.num_sms;
}

/* Shared out among the workers. */
static void set_residency(struct run *run, uint32_t workers)
{
    uint64_t all = resident_ctas(run) / workers / (run->ctas / run->clusters);
    run->resident_max = all < 1 ? 1 : all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The order in which clusters begin: every one once, from anywhere. */
static void set_order(struct run *run)
{
    uint64_t seed = run->vm->options.seed, n = run->clusters;
    run->stride = 1;
    if (!seed || n > UINT32_MAX)
        return;
    run->shift = seed * UINT64_C(0x9e3779b97f4a7c15) % n;
    run->stride = seed * UINT64_C(0xd1b54a32d192ed03) % n;
    while (common_divisor(run->stride, n) != 1)
        run->stride++;
}

/* ---- workers ---- */

struct queue {
    struct cluster *head, **tail;
    uint32_t count;
};

static void push(struct queue *q, struct cluster *k)
{
    k->next = NULL;
    *q->tail = k;
    q->tail = &k->next;
    q->count++;
}

static struct cluster *pop(struct queue *q)
{
    struct cluster *k = q->head;
    if (!k)
        return NULL;
    q->head = k->next;
    if (!q->head)
        q->tail = &q->head;
    q->count--;
    return k;
}

/* Next cluster that nobody began. NULL: none left, or no memory for one more. */
static struct cluster *begin_cluster(struct worker *worker, const struct queue *q)
{
    struct run *run = worker->run;
    const uint64_t *sample = run->launch->sample;
    unsigned long long n = atomic_load(&run->next_cluster);
    do
        if (n >= (sample ? run->launch->sample_count : run->clusters))
            return NULL;
    while (!atomic_compare_exchange_weak(&run->next_cluster, &n, n + 1));
    struct cluster *k =
        cluster_new(worker, sample ? sample[n] : (run->shift + n * run->stride) % run->clusters);
    if (!k && !q->count)
        stop_run(run, PTXVM_NO_MEMORY, "no memory for a CTA under %zu bytes", run->vm->memory.max);
    else if (!k)
        stop_run(run, PTXVM_NO_MEMORY, "no memory for %u CTAs at a time", q->count + 1);
    return k;
}

/* CTAs that used up their steps may wait for some that have not begun, so begin those first. */
static struct cluster *next_cluster(struct worker *worker, struct queue *q)
{
    struct cluster *k = NULL;
    if (q->count < worker->run->resident_max)
        k = begin_cluster(worker, q);
    return k ? k : pop(q);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct run *run = worker->run;
    struct queue q = {.head = NULL, .tail = &q.head, .count = 0};
    struct cluster *k;
    while (!atomic_load(&run->stop) && (k = next_cluster(worker, &q))) {
        enum cta_state state;
        do
            state = cluster_run(k, CTA_STEPS >> sched_draw(k->ctas[0], CTA_BITS));
        while (state == CTA_STUCK && cluster_lose_patience(k));
        switch (state) {
        case CTA_RUNNING:
            residency_look(k, resident_ctas(run));
            push(&q, k);
            continue;
        case CTA_STUCK:
            cluster_report_deadlock(k);
            break;
        case CTA_DONE:
            atomic_fetch_add(&run->finished, k->count);
            break;
        case CTA_STOPPED:
            break;
        }
        cluster_free(k);
    }
    while ((k = pop(&q)))
        cluster_free(k);
    spares_free(worker);
    return NULL;
}

static bool worker_init(struct worker *worker, struct run *run)
{
    size_t n = (size_t)run->program->origin_count + 1;
    worker->run = run;
    worker->tallies = calloc(n, sizeof *worker->tallies);
    worker->hints = calloc(n, sizeof *worker->hints);
    worker->spare_frames = calloc((size_t)run->program->function_count + 1, sizeof(struct frame *));
    if (worker->tallies && worker->hints && worker->spare_frames)
        return true;
    stop_run(run, PTXVM_NO_MEMORY, "out of memory");
    return false;
}

static void run_workers(struct run *run)
{
    uint32_t count = (uint32_t)run->vm->options.threads;
    count = count > run->clusters ? (uint32_t)run->clusters : count;
    set_residency(run, count);
    set_order(run);
    struct worker *workers = calloc(count, sizeof *workers);
    if (!workers) {
        stop_run(run, PTXVM_NO_MEMORY, "out of memory");
        return;
    }
    uint32_t made = 0, started = 1;
    while (made < count && worker_init(&workers[made], run))
        made++;
    while (made == count && started < count &&
           pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    if (made == count)
        work(&workers[0]);
    for (uint32_t i = 1; made == count && i < started; i++)
        pthread_join(workers[i].thread, NULL);
    counts_gather(run, workers, made);
    for (uint32_t i = 0; i < count; i++) {
        free(workers[i].tallies);
        free(workers[i].hints);
        free(workers[i].spare_frames);
    }
    free(workers);
}

/* ---- launch ---- */

/* The parameters as the program sees them. */
static bool place_params(struct run *run, const struct ptxvm_launch *launch)
{
    unsigned char *copy = aligned_alloc(64, (launch->param_bytes + 64) / 64 * 64);
    if (!copy) {
        stop_run(run, PTXVM_NO_MEMORY, "out of memory");
        return false;
    }
    if (launch->param_bytes)
        memcpy(copy, launch->params, launch->param_bytes);
    run->params = (struct allocation){.start = VM_PARAM_BASE,
                                      .size = launch->param_bytes,
                                      .host = copy,
                                      .read_only = true,
                                      .name = "parameters"};
    return true;
}

/* The hardware refuses a cooperative grid that does not fit at once. */
static bool prepare_cooperative(struct run *run)
{
    if (!run->launch->cooperative)
        return true;
    if (run->ctas > resident_ctas(run))
        return refuse(run, "CTAs of a cooperative grid", run->ctas, resident_ctas(run));
    unsigned char *bytes = aligned_alloc(64, WORKSPACE);
    if (!bytes) {
        stop_run(run, PTXVM_NO_MEMORY, "out of memory");
        return false;
    }
    memset(bytes, 0, WORKSPACE);
    run->workspace = (struct allocation){
        .start = VM_WORKSPACE, .size = WORKSPACE, .host = bytes, .name = "workspace of the grid"};
    return true;
}

static bool prepare(struct run *run, const struct ptxvm_launch *launch)
{
    struct fault f = {0};
    if (!check_sizes(run))
        return false;
    run->program = vm_program(run->vm, launch->symbol, &f);
    if (!run->program) {
        stop_run(run, PTXVM_LAUNCH, "%s", f.detail);
        return false;
    }
    return check_directives(run, launch) && place_params(run, launch) && prepare_cooperative(run);
}

void ptxvm_launch(struct ptxvm *vm, const struct ptxvm_launch *launch, struct ptxvm_result *result)
{
    *result = (struct ptxvm_result){.status = PTXVM_OK};
    double begin = now_s();
    struct run run = {.vm = vm, .launch = launch, .result = result, .grid_id = ++vm->launches};
    run.start_ms = now_ms();
    run.start_cpu_ms = cpu_ms();
    /* `threads` of them can use the time up that much sooner */
    run.look_ms = run.start_ms + vm->options.deadline_ms / vm->options.threads;
    memcpy(run.grid, launch->grid, sizeof run.grid);
    memcpy(run.block, launch->block, sizeof run.block);
    pthread_mutex_init(&run.lock, NULL);
    buf_init(&run.log, vm->options.print_max + 1);
    snprintf(result->fault.kernel, sizeof result->fault.kernel, "%s",
             launch->symbol ? launch->symbol : "");
    if (prepare(&run, launch))
        run_workers(&run);
    residency_explain(result);
    vm->time_ns = vm_time(&run);
    free(run.params.host);
    free(run.workspace.host);
    buf_adds(&run.log, "");
    result->log = buf_take(&run.log, NULL);
    buf_release(&run.log);
    pthread_mutex_destroy(&run.lock);
    result->wall_ms = (now_s() - begin) * 1e3;
}
