/* SPDX-License-Identifier: Apache-2.0
 * The C name of <cstdio>. */
#pragma once
#include <cstdio>
