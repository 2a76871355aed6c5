/* SPDX-License-Identifier: Apache-2.0
 * What all requests share: options, the registry, the database threads, the hub, the files, the
 * counters. Built once by main, read-only afterwards but for what is atomic or locks itself. */
#ifndef SERVER_SERVICE_H
#define SERVER_SERVICE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/submission.h"
#include "server/fields.h"

enum {
    SERVICE_HOSTS = 16,
    SERVICE_PROXIES = 16,
    SERVICE_CONNECTIONS = 4096,  /* open at once */
    SERVICE_BODIES = 256 * MIB,  /* bytes of bodies in memory at once */
    SERVICE_QUEUE = 512,         /* requests waiting for a database thread */
    SERVICE_QUEUE_MS = 5000,     /* longest useful wait for one */
    SERVICE_STATEMENT_MS = 2000, /* longest SQL statement of a request */
    SERVICE_STREAMS = 2048,      /* event streams in all */
    SERVICE_STREAMS_EACH = 64,   /* per client address */
    SERVICE_DRAIN_MS = 5000,     /* from SIGTERM to the end */
};

struct config {
    const char *database;             /* conninfo */
    const char *listen;               /* numeric address */
    int port;                         /* 0: any free one */
    bool port_search;                 /* busy: take the next free one */
    const char *hosts[SERVICE_HOSTS]; /* names served beside localhost and `listen` */
    int host_count;
    struct cidr proxies[SERVICE_PROXIES];
    int proxy_count;
    int http_threads, db_threads;
    int queued_limit;      /* unfinished submissions per owner */
    int lease_ms, reap_ms; /* of workers; between two looks for lost jobs */
};

struct service {
    struct config config;
    struct registry registry;
    struct pool *pool;
    struct hub *hub;
    struct files *files;
    struct metrics *metrics;
    struct cache *cache;
    atomic_bool draining; /* set once, at SIGTERM */
};

#endif
