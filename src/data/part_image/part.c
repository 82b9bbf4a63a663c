/* SPDX-License-Identifier: Apache-2.0 */
/* The table that libartel-image.so exports: chooses the decoder by the first bytes of the image, never by its name.
 *
 * Extents are checked here for all decoders, before any of them takes memory.
 */
#include "data/part_image/part.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "artel/status.h"

ARTEL_API const artel__image_part *artel_part_image(void);

static bool begins(const artel__image_input *input, const char *signature, size_t size)
{
    return input->size >= size && memcmp(input->bytes, signature, size) == 0;
}

typedef int measure_fn(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why);
typedef int decode_fn(const artel__image_input *input, uint8_t *out, artel__image_why *why);

typedef struct decoder {
    const char *signature;
    size_t size;
    measure_fn *measure;
    decode_fn *decode;
} decoder;

static const decoder decoders[] = {
    {"\xff\xd8\xff", 3, artel__jpeg_measure, artel__jpeg_decode},
    {"\x89PNG\r\n\x1a\n", 8, artel__png_measure, artel__png_decode},
    {"GIF8", 4, artel__gif_measure, artel__gif_decode},
    {"BM", 2, artel__bmp_measure, artel__bmp_decode},
};

static const decoder *find_decoder(const artel__image_input *input, artel__image_why *why)
{
    for (size_t i = 0; i < sizeof decoders / sizeof decoders[0]; i++) {
        if (begins(input, decoders[i].signature, decoders[i].size)) return &decoders[i];
    }
    snprintf(why->text, sizeof why->text, "%s",
             input->size == 0 ? "the file is empty" : "not a JPEG, PNG, GIF or BMP image");
    return NULL;
}

static int measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why)
{
    int64_t height = 0, width = 0;
    const decoder *d = find_decoder(input, why);
    if (d == NULL || d->measure(input, &height, &width, why) != 0) return -1;
    if (height < 1 || width < 1 || height > ARTEL__IMAGE_MAX_SIDE || width > ARTEL__IMAGE_MAX_SIDE ||
        height * width > ARTEL__IMAGE_MAX_PIXELS) {
        snprintf(why->text, sizeof why->text, "%lld x %lld pixels are too many (at most %lld, %d a side)",
                 (long long)height, (long long)width, (long long)ARTEL__IMAGE_MAX_PIXELS, ARTEL__IMAGE_MAX_SIDE);
        return -1;
    }
    *out_height = height;
    *out_width = width;
    return 0;
}

static int decode(const artel__image_input *input, uint8_t *out, artel__image_why *why)
{
    if (input->channels != 1 && input->channels != 3 && input->channels != 4) {
        snprintf(why->text, sizeof why->text, "%d channels (expected 1, 3 or 4)", input->channels);
        return -1;
    }
    const decoder *d = find_decoder(input, why);
    return d != NULL ? d->decode(input, out, why) : -1;
}

const artel__image_part *artel_part_image(void)
{
    static const artel__image_part part = {ARTEL__IMAGE_PART_VERSION, measure, decode};
    return &part;
}
