/* SPDX-License-Identifier: Apache-2.0 */
/* The folds of a stage over the replicas of this process, by the plug-in's own all-reduce (joint.c).
 *
 * Every replica leaves the blocks of its shards; when all have, the first one launches the program for all devices, and
 * then each takes what was made for it. Replicas tell one another so by messages of a byte, which end, like any
 * exchange, when one of them has failed. Nobody waits for a device.
 */
#include "device/execution_impl.h"

static bool is_fold(const artel__device_execution *e, int32_t node)
{
    return e->x->graph->node[node].op->collective != ARTEL__COLLECTIVE_GATHER;
}

static int count_folds(const artel__device_execution *e, const artel__cut_stage *cut)
{
    int folds = 0;
    for (int i = 0; i < cut->collectives; i++) folds += is_fold(e, cut->collective[i]);
    return folds;
}

/* Whether the replica's blocks are its only shard's, and nobody reads these behind the stage. */
static bool is_taken_as_it_is(const artel__device_execution *e, int stage, const artel__fold_plan *fold)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    for (int i = 0; i < cut->collectives; i++) {
        if (is_fold(e, cut->collective[i]) && e->x->last[e->x->graph->node[cut->collective[i]].input[0]] > stage)
            return false;
    }
    return fold->count == 1;
}

/* The blocks into e->out; they are the caller's. */
static artel_status make_own(artel__device_execution *e, int stage, const artel__fold_plan *fold)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    artel__fold_node all = {.first = fold->first, .count = fold->count};
    int folds = 0;
    if (!is_taken_as_it_is(e, stage, fold)) return artel__step_combine(e, stage, &all, fold->first, e->out);
    for (int i = 0; i < cut->collectives; i++) {
        if (!is_fold(e, cut->collective[i])) continue;
        artel__buffer **slot = artel__step_slot(e, e->x->graph->node[cut->collective[i]].input[0], 0);
        e->out[folds++] = *slot;
        *slot = NULL;
    }
    return ARTEL_OK;
}

static void leave(artel__device_execution *e, int folds)
{
    artel__joint *joint = e->x->joint;
    pthread_mutex_lock(&joint->lock);
    for (int i = 0; i < folds; i++) artel__step_put_into(e, &joint->block[0][e->index][i], e->out[i]);
    pthread_mutex_unlock(&joint->lock);
}

/* Holds the lock. */
static artel_status launch_held(artel__device_execution *e, int stage, int folds)
{
    artel__joint *joint = e->x->joint;
    const artel__step_program *p;
    artel__buffer *const *in[ARTEL__MAX_JOINT];
    artel__buffer **out[ARTEL__MAX_JOINT];
    ARTEL_TRY(artel__step_program_find(e->x, stage, ARTEL__PART_JOINT, 0, 0, false, &p));
    for (int r = 0; r < joint->members; r++) {
        in[r] = joint->block[0][r];
        out[r] = joint->block[1][r];
        for (int i = 0; i < folds; i++) artel__step_put_into(e, &out[r][i], NULL); /* of a step that was given up */
    }
    return artel__program_launch_all(p->program, in, folds, out);
}

static artel_status launch(artel__device_execution *e, int stage, int folds)
{
    artel__joint *joint = e->x->joint;
    pthread_mutex_lock(&joint->lock);
    artel_status status = launch_held(e, stage, folds);
    for (int r = 0; r < joint->members; r++) {
        for (int i = 0; i < folds; i++) artel__step_put_into(e, &joint->block[0][r][i], NULL);
    }
    pthread_mutex_unlock(&joint->lock);
    return status;
}

static void take(artel__device_execution *e, int stage)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    artel__joint *joint = e->x->joint;
    int folds = 0;
    pthread_mutex_lock(&joint->lock);
    for (int i = 0; i < cut->collectives; i++) {
        if (!is_fold(e, cut->collective[i])) continue;
        artel__buffer **made = &joint->block[1][e->index][folds++];
        artel__step_put_into(e, artel__step_slot(e, e->x->graph->node[cut->collective[i]].output[0], 0), *made);
        *made = NULL;
    }
    pthread_mutex_unlock(&joint->lock);
}

artel_status artel__step_joint_sum(artel__device_execution *e, int stage, const artel__step *step)
{
    uint8_t byte[ARTEL__MAX_JOINT] = {0};
    int folds = count_folds(e, &e->x->cut.stage[stage]);
    if (folds == 0) return ARTEL_OK;
    ARTEL_TRY(make_own(e, stage, step->fold));
    leave(e, folds);
    ARTEL_TRY(artel__step_joint_tell(e, step, 2 * stage, true, byte));
    if (e->index == 0) ARTEL_TRY(launch(e, stage, folds));
    ARTEL_TRY(artel__step_joint_tell(e, step, 2 * stage + 1, false, byte));
    take(e, stage);
    return ARTEL_OK;
}
