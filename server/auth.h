/* SPDX-License-Identifier: Apache-2.0
 * Who calls, and may they? Tokens are looked up in the store at every request: a revoked one ends
 * at once. No token, no part of one, is ever logged. */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H

#include "server/request.h"

/* Fills r->who and holds it against the route. ERR_UNAUTHORIZED, ERR_FORBIDDEN, or what the store
 * says. */
enum err auth_check(struct request *r);

#endif
