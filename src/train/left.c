/* SPDX-License-Identifier: Apache-2.0 */
/* What left.h promises. */
#include "train/left.h"

#include <string.h>

#include "keras/draw.h"
#include "train/session_impl.h"

artel_status artel__session_initialise(artel__session *session)
{
    artel_model *model = session->options.model;
    size_t count = (size_t)model->nn->variables->count + 1;
    if (!session->options.elsewhere) return artel__keras_initialise(model, session->options.seed);
    bool *left = artel__arena_alloc(&session->arena, count, sizeof *left);
    if (!left) return ARTEL_ERROR_NO_MEMORY;
    memset(left, 0, count * sizeof *left);
    ARTEL_TRY(artel__keras_initialise_but(model, session->options.seed, ARTEL__LEFT_LEAST, left));
    if (!model->initialised) session->left = left;
    return ARTEL_OK;
}

void artel__session_copy_drawn(const artel__session *session, artel__state *to, const artel__state *from, int count)
{
    for (int first = 0, end; first < count; first = end + 1) {
        for (end = first; end < count && !artel__session_left(session, end); end++) continue;
        if (end > first) artel__state_copy(to, from, (artel__variable_range){first, end - first});
    }
}

bool artel__session_leaves(const artel__session *session)
{
    return session->left != NULL;
}

bool artel__session_left(const artel__session *session, int variable)
{
    return session->left && variable < session->options.model->nn->variables->count && session->left[variable];
}

artel_status artel__session_draw(const artel__session *session, int variable, int64_t first, int64_t count, float *out)
{
    return artel__keras_draw(session->options.model, session->options.seed, variable, first, count, out);
}

void artel__session_has_all(artel__session *session)
{
    session->left = NULL;
}

/* Slots that begin as a copy of the variable. */
static void start_copies(artel__session *session, artel__state *state, int variable)
{
    const artel__optimizer_slots *slots = &session->slots;
    for (int i = 0; i < slots->file_count; i++) {
        int slot = slots->file_order[i];
        if (artel__optimizer_slot_source(&session->options.settings->optimizer, slots, slot) == variable)
            artel__state_assign(state, slot, variable);
    }
}

artel_status artel__session_complete(artel__session *session)
{
    artel__state *state = session->replica[0].state;
    for (int i = 0; session->left && i < session->options.model->nn->variables->count; i++) {
        if (!session->left[i]) continue;
        ARTEL_TRY(artel__session_draw(session, i, 0, session->variables.item[i].count, artel__state_lend(state, i)));
        start_copies(session, state, i);
    }
    session->left = NULL;
    return ARTEL_OK;
}
