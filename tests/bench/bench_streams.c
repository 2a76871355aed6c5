// SPDX-License-Identifier: Apache-2.0
// Calls under way at one time in one process, over TLS, each answered by a stream of 256 KiB: how
// much memory they take. Started by tests/bench/streams.sh.
//   usage: bench_streams PROVIDERS PROVIDER MODEL CALLS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/talk.h"
#include "core/util.h"

enum { PEAK_MAX_MIB = 64, TIMEOUT_S = 300, LEAST_CHARACTERS = 200000 };

struct tally {
    int answered, ended, most;
    size_t characters;
};

static void on_end(void *arg, const struct talk_result *r)
{
    struct tally *t = arg;
    t->ended++;
    if (r->end == TALK_ANSWERED && r->answer->text.len >= LEAST_CHARACTERS)
        t->answered++;
    else
        fprintf(stderr, "%s: %s\n", talk_end_name(r->end), r->detail);
    t->characters += r->answer->text.len;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static bool talk_all(const struct provider *p, const struct provider_model *m, int calls,
                     struct tally *tally, struct fault *f)
{
    struct talker *t = talker_new(f);
    json_t *messages = json_pack("[{s:s, s:s}]", "role", "user", "content", "Write a kernel.");
    struct talk_request r = {.provider = p,
                             .model = m,
                             .messages = messages,
                             .max_output = m->max_output,
                             .on_end = on_end,
                             .arg = tally};
    double until = now_s() + TIMEOUT_S;
    bool good = t;
    for (int i = 0; i < calls && good; i++)
        good = talk_start(t, &r, f);
    while (good && talk_running(t) && now_s() < until) {
        if ((int)talk_running(t) > tally->most)
            tally->most = (int)talk_running(t);
        good = talk_wait(t, NULL, 0, 1000, f) == ERR_NONE;
    }
    talker_free(t);
    json_decref(messages);
    return good && tally->answered == calls;
}

int main(int argc, char **argv)
{
    struct providers providers;
    struct fault f = {0};
    struct tally tally = {0};
    if (argc != 5) {
        fprintf(stderr, "usage: bench_streams PROVIDERS PROVIDER MODEL CALLS\n");
        return 2;
    }
    bool good = providers_load(argv[1], &providers, &f) == ERR_NONE;
    const struct provider *p = good ? providers_find(&providers, argv[2]) : NULL;
    const struct provider_model *m = p ? provider_model(p, argv[3]) : NULL;
    long before = peak_kib();
    double start = now_s();
    good = m && talk_all(p, m, (int)strtol(argv[4], NULL, 10), &tally, &f);
    if (!good)
        fprintf(stderr, "%d answered, %d ended: %s\n", tally.answered, tally.ended, f.detail);
    printf("agent.streams_at_once %d streams\n", tally.most);
    printf("agent.streams_seconds %.2f s\n", now_s() - start);
    printf("agent.streams_mib_received %.1f MiB\n", (double)tally.characters / MIB);
    printf("agent.streams_start_mib %.1f MiB\n", (double)before / KIB);
    printf("agent.streams_peak_mib %.1f MiB\n", (double)peak_kib() / KIB);
    providers_release(&providers);
    return good && peak_kib() <= PEAK_MAX_MIB * KIB ? 0 : 1;
}
