/* SPDX-License-Identifier: Apache-2.0
 * ptxvm against a GPU: every case of differential_*.h and the examples of the repository on both,
 * the same inputs. Integers and .rn results must have the same bits, the rest lies within the bound
 * that its row states. Examples are compiled without contraction.
 *
 *     gpu_differential [--record FILE] [--keep FOLDER] [--write FOLDER]
 *
 * --record writes what the GPU gave where its bits are fixed (tests/data/differential holds such a
 * file); --keep the GPU's results of cases that differ; --write the modules as PTX, without a GPU.
 */
#include <getopt.h>

#include "tests/gpu/differential_examples.h"
#include "tests/gpu/differential_vm.h"

enum { PER_MODULE = 128, SHOWN = 4, JIT_LOG = 4096 };

/* Where results go; NULL: nowhere. */
struct places {
    FILE *record;
    const char *keep;
};

/* The case on both sides. */
struct sides {
    unsigned char *in, *gpu, *vm;
};

static void sides_open(struct sides *s, const struct diff_case *c, uint64_t seed)
{
    *s = (struct sides){malloc(c->in_bytes), malloc(c->out_bytes), malloc(c->out_bytes)};
    if (!s->in || !s->gpu || !s->vm)
        die("out of memory", "");
    diff_fill(c, seed, s->in);
    diff_fill_out(c, seed, s->gpu);
    memcpy(s->vm, s->gpu, c->out_bytes);
}

static void sides_close(struct sides *s)
{
    free(s->in);
    free(s->gpu);
    free(s->vm);
}

/* A module of cases first … end-1, or NULL with the assembler's words printed. */
static CUmodule load(const struct diff_cases *all, size_t first, size_t end)
{
    static char log[JIT_LOG];
    CUmodule module = NULL;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
    char *text = diff_module(all, first, end);
    log[0] = '\0';
    if (cu.ModuleLoadDataEx(&module, text, COUNT_OF(options), options, values) != CUDA_SUCCESS) {
        printf("# %.300s\n", log);
        module = NULL;
    }
    free(text);
    return module;
}

static bool encode(const struct diff_case *c, CUdeviceptr base, void *map)
{
    const struct plan_tensor_map *m = &c->map;
    return cu.TensorMapEncodeTiled(map, (CUtensorMapDataType)m->data_type, (cuuint32_t)m->rank,
                                   (void *)(uintptr_t)base, m->dims, &m->strides[1], m->box,
                                   m->element_strides, (CUtensorMapInterleave)m->interleave,
                                   (CUtensorMapSwizzle)m->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   (CUtensorMapFloatOOBfill)m->oob_fill) == CUDA_SUCCESS;
}

/* Runs a case on the GPU; s->gpu is what it gave. */
static bool run_gpu(CUmodule module, const struct diff_case *c, struct sides *s)
{
    CUfunction function;
    CUdeviceptr in = room(c->in_bytes), out = room(c->out_bytes);
    struct diff_params p = {.in = in, .out = out};
    void *args[] = {p.map, &p.in, &p.out};
    CUlaunchConfig config = {.gridDimX = c->grid,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = c->block,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    bool ok = cu.ModuleGetFunction(&function, module, c->entry) == CUDA_SUCCESS &&
              cu.MemcpyHtoD(in, s->in, c->in_bytes) == CUDA_SUCCESS &&
              cu.MemcpyHtoD(out, s->gpu, c->out_bytes) == CUDA_SUCCESS &&
              (!c->map.rank || encode(c, c->map_of_out ? out : in, p.map));
    CUresult r = ok ? cu.LaunchKernelEx(&config, function, args, NULL) : CUDA_ERROR_INVALID_VALUE;
    r = r == CUDA_SUCCESS ? cu.CtxSynchronize() : r;
    ok = r == CUDA_SUCCESS && cu.MemcpyDtoH(s->gpu, out, c->out_bytes) == CUDA_SUCCESS;
    if (!ok)
        printf("# %s: %s\n", c->name, driver_text(r));
    if (driver_is_sticky(r))
        die("the GPU is lost", c->name);
    cu.MemFree(in);
    cu.MemFree(out);
    return ok;
}

static void show_word(const char *who, const unsigned char *bytes, size_t at)
{
    uint64_t v;
    memcpy(&v, bytes + at, 8);
    printf(" %s %016llx", who, (unsigned long long)v);
}

/* Up to SHOWN words of eight bytes that differ. */
static void show_difference(const struct diff_case *c, const struct sides *s, size_t bad)
{
    size_t shown = 0, words = 0;
    bool operands = !c->part_bytes[0] && !c->map.rank;
    printf("# %s: %zu of %zu differ\n", c->name, bad,
           c->out_bytes / diff_element_bytes(c->rule.type));
    for (size_t at = 0; at + 8 <= c->out_bytes && shown < SHOWN; at += 8) {
        struct diff_case word = *c;
        size_t first;
        word.out_bytes = 8;
        if (!diff_compare(&word, s->gpu + at, s->vm + at, &first) ||
            words++ % (1 + bad / (4 * SHOWN)))
            continue;
        printf("#   at %zu:", at);
        show_word("gpu", s->gpu, at);
        show_word("vm", s->vm, at);
        for (size_t k = 0; operands && k < 3; k++)
            show_word(&"a\0b\0c"[2 * k], s -> in + at * 3, 8 * k);
        printf("\n");
        shown++;
    }
}

static void keep_result(const char *folder, const struct diff_case *c, const struct sides *s)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.bin", folder, c->entry);
    FILE *out = fopen(path, "w");
    if (!out)
        die("cannot write", path);
    fprintf(out, "%s\n", c->name);
    fwrite(s->gpu, 1, c->out_bytes, out);
    fclose(out);
}

/* One case; true if both agree. */
static bool try_case(const struct diff_cases *all, size_t i, CUmodule module,
                     const struct places *to)
{
    const struct diff_case *c = &all->items[i];
    struct sides s;
    char why[PTXVM_TEXT];
    size_t first = 0;
    sides_open(&s, c, diff_seed(c));
    bool vm = diff_run_vm(all, i, NULL, s.in, s.vm, why), gpu = run_gpu(module, c, &s);
    if (!vm)
        printf("# %s: ptxvm: %s\n", c->name, why);
    size_t bad = vm && gpu ? diff_compare(c, s.gpu, s.vm, &first) : 0;
    if (bad)
        show_difference(c, &s, bad);
    if (gpu && (bad || !vm) && to->keep)
        keep_result(to->keep, c, &s);
    if (gpu && to->record && diff_hash(c, s.gpu))
        fprintf(to->record, "%016llx %s\n", (unsigned long long)diff_hash(c, s.gpu), c->name);
    sides_close(&s);
    return vm && gpu && !bad;
}

/* All cases; the number of those that differ. */
static size_t try_all(const struct diff_cases *all, const struct places *to)
{
    size_t bad = 0, in_group = 0, bad_in_group = 0;
    CUmodule module = NULL;
    for (size_t i = 0; i < all->count; i++) {
        if (i % PER_MODULE == 0) {
            if (module)
                cu.ModuleUnload(module);
            module = load(all, i, i + PER_MODULE < all->count ? i + PER_MODULE : all->count);
            if (!module)
                die("a module does not load", all->items[i].name);
        }
        bool good = try_case(all, i, module, to);
        in_group++;
        bad_in_group += !good;
        if (i + 1 == all->count || strcmp(all->items[i].group, all->items[i + 1].group) != 0) {
            char what[160];
            snprintf(what, sizeof(what), "%s: %zu kernels, %zu differ", all->items[i].group,
                     in_group, bad_in_group);
            ok(!bad_in_group, what);
            bad += bad_in_group;
            in_group = bad_in_group = 0;
        }
    }
    cu.ModuleUnload(module);
    return bad;
}

static void write_modules(const struct diff_cases *all, const char *folder)
{
    for (size_t i = 0; i < all->count; i += PER_MODULE) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%02zu.ptx", folder, i / PER_MODULE);
        FILE *out = fopen(path, "w");
        if (!out)
            die("cannot write", path);
        char *text = diff_module(all, i, i + PER_MODULE < all->count ? i + PER_MODULE : all->count);
        fputs(text, out);
        free(text);
        fclose(out);
    }
}

static void run(const struct diff_cases *all, const char *record, const char *keep)
{
    struct driver_device device;
    struct fault f = {0};
    if (driver_open(0, &device, &f) != ERR_NONE) {
        printf("1..0 # SKIP %s\n", f.detail);
        exit(77);
    }
    const struct places to = {record ? fopen(record, "w") : NULL, keep};
    size_t bad = try_all(all, &to);
    if (to.record)
        fclose(to.record);
    size_t examples = 0, bad_examples = diff_examples(&device, &examples);
    printf("1..%d\n", checks);
    printf("# ptxvm.differential_kernels %zu\n", all->count + examples);
    printf("# ptxvm.differential_mismatches %zu\n", bad + bad_examples);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"record", required_argument, NULL, 'r'},
                                            {"keep", required_argument, NULL, 'k'},
                                            {"write", required_argument, NULL, 'w'},
                                            {NULL, 0, NULL, 0}};
    const char *record = NULL, *keep = NULL, *folder = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (o == 'r')
            record = optarg;
        else if (o == 'k')
            keep = optarg;
        else if (o == 'w')
            folder = optarg;
        else
            return 2;
    struct diff_cases all = {0};
    diff_add_all(&all);
    if (folder)
        write_modules(&all, folder);
    else
        run(&all, record, keep);
    diff_free(&all);
    return failed > 0;
}
