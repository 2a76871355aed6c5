/* SPDX-License-Identifier: Apache-2.0
 * The way from mma.sync to its rare shapes. */
#ifndef EVALUATOR_PTXVM_MMA_SMALL_H
#define EVALUATOR_PTXVM_MMA_SMALL_H

#include "evaluator/ptxvm/decode.h"

/* Decodes an mma.sync of f64, s4, u4, b1 or m8n8 integers; others become an unsupported op. */
bool mma_small_decode(struct decoder *d);

#endif
