/* SPDX-License-Identifier: Apache-2.0 */
/* A step as the recomputation pass sees it: events, buffers, sizes, times; and the play of a step under a choice.
 *
 * The play follows exec/cpu/memory.c: a buffer lives from its first writer to its last reader, views share, and an
 * operation that may overwrites its first operand where that dies; what remains out of account is where the buffers
 * lie. A dropped buffer dies with its last forward reader; at its first reader in the backward pass everything that
 * made it runs again, together with what made the dropped buffers that this needs, in forward order. No event runs
 * again twice. Times are estimates of two numbers that every machine has in about this proportion, FLOPS_PER_BYTE:
 * nothing is measured, so the choice is the same everywhere.
 */
#include <string.h>

#include "graph/cost.h"
#include "graph/recompute_impl.h"

enum {
    WANTED = 1,
    PLAYED = 2
};

#define SMALL 32000         /* a buffer below this part of all bytes is not worth the operations */
#define FLOPS_PER_BYTE 12.0 /* floating-point operations in the time of moving a byte */

/* -- building -- */

static bool is_view(const artel__node *node)
{
    return node->op->placement == ARTEL__PLACE_VIEW || node->op->placement == ARTEL__PLACE_VIEW_WRITTEN ||
           node->op->collective;
}

static double value_bytes(const artel__step_model *model, artel__value_id id)
{
    const artel__value *value = &model->graph->value[id];
    double bytes = (double)value->storage * (double)artel_dtype_size(value->dtype);
    bool rows = value->domain == ARTEL__DOMAIN_ROW || value->domain == ARTEL__DOMAIN_BATCH;
    return rows ? bytes * (double)model->rows : bytes;
}

/* Bytes moved by an operand (k < inputs) or an output. */
static double moved_bytes(const artel__step_model *model, const artel__node *node, int k)
{
    bool written =
        node->op->placement == ARTEL__PLACE_VIEW_WRITTEN; /* a part of what it shares with its first operand */
    if (k >= node->inputs) return written ? 0 : value_bytes(model, node->output[k - node->inputs]);
    if (!artel__node_reads(node, k)) return 0;
    if (written) return k == 0 ? 0 : 2 * value_bytes(model, node->input[k]);
    double bytes = value_bytes(model, node->input[k]), made = value_bytes(model, node->output[0]);
    bool looked_up = !node->op->cost && model->graph->value[node->input[k]].domain == ARTEL__DOMAIN_GLOBAL;
    return looked_up && bytes > made ? made : bytes; /* tables: as much as comes out */
}

static double node_time(const artel__step_model *model, const artel__node *node)
{
    if (node->op->placement == ARTEL__PLACE_VIEW || node->op->collective) return 0;
    double bytes = 0;
    for (int k = 0; k < node->inputs + node->outputs; k++) {
        artel__value_id id = k < node->inputs ? node->input[k] : node->output[k - node->inputs];
        if (id >= 0) bytes += moved_bytes(model, node, k);
    }
    return bytes + (double)artel__node_operations(model->graph, node, model->rows) / FLOPS_PER_BYTE;
}

/* The order of execution: what changes variables comes last (exec/cpu/plan.c). */
static void order_events(artel__step_model *model)
{
    const artel__graph *graph = model->graph;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) model->apply = model->events;
        for (int i = 0; i < graph->nodes; i++) {
            if ((graph->node[i].phase == ARTEL__PHASE_APPLY) != pass) continue;
            if (graph->node[i].phase == ARTEL__PHASE_BACKWARD && model->turn < 0) model->turn = model->events;
            model->node[model->events++] = i;
        }
    }
    if (model->turn < 0) model->turn = model->apply;
    for (int32_t e = 0; e < model->events; e++) {
        model->time[e] = node_time(model, &graph->node[model->node[e]]);
        model->total_time += model->time[e];
    }
}

/* Small buffers stay where they are and out of account. */
static void judge_sizes(artel__step_model *model)
{
    double total = 0;
    for (int32_t b = 0; b < model->buffers; b++) total += (double)model->bytes[b];
    for (int32_t b = 0; b < model->buffers; b++) {
        if ((double)model->bytes[b] * SMALL < total) model->retention[b] = ARTEL__RETENTION_SMALL;
    }
}

static void name_buffers(artel__step_model *model)
{
    const artel__graph *graph = model->graph;
    for (int i = 0; i < graph->values; i++) model->buffer[i] = -1;
    for (int32_t e = 0; e < model->events; e++) {
        const artel__node *node = &graph->node[model->node[e]];
        for (int k = 0; k < node->outputs; k++) {
            bool shared = k == 0 && is_view(node);
            if (shared) {
                model->buffer[node->output[0]] = model->buffer[node->input[0]];
                continue;
            }
            model->buffer[node->output[k]] = model->buffers;
            model->value[model->buffers] = node->output[k];
            model->bytes[model->buffers++] = ((int64_t)value_bytes(model, node->output[k]) + 63) / 64 * 64;
        }
    }
    judge_sizes(model);
}

static bool counts(const artel__step_model *model, int32_t buffer)
{
    return buffer >= 0 && model->retention[buffer] != ARTEL__RETENTION_SMALL;
}

static artel_status lists_init(artel__step_model *model, artel__index_lists *lists, int32_t rows, size_t items)
{
    lists->start = artel__arena_alloc(&model->arena, (size_t)rows + 1, sizeof *lists->start);
    lists->item = artel__arena_alloc(&model->arena, items + 1, sizeof *lists->item);
    return artel__arena_status(&model->arena);
}

static artel_status list_operands(artel__step_model *model)
{
    const artel__graph *graph = model->graph;
    size_t inputs = 0, outputs = 0;
    for (int i = 0; i < graph->nodes; i++) {
        inputs += (size_t)graph->node[i].inputs;
        outputs += (size_t)graph->node[i].outputs;
    }
    ARTEL_TRY(lists_init(model, &model->reads, model->events, inputs));
    ARTEL_TRY(lists_init(model, &model->writes, model->events, outputs));
    int32_t reads = 0, writes = 0;
    for (int32_t e = 0; e < model->events; e++) {
        const artel__node *node = &graph->node[model->node[e]];
        for (int k = 0; k < node->inputs; k++) {
            int32_t b = artel__node_reads(node, k) ? model->buffer[node->input[k]] : -1;
            if (counts(model, b)) model->reads.item[reads++] = b;
        }
        for (int k = 0; k < node->outputs; k++) {
            int32_t b = model->buffer[node->output[k]];
            if (counts(model, b)) model->writes.item[writes++] = b;
        }
        if (reads > model->reads.start[e] || writes > model->writes.start[e]) model->busy[model->busy_events++] = e;
        model->reads.start[e + 1] = reads;
        model->writes.start[e + 1] = writes;
    }
    return ARTEL_OK;
}

static artel_status list_makers(artel__step_model *model)
{
    artel__index_lists *makers = &model->makers;
    int32_t end = model->writes.start[model->turn];
    ARTEL_TRY(lists_init(model, makers, model->buffers + 1, (size_t)end));
    for (int32_t i = 0; i < end; i++) makers->start[model->writes.item[i] + 2]++;
    for (int32_t b = 0; b < model->buffers; b++) makers->start[b + 2] += makers->start[b + 1];
    for (int32_t e = 0; e < model->turn; e++) {
        for (int32_t i = model->writes.start[e]; i < model->writes.start[e + 1]; i++)
            makers->item[makers->start[model->writes.item[i] + 1]++] = e;
    }
    return ARTEL_OK;
}

static bool repeatable(const artel__step_model *model, const artel__node *node)
{
    bool good = node->phase == ARTEL__PHASE_FORWARD && !node->op->collective && !node->op->writes;
    if (node->op->placement == ARTEL__PLACE_VIEW_WRITTEN) good = good && node->outputs == 1;
    for (int k = 0; k < node->outputs; k++)
        good = good && model->graph->value[node->output[k]].domain != ARTEL__DOMAIN_NODES;
    return good;
}

/* Which buffers could be dropped, and why others could not. */
static void judge(artel__step_model *model)
{
    const artel__graph *graph = model->graph;
    for (int32_t e = 0; e < model->events; e++) {
        const artel__node *node = &graph->node[model->node[e]];
        bool writes_again = e >= model->turn && node->op->placement == ARTEL__PLACE_VIEW_WRITTEN;
        for (int32_t i = model->writes.start[e]; i < model->writes.start[e + 1]; i++) {
            int32_t b = model->writes.item[i];
            if (writes_again || (e < model->turn && !repeatable(model, node)))
                model->retention[b] = ARTEL__RETENTION_NOT_REPEATED;
        }
        for (int32_t i = model->reads.start[e]; e >= model->apply && i < model->reads.start[e + 1]; i++)
            model->retention[model->reads.item[i]] = ARTEL__RETENTION_RESULT;
    }
    for (int i = 0; i < graph->kept_count; i++) {
        int32_t b = model->buffer[graph->kept[i]];
        if (counts(model, b)) model->retention[b] = ARTEL__RETENTION_RESULT;
    }
    for (int32_t b = 0; b < model->buffers; b++) {
        if (counts(model, b) && model->makers.start[b] == model->makers.start[b + 1])
            model->retention[b] = ARTEL__RETENTION_NOT_REPEATED; /* behind the turn */
    }
}

static artel_status make_trial(artel__step_model *model)
{
    artel__arena *arena = &model->arena;
    size_t events = (size_t)model->events + 1, buffers = (size_t)model->buffers + 1;
    artel__trial *trial = artel__arena_alloc(arena, 1, sizeof *trial);
    bool *none = artel__arena_alloc(arena, buffers, sizeof *none);
    ARTEL_TRY(artel__arena_status(arena));
    *trial = (artel__trial){.log = artel__arena_alloc(arena, 2 * events, sizeof *trial->log),
                            .first = artel__arena_alloc(arena, 2 * buffers, sizeof *trial->first),
                            .last = artel__arena_alloc(arena, 2 * buffers, sizeof *trial->last),
                            .again = artel__arena_alloc(arena, events, sizeof *trial->again),
                            .made = artel__arena_alloc(arena, buffers, sizeof *trial->made),
                            .stack = artel__arena_alloc(arena, buffers, sizeof *trial->stack),
                            .change = artel__arena_alloc(arena, 2 * events + 1, sizeof *trial->change),
                            .base = 1};
    model->trial = trial;
    ARTEL_TRY(artel__arena_status(arena));
    trial->base = artel__step_model_try(model, none).peak;
    return ARTEL_OK;
}

artel_status artel__step_model_init(artel__step_model *model, artel__graph *graph,
                                    const artel__recompute_options *options)
{
    size_t values = (size_t)graph->values + 1, nodes = (size_t)graph->nodes + 1;
    *model = (artel__step_model){
        .graph = graph, .rows = options->rows, .turn = -1, .fixed = (int64_t)graph->variables->bytes};
    artel__arena *arena = &model->arena;
    artel__arena_init(arena, artel__graph_context(graph));
    model->node = artel__arena_alloc(arena, nodes, sizeof *model->node);
    model->busy = artel__arena_alloc(arena, nodes, sizeof *model->busy);
    model->time = artel__arena_alloc(arena, nodes, sizeof *model->time);
    model->buffer = artel__arena_alloc(arena, values, sizeof *model->buffer);
    model->bytes = artel__arena_alloc(arena, values, sizeof *model->bytes);
    model->value = artel__arena_alloc(arena, values, sizeof *model->value);
    model->retention = artel__arena_alloc(arena, values, sizeof *model->retention);
    ARTEL_TRY(artel__arena_status(arena));
    order_events(model);
    name_buffers(model);
    ARTEL_TRY(list_operands(model));
    ARTEL_TRY(list_makers(model));
    judge(model);
    return make_trial(model);
}

void artel__step_model_fini(artel__step_model *model)
{
    artel__arena_fini(&model->arena);
}

/* -- playing -- */

static void touch(artel__trial *trial, int32_t id)
{
    if (trial->first[id] < 0) trial->first[id] = trial->count;
    trial->last[id] = trial->count;
}

/* Where an event finds a buffer. */
static int32_t place_of(const artel__step_model *model, const bool *drop, bool late, int32_t buffer)
{
    return late && drop[buffer] ? model->buffers + buffer : buffer;
}

static void play_event(artel__step_model *model, const bool *drop, int32_t event, bool again)
{
    artel__trial *trial = model->trial;
    bool late = again || event >= model->turn;
    for (int32_t i = model->reads.start[event]; i < model->reads.start[event + 1]; i++)
        touch(trial, place_of(model, drop, late, model->reads.item[i]));
    for (int32_t i = model->writes.start[event]; i < model->writes.start[event + 1]; i++) {
        int32_t b = model->writes.item[i];
        touch(trial, again ? model->buffers + b : place_of(model, drop, late, b));
    }
    if (again) trial->extra += model->time[event];
    trial->log[trial->count++] = again ? ~event : event;
}

/* Plays again whatever a dropped buffer needs; the span of events is that of one segment, mostly. */
static void make_again(artel__step_model *model, const bool *drop, int32_t buffer)
{
    artel__trial *trial = model->trial;
    int32_t depth = 0, low = model->turn, high = -1;
    trial->stack[depth++] = buffer;
    trial->made[buffer] = true;
    while (depth > 0) {
        int32_t b = trial->stack[--depth];
        for (int32_t m = model->makers.start[b]; m < model->makers.start[b + 1]; m++) {
            int32_t e = model->makers.item[m];
            if (trial->again[e]) continue;
            trial->again[e] = WANTED;
            if (e < low) low = e;
            if (e > high) high = e;
            for (int32_t i = model->reads.start[e]; i < model->reads.start[e + 1]; i++) {
                int32_t needed = model->reads.item[i];
                if (!drop[needed] || trial->made[needed]) continue;
                trial->made[needed] = true;
                trial->stack[depth++] = needed;
            }
        }
    }
    for (int32_t e = low; e <= high; e++) {
        if (trial->again[e] != WANTED) continue;
        trial->again[e] = PLAYED;
        play_event(model, drop, e, true);
    }
}

static void play(artel__step_model *model, const bool *drop, bool whole)
{
    artel__trial *trial = model->trial;
    memset(trial->first, 0xff, 2 * (size_t)model->buffers * sizeof *trial->first);
    memset(trial->again, 0, (size_t)model->events * sizeof *trial->again);
    memset(trial->made, 0, (size_t)model->buffers * sizeof *trial->made);
    trial->count = 0;
    trial->extra = 0;
    for (int32_t n = 0; n < (whole ? model->events : model->busy_events); n++) {
        int32_t e = whole ? n : model->busy[n];
        for (int32_t i = model->reads.start[e]; e >= model->turn && i < model->reads.start[e + 1]; i++) {
            int32_t b = model->reads.item[i];
            if (drop[b] && !trial->made[b]) make_again(model, drop, b);
        }
        play_event(model, drop, e, false);
    }
    for (int i = 0; i < model->graph->kept_count; i++) {
        int32_t b = model->buffer[model->graph->kept[i]];
        if (counts(model, b)) trial->last[b] = trial->count;
    }
}

/* The operand that the event at a position overwrites, or -1. */
static int32_t overwritten(const artel__step_model *model, const bool *drop, int32_t position)
{
    const artel__trial *trial = model->trial;
    bool again = trial->log[position] < 0;
    int32_t event = again ? ~trial->log[position] : trial->log[position];
    const artel__node *node = &model->graph->node[model->node[event]];
    artel__in_place over = artel__node_in_place(node);
    if (node->op->placement != ARTEL__PLACE_INPLACE || over.input < 0) return -1;
    if (node->input[over.input] < 0 || model->buffer[node->input[over.input]] < 0) return -1;
    int32_t from = model->buffer[node->input[over.input]], to = model->buffer[node->output[over.output]];
    for (int k = 0; k < node->inputs; k++) {
        if (k != over.input && node->input[k] >= 0 && model->buffer[node->input[k]] == from) return -1;
    }
    int32_t found = place_of(model, drop, again || event >= model->turn, from), made = again ? model->buffers + to : to;
    bool dies =
        trial->last[found] == position && trial->first[made] == position && model->bytes[from] == model->bytes[to];
    return dies ? found : -1;
}

static double to_the_32nd(double x)
{
    for (int i = 0; i < 5; i++) x *= x;
    return x;
}

static artel__outcome play_and_measure(artel__step_model *model, const bool *drop, bool whole)
{
    artel__trial *trial = model->trial;
    play(model, drop, whole);
    memset(trial->change, 0, ((size_t)trial->count + 2) * sizeof *trial->change);
    for (int32_t id = 0; id < 2 * model->buffers; id++) {
        if (trial->first[id] < 0) continue;
        int64_t bytes = model->bytes[id % model->buffers];
        trial->change[trial->first[id]] += bytes;
        trial->change[trial->last[id] < trial->count ? trial->last[id] + 1 : trial->count + 1] -= bytes;
    }
    for (int32_t p = 0; p < trial->count; p++) {
        int32_t id = overwritten(model, drop, p);
        if (id < 0) continue;
        int64_t bytes = model->bytes[id % model->buffers];
        trial->change[p] -= bytes;
        trial->change[p + 1] += bytes;
    }
    artel__outcome outcome = {.extra = model->total_time > 0 ? trial->extra / model->total_time : 0,
                              .events = trial->count};
    int64_t alive = model->fixed;
    double scale = 1.0 / (double)(trial->base > 0 ? trial->base : 1);
    for (int32_t p = 0; p < trial->count; p++) {
        alive += trial->change[p];
        if (alive > outcome.peak) outcome.peak = alive;
        outcome.swell += to_the_32nd((double)alive * scale);
    }
    return outcome;
}

artel__outcome artel__step_model_try(artel__step_model *model, const bool *drop)
{
    return play_and_measure(model, drop, false);
}

artel__outcome artel__step_model_log(artel__step_model *model, const bool *drop)
{
    return play_and_measure(model, drop, true);
}
