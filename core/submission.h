/* SPDX-License-Identifier: Apache-2.0
 * A submission: what somebody POSTed, validated against the problems and architectures of this
 * installation, every default filled in. The same parser serves the HTTP body, the bare source with
 * query parameters, the command line, and the document that a worker reads back from the database.
 * Pure but for registry_load. */
#ifndef CORE_SUBMISSION_H
#define CORE_SUBMISSION_H

#include "core/arch.h"
#include "core/plan.h"
#include "core/problem.h"

/* Everything read-only that requests are judged against. Loaded once by main, shared by all
 * threads. */
struct registry {
    struct archs archs;
    struct problems problems;
};

/* Loads <home>/arch and <home>/problems. On error nothing is left to release. */
enum err registry_load(struct registry *r, const char *home, struct fault *f);
void registry_release(struct registry *r);

enum language { LANGUAGE_CUDA, LANGUAGE_PTX };
enum mode { MODE_COMPILE, MODE_CHECK, MODE_RANK };

const char *language_name(enum language l); /* "cuda" */
const char *mode_name(enum mode m);         /* "rank" */
/* The values of the enum, or -1. */
int language_find(const char *name);
int mode_find(const char *name);

enum { LIMIT_DEVICE = 31, LIMIT_OPTIONS = 8, LANE_TEXT = 16 + LIMIT_DEVICE + 2 };

struct submission {
    const struct problem *problem; /* borrowed from the registry, as the next two */
    const struct workload *workload;
    const struct arch *arch;
    enum language language;
    enum mode mode;
    char device[LIMIT_DEVICE + 1]; /* "cpu", "gpu", or one of arch->devices */
    char *source;                  /* owned, NUL-terminated, UTF-8 without NUL */
    size_t source_len;
    json_t *launch;       /* owned: plan document as given or as found in the source */
    json_t *options;      /* owned: array of allowed compile options, may be empty */
    char *label, *method; /* owned; "" if not given */
    struct plan *plan;    /* owned: `launch` resolved for the workload and arch */
};

/* Parses a JSON body. True and a filled `out`, or false with every fault and its JSON path. Paths
 * below
 * "$.source#launch" are in a plan embedded in the source. Defaults: mode rank; device gpu for rank,
 * cpu otherwise; workload the problem's paper workload, its cpu workload on device cpu; language by
 * the source (ptx if its first directive is .version). Release with submission_release. */
bool submission_parse(const struct registry *r, const json_t *body, struct submission *out,
                      struct faults *faults);

/* The same from a bare source and query parameters: an object of strings named like the fields of
 * the body, less the server's own (wait, dry_run); `options` is separated by commas. */
bool submission_bare(const struct registry *r, const char *source, size_t len, const json_t *query,
                     struct submission *out, struct faults *faults);

/* All that a worker needs beside the source: problem, workload, arch, language, device, mode,
 * options, launch, label, method. New reference. */
json_t *submission_document(const struct submission *s);

/* Reads a submission_document() back. The plan is resolved again, so a registry that has changed
 * since shows as a fault here. */
bool submission_from_document(const struct registry *r, const json_t *document, const char *source,
                              size_t len, struct submission *out, struct faults *faults);

void submission_release(struct submission *s); /* safe on {0} and half-built ones */

/* The queue lane that serves it: "sm_90a/cpu". */
void submission_lane(const struct submission *s, char out[LANE_TEXT]);

/* Compile options anybody may ask for (core/options.def), as an array of {"option", "least",
 * "most", "languages", "meaning"}; new reference. */
json_t *submission_options(void);

#endif
