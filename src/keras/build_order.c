/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a Functional model in the order in which Keras lists them, which is the order in which its files number
 * layers of one class: by falling distance from the outputs, then as a walk from the outputs back to the inputs meets
 * them (map_graph in keras/src/ops/function.py). What no output needs comes last: Keras does not see it.
 */
#include <stdlib.h>

#include "base/names.h"
#include "keras/build.h"

/* A node is a call of a layer, numbered by layers and calls. */
typedef struct node {
    int layer, parents, depth;
    int *parent;
    bool met;
} node;

typedef struct place {
    int layer, depth, met; /* met: as which one; -1: it was not */
} place;

typedef struct order {
    artel_builder *b;
    artel__names names; /* of layers */
    int layers, nodes, count;
    int *first; /* node of a layer */
    node *node;
    place *place;
    int *finished, *stack, *next;
} order;

static int node_of(const order *o, const json_t *history)
{
    const char *name = json_string_value(json_array_get(history, 0));
    const int *layer = name ? artel__names_find(&o->names, name) : NULL;
    return layer ? o->first[*layer] + (int)json_integer_value(json_array_get(history, 1)) : -1;
}

/* The tensors of a call's arguments, in their order; only counted without `out`. */
static int tensors_of(const order *o, json_t *value, int *out)
{
    json_t *history = json_object_get(json_object_get(value, "config"), "keras_history"), *item;
    const char *key;
    size_t i;
    int count = 0;
    if (history) {
        if (out) *out = node_of(o, history);
        return 1;
    }
    json_array_foreach(value, i, item) count += tensors_of(o, item, out ? out + count : NULL);
    json_object_foreach(value, key, item) count += tensors_of(o, item, out ? out + count : NULL);
    return count;
}

static json_t *layer_record(const order *o, int layer)
{
    return json_array_get(o->b->layers, (size_t)layer);
}

static artel_status count_nodes(order *o)
{
    o->layers = (int)json_array_size(o->b->layers);
    o->first = artel__arena_alloc(&o->b->arena, (size_t)o->layers + 1, sizeof *o->first);
    o->place = artel__arena_alloc(&o->b->arena, (size_t)o->layers + 1, sizeof *o->place);
    if (!o->first || !o->place) return ARTEL_ERROR_NO_MEMORY;
    for (int l = 0; l < o->layers; l++) {
        size_t calls = json_array_size(json_object_get(layer_record(o, l), "inbound_nodes"));
        ARTEL_TRY(artel__names_set(&o->names, json_string_value(json_object_get(layer_record(o, l), "name")), l));
        o->place[l] = (place){.layer = l, .depth = -1, .met = -1};
        o->first[l] = o->nodes;
        o->nodes += calls ? (int)calls : 1; /* an input's own */
    }
    size_t all = (size_t)o->nodes + 1;
    o->node = artel__arena_alloc(&o->b->arena, all, sizeof *o->node);
    o->finished = artel__arena_alloc(&o->b->arena, all, sizeof *o->finished);
    o->stack = artel__arena_alloc(&o->b->arena, all, sizeof *o->stack);
    o->next = artel__arena_alloc(&o->b->arena, all, sizeof *o->next);
    return artel__arena_status(&o->b->arena);
}

static artel_status read_nodes(order *o)
{
    for (int l = 0; l < o->layers; l++) {
        json_t *calls = json_object_get(layer_record(o, l), "inbound_nodes"), *call;
        size_t i;
        o->node[o->first[l]].layer = l;
        json_array_foreach(calls, i, call)
        {
            node *n = &o->node[o->first[l] + (int)i];
            *n = (node){.layer = l, .parents = tensors_of(o, call, NULL)};
            n->parent = artel__arena_alloc(&o->b->arena, (size_t)n->parents + 1, sizeof *n->parent);
            if (!n->parent) return ARTEL_ERROR_NO_MEMORY;
            tensors_of(o, call, n->parent);
        }
    }
    return ARTEL_OK;
}

/* Parents before their node, as the walk finishes with them. */
static void walk(order *o, int from, int *finished)
{
    int depth = 0;
    if (from < 0 || o->node[from].met) return;
    o->stack[0] = from;
    o->next[0] = 0;
    while (depth >= 0) {
        node *n = &o->node[o->stack[depth]];
        if (!n->met) {
            n->met = true;
            if (o->place[n->layer].met < 0) o->place[n->layer].met = o->count++;
        }
        while (o->next[depth] < n->parents && (n->parent[o->next[depth]] < 0 || o->node[n->parent[o->next[depth]]].met))
            o->next[depth]++;
        if (o->next[depth] < n->parents) {
            int parent = n->parent[o->next[depth]++];
            o->stack[++depth] = parent;
            o->next[depth] = 0;
        } else {
            o->finished[(*finished)++] = o->stack[depth--];
        }
    }
}

static void measure(order *o, int finished)
{
    for (int i = finished - 1; i >= 0; i--) {
        node *n = &o->node[o->finished[i]];
        place *p = &o->place[n->layer];
        if (p->depth > n->depth) n->depth = p->depth;
        p->depth = n->depth;
        for (int k = 0; k < n->parents; k++) {
            node *parent = n->parent[k] >= 0 ? &o->node[n->parent[k]] : n;
            if (parent != n && parent->depth < n->depth + 1) parent->depth = n->depth + 1;
        }
    }
}

static int compare(const void *one, const void *other)
{
    const place *a = one, *b = other;
    if (a->depth != b->depth) return a->depth > b->depth ? -1 : 1;
    if (a->met != b->met) return a->met < b->met ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

static artel_status rearrange(order *o)
{
    json_t *sorted = json_array();
    bool whole = sorted != NULL;
    qsort(o->place, (size_t)o->layers, sizeof *o->place, compare);
    for (int l = 0; l < o->layers; l++)
        whole = whole && json_array_append(sorted, layer_record(o, o->place[l].layer)) == 0;
    if (!whole) {
        json_decref(sorted);
        return artel__fail_memory(o->b->ctx, o->b->name, 0);
    }
    json_decref(o->b->layers);
    o->b->layers = sorted;
    for (int l = 0; l < o->layers; l++) o->first[o->place[l].layer] = l;
    for (int c = 0; c < o->b->calls; c++) o->b->call[c].layer = o->first[o->b->call[c].layer];
    return ARTEL_OK;
}

artel_status artel__builder_order(artel_builder *builder, const artel_tensor *outputs, int count)
{
    order o = {.b = builder, .names = {.arena = &builder->arena}};
    int finished = 0;
    if (builder->status < 0) return builder->status;
    ARTEL_TRY(count_nodes(&o));
    ARTEL_TRY(read_nodes(&o));
    for (int i = 0; i < count; i++) {
        const struct artel__built_call *call = &builder->call[outputs[i].call];
        walk(&o, o.first[call->layer] + call->node, &finished);
    }
    measure(&o, finished);
    return rearrange(&o);
}
