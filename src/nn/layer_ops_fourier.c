/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that change to frequencies: fft, fft2, ifft2, rfft, irfft, stft. See layer_ops.h.
 *
 * A transform is a product with a matrix of cosines and sines, made in float64: exact to float32 whatever the length,
 * with a gradient that is the transposed product, and of a cost of n^2, hence the limit. Complex tensors are pairs, as
 * in keras.ops.
 */
#include <math.h>
#include <string.h>

#include "base/scalar_math.h"
#include "nn/layer_ops_formula.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

#define MOST_PLACES 4096

typedef struct pair {
    artel__value_id real, imaginary;
} pair;

typedef artel__value_id table; /* [places][frequencies] */

/* cos or sin of 2 pi i k / n, by `scale`, and by `edge` where k is neither 0 nor n / 2. */
static table waves(artel__graph *graph, bool sine, int64_t places, int64_t frequencies, int64_t n, double scale,
                   double edge)
{
    artel_shape shape = artel__shape(2, places, frequencies);
    size_t count = (size_t)(places * frequencies) + 1;
    bool wide = graph->real == ARTEL_DTYPE_FLOAT64;
    float *weight = wide ? NULL : artel__arena_alloc(graph->arena, count, sizeof *weight);
    double *exact = wide ? artel__arena_alloc(graph->arena, count, sizeof *exact) : NULL;
    if (!weight && !exact) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < places * frequencies; i++) {
        int64_t place = i / frequencies, frequency = i % frequencies;
        double sin_of, cos_of;
        artel__sincos_turns64((double)(place * frequency % n) / (double)n, &sin_of, &cos_of);
        int64_t k = edge == 1 ? 0 : place; /* of irfft the places are frequencies */
        double number = scale * (k == 0 || 2 * k == n ? 1 : edge) * (sine ? sin_of : cos_of);
        if (wide)
            exact[i] = number;
        else
            weight[i] = (float)number;
    }
    return artel__op_constant(graph, graph->real, &shape, wide ? (const void *)exact : (const void *)weight);
}

static artel__value_id through_float64(artel__graph *graph, artel__value_id x, table t)
{
    artel_shape out = graph->value[x].shape, of = graph->value[t].shape;
    int last = out.rank - 1;
    artel_shape lines = artel__shape(3, (int64_t)1, artel__shape_product(&out, 0, last), out.dim[last]),
                waves_by_line = artel__shape(3, (int64_t)1, of.dim[1], of.dim[0]);
    artel__value_id turned = artel__op_transpose(graph, t, (const int[]){1, 0});
    turned = artel__op_reshape(graph, turned, &waves_by_line);
    out.dim[last] = of.dim[1];
    return artel__op_reshape(graph, artel__op_wide_product(graph, artel__op_reshape(graph, x, &lines), turned), &out);
}

artel__value_id artel__raw_through(artel__graph *graph, artel__value_id x, table t)
{
    if (graph->status < 0 || x < 0 || t < 0) return ARTEL__NO_VALUE;
    if (graph->real == ARTEL_DTYPE_FLOAT64) return through_float64(graph, x, t);
    artel_shape columns = artel__shape(1, graph->value[t].shape.dim[1]);
    return artel__op_product(graph, x, artel__op_panels(graph, t), ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
}

static artel__value_id minus(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_SUB, a, b);
}

/* (a + ib)(cos - i sin) along an axis. One product a statement: C leaves the order of a call's arguments to the
 * compiler, and gradients are added in the order of the graph. */
static pair transform(artel__graph *graph, pair x, int axis)
{
    if (graph->status < 0) return x;
    int64_t n = graph->value[x.real].shape.dim[axis];
    table cosine = waves(graph, false, n, n, n, 1, 1), sine = waves(graph, true, n, n, n, 1, 1);
    artel__value_id a = artel__op_axis_last(graph, x.real, axis), b = artel__op_axis_last(graph, x.imaginary, axis);
    artel__value_id b_sine = artel__raw_through(graph, b, sine), a_cosine = artel__raw_through(graph, a, cosine),
                    real = artel__op_add(graph, a_cosine, b_sine);
    artel__value_id a_sine = artel__raw_through(graph, a, sine), b_cosine = artel__raw_through(graph, b, cosine),
                    imaginary = minus(graph, b_cosine, a_sine);
    return (pair){artel__op_axis_back(graph, real, axis), artel__op_axis_back(graph, imaginary, axis)};
}

/* The first argument as a pair whose last `axes` axes are short enough. */
static artel_status read_pair(const artel__layer *layer, const artel__call *call, int axes, pair *out)
{
    artel__graph *graph = call->graph;
    json_t *both = artel__raw_argument(call, 0);
    artel__value_id x[2];
    if (json_array_size(both) != 2) return artel__raw_refuse(layer, "anything but a pair of tensors");
    for (int i = 0; i < 2; i++) {
        x[i] = artel__call_tensor(call, json_array_get(both, (size_t)i)).value;
        if (x[i] < 0) return artel__raw_refuse(layer, "constants");
        x[i] = artel__as_float(graph, x[i]);
    }
    ARTEL_TRY(graph->status);
    const artel_shape *shape = &graph->value[x[0]].shape;
    if (shape->rank < axes || !artel__shape_equal(shape, &graph->value[x[1]].shape))
        return artel__raw_refuse(layer, "tensors of these shapes");
    for (int i = 1; i <= axes; i++) {
        if (shape->dim[shape->rank - i] > MOST_PLACES) return artel__raw_refuse(layer, "more than 4096 places");
    }
    *out = (pair){x[0], x[1]};
    return ARTEL_OK;
}

static artel_status return_pair(artel__call *call, pair y)
{
    call->out[0] = (artel__tensor){y.real, ARTEL__NO_VALUE};
    call->out[1] = (artel__tensor){y.imaginary, ARTEL__NO_VALUE};
    call->outputs = 2;
    return call->graph->status;
}

/* "FFT" along the last axis, "FFT2" and "IFFT2" along the last two. */
artel_status artel__raw_fft(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    pair x;
    bool flat = strcmp(layer->def->class_name, "ops.FFT") == 0, back = strcmp(layer->def->class_name, "ops.IFFT2") == 0;
    ARTEL_TRY(read_pair(layer, call, flat ? 1 : 2, &x));
    artel_shape shape = graph->value[x.real].shape;
    if (back) x.imaginary = negative(graph, x.imaginary);
    x = transform(graph, x, shape.rank - 1);
    if (!flat) x = transform(graph, x, shape.rank - 2);
    if (back) {
        double scale = 1 / ((double)shape.dim[shape.rank - 1] * (double)shape.dim[shape.rank - 2]);
        x = (pair){times(graph, x.real, scale), times(graph, x.imaginary, -scale)};
    }
    return return_pair(call, x);
}

/* The last axis cut or filled with zeros. */
static artel__value_id with_length(artel__graph *graph, artel__value_id x, int64_t n)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int64_t before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0};
    const artel_shape *shape = &graph->value[x].shape;
    after[shape->rank - 1] = n - shape->dim[shape->rank - 1];
    return after[shape->rank - 1] ? artel__op_pad(graph, x, before, after, 0) : x;
}

static pair real_transform(artel__graph *graph, artel__value_id x, int64_t n)
{
    x = with_length(graph, x, n);
    int64_t half = n / 2 + 1;
    return (pair){artel__raw_through(graph, x, waves(graph, false, n, half, n, 1, 1)),
                  artel__raw_through(graph, x, waves(graph, true, n, half, n, -1, 1))};
}

artel_status artel__raw_rfft(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape shape;
    int64_t n;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &shape));
    if (shape.rank < 1 || !artel__raw_integer(layer, call, "fft_length", 0, shape.dim[shape.rank - 1], &n) || n < 1 ||
        n > MOST_PLACES)
        return artel__raw_refuse(layer, "this length");
    return return_pair(call, real_transform(graph, artel__as_float(graph, x), n));
}

artel_status artel__raw_irfft(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    pair x;
    int64_t n;
    ARTEL_TRY(read_pair(layer, call, 1, &x));
    const artel_shape *shape = &graph->value[x.real].shape;
    if (!artel__raw_integer(layer, call, "fft_length", 0, 2 * (shape->dim[shape->rank - 1] - 1), &n) || n < 1 ||
        n > MOST_PLACES)
        return artel__raw_refuse(layer, "this length");
    int64_t half = n / 2 + 1;
    table cosine = waves(graph, false, half, n, n, 1 / (double)n, 2),
          sine = waves(graph, true, half, n, n, 1 / (double)n, 2);
    artel__value_id real = artel__raw_through(graph, with_length(graph, x.real, half), cosine);
    artel__call_return(call,
                       minus(graph, real, artel__raw_through(graph, with_length(graph, x.imaginary, half), sine)));
    return graph->status;
}

/* -- windows over a signal -- */

/* The window, in the middle of n places; as in TensorFlow, its period is one place less where `length` is odd. False
 * when it is none. */
static bool read_curve(const artel__layer *layer, const artel__call *call, int64_t length, int64_t n, double *out)
{
    json_t *given = artel__raw_setting(layer, call, "window", 0);
    const char *name = json_string_value(given);
    artel_shape shape;
    const double *numbers = NULL;
    bool hann = name && strcmp(name, "hann") == 0, hamming = name && strcmp(name, "hamming") == 0;
    if (given && !hann && !hamming &&
        (!artel__exact_numbers_json(call->graph->arena, given, &shape, &numbers) || shape.rank != 1 ||
         shape.dim[0] != length))
        return false;
    int64_t period = length % 2 && length > 1 ? length - 1 : length;
    for (int64_t i = 0; i < n; i++) out[i] = given ? 0 : 1;
    for (int64_t i = 0; i < length && given; i++) {
        double sin_of, cos_of, middle = hann ? 0.5 : 0.54;
        artel__sincos_turns64((double)i / (double)period, &sin_of, &cos_of);
        out[(n - length) / 2 + i] = numbers ? numbers[i] : length == 1 ? 1 : middle - (1 - middle) * cos_of;
    }
    return true;
}

/* With `border` places mirrored at both ends of the last axis. */
static artel__value_id mirrored(artel__graph *graph, artel__value_id x, int64_t border)
{
    if (graph->status < 0 || x < 0 || !border) return x;
    int last = graph->value[x].shape.rank - 1;
    int64_t n = graph->value[x].shape.dim[last];
    artel__value_id part[] = {artel__op_slice(graph, x, last, border, border, -1), x,
                              artel__op_slice(graph, x, last, n - 2, border, -1)};
    return artel__op_concat(graph, part, 3, last);
}

artel_status artel__raw_short_time(const artel__layer *layer, const artel__call *call, artel__value_id x,
                                   const artel__short_time *how, artel__value_id *real, artel__value_id *imaginary)
{
    artel__graph *graph = call->graph;
    ARTEL_TRY(graph->status);
    const artel_shape *shape = &graph->value[x].shape;
    int64_t n = how->places, border = how->centred ? n / 2 : 0, places = shape->dim[shape->rank - 1];
    artel_shape line = artel__shape(1, n);
    if (n > MOST_PLACES) return artel__raw_refuse(layer, "this length or stride");
    if (border >= places || places + 2 * border < n) return artel__raw_refuse(layer, "so short a signal");
    double *curve = artel__arena_alloc(graph->arena, (size_t)n, sizeof *curve);
    if (!curve) return ARTEL_ERROR_NO_MEMORY;
    if (!read_curve(layer, call, how->length, n, curve)) return artel__raw_refuse(layer, "this window");
    x = artel__raw_frames(graph, mirrored(graph, x, border), n, how->stride);
    x = binary(graph, ARTEL__BINARY_MUL, x, artel__constant_numbers(graph, &line, curve));
    pair y = real_transform(graph, x, n);
    *real = y.real;
    *imaginary = y.imaginary;
    return graph->status;
}

artel_status artel__raw_stft(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    artel_shape shape;
    artel__short_time how = {.centred = !json_is_false(artel__raw_setting(layer, call, "center", 0))};
    pair y;
    ARTEL_TRY(artel__raw_row(layer, call, &x, &shape));
    bool fits = shape.rank >= 1 && shape.rank < ARTEL_MAX_RANK &&
                artel__raw_integer(layer, call, "sequence_length", 0, 0, &how.length) &&
                artel__raw_integer(layer, call, "sequence_stride", 0, 0, &how.stride) &&
                artel__raw_integer(layer, call, "fft_length", 0, 0, &how.places);
    if (!fits || how.length < 1 || how.stride < 1 || how.places < how.length)
        return artel__raw_refuse(layer, "this length or stride");
    ARTEL_TRY(artel__raw_short_time(layer, call, artel__as_float(call->graph, x), &how, &y.real, &y.imaginary));
    return return_pair(call, y);
}
