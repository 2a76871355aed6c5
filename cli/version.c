/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench version`, and the words every command fails with. */
#include "cli/commands.h"

#include "cli/options.h"
#include "cli/table.h"
#include "core/util.h"

int cli_failed(const char *command, const struct fault *f)
{
    fprintf(stderr, "ptxbench %s: %s\n", command, f->detail[0] ? f->detail : err_title(f->code));
    return CLI_FAILED;
}

/* One line a thing, "name value", so that scripts can read it too. */
int cmd_version(int argc, char **argv)
{
    enum { JSON };
    static const struct option_row rows[] = {{"json", 'j', NULL, NULL, "print JSON"}};
    static const struct usage u = {
        "version", "", "Prints the version and what this host can do.", rows, COUNT_OF(rows), 0, 0, NULL};
    const char *values[COUNT_OF(rows)], *name;
    int code;
    if (options_read(&u, argc, argv, values, &code) < 0)
        return code;
    json_t *can = json_object(), *value;
    if (can)
        json_object_set_new(can, "ptxbench", json_string(PTXBENCH_VERSION));
    if (values[JSON]) {
        json_print(stdout, can);
    } else {
        printf("ptxbench %s\n", PTXBENCH_VERSION);
        json_object_foreach(can, name, value)
            if (json_is_string(value) && value != json_object_get(can, "ptxbench"))
                printf("%s %s\n", name, json_string_value(value));
    }
    json_decref(can);
    return CLI_OK;
}
