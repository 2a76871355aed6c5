/* SPDX-License-Identifier: Apache-2.0
 * evaluator/inspect: one launch that fits, and every way of not fitting, against the cubin and
 * against the PTX of the same module (tests/unit/cubin/module.ptx). */
#include "evaluator/inspect.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"

static struct archs archs;
static const struct arch *sm_90a;
static struct buf cubin_bytes, ptx_text;
static struct cubin cubin;
static struct ptx_module *ptx;

static int load(void **state)
{
    (void)state;
    struct fault f;
    buf_init(&cubin_bytes, LIMIT_CUBIN), buf_init(&ptx_text, LIMIT_PTX);
    if (archs_load(&archs, PTXBENCH_SOURCE_DIR, &f) != ERR_NONE ||
        read_file(PTXBENCH_SOURCE_DIR "/tests/fuzz/corpus/fuzz_cubin/module_sm_90a.cubin",
                  &cubin_bytes, &f) != ERR_NONE ||
        read_file(PTXBENCH_SOURCE_DIR "/tests/unit/cubin/module.ptx", &ptx_text, &f) != ERR_NONE ||
        cubin_open(&cubin, cubin_bytes.data, cubin_bytes.len, &f) != ERR_NONE ||
        !(ptx = ptx_parse(ptx_text.data, ptx_text.len, &f))) {
        fprintf(stderr, "%s\n", f.detail);
        return -1;
    }
    sm_90a = archs_find(&archs, "sm_90a");
    return sm_90a ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    ptx_free(ptx);
    buf_release(&cubin_bytes), buf_release(&ptx_text);
    archs_release(&archs);
    return 0;
}

static char calls_name[] = "calls", other_name[] = "other", unbounded_name[] = "unbounded",
            nosuch_name[] = "nosuch";

/* A launch of `calls` that fits: (pointer, tensor map, u8 as a one-byte struct). */
struct fit {
    struct plan_launch launch;
    struct plan_arg args[4];
};

static void make_fit(struct fit *f)
{
    *f = (struct fit){.launch = {.kernel = calls_name,
                                 .grid = {4, 1, 1},
                                 .block = {128, 1, 1},
                                 .cluster = {0, 1, 1},
                                 .arg_count = 3},
                      .args = {{.kind = ARG_TENSOR, .size = 8, .align = 8},
                               {.kind = ARG_TENSOR_MAP, .size = 128, .align = 64},
                               {.kind = ARG_STRUCT, .size = 1, .align = 1}}};
    f->launch.args = f->args;
}

static void one_argument_less(struct fit *f)
{
    f->launch.arg_count = 2;
}
static void one_argument_more(struct fit *f)
{
    f->args[3] = (struct plan_arg){.kind = ARG_I32, .size = 4, .align = 4};
    f->launch.arg_count = 4;
}
static void pointer_as_i32(struct fit *f)
{
    f->args[0] = (struct plan_arg){.kind = ARG_I32, .size = 4, .align = 4};
}
static void map_as_pointer(struct fit *f)
{
    f->args[1] = (struct plan_arg){.kind = ARG_TENSOR, .size = 8, .align = 8};
}
static void map_as_loose_struct(struct fit *f)
{
    f->args[1] = (struct plan_arg){.kind = ARG_STRUCT, .size = 128, .align = 8};
}
static void other_block(struct fit *f)
{
    f->launch.block[0] = 64;
}
static void other_cluster(struct fit *f)
{
    f->launch.cluster[0] = 4;
}
static void same_cluster(struct fit *f)
{
    f->launch.cluster[0] = 2;
}
static void odd_grid(struct fit *f)
{
    f->launch.grid[0] = 3;
}
static void much_shared(struct fit *f)
{
    f->launch.shared_bytes = sm_90a->max_shared_bytes;
}
static void all_shared(struct fit *f)
{
    f->launch.shared_bytes = sm_90a->max_shared_bytes - 256;
}
static void unknown(struct fit *f)
{
    f->launch.kernel = nosuch_name;
}
static void unchanged(struct fit *f)
{
    (void)f;
}
static void too_many_threads(struct fit *f)
{
    f->launch.kernel = other_name;
    f->launch.arg_count = 1;
    f->launch.block[0] = 512;
}
static void fewer_threads(struct fit *f)
{
    f->launch.kernel = other_name;
    f->launch.arg_count = 1;
    f->launch.block[0] = 32;
}

static const struct {
    void (*change)(struct fit *f);
    const char *says; /* NULL: fits */
    bool needs_ptx;
} cases[] = {
    {unchanged, NULL, false},
    {same_cluster, NULL, false},
    {all_shared, NULL, false},
    {fewer_threads, NULL, false},
    {unknown, "the module has: ", false},
    {one_argument_less, "takes 3 arguments, the plan gives 2", false},
    {one_argument_more, "takes 3 arguments, the plan gives 4", false},
    {pointer_as_i32, "argument 0: the plan gives i32 of 4 bytes, the kernel takes 8 bytes", false},
    {map_as_pointer, "argument 1: the plan gives tensor of 8 bytes, the kernel takes 128 bytes",
     false},
    {map_as_loose_struct, "argument 1: the plan puts it at byte 8 (alignment 8)", true},
    {other_block, "exactly 128 x 1 x 1 threads", false},
    {too_many_threads, "at most 256 threads a block, the plan launches 512", false},
    {other_cluster, "clusters of 2 x 1 x 1, the plan says 4 x 1 x 1", false},
    {odd_grid, "no multiple of the cluster's 2", false},
    {much_shared, "static 256 and dynamic", false},
};

static void run(const struct cubin *c, const struct ptx_module *m, struct fit *f,
                struct inspect_result *out)
{
    static const char *const names[] = {"calls", "other"};
    struct inspect_request r = {.arch = sm_90a,
                                .cubin = c,
                                .ptx = m,
                                .launches = &f->launch,
                                .launch_count = 1,
                                .names = names,
                                .symbols = names,
                                .name_count = 2};
    inspect(&r, out);
}

static void every_misfit_is_named(void **state)
{
    (void)state;
    const struct {
        const struct cubin *cubin;
        const struct ptx_module *ptx;
    } sources[] = {{&cubin, ptx}, {&cubin, NULL}, {NULL, ptx}};
    for (size_t s = 0; s < COUNT_OF(sources); s++)
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct fit f;
            struct inspect_result r;
            make_fit(&f);
            cases[i].change(&f);
            run(sources[s].cubin, sources[s].ptx, &f, &r);
            bool fits = !cases[i].says || (cases[i].needs_ptx && !sources[s].ptx);
            if (r.verdict != (fits ? VERDICT_PASSED : VERDICT_LAUNCH_ERROR) ||
                (!fits && !strstr(r.detail, cases[i].says)))
                fail_msg("source %zu, case %zu: %s '%s'", s, i, verdict_name(r.verdict), r.detail);
            inspect_result_release(&r);
        }
}

/* An imaginary architecture whose warps are single threads: each takes a whole unit of 256
 * registers. */
static void registers_bound_the_block(void **state)
{
    (void)state;
    static const char *const names[] = {"unbounded"};
    static const struct {
        int64_t threads;
        const char *says;
    } blocks[] = {{256, ""}, {257, "registers a thread: a block of 257 threads needs 65792"}};
    struct arch narrow = *sm_90a;
    narrow.warp_size = 1;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        struct fit f;
        struct inspect_result r;
        make_fit(&f);
        f.launch.kernel = unbounded_name, f.launch.arg_count = 1;
        f.launch.block[0] = blocks[i].threads;
        struct inspect_request q = {.arch = &narrow,
                                    .cubin = &cubin,
                                    .launches = &f.launch,
                                    .launch_count = 1,
                                    .names = names,
                                    .symbols = names,
                                    .name_count = 1};
        inspect(&q, &r);
        assert_int_equal(r.verdict, blocks[i].says[0] ? VERDICT_LAUNCH_ERROR : VERDICT_PASSED);
        assert_non_null(strstr(r.detail, blocks[i].says));
        inspect_result_release(&r);
    }
}

static void reports_kernels_and_families(void **state)
{
    (void)state;
    struct fit f;
    struct inspect_result r;
    make_fit(&f);
    run(&cubin, ptx, &f, &r);
    assert_int_equal(json_array_size(r.kernels), 2);
    const json_t *row = json_array_get(r.kernels, 0);
    assert_string_equal(json_string_value(json_object_get(row, "symbol")), "calls");
    assert_int_equal(json_integer_value(json_object_get(row, "registers")), 30);
    assert_int_equal(json_integer_value(json_object_get(row, "shared_bytes")), 256);
    assert_int_equal(json_integer_value(json_object_get(row, "param_bytes")), 177);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(r.families, "gmma"), "static")), 3);
    inspect_result_release(&r);
    run(NULL, ptx, &f, &r);
    assert_int_equal(json_object_size(r.families), 0);
    assert_true(json_is_null(json_object_get(json_array_get(r.kernels, 0), "registers")));
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(r.kernels, 0), "shared_bytes")), 256);
    inspect_result_release(&r);
}

static void rejects(const char *text, const char *says)
{
    struct fault f = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &f);
    if (!m)
        fail_msg("%s", f.detail);
    struct inspect_request q = {.arch = sm_90a, .ptx = m};
    struct inspect_result r;
    inspect(&q, &r);
    assert_int_equal(r.verdict, says ? VERDICT_REJECTED : VERDICT_PASSED);
    if (says)
        assert_non_null(strstr(r.detail, says));
    inspect_result_release(&r);
    ptx_free(m);
}

#define HEAD ".version 8.0\n.target sm_90a\n.address_size 64\n"

static void modules_that_ask_too_much_are_rejected(void **state)
{
    (void)state;
    rejects(HEAD ".visible .entry k() { ret; }", NULL);
    rejects(HEAD ".global .b8 big[60000000000];\n.visible .entry k() { ret; }",
            "60000000000 bytes");
    rejects(HEAD ".extern .func f();\n.visible .entry k() { ret; }", NULL); /* declared, not used */
    rejects(HEAD ".extern .func free(.param .b64 p);\n.visible .entry k() { .param .b64 x; call "
                 "free, (x); ret; }",
            "'free'");
    rejects(HEAD ".extern .global .b32 v;\n.visible .entry k() { ret; }", "'v'");
}

static void names_are_readable(void **state)
{
    (void)state;
    static const struct {
        const char *symbol, *readable;
    } names[] = {
        {"plain", "plain"},
        {"_Z5otherPi", "other"},
        {"_ZN2ns5inner1kEv", "ns::inner::k"},
        {"_Z1kILi3ELb1EEv3Map", "k"},
        {"_Z", "_Z"},
        {"_Z99short", "_Z99short"},
        {"", ""},
    };
    char out[64];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        inspect_demangle(names[i].symbol, out, sizeof out);
        assert_string_equal(out, names[i].readable);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_misfit_is_named),
        cmocka_unit_test(registers_bound_the_block),
        cmocka_unit_test(reports_kernels_and_families),
        cmocka_unit_test(modules_that_ask_too_much_are_rejected),
        cmocka_unit_test(names_are_readable),
    };
    return cmocka_run_group_tests(tests, load, drop);
}
