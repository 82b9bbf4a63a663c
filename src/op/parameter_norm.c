/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of whole parameters, and penalties made of them.
 *
 *   block_norm   blocks of 4,096 elements that restart at each variable, float64 partial sums
 *   norm_total   the blocks added pairwise, times a factor: sum of squares or of absolute values -> float64 [1]
 *   sum_scalars  float64 scalars added in order
 * The tree over blocks and the order of variables are fixed, so a norm has the same bits however the work is divided.
 */
#include "graph/lower.h"
#include "kernel/narrow.h"
#include "op/elementwise.h"
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
