/* SPDX-License-Identifier: Apache-2.0
 * The C name of <cstring>. */
#pragma once
#include <cstring>
