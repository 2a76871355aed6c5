/* SPDX-License-Identifier: Apache-2.0
 * What a parsed PTX module is asked: names of the vocabularies, look-ups, constants. */
#include "evaluator/ptxvm/ptx.h"

#include <string.h>

static const char *const op_names[] = {
#define PTX_OP(name) #name,
#include "evaluator/ptxvm/ptx_ops.def"
#undef PTX_OP
};

static const struct {
    const char *name;
    uint8_t bits;
    char class;
} types[] = {
#define PTX_TYPE(name, bits, class) {#name, bits, class},
#include "evaluator/ptxvm/ptx_types.def"
#undef PTX_TYPE
    {"", 0, 'o'}, /* PTX_TYPE_NONE */
};

static const char *const word_names[] = {
#define PTX_TYPE(name, bits, class) #name,
#include "evaluator/ptxvm/ptx_types.def"
#undef PTX_TYPE
#define PTX_WORD(name, text) text,
#include "evaluator/ptxvm/ptx_words.def"
#undef PTX_WORD
    "shape",
};

static const struct {
    const char *name;
    enum ptx_type type;
} sregs[] = {
#define PTX_SREG(name, text, type) {text, type},
#include "evaluator/ptxvm/ptx_sregs.def"
#undef PTX_SREG
};

static const char *const space_names[] = {
    [PTX_SPACE_NONE] = "generic", [PTX_SPACE_REG] = "reg",       [PTX_SPACE_GLOBAL] = "global",
    [PTX_SPACE_CONST] = "const",  [PTX_SPACE_SHARED] = "shared", [PTX_SPACE_LOCAL] = "local",
    [PTX_SPACE_PARAM] = "param",
};

const char *ptx_op_name(enum ptx_op op)
{
    return op_names[op];
}

const char *ptx_word_name(enum ptx_word w)
{
    return word_names[w];
}

const char *ptx_type_name(enum ptx_type t)
{
    return types[t].name;
}

const char *ptx_sreg_name(enum ptx_sreg s)
{
    return sregs[s].name;
}

const char *ptx_space_name(enum ptx_space s)
{
    return space_names[s];
}

unsigned ptx_type_bits(enum ptx_type t)
{
    return types[t].bits;
}

unsigned ptx_type_bytes(enum ptx_type t)
{
    return (types[t].bits + 7u) / 8;
}

char ptx_type_class(enum ptx_type t)
{
    return types[t].class;
}

enum ptx_type ptx_sreg_type(enum ptx_sreg s)
{
    return sregs[s].type;
}

const struct ptx_func *ptx_func_find(const struct ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->func_count; i++)
        if (strcmp(m->funcs[i].name, name) == 0)
            return &m->funcs[i];
    return NULL;
}

const struct ptx_var *ptx_var_find(const struct ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->var_count; i++)
        if (m->vars[i].func == PTX_NONE && strcmp(m->vars[i].name, name) == 0)
            return &m->vars[i];
    return NULL;
}

const char *ptx_file_name(const struct ptx_module *m, uint32_t number)
{
    for (uint32_t i = 0; i < m->file_count; i++)
        if (m->files[i].number == number)
            return m->files[i].name;
    return "";
}

static double constant_double(const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_F32) {
        uint32_t bits = (uint32_t)o->value;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    double value;
    memcpy(&value, &o->value, sizeof value);
    return value;
}

uint64_t ptx_constant_bits(const struct ptx_operand *o, enum ptx_type t)
{
    unsigned bits = ptx_type_bits(t);
    uint64_t out = (uint64_t)o->value;
    if (t == PTX_TYPE_pred)
        return out != 0;
    if (o->kind != PTX_OPERAND_INT && bits == 64) {
        double value = constant_double(o);
        memcpy(&out, &value, sizeof out);
    } else if (o->kind == PTX_OPERAND_F64 && bits == 32) {
        float value = (float)constant_double(o);
        uint32_t word;
        memcpy(&word, &value, sizeof word);
        out = word;
    }
    return bits < 64 ? out & (((uint64_t)1 << bits) - 1) : out;
}
