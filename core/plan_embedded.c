// SPDX-License-Identifier: Apache-2.0
// Finds a launch plan in the comments of a source. Comments inside string and character literals
// and line comments are not comments, so the text is walked as a C compiler would see it.
#include "core/plan.h"

#include "core/json.h"

static const char opener[] = "/*ptxbench-launch";

/* The end of the literal that starts with the quote at s[i]: behind its closing quote, or at the
 * end of the line, where a broken literal ends. */
static size_t skip_literal(const char *s, size_t len, size_t i)
{
    char quote = s[i++];
    while (i < len && s[i] != quote && s[i] != '\n')
        i += s[i] == '\\' && i + 1 < len ? 2 : 1;
    return i < len ? i + 1 : len;
}

static size_t skip_until(const char *s, size_t len, size_t i, const char *end)
{
    const char *found = memmem(s + i, len - i, end, strlen(end));
    return found ? (size_t)(found - s) : len;
}

static bool starts(const char *s, size_t len, size_t i, const char *with)
{
    return len - i >= strlen(with) && !memcmp(s + i, with, strlen(with));
}

/* A digit separator as in 1'000 is no literal. */
static bool is_separator(const char *s, size_t i)
{
    char before = i ? s[i - 1] : ' ';
    return s[i] == '\'' && ((before >= '0' && before <= '9') || (before >= 'a' && before <= 'f') ||
                            (before >= 'A' && before <= 'F'));
}

/* The next plan comment at or behind *at: its body is s[*body, return value). len + 1 if there is
 * none; len if it is not closed. */
static size_t next_plan(const char *s, size_t len, size_t *at, size_t *body)
{
    for (size_t i = *at; i < len;) {
        if (starts(s, len, i, "/*")) {
            size_t start = i + strlen(opener);
            bool ours = starts(s, len, i, opener) && start < len && strchr(" \t\r\n{", s[start]);
            size_t end = skip_until(s, len, i + 2, "*/");
            i = end < len ? end + 2 : len;
            if (ours) {
                *at = i;
                *body = start;
                return end;
            }
        } else if (starts(s, len, i, "//")) {
            i = skip_until(s, len, i, "\n");
        } else if ((s[i] == '"' || s[i] == '\'') && !is_separator(s, i)) {
            i = skip_literal(s, len, i);
        } else {
            i++;
        }
    }
    return len + 1;
}

json_t *plan_embedded(const char *source, size_t len, struct fault *f)
{
    struct fault none;
    f = f ? f : &none;
    *f = (struct fault){0};
    size_t at = 0, body = 0, again = 0;
    size_t end = next_plan(source, len, &at, &body);
    if (end > len)
        return NULL;
    if (end == len) {
        fault_set(f, ERR_INVALID, "the comment that starts with %s is not closed", opener);
        return NULL;
    }
    if (next_plan(source, len, &at, &again) <= len) {
        fault_set(f, ERR_INVALID, "the source holds two comments that start with %s", opener);
        return NULL;
    }
    struct fault why = {0};
    json_t *plan = json_parse(source + body, end - body, &why);
    if (!plan)
        fault_set(f, ERR_INVALID, "the plan in the source is not JSON: %s", why.detail);
    return plan;
}
