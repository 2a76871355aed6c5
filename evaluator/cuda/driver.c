// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/util.h"

/* What a kernel may print between two looks at it, and the least heap there is for malloc in
 * kernels. */
enum { PRINT_BYTES = 256 * KIB, HEAP_BYTES = 1 * KIB };

struct driver cu;

/* Functions are found by name and version, never by the names of symbols, which change meaning. */
static const struct entry {
    const char *name;
    int version;
    size_t offset;
} entries[] = {
#define DRIVER(name, version) {"cu" #name, version, offsetof(struct driver, name)},
#include "evaluator/cuda/driver.def"
#undef DRIVER
};

enum err driver_load(struct fault *f)
{
    static bool loaded;
    if (loaded)
        return ERR_NONE;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return fault_set(f, ERR_UNAVAILABLE, "cannot load the CUDA driver: %s", dlerror());
    PFN_cuGetProcAddress_v12000 find = NULL;
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&find, &symbol, sizeof(find)); /* ISO C has no cast from object to function pointer */
    if (!find)
        return fault_set(f, ERR_UNAVAILABLE, "cannot use the CUDA driver: it is older than 12.0");
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        void *function = NULL;
        CUdriverProcAddressQueryResult status;
        if (find(entries[i].name, &function, entries[i].version, CU_GET_PROC_ADDRESS_DEFAULT,
                 &status) != CUDA_SUCCESS ||
            !function)
            return fault_set(f, ERR_UNAVAILABLE,
                             "cannot use the CUDA driver: it has no %s of version %d",
                             entries[i].name, entries[i].version);
        memcpy((char *)&cu + entries[i].offset, &function, sizeof(function));
    }
    loaded = true;
    return ERR_NONE;
}

const char *driver_text(CUresult r)
{
    const char *text = NULL;
    if (!cu.GetErrorString || cu.GetErrorString(r, &text) != CUDA_SUCCESS || !text)
        return "an error that the driver does not know";
    return text;
}

enum err driver_check(CUresult r, struct fault *f, const char *what, ...)
{
    if (r == CUDA_SUCCESS)
        return ERR_NONE;
    char doing[LIMIT_DETAIL / 2];
    va_list ap;
    va_start(ap, what);
    vsnprintf(doing, sizeof(doing), what, ap);
    va_end(ap);
    enum err code = r == CUDA_ERROR_OUT_OF_MEMORY ? ERR_NO_MEMORY : ERR_UNAVAILABLE;
    return fault_set(f, code, "cannot %s: %s", doing, driver_text(r));
}

/* What the driver reports once a kernel has gone wrong. The context is lost after each. */
static const struct {
    CUresult result;
    const char *kind;
} kernel_faults[] = {
    {CUDA_ERROR_ILLEGAL_ADDRESS, "illegal_access"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned_address"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, "invalid_address_space"},
    {CUDA_ERROR_INVALID_PC, "invalid_pc"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal_instruction"},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, "stack_error"},
    {CUDA_ERROR_ASSERT, "assert"},
    {CUDA_ERROR_LAUNCH_FAILED, "launch_failed"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "timeout"},
    {CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor_memory_leak"},
};

const char *driver_fault_kind(CUresult r)
{
    for (size_t i = 0; i < COUNT_OF(kernel_faults); i++)
        if (kernel_faults[i].result == r)
            return kernel_faults[i].kind;
    return NULL;
}

bool driver_is_sticky(CUresult r)
{
    return driver_fault_kind(r) != NULL || r == CUDA_ERROR_ECC_UNCORRECTABLE ||
           r == CUDA_ERROR_CONTAINED || r == CUDA_ERROR_DEVICE_UNAVAILABLE ||
           r == CUDA_ERROR_CONTEXT_IS_DESTROYED || r == CUDA_ERROR_EXTERNAL_DEVICE ||
           r == CUDA_ERROR_UNKNOWN;
}

static void print_uuid(const CUuuid *uuid, char out[37])
{
    char hex[33];
    hex_encode((const uint8_t *)uuid->bytes, sizeof(uuid->bytes), hex);
    snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static enum err describe(struct driver_device *d, struct fault *f)
{
    static const CUdevice_attribute wanted[] = {
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN};
    int values[COUNT_OF(wanted)] = {0};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (driver_check(cu.DeviceGetAttribute(&values[i], wanted[i], d->device), f,
                         "read an attribute of the device") != ERR_NONE)
            return f ? f->code : ERR_UNAVAILABLE;
    d->sm = values[0] * 10 + values[1];
    d->num_sms = values[2];
    d->l2_bytes = values[3];
    d->shared_bytes = values[4];
    size_t memory = 0;
    CUuuid uuid = {{0}};
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device}};
    CUresult r = cu.DeviceGetName(d->name, sizeof(d->name), d->device);
    r = r ? r : cu.DeviceGetUuid(&uuid, d->device);
    r = r ? r : cu.DeviceTotalMem(&memory, d->device);
    r = r ? r : cu.DriverGetVersion(&d->version);
    r = r ? r
          : cu.MemGetAllocationGranularity(&d->granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    d->memory_bytes = (int64_t)memory;
    print_uuid(&uuid, d->uuid);
    return driver_check(r, f, "read the properties of the device");
}

/* Not every device has every limit: what it refuses it does not have. */
static void set_limits(void)
{
    cu.CtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, PRINT_BYTES);
    cu.CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, HEAP_BYTES);
    cu.CtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
}

enum err driver_open(int ordinal, struct driver_device *out, struct fault *f)
{
    *out = (struct driver_device){0};
    enum err e = driver_load(f);
    if (e != ERR_NONE)
        return e;
    CUresult r = cu.Init(0);
    r = r ? r : cu.DeviceGet(&out->device, ordinal);
    r = r ? r
          : cu.DevicePrimaryCtxSetFlags(out->device,
                                        CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_LMEM_RESIZE_TO_MAX);
    r = r ? r : cu.DevicePrimaryCtxRetain(&out->context, out->device);
    r = r ? r : cu.CtxSetCurrent(out->context);
    e = driver_check(r, f, "open CUDA device %d", ordinal);
    if (e != ERR_NONE)
        return e;
    set_limits();
    return describe(out, f);
}

void driver_close(struct driver_device *d)
{
    if (d->context)
        cu.DevicePrimaryCtxRelease(d->device);
    *d = (struct driver_device){0};
}
