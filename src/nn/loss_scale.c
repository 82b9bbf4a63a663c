/* SPDX-License-Identifier: Apache-2.0 */
/* LossScaleOptimizer: another optimizer whose gradients come from a scaled loss
 * (keras/src/optimizers/loss_scale_optimizer.py).
 *
 * Read into the inner optimizer's struct, since it is that one that steps; only the record is that of both.
 */
#include "nn/loss_scale.h"

#include <stddef.h>

#include "nn/record.h"

typedef struct scale_settings {
    const char *name, *inner_optimizer;
    double initial_scale;
    int64_t dynamic_growth_steps;
} scale_settings;

/* In the order of Keras' get_config. */
static const artel__option scale_options[] = {
    {"name", "a name", ARTEL__OPTION_STRING, offsetof(scale_settings, name), "loss_scale_optimizer", 0, 0, NULL},
    {"inner_optimizer", "the optimizer that steps: a name or a record", ARTEL__OPTION_JSON,
     offsetof(scale_settings, inner_optimizer), "null", 0, 0, NULL},
    {"initial_scale", "what the loss is multiplied with at first", ARTEL__OPTION_FLOAT,
     offsetof(scale_settings, initial_scale), "32768.0", 1e-30, 1e38, NULL},
    {"dynamic_growth_steps", "steps with finite gradients after which the scale doubles", ARTEL__OPTION_INT,
     offsetof(scale_settings, dynamic_growth_steps), "2000", 1, 0x1p53, NULL},
    {.name = NULL},
};

json_t *artel__optimizer_wrap(json_t *inner)
{
    json_t *config = json_pack("{s:s, s:O, s:f, s:i}", "name", "loss_scale_optimizer", "inner_optimizer", inner,
                               "initial_scale", 32768.0, "dynamic_growth_steps", 2000);
    return artel__record_make("keras.optimizers", ARTEL__LOSS_SCALE_CLASS, config);
}

json_t *artel__optimizer_inner(json_t *record)
{
    const char *name = json_string_value(json_object_get(record, "class_name"));
    return name && strcmp(name, ARTEL__LOSS_SCALE_CLASS) == 0
               ? json_object_get(json_object_get(record, "config"), "inner_optimizer")
               : NULL;
}

artel_status artel__loss_scale_read(artel__arena *arena, json_t *given, int replicas, int64_t batch_size,
                                    artel__optimizer *out)
{
    artel_context *ctx = arena->ctx;
    scale_settings s = {.initial_scale = 0};
    json_t *inner = json_object_get(given, "inner_optimizer");
    ARTEL_TRY(artel__record_options(arena, ARTEL__LOSS_SCALE_CLASS, scale_options, given, &s));
    if (!inner || json_is_null(inner))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ARTEL__LOSS_SCALE_CLASS,
                           "name the optimizer it wraps: inner_optimizer=\"adam\"",
                           "the setting \"inner_optimizer\" is missing");
    if (artel__optimizer_inner(inner))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ARTEL__LOSS_SCALE_CLASS, "keep one of them",
                           "it wraps another LossScaleOptimizer");
    ARTEL_TRY(artel__optimizer_read(arena, inner, replicas, batch_size, out));
    if (out->loss_scale_factor != 1) {
        json_decref(out->record);
        out->record = NULL;
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, ARTEL__LOSS_SCALE_CLASS, "leave one of them away",
                           "the optimizer that it wraps has a loss_scale_factor of its own");
    }
    out->scales_loss = true;
    out->initial_scale = s.initial_scale;
    out->growth_steps = s.dynamic_growth_steps;
    json_t *config = json_object(), *complete = artel__json_copy(given);
    bool made = config && complete && json_object_set(complete, "inner_optimizer", out->record) == 0;
    artel_status status =
        made ? artel__record_complete(ctx, scale_options, complete, config) : artel__fail_memory(ctx, "optimizer", 64);
    json_decref(complete);
    json_t *record =
        status == ARTEL_OK ? artel__record_make("keras.optimizers", ARTEL__LOSS_SCALE_CLASS, config) : NULL;
    if (status < 0) json_decref(config);
    json_decref(out->record);
    out->record = record;
    return status < 0 || record ? status : artel__fail_memory(ctx, "optimizer", 64);
}
