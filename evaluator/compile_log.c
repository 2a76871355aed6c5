/* SPDX-License-Identifier: Apache-2.0
 * Line by line over what NVRTC and ptxas print:
 *     kernel.cu(4): warning #177-D: variable "x" was declared but never referenced
 *     ptxas info    : (C7510) Potential Performance Loss: … in function 'k'
 *     ptxas kernel.ptx, line 46; error   : Unknown symbol '%rd99'
 *     ptxas info    : Function properties for k
 *     ptxas         .     744 bytes stack frame, 964 bytes spill stores, 968 bytes spill loads */
#include "evaluator/compile_log.h"

#include <string.h>

#include "core/text.h"
#include "core/util.h"

enum { MAX_WARNINGS = 64, MAX_WARNING_TEXT = 400 };

#define IN_PTX "ptxas application ptx input, line "

/* One line: [at, end), without the line feed. False at the end. */
struct lines {
    const char *at, *end, *stop;
};

static bool next_line(struct lines *l)
{
    if (l->at == NULL || l->end >= l->stop)
        return false;
    l->at = l->end;
    const char *feed = memchr(l->at, '\n', (size_t)(l->stop - l->at));
    l->end = feed ? feed + 1 : l->stop;
    return true;
}

static struct lines lines_of(const char *raw, size_t len)
{
    return (struct lines){raw, raw, raw ? raw + len : raw};
}

static size_t line_len(const struct lines *l)
{
    size_t n = (size_t)(l->end - l->at);
    while (n && (l->at[n - 1] == '\n' || l->at[n - 1] == '\r'))
        n--;
    return n;
}

static const char *find(const char *at, size_t len, const char *what)
{
    return memmem(at, len, what, strlen(what));
}

static bool begins(const char *at, size_t len, const char *what)
{
    return len >= strlen(what) && memcmp(at, what, strlen(what)) == 0;
}

/* Number behind `word` in a line, or 0. */
static long number_after(const char *at, size_t len, const char *word)
{
    const char *p = find(at, len, word);
    return p ? strtol(p + strlen(word), NULL, 10) : 0;
}

/* ---- showing ---- */

/* Code points that move or hide other text: zero-width and directional marks, line separators. */
static const struct {
    unsigned from, to;
} treacherous[] = {{0x80, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},
                   {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};

/* Decodes one character of [p, p+n); returns its bytes, 0 if it is not valid UTF-8. */
static size_t decode(const char *p, size_t n, unsigned *point)
{
    unsigned char c = (unsigned char)p[0];
    size_t bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (bytes > n || (c != 0 && !text_is_utf8(p, bytes)))
        return 0;
    *point = bytes == 1 ? c : c & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++)
        *point = *point << 6 | ((unsigned char)p[i] & 0x3f);
    return bytes;
}

static bool is_treacherous(unsigned point)
{
    for (size_t i = 0; i < COUNT_OF(treacherous); i++)
        if (point >= treacherous[i].from && point <= treacherous[i].to)
            return true;
    return false;
}

static void show_text(struct buf *out, const char *p, size_t n)
{
    while (n) {
        unsigned point = 0;
        size_t bytes = decode(p, n, &point);
        if (!bytes) {
            buf_addf(out, "\\x%02x", (unsigned char)*p);
            bytes = 1;
        } else if ((point < 0x20 && point != '\t') || point == 0x7f) {
            buf_addf(out, "\\x%02x", point);
        } else if (is_treacherous(point)) {
            buf_addf(out, "\\u%04x", point);
        } else {
            buf_add(out, p, bytes);
        }
        p += bytes;
        n -= bytes;
    }
}

/* Length of NAME in "NAME(12): ", or 0 if the line does not begin with a place. */
static size_t place_name(const char *at, size_t len)
{
    const char *paren = find(at, len, "): ");
    if (!paren)
        return 0;
    const char *p = paren;
    while (p > at && p[-1] >= '0' && p[-1] <= '9')
        p--;
    return p > at + 1 && p < paren && p[-1] == '(' ? (size_t)(p - 1 - at) : 0;
}

static bool name_is(const char *at, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(at, name, len) == 0;
}

static bool is_ours(const char *at, size_t len, const struct log_names *names)
{
    if (name_is(at, len, names->source) || begins(at, len, "__nv_"))
        return true;
    for (const char *const *h = names->headers; h && *h; h++)
        if (name_is(at, len, *h))
            return true;
    for (const char *const *f = names->folders; f && *f; f++)
        if (begins(at, len, *f))
            return true;
    return false;
}

/* Lines that tell a reader of the report nothing. */
static bool is_noise(const char *at, size_t len)
{
    return begins(at, len, "Remark: The warnings can be suppressed") ||
           begins(at, len, "ptxas info    : Compile time");
}

/* Writes the start of a line that needs other words; returns how much of the line that was. */
static size_t show_place(struct buf *out, const char *at, size_t n, const struct log_names *names)
{
    size_t name = place_name(at, n);
    if (name && !is_ours(at, name, names)) {
        buf_addf(out, "%s [#line \"", names->source);
        show_text(out, at, name);
        buf_adds(out, "\"]");
        return name;
    }
    long line = begins(at, n, IN_PTX) ? number_after(at, n, IN_PTX) : 0;
    const char *rest = line ? memchr(at, ';', n) : NULL;
    if (!rest || !names->ptx)
        return 0;
    buf_addf(out, "%s(%ld): ptxas", names->source, compile_log_source_line(names->ptx, line));
    return (size_t)(rest - at);
}

bool compile_log_show(const char *raw, size_t len, const struct log_names *names, size_t max,
                      struct buf *out)
{
    struct lines l = lines_of(raw, len);
    size_t start = out->len;
    while (out->len - start <= max && next_line(&l)) {
        size_t n = line_len(&l);
        if (is_noise(l.at, n))
            continue;
        size_t done = show_place(out, l.at, n, names);
        show_text(out, l.at + done, n - done);
        buf_adds(out, "\n");
    }
    bool cut = out->len - start > max || next_line(&l);
    if (out->data && out->len - start > max) {
        out->len = start + text_cut(out->data + start, out->len - start, max);
        out->data[out->len] = '\0';
    }
    return cut;
}

/* ---- facts ---- */

long compile_log_source_line(const char *ptx, long ptx_line)
{
    struct lines l = lines_of(ptx, ptx ? strlen(ptx) : 0);
    long line = 0;
    for (long i = 1; i <= ptx_line && next_line(&l); i++) {
        const char *p = l.at;
        while (p < l.end && (*p == ' ' || *p == '\t'))
            p++;
        if (begins(p, (size_t)(l.end - p), ".loc")) {
            char *end;
            strtol(p + 4, &end, 10); /* file */
            line = strtol(end, NULL, 10);
        }
    }
    return line;
}

/* Adds one warning; the text is copied, cut and escaped. */
static void add_warning(json_t *list, const char *code, size_t code_len, long line,
                        const char *text, size_t len)
{
    struct buf shown;
    buf_init(&shown, 8 * MAX_WARNING_TEXT);
    show_text(&shown, text,
              len < MAX_WARNING_TEXT ? text_cut(text, len, len)
                                     : text_cut(text, len, MAX_WARNING_TEXT));
    json_array_append_new(list, json_pack("{s:s%, s:o, s:s}", "code", code, code_len, "line",
                                          line > 0 ? json_integer(line) : json_null(), "text",
                                          shown.data ? shown.data : ""));
    buf_release(&shown);
}

/* "ptxas …: (C7510) text" and "ptxas warning : text": true if the line is one of them. */
static bool assembler_warning(json_t *list, const char *at, size_t n, const char *ptx)
{
    if (!begins(at, n, "ptxas"))
        return false;
    const char *code = find(at, n, "(C"),
               *close = code ? memchr(code, ')', (size_t)(at + n - code)) : NULL;
    const char *warning = find(at, n, "warning");
    long line = number_after(at, n, ", line ");
    if (!line)
        line = number_after(at, n, "around line ");
    if (line && ptx)
        line = compile_log_source_line(ptx, line);
    if (code && close && code[2] >= '0' && code[2] <= '9') {
        const char *text = close + 1 + (close + 1 < at + n && close[1] == ' ');
        add_warning(list, code + 1, (size_t)(close - code - 1), line, text,
                    (size_t)(at + n - text));
        return true;
    }
    const char *colon = warning ? memchr(warning, ':', (size_t)(at + n - warning)) : NULL;
    if (colon)
        add_warning(list, "ptxas", 5, line, colon + 1, (size_t)(at + n - colon - 1));
    return colon;
}

/* "NAME(12): warning #177-D: text" */
static void front_end_warning(json_t *list, const char *at, size_t n)
{
    size_t name = place_name(at, n);
    const char *mark = find(at, n, "): warning #");
    if (!name || !mark || mark > at + name + 12)
        return;
    const char *code = mark + 12, *colon = memchr(code, ':', (size_t)(at + n - code));
    if (colon && colon + 2 <= at + n)
        add_warning(list, code, (size_t)(colon - code), strtol(at + name + 1, NULL, 10), colon + 2,
                    (size_t)(at + n - colon - 2));
}

/* "744 bytes stack frame, 964 bytes spill stores, 968 bytes spill loads" */
static bool spill_line(const char *at, size_t n, long *stores, long *loads)
{
    const char *frame = find(at, n, " bytes stack frame, ");
    if (!frame)
        return false;
    *stores = strtol(frame + 20, NULL, 10);
    *loads = number_after(frame, (size_t)(at + n - frame), "spill stores, ");
    return true;
}

#define PROPERTIES "Function properties for "

json_t *compile_log_warnings(const char *raw, size_t len, const char *ptx)
{
    json_t *list = json_array();
    struct lines l = lines_of(raw, len);
    const char *function = NULL;
    size_t function_len = 0;
    while (json_array_size(list) < MAX_WARNINGS && next_line(&l)) {
        size_t n = line_len(&l);
        long stores, loads;
        const char *properties = find(l.at, n, PROPERTIES);
        if (properties) {
            function = properties + strlen(PROPERTIES);
            function_len = (size_t)(l.at + n - function);
        } else if (spill_line(l.at, n, &stores, &loads)) {
            char text[256];
            snprintf(text, sizeof text,
                     "%ld bytes of spill stores, %ld bytes of spill loads in '%.*s'", stores, loads,
                     function_len > 120 ? 120 : (int)function_len, function ? function : "");
            if (stores || loads)
                add_warning(list, "spill", 5, 0, text, strlen(text));
        } else if (!assembler_warning(list, l.at, n, ptx)) {
            front_end_warning(list, l.at, n);
        }
    }
    return list;
}

bool compile_log_spills(const char *raw, const char *symbol, long *stores, long *loads)
{
    struct lines l = lines_of(raw, raw ? strlen(raw) : 0);
    bool wanted = false;
    while (next_line(&l)) {
        size_t n = line_len(&l);
        const char *properties = find(l.at, n, PROPERTIES);
        if (properties) {
            const char *name = properties + strlen(PROPERTIES);
            wanted = name_is(name, (size_t)(l.at + n - name), symbol);
        } else if (wanted && spill_line(l.at, n, stores, loads)) {
            return true;
        }
    }
    return false;
}

long compile_log_shared(const char *raw)
{
    static const char mark[] = " bytes smem";
    long most = 0;
    for (const char *at = raw; at && (at = strstr(at, mark)); at += sizeof mark - 1) {
        const char *p = at;
        while (p > raw && p[-1] >= '0' && p[-1] <= '9')
            p--;
        long bytes = strtol(p, NULL, 10);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Line number of an error in the source itself, 0 if it is elsewhere. */
static long own_line(const char *at, size_t n, const struct log_names *names)
{
    size_t name = place_name(at, n);
    if (name)
        return name_is(at, name, names->source) ? strtol(at + name + 1, NULL, 10) : 0;
    if (begins(at, n, IN_PTX))
        return compile_log_source_line(names->ptx, number_after(at, n, IN_PTX));
    return find(at, n, names->source) ? number_after(at, n, ", line ") : 0;
}

void compile_log_first_error(const char *raw, size_t len, const struct log_names *names, char *out,
                             size_t size)
{
    static const char *const marks[] = {
        "): error: ", "): catastrophic error: ", "error   : ", "fatal   : ", "nvrtc: error: "};
    struct lines l = lines_of(raw, len);
    out[0] = '\0';
    while (!out[0] && next_line(&l)) {
        size_t n = line_len(&l);
        const char *at = NULL;
        for (size_t i = 0; i < COUNT_OF(marks) && !at; i++)
            if ((at = find(l.at, n, marks[i])))
                at += strlen(marks[i]);
        if (!at)
            continue;
        struct buf text;
        size_t left = (size_t)(l.at + n - at);
        long line = own_line(l.at, n, names);
        buf_init(&text, 8 * size + 64);
        if (line > 0)
            buf_addf(&text, "line %ld: ", line);
        show_text(&text, at, text_cut(at, left, left < size ? left : size));
        snprintf(out, size, "%s", text.data ? text.data : "");
        out[text_cut(out, strlen(out), size - 1)] = '\0';
        buf_release(&text);
    }
}

/* The log repeats a bad expression after this pragma, as it was given. */
bool compile_log_rejects_name(const char *raw, const char *name)
{
    static const char pragma[] = "#pragma nv_mangled_name ";
    struct lines l = lines_of(raw, raw ? strlen(raw) : 0);
    while (next_line(&l)) {
        size_t n = line_len(&l);
        const char *at = find(l.at, n, pragma);
        if (at &&
            name_is(at + sizeof pragma - 1, (size_t)(l.at + n - at) - (sizeof pragma - 1), name))
            return true;
    }
    return false;
}
