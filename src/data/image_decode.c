/* SPDX-License-Identifier: Apache-2.0 */
/* Images of folders and of records: measured first, so that memory is taken for what is there, then decoded and
 * resized. */
#include "data/image_decode.h"

artel__image_how artel__image_how_of(const artel__image_part *part, const artel__data_options *options)
{
    return (artel__image_how){
        .part = part, .interpolation = options->interpolation, .scaled = options->decode == ARTEL__DATA_SCALED};
}

artel_status artel__image_decode(artel_context *ctx, const artel__image_how *how, artel__proto encoded,
                                 const artel_shape *shape, float *out, artel__image_why *why)
{
    artel__image_resize resize = {.channels = shape->dim[2],
                                  .out_height = shape->dim[0],
                                  .out_width = shape->dim[1],
                                  .interpolation = (artel__data_interpolation)how->interpolation};
    const artel__image_input input = {.bytes = encoded.at,
                                      .size = (size_t)(encoded.end - encoded.at),
                                      .channels = (int)shape->dim[2],
                                      .least_height = how->scaled ? shape->dim[0] : 0,
                                      .least_width = how->scaled ? shape->dim[1] : 0};
    void *pixels;
    if (how->part->measure(&input, &resize.height, &resize.width, why) != 0) return ARTEL_ERROR_CORRUPT;
    ARTEL_TRY(artel__alloc(ctx, (size_t)(resize.height * resize.width * resize.channels), "an image", &pixels));
    artel_status status = how->part->decode(&input, pixels, why) == 0 ? ARTEL_OK : ARTEL_ERROR_CORRUPT;
    resize.pixels = pixels;
    if (status == ARTEL_OK) artel__image_resize_run(&resize, out);
    artel__free(ctx, pixels);
    return status;
}
