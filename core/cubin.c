/* SPDX-License-Identifier: Apache-2.0
 * The cubin reader. Layout facts (CUDA 13.0): ELF64 little-endian, machine 190; SM number in
 * e_flags bits 8..15 when EI_ABIVERSION is 8, bits 0..7 before; attributes of kernels in .nv.info
 * (per symbol) and .nv.info.<kernel> as {u8 format, u8 attribute, u16 value or length}. */
#include "core/cubin.h"

#include <elf.h>
#include <string.h>

enum {
    CUDA_MACHINE = 190,
    CUDA_ENTRY = 0x10, /* st_other: this function is a kernel */
    INFO_SECTION = 0x70000000,
    CALLGRAPH_SECTION = 0x70000001,
    INSTRUCTION = 16,
    RESERVED_SHARED =
        1024, /* sm_90 and up: first bytes of every .nv.shared section of a linked cubin */
};

/* Attributes we read (EIATTR_…). */
enum {
    ATTR_MAX_THREADS = 0x05,
    ATTR_PARAM_CBANK = 0x0a,
    ATTR_REQNTID = 0x10,
    ATTR_FRAME_SIZE = 0x11,
    ATTR_MIN_STACK_SIZE = 0x12,
    ATTR_KPARAM_INFO = 0x17,
    ATTR_CBANK_PARAM_SIZE = 0x19,
    ATTR_REGCOUNT = 0x2f,
    ATTR_CTA_PER_CLUSTER = 0x3d,
    ATTR_EXPLICIT_CLUSTER = 0x3e,
};
enum { FORMAT_SIZED = 4 }; /* u16 is a length and bytes follow; else it is the value itself */

/* ---- bounded access ---- */

static uint16_t u16_at(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32_at(const uint8_t *p)
{
    return (uint32_t)u16_at(p) | (uint32_t)u16_at(p + 2) << 16;
}

static uint64_t u64_at(const uint8_t *p)
{
    return (uint64_t)u32_at(p) | (uint64_t)u32_at(p + 4) << 32;
}

struct section {
    uint32_t type, info;
    uint64_t size;        /* as stated: NOBITS sections may state anything */
    const uint8_t *bytes; /* NULL if there are none in the file */
    const char *name;
};

struct symbol {
    const char *name;
    unsigned type, binding, other, section;
    uint64_t size;
};

static bool inside(const struct cubin *c, uint64_t offset, uint64_t size)
{
    return offset <= c->len && size <= c->len - offset;
}

/* Both string tables were found to end in NUL, so an offset inside is a string. */
static const char *string_at(const struct cubin_strings *t, uint32_t offset)
{
    return offset < t->len ? t->text + offset : "";
}

static const uint8_t *section_header(const struct cubin *c, unsigned index)
{
    return c->data + c->section_table + (uint64_t)index * sizeof(Elf64_Shdr);
}

static bool section_get(const struct cubin *c, unsigned index, struct section *out)
{
    if (index >= c->section_count)
        return false;
    const uint8_t *h = section_header(c, index);
    uint64_t offset = u64_at(h + 24);
    *out = (struct section){.type = u32_at(h + 4),
                            .size = u64_at(h + 32),
                            .info = u32_at(h + 44),
                            .name = string_at(&c->section_names, u32_at(h))};
    if (out->type != SHT_NOBITS && out->size && inside(c, offset, out->size))
        out->bytes = c->data + offset;
    return true;
}

static bool symbol_get(const struct cubin *c, uint64_t index, struct symbol *out)
{
    if (index >= c->symbol_count)
        return false;
    const uint8_t *p = c->symbols + index * sizeof(Elf64_Sym);
    *out = (struct symbol){.name = string_at(&c->symbol_names, u32_at(p)),
                           .type = p[4] & 15,
                           .binding = p[4] >> 4,
                           .other = p[5],
                           .section = u16_at(p + 6),
                           .size = u64_at(p + 16)};
    return true;
}

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ---- opening ---- */

static enum err open_strings(const struct cubin *c, unsigned section, struct cubin_strings *out,
                             struct fault *f)
{
    if (section < c->section_count) {
        const uint8_t *h = section_header(c, section);
        uint64_t offset = u64_at(h + 24), size = u64_at(h + 32);
        if (u32_at(h + 4) == SHT_STRTAB && size && inside(c, offset, size) &&
            c->data[offset + size - 1] == 0) {
            *out = (struct cubin_strings){(const char *)c->data + offset, size};
            return ERR_NONE;
        }
    }
    return fault_set(f, ERR_INVALID, "cannot read cubin: bad string table in section %u", section);
}

static enum err open_symbols(struct cubin *c, struct fault *f)
{
    struct section s;
    for (unsigned i = 0; section_get(c, i, &s); i++) {
        if (s.type == INFO_SECTION && !strcmp(s.name, ".nv.info"))
            c->info = i;
        if (s.type != SHT_SYMTAB || c->symbols)
            continue;
        if (!s.bytes)
            return fault_set(f, ERR_INVALID, "cannot read cubin: symbol table outside the file");
        c->symbols = s.bytes;
        c->symbol_count = s.size / sizeof(Elf64_Sym);
        enum err e = open_strings(c, u32_at(section_header(c, i) + 40), &c->symbol_names, f);
        if (e != ERR_NONE)
            return e;
    }
    return c->symbols ? ERR_NONE : fault_set(f, ERR_INVALID, "cannot read cubin: no symbol table");
}

enum err cubin_open(struct cubin *c, const void *data, size_t len, struct fault *f)
{
    *c = (struct cubin){.data = data, .len = len};
    const uint8_t *p = data;
    if (len < sizeof(Elf64_Ehdr) || memcmp(p, ELFMAG, SELFMAG) != 0)
        return fault_set(f, ERR_INVALID, "cannot read cubin: not an ELF file");
    if (p[EI_CLASS] != ELFCLASS64 || p[EI_DATA] != ELFDATA2LSB || u16_at(p + 18) != CUDA_MACHINE)
        return fault_set(f, ERR_INVALID, "cannot read cubin: not a 64-bit CUDA file");
    uint32_t flags = u32_at(p + 48);
    c->sm = p[EI_ABIVERSION] >= 8 ? (int)(flags >> 8 & 0xff) : (int)(flags & 0xff);
    c->linked = u16_at(p + 16) == ET_EXEC;
    c->section_table = u64_at(p + 40);
    c->section_count = u16_at(p + 60);
    if (u16_at(p + 58) != sizeof(Elf64_Shdr) || !c->section_count ||
        !inside(c, c->section_table, c->section_count * sizeof(Elf64_Shdr)))
        return fault_set(f, ERR_INVALID, "cannot read cubin: bad section table");
    enum err e = open_strings(c, u16_at(p + 62), &c->section_names, f);
    return e == ERR_NONE ? open_symbols(c, f) : e;
}

/* ---- attributes ---- */

struct attribute {
    unsigned id;
    uint16_t value;       /* of the short formats */
    const uint8_t *bytes; /* of FORMAT_SIZED, else NULL */
    unsigned len;
};

static bool attribute_next(const struct section *s, uint64_t *at, struct attribute *out)
{
    if (!s->bytes || s->size - *at < 4)
        return false;
    const uint8_t *p = s->bytes + *at;
    *out = (struct attribute){.id = p[1], .value = u16_at(p + 2)};
    *at += 4;
    if (p[0] != FORMAT_SIZED)
        return true;
    if (out->value > s->size - *at)
        return false;
    out->bytes = p + 4;
    out->len = out->value;
    *at += out->len;
    return true;
}

/* Word i of an attribute, 0 past its end. */
static uint32_t word(const struct attribute *a, unsigned i)
{
    return a->bytes && (i + 1) * 4 <= a->len ? u32_at(a->bytes + i * 4) : 0;
}

static void three_words(const struct attribute *a, int out[3])
{
    for (unsigned i = 0; i < 3; i++)
        out[i] = (int)(word(a, i) & INT32_MAX);
}

static void param_add(struct cubin_function *fn, const struct attribute *a)
{
    if (a->len < 12 || fn->param_count == CUBIN_PARAMS)
        return;
    struct cubin_param p = {(uint16_t)(word(a, 1) & 0xffff), (uint16_t)(word(a, 1) >> 16),
                            word(a, 2) >> 18};
    unsigned i = fn->param_count++;
    for (; i > 0 && fn->params[i - 1].ordinal > p.ordinal; i--)
        fn->params[i] = fn->params[i - 1];
    fn->params[i] = p;
}

static void kernel_attribute(struct cubin_function *fn, const struct attribute *a)
{
    switch (a->id) {
    case ATTR_KPARAM_INFO:
        param_add(fn, a);
        break;
    case ATTR_CBANK_PARAM_SIZE:
        fn->param_bytes = a->value;
        break;
    case ATTR_MAX_THREADS:
        three_words(a, fn->max_threads);
        break;
    case ATTR_REQNTID:
        three_words(a, fn->max_threads);
        fn->exact_threads = true;
        break;
    case ATTR_CTA_PER_CLUSTER:
        three_words(a, fn->cluster);
        break;
    case ATTR_EXPLICIT_CLUSTER:
        fn->explicit_cluster = true;
        break;
    default:
        break;
    }
}

static void symbol_attribute(struct cubin_function *fn, const struct attribute *a)
{
    uint32_t n = word(a, 1);
    if (a->id == ATTR_REGCOUNT)
        fn->registers = (int)(n & 0xffff);
    else if (a->id == ATTR_FRAME_SIZE || a->id == ATTR_MIN_STACK_SIZE)
        fn->local_bytes = n > fn->local_bytes ? n : fn->local_bytes;
}

/* ---- functions ---- */

/* Everything that other sections say about a function. */
static void describe(const struct cubin *c, struct cubin_function *fn)
{
    struct section s;
    for (unsigned i = 0; section_get(c, i, &s); i++) {
        struct attribute a;
        uint64_t at = 0;
        if (s.type == INFO_SECTION && i == c->info) {
            while (attribute_next(&s, &at, &a))
                if (a.len >= 8 && word(&a, 0) == fn->symbol)
                    symbol_attribute(fn, &a);
        } else if (s.type == INFO_SECTION && s.info == fn->section) {
            while (attribute_next(&s, &at, &a))
                kernel_attribute(fn, &a);
        } else if (s.info == fn->section && starts(s.name, ".nv.shared.")) {
            bool reserved = c->linked && c->sm >= 90 && s.size >= RESERVED_SHARED;
            fn->shared_bytes = reserved ? s.size - RESERVED_SHARED : s.size;
        }
    }
}

/* sh_info of a .text section names its symbol in the low 24 bits. */
bool cubin_next(const struct cubin *c, unsigned *at, struct cubin_function *out)
{
    struct section s;
    for (; section_get(c, *at, &s); ++*at) {
        struct symbol symbol;
        uint32_t index = s.info & 0xffffff;
        if (s.type != SHT_PROGBITS || !s.bytes || !starts(s.name, ".text.") ||
            !symbol_get(c, index, &symbol) || symbol.type != STT_FUNC || symbol.section != *at)
            continue;
        *out = (struct cubin_function){.name = symbol.name,
                                       .entry = symbol.other & CUDA_ENTRY,
                                       .section = *at,
                                       .symbol = index,
                                       .code = s.bytes,
                                       .code_len = s.size / INSTRUCTION * INSTRUCTION};
        ++*at;
        return true;
    }
    return false;
}

bool cubin_find(const struct cubin *c, const char *name, struct cubin_function *out)
{
    for (unsigned at = 0; cubin_next(c, &at, out);)
        if (!strcmp(out->name, name)) {
            out->registers = -1;
            describe(c, out);
            return true;
        }
    return false;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static uint64_t sum_sections(const struct cubin *c, const char *prefix)
{
    uint64_t sum = 0;
    struct section s;
    for (unsigned i = 0; section_get(c, i, &s); i++)
        if (starts(s.name, prefix))
            sum = saturating_add(sum, s.size);
    return sum;
}

/* ptxas keeps only 32 bits of a section's size, but all of a symbol's: the larger sum is the truth.
 */
uint64_t cubin_global_bytes(const struct cubin *c)
{
    uint64_t sections = sum_sections(c, ".nv.global"), symbols = 0;
    struct symbol symbol;
    struct section s;
    for (uint64_t i = 0; symbol_get(c, i, &symbol); i++)
        if (symbol.type != STT_SECTION && section_get(c, symbol.section, &s) &&
            starts(s.name, ".nv.global"))
            symbols = saturating_add(symbols, symbol.size);
    return symbols > sections ? symbols : sections;
}

uint64_t cubin_constant_bytes(const struct cubin *c)
{
    return sum_sections(c, ".nv.constant3");
}

bool cubin_next_undefined(const struct cubin *c, uint64_t *at, const char **name)
{
    struct symbol s;
    while (symbol_get(c, (*at)++, &s))
        if (s.section == SHN_UNDEF && s.binding == STB_GLOBAL && s.name[0]) {
            *name = s.name;
            return true;
        }
    return false;
}

/* ---- reach ---- */

static bool reach_add(struct cubin_reach *r, unsigned section)
{
    uint8_t bit = (uint8_t)(1u << (section & 7)), *byte = &r->section[(section & 0xffff) >> 3];
    bool fresh = !(*byte & bit);
    *byte |= bit;
    return fresh;
}

bool cubin_reached(const struct cubin_reach *r, unsigned section)
{
    return r->section[(section & 0xffff) >> 3] >> (section & 7) & 1;
}

/* Follows what one relocation section says about code we reached, or about data any code may read.
 */
static bool follow_relocations(const struct cubin *c, const struct section *s,
                               struct cubin_reach *r)
{
    struct section target;
    bool grown = false;
    if (!section_get(c, s->info, &target) || !s->bytes)
        return false;
    bool code = starts(target.name, ".text."), data = starts(target.name, ".nv.");
    if (!(code && cubin_reached(r, s->info)) && !data)
        return false;
    size_t size = s->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (uint64_t at = 0; at + size <= s->size; at += size) {
        struct symbol symbol;
        if (symbol_get(c, u64_at(s->bytes + at + 8) >> 32, &symbol) && symbol.section &&
            symbol.section < c->section_count && symbol.type == STT_FUNC)
            grown |= reach_add(r, symbol.section);
    }
    return grown;
}

static bool follow_calls(const struct cubin *c, const struct section *s, struct cubin_reach *r)
{
    bool grown = false;
    for (uint64_t at = 0; s->bytes && at + 8 <= s->size; at += 8) {
        struct symbol caller, callee;
        if (symbol_get(c, u32_at(s->bytes + at), &caller) &&
            symbol_get(c, u32_at(s->bytes + at + 4), &callee) && cubin_reached(r, caller.section) &&
            callee.type == STT_FUNC && callee.section && callee.section < c->section_count)
            grown |= reach_add(r, callee.section);
    }
    return grown;
}

void cubin_reach(const struct cubin *c, const char *const *entries, size_t count,
                 struct cubin_reach *out)
{
    *out = (struct cubin_reach){{0}};
    struct section s;
    for (unsigned i = 0; section_get(c, i, &s); i++)
        for (size_t k = 0; k < count; k++)
            if (s.type == SHT_PROGBITS && starts(s.name, ".text.") &&
                !strcmp(s.name + 6, entries[k]))
                reach_add(out, i);
    /* Each round adds a section or ends; the bound stops hostile files that chain thousands. */
    bool grown = true;
    for (int round = 0; grown && round < 256; round++) {
        grown = false;
        for (unsigned i = 0; section_get(c, i, &s); i++)
            if (s.type == SHT_RELA || s.type == SHT_REL)
                grown |= follow_relocations(c, &s, out);
            else if (s.type == CALLGRAPH_SECTION)
                grown |= follow_calls(c, &s, out);
    }
}

/* ---- code ---- */

unsigned cubin_opcode(const uint8_t *instruction)
{
    return u16_at(instruction) & 0x1ff;
}

void cubin_count(const struct cubin_function *fn, const struct arch *a, uint64_t *counts)
{
    for (size_t at = 0; at + INSTRUCTION <= fn->code_len; at += INSTRUCTION) {
        const struct sass_family *family = arch_family(a, cubin_opcode(fn->code + at));
        if (family)
            counts[family - a->families]++;
    }
}
