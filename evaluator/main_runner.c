// SPDX-License-Identifier: Apache-2.0
// ptxbench-runner: one check on the CPU device, confined. See evaluator/runner.h. It leaves
// without exit handlers: a confined process may not do what those of some libraries do.
#include <stdio.h>
#include <unistd.h>

#include "core/log.h"
#include "evaluator/runner.h"

int main(void)
{
    log_init("ptxbench-runner", LOG_WARN);
    int status = runner_serve(STDIN_FILENO, CHILD_ANSWER_FD);
    fflush(stderr);
    _exit(status);
}
