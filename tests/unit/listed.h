/* SPDX-License-Identifier: Apache-2.0
 * A source that no table names is one that no test runs. */
#ifndef TESTS_LISTED_H
#define TESTS_LISTED_H

#include <dirent.h>
#include <string.h>

#include "core/buf.h"
#include "core/util.h"

/* Every .cu and .ptx file of `folder`, which ends in '/', occurs in its file `table`. */
static inline void every_source_is_listed(const char *folder, const char *table)
{
    char path[512];
    struct buf text;
    buf_init(&text, LIMIT_SOURCE);
    snprintf(path, sizeof(path), "%s%s", folder, table);
    assert_int_equal(read_file(path, &text, NULL), ERR_NONE);
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (struct dirent *e; (e = readdir(files));)
        if ((strstr(e->d_name, ".cu") || strstr(e->d_name, ".ptx")) &&
            !strstr(text.data, e->d_name))
            fail_msg("%s has no row in %s", e->d_name, table);
    closedir(files);
    buf_release(&text);
}

#endif
