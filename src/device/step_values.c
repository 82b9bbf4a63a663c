/* SPDX-License-Identifier: Apache-2.0 */
/* Where the values of a step are, and copies from and to the device. */
#include <string.h>

#include "device/execution_impl.h"

artel__platform *artel__step_platform(const artel__device_execution *e)
{
    return e->x->place->platform;
}

bool artel__step_is_per_shard(const artel__device_execution *e, artel__value_id id)
{
    artel__domain domain = e->x->graph->value[id].domain;
    return domain == ARTEL__DOMAIN_ROW || domain == ARTEL__DOMAIN_NODES;
}

/* Where a value is, for owned shard `s`. */
artel__buffer **artel__step_slot(const artel__device_execution *e, artel__value_id id, int s)
{
    const artel__value *value = &e->x->graph->value[id];
    if (value->variable >= 0) return &e->home->variable[value->variable];
    return artel__step_is_per_shard(e, id) ? &e->shard[(int64_t)id * e->x->options.shards + s] : &e->one[id];
}

void artel__step_put_into(const artel__device_execution *e, artel__buffer **slot, artel__buffer *buffer)
{
    artel__buffer_release(artel__step_platform(e), *slot);
    *slot = buffer;
}

void artel__step_release_value(const artel__device_execution *e, artel__value_id id)
{
    int slots = artel__step_is_per_shard(e, id) ? e->x->options.shards : 1;
    if (e->x->graph->value[id].variable >= 0) return;
    for (int s = 0; s < slots; s++) artel__step_put_into(e, artel__step_slot(e, id, s), NULL);
    artel__step_put_into(e, &e->one[id], NULL); /* rows of all shards in one array */
}

void artel__step_release_all(const artel__device_execution *e)
{
    for (int i = 0; i < e->x->graph->values; i++) artel__step_release_value(e, i);
    for (int i = 0; i < e->nodes; i++) artel__step_put_into(e, &e->node[i], NULL);
}

/* Room for one more copy that is on its way. */
static artel_status reserve_copy(artel__device_execution *e)
{
    if (e->copies < e->most_copies) return ARTEL_OK;
    int most = e->most_copies ? 2 * e->most_copies : 32;
    void *block = e->copy;
    ARTEL_TRY(artel__realloc(e->ctx, (size_t)most * sizeof(artel__copy *), "device", &block));
    e->copy = block;
    e->most_copies = most;
    return ARTEL_OK;
}

/* Begins to copy an array to this machine; await_copies waits for all. */
artel_status artel__step_begin_copy(artel__device_execution *e, artel__buffer *buffer, void *to, size_t bytes)
{
    ARTEL_TRY(reserve_copy(e));
    ARTEL_TRY(artel__buffer_get_begin(artel__step_platform(e), buffer, to, bytes, &e->copy[e->copies]));
    e->copies++;
    return ARTEL_OK;
}

/* The same to the device. */
artel_status artel__step_begin_put(artel__device_execution *e, artel_dtype dtype, const artel_shape *shape,
                                   const void *host, artel__buffer **out)
{
    ARTEL_TRY(reserve_copy(e));
    ARTEL_TRY(
        artel__buffer_put_begin(artel__step_platform(e), e->device, dtype, shape, host, &e->copy[e->copies], out));
    e->copies++;
    return ARTEL_OK;
}

artel_status artel__step_await_copies(artel__device_execution *e, artel_status status)
{
    int now = e->copies - e->later;
    for (int i = 0; i < now; i++) {
        artel_status one = artel__copy_wait(artel__step_platform(e), e->copy[i]);
        status = status < 0 ? status : one;
    }
    if (e->later) memmove(e->copy, e->copy + now, (size_t)e->later * sizeof(artel__copy *));
    e->copies = e->later;
    e->later = 0;
    return status;
}

void artel__step_give_up_copies(artel__device_execution *e, int from)
{
    while (e->copies > from) artel__copy_wait(artel__step_platform(e), e->copy[--e->copies]);
}

/* `host` stays until the copies are waited for. */
artel_status artel__step_put(artel__device_execution *e, artel__value_id id, int64_t rows, const void *host,
                             artel__buffer **slot)
{
    const artel__value *value = &e->x->graph->value[id];
    artel_shape shape = value->shape;
    artel__buffer *buffer;
    if (value->domain == ARTEL__DOMAIN_ROW || value->domain == ARTEL__DOMAIN_BATCH) {
        shape = (artel_shape){.rank = value->shape.rank + 1, .dim = {rows}};
        for (int k = 0; k < value->shape.rank; k++) shape.dim[k + 1] = value->shape.dim[k];
    }
    ARTEL_TRY(artel__step_begin_put(e, value->dtype, &shape, host, &buffer));
    artel__step_put_into(e, slot, buffer);
    return ARTEL_OK;
}

size_t artel__step_element_bytes(const artel__device_execution *e, artel__value_id id)
{
    const artel__value *value = &e->x->graph->value[id];
    return (size_t)artel_shape_count(&value->shape) * artel_dtype_size(value->dtype);
}

artel_status artel__step_begin_rows(artel__device_execution *e, artel__value_id id, const artel__fold_plan *fold,
                                    uint8_t *to)
{
    size_t bytes = artel__step_element_bytes(e, id);
    for (int s = 0; s < fold->count; s++) {
        size_t rows = (size_t)(fold->start[s + 1] - fold->start[s]);
        if (rows) ARTEL_TRY(artel__step_begin_copy(e, *artel__step_slot(e, id, s), to, rows * bytes));
        to += rows * bytes;
    }
    return ARTEL_OK;
}
