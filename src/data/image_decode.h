/* SPDX-License-Identifier: Apache-2.0 */
/* An encoded image into rows of float32 of the size that is wanted. */
#ifndef ARTEL_DATA_IMAGE_DECODE_H
#define ARTEL_DATA_IMAGE_DECODE_H

#include "base/protobuf.h"
#include "data/image_part.h"
#include "data/source.h"

/* How images become pixels. */
typedef struct artel__image_how {
    const artel__image_part *part;
    int interpolation; /* artel__data_interpolation */
    bool scaled;       /* a JPEG that is far larger is decoded at a part of its size */
} artel__image_how;

/* As the options of the source say. */
artel__image_how artel__image_how_of(const artel__image_part *part, const artel__data_options *options);

/* Decodes and resizes to shape [height, width, channels], values 0..255. `why` gets the reason when the image is
 * damaged, the result then being ARTEL_ERROR_CORRUPT, without a record in the context: the caller knows what to name.
 * Thread-safe. */
artel_status artel__image_decode(artel_context *ctx, const artel__image_how *how, artel__proto encoded,
                                 const artel_shape *shape, float *out, artel__image_why *why);

#endif
