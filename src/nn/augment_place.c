/* SPDX-License-Identifier: Apache-2.0 */
/* Images whose places are moved each by its own way: seen from another side, and as if drawn on rubber. After
 * keras/src/backend/tensorflow/image.py, of which the quirks are kept: what lies before an image is mirrored about its
 * first place, what lies behind it about its edge; both displacements of a place are one number, for both are drawn
 * with one seed.
 */
#include "nn/augment.h"
#include "op/formula.h"
#include "op/gather.h"
#include "op/matrix.h"

static artel__value_id join(artel__graph *graph, artel__value_id a, artel__value_id b, int axis)
{
    return artel__op_concat(graph, (artel__value_id[]){a, b}, 2, axis);
}

/* -- seen from another side -- */

/* The matrix of eight equations, two a corner, for what takes `to` (x, y) back to `from`:
 *   x y 1 0 0 0 -u x -u y   = u
 *   0 0 0 x y 1 -v x -v y   = v */
static artel__value_id equations(artel__graph *graph, artel__value_id from, artel__value_id to)
{
    artel_shape apart = artel__shape(3, (int64_t)4, (int64_t)1, (int64_t)2),
                each = artel__shape(3, (int64_t)4, (int64_t)2, (int64_t)1),
                all = artel__shape(2, (int64_t)8, (int64_t)8);
    artel__value_id corner = artel__op_reshape(graph, to, &apart);
    artel__value_id one = artel__op_fill_like(graph, artel__op_slice(graph, corner, 2, 0, 1, 1), 1);
    artel__value_id place = join(graph, corner, one, 2), none = artel__op_fill_like(graph, place, 0);
    artel__value_id second = join(graph, none, place, 2), lines = join(graph, join(graph, place, none, 2), second, 1);
    artel__value_id depth = product(graph, artel__op_reshape(graph, from, &each), corner);
    return artel__op_reshape(graph, join(graph, lines, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, depth), 2), &all);
}

artel__value_id artel__augment_perspective(artel__graph *graph, artel__value_id x, artel__value_id from,
                                           artel__value_id to, const artel__warp_settings *how)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape right = artel__shape(2, (int64_t)8, (int64_t)1), map = artel__shape(1, (int64_t)8);
    artel__warp_settings warp = *how;
    warp.height = graph->value[x].shape.dim[0];
    warp.width = graph->value[x].shape.dim[1];
    artel__value_id wanted = artel__op_reshape(graph, from, &right);
    artel__value_id solved = artel__op_matrix(graph, ARTEL__MATRIX_SOLVE, equations(graph, from, to), wanted);
    return artel__augment_warp(graph, x, artel__op_reshape(graph, solved, &map), &warp);
}

artel__value_id artel__augment_lean(artel__graph *graph, artel__value_id x, double scale,
                                    const artel__warp_settings *how)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape corners = artel__shape(2, (int64_t)4, (int64_t)2);
    double right = (double)(graph->value[x].shape.dim[1] - 1), bottom = (double)(graph->value[x].shape.dim[0] - 1);
    const double corner[] = {0, 0, right, 0, 0, bottom, right, bottom};
    artel__value_id from = artel__constant_numbers(graph, &corners, corner),
                    part = artel__augment_uniform(graph, x, -0.5 * scale, 0.5 * scale, &corners, false);
    return artel__augment_perspective(graph, x, from, artel__op_add(graph, from, product(graph, from, part)), how);
}

/* -- as if drawn on rubber -- */

/* Along one axis of [h][w], with zeros around: taps[k] exp(-(k / sigma)^2 / 2), scaled to add up to 1, for the `reach`
 * places on either side; those further away than three times the whole part of sigma count for nothing. sigma [1]. */
static artel__value_id smoothed(artel__graph *graph, artel__value_id x, artel__value_id sigma, int64_t reach, int axis)
{
    if (reach == 0 || graph->status < 0) return x;
    artel_shape all = artel__shape(1, 2 * reach + 1);
    int64_t around[2] = {0}, length = graph->value[x].shape.dim[axis];
    around[axis] = reach;
    artel__value_id far = artel__op_unary(
        graph, ARTEL__UNARY_ABS, NULL, artel__op_affine(graph, artel__augment_places(graph, &all), 1, -(float)reach));
    artel__value_id taps =
        artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, artel__op_binary(graph, ARTEL__BINARY_DIV, far, sigma));
    taps = artel__op_unary(graph, ARTEL__UNARY_EXPONENTIAL, NULL, artel__op_affine(graph, taps, -0.5f, 0));
    artel__value_id last = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, sigma), 3, 0);
    taps =
        artel__op_where(graph, artel__op_compare(graph, ARTEL__COMPARE_LESS_EQUAL, far, last), taps, ARTEL__NO_VALUE);
    taps = artel__op_binary(graph, ARTEL__BINARY_DIV, taps, artel__op_reduce(graph, ARTEL__REDUCE_SUM, taps, 1, true));
    artel__value_id wide = artel__op_pad(graph, x, around, around, 0), sum = ARTEL__NO_VALUE;
    for (int64_t k = 0; k <= 2 * reach; k++) {
        artel__value_id tap = artel__op_slice(graph, taps, 0, k, 1, 1);
        artel__value_id part = product(graph, artel__op_slice(graph, wide, axis, k, length, 1), tap);
        sum = k ? artel__op_add(graph, sum, part) : part;
    }
    return sum;
}

/* at - length * floor(at / length) */
static artel__value_id remainder_of(artel__graph *graph, artel__value_id at, double length)
{
    artel__value_id times =
        artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL,
                        artel__op_binary(graph, ARTEL__BINARY_DIV, at, artel__op_scalar(graph, length)));
    return artel__op_binary(graph, ARTEL__BINARY_SUB, at, artel__op_affine(graph, times, (float)length, 0));
}

/* Whole places along an axis of `length`, brought back into it; of constant filling `inside` says which were there. */
static artel__value_id bring_back(artel__graph *graph, artel__value_id at, int64_t length, artel__warp_fill mode,
                                  artel__value_id *inside)
{
    double last = (double)(length - 1);
    *inside = ARTEL__NO_VALUE;
    if (mode == ARTEL__WARP_REFLECT) {
        at = remainder_of(graph, artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, at), 2.0 * (double)length);
        artel__value_id under = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, at, (double)length);
        at = artel__op_where(graph, under, at, artel__op_affine(graph, at, -1, (float)(2 * length - 1)));
    } else if (mode == ARTEL__WARP_WRAP) {
        at = remainder_of(graph, at, (double)length);
    } else if (mode == ARTEL__WARP_CONSTANT) {
        *inside = artel__op_logical_and(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER_EQUAL, at, 0),
                                        artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS_EQUAL, at, last));
    }
    return artel__augment_clip(graph, at,
                               &(artel__bounds){0, last}); /* NaN, and what a rounded quotient has left outside, too */
}

/* One of the places that a result is made of: along each axis, where it is and what it counts. */
typedef struct side {
    artel__value_id at, weight, inside;
} side;

/* The pixels [h][w][c] at whole places [h][w]. */
static artel__value_id pixels(artel__graph *graph, artel__value_id x, const side *down, const side *across,
                              const artel__warp_settings *how)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, flat = artel__shape(2, in.dim[0] * in.dim[1], in.dim[2]),
                list = artel__shape(1, flat.dim[0]);
    artel_shape mask = artel__shape(3, in.dim[0], in.dim[1], (int64_t)1);
    artel__value_id index = artel__op_add(graph, artel__op_affine(graph, down->at, (float)in.dim[1], 0), across->at);
    index = artel__op_reshape(graph, artel__op_cast(graph, index, ARTEL_DTYPE_INT32), &list);
    artel__value_id y =
        artel__op_reshape(graph, artel__op_take(graph, artel__op_reshape(graph, x, &flat), index, 0), &in);
    if (down->inside < 0) return y;
    artel__value_id inside =
        artel__op_reshape(graph, artel__op_logical_and(graph, down->inside, across->inside), &mask);
    return artel__op_where(graph, inside, y, artel__op_fill_like(graph, y, (double)how->fill));
}

/* The two places beside each position, or the nearest one alone; returns how many. */
static int sides_of(artel__graph *graph, artel__value_id position, int64_t length, const artel__warp_settings *how,
                    side out[2])
{
    artel__value_id low =
        artel__op_unary(graph, how->bilinear ? ARTEL__UNARY_FLOOR : ARTEL__UNARY_ROUND, NULL, position);
    out[0].weight = out[1].weight = ARTEL__NO_VALUE;
    out[0].at = bring_back(graph, low, length, how->mode, &out[0].inside);
    if (!how->bilinear) return 1;
    out[1].weight = artel__op_binary(graph, ARTEL__BINARY_SUB, position, low);
    out[0].weight = artel__op_affine(graph, out[1].weight, -1, 1);
    out[1].at = bring_back(graph, artel__op_affine(graph, low, 1, 1), length, how->mode, &out[1].inside);
    return 2;
}

/* x [h][w][c] at positions [h][w]. */
static artel__value_id sampled(artel__graph *graph, artel__value_id x, artel__value_id down, artel__value_id across,
                               const artel__warp_settings *how)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, each = artel__shape(3, in.dim[0], in.dim[1], (int64_t)1);
    side line[2], column[2];
    artel__value_id sum = ARTEL__NO_VALUE;
    int count = sides_of(graph, down, in.dim[0], how, line);
    sides_of(graph, across, in.dim[1], how, column);
    for (int i = 0; i < count * count; i++) {
        const side *l = &line[i / count], *c = &column[i % count];
        artel__value_id part = pixels(graph, x, l, c, how);
        if (count == 1) return part;
        part = product(graph, artel__op_reshape(graph, product(graph, l->weight, c->weight), &each), part);
        sum = i ? artel__op_add(graph, sum, part) : part;
    }
    return sum;
}

artel__value_id artel__augment_elastic(artel__graph *graph, artel__value_id x, const artel__bounds *strength,
                                       const artel__warp_settings *how)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape one = artel__shape(1, (int64_t)1), in = graph->value[x].shape;
    artel_shape field = artel__shape(2, in.dim[0], in.dim[1]), lines = artel__shape(2, in.dim[0], (int64_t)1);
    artel_shape columns = artel__shape(2, (int64_t)1, in.dim[1]);
    int64_t longer = in.dim[0] > in.dim[1] ? in.dim[0] : in.dim[1],
            shorter = in.dim[0] < in.dim[1] ? in.dim[0] : in.dim[1];
    int64_t reach = 3 * (int64_t)(0.05 * strength->high * (double)shorter);
    artel__value_id drawn = artel__augment_uniform(graph, x, strength->low, strength->high, &one, true);
    artel__value_id sigma = artel__op_affine(graph, artel__op_affine(graph, drawn, 0.05, 0), (double)shorter, 0);
    artel__value_id alpha = artel__op_affine(graph, artel__op_affine(graph, drawn, 0.1, 0), (double)longer, 0);
    artel__value_id shift = product(graph, artel__augment_normal(graph, x, &field, false), sigma);
    shift = smoothed(graph, smoothed(graph, shift, sigma, reach, 1), sigma, reach, 0);
    shift = product(graph, shift, alpha);
    artel__value_id column = artel__op_add(graph, shift, artel__augment_places(graph, &columns));
    return sampled(graph, x, artel__op_add(graph, shift, artel__augment_places(graph, &lines)), column, how);
}
