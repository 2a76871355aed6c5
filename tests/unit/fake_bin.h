/* SPDX-License-Identifier: Apache-2.0
 * A folder of programs ($PTXBENCH_BIN) for tests of the GPU device without a GPU: the real ones, and
 * fake-keeper as ptxbench-keeper. Files in it tell the fake what to do, see tests/fake/keeper.c. */
#ifndef TESTS_FAKE_BIN_H
#define TESTS_FAKE_BIN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/util.h"

static char fake_bin[64] = "/tmp/ptxbench-bin-XXXXXX";

static const char *const fake_links[][2] = {{"ptxbench-keeper", "fake-keeper"},
                                            {"ptxbench-compile", "ptxbench-compile"},
                                            {"ptxbench-runner", "ptxbench-runner"}};
static const char *const fake_files[] = {"start", "open", "check", "time", "verify", "speedup", "log"};

static inline void fake_path(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s/keeper.%s", fake_bin, name);
}

/* Writes keeper.<name>; NULL removes it. */
static inline void fake_say(const char *name, const char *text)
{
    char path[512];
    fake_path(path, sizeof(path), name);
    unlink(path);
    if (!text)
        return;
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

/* Forgets all that the fake was told and has told. */
static inline void fake_reset(void)
{
    for (size_t i = 0; i < COUNT_OF(fake_files); i++)
        fake_say(fake_files[i], NULL);
}

/* What the fake was asked, one request a line; caller releases. */
static inline struct buf fake_log(void)
{
    char path[512];
    struct buf b;
    buf_init(&b, MIB);
    fake_path(path, sizeof(path), "log");
    read_file(path, &b, NULL);
    return b;
}

/* Call before anything asks for program_dir(). */
static inline bool fake_bin_make(void)
{
    const char *real = getenv("PTXBENCH_BIN");
    char from[600], to[600];
    bool ok = mkdtemp(fake_bin) != NULL;
    char self[256];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < COUNT_OF(fake_links); i++) {
        snprintf(from, sizeof(from), "%s/%s", real ? real : self, fake_links[i][1]);
        snprintf(to, sizeof(to), "%s/%s", fake_bin, fake_links[i][0]);
        ok = ok && symlink(from, to) == 0;
    }
    return ok && setenv("PTXBENCH_BIN", fake_bin, 1) == 0;
}

static inline void fake_bin_remove(void)
{
    char path[512];
    fake_reset();
    for (size_t i = 0; i < COUNT_OF(fake_links); i++) {
        snprintf(path, sizeof(path), "%s/%s", fake_bin, fake_links[i][0]);
        unlink(path);
    }
    rmdir(fake_bin);
}

#endif
