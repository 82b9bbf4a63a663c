/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a step to the device: with the step, or while the one before is computed. */
#include "base/failures.h"
#include "device/execution_impl.h"

/* One array for all owned rows, for groups; else one for each shard; what all have in common once. */
static bool is_whole(const artel__device_execution *e, artel__value_id id, const artel__fold_plan *fold, bool scan)
{
    return e->x->whole[id] && artel__step_is_grouped(e->x, 0, fold, scan);
}

/* Text stays where it is: numbers were made of it (function/texts.c), and no node reads it. */
static bool is_text(const artel__device_execution *e, int i)
{
    const artel__graph *graph = e->x->graph;
    return graph->value[graph->input[i]].dtype == ARTEL_DTYPE_STRING;
}

/* `slot`: where the buffer of a shard goes; all of it where it is one array. */
static artel_status put_shards(artel__device_execution *e, int i, const artel__fold_plan *fold, const void *host,
                               artel__buffer **slot)
{
    artel__value_id id = e->x->graph->input[i];
    for (int s = 0; s < fold->count; s++) {
        int64_t rows = fold->start[s + 1] - fold->start[s];
        const uint8_t *from = (const uint8_t *)host + (size_t)fold->start[s] * artel__step_element_bytes(e, id);
        if (rows) ARTEL_TRY(artel__step_put(e, id, rows, from, &slot[s]));
    }
    return ARTEL_OK;
}

static artel_status put_input(artel__device_execution *e, int i, const artel__fold_plan *fold, const void *host)
{
    artel__value_id id = e->x->graph->input[i];
    if (is_text(e, i)) return ARTEL_OK;
    if (!artel__step_is_per_shard(e, id)) return artel__step_put(e, id, fold->batch, host, artel__step_slot(e, id, 0));
    if (is_whole(e, id, fold, e->scan != NULL)) return artel__step_put(e, id, fold->rows, host, &e->one[id]);
    return put_shards(e, i, fold, host, artel__step_slot(e, id, 0));
}

/* -- ahead -- */

artel_status artel__step_sent_prepare(artel__device_execution *e)
{
    size_t buffers = (size_t)(e->x->graph->inputs + 1) * (size_t)e->x->options.shards;
    e->sent_start = artel__arena_alloc(&e->arena, (size_t)e->x->options.shards + 1, sizeof *e->sent_start);
    for (int k = 0; k < ARTEL__SENT_AHEAD; k++)
        e->sent[k].buffer = artel__arena_alloc(&e->arena, buffers, sizeof *e->sent[k].buffer);
    return artel__arena_status(&e->arena);
}

static artel__buffer **sent_of(const artel__device_execution *e, const artel__sent_inputs *sent, int i)
{
    return sent->buffer + (int64_t)i * e->x->options.shards;
}

static void release_sent(const artel__device_execution *e, const artel__sent_inputs *sent)
{
    for (int i = 0; i < e->x->graph->inputs * e->x->options.shards; i++)
        artel__step_put_into(e, &sent->buffer[i], NULL);
}

void artel__step_drop_sent(artel__device_execution *e)
{
    for (int k = 0; k < e->sents; k++) release_sent(e, &e->sent[k]);
    e->sents = 0;
}

static artel_status send_all(artel__device_execution *e, const artel__sent_inputs *sent, const artel__fold_plan *fold,
                             const void *const *inputs)
{
    for (int i = 0; i < e->x->graph->inputs; i++) {
        artel__value_id id = e->x->graph->input[i];
        if (is_text(e, i)) continue;
        if (!artel__step_is_per_shard(e, id))
            ARTEL_TRY(artel__step_put(e, id, fold->batch, inputs[i], sent_of(e, sent, i)));
        else if (is_whole(e, id, fold, false))
            ARTEL_TRY(artel__step_put(e, id, fold->rows, inputs[i], sent_of(e, sent, i)));
        else
            ARTEL_TRY(put_shards(e, i, fold, inputs[i], sent_of(e, sent, i)));
    }
    return ARTEL_OK;
}

bool artel__step_send_inputs(artel__device_execution *e, const artel__fold_plan *fold, const void *const *inputs)
{
    int before = e->copies;
    if (e->sents >= e->x->ahead) return false;
    artel__sent_inputs *sent = &e->sent[e->sents];
    bool forgot = artel__failures_forget(true);
    bool all = send_all(e, sent, fold, inputs) == ARTEL_OK;
    if (!all) artel__step_give_up_copies(e, before);
    artel__failures_forget(forgot);
    if (!all) {
        release_sent(e, sent);
        return false;
    }
    e->later += e->copies - before;
    *sent = (artel__sent_inputs){inputs, fold->batch, fold->first, fold->count, sent->buffer};
    e->sents++;
    return true;
}

static bool was_sent(const artel__device_execution *e, const artel__fold_plan *fold, const void *const *inputs)
{
    const artel__sent_inputs *sent = &e->sent[0];
    return !e->scan && e->sents > 0 && sent->from == inputs && sent->batch == fold->batch &&
           sent->first == fold->first && sent->count == fold->count;
}

/* Buffers go where put_input would have put them. */
static void take_input(artel__device_execution *e, int i, const artel__fold_plan *fold)
{
    artel__value_id id = e->x->graph->input[i];
    artel__buffer **from = sent_of(e, &e->sent[0], i), **to = artel__step_slot(e, id, 0);
    int count = artel__step_is_per_shard(e, id) ? fold->count : 1;
    if (is_whole(e, id, fold, false)) {
        to = &e->one[id];
        count = 1;
    }
    for (int s = 0; s < count; s++) {
        artel__step_put_into(e, &to[s], from[s]);
        from[s] = NULL;
    }
}

/* What was sent first; the others move up. */
static void take_sent(artel__device_execution *e, const artel__fold_plan *fold)
{
    for (int i = 0; i < e->x->graph->inputs; i++) take_input(e, i, fold);
    artel__sent_inputs taken = e->sent[0];
    release_sent(e, &taken); /* nothing is left in it but what nobody reads */
    e->sents--;
    for (int k = 0; k < e->sents; k++) e->sent[k] = e->sent[k + 1];
    e->sent[e->sents] = taken;
}

artel_status artel__step_put_inputs(artel__device_execution *e, const artel__step *step, const void *const *inputs)
{
    if (was_sent(e, step->fold, inputs)) {
        take_sent(e, step->fold);
        return ARTEL_OK;
    }
    artel_status status = artel__step_await_copies(e, ARTEL_OK); /* of what is left out: its memory is used again */
    artel__step_drop_next(e);
    artel__step_drop_sent(e);
    for (int i = 0; i < e->x->graph->inputs && status == ARTEL_OK; i++) status = put_input(e, i, step->fold, inputs[i]);
    return status;
}
