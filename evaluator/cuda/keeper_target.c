// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_target.h"

json_t *keeper_target_unknown(const char *reason)
{
    return json_pack("{s:n, s:n, s:n, s:s}", "executed", "families", "tensor_share", "reason",
                     reason);
}

json_t *keeper_target_of(const json_t *answer)
{
    json_t *executed = json_object_get(answer, "executed"),
           *families = json_object_get(answer, "families");
    json_t *share = json_object_get(answer, "tensor_share"),
           *reason = json_object_get(answer, "reason");
    json_t *out = keeper_target_unknown("the verifier gave no reason");
    if (json_is_boolean(executed))
        json_object_set(out, "executed", executed);
    if (json_is_object(families))
        json_object_set_new(out, "families", json_deep_copy(families));
    if (json_is_number(share))
        json_object_set(out, "tensor_share", share);
    if (json_is_string(reason))
        json_object_set(out, "reason", reason);
    else if (json_is_boolean(executed) && json_is_number(share))
        json_object_set_new(out, "reason", json_null());
    return out;
}

bool keeper_target_known(const json_t *target)
{
    return json_is_boolean(json_object_get(target, "executed")) &&
           json_is_object(json_object_get(target, "families"));
}

static void add_member(json_t *sum, const json_t *more, const char *member)
{
    json_int_t n = json_integer_value(json_object_get(sum, member)) +
                   json_integer_value(json_object_get(more, member));
    json_object_set_new(sum, member, json_integer(n));
}

void keeper_target_add(json_t *sum, const json_t *more)
{
    json_t *reason = json_object_get(more, "reason"), *counts;
    json_t *share = json_object_get(sum, "tensor_share"),
           *other = json_object_get(more, "tensor_share");
    const char *name;
    if (!keeper_target_known(more)) {
        json_object_update(sum, (json_t *)more);
        return;
    }
    if (json_is_true(json_object_get(more, "executed")))
        json_object_set_new(sum, "executed", json_true());
    json_object_foreach(json_object_get(sum, "families"), name, counts)
    {
        const json_t *own = json_object_get(json_object_get(more, "families"), name);
        add_member(counts, own, "warps");
        add_member(counts, own, "threads");
    }
    if (json_is_number(share) && json_is_number(other)) {
        json_object_set_new(sum, "tensor_share",
                            json_real(json_number_value(share) + json_number_value(other)));
    } else if (json_is_number(share)) {
        json_object_set_new(sum, "tensor_share", json_null());
        json_object_set(sum, "reason", reason);
    }
}
