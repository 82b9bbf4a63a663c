/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on whole parameters: norms, penalties, regularisers, constraints, averages.
 *
 *   block_norm   blocks of 4,096 elements that restart at each variable, float64 partial sums
 *   norm_total   the blocks added pairwise, times a factor: sum of squares or of absolute values -> float64 [1]
 *   sum_scalars  float64 scalars added in order
 *   flat         y = f(x, y) element by element (kernel/optimize.h)
 *   clear        y = 0
 *   constrain    projection of a variable after its step
 * The tree over blocks and the order of variables are fixed, so a norm has the same bits however the work is divided.
 */
#include <stddef.h>

#include "kernel/narrow.h"
#include "kernel/shape_ops.h"
#include "kernel/wide.h"
#include "op/elementwise.h"
#include "op/lower_formula.h"
#include "op/optimize.h"
#include "op/reduce.h"

typedef struct norm_attributes {
    artel__norm_kind kind;
} norm_attributes;

static artel_status infer_block_norm(artel__infer *infer)
{
    artel_shape shape = artel__shape(1, artel__norm_blocks(infer->in[0]->storage));
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

static void fill_block_norm(const artel__run_args *args, void *params)
{
    const norm_attributes *a = args->attributes;
    *(artel__block_norm *)params =
        (artel__block_norm){a->kind, artel__args_in(args, 0)->storage, args->in[0], args->out[0]};
}

/* Rows of one block each. A variable in panels has zeros between, so blocks begin elsewhere; their sum is what counts.
 */
static void lower_block_norm(artel__lower *lower)
{
    const norm_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    int64_t blocks = artel__lower_out_type(lower, 0).dim[0], none = 0;
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_FLOAT64},
                    flat = {.rank = 1, .dim = {artel__hlo_count(artel__hlo_type_of(h, lower->in[0]))}};
    artel__hlo_type table = {.rank = 2, .dim = {blocks, ARTEL__NORM_BLOCK}};
    artel__hlo_value x = artel__hlo_convert(h, artel__hlo_reshape(h, lower->in[0], &flat), ARTEL_DTYPE_FLOAT64);
    int64_t rest = blocks * ARTEL__NORM_BLOCK - flat.dim[0];
    artel__hlo_value size =
        a->kind == ARTEL__NORM_SQUARES ? artel__hlo_binary(h, "multiply", x, x) : artel__hlo_unary(h, "abs", x);
    if (rest) size = artel__hlo_pad(h, size, artel__hlo_splat(h, 0, &scalar), &none, &rest, &none);
    lower->out[0] = artel__hlo_reduce(h, "add", 0, artel__hlo_reshape(h, size, &table), 2);
}

const artel__op_def artel__op_block_norm_def = {
    .name = "block_norm",
    .doc = "Sums of squares or absolute values by blocks of 4,096 elements.",
    .attribute_size = sizeof(norm_attributes),
    .infer = infer_block_norm,
    .lower = lower_block_norm,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__block_norm_kernels,
            .params_size = sizeof(artel__block_norm),
            .fill = fill_block_norm,
        },
};

/* -- scalars: one task each, computed by a kernel of this file's own -- */

typedef struct scalar_params {
    int count;
    double *in[ARTEL__MAX_OPERANDS];
    int64_t blocks; /* of in[0]; 0: plain sum of scalars */
    double scale;
    double *out;
} scalar_params;

static int64_t one_task(const void *params)
{
    (void)params;
    return 1;
}

static void run_scalar(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const scalar_params *p = params;
    (void)begin;
    (void)end;
    (void)scratch;
    double sum = 0;
    if (p->blocks > 0)
        sum = artel__norm_combine(p->in[0], p->blocks);
    else
        for (int i = 0; i < p->count; i++) sum += *p->in[i];
    *p->out = p->scale * sum;
}

static const artel__kernel scalar_kernel = {
    .name = "ref scalar", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = run_scalar};
static const artel__kernel *const scalar_kernels[] = {&scalar_kernel, NULL};

typedef struct scalar_attributes {
    double scale;
} scalar_attributes;

static artel_status infer_scalar(artel__infer *infer)
{
    artel_shape one = artel__shape(1, (int64_t)1);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT64, &one);
    return ARTEL_OK;
}

static void fill_total(const artel__run_args *args, void *params)
{
    const scalar_attributes *a = args->attributes;
    *(scalar_params *)params = (scalar_params){.count = 1,
                                               .in = {args->in[0]},
                                               .blocks = artel__args_in(args, 0)->storage,
                                               .scale = a->scale,
                                               .out = args->out[0]};
}

static void fill_sum(const artel__run_args *args, void *params)
{
    scalar_params *p = params;
    p->count = args->node->inputs;
    for (int i = 0; i < p->count; i++) p->in[i] = args->in[i];
    p->scale = 1;
    p->out = args->out[0];
}

static void lower_total(artel__lower *lower)
{
    const scalar_attributes *a = lower->attributes;
    artel__hlo_type one = artel__lower_out_type(lower, 0);
    artel__hlo_value sum =
        artel__hlo_reshape(lower->hlo, artel__hlo_reduce(lower->hlo, "add", 0, lower->in[0], 1), &one);
    lower->out[0] = artel__hlo_binary(lower->hlo, "multiply", sum, artel__hlo_number(lower->hlo, a->scale, sum));
}

static void lower_sum(artel__lower *lower)
{
    artel__hlo_value sum = lower->in[0];
    for (int i = 1; i < lower->node->inputs; i++) sum = artel__hlo_binary(lower->hlo, "add", sum, lower->in[i]);
    lower->out[0] = sum;
}

/* Overwrites its input, which nobody else reads. */
const artel__op_def artel__op_norm_total_def = {
    .name = "norm_total",
    .doc = "Pairwise sum of norm blocks.",
    .attribute_size = sizeof(scalar_attributes),
    .infer = infer_scalar,
    .lower = lower_total,
    .exec =
        &(const artel__op_exec){
            .kernels = scalar_kernels,
            .params_size = sizeof(scalar_params),
            .fill = fill_total,
        },
};

const artel__op_def artel__op_sum_scalars_def = {
    .name = "sum_scalars",
    .doc = "Sum of float64 scalars in order.",
    .infer = infer_scalar,
    .lower = lower_sum,
    .exec =
        &(const artel__op_exec){
            .kernels = scalar_kernels,
            .params_size = sizeof(scalar_params),
            .fill = fill_sum,
        },
};

/* Of float64, in the order of kernel/reduce.h; a factor is a float32 on its way, as in Keras. */
static artel__value_id norm_wide(artel__graph *graph, artel__norm_kind kind, artel__value_id x, double scale)
{
    artel_shape flat = artel__shape(1, graph->value[x].storage);
    artel__unary function = kind == ARTEL__NORM_SQUARES ? ARTEL__UNARY_SQUARE : ARTEL__UNARY_ABS;
    artel__value_id size = artel__op_reshape(graph, artel__op_unary(graph, function, NULL, x), &flat);
    return artel__op_affine(graph, artel__op_reduce(graph, ARTEL__REDUCE_SUM, size, 1u, true),
                            artel__round_to_float32(scale), 0);
}

static artel__value_id norm(artel__graph *graph, artel__norm_kind kind, artel__value_id x, double scale)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64) return norm_wide(graph, kind, x, scale);
    norm_attributes blocks = {kind};
    scalar_attributes total = {scale};
    artel__value_id partial = artel__graph_add(graph, &artel__op_block_norm_def, &blocks, &x, 1);
    return artel__graph_add(graph, &artel__op_norm_total_def, &total, &partial, 1);
}

artel__value_id artel__op_squared_norm(artel__graph *graph, artel__value_id x)
{
    return norm(graph, ARTEL__NORM_SQUARES, x, 1.0);
}

artel__value_id artel__op_absolute_norm(artel__graph *graph, artel__value_id x)
{
    return norm(graph, ARTEL__NORM_ABSOLUTES, x, 1.0);
}

artel__value_id artel__op_norm_scaled(artel__graph *graph, artel__value_id norm_of, double scale)
{
    scalar_attributes total = {scale};
    return artel__graph_add(graph, &artel__op_norm_total_def, &total, &norm_of, 1);
}

artel__value_id artel__op_sum_scalars(artel__graph *graph, const artel__value_id *x, int count)
{
    artel__value_id sum = ARTEL__NO_VALUE;
    for (int done = 0; done < count;) {
        artel__value_id part[ARTEL__MAX_OPERANDS];
        int n = 0;
        if (sum >= 0) part[n++] = sum;
        while (n < ARTEL__MAX_OPERANDS && done < count) part[n++] = x[done++];
        sum = n == 1 ? part[0] : artel__graph_add(graph, &artel__op_sum_scalars_def, NULL, part, n);
    }
    return sum;
}

artel__value_id artel__op_penalty(artel__graph *graph, artel__value_id variable, double l1, double l2)
{
    artel__value_id part[2];
    int n = 0;
    if (l1 != 0) part[n++] = norm(graph, ARTEL__NORM_ABSOLUTES, variable, l1);
    if (l2 != 0) part[n++] = norm(graph, ARTEL__NORM_SQUARES, variable, l2);
    return artel__op_sum_scalars(graph, part, n);
}

/* -- element by element: y = f(x, y), y in place -- */

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
