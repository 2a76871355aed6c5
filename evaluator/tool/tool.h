/* SPDX-License-Identifier: Apache-2.0
 * ptxvm, the program: the CPU device for people who write kernels. One command per file. */
#ifndef EVALUATOR_TOOL_TOOL_H
#define EVALUATOR_TOOL_TOOL_H

enum tool_exit {
    TOOL_OK,
    TOOL_WRONG, /* the kernel: wrong results, a fault, it does not compile */
    TOOL_USAGE,
    TOOL_CANNOT_TELL, /* this machine or this way cannot: no compiler, CTAs that wait for each other
                       */
};

/* argv[0] is the command. Each returns the exit code. */
int tool_run(int argc, char **argv);
int tool_launch(int argc, char **argv);

#endif
