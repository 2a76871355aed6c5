/* SPDX-License-Identifier: Apache-2.0
 * The table of instruction forms: those said to be executed decode to ops that execute them, which
 * they do here once, on values at the edges, for the sanitizers to see; those said to be rejected end
 * the launch with a message that names them and says why. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/forms.h"

struct tally_of_forms {
    size_t executed, rejected, wrong;
};

enum { SHOWN = 40 };

static void wrong(struct tally_of_forms *t, const char *form, const char *what, const char *detail)
{
    if (t->wrong++ < SHOWN)
        print_error("%s: %s%s%s\n", form, what, detail[0] ? ": " : "", detail);
}

static void check(const char *form, const char *reason, void *arg)
{
    struct tally_of_forms *t = arg;
    char detail[PTXVM_DETAIL], name[FORM_TEXT];
    enum ptxvm_status status;
    enum form_result result = form_try(form, true, &status, detail, sizeof detail);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(form, " "), form);
    if (!reason && result != FORM_EXECUTED)
        wrong(t, form, "is not executed", detail);
    else if (!reason && status == PTXVM_UNSUPPORTED)
        wrong(t, form, "is not executed", detail);
    else if (reason && result != FORM_REJECTED)
        wrong(t, form, "is not rejected", detail);
    else if (reason && (!strstr(detail, name) || !strstr(detail, reason)))
        wrong(t, form, "is rejected in other words", detail);
    t->executed += !reason;
    t->rejected += reason != NULL;
}

static void every_form_does_what_the_table_says(void **state)
{
    (void)state;
    struct tally_of_forms t = {0};
    assert_true(forms_each(check, &t));
    print_message("%zu forms are executed, %zu rejected by name\n", t.executed, t.rejected);
    assert_int_equal(t.wrong, 0);
    assert_true(t.executed > 5000 && t.rejected > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form_does_what_the_table_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
