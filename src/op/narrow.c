/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding a float32 value to a 16-bit type, and what dynamic loss scaling keeps.
 *
 *   narrow              y = x rounded to float16 or bfloat16 (kernel/narrow.h), stored as float32; dx = dy
 *   unscale             y = x / scale, for gradients that are clipped or regularised
 *   loss_scale_update   scale = finite ? (steps == growth - 1 ? 2 scale : scale) : scale / 2
 *   loss_scale_count    steps = finite ? (steps == growth - 1 ? 0 : steps + 1) : 0
 * After keras/src/optimizers/loss_scale_optimizer.py. `finite` is that of the gradients' squared norm, the gate of the
 * graph.
 */
#include "kernel/narrow.h"

#include <math.h>
#include <string.h>

#include "graph/lower.h"
#include "kernel/shape_ops.h"
#include "op/elementwise.h"
#include "op/optimize.h"

typedef struct narrow_attributes {
    artel_dtype to; /* alone: the attribute of artel__differentiate.narrow */
} narrow_attributes;

static artel_status infer_narrow(artel__infer *infer)
{
    const narrow_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    if (x->dtype != ARTEL_DTYPE_FLOAT32 || x->domain == ARTEL__DOMAIN_NODES)
        return artel__op_fail(infer, "the operand is %s, expected float32", artel_dtype_name(x->dtype));
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &x->shape);
    infer->out[0].storage = x->storage;
    infer->out[0].layout = x->layout;
    infer->out[0].precision = a->to;
    return ARTEL_OK;
}

static artel_status grad_narrow(artel__gradient *g)
{
    g->in_gradient[0] = g->out_gradient[0];
    return ARTEL_OK;
}

static void fill_narrow(const artel__run_args *args, void *params)
{
    const narrow_attributes *a = args->attributes;
    artel__value_id id = args->node->output[0];
    *(artel__narrow *)params = (artel__narrow){.to = a->to,
                                               .count = artel__args_rows(args, id) * args->graph->value[id].storage,
                                               .x = args->in[0],
                                               .y = args->out[0],
                                               .y_half = artel__args_half_out(args, 0)};
}

static void describe_narrow(const artel__node *node, artel__text *out)
{
    artel__text_append(out, artel_dtype_name(((const narrow_attributes *)node->attributes)->to));
}

static void lower_narrow(artel__lower *lower)
{
    lower->out[0] = artel__hlo_round(lower->hlo, lower->in[0], ((const narrow_attributes *)lower->attributes)->to);
}

const artel__op_def artel__op_narrow_def = {
    .name = "narrow",
    .doc = "Rounding to a 16-bit type.",
    .attribute_size = sizeof(narrow_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_narrow,
    .grad = grad_narrow,
    .describe = describe_narrow,
    .lower = lower_narrow,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__narrow_kernels,
            .params_size = sizeof(artel__narrow),
            .fill = fill_narrow,
            .half_out = 1u << 0,
        },
};

artel__value_id artel__op_narrow(artel__graph *graph, artel__value_id x, artel_dtype to)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (to == ARTEL_DTYPE_FLOAT32 || graph->value[x].dtype != ARTEL_DTYPE_FLOAT32 || graph->value[x].precision == to)
        return x;
    narrow_attributes attributes = {to};
    return artel__graph_add(graph, &artel__op_narrow_def, &attributes, &x, 1);
}

bool artel__op_always_moves(const void *attributes)
{
    (void)attributes;
    return true;
}

/* A step rounds what it reads when nobody else wants it rounded. */
static void join_steps(artel__graph *graph, const int32_t *uses)
{
    for (int i = 0; i < graph->nodes; i++) {
        artel__node *node = &graph->node[i];
        for (int k = 0; k < node->inputs && node->op == &artel__op_optimize_def; k++) {
            const artel__value *in = node->input[k] >= 0 ? &graph->value[node->input[k]] : NULL;
            const artel__node *made = in && in->node >= 0 ? &graph->node[in->node] : NULL;
            if (made && made->op == &artel__op_narrow_def && in->precision == ARTEL_DTYPE_BFLOAT16 &&
                uses[node->input[k]] == 1)
                artel__op_optimize_narrow(graph, node, made);
        }
    }
}

void artel__op_narrow_late(artel__graph *graph)
{
    if (graph->status < 0) return;
    bool *early = artel__arena_alloc(graph->arena, (size_t)graph->values + 1, sizeof *early);
    int32_t *uses = artel__arena_alloc(graph->arena, (size_t)graph->values + 1, sizeof *uses);
    if (!early || !uses) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return;
    }
    for (int i = 0; i < graph->kept_count; i++) early[graph->kept[i]] = true;
    for (int i = graph->nodes - 1; i >= 0; i--) {
        artel__node *node = &graph->node[i];
        if (node->op == &artel__op_narrow_def && graph->value[node->output[0]].domain == ARTEL__DOMAIN_GLOBAL &&
            node->phase == ARTEL__PHASE_BACKWARD && !early[node->output[0]])
            node->phase = ARTEL__PHASE_APPLY;
        for (int k = 0; k < node->inputs && node->phase != ARTEL__PHASE_APPLY; k++) {
            if (node->input[k] >= 0) early[node->input[k]] = true;
        }
    }
    artel__graph_count_uses(graph, uses);
    join_steps(graph, uses);
}

/* -- dynamic loss scaling; inputs: the scale and the count (written), the gate -- */

typedef struct growth_attributes {
    int64_t steps;
} growth_attributes;

static artel_status infer_nothing(artel__infer *infer)
{
    infer->outputs = 0;
    return ARTEL_OK;
}

static void fill_update(const artel__run_args *args, void *params)
{
    const growth_attributes *a = args->attributes;
    const float *scale = args->in[0];
    const int64_t *count = args->in[1];
    const double *norm = args->in[2];
    float next = !scale ? 1.0f : !isfinite(*norm) ? *scale * 0.5f : *count == a->steps - 1 ? *scale * 2.0f : *scale;
    uint32_t bits;
    memcpy(&bits, &next, sizeof bits);
    *(artel__fill *)params = (artel__fill){.count = 1, .item = sizeof next, .bits = bits, .y = args->in[0]};
}

static void fill_count(const artel__run_args *args, void *params)
{
    const growth_attributes *a = args->attributes;
    const int64_t *count = args->in[0];
    const double *norm = args->in[1];
    int64_t next = count && isfinite(*norm) && *count != a->steps - 1 ? *count + 1 : 0;
    *(artel__fill *)params = (artel__fill){.count = 1, .item = sizeof next, .bits = (uint64_t)next, .y = args->in[0]};
}

/* BOOL scalars: whether the norm is finite, and whether the count is about to be full. */
static artel__hlo_value is_finite(artel__hlo *h, artel__hlo_value norm)
{
    return artel__hlo_is_finite(h, artel__hlo_reshape(h, norm, &(artel__hlo_type){.rank = 0}));
}

static artel__hlo_value is_full(artel__lower *lower, artel__hlo_value count)
{
    const growth_attributes *a = lower->attributes;
    artel__hlo_value one = artel__hlo_reshape(lower->hlo, count, &(artel__hlo_type){.rank = 0});
    return artel__hlo_compare(lower->hlo, "EQ", one, artel__hlo_number(lower->hlo, (double)(a->steps - 1), one));
}

static void lower_update(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value scale = artel__hlo_reshape(h, lower->in[0], &(artel__hlo_type){.rank = 0});
    artel__hlo_value twice = artel__hlo_binary(h, "add", scale, scale);
    artel__hlo_value half = artel__hlo_binary(h, "multiply", scale, artel__hlo_number(h, 0.5, scale));
    artel__hlo_value grown = artel__hlo_select(h, is_full(lower, lower->in[1]), twice, scale);
    lower->written[0] = artel__hlo_select(h, is_finite(h, lower->in[2]), grown, half);
}

static void lower_count(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value count = artel__hlo_reshape(h, lower->in[0], &(artel__hlo_type){.rank = 0}),
                     zero = artel__hlo_number(h, 0, count);
    artel__hlo_value more = artel__hlo_binary(h, "add", count, artel__hlo_number(h, 1, count));
    artel__hlo_value open = artel__hlo_select(h, is_full(lower, lower->in[0]), zero, more);
    lower->written[0] = artel__hlo_select(h, is_finite(h, lower->in[1]), open, zero);
}

const artel__op_def artel__op_loss_scale_update_def = {
    .name = "loss_scale_update",
    .doc = "The loss scale of the next step.",
    .attribute_size = sizeof(growth_attributes),
    .infer = infer_nothing,
    .lower = lower_update,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fill_kernels,
            .params_size = sizeof(artel__fill),
            .fill = fill_update,
        },
};

const artel__op_def artel__op_loss_scale_count_def = {
    .name = "loss_scale_count",
    .doc = "Steps since the loss scale changed.",
    .attribute_size = sizeof(growth_attributes),
    .infer = infer_nothing,
    .lower = lower_count,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fill_kernels,
            .params_size = sizeof(artel__fill),
            .fill = fill_count,
        },
};

/* -- x / scale; inputs: x, the scale -- */

static artel_status infer_unscale(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &x->shape);
    infer->out[0].storage = x->storage;
    infer->out[0].layout = x->layout;
    return ARTEL_OK;
}

static void fill_unscale(const artel__run_args *args, void *params)
{
    const float *scale = args->in[1];
    *(artel__flat *)params =
        (artel__flat){.op = ARTEL__FLAT_DIVIDE,
                      .count = artel__args_rows(args, args->node->input[0]) * artel__args_in(args, 0)->storage,
                      .x = args->in[0],
                      .y = args->out[0],
                      .a = scale ? *scale : 1.0f};
}

static void lower_unscale(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type type = *artel__hlo_type_of(h, lower->in[0]);
    artel__hlo_value scale = artel__hlo_reshape(h, lower->in[1], &(artel__hlo_type){.rank = 0});
    lower->out[0] = artel__hlo_binary(h, "divide", lower->in[0], artel__hlo_broadcast(h, scale, &type, NULL));
}

const artel__op_def artel__op_unscale_def = {
    .name = "unscale",
    .doc = "A gradient of the scaled loss divided by the scale.",
    .infer = infer_unscale,
    .lower = lower_unscale,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__flat_kernels,
            .params_size = sizeof(artel__flat),
            .fill = fill_unscale,
        },
};

artel__value_id artel__op_unscale(artel__graph *graph, artel__value_id x, artel__value_id scale)
{
    return artel__graph_add(graph, &artel__op_unscale_def, NULL, (artel__value_id[]){x, scale}, 2);
}

void artel__op_loss_scale(artel__graph *graph, artel__value_id scale, artel__value_id count, artel__value_id norm,
                          int64_t growth_steps)
{
    growth_attributes attributes = {growth_steps};
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__graph_add(graph, &artel__op_loss_scale_update_def, &attributes, (artel__value_id[]){scale, count, norm}, 3);
    artel__graph_add(graph, &artel__op_loss_scale_count_def, &attributes, (artel__value_id[]){count, norm}, 2);
    graph->phase = phase;
}
