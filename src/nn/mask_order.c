/* SPDX-License-Identifier: Apache-2.0 */
/* Who still sees the mask of a tensor. Keras' MultiHeadAttention takes the masks off the tensors that it is called
 * with: whatever is computed after it sees them without, an Add with what went around the attention among them. What
 * comes after is decided by the order in which Keras computes a Functional model, which is not that of sites: by depth,
 * the number of operations behind, and within that by the walk that finds it (keras/src/ops/function.py, map_graph).
 *
 * A mask lies on a tensor object. Layers that return the very object that they are given (a Dropout that drops nothing,
 * a model that ends in one) give it a second name, under which the mask is taken off as well; where a layer's dtype
 * policy converts an operand, it is a copy that loses its mask. Both depend on what is built: the first on whether it
 * is for training, the second is seen when the model is called first.
 */
#include <string.h>

#include "nn/layer_ops.h"
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
    return layer && (takes_all(layer) || (layer->model && layer->model->mask_taker[0]));
}

static bool has_taker(const artel__model *model)
{
    bool found = false;
    for (int i = 0; i < model->sites && !found; i++) found = may_take(model->site[i].layer);
    return found;
}

static bool is_converted(const artel__model_call_site *site, int k)
{
    return site->converted && site->converted[k];
}

/* The tensor of a call that each input of a model inside takes: -1 where none does. */
static artel_status find_places(artel__arena *arena, const artel__model_call_site *site, int **out)
{
    const artel__model *inner = site->layer->model;
    int *place = artel__arena_alloc(arena, (size_t)inner->inputs + 1, sizeof *place);
    if (!place) return ARTEL_ERROR_NO_MEMORY;
    artel__model_places(inner, site->arguments, site->inputs, place);
    for (int i = 0; i < inner->inputs; i++) place[i] = place[i] < site->inputs ? place[i] : -1;
    *out = place;
    return ARTEL_OK;
}

/* Which of its tensors a call takes the masks off: a model inside does what its layers do to its inputs. */
static artel_status find_taken(artel__arena *arena, const artel__model_call_site *site, bool training, bool *taken)
{
    const artel__model *inner = site->layer->model;
    int *place;
    for (int k = 0; k < site->inputs; k++) taken[k] = takes_all(site->layer);
    if (inner && inner->mask_taker[training]) {
        ARTEL_TRY(find_places(arena, site, &place));
        for (int i = 0; i < inner->sites; i++) {
            int k = inner->site[i].layer ? -1 : place[inner->site[i].input];
            if (k >= 0 && inner->mask_taker[training][i * ARTEL__LAYER_OUTPUTS] >= 0) taken[k] = true;
        }
    }
    for (int k = 0; k < site->inputs; k++) taken[k] = taken[k] && !is_converted(site, k);
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

static artel_status find_order(artel__model *model)
{
    size_t sites = (size_t)model->sites + 1;
    walk w = {.model = model,
              .found = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .stack = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .next = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .seen = artel__arena_alloc(model->arena, sites, sizeof(bool)),
              .depth = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .rank = artel__arena_alloc(model->arena, sites, sizeof(int)),
              .depth_of_layer = artel__arena_alloc(model->arena, (size_t)model->layers + 1, sizeof(int)),
              .order = artel__arena_alloc(model->arena, sites, sizeof(int *))};
    ARTEL_TRY(artel__arena_status(model->arena));
    for (int i = 0; i < model->sites; i++) w.rank[i] = -1;
    ARTEL_TRY(find_orders(&w, model->arena));
    for (int i = 0; i < model->outputs; i++) find_from(&w, model->result[i].call);
    find_depths(&w);
    model->mask_depth = w.depth;
    model->mask_rank = w.rank; /* -1: no result needs it */
    return ARTEL_OK;
}

static int number_of(const artel__model_tensor *tensor)
{
    return tensor->call * ARTEL__LAYER_OUTPUTS + tensor->output;
}

/* The objects that a model inside returns of those that it is given. */
static artel_status find_returned(const artel__model *model, const artel__model_call_site *site, bool training,
                                  int *made)
{
    const artel__model *inner = site->layer->model;
    const int *outer = model->mask_object[training], *object = inner->mask_object[training];
    int *place;
    ARTEL_TRY(find_places(model->arena, site, &place));
    for (int i = 0; i < inner->outputs && i < ARTEL__LAYER_OUTPUTS; i++) {
        int from = object[number_of(&inner->result[i])] / ARTEL__LAYER_OUTPUTS;
        int k = inner->site[from].layer ? -1 : place[inner->site[from].input];
        if (k >= 0 && !is_converted(site, k)) made[i] = outer[number_of(&site->in[k])];
    }
    return ARTEL_OK;
}

static artel_status find_objects(artel__model *model, bool training)
{
    int *object = model->mask_object[training];
    for (int i = 0; i < model->sites * ARTEL__LAYER_OUTPUTS; i++) object[i] = i;
    for (int i = 0; i < model->sites; i++) {
        const artel__model_call_site *site = &model->site[i];
        if (!site->layer || !site->inputs) continue;
        int *made = &object[i * ARTEL__LAYER_OUTPUTS];
        if (site->layer->model) ARTEL_TRY(find_returned(model, site, training, made));
        if (artel__layer_returns_input(site->layer, training) && !is_converted(site, 0))
            made[0] = object[number_of(&site->in[0])];
    }
    return ARTEL_OK;
}

static artel_status find_takers(artel__model *model, bool training)
{
    int *taker = model->mask_taker[training];
    for (int i = 0; i < model->sites * ARTEL__LAYER_OUTPUTS; i++) taker[i] = -1;
    for (int i = 0; i < model->sites; i++) {
        const artel__model_call_site *site = &model->site[i];
        if (model->mask_rank[i] < 0 || !may_take(site->layer)) continue;
        bool *taken = artel__arena_alloc(model->arena, (size_t)site->inputs + 1, sizeof *taken);
        if (!taken) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(find_taken(model->arena, site, training, taken));
        for (int k = 0; k < site->inputs; k++) {
            int *first = &taker[model->mask_object[training][number_of(&site->in[k])]];
            if (taken[k] && (*first < 0 || is_before(model, i, *first))) *first = i;
        }
    }
    return ARTEL_OK;
}

artel_status artel__model_order_masks(artel__model *model)
{
    size_t tensors = ((size_t)model->sites + 1) * ARTEL__LAYER_OUTPUTS;
    bool taken = has_taker(model);
    if (taken && !model->mask_depth) ARTEL_TRY(find_order(model));
    for (int training = 0; training < 2; training++) {
        if (!model->mask_object[training])
            model->mask_object[training] = artel__arena_alloc(model->arena, tensors, sizeof(int));
        if (taken && !model->mask_taker[training])
            model->mask_taker[training] = artel__arena_alloc(model->arena, tensors, sizeof(int));
        ARTEL_TRY(artel__arena_status(model->arena));
        ARTEL_TRY(find_objects(model, training));
        if (taken) ARTEL_TRY(find_takers(model, training));
    }
    return ARTEL_OK;
}

static artel_status settle_layer(const artel__layer *layer)
{
    if (layer->model) ARTEL_TRY(artel__model_settle_masks(layer->model));
    for (int i = 0; i < layer->child_count; i++) ARTEL_TRY(settle_layer(layer->child[i].layer));
    return ARTEL_OK;
}

artel_status artel__model_settle_masks(artel__model *model)
{
    for (int i = 0; i < model->layers; i++) ARTEL_TRY(settle_layer(model->layer[i]));
    return artel__model_order_masks(model);
}

/* Numbers reach a model inside in the dtypes of its inputs; those of 16 bits as float32, which are the same values
 * here.
 */
static artel_status note_inputs(const artel__model_call_site *site, artel__arena *arena, const artel__graph *graph,
                                const artel__tensor *given)
{
    const artel__model *inner = site->layer->model;
    int *place;
    ARTEL_TRY(find_places(arena, site, &place));
    for (int i = 0; i < inner->inputs; i++) {
        const artel__value *value = place[i] < 0 ? NULL : &graph->value[given[place[i]].value];
        if (value)
            site->converted[place[i]] =
                value->dtype != inner->input[i].dtype || value->precision != ARTEL_DTYPE_FLOAT32;
    }
    return ARTEL_OK;
}

artel_status artel__model_note_operands(artel__model *model, int site, const artel__graph *graph,
                                        const artel__tensor *given, const artel__call *call)
{
    artel__model_call_site *s = &model->site[site];
    if (s->converted) return ARTEL_OK;
    s->converted = artel__arena_alloc(model->arena, (size_t)s->inputs + 1, sizeof(bool));
    if (!s->converted) return ARTEL_ERROR_NO_MEMORY;
    if (s->layer->model) return note_inputs(s, model->arena, graph, given);
    for (int k = 0; k < call->inputs; k++) s->converted[k] = call->in[k].value != given[k].value;
    if (artel__is_operation(s->layer->def->class_name) && call->inputs)
        s->converted[0] = call->out[0].value != given[0].value;
    return ARTEL_OK;
}

bool artel__model_mask_is_taken(const artel__model *model, const artel__model_tensor *tensor, int site, bool training)
{
    if (!model->mask_taker[training]) return false;
    int taker = model->mask_taker[training][model->mask_object[training][number_of(tensor)]];
    return taker >= 0 && taker != site && (site < 0 || is_before(model, taker, site));
}
