// SPDX-License-Identifier: Apache-2.0
#include "server/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util.h"

enum { BACKLOG = 1024, PORTS_TRIED = 100 };

void sweep_init(struct sweep *s)
{
    pthread_mutex_init(&s->lock, NULL);
    s->peers = NULL;
}

void sweep_release(struct sweep *s)
{
    pthread_mutex_destroy(&s->lock);
}

void sweep_add(struct sweep *s, struct peer *p, int fd)
{
    p->fd = fd;
    pthread_mutex_lock(&s->lock);
    p->next = s->peers;
    p->link = &s->peers;
    if (p->next)
        p->next->link = &p->next;
    s->peers = p;
    pthread_mutex_unlock(&s->lock);
}

void sweep_remove(struct sweep *s, struct peer *p)
{
    pthread_mutex_lock(&s->lock);
    if (p->link) {
        *p->link = p->next;
        if (p->next)
            p->next->link = p->link;
        p->link = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

void sweep_allow(struct peer *p, int64_t ms)
{
    atomic_store(&p->deadline_ms, ms ? now_ms() + ms : 0);
}

void sweep_hasten(struct peer *p, int64_t ms)
{
    int64_t deadline = atomic_load(&p->deadline_ms), wanted = now_ms() + ms;
    atomic_store(&p->deadline_ms, deadline && deadline < wanted ? deadline : wanted);
}

void sweep_late(struct sweep *s)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&s->lock);
    for (struct peer *p = s->peers; p; p = p->next) {
        int64_t deadline = atomic_load(&p->deadline_ms);
        if (deadline && deadline < now)
            shutdown(p->fd, SHUT_RDWR); /* the HTTP thread notices and closes it */
    }
    pthread_mutex_unlock(&s->lock);
}

static int bind_one(const uint8_t address[16], bool v6, int port, bool *busy, struct fault *f)
{
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    memcpy(&a6.sin6_addr, address, 16);
    memcpy(&a4.sin_addr, address + 12, 4);
    const struct sockaddr *a = v6 ? (const void *)&a6 : (const void *)&a4;
    int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
        !bind(fd, a, v6 ? sizeof(a6) : sizeof(a4)) && !listen(fd, BACKLOG))
        return fd;
    *busy = errno == EADDRINUSE;
    fault_set(f, ERR_IO, "cannot listen on port %d: %s%s", port, strerror(errno),
              *busy ? " (--port-search takes the next free one)" : "");
    if (fd >= 0)
        close(fd);
    return -1;
}

static int port_of(int fd)
{
    struct sockaddr_storage name;
    socklen_t len = sizeof(name);
    if (getsockname(fd, (struct sockaddr *)&name, &len))
        return 0;
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    memcpy(&v6, &name, sizeof(v6));
    memcpy(&v4, &name, sizeof(v4));
    return ntohs(name.ss_family == AF_INET6 ? v6.sin6_port : v4.sin_port);
}

int sockets_listen(const struct config *c, char *url, size_t size, struct fault *f)
{
    uint8_t address[16];
    if (!address_parse(c->listen, address)) {
        fault_set(f, ERR_BAD_PARAMETER, "cannot listen on '%s': not a numeric address", c->listen);
        return -1;
    }
    bool v6 = strchr(c->listen, ':');
    int tries = c->port_search && c->port ? PORTS_TRIED : 1;
    int fd = -1;
    bool busy = true;
    for (int i = 0; i < tries && fd < 0 && busy && c->port + i < 65536; i++)
        fd = bind_one(address, v6, c->port + i, &busy, f);
    if (fd >= 0)
        snprintf(url, size, v6 ? "http://[%s]:%d" : "http://%s:%d", c->listen, port_of(fd));
    return fd;
}
