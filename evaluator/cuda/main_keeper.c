// SPDX-License-Identifier: Apache-2.0
// ptxbench-keeper: the trusted process of one GPU. See evaluator/keeper.h for what it is asked.
//
//   ptxbench-keeper --device N
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/log.h"
#include "evaluator/cuda/keeper_process.h"

/* Every tensor of every slot is a descriptor. */
static void allow_descriptors(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0)
        return;
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
}

int main(int argc, char **argv)
{
    log_init("ptxbench-keeper", LOG_WARN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    char *end = NULL;
    long ordinal = argc == 3 && !strcmp(argv[1], "--device") ? strtol(argv[2], &end, 10) : -1;
    if (ordinal < 0 || !end || *end || end == argv[2]) {
        fprintf(stderr, "usage: ptxbench-keeper --device N\n");
        return 2;
    }
    allow_descriptors();
    int status = keeper_serve(WIRE_FD, (int)ordinal);
    fflush(NULL);
    _exit(status); /* without the exit handlers of the driver, which may hang on a lost context */
}
