/* SPDX-License-Identifier: Apache-2.0
 * What a launch says afterwards: counts by instruction form, fault and counts as JSON. */
#include "evaluator/ptxvm/vm.h"

#include <string.h>

static int by_threads(const void *a, const void *b)
{
    const struct ptxvm_count *x = a, *y = b;
    if (x->threads != y->threads)
        return x->threads < y->threads ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void sum_forms(const struct run *run, const struct worker *workers, uint32_t count,
                      struct tally *by_form)
{
    const struct program *p = run->program;
    struct ptxvm_counts *c = &run->result->counts;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t id = 0; id < p->origin_count; id++) {
            const struct tally *t = &workers[i].tallies[id];
            if (p->origins[id].form == PTX_NONE)
                continue;
            by_form[p->origins[id].form].warps += t->warps;
            by_form[p->origins[id].form].threads += t->threads;
            c->warp_instructions += t->warps;
            c->thread_instructions += t->threads;
        }
}

void counts_gather(struct run *run, const struct worker *workers, uint32_t count)
{
    const struct ptx_module *m = run->program->module;
    struct ptxvm_counts *c = &run->result->counts;
    c->ctas = atomic_load(&run->finished);
    struct tally *by_form = calloc((size_t)m->form_count + 1, sizeof *by_form);
    c->rows = calloc((size_t)m->form_count + 1, sizeof *c->rows);
    if (by_form && c->rows) {
        sum_forms(run, workers, count, by_form);
        for (uint32_t i = 0; i < m->form_count; i++) {
            if (!by_form[i].warps)
                continue;
            struct ptxvm_count *row = &c->rows[c->row_count++];
            snprintf(row->name, sizeof row->name, "%s", m->forms[i].text);
            row->warps = by_form[i].warps;
            row->threads = by_form[i].threads;
        }
        qsort(c->rows, c->row_count, sizeof *c->rows, by_threads);
    }
    free(by_form);
}

void ptxvm_result_release(struct ptxvm_result *result)
{
    free(result->log);
    free(result->counts.rows);
    *result = (struct ptxvm_result){0};
}

json_t *ptxvm_fault_json(const struct ptxvm_result *result)
{
    const struct ptxvm_fault *f = &result->fault;
    if (result->status == PTXVM_OK)
        return NULL;
    json_t *o = json_pack("{s:s, s:s, s:s}", "status", ptxvm_status_name(result->status), "kernel",
                          f->kernel, "detail", f->detail);
    if (f->kind != PTXVM_KIND_NONE)
        json_object_set_new(o, "kind", json_string(ptxvm_kind_name(f->kind)));
    if (f->located) {
        json_object_set_new(o, "cta",
                            json_pack("[i,i,i]", (int)f->cta[0], (int)f->cta[1], (int)f->cta[2]));
        json_object_set_new(
            o, "thread",
            json_pack("[i,i,i]", (int)f->thread[0], (int)f->thread[1], (int)f->thread[2]));
        json_object_set_new(o, "ptx_line", json_integer(f->ptx_line));
        json_object_set_new(o, "instruction", json_string(f->instruction));
    }
    if (f->source_line) {
        json_object_set_new(o, "file", json_string(f->file));
        json_object_set_new(o, "line", json_integer(f->source_line));
    }
    if (f->bytes) {
        char address[32];
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)f->address);
        json_object_set_new(o, "address", json_string(address));
        json_object_set_new(o, "bytes", json_integer((json_int_t)f->bytes));
    }
    if (f->allocation[0]) {
        json_object_set_new(o, "tensor", json_string(f->allocation));
        json_object_set_new(o, "distance", json_integer(f->distance));
    }
    return o;
}

json_t *ptxvm_counts_json(const struct ptxvm_result *result)
{
    const struct ptxvm_counts *c = &result->counts;
    json_t *rows = json_object();
    for (size_t i = 0; i < c->row_count; i++)
        json_object_set_new(rows, c->rows[i].name,
                            json_pack("{s:I, s:I}", "warps", (json_int_t)c->rows[i].warps,
                                      "threads", (json_int_t)c->rows[i].threads));
    return json_pack("{s:I, s:I, s:I, s:o}", "thread_instructions",
                     (json_int_t)c->thread_instructions, "warp_instructions",
                     (json_int_t)c->warp_instructions, "ctas", (json_int_t)c->ctas, "by_opcode",
                     rows);
}
