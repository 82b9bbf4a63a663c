/* SPDX-License-Identifier: Apache-2.0 */
/* Images through affine maps as programs of devices: kernel/resample.h's formulas for all places at once.
 *
 * A result place reads one place of its image or four, by a gather of pixels. The gradient has as many parts as places
 * are read: they are sorted by the place they go to, added up within each place by doubling distances, and the sum of
 * each place is written once. So nothing is added in an order of the device's choice.
 */
#include "op/lower_warp.h"

#include "kernel/resample.h"
#include "op/shape_ops.h"

typedef struct corner {
    artel__hlo_value index, inside, across, down; /* [rows][out_h][out_w]; pixel of all images, INT64 */
} corner;

typedef struct warping {
    artel__hlo *hlo;
    const artel__warp_settings *settings;
    int64_t rows, in_h, in_w, out_h, out_w, channels, numbers;
    artel__hlo_value depth,
        seen; /* of maps of eight numbers: what positions are divided by, and where it is not 0; else -1 */
    artel__hlo_type places; /* [rows][out_h][out_w] float32 */
    corner corner[4];
    int corners;
} warping;

static artel__hlo_value op(const warping *w, const char *name, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(w->hlo, name, a, b);
}

static artel__hlo_value with(const warping *w, const char *name, artel__hlo_value a, double b)
{
    return artel__hlo_binary(w->hlo, name, a, artel__hlo_number(w->hlo, b, a));
}

static artel__hlo_value is(const warping *w, const char *how, artel__hlo_value a, double b)
{
    return artel__hlo_compare(w->hlo, how, a, artel__hlo_number(w->hlo, b, a));
}

static artel__hlo_value neg(const warping *w, artel__hlo_value a)
{
    return artel__hlo_unary(w->hlo, "negate", a);
}

/* Towards zero. */
static artel__hlo_value whole(const warping *w, artel__hlo_value a)
{
    return artel__hlo_convert(w->hlo, artel__hlo_convert(w->hlo, a, ARTEL_DTYPE_INT64), ARTEL_DTYPE_FLOAT32);
}

static artel__hlo_value in_bounds(const warping *w, artel__hlo_value at)
{
    artel__hlo_value bound = with(w, "maximum", with(w, "minimum", at, 0x1p40), -0x1p40);
    return artel__hlo_select(w->hlo, artel__hlo_compare(w->hlo, "EQ", at, at), bound,
                             artel__hlo_number(w->hlo, -1, at));
}

static artel__hlo_value reflect(const warping *w, artel__hlo_value at, double length, bool below)
{
    double twice = 2 * length;
    if (below) {
        artel__hlo_value up =
            op(w, "add", with(w, "multiply", whole(w, with(w, "divide", neg(w, at), twice)), twice), at);
        return artel__hlo_select(w->hlo, is(w, "LT", up, -length), with(w, "add", up, twice),
                                 with(w, "subtract", neg(w, up), 1));
    }
    artel__hlo_value down = op(w, "subtract", at, with(w, "multiply", whole(w, with(w, "divide", at, twice)), twice));
    artel__hlo_value turned = with(w, "subtract", op(w, "subtract", artel__hlo_number(w->hlo, twice, down), down), 1);
    return artel__hlo_select(w->hlo, is(w, "GE", down, length), turned, down);
}

static artel__hlo_value wrap(const warping *w, artel__hlo_value at, double length, bool below)
{
    artel__hlo_value times = whole(w, with(w, "divide", below ? neg(w, at) : at, length - 1));
    if (below) return op(w, "add", at, with(w, "multiply", with(w, "add", times, 1), length));
    return op(w, "subtract", at, with(w, "multiply", times, length));
}

/* A position along an axis of `extent` places, brought back into it. */
static artel__hlo_value bring_back(const warping *w, artel__hlo_value at, int64_t extent)
{
    artel__warp_fill mode = w->settings->mode;
    double length = (double)(float)extent, last = (double)(float)(extent - 1);
    if (mode == ARTEL__WARP_CONSTANT) return at;
    if (extent <= 1) return artel__hlo_number(w->hlo, 0, at);
    if (mode != ARTEL__WARP_NEAREST) {
        bool turns = mode == ARTEL__WARP_REFLECT;
        artel__hlo_value below = turns ? reflect(w, at, length, true) : wrap(w, at, length, true);
        artel__hlo_value above = turns ? reflect(w, at, length, false) : wrap(w, at, length, false);
        above = artel__hlo_select(w->hlo, is(w, "GT", at, last), above, at);
        at = artel__hlo_select(w->hlo, is(w, "LT", at, 0), below, above);
    }
    return with(w, "minimum", with(w, "maximum", at, 0), last);
}

/* Number `k` of the maps, for all places. */
static artel__hlo_value number_of(const warping *w, artel__hlo_value map, int k)
{
    artel__hlo_type one = {.rank = 1, .dim = {w->rows}};
    artel__hlo_value column = artel__hlo_reshape(w->hlo, artel__hlo_slice_axis(w->hlo, map, 1, k, k + 1), &one);
    return artel__hlo_broadcast(w->hlo, column, &w->places, (int[]){0});
}

/* m[k] j + m[k + 1] i */
static artel__hlo_value slope(const warping *w, artel__hlo_value map, int k)
{
    artel__hlo_value across = op(w, "multiply", number_of(w, map, k), artel__hlo_iota(w->hlo, &w->places, 2));
    return op(w, "add", across, op(w, "multiply", number_of(w, map, k + 1), artel__hlo_iota(w->hlo, &w->places, 1)));
}

/* m[k] j + m[k + 1] i + m[k + 2], divided by the depth and brought back. */
static artel__hlo_value position(const warping *w, artel__hlo_value map, int k, int64_t extent)
{
    artel__hlo_value at = op(w, "add", slope(w, map, k), number_of(w, map, k + 2));
    if (w->numbers == 8) at = op(w, "divide", at, w->depth);
    return in_bounds(w, bring_back(w, in_bounds(w, at), extent));
}

static void find_depth(warping *w, artel__hlo_value map)
{
    artel__hlo_value depth = with(w, "add", slope(w, map, 6), 1);
    w->seen = is(w, "NE", depth, 0);
    w->depth = artel__hlo_select(w->hlo, w->seen, depth, artel__hlo_number(w->hlo, 1, depth));
}

/* Pixel (line, column) of each image among all. */
static corner place(const warping *w, artel__hlo_value line, artel__hlo_value column)
{
    artel__hlo *h = w->hlo;
    artel__hlo_type type = w->places;
    type.dtype = ARTEL_DTYPE_INT64;
    artel__hlo_value down = op(w, "and", is(w, "GE", line, 0), is(w, "LT", line, (double)w->in_h));
    artel__hlo_value across = op(w, "and", is(w, "GE", column, 0), is(w, "LT", column, (double)w->in_w));
    artel__hlo_value row = with(w, "multiply", artel__hlo_iota(h, &type, 0), (double)w->in_h);
    artel__hlo_value index = op(w, "add", row, artel__hlo_convert(h, line, ARTEL_DTYPE_INT64));
    index = op(w, "add", with(w, "multiply", index, (double)w->in_w), artel__hlo_convert(h, column, ARTEL_DTYPE_INT64));
    artel__hlo_value inside = op(w, "and", down, across);
    if (w->numbers == 8) inside = op(w, "and", inside, w->seen);
    return (corner){.index = index, .inside = inside, .across = -1, .down = -1};
}

/* Halves go away from zero. */
static artel__hlo_value nearest(const warping *w, artel__hlo_value at)
{
    artel__hlo_value half = artel__hlo_number(w->hlo, 0.5, at);
    artel__hlo_value below = neg(w, artel__hlo_unary(w->hlo, "floor", op(w, "subtract", half, at)));
    return artel__hlo_select(w->hlo, is(w, "LT", at, 0), below,
                             artel__hlo_unary(w->hlo, "floor", op(w, "add", at, half)));
}

static void find_corners(warping *w, artel__hlo_value map)
{
    artel__hlo *h = w->hlo;
    if (w->numbers == 8) find_depth(w, map);
    artel__hlo_value column = position(w, map, 0, w->in_w), line = position(w, map, 3, w->in_h);
    w->corners = w->settings->bilinear ? 4 : 1;
    if (!w->settings->bilinear) {
        w->corner[0] = place(w, nearest(w, line), nearest(w, column));
        return;
    }
    artel__hlo_value lines[2], columns[2], down[2], across[2];
    lines[0] = artel__hlo_unary(h, "floor", line);
    columns[0] = artel__hlo_unary(h, "floor", column);
    lines[1] = with(w, "add", lines[0], 1);
    columns[1] = with(w, "add", columns[0], 1);
    down[0] = op(w, "subtract", lines[1], line);
    down[1] = op(w, "subtract", line, lines[0]);
    across[0] = op(w, "subtract", columns[1], column);
    across[1] = op(w, "subtract", column, columns[0]);
    for (int k = 0; k < 4; k++) {
        w->corner[k] = place(w, lines[k / 2], columns[k % 2]);
        w->corner[k].down = down[k / 2];
        w->corner[k].across = across[k % 2];
    }
}

static warping begin(artel__lower *lower, const artel__hlo_type *in, const artel__hlo_type *out)
{
    warping w = {.hlo = lower->hlo,
                 .settings = lower->attributes,
                 .rows = in->dim[0],
                 .in_h = in->dim[1],
                 .in_w = in->dim[2],
                 .out_h = out->dim[1],
                 .out_w = out->dim[2],
                 .channels = in->dim[3],
                 .numbers = lower->graph->value[lower->node->input[1]].storage,
                 .depth = -1,
                 .seen = -1};
    artel__hlo_type map = {.rank = 2, .dim = {w.rows, w.numbers}};
    w.places = (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 3, .dim = {w.rows, w.out_h, w.out_w}};
    if (artel__hlo_count(in) > 0 && artel__hlo_count(out) > 0)
        find_corners(&w, artel__hlo_reshape(w.hlo, lower->in[1], &map));
    return w;
}

/* Rows of `table` where a corner lies, `fill` outside: [rows][out_h][out_w][channels]. */
static artel__hlo_value read_corner(const warping *w, artel__hlo_value table, const corner *c,
                                    const artel__hlo_type *out)
{
    artel__hlo *h = w->hlo;
    artel__hlo_type flat = {.rank = 1, .dim = {artel__hlo_count(&w->places)}};
    artel__hlo_value index = artel__hlo_select(h, c->inside, c->index, artel__hlo_number(h, 0, c->index));
    artel__hlo_value found =
        artel__hlo_reshape(h, artel__hlo_gather_rows(h, table, artel__hlo_reshape(h, index, &flat)), out);
    artel__hlo_value inside = artel__hlo_broadcast(h, c->inside, out, (int[]){0, 1, 2});
    return artel__hlo_select(h, inside, found, artel__hlo_number(h, (double)w->settings->fill, found));
}

static artel__hlo_value weigh(const warping *w, artel__hlo_value weight, artel__hlo_value value)
{
    return op(w, "multiply", artel__hlo_broadcast(w->hlo, weight, artel__hlo_type_of(w->hlo, value), (int[]){0, 1, 2}),
              value);
}

void artel__lower_warp(artel__lower *lower)
{
    artel__hlo_type in = artel__lower_in_type(lower, 0), out = artel__lower_out_type(lower, 0);
    warping w = begin(lower, &in, &out);
    artel__hlo_value found[4] = {-1}, side[2];
    if (w.corners == 0) {
        lower->out[0] = artel__hlo_splat(w.hlo, (double)w.settings->fill, &out);
        return;
    }
    artel__hlo_type pixels = {.rank = 2, .dim = {w.rows * w.in_h * w.in_w, w.channels}};
    artel__hlo_value table = artel__hlo_reshape(w.hlo, lower->in[0], &pixels);
    for (int k = 0; k < w.corners; k++) found[k] = read_corner(&w, table, &w.corner[k], &out);
    lower->out[0] = found[0];
    if (w.corners == 1) return;
    for (int k = 0; k < 2; k++) {
        const corner *c = &w.corner[2 * k];
        artel__hlo_value line =
            op(&w, "add", weigh(&w, c[0].across, found[2 * k]), weigh(&w, c[1].across, found[2 * k + 1]));
        side[k] = weigh(&w, c[0].down, line);
    }
    lower->out[0] = op(&w, "add", side[0], side[1]);
}

/* -- the gradient -- */

typedef struct parts {
    int64_t count;           /* places read: corners of a place are neighbours */
    artel__hlo_value target; /* [count] INT64, ascending; those outside last */
    artel__hlo_value value;  /* [count][channels] */
} parts;

/* The corners' numbers side by side: [count]. */
static artel__hlo_value join(const warping *w, const artel__hlo_value *of)
{
    artel__hlo_value part[4];
    artel__hlo_type one = w->places, flat = {.rank = 1, .dim = {artel__hlo_count(&w->places) * w->corners}};
    one.dim[one.rank++] = 1;
    for (int k = 0; k < w->corners; k++) part[k] = artel__hlo_reshape(w->hlo, of[k], &one);
    return artel__hlo_reshape(w->hlo, artel__hlo_concatenate(w->hlo, part, w->corners, 3), &flat);
}

static parts sorted_parts(const warping *w, artel__hlo_value dy)
{
    artel__hlo *h = w->hlo;
    artel__hlo_value target[4], weight[4], out[2];
    int64_t outside = w->rows * w->in_h * w->in_w, places = artel__hlo_count(&w->places);
    for (int k = 0; k < w->corners; k++) {
        const corner *c = &w->corner[k];
        target[k] = artel__hlo_select(h, c->inside, c->index, artel__hlo_number(h, (double)outside, c->index));
        weight[k] = c->across < 0 ? artel__hlo_splat(h, 1, &w->places) : op(w, "multiply", c->across, c->down);
    }
    parts p = {.count = places * w->corners};
    artel__hlo_type order = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {p.count}},
                    column = {.rank = 2, .dim = {p.count, 1}};
    artel__hlo_type table = {.rank = 2, .dim = {places, w->channels}}, all = {.rank = 2, .dim = {p.count, w->channels}};
    artel__hlo_sort(h, "LT", (artel__hlo_value[]){join(w, target), artel__hlo_iota(h, &order, 0)}, 2, 0, out);
    artel__hlo_value weights = artel__hlo_gather_rows(h, artel__hlo_reshape(h, join(w, weight), &column), out[1]);
    artel__hlo_value from = with(w, "divide", out[1], w->corners);
    p.target = out[0];
    p.value = artel__hlo_gather_rows(h, artel__hlo_reshape(h, dy, &table), from);
    p.value = op(w, "multiply", artel__hlo_broadcast(h, weights, &all, (int[]){0, 1}), p.value);
    return p;
}

/* The last part of each target becomes the sum of all: parts at distances 1, 2, 4, ... with the same target are added.
 */
static artel__hlo_value add_up(const warping *w, const parts *p)
{
    artel__hlo *h = w->hlo;
    artel__hlo_value v = p->value, zero = artel__hlo_splat(h, 0, &(artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32});
    artel__hlo_value none = artel__hlo_splat(h, -1, &(artel__hlo_type){.dtype = ARTEL_DTYPE_INT64});
    artel__hlo_type all = *artel__hlo_type_of(h, v);
    for (int64_t d = 1; d < w->out_h * w->out_w * w->corners; d *= 2) {
        const int64_t low[] = {d, 0}, high[] = {-d, 0}, inside[] = {0, 0};
        artel__hlo_value same =
            artel__hlo_compare(h, "EQ", artel__hlo_pad(h, p->target, none, low, high, inside), p->target);
        artel__hlo_value other = artel__hlo_pad(h, v, zero, low, high, inside);
        other = artel__hlo_select(h, artel__hlo_broadcast(h, same, &all, (int[]){0}), other,
                                  artel__hlo_number(h, 0, other));
        v = op(w, "add", other, v);
    }
    return v;
}

void artel__lower_warp_gradient(artel__lower *lower)
{
    artel__hlo_type dy = artel__lower_in_type(lower, 0), out = artel__lower_out_type(lower, 0);
    warping w = begin(lower, &out, &dy);
    artel__hlo *h = w.hlo;
    if (w.corners == 0) {
        lower->out[0] = artel__hlo_splat(h, 0, &out);
        return;
    }
    parts p = sorted_parts(&w, lower->in[0]);
    artel__hlo_value sums = add_up(&w, &p);
    artel__hlo_type pixels = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {w.rows * w.in_h * w.in_w, w.channels}};
    artel__hlo_value none = artel__hlo_splat(h, -1, &(artel__hlo_type){.dtype = ARTEL_DTYPE_INT64});
    artel__hlo_value next = artel__hlo_pad(h, p.target, none, (int64_t[]){-1}, (int64_t[]){1}, (int64_t[]){0});
    artel__hlo_value last =
        op(&w, "and", artel__hlo_compare(h, "NE", next, p.target), is(&w, "LT", p.target, (double)pixels.dim[0]));
    artel__hlo_value aside =
        with(&w, "add", artel__hlo_iota(h, artel__hlo_type_of(h, p.target), 0), (double)pixels.dim[0]);
    artel__hlo_value to =
        artel__hlo_select(h, last, p.target, aside); /* the others go nowhere, each to another place there */
    lower->out[0] =
        artel__hlo_reshape(h, artel__hlo_scatter_rows(h, artel__hlo_splat(h, 0, &pixels), to, sums, false), &out);
}
