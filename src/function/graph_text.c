/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of words as operations on an argument of text: each is a model of that layer alone, called as models of text
 * are (texts.c). */
#include "artel/build.h"
#include "function/function_impl.h"

bool artel__texts_is(const artel_graph *g, artel_value value)
{
    bool is = g->strategy && value >= 0 && value < g->places && g->graph->status == ARTEL_OK;
    return is && g->graph->value[g->place[value].value].dtype == ARTEL_DTYPE_STRING;
}

/* A model of a layer alone, which ends with the strategy. */
static artel_status make_model(artel_graph *g, const char *class_name, const char *settings, const artel_shape *row,
                               artel__adopted **out)
{
    artel_builder *builder;
    artel__adopted *made = artel__arena_alloc(&g->strategy->arena, 1, sizeof *made);
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel_sequential_create(g->ctx, NULL, ARTEL_DTYPE_STRING, row, &builder));
    (void)artel_layer_add(builder, class_name, settings);
    ARTEL_TRY(artel_sequential_finish(builder, &made->model));
    made->next = g->strategy->text_layer;
    g->strategy->text_layer = made;
    if (made->model->nn->variables->count > 0)
        return artel__fail(g->ctx, ARTEL_ERROR_UNSUPPORTED, class_name, "call it in a model",
                           "a layer of text with variables of its own is no operation");
    *out = made;
    return ARTEL_OK;
}

int artel__texts_layer(artel_graph *g, const char *class_name, const char *settings, const artel_value *inputs,
                       int count, artel_value *outputs)
{
    artel__adopted *made = NULL;
    if (count != 1) {
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, class_name, "call a model that takes them",
                            "a layer of text is an operation on one argument, and was given %d", count);
        return g->graph->status;
    }
    artel_status status = make_model(g, class_name, settings, &g->place[inputs[0]].shape, &made);
    if (status == ARTEL_OK) status = artel__graph_call_model(g, made, inputs, outputs);
    if (status < 0 && g->graph->status == ARTEL_OK) g->graph->status = status;
    return g->graph->status < 0 ? g->graph->status : 1;
}
