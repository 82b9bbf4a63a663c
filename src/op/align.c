/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of a sequence whose alignment is not known; formula and numerics: kernel/align.h.
 *
 *   align           labels ROW int32 [n], logits ROW [steps][classes] -> ROW []
 *   align_gradient  upstream ROW [], labels, logits -> d loss / d logits; the lattice is walked again
 */
#include "kernel/align.h"

#include "op/align.h"
#include "op/lower_align.h"
#include "op/second.h"

static artel_status infer_align(artel__infer *infer)
{
    const artel__value *labels = infer->in[0], *logits = infer->in[1];
    artel_shape none = {.rank = 0};
    bool fits = labels->dtype == ARTEL_DTYPE_INT32 && labels->shape.rank == 1 && logits->dtype == ARTEL_DTYPE_FLOAT32 &&
                logits->shape.rank == 2 && logits->domain == ARTEL__DOMAIN_ROW;
    if (!fits)
        return artel__op_fail(infer, "it wants lists of class numbers beside outputs of two axes, steps and classes");
    if (logits->shape.dim[0] < 1) return artel__op_fail(infer, "the output has no steps");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &none);
    return ARTEL_OK;
}

static void fill(const artel__run_args *args, int first, artel__align *out)
{
    const artel__value *labels = artel__args_in(args, first), *logits = artel__args_in(args, first + 1);
    *out = (artel__align){.rows = artel__args_rows(args, args->node->input[first + 1]),
                          .steps = logits->shape.dim[0],
                          .classes = logits->shape.dim[1],
                          .labels = labels->shape.dim[0],
                          .label = args->in[first],
                          .logits = args->in[first + 1],
                          .fault = artel__args_fault_slot(args)};
}

static void fill_align(const artel__run_args *args, void *params)
{
    artel__align *p = params;
    fill(args, 0, p);
    p->loss = args->out[0];
}

static artel_status infer_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[2]->domain, ARTEL_DTYPE_FLOAT32, &infer->in[2]->shape);
    return ARTEL_OK;
}

static void fill_gradient(const artel__run_args *args, void *params)
{
    artel__align *p = params;
    fill(args, 1, p);
    p->upstream = args->in[0];
    p->gradient = args->out[0];
}

const artel__op_def artel__op_align_gradient_def = {
    .name = "align_gradient",
    .doc = "Gradient of a loss of unaligned sequences.",
    .infer = infer_gradient,
    .grad = artel__second_align,
    .lower = artel__lower_align_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__align_kernels,
            .params_size = sizeof(artel__align),
            .fill = fill_gradient,
        },
};

static artel_status grad_align(artel__gradient *g)
{
    if (!g->needed[1]) return ARTEL_OK;
    artel__value_id inputs[] = {g->out_gradient[0], g->in[0], g->in[1]};
    g->in_gradient[1] = artel__graph_add(g->graph, &artel__op_align_gradient_def, NULL, inputs, 3);
    return ARTEL_OK;
}

const artel__op_def artel__op_align_def = {
    .name = "align",
    .doc = "Loss of sequences whose alignment with their labels is not known (CTC).",
    .infer = infer_align,
    .grad = grad_align,
    .lower = artel__lower_align,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__align_kernels,
            .params_size = sizeof(artel__align),
            .fill = fill_align,
        },
};

artel__value_id artel__op_align(artel__graph *graph, artel__value_id labels, artel__value_id logits)
{
    return artel__graph_add(graph, &artel__op_align_def, NULL, (artel__value_id[]){labels, logits}, 2);
}
