/* SPDX-License-Identifier: Apache-2.0
 * Special registers: where a thread stands, how big things are, what time it is. An operand that
 * names one becomes this op. */
#include "evaluator/ptxvm/lanes.h"

static uint64_t thread_coordinate(const struct warp *w, int lane, int axis)
{
    const uint32_t *block = w->cta->run->block;
    uint32_t linear = w->index * VM_LANES + (uint32_t)lane;
    return axis == 0   ? linear % block[0]
           : axis == 1 ? linear / block[0] % block[1]
           : axis == 2 ? linear / block[0] / block[1]
                       : 0;
}

/* Cycles are instructions of this host thread, counted between turns of warps, and the looks at the
 * clock: who looks twice in one turn sees it move. */
static uint64_t clock_now(const struct warp *w)
{
    return w->worker->steps + w->turn + w->worker->looks++;
}

static uint64_t uniform_sreg(const struct warp *w, uint32_t sreg)
{
    const struct cta *c = w->cta;
    const struct run *run = c->run;
    uint64_t sms = (uint64_t)run->vm->options.num_sms;
    switch (sreg) {
    case PTX_SREG_ntid_x:
    case PTX_SREG_ntid:
        return run->block[0];
    case PTX_SREG_ntid_y:
        return run->block[1];
    case PTX_SREG_ntid_z:
        return run->block[2];
    case PTX_SREG_ctaid_x:
    case PTX_SREG_ctaid:
        return c->id[0];
    case PTX_SREG_ctaid_y:
        return c->id[1];
    case PTX_SREG_ctaid_z:
        return c->id[2];
    case PTX_SREG_nctaid_x:
    case PTX_SREG_nctaid:
        return run->grid[0];
    case PTX_SREG_nctaid_y:
        return run->grid[1];
    case PTX_SREG_nctaid_z:
        return run->grid[2];
    case PTX_SREG_clusterid_x:
    case PTX_SREG_clusterid:
        return c->id[0] / run->cluster[0];
    case PTX_SREG_clusterid_y:
        return c->id[1] / run->cluster[1];
    case PTX_SREG_clusterid_z:
        return c->id[2] / run->cluster[2];
    case PTX_SREG_nclusterid_x:
    case PTX_SREG_nclusterid:
        return run->grid[0] / run->cluster[0];
    case PTX_SREG_nclusterid_y:
        return run->grid[1] / run->cluster[1];
    case PTX_SREG_nclusterid_z:
        return run->grid[2] / run->cluster[2];
    case PTX_SREG_cluster_ctaid_x:
    case PTX_SREG_cluster_ctaid:
        return c->id[0] % run->cluster[0];
    case PTX_SREG_cluster_ctaid_y:
        return c->id[1] % run->cluster[1];
    case PTX_SREG_cluster_ctaid_z:
        return c->id[2] % run->cluster[2];
    case PTX_SREG_cluster_nctaid_x:
    case PTX_SREG_cluster_nctaid:
        return run->cluster[0];
    case PTX_SREG_cluster_nctaid_y:
        return run->cluster[1];
    case PTX_SREG_cluster_nctaid_z:
        return run->cluster[2];
    case PTX_SREG_cluster_ctarank:
        return c->rank;
    case PTX_SREG_cluster_nctarank:
        return c->cluster->count;
    case PTX_SREG_warpid:
        return w->index;
    case PTX_SREG_nwarpid:
        return VM_SM_THREADS / VM_LANES;
    case PTX_SREG_smid:
        return c->linear % sms;
    case PTX_SREG_nsmid:
        return sms;
    case PTX_SREG_gridid:
        return run->grid_id;
    case PTX_SREG_clock:
    case PTX_SREG_clock64:
        return clock_now(w);
    case PTX_SREG_clock_hi:
        return clock_now(w) >> 32;
    case PTX_SREG_globaltimer:
    case PTX_SREG_globaltimer_lo:
        return vm_time(c->run);
    case PTX_SREG_globaltimer_hi:
        return vm_time(c->run) >> 32;
    case PTX_SREG_total_smem_size:
    case PTX_SREG_aggr_smem_size:
        return run->shared_bytes;
    case PTX_SREG_dynamic_smem_size:
        return run->dynamic_bytes;
    case PTX_SREG_reserved_smem_offset_end:
    case PTX_SREG_reserved_smem_offset_cap:
        return VM_SHARED_START;
    case PTX_SREG_envreg1: /* where cooperative_groups looks for the barrier of the grid */
        if (!run->workspace.size)
            atomic_store_explicit(&c->run->grid_barrier, true, memory_order_relaxed);
        return run->workspace.start >> 32;
    case PTX_SREG_envreg2:
        return run->workspace.start;
    default:
        return 0; /* the fourth component, other %envreg<n>, … */
    }
}

static uint64_t lane_sreg(const struct warp *w, uint32_t sreg, int lane, uint64_t uniform)
{
    switch (sreg) {
    case PTX_SREG_tid_x:
    case PTX_SREG_tid:
        return thread_coordinate(w, lane, 0);
    case PTX_SREG_tid_y:
        return thread_coordinate(w, lane, 1);
    case PTX_SREG_tid_z:
        return thread_coordinate(w, lane, 2);
    case PTX_SREG_laneid:
        return (uint64_t)lane;
    case PTX_SREG_lanemask_eq:
        return lane_bit[lane];
    case PTX_SREG_lanemask_lt:
        return lane_bit[lane] - 1;
    case PTX_SREG_lanemask_le:
        return lane_bit[lane] | (lane_bit[lane] - 1);
    case PTX_SREG_lanemask_gt:
        return ~(lane_bit[lane] | (lane_bit[lane] - 1));
    case PTX_SREG_lanemask_ge:
        return ~(lane_bit[lane] - 1);
    default:
        return uniform;
    }
}

/* aux: register; imm: width of the result row. */
const struct op *run_sreg(struct warp *w, const struct op *op, uint32_t exec)
{
    uint64_t uniform = uniform_sreg(w, op->aux);
    uint32_t *narrow = vm_row(w, op->d);
    uint64_t *wide = vm_row(w, op->d);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint64_t value = lane_sreg(w, op->aux, i, uniform);
        if (op->imm == WIDTH_64)
            wide[i] = value;
        else
            narrow[i] = (uint32_t)value;
    }
    return op + 1;
}
