/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing of images as tf.image.resize does it without antialiasing, half-pixel centres.
 *
 * Formulas: tensorflow/core/kernels/image/resize_bilinear_op.cc (compute_interpolation_weights, compute_lerp) and
 * resize_nearest_neighbor_op.cc. An output coordinate x stands at (x + 0.5) * in / out - 0.5 of the input, in float32;
 * bilinear mixes horizontally, then vertically. Columns are taken in pieces whose weights fit on the stack, so that
 * nothing is taken from the heap.
 */
#include "data/source.h"

#define PIECE 256 /* columns */

typedef struct weight {
    int64_t lower, upper;
    float mix;
} weight;

static weight bilinear_weight(int64_t at, float scale, int64_t extent)
{
    float x = ((float)at + 0.5f) * scale - 0.5f;
    int64_t below = (int64_t)x;
    if ((float)below > x) below--;
    int64_t above = (float)below == x ? below : below + 1;
    weight w = {below > 0 ? below : 0, above < extent - 1 ? above : extent - 1, x - (float)below};
    return w;
}

static int64_t nearest_index(int64_t at, float scale, int64_t extent)
{
    int64_t index = (int64_t)(((float)at + 0.5f) * scale);
    return index < extent - 1 ? index : extent - 1;
}

static float mix(float from, float to, float part)
{
    return from + (to - from) * part;
}

/* A value, of floats or of pixels: which is known where the rows below are expanded. */
static inline float value_at(const artel__image_resize *r, bool floats, int64_t at)
{
    return floats ? r->floats[at] : (float)r->pixels[at];
}

static inline void bilinear_row(const artel__image_resize *r, bool floats, const weight *columns, int64_t count,
                                weight row, float *out)
{
    int64_t top = row.lower * r->width * r->channels, bottom = row.upper * r->width * r->channels;
    for (int64_t x = 0; x < count; x++) {
        int64_t left = columns[x].lower * r->channels, right = columns[x].upper * r->channels;
        for (int64_t c = 0; c < r->channels; c++) {
            float above =
                mix(value_at(r, floats, top + left + c), value_at(r, floats, top + right + c), columns[x].mix);
            float below =
                mix(value_at(r, floats, bottom + left + c), value_at(r, floats, bottom + right + c), columns[x].mix);
            out[x * r->channels + c] = mix(above, below, row.mix);
        }
    }
}

static inline void nearest_row(const artel__image_resize *r, bool floats, const weight *columns, int64_t count,
                               int64_t row, float *out)
{
    int64_t from = row * r->width * r->channels;
    for (int64_t x = 0; x < count; x++) {
        for (int64_t c = 0; c < r->channels; c++)
            out[x * r->channels + c] = value_at(r, floats, from + columns[x].lower * r->channels + c);
    }
}

/* All rows of a piece of the columns. */
static inline void resize_piece(const artel__image_resize *r, bool floats, const weight *columns, int64_t first,
                                int64_t count, float *out)
{
    float scale = (float)r->height / (float)r->out_height;
    for (int64_t y = 0; y < r->out_height; y++) {
        float *to = out + (y * r->out_width + first) * r->channels;
        if (r->interpolation == ARTEL__DATA_NEAREST)
            nearest_row(r, floats, columns, count, nearest_index(y, scale, r->height), to);
        else
            bilinear_row(r, floats, columns, count, bilinear_weight(y, scale, r->height), to);
    }
}

void artel__image_resize_run(const artel__image_resize *r, float *out)
{
    float scale = (float)r->width / (float)r->out_width;
    weight columns[PIECE];
    for (int64_t first = 0; first < r->out_width; first += PIECE) {
        int64_t count = r->out_width - first < PIECE ? r->out_width - first : PIECE;
        for (int64_t x = 0; x < count; x++) {
            if (r->interpolation == ARTEL__DATA_NEAREST)
                columns[x].lower = nearest_index(first + x, scale, r->width);
            else
                columns[x] = bilinear_weight(first + x, scale, r->width);
        }
        if (r->floats != NULL)
            resize_piece(r, true, columns, first, count, out);
        else
            resize_piece(r, false, columns, first, count, out);
    }
}
