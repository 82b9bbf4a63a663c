/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that were computed, as panels: what products and convolutions read (kernel/product.h).
 *
 * Variables of plain layers lie in panels from the start. Where weights are put together in a graph (other axes, a
 * part, a norm), they are plain, and this copies them; the gradient copies back.
 */
#include "graph/lower.h"
#include "kernel/product.h"
#include "op/op.h"

typedef struct panels_attributes {
    int64_t rows, columns;
    artel_shape plain;
    bool back;
} panels_attributes;

static artel_status infer_panels(artel__infer *infer)
{
    const panels_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    int64_t stored = a->back ? artel__panels_floats(a->rows, a->columns) : a->rows * a->columns;
    if (x->domain != ARTEL__DOMAIN_GLOBAL || x->dtype != ARTEL_DTYPE_FLOAT32 || x->storage != stored ||
        (x->layout == ARTEL__LAYOUT_PANELS) != a->back)
        return artel__op_fail(infer, "expected a matrix of %lld rows and %lld columns", (long long)a->rows,
                              (long long)a->columns);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT32, &a->plain);
    if (a->back) return ARTEL_OK;
    infer->out[0].layout = ARTEL__LAYOUT_PANELS;
    infer->out[0].storage = artel__panels_floats(a->rows, a->columns);
    return ARTEL_OK;
}

static void fill_panels(const artel__run_args *args, void *params)
{
    const panels_attributes *a = args->attributes;
    *(artel__product_pack *)params =
        (artel__product_pack){.what = a->back ? ARTEL__PACK_PANELS_TO_PLAIN : ARTEL__PACK_PLAIN_TO_PANELS,
                              .taps = 1,
                              .rows = a->rows,
                              .columns = a->columns,
                              .groups = 1,
                              .from = args->in[0],
                              .to = args->out[0]};
}

static artel_status grad_panels(artel__gradient *g);

static void lower_panels(artel__lower *lower)
{
    artel__hlo_type type = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, lower->in[0], &type);
}

const artel__op_def artel__op_panels_def = {
    .name = "panels",
    .doc = "Weights as panels, or panels as weights.",
    .attribute_size = sizeof(panels_attributes),
    .infer = infer_panels,
    .grad = grad_panels,
    .lower = lower_panels,
    .moves = artel__op_always_moves,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__product_pack_kernels,
            .params_size = sizeof(artel__product_pack),
            .fill = fill_panels,
        },
};

static artel_status grad_panels(artel__gradient *g)
{
    panels_attributes attributes = *(const panels_attributes *)g->attributes;
    attributes.back = !attributes.back;
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_panels_def, &attributes, &g->out_gradient[0], 1);
    return ARTEL_OK;
}

artel__value_id artel__op_panels(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    panels_attributes attributes = {.plain = graph->value[x].shape};
    attributes.columns = attributes.plain.rank ? attributes.plain.dim[attributes.plain.rank - 1] : 1;
    attributes.rows = artel__shape_product(&attributes.plain, 0, attributes.plain.rank - 1);
    return artel__graph_add(graph, &artel__op_panels_def, &attributes, &x, 1);
}

artel__value_id artel__op_plain(artel__graph *graph, artel__value_id x, int64_t rows)
{
    if (graph->status < 0 || x < 0 || graph->value[x].layout != ARTEL__LAYOUT_PANELS) return x;
    panels_attributes attributes = {.plain = graph->value[x].shape, .rows = rows, .back = true};
    attributes.columns = rows > 0 ? artel_shape_count(&attributes.plain) / rows : 0;
    return artel__graph_add(graph, &artel__op_panels_def, &attributes, &x, 1);
}

artel__value_id artel__op_panels_of(artel__graph *graph, artel__value_id x, int64_t rows)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    panels_attributes attributes = {.plain = graph->value[x].shape, .rows = rows};
    attributes.columns = rows > 0 ? artel_shape_count(&attributes.plain) / rows : 0;
    return artel__graph_add(graph, &artel__op_panels_def, &attributes, &x, 1);
}
