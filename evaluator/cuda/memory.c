// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/memory.h"

#include <unistd.h>

#include "core/util.h"

/* Addresses are drawn from 64 TiB in the middle of what the hardware can name; the driver's own
 * allocations are elsewhere. */
#define PLACE_FROM UINT64_C(0x100000000000)
#define PLACE_SPAN (UINT64_C(1) << 46)
enum { GUARD_GRANULES_MAX = 8, PLACE_TRIES = 8 };

size_t memory_size(const struct driver_device *d, size_t bytes)
{
    size_t granules = (bytes + d->granule - 1) / d->granule;
    return (granules ? granules : 1) * d->granule;
}

size_t memory_offset(size_t size, size_t bytes, enum memory_place place)
{
    return place == MEMORY_END ? (size - bytes) / MEMORY_ALIGN * MEMORY_ALIGN : 0;
}

static CUmemLocation location(const struct driver_device *d)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device};
}

enum err memory_create(struct memory_block *out, const struct driver_device *d, size_t bytes,
                       bool exportable, struct fault *f)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes =
            exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
        .location = location(d),
    };
    *out = (struct memory_block){.size = memory_size(d, bytes)};
    enum err e = driver_check(cu.MemCreate(&out->handle, out->size, &prop, 0), f,
                              "allocate %zu bytes of device memory", out->size);
    if (e != ERR_NONE)
        *out = (struct memory_block){0};
    return e;
}

enum err memory_export(const struct memory_block *b, int *fd, struct fault *f)
{
    *fd = -1;
    return driver_check(
        cu.MemExportToShareableHandle(fd, b->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        f, "export device memory");
}

enum err memory_import(struct memory_block *out, const struct driver_device *d, int fd,
                       size_t bytes, struct fault *f)
{
    *out = (struct memory_block){.size = memory_size(d, bytes)};
    enum err e =
        driver_check(cu.MemImportFromShareableHandle(&out->handle, (void *)(intptr_t)fd,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                     f, "import device memory");
    if (e != ERR_NONE)
        *out = (struct memory_block){0};
    return e;
}

void memory_release(struct memory_block *b)
{
    if (b->size)
        cu.MemRelease(b->handle);
    *b = (struct memory_block){0};
}

static uint64_t draw(uint64_t below)
{
    uint64_t v;
    random_bytes(&v, sizeof(v));
    return v % below;
}

/* Reserves the mapping and its guards at a random place. A place that is taken or refused is drawn
 * anew; where the driver goes by its own mind, the guards alone are of random size. */
static CUresult reserve(struct memory_map *m, size_t granule)
{
    size_t before = (1 + draw(GUARD_GRANULES_MAX)) * granule;
    m->reserved_size = before + m->size + (1 + draw(GUARD_GRANULES_MAX)) * granule;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < PLACE_TRIES && r != CUDA_SUCCESS; i++) {
        CUdeviceptr wish = PLACE_FROM + draw(PLACE_SPAN / granule) * granule;
        r = cu.MemAddressReserve(&m->reserved, m->reserved_size, granule, wish, 0);
    }
    m->base = m->reserved + before;
    return r;
}

static enum err protect(const struct driver_device *d, CUdeviceptr at, size_t size,
                        enum memory_access access, struct fault *f)
{
    CUmemAccessDesc desc = {.location = location(d),
                            .flags = access == MEMORY_READ_ONLY
                                         ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                         : CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return driver_check(cu.MemSetAccess(at, size, &desc, 1), f, "protect device memory");
}

enum err memory_protect(struct memory_map *m, const struct driver_device *d,
                        enum memory_access access, struct fault *f)
{
    return protect(d, m->base, m->size, access, f);
}

enum err memory_map(struct memory_map *out, const struct driver_device *d,
                    const struct memory_block *b, size_t bytes, enum memory_place place,
                    enum memory_access access, struct fault *f)
{
    *out = (struct memory_map){.size = b->size, .bytes = bytes};
    enum err e =
        driver_check(reserve(out, d->granule), f, "reserve addresses for %zu bytes", b->size);
    if (e != ERR_NONE) {
        *out = (struct memory_map){0};
        return e;
    }
    e = driver_check(cu.MemMap(out->base, out->size, 0, b->handle, 0), f, "map device memory");
    if (e != ERR_NONE)
        out->base = 0; /* nothing to unmap */
    else
        e = memory_protect(out, d, access, f);
    if (e == ERR_NONE)
        out->address = out->base + memory_offset(out->size, bytes, place);
    else
        memory_unmap(out);
    return e;
}

static CUdeviceptr guard(const struct memory_map *m, enum memory_side side, size_t size)
{
    return side == MEMORY_AHEAD ? m->base - size : m->base + m->size;
}

enum err memory_open_guard(struct memory_map *m, const struct driver_device *d,
                           enum memory_side side, struct fault *f)
{
    struct memory_block block;
    CUdeviceptr at = guard(m, side, d->granule);
    enum err e = memory_create(&block, d, d->granule, false, f);
    if (e == ERR_NONE)
        e = driver_check(cu.MemMap(at, block.size, 0, block.handle, 0), f, "map a guard");
    if (e == ERR_NONE) {
        m->open[side] = block.size;
        e = protect(d, at, block.size, MEMORY_READ_WRITE, f);
    }
    memory_release(&block); /* the mapping keeps it */
    return e;
}

void memory_unmap(struct memory_map *m)
{
    for (int side = MEMORY_AHEAD; side <= MEMORY_BEHIND; side++)
        if (m->open[side])
            cu.MemUnmap(guard(m, (enum memory_side)side, m->open[side]), m->open[side]);
    if (m->base)
        cu.MemUnmap(m->base, m->size);
    if (m->reserved)
        cu.MemAddressFree(m->reserved, m->reserved_size);
    *m = (struct memory_map){0};
}

void memory_slack(const struct memory_map *m, struct memory_range out[2])
{
    size_t before = m->address - m->base;
    out[0] = (struct memory_range){m->base, before};
    out[1] = (struct memory_range){m->address + m->bytes, m->size - before - m->bytes};
}

enum err memory_new(struct memory *out, const struct driver_device *d, size_t bytes,
                    enum memory_place place, struct fault *f)
{
    *out = (struct memory){0};
    enum err e = memory_create(&out->block, d, bytes, false, f);
    if (e == ERR_NONE)
        e = memory_map(&out->map, d, &out->block, bytes, place, MEMORY_READ_WRITE, f);
    if (e != ERR_NONE)
        memory_free(out);
    return e;
}

void memory_free(struct memory *m)
{
    memory_unmap(&m->map);
    memory_release(&m->block);
}
