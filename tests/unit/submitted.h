/* SPDX-License-Identifier: Apache-2.0
 * Submissions of a test and what becomes of them: created, claimed, delivered. */
#ifndef TESTS_SUBMITTED_H
#define TESTS_SUBMITTED_H

#include <string.h>

#include "database.h"

static inline void create(struct db *db, struct new_submission s, struct created_submission *out)
{
    assert_ok(store_submission_create(db, &s, out, f));
}

static inline const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "(none)";
}

static inline bool claim(struct db *db, struct job *j)
{
    bool got;
    assert_ok(queue_claim(db, "host:1:1", "{sm_90a/cpu,sm_100a/cpu}", 30000, j, &got, f));
    return got;
}

static inline bool deliver(struct db *db, const struct job *j, const char *report)
{
    bool mine;
    struct delivery d = {.job = j, .report = report, .report_len = strlen(report)};
    d.infra = strstr(report, "INFRA_ERROR") != NULL;
    d.ptx = (struct artefact){".version 8.0", 12};
    d.cubin = (struct artefact){"\177ELF\0\1", 6};
    assert_ok(store_deliver(db, &d, &mine, f));
    return mine;
}

/* Creates, claims and delivers; the id is in `out`. */
static inline void evaluated(struct db *db, struct new_submission s, const char *report,
                      struct created_submission *out)
{
    struct job j;
    create(db, s, out);
    assert_true(claim(db, &j));
    assert_string_equal(j.submission_id, out->id);
    assert_true(deliver(db, &j, report));
    job_release_memory(&j);
}

#endif
