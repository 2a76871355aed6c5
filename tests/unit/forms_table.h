/* SPDX-License-Identifier: Apache-2.0
 * tests/data/ptx_forms.txt: every instruction form of sm_90a, and what ptxvm does with it. */
#ifndef TESTS_UNIT_FORMS_TABLE_H
#define TESTS_UNIT_FORMS_TABLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/util.h"

enum { FORM_TEXT = 1024 };

/* One expanded line, e.g. "add.rn.f32 f0, f1, f2"; `reason` is NULL where it is executed. */
typedef void form_fn(const char *form, const char *reason, void *arg);

/* Calls fn for every choice of alternatives: replaces the first <…> and goes on with the result. */
static inline void form_expand(const char *line, const char *reason, form_fn *fn, void *arg)
{
    const char *open = strchr(line, '<'), *close = open ? strchr(open, '>') : NULL;
    if (!close) {
        fn(line, reason, arg);
        return;
    }
    for (const char *at = open + 1; at <= close; at++) {
        size_t n = strcspn(at, "|>");
        char text[FORM_TEXT];
        snprintf(text, sizeof text, "%.*s%.*s%s", (int)(open - line), line, (int)n, at, close + 1);
        for (char *c = text + (open - line); c < text + (open - line) + n; c++)
            *c = *c == '~' ? '|' : *c;
        form_expand(text, reason, fn, arg);
        at += n;
    }
}

/* False: the table cannot be read. */
static inline bool forms_each(form_fn *fn, void *arg)
{
    struct buf text;
    struct fault f;
    char reason[FORM_TEXT] = "", path[FORM_TEXT], *save = NULL;
    bool executed = true;
    buf_init(&text, MIB);
    snprintf(path, sizeof path, "%s/tests/data/ptx_forms.txt", home_dir());
    if (read_file(path, &text, &f) != ERR_NONE)
        return false;
    for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        executed = line[0] == '=' ? strcmp(line, "= executed") == 0 : executed;
        if (line[0] == '=' && !executed)
            snprintf(reason, sizeof reason, "%s", line + strlen("= rejected: "));
        else if (line[0] != '#' && line[0] != '=')
            form_expand(line, executed ? NULL : reason, fn, arg);
    }
    buf_release(&text);
    return true;
}

#endif
