/* SPDX-License-Identifier: Apache-2.0
 * ld, ldu, st in every space, and hints that do nothing. Addresses of all lanes are resolved to
 * host pointers first; a row at consecutive or equal addresses costs one check.
 *
 * Plain accesses of lanes are relaxed atomics of the host, ordered ones (volatile, acquire, release
 * …) acquire and release: CTAs on other threads see what the program's order promises. */
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

#include "evaluator/ptxvm/address.h"

typedef unsigned char *resolve_fn(struct warp *w, const struct op *op, int lane, uint64_t address,
                                  uint32_t n, uint32_t align, enum access mode);

/* All lanes active and `stride` bytes apart? */
static bool is_strided(uint32_t exec, const uint64_t *at, uint64_t stride)
{
    uint64_t differs = ~exec;
    EACH_LANE differs |= at[i] ^ (at[0] + (uint64_t)i * stride);
    return differs == 0;
}

/* Memory that lanes may touch without being looked at one by one. */
struct span {
    uint64_t start, size;
    unsigned char *host;
};

/* The span around the address of the first active lane; size 0: none, or not writable. */
static struct span span_at(struct warp *w, const struct op *op, uint64_t address, uint32_t n,
                           enum access mode, resolve_fn *check)
{
    if (check == access_shared)
        return (struct span){VM_SHARED_START, w->cta->shared_bytes, w->cta->shared};
    const struct allocation *a = access_find(w, op, address, n);
    if (!a || (mode == ACCESS_WRITE && a->read_only))
        return (struct span){0};
    return (struct span){a->start, a->size, a->host};
}

/* Are n bytes of every active lane inside the span and aligned to n? Fills p for them. */
static bool all_inside(const struct span *s, uint32_t exec, const uint64_t *at, uint32_t n,
                       unsigned char **p)
{
    uint64_t last = s->size - n, bad = 0;
    if (s->size < n)
        return false;
    EACH_LANE
    {
        uint64_t offset = at[i] - s->start;
        uint64_t wrong = (uint64_t)(offset > last) | (at[i] & (n - 1));
        bad |= exec & lane_bit[i] ? wrong : 0;
        p[i] = (unsigned char *)((uintptr_t)s->host + (uintptr_t)offset);
    }
    return bad == 0;
}

/* Fills p for the lanes of exec. False: launch stopped. */
static bool resolve(struct warp *w, const struct op *op, uint32_t exec, const uint64_t *at,
                    uint32_t n, enum access mode, resolve_fn *check, unsigned char **p)
{
    struct span s = span_at(w, op, at[__builtin_ctz(exec)], n, mode, check);
    if (all_inside(&s, exec, at, n, p))
        return true;
    /* Several allocations, or a fault: lane by lane. */
    EACH_LANE if (ACTIVE(exec, i) && !(p[i] = check(w, op, i, at[i], n, n, mode))) return false;
    return true;
}

/* ---- one element of every lane ---- */

#define LOAD_AS(T, R, order)                                                                       \
    {                                                                                              \
        R *d = row;                                                                                \
        EACH_LANE if (ACTIVE(exec, i)) d[i] =                                                      \
            (R)__atomic_load_n((const T *)(const void *)(p[i] + offset), order);                   \
    }

/* Values of one element: `row` is its result, `offset` its place in the access. */
static void load_element(uint32_t aux, uint32_t exec, void *row, unsigned char *const *p,
                         uint32_t offset)
{
    switch (aux & (AUX_BYTES | AUX_ORDERED | AUX_SIGN)) {
    case 1:
        LOAD_AS(uint8_t, uint32_t, __ATOMIC_RELAXED) break;
    case 2:
        LOAD_AS(uint16_t, uint32_t, __ATOMIC_RELAXED) break;
    case 4:
        LOAD_AS(uint32_t, uint32_t, __ATOMIC_RELAXED) break;
    case 8:
        LOAD_AS(uint64_t, uint64_t, __ATOMIC_RELAXED) break;
    case 1 | AUX_ORDERED:
        LOAD_AS(uint8_t, uint32_t, __ATOMIC_ACQUIRE) break;
    case 2 | AUX_ORDERED:
        LOAD_AS(uint16_t, uint32_t, __ATOMIC_ACQUIRE) break;
    case 4 | AUX_ORDERED:
        LOAD_AS(uint32_t, uint32_t, __ATOMIC_ACQUIRE) break;
    case 8 | AUX_ORDERED:
        LOAD_AS(uint64_t, uint64_t, __ATOMIC_ACQUIRE) break;
    case 1 | AUX_SIGN:
    case 1 | AUX_SIGN | AUX_ORDERED:
        LOAD_AS(int8_t, int32_t, __ATOMIC_ACQUIRE) break;
    case 2 | AUX_SIGN:
    case 2 | AUX_SIGN | AUX_ORDERED:
        LOAD_AS(int16_t, int32_t, __ATOMIC_ACQUIRE) break;
    default:
        EACH_LANE if (ACTIVE(exec, i)) memcpy((char *)row + 16 * i, p[i] + offset, 16);
    }
    if (aux & AUX_SIGN16) {
        uint32_t *d = row;
        EACH_LANE if (ACTIVE(exec, i)) d[i] &= 0xffff;
    }
}

#define STORE_AS(T, R, order)                                                                      \
    {                                                                                              \
        const R *a = row;                                                                          \
        EACH_LANE if (ACTIVE(exec, i))                                                             \
            __atomic_store_n((T *)(void *)(p[i] + offset), (T)a[i], order);                        \
    }

static void store_element(uint32_t aux, uint32_t exec, const void *row, unsigned char *const *p,
                          uint32_t offset)
{
    switch (aux & (AUX_BYTES | AUX_ORDERED)) {
    case 1:
        STORE_AS(uint8_t, uint32_t, __ATOMIC_RELAXED) break;
    case 2:
        STORE_AS(uint16_t, uint32_t, __ATOMIC_RELAXED) break;
    case 4:
        STORE_AS(uint32_t, uint32_t, __ATOMIC_RELAXED) break;
    case 8:
        STORE_AS(uint64_t, uint64_t, __ATOMIC_RELAXED) break;
    case 1 | AUX_ORDERED:
        STORE_AS(uint8_t, uint32_t, __ATOMIC_RELEASE) break;
    case 2 | AUX_ORDERED:
        STORE_AS(uint16_t, uint32_t, __ATOMIC_RELEASE) break;
    case 4 | AUX_ORDERED:
        STORE_AS(uint32_t, uint32_t, __ATOMIC_RELEASE) break;
    case 8 | AUX_ORDERED:
        STORE_AS(uint64_t, uint64_t, __ATOMIC_RELEASE) break;
    default:
        EACH_LANE if (ACTIVE(exec, i)) memcpy(p[i] + offset, (const char *)row + 16 * i, 16);
    }
}

/* ---- flat memory: global and shared ---- */

/* Is this one element of every lane, side by side as in a row? */
static bool is_row(uint32_t aux, uint32_t exec, const uint64_t *at, unsigned char *const *p)
{
    uint32_t bytes = aux & AUX_BYTES;
    return bytes >= 4 && !(aux & AUX_ORDERED) && p[VM_LANES - 1] == p[0] + bytes * (VM_LANES - 1) &&
           is_strided(exec, at, bytes);
}

/* Ordered accesses of 16 bytes are whole ones, as atom.b128 is: under the same lock. */
static pthread_mutex_t *wide_lock(const struct warp *w, const struct op *op)
{
    bool wide = (op->aux & (AUX_BYTES | AUX_ORDERED)) == (16 | AUX_ORDERED);
    pthread_mutex_t *lock = wide ? &w->cta->run->vm->wide : NULL;
    if (lock)
        pthread_mutex_lock(lock);
    return lock;
}

static void wide_unlock(pthread_mutex_t *lock)
{
    if (lock)
        pthread_mutex_unlock(lock);
}

static bool load_flat(struct warp *w, const struct op *op, uint32_t exec, const uint64_t *at,
                      resolve_fn *check)
{
    unsigned char *p[VM_LANES];
    uint32_t bytes = op->aux & AUX_BYTES;
    if (!resolve(w, op, exec, at, bytes * op->defs, ACCESS_READ, check, p))
        return false;
    if (op->defs == 1 && is_row(op->aux, exec, at, p)) {
        memcpy(vm_row(w, op->list[0]), p[0], (size_t)bytes * VM_LANES);
        return true;
    }
    pthread_mutex_t *lock = wide_lock(w, op);
    for (uint32_t k = 0; k < op->defs; k++)
        load_element(op->aux, exec, vm_row(w, op->list[k]), p, k * bytes);
    wide_unlock(lock);
    return true;
}

static bool store_flat(struct warp *w, const struct op *op, uint32_t exec, const uint64_t *at,
                       resolve_fn *check)
{
    unsigned char *p[VM_LANES];
    uint32_t bytes = op->aux & AUX_BYTES;
    if (!resolve(w, op, exec, at, bytes * op->uses, ACCESS_WRITE, check, p))
        return false;
    if (op->uses == 1 && is_row(op->aux, exec, at, p)) {
        memcpy(p[0], vm_row(w, op->list[0]), (size_t)bytes * VM_LANES);
        return true;
    }
    pthread_mutex_t *lock = wide_lock(w, op);
    for (uint32_t k = 0; k < op->uses; k++)
        store_element(op->aux, exec, vm_row(w, op->list[k]), p, k * bytes);
    wide_unlock(lock);
    return true;
}

/* ---- local memory: words of the lanes interleaved ---- */

/* Copies `bytes` (1, 2, or a multiple of 4) between a lane's local memory and a row entry. */
static void local_copy(struct warp *w, int lane, uint64_t address, void *value, uint32_t bytes,
                       enum access mode)
{
    for (uint32_t done = 0; done < bytes; done += 4) {
        uint32_t step = bytes < 4 ? bytes : 4;
        char *word = (char *)local_word(w, lane, address + done) + (address & 3);
        if (mode == ACCESS_READ)
            memcpy((char *)value + done, word, step);
        else
            memcpy(word, (const char *)value + done, step);
    }
}

static uint32_t extend(uint32_t value, uint32_t aux)
{
    if (aux & AUX_SIGN)
        value = (aux & AUX_BYTES) == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
    return aux & AUX_SIGN16 ? value & 0xffff : value;
}

static bool access_all_local(struct warp *w, const struct op *op, uint32_t exec, const uint64_t *at,
                             enum access mode)
{
    uint32_t bytes = op->aux & AUX_BYTES, count = mode == ACCESS_READ ? op->defs : op->uses;
    uint32_t width = bytes < 4 ? 4 : bytes;
    EACH_LANE if (ACTIVE(exec, i) &&
                  !access_local(w, op, i, at[i], bytes * count, bytes * count, mode)) return false;
    for (uint32_t k = 0; k < count; k++) {
        unsigned char *row = vm_row(w, op->list[k]);
        EACH_LANE
        {
            if (!ACTIVE(exec, i))
                continue;
            unsigned char *value = row + (uint32_t)i * width;
            if (mode == ACCESS_READ && bytes < 4)
                memset(value, 0, 4);
            local_copy(w, i, at[i] + k * bytes, value, bytes, mode);
            if (mode == ACCESS_READ && bytes < 4) {
                uint32_t v;
                memcpy(&v, value, 4);
                v = extend(v, op->aux);
                memcpy(value, &v, 4);
            }
        }
    }
    return true;
}

/* ---- generic addresses: each window takes its lanes ---- */

static bool access_generic(struct warp *w, const struct op *op, uint32_t exec, uint64_t *at,
                           enum access mode)
{
    uint32_t shared = 0, local = 0;
    EACH_LANE
    {
        uint64_t window = at[i] >> VM_WINDOW_BITS;
        shared |= window == VM_SHARED_WINDOW >> VM_WINDOW_BITS ? lane_bit[i] : 0;
        local |= window == VM_LOCAL_WINDOW >> VM_WINDOW_BITS ? lane_bit[i] : 0;
        if ((shared | local) & lane_bit[i])
            at[i] &= (UINT64_C(1) << VM_WINDOW_BITS) - 1;
    }
    shared &= exec, local &= exec;
    uint32_t global = exec & ~shared & ~local;
    bool reads = mode == ACCESS_READ;
    if (global && !(reads ? load_flat : store_flat)(w, op, global, at, access_global))
        return false;
    if (shared && !(reads ? load_flat : store_flat)(w, op, shared, at, access_shared))
        return false;
    return !local || access_all_local(w, op, local, at, mode);
}

/* ---- handlers ---- */

#define ACCESS(name, call)                                                                         \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        uint64_t at[VM_LANES];                                                                     \
        address_rows(w, op, at);                                                                   \
        return call ? op + 1 : NULL;                                                               \
    }
ACCESS(load_global, load_flat(w, op, exec, at, access_global))
ACCESS(load_shared, load_flat(w, op, exec, at, access_shared))
ACCESS(load_local, access_all_local(w, op, exec, at, ACCESS_READ))
ACCESS(load_generic, access_generic(w, op, exec, at, ACCESS_READ))
ACCESS(store_global, store_flat(w, op, exec, at, access_global))
ACCESS(store_shared, store_flat(w, op, exec, at, access_shared))
ACCESS(store_local, access_all_local(w, op, exec, at, ACCESS_WRITE))
ACCESS(store_generic, access_generic(w, op, exec, at, ACCESS_WRITE))

/* ---- decoding ---- */

static bool is_ordered(const struct decoder *d)
{
    static const enum ptx_word words[] = {PTX_WORD_volatile, PTX_WORD_relaxed, PTX_WORD_acquire,
                                          PTX_WORD_release, PTX_WORD_mmio};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (form_has(d, words[i]))
            return true;
    return false;
}

/* The space an access works in: what the form says, and for parameters where they lie. */
static enum ptx_space access_space(struct decoder *d, const struct place *place)
{
    if (form_has(d, PTX_WORD_shared) || form_has(d, PTX_WORD_shared__cta) ||
        form_has(d, PTX_WORD_shared__cluster))
        return PTX_SPACE_SHARED;
    if (form_has(d, PTX_WORD_local))
        return PTX_SPACE_LOCAL;
    if (form_has(d, PTX_WORD_global) || form_has(d, PTX_WORD_const))
        return PTX_SPACE_GLOBAL;
    bool param = form_has(d, PTX_WORD_param) || form_has(d, PTX_WORD_param__entry) ||
                 form_has(d, PTX_WORD_param__func);
    if (param && place->space == PTX_SPACE_PARAM)
        return place->frame_relative ? PTX_SPACE_LOCAL : PTX_SPACE_GLOBAL;
    return PTX_SPACE_NONE;
}

/* A variable named in an access lies in the space of the access. */
static bool space_fits(struct decoder *d, const struct place *place, enum ptx_space space)
{
    switch (place->space) {
    case PTX_SPACE_NONE:
        return true;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_LOCAL:
        if (space == place->space)
            return true;
        break;
    case PTX_SPACE_PARAM:
        if (space == (place->frame_relative ? PTX_SPACE_LOCAL : PTX_SPACE_GLOBAL))
            return true;
        break;
    default:
        if (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_NONE)
            return true;
        break;
    }
    return decode_space_error(d);
}

static bool decode_elements_of(struct decoder *d, const struct ptx_operand *o, enum ptx_type type,
                               bool loads, uint32_t *refs, uint32_t *count, uint32_t *aux)
{
    const struct ptx_operand *e = decode_elements(d, o, count);
    uint32_t bytes = ptx_type_bits(type) / 8;
    if (!bytes || bytes > 16 || (bytes & (bytes - 1)) || *count < 1 || *count > 8 ||
        (*count & (*count - 1)) || bytes * *count > 32)
        return decode_error(d, "vector of %u elements of %u bytes", *count, bytes);
    *aux = bytes;
    if (loads && bytes < 4 && ptx_type_class(type) == 's') {
        bool half = e[0].kind == PTX_OPERAND_REG && e[0].index < d->fn->reg_count &&
                    ptx_type_bits((enum ptx_type)d->fn->reg_types[e[0].index]) <= 16;
        *aux |= AUX_SIGN | (half ? AUX_SIGN16 : 0);
    }
    for (uint32_t k = 0; k < *count; k++)
        if (!(refs[k] = loads ? decode_result_relaxed(d, &e[k], type)
                              : decode_source_relaxed(d, &e[k], type)))
            return false;
    return true;
}

static bool decode_access(struct decoder *d, const struct row *row)
{
    static handler *const loads_by_space[] = {[PTX_SPACE_NONE] = load_generic,
                                              [PTX_SPACE_GLOBAL] = load_global,
                                              [PTX_SPACE_SHARED] = load_shared,
                                              [PTX_SPACE_LOCAL] = load_local};
    static handler *const stores_by_space[] = {[PTX_SPACE_NONE] = store_generic,
                                               [PTX_SPACE_GLOBAL] = store_global,
                                               [PTX_SPACE_SHARED] = store_shared,
                                               [PTX_SPACE_LOCAL] = store_local};
    bool loads = row->aux == ACCESS_READ;
    if (d->instr->operand_count < 2 || d->instr->operand_count > 3 || !d->form->type_count)
        return decode_error(d, "%u operands", d->instr->operand_count);
    enum ptx_type type = (enum ptx_type)d->form->types[d->form->type_count - 1];
    struct place place;
    uint32_t refs[8], count, aux = 0;
    if (!decode_place(d, &d->operands[loads ? 1 : 0], &place) ||
        !decode_elements_of(d, &d->operands[loads ? 0 : 1], type, loads, refs, &count, &aux))
        return false;
    enum ptx_space space = access_space(d, &place);
    if (!space_fits(d, &place, space))
        return false;
    struct op *op = decode_emit(d, (loads ? loads_by_space : stores_by_space)[space]);
    if (!op)
        return false;
    address_set(op, &place);
    op->aux |= aux | (is_ordered(d) ? AUX_ORDERED : 0);
    for (uint32_t k = 0; k < count; k++)
        if (!decode_list(d, refs[k], loads))
            return false;
    return decode_widen(d);
}

HANDLER(nothing)
{
    (void)w, (void)exec;
    return op + 1;
}

static bool decode_nothing(struct decoder *d, const struct row *row)
{
    return decode_emit(d, row->run) != NULL;
}

/* A full fence, as an atomic so that thread sanitizers understand it. */
static atomic_uint fence_word;

HANDLER(fence)
{
    (void)w, (void)exec;
    atomic_fetch_add(&fence_word, 1);
    return op + 1;
}

const struct row ROWS_NAME(memory)[] = {
    {"ld", NULL, NULL, decode_access, ACCESS_READ},
    {"ldu", NULL, NULL, decode_access, ACCESS_READ},
    {"st", NULL, NULL, decode_access, ACCESS_WRITE},
    {"st.bulk", NULL, run_unsupported, decode_nothing, 0},
    {"prefetch", NULL, nothing, decode_nothing, 0},
    {"prefetchu", NULL, nothing, decode_nothing, 0},
    {"applypriority", NULL, nothing, decode_nothing, 0},
    {"discard", NULL, nothing, decode_nothing, 0},
    {"pmevent", NULL, nothing, decode_nothing, 0},
    {"membar", NULL, fence, decode_nothing, 0},
    {"fence", NULL, fence, decode_nothing, 0},
    ROWS_END,
};
