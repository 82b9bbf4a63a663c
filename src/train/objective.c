/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a mode: the model, its losses and metrics, and for training what objective_training.c adds.
 *
 * Reduction follows keras/src/losses/loss.py: the loss of an output is sum(loss * weight) / denominator, where the
 * denominator is the number of elements (a function of the batch alone), or a fold (sum of the mask, sum of weights)
 * that is finished before the backward pass starts. The backward pass starts from weights already divided, so that
 * gradient folds are plain sums. Metrics see the predictions of the same pass, as in Keras.
 */
#include "train/objective_impl.h"

#include <stdio.h>
#include <string.h>

#include "nn/ahead.h"
#include "nn/loss_overlap.h"
#include "op/elementwise.h"
#include "op/fuse.h"
#include "op/loss.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/stand_in.h"

typedef struct builder {
    artel_context *ctx;
    const artel__objective_request *request;
    artel__objective *objective;
    artel__graph *graph;
    artel__tensor *out;           /* of the model */
    artel__value_id *target;      /* by output */
    artel__value_id *weight;      /* by output: ROW [1] or of the target's shape, or none */
    bool *without;                /* by output: the data has the target without the last axis, of 1 */
    artel__value_id times;        /* GLOBAL [1]: what counts for every element of a loss that is not reduced, or none */
    artel__value_id *loss, *seed; /* by output; one more for what layers add (artel__graph.extra) */
    artel__value_id *penalty;
    int penalties;
} builder;

/* Results that are computed where rows are fetched come as inputs; what only they are computed from is not fed. */
static artel_status add_ahead(builder *b, artel__ahead *ahead, artel__tensor *in)
{
    const artel__cells *values = artel__feed_values(b->request->feed);
    ARTEL_TRY(b->graph->status);
    for (int i = 0; i < artel__program_values(ahead->program); i++) {
        if (ahead->value[i] < 0) ahead->value[i] = artel__ahead_stand_in(b->graph, values[i].dtype, &values[i].shape);
        if (i < ahead->program->inputs) in[i] = (artel__tensor){ahead->value[i], ARTEL__NO_VALUE};
    }
    ARTEL_TRY(artel__model_call(b->request->nn, b->graph, in, b->out));
    b->graph->ahead = NULL;
    return artel__ahead_check(b->graph);
}

static bool has_target(const builder *b, int i)
{
    return b->request->settings->output[i].has_loss || b->request->settings->output[i].metrics;
}

/* Index 0: of all outputs; others: of a target, as they are counted in the wants. */
static void set_weight(builder *b, int index, artel__value_id id)
{
    for (int i = 0, target = 0; i < b->request->nn->outputs; i++) {
        if (!has_target(b, i)) continue;
        target++;
        if (index == 0 || index == target) b->weight[i] = id;
    }
}

static artel_status add_inputs(builder *b)
{
    const artel__model *nn = b->request->nn;
    const artel__program *program = artel__feed_program(b->request->feed);
    artel__ahead ahead;
    int count;
    if (program) ARTEL_TRY(artel__ahead_replay(b->graph, program, &ahead));
    const artel__feed_array *arrays = artel__feed_arrays(b->request->feed, &count);
    artel__tensor *in = artel__arena_alloc(b->graph->arena, (size_t)nn->inputs, sizeof *in);
    if (!in) return ARTEL_ERROR_NO_MEMORY;
    int target = 0;
    for (int i = 0; i < count; i++) {
        artel_shape row = artel__feed_row(b->request->feed, &arrays[i], b->request->bucket);
        artel__value_id id = artel__graph_input(b->graph, ARTEL__DOMAIN_ROW, arrays[i].dtype, &row);
        bool input = arrays[i].role == ARTEL_DATA_ROLE_INPUT;
        if (input && program) artel__ahead_set(&ahead, arrays[i].index, id);
        if (input && !program) in[arrays[i].index] = (artel__tensor){id, ARTEL__NO_VALUE};
        if (arrays[i].role == ARTEL_DATA_ROLE_WEIGHT) set_weight(b, arrays[i].index, id);
        if (arrays[i].role != ARTEL_DATA_ROLE_TARGET) continue;
        while (target < nn->outputs && !has_target(b, target)) target++;
        if (target < nn->outputs) {
            b->without[target] = arrays[i].without;
            b->target[target++] = id;
        }
    }
    if (b->request->weighted && b->weight[0] < 0) {
        artel_shape one = {.rank = 0};
        set_weight(b, 0, artel__graph_input(b->graph, ARTEL__DOMAIN_ROW, artel__objective_weight_dtype(nn), &one));
    }
    return program ? add_ahead(b, &ahead, in) : artel__model_call(b->request->nn, b->graph, in, b->out);
}

/* -- targets in another form: a metric may want classes where the loss wants one-hot rows, or the reverse -- */

static artel__value_id adapt_target(builder *b, int i, artel__target_form form)
{
    artel__graph *graph = b->graph;
    artel__value_id target = b->target[i], prediction = b->out[i].value;
    if (graph->status < 0 || target < 0) return target;
    const artel__output_settings *output = &b->request->settings->output[i];
    artel__target_form own = output->has_loss ? output->loss.target : form;
    if (own == ARTEL__TARGET_NUMBER || own == ARTEL__TARGET_LIST || form == ARTEL__TARGET_NUMBER ||
        form == ARTEL__TARGET_LIST) {
        if (own == form) return target;
        graph->status = artel__fail(b->ctx, ARTEL_ERROR_UNSUPPORTED, b->request->nn->output[i].name,
                                    "leave the metric away", "a metric wants other targets than the loss");
        return ARTEL__NO_VALUE;
    }
    bool classes = graph->value[target].dtype == ARTEL_DTYPE_INT32;
    const artel_shape *shape = &graph->value[prediction].shape;
    if (form == ARTEL__TARGET_INDEX && !classes) {
        if (graph->value[target].storage == graph->value[prediction].storage && shape->dim[shape->rank - 1] > 1)
            return artel__op_argmax(graph, target);
        artel_shape without = *shape;
        without.rank--;
        return artel__op_reshape(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), &without);
    }
    if (form != ARTEL__TARGET_INDEX && classes) return artel__op_one_hot(graph, target, shape->dim[shape->rank - 1]);
    return target;
}

/* -- losses -- */

/* The mask that arrived with the prediction and the positions that are not ignored, both where both are. */
static artel__value_id output_mask(builder *b, int i, artel__value_id loss, artel__value_id counted)
{
    artel__graph *graph = b->graph;
    artel__value_id mask = b->out[i].mask;
    if (mask >= 0 && graph->value[mask].storage != graph->value[loss].storage) mask = ARTEL__NO_VALUE;
    if (mask < 0 || counted < 0) return mask >= 0 ? mask : counted;
    artel__value_id second = artel__op_reshape(graph, counted, &graph->value[loss].shape);
    return artel__op_logical_and(graph, artel__op_reshape(graph, mask, &graph->value[loss].shape), second);
}

/* Weights of an output in the shape of its loss: sample weights times the mask. `counted`: of artel__loss_mask, or
 * none. */
static artel__value_id output_weight(builder *b, int i, artel__value_id loss, artel__value_id counted,
                                     artel__value_id *mask)
{
    artel__graph *graph = b->graph;
    artel__value_id weight = b->weight[i];
    *mask = ARTEL__NO_VALUE;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (weight >= 0) weight = artel__op_cast(graph, weight, artel__real_of(graph, loss));
    artel__value_id both = output_mask(b, i, loss, counted);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (both >= 0) {
        artel_dtype real = artel__real_of(graph, loss);
        *mask = artel__op_reshape(graph, artel__op_cast(graph, both, real), &graph->value[loss].shape);
        if (weight < 0) return *mask;
        artel_shape shape = graph->value[loss].shape;
        if (graph->value[weight].storage == graph->value[loss].storage)
            weight = artel__op_reshape(graph, weight, &shape);
        else
            for (int d = 0; d < shape.rank; d++) shape.dim[d] = 1;
        if (graph->value[weight].storage == 1) weight = artel__op_reshape(graph, weight, &shape);
        return artel__op_binary(graph, ARTEL__BINARY_MUL, weight, *mask);
    }
    return weight;
}

/* `x` as Keras compares it with a target that has no last axis of 1: without that (squeeze_or_expand_to_same_rank), so
 * that the axis in front of it is the one that is reduced. Where weights or a mask go by positions, Keras fails, and
 * here the axis stays. */
static artel__value_id squeezed(const builder *b, int i, artel__value_id x)
{
    artel__graph *graph = b->graph;
    if (graph->status < 0 || x < 0 || !b->without[i] || b->out[i].mask >= 0) return x;
    if (b->weight[i] >= 0 && graph->value[b->weight[i]].storage != 1) return x;
    artel_shape shape = graph->value[x].shape;
    if (shape.rank < 2 || shape.dim[shape.rank - 1] != 1) return x;
    shape.rank--;
    return artel__op_reshape(graph, x, &shape);
}

/* The second number of a float64 [2] fold: a denominator. */
static artel__value_id second(artel__graph *graph, artel__value_id pair)
{
    return artel__op_slice(graph, pair, 0, 1, 1, 1);
}

/* Keras adds the losses of other outputs to one that is not reduced, element by element, and differentiates the sum of
 * that: they count once for each element. (Beside penalties it fails.) */
static void count_elements(builder *b, artel__value_id loss)
{
    artel__graph *graph = b->graph;
    if (graph->status < 0 || b->times >= 0) return;
    artel__value_id pair = artel__op_all_reduce(graph, artel__op_fold_weighted(graph, loss, ARTEL__NO_VALUE));
    artel__value_id count = second(graph, pair);
    b->times = artel__op_cast(graph, count, artel__real_of(graph, loss));
}

static void add_loss(builder *b, int i)
{
    artel__graph *graph = b->graph;
    artel__objective *o = b->objective;
    const artel__output_settings *output = &b->request->settings->output[i];
    artel__value_id mask, target = squeezed(b, i, adapt_target(b, i, output->loss.target));
    artel__value_id loss = artel__loss_add(graph, &output->loss, target, squeezed(b, i, b->out[i].value));
    artel__value_id weight = output_weight(b, i, loss, artel__loss_mask(graph, &output->loss, target, loss), &mask);
    if (weight >= 0 && artel__loss_mixes_rows(&output->loss)) weight = artel__loss_even_weight(graph, loss, weight);
    artel__value_id pair = artel__op_all_reduce(graph, artel__op_fold_weighted(graph, loss, weight));
    artel__value_id divisor = ARTEL__NO_VALUE;
    o->loss_kept[i] = artel__graph_keep(graph, pair);
    if (graph->status < 0) return;
    o->elements[i] = graph->value[loss].storage;
    bool single = weight < 0 && artel__loss_mixes_rows(&output->loss); /* there is one number to reduce */
    bool none = output->loss.reduction == ARTEL__REDUCTION_NONE &&
                !single; /* Keras: the gradient is that of the sum, the log is the mean */
    bool sum = output->loss.reduction == ARTEL__REDUCTION_SUM && !single;
    if (output->loss.reduction == ARTEL__REDUCTION_WEIGHTED_MEAN && weight >= 0)
        divisor = pair;
    else if (mask >= 0 && !sum && !none)
        divisor = artel__op_all_reduce(graph, artel__op_fold_weighted(graph, mask, mask));
    if (divisor >= 0) o->denominator_kept[i] = artel__graph_keep(graph, divisor);
    if (sum) o->elements[i] = 0;
    if (b->request->mode != ARTEL__MODE_TRAIN) return;
    artel__loss_seed seed = {.like = loss,
                             .weights = weight,
                             .scale = output->loss_weight,
                             .sum = sum || none,
                             .denominator = divisor >= 0 ? second(graph, divisor) : ARTEL__NO_VALUE};
    b->loss[i] = loss;
    b->seed[i] = artel__op_loss_seed(graph, &seed);
    if (none) count_elements(b, loss);
}

/* Penalties of activities: a mean over rows. */
static void add_extra(builder *b)
{
    artel__graph *graph = b->graph;
    int n = b->request->nn->outputs;
    if (graph->extra < 0) return;
    artel__value_id pair = artel__op_all_reduce(graph, artel__op_fold_weighted(graph, graph->extra, ARTEL__NO_VALUE));
    b->objective->extra_kept = artel__graph_keep(graph, pair);
    if (b->request->mode != ARTEL__MODE_TRAIN) return;
    artel__loss_seed seed = {
        .like = graph->extra, .weights = ARTEL__NO_VALUE, .denominator = ARTEL__NO_VALUE, .scale = 1};
    b->loss[n] = graph->extra;
    b->seed[n] = artel__op_loss_seed(graph, &seed);
}

/* -- metrics -- */

/* Predictions of a row, each along the last axis. */
static int64_t positions_of(const artel__graph *graph, artel__value_id prediction)
{
    if (graph->status < 0 || prediction < 0) return 1;
    const artel__value *value = &graph->value[prediction];
    int64_t last = value->shape.rank > 0 ? value->shape.dim[value->shape.rank - 1] : 1;
    return last > 0 && value->storage >= last ? value->storage / last : 1;
}

static void add_metrics(builder *b, int i)
{
    artel__objective *o = b->objective;
    const artel__model *nn = b->request->nn;
    const artel__output_settings *output = &b->request->settings->output[i];
    for (int k = 0; k < output->metrics; k++) {
        const artel__metric *metric = &output->metric[k];
        artel__value_id target = adapt_target(b, i, metric->target), mask, weight = ARTEL__NO_VALUE;
        artel__value_id prediction = b->out[i].value;
        artel__value_id fed = b->weight[i];
        if (!output->weighted[k]) b->weight[i] = ARTEL__NO_VALUE; /* other metrics see the mask alone */
        weight = b->weight[i];
        if (weight >= 0 && b->graph->status == ARTEL_OK)
            weight = artel__op_cast(b->graph, weight, artel__real_of(b->graph, prediction));
        if (b->out[i].mask >= 0 && artel__metric_takes_mask(metric) && b->graph->status == ARTEL_OK) {
            artel__value_id like = artel__op_reduce(b->graph, ARTEL__REDUCE_SUM, prediction,
                                                    1u << (b->graph->value[prediction].shape.rank - 1), false);
            weight = output_weight(b, i, like, ARTEL__NO_VALUE, &mask);
        }
        b->weight[i] = fed;
        if (metric->target == ARTEL__TARGET_SAME && artel__metric_takes_mask(metric)) {
            target = squeezed(b, i, target);
            prediction = squeezed(b, i, prediction);
        }
        artel__value_id sums = artel__metric_add(b->graph, metric, target, prediction, weight);
        artel__metric_slot *slot = &o->slot[o->slots++];
        slot->positions = positions_of(b->graph, prediction);
        slot->metric = metric;
        slot->name =
            nn->outputs > 1 ? artel__arena_printf(&o->arena, "%s_%s", nn->output[i].name, metric->name) : metric->name;
        slot->kept = artel__graph_keep(b->graph, artel__op_all_reduce(b->graph, sums));
        slot->first = o->sums;
        o->sums += metric->sums;
    }
}

/* -- penalties of variables -- */

static artel_status add_penalty(void *user, const artel__model_variable *variable)
{
    builder *b = user;
    const artel__regularizer *r = &variable->variable->regularizer;
    if (!variable->trainable || artel__regularizer_is_none(r)) return ARTEL_OK;
    artel__value_id id = artel__op_stood_in(b->graph, artel__graph_variable(b->graph, variable->variable->index));
    b->graph->scope = variable->layer->scope;
    b->penalty[b->penalties++] = artel__regularizer_penalty(b->graph, r, id);
    return b->graph->status;
}

/* -- tokens -- */

/* The rows that a batch reads of the tables of the training graph, and nothing else. */
static artel_status add_tokens(builder *b)
{
    const artel__objective *training = b->request->training;
    artel__objective *o = b->objective;
    artel__graph *graph = b->graph;
    o->table = artel__arena_alloc(&o->arena, (size_t)training->tables + 1, sizeof *o->table);
    if (!o->table) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < training->tables; i++) {
        int trainable = training->table[i].trainable;
        artel__value_id table = artel__graph_variable(graph, b->request->slots->trainable[trainable]);
        artel__embedding_rows rows;
        const char *why;
        artel__value_id index = artel__op_embedding_index(graph, table, &why);
        if (index < 0)
            return artel__fail(b->ctx, ARTEL_ERROR_UNSUPPORTED,
                               b->request->variables->item[b->request->slots->trainable[trainable]].name,
                               "use multi-worker",
                               "a table is read by one embedding in training, and otherwise in evaluation: %s", why);
        artel__op_embedding_tokens(graph, table, index, &rows);
        if (graph->status < 0) return graph->status;
        o->table[o->tables++] = (artel__objective_table){.trainable = trainable,
                                                         .token = artel__graph_keep(graph, rows.token),
                                                         .count = artel__graph_keep(graph, rows.count),
                                                         .most = graph->batch_size * graph->value[rows.token].storage};
    }
    return artel__graph_seal(graph);
}

/* -- the whole -- */

static artel_status fuse(builder *b)
{
    int count = 0, outputs = b->request->nn->outputs;
    artel__value_id **held =
        artel__arena_alloc(b->graph->arena, (size_t)outputs * 2 + 1, sizeof *held); /* the last: extra */
    if (!held) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < outputs; i++) {
        held[count++] = &b->out[i].value;
        if (b->out[i].mask >= 0) held[count++] = &b->out[i].mask;
    }
    if (b->graph->extra >= 0) held[count++] = &b->graph->extra;
    return artel__op_fuse(b->graph, held, count);
}

static int count_metrics(const artel__settings *settings)
{
    int count = 0;
    for (int i = 0; i < settings->outputs; i++) count += settings->output[i].metrics;
    return count;
}

static artel_status allocate(builder *b)
{
    artel__objective *o = b->objective;
    size_t outputs = (size_t)b->request->nn->outputs;
    artel__arena *arena = &o->arena;
    b->out = artel__arena_alloc(arena, outputs, sizeof *b->out);
    b->target = artel__arena_alloc(arena, outputs, sizeof *b->target);
    b->weight = artel__arena_alloc(arena, outputs, sizeof *b->weight);
    b->without = artel__arena_alloc(arena, outputs, sizeof *b->without);
    b->loss = artel__arena_alloc(arena, outputs + 1, sizeof *b->loss);
    b->seed = artel__arena_alloc(arena, outputs + 1, sizeof *b->seed);
    b->penalty = artel__arena_alloc(arena, (size_t)b->request->nn->variables->count + 1, sizeof *b->penalty);
    o->loss_kept = artel__arena_alloc(arena, outputs, sizeof *o->loss_kept);
    o->denominator_kept = artel__arena_alloc(arena, outputs, sizeof *o->denominator_kept);
    o->elements = artel__arena_alloc(arena, outputs, sizeof *o->elements);
    o->prediction_kept = artel__arena_alloc(arena, outputs, sizeof *o->prediction_kept);
    o->slot = artel__arena_alloc(arena, (size_t)(b->request->settings ? count_metrics(b->request->settings) : 0) + 1,
                                 sizeof *o->slot);
    ARTEL_TRY(artel__arena_status(arena));
    b->loss[outputs] = b->seed[outputs] = b->times = ARTEL__NO_VALUE;
    for (size_t i = 0; i < outputs; i++) {
        b->target[i] = b->weight[i] = b->loss[i] = b->seed[i] = ARTEL__NO_VALUE;
        o->loss_kept[i] = o->denominator_kept[i] = o->prediction_kept[i] = -1;
    }
    o->penalty_kept = o->extra_kept = o->gate_kept = -1;
    return ARTEL_OK;
}

static artel_status build(builder *b)
{
    const artel__objective_request *request = b->request;
    artel__objective *o = b->objective;
    ARTEL_TRY(allocate(b));
    ARTEL_TRY(add_inputs(b));
    if (request->mode == ARTEL__MODE_TRAIN_TOKENS || request->mode == ARTEL__MODE_EVALUATE_TOKENS) return add_tokens(b);
    ARTEL_TRY(fuse(b));
    if (request->mode == ARTEL__MODE_PREDICT) {
        for (int i = 0; i < request->nn->outputs; i++)
            o->prediction_kept[i] = artel__graph_keep(b->graph, b->out[i].value);
        return artel__graph_seal(b->graph);
    }
    for (int i = 0; i < request->nn->outputs; i++) {
        b->graph->scope = "loss";
        if (request->settings->output[i].has_loss && b->target[i] >= 0) add_loss(b, i);
    }
    b->graph->scope = "activity";
    add_extra(b);
    for (int i = 0; i < request->nn->outputs; i++) {
        b->graph->scope = "metrics";
        if (b->target[i] >= 0) add_metrics(b, i);
    }
    b->graph->scope = "regularizers";
    ARTEL_TRY(artel__model_visit(request->nn, add_penalty, b));
    if (b->penalties)
        o->penalty_kept = artel__graph_keep(b->graph, artel__op_sum_scalars(b->graph, b->penalty, b->penalties));
    artel__objective_back back = {request, o, b->loss, b->seed, b->times, b->penalties > 0};
    if (request->mode == ARTEL__MODE_TRAIN) ARTEL_TRY(artel__objective_add_training(&back));
    o->recomputes = request->mode == ARTEL__MODE_TRAIN && request->recompute.extra_time > 0;
    if (o->recomputes) ARTEL_TRY(artel__graph_recompute(b->graph, &request->recompute, &o->recompute));
    return artel__graph_seal(b->graph);
}

artel_status artel__objective_create(artel_context *ctx, const artel__objective_request *request,
                                     artel__objective **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__objective), "objective", &block));
    artel__objective *objective = block;
    artel__arena_init(&objective->arena, ctx);
    artel__graph_init(&objective->graph, &objective->arena, request->variables, request->mode == ARTEL__MODE_TRAIN);
    objective->graph.batch_size = request->batch_size;
    objective->graph.batch_groups = request->batch_groups;
    builder b = {.ctx = ctx, .request = request, .objective = objective, .graph = &objective->graph};
    artel_status status = build(&b);
    if (status < 0) {
        artel__objective_destroy(objective);
        return status;
    }
    *out = objective;
    return ARTEL_OK;
}

void artel__objective_destroy(artel__objective *objective)
{
    if (!objective) return;
    artel_context *ctx = objective->arena.ctx;
    artel__arena_fini(&objective->arena);
    artel__free(ctx, objective);
}
