/* SPDX-License-Identifier: Apache-2.0
 * The C name of <cstdint>. */
#pragma once
#include <cstdint>
