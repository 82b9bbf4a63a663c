/* SPDX-License-Identifier: Apache-2.0 */
/* What the last step of a session has computed: losses, sums of metrics, predictions, and the words of a fault. */
#include <math.h>
#include <string.h>

#include "train/mixed.h"

/* A device keeps what is in panels here in the plain form. */
artel_status artel__session_prepare_gradients(artel__session *session)
{
    const artel__objective *o = session->mode[ARTEL__MODE_TRAIN].objective;
    if (!session->devices || !session->options.elsewhere || session->arranged) return ARTEL_OK;
    session->arranged =
        artel__arena_alloc(&session->arena, (size_t)session->slots.count + 1, sizeof *session->arranged);
    ARTEL_TRY(artel__arena_status(&session->arena));
    for (int i = 0; i < session->slots.count; i++) {
        const artel__variable *variable = &session->variables.item[session->slots.trainable[i]];
        session->arranged[i] = NULL;
        if (o->gradient_kept[i] < 0 || variable->layout == ARTEL__LAYOUT_PLAIN) continue;
        session->arranged[i] = artel__arena_alloc(&session->arena, (size_t)variable->count, sizeof(float));
    }
    return artel__arena_status(&session->arena);
}

void artel__session_arrange_gradients(artel__session *session)
{
    const artel__objective *o = session->mode[ARTEL__MODE_TRAIN].objective;
    for (int i = 0; session->arranged && i < session->slots.count; i++) {
        const artel__variable *variable = &session->variables.item[session->slots.trainable[i]];
        if (session->arranged[i])
            artel__state_arrange(variable, artel__session_kept(session, o->gradient_kept[i]), session->arranged[i]);
    }
}

float *artel__session_gradient(artel__session *session, int trainable)
{
    if (session->arranged && session->arranged[trainable]) return session->arranged[trainable];
    return artel__session_kept(session, session->mode[ARTEL__MODE_TRAIN].objective->gradient_kept[trainable]);
}

bool artel__session_took_step(const artel__session *session)
{
    const artel__objective *o = session->mode[ARTEL__MODE_TRAIN].objective;
    return o->gate_kept < 0 ||
           isfinite(*(const double *)artel__mixed_kept(&session->replica[0], ARTEL__MODE_TRAIN, o->gate_kept));
}

double artel__session_loss(const artel__session *session, artel__mode m, double *by_output)
{
    return artel__session_replica_loss(session, m, 0, by_output);
}

double artel__session_replica_loss(const artel__session *session, artel__mode m, int index, double *by_output)
{
    const artel__objective *o = session->mode[m].objective;
    const artel__replica *replica = &session->replica[index];
    const artel__settings *settings = session->options.settings;
    double total = 0;
    for (int i = 0; i < settings->outputs; i++) {
        double loss = 0;
        if (o->loss_kept[i] >= 0) {
            const double *pair = artel__mixed_kept(replica, m, o->loss_kept[i]);
            double divisor = o->elements[i] ? (double)replica->fold.batch * (double)o->elements[i] : 1.0;
            if (o->denominator_kept[i] >= 0)
                divisor = ((const double *)artel__mixed_kept(replica, m, o->denominator_kept[i]))[1];
            loss = divisor == 0 ? 0 : pair[0] / divisor;
        }
        if (by_output) by_output[i] = loss;
        total += settings->output[i].loss_weight * loss;
    }
    if (o->extra_kept >= 0) {
        const double *pair = artel__mixed_kept(replica, m, o->extra_kept);
        total += pair[1] == 0 ? 0 : pair[0] / pair[1];
    }
    if (o->penalty_kept >= 0) total += *(const double *)artel__mixed_kept(replica, m, o->penalty_kept);
    return total;
}

void artel__session_add_sums(const artel__session *session, artel__mode m, double *sums)
{
    const artel__objective *o = session->mode[m].objective;
    for (int k = 0; k < o->slots; k++) {
        const double *batch = artel__mixed_kept(&session->replica[0], m, o->slot[k].kept);
        bool mean = session->buckets[m].count && artel__metric_is_mean(o->slot[k].metric);
        double share = mean ? 1.0 / (double)o->slot[k].positions : 1;
        for (int i = 0; i < o->slot[k].metric->sums; i++) sums[o->slot[k].first + i] += share * batch[i];
    }
}

void artel__session_predictions(const artel__session *session, int output, artel_dtype dtype, void *values)
{
    const artel__objective *o = session->mode[ARTEL__MODE_PREDICT].objective;
    const artel__value *value = &o->graph.value[o->graph.kept[o->prediction_kept[output]]];
    if (session->seat.ranks > 1) { /* every rank has gathered all rows */
        const artel__replica *replica = &session->replica[0];
        artel__convert(value->dtype, replica->mode[ARTEL__MODE_PREDICT].gathered[output], dtype, values,
                       replica->fold.batch * value->storage);
        return;
    }
    for (int r = 0; r < session->replicas; r++) {
        const artel__replica *replica = &session->replica[r];
        const void *rows = artel__execution_read(replica->mode[ARTEL__MODE_PREDICT].run, o->prediction_kept[output]);
        uint8_t *at = (uint8_t *)values + (size_t)(replica->fold.row * value->storage) * artel_dtype_size(dtype);
        artel__convert(value->dtype, rows, dtype, at, replica->fold.rows * value->storage);
    }
}

void artel__session_scatter(const artel__session *session, int output, artel_dtype dtype, const artel__batch *batch,
                            void *scratch, void *values)
{
    const artel__objective *o = session->mode[ARTEL__MODE_PREDICT].objective;
    const artel__value *value = &o->graph.value[o->graph.kept[o->prediction_kept[output]]];
    size_t bytes = (size_t)value->storage * artel_dtype_size(dtype);
    artel__session_predictions(session, output, dtype, scratch);
    for (int64_t i = 0; i < batch->count; i++)
        memcpy((uint8_t *)values + artel__row_number(batch->rows[i]) * bytes,
               (const uint8_t *)scratch + (size_t)i * bytes, bytes);
}

const char *artel__session_take_fault(artel__session *session)
{
    if (session->fault[0] == 0 || session->fault_reported) return "";
    session->fault_reported = true;
    return session->fault;
}
