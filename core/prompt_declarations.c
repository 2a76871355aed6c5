// SPDX-License-Identifier: Apache-2.0
// A header as its reader needs it. One pass over the text: comments are kept, function bodies
// become ';', preprocessor lines and namespace detail go, blank lines are never doubled.
#include <ctype.h>
#include <string.h>

#include "core/buf.h"
#include "core/prompt.h"

struct scan {
    const char *at;
    struct buf *out;
    size_t line;       /* where the current line of `out` begins */
    char last;         /* last character of code that was kept, blanks left out */
    int blank;         /* line ends in a row */
    bool skipped_head; /* the licence line */
};

static void put(struct scan *s, char c)
{
    if (c == '\n') {
        while (s->out->len > s->line && s->out->data[s->out->len - 1] == ' ')
            s->out->data[--s->out->len] = '\0';
        if (s->out->len == s->line && s->blank > 1)
            return;
        s->blank++;
        buf_add(s->out, "\n", 1);
        s->line = s->out->len;
        return;
    }
    if (c != ' ')
        s->blank = 0;
    buf_add(s->out, &c, 1);
}

static void skip_line(struct scan *s)
{
    while (*s->at && *s->at != '\n')
        s->at++;
    if (*s->at)
        s->at++;
}

/* #define, #include …: with its continuation lines. */
static void skip_directive(struct scan *s)
{
    for (;;) {
        const char *end = s->at + strcspn(s->at, "\n");
        bool more = end > s->at && end[-1] == '\\';
        s->at = *end ? end + 1 : end;
        if (!more || !*s->at)
            return;
    }
}

static void copy_comment(struct scan *s)
{
    bool licence = !strncmp(s->at, "// SPDX-", 8), tool = !strncmp(s->at, "// clang-format", 15);
    if (licence || tool) {
        skip_line(s);
        return;
    }
    for (; *s->at && *s->at != '\n'; s->at++)
        put(s, *s->at);
}

/* From an opening brace to behind the one that closes it; braces in strings, characters and
 * comments do not count. */
static const char *behind_braces(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        if (*at == '"' || *at == '\'') {
            char quote = *at;
            for (at++; *at && *at != quote; at++)
                if (*at == '\\' && at[1])
                    at++;
            if (!*at)
                return at;
        } else if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
            if (!*at)
                return at;
        } else if (*at == '{') {
            depth++;
        } else if (*at == '}' && --depth == 0) {
            return at + 1;
        }
    }
    return at;
}

static bool starts(const char *at, const char *word)
{
    return !strncmp(at, word, strlen(word));
}

/* At "namespace …": own ones are entered, detail is passed over. */
static void take_namespace(struct scan *s)
{
    const char *name = s->at + strlen("namespace"), *brace = strchr(name, '{');
    if (!brace) {
        s->at += strlen(s->at);
        return;
    }
    bool inner = false;
    for (const char *p = name; p < brace; p++)
        inner |= starts(p, "detail");
    s->at = inner ? behind_braces(brace) : brace + 1;
    if (inner)
        skip_line(s); /* "// namespace detail" */
}

/* Writes the text between two marks without line breaks and runs of blanks. */
static void code(struct scan *s)
{
    char c = *s->at++;
    if (isspace((unsigned char)c)) {
        bool line_start = s->out->len == s->line;
        if (c == '\n' && strchr(";{}>:,\n", s->last ? s->last : '\n') && s->last != ',') {
            put(s, '\n');
            s->last = '\n';
        } else if (!line_start && s->out->data[s->out->len - 1] != ' ') {
            put(s, ' ');
        } else if (line_start && c == ' ') {
            put(s, ' ');
        }
        return;
    }
    put(s, c);
    s->last = c;
}

/* A brace that opens a function body follows ')' or ") const". */
static bool opens_body(const struct scan *s)
{
    size_t n = s->out->len;
    const char *text = s->out->data;
    while (n && text[n - 1] == ' ')
        n--;
    if (n > 5 && !strncmp(text + n - 5, "const", 5)) {
        n -= 5;
        while (n && text[n - 1] == ' ')
            n--;
    }
    return n && text[n - 1] == ')';
}

static bool step(struct scan *s)
{
    static const char attributes[] = "__device__ __forceinline__ ";
    bool line_start = s->out->len == s->line;
    if (line_start && *s->at == '#') {
        skip_directive(s);
    } else if (s->at[0] == '/' && s->at[1] == '/') {
        copy_comment(s);
        s->last = '\n';
    } else if (line_start && starts(s->at, "namespace")) {
        take_namespace(s);
    } else if (line_start && *s->at == '}' && s->at[1] != ';') {
        skip_line(s); /* of a namespace */
    } else if (starts(s->at, attributes)) {
        s->at += strlen(attributes);
    } else if (*s->at == '{' && opens_body(s)) {
        s->at = behind_braces(s->at);
        while (s->out->len > s->line && s->out->data[s->out->len - 1] == ' ')
            s->out->data[--s->out->len] = '\0';
        put(s, ';');
        s->last = ';';
    } else {
        code(s);
    }
    return *s->at && !s->out->failed;
}

void prompt_declarations(const char *header, struct buf *out)
{
    struct scan s = {.at = header, .out = out, .line = out->len, .last = '\n', .blank = 2};
    while (*s.at && step(&s))
        ;
    while (out->len && out->data[out->len - 1] == '\n')
        out->data[--out->len] = '\0';
    buf_add(out, "\n", 1);
}
