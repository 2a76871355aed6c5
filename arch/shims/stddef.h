/* SPDX-License-Identifier: Apache-2.0
 * The C name of <cstddef>. */
#pragma once
#include <cstddef>
