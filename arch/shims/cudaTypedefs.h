/* SPDX-License-Identifier: Apache-2.0
 * Function pointer types of the driver are for host code; device code wants CUtensorMap. */
#pragma once
#include <cuda.h>
