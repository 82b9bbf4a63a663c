/* SPDX-License-Identifier: Apache-2.0 */
/* The normal form of a reduction: kept and reduced axes after merging neighbours, with their strides in x.
 *
 * Axes of extent 1 are dropped. Both the reference and the fast kernels take their order of summation from it. Kernels
 * only.
 */
#ifndef ARTEL_KERNEL_REDUCE_FORM_H
#define ARTEL_KERNEL_REDUCE_FORM_H

#include "kernel/reduce.h"

typedef struct artel__axes {
    int rank;
    int64_t dim[ARTEL__LOOP_RANK], stride[ARTEL__LOOP_RANK];
} artel__axes;

typedef struct artel__reduce_form {
    artel__axes kept, reduced;
    int64_t outputs, count; /* products of the extents */
    bool last_reduced;      /* the axis of stride 1 is reduced */
} artel__reduce_form;

static inline void artel__axes_append(artel__axes *axes, int64_t dim, int64_t stride)
{
    int last = axes->rank - 1;
    if (last >= 0 && axes->stride[last] == dim * stride) {
        axes->dim[last] *= dim;
        axes->stride[last] = stride;
        return;
    }
    axes->dim[axes->rank] = dim;
    axes->stride[axes->rank++] = stride;
}

static inline artel__reduce_form artel__reduce_form_make(int rank, const int64_t *dim, const bool *reduced)
{
    artel__reduce_form form = {.outputs = 1, .count = 1};
    int64_t stride = 1;
    for (int d = 0; d < rank; d++) stride *= dim[d];
    for (int d = 0; d < rank; d++) {
        stride = dim[d] ? stride / dim[d] : 0;
        if (reduced[d]) form.count *= dim[d];
        if (!reduced[d]) form.outputs *= dim[d];
        if (dim[d] == 1) continue;
        artel__axes_append(reduced[d] ? &form.reduced : &form.kept, dim[d], stride);
        form.last_reduced = reduced[d];
    }
    return form;
}

/* The offset of the element with this row-major index over the axes. */
static inline int64_t artel__axes_offset(const artel__axes *axes, int64_t index)
{
    int64_t offset = 0;
    for (int d = axes->rank - 1; d >= 0; d--) {
        offset += index % axes->dim[d] * axes->stride[d];
        index /= axes->dim[d];
    }
    return offset;
}

#endif
