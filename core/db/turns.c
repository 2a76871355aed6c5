// SPDX-License-Identifier: Apache-2.0
#include "core/db/turns.h"

#include <stdlib.h>

#define CELL_ARGS(q)                                                                               \
    db_text((q)->origin), db_text((q)->model), db_text((q)->device_model), db_text((q)->problem),  \
        db_text((q)->workload), db_text((q)->condition)

enum err turns_fast_p(struct db *db, int turns, int most, const struct cell_filter *q, json_t **out,
                      struct fault *f)
{
    return db_json(db, STMT_FAST_P, DB_ARGS(db_int(turns), db_int(most), CELL_ARGS(q)), out, f);
}

enum err turns_transitions(struct db *db, int most, const struct cell_filter *q, json_t **out,
                           struct fault *f)
{
    return db_json(db, STMT_TURN_TRANSITIONS, DB_ARGS(db_int(most), CELL_ARGS(q)), out, f);
}

enum err turns_import(struct db *db, const json_t *document, json_t **out, struct fault *f)
{
    char *text = json_dumps(document, JSON_COMPACT);
    if (!text)
        return fault_set(f, ERR_NO_MEMORY, "cannot import: out of memory");
    enum err e = db_json(db, STMT_PUBLISHED_IMPORT, DB_ARGS(db_text(text)), out, f);
    free(text);
    return e;
}
