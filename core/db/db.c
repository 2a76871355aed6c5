// SPDX-License-Identifier: Apache-2.0
// One connection: connect and prepare, run, read the answer, transactions. Knows no table.
#include "core/db/db.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/connect.h"
#include "core/log.h"
#include "core/util.h"

enum {
    BACKOFF_FIRST_MS = 100,
    BACKOFF_MAX_MS = 5000,
    TX_TRIES = 5,
    TX_PAUSE_MS = 5,
    LIMIT_STATEMENT_ARGS = 24
};

static const struct {
    const char *name;
    int nparams;
    const char *sql;
} statements[STMT_COUNT] = {
#define STATEMENT(name, nparams, sql) [STMT_##name] = {#name, nparams, sql},
#include "core/db/statements.def"
#undef STATEMENT
};

/* What a SQLSTATE, or its class, means; the first match counts. PX… are raised by our functions. */
static const struct {
    const char *prefix;
    enum err code;
} sqlstates[] = {
    /* clang-format off */
    {"PX404", ERR_NOT_FOUND},
    {"PX409", ERR_CONFLICT},
    {"PX422", ERR_INVALID},
    {"PX429", ERR_QUOTA},
    {"57014", ERR_DEADLINE}, /* statement timeout */
    {"40",    ERR_BUSY},     /* serialization failure, deadlock */
    {"55P03", ERR_BUSY},     /* lock timeout */
    {"08",    ERR_DATABASE}, /* connection */
    {"53",    ERR_DATABASE}, /* disk full, too many connections, out of memory */
    {"57P",   ERR_DATABASE}, /* shutting down, starting up */
    {"58",    ERR_DATABASE}, /* I/O */
    {"25006", ERR_DATABASE}, /* read-only: a standby answers */
    /* clang-format on */
};

struct db {
    PGconn *pg;
    char *conninfo, *application;
    int statement_timeout_ms;
    int backoff_ms;      /* pause after the last failed connect */
    int64_t retry_at_ms; /* no connect before this */
    bool in_tx;
};

struct db_arg db_text(const char *s)
{
    return (struct db_arg){.data = s};
}

struct db_arg db_bytes(const void *data, size_t len)
{
    return (struct db_arg){.data = data ? data : "", .len = len, .bytes = true};
}

struct db_arg db_int(int64_t v)
{
    struct db_arg a = {0};
    snprintf(a.number, sizeof(a.number), "%" PRId64, v);
    return a;
}

struct db_arg db_bool(bool v)
{
    return db_text(v ? "t" : "f");
}

/* ---- connecting ---- */

static enum err fault_of_result(const PGresult *res, const char *what, struct fault *f)
{
    const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
    const char *primary = res ? PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    if (!state) /* the server did not answer */
        return fault_set(f, ERR_DATABASE, "lost the connection to the database");
    enum err code = ERR_INTERNAL;
    for (size_t i = 0; i < COUNT_OF(sqlstates) && code == ERR_INTERNAL; i++)
        if (strncmp(state, sqlstates[i].prefix, strlen(sqlstates[i].prefix)) == 0)
            code = sqlstates[i].code;
    if (strncmp(state, "PX", 2) == 0)
        return fault_set(f, code, "%s", primary);
    if (code != ERR_BUSY)
        log_warn("statement failed", "statement=%s sqlstate=%s reason=\"%s\"", what, state,
                 primary);
    return fault_set(f, code, "cannot run %s: %s", what, primary);
}

static enum err run_plain(struct db *db, const char *sql, struct fault *f)
{
    PGresult *res = PQexec(db->pg, sql);
    enum err e = ERR_NONE;
    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        e = fault_of_result(res, sql, f);
    PQclear(res);
    return e;
}

static enum err prepare_all(struct db *db, struct fault *f)
{
    for (int i = 0; i < STMT_COUNT; i++) {
        PGresult *res =
            PQprepare(db->pg, statements[i].name, statements[i].sql, statements[i].nparams, NULL);
        enum err e = ERR_NONE;
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            e = fault_of_result(res, statements[i].name, f);
        PQclear(res);
        if (e != ERR_NONE)
            return e;
    }
    return ERR_NONE;
}

static enum err session_start(struct db *db, struct fault *f)
{
    char set[200];
    snprintf(set, sizeof(set),
             "SET statement_timeout = %d; SET idle_in_transaction_session_timeout = 60000;"
             "SET default_transaction_isolation = 'read committed'; SET TimeZone = 'UTC'",
             db->statement_timeout_ms);
    enum err e = run_plain(db, set, f);
    return e != ERR_NONE ? e : prepare_all(db, f);
}

static void disconnect(struct db *db)
{
    PQfinish(db->pg);
    db->pg = NULL;
    db->in_tx = false;
}

static enum err connect_now(struct db *db, struct fault *f)
{
    if (now_ms() < db->retry_at_ms)
        return fault_set(f, ERR_DATABASE, "cannot reach the database: trying again soon");
    db->pg = pg_connect(db->conninfo, db->application, f);
    enum err e = db->pg ? session_start(db, f) : ERR_DATABASE;
    if (e == ERR_NONE) {
        db->backoff_ms = 0;
        return ERR_NONE;
    }
    disconnect(db);
    int pause = db->backoff_ms ? 2 * db->backoff_ms : BACKOFF_FIRST_MS;
    db->backoff_ms = pause < BACKOFF_MAX_MS ? pause : BACKOFF_MAX_MS;
    db->retry_at_ms = now_ms() + db->backoff_ms;
    return e;
}

/* Has the server hung up while nothing was asked of it? Its farewell is then waiting to be read. */
static bool hung_up(struct db *db)
{
    struct pollfd p = {PQsocket(db->pg), POLLIN, 0};
    while (PQstatus(db->pg) == CONNECTION_OK && poll(&p, 1, 0) > 0)
        if (!PQconsumeInput(db->pg))
            break;
    return PQstatus(db->pg) != CONNECTION_OK;
}

static enum err ready(struct db *db, struct fault *f)
{
    if (db->in_tx)
        return db_connected(db) ? ERR_NONE
                                : fault_set(f, ERR_DATABASE, "lost the connection to the database");
    if (db->pg && hung_up(db))
        disconnect(db);
    return db->pg ? ERR_NONE : connect_now(db, f);
}

struct db *db_open(const struct db_options *o, struct fault *f)
{
    struct db *db = calloc(1, sizeof(*db));
    if (db) {
        db->conninfo = strdup(o->conninfo);
        db->application = strdup(o->application ? o->application : "ptxbench");
        db->statement_timeout_ms = o->statement_timeout_ms;
    }
    if (!db || !db->conninfo || !db->application)
        fault_set(f, ERR_NO_MEMORY, "cannot open a database connection");
    else if (connect_now(db, f) == ERR_NONE)
        return db;
    db_close(db);
    return NULL;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    disconnect(db);
    free(db->conninfo);
    free(db->application);
    free(db);
}

bool db_connected(const struct db *db)
{
    return db->pg && PQstatus(db->pg) == CONNECTION_OK;
}

/* ---- running ---- */

static enum err execute(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                        bool binary, PGresult **out, struct fault *f)
{
    const char *values[LIMIT_STATEMENT_ARGS];
    int lengths[LIMIT_STATEMENT_ARGS], formats[LIMIT_STATEMENT_ARGS];
    *out = NULL;
    if (count != (size_t)statements[s].nparams || count > LIMIT_STATEMENT_ARGS)
        return fault_set(f, ERR_INTERNAL, "cannot run %s: it takes %d parameters, not %zu",
                         statements[s].name, statements[s].nparams, count);
    enum err e = ready(db, f);
    if (e != ERR_NONE)
        return e;
    for (size_t i = 0; i < count; i++) {
        values[i] = args[i].number[0] ? args[i].number : args[i].data;
        lengths[i] = (int)args[i].len;
        formats[i] = args[i].bytes;
    }
    PGresult *res =
        PQexecPrepared(db->pg, statements[s].name, (int)count, values, lengths, formats, binary);
    if (PQresultStatus(res) != PGRES_TUPLES_OK && PQresultStatus(res) != PGRES_COMMAND_OK) {
        e = fault_of_result(res, statements[s].name, f);
        PQclear(res);
        return e;
    }
    *out = res;
    return ERR_NONE;
}

enum err db_run(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                struct db_rows *rows, struct fault *f)
{
    PGresult *res;
    enum err e = execute(db, s, args, count, false, &res, f);
    if (rows)
        *rows = (struct db_rows){res, res ? PQntuples(res) : 0};
    else
        PQclear(res);
    return e;
}

enum err db_run_binary(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                       struct db_rows *rows, struct fault *f)
{
    PGresult *res;
    enum err e = execute(db, s, args, count, true, &res, f);
    *rows = (struct db_rows){res, res ? PQntuples(res) : 0};
    return e;
}

/* The value of the only row, or ERR_NOT_FOUND. */
static enum err single(const PGresult *res, struct fault *f)
{
    if (PQntuples(res) == 1 && !PQgetisnull(res, 0, 0))
        return ERR_NONE;
    return fault_set(f, ERR_NOT_FOUND, "there is nothing here");
}

enum err db_json(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                 json_t **out, struct fault *f)
{
    *out = NULL;
    PGresult *res;
    enum err e = execute(db, s, args, count, false, &res, f);
    if (e == ERR_NONE)
        e = single(res, f);
    if (e == ERR_NONE) {
        *out = json_loadb(PQgetvalue(res, 0, 0), (size_t)PQgetlength(res, 0, 0), JSON_DECODE_ANY,
                          NULL);
        if (!*out)
            e = fault_set(f, ERR_INTERNAL, "cannot read the answer of %s", statements[s].name);
    }
    PQclear(res);
    return e;
}

enum err db_read_bytes(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                       struct buf *out, struct fault *f)
{
    PGresult *res;
    enum err e = execute(db, s, args, count, true, &res, f);
    if (e == ERR_NONE)
        e = single(res, f);
    if (e == ERR_NONE) {
        buf_add(out, PQgetvalue(res, 0, 0), (size_t)PQgetlength(res, 0, 0));
        if (out->failed)
            e = fault_set(f, ERR_TOO_LARGE, "cannot hold %d bytes from the database",
                          PQgetlength(res, 0, 0));
    }
    PQclear(res);
    return e;
}

void db_rows_release(struct db_rows *rows)
{
    PQclear(rows->result);
    *rows = (struct db_rows){0};
}

const char *db_get(const struct db_rows *rows, int row, int column)
{
    return PQgetisnull(rows->result, row, column) ? NULL : PQgetvalue(rows->result, row, column);
}

int64_t db_get_int(const struct db_rows *rows, int row, int column)
{
    const char *text = db_get(rows, row, column);
    return text ? strtoll(text, NULL, 10) : 0;
}

bool db_get_bool(const struct db_rows *rows, int row, int column)
{
    const char *text = db_get(rows, row, column);
    return text && text[0] == 't';
}

size_t db_get_length(const struct db_rows *rows, int row, int column)
{
    return (size_t)PQgetlength(rows->result, row, column);
}

uint64_t db_get_binary(const struct db_rows *rows, int row, int column)
{
    uint64_t v = 0;
    const char *bytes = PQgetvalue(rows->result, row, column);
    int len = PQgetlength(rows->result, row, column); /* 0: null */
    for (int i = 0; i < len && i < (int)sizeof(v); i++)
        v = v << 8 | (unsigned char)bytes[i];
    return v;
}

double db_get_double(const struct db_rows *rows, int row, int column)
{
    uint64_t bits = db_get_binary(rows, row, column);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return db_get(rows, row, column) ? v : NAN;
}

/* ---- transactions ---- */

static enum err try_once(struct db *db, enum err (*fn)(struct db *db, void *arg, struct fault *f),
                         void *arg, struct fault *f)
{
    enum err e = ready(db, f);
    if (e == ERR_NONE)
        e = run_plain(db, "BEGIN", f);
    if (e != ERR_NONE)
        return e;
    db->in_tx = true;
    e = fn(db, arg, f);
    if (e == ERR_NONE)
        e = run_plain(db, "COMMIT", f);
    if (e != ERR_NONE && db_connected(db) && run_plain(db, "ROLLBACK", NULL) != ERR_NONE)
        disconnect(db); /* never hand on a connection whose state is unknown */
    db->in_tx = false;
    return e;
}

enum err db_tx(struct db *db, enum err (*fn)(struct db *db, void *arg, struct fault *f), void *arg,
               struct fault *f)
{
    enum err e = try_once(db, fn, arg, f);
    for (int i = 1; i < TX_TRIES && e == ERR_BUSY; i++) {
        poll(NULL, 0, TX_PAUSE_MS << i); /* let the other side get through */
        e = try_once(db, fn, arg, f);
    }
    return e;
}
