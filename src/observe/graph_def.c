/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_def.h. Like event files, encoded by hand: what is inside of a message is built before it. */
#include "observe/graph_def.h"

#include <string.h>

#include "base/protobuf.h"

enum {
    GRAPH_NODE = 1,
    GRAPH_VERSIONS = 4,
    VERSIONS_PRODUCER = 1
};
enum {
    NODE_NAME = 1,
    NODE_OP = 2,
    NODE_INPUT = 3,
    NODE_ATTRIBUTE = 5
};
enum {
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2
};
enum {
    ATTRIBUTE_LIST = 1,
    ATTRIBUTE_STRING = 2,
    ATTRIBUTE_TYPE = 6,
    LIST_SHAPE = 7,
    SHAPE_DIM = 2,
    DIM_SIZE = 1
};

/* tensorflow/core/framework/types.proto */
static const unsigned types[] = {
    [ARTEL_DTYPE_FLOAT32] = 1, [ARTEL_DTYPE_FLOAT64] = 2, [ARTEL_DTYPE_FLOAT16] = 19, [ARTEL_DTYPE_BFLOAT16] = 14,
    [ARTEL_DTYPE_INT8] = 6,    [ARTEL_DTYPE_INT16] = 5,   [ARTEL_DTYPE_INT32] = 3,    [ARTEL_DTYPE_INT64] = 9,
    [ARTEL_DTYPE_UINT8] = 4,   [ARTEL_DTYPE_UINT16] = 17, [ARTEL_DTYPE_UINT32] = 22,  [ARTEL_DTYPE_UINT64] = 23,
    [ARTEL_DTYPE_BOOL] = 10,   [ARTEL_DTYPE_STRING] = 7};

void artel__graph_def_init(artel__graph_def *graph, artel_context *ctx)
{
    *graph = (artel__graph_def){.nodes = 0};
    artel__arena_init(&graph->arena, ctx);
    graph->taken.arena = &graph->arena;
    artel__text *texts[] = {&graph->bytes, &graph->node, &graph->attribute, &graph->value, &graph->shape, &graph->part};
    for (size_t i = 0; i < ARTEL__COUNT(texts); i++) artel__text_init(texts[i], ctx);
}

void artel__graph_def_fini(artel__graph_def *graph)
{
    artel__text *texts[] = {&graph->bytes, &graph->node, &graph->attribute, &graph->value, &graph->shape, &graph->part};
    for (size_t i = 0; i < ARTEL__COUNT(texts); i++) artel__text_fini(texts[i]);
    artel__arena_fini(&graph->arena);
}

static bool settle(artel__graph_def *graph, artel_status status)
{
    if (graph->status == ARTEL_OK && status < 0) graph->status = status;
    return graph->status == ARTEL_OK;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A name that no node has. NULL when memory is out. */
static const char *choose_name(artel__graph_def *graph, const artel__graph_node *node)
{
    const char *scope = node->scope ? node->scope : "", *slash = scope[0] ? "/" : "";
    char *wanted = artel__arena_printf(&graph->arena, "%s%s%s%s",
                                       is_plain(scope[0] ? scope[0] : node->op[0]) ? "" : "x", scope, slash, node->op);
    for (char *c = wanted; c && *c; c++) {
        if (!is_plain(*c) && !strchr("_.-/", *c)) *c = '_';
    }
    const char *name = wanted;
    int *times = name ? artel__names_find(&graph->taken, name) : NULL;
    while (name && artel__names_find(&graph->taken, name))
        name = artel__arena_printf(&graph->arena, "%s_%d", wanted, ++*times);
    if (!name || !settle(graph, artel__names_set(&graph->taken, name, 0))) return NULL;
    if (graph->nodes == graph->capacity) {
        int capacity = graph->capacity ? 2 * graph->capacity : 64;
        const char **wider = artel__arena_alloc(&graph->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return NULL;
        for (int i = 0; i < graph->nodes; i++) wider[i] = graph->name[i];
        graph->name = wider;
        graph->capacity = capacity;
    }
    return graph->name[graph->nodes++] = name;
}

/* An entry of the node's map of attributes, whose value is in `value`. */
static void put_attribute(artel__graph_def *graph, const char *key)
{
    artel__text_clear(&graph->attribute);
    artel__put_string(&graph->attribute, ENTRY_KEY, key);
    artel__put_message(&graph->attribute, ENTRY_VALUE, &graph->value);
    artel__put_message(&graph->node, NODE_ATTRIBUTE, &graph->attribute);
    artel__text_clear(&graph->value);
}

static void put_shape(artel__graph_def *graph, const artel_shape *shape)
{
    artel__text_clear(&graph->shape);
    for (int d = 0; d < shape->rank; d++) {
        artel__text_clear(&graph->part);
        artel__put_integer(&graph->part, DIM_SIZE, (uint64_t)(shape->dim[d] < 0 ? -1 : shape->dim[d]));
        artel__put_message(&graph->shape, SHAPE_DIM, &graph->part);
    }
    artel__text_clear(&graph->part);
    artel__put_message(&graph->part, LIST_SHAPE, &graph->shape);
    artel__put_message(&graph->value, ATTRIBUTE_LIST, &graph->part);
    put_attribute(graph, "_output_shapes");
}

int artel__graph_def_add(artel__graph_def *graph, const artel__graph_node *node)
{
    if (graph->status < 0) return -1;
    const char *name = choose_name(graph, node);
    if (!name) {
        settle(graph, artel__arena_status(&graph->arena));
        return -1;
    }
    artel__text_clear(&graph->node);
    artel__text_clear(&graph->value);
    artel__put_string(&graph->node, NODE_NAME, name);
    artel__put_string(&graph->node, NODE_OP, node->op);
    for (int i = 0; i < node->inputs; i++) {
        const artel__graph_edge *from = &node->input[i];
        artel__text_clear(&graph->part);
        artel__text_printf(&graph->part, from->output ? "%s:%d" : "%s", graph->name[from->node], from->output);
        artel__put_message(&graph->node, NODE_INPUT, &graph->part);
    }
    artel__put_integer(&graph->value, ATTRIBUTE_TYPE, types[node->dtype]);
    put_attribute(graph, "T");
    if (node->shape) put_shape(graph, node->shape);
    if (node->settings && node->settings[0]) {
        artel__put_string(&graph->value, ATTRIBUTE_STRING, node->settings);
        put_attribute(graph, "settings");
    }
    artel__put_message(&graph->bytes, GRAPH_NODE, &graph->node);
    const artel__text *texts[] = {&graph->bytes, &graph->node,  &graph->attribute,
                                  &graph->value, &graph->shape, &graph->part};
    for (size_t i = 0; i < ARTEL__COUNT(texts); i++) settle(graph, artel__text_status(texts[i]));
    return graph->status < 0 ? -1 : graph->nodes - 1;
}

artel_status artel__graph_def_end(artel__graph_def *graph, const artel__text **out)
{
    if (graph->status < 0) return graph->status;
    artel__text_clear(&graph->part);
    artel__put_integer(&graph->part, VERSIONS_PRODUCER, 1);
    artel__put_message(&graph->bytes, GRAPH_VERSIONS, &graph->part);
    if (!settle(graph, artel__text_status(&graph->bytes))) return graph->status;
    *out = &graph->bytes;
    return ARTEL_OK;
}
