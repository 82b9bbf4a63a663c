/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libartel-image.so (base/part.h) on the first folder of images. */
#include "data/image_part.h"

artel_status artel__image_library_open(artel_context *ctx, artel__image_library *out)
{
    static const artel__part_request request = {
        "libartel-image.so", ARTEL__IMAGE_PART_SYMBOL,     ARTEL__IMAGE_PART_VERSION,
        "decodes images",    "libjpeg-dev and libpng-dev",
    };
    ARTEL_TRY(artel__part_open(ctx, &request, &out->library));
    out->part = out->library.table;
    return ARTEL_OK;
}

void artel__image_library_close(artel__image_library *library)
{
    artel__part_close(&library->library);
    library->part = NULL;
}
