/* SPDX-License-Identifier: Apache-2.0 */
/* Data of workers: declared alike by all tasks, opened by workers alone, for their whole life (work.c). */
#include <string.h>

#include "function/closure.h"

#define OPTION(field) offsetof(artel_worker_data_options, field)
static const artel__range ranges[] = {{".arrays", ARTEL__RANGE_INT, OPTION(arrays), 1, 4096, NULL}, {.name = NULL}};
static const artel__options_kind kind = {"worker data options", "begin with ARTEL_WORKER_DATA_OPTIONS_INIT",
                                         sizeof(artel_worker_data_options), ranges};

artel_status artel_worker_data_create(artel_strategy *s, const artel_worker_data_options *options,
                                      artel_worker_data **out)
{
    artel_worker_data_options chosen = ARTEL_WORKER_DATA_OPTIONS_INIT;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy options out", s, options, out));
    ARTEL_TRY(artel__take_options(s->ctx, &kind, options, &chosen));
    ARTEL_TRY(artel__strategy_may_declare(s, "worker data"));
    if (!chosen.open || !chosen.next)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "worker data options", "give both",
                           "a function that opens it, or one that makes batches, is missing");
    artel_worker_data *data = artel__arena_alloc(&s->arena, 1, sizeof *data);
    if (!data) return ARTEL_ERROR_NO_MEMORY;
    *data = (artel_worker_data){.strategy = s, .options = chosen, .number = s->data_count, .next = s->data};
    data->options.name = artel__arena_strdup(&s->arena, chosen.name ? chosen.name : "worker data");
    if (!data->options.name) return ARTEL_ERROR_NO_MEMORY;
    s->data = data;
    s->data_count++;
    *out = data;
    return ARTEL_OK;
}

artel_worker_data *artel__worker_data_find(const artel_strategy *s, uint64_t number)
{
    artel_worker_data *data = s->data;
    while (data && (uint64_t)data->number + 1 != number) data = data->next;
    return data;
}

artel_status artel__worker_data_open(artel_strategy *s, int worker)
{
    for (artel_worker_data *data = s->data; data; data = data->next) {
        artel_status status = data->options.open(data->options.user, worker, &data->state);
        if (status < 0)
            return artel__fail(s->ctx, status, data->options.name, "see what its function has found",
                               "worker %d could not open this data", worker);
        data->opened = true;
    }
    return ARTEL_OK;
}

artel_status artel__worker_data_next(artel_worker_data *data, int worker, artel_array *arrays)
{
    const artel_worker_data_options *o = &data->options;
    artel_status status = o->next(o->user, data->state, arrays, o->arrays);
    if (status == ARTEL_OK) return ARTEL_OK;
    if (status == ARTEL_AGAIN)
        return artel__fail(data->strategy->ctx, ARTEL_ERROR_NOT_FOUND, o->name,
                           "schedule no more closures than it has batches",
                           "worker %d has no more batches of this data", worker);
    return artel__fail(data->strategy->ctx, status, o->name, "see what its function has found",
                       "the next batch failed on worker %d", worker);
}

void artel__worker_data_close(artel_strategy *s)
{
    for (artel_worker_data *data = s->data; data; data = data->next) {
        if (data->opened && data->options.close) data->options.close(data->options.user, data->state);
        data->opened = false;
    }
}
