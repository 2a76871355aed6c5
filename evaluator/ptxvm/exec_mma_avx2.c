/* SPDX-License-Identifier: Apache-2.0
 * The loops of exec_mma.c for processors with AVX2: see avx2.h. */
#include "evaluator/ptxvm/avx2.h"
#include "evaluator/ptxvm/exec_mma.c"

AVX2_END
