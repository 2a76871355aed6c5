// SPDX-License-Identifier: Apache-2.0
#include "agent/talk_replay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/talk_parts.h"
#include "core/json.h"
#include "core/text.h"
#include "core/util.h"

enum { PIECES = 8, TOLD_MAX = LLM_ANSWER_MAX };

struct replay {
    struct buf text;
    int64_t began_ms, delay_ms;
    int pieces; /* of the text that have come */
};

_Bool replay_path(size_t rank, int variant, int trajectory, int turn, const char *ending,
                  char out[REPLAY_PATH])
{
    switch (rank) {
    case 0:
        snprintf(out, REPLAY_PATH, "%d/%d/%d.%s", variant, trajectory, turn, ending);
        return true;
    case 1:
        snprintf(out, REPLAY_PATH, "%d/%d.%s", variant, turn, ending);
        return true;
    case 2:
        snprintf(out, REPLAY_PATH, "%d.%s", turn, ending);
        return true;
    default:
        return false;
    }
}

static bool path_of(const struct talk_request *r, size_t rank, const char *ending, char *out,
                    size_t size)
{
    char name[REPLAY_PATH];
    if (!replay_path(rank, r->variant, r->trajectory, r->turn, ending, name))
        return false;
    return snprintf(out, size, "%s/%s", r->provider->folder, name) < (int)size;
}

static enum err read_told(struct talk *k, const char *path, struct replay *own, struct fault *f)
{
    struct buf text;
    struct fault why = {0};
    if (access(path, F_OK))
        return ERR_NONE; /* there is nothing to tell */
    buf_init(&text, TOLD_MAX);
    enum err e = read_file(path, &text, f);
    json_t *told = e ? NULL : json_parse(text.data ? text.data : "", text.len, &why);
    if (!e && (!told || !talk_read_told(told, &k->answer, &own->delay_ms, &why)))
        e = fault_set(f, ERR_INVALID, "%s", why.detail);
    if (!e && k->answer.text.len)
        e = fault_set(f, ERR_INVALID, "$.text: belongs into the file beside");
    json_decref(told);
    buf_release(&text);
    return e;
}

/* Reads the files of the call; what is wrong with them is how it ends. */
static void find_answer(struct talk *k, struct replay *own)
{
    const struct talk_request *r = &k->request;
    struct fault why = {0};
    char path[1200], first[REPLAY_PATH];
    size_t rank = 0;
    while (path_of(r, rank, "md", path, sizeof(path)) && access(path, F_OK))
        rank++;
    replay_path(rank, r->variant, r->trajectory, r->turn, "md", first);
    if (!path_of(r, rank, "md", path, sizeof(path))) {
        replay_path(0, r->variant, r->trajectory, r->turn, "md", first);
        talk_ended(k, TALK_REFUSED, "provider %s has no answer for this turn: there is no %s",
                   r->provider->name, first);
        return;
    }
    enum err e = read_file(path, &own->text, &why);
    if (e == ERR_NONE && path_of(r, rank, "json", path, sizeof(path))) {
        replay_path(rank, r->variant, r->trajectory, r->turn, "json", first);
        e = read_told(k, path, own, &why);
    }
    if (e != ERR_NONE)
        talk_ended(k, TALK_REFUSED, "provider %s cannot replay %s: %s", r->provider->name, first,
                   why.detail);
}

static int64_t time_of_piece(const struct replay *own, int piece)
{
    return own->began_ms + own->delay_ms * piece / PIECES;
}

static void end(struct talk *k)
{
    if (k->answer.text.failed)
        talk_ended(k, TALK_BROKEN, "provider %s: the answer is larger than %d MiB",
                   k->request.provider->name, LLM_ANSWER_MAX / MIB);
    else if (k->answer.finish == LLM_NONE)
        talk_ended(k, TALK_CUT, "the answer of provider %s breaks off here",
                   k->request.provider->name);
    else
        talk_ended(k, TALK_ANSWERED, "%s", "");
}

/* The next piece of the text, up to a whole character. */
static void due(struct talk *k)
{
    struct replay *own = k->own;
    struct buf *text = &k->answer.text;
    int64_t now = now_ms();
    while (own->pieces < PIECES && time_of_piece(own, own->pieces + 1) <= now)
        own->pieces++;
    size_t want = own->text.len / PIECES * (size_t)own->pieces;
    want = own->pieces == PIECES ? own->text.len : text_cut(own->text.data, own->text.len, want);
    if (want > text->len)
        buf_add(text, own->text.data + text->len, want - text->len);
    k->progressed = true;
    k->due_ms = time_of_piece(own, own->pieces + 1);
    if (own->pieces == PIECES)
        end(k);
}

static enum err start(struct talk *k, struct fault *f)
{
    struct replay *own = calloc(1, sizeof(*own));
    if (!own)
        return fault_set(f, ERR_NO_MEMORY, "cannot replay an answer: out of memory");
    k->own = own;
    buf_init(&own->text, LLM_ANSWER_MAX);
    k->answer.finish = LLM_STOP;
    find_answer(k, own);
    own->began_ms = now_ms();
    if (!k->ended)
        k->due_ms = time_of_piece(own, 1);
    return ERR_NONE;
}

static void release(struct talk *k)
{
    struct replay *own = k->own;
    if (!own)
        return;
    buf_release(&own->text);
    free(own);
    k->own = NULL;
}

const struct talk_way talk_replay = {
    .format = "replay", .start = start, .due = due, .release = release};
