// SPDX-License-Identifier: Apache-2.0
#include "server/auth.h"

#include "server/routes.h"

enum err auth_check(struct request *r)
{
    r->who = (struct token){.owner_id = OWNER_ANONYMOUS};
    bool anonymous = !r->headers.authorization;
    if (!anonymous) {
        const char *text = field_bearer(r->headers.authorization);
        if (!text)
            return fault_set(&r->fault, ERR_UNAUTHORIZED,
                             "the Authorization header must be 'Bearer <token>'");
        enum err e = store_token_lookup(r->db, text, &r->who, &r->fault);
        if (e)
            return e;
    }
    bool admin = r->route->need == NEED_ADMIN;
    if (r->route->need == NEED_NOTHING || r->who.admin)
        return ERR_NONE;
    if (!admin && (r->who.submit || (anonymous && r->local)))
        return ERR_NONE;
    if (admin)
        return fault_set(&r->fault, anonymous ? ERR_UNAUTHORIZED : ERR_FORBIDDEN,
                         "this takes a token with the scope 'admin'");
    if (anonymous)
        return fault_set(&r->fault, ERR_UNAUTHORIZED,
                         "without a token only clients on this machine may submit");
    return fault_set(&r->fault, ERR_FORBIDDEN, "this token lacks the scope 'submit'");
}
