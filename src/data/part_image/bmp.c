/* SPDX-License-Identifier: Apache-2.0 */
/* BMP: uncompressed, 1, 4 and 8 bits with a palette, 24 and 32 bits; rows from the bottom, or from the top when the
 * height is negative.
 *
 * Format: Microsoft, BITMAPINFOHEADER and later. Every offset is held against the size of the file before it is
 * followed. The fourth byte of a pixel of 32 bits is its alpha, as in TensorFlow's decode_bmp.
 */
#include <stdio.h>
#include <string.h>

#include "data/part_image/part.h"

typedef struct bitmap {
    const uint8_t *bytes, *palette, *pixels;
    int64_t width, height;
    int bits, palette_count;
    int from_top;
    size_t row_bytes;
} bitmap;

static int64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
    return bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static int refuse(artel__image_why *why, const char *text)
{
    snprintf(why->text, sizeof why->text, "BMP: %s", text);
    return -1;
}

static int read_head(const artel__image_input *input, bitmap *b, artel__image_why *why)
{
    memset(b, 0, sizeof *b);
    if (input->size < 54) return refuse(why, "the image is cut off");
    const uint8_t *bytes = b->bytes = input->bytes;
    int64_t start = get(bytes + 10, 4) & 0xffffffff, head = get(bytes + 14, 4) & 0xffffffff,
            height = get(bytes + 22, 4);
    int64_t method = get(bytes + 30, 4), colours = get(bytes + 46, 4) & 0xffffffff;
    b->width = get(bytes + 18, 4);
    b->height = height < 0 ? -height : height;
    b->from_top = height < 0;
    b->bits = (int)get(bytes + 28, 2);
    if (head < 40 || head > 1024)
        return refuse(why, "headers older than Windows 3 are not supported; convert it to PNG");
    if (method != 0 && !(method == 3 && b->bits == 32))
        return refuse(why, "compressed images are not supported; convert it to PNG");
    if (b->bits != 1 && b->bits != 4 && b->bits != 8 && b->bits != 24 && b->bits != 32)
        return refuse(why, "pixels of 16 bits are not supported; convert it to PNG");
    if (b->width < 1 || b->height < 1 || b->width > ARTEL__IMAGE_MAX_SIDE || b->height > ARTEL__IMAGE_MAX_SIDE)
        return refuse(why, "the extents are not possible");
    b->row_bytes = ((size_t)b->width * (size_t)b->bits + 31) / 32 * 4;
    if (start < 54 || (uint64_t)start > input->size || b->row_bytes * (size_t)b->height > input->size - (size_t)start)
        return refuse(why, "the image is cut off");
    b->pixels = bytes + start;
    if (b->bits > 8) return 0;
    int64_t most = (int64_t)1 << b->bits, at = 14 + head;
    b->palette_count = (int)(colours == 0 || colours > most ? most : colours);
    if ((uint64_t)at + 4 * (uint64_t)b->palette_count > (uint64_t)start) return refuse(why, "the palette is cut off");
    b->palette = bytes + at;
    return 0;
}

int artel__bmp_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why)
{
    bitmap b;
    if (read_head(input, &b, why) != 0) return -1;
    *out_height = b.height;
    *out_width = b.width;
    return 0;
}

/* Blue, green, red, alpha of a pixel; NULL beyond the palette. */
static const uint8_t *pixel_at(const bitmap *b, const uint8_t *row, int64_t x)
{
    if (b->bits > 8) return row + x * (b->bits / 8);
    int shift = 8 - b->bits - (int)(x * b->bits % 8), index = row[x * b->bits / 8] >> shift & ((1 << b->bits) - 1);
    return index < b->palette_count ? b->palette + 4 * index : NULL;
}

int artel__bmp_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why)
{
    bitmap b;
    if (read_head(input, &b, why) != 0) return -1;
    for (int64_t y = 0; y < b.height; y++) {
        const uint8_t *row = b.pixels + (size_t)(b.from_top ? y : b.height - 1 - y) * b.row_bytes;
        for (int64_t x = 0; x < b.width; x++, out += input->channels) {
            const uint8_t *p = pixel_at(&b, row, x);
            if (p == NULL) return refuse(why, "a pixel lies beyond the palette");
            artel__image_put(out, input->channels, p[2], p[1], p[0], b.bits == 32 ? p[3] : 255);
        }
    }
    return 0;
}
