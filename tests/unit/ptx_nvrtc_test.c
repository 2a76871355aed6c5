/* SPDX-License-Identifier: Apache-2.0
 * The PTX parser against the real compiler: every tests/data/ptx_sources/<name>.cu goes through
 * NVRTC and the parser takes all of what comes out, and again what it writes itself. Skipped, with
 * the reason, where NVRTC is not installed. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"

/* The part of NVRTC's interface needed here; its header may be absent. */
static struct {
    void *library;
    int (*create)(void **program, const char *source, const char *name, int headers,
                  const char *const *contents, const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*ptx_size)(void *program, size_t *size);
    int (*ptx)(void *program, char *out);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *out);
    int (*destroy)(void **program);
} nvrtc;

static const char *cuda_home(void)
{
    const char *home = getenv("CUDA_HOME");
    return home && *home ? home : "/usr/local/cuda";
}

static bool load_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    char path[512];
    for (size_t i = 0; i < COUNT_OF(names) && !nvrtc.library; i++) {
        snprintf(path, sizeof path, "%s/lib64/%s", cuda_home(), names[i]);
        nvrtc.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!nvrtc.library)
            nvrtc.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (!nvrtc.library)
        return false;
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        {"nvrtcCreateProgram", &nvrtc.create},       {"nvrtcCompileProgram", &nvrtc.compile},
        {"nvrtcGetPTXSize", &nvrtc.ptx_size},        {"nvrtcGetPTX", &nvrtc.ptx},
        {"nvrtcGetProgramLogSize", &nvrtc.log_size}, {"nvrtcGetProgramLog", &nvrtc.log},
        {"nvrtcDestroyProgram", &nvrtc.destroy},
    };
    for (size_t i = 0; i < COUNT_OF(symbols); i++) {
        void *address = dlsym(nvrtc.library, symbols[i].name);
        assert_non_null(address);
        memcpy(symbols[i].slot, &address, sizeof address);
    }
    return true;
}

/* PTX of one source; the caller frees it. */
static char *compile(const char *name, const char *arch)
{
    char path[512], include[512], cccl[512], target[64];
    snprintf(path, sizeof path, "%s/tests/data/ptx_sources/%s.cu", PTXBENCH_SOURCE_DIR, name);
    snprintf(include, sizeof include, "-I%s/include", cuda_home());
    snprintf(cccl, sizeof cccl, "-I%s/include/cccl", cuda_home());
    snprintf(target, sizeof target, "-arch=compute_%s", arch);
    const char *options[] = {target,  "-std=c++20", "-default-device", "-lineinfo", "-DNDEBUG",
                             include, cccl};
    struct buf source;
    struct fault f;
    buf_init(&source, MIB);
    assert_int_equal(read_file(path, &source, &f), ERR_NONE);
    void *program = NULL;
    size_t size = 0;
    assert_int_equal(nvrtc.create(&program, source.data, name, 0, NULL, NULL), 0);
    if (nvrtc.compile(program, (int)COUNT_OF(options), options)) {
        nvrtc.log_size(program, &size);
        char *log = calloc(1, size + 1);
        nvrtc.log(program, log);
        print_error("%s\n", log);
        free(log);
        fail();
    }
    assert_int_equal(nvrtc.ptx_size(program, &size), 0);
    char *ptx = calloc(1, size + 1);
    assert_non_null(ptx);
    assert_int_equal(nvrtc.ptx(program, ptx), 0);
    nvrtc.destroy(&program);
    buf_release(&source);
    return ptx;
}

static struct ptx_module *must_parse(const char *text)
{
    struct fault f = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &f);
    if (!m)
        print_error("%s\n", f.detail);
    assert_non_null(m);
    return m;
}

/* Guarded instructions counted without the parser: NVRTC writes each on a line of its own. None may
 * be lost. */
static size_t count_guard_lines(const char *ptx)
{
    size_t n = 0;
    for (const char *p = ptx; (p = strchr(p, '@')) != NULL; p++)
        n += p > ptx && p[-1] == '\t';
    return n;
}

static size_t count_guards(const struct ptx_module *m)
{
    size_t n = 0;
    for (uint32_t i = 0; i < m->func_count; i++)
        for (uint32_t k = 0; k < m->funcs[i].instr_count; k++)
            n += m->funcs[i].instrs[k].guard != PTX_NONE;
    return n;
}

static void assert_has_op(const struct ptx_module *m, enum ptx_op op)
{
    for (uint32_t i = 0; i < m->form_count; i++)
        if (m->forms[i].op == op)
            return;
    print_error("no %s\n", ptx_op_name(op));
    fail();
}

static void check(const char *name, const char *arch, const enum ptx_op *ops, size_t op_count)
{
    if (!nvrtc.library) {
        print_message("skipped: libnvrtc.so.13 is not installed in %s/lib64\n", cuda_home());
        skip();
    }
    char *ptx = compile(name, arch);
    struct ptx_module *m = must_parse(ptx);
    for (size_t i = 0; i < op_count; i++)
        assert_has_op(m, ops[i]);
    assert_true(count_guards(m) >= count_guard_lines(ptx));
    for (uint32_t i = 0; i < m->func_count; i++)
        assert_true(!m->funcs[i].is_entry || m->funcs[i].instr_count > 0);
    struct buf first, second;
    buf_init(&first, 16 * MIB);
    buf_init(&second, 16 * MIB);
    ptx_format_module(m, &first);
    struct ptx_module *again = must_parse(first.data);
    ptx_format_module(again, &second);
    assert_string_equal(first.data, second.data);
    assert_int_equal(count_guards(m), count_guards(again));
    buf_release(&first);
    buf_release(&second);
    ptx_free(again);
    ptx_free(m);
    free(ptx);
}

static void test_barrier_pipeline(void **state)
{
    (void)state;
    const enum ptx_op ops[] = {PTX_OP_mbarrier, PTX_OP_cp,   PTX_OP_barrier,
                               PTX_OP_mapa,     PTX_OP_shfl, PTX_OP_atom};
    check("barrier_pipeline", "90a", ops, COUNT_OF(ops));
}

static void test_language(void **state)
{
    (void)state;
    const enum ptx_op ops[] = {PTX_OP_call, PTX_OP_brx,   PTX_OP_div,  PTX_OP_prmt,
                               PTX_OP_shf,  PTX_OP_redux, PTX_OP_match};
    check("language", "90a", ops, COUNT_OF(ops));
}

static void test_narrow_types(void **state)
{
    (void)state;
    const enum ptx_op ops[] = {PTX_OP_wmma, PTX_OP_mma, PTX_OP_ldmatrix, PTX_OP_cvt, PTX_OP_fma};
    check("narrow_types", "90a", ops, COUNT_OF(ops));
}

static void test_hopper(void **state)
{
    (void)state;
    const enum ptx_op ops[] = {PTX_OP_wgmma, PTX_OP_cp,           PTX_OP_setmaxnreg,
                               PTX_OP_elect, PTX_OP_createpolicy, PTX_OP_tensormap};
    check("hopper", "90a", ops, COUNT_OF(ops));
}

static void test_blackwell(void **state)
{
    (void)state;
    const enum ptx_op ops[] = {PTX_OP_tcgen05, PTX_OP_clusterlaunchcontrol, PTX_OP_redux};
    check("blackwell", "100a", ops, COUNT_OF(ops));
}

static int setup(void **state)
{
    (void)state;
    load_nvrtc();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier_pipeline), cmocka_unit_test(test_language),
        cmocka_unit_test(test_narrow_types),     cmocka_unit_test(test_hopper),
        cmocka_unit_test(test_blackwell),
    };
    return cmocka_run_group_tests_name("ptx_nvrtc", tests, setup, NULL);
}
