/* SPDX-License-Identifier: Apache-2.0 */
/* Random masks and noise: a number is a pure function of (seed, batch, operation, global row, index in the row).
 *
 * Every random operation of a graph gets an ordinal when it is added; it is the node word of the counter (base/rng.h),
 * so that removing unused nodes changes no draw, and the gradient draws the same mask again from the same ordinal:
 *   dropout   y = keep ? x / (1 - rate) : 0;   dx = the same of dy
 *   gaussian  y = x + deviation * n;            dx = dy
 *   uniform   y = low + (high - low) * u;       of no operand
 */
#include "kernel/shape_ops.h"
#include "op/elementwise.h"
#include "op/lower_random.h"

typedef struct noise_attributes {
    artel__noise_op function;
    uint32_t ordinal;
    float rate, scale;
    artel_shape noise;
} noise_attributes;

static artel_status infer_noise(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    if (x->domain != ARTEL__DOMAIN_ROW || x->dtype != ARTEL_DTYPE_FLOAT32)
        return artel__op_fail(infer, "the operand is not float32 by row");
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &x->shape);
    return ARTEL_OK;
}

static void fill_noise(const artel__run_args *args, void *params)
{
    const noise_attributes *a = args->attributes;
    const artel_shape *shape = &artel__args_in(args, 0)->shape;
    artel__noise *p = params;
    p->op = a->function;
    p->key = artel__rng_make_key(args->step->seed, ARTEL__STREAM_DROPOUT);
    p->batch = args->step->batch;
    p->node = a->ordinal;
    p->first_row = args->step->fold->row;
    p->rows = args->step->fold->rows;
    p->rank = shape->rank;
    for (int i = 0; i < shape->rank; i++) {
        p->dim[i] = shape->dim[i];
        p->noise[i] = a->noise.dim[i];
    }
    p->rate = a->rate;
    p->scale = a->scale;
    p->x = args->in[0];
    p->y = args->out[0];
    p->x_half = artel__args_half_in(args, 0);
    p->y_half = artel__args_half_out(args, 0);
}

static artel__lower_drawing drawing_of(uint32_t ordinal, const artel_shape *noise)
{
    return (artel__lower_drawing){.key = offsetof(artel__noise, key),
                                  .batch = offsetof(artel__noise, batch),
                                  .first_row = offsetof(artel__noise, first_row),
                                  .ordinal = ordinal,
                                  .count = artel_shape_count(noise)};
}

static void lower_noise(artel__lower *lower)
{
    const noise_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0),
                    noise = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = out.rank, .dim = {lower->rows}};
    artel__lower_drawing drawing = drawing_of(a->ordinal, &a->noise);
    artel__hlo_value x = lower->in[0];
    drawing.normal = a->function == ARTEL__NOISE_GAUSSIAN;
    for (int i = 1; i < out.rank; i++) noise.dim[i] = a->noise.dim[i - 1];
    artel__hlo_value draw = artel__hlo_reshape(h, artel__lower_draw(lower, &drawing), &noise);
    draw = artel__hlo_broadcast_trailing(h, draw, &out);
    if (a->function == ARTEL__NOISE_DROPOUT)
        lower->out[0] = artel__lower_drop(h, x, draw, (double)a->rate, (double)a->scale);
    else
        lower->out[0] = artel__hlo_binary(
            h, "add", x, artel__hlo_binary(h, "multiply", draw, artel__hlo_number(h, (double)a->scale, draw)));
}

static artel_status grad_noise(artel__gradient *g);

const artel__op_def artel__op_noise_def = {
    .name = "noise",
    .doc = "Dropout and noise from counter-based random numbers.",
    .attribute_size = sizeof(noise_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_noise,
    .grad = grad_noise,
    .lower = lower_noise,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__noise_kernels,
            .params_size = sizeof(artel__noise),
            .fill = fill_noise,
            .half_in = 1u,
            .half_out = 1u,
        },
};

static artel_status grad_noise(artel__gradient *g)
{
    const noise_attributes *a = g->attributes;
    bool additive = a->function == ARTEL__NOISE_GAUSSIAN;
    g->in_gradient[0] =
        additive ? g->out_gradient[0] : artel__graph_add(g->graph, &artel__op_noise_def, a, &g->out_gradient[0], 1);
    return ARTEL_OK;
}

static artel__value_id add_noise(artel__graph *graph, noise_attributes *attributes, artel__value_id x,
                                 const artel_shape *noise)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    const artel_shape *shape = &graph->value[x].shape;
    attributes->ordinal = graph->random_ops++;
    attributes->noise = noise && noise->rank ? *noise : *shape;
    for (int i = 0; i < shape->rank; i++) {
        if (attributes->noise.rank == shape->rank &&
            (attributes->noise.dim[i] == 1 || attributes->noise.dim[i] == shape->dim[i]))
            continue;
        graph->status =
            artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, graph->scope,
                        "use 1 or the input's extent on each axis", "the noise shape does not fit the input");
        return ARTEL__NO_VALUE;
    }
    return artel__graph_add(graph, &artel__op_noise_def, attributes, &x, 1);
}

/* In float64: chosen by the mask that float32 would have. */
static artel__value_id dropout_wide(artel__graph *graph, artel__value_id x, double rate, const artel_shape *noise)
{
    artel__value_id one = artel__op_fill_like(graph, artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT32), 1);
    artel__value_id kept =
        artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, artel__op_dropout(graph, one, rate, noise), 0);
    artel__value_id scaled = artel__op_affine(graph, x, rate < 1 ? 1 / (1 - rate) : 0, 0);
    return artel__op_where(graph, kept, scaled, ARTEL__NO_VALUE);
}

artel__value_id artel__op_dropout(artel__graph *graph, artel__value_id x, double rate, const artel_shape *noise)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64) return dropout_wide(graph, x, rate, noise);
    noise_attributes attributes = {
        .function = ARTEL__NOISE_DROPOUT, .rate = (float)rate, .scale = rate < 1 ? (float)(1.0 / (1.0 - rate)) : 0};
    return add_noise(graph, &attributes, x, noise);
}

/* In float64: the numbers that float32 would have, before the deviation. */
static artel__value_id gaussian_wide(artel__graph *graph, artel__value_id x, double deviation)
{
    artel__value_id zero = artel__op_fill_like(graph, artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT32), 0);
    artel__value_id drawn = artel__op_cast(graph, artel__op_gaussian_noise(graph, zero, 1), ARTEL_DTYPE_FLOAT64);
    return artel__op_add(graph, x, artel__op_affine(graph, artel__op_stop_gradient(graph, drawn), deviation, 0));
}

artel__value_id artel__op_gaussian_noise(artel__graph *graph, artel__value_id x, double deviation)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64) return gaussian_wide(graph, x, deviation);
    noise_attributes attributes = {.function = ARTEL__NOISE_GAUSSIAN, .scale = (float)deviation};
    return add_noise(graph, &attributes, x, NULL);
}

typedef struct uniform_attributes {
    uint32_t ordinal;
    float low, high;
    bool shared;
    artel_shape shape;
} uniform_attributes;

static artel_status infer_uniform(artel__infer *infer)
{
    const uniform_attributes *a = infer->attributes;
    if (infer->in[0]->domain != ARTEL__DOMAIN_ROW) return artel__op_fail(infer, "the operand is not by row");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &a->shape);
    return ARTEL_OK;
}

static void fill_uniform(const artel__run_args *args, void *params)
{
    const uniform_attributes *a = args->attributes;
    artel__noise *p = params;
    *p = (artel__noise){.op = ARTEL__NOISE_UNIFORM,
                        .key = artel__rng_make_key(args->step->seed, ARTEL__STREAM_DROPOUT),
                        .batch = args->step->batch,
                        .node = a->ordinal,
                        .first_row = args->step->fold->row,
                        .shared_rows = a->shared,
                        .rows = args->step->fold->rows,
                        .rank = a->shape.rank,
                        .scale = a->high,
                        .other = a->low,
                        .y = args->out[0]};
    for (int i = 0; i < a->shape.rank; i++) p->dim[i] = p->noise[i] = a->shape.dim[i];
}

static uint32_t unread_by_uniform(const artel__node *node)
{
    (void)node;
    return 1;
}

/* Nothing flows back: no operand is read. */
static artel_status grad_uniform(artel__gradient *g)
{
    (void)g;
    return ARTEL_OK;
}

static void lower_uniform(artel__lower *lower)
{
    const uniform_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__lower_drawing drawing = drawing_of(a->ordinal, &a->shape);
    drawing.shared_rows = a->shared;
    artel__hlo_value draw = artel__hlo_reshape(h, artel__lower_draw(lower, &drawing), &out);
    draw = artel__hlo_binary(h, "multiply", draw, artel__hlo_number(h, (double)(a->high - a->low), draw));
    lower->out[0] = artel__hlo_binary(h, "add", draw, artel__hlo_number(h, (double)a->low, draw));
}

const artel__op_def artel__op_uniform_def = {
    .name = "uniform",
    .doc = "Uniform numbers by row from counters.",
    .attribute_size = sizeof(uniform_attributes),
    .infer = infer_uniform,
    .grad = grad_uniform,
    .lower = lower_uniform,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__noise_kernels,
            .params_size = sizeof(artel__noise),
            .fill = fill_uniform,
            .unread = unread_by_uniform,
        },
};

artel__value_id artel__op_uniform(artel__graph *graph, artel__value_id like, double low, double high,
                                  const artel_shape *shape, bool shared)
{
    if (graph->status < 0 || like < 0) return ARTEL__NO_VALUE;
    uniform_attributes attributes = {graph->random_ops++, (float)low, (float)high, shared, *shape};
    return artel__graph_add(graph, &artel__op_uniform_def, &attributes, &like, 1);
}
