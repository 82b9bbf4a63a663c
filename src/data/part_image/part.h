/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary between artel and libartel-image.so, the part that links libjpeg and libpng.
 *
 * The part is loaded when a folder of images is opened, so that everything else runs on machines without these
 * libraries. It knows nothing of artel but this header: no contexts, no allocator, no logs; failures are a line of
 * text. Both functions may be called by any number of threads at once.
 */
#ifndef ARTEL_DATA_PART_IMAGE_PART_H
#define ARTEL_DATA_PART_IMAGE_PART_H

#include <stddef.h>
#include <stdint.h>

#define ARTEL__IMAGE_PART_VERSION 2u
#define ARTEL__IMAGE_PART_SYMBOL "artel_part_image"

/* Larger images are refused before memory is taken. */
#define ARTEL__IMAGE_MAX_SIDE 32768
#define ARTEL__IMAGE_MAX_PIXELS ((int64_t)1 << 27)

/* An encoded image and how it is wanted. */
typedef struct artel__image_input {
    const uint8_t *bytes;
    size_t size;
    int channels; /* 1 grey, 3 RGB, 4 RGB and alpha */
    /* A JPEG may be decoded at a half, a quarter or an eighth of its extents, rounded up, as long as they are not less
     * than these. 0: at all of them. */
    int64_t least_height, least_width;
} artel__image_input;

typedef struct artel__image_why {
    char text[200];
} artel__image_why;

typedef struct artel__image_part {
    uint32_t version;
    /* Reads the extents at which a JPEG, PNG, BMP or GIF image, told apart by content, will be decoded. 0, or -1 with
     * the reason. */
    int (*measure)(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why);
    /* Decodes an image that was measured into out[height][width][channels]. 0, or -1 with the reason. Pixels are those
     * of TensorFlow's decode_image, of smaller JPEGs those of its decode_jpeg with a ratio. */
    int (*decode)(const artel__image_input *input, uint8_t *out, artel__image_why *why);
} artel__image_part;

/* The one exported symbol, under ARTEL__IMAGE_PART_SYMBOL. */
typedef const artel__image_part *artel__image_part_fn(void);

/* ---- inside the part ---- */

int artel__jpeg_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width,
                        artel__image_why *why);
int artel__jpeg_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why);
int artel__png_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why);
int artel__png_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why);
int artel__bmp_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why);
int artel__bmp_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why);
int artel__gif_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why);
int artel__gif_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why);

/* One pixel in 1, 3 or 4 channels; grey by the weights that libpng uses (0.299, 0.587, rest). */
static inline void artel__image_put(uint8_t *out, int channels, uint8_t red, uint8_t green, uint8_t blue, uint8_t alpha)
{
    if (channels == 1) {
        out[0] = (uint8_t)((9798 * red + 19235 * green + 3735 * blue + 16384) >> 15);
        return;
    }
    out[0] = red;
    out[1] = green;
    out[2] = blue;
    if (channels == 4) out[3] = alpha;
}

#endif
