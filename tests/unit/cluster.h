/* SPDX-License-Identifier: Apache-2.0
 * A throw-away PostgreSQL server in a temporary folder, for test programs and benches. Header only:
 * each program is one file. */
#ifndef TESTS_UNIT_CLUSTER_H
#define TESTS_UNIT_CLUSTER_H

#include <ftw.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util.h"

static char database_folder[64] = "/tmp/ptxu.XXXXXX";
static char database_conninfo[128];
static pid_t database_pid;

static int database_remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
    (void)st, (void)flag, (void)where;
    return remove(path);
}

/* Durable: with fsync, as in service. False: PostgreSQL is not installed. Fails loudly on anything
 * else. */
static bool database_start(bool durable)
{
    if (!mkdtemp(database_folder) || chmod(database_folder, 0711) != 0)
        abort();
    database_pid = fork();
    if (database_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execl("/bin/sh", "sh", PTXBENCH_SOURCE_DIR "/tests/unit/database.sh", database_folder,
              durable ? "durable" : "fast", (char *)NULL);
        _exit(127);
    }
    snprintf(database_conninfo, sizeof(database_conninfo),
             "host=%s/pg user=ptxbench dbname=postgres", database_folder);
    int64_t end = now_ms() + 60000;
    while (PQping(database_conninfo) != PQPING_OK) {
        int status;
        if (waitpid(database_pid, &status, WNOHANG) == database_pid) {
            database_pid = 0;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                return false;
            fprintf(stderr, "the cluster in %s did not start\n", database_folder);
            exit(1);
        }
        if (now_ms() > end) {
            fprintf(stderr, "the cluster in %s does not answer\n", database_folder);
            exit(1);
        }
        usleep(50000);
    }
    return true;
}

static void database_stop(void)
{
    if (database_pid > 0) {
        kill(database_pid, SIGQUIT);
        waitpid(database_pid, NULL, 0);
    }
    nftw(database_folder, database_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
