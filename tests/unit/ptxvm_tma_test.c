/* SPDX-License-Identifier: Apache-2.0
 * Tensor copies against a model that knows only the manual's text: boxes of one to five dimensions,
 * edges, swizzles, strides of elements, both directions; bulk copies; mbarrier phases; clusters. */
#include "tests/unit/ptxvm_kit.h"

#include "core/buf.h"
#include "evaluator/ptxvm/tensor_map.h"

enum { SHARED = 96 * 1024, POISON = 0xff };

/* ---- one copy ---- */

struct trial {
    int rank, element_bytes, swizzle /* CUtensorMapSwizzle */, oob_fill;
    uint64_t dims[5];
    uint32_t box[5], steps[5];
    int32_t at[5];
    int data_type; /* CUtensorMapDataType; what it is matters to reductions only */
};

static size_t tensor_bytes(const struct trial *t)
{
    size_t n = (size_t)t->element_bytes;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

static void make_map(const struct trial *t, uint64_t base, unsigned char out[128])
{
    struct plan_tensor_map m = {.rank = t->rank,
                                .data_type = t->data_type,
                                .element_bits = t->element_bytes * 8,
                                .swizzle = t->swizzle,
                                .oob_fill = t->oob_fill};
    uint64_t stride = (uint64_t)t->element_bytes;
    for (int i = 0; i < t->rank; i++) {
        m.dims[i] = t->dims[i];
        m.box[i] = t->box[i];
        m.element_strides[i] = t->steps[i] ? t->steps[i] : 1;
        m.strides[i] = i ? stride : 0;
        stride *= t->dims[i];
    }
    tensor_map_encode(&m, base, out);
}

/* The first step is ignored, as the manual says. */
static uint32_t step_of(const struct trial *t, int i)
{
    return i && t->steps[i] ? t->steps[i] : 1;
}

static uint32_t box_count(const struct trial *t, int i)
{
    return (t->box[i] + step_of(t, i) - 1) / step_of(t, i);
}

static uint32_t box_elements(const struct trial *t)
{
    uint32_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= box_count(t, i);
    return n;
}

/* Byte offset in the tensor of the box's element number n, or -1: outside. */
static int64_t source_of(const struct trial *t, uint32_t n)
{
    int64_t offset = 0, stride = t->element_bytes;
    for (int i = 0; i < t->rank; i++) {
        int64_t x = t->at[i] + (int64_t)(n % box_count(t, i)) * step_of(t, i);
        n /= box_count(t, i);
        if (x < 0 || x >= (int64_t)t->dims[i])
            return -1;
        offset += x * stride;
        stride *= (int64_t)t->dims[i];
    }
    return offset;
}

/* Where byte `i` of the box's element number n lies: rows of the swizzle's width, if any; 16-byte
 * chunk number xor line of 128 bytes. */
static uint32_t place_of(const struct trial *t, uint32_t n, uint32_t i)
{
    uint32_t row = box_count(t, 0), es = (uint32_t)t->element_bytes;
    uint32_t pitch = t->swizzle ? 16u << t->swizzle : row * es;
    uint32_t linear = n / row * pitch + n % row * es + i, chunk = linear / 16, line = linear / 128;
    return (chunk ^ line % (1u << t->swizzle)) * 16 + linear % 16;
}

static void coordinates(struct buf *b, const struct trial *t)
{
    for (int i = 0; i < t->rank; i++)
        buf_addf(b, "%s%d", i ? ", " : "{", (int)t->at[i]);
    buf_adds(b, "}");
}

#define BEGIN                                                                                      \
    KIT_HEAD ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 image) {\n"             \
             ".reg .b32 %i, %v, %w, %n, %b, %m;\n.reg .b64 o, x, %map;\n.reg .pred p, done;\n"     \
             ".shared .align 1024 .b8 s[98304];\n.shared .align 8 .b64 bar;\n"                     \
             "mov.u32 %m, bar;\nmov.b64 %map, map;\ncvta.param.u64 %map, %map;\n"                  \
             "ld.param.u64 x, [image];\nmov.u32 %i, %tid.x;\nsetp.ne.u32 p, %i, 0;\n"              \
             "mov.u32 %n, %i;\n"
/* Moves the whole image between global and shared memory, 32 threads a word each. */
#define IMAGE(name, load, store)                                                                   \
    "shl.b32 %n, %i, 2;\n" name ": mov.u32 %w, s;\nadd.u32 %w, %w, %n;\ncvt.u64.u32 o, %n;\n"      \
    "add.u64 o, o, x;\n" load store "add.u32 %n, %n, 128;\nsetp.lt.u32 done, %n, 98304;\n"         \
    "@done bra " name ";\nbar.sync 0;\n"
#define IN IMAGE("in", "ld.global.u32 %v, [o];\n", "st.shared.u32 [%w], %v;\n")
#define OUT IMAGE("out", "ld.shared.u32 %v, [%w];\n", "st.global.u32 [o], %v;\n")
#define WAIT "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%m], 0;\n@!done bra again;\n"

static char *kernel(const struct trial *t, bool stores)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_adds(&b, BEGIN IN);
    if (stores) {
        buf_addf(&b, "@p bra end;\ncp.async.bulk.tensor.%dd.global.shared::cta.bulk_group [%%map, ",
                 t->rank);
        coordinates(&b, t);
        buf_adds(&b, "], [s];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
                     "end: ret;\n}\n");
    } else {
        buf_addf(
            &b,
            "@p bra wait;\nmbarrier.init.shared::cta.b64 [%%m], 1;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%m], %u;\n"
            "cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes [s], "
            "[%%map, ",
            box_elements(t) * (uint32_t)t->element_bytes, t->rank);
        coordinates(&b, t);
        buf_adds(&b, "], [bar];\nwait: bar.sync 0;\n" WAIT OUT "ret;\n}\n");
    }
    char *text = buf_take(&b, NULL);
    buf_release(&b);
    return text;
}

static void launch(struct kit *k, const unsigned char map[128], uint64_t image)
{
    unsigned char params[136];
    memcpy(params, map, 128);
    memcpy(params + 128, &image, 8);
    struct ptxvm_launch l = {.symbol = "k",
                             .grid = {1, 1, 1},
                             .block = {32, 1, 1},
                             .params = params,
                             .param_bytes = sizeof params};
    ptxvm_launch(k->vm, &l, &k->result);
}

static void try_one(const struct trial *t, bool stores)
{
    size_t bytes = tensor_bytes(t);
    unsigned char *tensor = malloc(bytes), *want = malloc(bytes), *image = malloc(SHARED), map[128];
    unsigned char *shown = malloc(SHARED);
    for (size_t i = 0; i < bytes; i++)
        tensor[i] = want[i] = (unsigned char)(i * 7 + i / 251);
    for (size_t i = 0; i < SHARED; i++)
        image[i] = shown[i] = (unsigned char)(i * 11 + i / 241);
    for (uint32_t n = 0, es = (uint32_t)t->element_bytes; n < box_elements(t); n++)
        for (uint32_t i = 0; i < es; i++) {
            uint32_t to = place_of(t, n, i);
            int64_t from = source_of(t, n);
            unsigned char outside = !t->oob_fill ? 0 : i % 2 ? 0x7f : 0xf7;
            if (stores && from >= 0)
                want[from + i] = shown[to];
            else if (!stores)
                shown[to] = from < 0 ? outside : tensor[from + i];
        }
    char *ptx = kernel(t, stores);
    struct kit k;
    kit_open(&k, ptx, NULL);
    uint64_t a =
        ptxvm_alloc(k.vm, "tensor", bytes, 256, stores ? PTXVM_READ_WRITE : PTXVM_READ_ONLY);
    uint64_t b = ptxvm_alloc(k.vm, "image", SHARED, 256, PTXVM_READ_WRITE);
    assert_true(ptxvm_write(k.vm, a, tensor, bytes) && ptxvm_write(k.vm, b, image, SHARED));
    make_map(t, a, map);
    launch(&k, map, b);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, a, tensor, bytes) && ptxvm_read(k.vm, b, image, SHARED));
    assert_memory_equal(tensor, want, bytes);
    assert_memory_equal(image, shown, SHARED);
    kit_close(&k);
    free(ptx);
    free(tensor), free(want), free(image), free(shown);
}

static const struct trial trials[] = {
    {1, 4, 0, 0, {100}, {64}, {0}, {52}, 0},
    {2, 2, 3, 0, {96, 50}, {64, 40}, {0}, {32, 20}, 0},
    {2, 2, 2, 1, {96, 50}, {32, 64}, {0}, {-8, -3}, 0},
    {2, 4, 1, 0, {40, 9}, {8, 16}, {0}, {36, -4}, 0},
    {2, 2, 3, 0, {96, 50}, {32, 16}, {0}, {8, 4}, 0}, /* narrower than the swizzle */
    {3, 4, 2, 0, {96, 50, 4}, {8, 5, 3}, {0}, {8, 4, 0}, 0},
    {2, 2, 1, 0, {96, 50}, {8, 16}, {0}, {8, 4}, 0},
    {2, 1, 3, 0, {320, 70}, {128, 64}, {0}, {208, 1}, 0},
    {3, 8, 0, 1, {10, 7, 5}, {4, 3, 2}, {0}, {8, 5, 4}, 0},
    {4, 2, 3, 0, {64, 6, 5, 4}, {64, 4, 3, 2}, {0}, {0, 4, -1, 3}, 0},
    {5, 2, 2, 0, {32, 4, 3, 3, 3}, {32, 2, 2, 2, 2}, {0}, {8, 1, 2, 0, 2}, 0},
    {2, 2, 0, 0, {200, 60}, {128, 32}, {2, 3}, {-8, 40}, 0},
    {2, 4, 0, 0, {64, 64}, {32, 8}, {0}, {1000, 1000}, 0},
};

static void boxes_come_and_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        bool negative = false;
        for (int d = 0; d < trials[i].rank; d++)
            negative |= trials[i].at[d] < 0;
        try_one(&trials[i], false);
        if (!negative) /* the hardware refuses */
            try_one(&trials[i], true);
    }
}

static void refuse(const char *ptx, const unsigned char map[128], enum ptxvm_status status,
                   const char *text)
{
    struct kit k;
    kit_open(&k, ptx, NULL);
    launch(&k, map, 0);
    kit_expect(&k, status);
    if (!strstr(k.result.fault.detail, text))
        fail_msg("'%s' is not in '%s'", text, k.result.fault.detail);
    kit_close(&k);
}

#define ONE "@p bra end;\nmbarrier.init.shared::cta.b64 [%m], 1;\n"
#define COPY(kind, coords)                                                                         \
    BEGIN ONE "cp.async.bulk.tensor." kind ".mbarrier::complete_tx::bytes [s], [%map, " coords     \
              "], [%m];\nend: ret;\n}\n"

static void misuse_is_reported(void **state)
{
    (void)state;
    unsigned char map[128] = {0};
    refuse(COPY("2d.shared::cluster.global", "{0, 0}"), map, PTXVM_FAULT, "no tensor map");
    make_map(&trials[1], 0x4000000000, map);
    assert_true(tensor_map_replace(map, TENSOR_MAP_INTERLEAVE, 0, 1));
    refuse(COPY("2d.shared::cluster.global", "{0, 0}"), map, PTXVM_UNSUPPORTED, "is interleaved");
    make_map(&trials[1], 0x4000000000, map);
    refuse(COPY("2d.shared::cluster.global", "{0, 0}"), map, PTXVM_FAULT, "out-of-bounds");
    refuse(COPY("1d.shared::cluster.global", "{0}"), map, PTXVM_FAULT, "dimensions");
    refuse(COPY("2d.shared::cluster.global", "{4, 0}"), map, PTXVM_FAULT, "16 bytes");
    refuse(BEGIN
           "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {0, -1}], [s];\nret;\n}\n",
           map, PTXVM_FAULT, "negative");
    refuse(COPY("4d.shared::cluster.global.im2col", "{0, 0, 0, 0}"), map, PTXVM_UNSUPPORTED,
           "im2col");
    refuse(BEGIN "mbarrier.init.shared::cta.b64 [%m], 33;\nbar.warp.sync -1;\n"
                 "mbarrier.arrive.shared::cta.b64 _, [%m];\n" WAIT "ret;\n}\n",
           map, PTXVM_DEADLOCK, "mbarrier at 0x");
    refuse(BEGIN "mbarrier.arrive.shared::cta.b64 _, [%m];\nret;\n}\n", map, PTXVM_FAULT,
           "no mbarrier");
}

/* ---- mbarrier ---- */

static void phases_follow_arrivals(void **state)
{
    (void)state;
    uint32_t out[64] = {0};
    /* Warp 1 waits; warp 0 arrives twice a phase, three phases, and counts. */
    kit_words(
        KIT_HEAD
        ".visible .entry k(.param .u64 out) {\n.reg .b32 t, v, m, n, par;\n.reg .b64 o, x, st;\n"
        ".reg .pred p, q;\n.shared .align 8 .b64 bar;\n.shared .b32 value;\nmov.u32 m, bar;\n"
        "ld.param.u64 x, [out];\nmov.u32 t, %tid.x;\nmul.wide.u32 o, t, 4;\nadd.u64 x, x, o;\n"
        "setp.eq.u32 p, t, 0;\n@p mbarrier.init.shared::cta.b64 [m], 33;\nbar.sync 0;\n"
        "mov.u32 n, 0;\nmov.u32 v, 0;\nsetp.ge.u32 q, t, 32;\n@q bra consume;\n"
        "produce: add.u32 v, n, 10;\n@p st.shared.u32 [value], v;\nbar.warp.sync -1;\n"
        "mbarrier.arrive.shared::cta.b64 st, [m];\n@p mbarrier.arrive.shared::cta.b64 st, [m], 1;\n"
        "bar.sync 1, 64;\nadd.u32 n, n, 1;\nsetp.lt.u32 q, n, 3;\n@q bra produce;\nbra end;\n"
        "consume: and.b32 par, n, 1;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 q, [m], par, 1000;\n@!q bra again;\n"
        "ld.shared.u32 t, [value];\nadd.u32 v, v, t;\nbar.sync 1, 64;\nadd.u32 n, n, 1;\n"
        "setp.lt.u32 q, n, 3;\n@q bra consume;\n"
        "end: st.global.u32 [x], v;\nret;\n}\n",
        1, 64, out, 64);
    for (int i = 32; i < 64; i++)
        assert_int_equal(out[i], 10 + 11 + 12);
}

/* ---- clusters ---- */

static enum ptxvm_status run_cluster(struct kit *k, const char *ptx, uint32_t ctas, uint32_t size,
                                     uint32_t *out, size_t words)
{
    kit_open(k, ptx, NULL);
    uint64_t p = ptxvm_alloc(k->vm, "out", words * 4, 4, PTXVM_READ_WRITE);
    struct ptxvm_launch l = {.symbol = "k",
                             .grid = {ctas, 1, 1},
                             .block = {32, 1, 1},
                             .cluster = {size, 1, 1},
                             .params = &p,
                             .param_bytes = 8};
    ptxvm_launch(k->vm, &l, &k->result);
    ptxvm_read(k->vm, p, out, words * 4);
    return k->result.status;
}

static void clusters_share_memory(void **state)
{
    (void)state;
    uint32_t out[8] = {0};
    struct kit k;
    /* Each CTA adds its number to a word of the next in its cluster and of rank 0, by three ways.
     */
    run_cluster(&k,
                KIT_HEAD
                ".visible .entry k(.param .u64 out) {\n.reg .b32 r, n, a, b, c, v;\n"
                ".reg .b64 x, o, g;\n.reg .pred p;\n.shared .b32 word;\n.shared .b32 sum;\n"
                "mov.u32 v, %tid.x;\nsetp.ne.u32 p, v, 0;\nld.param.u64 x, [out];\n"
                "mov.u32 r, %cluster_ctarank;\nmov.u32 n, %cluster_nctarank;\n"
                "mov.u32 c, %ctaid.x;\n@p bra go;\nmov.u32 v, 0;\nst.shared.u32 [sum], v;\n"
                "go: barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n"
                "@p bra next;\nadd.u32 a, r, 1;\nrem.u32 a, a, n;\nmov.u32 b, word;\n"
                "mapa.shared::cluster.u32 b, b, a;\nadd.u32 v, c, 100;\n"
                "st.shared::cluster.u32 [b], v;\nmov.u64 g, sum;\ncvta.shared.u64 g, g;\n"
                "mapa.u64 g, g, 0;\natom.add.u32 v, [g], 1;\ngetctarank.u64 a, g;\n"
                "add.u32 c, c, a;\nnext: barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                "@p exit;\nld.shared.u32 v, [word];\nmov.u32 b, sum;\n"
                "mapa.shared::cluster.u32 b, b, 0;\nld.shared::cluster.u32 a, [b];\n"
                "mad.lo.u32 v, a, 1000, v;\nmul.wide.u32 o, c, 4;\nadd.u64 x, x, o;\n"
                "st.global.u32 [x], v;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n",
                8, 4, out, 8);
    kit_expect(&k, PTXVM_OK);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(out[i], 4000 + 100 + (i / 4 * 4 + (i + 3) % 4));
    kit_close(&k);
}

/* Rank 0 sends 128 bytes to both CTAs; each sends 64 of them on to the other, then adds all to a
 * sum in global memory. */
static void bulk_copies_reach_the_cluster(void **state)
{
    (void)state;
    uint32_t out[96] = {0};
    struct kit k;
    run_cluster(
        &k,
        KIT_HEAD
        ".global .align 128 .b32 text[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
        "14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};\n"
        ".visible .entry k(.param .u64 out) {\n.reg .b16 h;\n.reg .b32 t, r, v, w, a, b, c;\n"
        ".reg .b64 x, y, o, g;\n.reg .pred p, q, done;\n.shared .align 128 .b8 s[512];\n"
        ".shared .align 8 .b64 one;\n.shared .align 8 .b64 two;\nld.param.u64 x, [out];\n"
        "mov.u32 t, %tid.x;\nsetp.eq.u32 p, t, 0;\nmov.u32 r, %cluster_ctarank;\n"
        "@!p bra made;\nmbarrier.init.shared::cta.b64 [one], 1;\n"
        "mbarrier.init.shared::cta.b64 [two], 1;\nfence.mbarrier_init.release.cluster;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [one], 128;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [two], 64;\n"
        "made: barrier.cluster.arrive;\nbarrier.cluster.wait;\nsetp.ne.u32 q, r, 0;\n"
        "@q bra first;\n@!p bra first;\nmov.u64 g, text;\nmov.u16 h, 3;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [s], [g], 128, [one], h;\n"
        "first: mbarrier.try_wait.parity.shared::cta.b64 done, [one], 0;\n@!done bra first;\n"
        "@!p bra second;\nxor.b32 v, r, 1;\nmov.u32 a, s;\nadd.u32 b, a, 256;\n"
        "mapa.shared::cluster.u32 b, b, v;\nmov.u32 c, two;\n"
        "mapa.shared::cluster.u32 c, c, v;\nmad.lo.u32 a, r, 64, a;\n"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [b], [a], 64, "
        "[c];\nsecond: mbarrier.try_wait.parity.shared::cta.b64 done, [two], 0;\n"
        "@!done bra second;\nmov.u32 a, s;\nshl.b32 b, t, 2;\nadd.u32 a, a, b;\n"
        "ld.shared.u32 v, [a];\nmov.u32 w, 0;\nsetp.lt.u32 q, t, 16;\n"
        "@q ld.shared.u32 w, [a+256];\nshl.b32 w, w, 16;\nadd.u32 v, v, w;\n"
        "mad.lo.u32 b, r, 32, t;\nmul.wide.u32 o, b, 4;\nadd.u64 y, x, o;\n"
        "st.global.u32 [y], v;\n@!p bra end;\nadd.u64 x, x, 256;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [x], [s], 128;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
        "end: barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n",
        2, 2, out, 96);
    kit_expect(&k, PTXVM_OK);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t t = i % 32, peer = 1 - i / 32;
        assert_int_equal(out[i], t + 1 + (t < 16 ? (16 * peer + t + 1) << 16 : 0));
    }
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(out[64 + t], 2 * (t + 1));
    kit_close(&k);
}

/* Each thread stores a word in the other CTA and adds to another one there. */
static void stores_complete_on_barriers(void **state)
{
    (void)state;
    uint32_t out[64] = {0};
    struct kit k;
    run_cluster(
        &k,
        KIT_HEAD
        ".visible .entry k(.param .u64 out) {\n.reg .b32 t, r, v, w, a, b, c;\n.reg .b64 x, o;\n"
        ".reg .pred p, done;\n.shared .align 16 .b8 s[256];\n.shared .align 8 .b64 bar;\n"
        "ld.param.u64 x, [out];\nmov.u32 t, %tid.x;\nsetp.eq.u32 p, t, 0;\n"
        "mov.u32 r, %cluster_ctarank;\nmov.u32 v, 0;\n@p st.shared.u32 [s+128], v;\n"
        "@p mbarrier.init.shared::cta.b64 [bar], 1;\n"
        "@p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\nxor.b32 w, r, 1;\nmov.u32 a, s;\n"
        "mapa.shared::cluster.u32 a, a, w;\nmov.u32 c, bar;\nmapa.shared::cluster.u32 c, c, w;\n"
        "shl.b32 b, t, 2;\nadd.u32 b, b, a;\nmad.lo.u32 v, r, 1000, t;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [b], v, [c];\n"
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [a+128], "
        "t, "
        "[c];\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0;\n@!done bra again;\n"
        "mov.u32 a, s;\nshl.b32 b, t, 2;\nadd.u32 a, a, b;\nld.shared.u32 v, [a];\n"
        "ld.shared.u32 w, [s+128];\nshl.b32 w, w, 16;\nadd.u32 v, v, w;\nmad.lo.u32 b, r, 32, t;\n"
        "mul.wide.u32 o, b, 4;\nadd.u64 x, x, o;\nst.global.u32 [x], v;\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n",
        2, 2, out, 64);
    kit_expect(&k, PTXVM_OK);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], (1 - i / 32) * 1000 + i % 32 + (31 * 32 / 2 << 16));
    kit_close(&k);
}

/* The tensor's elements become the smaller of what they were and what the box says. */
static void boxes_reduce(void **state)
{
    (void)state;
    static const struct trial t = {2, 4, 3, 0, {48, 20}, {32, 16}, {0}, {24, 6}, 3 /* i32 */};
    enum { N = 48 * 20 };
    int32_t tensor[N], want[N], *image = calloc(SHARED, 1);
    for (int i = 0; i < N; i++)
        tensor[i] = want[i] = (i * 37 % 101 - 50) * 1000;
    for (int i = 0; i < 32 * 16; i++)
        image[i] = (i * 53 % 97 - 50) * 1000;
    for (uint32_t n = 0; n < box_elements(&t); n++) {
        int64_t at = source_of(&t, n);
        int32_t value = image[place_of(&t, n, 0) / 4];
        if (at >= 0 && value < want[at / 4])
            want[at / 4] = value;
    }
    struct kit k;
    unsigned char map[128];
    kit_open(&k,
             BEGIN IN "@p bra end;\ncp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile"
                      ".bulk_group [%map, {24, 6}], [s];\ncp.async.bulk.commit_group;\n"
                      "end: ret;\n}\n",
             NULL);
    uint64_t a = ptxvm_alloc(k.vm, "tensor", sizeof tensor, 256, PTXVM_READ_WRITE);
    uint64_t b = ptxvm_alloc(k.vm, "image", SHARED, 256, PTXVM_READ_WRITE);
    assert_true(ptxvm_write(k.vm, a, tensor, sizeof tensor) && ptxvm_write(k.vm, b, image, SHARED));
    make_map(&t, a, map);
    launch(&k, map, b);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, a, tensor, sizeof tensor));
    assert_memory_equal(tensor, want, sizeof want);
    kit_close(&k);
    free(image);
}

static void cluster_launches_are_checked(void **state)
{
    (void)state;
    uint32_t out[1];
    struct kit k;
    assert_int_equal(
        run_cluster(&k, KIT_HEAD ".visible .entry k(.param .u64 out) {\nret;\n}\n", 6, 4, out, 1),
        PTXVM_LAUNCH);
    kit_close(&k);
    assert_int_equal(
        run_cluster(&k, KIT_HEAD ".visible .entry k(.param .u64 out) {\nret;\n}\n", 32, 32, out, 1),
        PTXVM_LAUNCH);
    kit_close(&k);
    /* One CTA never comes to the barrier of the other's wait. */
    assert_int_equal(run_cluster(&k,
                                 KIT_HEAD
                                 ".visible .entry k(.param .u64 out) {\n.reg .b32 r;\n"
                                 ".reg .pred p;\nmov.u32 r, %cluster_ctarank;\n"
                                 "setp.eq.u32 p, r, 1;\n@p bra other;\nbarrier.cluster.arrive;\n"
                                 "barrier.cluster.wait;\nret;\nother: bar.sync 0, 64;\nret;\n}\n",
                                 2, 2, out, 1),
                     PTXVM_DEADLOCK);
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_come_and_go),
        cmocka_unit_test(misuse_is_reported),
        cmocka_unit_test(phases_follow_arrivals),
        cmocka_unit_test(boxes_reduce),
        cmocka_unit_test(clusters_share_memory),
        cmocka_unit_test(bulk_copies_reach_the_cluster),
        cmocka_unit_test(stores_complete_on_barriers),
        cmocka_unit_test(cluster_launches_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
