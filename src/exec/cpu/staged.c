/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of a replica on processors whose sums meet those of devices (artel__plan_options.staged).
 *
 * Devices compute a graph stage by stage and exchange all collectives behind a stage at once (graph/cut.h), in plain
 * arrays. So nodes are scheduled in that order here, too, nothing is exchanged in the background, and what lies in
 * panels is exchanged in its plain form. The values do not change by that: only when they are made.
 */
#include <string.h>

#include "exec/cpu/plan_impl.h"
#include "graph/cut.h"

static void schedule(artel__plan *plan, const artel__cut_program *program)
{
    for (int i = 0; i < program->nodes; i++) plan->action[plan->actions++] = (artel__action){.node = program->node[i]};
}

static bool is_in_panels(const artel__plan *plan, int32_t collective)
{
    return plan->graph->value[plan->graph->node[collective].input[0]].layout == ARTEL__LAYOUT_PANELS;
}

/* Bytes of a block of a value in the plain form. */
static size_t block_bytes(const artel__value *value)
{
    return (size_t)artel_shape_count(&value->shape) * artel_dtype_size(value->dtype);
}

/* Bytes of what a segment gives, so many blocks, and takes, one, in the plain form. */
static size_t plain_bytes(const artel__plan *plan, int32_t collective, int32_t blocks)
{
    return block_bytes(&plan->graph->value[plan->graph->node[collective].input[0]]) * (size_t)(blocks + 1);
}

/* Bytes of what lies in panels and is exchanged at once. */
static size_t stage_bytes(const artel__plan *plan, const int32_t *collective, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += is_in_panels(plan, collective[i]) ? plain_bytes(plan, collective[i], plan->max_nodes) : 0;
    return bytes;
}

artel_status artel__plan_stages(artel__plan *plan)
{
    artel__cut cut;
    ARTEL_TRY(artel__graph_cut(plan->graph, &plan->arena, &cut));
    for (int s = 0; s < cut.stages; s++) {
        const artel__cut_stage *stage = &cut.stage[s];
        schedule(plan, &stage->common);
        schedule(plan, &stage->rows);
        if (stage->collectives == 0) continue;
        plan->action[plan->actions++] =
            (artel__action){.node = ARTEL__ACTION_EXCHANGE, .first = plan->collectives, .count = stage->collectives};
        memcpy(plan->collective + plan->collectives, stage->collective,
               (size_t)stage->collectives * sizeof *plan->collective);
        plan->collectives += stage->collectives;
        size_t bytes = stage_bytes(plan, stage->collective, stage->collectives);
        if (bytes > plan->plain_bytes) plan->plain_bytes = bytes;
    }
    plan->apply_action = plan->actions;
    schedule(plan, &cut.apply);
    return ARTEL_OK;
}

/* -- the plain form -- */

/* One value in panels as a list of variables, of which it is the only one. */
typedef struct form {
    artel__variable item;
    artel__variables list;
} form;

static void describe(const artel__value *value, form *out)
{
    int64_t rows = value->shape.dim[0], count = artel_shape_count(&value->shape);
    out->item = (artel__variable){.shape = value->shape,
                                  .dtype = value->dtype,
                                  .layout = value->layout,
                                  .rows = rows,
                                  .columns = rows ? count / rows : 0};
    out->list = (artel__variables){.item = &out->item, .count = 1, .bytes = (size_t)value->storage * sizeof(float)};
}

/* Blocks of a value, one behind the other, from panels or into them; what lies between the panels' elements is 0. */
static void move_blocks(const artel__value *value, const void *panels, void *plain, void *into, int32_t blocks)
{
    form f;
    size_t held = (size_t)value->storage * artel_dtype_size(value->dtype), bytes = block_bytes(value);
    describe(value, &f);
    if (into) memset(into, 0, held * (size_t)blocks);
    for (int32_t b = 0; b < blocks; b++) {
        if (into)
            artel__image_store(&f.list, (uint8_t *)into + (size_t)b * held, 0, (uint8_t *)plain + (size_t)b * bytes);
        else
            artel__image_fetch(&f.list, (const uint8_t *)panels + (size_t)b * held, 0,
                               (uint8_t *)plain + (size_t)b * bytes);
    }
}

artel_status artel__run_exchange_stage(artel__run *run, const artel__action *action, const artel__step *step)
{
    const artel__plan *plan = run->plan;
    const int32_t *collective = plan->collective + action->first;
    int32_t blocks = step->fold->nodes;
    uint8_t *at = run->plain;
    for (int i = 0; i < action->count; i++) {
        const artel__value *in = &plan->graph->value[plan->graph->node[collective[i]].input[0]];
        artel__comm_segment *segment = &run->segment[i];
        if (!is_in_panels(plan, collective[i])) continue;
        move_blocks(in, segment->in, at, NULL, blocks);
        segment->count = artel_shape_count(&in->shape);
        segment->in = at;
        segment->out = at + block_bytes(in) * (size_t)blocks;
        at += plain_bytes(plan, collective[i], blocks);
    }
    artel_status status = run->comm->ops->all_reduce(run->comm->self, step, collective[0], run->segment, action->count);
    for (int i = 0; i < action->count && status == ARTEL_OK; i++) {
        const artel__node *node = &plan->graph->node[collective[i]];
        if (is_in_panels(plan, collective[i]))
            move_blocks(&plan->graph->value[node->input[0]], NULL, run->segment[i].out, run->pointer[node->output[0]],
                        1);
    }
    return status;
}
