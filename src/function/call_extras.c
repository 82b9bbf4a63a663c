/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of a model leaves beside its outputs: the masks that they carry, and what its layers say of activities.
 */
#include "function/function_impl.h"
#include "function/tape.h"

void artel__extras_note(artel_graph *g, const artel__adopted *of, const artel_value *outputs, const artel__tensor *made)
{
    int count = of->model->nn->outputs;
    artel__call_extras *x = artel__arena_alloc(g->graph->arena, 1, sizeof *x);
    artel_value *value = artel__arena_alloc(g->graph->arena, 2 * (size_t)count + 1, sizeof *value);
    if (!x || !value) {
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return;
    }
    *x = (artel__call_extras){of, ARTEL_NO_VALUE, value, value + count, count, g->extras};
    if (g->graph->extra >= 0) x->activity = artel__graph_give(g, g->graph->extra);
    for (int i = 0; i < count; i++) {
        x->output[i] = outputs[i];
        x->mask[i] = made[i].mask >= 0 ? artel__graph_give(g, made[i].mask) : ARTEL_NO_VALUE;
    }
    g->extras = x;
}

artel_value artel_graph_mask(artel_graph *g, artel_value output)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    for (const artel__call_extras *x = g->extras; x; x = x->next) {
        for (int i = 0; i < x->outputs; i++) {
            if (x->output[i] != output) continue;
            if (x->mask[i] < 0) return ARTEL_NO_VALUE;
            artel__tape_entry *entry = artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_MASK}, &output, 1);
            return artel__tape_gave(g, entry, x->mask[i]);
        }
    }
    return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "mask", "give an output of artel_graph_call",
                               "the value is no output of a model that this function has called");
}
