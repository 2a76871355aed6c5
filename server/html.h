/* SPDX-License-Identifier: Apache-2.0
 * Plain pages, for browsers without scripts. All append to `b`, which remembers if it could not (core/buf.h). */
#ifndef SERVER_HTML_H
#define SERVER_HTML_H

#include "core/buf.h"

/* Text, with what means something in HTML escaped, for content and quoted attributes. NULL: nothing. */
void html_add_text(struct buf *b, const char *s);

/* Up to the heading: the document's head, and a header that leads home and to one other page. `title`, `path` and
 * `link` are text of ours. */
void html_begin(struct buf *b, const char *title, const char *path, const char *link);
void html_end(struct buf *b);

#endif
