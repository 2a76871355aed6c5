// SPDX-License-Identifier: Apache-2.0
// ptxbench-gpu: the processes that run foreign kernels, one program in two roles. The keeper starts
// it.
//
//   ptxbench-gpu runner   --device N     launches and times; see runner.h
//   ptxbench-gpu verifier --device N     counts instructions; see verifier.h
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/log.h"
#include "core/util.h"
#include "evaluator/cuda/runner.h"
#include "evaluator/cuda/verifier.h"
#include "evaluator/wire.h"

static const struct {
    const char *name;
    int (*serve)(int fd, int ordinal);
} roles[] = {
    {"runner", gpu_runner},
    {"verifier", gpu_verifier},
};

int main(int argc, char **argv)
{
    log_init("ptxbench-gpu", LOG_WARN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    int status = 2;
    for (size_t i = 0; i < COUNT_OF(roles) && argc == 4 && !strcmp(argv[2], "--device"); i++)
        if (!strcmp(argv[1], roles[i].name))
            status = roles[i].serve(WIRE_FD, (int)strtol(argv[3], NULL, 10));
    if (status == 2)
        fprintf(stderr, "usage: ptxbench-gpu runner|verifier --device N\n");
    fflush(NULL);
    _exit(status); /* a confined process may not do what exit handlers of libraries do */
}
