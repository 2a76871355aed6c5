// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request body, once as JSON and once as a bare source. What is accepted must
// survive the way to a worker and back unchanged.
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/submission.h"
#include "core/text.h"
#include "core/util.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct registry *r, struct submission *s)
{
    struct submission back;
    struct faults faults = {0};
    json_t *document = submission_document(s);
    char *text = json_canonical(document);
    json_t *stored = text ? json_parse(text, strlen(text), NULL) : NULL;
    check(stored && submission_from_document(r, stored, s->source, s->source_len, &back, &faults));
    json_t *again = submission_document(&back);
    check(json_equal(document, again));
    check(text_is_utf8(back.source, back.source_len));
    json_decref(again);
    json_decref(stored);
    json_decref(document);
    free(text);
    submission_release(&back);
    submission_release(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct registry registry;
    static json_t *query;
    if (!query) {
        check(registry_load(&registry, home_dir(), NULL) == ERR_NONE);
        query = json_pack("{s:s, s:s, s:s}", "problem", "gemm", "arch", "sm_90a", "device", "cpu");
    }
    struct submission s;
    struct faults faults = {0};
    json_t *body = json_parse((const char *)data, size, NULL);
    if (body && submission_parse(&registry, body, &s, &faults))
        round_trip(&registry, &s);
    else if (body)
        check_faults(&faults);
    json_decref(body);
    if (submission_bare(&registry, (const char *)data, size, query, &s, &faults))
        round_trip(&registry, &s);
    else
        check_faults(&faults);
    return 0;
}
