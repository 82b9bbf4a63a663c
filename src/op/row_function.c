/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rows in a graph: bins, categories, hashes, vocabularies of integers.
 *
 *   out[row] = f(in[0][row], in[1][row], ...)   with f and its settings from text/
 * The result is a step function of the operands, so no gradient passes. Strings cannot be here: what takes them runs
 * where rows are fetched (nn/ahead.h). Of what depends on a model's inputs alone devices only see the results, too.
 */
#include "kernel/row_function.h"

#include "op/lower_row_function.h"
#include "op/op.h"
#include "op/row_function.h"

typedef struct row_function_attributes {
    const artel__row_function *function;
    const void *settings;
} row_function_attributes;

static void cells_of(const artel__value *value, artel__cells *out)
{
    artel__cells_describe(out, value->dtype, &value->shape);
}

static artel_status infer_row_function(artel__infer *infer)
{
    const row_function_attributes *a = infer->attributes;
    artel__cells in[ARTEL__ROWS_OF], out = {.count = 0};
    artel__domain domain = ARTEL__DOMAIN_GLOBAL;
    if (infer->inputs > (int)ARTEL__COUNT(in))
        return artel__op_fail(infer, "%d operands, at most %d", infer->inputs, (int)ARTEL__COUNT(in));
    for (int k = 0; k < infer->inputs; k++) {
        if (infer->in[k]->dtype == ARTEL_DTYPE_STRING)
            return artel__op_fail(infer, "strings are read where rows are fetched, not in a graph");
        if (infer->in[k]->domain == ARTEL__DOMAIN_ROW) domain = ARTEL__DOMAIN_ROW;
        cells_of(infer->in[k], &in[k]);
    }
    const char *why = a->function->infer(a->settings, in, infer->inputs, &out);
    if (why) return artel__op_fail(infer, "its input %s", why);
    if (out.dtype == ARTEL_DTYPE_STRING)
        return artel__op_fail(infer, "its result would be strings, which only inputs can be");
    artel__infer_output(infer, 0, domain, out.dtype, &out.shape);
    return ARTEL_OK;
}

static void fill_row_function(const artel__run_args *args, void *params)
{
    const row_function_attributes *a = args->attributes;
    artel__rows_of *p = params;
    *p = (artel__rows_of){.function = a->function,
                          .settings = a->settings,
                          .rows = artel__args_rows(args, args->node->output[0]),
                          .inputs = args->node->inputs,
                          .fault = artel__args_fault_slot(args)};
    for (int k = 0; k < p->inputs; k++) {
        cells_of(artel__args_in(args, k), &p->in[k]);
        p->in[k].data = args->in[k];
        p->has_rows[k] = artel__args_in(args, k)->domain == ARTEL__DOMAIN_ROW;
    }
    cells_of(artel__args_out(args, 0), &p->out);
    p->out.data = args->out[0];
}

static void lower_row_function(artel__lower *lower)
{
    const row_function_attributes *a = lower->attributes;
    artel__lower_row_function(lower, a->function, a->settings);
}

static artel_status grad_row_function(artel__gradient *g)
{
    (void)g;
    return ARTEL_OK;
}

static void describe_row_function(const artel__node *node, artel__text *out)
{
    artel__text_printf(out, "%s", ((const row_function_attributes *)node->attributes)->function->name);
}

const artel__op_def artel__op_row_function_def = {
    .name = "row_function",
    .doc = "Bins, categories, hashes and places in vocabularies, row by row.",
    .attribute_size = sizeof(row_function_attributes),
    .infer = infer_row_function,
    .grad = grad_row_function,
    .lower = lower_row_function,
    .describe = describe_row_function,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__row_function_kernels,
            .params_size = sizeof(artel__rows_of),
            .fill = fill_row_function,
        },
};

artel__value_id artel__op_row_function(artel__graph *graph, const artel__row_function *function, const void *settings,
                                       const artel__value_id *inputs, int count)
{
    row_function_attributes attributes = {function, settings};
    return artel__graph_add(graph, &artel__op_row_function_def, &attributes, inputs, count);
}
