// SPDX-License-Identifier: Apache-2.0
#include "core/words.h"

#include <string.h>

static const struct {
    const char *name;
    int exit_code;
    const char *meaning;
} verdicts[] = {
#define VERDICT(name, exit_code, fault_of, label, meaning) {#name, exit_code, meaning},
#include "core/verdicts.def"
#undef VERDICT
};

static const struct {
    const char *name;
    unsigned bit;
} flag_rows[] = {
#define FLAG(name, bit, meaning) {#name, bit},
#include "core/flags.def"
#undef FLAG
};

static const struct {
    const char *name, *summary;
} stage_rows[] = {
#define STAGE(name, summary) {#name, summary},
#include "core/stages.def"
#undef STAGE
};

const char *verdict_name(enum verdict v)
{
    return verdicts[v].name;
}

const char *verdict_meaning(enum verdict v)
{
    return verdicts[v].meaning;
}

int verdict_exit_code(enum verdict v)
{
    return verdicts[v].exit_code;
}

int verdict_find(const char *name)
{
    for (int v = 0; v < VERDICT_COUNT; v++)
        if (!strcmp(verdicts[v].name, name))
            return v;
    return -1;
}

json_t *flags_names(unsigned flags)
{
    json_t *names = json_array();
    for (size_t i = 0; i < sizeof(flag_rows) / sizeof(flag_rows[0]); i++)
        if (flags & 1u << flag_rows[i].bit)
            json_array_append_new(names, json_string(flag_rows[i].name));
    return names;
}

const char *stage_name(enum stage s)
{
    return stage_rows[s].name;
}

const char *stage_summary(enum stage s)
{
    return stage_rows[s].summary;
}
