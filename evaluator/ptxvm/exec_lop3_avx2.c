/* SPDX-License-Identifier: Apache-2.0
 * The loops of exec_lop3.c for processors with AVX2: see avx2.h. */
#include "evaluator/ptxvm/avx2.h"
#include "evaluator/ptxvm/exec_lop3.c"

AVX2_END
