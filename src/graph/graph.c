/* SPDX-License-Identifier: Apache-2.0 */
/* Building and sealing graphs.
 *
 * Nodes are added in execution order and only use earlier values, so no sorting is ever needed. A failure while
 * building is remembered in the graph and makes every later call a no-op: layers need not check each addition.
 */
#include "graph/graph.h"

#include <string.h>

#include "graph/op_exec.h"

const artel__op_exec artel__no_exec = {.kernels = NULL};

void artel__graph_init(artel__graph *graph, artel__arena *arena, const artel__variables *variables, bool training)
{
    *graph = (artel__graph){.arena = arena,
                            .variables = variables,
                            .training = training,
                            .scope = "",
                            .extra = ARTEL__NO_VALUE,
                            .gate = ARTEL__NO_VALUE,
                            .period = 1};
}

static artel_status remember(artel__graph *graph, artel_status status)
{
    if (graph->status == ARTEL_OK && status < 0) graph->status = status;
    return graph->status;
}

/* Doubles an arena array when it is full. */
static void *grow(artel__graph *graph, void *old, int count, int *capacity, size_t size)
{
    if (count < *capacity) return old;
    int wider = *capacity ? *capacity * 2 : 64;
    void *block = artel__arena_alloc(graph->arena, (size_t)wider, size);
    if (!block) {
        remember(graph, ARTEL_ERROR_NO_MEMORY);
        return NULL;
    }
    if (count) memcpy(block, old, (size_t)count * size);
    *capacity = wider;
    return block;
}

/* Shapes are made of settings and of one another: a product that is no count must not become the size of a buffer. */
static bool is_possible(artel__graph *graph, const artel__value *value)
{
    int64_t count = artel_shape_count(&value->shape);
    if (count >= 0 && count <= ARTEL__MOST_ELEMENTS && value->storage <= 2 * ARTEL__MOST_ELEMENTS) return true;
    remember(graph, artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID,
                                graph->scope && graph->scope[0] ? graph->scope : "graph", "check the sizes",
                                "a value would be too large"));
    return false;
}

artel__value_id artel__graph_add_value(artel__graph *graph, const artel__value *value)
{
    if (!is_possible(graph, value)) return ARTEL__NO_VALUE;
    void *block = grow(graph, graph->value, graph->values, &graph->value_capacity, sizeof *graph->value);
    if (!block) return ARTEL__NO_VALUE;
    graph->value = block;
    graph->value[graph->values] = *value;
    if (value->storage == 0) graph->value[graph->values].storage = artel_shape_count(&value->shape);
    return graph->values++;
}

artel__value_id artel__graph_input(artel__graph *graph, artel__domain domain, artel_dtype dtype,
                                   const artel_shape *shape)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    void *block = grow(graph, graph->input, graph->inputs, &graph->input_capacity, sizeof *graph->input);
    if (!block) return ARTEL__NO_VALUE;
    graph->input = block;
    artel__value value = {
        .domain = domain, .dtype = dtype, .shape = *shape, .node = -1, .variable = -1, .input = graph->inputs};
    artel__value_id id = artel__graph_add_value(graph, &value);
    if (id >= 0) graph->input[graph->inputs++] = id;
    return id;
}

artel__value_id artel__graph_variable(artel__graph *graph, int variable)
{
    if (graph->status < 0 || variable < 0) return ARTEL__NO_VALUE;
    variable += graph->variable_base;
    if (variable >= graph->variable_values) {
        int count = graph->variables->count; /* twice as many: variables are declared and used by turns */
        if (count < 2 * graph->variable_values) count = 2 * graph->variable_values;
        artel__value_id *ids = artel__arena_alloc(graph->arena, (size_t)count, sizeof *ids);
        if (!ids) {
            remember(graph, ARTEL_ERROR_NO_MEMORY);
            return ARTEL__NO_VALUE;
        }
        for (int i = 0; i < count; i++)
            ids[i] = i < graph->variable_values ? graph->variable_value[i] : ARTEL__NO_VALUE;
        graph->variable_value = ids;
        graph->variable_values = count;
    }
    if (graph->variable_value[variable] == ARTEL__NO_VALUE) {
        const artel__variable *declared = &graph->variables->item[variable];
        artel__value value = {.domain = ARTEL__DOMAIN_GLOBAL,
                              .dtype = artel__variable_held(declared),
                              .shape = declared->shape,
                              .storage = declared->count,
                              .layout = declared->layout,
                              .node = -1,
                              .variable = variable,
                              .input = -1};
        graph->variable_value[variable] = artel__graph_add_value(graph, &value);
    }
    return graph->variable_value[variable];
}

int artel__graph_keep(artel__graph *graph, artel__value_id value)
{
    if (graph->status < 0 || value < 0) return -1;
    void *block = grow(graph, graph->kept, graph->kept_count, &graph->kept_capacity, sizeof *graph->kept);
    if (!block) return -1;
    graph->kept = block;
    graph->kept[graph->kept_count] = value;
    return graph->kept_count++;
}

static bool make_infer(artel__graph *graph, const artel__op_def *op, const void *attributes,
                       const artel__value_id *inputs, int count, artel__infer *infer)
{
    *infer = (artel__infer){.graph = graph, .op = op, .attributes = attributes, .inputs = count};
    if (count > ARTEL__MAX_OPERANDS) {
        remember(graph, artel__fail(artel__graph_context(graph), ARTEL_ERROR_INTERNAL, op->name, "",
                                    "%d operands, the most is %d", count, ARTEL__MAX_OPERANDS));
        return false;
    }
    for (int i = 0; i < count; i++) infer->in[i] = inputs[i] >= 0 ? &graph->value[inputs[i]] : NULL;
    return remember(graph, op->infer(infer)) == ARTEL_OK;
}

/* Whether all float32 inputs have the precision of the graph. */
static bool inputs_fit(const artel__infer *infer)
{
    bool fit = true;
    for (int k = 0; k < infer->inputs; k++)
        fit = fit && (!infer->in[k] || infer->in[k]->dtype != ARTEL_DTYPE_FLOAT32 ||
                      infer->in[k]->precision == infer->graph->precision);
    return fit;
}

/* The precision of the outputs, unless the operation has set it. Views show what they are views of. */
static void infer_precision(artel__infer *infer)
{
    const artel__op_def *op = infer->op;
    artel_dtype precision = infer->graph->precision;
    bool view = op->placement == ARTEL__PLACE_VIEW || op->collective == ARTEL__COLLECTIVE_GATHER;
    bool exact = op->moves && op->moves(infer->attributes) && inputs_fit(infer);
    for (int k = 0; k < infer->outputs; k++) {
        artel__value *out = &infer->out[k];
        if (out->dtype != ARTEL_DTYPE_FLOAT32 || out->precision) continue;
        if (view)
            out->precision = infer->in[0]->precision;
        else if (exact)
            out->precision = precision;
        else if (k == 0 && out->domain == ARTEL__DOMAIN_ROW && op->placement != ARTEL__PLACE_VIEW_WRITTEN &&
                 precision) {
            out->precision = precision;
            out->rounds = true;
        }
    }
}

artel__value_id artel__graph_add(artel__graph *graph, const artel__op_def *op, const void *attributes,
                                 const artel__value_id *inputs, int count)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    void *copy = NULL;
    if (op->attribute_size) {
        copy = artel__arena_alloc(graph->arena, 1, op->attribute_size);
        if (!copy) {
            remember(graph, ARTEL_ERROR_NO_MEMORY);
            return ARTEL__NO_VALUE;
        }
        if (attributes) memcpy(copy, attributes, op->attribute_size);
    }
    artel__infer infer;
    if (!make_infer(graph, op, copy, inputs, count, &infer)) return ARTEL__NO_VALUE;
    infer_precision(&infer);
    void *block = grow(graph, graph->node, graph->nodes, &graph->node_capacity, sizeof *graph->node);
    artel__value_id *ids = artel__arena_alloc(graph->arena, (size_t)(count + infer.outputs + 1), sizeof *ids);
    if (!block || !ids) {
        remember(graph, ARTEL_ERROR_NO_MEMORY);
        return ARTEL__NO_VALUE;
    }
    graph->node = block;
    artel__node *node = &graph->node[graph->nodes];
    *node = (artel__node){.op = op,
                          .attributes = copy,
                          .name = graph->scope,
                          .phase = graph->phase,
                          .gated = graph->gating && graph->phase == ARTEL__PHASE_APPLY,
                          .period = graph->phase == ARTEL__PHASE_APPLY ? graph->period : 1,
                          .optimizer = graph->optimizer,
                          .precision = graph->precision,
                          .inputs = count,
                          .outputs = infer.outputs,
                          .input = ids,
                          .output = ids + count};
    if (count) memcpy(node->input, inputs, (size_t)count * sizeof *ids);
    for (int i = 0; i < infer.outputs; i++) {
        infer.out[i].node = graph->nodes;
        infer.out[i].variable = infer.out[i].input = -1;
        node->output[i] = artel__graph_add_value(graph, &infer.out[i]);
    }
    graph->nodes++;
    return infer.outputs ? node->output[0] : ARTEL__NO_VALUE;
}

artel__value_id artel__graph_output(const artel__graph *graph, artel__value_id value, int n)
{
    if (graph->status < 0 || value < 0 || graph->value[value].node < 0) return ARTEL__NO_VALUE;
    const artel__node *node = &graph->node[graph->value[value].node];
    return n < node->outputs ? node->output[n] : ARTEL__NO_VALUE;
}

void artel__graph_count_uses(const artel__graph *graph, int32_t *uses)
{
    memset(uses, 0, (size_t)graph->values * sizeof *uses);
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] >= 0) uses[node->input[k]]++;
        }
    }
    for (int i = 0; i < graph->kept_count; i++) uses[graph->kept[i]]++;
}

void artel__graph_replace(artel__graph *graph, artel__value_id from, artel__value_id to)
{
    for (int i = 0; i < graph->nodes; i++) {
        artel__node *node = &graph->node[i];
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] == from) node->input[k] = to;
        }
    }
    for (int i = 0; i < graph->kept_count; i++) {
        if (graph->kept[i] == from) graph->kept[i] = to;
    }
}

/* Whether any output is used or the node writes a variable; marks what the node itself uses. */
static bool mark_node(const artel__node *node, bool *used)
{
    bool alive = node->op->writes;
    for (int i = 0; i < node->outputs; i++) alive = alive || used[node->output[i]];
    if (!alive) return false;
    for (int i = 0; i < node->inputs; i++) {
        if (node->input[i] >= 0) used[node->input[i]] = true;
    }
    return true;
}

artel_status artel__graph_prune(artel__graph *graph)
{
    if (graph->status < 0) return graph->status;
    bool *used = artel__arena_alloc(graph->arena, (size_t)graph->values + 1, sizeof *used);
    bool *alive = artel__arena_alloc(graph->arena, (size_t)graph->nodes + 1, sizeof *alive);
    if (!used || !alive) return remember(graph, ARTEL_ERROR_NO_MEMORY);
    for (int i = 0; i < graph->kept_count; i++) used[graph->kept[i]] = true;
    for (int i = graph->nodes - 1; i >= 0; i--) alive[i] = mark_node(&graph->node[i], used);
    int count = 0;
    for (int i = 0; i < graph->nodes; i++) {
        if (!alive[i]) continue;
        graph->node[count] = graph->node[i];
        for (int k = 0; k < graph->node[count].outputs; k++) graph->value[graph->node[count].output[k]].node = count;
        count++;
    }
    graph->nodes = count;
    return ARTEL_OK;
}

artel_status artel__graph_seal(artel__graph *graph)
{
    ARTEL_TRY(artel__graph_prune(graph));
    graph->sealed = true;
    return ARTEL_OK;
}
