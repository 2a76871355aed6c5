/* SPDX-License-Identifier: Apache-2.0
 * Loops over the lanes of a row. Results are computed for every lane and kept for those in `exec`,
 * so that compilers make vectors of them: expressions must be harmless for any operand. Handlers
 * made here read operands a, b, c of lane i and know nothing else. */
#ifndef EVALUATOR_PTXVM_LANES_H
#define EVALUATOR_PTXVM_LANES_H

#include "evaluator/ptxvm/decode.h"

/* Rows that an op reads and writes are the same or apart, never shifted: no dependence. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* some expressions have no vector form: fine */
#define LANES_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANES_APART _Pragma("GCC ivdep")
#endif

#define EACH_LANE for (int i = 0; i < VM_LANES; i++)
#define ACTIVE(exec, i) ((exec) >> (i)&1)

extern const uint32_t lane_bit[VM_LANES];

/* d[i] = value in the lanes of exec; `setup` declares a, b, c. */
#define LANES_STORE(D, setup, value)                                                               \
    if (exec == VM_FULL) {                                                                         \
        LANES_APART EACH_LANE                                                                      \
        {                                                                                          \
            setup;                                                                                 \
            d[i] = (D)(value);                                                                     \
        }                                                                                          \
    } else {                                                                                       \
        LANES_APART EACH_LANE                                                                      \
        {                                                                                          \
            setup;                                                                                 \
            D result = (D)(value);                                                                 \
            d[i] = exec & lane_bit[i] ? result : d[i];                                             \
        }                                                                                          \
    }

#define HANDLER(name)                                                                              \
    static const struct op *name(struct warp *w, const struct op *op, uint32_t exec)

/* D: type of a result row's lane; A, B, C: of the operands'. V: type in which the operand is read.
 */
#define UNARY(name, D, A, value)                                                                   \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        D *d = vm_row(w, op->d);                                                                   \
        const A *ra = vm_row(w, op->a);                                                            \
        LANES_STORE(D, const A a = ra[i], value)                                                   \
        return op + 1;                                                                             \
    }

#define BINARY(name, D, A, B, value)                                                               \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        D *d = vm_row(w, op->d);                                                                   \
        const A *ra = vm_row(w, op->a);                                                            \
        const B *rb = vm_row(w, op->b);                                                            \
        LANES_STORE(D, const A a = ra[i]; const B b = rb[i], value)                                \
        return op + 1;                                                                             \
    }

#define TERNARY(name, D, A, B, C, value)                                                           \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        D *d = vm_row(w, op->d);                                                                   \
        const A *ra = vm_row(w, op->a);                                                            \
        const B *rb = vm_row(w, op->b);                                                            \
        const C *rc = vm_row(w, op->c);                                                            \
        LANES_STORE(D, const A a = ra[i]; const B b = rb[i]; const C c = rc[i], value)             \
        return op + 1;                                                                             \
    }

static inline void vm_set_pred(struct warp *w, uint32_t slot, uint32_t exec, uint32_t bits)
{
    w->preds[slot] = (w->preds[slot] & ~exec) | (bits & exec);
}

/* Tables have one name each, and another one in exec_avx2.c. */
#ifndef ROWS_NAME
#define ROWS_NAME(name) rows_##name
#endif

#endif
