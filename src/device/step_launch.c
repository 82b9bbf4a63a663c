/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: arguments, the numbers of a step, and what a launch has met. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "device/execution_impl.h"
#include "device/words.h"

void artel__step_narrow(const artel__step *step, int s, artel__fold_plan *fold, int64_t start[2], artel__step *out)
{
    const artel__fold_plan *all = step->fold;
    *out = *step;
    if (s < 0) return;
    artel__fold_plan_make(fold, all->shards, all->first + s, 1, all->batch, start);
    out->fold = fold;
}

/* Until the next step is computed. Launches come in the same order in every step, so a block is mostly as long as it
 * was. */
int64_t *artel__step_take_words(artel__device_execution *e, int count)
{
    if (e->used == e->blocks) {
        void *list = e->words;
        if (artel__realloc(e->ctx, (size_t)(e->blocks + 1) * sizeof *e->words, "device", &list) < 0) return NULL;
        e->words = list;
        e->words[e->blocks++] = (artel__word_block){NULL, 0};
    }
    artel__word_block *block = &e->words[e->used++];
    void *word = block->word;
    if (block->count < count && artel__realloc(e->ctx, (size_t)count * sizeof *block->word, "device", &word) < 0)
        return NULL;
    *block = (artel__word_block){word, block->count < count ? count : block->count};
    return block->word;
}

/* They are few, so the plug-in copies them within the call, and nobody waits. */
artel_status artel__step_put_words(artel__device_execution *e, int64_t *words, int count, artel__buffer **out)
{
    artel_shape shape = {.rank = 1, .dim = {count}};
    return artel__buffer_put(artel__step_platform(e), e->device, ARTEL_DTYPE_INT64, &shape, words, out);
}

static artel_status put_words(artel__device_execution *e, const artel__step_program *p, const artel__step *step, int s,
                              artel__buffer **out)
{
    artel__fold_plan fold;
    int64_t start[2];
    artel__step own;
    artel__step_narrow(step, s, &fold, start, &own);
    int64_t *words = artel__step_take_words(e, p->lowered.scalars);
    if (!words) return ARTEL_ERROR_NO_MEMORY;
    artel__words_fill(e->x->graph, p->lowered.scalar, p->lowered.scalars, &own, words);
    return artel__step_put_words(e, words, p->lowered.scalars, out);
}

static artel_status reserve_pending(artel__device_execution *e)
{
    if (e->pendings == e->most_pending) {
        int most = e->most_pending ? 2 * e->most_pending : 16;
        void *block = e->pending;
        ARTEL_TRY(artel__realloc(e->ctx, (size_t)most * sizeof *e->pending, "device", &block));
        e->pending = block;
        e->most_pending = most;
    }
    return ARTEL_OK;
}

artel_status artel__step_note_fault(artel__device_execution *e, const artel__step_program *p, int64_t first_row,
                                    artel__buffer *buffer)
{
    int count = 2 * p->lowered.faults;
    int64_t *word = artel__step_take_words(e, count);
    artel_status status = word ? reserve_pending(e) : ARTEL_ERROR_NO_MEMORY;
    if (status == ARTEL_OK) status = artel__step_begin_copy(e, buffer, word, (size_t)count * sizeof *word);
    if (status == ARTEL_OK) e->pending[e->pendings++] = (artel__pending_fault){word, p, first_row};
    artel__buffer_release(artel__step_platform(e), buffer);
    return status;
}

/* The first node of all counts, of one node the first row. */
static artel_status read_scan(artel__device_execution *e, const artel__step_program *p, const artel__step *step, int s,
                              artel__buffer *buffer)
{
    const artel__lowered *lowered = &p->lowered;
    size_t bytes = (size_t)lowered->scans * 3 * sizeof(int64_t);
    int64_t first = s < 0 ? 0 : step->fold->row + step->fold->start[s];
    artel__nonfinite *out = e->scan;
    void *block;
    ARTEL_TRY(artel__alloc(e->ctx, bytes, "device", &block));
    artel_status status = artel__buffer_get(artel__step_platform(e), buffer, block, bytes);
    artel__buffer_release(artel__step_platform(e), buffer);
    for (int i = 0; i < lowered->scans && status == ARTEL_OK; i++) {
        const int64_t *word = (const int64_t *)block + 3 * i;
        int32_t index = lowered->scanned[i];
        const artel__node *node = &e->x->graph->node[index];
        if (word[1] < 0 || (out->node >= 0 && out->node < index)) continue;
        bool by_row = e->x->graph->value[node->output[0]].domain == ARTEL__DOMAIN_ROW;
        if (out->node == index) {
            out->last_row = by_row ? first + word[1] : -1; /* shards come in order */
            continue;
        }
        *out = (artel__nonfinite){
            index, node->name, node->op->name, by_row ? first + word[0] : -1, by_row ? first + word[1] : -1, 0};
        memcpy(&out->value, &word[2], sizeof out->value);
        if (isnan(out->value)) out->value = NAN; /* of either sign */
    }
    artel__free(e->ctx, block);
    return status;
}

/* Its arguments are there; results go where they belong, those of APPLY in the place of their variables, those of STEP
 * beside them. */
artel_status artel__step_launch(artel__device_execution *e, const artel__step_program *p, const artel__step *step,
                                int s)
{
    const artel__cut_program *cut = artel__step_part_of(e->x, p->stage, p->part);
    int count = cut->ins, results = artel__program_results(p->program), at = 0;
    int64_t before = e->time ? artel__now_ns() : 0;
    for (int i = 0; i < cut->ins; i++) {
        e->in[i] = *artel__step_slot(e, cut->in[i], s);
        if (!e->in[i])
            return artel__fail(e->ctx, ARTEL_ERROR_INTERNAL, "device", "", "value %d is missing in a step",
                               (int)cut->in[i]);
    }
    artel__buffer *words = NULL;
    if (p->lowered.scalars) {
        ARTEL_TRY(put_words(e, p, step, s, &words));
        e->in[count++] = words;
    }
    artel_status status = artel__program_launch(p->program, e->device, e->in, count, e->out);
    artel__buffer_release(artel__step_platform(e), words);
    ARTEL_TRY(status);
    if (e->time && results) {
        artel__buffer_wait(artel__step_platform(e), e->out[results - 1]);
        artel__note_time(&e->time[cut->node[0]], before);
    }
    for (int i = 0; i < cut->outs; i++) artel__step_put_into(e, artel__step_slot(e, cut->out[i], s), e->out[at++]);
    for (int i = 0; i < e->x->writes && p->part == ARTEL__PART_APPLY; i++)
        artel__step_put_into(e, artel__step_slot(e, e->x->written[i], s), e->out[at++]);
    if (p->part == ARTEL__PART_STEP) at += artel__step_take_variables(e, e->out + at);
    int64_t first = s < 0 ? 0 : step->fold->row + step->fold->start[s];
    if (p->lowered.faults) status = artel__step_note_fault(e, p, first, e->out[at++]);
    if (p->lowered.scans && status == ARTEL_OK) status = read_scan(e, p, step, s, e->out[at]);
    return status;
}

static bool is_greatest(const artel__device_execution *e, int stage, artel__value_id leaf)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *node = &e->x->graph->node[cut->collective[i]];
        if (node->input[0] == leaf) return node->op->collective == ARTEL__COLLECTIVE_MAX;
    }
    return false;
}

void artel__step_fill_empty(const artel__value *value, bool greatest, void *to)
{
    int64_t count = artel_shape_count(&value->shape);
    for (int64_t i = 0; i < count && greatest; i++) {
        if (value->dtype == ARTEL_DTYPE_FLOAT64)
            ((double *)to)[i] = -INFINITY;
        else
            ((float *)to)[i] = -INFINITY;
    }
}

/* The leaves of a shard without rows. */
static artel_status put_empty_leaves(artel__device_execution *e, int stage, int s)
{
    const artel__cut_program *cut = &e->x->cut.stage[stage].rows;
    for (int i = 0; i < cut->outs; i++) {
        const artel__value *value = &e->x->graph->value[cut->out[i]];
        void *leaf;
        if (value->domain != ARTEL__DOMAIN_NODES) continue;
        ARTEL_TRY(artel__calloc(e->ctx, artel__step_element_bytes(e, cut->out[i]) + 1, 1, "device", &leaf));
        artel__step_fill_empty(value, is_greatest(e, stage, cut->out[i]), leaf);
        artel_status status =
            artel__step_await_copies(e, artel__step_put(e, cut->out[i], 0, leaf, artel__step_slot(e, cut->out[i], s)));
        artel__free(e->ctx, leaf);
        ARTEL_TRY(status);
    }
    return ARTEL_OK;
}

artel_status artel__step_launch_rows(artel__device_execution *e, int stage, const artel__step *step)
{
    const artel__fold_plan *fold = step->fold;
    const artel__step_program *p;
    for (int s = 0; s < fold->count; s++) {
        int64_t rows = fold->start[s + 1] - fold->start[s];
        if (rows == 0) {
            ARTEL_TRY(put_empty_leaves(e, stage, s));
            continue;
        }
        ARTEL_TRY(artel__step_program_find(e->x, stage, ARTEL__PART_ROWS, rows, fold->batch, e->scan != NULL, &p));
        if (p) ARTEL_TRY(artel__step_launch(e, p, step, s));
    }
    return ARTEL_OK;
}

/* The smallest row of the first node that has met one. */
static void read_fault(artel__device_execution *e, const artel__pending_fault *pending, const artel__step *step)
{
    const artel__lowered *lowered = &pending->program->lowered;
    for (int i = 0; i < lowered->faults; i++) {
        int64_t row = pending->word[2 * i];
        if (row == INT64_MAX) continue;
        row += pending->program->group ? artel__step_group_row(pending->program, step, i)
               : pending->program->all ? artel__step_all_row(pending->program, step, i)
                                       : pending->first_row;
        if (e->fault.node >= 0 &&
            (e->fault.node < lowered->fault[i] || (e->fault.node == lowered->fault[i] && e->fault.row <= row)))
            continue;
        e->fault.node = lowered->fault[i];
        e->fault.row = row;
        e->fault.value = pending->word[2 * i + 1];
    }
}

void artel__step_read_faults(artel__device_execution *e, const artel__step *step, artel_status status)
{
    for (int i = 0; i < e->pendings && status == ARTEL_OK; i++) read_fault(e, &e->pending[i], step);
    e->pendings = 0;
}
