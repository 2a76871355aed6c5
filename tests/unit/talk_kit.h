/* SPDX-License-Identifier: Apache-2.0
 * Calls of models for tests: a provider that a test fills in, and a call that is waited for. */
#ifndef TESTS_UNIT_TALK_KIT_H
#define TESTS_UNIT_TALK_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/talk.h"
#include "core/util.h"

struct told {
    bool ended;
    enum talk_end end;
    char detail[LIMIT_DETAIL], *text, *reasoning; /* of malloc */
    enum llm_finish finish;
    struct llm_usage usage;
    int steps; /* times that there was progress */
    size_t most;
};

static struct provider_model kit_model = {"m", 0, 1000, {-1, -1, -1, -1}};

static void kit_progress(void *arg, size_t text, size_t reasoning)
{
    struct told *t = arg;
    (void)reasoning;
    assert_true(text >= t->most);
    t->steps++;
    t->most = text;
}

static void kit_end(void *arg, const struct talk_result *r)
{
    struct told *t = arg;
    assert_false(t->ended);
    t->ended = true;
    t->end = r->end;
    snprintf(t->detail, sizeof(t->detail), "%s", r->detail);
    t->text = strndup(r->answer->text.len ? r->answer->text.data : "", r->answer->text.len);
    t->reasoning = strndup(r->answer->reasoning.len ? r->answer->reasoning.data : "",
                           r->answer->reasoning.len);
    t->finish = r->answer->finish;
    t->usage = r->answer->usage;
}

static void told_release(struct told *t)
{
    free(t->text);
    free(t->reasoning);
}

static json_t *kit_messages(void)
{
    return json_pack("[{s:s, s:s}]", "role", "user", "content", "Write a kernel \xe2\x80\xa6");
}

static struct talk *kit_start(struct talker *t, const struct provider *p, struct told *told,
                              int variant, int trajectory, int turn)
{
    struct fault f = {0};
    json_t *messages = kit_messages();
    struct talk *k = talk_start(t,
                                &(struct talk_request){.provider = p,
                                                       .model = &kit_model,
                                                       .messages = messages,
                                                       .max_output = 100,
                                                       .variant = variant,
                                                       .trajectory = trajectory,
                                                       .turn = turn,
                                                       .on_progress = kit_progress,
                                                       .on_end = kit_end,
                                                       .arg = told},
                                &f);
    json_decref(messages); /* nobody needs them any more */
    assert_non_null(k);
    assert_false(told->ended);
    return k;
}

static void kit_wait(struct talker *t, struct told *told, int64_t most_ms)
{
    int64_t until = now_ms() + most_ms;
    while (!told->ended && now_ms() < until)
        assert_int_equal(talk_wait(t, NULL, 0, 1000, NULL), ERR_NONE);
    assert_true(told->ended);
}

/* One call by its own talker. */
static struct told call(const struct provider *p, int variant, int trajectory, int turn)
{
    struct told told = {0};
    struct talker *t = talker_new(NULL);
    kit_start(t, p, &told, variant, trajectory, turn);
    kit_wait(t, &told, 20000);
    assert_int_equal(talk_running(t), 0);
    talker_free(t);
    return told;
}

/* Writes a file below `folder`, with the folders it needs. */
static void put_file(const char *folder, const char *name, const char *bytes, size_t n, int mode)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    chmod(path, (mode_t)mode);
}

#endif
