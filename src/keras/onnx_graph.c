/* SPDX-License-Identifier: Apache-2.0 */
/* From values of the inference graph to names in an ONNX graph, by need. */
#include "keras/onnx_graph.h"

#include <stdio.h>
#include <string.h>

/* -- names -- */

static bool make_room(artel__onnx *onnx)
{
    if (onnx->value_room >= onnx->graph.values) return true;
    int room = onnx->graph.values * 2;
    const char **grown = artel__arena_alloc(&onnx->arena, (size_t)room + 1, sizeof *grown);
    if (!grown) return false;
    if (onnx->value_room) memcpy(grown, onnx->value_name, (size_t)onnx->value_room * sizeof *grown);
    onnx->value_name = grown;
    onnx->value_room = room;
    return true;
}

artel_status artel__onnx_value_is(artel__onnx *onnx, artel__value_id id, const char *name)
{
    if (!make_room(onnx)) return ARTEL_ERROR_NO_MEMORY;
    onnx->value_name[id] = name;
    return ARTEL_OK;
}

static void refuse(artel__onnx *onnx, const artel__layer *layer, const char *format, ...) ARTEL__PRINTF(3, 4);
static void refuse(artel__onnx *onnx, const artel__layer *layer, const char *format, ...)
{
    artel__onnx_call call = {.onnx = onnx, .layer = layer};
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    artel__onnx_refuse(&call, what);
}

static const char *write_variable(artel__onnx *onnx, const artel__layer *layer, const artel__value *value)
{
    const artel__variable *variable = &onnx->model->nn->variables->item[value->variable];
    if (variable->kind == ARTEL__VARIABLE_ROW_STATE) {
        refuse(onnx, layer, "states between batches");
        return NULL;
    }
    const void *held = artel__onnx_variable(onnx, value->variable);
    return held ? artel__onnx_constant(onnx, artel__variable_held(variable), &variable->shape, held) : NULL;
}

/* -- nodes -- */

static const artel__onnx_operation *find_operation(const artel__op_def *op)
{
    static const artel__onnx_operation *const tables[] = {artel__onnx_elementwise, artel__onnx_movements,
                                                          artel__onnx_products};
    for (size_t t = 0; t < ARTEL__COUNT(tables); t++) {
        for (const artel__onnx_operation *row = tables[t]; row->op; row++) {
            if (row->op == op) return row;
        }
    }
    return NULL;
}

static bool is_named(const artel__onnx *onnx, artel__value_id id)
{
    return id < 0 || (id < onnx->value_room && onnx->value_name[id]);
}

/* Inputs and variables have no node; false after a failure. */
static bool name_leaf(artel__onnx *onnx, const artel__layer *layer, artel__value_id id)
{
    const artel__value *value = &onnx->graph.value[id];
    if (value->node >= 0 || is_named(onnx, id)) return true;
    if (value->variable >= 0) onnx->value_name[id] = write_variable(onnx, layer, value);
    return onnx->value_name[id] != NULL;
}

static bool write_node(artel__onnx *onnx, const artel__layer *layer, const artel__node *node)
{
    const artel__onnx_operation *row = find_operation(node->op);
    artel__onnx_site site = {.onnx = onnx, .graph = &onnx->graph, .node = node};
    if (!row || (!row->any_size && artel__onnx_open(onnx))) {
        refuse(onnx, layer, row ? "the operation %s over inputs of any size" : "the operation %s", node->op->name);
        return false;
    }
    for (int k = 0; k < node->inputs; k++) {
        if (node->input[k] < 0 || row->unread >> k & 1) continue;
        if (!name_leaf(onnx, layer, node->input[k])) return false;
        site.in[k] = onnx->value_name[node->input[k]];
    }
    row->write(&site);
    if (site.refused)
        refuse(onnx, layer, "the operation %s%s%s", node->op->name, *site.refused ? ": " : "", site.refused);
    if (site.refused || !site.out[0]) return false;
    for (int k = 0; k < node->outputs; k++) onnx->value_name[node->output[k]] = site.out[k];
    return true;
}

/* Marks the nodes that `id` is made of and that are not written yet. */
static void mark(artel__onnx *onnx, artel__value_id id, bool *needed)
{
    int last = onnx->graph.value[id].node;
    needed[last] = true;
    for (int n = last; n >= 0; n--) {
        const artel__node *node = &onnx->graph.node[n];
        const artel__onnx_operation *row = needed[n] ? find_operation(node->op) : NULL;
        for (int k = 0; row && k < node->inputs; k++) {
            artel__value_id in = row->unread >> k & 1 ? ARTEL__NO_VALUE : node->input[k];
            if (!is_named(onnx, in) && onnx->graph.value[in].node >= 0) needed[onnx->graph.value[in].node] = true;
        }
    }
}

const char *artel__onnx_value_of(artel__onnx *onnx, const artel__layer *layer, artel__value_id id)
{
    if (!make_room(onnx)) return NULL;
    if (is_named(onnx, id)) return onnx->value_name[id];
    if (onnx->graph.value[id].node < 0) return name_leaf(onnx, layer, id) ? onnx->value_name[id] : NULL;
    bool *needed = artel__arena_alloc(&onnx->arena, (size_t)onnx->graph.nodes + 1, sizeof *needed);
    if (!needed) return NULL;
    mark(onnx, id, needed);
    for (int n = 0; n <= onnx->graph.value[id].node; n++) {
        if (needed[n] && !write_node(onnx, layer, &onnx->graph.node[n])) return NULL;
    }
    return onnx->value_name[id];
}

/* -- for the rows -- */

const char *artel__onnx_reshaped(artel__onnx_site *s, const char *x, bool rows, const int64_t *dims, int rank)
{
    int64_t all[ARTEL_MAX_RANK + 4] = {-1};
    memcpy(all + rows, dims, (size_t)rank * sizeof *dims);
    return artel__onnx_node2(s->onnx, "Reshape", x, artel__onnx_ints_constant(s->onnx, all, rank + rows));
}

const char *artel__onnx_shaped(artel__onnx_site *s, const char *x, const artel__value *like)
{
    return artel__onnx_reshaped(s, x, artel__onnx_ahead(like), like->shape.dim, like->shape.rank);
}

const char *artel__onnx_spread(artel__onnx_site *s, int k)
{
    const artel__value *in = artel__onnx_in_value(s, k), *out = artel__onnx_out_value(s);
    int missing = out->shape.rank - in->shape.rank;
    if (!artel__onnx_ahead(in) || missing <= 0) return s->in[k];
    int64_t axes[ARTEL_MAX_RANK];
    for (int i = 0; i < missing; i++) axes[i] = i + 1;
    return artel__onnx_node2(s->onnx, "Unsqueeze", s->in[k], artel__onnx_ints_constant(s->onnx, axes, missing));
}

/* Bounds of functions are infinite where there are none: the last integers then. */
static double within(double number, double least, double most)
{
    return number > least ? (number < most ? number : most) : least;
}

const char *artel__onnx_number_of(artel__onnx *onnx, artel_dtype dtype, double number)
{
    union {
        float f;
        double d;
        int32_t i;
        int64_t l;
    } bits = {.d = number};
    if (dtype == ARTEL_DTYPE_FLOAT32) bits.f = (float)number;
    if (dtype == ARTEL_DTYPE_INT32) bits.i = (int32_t)within(number, INT32_MIN, INT32_MAX);
    if (dtype == ARTEL_DTYPE_INT64) bits.l = (int64_t)within(number, -0x1p63, 0x1p63 - 1024);
    return artel__onnx_constant(onnx, dtype, &(artel_shape){.rank = 0}, &bits);
}

const char *artel__onnx_fused(artel__onnx_site *s, artel__fused activation, const char *x)
{
    return activation == ARTEL__FUSED_RELU ? artel__onnx_node1(s->onnx, "Relu", x) : x;
}

const char *artel__onnx_reduce_over(artel__onnx *onnx, const char *op, const char *x, const int64_t *axes, int count,
                                    bool keep)
{
    artel__text node = artel__onnx_start(onnx, op);
    bool by_input = strcmp(op, "ReduceSum") == 0; /* since opset 13; the others since 18 */
    artel__onnx_int(&node, "keepdims", keep);
    if (!by_input) artel__onnx_ints(&node, "axes", axes, count);
    return artel__onnx_end(onnx, &node,
                           (const char *[]){x, by_input ? artel__onnx_ints_constant(onnx, axes, count) : NULL},
                           by_input ? 2 : 1);
}
