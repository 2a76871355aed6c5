/* SPDX-License-Identifier: Apache-2.0
 * evaluator/compile, through the real child: honest sources, hosts without a toolkit, cancelling,
 * and every submission of tests/exploits/compile held against its table. */
#include "evaluator/compile.h"

#include <errno.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/util.h"
#include "evaluator/cuda_paths.h"

#define EXPLOITS PTXBENCH_SOURCE_DIR "/tests/exploits/compile/"

static struct archs archs;
static bool toolkit; /* NVRTC and ptxas are here */

static struct compile_request request_of(const char *language, const char *source)
{
    static const char *const names[] = {"k", NULL};
    return (struct compile_request){.language = language,
                                    .arch = archs_find(&archs, "sm_90a"),
                                    .source = source,
                                    .source_len = strlen(source),
                                    .names = names,
                                    .timeout_ms = 30000,
                                    .wake_fd = -1};
}

static void need_toolkit(void)
{
    if (!toolkit) {
        print_message("no CUDA toolkit on this host\n");
        skip();
    }
}

static void expect(const struct compile_result *r, enum verdict verdict, const char *says)
{
    if (r->verdict != verdict || (says && (!r->detail || !strstr(r->detail, says))))
        fail_msg("%s: %s, not %s: %s\n%.2000s", verdict_name(r->verdict),
                 r->detail ? r->detail : "-", verdict_name(verdict), says ? says : "-",
                 r->log.data ? r->log.data : "");
}

/* ---- honest sources ---- */

static const char every_header[] =
    "#include <cuda.h>\n#include <cudaTypedefs.h>\n#include <cuda_runtime.h>\n#include <cstdint>\n"
    "#include <cassert>\n#include <tuple>\n#include <type_traits>\n#include <limits>\n#include "
    "<float.h>\n"
    "#include <stdint.h>\n#include <stddef.h>\n#include <utility>\n#include <algorithm>\n#include "
    "<cmath>\n"
    "#include <cstdio>\n#include <cuda/barrier>\n#include <cuda/ptx>\n#include <cuda/pipeline>\n"
    "#include <cooperative_groups.h>\n#include <mma.h>\n#include <cuda_bf16.h>\n#include "
    "<cuda_fp16.h>\n"
    "#include <cuda_fp8.h>\n"
    "static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64);\n"
    "static_assert(std::is_same_v<std::tuple_element_t<0, std::tuple<int, float>>, int>);\n"
    "constexpr int up(int a, int b) { return (a + b - 1) / b; }\n"
    "__global__ void k(const __grid_constant__ CUtensorMap m, uint8_t *p, std::uint32_t n, size_t "
    "z) {\n"
    "  assert(n); p[0] = std::min<float>(FLT_MAX, up(n, 3)) + "
    "std::numeric_limits<uint8_t>::max();\n"
    "  cooperative_groups::this_thread_block().sync(); std::swap(p[1], p[2]); printf(\"%d\", "
    "int(UINT8_MAX)); }\n";

static void common_headers_compile(void **state)
{
    (void)state;
    need_toolkit();
    struct compile_request q = request_of("cuda", every_header);
    struct compile_result r;
    compile_run(&q, &r);
    expect(&r, VERDICT_PASSED, NULL);
    assert_true(r.ptx.len > 1000 && r.cubin.len > 1000);
    assert_non_null(strstr(r.ptx.data, ".target sm_90a"));
    assert_int_equal(r.kernel_count, 1);
    assert_non_null(strstr(compile_symbol(&r, "k"), "k14CUtensorMap"));
    assert_null(compile_symbol(&r, "other"));
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(r.kernel_table, 0), "param_bytes")), 200);
    compile_result_release(&r);
}

/* {kernel, block, arguments} as plan_parse would leave them. */
static struct plan *small_plan(const char *kernel, size_t arg_count)
{
    struct plan *plan = calloc(1, sizeof *plan);
    struct plan_launch *l = &plan->launches[plan->launch_count++];
    *l = (struct plan_launch){.kernel = strdup(kernel),
                              .grid = {1, 1, 1},
                              .block = {128, 1, 1},
                              .cluster = {0, 1, 1},
                              .arg_count = arg_count};
    l->args = calloc(arg_count, sizeof *l->args);
    for (size_t i = 0; i < arg_count; i++)
        l->args[i] = (struct plan_arg){.kind = ARG_TENSOR, .size = 8, .align = 8};
    plan->defines[plan->define_count++] = (struct plan_define){"VALUE", -7};
    return plan;
}

static void compiles(const char *source, const char *kernel, size_t args,
                     const char *const *options, enum verdict verdict, const char *says)
{
    struct compile_request q = request_of("cuda", source);
    struct compile_result r;
    struct plan *plan = small_plan(kernel, args);
    q.plan = plan, q.names = NULL, q.options = options;
    compile_run(&q, &r);
    expect(&r, verdict, says);
    if (verdict == VERDICT_LAUNCH_ERROR)
        assert_int_equal(r.stage, STAGE_inspect);
    compile_result_release(&r);
    plan_free(plan);
}

static void the_plan_is_held_against_the_module(void **state)
{
    (void)state;
    need_toolkit();
    static const char source[] =
        "template <int N> __global__ void __launch_bounds__(128) k(float *p, float *q) {"
        " static_assert(VALUE == -7); p[N] = q[0]; }"
        "namespace ns { extern \"C\" __global__ void plain(float *p) { p[0] = 1; } }";
    compiles(source, "k<3>", 2, NULL, VERDICT_PASSED, NULL);
    compiles(source, "ns::plain", 1, NULL, VERDICT_PASSED, NULL);
    compiles(source, "k<3>", 1, NULL, VERDICT_LAUNCH_ERROR, "takes 2 arguments, the plan gives 1");
    compiles(source, "missing<3>", 1, NULL, VERDICT_LAUNCH_ERROR, "the module has: plain");
    compiles(source, "k", 1, NULL, VERDICT_LAUNCH_ERROR, "kernel k: there is no such kernel");
    compiles(source, "k<3>\n#include \"/etc/passwd\"\n", 1, NULL, VERDICT_LAUNCH_ERROR,
             "not a name expression");
    compiles(source, "k<3>", 2, (const char *const[]){"-maxrregcount=32", "--use_fast_math", NULL},
             VERDICT_PASSED, NULL);
}

static void options_that_touch_files_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"--time=/tmp/escaped",
                                      "-I/",
                                      "--pre-include=/etc/passwd",
                                      "--create-pch=/tmp/escaped",
                                      "--fdevice-time-trace=/tmp/escaped",
                                      "-maxrregcount=64 -I/"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct compile_request q = request_of(
            "ptx",
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n");
        struct compile_result r;
        q.options = (const char *const[]){bad[i], NULL};
        compile_run(&q, &r);
        expect(&r, VERDICT_REJECTED, "is not allowed");
        compile_result_release(&r);
    }
    assert_int_not_equal(access("/tmp/escaped", F_OK), 0);
}

static const char small_ptx[] =
    "// a comment /* in a comment\n.version 8.0\n/* .target sm_80 */ .target sm_90a, "
    "texmode_independent\n"
    ".address_size 64\n.visible .entry k(.param .u64 p) .maxntid 128, 1, 1\n{\n ret;\n}\n";

static void ptx_assembles(void **state)
{
    (void)state;
    need_toolkit();
    struct compile_request q = request_of("ptx", small_ptx);
    struct compile_result r;
    compile_run(&q, &r);
    expect(&r, VERDICT_PASSED, NULL);
    assert_true(r.cubin.len > 0);
    assert_null(r.no_cubin_reason);
    assert_string_equal(compile_symbol(&r, "k"), "k");
    assert_int_equal(r.ptx.len, strlen(small_ptx));
    compile_result_release(&r);
    q = request_of("ptx", ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry "
                          "k()\n{\n  nonsense.b32;\n}\n");
    compile_run(&q, &r);
    expect(&r, VERDICT_COMPILE_ERROR, "line 6: ");
    assert_non_null(strstr(r.log.data, "ptxas kernel.ptx, line 6"));
    assert_null(strstr(r.log.data, "scratch"));
    compile_result_release(&r);
}

/* ---- hosts and callers ---- */

static void without_a_toolkit_ptx_still_works(void **state)
{
    (void)state;
    const char *before = getenv("CUDA_HOME");
    char *saved = before ? strdup(before) : NULL;
    setenv("CUDA_HOME", "/nonexistent", 1);
    struct compile_request q = request_of("cuda", "__global__ void k() {}");
    struct compile_result r;
    compile_run(&q, &r);
    expect(&r, VERDICT_INFRA_ERROR, "NVRTC is not installed");
    assert_int_equal(r.error, ERR_UNAVAILABLE);
    compile_result_release(&r);
    q = request_of("ptx", small_ptx);
    compile_run(&q, &r);
    expect(&r, VERDICT_PASSED, NULL);
    assert_int_equal(r.cubin.len, 0);
    assert_non_null(strstr(r.no_cubin_reason, "not installed"));
    compile_result_release(&r);
    q = request_of("ptx", ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry "
                          "k()\n{\n  nonsense.b32;\n}\n");
    compile_run(&q, &r);
    expect(&r, VERDICT_COMPILE_ERROR, "6:");
    compile_result_release(&r);
    json_t *found = compile_capabilities();
    assert_true(json_is_null(json_object_get(found, "nvrtc")));
    json_decref(found);
    if (saved)
        setenv("CUDA_HOME", saved, 1);
    else
        unsetenv("CUDA_HOME");
    free(saved);
}

static bool refuse(void *arg)
{
    return ++*(int *)arg < 3;
}

static void a_caller_can_cancel(void **state)
{
    (void)state;
    need_toolkit();
    int ticks = 0;
    struct buf bomb;
    buf_init(&bomb, LIMIT_SOURCE);
    assert_int_equal(read_file(EXPLOITS "macro_bomb.cu", &bomb, NULL), ERR_NONE);
    struct compile_request q = request_of("cuda", bomb.data);
    struct compile_result r;
    q.tick = refuse, q.arg = &ticks;
    compile_run(&q, &r);
    expect(&r, VERDICT_CANCELLED, NULL);
    assert_true(r.wall_ms < 5000);
    compile_result_release(&r);
    buf_release(&bomb);
}

/* Deep nesting ends a recursive-descent parser's stack: its death is the source's fault. */
static void a_crash_is_the_sources_fault(void **state)
{
    (void)state;
    need_toolkit();
    struct buf source;
    buf_init(&source, LIMIT_SOURCE);
    buf_adds(&source, "__global__ void k(int *p) { p[0] = ");
    for (int i = 0; i < 300000; i++)
        buf_adds(&source, "(");
    buf_adds(&source, "1");
    for (int i = 0; i < 300000; i++)
        buf_adds(&source, ")");
    buf_adds(&source, "; }");
    struct compile_request q = request_of("cuda", source.data);
    struct compile_result r;
    compile_run(&q, &r);
    expect(&r, VERDICT_COMPILE_ERROR, NULL);
    compile_result_release(&r);
    buf_release(&source);
}

/* First child of a process, or 0. */
static pid_t child_of(pid_t pid)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "r");
    if (file && !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        fclose(file);
    return (pid_t)strtol(text, NULL, 10);
}

static bool is_alive(pid_t pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    const char *state = read ? strrchr(line, ')') : NULL;
    return state && state[2] != 'Z';
}

/* A process that compiles what takes long, and its compile child, well into confinement. It exits
 * with the verdict. */
static pid_t begin_long_compile(pid_t *child)
{
    struct buf bomb;
    buf_init(&bomb, LIMIT_SOURCE);
    assert_int_equal(read_file(EXPLOITS "template_bomb.cu", &bomb, NULL), ERR_NONE);
    fflush(stdout);
    pid_t parent = fork();
    if (parent == 0) {
        struct compile_request q = request_of("cuda", bomb.data);
        struct compile_result r;
        compile_run(&q, &r);
        _exit((int)r.verdict);
    }
    buf_release(&bomb);
    *child = 0;
    for (int i = 0; i < 200 && !*child; i++) {
        usleep(20 * 1000);
        *child = child_of(parent);
    }
    usleep(500 * 1000);
    assert_true(*child > 0 && is_alive(*child));
    return parent;
}

/* The child changed its user id and namespaces since it was started: it must die all the same. */
static void the_child_dies_with_its_parent(void **state)
{
    (void)state;
    need_toolkit();
    pid_t child, parent = begin_long_compile(&child);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < 250 && is_alive(child); i++)
        usleep(20 * 1000);
    assert_false(is_alive(child));
}

static void a_killed_child_is_not_the_sources_fault(void **state)
{
    (void)state;
    need_toolkit();
    pid_t child, parent = begin_long_compile(&child);
    int status = 0;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(WIFEXITED(status));
    assert_string_equal(verdict_name((enum verdict)WEXITSTATUS(status)), "INFRA_ERROR");
}

/* Containers refuse namespaces and mounts, some kernels lack Landlock, and not everybody is root.
 */
static const struct host {
    const char *name;
    bool namespaces, landlock, root;
    bool headers; /* can <cuda_fp16.h> be shown safely? */
} hosts[] = {
    {"an ordinary user", true, true, false, true},
    {"a container", false, true, true, true},
    {"a container without Landlock", false, false, true, true},
    {"a container of an ordinary user", false, true, false, true},
    {"nothing at all", false, false, false, false},
};

static bool become(const struct host *h)
{
    static const int mounts[] = {SCMP_SYS(unshare), SCMP_SYS(mount), SCMP_SYS(pivot_root)};
    if (!h->root && geteuid() == 0 && (setresgid(1234, 1234, 1234) || setresuid(1234, 1234, 1234)))
        return false;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    for (size_t i = 0; !h->namespaces && i < COUNT_OF(mounts); i++)
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), mounts[i], 0);
    if (!h->landlock)
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), 444, 0); /* landlock_create_ruleset */
    bool ok = seccomp_load(filter) == 0;
    seccomp_release(filter);
    return ok;
}

/* Exit status 0, or the number of the step that went wrong. */
static int compile_on(const struct host *h)
{
    if (!become(h))
        return 1;
    struct compile_request q = request_of("cuda", "__global__ void k(int *p) { p[0] = 1; }");
    struct compile_result r;
    compile_run(&q, &r);
    if (r.verdict != VERDICT_PASSED)
        return fprintf(stderr, "%s: %s\n", h->name, r.detail), 2;
    q = request_of("cuda", "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n__global__ "
                           "void k(__half *p) { p[0] = 1; }");
    compile_run(&q, &r);
    if (r.verdict != (h->headers ? VERDICT_PASSED : VERDICT_COMPILE_ERROR))
        return fprintf(stderr, "%s: %s\n", h->name, r.detail), 3;
    q = request_of("cuda", "#include \"/etc/passwd\"\n__global__ void k() {}");
    compile_run(&q, &r);
    if (r.verdict != VERDICT_COMPILE_ERROR || strstr(r.log.data, "root:x"))
        return fprintf(stderr, "%s: %s\n", h->name, r.detail), 4;
    q = request_of("ptx", small_ptx);
    compile_run(&q, &r);
    if (r.verdict != VERDICT_PASSED || !r.cubin.len)
        return fprintf(stderr, "%s: %s\n%s", h->name, r.detail, r.log.len ? r.log.data : ""), 5;
    return 0;
}

static void poor_hosts_compile_too(void **state)
{
    (void)state;
    need_toolkit();
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        if (hosts[i].root && geteuid() != 0)
            continue;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            _exit(compile_on(&hosts[i]));
        int status = -1;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            fail_msg("%s: step %d", hosts[i].name, WEXITSTATUS(status));
    }
}

static int load(void **state)
{
    (void)state;
    struct cuda_paths paths;
    struct fault f;
    toolkit = cuda_paths_find(&paths) && paths.nvrtc[0] && paths.ptxas[0];
    if (archs_load(&archs, home_dir(), &f) == ERR_NONE)
        return 0;
    fprintf(stderr, "%s\n", f.detail);
    return -1;
}

static int drop(void **state)
{
    (void)state;
    archs_release(&archs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_headers_compile),
        cmocka_unit_test(the_plan_is_held_against_the_module),
        cmocka_unit_test(options_that_touch_files_are_refused),
        cmocka_unit_test(ptx_assembles),
        cmocka_unit_test(without_a_toolkit_ptx_still_works),
        cmocka_unit_test(a_caller_can_cancel),
        cmocka_unit_test(a_crash_is_the_sources_fault),
        cmocka_unit_test(the_child_dies_with_its_parent),
        cmocka_unit_test(a_killed_child_is_not_the_sources_fault),
        cmocka_unit_test(poor_hosts_compile_too),
    };
    return cmocka_run_group_tests(tests, load, drop);
}
