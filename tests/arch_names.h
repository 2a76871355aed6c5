/* SPDX-License-Identifier: Apache-2.0
 * The functions that an architecture's headers offer, by their text, and which of them some source
 * calls. */
#ifndef TESTS_ARCH_NAMES_H
#define TESTS_ARCH_NAMES_H

#include <stdio.h>
#include <string.h>

#include "core/pack.h"
#include "core/util.h"

static inline bool is_name_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

/* Is `name` called in `source`, with or without template arguments? */
static inline bool is_called(const char *source, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = source; at && (at = strstr(at, name)); at += n)
        if ((at == source || !is_name_char(at[-1])) && (at[n] == '(' || at[n] == '<'))
            return true;
    return false;
}

/* Functions of a header that `source` calls (NULL: all that it has). The first one that it does not
 * goes to `missing`. */
static inline int functions_called_of(const struct pack_file *header, const char *source,
                                      char missing[64])
{
    static const char marker[] = "__device__ __forceinline__ ";
    int found = 0;
    for (const char *at = header->text; (at = strstr(at, marker));) {
        at += strlen(marker);
        const char *end = at + strcspn(at, "("), *start = end;
        while (start > at && is_name_char(start[-1]))
            start--;
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
        if (!source || is_called(source, name))
            found++;
        else if (!missing[0])
            snprintf(missing, 64, "%s", name);
    }
    return found;
}

/* The same over all headers of an architecture but those that others include. -1: they cannot be
 * read. */
static inline int functions_called(const char *arch, const char *source, char missing[64])
{
    struct pack_files headers = {0};
    int found = 0;
    missing[0] = '\0';
    if (pack_headers(&headers, home_dir(), arch, NULL) != ERR_NONE)
        return -1;
    for (size_t i = 0; i < headers.count; i++)
        if (!strstr(headers.items[i].name, "_operands"))
            found += functions_called_of(&headers.items[i], source, missing);
    pack_release(&headers);
    return found;
}

#endif
