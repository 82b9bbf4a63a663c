/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: what is common, the rows of every owned shard and the sums over them as one program, so that a stage is one
 * launch.
 *
 * The parts are the same texts that are launched one by one elsewhere, as functions; @main calls them. Operands and
 * results of every call stand between barriers: no compiler merges one shard's work with another's or with the sums, so
 * a shard is computed as if it were alone. Only what somebody behind the stage reads is a result.
 */
#include <string.h>

#include "device/executable.h"
#include "device/platform_impl.h"
#include "graph/cost.h"
#include "graph/hlo.h"

enum {
    MOST_NODES = 6000 /* of a group, all shards: what it takes to compile */
};

#define MOST_OPERATIONS 4e9 /* of a shard: then launches do not count */

/* -- which stages -- */

static bool is_cheap(const artel__device_executable *x, const artel__cut_stage *stage)
{
    int64_t rows = (x->options.batch_size + x->options.shards - 1) / x->options.shards;
    double operations = 0;
    for (int i = 0; i < stage->rows.nodes; i++)
        operations += (double)artel__node_operations(x->graph, &x->graph->node[stage->rows.node[i]], rows);
    return operations <= MOST_OPERATIONS &&
           stage->common.nodes + (int64_t)stage->rows.nodes * x->options.shards <= MOST_NODES;
}

static bool feeds_collective(const artel__graph *graph, artel__value_id id)
{
    for (int i = 0; i < graph->nodes; i++) {
        if (graph->node[i].op->collective && graph->node[i].input[0] == id) return true;
    }
    return false;
}

artel_status artel__step_group_decide(artel__device_executable *x)
{
    const artel__graph *graph = x->graph;
    artel__launches launches = x->place->launches;
    bool one_by_one = launches == ARTEL__LAUNCHES_SHARD || x->place->platform->measures || x->joined || x->joint,
         all = !one_by_one;
    x->grouped = artel__arena_alloc(&x->arena, (size_t)x->cut.stages, sizeof *x->grouped);
    x->whole = artel__arena_alloc(&x->arena, (size_t)graph->values + 1, sizeof *x->whole);
    ARTEL_TRY(artel__arena_status(&x->arena));
    for (int s = 0; s < x->cut.stages; s++) {
        x->grouped[s] = !one_by_one && (launches == ARTEL__LAUNCHES_REPLICA || is_cheap(x, &x->cut.stage[s]));
        all = all && x->grouped[s];
    }
    for (int i = 0; i < graph->inputs && all; i++) {
        artel__value_id id = graph->input[i];
        x->whole[id] =
            graph->value[id].domain == ARTEL__DOMAIN_ROW && x->last[id] < x->cut.stages && !feeds_collective(graph, id);
    }
    return ARTEL_OK;
}

/* A shard without rows has no program. */
bool artel__step_is_grouped(const artel__device_executable *x, int stage, const artel__fold_plan *fold, bool scan)
{
    return x->grouped[stage] && !scan && fold->batch >= fold->shards && fold->count > 0;
}

/* -- writing -- */

typedef struct writing {
    artel__device_executable *x;
    artel__step_program *p;
    artel__step_group *g;
    const artel__cut_stage *stage;
    artel__fold_node node[ARTEL__MAX_NODES];
    int nodes;
    bool alone;
    int64_t *start; /* by owned shard, and the end */
    artel__hlo h;
    artel__hlo_value *one, *shard; /* by value; by value and owned shard: -1: not there */
    artel__hlo_value words;
    artel__hlo_value *operand; /* of a call: room */
    artel__hlo_type *type;
    artel__hlo_value *result; /* of the program */
    artel__hlo_value *fault;  /* of the calls */
    int faults;
} writing;

static bool is_per_shard(const writing *w, artel__value_id id)
{
    artel__domain domain = w->x->graph->value[id].domain;
    return domain == ARTEL__DOMAIN_ROW || domain == ARTEL__DOMAIN_NODES;
}

static artel__hlo_value *at_shard(const writing *w, artel__value_id id, int s)
{
    return is_per_shard(w, id) ? &w->shard[(int64_t)id * w->p->count + s] : &w->one[id];
}

static int64_t rows_of(const writing *w, int s)
{
    return w->start[s + 1] - w->start[s];
}

static bool is_gather(const writing *w, int collective)
{
    return w->x->graph->node[w->stage->collective[collective]].op->collective == ARTEL__COLLECTIVE_GATHER;
}

/* The numbers of rows that shards have; their texts as functions. */
static artel_status write_functions(writing *w)
{
    artel__text text;
    int64_t rows[2] = {rows_of(w, 0), rows_of(w, 0)};
    artel_status status = ARTEL_OK;
    for (int s = 0; s < w->p->count; s++) {
        if (rows_of(w, s) != rows[0]) rows[1] = rows_of(w, s);
        w->g->form[s] = rows_of(w, s) != rows[0];
    }
    artel__text_init(&text, w->x->ctx);
    if (w->stage->common.nodes) {
        status = artel__step_part_write(w->x, w->p->stage, ARTEL__PART_COMMON, 0, w->p->batch, &text, &w->g->common);
        if (status == ARTEL_OK && !w->g->common.refused) artel__hlo_add_function(&w->h, "common", text.data);
    }
    for (int f = 0; f < 1 + (rows[1] != rows[0]) && w->stage->rows.nodes && status == ARTEL_OK; f++) {
        status =
            artel__step_part_write(w->x, w->p->stage, ARTEL__PART_ROWS, rows[f], w->p->batch, &text, &w->g->rows[f]);
        if (status == ARTEL_OK && !w->g->rows[f].refused)
            artel__hlo_add_function(&w->h, f ? "fewer" : "rows", text.data);
        if (w->g->rows[f].refused) w->p->lowered.refused = w->g->rows[f].refused;
    }
    if (w->g->common.refused) w->p->lowered.refused = w->g->common.refused;
    artel__text_fini(&text);
    return status;
}

/* -- arguments -- */

static void add_argument(writing *w, artel__value_id id, int32_t shard, int64_t rows)
{
    artel__hlo_type type = artel__lower_type(w->x->graph, id, rows, w->p->batch);
    artel__hlo_value value = artel__hlo_argument(&w->h, &type, -1);
    w->g->in[w->g->ins++] = (artel__group_value){id, shard};
    if (shard == ARTEL__OF_ROWS || shard == ARTEL__OF_ALL)
        w->one[id] = value;
    else
        *at_shard(w, id, shard) = value;
}

static bool made_here(const artel__cut_program *part, artel__value_id id)
{
    for (int i = 0; i < part->outs; i++) {
        if (part->out[i] == id) return true;
    }
    return false;
}

static void need(writing *w, artel__value_id id)
{
    if (made_here(&w->stage->common, id) || made_here(&w->stage->rows, id)) return;
    if (w->x->whole[id]) {
        if (w->one[id] < 0) add_argument(w, id, ARTEL__OF_ROWS, w->start[w->p->count]);
    } else if (!is_per_shard(w, id)) {
        if (w->one[id] < 0) add_argument(w, id, ARTEL__OF_ALL, 0);
    } else {
        for (int s = *at_shard(w, id, 0) < 0 ? 0 : w->p->count; s < w->p->count; s++)
            add_argument(w, id, s, rows_of(w, s));
    }
}

static void write_arguments(writing *w)
{
    for (int i = 0; i < w->stage->common.ins; i++) need(w, w->stage->common.in[i]);
    for (int i = 0; i < w->stage->rows.ins; i++) need(w, w->stage->rows.in[i]);
    for (int i = 0; i < w->stage->collectives; i++) need(w, w->x->graph->node[w->stage->collective[i]].input[0]);
    w->g->scalars = w->g->common.scalars;
    for (int s = 0; s < w->p->count; s++) w->g->scalars += w->g->rows[w->g->form[s]].scalars;
    artel__hlo_type words = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {w->g->scalars}};
    if (w->g->scalars) w->words = artel__hlo_argument(&w->h, &words, -1);
    for (int i = 0; i < w->g->ins; i++) { /* rows of shards out of one array */
        artel__value_id id = w->g->in[i].id;
        for (int s = 0; s < w->p->count && w->g->in[i].shard == ARTEL__OF_ROWS; s++)
            *at_shard(w, id, s) = artel__hlo_slice_axis(&w->h, w->one[id], 0, w->start[s], w->start[s + 1]);
    }
}

/* -- calls -- */

/* `word`: where its scalars begin. */
static void call(writing *w, const artel__cut_program *part, const artel__lowered *lowered, const char *name, int s,
                 int word)
{
    int ins = 0, outs = 0;
    for (int i = 0; i < part->ins; i++) w->operand[ins++] = *at_shard(w, part->in[i], s);
    if (lowered->scalars) w->operand[ins++] = artel__hlo_slice_axis(&w->h, w->words, 0, word, word + lowered->scalars);
    for (int i = 0; i < part->outs; i++)
        w->type[outs++] = artel__lower_type(w->x->graph, part->out[i], s < 0 ? 0 : rows_of(w, s), w->p->batch);
    if (lowered->faults)
        w->type[outs++] = (artel__hlo_type){.dtype = ARTEL_DTYPE_INT64, .rank = 2, .dim = {lowered->faults, 2}};
    artel__hlo_value *out = w->operand + ins;
    artel__hlo_barriers(&w->h, w->operand, ins);
    if (outs) artel__hlo_call(&w->h, name, w->operand, ins, w->type, outs, out);
    artel__hlo_barriers(&w->h, out, outs);
    for (int i = 0; i < part->outs; i++) *at_shard(w, part->out[i], s) = out[i];
    if (lowered->faults) w->fault[w->faults++] = out[outs - 1];
}

static void write_calls(writing *w)
{
    static const char *const names[] = {"rows", "fewer"};
    int word = w->g->common.scalars;
    if (w->stage->common.nodes) call(w, &w->stage->common, &w->g->common, "common", -1, 0);
    for (int s = 0; s < w->p->count && w->stage->rows.nodes; s++) {
        const artel__lowered *lowered = &w->g->rows[w->g->form[s]];
        call(w, &w->stage->rows, lowered, names[w->g->form[s]], s, word);
        word += lowered->scalars;
    }
}

/* -- results -- */

static void add_result(writing *w, artel__value_id id, int32_t shard, artel__hlo_value value)
{
    w->result[w->g->outs] = value;
    w->g->out[w->g->outs++] = (artel__group_value){id, shard};
}

static bool is_gathered_elsewhere(const writing *w, artel__value_id id)
{
    for (int i = 0; i < w->stage->collectives && !w->alone; i++) {
        if (is_gather(w, i) && w->x->graph->node[w->stage->collective[i]].input[0] == id) return true;
    }
    return false;
}

static void write_outs(writing *w, const artel__cut_program *part)
{
    for (int i = 0; i < part->outs; i++) {
        artel__value_id id = part->out[i];
        if (w->x->last[id] <= w->p->stage && !is_gathered_elsewhere(w, id)) continue;
        if (!is_per_shard(w, id)) add_result(w, id, ARTEL__OF_ALL, w->one[id]);
        for (int s = 0; s < w->p->count && is_per_shard(w, id); s++) add_result(w, id, s, *at_shard(w, id, s));
    }
}

/* Of a replica alone what the collective makes, else the nodes that others are given. */
static void write_collective(writing *w, int i)
{
    const artel__node *node = &w->x->graph->node[w->stage->collective[i]];
    artel__hlo_value *leaf = w->shard + (int64_t)node->input[0] * w->p->count;
    if (is_gather(w, i)) {
        if (w->alone)
            add_result(w, node->output[0], ARTEL__OF_ALL, artel__hlo_concatenate(&w->h, leaf, w->p->count, 0));
        return;
    }
    for (int n = 0; n < w->nodes; n++) {
        artel__hlo_value sum =
            artel__step_merge(&w->h, node->op->collective, leaf + (w->node[n].first - w->p->first), w->node[n].count);
        add_result(w, node->output[0], w->alone ? ARTEL__OF_ALL : ARTEL__OF_NODE - n, sum);
    }
}

/* One array of them all: by call, by fault. */
static void write_faults(writing *w)
{
    artel__lowered *all = &w->p->lowered;
    int at = 0;
    all->faults = w->g->common.faults;
    for (int s = 0; s < w->p->count; s++) all->faults += w->g->rows[w->g->form[s]].faults;
    all->fault = artel__arena_alloc(&w->x->arena, (size_t)all->faults + 1, sizeof *all->fault);
    for (int s = -1; s < w->p->count && all->fault; s++) {
        const artel__lowered *one = s < 0 ? &w->g->common : &w->g->rows[w->g->form[s]];
        for (int i = 0; i < one->faults; i++) all->fault[at++] = one->fault[i];
    }
    if (w->faults) w->result[w->g->outs] = artel__hlo_concatenate(&w->h, w->fault, w->faults, 0);
}

/* -- all of it -- */

static artel_status make_room(writing *w)
{
    artel__arena *arena = &w->x->arena;
    size_t shards = (size_t)w->p->count, values = (size_t)w->x->graph->values + 1;
    const artel__cut_stage *s = w->stage;
    size_t most = (size_t)(s->common.ins + s->common.outs + s->rows.ins + s->rows.outs + s->collectives + 4);
    w->p->group = w->g = artel__arena_alloc(arena, 1, sizeof *w->g);
    w->start = artel__arena_alloc(arena, shards + 1, sizeof *w->start);
    w->one = artel__arena_alloc(arena, values, sizeof *w->one);
    w->shard = artel__arena_alloc(arena, values * shards, sizeof *w->shard);
    w->operand = artel__arena_alloc(arena, 2 * most, sizeof *w->operand);
    w->type = artel__arena_alloc(arena, most, sizeof *w->type);
    w->result = artel__arena_alloc(arena, most * (shards + ARTEL__MAX_NODES), sizeof *w->result);
    w->fault = artel__arena_alloc(arena, shards + 1, sizeof *w->fault);
    ARTEL_TRY(artel__arena_status(arena));
    w->g->form = artel__arena_alloc(arena, shards, sizeof *w->g->form);
    w->g->in = artel__arena_alloc(arena, most * shards, sizeof *w->g->in);
    w->g->out = artel__arena_alloc(arena, most * (shards + ARTEL__MAX_NODES), sizeof *w->g->out);
    ARTEL_TRY(artel__arena_status(arena));
    for (size_t i = 0; i < values; i++) w->one[i] = -1;
    for (size_t i = 0; i < values * shards; i++) w->shard[i] = -1;
    return ARTEL_OK;
}

static artel_status write_main(writing *w, artel__text *text)
{
    ARTEL_TRY(write_functions(w));
    if (w->p->lowered.refused) return ARTEL_OK;
    write_arguments(w);
    write_calls(w);
    write_outs(w, &w->stage->common);
    write_outs(w, &w->stage->rows);
    for (int i = 0; i < w->stage->collectives; i++) write_collective(w, i);
    write_faults(w);
    ARTEL_TRY(artel__arena_status(&w->x->arena));
    int results = w->g->outs + (w->faults > 0);
    return results ? artel__hlo_finish(&w->h, w->result, results, text) : w->h.status;
}

artel_status artel__step_group_write(artel__device_executable *x, artel__step_program *p, artel__text *text)
{
    writing w = {.x = x, .p = p, .stage = &x->cut.stage[p->stage], .alone = x->options.replicas == 1};
    ARTEL_TRY(make_room(&w));
    int64_t row = artel__shard_start(p->batch, x->options.shards, p->first);
    for (int s = 0; s <= p->count; s++)
        w.start[s] = artel__shard_start(p->batch, x->options.shards, p->first + s) - row;
    w.nodes = w.alone ? 1 : artel__fold_nodes(p->first, p->count, w.node);
    if (w.alone) w.node[0] = (artel__fold_node){p->first, p->count};
    p->lowered.by_batch = true;
    artel__hlo_init(&w.h, x->ctx);
    artel_status status = write_main(&w, text);
    artel__hlo_fini(&w.h);
    return status;
}

int64_t artel__step_group_row(const artel__step_program *p, const artel__step *step, int fault)
{
    const artel__step_group *g = p->group;
    int at = g->common.faults;
    if (fault < at) return 0;
    for (int s = 0; s < p->count; s++) {
        at += g->rows[g->form[s]].faults;
        if (fault < at) return step->fold->row + step->fold->start[s];
    }
    return step->fold->row;
}
