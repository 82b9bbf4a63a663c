/* SPDX-License-Identifier: Apache-2.0 */
/* What the reference kernels of full and depthwise convolutions share: walking the output pixel by pixel. */
#ifndef ARTEL_KERNEL_REF_CONV_ROWS_H
#define ARTEL_KERNEL_REF_CONV_ROWS_H

#include "kernel/conv.h"
#include "kernel/ref/finish.h"

/* Output channel c of pixel (y, x) of an input image. */
typedef float artel__ref_conv_element(const artel__conv2d_forward *p, const float *image, int64_t y, int64_t x,
                                      int64_t c);

/* One task is one output row of pixels. */
static inline int64_t artel__ref_conv_tasks(const void *params)
{
    const artel__conv2d_shape *s = &((const artel__conv2d_forward *)params)->shape;
    return s->images * s->oh;
}

static inline void artel__ref_conv_rows(const artel__conv2d_forward *p, int64_t begin, int64_t end,
                                        artel__ref_conv_element *element)
{
    const artel__conv2d_shape *s = &p->shape;
    for (int64_t row = begin; row < end; row++) {
        const float *image = p->x + row / s->oh * s->ih * s->iw * s->ic;
        float *out = p->out + row * s->ow * s->oc;
        for (int64_t x = 0; x < s->ow; x++) {
            for (int64_t c = 0; c < s->oc; c++) out[x * s->oc + c] = element(p, image, row % s->oh, x, c);
        }
    }
}

#endif
