/* SPDX-License-Identifier: Apache-2.0
 * One logfmt line to stderr per event: log_info("job claimed", "id=%ld attempt=%d", id, attempt).
 * The message is a constant; values go into the pairs. Never log a token, a body or a source. */
#ifndef CORE_LOG_H
#define CORE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Program name shown in each line, and the lowest level written. Call once, before threads. */
void log_init(const char *program, enum log_level lowest);
__attribute__((format(printf, 3, 4))) void log_line(enum log_level level, const char *message,
                                                    const char *pairs, ...);

#define log_debug(message, ...) log_line(LOG_DEBUG, message, __VA_ARGS__)
#define log_info(message, ...) log_line(LOG_INFO, message, __VA_ARGS__)
#define log_warn(message, ...) log_line(LOG_WARN, message, __VA_ARGS__)
#define log_error(message, ...) log_line(LOG_ERROR, message, __VA_ARGS__)

#endif
