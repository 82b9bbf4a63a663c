/* SPDX-License-Identifier: Apache-2.0 */
/* Who still sees the mask of a tensor. Keras' MultiHeadAttention takes the masks off the tensors that it is called
 * with: whatever is computed after it sees them without, an Add with what went around the attention among them. What
 * comes after is decided by the order in which Keras computes a Functional model, which is not that of sites: by depth,
 * the number of operations behind, and within that by the walk that finds it (keras/src/ops/function.py, map_graph).
 */
#include <string.h>

#include "nn/model.h"

typedef struct walk {
    const artel__model *model;
    int *found, count; /* sites, those that others need in front of them */
    int *stack, *next;
    bool *seen;
    int *depth, *rank, *depth_of_layer;
    int **order; /* by site */
    int ranks;
} walk;

static bool takes_all(const artel__layer *layer)
{
    return layer && strcmp(layer->def->class_name, "MultiHeadAttention") == 0;
}

static bool may_take(const artel__layer *layer)
{
    return layer && (takes_all(layer) || (layer->model && layer->model->mask_taker));
}

static bool has_taker(const artel__model *model)
{
    bool found = false;
    for (int i = 0; i < model->sites && !found; i++) found = may_take(model->site[i].layer);
    return found;
}

/* Which of its tensors a call takes the masks off: a model inside does what its layers do to its inputs. */
static artel_status find_taken(artel__arena *arena, const artel__model_call_site *site, bool *taken)
{
    const artel__model *inner = site->layer->model;
    for (int k = 0; k < site->inputs; k++) taken[k] = takes_all(site->layer);
    if (!inner || !inner->mask_taker) return ARTEL_OK;
    int *place = artel__arena_alloc(arena, (size_t)inner->inputs + 1, sizeof *place);
    if (!place) return ARTEL_ERROR_NO_MEMORY;
    artel__model_places(inner, site->arguments, site->inputs, place);
    for (int i = 0; i < inner->sites; i++) {
        int k = inner->site[i].layer ? -1 : place[inner->site[i].input];
        if (k >= 0 && k < site->inputs && inner->mask_taker[i * ARTEL__LAYER_OUTPUTS] >= 0) taken[k] = true;
    }
    return ARTEL_OK;
}

/* The tensors of each call in the order in which Keras walks over them: NULL where they stand so. */
static artel_status find_orders(walk *w, artel__arena *arena)
{
    for (int i = 0; i < w->model->sites; i++) {
        const artel__model_call_site *site = &w->model->site[i];
        int *order = artel__arena_alloc(arena, (size_t)site->inputs + 1, sizeof *order);
        if (!order) return ARTEL_ERROR_NO_MEMORY;
        bool whole = artel__flatten_tensors(site->arguments, order, site->inputs) == site->inputs;
        for (int k = 0; k < site->inputs && whole; k++) whole = order[k] >= 0 && order[k] < site->inputs;
        if (whole) w->order[i] = order;
    }
    return ARTEL_OK;
}

static int needed_by(const walk *w, int s, int k)
{
    return w->model->site[s].in[w->order[s] ? w->order[s][k] : k].call;
}

static void find_from(walk *w, int root)
{
    int top = 0;
    if (w->seen[root]) return;
    w->seen[root] = true;
    w->stack[top++] = root;
    while (top > 0) {
        int s = w->stack[top - 1];
        const artel__model_call_site *site = &w->model->site[s];
        if (w->next[s] == site->inputs) {
            w->found[w->count++] = s;
            top--;
            continue;
        }
        int needed = needed_by(w, s, w->next[s]++);
        if (w->seen[needed]) continue;
        w->seen[needed] = true;
        w->stack[top++] = needed;
    }
}

static void rank(walk *w, int s)
{
    if (w->rank[s] < 0) w->rank[s] = w->ranks++;
}

static void find_depths(walk *w)
{
    for (int i = w->count - 1; i >= 0; i--) {
        int s = w->found[i];
        const artel__model_call_site *site = &w->model->site[s];
        const int *number = site->layer ? artel__names_find(&w->model->layer_names, site->layer->name) : NULL;
        rank(w, s);
        if (number && *number >= 0) { /* all calls of a layer lie as deep as the deepest so far */
            int *of_layer = &w->depth_of_layer[*number];
            if (*of_layer > w->depth[s]) w->depth[s] = *of_layer;
            *of_layer = w->depth[s];
        }
        for (int k = 0; k < site->inputs; k++) {
            int needed = needed_by(w, s, k);
            rank(w, needed);
            if (w->depth[s] + 1 > w->depth[needed]) w->depth[needed] = w->depth[s] + 1;
        }
    }
}

static bool is_before(const artel__model *model, int a, int b)
{
    const int *depth = model->mask_depth, *order = model->mask_rank;
    return depth[a] != depth[b] ? depth[a] > depth[b] : order[a] < order[b];
}

artel_status artel__model_order_masks(artel__model *model)
{
    size_t sites = (size_t)model->sites + 1;
    if (!has_taker(model)) return ARTEL_OK;
    walk w = {.model = model,
              .found = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .stack = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .next = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .seen = artel__arena_alloc(model->arena, sites, sizeof(bool)),
              .depth = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .rank = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .depth_of_layer = artel__arena_alloc(model->arena, (size_t)model->layers + 1, sizeof(int)),
              .order = artel__arena_alloc(model->arena, sites, sizeof(int *))};
    int *taker = artel__arena_alloc(model->arena, sites * ARTEL__LAYER_OUTPUTS, sizeof *taker);
    ARTEL_TRY(artel__arena_status(model->arena));
    for (int i = 0; i < model->sites; i++) w.rank[i] = -1;
    for (size_t i = 0; i < sites * ARTEL__LAYER_OUTPUTS; i++) taker[i] = -1;
    ARTEL_TRY(find_orders(&w, model->arena));
    for (int i = 0; i < model->outputs; i++) find_from(&w, model->result[i].call);
    find_depths(&w);
    model->mask_depth = w.depth;
    model->mask_rank = w.rank;
    for (int i = 0; i < w.count; i++) {
        const artel__model_call_site *site = &model->site[w.found[i]];
        if (!may_take(site->layer)) continue;
        bool *taken = artel__arena_alloc(model->arena, (size_t)site->inputs + 1, sizeof *taken);
        if (!taken) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(find_taken(model->arena, site, taken));
        for (int k = 0; k < site->inputs; k++) {
            int *first = &taker[site->in[k].call * ARTEL__LAYER_OUTPUTS + site->in[k].output];
            if (taken[k] && (*first < 0 || is_before(model, w.found[i], *first))) *first = w.found[i];
        }
    }
    model->mask_taker = taker;
    return ARTEL_OK;
}

bool artel__model_mask_is_taken(const artel__model *model, const artel__model_tensor *tensor, int site)
{
    if (!model->mask_taker) return false;
    int taker = model->mask_taker[tensor->call * ARTEL__LAYER_OUTPUTS + tensor->output];
    return taker >= 0 && taker != site && (site < 0 || is_before(model, taker, site));
}
