/* SPDX-License-Identifier: Apache-2.0 */
/* Adafactor (keras/src/optimizers/adafactor.py, 3.15): the second moment is kept of lines and columns. */
#include "nn/optimizer_matrix.h"

#include "kernel/narrow.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/step_number.h"

typedef struct settings {
    double beta_2_decay, epsilon_1, epsilon_2, clip_threshold;
    bool relative_step;
} settings;

static artel__value_id mean_along(artel__graph *graph, artel__value_id x, int axis, bool keep)
{
    return artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, 1u << axis, keep);
}

/* The root of the mean over all of it. */
static artel__value_id root_mean(artel__graph *graph, artel__value_id squares)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[squares].shape.rank;
    return unary(graph, ARTEL__UNARY_SQRT,
                 rank ? artel__op_reduce(graph, ARTEL__REDUCE_MEAN, squares, (1u << rank) - 1, false) : squares);
}

typedef struct factored {
    artel__value_id kept, rest; /* of the averages */
} factored;

static artel__value_id average_of(artel__graph *graph, const factored *f, artel__value_id old, artel__value_id now)
{
    artel__value_id fresh = multiply(graph, f->rest, now);
    return artel__op_add(graph, multiply(graph, f->kept, old), fresh);
}

/* x with an axis of extent 1 in front of axis `at`. */
static artel__value_id spread(artel__graph *graph, artel__value_id x, int at)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    for (int i = shape.rank++; i > at; i--) shape.dim[i] = shape.dim[i - 1];
    shape.dim[at] = 1;
    return artel__op_reshape(graph, x, &shape);
}

/* The second moment: of lines and columns, or of each element where there are none. */
static artel__value_id second_moment(artel__graph *graph, const factored *f, const artel__optimize *o,
                                     artel__value_id squares, int64_t rows)
{
    int rank = graph->value[squares].shape.rank;
    if (rank < 2) return average_of(graph, f, artel__op_plain(graph, o->slot[2], rows), squares);
    artel__value_id r = average_of(graph, f, o->slot[0], mean_along(graph, squares, rank - 1, false));
    artel__value_id c = average_of(graph, f, o->slot[1], mean_along(graph, squares, rank - 2, false));
    artel__op_assign(graph, o->slot[0], r);
    artel__op_assign(graph, o->slot[1], c);
    artel__value_id lines = divide(graph, r, mean_along(graph, r, rank - 2, true));
    artel__value_id columns = spread(graph, c, rank - 2);
    return multiply(graph, spread(graph, lines, rank - 1), columns);
}

static void take_step(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                      const artel__optimize *o, artel__value_id g, artel__value_id squares)
{
    const settings *s = optimizer->matrix;
    int64_t rows = variable->rows;
    factored f = {.kept = artel__op_step_number(graph, ARTEL__STEP_KEPT, s->beta_2_decay)};
    f.rest = artel__op_affine(graph, f.kept, -1, 1);
    artel__value_id w =
        artel__matrix_decayed(graph, artel__op_plain(graph, o->variable, rows), optimizer->weight_decay);
    artel__value_id size =
        artel__op_binary(graph, ARTEL__BINARY_MAX, number(graph, artel__round_to_float32(s->epsilon_2)),
                         root_mean(graph, unary(graph, ARTEL__UNARY_SQUARE, w)));
    artel__value_id alpha = multiply(graph, size, artel__op_step_number(graph, ARTEL__STEP_RATE_DOWN, 0));
    bool occurrences = squares >= 0; /* of a table: their squares are added up, as in Keras on TensorFlow */
    if (!occurrences) squares = unary(graph, ARTEL__UNARY_SQUARE, g);
    if (graph->status < 0) return;
    artel__value_id v = second_moment(graph, &f, o, artel__op_affine(graph, squares, 1, s->epsilon_1), rows);
    artel__matrix_write_back(graph, o->slot[2], v, rows);
    artel__value_id u = divide(graph, g, unary(graph, ARTEL__UNARY_SQRT, v));
    artel__value_id size_of_u =
        root_mean(graph, occurrences ? divide(graph, squares, v) : unary(graph, ARTEL__UNARY_SQUARE, u));
    artel__value_id too_large = divide(graph, size_of_u, number(graph, s->clip_threshold));
    u = divide(graph, u, artel__op_binary(graph, ARTEL__BINARY_MAX, number(graph, 1), too_large));
    artel__matrix_write_back(graph, o->variable,
                             artel__op_binary(graph, ARTEL__BINARY_SUB, w, multiply(graph, alpha, u)), rows);
}

#define SETTINGS settings
const artel__optimizer_def artel__optimizer_adafactor = {
    .class_name = "Adafactor",
    .name = "adafactor",
    .learning_rate = 0.001,
    .options = OPTIONS(FLOAT(beta_2_decay, "-0.8", -MUCH, MUCH, "a number"),
                       FLOAT(epsilon_1, "1e-30", 0, MUCH, "a small number"),
                       FLOAT(epsilon_2, "0.001", 0, MUCH, "a small number"),
                       FLOAT(clip_threshold, "1.0", 1e-30, MUCH, "a number above 0"),
                       TRUE(relative_step, "the rate is at most 1 / sqrt(t), as it always is")),
    .rule = ARTEL__RULE_ADAM, /* makes no step */
    .slot =
        (const artel__slot_row[ARTEL__APPLY_SLOTS]){
            {.name = "lines", .when = ARTEL__SLOT_ALWAYS, .form = ARTEL__SLOT_LINES},
            {.name = "columns", .when = ARTEL__SLOT_ALWAYS, .form = ARTEL__SLOT_COLUMNS},
            {.name = "velocity", .when = ARTEL__SLOT_ALWAYS}},
    .matrix = &(const artel__matrix_ops){.size = sizeof(settings), .step = take_step},
};
