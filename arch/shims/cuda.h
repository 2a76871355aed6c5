/* SPDX-License-Identifier: Apache-2.0
 * The driver interface a kernel needs: the type of a tensor map parameter. NVRTC has no <cuda.h>. */
#pragma once
typedef struct CUtensorMap_st {
    alignas(64) unsigned long long opaque[16];
} CUtensorMap;
