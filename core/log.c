// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"

static const char *program_name = "ptxbench";
static enum log_level lowest_level = LOG_INFO;

void log_init(const char *program, enum log_level lowest)
{
    program_name = program;
    lowest_level = lowest;
}

void log_line(enum log_level level, const char *message, const char *pairs, ...)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    if (level < lowest_level)
        return;
    char values[1024];
    va_list ap;
    va_start(ap, pairs);
    vsnprintf(values, sizeof(values), pairs, ap);
    va_end(ap);
    text_sanitize(values);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    char when[32];
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
    char line[1400];
    int n = snprintf(line, sizeof(line), "time=%s.%03ldZ level=%s prog=%s msg=\"%s\"%s%s\n", when,
                     now.tv_nsec / 1000000, names[level], program_name, message,
                     values[0] ? " " : "", values);
    if (n >= (int)sizeof(line)) {
        n = sizeof(line) - 1;
        line[n - 1] = '\n'; /* a cut line is still one line */
    }
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* nobody is left to tell */
}
