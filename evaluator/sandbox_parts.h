/* SPDX-License-Identifier: Apache-2.0
 * The parts of the sandbox, for evaluator/sandbox*.c only. Each puts one kind of layer on and marks it
 * active; none fails loudly: a host that lacks a layer gets a shorter list. */
#ifndef EVALUATOR_SANDBOX_PARTS_H
#define EVALUATOR_SANDBOX_PARTS_H

#include <stddef.h>

#include "evaluator/sandbox.h"

enum { SANDBOX_NOBODY = 65534 };

void sandbox_mark(enum sandbox_layer layer);
void sandbox_set_scratch(const char *path); /* static text or NULL */

/* Namespaces (user if that is the only way), then the private root or a chroot. */
void sandbox_namespaces(const struct sandbox_spec *spec);
void sandbox_files(const struct sandbox_spec *spec);
void sandbox_landlock(const struct sandbox_spec *spec);

/* uid, gid, groups to nobody. False if the process is root and has to stay so. */
bool sandbox_become_nobody(void);

/* ERR_UNAVAILABLE if the filter cannot be loaded. */
enum err sandbox_seccomp(const struct sandbox_spec *spec, struct fault *f);

#endif
