// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of trajectories. What is accepted must come out of an export of it again.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/trajectory.h"
#include "core/util.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The trajectory as the database would give it of this import. */
static json_t *stored(const json_t *imported, const json_t *trajectory)
{
    json_t *t = json_copy((json_t *)trajectory), *prompt;
    size_t i;
    json_array_foreach(
        json_object_get(imported, "prompts"), i,
        prompt) if (json_equal(json_object_get(prompt, "variant"), json_object_get(t, "variant")))
    {
        json_object_set(t, "variant_name", json_object_get(prompt, "name"));
        json_object_set(t, "system", json_object_get(prompt, "system"));
        json_object_set(t, "task", json_object_get(prompt, "task"));
    }
    json_object_set_new(t, "state", json_string("done"));
    return t;
}

static void round_trip(const struct registry *r, const struct trajectory_import *given,
                       json_t *imported)
{
    struct buf lines;
    struct faults faults = {0};
    json_t *run = json_copy(json_object_get(imported, "run")), *trajectory, *again;
    size_t i;
    buf_init(&lines, TRAJECTORY_BYTES);
    json_object_set(run, "variants", json_object_get(imported, "prompts"));
    json_array_foreach(json_object_get(imported, "trajectories"), i, trajectory)
    {
        json_t *t = stored(imported, trajectory), *document = trajectory_export(run, t);
        char *text = json_canonical(document);
        check(text != NULL);
        buf_addf(&lines, "%s\n", text);
        free(text);
        json_decref(document);
        json_decref(t);
    }
    check(!lines.failed);
    check(trajectory_import(r, lines.data, lines.len, given, &again, &faults));
    check(json_equal(imported, again));
    buf_release(&lines);
    json_decref(again);
    json_decref(imported);
    json_decref(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct trajectory_import given = {.problem = "gemm", .model = "m"};
    static struct registry registry;
    if (!registry.problems.count)
        check(registry_load(&registry, home_dir(), NULL) == ERR_NONE);
    struct faults faults = {0};
    json_t *imported;
    if (trajectory_import(&registry, (const char *)data, size, &given, &imported, &faults))
        round_trip(&registry, &given, imported);
    else
        check_faults(&faults);
    return 0;
}
