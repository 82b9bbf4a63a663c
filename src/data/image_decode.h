/* SPDX-License-Identifier: Apache-2.0 */
/* An encoded image into rows of float32 of the size that is wanted. */
#ifndef ARTEL_DATA_IMAGE_DECODE_H
#define ARTEL_DATA_IMAGE_DECODE_H

#include "data/image_part.h"
#include "data/source.h"

/* Decodes and resizes to shape [height, width, channels], values 0..255. `why` gets the reason when the image is damaged, the result
 * then being ARTEL_ERROR_CORRUPT, without a record in the context: the caller knows what to name. Thread-safe. */
artel_status artel__image_decode(artel_context *ctx, const artel__image_part *part, const artel__image_input *input,
                                 const artel_shape *shape, int interpolation, float *out, artel__image_why *why);

#endif
