/* SPDX-License-Identifier: Apache-2.0
 * cp.async.bulk.tensor: boxes of a tensor of one to five dimensions to shared memory and back, tile
 * mode. A box lies densely in shared memory, row by row of the innermost dimension, and the swizzle
 * is a function of the address. What is outside the tensor reads as zeros (or NaNs), is not
 * written, and counts as transferred. */
#include "evaluator/ptxvm/async.h"

#include <string.h>

#include "evaluator/ptxvm/lanes.h"
#include "evaluator/ptxvm/mbarrier.h"
#include "evaluator/ptxvm/reduce.h"
#include "evaluator/ptxvm/swizzle.h"
#include "evaluator/ptxvm/tensor_map.h"

enum { LINE = 256 * 8, CHUNK = 16, SHARED_ALIGN = 128 };
enum direction { TMA_LOAD, TMA_STORE };
enum { AUX_DIRECTION = 1, AUX_MULTICAST = 2, AUX_RANK = 4, AUX_RANK_MASK = 7, AUX_REDUCE = 8 };
enum { DATA_TYPE_TF32 = 11 /* CUtensorMapDataType: this and its flushing sister are the last */ };

/* One transfer of one lane. */
struct transfer {
    struct warp *w;
    const struct op *op;
    int lane;
    struct tensor_map map;
    int64_t at[TENSOR_MAP_RANK];     /* first element */
    uint32_t count[TENSOR_MAP_RANK]; /* elements of the box */
    uint32_t line_bytes, lines;
    uint32_t pitch; /* bytes from line to line in shared memory */
    uint64_t shared;
    enum reduce_kind reduce; /* of a store */
    enum ptx_type type;      /* of its elements */
};

/* ---- a line: the innermost dimension ---- */

/* Simulated address of element 0 of line `line`, which may be far outside. False: no element of the
 * line is in the tensor. */
static bool line_address(const struct transfer *t, uint32_t line, uint64_t *address)
{
    *address = t->map.address;
    for (int i = 1; i < t->map.rank; i++) {
        int64_t x = t->at[i] + (int64_t)(line % t->count[i]) * t->map.element_strides[i];
        line /= t->count[i];
        if (x < 0 || (uint64_t)x >= t->map.dims[i])
            return false;
        *address += (uint64_t)x * t->map.strides[i - 1];
    }
    return true;
}

/* Elements [first, end) of a line are in the tensor. */
static void line_range(const struct transfer *t, uint32_t *first, uint32_t *end)
{
    int64_t lo = t->at[0] < 0 ? -t->at[0] : 0, hi = (int64_t)t->map.dims[0] - t->at[0];
    *end = hi < 0 ? 0 : hi < t->count[0] ? (uint32_t)hi : t->count[0];
    *first = lo < *end ? (uint32_t)lo : *end;
}

/* Copies the part of a line that is in the tensor. */
static bool move_line(const struct transfer *t, uint32_t line, unsigned char *bytes,
                      enum access mode)
{
    uint32_t first, end, size = t->map.element_bytes;
    uint64_t address;
    line_range(t, &first, &end);
    if (!line_address(t, line, &address) || first >= end)
        return true;
    uint32_t n = (end - first) * size;
    address += (uint64_t)(t->at[0] + (int64_t)first) * size;
    unsigned char *host = access_global(t->w, t->op, t->lane, address, n, size, mode);
    if (!host)
        return false;
    bytes += first * size;
    if (mode == ACCESS_READ)
        memcpy(bytes, host, n);
    else if (t->reduce)
        reduce_apply(t->reduce, t->type, host, bytes, n);
    else
        memcpy(host, bytes, n);
    return true;
}

static void fill_line(const struct transfer *t, unsigned char *bytes)
{
    static const unsigned char nan[2] = {0xf7, 0x7f}; /* of any type, as measured on an H200 */
    for (uint32_t i = 0; i < t->line_bytes; i++)
        bytes[i] = t->map.oob_fill ? nan[i % 2] : 0;
}

/* Copies a line between `bytes` and shared memory. */
static bool swizzle_line(const struct transfer *t, uint64_t shared, uint32_t line,
                         unsigned char *bytes, enum access mode)
{
    for (uint32_t i = 0; i < t->line_bytes; i += CHUNK) {
        uint64_t address = shared + line * t->pitch + i;
        address = swizzle_apply((uint32_t)address, (enum swizzle)t->map.swizzle, 0);
        unsigned char *host = access_shared(t->w, t->op, t->lane, address, CHUNK, CHUNK, mode);
        if (!host)
            return false;
        if (mode == ACCESS_READ)
            memcpy(bytes + i, host, CHUNK);
        else
            memcpy(host, bytes + i, CHUNK);
    }
    return true;
}

/* ---- transfers ---- */

static bool bad(const struct transfer *t, const char *what)
{
    stop_at(t->w, t->op, t->lane, PTXVM_FAULT, PTXVM_BAD_OPERAND, "tensor copy: %s", what);
    return false;
}

/* The kind of reduction, for the elements of the map. */
static bool begin_reduce(struct transfer *t)
{
    /* In the order of CUtensorMapDataType. */
    static const enum ptx_type types[] = {
        PTX_TYPE_u8,  PTX_TYPE_u16, PTX_TYPE_u32, PTX_TYPE_s32, PTX_TYPE_u64,
        PTX_TYPE_s64, PTX_TYPE_f16, PTX_TYPE_f32, PTX_TYPE_f64, PTX_TYPE_bf16,
        PTX_TYPE_f32, PTX_TYPE_f32, PTX_TYPE_f32,
    };
    t->reduce = (enum reduce_kind)(t->op->aux >> AUX_REDUCE);
    if (!t->reduce)
        return true;
    if (t->map.data_type >= sizeof types / sizeof types[0])
        return false;
    t->type = types[t->map.data_type];
    return reduce_allowed(t->reduce, t->type) && ptx_type_bits(t->type) / 8 == t->map.element_bytes;
}

/* What an H200 answers with an illegal instruction. */
static bool check_place(const struct transfer *t)
{
    if (t->at[0] * t->map.element_bytes % CHUNK)
        return bad(t, "the innermost coordinate is not at a multiple of 16 bytes");
    for (int i = 0; i < t->map.rank; i++)
        if ((t->op->aux & AUX_DIRECTION) == TMA_STORE && t->at[i] < 0)
            return bad(t, "a store at a negative coordinate");
    return true;
}

static bool begin(struct transfer *t)
{
    const char *why = "";
    char text[PTXVM_TEXT];
    uint64_t address = async_lane(t->w, t->op->a, t->lane);
    const unsigned char *bytes = access_global(t->w, t->op, t->lane, address, TENSOR_MAP_BYTES,
                                               TENSOR_MAP_ALIGN, ACCESS_READ);
    if (!bytes)
        return false;
    enum tensor_map_use use = tensor_map_decode(bytes, &t->map, &why);
    if (use == TENSOR_MAP_NOT_EXECUTED) {
        stop_at(t->w, t->op, t->lane, PTXVM_UNSUPPORTED, PTXVM_KIND_NONE,
                "the tensor map %s, which this device does not execute", why);
        return false;
    }
    if (use == TENSOR_MAP_BAD) {
        snprintf(text, sizeof text, "what is at 0x%llx %s", (unsigned long long)address, why);
        return bad(t, text);
    }
    if (t->map.rank != (t->op->aux >> AUX_RANK & AUX_RANK_MASK))
        return bad(t, "the tensor map has another number of dimensions");
    if (!begin_reduce(t))
        return bad(t, "the elements of the map cannot be reduced like that");
    uint64_t lines = 1;
    for (int i = 0; i < t->map.rank; i++) {
        uint32_t step = i ? t->map.element_strides[i] : 1; /* the first one is ignored */
        t->at[i] = ((const int32_t *)vm_row(t->w, t->op->list[i]))[t->lane];
        t->count[i] = (tensor_map_box(&t->map, i) + step - 1) / step;
        lines *= i ? t->count[i] : 1;
    }
    t->line_bytes = t->count[0] * t->map.element_bytes;
    t->pitch = t->map.swizzle ? (uint32_t)CHUNK << t->map.swizzle : t->line_bytes;
    if (t->line_bytes % CHUNK || t->line_bytes > t->pitch || lines * t->pitch > VM_SHARED_MAX)
        return bad(t, "the box does not fit");
    if (!check_place(t))
        return false;
    t->lines = (uint32_t)lines;
    t->shared = async_shared(async_lane(t->w, t->op->b, t->lane));
    return access_shared(t->w, t->op, t->lane, t->shared, CHUNK, SHARED_ALIGN, ACCESS_READ) != NULL;
}

/* Elements of a tf32 map arrive rounded (to nearest even; a NaN as its canonical one), so measured
 * on an H200. */
static void round_tf32(const struct transfer *t, unsigned char *line)
{
    if (t->map.data_type < DATA_TYPE_TF32)
        return;
    for (uint32_t i = 0; i < t->line_bytes; i += 4) {
        uint32_t v;
        memcpy(&v, line + i, 4);
        if (v == 0x7ff77ff7) /* outside of the tensor */
            continue;
        bool finite = (v & 0x7f800000) != 0x7f800000, nan = !finite && (v & 0x7fffff);
        v = nan ? 0x7fffe000 : finite ? (v + 0xfff + (v >> 13 & 1)) & 0xffffe000 : v;
        memcpy(line + i, &v, 4);
    }
}

/* Into the CTAs of `mask`; 0: where the address says. */
static bool load(const struct transfer *t, uint32_t mask)
{
    unsigned char bytes[LINE];
    uint32_t last = mask ? 32 - (uint32_t)__builtin_clz(mask) : 1;
    for (uint32_t line = 0; line < t->lines; line++) {
        fill_line(t, bytes);
        if (!move_line(t, line, bytes, ACCESS_READ))
            return false;
        round_tf32(t, bytes);
        for (uint32_t rank = 0; rank < last; rank++) {
            uint64_t to = mask ? async_peer(t->shared, rank) : t->shared;
            if ((!mask || mask >> rank & 1) && !swizzle_line(t, to, line, bytes, ACCESS_WRITE))
                return false;
        }
    }
    uint64_t barrier = async_shared(async_lane(t->w, t->op->c, t->lane));
    struct mbarrier_change done = {.tx = -(int64_t)t->lines * t->line_bytes};
    for (uint32_t rank = 0; rank < last; rank++)
        if ((!mask || mask >> rank & 1) &&
            !mbarrier_apply(t->w, t->op, t->lane, mask ? async_peer(barrier, rank) : barrier, done,
                            NULL))
            return false;
    return true;
}

static bool store(const struct transfer *t)
{
    unsigned char bytes[LINE];
    for (uint32_t line = 0; line < t->lines; line++)
        if (!swizzle_line(t, t->shared, line, bytes, ACCESS_READ) ||
            !move_line(t, line, bytes, ACCESS_WRITE))
            return false;
    return true;
}

/* a: tensor map, b: shared memory, c: mbarrier of a load, list: coordinates, then the mask of CTAs.
 */
HANDLER(tma)
{
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        struct transfer t = {.w = w, .op = op, .lane = i};
        if (!begin(&t))
            return NULL;
        uint32_t mask = 0;
        if (op->aux & AUX_MULTICAST)
            mask = ((const uint32_t *)vm_row(w, op->list[t.map.rank]))[i] & 0xffff;
        bool ok = (op->aux & AUX_DIRECTION) == TMA_STORE ? store(&t)
                  : op->aux & AUX_MULTICAST && !mask     ? true
                                                         : load(&t, mask);
        if (!ok)
            return NULL;
    }
    return op + 1;
}

/* ---- decoding ---- */

static uint32_t rank_of(const struct decoder *d)
{
    static const enum ptx_word words[] = {PTX_WORD_1d, PTX_WORD_2d, PTX_WORD_3d, PTX_WORD_4d,
                                          PTX_WORD_5d};
    for (uint32_t i = 0; i < TENSOR_MAP_RANK; i++)
        if (form_has(d, words[i]))
            return i + 1;
    return 0;
}

static bool is_tile(const struct decoder *d)
{
    static const enum ptx_word others[] = {PTX_WORD_im2col,         PTX_WORD_im2col__w,
                                           PTX_WORD_im2col__w__128, PTX_WORD_im2col_no_offs,
                                           PTX_WORD_tile__gather4,  PTX_WORD_tile__scatter4};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (form_has(d, others[i]))
            return false;
    return true;
}

/* The list of the op: coordinates of the [map, {…}] operand, then the mask. */
static bool decode_coordinates(struct decoder *d, const struct ptx_operand *o, uint32_t rank,
                               uint32_t refs[TENSOR_MAP_RANK])
{
    uint32_t count = 0, coordinates = 0;
    const struct ptx_operand *parts = decode_elements(d, o, &count);
    if (o->kind != PTX_OPERAND_ADDRESS || count < 2)
        return decode_error(d, "operand has no coordinates");
    const struct ptx_operand *e = decode_elements(d, &parts[1], &coordinates);
    if (coordinates != rank)
        return decode_error(d, "%u coordinates of %u", coordinates, rank);
    for (uint32_t i = 0; i < rank; i++)
        if (!(refs[i] = decode_source(d, &e[i], PTX_TYPE_s32)))
            return false;
    return true;
}

static bool decode_tma(struct decoder *d, const struct row *row)
{
    bool stores = form_has(d, PTX_WORD_bulk_group), multicast;
    uint32_t rank = rank_of(d), refs[TENSOR_MAP_RANK], n = d->instr->operand_count;
    multicast = form_has(d, PTX_WORD_multicast__cluster);
    if (!is_tile(d))
        return decode_emit(d, run_unsupported) != NULL;
    if (!rank || n < (stores ? 2u : multicast ? 4u : 3u))
        return decode_error(d, "operands do not fit");
    const struct ptx_operand *map = &d->operands[stores ? 0 : 1];
    const struct ptx_operand *shared = &d->operands[stores ? 1 : 0];
    uint32_t a = async_decode_address(d, map), b = a ? async_decode_address(d, shared) : REF_NONE;
    uint32_t c = stores || !b ? b : async_decode_address(d, &d->operands[2]);
    if (!c || !decode_coordinates(d, map, rank, refs))
        return false;
    uint32_t mask = multicast ? decode_source(d, &d->operands[3], PTX_TYPE_u16) : REF_NONE;
    struct op *op = decode_emit(d, row->run);
    if (!op || (multicast && !mask))
        return false;
    op->a = a, op->b = b, op->c = c;
    op->aux = row->aux ? (uint32_t)reduce_kind_of(d->form) << AUX_REDUCE : 0;
    op->aux |= rank << AUX_RANK | (stores ? TMA_STORE : TMA_LOAD) | (multicast ? AUX_MULTICAST : 0);
    for (uint32_t i = 0; i < rank; i++)
        if (!decode_list(d, refs[i], false))
            return false;
    return !multicast || decode_list(d, mask, false);
}

const struct row rows_tma[] = {
    {"cp.async.bulk.tensor", NULL, tma, decode_tma, 0},
    {"cp.reduce.async.bulk.tensor", NULL, tma, decode_tma, 1},
    ROWS_END,
};
