/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of a step. A replica alone keeps its sums on the device; what others need crosses this machine's memory,
 * or is added up by the plug-in where all are in this process; what it has added up crosses for other processes alone.
 */
#include <string.h>

#include "device/execution_impl.h"

artel_status artel__step_combine(artel__device_execution *e, int stage, const artel__fold_node *node, int32_t first,
                                 artel__buffer **out)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    const artel__step_program *p;
    int count = 0;
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *collective = &e->x->graph->node[cut->collective[i]];
        for (int k = 0; k < node->count && collective->op->collective != ARTEL__COLLECTIVE_GATHER; k++)
            e->in[count++] = *artel__step_slot(e, collective->input[0], node->first - first + k);
    }
    if (count == 0) return ARTEL_OK;
    ARTEL_TRY(artel__step_program_find(e->x, stage, ARTEL__PART_COMBINE, node->count, 0, false, &p));
    return artel__program_launch(p->program, e->device, e->in, count, out);
}

/* A replica alone: all of the tree, whose shards need not be a power of two. */
static artel_status fold_alone(artel__device_execution *e, int stage, const artel__fold_plan *fold)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    artel__fold_node all = {fold->first, fold->count};
    ARTEL_TRY(artel__step_combine(e, stage, &all, fold->first, e->out));
    for (int i = 0, at = 0; i < cut->collectives; i++) {
        const artel__node *collective = &e->x->graph->node[cut->collective[i]];
        if (collective->op->collective != ARTEL__COLLECTIVE_GATHER)
            artel__step_put_into(e, artel__step_slot(e, collective->output[0], 0), e->out[at++]);
    }
    return ARTEL_OK;
}

/* One collective through this machine's memory. */
typedef struct crossing {
    const artel__node *node;
    artel__value_id out;
    int64_t rows; /* of what comes back: BATCH */
    uint8_t *in, *result;
} crossing;

static artel_status take_rows(artel__device_execution *e, artel__value_id id, const artel__fold_plan *fold, uint8_t *to)
{
    return artel__step_await_copies(e, artel__step_begin_rows(e, id, fold, to));
}

static artel_status open_crossing(artel__device_execution *e, const artel__node *node, const artel__fold_plan *fold,
                                  crossing *c, artel__comm_segment *segment)
{
    const artel__value *in = &e->x->graph->value[node->input[0]];
    bool gather = node->op->collective == ARTEL__COLLECTIVE_GATHER;
    size_t bytes = artel__step_element_bytes(e, node->input[0]);
    void *block;
    size_t own = (size_t)(gather ? fold->rows : fold->nodes) * bytes, all = (size_t)(gather ? fold->batch : 1) * bytes;
    ARTEL_TRY(artel__alloc(e->ctx, own + all + 128, "device", &block));
    c->in = block;
    c->result = c->in + (own + 63) / 64 * 64;
    c->node = node;
    c->out = node->output[0];
    c->rows = fold->batch;
    *segment = (artel__comm_segment){.kind = node->op->collective,
                                     .dtype = in->dtype,
                                     .count = artel_shape_count(&in->shape),
                                     .in = c->in,
                                     .out = c->result};
    return ARTEL_OK;
}

static artel_status fill_nodes(artel__device_execution *e, int stage, const artel__fold_plan *fold, crossing *c)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    for (int n = 0; n < fold->nodes; n++) {
        int at = 0;
        bool summed = artel__step_is_grouped(e->x, stage, fold, e->scan != NULL);
        artel_status status = summed ? ARTEL_OK : artel__step_combine(e, stage, &fold->node[n], fold->first, e->out);
        for (int i = 0; i < cut->collectives && status == ARTEL_OK; i++) {
            const artel__node *node = &e->x->graph->node[cut->collective[i]];
            if (node->op->collective == ARTEL__COLLECTIVE_GATHER) continue;
            size_t bytes = artel__step_element_bytes(e, node->input[0]);
            artel__buffer **sum = summed ? &e->node[n * cut->collectives + i] : &e->out[at++];
            status = artel__step_begin_copy(e, *sum, c[i].in + (size_t)n * bytes, bytes);
            artel__step_put_into(e, sum, NULL);
        }
        ARTEL_TRY(status);
    }
    return ARTEL_OK;
}

/* What the plug-in has added up is the first replica's; the others have nothing to add. */
static artel_status fill_sums(artel__device_execution *e, const artel__fold_plan *fold, crossing *c, int count)
{
    for (int i = 0; i < count; i++) {
        const artel__value *value = &e->x->graph->value[c[i].node->input[0]];
        size_t bytes = artel__step_element_bytes(e, c[i].node->input[0]);
        int n = 0;
        if (c[i].node->op->collective == ARTEL__COLLECTIVE_GATHER) continue;
        if (e->index == 0)
            ARTEL_TRY(
                artel__step_begin_copy(e, *artel__step_slot(e, c[i].out, 0), c[i].in + bytes * (size_t)n++, bytes));
        for (; n < fold->nodes; n++) {
            memset(c[i].in + bytes * (size_t)n, 0, bytes);
            artel__step_fill_empty(value, c[i].node->op->collective == ARTEL__COLLECTIVE_MAX,
                                   c[i].in + bytes * (size_t)n);
        }
    }
    return ARTEL_OK;
}

static bool crosses(const artel__device_execution *e, const artel__node *node)
{
    return node->op->collective == ARTEL__COLLECTIVE_GATHER || !e->x->joint || e->x->options.across;
}

/* `count`: of the collectives that cross; all of them, where folds do. */
static artel_status cross(artel__device_execution *e, int stage, const artel__step *step, crossing *c,
                          artel__comm_segment *segment, int *count)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    bool alone = !e->comm || e->comm->size == 1;
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *node = &e->x->graph->node[cut->collective[i]];
        if (!crosses(e, node)) continue;
        ARTEL_TRY(open_crossing(e, node, step->fold, &c[*count], &segment[*count]));
        if (node->op->collective == ARTEL__COLLECTIVE_GATHER)
            ARTEL_TRY(take_rows(e, node->input[0], step->fold, c[*count].in));
        ++*count;
    }
    if (*count == 0) return ARTEL_OK;
    if (!alone && !e->x->joint) ARTEL_TRY(artel__step_await_copies(e, fill_nodes(e, stage, step->fold, c)));
    if (e->x->joint) ARTEL_TRY(artel__step_await_copies(e, fill_sums(e, step->fold, c, *count)));
    if (!alone) ARTEL_TRY(e->comm->ops->all_reduce(e->comm->self, step, cut->collective[0], segment, *count));
    for (int i = 0; i < *count; i++) {
        bool gather = segment[i].kind == ARTEL__COLLECTIVE_GATHER;
        if (!alone || gather)
            ARTEL_TRY(artel__step_put(e, c[i].out, c[i].rows, alone ? c[i].in : c[i].result,
                                      artel__step_slot(e, c[i].out, 0)));
    }
    return ARTEL_OK;
}

artel_status artel__step_exchange(artel__device_execution *e, int stage, const artel__step *step)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    bool alone = !e->comm || e->comm->size == 1, some = false;
    int count = 0;
    void *block;
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *node = &e->x->graph->node[cut->collective[i]];
        some = some || (alone ? node->op->collective == ARTEL__COLLECTIVE_GATHER : crosses(e, node));
    }
    if (cut->collectives == 0) return ARTEL_OK;
    if (alone && artel__step_is_grouped(e->x, stage, step->fold, e->scan != NULL))
        return ARTEL_OK; /* the group has them */
    if (alone) ARTEL_TRY(fold_alone(e, stage, step->fold));
    if (e->x->joint) ARTEL_TRY(artel__step_joint_sum(e, stage, step));
    if (!some) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(e->ctx, (size_t)cut->collectives, sizeof(crossing) + sizeof(artel__comm_segment), "device",
                            &block));
    crossing *c = block;
    artel_status status = cross(e, stage, step, c, (artel__comm_segment *)(c + cut->collectives), &count);
    status = artel__step_await_copies(e, status); /* results are on their way to the device */
    for (int i = 0; i < cut->collectives; i++) artel__free(e->ctx, c[i].in);
    artel__free(e->ctx, c);
    return status;
}
