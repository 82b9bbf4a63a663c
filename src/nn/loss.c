/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: the classes and functions of keras.losses, put over the loss kernels (kernel/loss.h).
 *
 * A row of the table is one loss with its names, its settings and what it wants as target. Two things follow Keras
 * beyond the formula. Crossentropies of a prediction that a softmax or sigmoid has just made work on the logits in
 * front of it (_get_logits of Keras' TensorFlow backend), so that saturated predictions keep their gradient. Hinge
 * losses turn labels 0 and 1 into -1 and 1 when the whole batch has no others, which is a fold over all rows.
 */
#include <string.h>

#include "nn/custom.h"
#include "nn/loss.h"
#include "nn/loss_float64.h"
#include "nn/loss_overlap.h"
#include "nn/loss_table.h"
#include "nn/record.h"
#include "op/align.h"
#include "op/elementwise.h"
#include "op/loss.h"
#include "op/pairs.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct settings {
    int reduction;
    bool from_logits, apply_class_balancing, remove_diagonal;
    double label_smoothing, delta, alpha, gamma, beta, q, margin;
    int64_t axis;
    artel__ints axes;         /* of Dice and Tversky; none: the whole batch */
    const char *ignore_class; /* JSON: an integer, or NULL */
} settings;

/* What a loss does to its operands before the kernel. */
typedef enum form {
    FORM_PLAIN,
    FORM_LOGITS, /* the next kernel of the list takes logits: chosen by from_logits, or found behind the prediction */
    FORM_FOCAL,  /* logits become probabilities */
    FORM_HINGE,  /* labels 0, 1 of a batch become -1, 1 */
    FORM_DICE,   /* these are no kernels: nn/loss_overlap.h */
    FORM_TVERSKY,
    FORM_GENERALISED,
    FORM_ALIGNED, /* op/align.h */
    FORM_PAIRS    /* op/pairs.h */
} form;

struct artel__loss_def {
    const char *class_name, *function;
    const char *aliases[4];
    artel__loss op;
    form form;
    artel__target_form target;
    const artel__option *options;
};

static const char *const reductions[] = {"sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", NULL};

#define REDUCTION                                                                                               \
    {                                                                                                           \
        "reduction", "how the losses of a batch are joined", ARTEL__OPTION_ENUM, offsetof(settings, reduction), \
            "sum_over_batch_size", 0, 0, reductions                                                             \
    }
#define LOGITS                                                                                                       \
    {                                                                                                                \
        "from_logits", "predictions are logits", ARTEL__OPTION_BOOL, offsetof(settings, from_logits), "false", 0, 0, \
            NULL                                                                                                     \
    }
#define SMOOTHING                                                                                                     \
    {                                                                                                                 \
        "label_smoothing", "share spread over all classes", ARTEL__OPTION_FLOAT, offsetof(settings, label_smoothing), \
            "0.0", 0, 1, NULL                                                                                         \
    }
#define AXIS                                                                                         \
    {                                                                                                \
        "axis", "that of the classes", ARTEL__OPTION_INT, offsetof(settings, axis), "-1", 0, 0, NULL \
    }
#define NUMBER(key, fallback, help)                                                    \
    {                                                                                  \
#key, help, ARTEL__OPTION_FLOAT, offsetof(settings, key), fallback, 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option plain_options[] = {REDUCTION, END};
static const artel__option axis_options[] = {REDUCTION, AXIS, END};
static const artel__option cross_options[] = {REDUCTION, LOGITS, SMOOTHING, AXIS, END};
static const artel__option sparse_options[] = {REDUCTION,
                                               LOGITS,
                                               {"ignore_class", "a class that does not count, or null",
                                                ARTEL__OPTION_JSON, offsetof(settings, ignore_class), "null", 0, 0,
                                                NULL},
                                               AXIS,
                                               END};
static const artel__option huber_options[] = {REDUCTION, NUMBER(delta, "1.0", "where the parabola ends"), END};
static const artel__option binary_focal_options[] = {REDUCTION,
                                                     LOGITS,
                                                     SMOOTHING,
                                                     AXIS,
                                                     NUMBER(alpha, "0.25", "weight of class 1"),
                                                     NUMBER(gamma, "2.0", "focusing exponent"),
                                                     {"apply_class_balancing", "weigh classes by alpha",
                                                      ARTEL__OPTION_BOOL, offsetof(settings, apply_class_balancing),
                                                      "false", 0, 0, NULL},
                                                     END};
static const artel__option focal_options[] = {
    REDUCTION, LOGITS, SMOOTHING, AXIS, NUMBER(alpha, "0.25", "weight"), NUMBER(gamma, "2.0", "focusing exponent"),
    END};

#define AXES                                                                                                     \
    {                                                                                                            \
        "axis", "axes that are summed; null: with the batch, all", ARTEL__OPTION_INTS, offsetof(settings, axes), \
            "null", -8, 8, NULL                                                                                  \
    }
static const artel__option dice_options[] = {REDUCTION, AXES, END};
static const artel__option tversky_options[] = {REDUCTION, AXES, NUMBER(alpha, "0.5", "weight of what is missed"),
                                                NUMBER(beta, "0.5", "weight of what is added"), END};
static const artel__option generalised_options[] = {
    REDUCTION,
    {"q", "from forgiving no label (0) to many (1)", ARTEL__OPTION_FLOAT, offsetof(settings, q), "0.5", 1e-6, 1, NULL},
    END};

static const artel__option circle_options[] = {REDUCTION,
                                               NUMBER(gamma, "80.0", "scale"),
                                               NUMBER(margin, "0.4", "how far is near enough"),
                                               {"remove_diagonal", "a row is no partner of itself", ARTEL__OPTION_BOOL,
                                                offsetof(settings, remove_diagonal), "true", 0, 0, NULL},
                                               END};

/* Class, function, kernel, form, target, options; then other names. */
#define ROW(class_name, function, op, form, target, options, ...)                                           \
    {                                                                                                       \
        class_name, function, {__VA_ARGS__}, ARTEL__LOSS_##op, FORM_##form, ARTEL__TARGET_##target, options \
    }

static const artel__loss_def table[] = {
    ROW("MeanSquaredError", "mean_squared_error", MEAN_SQUARED_ERROR, PLAIN, SAME, plain_options, "mse", "MSE"),
    ROW("MeanAbsoluteError", "mean_absolute_error", MEAN_ABSOLUTE_ERROR, PLAIN, SAME, plain_options, "mae", "MAE"),
    ROW("MeanAbsolutePercentageError", "mean_absolute_percentage_error", MEAN_ABSOLUTE_PERCENTAGE_ERROR, PLAIN, SAME,
        plain_options, "mape", "MAPE"),
    ROW("MeanSquaredLogarithmicError", "mean_squared_logarithmic_error", MEAN_SQUARED_LOGARITHMIC_ERROR, PLAIN, SAME,
        plain_options, "msle", "MSLE"),
    ROW("Huber", "huber", HUBER, PLAIN, SAME, huber_options, NULL),
    ROW("LogCosh", "log_cosh", LOG_COSH, PLAIN, SAME, plain_options, "logcosh"),
    ROW("BinaryCrossentropy", "binary_crossentropy", BINARY_CROSSENTROPY, LOGITS, SAME, cross_options, "bce", "BCE"),
    ROW("CategoricalCrossentropy", "categorical_crossentropy", CATEGORICAL_CROSSENTROPY, LOGITS, ONE_HOT, cross_options,
        NULL),
    ROW("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", SPARSE_CATEGORICAL_CROSSENTROPY, LOGITS,
        INDEX, sparse_options, NULL),
    ROW("Hinge", "hinge", HINGE, HINGE, SAME, plain_options, NULL),
    ROW("SquaredHinge", "squared_hinge", SQUARED_HINGE, HINGE, SAME, plain_options, NULL),
    ROW("CategoricalHinge", "categorical_hinge", CATEGORICAL_HINGE, PLAIN, ONE_HOT, plain_options, NULL),
    ROW("KLDivergence", "kl_divergence", KL_DIVERGENCE, PLAIN, SAME, plain_options, "kld", "KLD",
        "kullback_leibler_divergence"),
    ROW("Poisson", "poisson", POISSON, PLAIN, SAME, plain_options, NULL),
    ROW("CosineSimilarity", "cosine_similarity", COSINE_SIMILARITY, PLAIN, SAME, axis_options, NULL),
    ROW("BinaryFocalCrossentropy", "binary_focal_crossentropy", BINARY_FOCAL_CROSSENTROPY, FOCAL, SAME,
        binary_focal_options, NULL),
    ROW("CategoricalFocalCrossentropy", "categorical_focal_crossentropy", CATEGORICAL_FOCAL_CROSSENTROPY, FOCAL,
        ONE_HOT, focal_options, NULL),
    ROW("Dice", "dice", MEAN_SQUARED_ERROR, DICE, SAME, dice_options, NULL),
    ROW("Tversky", "tversky", MEAN_SQUARED_ERROR, TVERSKY, SAME, tversky_options, NULL),
    ROW("CategoricalGeneralizedCrossEntropy", "categorical_generalized_cross_entropy", MEAN_SQUARED_ERROR, GENERALISED,
        INDEX, generalised_options, NULL),
    ROW("CTC", "ctc", MEAN_SQUARED_ERROR, ALIGNED, LIST, plain_options, NULL),
    ROW("Circle", "circle", MEAN_SQUARED_ERROR, PAIRS, NUMBER, circle_options, NULL),
};

const artel__loss_def *artel__loss_find(const char *name)
{
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        const artel__loss_def *def = &table[i];
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
        names[count++] = table[i].class_name;
        names[count++] = table[i].function;
        if (table[i].aliases[0]) names[count++] = table[i].aliases[0];
    }
    names[count] = NULL;
    return artel__record_unknown(ctx, "loss", "loss", name, names, "docs/losses.md");
}

/* -- reading -- */

static artel_status read_ignored(artel__arena *arena, const settings *s, artel__loss_config *out)
{
    if (!s->ignore_class) return ARTEL_OK;
    out->has_ignored = true;
    double number;
    if (artel__parse_int64(s->ignore_class, &out->ignored)) return ARTEL_OK;
    out->ignored = 0;
    if (artel__parse_double(s->ignore_class, &number) && number >= -0x1p31 && number < 0x1p31) {
        out->ignored = (int64_t)number;
        return ARTEL_OK;
    }
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, out->name, "write a class number, or null",
                       "ignore_class is %.100s", s->ignore_class);
}

artel_status artel__loss_configure(artel__arena *arena, const artel__loss_def *def, const char *name, json_t *config,
                                   artel__loss_config *out)
{
    settings *s = artel__arena_alloc(arena, 1, sizeof *s);
    if (!s) return ARTEL_ERROR_NO_MEMORY;
    *out =
        (artel__loss_config){.def = def, .config = s, .target = def->target, .name = artel__arena_strdup(arena, name)};
    s->axis = -1;
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(artel__record_options(arena, out->name, def->options, config, s));
    json_t *reduction = json_object_get(config, "reduction");
    if (json_is_null(reduction)) s->reduction = ARTEL__REDUCTION_NONE;
    out->reduction = (artel__loss_reduction)s->reduction;
    return read_ignored(arena, s, out);
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

/* What an instance of the class is called; only Huber's is not its function's. */
static const char *instance_name(const artel__loss_def *def)
{
    return def->op == ARTEL__LOSS_HUBER ? "huber_loss" : def->function;
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
    }
    const artel__loss_def *def = artel__loss_find(record.name);
    const artel__custom_loss *custom = artel__extension_find(arena->ctx, ARTEL__EXTENSION_LOSS, record.name);
    bool instance = def && strcmp(record.name, def->class_name) == 0;
    if (!given && def) given = instance ? instance_name(def) : record.name;
    artel_status status = ARTEL_OK;
    if (strcmp(record.name, "crossentropy") == 0 || strcmp(record.name, "ce") == 0)
        status = artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, "loss",
                             "name binary_crossentropy, categorical_crossentropy or sparse_categorical_crossentropy",
                             "which crossentropy \"%s\" means depends on the data", record.name);
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

artel_status artel__custom_loss_configure(artel__arena *arena, const artel__custom_loss *custom, const char *name,
                                          json_t *config, artel__loss_config *out)
{
    char *text = NULL;
    json_t *reduction = json_object_get(config, "reduction");
    *out = (artel__loss_config){.target = custom->target, .custom = custom, .name = artel__arena_strdup(arena, name)};
    for (int i = 0; json_is_string(reduction) && reductions[i]; i++) {
        if (strcmp(reductions[i], json_string_value(reduction)) == 0) out->reduction = (artel__loss_reduction)i;
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
    return def->form == FORM_HINGE ? hinge_labels(graph, target) : target;
}

static artel__value_id to_probabilities(artel__graph *graph, artel__loss op, artel__value_id logits)
{
    return op == ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY ? artel__op_unary(graph, ARTEL__UNARY_SIGMOID, NULL, logits)
                                                       : artel__op_softmax(graph, ARTEL__SOFTMAX, logits, -1);
}

static artel__value_id add_overlap(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                   artel__value_id prediction)
{
    const settings *s = loss->config;
    artel__overlap overlap = {
        .tversky = loss->def->form == FORM_TVERSKY, .whole = !s->axes.count, .alpha = s->alpha, .beta = s->beta};
    for (int i = 0; i < s->axes.count; i++) {
        int axis = artel__row_axis(s->axes.item[i], graph->value[prediction].shape.rank);
        if (axis < 0) {
            graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, loss->name,
                                        "leave axis null, or name axes of the output, the batch (0) excepted",
                                        "the axis %lld is not supported", (long long)s->axes.item[i]);
            return ARTEL__NO_VALUE;
        }
        overlap.axes |= 1u << axis;
    }
    return artel__loss_overlap(graph, &overlap, target, prediction);
}

/* The axis of the classes, or -1 when it cannot be: the batch, or, of classes by number, another than the last. */
static int class_axis(const artel__loss_config *loss, int rank)
{
    const settings *s = loss->config;
    int axis = s->axis == -1 ? rank - 1 : artel__row_axis(s->axis, rank);
    return loss->def->target == ARTEL__TARGET_INDEX && axis != rank - 1 ? -1 : axis;
}

/* `x` with that axis behind the others. */
static artel__value_id axis_last(artel__graph *graph, artel__value_id x, int axis)
{
    int order[ARTEL_MAX_RANK], n = 0;
    if (graph->status < 0 || axis >= graph->value[x].shape.rank - 1) return x;
    for (int i = 0; i < graph->value[x].shape.rank; i++) {
        if (i != axis) order[n++] = i;
    }
    order[n] = axis;
    return artel__op_transpose(graph, x, order);
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
    *prediction = axis_last(graph, *prediction, axis);
    if (alike) *target = axis_last(graph, *target, axis);
}

static artel__value_id add_pairs(artel__graph *graph, const settings *s, artel__value_id target,
                                 artel__value_id prediction)
{
    artel__pairs_settings pairs = {.gamma = s->gamma, .margin = s->margin, .others = s->remove_diagonal};
    return artel__op_pairs(graph, &pairs, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), prediction);
}

/* The prediction is what it is: logits behind a softmax are not looked for. */
static artel__value_id add_float64(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                   artel__value_id prediction)
{
    const artel__loss_def *def = loss->def;
    const settings *s = loss->config;
    if (loss->custom) {
        graph->status =
            artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, loss->name,
                        "cast both to float32, or write it with operations", "this loss does not compute in float64");
        return ARTEL__NO_VALUE;
    }
    if (def->form == FORM_ALIGNED) { /* Keras computes it in float32 */
        prediction = artel__op_cast(graph, prediction, ARTEL_DTYPE_FLOAT32);
        prediction = artel__op_align(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), prediction);
        return artel__op_cast(graph, prediction, ARTEL_DTYPE_FLOAT64);
    }
    prediction = artel__op_cast(graph, prediction, ARTEL_DTYPE_FLOAT64);
    if (def->form == FORM_PAIRS) return add_pairs(graph, s, target, prediction);
    if (def->form == FORM_DICE || def->form == FORM_TVERSKY) return add_overlap(graph, loss, target, prediction);
    if (def->form == FORM_GENERALISED)
        return artel__loss_generalised(graph, s->q, target, artel__with_last_axis(graph, prediction));
    artel__loss_float64 wide = {.op = def->op,
                                .name = loss->name,
                                .smoothing = s->label_smoothing,
                                .delta = s->delta,
                                .alpha = s->alpha,
                                .gamma = s->gamma,
                                .balanced = s->apply_class_balancing,
                                .has_ignored = loss->has_ignored,
                                .ignored = loss->ignored};
    if (def->form == FORM_LOGITS && s->from_logits) wide.op = (artel__loss)(def->op + 1);
    prediction = artel__with_last_axis(graph, prediction);
    float smoothing = (float)s->label_smoothing;
    turn(graph, loss, &target, &prediction, &smoothing);
    if (smoothing == 0) wide.smoothing = 0;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (def->form == FORM_FOCAL && s->from_logits) prediction = to_probabilities(graph, def->op, prediction);
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
    if (def->form == FORM_DICE || def->form == FORM_TVERSKY) return add_overlap(graph, loss, target, prediction);
    if (def->form == FORM_GENERALISED)
        return artel__loss_generalised(graph, s->q, target, artel__with_last_axis(graph, prediction));
    if (def->form == FORM_ALIGNED)
        return artel__op_align(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), prediction);
    if (def->form == FORM_PAIRS) return add_pairs(graph, s, target, prediction);
    artel__loss_input in = {.op = def->op,
                            .a = (float)s->label_smoothing,
                            .b = (float)s->alpha,
                            .c = (float)s->gamma,
                            .has_ignored_class = loss->has_ignored,
                            .ignored_class = (int32_t)loss->ignored};
    if (def->op == ARTEL__LOSS_HUBER) in.a = (float)s->delta;
    if (def->op == ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY && !s->apply_class_balancing) in.b = -1.0f;
    bool logits = s->from_logits;
    if (def->form == FORM_LOGITS) {
        artel__value_id behind = logits_behind(graph, prediction);
        logits = logits || behind >= 0;
        if (behind >= 0) prediction = behind;
        if (logits) in.op = (artel__loss)(def->op + 1);
    }
    prediction = artel__with_last_axis(graph, prediction);
    turn(graph, loss, &target, &prediction, &in.a);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (def->form == FORM_FOCAL && logits) prediction = to_probabilities(graph, def->op, prediction);
    return artel__op_loss(graph, &in, ready_target(graph, def, target, ARTEL_DTYPE_FLOAT32), prediction);
}

bool artel__loss_mixes_rows(const artel__loss_config *loss)
{
    const settings *s = loss->config;
    return !loss->custom && (loss->def->form == FORM_DICE || loss->def->form == FORM_TVERSKY) && !s->axes.count;
}

float artel__loss_border(const artel__loss_config *loss)
{
    const settings *s = loss->config;
    return !loss->custom && (s->from_logits || loss->def->form == FORM_HINGE) ? 0.0f : 0.5f;
}

artel__value_id artel__loss_mask(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                 artel__value_id value)
{
    if (graph->status >= 0 && value >= 0 && !loss->custom && loss->def->form == FORM_PAIRS)
        return artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, value, 0);
    if (!loss->has_ignored || graph->status < 0 || target < 0) return ARTEL__NO_VALUE;
    artel__value_id classes = artel__op_cast(graph, target, ARTEL_DTYPE_INT32);
    return artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, classes, (double)loss->ignored);
}
