/* SPDX-License-Identifier: Apache-2.0
 * Functions that the device provides to programs: vprintf into the capped log of the launch, and
 * __assertfail, which ends it. Others (malloc, free, cudaLaunchDevice …) are named and refused. */
#include "evaluator/ptxvm/lanes.h"

#include <ctype.h>
#include <string.h>

#include "core/text.h"
#include "evaluator/ptxvm/calls.h"

enum { FORMAT_MAX = 1024, STRING_MAX = 512, SPEC_MAX = 32, LINE_MAX_BYTES = 4096 };

/* ---- arguments ---- */

static uint64_t argument(const struct warp *w, const struct op *op, uint32_t k, int lane)
{
    uint32_t at = op->defs + 2 * k;
    if (2 * k + 1 >= op->uses)
        return 0;
    struct passed p = passed_unpack(op->list[at], op->list[at + 1]);
    uint64_t value = 0;
    if (p.in_row) {
        const unsigned char *rows = p.is_constant ? w->base[1] : w->frame->rows;
        memcpy(&value, rows + p.place + (uint32_t)lane * p.width, p.width > 8 ? 8 : p.width);
        return value;
    }
    uint32_t address = w->frame->local_base + p.place;
    value = *local_word(w, lane, address);
    return p.bytes > 4 ? value | (uint64_t)*local_word(w, lane, address + 4) << 32 : value;
}

/* String at a generic address, cut to `size`. False: launch stopped. */
static bool fetch_string(struct warp *w, const struct op *op, int lane, uint64_t address, char *out,
                         size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (; address && n + 1 < size; n++, address++) {
        if (!access_copy(w, op, lane, address, &out[n], 1))
            return false;
        if (!out[n])
            return true;
    }
    out[n] = '\0';
    return true;
}

/* ---- printf ---- */

struct print {
    struct warp *w;
    const struct op *op;
    int lane;
    uint64_t args; /* address of the next argument */
    int taken;     /* arguments so far */
    struct buf out;
    bool stopped;
};

static uint64_t next_argument(struct print *p, uint32_t bytes)
{
    uint64_t value = 0;
    p->args = (p->args + bytes - 1) & ~(uint64_t)(bytes - 1);
    if (!access_copy(p->w, p->op, p->lane, p->args, &value, bytes))
        p->stopped = true;
    p->args += bytes;
    p->taken++;
    return value;
}

/* Rebuilds "%flags width .precision" into spec; returns the conversion character's place. */
static const char *read_spec(struct print *p, const char *s, char spec[SPEC_MAX], bool *is_long)
{
    size_t n = 0;
    spec[n++] = '%';
    for (; *s && strchr("-+ #0123456789.*", *s); s++) {
        if (*s == '*')
            n += (size_t)snprintf(spec + n, SPEC_MAX - n, "%d",
                                  (int)((int32_t)next_argument(p, 4) % 256));
        else
            spec[n++] = *s;
        if (n > SPEC_MAX - 8)
            n = 1;
    }
    *is_long = false;
    for (; *s && strchr("hlLqjzt", *s); s++)
        *is_long |= *s != 'h';
    spec[n] = '\0';
    return s;
}

/* Widths and precisions of three digits at most: more would only fill the log. */
static void limit_digits(char *spec)
{
    int run = 0;
    char *to = spec;
    for (const char *s = spec; *s; s++) {
        run = isdigit((unsigned char)*s) ? run + 1 : 0;
        if (run <= 3)
            *to++ = *s;
    }
    *to = '\0';
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* rebuilt above from checked characters */

static void print_one(struct print *p, char spec[SPEC_MAX], char conversion, bool is_long)
{
    size_t n = strlen(spec);
    char text[STRING_MAX];
    if (strchr("diouxXc", conversion)) {
        uint64_t v = next_argument(p, is_long ? 8 : 4);
        if (conversion == 'c') {
            snprintf(spec + n, SPEC_MAX - n, "c");
            buf_addf(&p->out, spec, (int)v);
            return;
        }
        snprintf(spec + n, SPEC_MAX - n, "ll%c", conversion);
        bool is_signed = conversion == 'd' || conversion == 'i';
        long long value = is_long     ? (long long)v
                          : is_signed ? (long long)(int32_t)v
                                      : (long long)(uint32_t)v;
        buf_addf(&p->out, spec, value);
    } else if (strchr("eEfFgGaA", conversion)) {
        uint64_t bits = next_argument(p, 8);
        double v;
        memcpy(&v, &bits, sizeof v);
        snprintf(spec + n, SPEC_MAX - n, "%c", conversion);
        buf_addf(&p->out, spec, v);
    } else if (conversion == 's') {
        if (!fetch_string(p->w, p->op, p->lane, next_argument(p, 8), text, sizeof text))
            p->stopped = true;
        snprintf(spec + n, SPEC_MAX - n, "s");
        buf_addf(&p->out, spec, text);
    } else if (conversion == 'p') {
        buf_addf(&p->out, "0x%llx", (unsigned long long)next_argument(p, 8));
    } else {
        buf_addf(&p->out, "%s%c", spec, conversion);
    }
}

#pragma GCC diagnostic pop

static void print_format(struct print *p, const char *format)
{
    for (const char *s = format; *s && !p->stopped; s++) {
        if (*s != '%') {
            buf_add(&p->out, s, 1);
            continue;
        }
        if (s[1] == '%') {
            buf_add(&p->out, ++s, 1);
            continue;
        }
        char spec[SPEC_MAX];
        bool is_long;
        s = read_spec(p, s + 1, spec, &is_long);
        limit_digits(spec);
        if (!*s)
            break;
        print_one(p, spec, *s, is_long);
    }
}

static void append_log(struct run *run, const char *text, size_t n)
{
    pthread_mutex_lock(&run->lock);
    size_t room = run->vm->options.print_max - run->log.len;
    size_t take = n <= room ? n : text_cut(text, n, room);
    buf_add(&run->log, text, take);
    run->result->log_dropped += n - take;
    pthread_mutex_unlock(&run->lock);
}

/* Number of arguments printed by the lane, or -1 with the launch stopped. */
static int print_lane(struct warp *w, const struct op *op, int lane)
{
    char format[FORMAT_MAX];
    if (!fetch_string(w, op, lane, argument(w, op, 0, lane), format, sizeof format))
        return -1;
    struct print p = {.w = w, .op = op, .lane = lane, .args = argument(w, op, 1, lane)};
    buf_init(&p.out, LINE_MAX_BYTES);
    print_format(&p, format);
    int n = p.stopped ? -1 : p.taken;
    if (n >= 0)
        append_log(w->cta->run, p.out.data, p.out.len);
    buf_release(&p.out);
    return n;
}

static void give_result(struct warp *w, const struct op *op, int lane, uint32_t value)
{
    if (op->defs < 2)
        return;
    struct passed to = passed_unpack(op->list[0], op->list[1]);
    if (to.in_row)
        memcpy(w->frame->rows + to.place + (uint32_t)lane * to.width, &value, 4);
    else
        *local_word(w, lane, w->frame->local_base + to.place) = value;
}

HANDLER(call_vprintf)
{
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        int n = print_lane(w, op, i);
        if (n < 0)
            return NULL;
        give_result(w, op, i, (uint32_t)n);
    }
    /* Printing takes long: let the deadline be looked at. */
    w->event = EVENT_YIELD;
    w->next = op + 1;
    return NULL;
}

/* ---- __assertfail(message, file, line, function, size of a character) ---- */

HANDLER(call_assertfail)
{
    int lane = __builtin_ctz(exec);
    char message[STRING_MAX], file[STRING_MAX], function[STRING_MAX];
    if (!fetch_string(w, op, lane, argument(w, op, 0, lane), message, sizeof message) ||
        !fetch_string(w, op, lane, argument(w, op, 1, lane), file, sizeof file) ||
        !fetch_string(w, op, lane, argument(w, op, 3, lane), function, sizeof function))
        return NULL;
    text_sanitize(message);
    return stop_at(w, op, lane, PTXVM_ASSERT, PTXVM_KIND_NONE,
                   "assertion failed: %.200s (%.100s:%u, %.100s)", message, file,
                   (uint32_t)argument(w, op, 2, lane), function);
}

const struct op *run_call_unknown(struct warp *w, const struct op *op, uint32_t exec)
{
    const struct ptx_module *m = w->cta->run->program->module;
    return stop_at(w, op, __builtin_ctz(exec), PTXVM_UNSUPPORTED, PTXVM_KIND_NONE,
                   "the device does not provide function %.200s", m->funcs[op->imm].name);
}

static const struct {
    const char *name;
    handler *run;
} externals[] = {
    {"vprintf", call_vprintf},
    {"__assertfail", call_assertfail},
};

handler *call_external_find(const char *name)
{
    for (size_t i = 0; i < sizeof externals / sizeof externals[0]; i++)
        if (strcmp(externals[i].name, name) == 0)
            return externals[i].run;
    return NULL;
}
