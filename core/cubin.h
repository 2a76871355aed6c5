/* SPDX-License-Identifier: Apache-2.0
 * Reads a CUDA ELF (cubin): architecture, kernels, their parameters and resources, code, and what they
 * call. Pure: works on the bytes it is given, allocates nothing, trusts no offset. */
#ifndef CORE_CUBIN_H
#define CORE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/err.h"

struct cubin_strings {
    const char *text;    /* borrowed; its last byte is NUL */
    uint64_t len;
};

struct cubin {
    const uint8_t *data; /* borrowed */
    size_t len;
    int sm;              /* 90 for sm_90a */
    bool linked;         /* an executable, not a relocatable file */
    /* Checked at open, for the reader's own use: */
    uint64_t section_table;
    unsigned section_count, info;
    struct cubin_strings section_names, symbol_names;
    const uint8_t *symbols;
    uint64_t symbol_count;
};

/* Checks the header, the section table and the symbol table. ERR_INVALID says what is wrong. */
enum err cubin_open(struct cubin *c, const void *data, size_t len, struct fault *f);

enum { CUBIN_PARAMS = 256 };

struct cubin_param {
    uint16_t ordinal;
    uint16_t offset; /* bytes into the parameter block */
    uint32_t size;
};

/* One function with code of its own: an entry (kernel) or a device function. */
struct cubin_function {
    const char *name;        /* borrowed, NUL-terminated, mangled */
    bool entry;
    unsigned section;        /* of its .text */
    uint32_t symbol;
    const uint8_t *code;     /* borrowed */
    size_t code_len;         /* bytes; instructions are 16 bytes */
    /* Filled by cubin_find only: */
    int registers;           /* per thread; -1: not said */
    uint64_t shared_bytes;   /* static, per block; without what the architecture reserves */
    uint64_t local_bytes;    /* per-thread stack frame */
    uint64_t param_bytes;
    int max_threads[3];      /* .maxntid or .reqntid; 0: not said */
    bool exact_threads;      /* .reqntid: the block must equal max_threads */
    int cluster[3];          /* .reqnctapercluster; 0: not said */
    bool explicit_cluster;   /* a cluster launch is required */
    unsigned param_count;
    struct cubin_param params[CUBIN_PARAMS]; /* sorted by ordinal */
};

/* Next function with code; start with *at = 0. False at the end. Cheap: names and code only. */
bool cubin_next(const struct cubin *c, unsigned *at, struct cubin_function *out);
/* A function by its mangled name, with everything known about it. */
bool cubin_find(const struct cubin *c, const char *name, struct cubin_function *out);

/* Bytes of module-scope variables: writable (.nv.global and .nv.global.init) and constant. */
uint64_t cubin_global_bytes(const struct cubin *c);
uint64_t cubin_constant_bytes(const struct cubin *c);

/* Next name the module needs and does not define (vprintf, malloc, …); start with *at = 0. */
bool cubin_next_undefined(const struct cubin *c, uint64_t *at, const char **name);

/* Sections of functions reached from a set of entries by calls or address-taking relocations. */
struct cubin_reach {
    uint8_t section[65536 / 8];
};
void cubin_reach(const struct cubin *c, const char *const *entries, size_t count,
                 struct cubin_reach *out);
bool cubin_reached(const struct cubin_reach *r, unsigned section);

/* Opcode of an instruction: the low 9 bits of its first 64-bit word. */
unsigned cubin_opcode(const uint8_t *instruction);
/* Adds to counts[i] the instructions of a->families[i] in the code of `fn`. */
void cubin_count(const struct cubin_function *fn, const struct arch *a, uint64_t *counts);

#endif
