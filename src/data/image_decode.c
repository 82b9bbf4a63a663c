/* SPDX-License-Identifier: Apache-2.0 */
/* Images of folders and of records: measured first, so that memory is taken for what is there, then decoded and resized. */
#include "data/image_decode.h"

artel_status artel__image_decode(artel_context *ctx, const artel__image_part *part, const artel__image_input *input,
                                 const artel_shape *shape, int interpolation, float *out, artel__image_why *why)
{
    artel__image_resize resize = {.channels = shape->dim[2],
                                  .out_height = shape->dim[0],
                                  .out_width = shape->dim[1],
                                  .interpolation = (artel__data_interpolation)interpolation};
    void *pixels;
    if (part->measure(input, &resize.height, &resize.width, why) != 0) return ARTEL_ERROR_CORRUPT;
    ARTEL_TRY(artel__alloc(ctx, (size_t)(resize.height * resize.width * resize.channels), "an image", &pixels));
    artel_status status = part->decode(input, pixels, why) == 0 ? ARTEL_OK : ARTEL_ERROR_CORRUPT;
    resize.pixels = pixels;
    if (status == ARTEL_OK) artel__image_resize_run(&resize, out);
    artel__free(ctx, pixels);
    return status;
}
