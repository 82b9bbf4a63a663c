/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that change whole parameters: regularisers, averages, assignments, constraints. Norms: parameter_norm.c.
 *
 *   flat         y = f(x, y) element by element (kernel/optimize.h)
 *   clear        y = 0
 *   constrain    projection of a variable after its step
 */
#include <stddef.h>

#include "kernel/narrow.h"
#include "kernel/shape_ops.h"
#include "kernel/wide.h"
#include "op/elementwise.h"
#include "op/lower_formula.h"
#include "op/optimize.h"

typedef struct flat_attributes {
    artel__flat_op function;
    float a, b;
    double exact_a, exact_b; /* the same of float64 */
    double momentum;         /* of an average: 0 at iteration 0 */
    int64_t every;           /* of the write-back */
    int64_t period;          /* steps of an iteration */
    bool average, write_back;
} flat_attributes;

/* Inputs: y, x. */
static artel_status infer_flat(artel__infer *infer)
{
    const artel__value *y = infer->in[0];
    artel__infer_output(infer, 0, y->domain, y->dtype, &y->shape);
    infer->out[0].storage = y->storage;
    infer->out[0].layout = y->layout;
    return ARTEL_OK;
}

static const artel__kernel *const *choose_flat(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, true) ? artel__wide_flat_kernels : NULL;
}

static void fill_flat(const artel__run_args *args, void *params)
{
    const flat_attributes *a = args->attributes;
    artel__wide_flat p = {.op = a->function,
                          .count = artel__args_in(args, 0)->storage,
                          .y = args->in[0],
                          .x = args->in[1],
                          .a = a->exact_a,
                          .b = a->exact_b};
    bool wide = artel__node_wide(args->graph, args->node, true);
    if (a->average) {
        p.a = args->step->iteration < a->period ? 0.0 : a->momentum;
        p.b = 1.0 - p.a;
    }
    if (a->write_back && (args->step->iteration / a->period + 1) % a->every != 0) p.count = 0;
    if (a->function == ARTEL__FLAT_AVERAGE && (args->step->iteration + 1) % a->period != 0)
        p.op = ARTEL__FLAT_ACCUMULATE;
    if (wide)
        *(artel__wide_flat *)params = p;
    else
        *(artel__flat *)params = (artel__flat){.op = p.op,
                                               .count = p.count,
                                               .x = args->in[1],
                                               .y = args->in[0],
                                               .a = a->average ? (float)p.a : a->a,
                                               .b = a->average ? (float)p.b : a->b};
}

static const char *flat_text(const flat_attributes *a)
{
    switch (a->function) {
    case ARTEL__FLAT_REGULARISE:
        return a->a != 0.0f   ? (a->b != 0.0f ? "y a x sign * + b 2 x * * +" : "y a x sign * +")
               : a->b != 0.0f ? "y b 2 x * * +"
                              : "y";
    case ARTEL__FLAT_EMA: return "a y * b x * +";
    case ARTEL__FLAT_ACCUMULATE: return "y x +";
    case ARTEL__FLAT_AVERAGE: return a->period > 1 ? "x y + =z z" : "x y + a /";
    case ARTEL__FLAT_SCALE: return "x a *";
    case ARTEL__FLAT_DIVIDE: return "x a /";
    case ARTEL__FLAT_CLIP: return "x a max b min";
    }
    return "y";
}

/* What is so at this step and not at others: a scalar of the node, compared. */
static artel__hlo_value at_step(artel__lower *lower, size_t offset, artel_dtype dtype, const char *how, double number)
{
    artel__hlo_type type = artel__lower_in_type(lower, 0);
    artel__hlo_value word = artel__lower_scalar_of(lower, offset, dtype);
    return artel__hlo_broadcast(lower->hlo,
                                artel__hlo_compare(lower->hlo, how, word, artel__hlo_number(lower->hlo, number, word)),
                                &type, NULL);
}

static artel__hlo_value write_flat(artel__lower *lower)
{
    const flat_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_value y = lower->in[0];
    artel__hlo_type type = *artel__hlo_type_of(h, y);
    bool wide = type.dtype == ARTEL_DTYPE_FLOAT64;
    artel__formula f;
    artel__formula_init(&f, h, y);
    artel__formula_set(&f, 'y', y);
    artel__formula_set(&f, 'x', artel__hlo_reshape(h, lower->in[1], &type));
    if (a->average) {
        size_t at_a = wide ? offsetof(artel__wide_flat, a) : offsetof(artel__flat, a),
               at_b = wide ? offsetof(artel__wide_flat, b) : offsetof(artel__flat, b);
        artel__formula_spread(&f, 'a', artel__lower_scalar_of(lower, at_a, type.dtype));
        artel__formula_spread(&f, 'b', artel__lower_scalar_of(lower, at_b, type.dtype));
    } else {
        artel__formula_number(&f, 'a', wide ? a->exact_a : (double)a->a);
        artel__formula_number(&f, 'b', wide ? a->exact_b : (double)a->b);
    }
    artel__hlo_value now = artel__formula_write(&f, flat_text(a));
    if (a->function == ARTEL__FLAT_AVERAGE && a->period > 1) {
        size_t op = wide ? offsetof(artel__wide_flat, op) : offsetof(artel__flat, op);
        artel__hlo_value last = at_step(lower, op, ARTEL_DTYPE_INT32, "EQ", ARTEL__FLAT_AVERAGE);
        now = artel__hlo_select(h, last, artel__formula_write(&f, "z a /"), now);
    }
    size_t count = wide ? offsetof(artel__wide_flat, count) : offsetof(artel__flat, count);
    if (a->write_back) now = artel__hlo_select(h, at_step(lower, count, ARTEL_DTYPE_INT64, "NE", 0), now, y);
    return now;
}

static void lower_flat(artel__lower *lower)
{
    lower->out[0] = write_flat(lower);
}

static void lower_flat_update(artel__lower *lower)
{
    lower->written[0] = write_flat(lower);
}

const artel__op_def artel__op_flat_def = {
    .name = "flat",
    .doc = "An element-wise update of its first operand.",
    .attribute_size = sizeof(flat_attributes),
    .placement = ARTEL__PLACE_VIEW_WRITTEN,
    .infer = infer_flat,
    .lower = lower_flat,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__flat_kernels,
            .choose = choose_flat,
            .params_size = ARTEL__EITHER_SIZE(artel__flat, artel__wide_flat),
            .fill = fill_flat,
        },
};

static artel_status infer_nothing(artel__infer *infer)
{
    infer->outputs = 0;
    return ARTEL_OK;
}

/* The same on a variable. */
const artel__op_def artel__op_flat_update_def = {
    .name = "flat_update",
    .doc = "An element-wise update of a variable.",
    .attribute_size = sizeof(flat_attributes),
    .infer = infer_nothing,
    .lower = lower_flat_update,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__flat_kernels,
            .choose = choose_flat,
            .params_size = ARTEL__EITHER_SIZE(artel__flat, artel__wide_flat),
            .fill = fill_flat,
        },
};

artel__value_id artel__op_regularise(artel__graph *graph, artel__value_id gradient, artel__value_id variable, double l1,
                                     double l2)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_REGULARISE,
                                  .a = (float)l1,
                                  .b = (float)l2,
                                  .exact_a = artel__round_to_float32(l1),
                                  .exact_b = artel__round_to_float32(l2)};
    gradient = artel__op_unary(graph, ARTEL__UNARY_LINEAR, NULL,
                               gradient); /* may be somebody else's too; else done in place */
    return artel__graph_add(graph, &artel__op_flat_def, &attributes, (artel__value_id[]){gradient, variable}, 2);
}

static void update(artel__graph *graph, const flat_attributes *attributes, artel__value_id y, artel__value_id x)
{
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__graph_add(graph, &artel__op_flat_update_def, attributes, (artel__value_id[]){y, x}, 2);
    graph->phase = phase;
}

void artel__op_moving_average(artel__graph *graph, artel__value_id variable, artel__value_id value, double momentum)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_EMA,
                                  .a = (float)momentum,
                                  .b = 1.0f - (float)momentum,
                                  .exact_a = momentum,
                                  .exact_b = 1 - momentum};
    update(graph, &attributes, variable, value);
}

void artel__op_assign(artel__graph *graph, artel__value_id variable, artel__value_id value)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_SCALE, .a = 1.0f, .exact_a = 1};
    if (graph->status < 0) return;
    artel_dtype dtype = graph->value[variable].dtype;
    if (dtype == ARTEL_DTYPE_FLOAT32 || dtype == ARTEL_DTYPE_FLOAT64) {
        update(graph, &attributes, variable, value);
        return;
    }
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__graph_add(graph, &artel__op_store_def, NULL, (artel__value_id[]){variable, value}, 2);
    graph->phase = phase;
}

void artel__op_ema(artel__graph *graph, artel__value_id average, artel__value_id value, double momentum, int64_t every,
                   int64_t period)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_EMA, .momentum = momentum, .period = period, .average = true};
    update(graph, &attributes, average, value);
    if (every <= 0) return;
    flat_attributes back = {
        .function = ARTEL__FLAT_SCALE, .a = 1.0f, .exact_a = 1, .write_back = true, .every = every, .period = period};
    update(graph, &back, value, average);
}

void artel__op_accumulate(artel__graph *graph, artel__value_id sum, artel__value_id gradient, int64_t period)
{
    flat_attributes attributes = {
        .function = ARTEL__FLAT_AVERAGE, .a = (float)period, .exact_a = (double)period, .period = period};
    update(graph, &attributes, sum, gradient);
}

artel__value_id artel__op_accumulated(artel__graph *graph, artel__value_id sum, artel__value_id gradient,
                                      int64_t period)
{
    flat_attributes attributes = {
        .function = ARTEL__FLAT_AVERAGE, .a = (float)period, .exact_a = (double)period, .period = period};
    sum = artel__op_unary(graph, ARTEL__UNARY_LINEAR, NULL, sum); /* done in place */
    return artel__graph_add(graph, &artel__op_flat_def, &attributes, (artel__value_id[]){sum, gradient}, 2);
}

static void fill_clear(const artel__run_args *args, void *params)
{
    *(artel__fill *)params = (artel__fill){.count = artel__args_in(args, 0)->storage,
                                           .item = artel_dtype_size(artel__args_in(args, 0)->dtype),
                                           .y = args->in[0]};
}

static void lower_clear(artel__lower *lower)
{
    lower->written[0] = artel__hlo_number(lower->hlo, 0, lower->in[0]);
}

const artel__op_def artel__op_clear_def = {
    .name = "clear",
    .doc = "A variable set to 0.",
    .infer = infer_nothing,
    .lower = lower_clear,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fill_kernels,
            .params_size = sizeof(artel__fill),
            .fill = fill_clear,
        },
};

void artel__op_clear(artel__graph *graph, artel__value_id variable)
{
    artel__phase phase = graph->phase;
    if (variable < 0) return;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__graph_add(graph, &artel__op_clear_def, NULL, &variable, 1);
    graph->phase = phase;
}

/* -- constraints; input: the variable -- */

typedef struct constrain_attributes {
    artel__constrain_config config;
    int64_t outer, length, inner, offset; /* of the part of the variable this node handles */
} constrain_attributes;

static artel_status infer_constrain(artel__infer *infer)
{
    if (infer->in[0]->dtype != ARTEL_DTYPE_FLOAT32) return artel__op_fail(infer, "the variable is not float32");
    infer->outputs = 0;
    return ARTEL_OK;
}

static void fill_constrain(const artel__run_args *args, void *params)
{
    const constrain_attributes *a = args->attributes;
    float *variable = args->in[0];
    *(artel__constrain *)params = (artel__constrain){.op = a->config.op,
                                                     .outer = a->outer,
                                                     .length = a->length,
                                                     .inner = a->inner,
                                                     .variable = variable ? variable + a->offset : NULL,
                                                     .a = a->config.a,
                                                     .b = a->config.b,
                                                     .c = a->config.c};
}

static const char *const constrain_text[] = {
    [ARTEL__CONSTRAINT_MAX_NORM] = "w n a min 1e-7 n + / *",
    [ARTEL__CONSTRAINT_NON_NEG] = "w 0 > w 0 ?",
    [ARTEL__CONSTRAINT_UNIT_NORM] = "w 1e-7 n + /",
    [ARTEL__CONSTRAINT_MIN_MAX_NORM] = "w c n a max b min * 1 c - n * + 1e-7 n + / *",
};

/* The first part does all of a variable, whose layout is plain. */
static void lower_constrain(artel__lower *lower)
{
    const constrain_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_type type = *artel__hlo_type_of(h, lower->in[0]),
                    wide = {.dtype = type.dtype, .rank = 3, .dim = {1, 1, 1}};
    artel__formula f;
    if (a->offset > 0) return;
    for (int i = 0; i < type.rank; i++) wide.dim[i < a->config.from ? 0 : i < a->config.to ? 1 : 2] *= type.dim[i];
    artel__hlo_value w = artel__hlo_reshape(h, lower->in[0], &wide);
    artel__formula_init(&f, h, w);
    artel__formula_set(&f, 'w', w);
    artel__formula_number(&f, 'a', (double)a->config.a);
    artel__formula_number(&f, 'b', (double)a->config.b);
    artel__formula_number(&f, 'c', (double)a->config.c);
    f.axis = 1;
    if (a->config.op != ARTEL__CONSTRAINT_NON_NEG) artel__formula_write(&f, "w w * sum sqrt =n");
    lower->written[0] = artel__formula_write(&f, constrain_text[a->config.op]);
}

const artel__op_def artel__op_constrain_def = {
    .name = "constrain",
    .doc = "Projection of a variable after the optimizer's step.",
    .attribute_size = sizeof(constrain_attributes),
    .infer = infer_constrain,
    .lower = lower_constrain,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__constrain_kernels,
            .params_size = sizeof(artel__constrain),
            .fill = fill_constrain,
        },
};

/* The parts of a variable: one for the plain layout, one for the wide and one for a narrow panel. Returns how many, or
 * 0 when the norms would run across panels. */
static int constrain_parts(const artel__constrain_config *config, const artel__variable *variable,
                           constrain_attributes part[2])
{
    const artel_shape *shape = &variable->shape;
    int64_t before = artel__shape_product(shape, 0, config->from),
            length = artel__shape_product(shape, config->from, config->to);
    part[0] = (constrain_attributes){*config, before, length, artel__shape_product(shape, config->to, shape->rank), 0};
    if (variable->layout == ARTEL__LAYOUT_PLAIN) return 1;
    int64_t full = variable->columns / 32, rest = variable->columns % 32, parts = 0;
    if (config->op == ARTEL__CONSTRAINT_NON_NEG) {
        part[0] = (constrain_attributes){*config, variable->count, 1, 1, 0};
        return 1;
    }
    int64_t inside = before * length;
    if (inside == 0 || variable->rows % inside) return 0;
    if (full) part[parts++] = (constrain_attributes){*config, full * before, length, variable->rows / inside * 32, 0};
    if (rest)
        part[parts++] = (constrain_attributes){
            *config, before, length, variable->rows / inside * (rest <= 16 ? 16 : 32), full * 32 * variable->rows};
    return (int)parts;
}

void artel__op_constrain(artel__graph *graph, const artel__constrain_config *config, artel__value_id variable)
{
    if (graph->status < 0 || variable < 0) return;
    constrain_attributes part[2];
    int parts = constrain_parts(config, &graph->variables->item[graph->value[variable].variable], part);
    if (parts == 0) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope,
                                    "use axes that do not include the last one",
                                    "this constraint runs over the output axis of a kernel");
        return;
    }
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    for (int i = 0; i < parts; i++) artel__graph_add(graph, &artel__op_constrain_def, &part[i], &variable, 1);
    graph->phase = phase;
}
