/* SPDX-License-Identifier: Apache-2.0
 * Schema versions. Files sql/NNNN_name.sql are applied in order, each in one transaction and
 * recorded with its checksum; those of sql/functions are laid again at each start. An advisory lock
 * makes many starters safe; running twice changes nothing. */
#ifndef CORE_DB_MIGRATE_H
#define CORE_DB_MIGRATE_H

#include "core/db/db.h"

struct migrate_report {
    int from, to;  /* schema version before and after */
    int applied;   /* migrations applied now */
    int functions; /* function files laid (0: unchanged) */
};

/* Brings the database to the newest schema of <home>/sql. Refuses (ERR_CONFLICT) a database that is
 * newer than these files or where an applied file has changed since. Needs no prepared statements,
 * so it opens its own connection. */
enum err migrate(const char *conninfo, const char *home, struct migrate_report *out,
                 struct fault *f);

/* Highest number among <home>/sql/NNNN_name.sql, or -1 with a fault. */
int migrate_newest(const char *home, struct fault *f);

/* For server and worker at start: ERR_CONFLICT with a clear message if the schema is older or newer
 * than the files of this program, ERR_DATABASE if it cannot be reached. */
enum err migrate_check(const char *conninfo, const char *home, struct fault *f);

#endif
