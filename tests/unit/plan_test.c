// SPDX-License-Identifier: Apache-2.0
// Launch plans: what a good one resolves to, and each kind of bad one with the path of its fault.
// The workload is the paper's, M 8192, N 7168, K 5120, on sm_90a, unless a test says otherwise.
#include "tests/unit/domain.h"

static struct plan *parse(const char *text, const char *arch, struct faults *faults)
{
    const struct problem *p = problems_find(&registry.problems, "gemm");
    json_t *document = quoted(text);
    struct plan *plan = plan_parse(document, p, p->paper_workload,
                                   archs_find(&registry.archs, arch), "$.launch", faults);
    json_decref(document);
    return plan;
}

static struct plan *good(const char *text)
{
    struct faults faults = {0};
    struct plan *plan = parse(text, "sm_90a", &faults);
    char first[2 * LIMIT_DETAIL];
    if (!plan)
        fail_msg("%s in %s", faults_first(&faults, first, sizeof(first)), text);
    assert_false(faults_any(&faults));
    return plan;
}

static const char whole[] =
    "{'defines': {'NUM_SMS': 'num_sms'},"
    " 'buffers': {'partial': {'dtype': 'f32', 'shape': ['M', 'N/56', 3], 'init': 'zero', "
    "'capture': true},"
    "             'tiles': {'dtype': 'i32', 'shape': [64], 'init': {'launch': {'kernel': 'fill', "
    "'grid': [1],"
    "                       'block': [64], 'args': [{'buffer': 'tiles', 'offset': 4}, {'i32': "
    "'M/128'}]}}},"
    "             'table': {'dtype': 'u8', 'shape': [16], 'init': {'data': 'AQID'}}},"
    " 'tensor_maps': {'tA': {'tensor': 'A', 'box': [64, 128], 'swizzle': '128B'},"
    "                 'tP': {'buffer': 'partial', 'dtype': 'u32', 'dims': [128, 'M'], 'strides': "
    "[512],"
    "                        'box': [32, 64], 'l2_promotion': '256B', 'offset': 128}},"
    " 'launches': [{'kernel': 'gemm_kernel<128, {N/56}, {min(M, 4)}>', 'grid': ['num_sms'], "
    "'block': [384],"
    "   'cluster': [2], 'shared_bytes': 213040, 'args': [{'tensor_map': 'tA'}, {'tensor': 'C', "
    "'offset': 'N'},"
    "     {'i32': 'M'}, {'f32': 0.0883883}, {'buffer': 'partial'}]},"
    "  {'kernel': 'k2', 'grid': [1, 'M', 7], 'block': [32, 4, 2], 'programmatic_dependent': true,"
    "   'cooperative': true}]}";

static void a_whole_plan(void **state)
{
    (void)state;
    struct plan *p = good(whole);
    assert_string_equal(p->defines[0].name, "NUM_SMS");
    assert_int_equal(p->defines[0].value, 132);

    assert_int_equal(p->buffer_count, 3);
    assert_true(p->buffers[0].init == BUFFER_ZERO && p->buffers[0].capture);
    assert_int_equal(p->buffers[0].elements, 8192 * 128 * 3);
    assert_int_equal(p->buffers[0].bytes, 4 * 8192 * 128 * 3);
    assert_true(p->buffers[1].init == BUFFER_LAUNCH && p->buffers[1].launch);
    assert_int_equal(p->buffers[1].launch->args[0].offset_bytes, 16);
    assert_int_equal(p->buffers[1].launch->args[1].bytes[0], 64);
    assert_int_equal(p->buffers[2].data.len, 3);
    assert_memory_equal(p->buffers[2].data.data, "\1\2\3", 3);

    const struct plan_tensor_map *a = &p->maps[0], *q = &p->maps[1];
    assert_true(a->rank == 2 && a->dims[0] == 5120 && a->dims[1] == 8192 && a->strides[1] == 10240);
    assert_true(a->box[0] == 64 && a->box[1] == 128 && a->element_strides[1] == 1);
    assert_true(a->data_type == 9 && a->swizzle == 3 && a->interleave == 0 &&
                a->space == PLAN_TENSOR);
    assert_true(q->data_type == 2 && q->space == PLAN_BUFFER && q->index == 0 &&
                q->l2_promotion == 3);
    assert_int_equal(q->offset_bytes, 512);

    const struct plan_launch *l = &p->launches[0];
    assert_string_equal(l->kernel, "gemm_kernel<128, 128, 4>");
    assert_true(l->grid[0] == 132 && l->grid[1] == 1 && l->block[0] == 384 && l->cluster[0] == 2);
    assert_int_equal(l->shared_bytes, 213040);
    size_t offsets[LIMIT_ARGS];
    assert_int_equal(plan_param_layout(l, offsets), 152);
    assert_true(offsets[1] == 128 && offsets[2] == 136 && offsets[3] == 140 && offsets[4] == 144);
    assert_int_equal(l->args[1].offset_bytes, 2 * 7168);
    assert_true(l->args[1].kind == ARG_TENSOR && l->args[1].index == 2);
    float scale;
    memcpy(&scale, l->args[3].bytes, sizeof(scale));
    assert_true(scale == 0.0883883f);
    assert_true(p->launches[1].cluster[0] == 0 && p->launches[1].programmatic_dependent);
    assert_true(p->launches[1].grid[1] == 8192 && p->launches[1].cooperative);
    plan_free(p);
    plan_free(NULL);
}

static void structs_are_laid_out_as_in_c(void **state)
{
    (void)state;
    struct plan *p =
        good("{'tensor_maps': {'t': {'tensor': 'B', 'box': [64, 8]}}, 'launches': [{'kernel': 'k', "
             "'grid': [1],"
             " 'block': [1], 'args': [{'f16': 1}, {'struct': [{'f16': -2}, {'i64': -1}, {'struct': "
             "[{'u32': 7},"
             " {'bf16': 'K'}]}, {'tensor_map': 't'}, {'i32': 'K-N'}]}, {'f64': 0.5}]}]}");
    const struct plan_arg *s = &p->launches[0].args[1];
    struct inner {
        uint32_t a;
        uint16_t b;
    };
    struct outer {
        uint16_t a;
        int64_t b;
        struct inner c;
        _Alignas(64) char map[128];
        int32_t d;
    };
    assert_int_equal(s->size, sizeof(struct outer));
    assert_int_equal(s->align, 64);
    assert_int_equal(s->members[1].offset, offsetof(struct outer, b));
    assert_int_equal(s->members[2].offset, offsetof(struct outer, c));
    assert_int_equal(s->members[2].size, sizeof(struct inner));
    assert_int_equal(s->members[3].offset, offsetof(struct outer, map));
    assert_int_equal(s->members[4].offset, offsetof(struct outer, d));
    assert_memory_equal(s->members[0].bytes, "\x00\xc0", 2);
    assert_memory_equal(s->members[1].bytes, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    assert_memory_equal(s->members[2].members[1].bytes, "\xa0\x45", 2); /* 5120 in bf16 */
    assert_memory_equal(s->members[4].bytes, "\x00\xf8\xff\xff", 4);    /* -2048 */
    size_t offsets[LIMIT_ARGS];
    assert_int_equal(plan_param_layout(&p->launches[0], offsets), 64 + sizeof(struct outer) + 8);
    assert_int_equal(offsets[1], 64);
    plan_free(p);
}

/* A map may see its tensor in another shape: K in panels of 64 columns. */
static void maps_reinterpret(void **state)
{
    (void)state;
    struct plan *p = good(
        "{'tensor_maps': {'t': {'tensor': 'A', 'dims': [64, 'M', 'K/64'], 'strides': ['2*K', 128],"
        " 'box': [64, 256, 1], 'swizzle': '128B'},"
        "'i': {'tensor': 'A', 'dims': [16, 32, 64], 'dtype': 'f16', 'interleave': '32B', 'swizzle':"
        "'32B', 'box': [16, 1, 1], 'element_strides': [1, 2, 8], 'oob_fill': 'nan'},"
        "'v': {'tensor': 'A', 'dims': ['M*K'], 'strides': [], 'box': [256]}},"
        "'launches': [{'kernel': 'k', 'grid': [1], 'block': [1]}]}");
    assert_true(p->maps[0].strides[1] == 10240 && p->maps[0].strides[2] == 128);
    assert_true(p->maps[1].strides[1] == 32 && p->maps[1].strides[2] == 1024);
    assert_true(p->maps[1].element_strides[2] == 8 && p->maps[1].oob_fill == 1);
    assert_true(p->maps[2].rank == 1 && p->maps[2].dims[0] == 8192 * 5120);
    plan_free(p);
}

struct row {
    const char *plan, *path, *detail;
};

static void expect_rows(const struct row *rows, size_t count, const char *arch)
{
    for (size_t i = 0; i < count; i++) {
        struct faults faults = {0};
        assert_null(parse(rows[i].plan, arch, &faults));
        if (!has_fault(&faults, rows[i].path, rows[i].detail))
            print_error("row %zu: %s\n", i, rows[i].plan);
        expect_fault(&faults, rows[i].path, rows[i].detail);
        faults_release(&faults);
    }
}

static void bad_shapes_of_the_document(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"[]", "$.launch", "must be an object"},
        {"{}", "$.launch.launches", "is required"},
        {"{'launches': []}", "$.launch.launches", "1 to 16 entries"},
        {"{'launches': [{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}", "$.launch.launches",
         "not 17"},
        {"{'launches': [7]}", "$.launch.launches[0]", "must be an object"},
        {"{'launch': []}", "$.launch.launch", "is not a known field"},
        {"{'launches': [{'kernel': 'k'}]}", "$.launch.launches[0].grid", "is required"},
        {"{'launches': [{'kernel': 'k', 'threads': 1}]}", "$.launch.launches[0].threads",
         "not a known field"},
        {"{'launches': [{'kernel': 7}]}", "$.launch.launches[0].kernel", "must be a string"},
        {"{'launches': [{'kernel': ''}]}", "$.launch.launches[0].kernel", "of 1 to 1024 bytes"},
        {"{'defines': {'__x': 1}, 'launches': [{}]}", "$.launch.defines.__x", "reserved"},
        {"{'defines': {'_X': 1}, 'launches': [{}]}", "$.launch.defines._X", "reserved"},
        {"{'defines': {'NDEBUG': 1}, 'launches': [{}]}", "$.launch.defines.NDEBUG", "reserved"},
        {"{'defines': {'PTXBENCH_X': 1}, 'launches': [{}]}", "$.launch.defines.PTXBENCH_X",
         "reserved"},
        {"{'defines': {'a b': 1}, 'launches': [{}]}", "$.launch.defines", "'a b' is not a name"},
        {"{'defines': {'A': 'M*'}, 'launches': [{}]}", "$.launch.defines.A",
         "cannot evaluate 'M*'"},
        {"{'defines': {'A': 1.5}, 'launches': [{}]}", "$.launch.defines.A",
         "an integer or an expression"},
    };
    expect_rows(rows, COUNT_OF(rows), "sm_90a");
}

#define LAUNCH(members) "{'launches': [{" members "}]}"
#define GEOMETRY(members) LAUNCH("'kernel': 'k', " members)

static void bad_launches(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {LAUNCH("'kernel': 'k<{N/5}>'"), "$.launch.launches[0].kernel", "7168 / 5 is not exact"},
        {LAUNCH("'kernel': 'k<{N'"), "$.launch.launches[0].kernel", "not closed"},
        {LAUNCH("'kernel': 'k<{{N}>'"), "$.launch.launches[0].kernel", "not closed"},
        {LAUNCH("'kernel': 'k}'"), "$.launch.launches[0].kernel", "without '{'"},
        {LAUNCH("'kernel': 'k{}'"), "$.launch.launches[0].kernel", "cannot evaluate ''"},
        {LAUNCH("'kernel': 'a\\nb'"), "$.launch.launches[0].kernel", "control characters"},
        {LAUNCH("'kernel': 'a\\u0000b'"), "$.launch.launches[0].kernel", "NUL"},
        {LAUNCH("'kernel': '  '"), "$.launch.launches[0].kernel", "blank"},
        {GEOMETRY("'grid': [0]"), "$.launch.launches[0].grid[0]", "must be 1 to 2147483647, not 0"},
        {GEOMETRY("'grid': [2147483648]"), "$.launch.launches[0].grid[0]", "not 2147483648"},
        {GEOMETRY("'grid': [1, 65536]"), "$.launch.launches[0].grid[1]", "1 to 65535"},
        {GEOMETRY("'grid': [1, 1, 65536]"), "$.launch.launches[0].grid[2]", "1 to 65535"},
        {GEOMETRY("'grid': [1, 1, 1, 1]"), "$.launch.launches[0].grid", "1 to 3 entries"},
        {GEOMETRY("'grid': []"), "$.launch.launches[0].grid", "1 to 3 entries"},
        {GEOMETRY("'grid': 7"), "$.launch.launches[0].grid", "1 to 3 entries"},
        {GEOMETRY("'grid': ['M/0']"), "$.launch.launches[0].grid[0]", "'M/0': division by zero"},
        {GEOMETRY("'grid': ['M*M*M*M*M']"), "$.launch.launches[0].grid[0]",
         "does not fit in 64 bits"},
        {GEOMETRY("'grid': ['1\\u00002']"), "$.launch.launches[0].grid[0]", "NUL"},
        {GEOMETRY("'block': [1025]"), "$.launch.launches[0].block[0]", "1 to 1024"},
        {GEOMETRY("'block': [1, 1, 65]"), "$.launch.launches[0].block[2]", "1 to 64"},
        {GEOMETRY("'block': [64, 17]"), "$.launch.launches[0].block", "1088 threads"},
        {GEOMETRY("'grid': [4], 'cluster': [3]"), "$.launch.launches[0].cluster",
         "3 does not divide grid.x"},
        {GEOMETRY("'grid': [32], 'cluster': [32]"), "$.launch.launches[0].cluster[0]", "1 to 16"},
        {GEOMETRY("'grid': [8, 8], 'cluster': [8, 4]"), "$.launch.launches[0].cluster",
         "holds 32 blocks"},
        {GEOMETRY("'shared_bytes': 232449"), "$.launch.launches[0].shared_bytes", "0 to 232448"},
        {GEOMETRY("'shared_bytes': -1"), "$.launch.launches[0].shared_bytes", "0 to 232448"},
        {GEOMETRY("'cooperative': 1"), "$.launch.launches[0].cooperative", "true or false"},
        {GEOMETRY("'programmatic_dependent': true, 'grid': [1], 'block': [1]"),
         "$.launch.launches[0]", "no launch before it"},
    };
    expect_rows(rows, COUNT_OF(rows), "sm_90a");
}

#define ARG(arg)                                                                                   \
    "{'buffers': {'s': {'dtype': 'f32', 'shape': [8]}}, 'launches': [{'kernel': 'k', 'grid': [1]," \
    "'block': [1], 'args': [" arg "]}]}"
#define AT_ARG "$.launch.launches[0].args[0]"

static void bad_arguments(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {ARG("7"), AT_ARG, "exactly one of i32"},
        {ARG("{}"), AT_ARG, "exactly one of i32"},
        {ARG("{'i33': 1}"), AT_ARG, "exactly one of i32"},
        {ARG("{'i32': 1, 'u32': 1}"), AT_ARG, "exactly one of i32"},
        {ARG("{'i32': 1, 'offset': 1}"), AT_ARG, "only a tensor or a buffer"},
        {ARG("{'i32': 2147483648}"), AT_ARG ".i32", "-2147483648 to 2147483647"},
        {ARG("{'i32': 'M*N*K'}"), AT_ARG ".i32", "not 300647710720"},
        {ARG("{'u32': -1}"), AT_ARG ".u32", "0 to 4294967295, not -1"},
        {ARG("{'u64': -1}"), AT_ARG ".u64", "not -1"},
        {ARG("{'i32': 1.0}"), AT_ARG ".i32", "an integer or an expression"},
        {ARG("{'i32': null}"), AT_ARG ".i32", "an integer or an expression"},
        {ARG("{'f16': 65520}"), AT_ARG ".f16", "out of the range of f16"},
        {ARG("{'f32': 1e39}"), AT_ARG ".f32", "out of the range of f32"},
        {ARG("{'f32': 'nan'}"), AT_ARG ".f32", "unknown name 'nan'"},
        {ARG("{'f32': 'inf'}"), AT_ARG ".f32", "unknown name 'inf'"},
        {ARG("{'f32': true}"), AT_ARG ".f32", "a number or an expression"},
        {ARG("{'tensor': 'D'}"), AT_ARG ".tensor",
         "'D' is not a tensor of the problem; there are: A, B, C"},
        {ARG("{'tensor': 's'}"), AT_ARG ".tensor", "'s' is not a tensor"},
        {ARG("{'tensor': 1}"), AT_ARG ".tensor", "must be a name"},
        {ARG("{'tensor': 'C', 'offset': 'M*N'}"), AT_ARG ".offset", "must be 0 to 58720255"},
        {ARG("{'tensor': 'C', 'offset': -1}"), AT_ARG ".offset", "must be 0 to"},
        {ARG("{'buffer': 'A'}"), AT_ARG ".buffer", "'A' is not a buffer of the plan; there are: s"},
        {ARG("{'buffer': 's', 'offset': 8}"), AT_ARG ".offset", "must be 0 to 7"},
        {ARG("{'tensor_map': 'A'}"), AT_ARG ".tensor_map", "'A' is not a tensor map"},
        {ARG("{'struct': []}"), AT_ARG ".struct", "at least one"},
        {ARG("{'struct': {}}"), AT_ARG ".struct", "must be a list"},
        {ARG("{'struct': [{'i32': 'x'}]}"), AT_ARG ".struct[0].i32", "unknown name 'x'"},
        {ARG("{'struct': [{'struct': [{'struct': [{'struct': [{'struct': [{'i32': 1}]}]}]}]}]}"),
         AT_ARG ".struct[0].struct[0].struct[0].struct[0].struct", "nested deeper than 4"},
    };
    expect_rows(rows, COUNT_OF(rows), "sm_90a");
}

static void too_many_arguments(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, MIB);
    buf_adds(&b, "{'tensor_maps': {'t': {'tensor': 'A', 'box': [64, 8]}}, 'launches': [{'kernel': "
                 "'k', 'grid': [1],"
                 "'block': [1], 'args': [");
    for (int i = 0; i < 33; i++)
        buf_addf(&b, "%s{'tensor_map': 't'}", i ? "," : "");
    buf_adds(&b, "]}]}");
    struct faults faults = {0};
    assert_null(parse(b.data, "sm_90a", &faults));
    expect_fault(&faults, "$.launch.launches[0].args", "take 4224 bytes, over the limit of 4096");
    faults_release(&faults);

    buf_clear(&b);
    buf_adds(&b, "{'launches': [{'kernel': 'k', 'grid': [1], 'block': [1], 'args': [{'struct': [");
    for (int i = 0; i < 64; i++)
        buf_addf(&b, "%s{'i32': %d}", i ? "," : "", i);
    buf_adds(&b, "]}]}]}");
    assert_null(parse(b.data, "sm_90a", &faults));
    expect_fault(&faults, AT_ARG ".struct[63]", "is argument 65");
    faults_release(&faults);
    buf_release(&b);
}

#define BUFFER(members) "{'buffers': {'s': {" members "}}, 'launches': [{}]}"
#define AT_BUFFER "$.launch.buffers.s"
#define INIT(launch)                                                                               \
    BUFFER("'dtype': 'f32', 'shape': [8], 'init': {'launch': {'kernel': 'k', 'grid': [1], " launch \
           "}}")

static void bad_buffers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {BUFFER("'shape': [8]"), AT_BUFFER ".dtype", "is required"},
        {BUFFER("'dtype': 'f8', 'shape': [8]"), AT_BUFFER ".dtype", "'f8' is not a dtype"},
        {BUFFER("'dtype': 'f32'"), AT_BUFFER ".shape", "is required"},
        {BUFFER("'dtype': 'f32', 'shape': []"), AT_BUFFER ".shape", "1 to 5 entries"},
        {BUFFER("'dtype': 'f32', 'shape': [0]"), AT_BUFFER ".shape[0]", "not 0"},
        {BUFFER("'dtype': 'f32', 'shape': [-1]"), AT_BUFFER ".shape[0]", "not -1"},
        {BUFFER("'dtype': 'f32', 'shape': ['M', 'N', 'K']"), AT_BUFFER ".shape",
         "bytes of scratch"},
        {BUFFER("'dtype': 'f64', 'shape': [4294967296, 4294967296, 4294967296]"),
         AT_BUFFER ".shape", "bytes of scratch"},
        {BUFFER("'dtype': 'f32', 'shape': [1], 'init': 'ones'"), AT_BUFFER ".init",
         "must be \"zero\""},
        {BUFFER("'dtype': 'f32', 'shape': [1], 'init': {}"), AT_BUFFER ".init", "must be \"zero\""},
        {BUFFER("'dtype': 'f32', 'shape': [1], 'init': {'file': 'x'}"), AT_BUFFER ".init.file",
         "not a known field"},
        {BUFFER("'dtype': 'f32', 'shape': [1], 'init': {'data': 'AAA'}"), AT_BUFFER ".init.data",
         "must be base64"},
        {BUFFER("'dtype': 'f32', 'shape': [1], 'init': {'data': 'AAAAAAAA'}"),
         AT_BUFFER ".init.data", "holds 6 bytes"},
        {BUFFER("'dtype': 'f32', 'shape': [1], 'capture': 'yes'"), AT_BUFFER ".capture",
         "true or false"},
        {"{'buffers': {'A': {'dtype': 'f32', 'shape': [1]}}, 'launches': [{}]}",
         "$.launch.buffers.A", "name of a tensor"},
        {"{'buffers': {'1': {'dtype': 'f32', 'shape': [1]}}, 'launches': [{}]}", "$.launch.buffers",
         "'1' is not a name"},
        {"{'buffers': {'s': {'dtype': 'u8', 'shape': [8589934592]}, 't': {'dtype': 'u8', 'shape': "
         "[1]}},"
         "'launches': [{}]}",
         "$.launch.buffers", "together"},
        {INIT("'block': [1], 'args': [{'tensor': 'A'}]"), AT_BUFFER ".init.launch.args[0].tensor",
         "own buffer only"},
        {INIT("'block': [1], 'args': [{'tensor_map': 't'}]"),
         AT_BUFFER ".init.launch.args[0].tensor_map", "own buffer only"},
        {INIT("'block': [0]"), AT_BUFFER ".init.launch.block[0]", "1 to 1024"},
        {INIT("'block': [1], 'programmatic_dependent': true"), AT_BUFFER ".init.launch",
         "no launch before"},
        {"{'buffers': {'s': {'dtype': 'u8', 'shape': [1], 'init': {'launch': {'kernel': 'k', "
         "'grid': [1], 'block':"
         "[1], 'args': [{'struct': [{'buffer': 't'}]}]}}}, 't': {'dtype': 'u8', 'shape': [1]}}, "
         "'launches': [{}]}",
         AT_BUFFER ".init.launch.args[0].struct[0].buffer", "own buffer only"},
    };
    expect_rows(rows, COUNT_OF(rows), "sm_90a");
}

#define MAP(members)                                                                               \
    "{'buffers': {'s': {'dtype': 'f32', 'shape': [3, 40]}}, 'tensor_maps': {'t': {" members        \
    "}}, 'launches': [{}]}"
#define AT_MAP "$.launch.tensor_maps.t"

static void bad_maps(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {MAP("'box': [64, 8]"), AT_MAP, "either a tensor or a buffer"},
        {MAP("'tensor': 'A', 'buffer': 's', 'box': [64, 8]"), AT_MAP,
         "either a tensor or a buffer"},
        {MAP("'tensor': 'X', 'box': [64, 8]"), AT_MAP ".tensor", "'X' is not a tensor"},
        {MAP("'tensor': 'A'"), AT_MAP ".box", "is required"},
        {MAP("'tensor': 'A', 'box': [64]"), AT_MAP ".box", "must have 2 entries"},
        {MAP("'tensor': 'A', 'box': [64, 257]"), AT_MAP ".box[1]", "1 to 256"},
        {MAP("'tensor': 'A', 'box': [64, 0]"), AT_MAP ".box[1]", "1 to 256"},
        {MAP("'tensor': 'A', 'box': [65, 8]"), AT_MAP ".box", "multiple of 16 bytes"},
        {MAP("'tensor': 'A', 'box': [128, 8], 'swizzle': '128B'"), AT_MAP ".box",
         "256 bytes, over the swizzle's span of 128"},
        {MAP("'tensor': 'A', 'box': [2, 8, 8], 'dims': [32, 8, 8], 'interleave': '16B'"),
         AT_MAP ".box", "multiple of 16 bytes"},
        {MAP("'tensor': 'A', 'dims': [256, 256, 2], 'box': [256, 256, 2]"), AT_MAP ".box",
         "makes 262144 bytes, over the 232448"},
        {MAP("'tensor': 'A', 'dims': [256, 256, 2], 'box': [256, 256, 2],"
             "'element_strides': [2, 1, 1]"),
         AT_MAP ".box", "makes 262144 bytes"},
        {MAP("'tensor': 'A', 'dims': [8, 256, 8], 'box': [8, 256, 8], 'swizzle': '128B'"),
         AT_MAP ".box", "makes 262144 bytes"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'swizzle': '64B'"), AT_MAP ".box",
         "over the swizzle's span of 64"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'swizzle': '256B'"), AT_MAP ".swizzle",
         "must be one of none, 32B"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'swizzle': '128B_atom_32B'"), AT_MAP ".swizzle",
         "needs sm_100a"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'dtype': 'f9'"), AT_MAP ".dtype",
         "'f9' is not one of u8"},
        {MAP("'tensor': 'A', 'box': [128, 8], 'dtype': 'u4_align16'"), AT_MAP ".dtype",
         "needs sm_100a"},
        {MAP("'tensor': 'A', 'box': [8, 8], 'dtype': 'i32', 'oob_fill': 'nan'"), AT_MAP ".oob_fill",
         "floating-point"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'interleave': '16B'"), AT_MAP ".dims",
         "at least 3 dimensions"},
        {MAP("'tensor': 'A', 'dims': [64, 8, 8], 'box': [64, 8, 1], 'interleave': '32B'"),
         AT_MAP ".swizzle", "must be 32B"},
        {MAP("'tensor': 'A', 'dims': [8, 8, 8], 'box': [8, 8, 1], 'interleave': '32B', 'swizzle': "
             "'32B'"),
         AT_MAP ".strides", "multiple of 32 bytes"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'element_strides': [1, 9]"),
         AT_MAP ".element_strides[1]", "1 to 8"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'element_strides': [1]"), AT_MAP ".element_strides",
         "2 entries"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'offset': 4"), AT_MAP ".offset",
         "multiple of 16 bytes, not 8"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'offset': 'M*K'"), AT_MAP ".offset", "must be 0 to"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'offset': 8"), AT_MAP,
         "reaches byte 83886096 of 'A', which has 83886080"},
        {MAP("'tensor': 'A', 'dims': ['K', 'M+1'], 'box': [64, 8]"), AT_MAP, "reaches byte"},
        {MAP("'tensor': 'A', 'dims': ['K', 2], 'strides': ['2*K*M'], 'box': [64, 8]"), AT_MAP,
         "reaches byte"},
        {MAP("'tensor': 'A', 'dims': [8, 4294967296], 'strides': [1099511627760], 'box': [8, 1]"),
         AT_MAP, "reaches byte"},
        {MAP("'tensor': 'A', 'dims': [8, 4294967296, 4294967296, 4294967296, 2], 'box': [8, 1, 1, "
             "1, 1]"),
         AT_MAP, "reaches byte"},
        {MAP("'tensor': 'A', 'dims': [0, 8], 'box': [8, 1]"), AT_MAP ".dims[0]", "not 0"},
        {MAP("'tensor': 'A', 'dims': [4294967297], 'box': [8]"), AT_MAP ".dims[0]",
         "1 to 4294967296"},
        {MAP("'tensor': 'A', 'dims': [1,1,1,1,1,1], 'box': [8]"), AT_MAP ".dims", "1 to 5 entries"},
        {MAP("'tensor': 'A', 'dims': [8, 8], 'strides': [24], 'box': [8, 8]"), AT_MAP ".strides",
         "multiple of 16 bytes below"},
        {MAP("'tensor': 'A', 'dims': [8, 8], 'strides': [1099511627776], 'box': [8, 8]"),
         AT_MAP ".strides[0]", "not 1099511627776"},
        {MAP("'tensor': 'A', 'dims': [8, 8], 'strides': [16, 16], 'box': [8, 8]"),
         AT_MAP ".strides", "must have 1 entries"},
        {MAP("'tensor': 'A', 'dims': [9, 8], 'box': [8, 8]"), AT_MAP ".strides", "not 18"},
        {MAP("'buffer': 's', 'box': [4, 1], 'dims': [40, 4]"), AT_MAP,
         "reaches byte 640 of 's', which has 480"},
        {MAP("'tensor': 'A', 'box': [64, 8], 'im2col': 1"), AT_MAP ".im2col", "not a known field"},
    };
    expect_rows(rows, COUNT_OF(rows), "sm_90a");
    static const struct row blackwell[] = {
        {MAP("'tensor': 'A', 'dims': [128, 8], 'box': [64, 8], 'dtype': 'u4_align16'"),
         AT_MAP ".box", "must be 128"},
        {MAP("'tensor': 'A', 'dims': [64, 8], 'box': [128, 8], 'dtype': 'u6_align16'"),
         AT_MAP ".dims", "multiple of 128"},
        {MAP("'tensor': 'A', 'dims': [33, 8], 'strides': [32], 'box': [32, 8], 'dtype': "
             "'u4_align8'"),
         AT_MAP ".dims", "multiple of 2"},
        {MAP("'tensor': 'A', 'dims': [128, 8], 'box': [128, 8], 'dtype': 'u6_align16', 'swizzle': "
             "'64B'"),
         AT_MAP ".swizzle", "supports"},
    };
    expect_rows(blackwell, COUNT_OF(blackwell), "sm_100a");
}

static void faults_are_collected_not_repeated(void **state)
{
    (void)state;
    struct faults faults = {0};
    assert_null(parse(
        "{'buffers': {'s': {'dtype': 'f33', 'shape': [8]}},"
        " 'tensor_maps': {'t': {'buffer': 's', 'box': [8]}},"
        " 'launches': [{'kernel': 'k', 'grid': [0], 'block': [2000], 'args': [{'buffer': 's'},"
        " {'tensor_map': 't'}, {'i32': 'Q'}]}]}",
        "sm_90a", &faults));
    /* dtype, grid, block, Q: what hangs on the broken buffer is not reported again */
    assert_int_equal(json_array_size(faults.items), 4);
    faults_release(&faults);
}

static void embedded(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        bool found;
        const char *fault;
    } rows[] = {
        {"int x;", false, NULL},
        {"/*ptxbench-launch {\"launches\": []} */", true, NULL},
        {"x /* a */ // b\n/*ptxbench-launch\n{\"launches\": []}\n*/\nint y;", true, NULL},
        {"/*ptxbench-launch{\"a\": 1}*/", true, NULL},
        {"/*ptxbench-launcher {}*/", false, NULL},
        {"/* ptxbench-launch {}*/", false, NULL},
        {"// /*ptxbench-launch {}*/", false, NULL},
        {"const char *s = \"/*ptxbench-launch {}*/\";", false, NULL},
        {"char c = '\"'; /*ptxbench-launch {}*/ char d = '\\'';", true, NULL},
        {"int n = 1'000'000; /*ptxbench-launch {}*/", true, NULL},
        {"#error don't\n/*ptxbench-launch {}*/", true, NULL},
        {"/*ptxbench-launch {}", false, "is not closed"},
        {"/*ptxbench-launch", false, NULL},
        {"/*ptxbench-launch {}*/ /*ptxbench-launch {}*/", false, "two comments"},
        {"/*ptxbench-launch {}*/ /*ptxbench-launch {}", false, "two comments"},
        {"/*ptxbench-launch {,}*/", false, "not JSON"},
        {"/*ptxbench-launch */", false, "not JSON"},
        {"\"unclosed", false, NULL},
        {"\"\\", false, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault f = {.code = ERR_IO};
        size_t len = strlen(rows[i].source);
        char *exact = malloc(len); /* no NUL behind it */
        memcpy(exact, rows[i].source, len);
        json_t *plan = plan_embedded(exact, len, &f);
        free(exact);
        if (!plan != !rows[i].found || (f.code == ERR_NONE) != !rows[i].fault ||
            (rows[i].fault && !strstr(f.detail, rows[i].fault)))
            fail_msg("%s: found %d, '%s'", rows[i].source, plan != NULL, f.detail);
        json_decref(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_plan),       cmocka_unit_test(structs_are_laid_out_as_in_c),
        cmocka_unit_test(maps_reinterpret),   cmocka_unit_test(bad_shapes_of_the_document),
        cmocka_unit_test(bad_launches),       cmocka_unit_test(bad_arguments),
        cmocka_unit_test(too_many_arguments), cmocka_unit_test(bad_buffers),
        cmocka_unit_test(bad_maps),           cmocka_unit_test(faults_are_collected_not_repeated),
        cmocka_unit_test(embedded),
    };
    return cmocka_run_group_tests_name("plan", tests, registry_setup, registry_teardown);
}
