/* SPDX-License-Identifier: Apache-2.0
 * The C name of <cstdlib>. */
#pragma once
#include <cstdlib>
