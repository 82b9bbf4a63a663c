/* SPDX-License-Identifier: Apache-2.0 */
/* Stages on images, columns of [height, width, channels]: resize, crop, and random crop, flip, brightness, contrast.
 *
 * Values become float32. Resizing is that of tf.image.resize without antialiasing (resize.c); contrast mixes each value
 * with the mean of its channel, as tf.image.adjust_contrast. What is random is drawn by seed, stage and element: two
 * columns cropped by two stages with the same "seed" and "draw" are cropped alike.
 */
#include <string.h>

#include "data/stage.h"

typedef struct image_options {
    const char *column; /* first: ARTEL__STAGE_COLUMN */
    int64_t height, width, top, left, seed, draw;
    int interpolation, axis;
    double probability, low, high;
} image_options;

#define HEIGHT                                                                                                        \
    {                                                                                                                 \
        "height", "of what is kept or made", ARTEL__OPTION_INT, offsetof(image_options, height), NULL, 1, 32768, NULL \
    }
#define WIDTH                                                                                        \
    {                                                                                                \
        "width", "likewise", ARTEL__OPTION_INT, offsetof(image_options, width), NULL, 1, 32768, NULL \
    }
#define SEED                                                                                         \
    {                                                                                                \
        "seed", "of the draws", ARTEL__OPTION_INT, offsetof(image_options, seed), "0", 0, 9e18, NULL \
    }
#define DRAW                                                                                         \
    {                                                                                                \
        "draw", "stages with the same number draw alike; left out: each its own", ARTEL__OPTION_INT, \
            offsetof(image_options, draw), "-1", -1, 65535, NULL                                     \
    }
#define LOW(text)                                                                        \
    {                                                                                    \
        "low", text, ARTEL__OPTION_FLOAT, offsetof(image_options, low), NULL, 0, 0, NULL \
    }
#define HIGH                                                                                     \
    {                                                                                            \
        "high", "the most", ARTEL__OPTION_FLOAT, offsetof(image_options, high), NULL, 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const char *const interpolations[] = {"bilinear", "nearest", NULL};
static const char *const axes[] = {"horizontal", "vertical", NULL};

static const artel__stage_column *input_of(const artel__stage *stage)
{
    return artel__stage_given(stage);
}

/* Checks that the column holds images, and gives it its new extents; 0: as they are. */
static artel_status open_image(artel__stage *stage, int64_t height, int64_t width)
{
    artel_shape row = artel__stage_made(stage)->row;
    if (row.rank != 3 || row.dim[0] < 1 || row.dim[1] < 1)
        return artel__stage_wrong(stage, "reshape it to [height, width, channels]", "column '%s' holds no images",
                                  input_of(stage)->name);
    if (height > 0) row.dim[0] = height;
    if (width > 0) row.dim[1] = width;
    return artel__stage_set_column(stage, stage->target, ARTEL_DTYPE_FLOAT32, &row);
}

/* A uniform number of [0, 1) and whole ones below a limit, of this element. */
static void draw(const artel__stage *stage, int64_t index, uint32_t out[4])
{
    const image_options *o = stage->options;
    artel__stage same = *stage;
    if (o->draw >= 0) same.ordinal = 0x10000u + (uint32_t)o->draw;
    artel__stage_draw(&same, o->seed, index, artel__stage_pass(), out);
}

static int64_t below(uint32_t word, int64_t limit)
{
    return (int64_t)(((uint64_t)word * (uint64_t)limit) >> 32);
}

/* ---- resize ---- */

static const artel__option resize_table[] = {ARTEL__STAGE_COLUMN("of images"),
                                             HEIGHT,
                                             WIDTH,
                                             {"interpolation", "bilinear or nearest", ARTEL__OPTION_ENUM,
                                              offsetof(image_options, interpolation), "bilinear", 0, 0, interpolations},
                                             END};

static artel_status resize_open(artel__stage *stage)
{
    const image_options *o = stage->options;
    return open_image(stage, o->height, o->width);
}

static artel_status resize_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const image_options *o = stage->options;
    const artel__stage_column *from = input_of(stage);
    void *floats = NULL;
    (void)index;
    artel__image_resize resize = {.height = from->row.dim[0],
                                  .width = from->row.dim[1],
                                  .channels = from->row.dim[2],
                                  .out_height = o->height,
                                  .out_width = o->width,
                                  .interpolation = (artel__data_interpolation)o->interpolation};
    if (from->dtype == ARTEL_DTYPE_UINT8) {
        resize.pixels = in;
    } else if (from->dtype == ARTEL_DTYPE_FLOAT32) {
        resize.floats = in;
    } else {
        ARTEL_TRY(artel__alloc(stage->ctx, (size_t)from->elements * sizeof(float), stage->where, &floats));
        artel__convert(from->dtype, in, ARTEL_DTYPE_FLOAT32, floats, from->elements);
        resize.floats = floats;
    }
    artel__image_resize_run(&resize, out);
    artel__free(stage->ctx, floats);
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_resize = {.name = "resize",
                                              .options = resize_table,
                                              .options_size = sizeof(image_options),
                                              .open = resize_open,
                                              .map = resize_map};

/* ---- crops ---- */

static artel_status crop_open(artel__stage *stage)
{
    const image_options *o = stage->options;
    const artel_shape *row = &artel__stage_made(stage)->row;
    if (row->rank == 3 && (o->height > row->dim[0] || o->width > row->dim[1] || o->top > row->dim[0] - o->height ||
                           o->left > row->dim[1] - o->width))
        return artel__stage_wrong(stage, "choose a smaller part", "the part is not inside %lld x %lld pixels",
                                  (long long)row->dim[0], (long long)row->dim[1]);
    return open_image(stage, o->height, o->width);
}

/* The part from (top, left) on. */
static void cut(const artel__stage *stage, const void *in, float *out, int64_t top, int64_t left)
{
    const artel__stage_column *from = input_of(stage), *to = artel__stage_made(stage);
    size_t size = artel_dtype_size(from->dtype);
    int64_t line = to->row.dim[1] * to->row.dim[2];
    for (int64_t y = 0; y < to->row.dim[0]; y++) {
        int64_t at = ((top + y) * from->row.dim[1] + left) * from->row.dim[2];
        artel__convert(from->dtype, (const uint8_t *)in + (size_t)at * size, ARTEL_DTYPE_FLOAT32, out + y * line, line);
    }
}

static artel_status crop_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const image_options *o = stage->options;
    const artel_shape *from = &input_of(stage)->row;
    (void)index;
    cut(stage, in, out, o->top >= 0 ? o->top : (from->dim[0] - o->height) / 2,
        o->left >= 0 ? o->left : (from->dim[1] - o->width) / 2);
    return ARTEL_OK;
}

static const artel__option crop_table[] = {ARTEL__STAGE_COLUMN("of images"),
                                           HEIGHT,
                                           WIDTH,
                                           {"top", "first row; left out: from the middle", ARTEL__OPTION_INT,
                                            offsetof(image_options, top), "-1", -1, 32768, NULL},
                                           {"left", "first column; left out: from the middle", ARTEL__OPTION_INT,
                                            offsetof(image_options, left), "-1", -1, 32768, NULL},
                                           END};

const artel__stage_ops artel__stage_crop = {
    .name = "crop", .options = crop_table, .options_size = sizeof(image_options), .open = crop_open, .map = crop_map};

static artel_status random_crop_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const image_options *o = stage->options;
    const artel_shape *from = &input_of(stage)->row;
    uint32_t words[4];
    draw(stage, index, words);
    cut(stage, in, out, below(words[0], from->dim[0] - o->height + 1), below(words[1], from->dim[1] - o->width + 1));
    return ARTEL_OK;
}

static const artel__option random_crop_table[] = {ARTEL__STAGE_COLUMN("of images"), HEIGHT, WIDTH, SEED, DRAW, END};

const artel__stage_ops artel__stage_random_crop = {.name = "random_crop",
                                                   .options = random_crop_table,
                                                   .options_size = sizeof(image_options),
                                                   .draws = true,
                                                   .open = crop_open,
                                                   .map = random_crop_map};

/* ---- flip ---- */

static artel_status same_size(artel__stage *stage)
{
    return open_image(stage, 0, 0);
}

static void swap_pixels(float *a, float *b, int64_t channels)
{
    for (int64_t c = 0; c < channels; c++) {
        float kept = a[c];
        a[c] = b[c];
        b[c] = kept;
    }
}

static artel_status flip_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const image_options *o = stage->options;
    const artel_shape *row = &artel__stage_made(stage)->row;
    int64_t h = row->dim[0], w = row->dim[1], c = row->dim[2];
    uint32_t words[4];
    float *values = out;
    artel__convert(input_of(stage)->dtype, in, ARTEL_DTYPE_FLOAT32, out, h * w * c);
    draw(stage, index, words);
    if ((double)words[0] * 0x1p-32 >= o->probability) return ARTEL_OK;
    for (int64_t y = 0; y < (o->axis == 0 ? h : h / 2); y++) {
        for (int64_t x = 0; x < (o->axis == 0 ? w / 2 : w); x++) {
            int64_t other = o->axis == 0 ? y * w + w - 1 - x : (h - 1 - y) * w + x;
            swap_pixels(values + (y * w + x) * c, values + other * c, c);
        }
    }
    return ARTEL_OK;
}

static const artel__option flip_table[] = {
    ARTEL__STAGE_COLUMN("of images"),
    SEED,
    DRAW,
    {"axis", "horizontal or vertical", ARTEL__OPTION_ENUM, offsetof(image_options, axis), "horizontal", 0, 0, axes},
    {"probability", "of a flip", ARTEL__OPTION_FLOAT, offsetof(image_options, probability), "0.5", 0, 1, NULL},
    END};

const artel__stage_ops artel__stage_random_flip = {.name = "random_flip",
                                                   .options = flip_table,
                                                   .options_size = sizeof(image_options),
                                                   .draws = true,
                                                   .open = same_size,
                                                   .map = flip_map};

/* ---- brightness and contrast ---- */

static artel_status range_open(artel__stage *stage)
{
    const image_options *o = stage->options;
    if (!(o->low <= o->high)) return artel__stage_wrong(stage, "low is the smaller number", "the range is empty");
    return open_image(stage, 0, 0);
}

static float drawn_between(const artel__stage *stage, int64_t index)
{
    const image_options *o = stage->options;
    uint32_t words[4];
    draw(stage, index, words);
    return (float)o->low + artel__rng_uniform(words[0]) * ((float)o->high - (float)o->low);
}

static artel_status brightness_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    float add = drawn_between(stage, index), *values = out;
    int64_t count = artel__stage_made(stage)->elements;
    artel__convert(input_of(stage)->dtype, in, ARTEL_DTYPE_FLOAT32, out, count);
    for (int64_t i = 0; i < count; i++) values[i] += add;
    return ARTEL_OK;
}

static const artel__option brightness_table[] = {ARTEL__STAGE_COLUMN("of images"), SEED, DRAW,
                                                 LOW("the least that is added"),   HIGH, END};

const artel__stage_ops artel__stage_random_brightness = {.name = "random_brightness",
                                                         .options = brightness_table,
                                                         .options_size = sizeof(image_options),
                                                         .draws = true,
                                                         .open = range_open,
                                                         .map = brightness_map};

static artel_status contrast_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    float factor = drawn_between(stage, index), *values = out;
    const artel_shape *row = &artel__stage_made(stage)->row;
    int64_t pixels = row->dim[0] * row->dim[1], channels = row->dim[2];
    artel__convert(input_of(stage)->dtype, in, ARTEL_DTYPE_FLOAT32, out, pixels * channels);
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0;
        for (int64_t i = 0; i < pixels; i++) sum += (double)values[i * channels + c];
        float mean = (float)(sum / (double)pixels);
        for (int64_t i = 0; i < pixels; i++)
            values[i * channels + c] = (values[i * channels + c] - mean) * factor + mean;
    }
    return ARTEL_OK;
}

static const artel__option contrast_table[] = {ARTEL__STAGE_COLUMN("of images"), SEED, DRAW,
                                               LOW("the least factor"),          HIGH, END};

const artel__stage_ops artel__stage_random_contrast = {.name = "random_contrast",
                                                       .options = contrast_table,
                                                       .options_size = sizeof(image_options),
                                                       .draws = true,
                                                       .open = range_open,
                                                       .map = contrast_map};
