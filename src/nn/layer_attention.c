/* SPDX-License-Identifier: Apache-2.0 */
/* MultiHeadAttention, GroupQueryAttention.
 *
 * Projections are products with kernels [features][heads][size]; attention itself is one operation (op/recurrent.h).
 * Attention axes other than the default are moved together before and back behind. The masks of query, value and key,
 * an attention_mask and the causal one are joined by AND. Masked scores are what the TensorFlow backend of Keras 3.15
 * makes of them. After keras/src/layers/attention.
 */
#include <math.h>
#include <string.h>

#include "op/attention_float64.h"
#include "nn/layer_attention.h"
#include "nn/layer_recurrent.h"
#include "op/elementwise.h"
#include "op/recurrent.h"
#include "op/shape_ops.h"

typedef struct heads_config {
    int64_t num_heads, key_dim, value_dim, key_heads, sliding_window;
    double dropout;
    bool use_bias, use_gate;
} heads_config;

enum {
    QUERY,
    KEY,
    GATE,
    VALUE,
    OUTPUT,
    PROJECTIONS
};

typedef struct heads_parts {
    artel__weight_parts kernel, bias;
    artel__layer *dense[PROJECTIONS]; /* GATE may be NULL */
    artel__regularizer activity;      /* of each projection, as in Keras; GroupQueryAttention's own result has it too */
    artel_shape output;               /* extents of the result behind the attended axes; rank 0: those of the query */
    bool grouped;
} heads_parts;

#define CONFIG(field) offsetof(heads_config, field)
#define COMMON_OPTIONS                                                                                              \
    {"dropout", "share of the scores dropped", ARTEL__OPTION_FLOAT, CONFIG(dropout), "0", 0, 1, NULL},              \
        {"use_bias", "whether biases are added", ARTEL__OPTION_BOOL, CONFIG(use_bias), "true", 0, 0, NULL},         \
        {"use_gate", "a gate on the result", ARTEL__OPTION_BOOL, CONFIG(use_gate), "false", 0, 0, NULL},            \
        {"sliding_window", "reach of a query", ARTEL__OPTION_INT, CONFIG(sliding_window), "0", 0, INT32_MAX, NULL}, \
        ARTEL__PART("seed", "accepted; the run's seed decides"),                                                    \
        ARTEL__PART("flash_attention", "accepted; chooses nothing here"), ARTEL__WEIGHT_PARTS("kernel"),            \
        ARTEL__WEIGHT_PARTS("bias")

static const artel__option multi_head_options[] = {
    {"num_heads", "heads", ARTEL__OPTION_INT, CONFIG(num_heads), NULL, 1, INT32_MAX, NULL},
    {"key_dim", "size of a head of query and key", ARTEL__OPTION_INT, CONFIG(key_dim), NULL, 1, INT32_MAX, NULL},
    {"value_dim", "size of a head of the value", ARTEL__OPTION_INT, CONFIG(value_dim), "0", 0, INT32_MAX, NULL},
    ARTEL__PART("output_shape", "extents of the result, or null"),
    ARTEL__PART("attention_axes", "axes attended over, or null"),
    COMMON_OPTIONS,
    ARTEL__OPTIONS_END,
};

static const artel__option grouped_options[] = {
    {"head_dim", "size of a head", ARTEL__OPTION_INT, CONFIG(key_dim), NULL, 1, INT32_MAX, NULL},
    {"num_query_heads", "heads of the query", ARTEL__OPTION_INT, CONFIG(num_heads), NULL, 1, INT32_MAX, NULL},
    {"num_key_value_heads", "heads of key and value", ARTEL__OPTION_INT, CONFIG(key_heads), NULL, 1, INT32_MAX, NULL},
    COMMON_OPTIONS,
    ARTEL__OPTIONS_END,
};

/* `grouped` has no public names for its projections, hence their underscores in weights files; nor has the gate. */
static artel_status configure_heads(artel__layer *layer, bool grouped, heads_parts **out)
{
    static const char *const paths[] = {"_query_dense", "_key_dense", "_gate_dense", "_value_dense", "_output_dense"};
    static const char *const names[] = {"query", "key", "gate", "value", "attention_output"};
    heads_config *c = layer->config;
    heads_parts *parts = layer->own = *out = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    parts->grouped = grouped;
    parts->activity = layer->activity;
    if (!grouped) layer->activity = (artel__regularizer){0};
    if (!c->value_dim) c->value_dim = c->key_dim;
    if (!c->key_heads) c->key_heads = c->num_heads;
    if (c->num_heads % c->key_heads != 0)
        return artel__layer_fail(
            layer, ARTEL_ERROR_INVALID, "let the heads of the query be a multiple of those of the key",
            "%lld heads do not divide into %lld", (long long)c->num_heads, (long long)c->key_heads);
    ARTEL_TRY(artel__layer_weight_parts(layer, "kernel", "glorot_uniform", &parts->kernel));
    parts->kernel.matrix_fans = true;
    ARTEL_TRY(artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias));
    for (int i = 0; i < PROJECTIONS; i++) {
        if (i != GATE || c->use_gate)
            ARTEL_TRY(artel__layer_add_holder(layer, paths[i] + (i != GATE && !grouped), names[i], &parts->dense[i]));
    }
    return ARTEL_OK;
}

static artel_status configure_multi_head(artel__layer *layer)
{
    heads_parts *parts;
    ARTEL_TRY(configure_heads(layer, false, &parts));
    json_t *shape = artel__layer_setting(layer, "output_shape");
    size_t count = !shape ? 0 : json_is_array(shape) ? json_array_size(shape) : 1;
    for (size_t i = 0; i < count; i++) {
        int64_t extent = 0;
        if (count > 4 || !artel__json_integer(json_is_array(shape) ? json_array_get(shape, i) : shape, &extent) ||
            extent < 1 || extent > INT32_MAX)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                                     "the setting \"output_shape\" is no shape");
        parts->output.dim[parts->output.rank++] = extent;
    }
    return ARTEL_OK;
}

static artel_status configure_grouped(artel__layer *layer)
{
    heads_parts *parts;
    return configure_heads(layer, true, &parts);
}

/* -- the call's tensors -- */

/* Argument `name`, by keyword or at `position`; NULL when absent or null. */
static json_t *argument(const artel__call *call, const char *name, size_t position)
{
    json_t *given = artel__call_argument(call, name);
    if (!given) given = json_array_get(json_object_get(call->arguments, "args"), position);
    return json_is_null(given) ? NULL : given;
}

artel_status artel__attention_inputs(const artel__layer *layer, const artel__call *call, artel__tensor in[3])
{
    static const char *const names[] = {"query", "value", "key"};
    const artel__tensor none = {ARTEL__NO_VALUE, ARTEL__NO_VALUE};
    json_t *first = json_array_get(json_object_get(call->arguments, "args"), 0);
    bool list = !call->arguments || json_is_array(first);
    for (size_t i = 0; i < 3; i++) {
        in[i] = none;
        if (list && (int)i < call->inputs) in[i] = call->in[i];
        if (!list) in[i] = artel__call_tensor(call, argument(call, names[i], i));
    }
    if (in[0].value < 0 || in[1].value < 0)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "call the layer with query and value",
                                 "query or value is not given");
    if (in[2].value < 0) in[2].value = in[1].value;
    return ARTEL_OK;
}

bool artel__attention_flag(const artel__call *call, const char *name)
{
    return json_is_true(artel__call_argument(call, name));
}

/* -- variables -- */

static artel_status declare(artel__layer *holder, const heads_parts *parts, const artel_shape *kernel, int contracted,
                            bool use_bias)
{
    artel_shape bias = {.rank = kernel->rank - contracted};
    for (int i = 0; i < bias.rank; i++) bias.dim[i] = kernel->dim[contracted + i];
    ARTEL_TRY(artel__layer_declare(holder, "kernel", kernel, artel__shape_product(kernel, 0, contracted), true,
                                   &parts->kernel));
    return use_bias ? artel__layer_declare(holder, "bias", &bias, 0, true, &parts->bias) : ARTEL_OK;
}

static artel_status build_heads(artel__layer *layer, const artel__call *call)
{
    const heads_config *c = layer->config;
    heads_parts *parts = layer->own;
    artel__tensor in[3];
    ARTEL_TRY(artel__attention_inputs(layer, call, in));
    const artel_shape *shape[3];
    for (int i = 0; i < 3; i++) {
        shape[i] = &call->graph->value[in[i].value].shape;
        if (shape[i]->rank < 2 || shape[i]->rank + 2 > ARTEL_MAX_RANK || shape[i]->rank != shape[0]->rank ||
            (parts->grouped && shape[i]->rank != 2))
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "feed sequences of vectors",
                                     "query, value and key do not have the same axes");
    }
    int64_t features[3];
    for (int i = 0; i < 3; i++) features[i] = shape[i]->dim[shape[i]->rank - 1];
    artel_shape query = artel__shape(3, features[0], c->num_heads, c->key_dim),
                key = artel__shape(3, features[2], c->key_heads, c->key_dim);
    artel_shape value = artel__shape(3, features[1], c->key_heads, c->value_dim),
                gate = artel__shape(3, features[0], c->num_heads, c->value_dim);
    artel_shape output = artel__shape(3, c->num_heads, c->value_dim, features[0]);
    if (parts->output.rank) {
        output.rank = 2 + parts->output.rank;
        memcpy(output.dim + 2, parts->output.dim, (size_t)parts->output.rank * sizeof output.dim[0]);
    }
    ARTEL_TRY(declare(parts->dense[QUERY], parts, &query, 1, c->use_bias));
    ARTEL_TRY(declare(parts->dense[KEY], parts, &key, 1, c->use_bias));
    if (c->use_gate) ARTEL_TRY(declare(parts->dense[GATE], parts, &gate, 1, c->use_bias));
    ARTEL_TRY(declare(parts->dense[VALUE], parts, &value, 1, c->use_bias));
    return declare(parts->dense[OUTPUT], parts, &output, 2, c->use_bias);
}

static artel__value_id project(artel__graph *graph, const artel__layer *layer, int which, artel__value_id x,
                               int contracted)
{
    const heads_parts *parts = layer->own;
    const artel__layer *holder = parts->dense[which];
    bool use_bias = ((const heads_config *)layer->config)->use_bias;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel__value_id kernel = artel__layer_weight(holder, graph, 0);
    if (kernel < 0) return ARTEL__NO_VALUE;
    const artel_shape *shape = &graph->variables->item[holder->variable[0].index].shape;
    artel_shape columns = {.rank = shape->rank - contracted};
    for (int i = 0; i < columns.rank; i++) columns.dim[i] = shape->dim[contracted + i];
    artel__value_id bias = use_bias ? artel__layer_weight(holder, graph, 1) : ARTEL__NO_VALUE;
    artel__value_id y = artel__op_product(graph, x, kernel, bias, contracted, &columns, ARTEL__FUSED_NONE);
    artel__layer_penalise(graph, &parts->activity, y);
    return y;
}

/* -- masks -- */

artel__value_id artel__attention_mask(artel__graph *graph, artel__value_id mask, bool by_query)
{
    if (mask < 0 || graph->status < 0) return ARTEL__NO_VALUE;
    const artel__value *value = &graph->value[mask];
    artel_shape shape = by_query ? artel__shape(2, value->storage, 1) : artel__shape(2, 1, value->storage);
    return artel__op_reshape(graph, artel__op_cast(graph, mask, ARTEL_DTYPE_BOOL), &shape);
}

/* |i - j| < window as a constant [t][s]. */
static artel__value_id window_mask(artel__graph *graph, int64_t t, int64_t s, int64_t window)
{
    artel_shape shape = artel__shape(2, t, s);
    uint8_t *mask = artel__arena_alloc(graph->arena, (size_t)(t * s) + 1, 1);
    if (!mask) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < t; i++)
        for (int64_t j = 0; j < s; j++) mask[i * s + j] = i - j < window && j - i < window;
    return artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, mask);
}

static artel__value_id explicit_mask(const artel__call *call, const char *name, artel__value_id fallback)
{
    artel__value_id mask = artel__call_tensor(call, artel__call_argument(call, name)).value;
    return mask >= 0 ? mask : fallback;
}

/* An array as attention_mask, without Keras' first axis, of which it has one. */
static artel__value_id array_mask(const artel__layer *layer, artel__graph *graph, json_t *array, int attended)
{
    artel_shape shape;
    const float *numbers;
    bool none = !array || json_is_null(array) || json_is_integer(json_object_get(array, "tensor"));
    if (graph->status < 0 || none) return ARTEL__NO_VALUE;
    if (!artel__numbers_json(graph->arena, array, &shape, &numbers)) {
        graph->status = artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                                          "its attention_mask is neither a tensor nor an array that can be read");
        return ARTEL__NO_VALUE;
    }
    bool batch = shape.rank > 2 * attended;
    if (batch && shape.dim[0] != 1) {
        graph->status = artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give it the axes (1, queries, keys)",
                                          "an array as attention_mask is the same for all rows");
        return ARTEL__NO_VALUE;
    }
    for (int i = 0; batch && i < shape.rank - 1; i++) shape.dim[i] = shape.dim[i + 1];
    shape.rank -= batch;
    int64_t count = artel_shape_count(&shape);
    uint8_t *mask = artel__arena_alloc(graph->arena, (size_t)count + 1, 1);
    if (!mask) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    for (int64_t i = 0; i < count; i++) mask[i] = numbers[i] != 0;
    return artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, mask);
}

/* -- attention axes -- */

typedef struct axes_plan {
    uint32_t attended;
    bool moved;                      /* the attended axes are not the last ones before the features, or are several */
    int permutation[ARTEL_MAX_RANK]; /* of a row of the input */
} axes_plan;

static artel_status plan_axes(const artel__layer *layer, int rank, axes_plan *plan)
{
    json_t *axes = artel__layer_setting(layer, "attention_axes");
    size_t count = !axes ? 0 : json_is_array(axes) ? json_array_size(axes) : 1;
    *plan = (axes_plan){.attended = count ? 0 : (1u << (rank - 1)) - 1u};
    for (size_t i = 0; i < count; i++) {
        int64_t number = 0;
        bool read = artel__json_integer(json_is_array(axes) ? json_array_get(axes, i) : axes, &number);
        int axis = read ? artel__row_axis(number, rank) : -1;
        if (axis < 0 || axis >= rank - 1)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name axes between the batch and the features",
                                     "an attention axis does not exist");
        plan->attended |= 1u << axis;
    }
    plan->moved = plan->attended != 1u << (rank - 2);
    return ARTEL_OK;
}

/* [batch axes][attended axes as one][features]. */
static artel__value_id gather_axes(artel__graph *graph, axes_plan *plan, artel__value_id x)
{
    if (!plan->moved || graph->status < 0 || x < 0) return x;
    int rank = graph->value[x].shape.rank;
    x = artel__axes_last(graph, x, plan->attended | 1u << (rank - 1), plan->permutation);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = {.rank = 0};
    int batch = rank - 1 - artel__bit_count(plan->attended);
    for (int i = 0; i < batch; i++) out.dim[out.rank++] = in.dim[i];
    out.dim[out.rank++] = artel__shape_product(&in, batch, rank - 1);
    out.dim[out.rank++] = in.dim[rank - 1];
    return artel__op_reshape(graph, x, &out);
}

/* The result of `like`'s axes with the features of x. */
static artel__value_id scatter_axes(artel__graph *graph, const axes_plan *plan, artel__value_id x,
                                    const artel_shape *like, int features)
{
    if (!plan->moved || graph->status < 0 || x < 0) return x;
    const artel_shape *in = &graph->value[x].shape;
    artel_shape out = {.rank = 0};
    int inverse[ARTEL_MAX_RANK], batch = like->rank - 1;
    for (int i = 0; i < batch; i++) {
        inverse[plan->permutation[i]] = i;
        out.dim[out.rank++] = like->dim[plan->permutation[i]];
    }
    for (int i = 0; i < features; i++) {
        inverse[batch + i] = batch + i;
        out.dim[out.rank++] = in->dim[in->rank - features + i];
    }
    return artel__op_transpose(graph, artel__op_reshape(graph, x, &out), inverse);
}

/* [batch axes][heads][t][s] with t and s spread over the attended axes again. */
static artel__value_id spread_scores(artel__graph *graph, const axes_plan *plan, artel__value_id scores,
                                     const artel_shape *query, const artel_shape *key)
{
    if (artel__bit_count(plan->attended) < 2 || graph->status < 0) return scores;
    artel_shape in = graph->value[scores].shape, out = {.rank = in.rank - 2};
    memcpy(out.dim, in.dim, sizeof out.dim);
    for (int side = 0; side < 2; side++) {
        const artel_shape *shape = side ? key : query;
        for (int i = 0; i < shape->rank - 1 && out.rank < ARTEL_MAX_RANK; i++) {
            if (plan->attended >> i & 1u) out.dim[out.rank++] = shape->dim[i];
        }
    }
    return artel__op_reshape(graph, scores, &out);
}

/* -- how masks lie beside the scores -- */

/* [axes that are not attended][heads][attended axes of the query][those of the key]. */
typedef struct score_axes {
    artel_shape shape;
    int lead, attended; /* how many are not attended, are attended */
} score_axes;

static score_axes axes_of_scores(int64_t heads, const axes_plan *plan, const artel_shape *query, const artel_shape *key)
{
    score_axes axes = {.attended = artel__bit_count(plan->attended)};
    const artel_shape *side[] = {query, query, key};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < side[k]->rank - 1 && axes.shape.rank < ARTEL_MAX_RANK; i++) {
            if ((plan->attended >> i & 1u) == (k > 0)) axes.shape.dim[axes.shape.rank++] = side[k]->dim[i];
        }
        if (k == 0) axes.lead = axes.shape.rank, axes.shape.dim[axes.shape.rank++] = heads;
    }
    return axes;
}

/* The product of the axes not attended (0), the heads (1), the queries (2) or the keys (3) of `shape`. */
static int64_t part_of(const score_axes *axes, const artel_shape *shape, int part)
{
    int from[] = {0, axes->lead, axes->lead + 1, axes->lead + 1 + axes->attended, axes->shape.rank};
    return artel__shape_product(shape, from[part], from[part + 1]);
}

static artel__value_id misfit(const artel__layer *layer, artel__graph *graph)
{
    graph->status = artel__layer_fail(layer, ARTEL_ERROR_INVALID,
                                      "give it the axes (batch, queries, keys) or (batch, heads, queries, keys)",
                                      "the axes of a mask do not fit those of the scores");
    return ARTEL__NO_VALUE;
}

/* As Keras aligns an attention_mask: its last axes are the attended ones of query and key, and those in front of them
 * begin with the axes that are not attended. As [axes not attended][heads][t][s], each 1 where the mask has none. */
static artel__value_id align(const artel__layer *layer, artel__graph *graph, const score_axes *axes,
                             artel__value_id mask)
{
    if (mask < 0 || graph->status < 0) return ARTEL__NO_VALUE;
    const artel_shape *in = &graph->value[mask].shape, *all = &axes->shape;
    artel_shape own = {.rank = all->rank}, spread = own, out = artel__shape(4, 1, 1, 1, 1);
    int front = in->rank - 2 * axes->attended;
    if (front < 0 || front > axes->lead + 1) return misfit(layer, graph);
    for (int i = 0; i < all->rank; i++) {
        int from = i <= axes->lead ? (i < front ? i : -1) : i - axes->lead - 1 + front;
        own.dim[i] = from < 0 ? 1 : in->dim[from];
        if (own.dim[i] != 1 && own.dim[i] != all->dim[i]) return misfit(layer, graph);
    }
    bool same = true;
    for (int part = 0, i = 0; part < 4; part++) {
        bool whole = part_of(axes, &own, part) > 1;
        int end = i + (part == 0 ? axes->lead : part == 1 ? 1 : axes->attended);
        for (; i < end; i++) spread.dim[i] = whole ? all->dim[i] : 1;
        out.dim[part] = part_of(axes, &spread, part);
        same = same && out.dim[part] == part_of(axes, &own, part);
    }
    mask = artel__op_reshape(graph, artel__op_cast(graph, mask, ARTEL_DTYPE_BOOL), &own);
    return artel__op_reshape(graph, same ? mask : artel__op_broadcast_to(graph, mask, &spread), &out);
}

/* A mask of the query or of the key, of its attended axes or of all, in the same way. */
static artel__value_id align_side(const artel__layer *layer, artel__graph *graph, const score_axes *axes,
                                  artel__value_id mask, bool by_query)
{
    if (mask < 0 || graph->status < 0) return ARTEL__NO_VALUE;
    int64_t count = graph->value[mask].storage, lead = part_of(axes, &axes->shape, 0),
            length = part_of(axes, &axes->shape, by_query ? 2 : 3);
    if (count != length && count != lead * length) return misfit(layer, graph);
    artel_shape out =
        artel__shape(4, count / length, (int64_t)1, by_query ? length : (int64_t)1, by_query ? 1 : length);
    return artel__op_reshape(graph, artel__op_cast(graph, mask, ARTEL_DTYPE_BOOL), &out);
}

/* All masks of a call but the causal one, which is the operation's. */
static artel__value_id masks(const artel__layer *layer, const artel__call *call, const artel__tensor in[3],
                             const score_axes *axes)
{
    const heads_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id all, query = explicit_mask(call, "query_mask", in[0].mask),
                         value = explicit_mask(call, "value_mask", in[1].mask),
                         key = explicit_mask(call, "key_mask", in[2].mask),
                         given = explicit_mask(call, "attention_mask", ARTEL__NO_VALUE);
    /* Keras' MultiHeadAttention takes a query_mask, and the mask of the query instead of it. */
    if (!((const heads_parts *)layer->own)->grouped) query = in[0].mask;
    if (given < 0) given = array_mask(layer, graph, artel__call_argument(call, "attention_mask"), axes->attended);
    all = artel__attention_both(graph, align_side(layer, graph, axes, query, true),
                                align_side(layer, graph, axes, value, false));
    all = artel__attention_both(graph, all, align_side(layer, graph, axes, key, false));
    if (c->sliding_window > 0)
        all = artel__attention_both(
            graph, all,
            window_mask(graph, part_of(axes, &axes->shape, 2), part_of(axes, &axes->shape, 3), c->sliding_window));
    return artel__attention_both(graph, align(layer, graph, axes, given), all);
}

/* Keras leaves its operation of attention where there is dropout, be it for training only, where scores are returned,
 * and where sequences have further axes. */
static artel__hidden hidden_by(const artel__layer *layer, const artel__call *call, int rank)
{
    bool apart = ((const heads_config *)layer->config)->dropout > 0 ||
                 artel__attention_flag(call, "return_attention_scores") || rank != 2;
    return apart ? ARTEL__HIDDEN_ZERO : ARTEL__HIDDEN_REPLACED;
}

/* The result, and the probabilities before dropout. In float64 Keras rounds the scale, a Python number, on its way. */
static artel__value_id attend(artel__graph *graph, const artel__attention *attention, artel__value_id *scores)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (graph->value[attention->query].dtype != ARTEL_DTYPE_FLOAT64) {
        artel__value_id out = artel__op_attention(graph, attention);
        *scores = graph->status < 0 ? ARTEL__NO_VALUE : artel__graph_output(graph, out, 1);
        return out;
    }
    artel__attention_float64 how = {
        .attention = *attention, .scale = (double)attention->scale, .factor = ARTEL__NO_VALUE};
    return artel__attend_float64(graph, &how, scores);
}

static artel_status call_heads(artel__layer *layer, artel__call *call)
{
    const heads_config *c = layer->config;
    heads_parts *parts = layer->own;
    artel__graph *graph = call->graph;
    artel__tensor in[3];
    axes_plan plan;
    ARTEL_TRY(artel__attention_inputs(layer, call, in));
    artel_shape like = graph->value[in[0].value].shape, key_like = graph->value[in[2].value].shape;
    ARTEL_TRY(plan_axes(layer, like.rank, &plan));
    artel__value_id x[3];
    for (int i = 2; i >= 0; i--) x[i] = gather_axes(graph, &plan, artel__as_float(graph, in[i].value));
    ARTEL_TRY(graph->status);
    const score_axes axes = axes_of_scores(c->num_heads, &plan, &like, &key_like);
    artel__attention attention = {.query = project(graph, layer, QUERY, x[0], 1),
                                  .key = project(graph, layer, KEY, x[2], 1),
                                  .value = project(graph, layer, VALUE, x[1], 1),
                                  .mask = masks(layer, call, in, &axes),
                                  .scale = (float)(1.0 / sqrt((double)c->key_dim)),
                                  .causal = artel__attention_flag(call, "use_causal_mask"),
                                  .rate = c->dropout,
                                  .hidden = hidden_by(layer, call, like.rank)};
    artel__value_id scores, out = attend(graph, &attention, &scores);
    ARTEL_TRY(graph->status);
    if (c->use_gate) {
        artel__value_id gate = artel__op_unary(graph, ARTEL__UNARY_SIGMOID, NULL, project(graph, layer, GATE, x[0], 1));
        out = artel__op_binary(graph, ARTEL__BINARY_MUL, out, gate);
    }
    out = project(graph, layer, OUTPUT, out, 2);
    ARTEL_TRY(graph->status);
    int features = parts->output.rank ? parts->output.rank : 1;
    call->out[0] = (artel__tensor){scatter_axes(graph, &plan, out, &like, features), in[0].mask};
    call->outputs = 1;
    if (artel__attention_flag(call, "return_attention_scores"))
        call->out[call->outputs++] =
            (artel__tensor){spread_scores(graph, &plan, scores, &like, &key_like), ARTEL__NO_VALUE};
    return graph->status;
}

#define HEADS(symbol, name, table, configuration, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = {  \
        .class_name = name,                                 \
        .doc = sentence,                                    \
        .config_size = sizeof(heads_config),                \
        .options = table,                                   \
        .mask = ARTEL__MASK_OWN,                            \
        .configure = configuration,                         \
        .build = build_heads,                               \
        .call = call_heads,                                 \
    }

HEADS(multi_head_attention, "MultiHeadAttention", multi_head_options, configure_multi_head,
      "Attention with several heads.");
HEADS(group_query_attention, "GroupQueryAttention", grouped_options, configure_grouped,
      "Attention whose keys serve several heads.");
