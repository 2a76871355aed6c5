// SPDX-License-Identifier: Apache-2.0
/* The keeper's kernels without a GPU: compiled to PTX, run by the executor of the CPU device behind a
 * driver of six functions, and held against the host. Needs NVRTC; speaks TAP itself. */
#ifdef HAVE_CUDA
#include "core/submission.h"
#include "evaluator/compile.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"
#include "tests/gpu/kernels_checks.h"

static const char *const names[] = {
#define KERNEL(name) #name,
#include "evaluator/cuda/kernels.def"
#undef KERNEL
    NULL,
};

static struct ptxvm *vm;

static CUresult vm_alloc(CUdeviceptr *out, size_t bytes)
{
    *out = ptxvm_alloc(vm, "memory", bytes, 256, PTXVM_READ_WRITE);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult vm_free(CUdeviceptr at)
{
    (void)at; /* with the vm */
    return CUDA_SUCCESS;
}

static CUresult vm_to_host(void *to, CUdeviceptr from, size_t bytes)
{
    return ptxvm_read(vm, from, to, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult vm_to_host_async(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    return vm_to_host(to, from, bytes);
}

static CUresult vm_synchronize(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult vm_stream(CUstream *out, unsigned flags)
{
    (void)flags;
    *out = NULL;
    return CUDA_SUCCESS;
}

static CUresult vm_host_alloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = malloc(bytes);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult vm_host_free(void *at)
{
    free(at);
    return CUDA_SUCCESS;
}

static CUresult vm_to_device(CUdeviceptr to, const void *from, size_t bytes)
{
    return ptxvm_write(vm, to, from, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult vm_set(CUdeviceptr at, unsigned char byte, size_t bytes, CUstream stream)
{
    (void)stream;
    void *host = ptxvm_host(vm, at, bytes);
    if (host)
        memset(host, byte, bytes);
    return host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A function is its number in `names`, plus one. */
static CUresult vm_launch(const CUlaunchConfig *c, CUfunction function, void **arguments, void **extra)
{
    (void)extra;
    const char *symbol = names[(uintptr_t)function - 1];
    struct ptxvm_kernel kernel;
    char params[512];
    if (!ptxvm_kernel(vm, symbol, &kernel) || kernel.param_bytes > sizeof(params))
        return CUDA_ERROR_NOT_FOUND;
    for (size_t i = 0; i < kernel.param_count; i++) {
        size_t offset, bytes, align;
        ptxvm_kernel_param(vm, symbol, i, &offset, &bytes, &align);
        memcpy(params + offset, arguments[i], bytes);
    }
    struct ptxvm_launch launch = {
        .symbol = symbol, .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
        .block = {c->blockDimX, c->blockDimY, c->blockDimZ}, .params = params,
        .param_bytes = kernel.param_bytes,
    };
    struct ptxvm_result result;
    ptxvm_launch(vm, &launch, &result);
    enum ptxvm_status status = result.status;
    if (status != PTXVM_OK)
        printf("# %s: %s\n", symbol, result.fault.detail);
    ptxvm_result_release(&result);
    return status == PTXVM_OK ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

/* The PTX of the kernels; NULL where there is no NVRTC. */
static struct ptx_module *compile_kernels(const struct arch *arch, struct compile_result *compiled)
{
    struct buf source;
    struct fault f = {0};
    buf_init(&source, LIMIT_SOURCE);
    if (kernels_source(&source, &f) != ERR_NONE)
        die("no kernels", f.detail);
    struct compile_request request = {.language = "cuda", .arch = arch, .source = source.data,
                                      .source_len = source.len, .names = names, .wake_fd = -1};
    compile_run(&request, compiled);
    buf_release(&source);
    if (compiled->verdict == VERDICT_INFRA_ERROR && compiled->error == ERR_UNAVAILABLE)
        return NULL;
    if (compiled->verdict != VERDICT_PASSED)
        die("cannot compile the kernels", compiled->detail);
    struct ptx_module *module =
        ptx_parse(compiled->ptx.data, compiled->ptx.len, &f);
    if (!module)
        die("cannot parse the kernels", f.detail);
    return module;
}

static void open_kernels(struct kernels *k, const struct ptx_module *module)
{
    struct fault f = {0};
    struct ptxvm_options options = {.memory_max = (size_t)1 << 30};
    vm = ptxvm_new(&options, &f);
    if (!vm || ptxvm_load(vm, module, &f) != ERR_NONE)
        die("cannot load the kernels", f.detail);
    cu.MemAlloc = vm_alloc;
    cu.MemFree = vm_free;
    cu.MemcpyDtoH = vm_to_host;
    cu.MemcpyHtoD = vm_to_device;
    cu.MemsetD8Async = vm_set;
    cu.MemcpyDtoHAsync = vm_to_host_async;
    cu.StreamSynchronize = vm_synchronize;
    cu.StreamDestroy = vm_synchronize;
    cu.StreamCreate = vm_stream;
    cu.MemHostAlloc = vm_host_alloc;
    cu.MemFreeHost = vm_host_free;
    cu.LaunchKernelEx = vm_launch;
    for (uintptr_t i = 0; i < KERNEL_COUNT; i++)
        k->functions[i] = (CUfunction)(i + 1);
    k->quantiles = room(NORMAL_TABLE * sizeof(float));
    k->counts = room(KERNELS_COUNTS * 8);
    k->places = room(KERNELS_COLUMNS * 4);
    cu.MemcpyHtoD(k->quantiles, inputs_normal_table(), NORMAL_TABLE * sizeof(float));
}

int main(void)
{
    struct registry registry;
    struct fault f = {0};
    struct kernels k = {0};
    struct compile_result compiled;
    if (registry_load(&registry, home_dir(), &f) != ERR_NONE)
        die("registry", f.detail);
    struct ptx_module *module =
        compile_kernels(archs_find(&registry.archs, "sm_90a"), &compiled);
    if (module) {
        open_kernels(&k, module);
        check_kernels(&k, problems_find(&registry.problems, "gemm"));
        ptxvm_free(vm);
        ptx_free(module);
    }
    compile_result_release(&compiled);
    registry_release(&registry);
    printf("1..%d%s\n", checks, checks ? "" : " # SKIP no NVRTC here");
    return failed > 0;
}
#else
#include <stdio.h>

int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
