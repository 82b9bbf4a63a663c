/* SPDX-License-Identifier: Apache-2.0 */
/* A stage of a step as one launch (group.c). */
#include "base/clock.h"
#include "device/execution_impl.h"
#include "device/words.h"

/* Where a value of a group is, or goes. */
static artel__buffer **place_of(const artel__device_execution *e, const artel__step_program *p,
                                const artel__group_value *value)
{
    const artel__cut_stage *stage = &e->x->cut.stage[p->stage];
    if (value->shard == ARTEL__OF_ROWS) return &e->one[value->id];
    if (value->shard > ARTEL__OF_NODE) return artel__step_slot(e, value->id, value->shard < 0 ? 0 : value->shard);
    int i = 0;
    while (i < stage->collectives && e->x->graph->node[stage->collective[i]].output[0] != value->id) i++;
    return &e->node[(ARTEL__OF_NODE - value->shard) * stage->collectives + i];
}

/* One array for the whole launch: what is common, then shard by shard. */
static artel_status put_words(artel__device_execution *e, const artel__step_program *p, const artel__step *step,
                              artel__buffer **out)
{
    const artel__step_group *g = p->group;
    artel__fold_plan fold;
    int64_t start[2];
    artel__step own;
    int64_t *words = artel__step_take_words(e, g->scalars), *at = words;
    if (!words) return ARTEL_ERROR_NO_MEMORY;
    for (int s = -1; s < p->count; s++) {
        const artel__lowered *lowered = s < 0 ? &g->common : &g->rows[g->form[s]];
        artel__step_narrow(step, s, &fold, start, &own);
        artel__words_fill(e->x->graph, lowered->scalar, lowered->scalars, &own, at);
        at += lowered->scalars;
    }
    return artel__step_put_words(e, words, g->scalars, out);
}

artel_status artel__step_launch_group(artel__device_execution *e, const artel__step_program *p, const artel__step *step)
{
    const artel__step_group *g = p->group;
    int count = 0, results = artel__program_results(p->program);
    int64_t before = e->time ? artel__now_ns() : 0;
    for (int i = 0; i < g->ins; i++) {
        e->in[count] = *place_of(e, p, &g->in[i]);
        if (!e->in[count++])
            return artel__fail(e->ctx, ARTEL_ERROR_INTERNAL, "device", "", "value %d is missing in a step",
                               (int)g->in[i].id);
    }
    artel__buffer *words = NULL;
    if (g->scalars) {
        ARTEL_TRY(put_words(e, p, step, &words));
        e->in[count++] = words;
    }
    artel_status status = artel__program_launch(p->program, e->device, e->in, count, e->out);
    artel__buffer_release(artel__step_platform(e), words);
    ARTEL_TRY(status);
    for (int i = 0; i < g->outs; i++) artel__step_put_into(e, place_of(e, p, &g->out[i]), e->out[i]);
    if (p->lowered.faults) status = artel__step_note_fault(e, p, step->fold->row, e->out[g->outs]);
    if (e->time && results) {
        const artel__cut_stage *stage = &e->x->cut.stage[p->stage];
        artel__buffer_wait(artel__step_platform(e), e->out[0]);
        artel__note_time(&e->time[stage->rows.nodes ? stage->rows.node[0] : stage->common.node[0]], before);
    }
    return status;
}
