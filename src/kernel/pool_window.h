/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a pooling window that lies inside the input. Kernels only. */
#ifndef ARTEL_KERNEL_POOL_WINDOW_H
#define ARTEL_KERNEL_POOL_WINDOW_H

#include "kernel/pool.h"

typedef struct artel__window {
    int64_t begin[3], end[3]; /* input positions along each axis */
} artel__window;

/* Sets the positions along one axis. */
static inline void artel__window_along(const artel__pool_shape *s, int axis, int64_t o, artel__window *w)
{
    int64_t first = o * s->stride[axis] - s->pad[axis], last = first + s->window[axis];
    w->begin[axis] = first < 0 ? 0 : first;
    w->end[axis] = last > s->in[axis] ? s->in[axis] : last;
}

static inline artel__window artel__window_at(const artel__pool_shape *s, int64_t o0, int64_t o1, int64_t o2)
{
    const int64_t o[3] = {o0, o1, o2};
    artel__window w;
    for (int d = 0; d < 3; d++) artel__window_along(s, d, o[d], &w);
    return w;
}

/* Positions in it; 0 when it is empty. */
static inline int64_t artel__window_count(const artel__window *w)
{
    int64_t count = 1;
    for (int d = 0; d < 3; d++) count *= w->end[d] > w->begin[d] ? w->end[d] - w->begin[d] : 0;
    return count;
}

static inline int64_t artel__pool_in(const artel__pool_shape *s)
{
    return s->in[0] * s->in[1] * s->in[2];
}

static inline int64_t artel__pool_out(const artel__pool_shape *s)
{
    return s->out[0] * s->out[1] * s->out[2];
}

#endif
