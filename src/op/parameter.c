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
#include "kernel/shape_ops.h"
#include "op/elementwise.h"
#include "op/optimize.h"

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
    *(artel__block_norm *)params = (artel__block_norm){a->kind, artel__args_in(args, 0)->storage, args->in[0], args->out[0]};
}

const artel__op_def artel__op_block_norm_def = {
    .name = "block_norm",
    .doc = "Sums of squares or absolute values by blocks of 4,096 elements.",
    .attribute_size = sizeof(norm_attributes),
    .infer = infer_block_norm,
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

static const artel__kernel scalar_kernel = {.name = "ref scalar", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = run_scalar};
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
    *(scalar_params *)params = (scalar_params){
        .count = 1, .in = {args->in[0]}, .blocks = artel__args_in(args, 0)->storage, .scale = a->scale, .out = args->out[0]};
}

static void fill_sum(const artel__run_args *args, void *params)
{
    scalar_params *p = params;
    p->count = args->node->inputs;
    for (int i = 0; i < p->count; i++) p->in[i] = args->in[i];
    p->scale = 1;
    p->out = args->out[0];
}

/* Overwrites its input, which nobody else reads. */
const artel__op_def artel__op_norm_total_def = {
    .name = "norm_total",
    .doc = "Pairwise sum of norm blocks.",
    .attribute_size = sizeof(scalar_attributes),
    .infer = infer_scalar,
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
    .exec =
        &(const artel__op_exec){
            .kernels = scalar_kernels,
            .params_size = sizeof(scalar_params),
            .fill = fill_sum,
        },
};

static artel__value_id norm(artel__graph *graph, artel__norm_kind kind, artel__value_id x, double scale)
{
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
    double momentum; /* of an average: 0 at iteration 0 */
    int64_t every;   /* of the write-back */
    int64_t period;  /* steps of an iteration */
    bool average, write_back;
} flat_attributes;

/* Inputs: y, x. */
static artel_status infer_flat(artel__infer *infer)
{
    const artel__value *y = infer->in[0];
    artel__infer_output(infer, 0, y->domain, ARTEL_DTYPE_FLOAT32, &y->shape);
    infer->out[0].storage = y->storage;
    infer->out[0].layout = y->layout;
    return ARTEL_OK;
}

static void fill_flat(const artel__run_args *args, void *params)
{
    const flat_attributes *a = args->attributes;
    artel__flat *p = params;
    p->op = a->function;
    p->count = artel__args_in(args, 0)->storage;
    p->y = args->in[0];
    p->x = args->in[1];
    p->a = a->a;
    p->b = a->b;
    if (a->average) {
        double momentum = args->step->iteration < a->period ? 0.0 : a->momentum;
        p->a = (float)momentum;
        p->b = (float)(1.0 - momentum);
    }
    if (a->write_back && (args->step->iteration / a->period + 1) % a->every != 0) p->count = 0;
    if (a->function == ARTEL__FLAT_AVERAGE && (args->step->iteration + 1) % a->period != 0) p->op = ARTEL__FLAT_ACCUMULATE;
}

const artel__op_def artel__op_flat_def = {
    .name = "flat",
    .doc = "An element-wise update of its first operand.",
    .attribute_size = sizeof(flat_attributes),
    .placement = ARTEL__PLACE_VIEW_WRITTEN,
    .infer = infer_flat,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__flat_kernels,
            .params_size = sizeof(artel__flat),
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
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__flat_kernels,
            .params_size = sizeof(artel__flat),
            .fill = fill_flat,
        },
};

artel__value_id artel__op_regularise(artel__graph *graph, artel__value_id gradient, artel__value_id variable, double l1, double l2)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_REGULARISE, .a = (float)l1, .b = (float)l2};
    gradient = artel__op_unary(graph, ARTEL__UNARY_LINEAR, NULL, gradient); /* may be somebody else's too; else done in place */
    return artel__graph_add(graph, &artel__op_flat_def, &attributes, (artel__value_id[]){gradient, variable}, 2);
}

static void update(artel__graph *graph, const flat_attributes *attributes, artel__value_id y, artel__value_id x)
{
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__graph_add(graph, &artel__op_flat_update_def, attributes, (artel__value_id[]){y, x}, 2);
    graph->phase = phase;
}

void artel__op_moving_average(artel__graph *graph, artel__value_id variable, artel__value_id value, float momentum)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_EMA, .a = momentum, .b = 1.0f - momentum};
    update(graph, &attributes, variable, value);
}

void artel__op_assign(artel__graph *graph, artel__value_id variable, artel__value_id value)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_SCALE, .a = 1.0f};
    update(graph, &attributes, variable, value);
}

void artel__op_ema(artel__graph *graph, artel__value_id average, artel__value_id value, double momentum, int64_t every, int64_t period)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_EMA, .momentum = momentum, .period = period, .average = true};
    update(graph, &attributes, average, value);
    if (every <= 0) return;
    flat_attributes back = {.function = ARTEL__FLAT_SCALE, .a = 1.0f, .write_back = true, .every = every, .period = period};
    update(graph, &back, value, average);
}

void artel__op_accumulate(artel__graph *graph, artel__value_id sum, artel__value_id gradient, int64_t period)
{
    flat_attributes attributes = {.function = ARTEL__FLAT_AVERAGE, .a = (float)period, .period = period};
    update(graph, &attributes, sum, gradient);
}

static void fill_clear(const artel__run_args *args, void *params)
{
    *(artel__fill *)params = (artel__fill){.count = artel__args_in(args, 0)->storage, .item = sizeof(float), .y = args->in[0]};
}

const artel__op_def artel__op_clear_def = {
    .name = "clear",
    .doc = "A variable set to 0.",
    .infer = infer_nothing,
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

const artel__op_def artel__op_constrain_def = {
    .name = "constrain",
    .doc = "Projection of a variable after the optimizer's step.",
    .attribute_size = sizeof(constrain_attributes),
    .infer = infer_constrain,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__constrain_kernels,
            .params_size = sizeof(artel__constrain),
            .fill = fill_constrain,
        },
};

/* The parts of a variable: one for the plain layout, one for the wide and one for a narrow panel. Returns how many, or 0
 * when the norms would run across panels. */
static int constrain_parts(const artel__constrain_config *config, const artel__variable *variable, constrain_attributes part[2])
{
    const artel_shape *shape = &variable->shape;
    int64_t before = artel__shape_product(shape, 0, config->from), length = artel__shape_product(shape, config->from, config->to);
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
        part[parts++] =
            (constrain_attributes){*config, before, length, variable->rows / inside * (rest <= 16 ? 16 : 32), full * 32 * variable->rows};
    return (int)parts;
}

void artel__op_constrain(artel__graph *graph, const artel__constrain_config *config, artel__value_id variable)
{
    if (graph->status < 0 || variable < 0) return;
    constrain_attributes part[2];
    int parts = constrain_parts(config, &graph->variables->item[graph->value[variable].variable], part);
    if (parts == 0) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope,
                                    "use axes that do not include the last one", "this constraint runs over the output axis of a kernel");
        return;
    }
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    for (int i = 0; i < parts; i++) artel__graph_add(graph, &artel__op_constrain_def, &part[i], &variable, 1);
    graph->phase = phase;
}
