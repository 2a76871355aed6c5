// SPDX-License-Identifier: Apache-2.0
#include "core/db/connect.h"

#include <string.h>

const char *pg_message(const char *text, char *out, size_t size)
{
    size_t n = strcspn(text, "\n");
    snprintf(out, size, "%.*s", (int)n, text);
    return out;
}

PGconn *pg_connect(const char *conninfo, const char *application, struct fault *f)
{
    /* What stands before dbname is a default that conninfo may override; what stands after it is
     * ours. tcp_user_timeout bounds every wait on a network that went silent. */
    static const char *const keys[] = {"connect_timeout",
                                       "keepalives_idle",
                                       "tcp_user_timeout",
                                       "dbname",
                                       "client_encoding",
                                       "application_name",
                                       NULL};
    const char *const values[] = {"5", "15", "30000", conninfo, "UTF8", application, NULL};
    PGconn *pg = PQconnectdbParams(keys, values, 1);
    if (PQstatus(pg) == CONNECTION_OK)
        return pg;
    char message[300];
    fault_set(f, ERR_DATABASE, "cannot connect to the database: %s",
              pg ? pg_message(PQerrorMessage(pg), message, sizeof(message)) : "out of memory");
    PQfinish(pg);
    return NULL;
}
