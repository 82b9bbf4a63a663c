/* SPDX-License-Identifier: Apache-2.0 */
/* Places in functions and of variables. A value knows when it was added by its number, which passes leave as it is; so
 * a place is where in the row of values it begins. */
#include <string.h>

#include "artel/session.h"
#include "function/function_impl.h"

static const artel__device_name anywhere = {.replica = -1, .task = -1, .index = -1};

artel_status artel_device_merge(artel_context *ctx, const char *outer, const char *inner, char *out, size_t room)
{
    artel__device_name a, b;
    char text[ARTEL__DEVICE_TEXT];
    ARTEL_TRY(artel__enter(ctx, __func__, "context outer inner out", ctx, outer, inner, out));
    ARTEL_TRY(artel__device_name_read(ctx, outer, &a));
    ARTEL_TRY(artel__device_name_read(ctx, inner, &b));
    artel__device_name merged = artel__device_name_merge(&a, &b);
    artel__device_name_write(&merged, text);
    if (strlen(text) >= room)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "give room for 192 bytes", "%zu bytes are not enough",
                           room);
    memcpy(out, text, strlen(text) + 1);
    return ARTEL_OK;
}

/* -- of functions -- */

static artel__device_name current(const artel_graph *g)
{
    return g->device_depth ? g->device[g->device_depth - 1] : anywhere;
}

/* What is added from here on belongs to the innermost place. */
static void note(artel_graph *g)
{
    artel__device_spans *s = &g->devices;
    if (s->count == s->room) {
        int wider = s->room ? 2 * s->room : 16;
        artel__device_span *block = artel__arena_alloc(g->graph->arena, (size_t)wider, sizeof *block);
        if (!block) {
            g->graph->status = ARTEL_ERROR_NO_MEMORY;
            return;
        }
        if (s->count) memcpy(block, s->span, (size_t)s->count * sizeof *block);
        s->span = block;
        s->room = wider;
    }
    s->span[s->count++] = (artel__device_span){g->graph->values, current(g)};
}

artel_status artel_graph_device(artel_graph *g, const char *device)
{
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph", g));
    ARTEL_TRY(g->graph->status);
    artel__device_name inner, outer = current(g);
    if (!g->strategy)
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "device", "name places in functions of a strategy",
                            "a part of a model has no place");
    else if (g->device_depth == ARTEL__MOST_DEVICES)
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "device", "end places: artel_graph_device_end",
                            "more than %d places are open", ARTEL__MOST_DEVICES);
    ARTEL_TRY(g->graph->status);
    artel_status status = artel__device_name_read(g->ctx, device ? device : "", &inner);
    if (status < 0) return g->graph->status = status;
    g->device[g->device_depth++] = device ? artel__device_name_merge(&outer, &inner) : anywhere;
    note(g);
    return g->graph->status;
}

void artel_graph_device_end(artel_graph *g)
{
    if (!g || g->graph->status < 0) return;
    if (g->device_depth == 0) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "device", "call it once for each artel_graph_device",
                            "no place is open");
        return;
    }
    g->device_depth--;
    note(g);
}

artel_status artel__devices_finish(artel_graph *g)
{
    if (g->graph->status == ARTEL_OK && g->device_depth)
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "device", "end them: artel_graph_device_end",
                            "%d places are still open", g->device_depth);
    return g->graph->status;
}

artel__device_name artel__function_device(const artel_function *f, int node)
{
    const artel__node *n = &f->graph.node[node];
    int at = f->devices.count - 1;
    if (n->outputs == 0) return anywhere;
    while (at >= 0 && f->devices.span[at].from > n->output[0]) at--;
    return at >= 0 ? f->devices.span[at].device : anywhere;
}

/* -- of variables -- */

artel_status artel_variable_set_device(artel_variable *v, const char *device)
{
    ARTEL_TRY(artel__enter(v ? v->strategy->ctx : NULL, __func__, "variable device", v, device));
    ARTEL_TRY(artel__words_refuse(v, "devices"));
    artel_strategy *s = v->strategy;
    artel__device_name name;
    char text[ARTEL__DEVICE_TEXT];
    ARTEL_TRY(artel__device_name_read(s->ctx, device, &name));
    artel__device_name_write(&name, text);
    const char *copy = artel__arena_strdup(&s->arena, text);
    if (!copy) return ARTEL_ERROR_NO_MEMORY;
    v->device = name;
    v->device_text = copy;
    return ARTEL_OK;
}

const char *artel_variable_device(const artel_variable *v)
{
    return v && v->device_text ? v->device_text : "";
}
