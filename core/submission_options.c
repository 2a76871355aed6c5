// SPDX-License-Identifier: Apache-2.0
// Judges compile options by the allow-list of core/options.def.
#include "core/submission_options.h"

#include "core/json.h"
#include "core/util.h"

static const struct option {
    const char *text;
    long least, most;
    const char *languages, *meaning;
} allowed[] = {
#define OPTION(text, least, most, languages, meaning) {text, least, most, languages, meaning},
#include "core/options.def"
#undef OPTION
};

static bool takes_value(const struct option *o)
{
    return o->text[strlen(o->text) - 1] == '=';
}

/* The row that `text` is an instance of, or NULL. */
static const struct option *match(const char *text)
{
    for (size_t i = 0; i < COUNT_OF(allowed); i++) {
        const struct option *o = &allowed[i];
        size_t n = strlen(o->text);
        if (!takes_value(o) && !strcmp(o->text, text))
            return o;
        if (takes_value(o) && !strncmp(o->text, text, n)) {
            char *end;
            long value = strtol(text + n, &end, 10);
            /* digits only: strtol would take signs and blanks */
            if (text[n] >= '0' && text[n] <= '9' && !*end && value >= o->least && value <= o->most)
                return o;
        }
    }
    return NULL;
}

static void list_allowed(char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(allowed) && n < size; i++) {
        const struct option *o = &allowed[i];
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", o->text);
        if (takes_value(o) && n < size)
            n += (size_t)snprintf(out + n, size - n, "N (%ld to %ld)", o->least, o->most);
    }
}

void submission_options_check(const json_t *options, enum language language, const char *path,
                              struct faults *faults)
{
    bool seen[COUNT_OF(allowed)] = {false};
    size_t i;
    json_t *v;
    json_array_foreach(options, i, v)
    {
        struct json_path entry = json_at_index(path, i);
        const char *text = json_is_string(v) ? json_string_value(v) : "";
        const struct option *o = strlen(text) == json_string_length(v) ? match(text) : NULL;
        if (!o) {
            char known[256];
            list_allowed(known, sizeof(known));
            faults_add(faults, entry.text, "'%.64s' is not allowed; allowed: %s", text, known);
        } else if (!strstr(o->languages, language_name(language))) {
            faults_add(faults, entry.text, "%s does not apply to language %s", text,
                       language_name(language));
        } else if (seen[o - allowed]) {
            faults_add(faults, entry.text, "%s is given twice", o->text);
        } else {
            seen[o - allowed] = true;
        }
    }
}

json_t *submission_options(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:s, s:s}", "option", allowed[i].text, "least",
                            (json_int_t)allowed[i].least, "most", (json_int_t)allowed[i].most,
                            "languages", allowed[i].languages, "meaning", allowed[i].meaning));
    return list;
}
