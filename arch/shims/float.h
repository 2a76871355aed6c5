/* SPDX-License-Identifier: Apache-2.0
 * The C name of <cfloat>. */
#pragma once
#include <cfloat>
