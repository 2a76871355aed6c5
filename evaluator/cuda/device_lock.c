// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/device_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/util.h"

/* flock() has no deadline, so it is tried again and again. */
enum { FIRST_WAIT_MS = 1, LONGEST_WAIT_MS = 20, SHARED_FILE = 0666 };

/* A file in a folder where anybody may put anything: a link is not followed, a pipe does not block,
 * and what was made here is shared whatever the umask says. A descriptor for reading is enough to
 * lock, so that a file of another user need not be writable. */
static int open_shared(const char *path)
{
    enum { SAFE = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    int fd = open(path, SAFE);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, SAFE | O_CREAT | O_EXCL, SHARED_FILE);
        if (fd >= 0)
            (void)fchmod(fd, SHARED_FILE);
        else if (errno == EEXIST) /* somebody was quicker */
            fd = open(path, SAFE);
    }
    return fd;
}

static enum err open_file(int *fd, const char *uuid, const char *what, struct fault *f)
{
    char path[128];
    struct stat s;
    snprintf(path, sizeof(path), "/tmp/ptxbench-gpu-%.64s.%s", uuid, what);
    *fd = open_shared(path);
    if (*fd < 0)
        return fault_set(f, ERR_UNAVAILABLE, "cannot open the lock %s: %s", path, strerror(errno));
    if (fstat(*fd, &s) == 0 && S_ISREG(s.st_mode))
        return ERR_NONE;
    close(*fd);
    *fd = -1;
    return fault_set(f, ERR_UNAVAILABLE, "cannot use the lock %s: it is no file", path);
}

enum err device_lock_open(struct device_lock *l, const char *uuid, struct fault *f)
{
    *l = (struct device_lock){-1, -1};
    enum err e = open_file(&l->device, uuid, "lock", f);
    if (e == ERR_NONE)
        e = open_file(&l->turn, uuid, "turn", f);
    if (e != ERR_NONE)
        device_lock_close(l);
    return e;
}

static bool lock_before(int fd, int operation, int64_t deadline)
{
    for (int64_t wait_ms = FIRST_WAIT_MS;; wait_ms = 2 * wait_ms) {
        if (flock(fd, operation | LOCK_NB) == 0)
            return true;
        int64_t left_ms = deadline - now_ms();
        if ((errno != EWOULDBLOCK && errno != EINTR) || left_ms <= 0)
            return false;
        wait_ms = wait_ms < LONGEST_WAIT_MS ? wait_ms : LONGEST_WAIT_MS;
        wait_ms = wait_ms < left_ms ? wait_ms : left_ms;
        nanosleep(&(struct timespec){.tv_nsec = wait_ms * 1000000}, NULL);
    }
}

enum err device_lock_take(struct device_lock *l, enum device_lock_mode mode, int64_t timeout_ms,
                          struct fault *f)
{
    int64_t deadline = now_ms() + timeout_ms;
    if (l->device < 0)
        return fault_set(f, ERR_UNAVAILABLE, "cannot lock the device: the lock is not open");
    /* A holder that waits for its turn would keep the one whose turn it is waiting. */
    device_lock_drop(l);
    bool turn = lock_before(l->turn, LOCK_EX, deadline);
    bool taken =
        turn && lock_before(l->device, mode == DEVICE_LOCK_EXCLUSIVE ? LOCK_EX : LOCK_SH, deadline);
    if (turn)
        flock(l->turn, LOCK_UN);
    return taken ? ERR_NONE
                 : fault_set(f, ERR_DEADLINE,
                             "cannot lock the device: others use it for over %lld ms",
                             (long long)timeout_ms);
}

void device_lock_drop(struct device_lock *l)
{
    if (l->device >= 0)
        flock(l->device, LOCK_UN);
}

void device_lock_close(struct device_lock *l)
{
    if (l->device >= 0)
        close(l->device);
    if (l->turn >= 0)
        close(l->turn);
    *l = (struct device_lock){-1, -1};
}
