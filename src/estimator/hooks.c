/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program's around steps, batches and checkpoints. */
#include <math.h>
#include <string.h>

#include "estimator/estimator_impl.h"

enum {
    MOST_HOOKS = 256
};

static const artel__range no_ranges[] = {{.name = NULL}};
static const artel__options_kind hook_kind = {"estimator hook", "set struct_size", sizeof(artel_estimator_hook),
                                              no_ranges};

artel_status artel__take_list(artel_context *ctx, const artel__options_kind *kind, const void *list, int count,
                              void *out)
{
    const char *at = list;
    char *to = out;
    size_t first = 0, size;
    for (int i = 0; i < count; i++) {
        memcpy(&size, at, sizeof size);
        if (i == 0) first = size;
        ARTEL_TRY(artel__take_options(ctx, kind, at, to));
        if (size != first)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, kind->where, kind->advice,
                               "its struct_size is not that of the first one");
        at += size;
        to += kind->size;
    }
    return ARTEL_OK;
}

artel_status artel__side_take_hooks(artel__estimator_side *side, const artel_estimator_hook *list, int count)
{
    artel_context *ctx = side->estimator->ctx;
    if (count < 0 || count > MOST_HOOKS || (count > 0 && !list))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "hooks", "give a list, and how many there are",
                           "the hooks are no list");
    side->hook = artel__arena_alloc(&side->arena, (size_t)count + 1, sizeof *side->hook);
    if (!side->hook) return ARTEL_ERROR_NO_MEMORY;
    side->hooks = count;
    return artel__take_list(ctx, &hook_kind, list, count, side->hook);
}

artel_status artel__side_hooks(artel__estimator_side *side, size_t which, int64_t step, double loss)
{
    artel_estimator_moment moment = {side->estimator, side->strategy, side->mode, step, loss, side->stop};
    for (int i = 0; i < side->hooks; i++) {
        artel_estimator_hook_fn *call;
        memcpy(&call, (const char *)&side->hook[i] + which, sizeof call);
        artel_status status = call ? call(side->hook[i].user, &moment) : ARTEL_OK;
        if (status < 0)
            return artel__fail(side->estimator->ctx, status, "hooks", "see what it has found", "hook %d has failed", i);
    }
    if (moment.stop && side->mode == ARTEL_ESTIMATOR_TRAIN && side->estimator->strategy.cluster &&
        artel_cluster_size(side->estimator->strategy.cluster) > 1 &&
        strcmp(artel_strategy_name(side->strategy), "parameter-server") != 0)
        return artel__fail(side->estimator->ctx, ARTEL_ERROR_UNSUPPORTED, "hooks", "give max_steps",
                           "a hook wants to stop one of several tasks, which train together");
    side->stop = moment.stop;
    return ARTEL_OK;
}
