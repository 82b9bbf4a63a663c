/* SPDX-License-Identifier: Apache-2.0 */
/* What a model wants to be fed in a mode: its inputs, and a target in the form that each output's loss, or else its
 * first metric, takes.
 */
#include "train/session.h"

#include <string.h>

#include "nn/ahead.h"

static artel__data_target_kind kind_of(artel__target_form form)
{
    return form == ARTEL__TARGET_INDEX     ? ARTEL__DATA_TARGET_INDICES
           : form == ARTEL__TARGET_ONE_HOT ? ARTEL__DATA_TARGET_ONE_HOT
                                           : ARTEL__DATA_TARGET_VALUES;
}

artel_dtype artel__objective_weight_dtype(const artel__model *nn)
{
    artel_dtype dtype = ARTEL_DTYPE_FLOAT32;
    for (int i = 0; i < nn->outputs; i++) {
        if (nn->output[i].dtype == ARTEL_DTYPE_FLOAT64) dtype = ARTEL_DTYPE_FLOAT64;
    }
    return dtype;
}

static void want_target(const artel__model *nn, const artel__settings *settings, int i, artel__data_want_target *want)
{
    const artel__output_settings *output = &settings->output[i];
    const artel_shape *shape = &nn->output[i].shape;
    artel__target_form form = output->has_loss  ? output->loss.target
                              : output->metrics ? output->metric[0].target
                                                : ARTEL__TARGET_SAME;
    *want = (artel__data_want_target){.name = nn->output[i].name,
                                      .row = *shape,
                                      .kind = kind_of(form),
                                      .dtype = nn->output[i].dtype == ARTEL_DTYPE_FLOAT64 ? ARTEL_DTYPE_FLOAT64
                                                                                          : ARTEL_DTYPE_FLOAT32};
    bool open = false;
    for (int k = 0; k < nn->inputs; k++) {
        for (int d = 0; d < nn->input[k].shape.rank; d++) open = open || nn->input[k].shape.dim[d] < 0;
    }
    if ((form == ARTEL__TARGET_INDEX || form == ARTEL__TARGET_ONE_HOT) && shape->rank > 0)
        want->classes = shape->dim[shape->rank - 1];
    if (form == ARTEL__TARGET_INDEX) {
        want->dtype = ARTEL_DTYPE_INT32;
        want->row.rank = shape->rank > 0 ? shape->rank - 1 : 0;
        want->has_ignored = output->loss.has_ignored;
        want->ignored = output->loss.ignored;
    }
    if (form == ARTEL__TARGET_NUMBER || form == ARTEL__TARGET_LIST) {
        want->dtype = ARTEL_DTYPE_INT32;
        want->row = (artel_shape){.rank = form == ARTEL__TARGET_LIST, .dim = {-1}};
        return;
    }
    /* Open input axes make the extents of the outputs unknown until the data is seen. */
    for (int d = 0; open && d < want->row.rank - (form == ARTEL__TARGET_INDEX ? 0 : 1); d++) want->row.dim[d] = -1;
}

artel_status artel__objective_wants(artel__arena *arena, const artel__model *nn, const artel__settings *settings,
                                    artel__mode mode, artel__data_wants *out)
{
    artel__data_want_input *inputs = artel__arena_alloc(arena, (size_t)nn->inputs, sizeof *inputs);
    artel__data_want_target *targets = artel__arena_alloc(arena, (size_t)nn->outputs, sizeof *targets);
    if (!inputs || !targets) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < nn->inputs; i++)
        inputs[i] =
            (artel__data_want_input){nn->input[i].name, nn->input[i].dtype, nn->input[i].shape, nn->input[i].limit};
    int count = 0;
    for (int i = 0; mode != ARTEL__MODE_PREDICT && i < nn->outputs; i++) {
        if (settings->output[i].has_loss || settings->output[i].metrics)
            want_target(nn, settings, i, &targets[count++]);
    }
    const artel__layer *scaling = artel__model_scaling(nn);
    *out = (artel__data_wants){
        .purpose = mode == ARTEL__MODE_TRAIN      ? ARTEL__DATA_PURPOSE_TRAIN
                   : mode == ARTEL__MODE_EVALUATE ? ARTEL__DATA_PURPOSE_EVALUATE
                                                  : ARTEL__DATA_PURPOSE_PREDICT,
        .inputs = inputs,
        .input_count = nn->inputs,
        .targets = targets,
        .target_count = count,
        .weight = artel__objective_weight_dtype(nn),
        .program = artel__model_program(nn),
        .scales_itself = scaling,
        .rescaling = scaling && strcmp(scaling->def->class_name, "Rescaling") == 0 ? scaling->name : NULL};
    return ARTEL_OK;
}
