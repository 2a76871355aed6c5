// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/tensor_shape.h"

#include <string.h>

#include "core/cubin.h"
#include "core/util.h"

/* How bits 53 and up of the first word tell the columns of a warpgroup's instruction. */
enum columns {
    FIXED,           /* they do not: `n` of the row holds */
    EIGHTS,          /* n / 8 - 1 */
    LISTED,          /* index in `listed` */
    LISTED_BY_THREE, /* the same times 3, plus a code of k: 0 is the only dense one */
};

/* Columns of wgmma on integers and bits. */
static const int listed[] = {8,   16,  24,  32,  48,  64,  80,  96,  112,
                             128, 144, 160, 176, 192, 208, 224, 240, 256};

#define BIT(bit) (UINT64_C(1) << (bit))

/* A form of an instruction: bits that it has in both words of the instruction. The second word's
 * bits 72 and up are 8 and up here. */
static const struct form {
    uint16_t opcode;
    uint64_t first_mask, first, second_mask, second;
    int m, n, k, warps;
    enum columns columns;
} forms[] = {
    /* HGMMA of 16-bit and of tf32 operands; bit 9 of the second word: sparse */
    {0x1f0, BIT(58) | BIT(59), 0, BIT(9), 0, 64, 0, 16, 4, EIGHTS},
    {0x1f0, BIT(58) | BIT(59), BIT(58), BIT(9), 0, 64, 0, 8, 4, EIGHTS},
    /* IGMMA, BGMMA, QGMMA */
    {0x1f1, 0, 0, BIT(9), 0, 64, 0, 32, 4, LISTED_BY_THREE},
    {0x1f2, 0, 0, BIT(9), 0, 64, 0, 256, 4, LISTED},
    {0x1f3, BIT(58) | BIT(59), 0, BIT(9), 0, 64, 0, 32, 4, EIGHTS},
    /* HMMA of 16-bit, then of tf32 operands; bit 9: sparse */
    {0x03c, 0, 0, BIT(19) | BIT(14) | BIT(11) | BIT(9), 0, 16, 8, 8, 1, FIXED},
    {0x03c, 0, 0, BIT(19) | BIT(14) | BIT(11) | BIT(9), BIT(11), 16, 8, 16, 1, FIXED},
    {0x03c, 0, 0, BIT(19) | BIT(14) | BIT(11) | BIT(9), BIT(19), 16, 8, 8, 1, FIXED},
    {0x03c, 0, 0, BIT(19) | BIT(14) | BIT(11) | BIT(9), BIT(19) | BIT(14), 16, 8, 4, 1, FIXED},
    /* IMMA; bit 8: sparse */
    {0x037, 0, 0, BIT(22) | BIT(21) | BIT(11) | BIT(8), 0, 8, 8, 16, 1, FIXED},
    {0x037, 0, 0, BIT(22) | BIT(21) | BIT(11) | BIT(8), BIT(22), 16, 8, 16, 1, FIXED},
    {0x037, 0, 0, BIT(22) | BIT(21) | BIT(11) | BIT(8), BIT(22) | BIT(11), 16, 8, 32, 1, FIXED},
    /* BMMA, DMMA */
    {0x03d, 0, 0, BIT(12) | BIT(11), 0, 8, 8, 128, 1, FIXED},
    {0x03d, 0, 0, BIT(12) | BIT(11), BIT(11), 16, 8, 128, 1, FIXED},
    {0x03d, 0, 0, BIT(12) | BIT(11), BIT(12), 16, 8, 256, 1, FIXED},
    {0x03f, 0, 0, BIT(13) | BIT(12), 0, 8, 8, 4, 1, FIXED},
    {0x03f, 0, 0, BIT(13) | BIT(12), BIT(12), 16, 8, 4, 1, FIXED},
    {0x03f, 0, 0, BIT(13) | BIT(12), BIT(13), 16, 8, 8, 1, FIXED},
    {0x03f, 0, 0, BIT(13) | BIT(12), BIT(13) | BIT(12), 16, 8, 16, 1, FIXED},
};

static int columns_of(const struct form *form, uint64_t first)
{
    unsigned eights = first >> 53 & 0x1f, code = first >> 53 & 0x3f;
    switch (form->columns) {
    case FIXED:
        return form->n;
    case EIGHTS:
        return 8 * ((int)eights + 1);
    case LISTED:
        return code < COUNT_OF(listed) ? listed[code] : 0;
    case LISTED_BY_THREE:
        return code % 3 == 0 && code / 3 < COUNT_OF(listed) ? listed[code / 3] : 0;
    }
    return 0;
}

bool tensor_shape(const uint8_t instruction[16], struct tensor_shape *out)
{
    uint64_t words[2];
    memcpy(words, instruction, sizeof(words)); /* both are little-endian */
    unsigned opcode = cubin_opcode(instruction);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        const struct form *form = &forms[i];
        if (form->opcode != opcode || (words[0] & form->first_mask) != form->first ||
            (words[1] & form->second_mask) != form->second)
            continue;
        *out = (struct tensor_shape){form->m, columns_of(form, words[0]), form->k, form->warps};
        return out->n != 0;
    }
    return false;
}

double tensor_shape_flops(const struct tensor_shape *s)
{
    return 2.0 * s->m * s->n * s->k / s->warps;
}
