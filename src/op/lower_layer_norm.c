/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation as programs of devices: [positions][length], formulas of kernel/norm.h; sums are the device's. */
#include "op/lower_norm.h"

#include "op/norm_attributes.h"

typedef struct layers {
    artel__hlo *hlo;
    const artel__layer_norm_attributes *attributes;
    artel__hlo_type type, one; /* [positions][length], [positions] */
    bool centred;
} layers;

/* `k`: the input that is normalised. */
static layers begin(artel__lower *lower, int k)
{
    const artel__layer_norm_attributes *a = lower->attributes;
    artel__hlo_type x = *artel__hlo_type_of(lower->hlo, lower->in[k]);
    layers l = {.hlo = lower->hlo, .attributes = a, .type = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {1, 1}}};
    for (int i = 0; i < x.rank; i++) l.type.dim[i >= x.rank - a->axes] *= x.dim[i];
    l.one = (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 1, .dim = {l.type.dim[0]}};
    l.centred = a->mode == ARTEL__LAYER_NORM_LAYER || a->mode == ARTEL__LAYER_NORM_RMS_SCALED;
    return l;
}

static artel__hlo_value whole(const layers *l, artel__hlo_value x)
{
    return artel__hlo_reshape(l->hlo, x, &l->type);
}

/* A number by position. */
static artel__hlo_value positions(const layers *l, artel__hlo_value x)
{
    return artel__hlo_broadcast(l->hlo, artel__hlo_reshape(l->hlo, x, &l->one), &l->type, (int[]){0});
}

/* A parameter. */
static artel__hlo_value columns(const layers *l, artel__hlo_value x)
{
    artel__hlo_type flat = {.rank = 1, .dim = {l->type.dim[1]}};
    return artel__hlo_broadcast(l->hlo, artel__hlo_reshape(l->hlo, x, &flat), &l->type, (int[]){1});
}

static artel__hlo_value multiply(const layers *l, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(l->hlo, "multiply", a, b);
}

static artel__hlo_value subtract(const layers *l, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(l->hlo, "subtract", a, b);
}

static artel__hlo_value over(const layers *l, artel__hlo_value a, double divisor)
{
    return artel__hlo_binary(l->hlo, "divide", a, artel__hlo_number(l->hlo, divisor, a));
}

static artel__hlo_value sum(const layers *l, artel__hlo_value a)
{
    return artel__hlo_reduce(l->hlo, "add", 0, a, 2);
}

/* 1 / the deviation of each position from its sum of squares. */
static artel__hlo_value invert(const layers *l, artel__hlo_value squares)
{
    artel__hlo *h = l->hlo;
    double epsilon = (double)l->attributes->epsilon;
    artel__hlo_value one = artel__hlo_number(h, 1, squares), number = artel__hlo_number(h, epsilon, squares);
    if (l->attributes->mode == ARTEL__LAYER_NORM_UNIT) {
        artel__hlo_value inverse = artel__hlo_binary(h, "divide", one, artel__hlo_unary(h, "sqrt", squares));
        artel__hlo_value limit = artel__hlo_number(h, (double)(1.0f / l->attributes->epsilon), squares);
        return artel__hlo_select(h, artel__hlo_compare(h, "GT", inverse, limit), limit, inverse); /* NaN stays */
    }
    squares = artel__hlo_binary(h, "add", over(l, squares, (double)l->type.dim[1]), number);
    return artel__hlo_binary(h, "divide", one, artel__hlo_unary(h, "sqrt", squares));
}

void artel__lower_layer_norm(artel__lower *lower)
{
    layers l = begin(lower, 0);
    artel__hlo_type out = artel__lower_out_type(lower, 0), of_positions = artel__lower_out_type(lower, 1);
    artel__hlo_value x = whole(&l, lower->in[0]), mean = artel__hlo_splat(l.hlo, 0, &l.one), moved = x;
    if (l.centred) {
        mean = over(&l, sum(&l, x), (double)l.type.dim[1]);
        moved = subtract(&l, x, positions(&l, mean));
    }
    artel__hlo_value inverse = invert(&l, sum(&l, multiply(&l, moved, moved)));
    artel__hlo_value y =
        multiply(&l, l.attributes->mode == ARTEL__LAYER_NORM_LAYER ? moved : x, positions(&l, inverse));
    if (lower->in[1] >= 0) y = multiply(&l, y, columns(&l, lower->in[1]));
    if (lower->in[2] >= 0) y = artel__hlo_binary(l.hlo, "add", y, columns(&l, lower->in[2]));
    lower->out[0] = artel__hlo_reshape(l.hlo, y, &out);
    lower->out[1] = artel__hlo_reshape(l.hlo, mean, &of_positions);
    lower->out[2] = artel__hlo_reshape(l.hlo, inverse, &of_positions);
}

/* What the sum of products gives to each position: a mean, or, of UNIT, the sum, and nothing where the inverse is at
 * its limit. */
static artel__hlo_value mean_product(const layers *l, artel__hlo_value products, artel__hlo_value inverse)
{
    artel__hlo_value found = sum(l, products), zero = artel__hlo_number(l->hlo, 0, found);
    if (l->attributes->mode != ARTEL__LAYER_NORM_UNIT) return over(l, found, (double)l->type.dim[1]);
    artel__hlo_value limit = artel__hlo_number(l->hlo, (double)(1.0f / l->attributes->epsilon), found);
    inverse = artel__hlo_reshape(l->hlo, inverse, &l->one);
    return artel__hlo_select(l->hlo, artel__hlo_compare(l->hlo, "EQ", inverse, limit), zero, found);
}

/* dy, x, mean, inverse, gamma */
void artel__lower_layer_norm_gradient(artel__lower *lower)
{
    layers l = begin(lower, 1);
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__layer_norm_mode mode = l.attributes->mode;
    artel__hlo_value g = whole(&l, lower->in[0]), x = whole(&l, lower->in[1]), inverse = positions(&l, lower->in[3]);
    artel__hlo_value moved = l.centred ? subtract(&l, x, positions(&l, lower->in[2])) : x;
    if (lower->in[4] >= 0) g = multiply(&l, g, columns(&l, lower->in[4]));
    artel__hlo_value met = multiply(&l, mode == ARTEL__LAYER_NORM_LAYER ? moved : x, inverse), rest = g;
    artel__hlo_value product = mean_product(&l, multiply(&l, g, met), lower->in[3]);
    if (mode == ARTEL__LAYER_NORM_LAYER)
        rest = subtract(&l, g, positions(&l, over(&l, sum(&l, g), (double)l.type.dim[1])));
    rest = subtract(&l, rest, multiply(&l, multiply(&l, moved, inverse), positions(&l, product)));
    lower->out[0] = artel__hlo_reshape(l.hlo, multiply(&l, inverse, rest), &out);
}

/* dy, x, mean, inverse */
void artel__lower_layer_norm_parameters(artel__lower *lower)
{
    layers l = begin(lower, 1);
    artel__hlo_value dy = whole(&l, lower->in[0]), x = whole(&l, lower->in[1]);
    if (l.attributes->mode == ARTEL__LAYER_NORM_LAYER) x = subtract(&l, x, positions(&l, lower->in[2]));
    lower->out[0] =
        artel__hlo_reduce(l.hlo, "add", 0, multiply(&l, dy, multiply(&l, x, positions(&l, lower->in[3]))), 1);
    lower->out[1] = artel__hlo_reduce(l.hlo, "add", 0, dy, 1);
}
