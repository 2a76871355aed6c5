/* SPDX-License-Identifier: Apache-2.0
 * The C name of <climits>. */
#pragma once
#include <climits>
