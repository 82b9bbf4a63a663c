/* SPDX-License-Identifier: Apache-2.0 */
/* Adafactor and Muon as operations of the APPLY phase (keras/src/optimizers/adafactor.py, muon.py, 3.15).
 *
 * Both look at lines and columns, so gradient and variable are taken out of their panels first, and what they become is
 * put back. Means and products are those of the layers: the same bits on any number of replicas and threads.
 */
#include "nn/optimizer_matrix.h"

#include <ctype.h>
#include <string.h>

#include "kernel/narrow.h"
#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/embed.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/step_number.h"

static artel__value_id multiply(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, ARTEL__BINARY_MUL, a, b);
}

static artel__value_id divide(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, ARTEL__BINARY_DIV, a, b);
}

static artel__value_id unary(artel__graph *graph, artel__unary f, artel__value_id x)
{
    return artel__op_unary(graph, f, NULL, x);
}

static artel__value_id number(artel__graph *graph, double x)
{
    return artel__constant_scalar(graph, x);
}

/* A float64 [1] as a scalar of the variable's type. */
static artel__value_id scalar_of(artel__graph *graph, artel__value_id x)
{
    artel_shape scalar = {.rank = 0};
    return artel__op_reshape(graph, artel__op_cast(graph, x, graph->real), &scalar);
}

/* The plain gradient after clipping, in Keras' order of operations (kernel/optimize.h). */
static artel__value_id clipped(artel__graph *graph, const artel__optimize *o, artel__value_id g)
{
    const double limits[3] = {-o->limit, o->limit, 0};
    if (o->clip == ARTEL__CLIP_VALUE) return artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, limits, g);
    if (o->clip == ARTEL__CLIP_NONE) return o->scale >= 0 ? divide(graph, g, o->scale) : g;
    artel__value_id norm = unary(graph, ARTEL__UNARY_SQRT, scalar_of(graph, o->squared_norm)),
                    limit = number(graph, o->limit);
    if (o->clip == ARTEL__CLIP_NORM) {
        artel__value_id most = artel__op_binary(graph, ARTEL__BINARY_MAX, norm, limit);
        return divide(graph, multiply(graph, g, limit), most);
    }
    artel__value_id least = artel__op_binary(graph, ARTEL__BINARY_MIN, unary(graph, ARTEL__UNARY_RECIPROCAL, norm),
                                             number(graph, 1 / o->limit));
    return multiply(graph, g, multiply(graph, limit, least));
}

/* What a variable or slot becomes. */
static void write_back(artel__graph *graph, artel__value_id variable, artel__value_id x, int64_t rows)
{
    if (graph->status < 0) return;
    bool panels = graph->value[variable].layout == ARTEL__LAYOUT_PANELS;
    artel__op_assign(graph, variable, panels ? artel__op_panels_of(graph, x, rows) : x);
}

/* w - w * decay * rate */
static artel__value_id decayed(artel__graph *graph, artel__value_id w, double decay)
{
    if (decay == 0) return w;
    artel__value_id lost = multiply(graph, artel__op_affine(graph, w, artel__round_to_float32(decay), 0),
                                    artel__op_step_number(graph, ARTEL__STEP_RATE, 0));
    return artel__op_binary(graph, ARTEL__BINARY_SUB, w, lost);
}

/* -- Adafactor -- */

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

static void adafactor(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                      const artel__optimize *o, artel__value_id g, artel__value_id squares)
{
    const struct artel__matrix_options *s = optimizer->matrix;
    int64_t rows = variable->rows;
    factored f = {.kept = artel__op_step_number(graph, ARTEL__STEP_KEPT, s->beta_2_decay)};
    f.rest = artel__op_affine(graph, f.kept, -1, 1);
    artel__value_id w = decayed(graph, artel__op_plain(graph, o->variable, rows), optimizer->weight_decay);
    artel__value_id size =
        artel__op_binary(graph, ARTEL__BINARY_MAX, number(graph, artel__round_to_float32(s->epsilon_2)),
                         root_mean(graph, unary(graph, ARTEL__UNARY_SQUARE, w)));
    artel__value_id alpha = multiply(graph, size, artel__op_step_number(graph, ARTEL__STEP_RATE_DOWN, 0));
    bool occurrences = squares >= 0; /* of a table: their squares are added up, as in Keras on TensorFlow */
    if (!occurrences) squares = unary(graph, ARTEL__UNARY_SQUARE, g);
    if (graph->status < 0) return;
    artel__value_id v = second_moment(graph, &f, o, artel__op_affine(graph, squares, 1, s->epsilon_1), rows);
    write_back(graph, o->slot[2], v, rows);
    artel__value_id u = divide(graph, g, unary(graph, ARTEL__UNARY_SQRT, v));
    artel__value_id size_of_u =
        root_mean(graph, occurrences ? divide(graph, squares, v) : unary(graph, ARTEL__UNARY_SQUARE, u));
    artel__value_id too_large = divide(graph, size_of_u, number(graph, s->clip_threshold));
    u = divide(graph, u, artel__op_binary(graph, ARTEL__BINARY_MAX, number(graph, 1), too_large));
    write_back(graph, o->variable, artel__op_binary(graph, ARTEL__BINARY_SUB, w, multiply(graph, alpha, u)), rows);
}

/* -- Muon -- */

bool artel__matrix_adam(const artel__optimizer *optimizer, const artel__variable *variable)
{
    const struct artel__matrix_options *s = optimizer->matrix;
    char low[256];
    size_t i = 0;
    if (variable->shape.rank != 2) return true;
    for (; variable->name[i] && i + 1 < sizeof low; i++) low[i] = (char)tolower((unsigned char)variable->name[i]);
    low[i] = 0;
    if (s->exclude_embeddings && strstr(low, "embedding")) return true;
    for (int k = 0; k < s->excluded; k++) {
        if (strstr(variable->name, s->exclude_layers[k])) return true;
    }
    return false;
}

static artel__value_id turned(artel__graph *graph, artel__value_id x)
{
    return artel__op_transpose(graph, x, (int[]){1, 0});
}

/* a [m][k] times b [k][n]. */
static artel__value_id product(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape columns = artel__shape(1, graph->value[b].shape.dim[1]);
    if (graph->value[b].dtype != ARTEL_DTYPE_FLOAT64) b = artel__op_panels(graph, b);
    return artel__op_product(graph, a, b, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
}

/* A matrix near the orthogonal one that x is nearest to, by steps of Newton and Schulz. */
static artel__value_id orthogonal(artel__graph *graph, const struct artel__matrix_options *s, artel__value_id x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    bool tall = graph->value[x].shape.dim[0] > graph->value[x].shape.dim[1];
    if (tall) x = turned(graph, x);
    artel__value_id norm = unary(graph, ARTEL__UNARY_SQRT, scalar_of(graph, artel__op_squared_norm(graph, x)));
    x = divide(graph, x, artel__op_affine(graph, norm, 1, 1e-7));
    for (int64_t i = 0; i < s->ns_steps && graph->status == ARTEL_OK; i++) {
        artel__value_id a = product(graph, x, turned(graph, x));
        artel__value_id b = product(graph, artel__op_affine(graph, a, s->muon_c, 0), a);
        b = artel__op_add(graph, artel__op_affine(graph, a, s->muon_b, 0), b);
        artel__value_id fifth = product(graph, b, x);
        x = artel__op_add(graph, artel__op_affine(graph, x, s->muon_a, 0), fifth);
    }
    return tall ? turned(graph, x) : x;
}

static void muon(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                 const artel__optimize *o, artel__value_id g)
{
    const struct artel__matrix_options *s = optimizer->matrix;
    int64_t rows = variable->rows, *dim = (int64_t[]){variable->shape.dim[0], variable->shape.dim[1]};
    artel__value_id w = decayed(graph, artel__op_plain(graph, o->variable, rows), s->weight_decay);
    artel__value_id m = artel__op_plain(graph, o->slot[0], rows);
    m = artel__op_add(graph, m, artel__op_add(graph, g, artel__op_affine(graph, m, s->momentum - 1, 0)));
    write_back(graph, o->slot[0], m, rows);
    if (s->nesterov) g = artel__op_add(graph, g, artel__op_affine(graph, m, s->momentum, 0));
    artel__value_id step =
        multiply(graph, orthogonal(graph, s, s->nesterov ? g : m), artel__op_step_number(graph, ARTEL__STEP_RATE, 0));
    if (s->rms_rate > 0) {
        artel__value_id side =
            unary(graph, ARTEL__UNARY_SQRT, number(graph, (double)(dim[0] > dim[1] ? dim[0] : dim[1])));
        step = artel__op_affine(graph, multiply(graph, step, side), s->rms_rate, 0);
    }
    write_back(graph, o->variable, artel__op_binary(graph, ARTEL__BINARY_SUB, w, step), rows);
}

void artel__matrix_step(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                        const artel__optimize *o, artel__value_id gradient)
{
    artel__phase phase = graph->phase;
    artel_dtype precision = graph->precision, real = graph->real;
    artel__op_embedding_explain(graph, gradient, "the step reads lines and columns of it");
    artel__value_id squares = artel__op_embedding_squares(graph, gradient);
    graph->phase = ARTEL__PHASE_APPLY;
    graph->precision = ARTEL_DTYPE_FLOAT32;
    graph->real = variable->dtype == ARTEL_DTYPE_FLOAT64 ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32;
    artel__value_id g =
        clipped(graph, o, artel__op_reshape(graph, artel__op_plain(graph, gradient, variable->rows), &variable->shape));
    if (squares >= 0 && (o->clip != ARTEL__CLIP_NONE || o->scale >= 0)) squares = ARTEL__NO_VALUE;
    if (optimizer->def->form == ARTEL__FORM_ADAFACTOR)
        adafactor(optimizer, graph, variable, o, g, squares);
    else
        muon(optimizer, graph, variable, o, g);
    graph->phase = phase;
    graph->precision = precision;
    graph->real = real;
}
