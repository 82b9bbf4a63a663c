/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer's state between a model and a session.
 *
 * Keras' files list: iteration, learning rate (unless it is a schedule), then the slots in an order of their own, which
 * artel__optimizer_slots.file_order gives; those of a LossScaleOptimizer stand in front of the optimizer it wraps. A
 * list that does not fit the optimizer is dropped with a warning, as Keras does.
 */
#include <string.h>

#include "train/left.h"
#include "train/session_impl.h"

static bool scales(const artel__session *session)
{
    return session->options.settings->optimizer.scales_loss;
}

/* Arrays of the optimizer that steps, before its slots. */
static int inner_header(const artel__session *session)
{
    return session->options.settings->optimizer.schedule.def ? 1 : 2;
}

/* A LossScaleOptimizer writes an iteration and a rate of its own (both 0), step_counter and dynamic_scale, then the
 * inner list. */
enum {
    OUTER_HEADER = 2,
    OUTER_COUNT = 4
};

static int inner_start(const artel__session *session)
{
    return scales(session) ? OUTER_COUNT : 0;
}

/* Place in the file's list of the i-th slot in file order, of which the scale's two come first. */
static int place(const artel__session *session, int i)
{
    if (!scales(session)) return inner_header(session) + i;
    return i < 2 ? OUTER_HEADER + i : OUTER_COUNT + inner_header(session) + i - 2;
}

/* Slots in a model's file. Keras does not find Nadam's product, the last, inside a LossScaleOptimizer. */
static int filed_slots(const artel__session *session)
{
    return session->slots.file_count - (scales(session) && session->slots.product >= 0);
}

static int list_count(const artel__session *session)
{
    return (scales(session) ? OUTER_HEADER : 0) + inner_header(session) + filed_slots(session);
}

static bool fits(const artel__session *session, const artel__saved_optimizer *saved)
{
    const artel__optimizer_slots *slots = &session->slots;
    if (saved->count != list_count(session)) return false;
    for (int i = 0; i < filed_slots(session); i++) {
        const artel__saved_array *array = &saved->array[place(session, i)];
        const artel__variable *variable = &session->variables.item[slots->file_order[i]];
        if (array->dtype != variable->dtype || !artel__shape_equal(&array->shape, &variable->shape)) return false;
    }
    return true;
}

static int64_t saved_iteration(const artel__saved_array *array)
{
    int64_t iteration = 0;
    bool whole = array->dtype == ARTEL_DTYPE_INT32 || array->dtype == ARTEL_DTYPE_INT64;
    if (whole && artel_shape_count(&array->shape) == 1)
        artel__convert(array->dtype, array->data, ARTEL_DTYPE_INT64, &iteration, 1);
    return iteration;
}

/* Initial values of a slot whose start is not zero. */
static void start_slot(artel__session *session, int slot)
{
    const artel__optimizer *optimizer = &session->options.settings->optimizer;
    double start = artel__optimizer_slot_start(optimizer, &session->slots, slot);
    int source = artel__optimizer_slot_source(optimizer, &session->slots, slot);
    if (source >= 0) artel__state_assign(session->replica[0].state, slot, source);
    if (start != 0) artel__state_fill(session->replica[0].state, slot, start);
}

/* Whether any counter in front of the slots has counted: the first is iteration, with or without a loss scale. */
static bool has_stepped(const artel__saved_optimizer *saved)
{
    if (saved_iteration(&saved->array[0]) > 0) return true;
    return saved->count > OUTER_COUNT && saved_iteration(&saved->array[OUTER_COUNT]) > 0;
}

artel_status artel__session_take_up(artel__session *session)
{
    const artel__saved_optimizer *saved = &session->options.model->optimizer;
    const artel__optimizer_slots *slots = &session->slots;
    for (int i = 0; i < slots->file_count; i++) start_slot(session, slots->file_order[i]);
    if (saved->count == 0) return ARTEL_OK;
    int unstepped = (scales(session) ? OUTER_HEADER : 0) + inner_header(session);
    if (saved->count == unstepped) { /* compiled, never stepped: Keras has not made the slots yet */
        session->iteration = saved_iteration(&saved->array[unstepped - inner_header(session)]);
        return ARTEL_OK;
    }
    if (!fits(session, saved)) {
        if (!has_stepped(saved)) return ARTEL_OK; /* nothing is lost */
        artel__log(session->ctx, ARTEL_LOG_WARNING,
                   "the saved optimizer state (%d variables) does not fit the optimizer (%d); it is dropped and "
                   "training starts without it",
                   saved->count, list_count(session));
        return ARTEL_OK;
    }
    for (int i = 0; i < filed_slots(session); i++)
        artel__state_store(session->replica[0].state, slots->file_order[i], saved->array[place(session, i)].data);
    session->iteration = saved_iteration(&saved->array[inner_start(session)]);
    return ARTEL_OK;
}

void artel__session_finalize(artel__session *session)
{
    const artel__optimizer_slots *slots = &session->slots;
    if (!slots->average) return;
    for (int i = 0; i < slots->count; i++) {
        for (int r = 0; r < (session->common ? 1 : session->replicas); r++)
            artel__state_assign(session->replica[r].state, slots->trainable[i], slots->average[i]);
    }
}

void artel__session_take_averages(artel__session *session)
{
    const artel__optimizer_slots *slots = &session->slots;
    for (int i = 0; i < slots->count && slots->average; i++) {
        for (int r = 0; r < (session->common ? 1 : session->replicas); r++)
            artel__state_assign(session->replica[r].state, slots->average[i], slots->trainable[i]);
    }
}

void artel__session_swap_averages(artel__session *session)
{
    const artel__optimizer_slots *slots = &session->slots;
    for (int i = 0; i < slots->count && slots->average; i++) {
        const artel__variable *variable = &session->variables.item[slots->trainable[i]];
        size_t bytes = (size_t)variable->count * artel_dtype_size(artel__variable_held(variable));
        for (int r = 0; r < (session->common ? 1 : session->replicas); r++) {
            uint8_t *a = artel__state_lend(session->replica[r].state, slots->trainable[i]),
                    *b = artel__state_lend(session->replica[r].state, slots->average[i]);
            for (size_t k = 0; k < bytes; k++) {
                uint8_t kept = a[k];
                a[k] = b[k];
                b[k] = kept;
            }
        }
    }
}

static artel_status make_array(artel_context *ctx, artel_dtype dtype, const artel_shape *shape, artel__saved_array *out)
{
    void *data;
    ARTEL_TRY(
        artel__calloc(ctx, (size_t)artel_shape_count(shape) + 1, artel_dtype_size(dtype), "optimizer state", &data));
    *out = (artel__saved_array){dtype, *shape, data};
    return ARTEL_OK;
}

/* Iteration and rate, unless that is a schedule. */
static artel_status export_header(artel__session *session, artel__saved_optimizer *out, int64_t iteration, double rate,
                                  bool with_rate)
{
    artel_shape scalar = {.rank = 0};
    ARTEL_TRY(make_array(session->ctx, ARTEL_DTYPE_INT64, &scalar, &out->array[out->count++]));
    *(int64_t *)out->array[out->count - 1].data = iteration;
    if (!with_rate) return ARTEL_OK;
    bool wide = session->options.settings->optimizer.wide;
    ARTEL_TRY(
        make_array(session->ctx, wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32, &scalar, &out->array[out->count++]));
    if (wide)
        *(double *)out->array[out->count - 1].data = rate;
    else
        *(float *)out->array[out->count - 1].data = (float)rate;
    return ARTEL_OK;
}

static artel_status export_optimizer(artel__session *session, artel__saved_optimizer *out, int64_t iteration,
                                     double learning_rate)
{
    const artel__optimizer_slots *slots = &session->slots;
    void *block;
    ARTEL_TRY(artel__calloc(session->ctx, (size_t)list_count(session), sizeof *out->array, "optimizer state", &block));
    out->array = block;
    if (scales(session)) ARTEL_TRY(export_header(session, out, 0, 0.0, true));
    for (int i = 0; i <= filed_slots(session); i++) {
        if (i == (scales(session) ? 2 : 0))
            ARTEL_TRY(export_header(session, out, iteration, learning_rate, inner_header(session) == 2));
        if (i == filed_slots(session)) break;
        const artel__variable *variable = &session->variables.item[slots->file_order[i]];
        ARTEL_TRY(make_array(session->ctx, variable->dtype, &variable->shape, &out->array[out->count++]));
        artel__state_fetch(session->replica[0].state, slots->file_order[i], out->array[out->count - 1].data);
    }
    return ARTEL_OK;
}

artel_status artel__session_export(artel__session *session, artel_model *model, int64_t iteration, double learning_rate)
{
    artel__saved_optimizer saved = {.count = 0};
    ARTEL_TRY(artel__state_bring(session->replica[0].state));
    ARTEL_TRY(artel__session_complete(session));
    artel_status status = export_optimizer(session, &saved, iteration, learning_rate);
    if (status < 0) {
        artel__saved_optimizer_fini(session->ctx, &saved);
        return status;
    }
    artel__state_copy(model->weights, session->replica[0].state, artel__all_of(model->nn->variables));
    model->initialised = true;
    artel__saved_optimizer_fini(session->ctx, &model->optimizer);
    const artel__optimizer *optimizer = &session->options.settings->optimizer;
    if (optimizer->schedule.tabled) saved.record = json_incref(optimizer->record);
    model->optimizer = saved;
    return ARTEL_OK;
}
