/* SPDX-License-Identifier: Apache-2.0 */
/* The table that libartel-image.so exports: chooses the decoder by the first bytes of the image, never by its name.
 *
 * GIF and BMP are known by their signatures so that the message can say that they are not supported yet; anything else
 * is not an image. Extents are checked here for all decoders, before any of them takes memory.
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

static bool is_jpeg(const artel__image_input *input)
{
    return begins(input, "\xff\xd8\xff", 3);
}

static bool is_png(const artel__image_input *input)
{
    return begins(input, "\x89PNG\r\n\x1a\n", 8);
}

static int refuse(const artel__image_input *input, artel__image_why *why)
{
    const char *text = "not a JPEG or PNG image";
    if (begins(input, "GIF8", 4)) text = "GIF images are not supported yet; convert it to PNG";
    if (begins(input, "BM", 2)) text = "BMP images are not supported yet; convert it to PNG";
    if (input->size == 0) text = "the file is empty";
    snprintf(why->text, sizeof why->text, "%s", text);
    return -1;
}

static int measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why)
{
    int64_t height = 0, width = 0;
    int result = is_jpeg(input)  ? artel__jpeg_measure(input, &height, &width, why)
                 : is_png(input) ? artel__png_measure(input, &height, &width, why)
                                 : refuse(input, why);
    if (result != 0) return result;
    if (height < 1 || width < 1 || height > ARTEL__IMAGE_MAX_SIDE || width > ARTEL__IMAGE_MAX_SIDE ||
        height * width > ARTEL__IMAGE_MAX_PIXELS) {
        snprintf(why->text, sizeof why->text, "%lld x %lld pixels are too many (at most %lld, %d a side)", (long long)height,
                 (long long)width, (long long)ARTEL__IMAGE_MAX_PIXELS, ARTEL__IMAGE_MAX_SIDE);
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
    if (is_jpeg(input)) return artel__jpeg_decode(input, out, why);
    return is_png(input) ? artel__png_decode(input, out, why) : refuse(input, why);
}

const artel__image_part *artel_part_image(void)
{
    static const artel__image_part part = {ARTEL__IMAGE_PART_VERSION, measure, decode};
    return &part;
}
