// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/verifier.h"

#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/sass_metrics.h"
#include "evaluator/cuda/session.h"

struct verifier {
    struct session session;
    struct sass_metrics metrics;
    struct fault missing; /* why nothing can be counted; code ERR_NONE: it can */
};

/* The launch that is counted, by its name in the module. */
static struct sass_launch launch_of(const struct session *s, size_t launch)
{
    const struct plan_launch *l = &s->plan->launches[launch];
    const char *symbol = json_string_value(json_object_get(s->symbols, l->kernel));
    uint64_t size = (uint64_t)s->arch->warp_size;
    uint64_t threads = (uint64_t)(l->block[0] * l->block[1] * l->block[2]);
    return (struct sass_launch){symbol ? symbol : l->kernel,
                                (uint64_t)(l->grid[0] * l->grid[1] * l->grid[2]) *
                                    ((threads + size - 1) / size)};
}

static json_t *count_json(const struct sass_count *c)
{
    return json_pack("{s:I, s:I}", "warps", (json_int_t)c->warps, "threads",
                     (json_int_t)c->threads);
}

/* Share of the problem's operations, or null with the reason. */
static json_t *share_json(const struct session *s, const struct sass_summary *sum, json_t **reason)
{
    double flops = (double)problem_flops(s->problem, s->workload);
    if (!sum->shapeless && flops > 0)
        return json_real(sum->tensor_flops / flops);
    *reason = json_sprintf("the shape of %s is not in its bits, so its operations are not known",
                           sum->shapeless);
    return json_null();
}

static void put_known(json_t *to, const struct session *s, const struct sass_summary *sum)
{
    json_t *families = json_object(), *reason = json_null();
    for (size_t i = 0; i < s->arch->family_count; i++)
        json_object_set_new(families, s->arch->families[i].name, count_json(&sum->families[i]));
    json_t *share = share_json(s, sum, &reason);
    json_object_set_new(to, "executed", json_boolean(sum->target));
    json_object_set_new(to, "families", families);
    json_object_set_new(to, "tensor_share", share);
    json_object_set_new(to, "reason", reason);
    json_object_set_new(to, "total", count_json(&sum->total));
    json_object_set_new(to, "patched", json_integer((json_int_t)sum->patched));
}

static void put_unknown(json_t *to, const struct fault *why)
{
    static const char *const members[] = {"executed", "families", "tensor_share", "total"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        json_object_set_new(to, members[i], json_null());
    json_object_set_new(to, "reason", json_string(why->detail));
    json_object_set_new(to, "patched", json_integer(0));
}

/* Runs the plan up to the launch, buffers filled, and that under the metrics, which watch nothing
 * but the first kernel after they are set. False if the plan's own kernels went wrong. */
static bool run_counted(struct session *s, int slot, size_t launch, struct sass_records *records,
                        struct fault *why, struct session_answer *out)
{
    struct verifier *v = s->role;
    if (!launcher_prepare(s->launcher, NULL, &out->fault) ||
        !launcher_enqueue_until(s->launcher, slot, NULL, launch, &out->fault) ||
        !launcher_wait(s->launcher, NULL, &out->fault))
        return false;
    if (sass_metrics_begin(&v->metrics, why) != ERR_NONE)
        return true;
    bool ok = launcher_enqueue_one(s->launcher, slot, NULL, launch, &out->fault) &&
              launcher_wait(s->launcher, NULL, &out->fault);
    struct fault late = {0};
    if (sass_metrics_end(&v->metrics, records, &late) != ERR_NONE)
        *why = late;
    return ok;
}

static enum err summarise(const struct session *s, size_t launch,
                          const struct sass_records *records, struct sass_summary *sum,
                          struct fault *why)
{
    struct sass_launch counted = launch_of(s, launch);
    struct cubin cubin;
    enum err e = cubin_open(&cubin, s->cubin, s->cubin_len, why);
    return e == ERR_NONE ? sass_summarise(&cubin, s->arch, &counted, 1, records, sum, why) : e;
}

static bool do_count(struct session *s, const json_t *request, struct wire_message *message,
                     struct session_answer *out)
{
    (void)message;
    struct verifier *v = s->role;
    struct fault why = v->missing;
    struct sass_records records = {0};
    struct sass_summary sum;
    int slot = session_slot(s, request, "slot", out);
    json_int_t launch = json_integer_value(json_object_get(request, "launch"));
    if (slot < 0 || !session_load(s, true, out))
        return false;
    if (launch < 0 || (size_t)launch >= s->plan->launch_count)
        return session_refuse(out, "the plan has no launch %lld", (long long)launch);
    double start = now_s();
    bool ok = why.code != ERR_NONE || run_counted(s, slot, (size_t)launch, &records, &why, out);
    json_object_set_new(out->members, "us", json_real((now_s() - start) * 1e6));
    if (ok && why.code == ERR_NONE &&
        summarise(s, (size_t)launch, &records, &sum, &why) == ERR_NONE)
        put_known(out->members, s, &sum);
    else
        put_unknown(out->members, &why);
    sass_records_release(&records);
    return ok;
}

static const struct session_row operations[] = {{"count", do_count}};

int gpu_verifier(int fd, int ordinal)
{
    static struct verifier v;
    struct fault f = {0};
    if (session_open(&v.session, fd, ordinal, &f) != ERR_NONE)
        return session_fail(fd, &f);
    v.session.role = &v;
    sass_metrics_open(&v.metrics, &v.session.device, ordinal, &v.missing);
    return session_serve(&v.session, operations, COUNT_OF(operations), NULL);
}
