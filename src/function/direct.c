/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one kernel, without a plan: the kernel that a plan would choose, on the caller's memory. */
#include "function/direct.h"

#include <string.h>

#include "function/function_impl.h"

/* Between marked addresses: more than what kernels reckon from one, so that none of them is taken for another operand.
 */
#define SPACE ((uintptr_t)1 << 32)

static int argument_of(const artel__graph *graph, artel__value_id id)
{
    for (int i = 0; id >= 0 && i < graph->inputs; i++) {
        if (graph->input[i] == id) return i;
    }
    return -1;
}

/* Whether everything that the node reads is an argument, and what it makes is the only result. */
static bool is_alone(const artel_function *f)
{
    const artel__graph *graph = &f->graph;
    if (graph->nodes != 1 || f->outputs != 1 || f->writes || f->rows_arguments) return false;
    const artel__node *node = &graph->node[0];
    bool view = node->op->placement == ARTEL__PLACE_VIEW || node->op->placement == ARTEL__PLACE_VIEW_WRITTEN;
    if (view || node->op->collective || !node->op->exec || node->outputs != 1 || graph->kept[0] != node->output[0])
        return false;
    for (int i = 0; i < node->inputs; i++) {
        if (node->input[i] >= 0 && argument_of(graph, node->input[i]) < 0) return false;
    }
    const artel__value *made = &graph->value[node->output[0]];
    return !made->rounds && made->layout == ARTEL__LAYOUT_PLAIN && made->domain == ARTEL__DOMAIN_GLOBAL;
}

/* -- parameters -- */

/* Fills them with addresses that nothing else has: word k of a set. */
static void fill_marked(artel__direct *d, uint8_t *params, uintptr_t base)
{
    for (int i = 0; i < d->inputs; i++)
        d->in[i] = d->argument[i] < 0 ? NULL : (void *)(base + (uintptr_t)(i + 1) * SPACE);
    d->out[0] = (void *)(base + (uintptr_t)(d->inputs + 1) * SPACE);
    memset(params, 0, d->exec->params_size);
    d->exec->fill(&d->args, params);
}

/* Two fillings differ in the words that are addresses: where each of these is one of the node's, runs only put theirs
 * in its place. Each operand may be there once. */
static void find_places(artel__direct *d)
{
    _Alignas(64) uint8_t one[ARTEL__MAX_PARAMS], two[ARTEL__MAX_PARAMS];
    const uintptr_t base[2] = {(uintptr_t)1 << 40, (uintptr_t)3 << 40};
    fill_marked(d, one, base[0]);
    fill_marked(d, two, base[1]);
    for (int i = 0; i <= d->inputs; i++) d->place[i] = -1;
    for (size_t at = 0; at + sizeof(uintptr_t) <= d->exec->params_size; at += sizeof(uintptr_t)) {
        uintptr_t a, b;
        memcpy(&a, one + at, sizeof a);
        memcpy(&b, two + at, sizeof b);
        if (a == b) continue;
        uintptr_t operand = (a - base[0]) / SPACE;
        if (a - base[0] != b - base[1] || (a - base[0]) % SPACE || operand < 1 || operand > (uintptr_t)d->inputs + 1)
            return;
        if (d->place[operand - 1] >= 0) return;
        d->place[operand - 1] = (int16_t)at;
    }
    memcpy(d->params, one, d->exec->params_size);
    d->patched = d->exec->params_size % sizeof(uintptr_t) == 0;
}

static void set_up(artel__direct *d, const artel_function *f)
{
    const artel__node *node = &f->graph.node[0];
    d->exec = artel__node_exec(node);
    d->inputs = node->inputs;
    d->step = (artel__step){.fold = &d->fold, .seed = f->strategy->options.seed};
    d->fold = (artel__fold_plan){.shards = 1, .batch = 1, .rows = 1};
    d->args = (artel__run_args){.graph = &f->graph,
                                .node = node,
                                .attributes = node->attributes,
                                .step = &d->step,
                                .in = d->in,
                                .out = d->out,
                                .fault = &d->fault,
                                .isa = artel__context_isa(f->strategy->ctx)};
    for (int i = 0; i < node->inputs; i++) d->argument[i] = argument_of(&f->graph, node->input[i]);
    find_places(d);
    d->kernel = artel__kernel_choose(artel__node_kernels(&f->graph, node), d->args.isa, d->params);
    d->tasks = d->kernel->tasks(d->params);
    d->scratch_bytes = d->kernel->scratch_bytes ? d->kernel->scratch_bytes(d->params) : 0;
}

artel_status artel__function_direct(const artel_function *f, artel__arena *arena, artel__direct **out)
{
    *out = NULL;
    if (artel__texts_any(f) || !is_alone(f)) return ARTEL_OK;
    artel__direct *d = artel__arena_alloc(arena, 1, sizeof *d + 64);
    if (!d) return ARTEL_ERROR_NO_MEMORY;
    d = (artel__direct *)(((uintptr_t)d + 63) / 64 * 64);
    set_up(d, f);
    if (!d->patched) return ARTEL_OK;
    if (d->scratch_bytes) ARTEL_TRY(artel__alloc_aligned(f->strategy->ctx, d->scratch_bytes, "scratch", &d->scratch));
    *out = d;
    return ARTEL_OK;
}

void artel__direct_fini(artel_context *ctx, artel__direct *d)
{
    if (d && d->scratch) artel__free_aligned(ctx, d->scratch, d->scratch_bytes);
}

static void put(artel__direct *d, int operand, const void *address)
{
    if (d->place[operand] >= 0) memcpy(d->params + d->place[operand], &address, sizeof address);
}

artel_status artel__direct_run(artel__direct *d, artel_context *ctx, const void *const *inputs, void *output)
{
    for (int i = 0; i < d->inputs; i++) {
        if (d->argument[i] >= 0) put(d, i, inputs[d->argument[i]]);
    }
    put(d, d->inputs, output);
    atomic_store_explicit(&d->fault.row, INT64_MAX, memory_order_relaxed); /* nobody else runs it */
    uint32_t caller = artel__fp_enter();
    d->kernel->run(d->params, 0, d->tasks, d->scratch);
    artel__fp_leave(caller);
    if (d->fault.row == INT64_MAX) return ARTEL_OK;
    artel__operation_begin(ctx);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, d->args.node->name, "correct the data",
                       "the index %lld is out of range", (long long)d->fault.value);
}

void artel__function_drop(artel_function *f)
{
    artel_function **at = &f->strategy->function;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    artel__function_destroy(f);
}
