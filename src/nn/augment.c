/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, draws and maps of random changes of images. See the header. After
 * keras/src/layers/preprocessing/image_preprocessing. */
#include "nn/augment.h"

#include <string.h>

#include <math.h>

#include "base/scalar_math.h"

/* -- settings -- */

static bool two_numbers(json_t *given, artel__bounds *out)
{
    return json_is_array(given) && json_array_size(given) == 2 &&
           artel__json_number(json_array_get(given, 0), &out->low) &&
           artel__json_number(json_array_get(given, 1), &out->high);
}

artel_status artel__augment_bounds(const artel__layer *layer, const char *key, double least,
                                   const artel__bounds *fallback, artel__bounds *out)
{
    json_t *given = artel__layer_setting(layer, key);
    double number;
    if (!given && fallback) {
        *out = *fallback;
        return ARTEL_OK;
    }
    if (two_numbers(given, out)) {
        if (out->low > out->high) *out = (artel__bounds){out->high, out->low};
        return ARTEL_OK;
    }
    if (!artel__json_number(given, &number))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a number, or a list of two",
                                 "the setting \"%s\" is neither", key);
    number = fabs(number);
    *out = (artel__bounds){-number > least ? -number : least, number};
    return ARTEL_OK;
}

artel_status artel__augment_range(const artel__layer *layer, bool sorted, artel__bounds *out)
{
    *out = (artel__bounds){0, 255};
    json_t *given = artel__layer_setting(layer, "value_range");
    if (given && !two_numbers(given, out))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a list of two numbers",
                                 "the setting \"value_range\" is none");
    if (sorted && out->low > out->high) *out = (artel__bounds){out->high, out->low};
    return ARTEL_OK;
}

artel_status artel__augment_begin(artel__layer *layer, artel__call *call, int data_format, artel__value_id *out)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 3, 3));
    *out = artel__as_float(call->graph, call->in[0].value);
    if (call->graph->training) *out = artel__channels_last(call->graph, *out, data_format);
    return call->graph->status;
}

artel_status artel__augment_finish(artel__layer *layer, artel__call *call, int data_format, artel__value_id x)
{
    (void)layer;
    artel__call_return(call, call->graph->training ? artel__channels_back(call->graph, x, data_format) : x);
    return call->graph->status;
}

bool artel__augment_is_idle(const artel__layer *layer, bool training)
{
    return !training && strcmp(layer->def->class_name, "AutoContrast") != 0;
}

/* -- draws -- */

artel__value_id artel__augment_uniform(artel__graph *graph, artel__value_id like, double low, double high,
                                       const artel_shape *shape, bool shared)
{
    if (graph->real != ARTEL_DTYPE_FLOAT64) return artel__op_uniform(graph, like, low, high, shape, shared);
    artel__value_id unit = artel__op_uniform(graph, like, 0, 1, shape, shared);
    low = (double)(float)low;
    high = (double)(float)high;
    return artel__op_affine(graph, artel__op_cast(graph, unit, ARTEL_DTYPE_FLOAT64), high - low, low);
}

artel__value_id artel__augment_draw(artel__graph *graph, artel__value_id like, const artel__bounds *bounds)
{
    artel_shape one = artel__shape(1, (int64_t)1);
    return artel__augment_uniform(graph, like, bounds->low, bounds->high, &one, false);
}

artel__value_id artel__augment_pixel(artel__graph *graph, artel__value_id x)
{
    artel_shape pixel = artel__shape(3, (int64_t)1, (int64_t)1, (int64_t)1);
    return artel__op_reshape(graph, x, &pixel);
}

artel__value_id artel__augment_places(artel__graph *graph, const artel_shape *shape)
{
    int64_t count = artel_shape_count(shape);
    double *place = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *place);
    if (!place) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    for (int64_t i = 0; i < count; i++) place[i] = (double)i;
    return artel__constant_numbers(graph, shape, place);
}

artel__value_id artel__augment_run(artel__graph *graph, artel__value_id share, const artel_shape *shape,
                                   artel__value_id like)
{
    static const artel__bounds unit = {0, 1};
    double extent = (double)artel_shape_count(shape);
    artel__value_id place = artel__augment_places(graph, shape), u = artel__augment_draw(graph, like, &unit);
    artel__value_id length = artel__op_affine(graph, share, extent, 0),
                    rest = artel__op_affine(graph, length, -1, extent);
    artel__value_id first = artel__op_binary(graph, ARTEL__BINARY_MUL, artel__augment_pixel(graph, u), rest);
    artel__value_id behind = artel__op_compare(graph, ARTEL__COMPARE_LESS, place, artel__op_add(graph, first, length));
    return artel__op_logical_and(graph, artel__op_compare(graph, ARTEL__COMPARE_GREATER_EQUAL, place, first), behind);
}

artel__value_id artel__augment_chance(artel__graph *graph, artel__value_id like, const artel__bounds *probability)
{
    static const artel__bounds unit = {0, 1};
    artel__value_id chance = artel__augment_draw(graph, like, probability), u = artel__augment_draw(graph, like, &unit);
    artel__value_id least = artel__augment_pixel(graph, chance);
    return artel__op_compare(graph, ARTEL__COMPARE_LESS, artel__augment_pixel(graph, u), least);
}

/* Of uniform ones by Box and Muller, so that they can be those of a batch. */
artel__value_id artel__augment_normal(artel__graph *graph, artel__value_id like, const artel_shape *shape, bool shared)
{
    artel__value_id u = artel__augment_uniform(graph, like, 0, 1, shape, shared),
                    v = artel__augment_uniform(graph, like, 0, 6.283185307179586, shape, shared);
    u = artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, artel__op_affine(graph, u, -1, 1)); /* 1 - u is never 0 */
    artel__value_id radius = artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, artel__op_affine(graph, u, -2, 0));
    return artel__op_binary(graph, ARTEL__BINARY_MUL, radius, artel__op_unary(graph, ARTEL__UNARY_COS, NULL, v));
}

/* One try: log of d v, and whether it is taken. */
static artel__value_id try_gamma(artel__graph *graph, artel__value_id like, double d, const artel_shape *shape,
                                 bool shared, artel__value_id *taken)
{
    artel__value_id n = artel__augment_normal(graph, like, shape, shared),
                    u = artel__augment_uniform(graph, like, 0, 1, shape, shared);
    artel__value_id v = artel__op_affine(graph, n, 1 / sqrt(9 * d), 1);
    artel__value_id positive = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, v, 0);
    v = artel__op_where(graph, positive, v, artel__op_affine(graph, v, 0, 1));
    artel__value_id log_v = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, v), 3, 0);
    artel__value_id cube = artel__op_unary(graph, ARTEL__UNARY_EXPONENTIAL, NULL, log_v);
    artel__value_id bound = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, n), 0.5, d);
    bound = artel__op_add(graph, bound,
                          artel__op_affine(graph, artel__op_binary(graph, ARTEL__BINARY_SUB, log_v, cube), d, 0));
    u = artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, artel__op_affine(graph, u, -1, 1));
    *taken = artel__op_logical_and(graph, positive, artel__op_compare(graph, ARTEL__COMPARE_LESS, u, bound));
    return artel__op_affine(graph, log_v, 1, artel__log64(d));
}

artel__value_id artel__augment_log_gamma(artel__graph *graph, artel__value_id like, double alpha, int64_t count,
                                         bool shared)
{
    enum {
        TRIES = 8
    };
    artel_shape shape = artel__shape(1, count);
    double boosted = alpha < 1 ? alpha + 1 : alpha, d = boosted - 1.0 / 3.0;
    artel__value_id taken[TRIES], number[TRIES], x = ARTEL__NO_VALUE;
    for (int i = 0; i < TRIES; i++) number[i] = try_gamma(graph, like, d, &shape, shared, &taken[i]);
    for (int i = TRIES - 1; i >= 0; i--)
        x = i == TRIES - 1 ? number[i] : artel__op_where(graph, taken[i], number[i], x);
    if (alpha >= 1) return x;
    artel__value_id u = artel__op_affine(graph, artel__augment_uniform(graph, like, 0, 1, &shape, shared), -1, 1);
    return artel__op_add(graph, x,
                         artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, u), 1 / alpha, 0));
}

/* -- maps -- */

static artel__value_id constant(artel__graph *graph, artel__value_id like, double number)
{
    return artel__op_fill_like(graph, like, number);
}

artel__value_id artel__augment_warp(artel__graph *graph, artel__value_id x, artel__value_id map,
                                    const artel__warp_settings *warp)
{
    if (graph->real != ARTEL_DTYPE_FLOAT64) return artel__op_warp(graph, x, map, warp);
    map = artel__op_cast(graph, map, ARTEL_DTYPE_FLOAT32);
    artel__value_id high = artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT32),
                    y = artel__op_cast(graph, artel__op_warp(graph, high, map, warp), ARTEL_DTYPE_FLOAT64);
    if (warp->bilinear) return y;
    artel__warp_settings rest = *warp;
    rest.fill = 0;
    x = artel__op_binary(graph, ARTEL__BINARY_SUB, x, artel__op_cast(graph, high, ARTEL_DTYPE_FLOAT64));
    x = artel__op_warp(graph, artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT32), map, &rest);
    return artel__op_add(graph, y, artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT64));
}

artel__value_id artel__augment_map(artel__graph *graph, artel__value_id x, const artel__value_id part[6],
                                   const artel__warp_settings *how)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel__warp_settings warp = *how;
    if (!warp.height) warp.height = graph->value[x].shape.dim[0];
    if (!warp.width) warp.width = graph->value[x].shape.dim[1];
    return artel__augment_warp(graph, x, artel__op_concat(graph, part, 6, 0), &warp);
}

artel__value_id artel__augment_translate(artel__graph *graph, artel__value_id x, const artel__bounds *down,
                                         const artel__bounds *across, const artel__warp_settings *how)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    artel__value_id dy = artel__augment_draw(graph, x, down), dx = artel__augment_draw(graph, x, across);
    artel__value_id one = constant(graph, dy, 1), zero = constant(graph, dy, 0);
    artel__value_id part[6] = {one,  zero, artel__op_affine(graph, dx, -(double)shape.dim[1], 0),
                               zero, one,  artel__op_affine(graph, dy, -(double)shape.dim[0], 0)};
    return artel__augment_map(graph, x, part, how);
}

/* centre - centre * a - other * b */
static artel__value_id turn_offset(artel__graph *graph, double centre, artel__value_id a, double column,
                                   artel__value_id b, double line)
{
    artel__value_id at = artel__op_affine(graph, artel__op_affine(graph, a, column, 0), -1, centre);
    return artel__op_binary(graph, ARTEL__BINARY_SUB, at, artel__op_affine(graph, b, line, 0));
}

artel__value_id artel__augment_rotate(artel__graph *graph, artel__value_id x, const artel__bounds *turns,
                                      const artel__warp_settings *how)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    artel__value_id degrees = artel__augment_draw(graph, x, &(artel__bounds){turns->low * 360, turns->high * 360});
    artel__value_id angle = artel__op_affine(graph, degrees, 3.14159265358979323846 / 180, 0);
    artel__value_id cosine = artel__op_unary(graph, ARTEL__UNARY_COS, NULL, angle),
                    sine = artel__op_unary(graph, ARTEL__UNARY_SIN, NULL, angle);
    artel__value_id minus = artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, sine);
    double column = 0.5 * ((double)shape.dim[1] - 1), line = 0.5 * ((double)shape.dim[0] - 1);
    artel__value_id part[6] = {cosine, minus,  turn_offset(graph, column, cosine, column, minus, line),
                               sine,   cosine, turn_offset(graph, line, sine, column, cosine, line)};
    return artel__augment_map(graph, x, part, how);
}

artel__value_id artel__augment_shear(artel__graph *graph, artel__value_id x, const artel__bounds *across,
                                     const artel__bounds *down, const artel__warp_settings *how)
{
    static const artel__bounds unit = {0, 1};
    artel__value_id side =
        artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, artel__augment_draw(graph, x, &unit), 0.5);
    artel__value_id dy = artel__augment_draw(graph, x, down), dx = artel__augment_draw(graph, x, across);
    artel__value_id one = constant(graph, dy, 1), zero = constant(graph, dy, 0);
    dx = artel__op_where(graph, side, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, dx), dx);
    dy = artel__op_where(graph, side, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, dy), dy);
    artel__value_id part[6] = {one, dx, zero, dy, one, zero};
    return artel__augment_map(graph, x, part, how);
}
