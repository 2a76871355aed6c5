/* SPDX-License-Identifier: Apache-2.0
 * Why an instruction is not executed, by what stands in its form. The first line that fits says it;
 * tests/data/ptx_forms.txt has them all. */
#include "evaluator/ptxvm/decode.h"

#include <string.h>

enum { ANY = -1 };

static const struct {
    int op;   /* enum ptx_op, or ANY */
    int word; /* enum ptx_word, or ANY */
    const char *reason;
} reasons[] = {
    {PTX_OP_tcgen05, ANY, "tensor memory needs sm_100a"},
    {PTX_OP_clusterlaunchcontrol, ANY, "needs sm_100"},
    {ANY, PTX_WORD_sp, "sparse matrices are not executed"},
    {ANY, PTX_WORD_sp__ordered_metadata, "sparse matrices are not executed"},
    {ANY, PTX_WORD_im2col, "copies of images (im2col) are not executed"},
    {ANY, PTX_WORD_im2col_no_offs, "copies of images (im2col) are not executed"},
    {ANY, PTX_WORD_im2col__w, "copies of images (im2col) are not executed"},
    {ANY, PTX_WORD_im2col__w__128, "copies of images (im2col) are not executed"},
    {ANY, PTX_WORD_tile__gather4, "gathering copies need sm_100a"},
    {ANY, PTX_WORD_tile__scatter4, "scattering copies need sm_100a"},
    {PTX_OP_multimem, ANY, "memory of several devices (multimem) is not there"},
    {PTX_OP_tex, ANY, "textures and surfaces are not there"},
    {PTX_OP_tld4, ANY, "textures and surfaces are not there"},
    {PTX_OP_txq, ANY, "textures and surfaces are not there"},
    {PTX_OP_suld, ANY, "textures and surfaces are not there"},
    {PTX_OP_sust, ANY, "textures and surfaces are not there"},
    {PTX_OP_sured, ANY, "textures and surfaces are not there"},
    {PTX_OP_suq, ANY, "textures and surfaces are not there"},
    {PTX_OP_istypep, ANY, "textures and surfaces are not there"},
    {ANY, PTX_TYPE_e3m2x2, "6-bit and 4-bit floating point needs sm_100a"},
    {ANY, PTX_TYPE_e2m3x2, "6-bit and 4-bit floating point needs sm_100a"},
    {ANY, PTX_TYPE_e2m1x2, "6-bit and 4-bit floating point needs sm_100a"},
    {ANY, PTX_TYPE_e3m2, "6-bit and 4-bit floating point needs sm_100a"},
    {ANY, PTX_TYPE_e2m3, "6-bit and 4-bit floating point needs sm_100a"},
    {ANY, PTX_TYPE_e2m1, "6-bit and 4-bit floating point needs sm_100a"},
    {ANY, PTX_TYPE_ue8m0x2, "scale factors (ue8m0) need sm_100a"},
    {ANY, PTX_WORD_block_scale, "scale factors need sm_100a"},
    {ANY, PTX_WORD_rs, "stochastic rounding needs sm_100a"},
    {ANY, PTX_TYPE_f32x2, "pairs of f32 need sm_100"},
    {PTX_OP_st, PTX_WORD_bulk, "needs sm_100"},
    {PTX_OP_wmma, PTX_WORD_satfinite, "floating-point wmma has no .satfinite since PTX 6.5"},
    {PTX_OP_redux, PTX_TYPE_f32, "redux of f32 needs sm_100a"},
    {PTX_OP_min, PTX_WORD_abs, "three operands and .abs need sm_100"},
    {PTX_OP_max, PTX_WORD_abs, "three operands and .abs need sm_100"},
    {PTX_OP_ldmatrix, ANY, "matrices of elements under 16 bits need sm_100a"},
    {PTX_OP_stmatrix, ANY, "matrices of elements under 16 bits need sm_100a"},
    {PTX_OP_cvt, PTX_TYPE_e4m3x4, "four elements at once need sm_100a"},
    {PTX_OP_cvt, PTX_TYPE_e5m2x4, "four elements at once need sm_100a"},
    {PTX_OP_st, PTX_WORD_async, "st.async to global memory needs sm_100"},
    {PTX_OP_red, PTX_WORD_async, "red.async to global memory needs sm_100"},
    {PTX_OP_mma, PTX_WORD_kind__f8f6f4, "mma with .kind needs sm_120a"},
};

const char *rejected_reason(const struct ptx_form *form)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if ((reasons[i].op == ANY || reasons[i].op == form->op) &&
            (reasons[i].word == ANY || ptx_form_has(form, (enum ptx_word)reasons[i].word)))
            return reasons[i].reason;
    bool sum = form->op == PTX_OP_add || form->op == PTX_OP_sub || form->op == PTX_OP_fma;
    if (sum && form->type_count == 2)
        return "sums of mixed types need sm_100";
    if (form->op == PTX_OP_mma && strstr(form->text, ".m8n8k4."))
        return "products of quarter warps (m8n8k4 of f16) are not executed";
    return "sm_90a has no such form, or ptxvm does not know it yet";
}
