// SPDX-License-Identifier: Apache-2.0
// Holds core/tensor_map.c against a real driver: random parameters, most of them one step away from
// a valid map, judged by tensor_map_check() and by cuTensorMapEncodeTiled. Every difference is
// printed.
//
//   tensor_map [count [seed]]      exit 0 if both agree on every map
#include <dlfcn.h>

#include "core/tensor_map.h"
#include "core/util.h"

typedef int encode_tiled(void *map, int data_type, uint32_t rank, void *base, const uint64_t *dims,
                         const uint64_t *strides, const uint32_t *box,
                         const uint32_t *element_strides, int interleave, int swizzle,
                         int l2_promotion, int oob_fill);

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13; /* xorshift64 */
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static uint64_t pick(const uint64_t *values, size_t count)
{
    return values[draw(count)];
}

#define PICK(...) pick((const uint64_t[]){__VA_ARGS__}, COUNT_OF(((const uint64_t[]){__VA_ARGS__})))

/* A map that keeps every rule for most draws. */
static void plausible(struct plan_tensor_map *m)
{
    *m = (struct plan_tensor_map){.rank = (int)(1 + draw(5)), .data_type = (int)draw(16)};
    int bits = tensor_map_type_bits(m->data_type);
    m->element_bits = bits;
    m->interleave = (int)PICK(0, 0, 0, 0, 1, 2);
    m->swizzle = m->interleave == 2 ? 1 : (int)draw(7);
    m->l2_promotion = (int)draw(4);
    m->oob_fill = (int)PICK(0, 0, 0, 1);
    m->dims[0] = 128 * (1 + draw(64));
    uint64_t stride = (m->dims[0] * (uint64_t)bits / 8 + 31) / 32 * 32;
    for (int i = 0; i < m->rank; i++) {
        if (i)
            m->dims[i] = 1 + draw(300);
        m->strides[i] = stride;
        stride *= 1 + draw(16);
        m->box[i] = (uint32_t)(1 + draw(64));
        m->element_strides[i] = (uint32_t)PICK(1, 1, 1, 2, 8);
    }
    m->box[0] = m->data_type >= 14 ? 128 : (uint32_t)(PICK(16, 32, 64, 128) * 8 / (uint64_t)bits);
    m->offset_bytes = 32 * draw(8);
}

/* One step to somewhere odd. */
static void mutate(struct plan_tensor_map *m)
{
    int d = (int)draw((uint64_t)m->rank);
    switch (draw(11)) {
    case 0:
        m->dims[d] = PICK(0, 1, 2, 3, 127, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_MAX);
        break;
    case 1:
        m->strides[d] = PICK(0, 1, 8, 16, 24, 32, 48, (UINT64_C(1) << 40) - 16,
                             (UINT64_C(1) << 40) - 32, UINT64_C(1) << 40, UINT64_MAX - 15);
        break;
    case 2:
        m->box[d] = (uint32_t)PICK(0, 1, 2, 3, 4, 8, 16, 31, 255, 256, 257, UINT32_MAX);
        break;
    case 3:
        m->element_strides[d] = (uint32_t)PICK(0, 1, 3, 7, 8, 9, UINT32_MAX);
        break;
    case 4:
        m->interleave = (int)draw(3);
        break;
    case 5:
        m->swizzle = (int)draw(7);
        break;
    case 6:
        m->oob_fill = (int)draw(2);
        break;
    case 7:
        m->offset_bytes = PICK(0, 1, 8, 15, 16, 24, 31, 32, 48, 64);
        break;
    case 8:
        m->data_type = (int)draw(16);
        m->element_bits = tensor_map_type_bits(m->data_type);
        break;
    case 9:
        m->box[0] = (uint32_t)draw(257);
        break;
    case 10:
        m->dims[0] = 1 + draw(300);
        break;
    }
}

static void print_map(const char *what, const struct plan_tensor_map *m, const char *why)
{
    printf("%s: type %d rank %d offset %llu interleave %d swizzle %d l2 %d oob %d", what,
           m->data_type, m->rank, (unsigned long long)m->offset_bytes, m->interleave, m->swizzle,
           m->l2_promotion, m->oob_fill);
    for (int i = 0; i < m->rank; i++)
        printf(" [%llu stride %llu box %u step %u]", (unsigned long long)m->dims[i],
               (unsigned long long)m->strides[i], m->box[i], m->element_strides[i]);
    printf(" %s\n", why);
}

/* The driver's encoder with a context current (without one it accepts nothing), or NULL. */
static encode_tiled *open_driver(int *major)
{
    enum { COMPUTE_CAPABILITY_MAJOR = 75 }; /* CUdevice_attribute */
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*init)(unsigned) = NULL, (*attribute)(int *, int, int) = NULL;
    int (*retain)(void **, int) = NULL, (*set_current)(void *) = NULL;
    encode_tiled *encode = NULL;
    if (!driver)
        return NULL;
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&attribute = dlsym(driver, "cuDeviceGetAttribute");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&set_current = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&encode = dlsym(driver, "cuTensorMapEncodeTiled");
    if (!init || !attribute || !retain || !set_current || !encode || init(0) ||
        attribute(major, COMPUTE_CAPABILITY_MAJOR, 0) || retain(&context, 0) ||
        set_current(context))
        return NULL;
    return encode;
}

/* Are these faults only the two in which we are stricter on purpose (core/tensor_map.h)? */
static bool on_purpose(const struct faults *faults)
{
    size_t i;
    json_t *v;
    json_array_foreach(faults->items, i, v)
    {
        const char *detail = json_string_value(json_object_get(v, "detail"));
        if (!strstr(detail, "of shared memory") && !strstr(detail, "with a 32B interleave"))
            return false;
    }
    return faults_any(faults);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int major = 0;
    encode_tiled *encode = open_driver(&major);
    if (!encode) {
        printf("skipped: no CUDA driver or no device\n");
        return 77;
    }
    /* The driver's limit is the shared memory of an SM, ours that of a block. */
    const struct arch arch = {.sm = major * 10, .max_shared_bytes = 228 * KIB};
    long differ = 0, accepted = 0, purposely = 0;
    for (long i = 0; i < count; i++) {
        struct plan_tensor_map m;
        plausible(&m);
        for (uint64_t n = draw(4); n > 0; n--)
            mutate(&m);
        struct faults faults = {0};
        char why[2 * LIMIT_DETAIL] = "";
        tensor_map_check(&m, &arch, "$", &faults);
        bool ours = !faults_any(&faults), stricter = on_purpose(&faults);
        if (!ours)
            faults_first(&faults, why, sizeof(why));
        faults_release(&faults);
        _Alignas(64) char map[128];
        bool theirs = encode(map, m.data_type, (uint32_t)m.rank,
                             (void *)(uintptr_t)(UINT64_C(0x7f0000000000) + m.offset_bytes), m.dims,
                             &m.strides[1], m.box, m.element_strides, m.interleave, m.swizzle,
                             m.l2_promotion, m.oob_fill) == 0;
        accepted += theirs;
        if (theirs && stricter)
            purposely++;
        else if (ours != theirs && differ++ < 60)
            print_map(ours ? "only we accept" : "only the driver accepts", &m, why);
    }
    printf("sm_%d0: %ld maps, %ld accepted by the driver, %ld refused on purpose, %ld differ\n",
           major, count, accepted, purposely, differ);
    return differ != 0;
}
