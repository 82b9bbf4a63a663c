/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps: one APPLY node a variable.
 *
 *   optimize       variable and slots by the rule of kernel/optimize.h; clipping happens in the same pass
 *   optimize_rows  the same on the rows of a table that have a gradient (op/embed.h); or on all, the gradient of the
 * others being 0 nadam_product  u = u * beta_1 (1 - 0.5 * 0.96^t), the scalar that Nadam's steps share lamb_step
 * variable -= ratio * rate * direction The learning rate and the iteration come from the step, so that a schedule costs
 * no node. An iteration is as many steps as the node's period: where gradients are accumulated, formulas count the
 * steps that were taken.
 */
#include "op/optimize.h"

#include <math.h>
#include <string.h>

#include "kernel/shape_ops.h"
#include "kernel/wide.h"
#include "op/lower_formula.h"
#include "op/lower_optimize.h"

typedef struct optimize_attributes {
    artel__apply_options options;
    artel__clip clip;
    double limit;
    bool others; /* of optimize_rows */
} optimize_attributes;

/* Inputs: variable, slots, (to here written) gradient, squared norm, u_product, squares, loss scale. */
enum {
    IN_VARIABLE,
    IN_SLOT,
    IN_GRADIENT = IN_SLOT + ARTEL__APPLY_SLOTS,
    IN_NORM,
    IN_PRODUCT,
    IN_SQUARES,
    IN_SCALE,
    IN_COUNT,
    IN_TOKEN = IN_COUNT, /* of optimize_rows: tokens, and how many */
    IN_TOKENS,
    IN_COUNT_ROWS
};

static artel_status infer_optimize(artel__infer *infer)
{
    const artel__value *variable = infer->in[IN_VARIABLE], *gradient = infer->in[IN_GRADIENT];
    if (variable->storage != gradient->storage || variable->layout != gradient->layout ||
        variable->dtype != gradient->dtype || gradient->domain != ARTEL__DOMAIN_GLOBAL)
        return artel__op_fail(infer, "the gradient does not have the form of its variable");
    infer->outputs = 0;
    return ARTEL_OK;
}

static int64_t iteration(const artel__run_args *args)
{
    return args->step->iteration / args->node->period;
}

/* Nadam's product has the type of the first variable. */
static double product_of(const artel__run_args *args)
{
    const void *product = args->in[IN_PRODUCT];
    if (!product) return 1;
    return artel__args_in(args, IN_PRODUCT)->dtype == ARTEL_DTYPE_FLOAT64 ? *(const double *)product
                                                                          : (double)*(const float *)product;
}

static void fill_apply(const artel__run_args *args, artel__apply *p)
{
    const optimize_attributes *a = args->attributes;
    p->count = artel__args_in(args, IN_VARIABLE)->storage;
    p->variable = args->in[IN_VARIABLE];
    p->gradient = args->in[IN_GRADIENT];
    p->squares = args->in[IN_SQUARES];
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++) p->slot[i] = args->in[IN_SLOT + i];
    const float *scale = args->in[IN_SCALE];
    const double *norm = args->in[IN_NORM];
    artel__apply_prepare(p, &a->options, (float)args->step->learning_rate, iteration(args), (float)product_of(args));
    p->clip = a->clip;
    if (a->clip == ARTEL__CLIP_VALUE) p->clip_a = (float)a->limit;
    if (a->clip == ARTEL__CLIP_NORM && norm) artel__clip_by_norm(p, *norm, (float)a->limit);
    if (a->clip == ARTEL__CLIP_SCALE && norm) p->clip_a = artel__clip_by_global_norm(*norm, (float)a->limit);
    if (a->clip == ARTEL__CLIP_NONE && scale) {
        p->clip = ARTEL__CLIP_NORM; /* g * 1 / scale */
        p->clip_a = 1.0f;
        p->clip_b = *scale;
    }
}

static void fill_apply_wide(const artel__run_args *args, artel__wide_apply *p)
{
    const optimize_attributes *a = args->attributes;
    const double *scale = args->in[IN_SCALE], *norm = args->in[IN_NORM];
    p->count = artel__args_in(args, IN_VARIABLE)->storage;
    p->variable = args->in[IN_VARIABLE];
    p->gradient = args->in[IN_GRADIENT];
    p->squares = args->in[IN_SQUARES];
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++) p->slot[i] = args->in[IN_SLOT + i];
    artel__wide_apply_prepare(p, &a->options, args->step->learning_rate, iteration(args), product_of(args));
    p->clip = a->clip;
    p->clip_a = a->limit;
    if (a->clip == ARTEL__CLIP_NORM && norm) p->clip_b = fmax(sqrt(*norm), a->limit);
    if (a->clip == ARTEL__CLIP_SCALE && norm) p->clip_a = artel__wide_clip_factor(*norm, a->limit);
    if (a->clip == ARTEL__CLIP_NONE && scale) {
        p->clip = ARTEL__CLIP_NORM; /* g * 1 / scale */
        p->clip_a = 1;
        p->clip_b = *scale;
    }
}

static const artel__kernel *const *choose_optimize(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, true) ? artel__wide_apply_kernels : NULL;
}

static void fill_optimize(const artel__run_args *args, void *params)
{
    if (artel__node_wide(args->graph, args->node, true))
        fill_apply_wide(args, params);
    else
        fill_apply(args, params);
}

static void part_of_optimize(void *params, const float *gradient, int64_t first, int64_t count)
{
    artel__apply *p = params;
    p->variable += first;
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++) {
        if (p->slot[i]) p->slot[i] += first;
    }
    if (p->squares) p->squares += first;
    p->gradient = gradient;
    p->count = count;
}

/* What a step takes and gives besides its gradient. */
static artel__lower_step step_of(const artel__lower *lower)
{
    const optimize_attributes *a = lower->attributes;
    const artel__hlo_value *in = lower->in;
    artel__lower_step step = {.options = &a->options,
                              .clip = a->clip,
                              .limit = a->limit,
                              .squares = -1,
                              .norm = in[IN_NORM],
                              .product = in[IN_PRODUCT],
                              .scale = in[IN_SCALE],
                              .variable = in[IN_VARIABLE]};
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++) step.slot[i] = in[IN_SLOT + i];
    return step;
}

static void write_step(artel__lower *lower, artel__lower_step *step)
{
    artel__lower_step_write(lower, step);
    lower->written[IN_VARIABLE] = step->variable;
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++) lower->written[IN_SLOT + i] = step->slot[i];
}

static void lower_optimize(artel__lower *lower)
{
    artel__hlo_type type = artel__lower_in_type(lower, IN_VARIABLE);
    artel__lower_step step = step_of(lower);
    step.gradient = artel__hlo_reshape(lower->hlo, lower->in[IN_GRADIENT], &type);
    if (lower->in[IN_SQUARES] >= 0) step.squares = artel__hlo_reshape(lower->hlo, lower->in[IN_SQUARES], &type);
    write_step(lower, &step);
}

const artel__op_def artel__op_optimize_def = {
    .name = "optimize",
    .doc = "One optimizer step on one variable.",
    .attribute_size = sizeof(optimize_attributes),
    .infer = infer_optimize,
    .lower = lower_optimize,
    .writes = true,
    .written = IN_GRADIENT,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__apply_kernels,
            .choose = choose_optimize,
            .params_size = ARTEL__EITHER_SIZE(artel__apply, artel__wide_apply),
            .fill = fill_optimize,
            .divides = true,
            .summed = IN_GRADIENT,
            .piece = ARTEL__NORM_BLOCK,
            .part = part_of_optimize,
        },
};

/* -- on rows -- */

static artel_status infer_optimize_rows(artel__infer *infer)
{
    const artel__value *variable = infer->in[IN_VARIABLE], *rows = infer->in[IN_GRADIENT];
    const artel__value *token = infer->in[IN_TOKEN], *count = infer->in[IN_TOKENS];
    bool formed = token && count && variable->shape.rank == 2 && rows->domain == token->domain &&
                  (rows->domain == ARTEL__DOMAIN_BATCH || rows->domain == ARTEL__DOMAIN_GLOBAL) &&
                  rows->storage == token->storage * variable->shape.dim[1];
    if (!formed) return artel__op_fail(infer, "the gradient does not consist of rows of the variable");
    infer->outputs = 0;
    return ARTEL_OK;
}

static void fill_optimize_rows(const artel__run_args *args, void *params)
{
    const optimize_attributes *a = args->attributes;
    artel__apply_rows *p = params;
    fill_apply(args, &p->apply);
    p->others = a->others;
    p->width = artel__args_in(args, IN_VARIABLE)->shape.dim[1];
    p->most = artel__args_rows(args, args->node->input[IN_TOKEN]) * artel__args_in(args, IN_TOKEN)->storage;
    p->token = args->in[IN_TOKEN];
    p->count = args->in[IN_TOKENS];
}

/* INT32, ascending: behind the last token none of the table. */
static artel__hlo_value row_tokens(artel__lower *lower, int64_t count)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type flat = {.dtype = ARTEL_DTYPE_INT32, .rank = 1, .dim = {count}},
                    scalar = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_value place = artel__hlo_iota(h, &flat, 0),
                     tokens = artel__hlo_reshape(h, lower->in[IN_TOKENS], &scalar);
    artel__hlo_value table = artel__hlo_number(h, (double)artel__lower_in_type(lower, IN_VARIABLE).dim[0], place);
    artel__hlo_value there = artel__hlo_compare(h, "LT", place, artel__hlo_broadcast(h, tokens, &flat, NULL));
    return artel__hlo_select(h, there, artel__hlo_reshape(h, lower->in[IN_TOKEN], &flat),
                             artel__hlo_binary(h, "add", place, table));
}

/* Rows that have a gradient are taken from the table, make their step, and are put back; or the gradient becomes a
 * table. */
static void lower_optimize_rows(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    const artel__hlo_value *in = lower->in;
    artel__hlo_type table = artel__lower_in_type(lower, IN_VARIABLE), rows = table;
    rows.dim[0] = artel__hlo_count(artel__hlo_type_of(h, in[IN_TOKEN]));
    artel__hlo_value token = row_tokens(lower, rows.dim[0]);
    artel__lower_step step = step_of(lower);
    step.gradient = artel__hlo_reshape(h, in[IN_GRADIENT], &rows);
    if (in[IN_SQUARES] >= 0) step.squares = artel__hlo_reshape(h, in[IN_SQUARES], &rows);
    if (((const optimize_attributes *)lower->attributes)->others) {
        artel__hlo_value zeros = artel__hlo_splat(h, 0, &table);
        step.gradient = artel__hlo_scatter_rows(h, zeros, token, step.gradient, true);
        if (step.squares >= 0) step.squares = artel__hlo_scatter_rows(h, zeros, token, step.squares, true);
        write_step(lower, &step);
        return;
    }
    step.variable = artel__hlo_gather_rows(h, step.variable, token);
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++)
        step.slot[i] = step.slot[i] < 0 ? -1 : artel__hlo_gather_rows(h, step.slot[i], token);
    write_step(lower, &step);
    for (int k = IN_VARIABLE; k < IN_GRADIENT; k++) {
        if (lower->written[k] >= 0)
            lower->written[k] = artel__hlo_scatter_rows(h, in[k], token, lower->written[k], true);
    }
}

static void describe_optimize_rows(const artel__node *node, artel__text *out)
{
    bool others = ((const optimize_attributes *)node->attributes)->others;
    artel__text_append(out, others ? "the others without a gradient" : "the others stay");
}

const artel__op_def artel__op_optimize_rows_def = {
    .name = "optimize_rows",
    .doc = "One optimizer step on a table whose gradient consists of rows.",
    .attribute_size = sizeof(optimize_attributes),
    .infer = infer_optimize_rows,
    .describe = describe_optimize_rows,
    .lower = lower_optimize_rows,
    .writes = true,
    .written = IN_GRADIENT,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__apply_rows_kernels,
            .params_size = sizeof(artel__apply_rows),
            .fill = fill_optimize_rows,
            .divides = true,
        },
};

static artel__phase enter_apply(artel__graph *graph)
{
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    return phase;
}

void artel__op_optimize(artel__graph *graph, const artel__optimize *optimize)
{
    optimize_attributes attributes = {optimize->options, optimize->clip, optimize->limit, optimize->others};
    artel__value_id inputs[IN_COUNT_ROWS];
    inputs[IN_VARIABLE] = optimize->variable;
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++)
        inputs[IN_SLOT + i] = i < optimize->slots ? optimize->slot[i] : ARTEL__NO_VALUE;
    inputs[IN_GRADIENT] = optimize->gradient;
    inputs[IN_NORM] = optimize->squared_norm;
    inputs[IN_PRODUCT] = optimize->u_product;
    inputs[IN_SQUARES] = optimize->squares;
    inputs[IN_SCALE] = optimize->scale;
    inputs[IN_TOKEN] = optimize->rows ? optimize->token : ARTEL__NO_VALUE;
    inputs[IN_TOKENS] = optimize->rows ? optimize->count : ARTEL__NO_VALUE;
    artel__phase phase = enter_apply(graph);
    if (optimize->rows)
        artel__graph_add(graph, &artel__op_optimize_rows_def, &attributes, inputs, IN_COUNT_ROWS);
    else
        artel__graph_add(graph, &artel__op_optimize_def, &attributes, inputs, IN_COUNT);
    graph->phase = phase;
}

void artel__op_optimize_narrow(artel__graph *graph, artel__node *node, const artel__node *narrow)
{
    optimize_attributes *attributes = artel__arena_alloc(graph->arena, 1, sizeof *attributes);
    if (node->op != &artel__op_optimize_def || node->input[IN_SCALE] >= 0 || !attributes) return;
    *attributes = *(const optimize_attributes *)node->attributes;
    if (attributes->clip != ARTEL__CLIP_NONE || node->input[IN_GRADIENT] != narrow->output[0]) return;
    attributes->clip = ARTEL__CLIP_NARROW;
    node->attributes = attributes;
    node->input[IN_GRADIENT] = narrow->input[0];
}

/* -- Nadam's product; input: the scalar, written -- */

typedef struct product_attributes {
    double beta_1;
} product_attributes;

static artel_status infer_nothing(artel__infer *infer)
{
    infer->outputs = 0;
    return ARTEL_OK;
}

static void fill_nadam_product(const artel__run_args *args, void *params)
{
    const product_attributes *a = args->attributes;
    if (artel__args_in(args, 0)->dtype == ARTEL_DTYPE_FLOAT64) {
        double *wide = args->in[0], made = artel__wide_nadam_product(wide ? *wide : 1, a->beta_1, iteration(args));
        artel__fill *p = params;
        *p = (artel__fill){.count = 1, .item = 8, .y = wide};
        memcpy(&p->bits, &made, sizeof p->bits);
        return;
    }
    float *product = args->in[0];
    float next = artel__nadam_product(product ? *product : 1.0f, a->beta_1, iteration(args));
    uint32_t bits;
    memcpy(&bits, &next, sizeof bits);
    *(artel__fill *)params = (artel__fill){.count = 1, .item = 4, .bits = bits, .y = product};
}

/* `fill` without arrays gives what the product is multiplied by. */
static void lower_nadam_product(artel__lower *lower)
{
    artel__hlo_type scalar = {.dtype = artel__hlo_type_of(lower->hlo, lower->in[0])->dtype};
    artel__hlo_value factor = artel__lower_scalar_of(lower, offsetof(artel__fill, bits), scalar.dtype);
    lower->written[0] =
        artel__hlo_binary(lower->hlo, "multiply", artel__hlo_reshape(lower->hlo, lower->in[0], &scalar), factor);
}

const artel__op_def artel__op_nadam_product_def = {
    .name = "nadam_product",
    .doc = "The running product of Nadam's momentum schedule.",
    .attribute_size = sizeof(product_attributes),
    .infer = infer_nothing,
    .lower = lower_nadam_product,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fill_kernels,
            .params_size = sizeof(artel__fill),
            .fill = fill_nadam_product,
        },
};

void artel__op_nadam_product(artel__graph *graph, artel__value_id u_product, double beta_1)
{
    product_attributes attributes = {beta_1};
    artel__phase phase = enter_apply(graph);
    artel__graph_add(graph, &artel__op_nadam_product_def, &attributes, &u_product, 1);
    graph->phase = phase;
}

/* -- LAMB's second half; inputs: variable (written), direction, squared norms of both -- */

static void fill_lamb_step(const artel__run_args *args, void *params)
{
    const double *w = args->in[2], *d = args->in[3];
    float ratio = w && d ? artel__lamb_ratio((float)__builtin_sqrt(*w), (float)__builtin_sqrt(*d)) : 1.0f;
    *(artel__lamb_step *)params = (artel__lamb_step){.count = artel__args_in(args, 0)->storage,
                                                     .variable = args->in[0],
                                                     .direction = args->in[1],
                                                     .ratio = ratio,
                                                     .rate = (float)args->step->learning_rate};
}

static artel__hlo_value root(artel__hlo *h, artel__hlo_value squares)
{
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_FLOAT64};
    return artel__hlo_convert(h, artel__hlo_unary(h, "sqrt", artel__hlo_reshape(h, squares, &scalar)),
                              ARTEL_DTYPE_FLOAT32);
}

static void lower_lamb_step(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type type = artel__lower_in_type(lower, 0);
    artel__formula f;
    artel__formula_init(&f, h, lower->in[0]);
    artel__formula_set(&f, 'w', lower->in[0]);
    artel__formula_set(&f, 'd', artel__hlo_reshape(h, lower->in[1], &type));
    artel__formula_spread(&f, 'm', root(h, lower->in[2]));
    artel__formula_spread(&f, 'n', root(h, lower->in[3]));
    artel__formula_spread(&f, 'R',
                          artel__lower_scalar_of(lower, offsetof(artel__lamb_step, rate), ARTEL_DTYPE_FLOAT32));
    lower->written[0] = artel__formula_write(&f, "w m 0 > n 0 > and m n / 1 ? R * d * -");
}

const artel__op_def artel__op_lamb_step_def = {
    .name = "lamb_step",
    .doc = "The layer-wise scaled step of LAMB.",
    .infer = infer_nothing,
    .lower = lower_lamb_step,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__lamb_step_kernels,
            .params_size = sizeof(artel__lamb_step),
            .fill = fill_lamb_step,
        },
};

void artel__op_lamb_step(artel__graph *graph, artel__value_id variable, artel__value_id direction,
                         artel__value_id variable_norm, artel__value_id direction_norm)
{
    artel__phase phase = enter_apply(graph);
    artel__graph_add(graph, &artel__op_lamb_step_def, NULL,
                     (artel__value_id[]){variable, direction, variable_norm, direction_norm}, 4);
    graph->phase = phase;
}
