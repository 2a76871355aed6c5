/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench version`: what this program is and what this host can do. Also the words every command
 * fails with. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/sandbox.h"

int cli_failed(const char *command, const struct fault *f)
{
    fprintf(stderr, "ptxbench %s: %s\n", command, f->detail[0] ? f->detail : err_title(f->code));
    return CLI_FAILED;
}

enum { PROBE_BYTES = 4 * KIB };

/* In a child of its own, because confinement is for good. */
static _Noreturn void probe_child(int out)
{
    struct fault f = {0};
    char *text = NULL;
    if (!sandbox_enter(&(struct sandbox_spec){.role = SANDBOX_COMPUTE}, &f))
        text = json_dumps(sandbox_layers(), JSON_COMPACT);
    _exit(text && write_all(out, text, strlen(text)) ? 0 : 1);
}

/* Layers of confinement that a runner gets on this host, as this user: new reference, or NULL if the host
 * does not offer the least. */
static json_t *probe_sandbox(void)
{
    int ends[2];
    struct buf b;
    buf_init(&b, PROBE_BYTES);
    if (pipe(ends))
        return NULL;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        probe_child(ends[1]);
    close(ends[1]);
    for (ssize_t n = 1; child > 0 && n > 0;) {
        char part[256];
        n = read(ends[0], part, sizeof(part));
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            buf_add(&b, part, (size_t)n);
    }
    close(ends[0]);
    if (child > 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    json_t *layers = b.len ? json_parse(b.data, b.len, NULL) : NULL;
    buf_release(&b);
    return layers;
}

/* One line a thing, "name value", so that scripts can read it too. */
static void print_lines(const json_t *can)
{
    const char *name;
    json_t *value, *layer;
    size_t i;
    printf("ptxbench %s\n", PTXBENCH_VERSION);
    json_object_foreach((json_t *)can, name, value)
        if (json_is_string(value))
            printf("%s %s\n", name, json_string_value(value));
    json_array_foreach(json_object_get(can, "sandbox"), i, layer)
        printf("%s%s", i ? ", " : "sandbox ", json_string_value(layer));
    if (i)
        putchar('\n');
}

int cmd_version(int argc, char **argv)
{
    enum { JSON };
    static const struct option_row rows[] = {{"json", 'j', NULL, NULL, "print JSON"}};
    static const struct usage u = {
        "version", "", "Prints the version and what this host can do.", rows, COUNT_OF(rows), 0, 0, NULL};
    const char *values[COUNT_OF(rows)];
    struct fault f = {ERR_NO_MEMORY, "out of memory"};
    int code;
    if (options_read(&u, argc, argv, values, &code) < 0)
        return code;
    json_t *can = compile_capabilities(), *layers = probe_sandbox();
    if (!can || json_object_set_new(can, "sandbox", layers ? layers : json_null())) {
        json_decref(can);
        return cli_failed("version", &f);
    }
    if (!values[JSON]) {
        print_lines(can);
    } else {
        json_object_set_new(can, "ptxbench", json_string(PTXBENCH_VERSION));
        json_print(stdout, can);
    }
    json_decref(can);
    return CLI_OK;
}
