/* SPDX-License-Identifier: Apache-2.0 */
/* Steps on a device: launches stage by stage, shard by shard, and between stages what collectives need.
 *
 * Nothing waits before the end of compute but what crosses this machine's memory: blocks for other replicas, gathered rows. A replica alone
 * keeps its sums on the device.
 */
#include <string.h>

#include "base/clock.h"
#include "device/compute.h"
#include "device/home.h"
#include "device/words.h"
#include "graph/cost.h"

typedef struct pending_fault {
    artel__buffer *buffer;
    const artel__lowered *lowered;
    int64_t first_row; /* of the shard, in the global batch */
} pending_fault;

typedef struct word_block {
    int64_t *word;
    int count;
} word_block;

typedef struct execution {
    artel_context *ctx;
    artel__device_executable *x;
    int device;
    artel__state *state;
    artel__device_home *home;
    const artel__comm *comm;
    const atomic_bool *stop;
    artel__arena arena;
    artel__buffer **one;   /* by value: GLOBAL, BATCH */
    artel__buffer **shard; /* by value and shard of the step: ROW, NODES */
    artel__buffer **in, **out;
    word_block *words; /* by launch of the step */
    int used, blocks;
    void **kept; /* by kept value, in this machine's memory */
    size_t *kept_bytes;
    artel__copy **copy; /* on their way */
    int copies, most_copies;
    pending_fault *pending;
    int pendings, most_pending;
    artel__fault fault;
    artel_status failed; /* of the last apply */
    artel__node_time *time;
    artel__nonfinite *scan; /* looked for; NULL: not */
} execution;

static artel__platform *platform_of(const execution *e)
{
    return e->x->place->platform;
}

static bool is_per_shard(const execution *e, artel__value_id id)
{
    artel__domain domain = e->x->graph->value[id].domain;
    return domain == ARTEL__DOMAIN_ROW || domain == ARTEL__DOMAIN_NODES;
}

/* Where a value is, for owned shard `s`. */
static artel__buffer **slot_of(const execution *e, artel__value_id id, int s)
{
    const artel__value *value = &e->x->graph->value[id];
    if (value->variable >= 0) return &e->home->variable[value->variable];
    return is_per_shard(e, id) ? &e->shard[(int64_t)id * e->x->options.shards + s] : &e->one[id];
}

static void put_into(const execution *e, artel__buffer **slot, artel__buffer *buffer)
{
    artel__buffer_release(platform_of(e), *slot);
    *slot = buffer;
}

static void release_value(const execution *e, artel__value_id id)
{
    int slots = is_per_shard(e, id) ? e->x->options.shards : 1;
    if (e->x->graph->value[id].variable >= 0) return;
    for (int s = 0; s < slots; s++) put_into(e, slot_of(e, id, s), NULL);
}

static void release_all(const execution *e)
{
    for (int i = 0; i < e->x->graph->values; i++) release_value(e, i);
}

/* Room for one more copy that is on its way. */
static artel_status reserve_copy(execution *e)
{
    if (e->copies < e->most_copies) return ARTEL_OK;
    int most = e->most_copies ? 2 * e->most_copies : 32;
    void *block = e->copy;
    ARTEL_TRY(artel__realloc(e->ctx, (size_t)most * sizeof(artel__copy *), "device", &block));
    e->copy = block;
    e->most_copies = most;
    return ARTEL_OK;
}

/* Begins to copy an array to this machine; await_copies waits for all. */
static artel_status begin_copy(execution *e, artel__buffer *buffer, void *to, size_t bytes)
{
    ARTEL_TRY(reserve_copy(e));
    ARTEL_TRY(artel__buffer_get_begin(platform_of(e), buffer, to, bytes, &e->copy[e->copies]));
    e->copies++;
    return ARTEL_OK;
}

/* The same to the device. */
static artel_status begin_put(execution *e, artel_dtype dtype, const artel_shape *shape, const void *host, artel__buffer **out)
{
    ARTEL_TRY(reserve_copy(e));
    ARTEL_TRY(artel__buffer_put_begin(platform_of(e), e->device, dtype, shape, host, &e->copy[e->copies], out));
    e->copies++;
    return ARTEL_OK;
}

static artel_status await_copies(execution *e, artel_status status)
{
    for (int i = 0; i < e->copies; i++) {
        artel_status one = artel__copy_wait(platform_of(e), e->copy[i]);
        status = status < 0 ? status : one;
    }
    e->copies = 0;
    return status;
}

/* `host` stays until the copies are waited for. */
static artel_status put(execution *e, artel__value_id id, int64_t rows, const void *host, artel__buffer **slot)
{
    const artel__value *value = &e->x->graph->value[id];
    artel_shape shape = value->shape;
    artel__buffer *buffer;
    if (value->domain == ARTEL__DOMAIN_ROW || value->domain == ARTEL__DOMAIN_BATCH) {
        shape = (artel_shape){.rank = value->shape.rank + 1, .dim = {rows}};
        for (int k = 0; k < value->shape.rank; k++) shape.dim[k + 1] = value->shape.dim[k];
    }
    ARTEL_TRY(begin_put(e, value->dtype, &shape, host, &buffer));
    put_into(e, slot, buffer);
    return ARTEL_OK;
}

static size_t element_bytes(const execution *e, artel__value_id id)
{
    const artel__value *value = &e->x->graph->value[id];
    return (size_t)artel_shape_count(&value->shape) * artel_dtype_size(value->dtype);
}

/* -- launches -- */

/* The step as owned shard `s` sees it; all of the replica's rows when s < 0. */
static void narrow_step(const artel__step *step, int s, artel__fold_plan *fold, int64_t start[2], artel__step *out)
{
    const artel__fold_plan *all = step->fold;
    *out = *step;
    if (s < 0) return;
    artel__fold_plan_make(fold, all->shards, all->first + s, 1, all->batch, start);
    out->fold = fold;
}

/* Until the next step is computed. Launches come in the same order in every step, so a block is mostly as long as it was. */
static int64_t *take_words(execution *e, int count)
{
    if (e->used == e->blocks) {
        void *list = e->words;
        if (artel__realloc(e->ctx, (size_t)(e->blocks + 1) * sizeof *e->words, "device", &list) < 0) return NULL;
        e->words = list;
        e->words[e->blocks++] = (word_block){NULL, 0};
    }
    word_block *block = &e->words[e->used++];
    void *word = block->word;
    if (block->count < count && artel__realloc(e->ctx, (size_t)count * sizeof *block->word, "device", &word) < 0) return NULL;
    *block = (word_block){word, block->count < count ? count : block->count};
    return block->word;
}

static artel_status put_words(execution *e, const artel__step_program *p, const artel__step *step, int s, artel__buffer **out)
{
    artel__fold_plan fold;
    int64_t start[2];
    artel__step own;
    artel_shape shape = {.rank = 1, .dim = {p->lowered.scalars}};
    narrow_step(step, s, &fold, start, &own);
    int64_t *words = take_words(e, p->lowered.scalars);
    if (!words) return ARTEL_ERROR_NO_MEMORY;
    artel__words_fill(e->x->graph, p->lowered.scalar, p->lowered.scalars, &own, words);
    return begin_put(e, ARTEL_DTYPE_INT64, &shape, words, out);
}

static artel_status note_fault(execution *e, const artel__step_program *p, const artel__step *step, int s, artel__buffer *buffer)
{
    int64_t first = s < 0 ? 0 : step->fold->row + step->fold->start[s];
    if (e->pendings == e->most_pending) {
        int most = e->most_pending ? 2 * e->most_pending : 16;
        void *block = e->pending;
        ARTEL_TRY(artel__realloc(e->ctx, (size_t)most * sizeof *e->pending, "device", &block));
        e->pending = block;
        e->most_pending = most;
    }
    e->pending[e->pendings++] = (pending_fault){buffer, &p->lowered, first};
    return ARTEL_OK;
}

/* The first node of all counts, of one node the first row. */
static artel_status read_scan(execution *e, const artel__step_program *p, const artel__step *step, int s, artel__buffer *buffer)
{
    const artel__lowered *lowered = &p->lowered;
    size_t bytes = (size_t)lowered->scans * 3 * sizeof(int64_t);
    int64_t first = s < 0 ? 0 : step->fold->row + step->fold->start[s];
    artel__nonfinite *out = e->scan;
    void *block;
    ARTEL_TRY(artel__alloc(e->ctx, bytes, "device", &block));
    artel_status status = artel__buffer_get(platform_of(e), buffer, block, bytes);
    artel__buffer_release(platform_of(e), buffer);
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
        *out = (artel__nonfinite){index, node->name, node->op->name, by_row ? first + word[0] : -1, by_row ? first + word[1] : -1, 0};
        memcpy(&out->value, &word[2], sizeof out->value);
    }
    artel__free(e->ctx, block);
    return status;
}

static void note_time(execution *e, const artel__cut_program *cut, int64_t before)
{
    artel__node_time *time = &e->time[cut->node[0]];
    int64_t took = artel__now_ns() - before;
    time->ns += took;
    time->calls++;
    if (time->calls > 1 && took < time->longest_ns) return;
    time->longest_ns = took;
    time->begin_ns = before;
}

/* Its arguments are there; results go where they belong, those of APPLY in the place of their variables. */
static artel_status launch(execution *e, const artel__step_program *p, const artel__step *step, int s)
{
    const artel__cut_program *cut = artel__step_part_of(e->x, p->stage, p->part);
    int count = cut->ins, results = artel__program_results(p->program), at = 0;
    int64_t before = e->time ? artel__now_ns() : 0;
    for (int i = 0; i < cut->ins; i++) {
        e->in[i] = *slot_of(e, cut->in[i], s);
        if (!e->in[i]) return artel__fail(e->ctx, ARTEL_ERROR_INTERNAL, "device", "", "value %d is missing in a step", (int)cut->in[i]);
    }
    artel__buffer *words = NULL;
    if (p->lowered.scalars) {
        ARTEL_TRY(put_words(e, p, step, s, &words));
        e->in[count++] = words;
    }
    artel_status status = artel__program_launch(p->program, e->device, e->in, count, e->out);
    artel__buffer_release(platform_of(e), words);
    ARTEL_TRY(status);
    for (int i = 0; i < cut->outs; i++) put_into(e, slot_of(e, cut->out[i], s), e->out[at++]);
    for (int i = 0; i < e->x->writes && p->part == ARTEL__PART_APPLY; i++) put_into(e, slot_of(e, e->x->written[i], s), e->out[at++]);
    if (p->lowered.faults) status = note_fault(e, p, step, s, e->out[at++]);
    if (p->lowered.scans && status == ARTEL_OK) status = read_scan(e, p, step, s, e->out[at]);
    if (e->time && results) {
        artel__buffer_wait(platform_of(e), e->out[results - 1]);
        note_time(e, cut, before);
    }
    return status;
}

/* The leaf of a shard without rows. */
static artel_status put_empty_leaves(execution *e, const artel__cut_program *cut, int s)
{
    for (int i = 0; i < cut->outs; i++) {
        void *zero;
        if (e->x->graph->value[cut->out[i]].domain != ARTEL__DOMAIN_NODES) continue;
        ARTEL_TRY(artel__calloc(e->ctx, element_bytes(e, cut->out[i]) + 1, 1, "device", &zero));
        artel_status status = await_copies(e, put(e, cut->out[i], 0, zero, slot_of(e, cut->out[i], s)));
        artel__free(e->ctx, zero);
        ARTEL_TRY(status);
    }
    return ARTEL_OK;
}

static artel_status launch_rows(execution *e, int stage, const artel__step *step)
{
    const artel__fold_plan *fold = step->fold;
    const artel__step_program *p;
    for (int s = 0; s < fold->count; s++) {
        int64_t rows = fold->start[s + 1] - fold->start[s];
        if (rows == 0) {
            ARTEL_TRY(put_empty_leaves(e, &e->x->cut.stage[stage].rows, s));
            continue;
        }
        ARTEL_TRY(artel__step_program_find(e->x, stage, ARTEL__PART_ROWS, rows, fold->batch, e->scan != NULL, &p));
        if (p) ARTEL_TRY(launch(e, p, step, s));
    }
    return ARTEL_OK;
}

/* -- collectives -- */

/* Nodes of all folds of the stage, one launch for each node of the tree; `out` by node and collective. */
static artel_status combine(execution *e, int stage, const artel__fold_node *node, int32_t first, artel__buffer **out)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    const artel__step_program *p;
    int count = 0;
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *collective = &e->x->graph->node[cut->collective[i]];
        for (int k = 0; k < node->count && collective->op->collective != ARTEL__COLLECTIVE_GATHER; k++)
            e->in[count++] = *slot_of(e, collective->input[0], node->first - first + k);
    }
    if (count == 0) return ARTEL_OK;
    ARTEL_TRY(artel__step_program_find(e->x, stage, ARTEL__PART_COMBINE, node->count, 0, false, &p));
    return artel__program_launch(p->program, e->device, e->in, count, out);
}

/* A replica alone: the tree has one root. */
static artel_status fold_alone(execution *e, int stage, const artel__fold_plan *fold)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    ARTEL_TRY(combine(e, stage, &fold->node[0], fold->first, e->out));
    for (int i = 0, at = 0; i < cut->collectives; i++) {
        const artel__node *collective = &e->x->graph->node[cut->collective[i]];
        if (collective->op->collective != ARTEL__COLLECTIVE_GATHER) put_into(e, slot_of(e, collective->output[0], 0), e->out[at++]);
    }
    return ARTEL_OK;
}

/* One collective through this machine's memory. */
typedef struct crossing {
    artel__comm_segment segment;
    artel__value_id out;
    int64_t rows; /* of what comes back: BATCH */
    uint8_t *in, *result;
} crossing;

static artel_status begin_rows(execution *e, artel__value_id id, const artel__fold_plan *fold, uint8_t *to)
{
    size_t bytes = element_bytes(e, id);
    for (int s = 0; s < fold->count; s++) {
        size_t rows = (size_t)(fold->start[s + 1] - fold->start[s]);
        if (rows) ARTEL_TRY(begin_copy(e, *slot_of(e, id, s), to, rows * bytes));
        to += rows * bytes;
    }
    return ARTEL_OK;
}

static artel_status take_rows(execution *e, artel__value_id id, const artel__fold_plan *fold, uint8_t *to)
{
    return await_copies(e, begin_rows(e, id, fold, to));
}

static artel_status open_crossing(execution *e, const artel__node *node, const artel__fold_plan *fold, crossing *c)
{
    const artel__value *in = &e->x->graph->value[node->input[0]];
    bool gather = node->op->collective == ARTEL__COLLECTIVE_GATHER;
    size_t bytes = element_bytes(e, node->input[0]);
    void *block;
    size_t own = (size_t)(gather ? fold->rows : fold->nodes) * bytes, all = (size_t)(gather ? fold->batch : 1) * bytes;
    ARTEL_TRY(artel__alloc(e->ctx, own + all + 128, "device", &block));
    c->in = block;
    c->result = c->in + (own + 63) / 64 * 64;
    c->out = node->output[0];
    c->rows = fold->batch;
    c->segment = (artel__comm_segment){
        .kind = node->op->collective, .dtype = in->dtype, .count = artel_shape_count(&in->shape), .in = c->in, .out = c->result};
    return ARTEL_OK;
}

static artel_status fill_nodes(execution *e, int stage, const artel__fold_plan *fold, crossing *c)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    for (int n = 0; n < fold->nodes; n++) {
        int at = 0;
        artel_status status = combine(e, stage, &fold->node[n], fold->first, e->out);
        for (int i = 0; i < cut->collectives && status == ARTEL_OK; i++) {
            const artel__node *node = &e->x->graph->node[cut->collective[i]];
            if (node->op->collective == ARTEL__COLLECTIVE_GATHER) continue;
            size_t bytes = element_bytes(e, node->input[0]);
            status = begin_copy(e, e->out[at], c[i].in + (size_t)n * bytes, bytes);
            artel__buffer_release(platform_of(e), e->out[at++]);
        }
        ARTEL_TRY(status);
    }
    return ARTEL_OK;
}

static artel_status cross(execution *e, int stage, const artel__step *step, crossing *c)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    bool alone = !e->comm || e->comm->size == 1;
    artel__comm_segment *segment = artel__arena_alloc(&e->arena, (size_t)cut->collectives + 1, sizeof *segment);
    if (!segment) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < cut->collectives; i++) {
        const artel__node *node = &e->x->graph->node[cut->collective[i]];
        ARTEL_TRY(open_crossing(e, node, step->fold, &c[i]));
        if (node->op->collective == ARTEL__COLLECTIVE_GATHER) ARTEL_TRY(take_rows(e, node->input[0], step->fold, c[i].in));
        segment[i] = c[i].segment;
    }
    if (!alone) ARTEL_TRY(await_copies(e, fill_nodes(e, stage, step->fold, c)));
    if (!alone) ARTEL_TRY(e->comm->ops->all_reduce(e->comm->self, step, cut->collective[0], segment, cut->collectives));
    for (int i = 0; i < cut->collectives; i++) {
        bool gather = c[i].segment.kind == ARTEL__COLLECTIVE_GATHER;
        if (!alone || gather) ARTEL_TRY(put(e, c[i].out, c[i].rows, alone ? c[i].in : c[i].result, slot_of(e, c[i].out, 0)));
    }
    return ARTEL_OK;
}

static artel_status exchange(execution *e, int stage, const artel__step *step)
{
    const artel__cut_stage *cut = &e->x->cut.stage[stage];
    bool alone = !e->comm || e->comm->size == 1, gathers = false;
    void *block;
    for (int i = 0; i < cut->collectives; i++)
        gathers = gathers || e->x->graph->node[cut->collective[i]].op->collective == ARTEL__COLLECTIVE_GATHER;
    if (cut->collectives == 0) return ARTEL_OK;
    if (alone) ARTEL_TRY(fold_alone(e, stage, step->fold));
    if (alone && !gathers) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(e->ctx, (size_t)cut->collectives, sizeof(crossing), "device", &block));
    crossing *c = block;
    artel_status status = cross(e, stage, step, c);
    status = await_copies(e, status); /* results are on their way to the device */
    for (int i = 0; i < cut->collectives; i++) artel__free(e->ctx, c[i].in);
    artel__free(e->ctx, c);
    return status;
}

/* -- a step -- */

static artel_status put_inputs(execution *e, const artel__step *step, const void *const *inputs)
{
    const artel__graph *graph = e->x->graph;
    const artel__fold_plan *fold = step->fold;
    for (int i = 0; i < graph->inputs; i++) {
        artel__value_id id = graph->input[i];
        if (!is_per_shard(e, id)) ARTEL_TRY(put(e, id, fold->batch, inputs[i], slot_of(e, id, 0)));
        for (int s = 0; s < fold->count && is_per_shard(e, id); s++) {
            int64_t rows = fold->start[s + 1] - fold->start[s];
            const uint8_t *from = (const uint8_t *)inputs[i] + (size_t)fold->start[s] * element_bytes(e, id);
            if (rows) ARTEL_TRY(put(e, id, rows, from, slot_of(e, id, s)));
        }
    }
    return ARTEL_OK;
}

static artel_status run_stages(execution *e, const artel__step *step)
{
    const artel__step_program *p;
    for (int stage = 0; stage < e->x->cut.stages; stage++) {
        if (e->stop && atomic_load_explicit(e->stop, memory_order_relaxed)) return ARTEL_ERROR_CANCELLED;
        ARTEL_TRY(artel__step_program_find(e->x, stage, ARTEL__PART_COMMON, 0, step->fold->batch, e->scan != NULL, &p));
        if (p) ARTEL_TRY(launch(e, p, step, -1));
        ARTEL_TRY(launch_rows(e, stage, step));
        ARTEL_TRY(exchange(e, stage, step));
        for (int i = 0; i < e->x->spent_count[stage]; i++) release_value(e, e->x->spent[stage][i]);
    }
    return ARTEL_OK;
}

static artel_status begin_kept(execution *e, const artel__step *step)
{
    const artel__graph *graph = e->x->graph;
    for (int k = 0; k < graph->kept_count; k++) {
        artel__value_id id = graph->kept[k];
        if (graph->value[id].domain == ARTEL__DOMAIN_ROW)
            ARTEL_TRY(begin_rows(e, id, step->fold, e->kept[k]));
        else
            ARTEL_TRY(begin_copy(e, *slot_of(e, id, 0), e->kept[k], element_bytes(e, id)));
    }
    return ARTEL_OK;
}

/* The smallest row of the first node that has met one. */
static artel_status read_fault(execution *e, const pending_fault *pending)
{
    const artel__lowered *lowered = pending->lowered;
    size_t bytes = (size_t)lowered->faults * 2 * sizeof(int64_t);
    void *block;
    ARTEL_TRY(artel__alloc(e->ctx, bytes, "device", &block));
    const int64_t *word = block;
    artel_status status = artel__buffer_get(platform_of(e), pending->buffer, block, bytes);
    for (int i = 0; i < lowered->faults && status == ARTEL_OK; i++) {
        int64_t row = word[2 * i];
        if (row == INT64_MAX) continue;
        row += pending->first_row;
        if (e->fault.node >= 0 && (e->fault.node < lowered->fault[i] || (e->fault.node == lowered->fault[i] && e->fault.row <= row)))
            continue;
        e->fault.node = lowered->fault[i];
        e->fault.row = row;
        e->fault.value = word[2 * i + 1];
    }
    artel__free(e->ctx, block);
    return status;
}

static artel_status read_faults(execution *e)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < e->pendings; i++) {
        if (status == ARTEL_OK) status = read_fault(e, &e->pending[i]);
        artel__buffer_release(platform_of(e), e->pending[i].buffer);
    }
    e->pendings = 0;
    return status;
}

static artel_status compute_all(execution *e, const artel__step *step, const void *const *inputs)
{
    ARTEL_TRY(e->failed);
    ARTEL_TRY(artel__device_home_update(e->home, e->state));
    ARTEL_TRY(put_inputs(e, step, inputs));
    ARTEL_TRY(run_stages(e, step));
    return begin_kept(e, step);
}

static artel_status compute(void *self, const artel__step *step, const void *const *inputs)
{
    execution *e = self;
    e->fault = (artel__fault){.row = INT64_MAX, .node = -1};
    artel_status status = await_copies(e, ARTEL_OK); /* of the last apply */
    release_all(e);
    e->used = 0;
    if (status == ARTEL_OK) status = await_copies(e, compute_all(e, step, inputs));
    artel_status faults = read_faults(e);
    return status < 0 ? status : faults;
}

static void apply(void *self, const artel__step *step)
{
    execution *e = self;
    const artel__step_program *p = NULL;
    e->failed = artel__step_program_find(e->x, 0, ARTEL__PART_APPLY, 0, step->fold->batch, false, &p);
    if (e->failed == ARTEL_OK && p) e->failed = launch(e, p, step, -1);
    if (p) artel__state_leave(e->state);
    release_all(e);
}

/* -- an execution -- */

static int most_arguments(const artel__device_executable *x)
{
    int most = x->cut.apply.ins + x->cut.apply.outs + x->writes;
    for (int s = 0; s < x->cut.stages; s++) {
        const artel__cut_stage *stage = &x->cut.stage[s];
        int here = stage->common.ins + stage->common.outs + stage->rows.ins + stage->rows.outs;
        int leaves = stage->collectives * x->options.shards;
        most = most < here ? here : most;
        most = most < leaves ? leaves : most;
    }
    return most + 2;
}

static artel_status make_room(execution *e)
{
    const artel__graph *graph = e->x->graph;
    size_t values = (size_t)graph->values + 1, most = (size_t)most_arguments(e->x);
    e->one = artel__arena_alloc(&e->arena, values, sizeof *e->one);
    e->shard = artel__arena_alloc(&e->arena, values * (size_t)e->x->options.shards, sizeof *e->shard);
    e->in = artel__arena_alloc(&e->arena, most, sizeof *e->in);
    e->out = artel__arena_alloc(&e->arena, most, sizeof *e->out);
    e->kept = artel__arena_alloc(&e->arena, (size_t)graph->kept_count + 1, sizeof *e->kept);
    ARTEL_TRY(artel__arena_status(&e->arena));
    for (int k = 0; k < graph->kept_count; k++) {
        artel__domain domain = graph->value[graph->kept[k]].domain;
        int64_t rows = domain == ARTEL__DOMAIN_ROW || domain == ARTEL__DOMAIN_BATCH ? e->x->options.batch_size : 1;
        e->kept[k] = artel__arena_alloc(&e->arena, (size_t)rows * element_bytes(e, graph->kept[k]) + 64, 1);
    }
    return artel__arena_status(&e->arena);
}

static void destroy(void *self)
{
    execution *e = self;
    artel_context *ctx = e->ctx;
    await_copies(e, ARTEL_OK);
    if (e->one && e->shard) release_all(e);
    for (int i = 0; i < e->blocks; i++) artel__free(ctx, e->words[i].word);
    artel__free(ctx, e->words);
    artel__free(ctx, e->pending);
    artel__free(ctx, e->copy);
    artel__free(ctx, e->time);
    artel__arena_fini(&e->arena);
    artel__free(ctx, e);
}

static artel_status create(void *executable, const artel__execution_options *options, void **out)
{
    artel__device_executable *x = executable;
    void *block;
    ARTEL_TRY(artel__calloc(x->ctx, 1, sizeof(execution), "device", &block));
    execution *e = block;
    *e = (execution){.ctx = x->ctx,
                     .x = x,
                     .device = x->place->first + options->index % x->place->count,
                     .state = options->state,
                     .comm = options->comm};
    e->fault = (artel__fault){.row = INT64_MAX, .node = -1};
    artel__arena_init(&e->arena, x->ctx);
    artel_status status = make_room(e);
    if (status == ARTEL_OK) status = artel__device_home_settle(x->ctx, x->place->platform, e->device, e->state, &e->home);
    if (status == ARTEL_OK)
        *out = e;
    else
        destroy(e);
    return status;
}

/* -- the interface -- */

static artel_status compile(artel_context *ctx, void *device, const artel__graph *graph, const artel__plan_options *options, void **out)
{
    artel__device_executable *x;
    ARTEL_TRY(artel__device_executable_create(ctx, device, graph, options, &x));
    *out = x;
    return ARTEL_OK;
}

static void release(void *executable)
{
    artel__device_executable_destroy(executable);
}

static const char *kernel(const void *executable, int32_t node, int64_t rows, double *operations)
{
    const artel__device_executable *x = executable;
    *operations = (double)artel__node_operations(x->graph, &x->graph->node[node], rows);
    return x->graph->node[node].op->collective ? "collective" : "device";
}

static void dump(const void *executable, artel__text *out)
{
    const artel__device_executable *x = executable;
    artel__cut_dump(x->graph, &x->cut, out);
}

static void stop_when(void *self, const atomic_bool *stop)
{
    ((execution *)self)->stop = stop;
}

static const void *read_kept(const void *self, int kept)
{
    return ((const execution *)self)->kept[kept];
}

static const artel__fault *fault_of(const void *self)
{
    return &((const execution *)self)->fault;
}

static bool find_nonfinite(void *self, const artel__step *step, const void *const *inputs, artel__nonfinite *out)
{
    execution *e = self;
    *out = (artel__nonfinite){.node = -1, .first_row = -1, .last_row = -1};
    e->scan = out;
    artel_status status = compute(e, step, inputs);
    e->scan = NULL;
    return status == ARTEL_OK && out->node >= 0;
}

static artel_status profile(void *self)
{
    execution *e = self;
    size_t nodes = (size_t)e->x->graph->nodes + 1;
    void *block = e->time;
    if (!block) ARTEL_TRY(artel__calloc(e->ctx, nodes, sizeof *e->time, "profile", &block));
    e->time = memset(block, 0, nodes * sizeof *e->time);
    return ARTEL_OK;
}

static const artel__node_time *times(const void *self)
{
    return ((const execution *)self)->time;
}

const artel__device_ops artel__pjrt_device_ops = {
    .compile = compile,
    .release = release,
    .kernel = kernel,
    .dump = dump,
    .create = create,
    .destroy = destroy,
    .stop_when = stop_when,
    .compute = compute,
    .apply = apply,
    .read = read_kept,
    .fault = fault_of,
    .find_nonfinite = find_nonfinite,
    .profile = profile,
    .times = times,
};
