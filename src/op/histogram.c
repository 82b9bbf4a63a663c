/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of the channels of a row, and tables read by them.
 *
 *   histogram  ROW [..][c] -> ROW [c][bins]: how many places of a channel lie in a bin
 *   lookup     ROW [..][c] and GLOBAL [c][bins] -> ROW [..][c]: the entry of the bin that a place lies in
 * A bin is the number without its fraction (kernel/histogram.h). Neither has a gradient: what they read are whole
 * numbers.
 */
#include "op/histogram.h"

#include "graph/lower.h"
#include "kernel/histogram.h"

typedef struct bin_attributes {
    int64_t bins;
} bin_attributes;

static artel_status grad_none(artel__gradient *g)
{
    (void)g;
    return ARTEL_OK;
}

static artel_status infer_histogram(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    if (x->domain != ARTEL__DOMAIN_ROW || x->dtype != ARTEL_DTYPE_FLOAT32 || x->shape.rank < 1)
        return artel__op_fail(infer, "expected float32 by row, channels last");
    artel_shape shape =
        artel__shape(2, x->shape.dim[x->shape.rank - 1], ((const bin_attributes *)infer->attributes)->bins);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static int64_t places_of(const artel_shape *shape)
{
    return artel__shape_product(shape, 0, shape->rank - 1);
}

static void fill_histogram(const artel__run_args *args, void *params)
{
    const artel_shape *in = &artel__args_in(args, 0)->shape, *out = &artel__args_out(args, 0)->shape;
    *(artel__histogram *)params = (artel__histogram){.rows = artel__args_rows(args, args->node->input[0]),
                                                     .places = places_of(in),
                                                     .channels = out->dim[0],
                                                     .bins = out->dim[1],
                                                     .x = args->in[0],
                                                     .y = args->out[0]};
}

/* INT32 [rows][places][c] of x: the bins. */
static artel__hlo_value bins_of(artel__lower *lower, int64_t places, int64_t channels, int64_t bins)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type flat = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 3, .dim = {lower->rows, places, channels}};
    artel__hlo_value x = artel__hlo_reshape(h, lower->in[0], &flat);
    artel__hlo_value zero = artel__hlo_number(h, 0, x), last = artel__hlo_number(h, (double)(bins - 1), x);
    x = artel__hlo_select(h, artel__hlo_compare(h, "GE", x, zero), x, zero);
    x = artel__hlo_select(h, artel__hlo_compare(h, "GE", x, last), last, x);
    return artel__hlo_convert(h, x, ARTEL_DTYPE_INT32);
}

/* FLOAT32 [rows][places][c][bins]: 1 at the bin. */
static artel__hlo_value marks_of(artel__lower *lower, int64_t places, int64_t channels, int64_t bins)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type wide = {.dtype = ARTEL_DTYPE_INT32, .rank = 4, .dim = {lower->rows, places, channels, bins}};
    artel__hlo_value bin = artel__hlo_broadcast(h, bins_of(lower, places, channels, bins), &wide, (int[]){0, 1, 2});
    return artel__hlo_convert(h, artel__hlo_compare(h, "EQ", bin, artel__hlo_iota(h, &wide, 3)), ARTEL_DTYPE_FLOAT32);
}

static void lower_histogram(artel__lower *lower)
{
    const artel_shape *in = &lower->graph->value[lower->node->input[0]].shape;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__hlo_value marks = marks_of(lower, places_of(in), out.dim[1], out.dim[2]);
    lower->out[0] = artel__hlo_reduce(lower->hlo, "add", 0, marks, 1u << 1);
}

const artel__op_def artel__op_histogram_def = {
    .name = "histogram",
    .doc = "How many places of each channel lie in each bin.",
    .attribute_size = sizeof(bin_attributes),
    .infer = infer_histogram,
    .grad = grad_none,
    .lower = lower_histogram,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__histogram_kernels,
            .params_size = sizeof(artel__histogram),
            .fill = fill_histogram,
        },
};

artel__value_id artel__op_histogram(artel__graph *graph, artel__value_id x, int64_t bins)
{
    bin_attributes attributes = {bins};
    return artel__graph_add(graph, &artel__op_histogram_def, &attributes, &x, 1);
}

static artel_status infer_lookup(artel__infer *infer)
{
    const artel__value *x = infer->in[0], *table = infer->in[1];
    bool fits = x->domain == ARTEL__DOMAIN_ROW && x->dtype == ARTEL_DTYPE_FLOAT32 && x->shape.rank >= 1 &&
                table->domain == ARTEL__DOMAIN_GLOBAL && table->dtype == ARTEL_DTYPE_FLOAT32 &&
                table->shape.rank == 2 && table->shape.dim[0] == x->shape.dim[x->shape.rank - 1] &&
                table->shape.dim[1] > 0;
    if (!fits) return artel__op_fail(infer, "expected float32 by row and a table for each of its channels");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &x->shape);
    return ARTEL_OK;
}

static void fill_lookup(const artel__run_args *args, void *params)
{
    const artel_shape *table = &artel__args_in(args, 1)->shape;
    *(artel__lookup *)params = (artel__lookup){.rows = artel__args_rows(args, args->node->input[0]),
                                               .places = places_of(&artel__args_in(args, 0)->shape),
                                               .channels = table->dim[0],
                                               .bins = table->dim[1],
                                               .x = args->in[0],
                                               .table = args->in[1],
                                               .y = args->out[0]};
}

/* The one entry that is marked, and zeros. */
static void lower_lookup(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    const artel_shape *table = &lower->graph->value[lower->node->input[1]].shape;
    artel__hlo_type out = artel__lower_out_type(lower, 0), flat = artel__lower_in_type(lower, 1);
    int64_t places = places_of(&lower->graph->value[lower->node->input[0]].shape);
    artel__hlo_value marks = marks_of(lower, places, table->dim[0], table->dim[1]);
    artel__hlo_value entry = artel__hlo_broadcast(h, artel__hlo_reshape(h, lower->in[1], &flat),
                                                  artel__hlo_type_of(h, marks), (int[]){2, 3});
    artel__hlo_value zero = artel__hlo_number(h, 0, marks);
    entry = artel__hlo_select(h, artel__hlo_compare(h, "NE", marks, zero), entry, zero);
    lower->out[0] = artel__hlo_reshape(h, artel__hlo_reduce(h, "add", 0, entry, 1u << 3), &out);
}

const artel__op_def artel__op_lookup_def = {
    .name = "lookup",
    .doc = "Entries of a table for each channel, by place.",
    .infer = infer_lookup,
    .grad = grad_none,
    .lower = lower_lookup,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__lookup_kernels,
            .params_size = sizeof(artel__lookup),
            .fill = fill_lookup,
        },
};

artel__value_id artel__op_lookup(artel__graph *graph, artel__value_id x, artel__value_id table)
{
    artel__value_id operand[] = {x, table};
    return artel__graph_add(graph, &artel__op_lookup_def, NULL, operand, 2);
}
