// SPDX-License-Identifier: Apache-2.0
#include "server/html.h"

void html_add_text(struct buf *b, const char *s)
{
    for (; s && *s; s++) {
        const char *escaped = *s == '&'   ? "&amp;"
                              : *s == '<' ? "&lt;"
                              : *s == '>' ? "&gt;"
                              : *s == '"' ? "&quot;"
                                          : NULL;
        if (escaped)
            buf_adds(b, escaped);
        else
            buf_add(b, s, 1);
    }
}

void html_begin(struct buf *b, const char *title, const char *path, const char *link)
{
    buf_addf(b,
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
             "<title>PTXBench, %s</title><link rel=\"stylesheet\" href=\"/style.css\"></head>\n"
             "<body><header><a class=\"brand\" href=\"/\">PTXBench</a><nav><a "
             "href=\"%s\">%s</a></nav></header>"
             "<main>\n",
             title, path, link);
}

void html_end(struct buf *b)
{
    buf_adds(b, "</main></body></html>\n");
}
