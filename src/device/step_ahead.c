/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that do not wait for the host, where all of a step is one program (artel__device_executable.joined, and
 * .all, whose launches are in step_all.c).
 *
 * What the step makes of the variables lies beside them, and takes their place when `apply` says that the step counts.
 * Behind it, where the inputs of the next one have been sent, that step is launched as it will most likely be asked
 * for: the next batch, the next iteration. If it is asked for so, and nobody has changed a variable, its results are
 * those of the step; else they are dropped. So the device computes while this machine reads what the step before has
 * given, and no result depends on how far ahead it was.
 */
#include <string.h>

#include "device/execution_impl.h"
#include "device/words.h"

artel_status artel__step_ahead_prepare(artel__device_execution *e)
{
    const artel__device_executable *x = e->x;
    artel__step_ahead *a = &e->ahead;
    if (!x->joined && !x->all) return ARTEL_OK;
    size_t values = (size_t)x->graph->values + 2,
           outs = (size_t)(x->cut.stage[0].rows.outs + x->cut.step.outs + x->writes);
    if (x->all) a->in = artel__arena_alloc(&e->arena, values, sizeof(artel__buffer *));
    a->variable = artel__arena_alloc(&e->arena, (size_t)x->graph->values + 1, sizeof(artel__buffer *));
    a->out = artel__arena_alloc(&e->arena, outs + 2, sizeof(artel__buffer *));
    return artel__arena_status(&e->arena);
}

static void drop_variables(artel__device_execution *e)
{
    for (int i = 0; i < e->x->writes && e->ahead.taken; i++)
        artel__step_put_into(e, &e->ahead.variable[e->x->written[i]], NULL);
    e->ahead.taken = false;
}

void artel__step_drop_next(artel__device_execution *e)
{
    if (e->x->all) artel__step_all_take_back(e);
    for (int i = 0; i < e->ahead.outs; i++) artel__step_put_into(e, &e->ahead.out[i], NULL);
    e->ahead.outs = 0;
    e->ahead.program = NULL;
}

void artel__step_ahead_drop(artel__device_execution *e)
{
    drop_variables(e);
    artel__step_drop_next(e);
}

bool artel__step_ahead_is_possible(const artel__device_execution *e)
{
    return (e->x->joined || e->x->all) && !e->scan && !e->time;
}

/* -- variables -- */

void artel__step_ahead_begin(artel__device_execution *e, const artel__step *step)
{
    if (e->ahead.taken) artel__step_ahead_drop(e);
    if (e->x->all) artel__step_all_take_back(e);
    e->ahead.step = *step;
    e->ahead.step.others =
        NULL; /* the caller's memory; what is launched without them is another step, and is dropped */
}

int artel__step_take_variables(artel__device_execution *e, artel__buffer *const *from)
{
    for (int i = 0; i < e->x->writes; i++) artel__step_put_into(e, &e->ahead.variable[e->x->written[i]], from[i]);
    e->ahead.taken = e->x->cut.apply.nodes > 0;
    return e->x->writes;
}

bool artel__step_commit(artel__device_execution *e)
{
    if (!e->ahead.taken) return false;
    for (int i = 0; i < e->x->writes; i++) {
        artel__buffer **from = &e->ahead.variable[e->x->written[i]];
        artel__step_put_into(e, artel__step_slot(e, e->x->written[i], 0), *from);
        *from = NULL;
    }
    e->ahead.taken = false;
    return true;
}

/* -- the next step -- */

static artel_status find_program(const artel__device_execution *e, const artel__fold_plan *fold,
                                 const artel__step_program **out)
{
    artel__step_part part = e->x->cut.step.nodes ? ARTEL__PART_STEP : ARTEL__PART_ROWS;
    return artel__step_program_find(e->x, 0, part, fold->rows, fold->batch, false, out);
}

artel__buffer *artel__step_ahead_argument(artel__device_execution *e, artel__value_id id)
{
    const artel__graph *graph = e->x->graph;
    for (int i = 0; i < graph->inputs; i++) {
        if (graph->input[i] == id) return e->sent[0].buffer[(int64_t)i * e->x->options.shards];
    }
    if (graph->value[id].variable < 0) return NULL;
    artel__buffer *next = e->ahead.taken ? e->ahead.variable[id] : NULL;
    return next ? next : *artel__step_slot(e, id, 0);
}

static int64_t *fill_words(artel__device_execution *e, const artel__step_program *p, const artel__step *step)
{
    int64_t *word = artel__step_take_words(e, p->lowered.scalars + 1);
    if (word) artel__words_fill(e->x->graph, p->lowered.scalar, p->lowered.scalars, step, word);
    return word;
}

static artel_status launch(artel__device_execution *e, const artel__step_program *p, const artel__step *next)
{
    const artel__cut_program *cut = artel__step_part_of(e->x, 0, p->part);
    artel__buffer *words = NULL;
    int count = cut->ins;
    void *kept = e->ahead.word;
    for (int i = 0; i < cut->ins; i++) {
        e->in[i] = artel__step_ahead_argument(e, cut->in[i]);
        if (!e->in[i]) return ARTEL_OK;
    }
    int64_t *word = fill_words(e, p, next);
    if (!word) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__realloc(e->ctx, (size_t)(p->lowered.scalars + 1) * sizeof *word, "device", &kept));
    e->ahead.word = memcpy(kept, word, (size_t)p->lowered.scalars * sizeof *word);
    if (p->lowered.scalars) {
        ARTEL_TRY(artel__step_put_words(e, word, p->lowered.scalars, &words));
        e->in[count++] = words;
    }
    artel_status status = artel__program_launch(p->program, e->device, e->in, count, e->ahead.out);
    artel__buffer_release(artel__step_platform(e), words);
    ARTEL_TRY(status);
    e->ahead.outs = artel__program_results(p->program);
    e->ahead.program = p;
    e->ahead.changes = e->home->changes + e->ahead.taken; /* when the step that is being computed counts */
    return ARTEL_OK;
}

/* What fails here is launched with its step, and fails there. A program that is not compiled yet is not waited for. */
void artel__step_launch_ahead(artel__device_execution *e)
{
    const artel__step_program *p;
    const artel__sent_inputs *sent = &e->sent[0];
    artel__fold_plan fold;
    artel__step next = e->ahead.step;
    artel__step_drop_next(e);
    if (!artel__step_ahead_is_possible(e) || e->sents == 0 || sent->batch != next.fold->batch) return;
    artel__fold_plan_make(&fold, e->x->options.shards, sent->first, sent->count, sent->batch, e->sent_start);
    if (fold.rows == 0) return;
    next.fold = &fold;
    next.batch++;
    next.iteration++;
    if (e->x->all) {
        artel__step_all_leave_next(e, &next);
        return;
    }
    if (find_program(e, &fold, &p) < 0 || !p) return;
    if (launch(e, p, &next) < 0) artel__step_drop_next(e);
}

bool artel__step_take_ahead(artel__device_execution *e, const artel__step *step)
{
    const artel__step_program *p = e->ahead.program, *wanted;
    int at = 0;
    if (e->x->all || !p || !artel__step_ahead_is_possible(e) || e->ahead.changes != e->home->changes) return false;
    if (find_program(e, step->fold, &wanted) < 0 || wanted != p) return false;
    const artel__cut_program *cut = artel__step_part_of(e->x, 0, p->part);
    const int64_t *word = fill_words(e, p, step);
    if (!word || memcmp(word, e->ahead.word, (size_t)p->lowered.scalars * sizeof *word) != 0) return false;
    for (; at < cut->outs; at++) artel__step_put_into(e, artel__step_slot(e, cut->out[at], 0), e->ahead.out[at]);
    if (p->part == ARTEL__PART_STEP) at += artel__step_take_variables(e, e->ahead.out + at);
    artel__buffer *fault = p->lowered.faults ? e->ahead.out[at] : NULL;
    memset(e->ahead.out, 0, (size_t)e->ahead.outs * sizeof *e->ahead.out); /* taken */
    artel__step_drop_next(e);
    return !fault || artel__step_note_fault(e, p, step->fold->row, fault) == ARTEL_OK;
}
