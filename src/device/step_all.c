/* SPDX-License-Identifier: Apache-2.0 */
/* The step of all replicas of a process in one launch (all.c), where they have as many rows.
 *
 * Every replica leaves its arguments; when all have, the first one launches for all devices, and then each takes what
 * was made for it. So launches for several devices come from one thread at a time, one after another, in the order of
 * steps, on whatever device: no two of them wait for each other. Arguments stay the replica's own, which takes them
 * back before it lets go of them, under the lock that a launch holds.
 *
 * Behind a step each replica leaves what it has for the next one, as step_ahead.c says it will be; the last one
 * launches it. If then all of them ask for just that, its results are those of the step; else it is launched again.
 */
#include <string.h>

#include "base/clock.h"
#include "base/failures.h"
#include "device/execution_impl.h"
#include "device/words.h"

enum {
    NOW,
    NEXT,
    AS_EXPECTED = 1
};

bool artel__step_is_all(const artel__device_execution *e, const artel__step *step)
{
    return !e->scan && artel__step_all_takes(e->x, step->fold->batch);
}

static artel_status find_program(const artel__device_execution *e, const artel__step *step,
                                 const artel__step_program **out)
{
    return artel__step_program_find(e->x, 0, ARTEL__PART_ALL, step->fold->rows, step->fold->batch, false, out);
}

/* -- what a replica gives -- */

/* By piece: its scalars, of the whole step or of the replica's rows. NULL: memory is out. */
static int64_t *fill_words(artel__device_execution *e, const artel__step_program *p, const artel__step *step)
{
    artel__fold_plan fold;
    int64_t start[2], *word = artel__step_take_words(e, p->all->scalars + 1), *at = word;
    artel__step own;
    for (int i = 0; i < p->all->pieces && word; i++) {
        const artel__step_piece *piece = &p->all->piece[i];
        artel__step_narrow(step, piece->part == ARTEL__PART_ROWS ? 0 : -1, &fold, start, &own);
        artel__words_fill(e->x->graph, piece->lowered.scalar, piece->lowered.scalars, &own, at);
        at += piece->lowered.scalars;
    }
    return word;
}

static artel_status put_words(artel__device_execution *e, const artel__step_program *p, int64_t *word,
                              artel__buffer **out)
{
    *out = NULL;
    return p->all->scalars ? artel__step_put_words(e, word, p->all->scalars, out) : ARTEL_OK;
}

static artel_status find_arguments(artel__device_execution *e, const artel__step_program *p, artel__buffer *words)
{
    int count = p->all->ins;
    for (int i = 0; i < count; i++) {
        e->in[i] = *artel__step_slot(e, p->all->in[i], 0);
        if (!e->in[i])
            return artel__fail(e->ctx, ARTEL_ERROR_INTERNAL, "device", "", "value %d is missing in a step",
                               (int)p->all->in[i]);
    }
    if (words) e->in[count] = words;
    return ARTEL_OK;
}

static void leave(artel__device_execution *e, artel__buffer *const *in)
{
    pthread_mutex_lock(&e->x->joint->lock);
    e->x->joint->step[NOW].in[e->index] = in;
    pthread_mutex_unlock(&e->x->joint->lock);
}

/* -- launches; these hold the lock -- */

static bool all_have_left(const artel__joint *joint, const artel__joint_step *step)
{
    int left = 0;
    while (left < joint->members && step->in[left]) left++;
    return left == joint->members;
}

static void release_results(artel__device_execution *e, artel__joint_step *step)
{
    for (int r = 0; r < e->x->joint->members; r++) {
        for (int i = 0; i < e->x->joint->results; i++) artel__step_put_into(e, &step->out[r][i], NULL);
    }
    step->program = NULL;
}

static artel_status launch(artel__device_execution *e, const artel__step_program *p, artel__joint_step *step)
{
    release_results(e, step); /* of a step that was given up */
    ARTEL_TRY(artel__program_launch_all(p->program, step->in, p->all->ins + (p->all->scalars > 0), step->out));
    step->program = p;
    return ARTEL_OK;
}

/* What was launched ahead is the step now, if it is what everybody wants. */
static artel_status launch_or_take(artel__device_execution *e, const artel__step_program *p, bool expected)
{
    artel__joint *joint = e->x->joint;
    artel__joint_step ahead = joint->step[NEXT];
    if (expected && ahead.program == p) {
        release_results(e, &joint->step[NOW]);
        memcpy(joint->step[NEXT].out, joint->step[NOW].out, sizeof ahead.out);
        memcpy(joint->step[NOW].out, ahead.out, sizeof ahead.out);
        joint->step[NOW].program = p;
        joint->step[NEXT].program = NULL;
        return ARTEL_OK;
    }
    release_results(e, &joint->step[NEXT]);
    if (all_have_left(joint, &joint->step[NOW])) return launch(e, p, &joint->step[NOW]);
    return ARTEL_ERROR_CANCELLED; /* one has given the step up meanwhile */
}

/* -- the step -- */

static bool is_expected(artel__device_execution *e, const artel__step_program *p, const int64_t *word)
{
    return e->ahead.program == p && artel__step_ahead_is_possible(e) && e->ahead.changes == e->home->changes &&
           memcmp(word, e->ahead.word, (size_t)p->all->scalars * sizeof *word) == 0;
}

static artel_status launch_for_all(artel__device_execution *e, const artel__step_program *p,
                                   const uint8_t byte[ARTEL__MAX_JOINT])
{
    artel__joint *joint = e->x->joint;
    bool expected = true;
    for (int r = 0; r < joint->members; r++) expected = expected && byte[r] == AS_EXPECTED;
    pthread_mutex_lock(&joint->lock);
    artel_status status = launch_or_take(e, p, expected);
    pthread_mutex_unlock(&joint->lock);
    return status;
}

static artel_status take_results(artel__device_execution *e, const artel__step_program *p, const artel__step *step)
{
    artel__joint *joint = e->x->joint;
    int results = artel__program_results(p->program), at = 0;
    pthread_mutex_lock(&joint->lock);
    artel__buffer **made = joint->step[NOW].out[e->index];
    memcpy(e->out, made, (size_t)results * sizeof(artel__buffer *));
    memset(made, 0, (size_t)results * sizeof(artel__buffer *));
    pthread_mutex_unlock(&joint->lock);
    for (; at < p->all->outs; at++) artel__step_put_into(e, artel__step_slot(e, p->all->out[at], 0), e->out[at]);
    at += artel__step_take_variables(e, e->out + at);
    return p->lowered.faults ? artel__step_note_fault(e, p, step->fold->row, e->out[at]) : ARTEL_OK;
}

static artel_status meet(artel__device_execution *e, const artel__step_program *p, const artel__step *step,
                         bool expected)
{
    uint8_t byte[ARTEL__MAX_JOINT] = {0};
    int message = 2 * e->x->cut.stages;
    byte[e->index] = expected ? AS_EXPECTED : 0;
    ARTEL_TRY(artel__step_joint_tell(e, step, message, true, byte));
    if (e->index == 0) ARTEL_TRY(launch_for_all(e, p, byte));
    return artel__step_joint_tell(e, step, message + 1, false, byte);
}

artel_status artel__step_all_run(artel__device_execution *e, const artel__step *step)
{
    const artel__step_program *p;
    artel__buffer *words;
    int64_t before = e->time ? artel__now_ns() : 0;
    ARTEL_TRY(find_program(e, step, &p));
    int64_t *word = fill_words(e, p, step);
    if (!word) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(put_words(e, p, word, &words));
    artel_status status = find_arguments(e, p, words);
    if (status == ARTEL_OK) leave(e, e->in);
    if (status == ARTEL_OK) status = meet(e, p, step, is_expected(e, p, word));
    leave(e, NULL);
    artel__buffer_release(artel__step_platform(e), words);
    artel__step_drop_next(e);
    if (status == ARTEL_OK) status = take_results(e, p, step);
    if (e->time && p->all->outs && status == ARTEL_OK) {
        artel__buffer_wait(artel__step_platform(e), *artel__step_slot(e, p->all->out[0], 0));
        artel__note_time(&e->time[p->all->piece[0].cut->node[0]], before);
    }
    return status;
}

/* -- the next one -- */

static bool find_next_arguments(artel__device_execution *e, const artel__step_program *p, const int64_t *word)
{
    void *kept = e->ahead.word;
    size_t bytes = (size_t)p->all->scalars * sizeof *word;
    int count = p->all->ins;
    for (int i = 0; i < count; i++) {
        e->ahead.in[i] = artel__step_ahead_argument(e, p->all->in[i]);
        if (!e->ahead.in[i]) return false;
    }
    if (!word || artel__realloc(e->ctx, bytes + sizeof *word, "device", &kept) < 0) return false;
    e->ahead.word = memcpy(kept, word, bytes);
    if (put_words(e, p, e->ahead.word, &e->ahead.words) < 0) return false;
    if (e->ahead.words) e->ahead.in[count] = e->ahead.words;
    return true;
}

static void launch_if_last(artel__device_execution *e, const artel__step_program *p)
{
    artel__joint *joint = e->x->joint;
    pthread_mutex_lock(&joint->lock);
    joint->step[NEXT].in[e->index] = e->ahead.in;
    if (all_have_left(joint, &joint->step[NEXT]) && launch(e, p, &joint->step[NEXT]) < 0)
        release_results(e, &joint->step[NEXT]);
    pthread_mutex_unlock(&joint->lock);
}

/* What fails here is launched with its step, and fails there. */
void artel__step_all_leave_next(artel__device_execution *e, const artel__step *next)
{
    const artel__step_program *p;
    if (!artel__step_is_all(e, next)) return;
    bool before = artel__failures_forget(true);
    if (find_program(e, next, &p) == ARTEL_OK && find_next_arguments(e, p, fill_words(e, p, next))) {
        e->ahead.program = p;
        e->ahead.changes = e->home->changes + e->ahead.taken; /* when the step that is being computed counts */
        launch_if_last(e, p);
    }
    artel__failures_forget(before);
}

void artel__step_all_take_back(artel__device_execution *e)
{
    pthread_mutex_lock(&e->x->joint->lock);
    e->x->joint->step[NEXT].in[e->index] = NULL;
    pthread_mutex_unlock(&e->x->joint->lock);
    artel__step_put_into(e, &e->ahead.words, NULL);
}
