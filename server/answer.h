/* SPDX-License-Identifier: Apache-2.0
 * How a submission is shown: the document of the store with its links, or five readable lines. */
#ifndef SERVER_ANSWER_H
#define SERVER_ANSWER_H

#include "server/request.h"

/* Shows submission r->subject: 200 (or `finished_status`) once it is done; otherwise waits as long
 * as the caller asked for and then answers 202 with Location. */
enum err answer_submission(struct request *r, int finished_status);

/* Reads ?wait= into r->wait_ms. */
enum err answer_wait(struct request *r);

/* Link: <…>; rel="next": this address, of a list, with another cursor. */
void answer_next(struct request *r, const char *next);

/* A document of the store as answers show it: what matters first, with links, without what has no
 * meaning in its state. Takes `document`, gives a new reference. */
json_t *answer_shape(json_t *document);
/* Adds the links `url`, `events` and, once it is done, `report`. */
void answer_links(json_t *document, const char *id);

/* Five lines; caller releases the buffer. */
void answer_lines(const json_t *document, struct buf *out);

#endif
