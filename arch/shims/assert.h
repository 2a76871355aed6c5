/* SPDX-License-Identifier: Apache-2.0
 * The C name of <cassert>. */
#pragma once
#include <cassert>
