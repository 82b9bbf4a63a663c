/* SPDX-License-Identifier: Apache-2.0 */
/* ActivityRegularization: the input goes on as it is, and its penalty is added to the loss.
 *
 * Every layer can have an activity_regularizer, which the core reads (layer.c); this one has it in two numbers of its
 * own. After keras/src/layers/regularization/activity_regularization.py.
 */
#include "nn/layer_support.h"

#define FACTOR(key, help)                                                                         \
    {                                                                                             \
#key, help, ARTEL__OPTION_FLOAT, offsetof(artel__regularizer, key), "0.0", 0, 1e300, NULL \
    }

static const artel__option activity_options[] = {
    FACTOR(l1, "factor of the absolute values"),
    FACTOR(l2, "factor of the squares"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_activity(artel__layer *layer)
{
    layer->activity = *(const artel__regularizer *)layer->config;
    return ARTEL_OK;
}

static artel_status call_activity(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    artel__call_return(call, call->in[0].value);
    return ARTEL_OK;
}

const artel__layer_def artel__layer_activity_regularization_def = {
    .class_name = "ActivityRegularization",
    .doc = "Adds a penalty of its input to the loss.",
    .config_size = sizeof(artel__regularizer),
    .options = activity_options,
    .mask = ARTEL__MASK_PASS,
    .configure = configure_activity,
    .call = call_activity,
    .returns_input = artel__layer_always,
};
