/* SPDX-License-Identifier: Apache-2.0
 * What the runner and the verifier have in common: one submission's plan, module and slots in a process of
 * its own, served over evaluator/wire.h. A role is a table of operations on top of "open" and "slot". */
#ifndef EVALUATOR_CUDA_SESSION_H
#define EVALUATOR_CUDA_SESSION_H

#include "core/arch.h"
#include "evaluator/cuda/baseline.h"
#include "evaluator/cuda/launch.h"
#include "evaluator/wire.h"

struct session {
    int fd;                       /* to the keeper */
    struct driver_device device;
    struct problems problems;
    struct archs archs;
    /* Of the submission, once "open" has come. */
    const struct problem *problem; /* borrowed from `problems` … */
    const struct workload *workload;
    const struct arch *arch;
    struct plan *plan;            /* owned … */
    json_t *symbols;
    char *cubin;
    size_t cubin_len;
    struct launcher *launcher;
    bool loaded;                  /* the launcher has a module instance */
    CUdeviceptr slots[WIRE_SLOTS][LIMIT_TENSORS]; /* 0: no such slot */
    struct memory_map maps[WIRE_SLOTS][LIMIT_TENSORS];
    size_t bytes[LIMIT_TENSORS];  /* of the workload's tensors */
    void *role;                   /* of the role; borrowed */
};

/* An answer in the making. */
struct session_answer {
    json_t *members;           /* of the result, beside ok, fault, sticky; an object, owned */
    struct launch_fault fault; /* kind[0]: failed */
};

/* Does one request. False with out->fault. */
typedef bool session_operation(struct session *s, const json_t *request, struct wire_message *message,
                               struct session_answer *out);
struct session_row {
    const char *op;
    session_operation *run;
};

/* Opens the device and reads the catalogues; needs files. */
enum err session_open(struct session *s, int fd, int ordinal, struct fault *f);
void session_close(struct session *s);

/* Confines the process, says "ready" with `ready` (members added to the event; may be NULL), then answers
 * requests until "done" or the keeper is gone. Returns the exit status. */
int session_serve(struct session *s, const struct session_row *rows, size_t count, json_t *ready);

/* Says "failed" and why. Returns the exit status. */
int session_fail(int fd, const struct fault *f);

/* For operations: an "infra" fault with this sentence; returns false. */
__attribute__((format(printf, 2, 3))) bool session_refuse(struct session_answer *out, const char *fmt,
                                                          ...);
/* The slot that a member of the request names; -1 with a fault if there is none or it is not mapped. */
int session_slot(struct session *s, const json_t *request, const char *member,
                 struct session_answer *out);
/* Loads the module unless an instance is there already and `fresh` is false. */
bool session_load(struct session *s, bool fresh, struct session_answer *out);

#endif
