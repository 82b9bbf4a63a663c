/* SPDX-License-Identifier: Apache-2.0 */
/* Making a plan: kernels, schedule, memory.
 *
 * The schedule is the graph's own order, with one change: when several replicas take part, collectives are carried out
 * together, so that many small folds cost one exchange. Those whose results the pass needs wait until the first of them
 * is needed, and go on behind a node that does not need them if there is one (overlap.c); those that only the APPLY
 * phase needs are begun when enough bytes have gathered, go on in the background of the nodes that follow, and are
 * waited for at the end. The grouping is a function of the graph alone, hence the same on all replicas.
 */

#include "exec/cpu/plan_impl.h"
#include "graph/cost.h"

#define BUCKET_BYTES ((size_t)4 << 20) /* of sums that are begun together */

/* Who owns what of a full batch, and the largest shares of it. */
static artel_status make_folds(artel__plan *plan)
{
    const artel__plan_options *o = &plan->options;
    plan->fold = artel__arena_alloc(&plan->arena, (size_t)o->replicas, sizeof *plan->fold);
    if (!plan->fold) return ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < o->replicas; r++) {
        int32_t first = o->start ? o->start[r] : artel__replica_first_shard(o->shards, o->replicas, r);
        int32_t end = o->start ? o->start[r + 1] : artel__replica_first_shard(o->shards, o->replicas, r + 1);
        int32_t count = end - first;
        int64_t *start = artel__arena_alloc(&plan->arena, (size_t)count + 1, sizeof *start);
        if (!start) return ARTEL_ERROR_NO_MEMORY;
        artel__fold_plan_make(&plan->fold[r], o->shards, first, count, o->batch_size, start);
        /* A short batch may give these shards a row more than their share, never more than this. */
        int64_t rows = ((int64_t)count * o->batch_size + o->shards - 1) / o->shards;
        if (rows > plan->max_rows) plan->max_rows = rows;
        if (plan->fold[r].nodes > plan->max_nodes) plan->max_nodes = plan->fold[r].nodes;
    }
    return ARTEL_OK;
}

/* Operations with `rows` rows of this replica; where the operation does not count them, elements with the most it can
 * have. */
static int64_t node_cost(const artel__plan *plan, int32_t index, int64_t rows)
{
    const artel__node *node = &plan->graph->node[index];
    int64_t elements = 0;
    if (node->op->cost) return artel__node_operations(plan->graph, node, rows);
    for (int k = 0; k < node->inputs + node->outputs; k++) {
        artel__value_id id = k < node->inputs ? node->input[k] : node->output[k - node->inputs];
        if (id >= 0) elements += (int64_t)(artel__plan_value_bytes(plan, id) / 4);
    }
    return elements;
}

const char *artel__plan_kernel(const artel__plan *plan, int32_t node, int64_t rows, double *operations)
{
    const artel__node_plan *chosen = &plan->node[node];
    *operations = (double)artel__node_operations(plan->graph, &plan->graph->node[node], rows);
    return chosen->kernel ? chosen->kernel->name : chosen->view ? "view" : "collective";
}

static artel_status choose_kernel(artel__plan *plan, int32_t index)
{
    const artel__node *node = &plan->graph->node[index];
    artel__node_plan *chosen = &plan->node[index];
    chosen->exec = artel__node_exec(node);
    chosen->view = node->op->placement == ARTEL__PLACE_VIEW || (node->op->collective && plan->options.replicas == 1);
    chosen->cost = node_cost(plan, index, plan->max_rows);
    if (chosen->view || node->op->collective) return ARTEL_OK;
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    for (int r = 0; r < plan->options.replicas; r++) {
        artel__plan_params(plan, index, r, params);
        if (r == 0)
            chosen->kernel = artel__kernel_choose(artel__node_kernels(plan->graph, node), plan->options.isa, params);
        if (!chosen->kernel) {
            return artel__fail(plan->ctx, ARTEL_ERROR_INTERNAL, node->name, "please report this model",
                               "no kernel can compute %s", node->op->name);
        }
    }
    return ARTEL_OK;
}

/* The most that a kernel needs for a full batch. */
static void measure_scratch(artel__plan *plan)
{
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    for (int i = 0; i < plan->graph->nodes; i++) {
        const artel__kernel *kernel = plan->node[i].kernel;
        for (int r = 0; r < plan->options.replicas && kernel && kernel->scratch_bytes; r++) {
            artel__plan_params(plan, i, r, params);
            size_t scratch = kernel->scratch_bytes(params);
            if (scratch > plan->scratch_bytes) plan->scratch_bytes = scratch;
        }
    }
    plan->scratch_bytes = (plan->scratch_bytes + 63) / 64 * 64;
}

typedef struct scheduler {
    artel__plan *plan;
    bool *pending;         /* by value: the result of a collective not yet carried out */
    bool *needed;          /* by value: read before variables are changed */
    int32_t *soon, *later; /* collectives that wait: whose results are needed; those of which only the end needs them */
    int soons, laters;
    size_t bytes;  /* of the later ones */
    int32_t begun; /* the first collective that is under way; -1: none */
} scheduler;

static void exchange(scheduler *s, int32_t kind, const int32_t *nodes, int count)
{
    artel__plan *plan = s->plan;
    if (count == 0) return;
    plan->action[plan->actions++] = (artel__action){.node = kind, .first = plan->collectives, .count = count};
    for (int i = 0; i < count; i++) {
        plan->collective[plan->collectives++] = nodes[i];
        s->pending[plan->graph->node[nodes[i]].output[0]] = false;
    }
}

static void flush(scheduler *s)
{
    exchange(s, ARTEL__ACTION_EXCHANGE, s->soon, s->soons);
    s->soons = 0;
}

static void begin(scheduler *s)
{
    if (s->begun < 0) s->begun = s->plan->collectives;
    exchange(s, ARTEL__ACTION_BEGIN, s->later, s->laters);
    s->laters = 0;
    s->bytes = 0;
}

/* Everything that is not carried out yet. */
static void finish(scheduler *s)
{
    artel__plan *plan = s->plan;
    if (s->begun < 0) { /* few bytes: one exchange for all */
        for (int i = 0; i < s->laters; i++) s->soon[s->soons++] = s->later[i];
        s->laters = 0;
        flush(s);
        return;
    }
    flush(s);
    begin(s);
    plan->action[plan->actions++] =
        (artel__action){.node = ARTEL__ACTION_FINISH, .first = s->begun, .count = plan->collectives - s->begun};
}

/* A value is needed when a node before the APPLY phase computes from it, or from a view of it. */
static void find_needed(scheduler *s)
{
    const artel__graph *graph = s->plan->graph;
    for (int i = graph->nodes - 1; i >= 0; i--) {
        const artel__node *node = &graph->node[i];
        if (node->phase == ARTEL__PHASE_APPLY) continue;
        bool reads = !s->plan->node[i].view || s->needed[node->output[0]];
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] >= 0 && reads) s->needed[node->input[k]] = true;
        }
    }
}

static void schedule_node(scheduler *s, int32_t index)
{
    artel__plan *plan = s->plan;
    const artel__node *node = &plan->graph->node[index];
    for (int k = 0; k < node->inputs; k++) {
        if (node->input[k] >= 0 && s->pending[node->input[k]] && s->needed[node->input[k]]) flush(s);
    }
    if (plan->node[index].lazy || artel__plan_puts_off(plan, index)) return;
    int32_t followed = artel__plan_followed(plan, index);
    if (followed >= 0) index = followed;
    const artel__node *lazy = artel__plan_lazy_input(plan, index);
    if (lazy) plan->action[plan->actions++] = (artel__action){.node = (int32_t)(lazy - plan->graph->node)};
    if (!node->op->collective || plan->node[index].view) {
        plan->action[plan->actions++] = (artel__action){.node = index};
        return;
    }
    s->pending[node->output[0]] = true;
    if (s->needed[node->output[0]] || node->op->collective != ARTEL__COLLECTIVE_SUM) {
        s->needed[node->output[0]] = true;
        s->soon[s->soons++] = index;
        return;
    }
    s->later[s->laters++] = index;
    s->bytes += artel__plan_value_bytes(plan, node->output[0]);
    if (s->bytes >= BUCKET_BYTES) begin(s);
}

static artel_status make_schedule(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    size_t nodes = (size_t)graph->nodes + 1, values = (size_t)graph->values + 1;
    plan->action = artel__arena_alloc(&plan->arena, 2 * nodes + 2, sizeof *plan->action);
    plan->collective = artel__arena_alloc(&plan->arena, nodes, sizeof *plan->collective);
    scheduler s = {.plan = plan,
                   .pending = artel__arena_alloc(&plan->arena, values, sizeof(bool)),
                   .needed = artel__arena_alloc(&plan->arena, values, sizeof(bool)),
                   .soon = artel__arena_alloc(&plan->arena, nodes, sizeof(int32_t)),
                   .later = artel__arena_alloc(&plan->arena, nodes, sizeof(int32_t)),
                   .begun = -1};
    ARTEL_TRY(artel__arena_status(&plan->arena));
    if (plan->options.staged) return artel__plan_stages(plan);
    find_needed(&s);
    for (int i = 0; i < graph->nodes; i++) {
        if (graph->node[i].phase != ARTEL__PHASE_APPLY) schedule_node(&s, i);
    }
    finish(&s);
    plan->apply_action = plan->actions;
    for (int i = 0; i < graph->nodes; i++) {
        if (graph->node[i].phase == ARTEL__PHASE_APPLY) schedule_node(&s, i);
    }
    return ARTEL_OK;
}

static artel_status make_plan(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    plan->node = artel__arena_alloc(&plan->arena, (size_t)graph->nodes + 1, sizeof *plan->node);
    if (!plan->node) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(make_folds(plan));
    plan->narrow = artel__kernel_choose(artel__narrow_kernels, plan->options.isa, NULL);
    for (int i = 0; i < graph->nodes; i++) ARTEL_TRY(choose_kernel(plan, i));
    ARTEL_TRY(artel__plan_store(plan));
    ARTEL_TRY(artel__plan_round_late(plan));
    measure_scratch(plan);
    if (plan->options.common && plan->options.replicas > 1) ARTEL_TRY(artel__plan_divide(plan));
    if (!plan->options.staged) ARTEL_TRY(artel__plan_follow(plan));
    ARTEL_TRY(make_schedule(plan));
    if (!plan->options.staged) artel__plan_overlap(plan);
    return artel__plan_memory(plan);
}

artel_status artel__plan_create(artel_context *ctx, const artel__graph *graph, const artel__plan_options *options,
                                artel__plan **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__plan), "plan", &block));
    artel__plan *plan = block;
    plan->ctx = ctx;
    plan->graph = graph;
    plan->options = *options;
    artel__arena_init(&plan->arena, ctx);
    artel_status status = make_plan(plan);
    if (status < 0) {
        artel__plan_destroy(plan);
        return status;
    }
    *out = plan;
    return ARTEL_OK;
}

void artel__plan_destroy(artel__plan *plan)
{
    if (!plan) return;
    artel__arena_fini(&plan->arena);
    artel__free(plan->ctx, plan);
}

static void dump_node(const artel__plan *plan, int32_t index, artel__text *out)
{
    const artel__node *node = &plan->graph->node[index];
    const artel__node_plan *chosen = &plan->node[index];
    artel__text_show(out, "%4d %-28s", index, node->op->name);
    if (!chosen->kernel) {
        artel__text_show(out, " %s",
                         chosen->view   ? "view"
                         : chosen->lazy ? "collective, added up by its reader"
                                        : "collective");
    } else {
        _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
        artel__plan_params(plan, index, 0, params);
        artel__text_show(out, " %s tasks=%lld", chosen->kernel->name, (long long)chosen->kernel->tasks(params));
        for (const artel__kernel *const *k = artel__node_kernels(plan->graph, node); *k != chosen->kernel; k++) {
            const char *reason = artel__kernel_refuses(*k, plan->options.isa, params);
            artel__text_show(out, " refused %s: %s;", (*k)->name, reason ? reason : "?");
        }
    }
    for (int k = 0; k < node->outputs; k++) {
        size_t offset = plan->offset[node->output[k]];
        if (offset == ARTEL__OFFSET_EXTERNAL)
            artel__text_append(out, " @external");
        else
            artel__text_show(out, " @%s%zu+%zu", plan->lent[node->output[k]] ? "lent:" : "", offset,
                             plan->bytes[node->output[k]]);
    }
    for (int k = 0; k < node->outputs; k++) {
        const artel__value *value = &plan->graph->value[node->output[k]];
        if (plan->half[node->output[k]])
            artel__text_append(out, " stored as bfloat16");
        else if (plan->raw[node->output[k]])
            artel__text_append(out, " rounded by its readers");
        else if (value->rounds && k == 0 && chosen->exec->narrow)
            artel__text_show(out, " rounding to %s", artel_dtype_name(value->precision));
        else if (value->rounds)
            artel__text_show(out, " then %s to %s", plan->narrow->name, artel_dtype_name(value->precision));
    }
    if (chosen->divided) artel__text_append(out, " shared out");
    if (chosen->step)
        artel__text_show(out, " with %s of node %d on each part", plan->graph->node[chosen->step].op->name,
                         (int)chosen->step);
    if (node->period > 1) artel__text_show(out, " every %lld steps", (long long)node->period);
    artel__text_show(out, "  ; %s\n", node->name);
}

static const char *exchange_word(int32_t kind)
{
    if (kind == ARTEL__ACTION_BEGIN) return "begin ";
    if (kind == ARTEL__ACTION_POST) return "post ";
    return kind == ARTEL__ACTION_AWAIT ? "wait for the posted " : "";
}

void artel__plan_dump(const artel__plan *plan, artel__text *out)
{
    artel__text_show(out, "rows %lld, nodes %d, activations %zu bytes, ", (long long)plan->max_rows, plan->max_nodes,
                     plan->block_bytes);
    if (plan->lent_bytes) artel__text_show(out, "sums that may be lent %zu bytes, ", plan->lent_bytes);
    if (plan->plain_bytes) artel__text_show(out, "sums in plain form %zu bytes, ", plan->plain_bytes);
    artel__text_show(out, "scratch %zu bytes a thread\n", plan->scratch_bytes);
    for (int a = 0; a < plan->actions; a++) {
        if (a == plan->apply_action) artel__text_append(out, "apply\n");
        const artel__action *action = &plan->action[a];
        if (action->node >= 0)
            dump_node(plan, action->node, out);
        else if (action->node == ARTEL__ACTION_FINISH)
            artel__text_append(out, "     wait for the all-reduces that were begun\n");
        else
            artel__text_show(out, "     %sall-reduce of %d folds\n", exchange_word(action->node), action->count);
    }
}

static bool starts_exchange(const artel__action *action)
{
    return action->node < 0 && action->node != ARTEL__ACTION_FINISH && action->node != ARTEL__ACTION_AWAIT;
}

bool artel__plan_exchange(const artel__plan *plan, int index, artel__exchange *out)
{
    int a = 0;
    while (a < plan->actions && (!starts_exchange(&plan->action[a]) || index-- > 0)) a++;
    if (a == plan->actions) return false;
    const artel__action *action = &plan->action[a];
    *out = (artel__exchange){.background = action->node == ARTEL__ACTION_BEGIN};
    for (int i = 0; i < action->count; i++) {
        const artel__node *node = &plan->graph->node[plan->collective[action->first + i]];
        const artel__value *in = &plan->graph->value[node->input[0]];
        artel__exchange_add(out, node->op->collective, in->storage * (int64_t)artel_dtype_size(in->dtype));
    }
    return true;
}
