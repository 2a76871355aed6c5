/* SPDX-License-Identifier: Apache-2.0
 * A catalogue is a folder whose sub-folders each hold one document: arch/<name>/arch.json,
 * problems/<name>/problem.json. A new entry is a new folder; nothing else changes. */
#ifndef CORE_CATALOG_H
#define CORE_CATALOG_H

#include "core/err.h"

enum { LIMIT_CATALOG = 256 };

struct catalog {
    char *names[LIMIT_CATALOG]; /* sorted; owned */
    size_t count;
};

/* Names of the sub-folders of `folder` that hold `file`. A folder that is not there is an error, an
 * empty one is not. */
enum err catalog_open(struct catalog *c, const char *folder, const char *file, struct fault *f);
void catalog_release(struct catalog *c);

/* The parsed document <folder>/<name>/<file>, which must be an object whose "name" is `name`. New
 * reference, or NULL with a fault that names the file. */
json_t *catalog_document(const char *folder, const char *name, const char *file, struct fault *f);

/* Turns collected faults into one fault "cannot use <folder>/<name>/<file>: path: detail" and
 * releases them. ERR_NONE if there are none. */
enum err catalog_verdict(const char *folder, const char *name, const char *file,
                         struct faults *faults, struct fault *f);

#endif
