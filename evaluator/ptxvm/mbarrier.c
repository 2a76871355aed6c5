/* SPDX-License-Identifier: Apache-2.0 */
#include "evaluator/ptxvm/mbarrier.h"

/* Bits: 0 to 19 pending, 20 to 39 expected, 40 to 60 transactions, 61 phase, 62 set, 63 clear. */
enum { EXPECTED = 20, TX = 40, TX_BITS = 21, PHASE = 61, VALID = 62 };
enum { TX_MAX = (1 << 20) - 1 };

uint64_t mbarrier_encode(const struct mbarrier *b)
{
    uint64_t tx = (uint64_t)b->tx & ((UINT64_C(1) << TX_BITS) - 1);
    return b->pending | (uint64_t)b->expected << EXPECTED | tx << TX |
           (uint64_t)(b->phase & 1) << PHASE | UINT64_C(1) << VALID;
}

bool mbarrier_decode(uint64_t bits, struct mbarrier *out)
{
    uint64_t tx = bits >> TX & ((UINT64_C(1) << TX_BITS) - 1), sign = UINT64_C(1) << (TX_BITS - 1);
    *out = (struct mbarrier){.phase = bits >> PHASE & 1,
                             .expected = bits >> EXPECTED & MBARRIER_COUNT_MAX,
                             .pending = bits & MBARRIER_COUNT_MAX,
                             .tx = (int32_t)((int64_t)(tx ^ sign) - (int64_t)sign)};
    return bits >> VALID == 1;
}

static void wake(struct cta *c, uint64_t address)
{
    for (uint32_t i = 0; i < c->warp_count; i++)
        for (int k = 0; k < c->warps[i].group_count; k++) {
            struct group *g = &c->warps[i].groups[k];
            if (g->wait == WAIT_MBARRIER && g->wait_for == address) {
                g->wait = WAIT_NONE;
                g->resumed = true;
            }
        }
}

static uint64_t *find(struct warp *w, const struct op *op, int lane, uint64_t address,
                      enum access mode, struct mbarrier *out)
{
    uint64_t *at = (void *)access_shared(w, op, lane, address, 8, 8, mode);
    if (!at || mbarrier_decode(*at, out))
        return at;
    stop_at(w, op, lane, PTXVM_FAULT, PTXVM_BAD_BARRIER,
            "no mbarrier at shared address 0x%llx: mbarrier.init was not executed there, or its "
            "bytes were overwritten",
            (unsigned long long)address);
    return NULL;
}

bool mbarrier_read(struct warp *w, const struct op *op, int lane, uint64_t address,
                   struct mbarrier *out)
{
    return find(w, op, lane, address, ACCESS_READ, out) != NULL;
}

bool mbarrier_apply(struct warp *w, const struct op *op, int lane, uint64_t address,
                    struct mbarrier_change change, uint64_t *before)
{
    struct mbarrier b;
    uint64_t *at = find(w, op, lane, address, ACCESS_WRITE, &b);
    if (!at)
        return false;
    if (before)
        *before = *at;
    int64_t tx = b.tx + change.tx;
    if (change.arrivals > b.pending || change.drops > b.expected || tx > TX_MAX || tx < -TX_MAX) {
        stop_at(w, op, lane, PTXVM_FAULT, PTXVM_BAD_BARRIER,
                "mbarrier at 0x%llx: %u arrivals with %u pending, transaction count %lld",
                (unsigned long long)address, change.arrivals, b.pending, (long long)tx);
        return false;
    }
    b.tx = (int32_t)tx;
    b.pending -= change.arrivals;
    b.expected -= change.drops;
    bool complete = b.pending == 0 && b.tx == 0;
    if (complete) {
        b.phase ^= 1;
        b.pending = b.expected;
    }
    *at = mbarrier_encode(&b);
    struct cta *owner = complete ? cluster_shared(w->cta, &address) : NULL;
    if (owner) {
        owner->cluster->impatience = 0;
        wake(owner, address);
    }
    return true;
}
