/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: the classes and functions of keras.losses, put over the loss kernels (kernel/loss.h).
 *
 * The table has what the files of kernel/losses.list and nn/composed_losses.list say: of each loss its names, its
 * settings and what it wants as target. Two things follow Keras beyond the formula. Crossentropies of a prediction that
 * a softmax or sigmoid has just made work on the logits in front of it (_get_logits of Keras' TensorFlow backend), so
 * that saturated predictions keep their gradient. Hinge losses turn labels 0 and 1 into -1 and 1 when the whole batch
 * has no others, which is a fold over all rows.
 */
#include <string.h>
#include <strings.h>

#include "nn/custom.h"
#include "nn/loss.h"
#include "op/loss_float64.h"
#include "nn/loss_table.h"
#include "nn/record.h"
#include "op/elementwise.h"
#include "op/loss.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* Of the losses with kernels. */
typedef struct settings {
    int reduction; /* first, as in the settings of every loss */
    bool from_logits;
    double label_smoothing, alpha, gamma;
    int64_t axis;
#define LOSS_FIELDS
#include "kernel/losses.list"
#undef LOSS_FIELDS
} settings;

const char *const artel__loss_reductions[] = {"sum_over_batch_size",     "sum",  "mean",
                                              "mean_with_sample_weight", "none", NULL};

#define SETTINGS settings
#define SETTING(key) offsetof(settings, key)
/* What several losses have. */
#define LOGITS BOOL(from_logits, "false", "predictions are logits")
#define SMOOTHING OPTION(label_smoothing, FLOAT, "0.0", 0, 1, "share spread over all classes")
#define AXIS OPTION(axis, INT, "-1", 0, 0, "that of the classes")

#define COMPOSED_LOSS(name) extern const artel__loss_def artel__loss_of_##name;
#include "nn/composed_losses.list"
#undef COMPOSED_LOSS

static const artel__loss_def *const table[] = {
#define LOSS_CLASS(NAME, ...) &(const artel__loss_def){.op = ARTEL__LOSS_##NAME, .size = sizeof(settings), __VA_ARGS__},
#include "kernel/losses.list"
#undef LOSS_CLASS
#define COMPOSED_LOSS(name) &artel__loss_of_##name,
#include "nn/composed_losses.list"
#undef COMPOSED_LOSS
};

const artel__loss_def *artel__loss_find(const char *name)
{
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        const artel__loss_def *def = table[i];
        if (strcmp(def->class_name, name) == 0 || strcmp(def->function, name) == 0 ||
            artel__name_in(name, def->aliases))
            return def;
    }
    return NULL;
}

static artel_status unknown(artel_context *ctx, const char *name)
{
    const char *names[ARTEL__COUNT(table) * 3 + 1];
    size_t count = 0;
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        names[count++] = table[i]->class_name;
        names[count++] = table[i]->function;
        if (table[i]->aliases[0]) names[count++] = table[i]->aliases[0];
    }
    names[count] = NULL;
    return artel__record_unknown(ctx, "loss", "loss", name, names, "docs/losses.md");
}

/* -- reading -- */

/* A setting of the loss at its place; 0 where there is none. */
static double number_at(const artel__loss_config *loss, size_t place)
{
    double x = 0;
    if (place) memcpy(&x, (const char *)loss->config + place, sizeof x);
    return x;
}

static bool is_at(const artel__loss_config *loss, size_t place)
{
    return place && ((const char *)loss->config)[place];
}

static artel_status read_ignored(artel__arena *arena, artel__loss_config *out)
{
    const char *text = NULL;
    if (out->def->ignored) memcpy(&text, (const char *)out->config + out->def->ignored, sizeof text);
    if (!text) return ARTEL_OK;
    out->has_ignored = true;
    double number;
    if (artel__parse_int64(text, &out->ignored)) return ARTEL_OK;
    out->ignored = 0;
    if (artel__parse_double(text, &number) && number >= -0x1p31 && number < 0x1p31) {
        out->ignored = (int64_t)number;
        return ARTEL_OK;
    }
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, out->name, "write a class number, or null",
                       "ignore_class is %.100s", text);
}

artel_status artel__loss_configure(artel__arena *arena, const artel__loss_def *def, const char *name, json_t *config,
                                   artel__loss_config *out)
{
    void *s = artel__arena_alloc(arena, 1, def->size);
    if (!s) return ARTEL_ERROR_NO_MEMORY;
    *out =
        (artel__loss_config){.def = def, .config = s, .target = def->target, .name = artel__arena_strdup(arena, name)};
    if (!def->add) ((settings *)s)->axis = -1;
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(artel__record_options(arena, out->name, def->options, config, s));
    json_t *reduction = json_object_get(config, "reduction");
    int given = *(const int *)s; /* first in all settings */
    out->reduction = json_is_null(reduction) ? ARTEL__REDUCTION_NONE : (artel__loss_reduction)given;
    return read_ignored(arena, out);
}

/* {"class_name": "LossFunctionWrapper", "config": {"fn": FUNCTION, settings...}}; a new reference to the settings. */
static artel_status unwrap(artel__arena *arena, const artel__record *wrapper, artel__record *inner, json_t **config)
{
    ARTEL_TRY(artel__record_parse(arena->ctx, "loss", "loss function", json_object_get(wrapper->config, "fn"), inner));
    *config = artel__json_copy(wrapper->config);
    if (!*config) return artel__fail_memory(arena->ctx, "loss", 64);
    json_object_del(*config, "fn");
    return ARTEL_OK;
}

/* What an instance of the class is called. */
static const char *instance_name(const artel__loss_def *def)
{
    return def->instance ? def->instance : def->function;
}

bool artel__loss_is_by_shape(json_t *json)
{
    const char *name = json_string_value(json);
    return name && (strcasecmp(name, "crossentropy") == 0 || strcasecmp(name, "ce") == 0);
}

bool artel__loss_needs_target(const artel_shape *prediction)
{
    return prediction->rank > 0 && prediction->dim[prediction->rank - 1] != 1;
}

/* The name that "crossentropy" means for rows of these shapes; `target` is not read where none is needed. */
static const char *name_by_shape(const artel_shape *prediction, const artel_shape *target)
{
    if (!artel__loss_needs_target(prediction)) return "binary_crossentropy";
    bool numbers = target->rank < prediction->rank || target->dim[target->rank - 1] == 1;
    return numbers ? "sparse_categorical_crossentropy" : "categorical_crossentropy";
}

artel_status artel__loss_read(artel__arena *arena, json_t *json, artel__loss_config *out)
{
    artel__record record;
    ARTEL_TRY(artel__record_parse(arena->ctx, "loss", "loss", json, &record));
    json_t *own = NULL;
    const char *given = json_string_value(json_object_get(record.config, "name"));
    if (strcmp(record.name, "LossFunctionWrapper") == 0) {
        artel__record inner;
        ARTEL_TRY(unwrap(arena, &record, &inner, &own));
        record.name = inner.name;
        record.registered = inner.registered;
    }
    const artel__loss_def *def = record.registered ? NULL : artel__loss_find(record.name);
    const artel__custom_loss *custom =
        artel__extension_find(arena->ctx, ARTEL__EXTENSION_LOSS, record.registered ? record.registered : record.name);
    bool instance = def && strcmp(record.name, def->class_name) == 0;
    if (!given && def) given = instance ? instance_name(def) : record.name;
    artel_status status = ARTEL_OK;
    static const char *const vague[] = {"cross_entropy", "CrossEntropy", "CrossEntropyLoss", NULL};
    if (artel__loss_is_by_shape(json) || (!custom && artel__name_in(record.name, vague)))
        status = artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, "loss",
                             "name binary_crossentropy, categorical_crossentropy or sparse_categorical_crossentropy",
                             "which crossentropy \"%s\" means depends on the data, of which nothing is known here",
                             record.name);
    else if (!def && custom)
        status =
            artel__custom_loss_configure(arena, custom, given ? given : record.name, own ? own : record.config, out);
    else if (!def)
        status = unknown(arena->ctx, record.name);
    else
        status = artel__loss_configure(arena, def, given, own ? own : record.config, out);
    json_decref(own);
    return status;
}

artel_status artel__loss_read_for(artel__arena *arena, json_t *json, const artel_shape *prediction,
                                  const artel_shape *target, artel__loss_config *out)
{
    bool unknown_target = artel__loss_needs_target(prediction) && (!target || target->rank < 0);
    if (!artel__loss_is_by_shape(json) || unknown_target) return artel__loss_read(arena, json, out);
    json_t *meant = json_string(name_by_shape(prediction, target));
    if (!meant) return artel__fail_memory(arena->ctx, "loss", 64);
    artel_status status = artel__loss_read(arena, meant, out);
    json_decref(meant);
    return status;
}

artel_status artel__custom_loss_configure(artel__arena *arena, const artel__custom_loss *custom, const char *name,
                                          json_t *config, artel__loss_config *out)
{
    char *text = NULL;
    json_t *reduction = json_object_get(config, "reduction");
    *out = (artel__loss_config){.target = custom->target, .custom = custom, .name = artel__arena_strdup(arena, name)};
    for (int i = 0; json_is_string(reduction) && artel__loss_reductions[i]; i++) {
        if (strcmp(artel__loss_reductions[i], json_string_value(reduction)) == 0)
            out->reduction = (artel__loss_reduction)i;
    }
    if (config) ARTEL_TRY(artel__json_dump_string(arena->ctx, config, ARTEL__JSON_COMPACT, &text));
    out->config = artel__arena_strdup(arena, text ? text : "{}");
    artel__free(arena->ctx, text);
    return artel__arena_status(arena);
}

/* -- into a graph -- */

artel__value_id artel__with_last_axis(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0 || graph->value[x].shape.rank > 0) return x;
    artel_shape one = artel__shape(1, (int64_t)1);
    return artel__op_reshape(graph, x, &one);
}

/* The operand of the softmax or sigmoid that made `y`, or none. Which of the two does not matter to Keras, nor to a
 * softmax along which axis: categorical crossentropy of a sigmoid takes the sigmoid's operand for logits. */
static artel__value_id logits_behind(artel__graph *graph, artel__value_id y)
{
    int32_t index = graph->value[y].node;
    if (graph->value[y].precision)
        return ARTEL__NO_VALUE; /* converted for the loss, it is no softmax any more to Keras */
    if (index < 0 || !graph->node[index].op->describe) return ARTEL__NO_VALUE;
    const artel__node *node = &graph->node[index];
    artel__text found;
    artel__text_init(&found, artel__graph_context(graph));
    node->op->describe(node, &found);
    if (artel__text_status(&found) < 0) graph->status = ARTEL_ERROR_NO_MEMORY; /* not: "there are none" */
    bool made =
        node->inputs == 1 && (strcmp(found.data, "sigmoid") == 0 || artel__starts_with(found.data, "softmax axis="));
    artel__text_fini(&found);
    return made ? node->input[0] : ARTEL__NO_VALUE;
}

/* 2 y - 1 when all labels of the batch are 0 or 1 (convert_binary_labels_to_hinge of keras/src/losses/losses.py). */
static artel__value_id hinge_labels(artel__graph *graph, artel__value_id y)
{
    artel__value_id binary = artel__op_logical_or(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, y, 0),
                                                  artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, y, 1));
    artel__value_id others = artel__op_cast(graph, artel__op_logical_not(graph, binary), ARTEL_DTYPE_FLOAT32);
    artel__value_id count = artel__op_all_reduce(graph, artel__op_fold_weighted(graph, others, ARTEL__NO_VALUE));
    artel__value_id first = artel__op_slice(graph, artel__op_cast(graph, count, ARTEL_DTYPE_FLOAT32), 0, 0, 1, 1);
    artel__value_id none = artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, first, 0);
    return artel__op_where(graph, none, artel__op_affine(graph, y, 2.0f, -1.0f), y);
}

/* `real`: the type that the loss computes in. */
static artel__value_id ready_target(artel__graph *graph, const artel__loss_def *def, artel__value_id target,
                                    artel_dtype real)
{
    if (def->target == ARTEL__TARGET_INDEX)
        return graph->value[target].dtype == ARTEL_DTYPE_FLOAT32 && real == ARTEL_DTYPE_FLOAT32
                   ? target
                   : artel__op_cast(graph, target, ARTEL_DTYPE_INT32);
    target = artel__op_cast(graph, target, real);
    return def->form == ARTEL__LOSS_TAKES_SIGNS ? hinge_labels(graph, target) : target;
}

static artel__value_id to_probabilities(artel__graph *graph, const artel__loss_def *def, artel__value_id logits)
{
    return def->target == ARTEL__TARGET_ONE_HOT ? artel__op_softmax(graph, ARTEL__SOFTMAX, logits, -1)
                                                : artel__op_unary(graph, ARTEL__UNARY_SIGMOID, NULL, logits);
}

/* The axis of the classes, or -1 when it cannot be: the batch, or, of classes by number, another than the last. */
static int class_axis(const artel__loss_config *loss, int rank)
{
    const settings *s = loss->config;
    int axis = s->axis == -1 ? rank - 1 : artel__row_axis(s->axis, rank);
    return loss->def->target == ARTEL__TARGET_INDEX && axis != rank - 1 ? -1 : axis;
}

/* Both operands with the classes on the last axis. Keras spreads label_smoothing over the last axis all the same: done
 * here then. */
static void turn(artel__graph *graph, const artel__loss_config *loss, artel__value_id *target,
                 artel__value_id *prediction, float *smoothing)
{
    const settings *s = loss->config;
    if (graph->status < 0 || s->axis == -1) return;
    int rank = graph->value[*prediction].shape.rank, axis = class_axis(loss, rank);
    if (axis < 0) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, loss->name,
                                    "put the classes on the last axis and leave axis at -1",
                                    "axis %lld is not supported", (long long)s->axis);
        return;
    }
    if (axis == rank - 1) return;
    if (loss->def->target == ARTEL__TARGET_ONE_HOT && *smoothing != 0) {
        artel_dtype real = graph->value[*prediction].dtype;
        double last = (double)graph->value[*prediction].shape.dim[rank - 1], taken = s->label_smoothing;
        bool wide = real == ARTEL_DTYPE_FLOAT64;
        *target = artel__op_cast(graph, *target, real);
        *target = artel__op_affine(graph, *target, wide ? 1 - taken : (double)(1.0f - *smoothing),
                                   wide ? taken / last : (double)(*smoothing / (float)last));
        *smoothing = 0;
    }
    bool alike = artel__shape_equal(&graph->value[*target].shape, &graph->value[*prediction].shape);
    *prediction = artel__op_axis_last(graph, *prediction, axis);
    if (alike) *target = artel__op_axis_last(graph, *target, axis);
}

/* The prediction is what it is: logits behind a softmax are not looked for. */
static artel__value_id add_float64(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                   artel__value_id prediction)
{
    const artel__loss_def *def = loss->def;
    if (loss->custom) {
        graph->status =
            artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, loss->name,
                        "cast both to float32, or write it with operations", "this loss does not compute in float64");
        return ARTEL__NO_VALUE;
    }
    prediction = artel__op_cast(graph, prediction, ARTEL_DTYPE_FLOAT64);
    if (def->add) return def->add(graph, loss, target, prediction);
    const settings *s = loss->config;
    artel__loss_float64 wide = {.op = def->op,
                                .name = loss->name,
                                .a = number_at(loss, def->constant[0]),
                                .b = number_at(loss, def->constant[1]),
                                .c = number_at(loss, def->constant[2]),
                                .balanced = is_at(loss, def->balance),
                                .has_ignored = loss->has_ignored,
                                .ignored = loss->ignored};
    if (def->form == ARTEL__LOSS_TAKES_LOGITS && s->from_logits) wide.op = (artel__loss)(def->op + 1);
    prediction = artel__with_last_axis(graph, prediction);
    float smoothing = (float)s->label_smoothing;
    turn(graph, loss, &target, &prediction, &smoothing);
    wide.smooths = smoothing != 0;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (def->form == ARTEL__LOSS_TAKES_PROBABILITIES && s->from_logits)
        prediction = to_probabilities(graph, def, prediction);
    return artel__loss_in_float64(graph, &wide, ready_target(graph, def, target, ARTEL_DTYPE_FLOAT64), prediction);
}

artel__value_id artel__loss_add(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                artel__value_id prediction)
{
    const artel__loss_def *def = loss->def;
    const settings *s = loss->config;
    if (graph->status < 0 || target < 0 || prediction < 0) return ARTEL__NO_VALUE;
    if (graph->value[target].dtype == ARTEL_DTYPE_FLOAT64 || graph->value[prediction].dtype == ARTEL_DTYPE_FLOAT64)
        return add_float64(graph, loss, target, prediction);
    if (loss->custom) return loss->custom->add(loss->custom->self, loss->config, graph, target, prediction);
    if (def->add) return def->add(graph, loss, target, prediction);
    artel__loss_input in = {.op = def->op,
                            .a = (float)number_at(loss, def->constant[0]),
                            .b = (float)number_at(loss, def->constant[1]),
                            .c = (float)number_at(loss, def->constant[2]),
                            .has_ignored_class = loss->has_ignored,
                            .ignored_class = (int32_t)loss->ignored};
    if (def->balance && !is_at(loss, def->balance)) in.b = -1.0f;
    bool logits = s->from_logits;
    if (def->form == ARTEL__LOSS_TAKES_LOGITS) {
        artel__value_id behind = logits_behind(graph, prediction);
        logits = logits || behind >= 0;
        if (behind >= 0) prediction = behind;
        if (logits) in.op = (artel__loss)(def->op + 1);
    }
    prediction = artel__with_last_axis(graph, prediction);
    turn(graph, loss, &target, &prediction, &in.a);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (def->form == ARTEL__LOSS_TAKES_PROBABILITIES && logits) prediction = to_probabilities(graph, def, prediction);
    return artel__op_loss(graph, &in, ready_target(graph, def, target, ARTEL_DTYPE_FLOAT32), prediction);
}

bool artel__loss_mixes_rows(const artel__loss_config *loss)
{
    return !loss->custom && loss->def->mixes_rows && loss->def->mixes_rows(loss);
}

float artel__loss_border(const artel__loss_config *loss)
{
    if (loss->custom || loss->def->add) return 0.5f;
    const settings *s = loss->config;
    return s->from_logits || loss->def->form == ARTEL__LOSS_TAKES_SIGNS ? 0.0f : 0.5f;
}

artel__value_id artel__loss_mask(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                 artel__value_id value)
{
    if (graph->status >= 0 && value >= 0 && !loss->custom && loss->def->masks_zeros)
        return artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, value, 0);
    if (!loss->has_ignored || graph->status < 0 || target < 0) return ARTEL__NO_VALUE;
    artel__value_id classes = artel__op_cast(graph, target, ARTEL_DTYPE_INT32);
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, classes, (double)loss->ignored);
}
