/* SPDX-License-Identifier: Apache-2.0
 * For evaluator/cuda/session*.c only: the operations that every role has. */
#ifndef EVALUATOR_CUDA_SESSION_PARTS_H
#define EVALUATOR_CUDA_SESSION_PARTS_H

#include "evaluator/cuda/session.h"

session_operation session_do_open, session_do_slot;
/* Drops everything of the submission. */
void session_forget(struct session *s);

#endif
