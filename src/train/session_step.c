/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a session, and what became of each.
 *
 * The replicas are a crew (strategy/crew.h). The first failure of a step cancels the group, so nobody waits for a
 * replica that will not come; the step is then reported and nothing has changed.
 */
#include <stdio.h>

#include "nn/row_state.h"
#include "strategy/devices.h"
#include "train/content.h"

static artel_status report_fault(artel__session *session, artel__mode m, const artel__batch *batch)
{
    const artel__fault *first = NULL;
    for (int r = 0; r < session->replicas; r++) {
        if (!session->replica[r].faulted) continue;
        const artel__fault *fault = artel__execution_fault(session->replica[r].mode[m].run);
        if (!first || fault->node < first->node || (fault->node == first->node && fault->row < first->row))
            first = fault;
    }
    const artel__node *node = &session->mode[m].objective->graph.node[first->node];
    int64_t row = first->row, whole;
    if (artel__row_state_fault(&session->mode[m].objective->graph, node, &whole))
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, node->name,
                           "choose that batch size, and a number of records that it divides",
                           "a stateful layer was built for batches of %lld and got one of %lld", (long long)whole,
                           (long long)first->value);
    return artel__fail(session->ctx, ARTEL_ERROR_INVALID, node->name,
                       "correct the data, or enlarge the vocabulary or the number of classes",
                       "record %llu of the data holds the index %lld, which is out of range",
                       (unsigned long long)batch->rows[row], (long long)first->value);
}

/* One line about the earliest value that was not finite, over all replicas. */
static void describe_nonfinite(artel__session *session, const artel__batch *batch)
{
    const artel__nonfinite *first = NULL;
    for (int r = 0; r < session->replicas; r++) {
        const artel__nonfinite *one = &session->replica[r].nonfinite;
        if (one->node < 0) continue;
        bool earlier =
            !first || one->node < first->node || (one->node == first->node && one->first_row < first->first_row);
        if (earlier) first = one;
    }
    if (!first || session->fault_reported || session->fault[0]) return;
    char rows[96] = "";
    if (first->first_row >= 0)
        snprintf(rows, sizeof rows, ", samples %lld to %lld of the batch", (long long)first->first_row,
                 (long long)first->last_row);
    snprintf(session->fault, sizeof session->fault,
             "step %lld: the first value that is not finite (%g) came out of layer \"%s\" (%s)%s",
             (long long)batch->iteration + 1, first->value, first->name, first->op, rows);
}

/* Who came through the barrier knows that all did, so those of this process who were stopped behind it take the result
 * over. */
static bool complete_step(artel__session *session, artel__mode m)
{
    int from = -1;
    for (int r = 0; r < session->replicas; r++) {
        if (session->replica[r].applied) from = r;
    }
    if (from < 0 || m != ARTEL__MODE_TRAIN) return from >= 0;
    for (int r = 0; r < session->replicas; r++) {
        if (session->replica[r].applied) continue;
        artel_status brought = artel__state_bring(session->replica[from].state);
        session->replica[r].status = brought;
        session->replica[r].failed_here = brought < 0;
        if (brought < 0) return false;
        artel__state_copy(session->replica[r].state, session->replica[from].state, artel__all_of(&session->variables));
    }
    return true;
}

/* Among tasks: whether the step failed for nothing that was found here. */
static void judge_failure(artel__session *session, bool faulted)
{
    bool here = false;
    for (int r = 0; r < session->replicas; r++) here = here || session->replica[r].failed_here;
    session->interrupted = (session->cluster || session->ranks > session->replicas) && !here;
    session->common_fault = faulted || session->replica[0].looked;
}

static artel_status join_status(artel__session *session, artel__mode m, const artel__batch *batch)
{
    artel_status status = ARTEL_OK;
    bool faulted = false, differs = false;
    session->interrupted = session->common_fault = false;
    if (session->cluster && complete_step(session, m)) session->replica[0].failed_here = false;
    for (int r = 0; r < session->replicas; r++) {
        artel_status one = session->replica[r].status;
        faulted = faulted || session->replica[r].faulted;
        differs = differs || (one == ARTEL_ERROR_INVALID && session->replica[r].mode[m].content.differs);
        if (one < 0 && (status == ARTEL_OK || status == ARTEL_ERROR_CANCELLED)) status = one;
    }
    if (status < 0 && session->group) artel__group_reset(session->group);
    describe_nonfinite(session, batch);
    if (faulted) status = report_fault(session, m, batch);
    if (differs) status = artel__content_report(session, m);
    if (status < 0) judge_failure(session, faulted || differs);
    if (faulted || differs || session->interrupted) return status;
    if (status == ARTEL_ERROR_RUN && session->fault[0])
        return artel__fail(session->ctx, ARTEL_ERROR_RUN, ".stop_on_nan",
                           "lower the learning rate, clip gradients, or look at these samples", "%s", session->fault);
    return status;
}

bool artel__session_interrupted(const artel__session *session)
{
    return session->interrupted;
}

bool artel__session_is_common_fault(const artel__session *session)
{
    return session->common_fault;
}

/* `batch` NULL: they share what they hold. */
static void step_replica(void *user, int index)
{
    artel__session *session = user;
    artel__replica_step(&session->replica[index], session->current, session->batch);
}

static void step_all(artel__session *session, artel__mode mode, const artel__batch *batch)
{
    session->current = mode;
    session->batch = batch;
    artel__crew_work(session->crew, step_replica, session);
}

/* Among tasks variables have come from rank 0 (mixed.h). */
static artel_status make_equal(artel__session *session)
{
    artel__state *state[ARTEL__MAX_MIXED];
    if (!session->devices || !session->devices->mixture.count || session->mixed_tasks) return ARTEL_OK;
    for (int r = 0; r < session->replicas; r++) state[r] = session->replica[r].state;
    return artel__mixture_make_equal(session->devices, &session->variables, state);
}

artel_status artel__session_step(artel__session *session, artel__mode mode, const artel__batch *batch)
{
    artel__session_choose(session, mode, batch->bucket);
    step_all(session, mode, batch);
    artel_status status = join_status(session, mode, batch);
    if (status != ARTEL_OK || mode != ARTEL__MODE_TRAIN) return status;
    artel__session_arrange_gradients(session);
    return make_equal(session);
}

artel_status artel__session_share(artel__session *session)
{
    artel_status status = ARTEL_OK;
    session->interrupted = session->common_fault = false;
    step_all(session, ARTEL__MODE_TRAIN, NULL);
    for (int r = 0; r < session->replicas; r++) {
        artel_status one = session->replica[r].status;
        if (one < 0 && (status == ARTEL_OK || status == ARTEL_ERROR_CANCELLED)) status = one;
    }
    if (status < 0 && session->group) artel__group_reset(session->group);
    if (status < 0) judge_failure(session, false);
    return status;
}
