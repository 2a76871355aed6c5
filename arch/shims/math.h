/* SPDX-License-Identifier: Apache-2.0
 * The functions are built into NVRTC; these are the constants. */
#pragma once
/* libcu++ may define the same names later. */
#pragma nv_diag_suppress 47
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LN2 0.69314718055994530942
#define M_SQRT2 1.41421356237309504880
#endif
