/* SPDX-License-Identifier: Apache-2.0 */
/* PNG by libpng, with the transformations of TensorFlow's decode_png, so that pixels are the same.
 *
 * 16 bits are cut to 8, palettes and small greys are expanded, alpha is dropped or added, colour becomes grey by the
 * weights 0.299, 0.587, 0.114 in libpng's fixed point. Errors jump back to the function that owns the reader.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "data/part_image/part.h"

enum {
    CHUNK_ROOM = 512 << 10
};

typedef struct reader {
    png_structp png;
    png_infop info;
    const artel__image_input *input;
    size_t at;
    png_bytep *rows; /* of libpng's own memory */
    artel__image_why *why;
} reader;

static void fail(png_structp png, png_const_charp text)
{
    reader *r = png_get_error_ptr(png);
    snprintf(r->why->text, sizeof r->why->text, "%s", text);
    longjmp(png_jmpbuf(png), 1);
}

static void ignore(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void give_bytes(png_structp png, png_bytep out, size_t count)
{
    reader *r = png_get_io_ptr(png);
    if (count > r->input->size - r->at) png_error(png, "the image is cut off");
    memcpy(out, r->input->bytes + r->at, count);
    r->at += count;
}

static int create(reader *r, const artel__image_input *input, artel__image_why *why)
{
    memset(r, 0, sizeof *r);
    r->input = input;
    r->why = why;
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, fail, ignore);
    if (r->png != NULL) r->info = png_create_info_struct(r->png);
    if (r->info != NULL) return 0;
    snprintf(why->text, sizeof why->text, "no memory");
    if (r->png != NULL) png_destroy_read_struct(&r->png, NULL, NULL);
    return -1;
}

/* Chunks that no pixel depends on are passed over as they lie: a thousand texts could unfold to a gigabyte. */
static void pass_over_notes(png_structp png)
{
    static const png_byte notes[] = "tEXt\0zTXt\0iTXt\0sPLT\0eXIf\0tIME\0pHYs\0oFFs\0pCAL\0sCAL\0hIST";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, notes, (int)(sizeof notes / 5));
}

/* This and the functions below may jump; whoever calls them has set the target. */
static void read_header(reader *r)
{
    png_set_read_fn(r->png, r, give_bytes);
    pass_over_notes(r->png);
    png_set_user_limits(r->png, ARTEL__IMAGE_MAX_SIDE, ARTEL__IMAGE_MAX_SIDE);
    png_set_chunk_malloc_max(r->png, r->input->size + CHUNK_ROOM); /* a profile unfolds, too */
    png_read_info(r->png, r->info);
}

static void set_alpha(reader *r, int channels, int has_alpha, int has_transparency)
{
    if (channels != 4) {
        if (has_alpha || has_transparency) png_set_strip_alpha(r->png);
    } else if (has_transparency && !has_alpha) {
        png_set_tRNS_to_alpha(r->png);
    } else if (!has_alpha) {
        png_set_add_alpha(r->png, 255, PNG_FILLER_AFTER);
    }
}

static void set_transformations(reader *r, int channels)
{
    int color = png_get_color_type(r->png, r->info), depth = png_get_bit_depth(r->png, r->info);
    int is_grey = (color & PNG_COLOR_MASK_COLOR) == 0;
    if (depth > 8) png_set_strip_16(r->png);
    png_set_packing(r->png);
    png_set_interlace_handling(r->png);
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(r->png);
    if (is_grey && depth < 8) png_set_expand_gray_1_2_4_to_8(r->png);
    if (channels < 3 && !is_grey) png_set_rgb_to_gray(r->png, 1, 0.299, 0.587);
    if (channels >= 3 && is_grey) png_set_gray_to_rgb(r->png);
    set_alpha(r, channels, (color & PNG_COLOR_MASK_ALPHA) != 0, png_get_valid(r->png, r->info, PNG_INFO_tRNS) != 0);
    png_read_update_info(r->png, r->info);
}

static void read_pixels(reader *r, uint8_t *out)
{
    size_t height = png_get_image_height(r->png, r->info);
    size_t row_bytes = (size_t)png_get_image_width(r->png, r->info) * (size_t)r->input->channels;
    set_transformations(r, r->input->channels);
    if (png_get_rowbytes(r->png, r->info) != row_bytes)
        png_error(r->png, "this combination of colour and alpha is not known");
    r->rows = png_malloc(r->png, height * sizeof *r->rows);
    for (size_t i = 0; i < height; i++) r->rows[i] = out + i * row_bytes;
    png_read_image(r->png, r->rows);
    png_read_end(r->png, NULL);
}

enum {
    MOST_UNFOLDED = 1032 /* bytes that deflate makes of one */
};

/* What the rows take must come out of the file; otherwise its extents are not believed. */
static int is_too_short(const reader *r, int64_t height, int64_t width)
{
    int64_t bits = width * png_get_bit_depth(r->png, r->info) * png_get_channels(r->png, r->info);
    if (bits * height / 8 / MOST_UNFOLDED <= (int64_t)r->input->size) return 0;
    snprintf(r->why->text, sizeof r->why->text, "cut off: %zu bytes cannot be a PNG image of %lld x %lld pixels",
             r->input->size, (long long)height, (long long)width);
    return 1;
}

int artel__png_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why)
{
    reader r;
    if (create(&r, input, why) != 0) return -1;
    if (setjmp(png_jmpbuf(r.png)) != 0) {
        png_destroy_read_struct(&r.png, &r.info, NULL);
        return -1;
    }
    read_header(&r);
    *out_height = (int64_t)png_get_image_height(r.png, r.info);
    *out_width = (int64_t)png_get_image_width(r.png, r.info);
    int result = is_too_short(&r, *out_height, *out_width) ? -1 : 0;
    png_destroy_read_struct(&r.png, &r.info, NULL);
    return result;
}

int artel__png_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why)
{
    reader r;
    if (create(&r, input, why) != 0) return -1;
    if (setjmp(png_jmpbuf(r.png)) != 0) {
        png_free(r.png, r.rows);
        png_destroy_read_struct(&r.png, &r.info, NULL);
        return -1;
    }
    read_header(&r);
    read_pixels(&r, out);
    png_free(r.png, r.rows);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    return 0;
}
