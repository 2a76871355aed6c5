/* SPDX-License-Identifier: Apache-2.0
 * What an architecture's folder says is so: every code block of every document compiles, nothing is
 * named that does not exist, every function of the headers has its comment, the examples fit their
 * plans. */
#include <ctype.h>

#include "core/pack.h"
#include "evaluator/compile.h"
#include "evaluator/cuda_paths.h"
#include "tests/unit/domain.h"

static bool toolkit;

static const char *const architectures[] = {"sm_90a", "sm_100a"};

static const char *line_above(const char *text, const char *line)
{
    if (line == text)
        return NULL;
    for (line--; line > text && line[-1] != '\n'; line--)
        ;
    return line;
}

static bool is_comment(const char *line)
{
    return !strncmp(line + strspn(line, " "), "//", 2);
}

/* The comment that stands right above the declaration at `at` (and its template line) says what it
 * emits. */
static bool has_comment(const char *text, const char *at)
{
    const char *line = at, *first = NULL;
    while (line > text && line[-1] != '\n')
        line--;
    while (line && *line != '\n' && !is_comment(line))
        line = line_above(text, line);
    for (; line && *line != '\n' && is_comment(line); line = line_above(text, line))
        first = line;
    const char *says = first ? strstr(first, "PTX:") : NULL;
    return says && says < at;
}

static void every_function_has_its_comment(void **state)
{
    (void)state;
    static const char marker[] = "__device__ __forceinline__ ";
    static const char bad[] =
        "// Does. PTX: x\nint f();\n\ntemplate <int N>\nint g();\n\n// Said.\nint h();\n";
    assert_true(has_comment(bad, strstr(bad, "f(")));
    assert_false(has_comment(bad, strstr(bad, "g(")));
    assert_false(has_comment(bad, strstr(bad, "h(")));
    for (size_t a = 0; a < COUNT_OF(architectures); a++) {
        struct pack_files headers = {0};
        assert_int_equal(pack_headers(&headers, home_dir(), architectures[a], NULL), ERR_NONE);
        for (size_t h = 0; h < headers.count; h++) {
            const char *text = headers.items[h].text;
            if (strstr(headers.items[h].name, "_operands"))
                continue;
            for (const char *at = text; (at = strstr(at, marker)); at++)
                if (!has_comment(text, at))
                    fail_msg("%s: no comment with its PTX above %.60s", headers.items[h].name,
                             at + strlen(marker));
        }
        pack_release(&headers);
    }
}

/* ---- documents ---- */

/* Names that documents may use beside the headers': of CUDA, of the plan, of the problem. */
static const char *const known[] = {
    "__grid_constant__",
    "__launch_bounds__",
    "__syncthreads",
    "__shfl_xor_sync",
    "__global__",
    "static_assert",
    "shared_bytes",
    "buffers",
    "programmatic_dependent",
    "launches",
    "kernel",
    "grid",
    "block",
    "cluster",
    "cooperative",
    "args",
    "tensor",
    "buffer",
    "tensor_map",
    "tensor_maps",
    "box",
    "swizzle",
    "dims",
    "strides",
    "init",
    "cuda",
    "num_sms",
    "ceil_div",
    "loose",
    "empty",
    "full",
    "done",
    "taken",
    "const",
    "code",
    "assert",
    "main",
    "malloc",
    "i32",
    "u32",
    "i64",
    "u64",
    "f32",
    "f64",
    "offset",
    "struct",
    "element_strides",
    "interleave",
    "l2_promotion",
    "oob_fill",
    "defines",
    "dtype",
    "min",
    "max",
    "align",
};

static bool word_in(const char *text, const char *word, size_t n)
{
    for (const char *at = text; at && (at = strstr(at, word)); at += n) {
        bool before = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool after = isalnum((unsigned char)at[n]) || at[n] == '_';
        if (!before && !after)
            return true;
    }
    return false;
}

/* The first identifier of an inline code span is known, declared in the headers, or stands in a
 * code block of the same document. `code`: headers and blocks. Types of the reader's own
 * (capitals), numbers, PTX and JSON are no names. */
static bool span_is_known(const char *span, size_t len, const char *code)
{
    char name[128];
    size_t n = 0;
    while (n < len && n + 1 < sizeof name && (isalnum((unsigned char)span[n]) || span[n] == '_'))
        n++;
    if (n < 2 || !(islower((unsigned char)span[0]) || span[0] == '_') ||
        (n < len && !strchr("(<= ", span[n])))
        return true;
    snprintf(name, sizeof name, "%.*s", (int)n, span);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (!strcmp(known[i], name))
            return true;
    return word_in(code, name, n);
}

static void check_spans(const char *file, const char *text, const char *code)
{
    bool fenced = false;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        if (!strncmp(line, "```", 3)) {
            fenced = !fenced;
            continue;
        }
        for (size_t i = 0; i < len && !fenced; i++) {
            if (line[i] != '`')
                continue;
            const char *end = memchr(line + i + 1, '`', len - i - 1);
            if (!end)
                fail_msg("%s: a backquote is not closed: %.60s", file, line);
            size_t span = (size_t)(end - line) - i - 1;
            if (!span_is_known(line + i + 1, span, code))
                fail_msg("%s names `%.*s`, which does not exist", file, (int)span, line + i + 1);
            i = (size_t)(end - line);
        }
    }
}

/* The blocks tagged `tag` of a document, one behind the other; how many. */
static int blocks_of(const char *text, const char *tag, struct buf *out)
{
    int count = 0;
    char head[32];
    snprintf(head, sizeof head, "```%s\n", tag);
    for (const char *at = text; (at = strstr(at, head)); count++) {
        at += strlen(head);
        const char *end = strstr(at, "\n```");
        assert_non_null(end);
        buf_add(out, at, (size_t)(end + 1 - at));
    }
    return count;
}

static int fences_of(const char *text)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, "```")); at += 3)
        count++;
    return count / 2;
}

static void add_headers(const char *arch, struct buf *includes, struct buf *texts)
{
    struct pack_files headers = {0};
    assert_int_equal(pack_headers(&headers, home_dir(), arch, NULL), ERR_NONE);
    for (size_t i = 0; i < headers.count; i++) {
        buf_addf(includes, "#include <ptxbench/%s>\n", headers.items[i].name);
        buf_add(texts, headers.items[i].text, headers.items[i].len);
    }
    buf_adds(includes, "#include <cuda_bf16.h>\nusing namespace ptxbench;\n");
    pack_release(&headers);
}

static void compile(const char *arch, const char *file, const struct buf *source,
                    const struct plan *plan, struct compile_result *r)
{
    struct compile_request q = {.language = "cuda",
                                .arch = archs_find(&registry.archs, arch),
                                .source = source->data,
                                .source_len = source->len,
                                .plan = plan,
                                .names = plan ? NULL : (const char *const[]){"nothing", NULL},
                                .timeout_ms = 120 * 1000,
                                .wake_fd = -1};
    compile_run(&q, r);
    if (r->verdict != VERDICT_PASSED)
        fail_msg("%s for %s: %s\n%.2000s", file, arch, r->detail, r->log.data ? r->log.data : "");
}

/* Blocks tagged json are launch plans. */
static void check_plans(const char *text)
{
    static const char *const members[] = {"defines", "buffers", "tensor_maps", "launches"};
    struct buf plan;
    struct fault f = {0};
    buf_init(&plan, LIMIT_SOURCE);
    if (blocks_of(text, "json", &plan)) {
        json_t *v = json_parse(plan.data, plan.len, &f);
        if (!v)
            fail_msg("%s", f.detail);
        const char *key;
        json_t *member;
        json_object_foreach(v, key, member)
        {
            bool is_member = false;
            for (size_t i = 0; i < COUNT_OF(members); i++)
                is_member |= !strcmp(members[i], key);
            assert_true(is_member);
        }
        json_decref(v);
    }
    buf_release(&plan);
}

/* A kernel that takes the address of every function of `blocks`, so that all of them are assembled.
 */
static void add_caller(const char *blocks, struct buf *source)
{
    buf_adds(source, "extern \"C\" __global__ void nothing(const void **p) {\n");
    for (const char *line = blocks; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (!strncmp(line, "__device__ ", 11)) {
            const char *end = line + strcspn(line, "("), *start = end;
            while (isalnum((unsigned char)start[-1]) || start[-1] == '_')
                start--;
            buf_addf(source, "*p++ = (const void *)&%.*s;\n", (int)(end - start), start);
        }
    buf_adds(source, "}\n");
}

/* Code of one document: its blocks compile after all headers of the architecture. */
static void check_document(const char *arch, const char *file, const char *text)
{
    struct buf source, code;
    buf_init(&source, LIMIT_SOURCE);
    buf_init(&code, 4 * MIB);
    add_headers(arch, &source, &code);
    size_t head = source.len;
    int blocks = blocks_of(text, "cuda", &source), plans = blocks_of(text, "json", &code);
    check_plans(text);
    assert_int_equal(fences_of(text),
                     blocks + plans); /* no block is of another kind, so none goes unchecked */
    buf_add(&code, source.data, source.len);
    check_spans(file, text, code.data);
    if (blocks && toolkit) {
        struct compile_result r;
        struct buf copy;
        buf_init(&copy, LIMIT_SOURCE);
        buf_add(&copy, source.data + head, source.len - head);
        add_caller(copy.data, &source);
        buf_release(&copy);
        compile(arch, file, &source, NULL, &r);
        compile_result_release(&r);
    }
    buf_release(&source);
    buf_release(&code);
}

static void a_wrong_name_is_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *span;
        bool known;
    } rows[] = {{"wgmma_wait<0>", true},
                {"wgmma_wiat<0>", false},
                {"wgmma_wait", true},
                {"mbarrier_arrive_remote(b)", false},
                {"Di", true},
                {"-std=c++20", true},
                {"grid", true},
                {"gird", false},
                {"wgmma.mma_async", true}};
    struct buf includes, code;
    buf_init(&includes, MIB);
    buf_init(&code, MIB);
    add_headers("sm_90a", &includes, &code);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (span_is_known(rows[i].span, strlen(rows[i].span), code.data) != rows[i].known)
            fail_msg("%s", rows[i].span);
    buf_release(&includes);
    buf_release(&code);
}

static void check_folder(const char *arch, const char *folder)
{
    char path[512];
    struct pack_files files = {0};
    snprintf(path, sizeof path, "%s/arch/%s", home_dir(), folder);
    assert_int_equal(pack_add_folder(&files, path, ".md", NULL), ERR_NONE);
    assert_true(files.count > 0);
    for (size_t i = 0; i < files.count; i++)
        check_document(arch, files.items[i].name, files.items[i].text);
    pack_release(&files);
}

static void documents_hold(void **state)
{
    (void)state;
    for (size_t a = 0; a < COUNT_OF(architectures); a++) {
        char own[64];
        check_folder(architectures[a], architectures[a]);
        snprintf(own, sizeof own, "%s/hints", architectures[a]);
        check_folder(architectures[a], own);
        check_folder(architectures[a], "common");
        check_folder(architectures[a], "common/hints");
    }
}

static struct buf read_example(const char *arch)
{
    char path[512];
    struct buf source;
    buf_init(&source, LIMIT_SOURCE);
    snprintf(path, sizeof path, "%s/arch/%s/examples/gemm.cu", home_dir(), arch);
    assert_int_equal(read_file(path, &source, NULL), ERR_NONE);
    return source;
}

static void examples_compile_with_their_plan(void **state)
{
    (void)state;
    static const char *const families[] = {"gmma", "tcgen05_mma"};
    if (!toolkit)
        skip();
    for (size_t a = 0; a < COUNT_OF(architectures); a++) {
        struct buf source = read_example(architectures[a]);
        json_t *body =
            json_pack("{s:s, s:s, s:s, s:s, s:s}", "problem", "gemm", "arch", architectures[a],
                      "device", "cpu", "mode", "compile", "source", source.data);
        struct submission s;
        struct faults faults = {0};
        char first[LIMIT_DETAIL];
        if (!submission_parse(&registry, body, &s, &faults))
            fail_msg("%s", faults_first(&faults, first, sizeof first));
        struct compile_result r;
        compile(architectures[a], "gemm.cu", &source, s.plan, &r);
        assert_int_equal(json_array_size(json_object_get(r.compiler, "warnings")), 0);
        const json_t *family = json_object_get(r.families, families[a]);
        assert_true(json_integer_value(json_object_get(family, "static")) > 0);
        compile_result_release(&r);
        submission_release(&s);
        json_decref(body);
        buf_release(&source);
    }
}

static int load_all(void **state)
{
    struct cuda_paths paths;
    toolkit = cuda_paths_find(&paths) && paths.nvrtc[0] && paths.ptxas[0];
    return registry_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_has_its_comment),
        cmocka_unit_test(a_wrong_name_is_noticed),
        cmocka_unit_test(documents_hold),
        cmocka_unit_test(examples_compile_with_their_plan),
    };
    return cmocka_run_group_tests(tests, load_all, registry_teardown);
}
