/* SPDX-License-Identifier: Apache-2.0 */
/* Opening libartel-image.so, which decodes JPEG, PNG, BMP and GIF. */
#ifndef ARTEL_DATA_IMAGE_PART_H
#define ARTEL_DATA_IMAGE_PART_H

#include "base/part.h"
#include "data/part_image/part.h"

typedef struct artel__image_library {
    artel__part library;
    const artel__image_part *part; /* valid until the library is closed */
} artel__image_library;

/* As artel__part_open(). Errors: ARTEL_ERROR_UNSUPPORTED when it is not there or does not fit. Each open is closed
 * once. */
artel_status artel__image_library_open(artel_context *ctx, artel__image_library *out);
void artel__image_library_close(artel__image_library *library); /* a cleared one is accepted */

#endif
