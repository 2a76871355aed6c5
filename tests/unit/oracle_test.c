// SPDX-License-Identifier: Apache-2.0
/* The PTX of each problem's oracle is its source, compiled: compiles again where NVRTC 13.0 is
 * installed and compares every byte. After a change of the source: PTXBENCH_WRITE=1 oracle_test
 * writes the new PTX. Problems may share an oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"

#define HEADER                                                                                     \
    "// SPDX-License-Identifier: Apache-2.0\n"                                                     \
    "// Made from %s by tests/unit/oracle_test.c; do not edit.\n"

static struct registry registry;

static void read_part(const struct problem *p, const char *name, struct buf *out)
{
    char path[512];
    buf_init(out, LIMIT_PTX);
    snprintf(path, sizeof(path), "%s/%s", p->folder, name);
    if (read_file(path, out, NULL) != ERR_NONE)
        buf_clear(out);
}

static void write_ptx(const struct problem *p, const struct buf *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", p->folder, p->oracle_ptx);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text->data, 1, text->len, file), text->len);
    assert_int_equal(fclose(file), 0);
}

static void check_problem(const struct problem *p, const struct arch *arch)
{
    struct faults faults = {0};
    struct problem as_oracle;
    struct buf source, ptx, fresh;
    problem_as_oracle(p, &as_oracle);
    struct plan *plan =
        plan_parse(p->oracle_launch, &as_oracle, p->cpu_workload, arch, "$.oracle.launch", &faults);
    assert_non_null(plan);
    read_part(p, p->oracle_source, &source);
    read_part(p, p->oracle_ptx, &ptx);
    struct compile_request request = {.language = "cuda", .arch = arch, .source = source.data,
                                      .source_len = source.len, .plan = plan, .wake_fd = -1};
    struct compile_result made;
    compile_run(&request, &made);
    if (made.verdict != VERDICT_PASSED)
        fail_msg("%s: %s\n%s", p->name, made.detail, made.log.data ? made.log.data : "");
    buf_init(&fresh, LIMIT_PTX);
    const char *slash = strrchr(p->oracle_source, '/');
    buf_addf(&fresh, HEADER, slash ? slash + 1 : p->oracle_source);
    buf_add(&fresh, made.ptx.data, made.ptx.len);
    if (getenv("PTXBENCH_WRITE"))
        write_ptx(p, &fresh);
    else
        assert_string_equal(ptx.data, fresh.data);
    compile_result_release(&made);
    buf_release(&fresh);
    buf_release(&ptx);
    buf_release(&source);
    plan_free(plan);
}

static void oracles_are_what_their_source_compiles_to(void **state)
{
    (void)state;
    json_t *can = compile_capabilities();
    const char *nvrtc = json_string_value(json_object_get(can, "nvrtc"));
    bool known = nvrtc && !strncmp(nvrtc, "13.0", 4);
    if (!known)
        print_message("skipped: needs NVRTC 13.0, here is %s\n", nvrtc ? nvrtc : "none");
    json_decref(can);
    if (!known)
        skip();
    const struct arch *arch = archs_find(&registry.archs, "sm_90a");
    assert_non_null(arch);
    for (size_t i = 0; i < registry.problems.count; i++)
        check_problem(&registry.problems.items[i], arch);
}

static int set_up(void **state)
{
    (void)state;
    return registry_load(&registry, home_dir(), NULL) == ERR_NONE ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    registry_release(&registry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(oracles_are_what_their_source_compiles_to)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
