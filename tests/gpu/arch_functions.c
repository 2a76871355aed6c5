// SPDX-License-Identifier: Apache-2.0
// Runs every function of the headers for sm_90a on a GPU (tests/gpu/arch_functions.cu) and checks
// what each does. The last lines are figures: name value.
#include "core/pack.h"
#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/cuda/driver.h"
#include "tests/arch_names.h"

enum {
    NO_GPU = 77,
    SIDE = 8,
    MAX_NAMES = 160,
    GROUP = 16 /* names of one compile */,
    SHARED = 200 * KIB
};

static int checks, failed;
static struct registry registry;
static struct compile_result compiled;
static CUmodule module;
static CUdeviceptr bad; /* the kernels' counter of what is wrong */

static void ok(bool right, const char *what)
{
    checks++;
    failed += !right;
    printf("%s %d - %s\n", right ? "ok" : "not ok", checks, what);
}

static _Noreturn void die(const char *what, const char *why)
{
    printf("Bail out! %s: %s\n", what, why ? why : "");
    exit(1);
}

static void must(CUresult r, const char *what)
{
    if (r != CUDA_SUCCESS)
        die(what, driver_text(r));
}

/* ---- what is compiled ---- */

/* Template arguments of `product`: types, sum, N, swizzle, majors, instructions, A in registers. */
static char names[MAX_NAMES][160];
static size_t name_count;

static void add_product(const char *a, const char *b, const char *sum, int n, const char *swizzle,
                        const char *majors, int steps, bool registers)
{
    snprintf(names[name_count], sizeof names[0],
             "product<%s, %s, %s, %d, swizzle::%s, major::%s, major::%s, %d, %s>", a, b, sum, n,
             swizzle, majors[0] == 'k' ? "k" : "mn", majors[1] == 'k' ? "k" : "mn", steps,
             registers ? "true" : "false");
    name_count++;
}

/* A in shared memory and, where it is K-major, in registers. */
static void add_products(const char *a, const char *b, const char *sum, int n, const char *swizzle,
                         const char *majors, int steps)
{
    add_product(a, b, sum, n, swizzle, majors, steps, false);
    if (majors[0] == 'k')
        add_product(a, b, sum, n, swizzle, majors, steps, true);
}

static void name_products(void)
{
    static const char *const layouts[][2] = {
        {"none", "2"}, {"b32", "2"}, {"b64", "2"}, {"b128", "4"}};
    static const char *const majors[] = {"kk", "mk", "km", "mm"};
    static const int sizes[] = {8, 24, 40, 96, 136, 192, 248};
    static const char *const fp8[] = {"e4m3", "e5m2"}, *const bytes[] = {"s8", "u8"};
    for (size_t l = 0; l < COUNT_OF(layouts); l++)
        for (size_t m = 0; m < COUNT_OF(majors); m++)
            add_products("bf16", "bf16", "float", 64, layouts[l][0], majors[m],
                         layouts[l][1][0] - '0');
    add_products("f16", "f16", "float", 128, "b128", "km", 4);
    add_products("bf16", "bf16", "float", 256, "b128", "km", 4);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        add_products("bf16", "bf16", "float", sizes[i], "b128", "kk", 4);
        add_product("f16", "f16", "uint32_t", sizes[i], "b128", "kk", 4, false);
    }
    add_products("tf32", "tf32", "float", 64, "b128", "kk", 4);
    add_products("tf32", "tf32", "float", 64, "none", "kk", 2);
    for (size_t a = 0; a < 2; a++)
        for (size_t b = 0; b < 2; b++) {
            add_products(fp8[a], fp8[b], "float", 64, "b128", "kk", 4);
            add_product(fp8[a], fp8[b], "uint32_t", 72, "b64", "kk", 2, false);
            add_products(bytes[a], bytes[b], "int", a + b ? 48 : 256, "b128", "kk", 4);
        }
}

/* A file of the tree that this was built from, or of the copy that PTXBENCH_HOME names. */
static struct buf read_tree(const char *name)
{
    const char *const places[] = {home_dir(), PTXBENCH_SOURCE_DIR};
    struct buf text;
    struct fault f = {0};
    buf_init(&text, LIMIT_SOURCE);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", places[i], name);
        if (read_file(path, &text, &f) == ERR_NONE)
            return text;
    }
    die("source", f.detail);
}

static void add_headers(struct buf *source)
{
    struct pack_files headers = {0};
    struct fault f = {0};
    if (pack_headers(&headers, home_dir(), "sm_90a", &f) != ERR_NONE)
        die("headers", f.detail);
    for (size_t i = 0; i < headers.count; i++)
        buf_addf(source, "#include <ptxbench/%s>\n", headers.items[i].name);
    buf_adds(source, "using namespace ptxbench;\n");
    pack_release(&headers);
}

/* The kernels, behind the headers; `kernels` gets them alone. */
static struct buf read_source(struct buf *kernels)
{
    struct buf source;
    buf_init(&source, LIMIT_SOURCE);
    *kernels = read_tree("tests/gpu/arch_functions.cu");
    add_headers(&source);
    buf_add(&source, kernels->data, kernels->len);
    return source;
}

/* Compiles kernels as a submission's source is compiled, in place of those before. */
static void compile(const struct buf *source, const char *const *list)
{
    struct compile_request q = {.language = "cuda",
                                .arch = archs_find(&registry.archs, "sm_90a"),
                                .source = source->data,
                                .source_len = source->len,
                                .names = list,
                                .timeout_ms = 120 * 1000,
                                .wake_fd = -1};
    compile_result_release(&compiled);
    compile_run(&q, &compiled);
    if (compiled.verdict != VERDICT_PASSED) {
        printf("%.3000s\n", compiled.log.data ? compiled.log.data : "");
        die("compile", compiled.detail);
    }
    must(cu.ModuleLoadData(&module, compiled.cubin.data), "load");
}

/* ---- launches ---- */

static CUresult launch(const char *name, int blocks, int threads, int shared, void **args)
{
    CUfunction function;
    const char *symbol = compile_symbol(&compiled, name);
    if (!symbol)
        die("no such kernel", name);
    must(cu.ModuleGetFunction(&function, module, symbol), name);
    must(cu.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared),
         name);
    CUlaunchConfig config = {.gridDimX = (unsigned)blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = (unsigned)threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = (unsigned)shared};
    CUresult r = cu.LaunchKernelEx(&config, function, args, NULL);
    return r == CUDA_SUCCESS ? cu.CtxSynchronize() : r;
}

static void clear_bad(void)
{
    const unsigned none = 0;
    must(cu.MemcpyHtoD(bad, &none, sizeof none), "clear");
}

/* Runs a kernel whose counter must stay 0; a sticky error ends the program, for nothing runs after
 * it. */
static void run(const char *name, int blocks, int threads, int shared, void **args,
                const char *what)
{
    unsigned count = 0;
    CUresult r = launch(name, blocks, threads, shared, args);
    if (r != CUDA_SUCCESS)
        die(what, driver_text(r));
    must(cu.MemcpyDtoH(&count, bad, sizeof count), "count");
    if (count)
        printf("# %u wrong\n", count);
    ok(count == 0, what);
    clear_bad();
}

static CUdeviceptr room(size_t bytes)
{
    CUdeviceptr p;
    must(cu.MemAlloc(&p, bytes), "allocate");
    return p;
}

static CUtensorMap map_of(CUdeviceptr p, CUtensorMapDataType type, unsigned rank, uint64_t side,
                          unsigned box)
{
    uint64_t dims[5], strides[5], bytes = 4;
    unsigned boxes[5], steps[5] = {1, 1, 1, 1, 1};
    CUtensorMap map;
    for (unsigned i = 0; i < rank; i++) {
        dims[i] = side;
        boxes[i] = box;
        bytes *= side;
        strides[i] = bytes;
    }
    must(cu.TensorMapEncodeTiled(&map, type, rank, (void *)p, dims, strides, boxes, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
         "encode");
    return map;
}

/* What `boxes` must leave in `want`: the box at (4, 3, 2, …) of `in` at (0, 2, 3, …), see the
 * kernel. */
static void want_boxes(int rank, int mode, const int *in, int *want)
{
    for (int i = 0; i < 1 << 2 * rank; i++) {
        int from = 0, to = 0, digit = i, unit = 1;
        for (int k = 0; k < rank; k++, digit /= 4, unit *= SIDE) {
            from += (digit % 4 + (k ? 2 + k % 2 : 4)) * unit;
            to += (digit % 4 + (k ? 1 + k % 3 : 0)) * unit;
        }
        int *w = &want[to], v = in[from];
        *w = mode < 2 ? v : mode == 2 ? *w + v : mode == 3 ? (v < *w ? v : *w) : (v > *w ? v : *w);
    }
}

static void check_products(const struct buf *source)
{
    for (size_t first = 0; first < name_count; first += GROUP) {
        const char *list[GROUP + 1] = {NULL};
        for (size_t i = 0; i < GROUP && first + i < name_count; i++)
            list[i] = names[first + i];
        compile(source, list);
        for (size_t i = 0; list[i]; i++) {
            void *args[] = {&bad};
            run(list[i], 1, 128, SHARED, args, list[i]);
        }
        cu.ModuleUnload(module);
    }
}

static void check_boxes(int rank)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= SIDE;
    int *in = malloc(count * 4), *out = malloc(count * 4), *want = malloc(count * 4);
    CUdeviceptr from = room(count * 4), to = room(count * 4);
    CUtensorMap map_in = map_of(from, CU_TENSOR_MAP_DATA_TYPE_INT32, (unsigned)rank, SIDE, 4);
    CUtensorMap map_out = map_of(to, CU_TENSOR_MAP_DATA_TYPE_INT32, (unsigned)rank, SIDE, 4);
    static const char *const modes[] = {"store", "store with policies", "add", "min", "max"};
    for (int mode = 0; mode < 5; mode++) {
        char name[32], what[64];
        for (size_t i = 0; i < count; i++) {
            in[i] = (int)(i * 2654435761u >> 8) % 1000 - 500;
            out[i] = want[i] = (int)(i * 40503u >> 4) % 1000 - 500;
        }
        want_boxes(rank, mode, in, want);
        must(cu.MemcpyHtoD(from, in, count * 4), "copy");
        must(cu.MemcpyHtoD(to, out, count * 4), "copy");
        void *args[] = {&map_in, &map_out, &mode, &bad};
        snprintf(name, sizeof name, "boxes<%d>", rank);
        snprintf(what, sizeof what, "boxes of rank %d: %s", rank, modes[mode]);
        run(name, 1, 32, 0, args, what);
        must(cu.MemcpyDtoH(out, to, count * 4), "copy");
        ok(!memcmp(out, want, count * 4), what);
    }
    cu.MemFree(from);
    cu.MemFree(to);
    free(in);
    free(out);
    free(want);
}

static void check_pair(void)
{
    float g[1024], out[128], sums[64];
    bool right = true;
    CUdeviceptr dg = room(sizeof g), dout = room(sizeof out), dsums = room(sizeof sums);
    for (int i = 0; i < 1024; i++)
        g[i] = (float)(i + 1);
    for (int i = 0; i < 64; i++)
        sums[i] = (float)i;
    must(cu.MemcpyHtoD(dg, g, sizeof g), "copy");
    must(cu.MemcpyHtoD(dsums, sums, sizeof sums), "copy");
    CUtensorMap map = map_of(dg, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, 32, 16);
    void *args[] = {&map, &dg, &dout, &dsums, &bad};
    run("pair", 2, 256, 0, args, "two blocks exchange");
    must(cu.MemcpyDtoH(out, dout, sizeof out), "copy");
    must(cu.MemcpyDtoH(sums, dsums, sizeof sums), "copy");
    for (int i = 0; i < 64; i++)
        right &= sums[i] == (float)i + 2 * g[i] && out[i] == g[i] && out[64 + i] == g[i];
    ok(right, "bulk stores and sums of both arrive");
    void *one[] = {&dg, &bad};
    run("block", 1, 128, 0, one, "one block: matrices, conversions, barriers, fences");
    CUdeviceptr words = room(8), c = room(64 * 96 * 2), partial = room(64 * 96 * 4);
    must(cu.MemcpyHtoD(words, (const uint32_t[]){0, 0}, 8), "copy");
    CUdeviceptr sum = words + 4;
    void *grid[] = {&words, &sum, &bad};
    run("meet", 100, 64, 0, grid, "a hundred blocks meet");
    void *sums_out[] = {&c, &partial, &bad};
    run("epilogue", 1, 128, 0, sums_out, "sums to global and shared memory");
    void *small[] = {&dg, &bad};
    run("warps", 1, 32, 0, small, "products of a warp, copies without TMA");
}

/* ---- hints ---- */

/* From `from` to before `to` (NULL: to the end) of the code blocks of a hint, with the kernel of
 * arch_hints.cu that `macro` chooses. */
static void check_hint(const char *file, const char *from, const char *to, const char *macro)
{
    struct buf source, text = read_tree(file), kernels = read_tree("tests/gpu/arch_hints.cu");
    const char *block = strstr(text.data, "```cuda\n"),
               *end = block ? strstr(block, "\n```") : NULL;
    buf_init(&source, LIMIT_SOURCE);
    if (block && from)
        block = strstr(block, from);
    if (block && to)
        end = strstr(block, to);
    if (!block || !end)
        die("no such code", file);
    if (!from)
        block += strlen("```cuda\n");
    buf_addf(&source, "#define %s\n#include <cmath>\n", macro);
    add_headers(&source);
    buf_add(&source, block, (size_t)(end + 1 - block));
    buf_add(&source, kernels.data, kernels.len);
    compile(&source, (const char *const[]){"hint", NULL});
    void *args[] = {&bad};
    run("hint", 1, 128, SHARED, args, file);
    cu.ModuleUnload(module);
    buf_release(&source);
    buf_release(&text);
    buf_release(&kernels);
}

static void check_hints(void)
{
    check_hint("arch/sm_90a/hints/attention-forward-overlap.md", NULL, NULL, "HINT_forward");
    check_hint("arch/sm_90a/hints/attention-forward.md", NULL, NULL, "HINT_turns");
    check_hint("arch/sm_90a/hints/attention-backward.md", NULL, NULL, "HINT_backward");
    check_hint("arch/sm_100a/hints/attention-forward.md", "__device__ float exp2_on_fma",
               "// Weights of one row", "HINT_exponential");
}

/* ---- latencies ---- */

/* A cycle over `count` places `stride` bytes apart, in random order. */
static void make_chain(CUdeviceptr to, size_t count, size_t stride)
{
    uint32_t *order = malloc(count * sizeof *order), *chain = calloc(count, stride);
    uint64_t seed = 88172645463325252u;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) { /* Sattolo: one cycle */
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        size_t k = seed % i;
        uint32_t kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    for (size_t i = 0; i < count; i++)
        chain[i * stride / 4] = (uint32_t)(order[i] * stride / 4);
    must(cu.MemcpyHtoD(to, chain, count * stride), "chain");
    free(order);
    free(chain);
}

static void measure(const char *what, const char *kernel, size_t count, size_t stride, int warm,
                    int steps)
{
    uint32_t out[2];
    CUdeviceptr dout = room(sizeof out), chain = count ? room(count * stride) : 0;
    if (count) {
        make_chain(chain, count, stride);
        void *args[] = {&chain, &warm, &steps, &dout};
        must(launch(kernel, 1, 1, 0, args), kernel);
        cu.MemFree(chain);
    } else {
        void *args[] = {&steps, &dout};
        must(launch(kernel, 1, 1, 0, args), kernel);
    }
    must(cu.MemcpyDtoH(out, dout, sizeof out), "copy");
    cu.MemFree(dout);
    printf("latency_cycles.%s %u\n", what, out[0]);
}

int main(void)
{
    struct driver_device device;
    struct fault f = {0};
    char missing[64];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (driver_open(0, &device, &f) != ERR_NONE || device.sm != 90) {
        printf("1..0 # SKIP %s\n", f.detail[0] ? f.detail : "this GPU is not sm_90");
        return NO_GPU;
    }
    if (registry_load(&registry, home_dir(), &f) != ERR_NONE)
        die("registry", f.detail);
    static const char *const others[] = {"boxes<1>",     "boxes<2>", "boxes<3>", "boxes<4>",
                                         "boxes<5>",     "pair",     "block",    "meet",
                                         "epilogue",     "warps",    "chase",    "chase_shared",
                                         NULL};
    struct buf kernels, source = read_source(&kernels);
    bad = room(4);
    clear_bad();
    name_products();
    check_products(&source);
    compile(&source, others);
    for (int rank = 1; rank <= 5; rank++)
        check_boxes(rank);
    check_pair();
    measure("shared", "chase_shared", 0, 0, 0, 4096);
    measure("l2", "chase", 4096, 256, 4096, 4096);
    measure("memory", "chase", 1 << 16, 8192, 0, 2048);
    cu.ModuleUnload(module);
    check_hints();
    int called = functions_called("sm_90a", kernels.data, missing);
    ok(!missing[0], missing[0] ? missing : "every function of the headers was run");
    printf("1..%d\n", checks);
    printf("template_functions_run_on_gpu.sm_90a %d\n", failed ? 0 : called);
    buf_release(&kernels);
    buf_release(&source);
    compile_result_release(&compiled);
    registry_release(&registry);
    driver_close(&device);
    return failed > 0;
}
