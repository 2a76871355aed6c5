// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_keeper.h"

enum { READY_MS = 120 * 1000 };

static enum err start(struct eval_keeper *k, struct fault *f)
{
    enum err e = keeper_start(&k->keeper, k->ordinal, f);
    k->running = e == ERR_NONE;
    return e;
}

/* One that a submission before this has brought down is started again. */
static enum err on_connect(void *arg, int *fd, const json_t **device, struct fault *f)
{
    struct eval_keeper *k = arg;
    if (k->running && k->keeper.device && keeper_listen(&k->keeper, NULL) != ERR_NONE)
        eval_keeper_stop(k);
    enum err e = k->running ? ERR_NONE : start(k, f);
    if (e == ERR_NONE)
        e = keeper_wait(&k->keeper, READY_MS, f);
    if (e == ERR_NONE)
        e = keeper_connect(&k->keeper, fd, f);
    if (e != ERR_NONE)
        eval_keeper_stop(k);
    else
        *device = k->keeper.device;
    return e;
}

enum err eval_keeper_start(struct eval_keeper *k, int ordinal, struct fault *f)
{
    *k = (struct eval_keeper){.ordinal = ordinal, .access = {k, on_connect}};
    return start(k, f);
}

void eval_keeper_stop(struct eval_keeper *k)
{
    if (k->running)
        keeper_stop(&k->keeper);
    k->running = false;
}
