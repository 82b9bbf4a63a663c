/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of a step. A replica alone keeps its sums on the device; what others need crosses this machine's memory.
 */
#include "device/execution_impl.h"

/* Nodes of all folds of the stage, one launch for each node of the tree; `out` by node and collective. */
static artel_status combine(artel__device_execution *e, int stage, const artel__fold_node *node, int32_t first,
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

/* A replica alone: the tree has one root. */
static artel_status fold_alone(artel__device_execution *e, int stage, const artel__fold_plan *fold)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    ARTEL_TRY(combine(e, stage, &fold->node[0], fold->first, e->out));
    for (int i = 0, at = 0; i < cut->collectives; i++) {
        const artel__node *collective = &e->x->graph->node[cut->collective[i]];
        if (collective->op->collective != ARTEL__COLLECTIVE_GATHER)
            artel__step_put_into(e, artel__step_slot(e, collective->output[0], 0), e->out[at++]);
    }
    return ARTEL_OK;
}

/* One collective through this machine's memory. */
typedef struct crossing {
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
        artel_status status = summed ? ARTEL_OK : combine(e, stage, &fold->node[n], fold->first, e->out);
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

static artel_status cross(artel__device_execution *e, int stage, const artel__step *step, crossing *c,
                          artel__comm_segment *segment)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    bool alone = !e->comm || e->comm->size == 1;
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *node = &e->x->graph->node[cut->collective[i]];
        ARTEL_TRY(open_crossing(e, node, step->fold, &c[i], &segment[i]));
        if (node->op->collective == ARTEL__COLLECTIVE_GATHER)
            ARTEL_TRY(take_rows(e, node->input[0], step->fold, c[i].in));
    }
    if (!alone) ARTEL_TRY(artel__step_await_copies(e, fill_nodes(e, stage, step->fold, c)));
    if (!alone) ARTEL_TRY(e->comm->ops->all_reduce(e->comm->self, step, cut->collective[0], segment, cut->collectives));
    for (int i = 0; i < cut->collectives; i++) {
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
    bool alone = !e->comm || e->comm->size == 1, gathers = false;
    void *block;
    for (int i = 0; i < cut->collectives; i++)
        gathers = gathers || e->x->graph->node[cut->collective[i]].op->collective == ARTEL__COLLECTIVE_GATHER;
    if (cut->collectives == 0) return ARTEL_OK;
    if (alone && artel__step_is_grouped(e->x, stage, step->fold, e->scan != NULL))
        return ARTEL_OK; /* the group has them */
    if (alone) ARTEL_TRY(fold_alone(e, stage, step->fold));
    if (alone && !gathers) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(e->ctx, (size_t)cut->collectives, sizeof(crossing) + sizeof(artel__comm_segment), "device",
                            &block));
    crossing *c = block;
    artel_status status = cross(e, stage, step, c, (artel__comm_segment *)(c + cut->collectives));
    status = artel__step_await_copies(e, status); /* results are on their way to the device */
    for (int i = 0; i < cut->collectives; i++) artel__free(e->ctx, c[i].in);
    artel__free(e->ctx, c);
    return status;
}
