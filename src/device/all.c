/* SPDX-License-Identifier: Apache-2.0 */
/* The step of all replicas of a process as one program, which runs on all their devices at once: what each stage
 * computes, the plug-in's collectives behind it, and the variables' step.
 *
 * The parts are the same texts that are launched one by one where replicas have unlike numbers of rows, as functions;
 * @main calls them. Operands and results of every call stand between barriers, as in groups (group.c), so a part is
 * computed as if it were alone, and both ways give the same bits. What the step makes of the variables lies beside
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "device/executable.h"
#include "graph/hlo.h"

typedef struct writing {
    artel__device_executable *x;
    artel__step_program *p;
    artel__step_all *a;
    artel__hlo h;
    artel__hlo_value *value;  /* by value of the graph; -1: not there yet */
    artel__hlo_value *become; /* by variable that is written, in order */
    artel__hlo_value *operand, *result, *fault;
    artel__hlo_type *type;
    artel__hlo_value words;
    int faults;
} writing;

bool artel__step_all_takes(const artel__device_executable *x, int64_t batch)
{
    return x->all && batch > 0 && batch % x->joint->members == 0;
}

/* -- pieces -- */

static void add_piece(writing *w, int stage, artel__step_part part)
{
    const artel__cut_program *cut = artel__step_part_of(w->x, stage, part);
    if (cut->nodes) w->a->piece[w->a->pieces++] = (artel__step_piece){.cut = cut, .stage = stage, .part = part};
}

static artel_status write_function(writing *w, int i, artel__text *text)
{
    artel__step_piece *piece = &w->a->piece[i];
    char name[32];
    snprintf(name, sizeof name, "part%d", i);
    ARTEL_TRY(artel__step_part_write(w->x, piece->stage, piece->part, w->p->rows, w->p->batch, text, &piece->lowered));
    if (piece->lowered.refused)
        w->p->lowered.refused = piece->lowered.refused;
    else
        artel__hlo_add_function(&w->h, name, text->data);
    w->a->scalars += piece->lowered.scalars;
    w->p->lowered.faults += piece->lowered.faults;
    return ARTEL_OK;
}

static artel_status write_functions(writing *w)
{
    artel__text text;
    artel_status status = ARTEL_OK;
    artel__text_init(&text, w->x->ctx);
    for (int i = 0; i < w->a->pieces && status == ARTEL_OK; i++) {
        artel__text_clear(&text);
        status = write_function(w, i, &text);
    }
    artel__text_fini(&text);
    return status;
}

/* -- arguments -- */

/* What no node makes comes from outside. */
static void need(writing *w, artel__value_id id)
{
    if (w->value[id] >= 0 || w->x->graph->value[id].node >= 0) return;
    artel__hlo_type type = artel__lower_type(w->x->graph, id, w->p->rows, w->p->batch);
    w->value[id] = artel__hlo_argument(&w->h, &type, -1);
    w->a->in[w->a->ins++] = id;
}

static void write_arguments(writing *w)
{
    const artel__cut *cut = &w->x->cut;
    for (int i = 0; i < w->a->pieces; i++) {
        for (int k = 0; k < w->a->piece[i].cut->ins; k++) need(w, w->a->piece[i].cut->in[k]);
    }
    for (int s = 0; s < cut->stages; s++) {
        for (int i = 0; i < cut->stage[s].collectives; i++)
            need(w, w->x->graph->node[cut->stage[s].collective[i]].input[0]);
    }
    artel__hlo_type words = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {w->a->scalars}};
    if (w->a->scalars) w->words = artel__hlo_argument(&w->h, &words, -1);
}

/* -- calls -- */

/* `word`: where its scalars begin. */
static void call(writing *w, int i, int word)
{
    const artel__step_piece *piece = &w->a->piece[i];
    const artel__cut_program *cut = piece->cut;
    const artel__graph *graph = w->x->graph;
    int ins = 0, outs = 0, writes = piece->part == ARTEL__PART_APPLY ? w->x->writes : 0;
    char name[32];
    snprintf(name, sizeof name, "part%d", i);
    for (int k = 0; k < cut->ins; k++) w->operand[ins++] = w->value[cut->in[k]];
    if (piece->lowered.scalars)
        w->operand[ins++] = artel__hlo_slice_axis(&w->h, w->words, 0, word, word + piece->lowered.scalars);
    for (int k = 0; k < cut->outs; k++)
        w->type[outs++] = artel__lower_type(graph, cut->out[k], w->p->rows, w->p->batch);
    for (int k = 0; k < writes; k++) w->type[outs++] = artel__lower_type(graph, w->x->written[k], 0, 0);
    if (piece->lowered.faults)
        w->type[outs++] = (artel__hlo_type){.dtype = ARTEL_DTYPE_INT64, .rank = 2, .dim = {piece->lowered.faults, 2}};
    artel__hlo_value *out = w->operand + ins;
    artel__hlo_barriers(&w->h, w->operand, ins);
    if (outs) artel__hlo_call(&w->h, name, w->operand, ins, w->type, outs, out);
    artel__hlo_barriers(&w->h, out, outs);
    for (int k = 0; k < cut->outs; k++) w->value[cut->out[k]] = out[k];
    for (int k = 0; k < writes; k++) w->become[k] = out[cut->outs + k];
    if (piece->lowered.faults) w->fault[w->faults++] = out[outs - 1];
}

/* What all replicas have, one after another. */
static artel__hlo_value gather_rows(writing *w, const artel__node *node)
{
    artel__hlo_type type = artel__lower_type(w->x->graph, node->output[0], w->p->rows, w->p->batch);
    return artel__hlo_reshape(&w->h, artel__hlo_all_gather(&w->h, w->value[node->input[0]]), &type);
}

static void write_collectives(writing *w, int stage)
{
    const artel__cut_stage *cut = &w->x->cut.stage[stage];
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *node = &w->x->graph->node[cut->collective[i]];
        artel__hlo_value made = node->op->collective == ARTEL__COLLECTIVE_GATHER
                                    ? gather_rows(w, node)
                                    : artel__step_join_blocks(&w->h, node->op->collective, w->value[node->input[0]]);
        w->value[node->output[0]] = artel__hlo_barrier(&w->h, made);
    }
}

static void write_calls(writing *w)
{
    int word = 0, i = 0;
    for (int s = 0; s <= w->x->cut.stages; s++) {
        bool last = s == w->x->cut.stages;
        for (; i < w->a->pieces && (last || (w->a->piece[i].part != ARTEL__PART_APPLY && w->a->piece[i].stage == s));
             i++) {
            call(w, i, word);
            word += w->a->piece[i].lowered.scalars;
        }
        if (!last) write_collectives(w, s);
    }
}

/* -- results -- */

static bool is_listed(const artel__step_all *a, artel__value_id id)
{
    for (int i = 0; i < a->outs; i++) {
        if (a->out[i] == id) return true;
    }
    return false;
}

/* What is kept, what the variables become, and one array of all faults. */
static int write_results(writing *w)
{
    const artel__graph *graph = w->x->graph;
    artel__lowered *all = &w->p->lowered;
    int results = 0, at = 0;
    for (int k = 0; k < graph->kept_count; k++) {
        artel__value_id id = graph->kept[k];
        if (graph->value[id].node < 0 || is_listed(w->a, id)) continue;
        w->result[results++] = w->value[id];
        w->a->out[w->a->outs++] = id;
    }
    for (int i = 0; i < w->x->writes; i++) w->result[results++] = w->become[i];
    for (int i = 0; i < w->a->pieces; i++) {
        for (int k = 0; k < w->a->piece[i].lowered.faults; k++) all->fault[at++] = w->a->piece[i].lowered.fault[k];
    }
    if (w->faults) w->result[results++] = artel__hlo_concatenate(&w->h, w->fault, w->faults, 0);
    return results;
}

/* -- all of it -- */

static size_t most_of_piece(const artel__device_executable *x)
{
    size_t most = (size_t)(x->cut.apply.ins + x->cut.apply.outs + x->writes);
    for (int s = 0; s < x->cut.stages; s++) {
        const artel__cut_program *common = &x->cut.stage[s].common, *rows = &x->cut.stage[s].rows;
        size_t one = (size_t)(common->ins + common->outs), two = (size_t)(rows->ins + rows->outs);
        most = most < one ? one : most;
        most = most < two ? two : most;
    }
    return most + 4;
}

static artel_status make_room(writing *w)
{
    artel__arena *arena = &w->x->arena;
    const artel__graph *graph = w->x->graph;
    size_t values = (size_t)graph->values + 1, most = most_of_piece(w->x), pieces = 2 * (size_t)w->x->cut.stages + 1;
    size_t outs = (size_t)(graph->kept_count + w->x->writes) + 2;
    w->p->all = w->a = artel__arena_alloc(arena, 1, sizeof *w->a);
    w->value = artel__arena_alloc(arena, values, sizeof *w->value);
    w->become = artel__arena_alloc(arena, (size_t)w->x->writes + 1, sizeof *w->become);
    w->operand = artel__arena_alloc(arena, 2 * most, sizeof *w->operand);
    w->type = artel__arena_alloc(arena, most, sizeof *w->type);
    w->result = artel__arena_alloc(arena, outs, sizeof *w->result);
    w->fault = artel__arena_alloc(arena, pieces, sizeof *w->fault);
    ARTEL_TRY(artel__arena_status(arena));
    w->a->piece = artel__arena_alloc(arena, pieces, sizeof *w->a->piece);
    w->a->in = artel__arena_alloc(arena, values, sizeof *w->a->in);
    w->a->out = artel__arena_alloc(arena, outs, sizeof *w->a->out);
    ARTEL_TRY(artel__arena_status(arena));
    for (size_t i = 0; i < values; i++) w->value[i] = -1;
    return ARTEL_OK;
}

static artel_status write_main(writing *w, artel__text *text)
{
    for (int s = 0; s < w->x->cut.stages; s++) {
        add_piece(w, s, ARTEL__PART_COMMON);
        add_piece(w, s, ARTEL__PART_ROWS);
    }
    add_piece(w, 0, ARTEL__PART_APPLY);
    ARTEL_TRY(write_functions(w));
    if (w->p->lowered.refused) return ARTEL_OK;
    w->p->lowered.fault =
        artel__arena_alloc(&w->x->arena, (size_t)w->p->lowered.faults + 1, sizeof *w->p->lowered.fault);
    ARTEL_TRY(artel__arena_status(&w->x->arena));
    write_arguments(w);
    write_calls(w);
    int results = write_results(w);
    return results ? artel__hlo_finish(&w->h, w->result, results, text) : w->h.status;
}

artel_status artel__step_all_write(artel__device_executable *x, artel__step_program *p, artel__text *text)
{
    writing w = {.x = x, .p = p};
    ARTEL_TRY(make_room(&w));
    p->lowered.by_batch = true;
    artel__hlo_init(&w.h, x->ctx);
    w.h.replicas = x->joint->members;
    artel_status status = write_main(&w, text);
    artel__hlo_fini(&w.h);
    return status;
}

int64_t artel__step_all_row(const artel__step_program *p, const artel__step *step, int fault)
{
    int at = 0;
    for (int i = 0; i < p->all->pieces; i++) {
        at += p->all->piece[i].lowered.faults;
        if (fault < at) return p->all->piece[i].part == ARTEL__PART_ROWS ? step->fold->row : 0;
    }
    return 0;
}
