/* SPDX-License-Identifier: Apache-2.0
 * The listening socket, and the sweep that ends connections which take too long for one step of a
 * request: an inactivity timeout alone lets a byte every few seconds hold a connection for ever. */
#ifndef SERVER_SOCKETS_H
#define SERVER_SOCKETS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "server/service.h"

struct exchange;

/* One open connection. */
struct peer {
    struct peer *next, **link;
    int fd;
    _Atomic int64_t deadline_ms; /* 0: may take as long as it likes */
    struct exchange *exchange;   /* the request on it, if any */
};

struct sweep {
    pthread_mutex_t lock;
    struct peer *peers;
};

void sweep_init(struct sweep *s);
void sweep_release(struct sweep *s);
void sweep_add(struct sweep *s, struct peer *p, int fd);
/* Before the socket is closed: its number may be another connection's at once. */
void sweep_remove(struct sweep *s, struct peer *p);
/* The next step may take this long; 0: any time. */
void sweep_allow(struct peer *p, int64_t ms);
/* It may take this long, but no longer than it was allowed already. */
void sweep_hasten(struct peer *p, int64_t ms);
/* Shuts down every connection that is past its deadline. */
void sweep_late(struct sweep *s);

/* Binds as the options say and listens; -1 with a fault. `url` receives "http://127.0.0.1:8080". */
int sockets_listen(const struct config *c, char *url, size_t size, struct fault *f);

#endif
