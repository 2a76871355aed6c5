/* SPDX-License-Identifier: Apache-2.0
 * What a prompt says of the service is so: contract.md is a list of rules, numbered through, each
 * with what breaking it causes; verdicts that are named exist; an answer of the form that is asked
 * for is taken apart by core/extract.h, and its plan is accepted. */
#include <ctype.h>
#include <string.h>

#include "core/extract.h"
#include "core/feedback.h"
#include "core/pack.h"
#include "core/plan.h"
#include "core/prompt.h"
#include "tests/unit/domain.h"

static const char *const architectures[] = {"sm_90a", "sm_100a"};

static struct prompt build(const char *arch, const char *variant)
{
    struct fault f = {0};
    struct prompt p;
    struct prompt_request q = {.home = home_dir(),
                               .arch = archs_find(&registry.archs, arch),
                               .problem = problems_find(&registry.problems, "gemm"),
                               .variant = variant};
    if (prompt_build(&q, &p, &f) != ERR_NONE)
        fail_msg("%s", f.detail);
    return p;
}

static const char *part_of(const struct prompt *p, const char *component)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->parts[i].component, component))
            return p->parts[i].text;
    fail_msg("no component %s", component);
    return NULL;
}

/* ---- the contract ---- */

/* The number of a rule whose text lacks its other half, or that is out of order; 0: there is none.
 */
static int faulty_rule(const char *text, int *count)
{
    *count = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char *end;
        long number = isdigit((unsigned char)*line) ? strtol(line, &end, 10) : 0;
        if (!number || strncmp(end, ". ", 2) != 0)
            continue;
        const char *other = strstr(line, "*Else");
        if (number != ++*count || !other || other > line + strcspn(line, "\n"))
            return (int)number;
    }
    return 0;
}

static void rules_are_numbered_and_say_what_breaks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int faulty;
    } rows[] = {
        {"# A\n1. Do. *Else:* hang.\n\n2. Do. *Else,* seen: hang.\n", 0},
        {"1. Do. *Else:* hang.\n3. Do. *Else:* hang.\n", 3},
        {"1. Do.\n2. Do. *Else:* hang.\n", 1},
    };
    int count;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(faulty_rule(rows[i].text, &count), rows[i].faulty);
    for (size_t a = 0; a < COUNT_OF(architectures); a++) {
        struct prompt p = build(architectures[a], "contract");
        int faulty = faulty_rule(part_of(&p, "contract"), &count);
        if (faulty)
            fail_msg("%s: rule %d is out of order or does not say what breaking it causes",
                     architectures[a], faulty);
        assert_true(count > 40);
        prompt_release(&p);
    }
}

/* ---- verdicts ---- */

static const struct {
    const char *name, *blame;
} verdicts[] = {
#define VERDICT(name, code, blame, label, meaning) {#name, blame},
#include "core/verdicts.def"
#undef VERDICT
    {"EXTRACTION", "submission"},
    {"PLAN", "submission"},
};

/* Where `word` stands by itself in `text`, or NULL. */
static const char *find_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[n]) || at[n] == '_'))
            return at;
    return NULL;
}

static bool is_verdict(const char *word, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(verdicts); i++)
        if (strlen(verdicts[i].name) == n && !strncmp(verdicts[i].name, word, n))
            return true;
    return false;
}

/* What is called an error is a verdict of that name. */
static void check_errors(const char *component, const char *text)
{
    static const char error[] = "_ERROR";
    for (const char *at = text; (at = strstr(at, error));) {
        const char *word = at;
        while (word > text && (isupper((unsigned char)word[-1]) || word[-1] == '_'))
            word--;
        at += strlen(error);
        if (!is_verdict(word, (size_t)(at - word)))
            fail_msg("%s names %.*s, which no verdict is called", component, (int)(at - word),
                     word);
    }
}

static void verdicts_are_named_as_they_are(void **state)
{
    (void)state;
    struct feedback_turn turn = {.turn = 1, .of = 8};
    json_t *extraction =
        feedback_of_extraction(&turn, &(struct extraction){.state = EXTRACT_NO_BLOCK});
    json_t *plan = feedback_of_plan(&turn, NULL);
    assert_true(is_verdict(json_string_value(json_object_get(extraction, "verdict")), 10));
    assert_true(is_verdict(json_string_value(json_object_get(plan, "verdict")), 4));
    json_decref(extraction);
    json_decref(plan);
    struct prompt p = build("sm_90a", "contract");
    const char *format = part_of(&p, "output_format");
    for (size_t i = 0; i < COUNT_OF(verdicts); i++)
        if (!strcmp(verdicts[i].blame, "submission") && !find_word(format, verdicts[i].name))
            fail_msg("the output format does not name the verdict %s", verdicts[i].name);
    check_errors("output_format", format);
    check_errors("contract", part_of(&p, "contract"));
    prompt_release(&p);
}

/* ---- the answer ---- */

static void accept_plan(const char *arch, const json_t *document)
{
    struct faults faults = {0};
    const struct problem *p = problems_find(&registry.problems, "gemm");
    struct plan *plan = plan_parse(document, p, p->paper_workload,
                                   archs_find(&registry.archs, arch), "$.launch", &faults);
    if (!plan) {
        char *text = json_dumps(faults.items, JSON_INDENT(1));
        fail_msg("%s: %s", arch, text ? text : "");
    }
    plan_free(plan);
    faults_release(&faults);
}

/* The plan that the output format shows is one. */
static void the_plan_shown_is_accepted(void **state)
{
    (void)state;
    for (size_t a = 0; a < COUNT_OF(architectures); a++) {
        struct prompt p = build(architectures[a], "contract");
        struct fault f = {0};
        const char *from = strstr(part_of(&p, "output_format"), "```json\n") + 8;
        const char *to = strstr(from, "```");
        json_t *document = json_parse(from, (size_t)(to - from), &f);
        if (!document)
            fail_msg("%s", f.detail);
        accept_plan(architectures[a], document);
        json_decref(document);
        prompt_release(&p);
    }
}

/* What a plan may hold (core/plan_*.c) can be learnt from the output format. */
static void the_plans_members_are_explained(void **state)
{
    (void)state;
    static const char *const members[] = {"defines",
                                          "buffers",
                                          "tensor_maps",
                                          "launches",
                                          "kernel",
                                          "grid",
                                          "block",
                                          "cluster",
                                          "shared_bytes",
                                          "args",
                                          "cooperative",
                                          "programmatic_dependent",
                                          "i32",
                                          "u32",
                                          "i64",
                                          "u64",
                                          "f16",
                                          "bf16",
                                          "f32",
                                          "f64",
                                          "tensor",
                                          "buffer",
                                          "tensor_map",
                                          "struct",
                                          "offset",
                                          "dtype",
                                          "shape",
                                          "init",
                                          "data",
                                          "launch",
                                          "box",
                                          "swizzle",
                                          "dims",
                                          "strides",
                                          "element_strides",
                                          "interleave",
                                          "l2_promotion",
                                          "oob_fill",
                                          "ceil_div",
                                          "min",
                                          "max",
                                          "align",
                                          "num_sms"};
    struct prompt p = build("sm_90a", "contract");
    const char *format = part_of(&p, "output_format");
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (!find_word(format, members[i]))
            fail_msg("the output format does not explain '%s'", members[i]);
    prompt_release(&p);
}

/* The complete kernel of a prompt, sent back as a model would, is found, and its plan accepted. */
static void an_answer_as_asked_for_is_taken(void **state)
{
    (void)state;
    for (size_t a = 0; a < COUNT_OF(architectures); a++) {
        struct prompt p = build(architectures[a], "complete");
        const char *example = part_of(&p, "example");
        struct buf answer;
        struct extraction x;
        struct fault f = {0};
        buf_init(&answer, MIB);
        buf_addf(&answer, "I load with TMA.\n\n%s\nThat is all.\n", strstr(example, "```cuda\n"));
        extract(answer.data, answer.len, &x);
        assert_int_equal(x.state, EXTRACT_KERNEL);
        json_t *plan = plan_embedded(x.source.data, x.source.len, &f);
        assert_non_null(plan);
        accept_plan(architectures[a], plan);
        json_decref(plan);
        extraction_release(&x);
        extract(answer.data, answer.len - strlen("```\n\nThat is all.\n"), &x);
        assert_int_equal(x.state, EXTRACT_CUT);
        extraction_release(&x);
        buf_release(&answer);
        prompt_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_numbered_and_say_what_breaks),
        cmocka_unit_test(verdicts_are_named_as_they_are),
        cmocka_unit_test(the_plan_shown_is_accepted),
        cmocka_unit_test(the_plans_members_are_explained),
        cmocka_unit_test(an_answer_as_asked_for_is_taken),
    };
    return cmocka_run_group_tests(tests, registry_setup, registry_teardown);
}
