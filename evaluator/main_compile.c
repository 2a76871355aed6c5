/* SPDX-License-Identifier: Apache-2.0
 * ptxbench-compile: compiles one submission in confinement. See evaluator/compile_child.h. It
 * leaves without exit handlers: a confined process may not do what those of some libraries do. */
#include <stdio.h>
#include <unistd.h>

#include "evaluator/compile_child.h"

int main(int argc, char **argv)
{
    int status = compile_role(argc, argv);
    fflush(stderr);
    _exit(status);
}
