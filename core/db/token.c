// SPDX-License-Identifier: Apache-2.0
// Tokens: made here, hashed here; the database and the logs never see one.
#include <stdlib.h>
#include <string.h>

#include "core/db/store.h"
#include "core/text.h"

enum { TOKEN_RANDOM = 20 };

static const char prefix[] = "ptxb_"; /* lets secret scanners and people recognise one */

enum err store_token_create(struct db *db, const char *owner, const char *scopes, int days,
                            const char *note, char text[TOKEN_TEXT], struct fault *f)
{
    uint8_t secret[TOKEN_RANDOM];
    char hex[2 * TOKEN_RANDOM + 1], sha[SHA256_HEX];
    if (!text_is_name(owner))
        return fault_set(f, ERR_BAD_PARAMETER, "cannot create a token: %s is not a name", owner);
    random_bytes(secret, sizeof(secret));
    hex_encode(secret, sizeof(secret), hex);
    snprintf(text, TOKEN_TEXT, "%s%s", prefix, hex);
    sha256_hex(text, strlen(text), sha);
    return db_run(db, STMT_TOKEN_CREATE,
                  DB_ARGS(db_text(sha), db_text(owner), db_text(scopes), db_int(days),
                          db_text(note ? note : "")),
                  NULL, f);
}

static bool has_scope(const char *scopes, const char *scope)
{
    const char *at = strstr(scopes, scope); /* no scope is part of another */
    return at != NULL;
}

enum err store_token_lookup(struct db *db, const char *text, struct token *out, struct fault *f)
{
    char sha[SHA256_HEX];
    struct db_rows rows;
    sha256_hex(text, strlen(text), sha);
    enum err e = db_run(db, STMT_TOKEN_LOOKUP, DB_ARGS(db_text(sha)), &rows, f);
    if (e == ERR_NONE && rows.count == 1) {
        const char *scopes = db_get(&rows, 0, 2);
        *out = (struct token){.owner_id = db_get_int(&rows, 0, 0),
                              .submit = has_scope(scopes, "submit"),
                              .read = has_scope(scopes, "read"),
                              .admin = has_scope(scopes, "admin")};
        snprintf(out->owner, sizeof(out->owner), "%s", db_get(&rows, 0, 1));
    } else if (e == ERR_NONE) {
        e = fault_set(f, ERR_UNAUTHORIZED, "this token is unknown, expired or revoked");
    }
    db_rows_release(&rows);
    return e;
}

enum err store_token_revoke(struct db *db, const char *id, struct fault *f)
{
    if (strlen(id) < 8 || strspn(id, "0123456789abcdef") != strlen(id))
        return fault_set(f, ERR_BAD_PARAMETER,
                         "cannot revoke a token: its id has 8 to 64 hex digits");
    struct db_rows rows;
    enum err e = db_run(db, STMT_TOKEN_REVOKE, DB_ARGS(db_text(id)), &rows, f);
    if (e == ERR_NONE && !db_get_bool(&rows, 0, 0))
        e = fault_set(f, ERR_NOT_FOUND, "there is no token %s", id);
    db_rows_release(&rows);
    return e;
}

enum err store_token_list(struct db *db, json_t **out, struct fault *f)
{
    return db_json(db, STMT_TOKEN_LIST, DB_NO_ARGS, out, f);
}
