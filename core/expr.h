/* SPDX-License-Identifier: Apache-2.0
 * Integer expressions of launch plans and problems: variables, integers, + - * / %, unary minus,
 * parentheses, ceil_div(a,b) min(a,…) max(a,…) align(a,b). 64-bit signed; overflow, a division that
 * is not exact, and division by zero are errors that name the expression. Pure. */
#ifndef CORE_EXPR_H
#define CORE_EXPR_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct expr_var {
    const char *name; /* borrowed */
    int64_t value;
};

/* Evaluates `text`. On error returns ERR_INVALID and the fault says which part and why. */
enum err expr_eval(const char *text, const struct expr_var *vars, size_t count, int64_t *out,
                   struct fault *f);

#endif
