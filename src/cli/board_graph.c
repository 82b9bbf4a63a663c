/* SPDX-License-Identifier: Apache-2.0 */
/* The forward pass in training as TensorFlow's GraphDef: an operation is a node in the box of its layer, a variable and
 * an input are nodes of their own. Row values have an open first extent, the batch; with open axes in the model, shapes
 * hold stand-ins and are left out.
 */
#include "cli/board_graph.h"

#include "graph/op_def.h"
#include "keras/summary.h"
#include "observe/graph_def.h"

typedef struct maker {
    const artel__graph *graph;
    artel__graph_def *def;
    artel__graph_edge *edge; /* of each value; node -1: not made yet */
    artel__text settings;
    bool shapes;
} maker;

static void full_shape(const artel__value *value, artel_shape *out)
{
    *out = value->shape;
    if (value->domain == ARTEL__DOMAIN_GLOBAL || out->rank == ARTEL_MAX_RANK) return;
    out->rank++;
    out->dim[0] = -1;
    for (int d = 0; d < value->shape.rank; d++) out->dim[d + 1] = value->shape.dim[d];
}

static void add(maker *m, artel__graph_node node, artel__value_id id)
{
    artel_shape shape;
    const artel__value *value = &m->graph->value[id];
    full_shape(value, &shape);
    node.shape = m->shapes || value->variable >= 0 ? &shape : NULL;
    node.dtype = value->precision ? value->precision : value->dtype;
    m->edge[id] = (artel__graph_edge){artel__graph_def_add(m->def, &node), 0};
}

/* The value as an operand; variables appear where they are first read. */
static artel__graph_edge edge_of(maker *m, artel__value_id id)
{
    const artel__value *value = &m->graph->value[id];
    if (m->edge[id].node < 0 && value->variable >= 0)
        add(m, (artel__graph_node){.scope = m->graph->variables->item[value->variable].name, .op = "Variable"}, id);
    return m->edge[id];
}

static artel_status add_node(maker *m, const artel__node *node)
{
    int inputs = 0;
    artel__graph_edge *input = artel__arena_alloc(m->graph->arena, (size_t)node->inputs + 1, sizeof *input);
    if (!input) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < node->inputs; k++) {
        if (node->input[k] >= 0) input[inputs++] = edge_of(m, node->input[k]);
    }
    artel__text_clear(&m->settings);
    if (node->op->describe) node->op->describe(node, &m->settings);
    ARTEL_TRY(artel__text_status(&m->settings));
    if (m->def->status == ARTEL_OK && node->outputs > 0)
        add(m,
            (artel__graph_node){.scope = node->name,
                                .op = node->op->name,
                                .input = input,
                                .inputs = inputs,
                                .settings = m->settings.length ? m->settings.data : NULL},
            node->output[0]);
    for (int k = 1; k < node->outputs; k++)
        m->edge[node->output[k]] = (artel__graph_edge){m->edge[node->output[0]].node, k};
    return m->def->status;
}

static artel_status add_all(maker *m, const artel__model *nn)
{
    m->edge = artel__arena_alloc(m->graph->arena, (size_t)m->graph->values + 1, sizeof *m->edge);
    if (!m->edge) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < m->graph->values; i++) m->edge[i].node = -1;
    for (int i = 0; i < nn->inputs && i < m->graph->inputs; i++)
        add(m, (artel__graph_node){.scope = nn->input[i].name, .op = "Placeholder"}, m->graph->input[i]);
    for (int i = 0; i < m->graph->nodes; i++) ARTEL_TRY(add_node(m, &m->graph->node[i]));
    return m->def->status;
}

/* The model called on inputs. */
static artel_status build(artel__model *nn, artel__graph *graph, bool *shapes)
{
    artel__tensor *in = artel__arena_alloc(graph->arena, (size_t)nn->inputs + 1, sizeof *in);
    artel__tensor *out = artel__arena_alloc(graph->arena, (size_t)nn->outputs + 1, sizeof *out);
    if (!in || !out) return ARTEL_ERROR_NO_MEMORY;
    *shapes = true;
    for (int i = 0; i < nn->inputs; i++) {
        artel_shape shape = artel__keras_fill_open(&nn->input[i].shape, 0);
        for (int d = 0; d < shape.rank; d++) *shapes = *shapes && nn->input[i].shape.dim[d] >= 0;
        in[i] =
            (artel__tensor){artel__graph_input(graph, ARTEL__DOMAIN_ROW, nn->input[i].dtype, &shape), ARTEL__NO_VALUE};
    }
    return artel__model_call(nn, graph, in, out);
}

static artel_status write_operations(const artel_model *model, artel__tensorboard *board, artel__arena *arena)
{
    artel__graph graph;
    artel__graph_def def;
    maker m = {.graph = &graph, .def = &def};
    artel__graph_init(&graph, arena, model->nn->variables, true);
    ARTEL_TRY(build(model->nn, &graph, &m.shapes));
    artel__graph_def_init(&def, model->ctx);
    artel__text_init(&m.settings, model->ctx);
    artel_status status = add_all(&m, model->nn);
    if (status == ARTEL_OK) status = artel__tensorboard_operations(board, &def);
    artel__text_fini(&m.settings);
    artel__graph_def_fini(&def);
    return status;
}

artel_status artel__board_write_graph(const artel_model *model, artel__tensorboard *board)
{
    artel__arena arena;
    char *json;
    artel__arena_init(&arena, model->ctx);
    artel_status status = write_operations(model, board, &arena);
    artel__arena_fini(&arena);
    ARTEL_TRY(status);
    ARTEL_TRY(artel__json_dump_string(model->ctx, model->nn->record, ARTEL__JSON_PYTHON, &json));
    status = artel__tensorboard_graph(board, json);
    artel__free(model->ctx, json);
    return status;
}
