/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer's state between a model and a session.
 *
 * Keras' files list: iteration, learning rate (unless it is a schedule), then the slots in an order of their own, which
 * artel__optimizer_slots.file_order gives. A list that does not fit the optimizer is dropped with a warning, as Keras does.
 */
#include <string.h>

#include "train/session_impl.h"

static int header_count(const artel__session *session)
{
    return session->options.settings->optimizer.schedule.def ? 1 : 2;
}

static bool fits(const artel__session *session, const artel__saved_optimizer *saved)
{
    const artel__optimizer_slots *slots = &session->slots;
    int header = header_count(session);
    if (saved->count != header + slots->file_count) return false;
    for (int i = 0; i < slots->file_count; i++) {
        const artel__saved_array *array = &saved->array[header + i];
        const artel__variable *variable = &session->variables.item[slots->file_order[i]];
        if (array->dtype != variable->dtype || !artel__shape_equal(&array->shape, &variable->shape)) return false;
    }
    return true;
}

static int64_t saved_iteration(const artel__saved_array *array)
{
    int64_t iteration = 0;
    if (artel_shape_count(&array->shape) == 1) artel__convert(array->dtype, array->data, ARTEL_DTYPE_INT64, &iteration, 1);
    return iteration;
}

/* Initial values of a slot whose start is not zero. */
static void start_slot(artel__session *session, int slot)
{
    const artel__optimizer *optimizer = &session->options.settings->optimizer;
    float start = artel__optimizer_slot_start(optimizer, &session->slots, slot);
    const artel__variable *variable = &session->variables.item[slot];
    float *data = artel__state_data(&session->replica[0].state, slot);
    for (int64_t k = 0; start != 0.0f && k < variable->count; k++) data[k] = start;
}

artel_status artel__session_take_up(artel__session *session)
{
    const artel__saved_optimizer *saved = &session->options.model->optimizer;
    const artel__optimizer_slots *slots = &session->slots;
    for (int i = 0; i < slots->file_count; i++) start_slot(session, slots->file_order[i]);
    if (saved->count == 0) return ARTEL_OK;
    if (saved->count == header_count(session)) { /* compiled, never stepped: Keras has not made the slots yet */
        session->iteration = saved_iteration(&saved->array[0]);
        return ARTEL_OK;
    }
    if (!fits(session, saved)) {
        artel__log(session->ctx, ARTEL_LOG_WARNING,
                   "the saved optimizer state (%d variables) does not fit the optimizer (%d); it is dropped and training starts without it",
                   saved->count, header_count(session) + slots->file_count);
        return ARTEL_OK;
    }
    int header = header_count(session);
    for (int i = 0; i < slots->file_count; i++)
        artel__state_store(&session->replica[0].state, slots->file_order[i], saved->array[header + i].data);
    session->iteration = saved_iteration(&saved->array[0]);
    return ARTEL_OK;
}

void artel__session_finalize(artel__session *session)
{
    const artel__optimizer_slots *slots = &session->slots;
    if (!slots->average) return;
    for (int i = 0; i < slots->count; i++) {
        const artel__variable *variable = &session->variables.item[slots->trainable[i]];
        for (int r = 0; r < session->replicas; r++) {
            artel__state *state = &session->replica[r].state;
            memcpy(artel__state_data(state, slots->trainable[i]), artel__state_data(state, slots->average[i]),
                   (size_t)variable->count * artel_dtype_size(variable->dtype));
        }
    }
}

static artel_status make_array(artel_context *ctx, artel_dtype dtype, const artel_shape *shape, artel__saved_array *out)
{
    void *data;
    ARTEL_TRY(artel__calloc(ctx, (size_t)artel_shape_count(shape) + 1, artel_dtype_size(dtype), "optimizer state", &data));
    *out = (artel__saved_array){dtype, *shape, data};
    return ARTEL_OK;
}

static artel_status export_optimizer(artel__session *session, artel__saved_optimizer *out, int64_t iteration, double learning_rate)
{
    const artel__optimizer_slots *slots = &session->slots;
    int header = header_count(session);
    artel_shape scalar = {.rank = 0};
    void *block;
    ARTEL_TRY(artel__calloc(session->ctx, (size_t)(header + slots->file_count), sizeof *out->array, "optimizer state", &block));
    out->array = block;
    ARTEL_TRY(make_array(session->ctx, ARTEL_DTYPE_INT64, &scalar, &out->array[out->count++]));
    *(int64_t *)out->array[0].data = iteration;
    if (header == 2) {
        ARTEL_TRY(make_array(session->ctx, ARTEL_DTYPE_FLOAT32, &scalar, &out->array[out->count++]));
        *(float *)out->array[1].data = (float)learning_rate;
    }
    for (int i = 0; i < slots->file_count; i++) {
        const artel__variable *variable = &session->variables.item[slots->file_order[i]];
        ARTEL_TRY(make_array(session->ctx, variable->dtype, &variable->shape, &out->array[out->count++]));
        artel__state_fetch(&session->replica[0].state, slots->file_order[i], out->array[out->count - 1].data);
    }
    return ARTEL_OK;
}

artel_status artel__session_export(artel__session *session, artel_model *model, int64_t iteration, double learning_rate)
{
    artel__saved_optimizer saved = {NULL, 0};
    artel_status status = export_optimizer(session, &saved, iteration, learning_rate);
    if (status < 0) {
        artel__saved_optimizer_fini(session->ctx, &saved);
        return status;
    }
    memcpy(model->weights.block, session->replica[0].state.block, model->nn->variables->bytes);
    artel__saved_optimizer_fini(session->ctx, &model->optimizer);
    model->optimizer = saved;
    return ARTEL_OK;
}
