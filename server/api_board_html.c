// SPDX-License-Identifier: Apache-2.0
// The board as a plain page: for browsers without scripts, and for an installation without the
// page's modules.
#include <string.h>

#include "server/api.h"
#include "server/board.h"
#include "server/html.h"
#include "server/service.h"

enum { PAGE_BYTES = 4 * MIB };

static const char *text_of(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s ? s : "";
}

static void add_link(struct buf *b, const char *problem, const char *workload, const char *arch)
{
    buf_addf(b, "<li><a href=\"/board?problem=%s&amp;workload=%s&amp;arch=%s\">%s %s %s</a></li>\n",
             problem, workload, arch, problem, workload, arch);
}

/* Other boards: each problem's workload of the paper and of the CPU, on each architecture. */
static void add_links(struct buf *b, const struct registry *all)
{
    buf_adds(b, "<ul class=\"line\">\n");
    for (size_t i = 0; i < all->problems.count; i++)
        for (size_t j = 0; j < all->archs.count; j++) {
            const struct problem *p = &all->problems.items[i];
            add_link(b, p->name, p->paper_workload->name, all->archs.items[j].name);
            if (p->cpu_workload && p->cpu_workload != p->paper_workload)
                add_link(b, p->name, p->cpu_workload->name, all->archs.items[j].name);
        }
    buf_adds(b, "</ul>\n");
}

static void add_number(struct buf *b, const json_t *value, int digits)
{
    buf_adds(b, "<td class=\"number\">");
    if (json_is_number(value)) {
        char text[32];
        snprintf(text, sizeof(text), "%.*f", digits, json_number_value(value));
        buf_adds(b, text);
    } else {
        buf_adds(b, "–");
    }
    buf_adds(b, "</td>");
}

static void add_row(struct buf *b, const json_t *item)
{
    const char *label = text_of(item, "label");
    const json_t *target = json_object_get(json_object_get(item, "target"), "executed");
    buf_adds(b, "<tr>");
    add_number(b, json_object_get(item, "rank"), 0);
    buf_addf(b, "<td><a href=\"/submissions/%s\">", text_of(item, "id"));
    html_add_text(b, *label ? label : text_of(item, "id"));
    buf_adds(b, "</a></td><td>");
    html_add_text(b, text_of(item, "method"));
    buf_adds(b, "</td><td>");
    html_add_text(b, text_of(item, "owner"));
    buf_adds(b, "</td>");
    add_number(b, json_object_get(json_object_get(item, "speedup"), "value"), 3);
    add_number(b, json_object_get(item, "candidate_us"), 3);
    buf_addf(b, "<td>%s</td><td>",
             json_is_true(target)    ? "executed"
             : json_is_false(target) ? "not executed"
                                     : "unknown");
    html_add_text(b, text_of(item, "device_model"));
    buf_adds(b, "</td>");
    add_number(b, json_object_get(item, "attempts"), 0);
    buf_adds(b, "</tr>\n");
}

/* What an operator took off the board, and why. */
static void add_hidden(struct buf *b, const json_t *hidden)
{
    size_t i;
    const json_t *item;
    if (!json_array_size(hidden))
        return;
    buf_adds(b, "<h2>Taken off</h2>\n<ul>\n");
    json_array_foreach(hidden, i, item)
    {
        const char *label = text_of(item, "label");
        buf_addf(b, "<li><a href=\"/submissions/%s\">", text_of(item, "id"));
        html_add_text(b, *label ? label : text_of(item, "id"));
        buf_adds(b, "</a>: ");
        html_add_text(b, text_of(item, "reason"));
        buf_adds(b, "</li>\n");
    }
    buf_adds(b, "</ul>\n");
}

static void add_page(struct buf *b, const struct registry *all, const struct board_filter *q,
                     const json_t *board)
{
    size_t i;
    const json_t *item, *items = json_object_get(board, "items");
    const char *baseline = text_of(board, "baseline");
    html_begin(b, "board", "/published", "The paper's tables");
    buf_adds(b, "<h1>");
    html_add_text(b, q->problem);
    buf_adds(b, " ");
    html_add_text(b, q->workload);
    buf_adds(b, " on ");
    html_add_text(b, q->arch);
    buf_adds(b, "</h1>\n<p>Speedup over ");
    html_add_text(b, *baseline ? baseline : "the vendor's library");
    buf_adds(b, " on the same device: 1.0 is as fast.</p>\n");
    add_links(b, all);
    if (json_array_size(items)) {
        buf_adds(
            b, "<div class=\"scroll\"><table><thead><tr><th class=\"number\">Rank</th><th>Who</th>"
               "<th>Method</th><th>Owner</th><th class=\"number\">Speedup</th>"
               "<th class=\"number\">µs</th><th>Target instructions</th><th>Device</th><th "
               "class=\"number\">Tries</th></tr></thead>"
               "<tbody>\n");
        json_array_foreach(items, i, item) add_row(b, item);
        buf_adds(b, "</tbody></table></div>\n");
    } else {
        buf_adds(b, "<p>No entry yet.</p>\n");
    }
    add_hidden(b, json_object_get(board, "hidden"));
    buf_adds(b, "<p><a href=\"/v1\">API</a></p>");
    html_end(b);
}

enum err board_html_get(struct request *r)
{
    struct board_filter q;
    json_t *document = NULL;
    enum err e = board_read(r, true, &q, &document);
    if (e)
        return e;
    struct buf b;
    buf_init(&b, PAGE_BYTES);
    add_page(&b, &r->service->registry, &q, document);
    return answer_buf(r, 200, "text/html; charset=utf-8", &b);
}
