/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, padding and conversions; see simd.h for how this file is compiled, kernel/shape_ops.h for the contracts. */
#include "kernel/simd/simd.h"

#include "kernel/half.h"
#include "kernel/shape_ops.h"
#include "kernel/walk.h"

#include <string.h>

/* -- strided copies -- */

static artel__loop copy_loop(const artel__strided_copy *p)
{
    artel__loop loop = {.rank = p->rank};
    for (int d = 0; d < p->rank; d++) {
        loop.dim[d] = p->dim[d];
        loop.stride[0][d] = p->x_stride[d];
        loop.stride[1][d] = p->y_stride[d];
    }
    if (loop.rank == 0) loop.dim[loop.rank++] = 1;
    return loop;
}

static int64_t strided_copy_tasks(const void *params)
{
    artel__loop loop = copy_loop(params);
    return artel__pieces(artel__loop_count(&loop), ARTEL__ELEMENT_TASK);
}

static void copy_1(const uint8_t *x, int64_t sx, uint8_t *y, int64_t sy, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];
}

static void copy_2(const uint16_t *x, int64_t sx, uint16_t *y, int64_t sy, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];
}

static void copy_4(const uint32_t *x, int64_t sx, uint32_t *y, int64_t sy, int64_t n)
{
    if (sx == 0 && sy == 1) {
        uint32_t fixed = *x;
        for (int64_t i = 0; i < n; i++) y[i] = fixed;
        return;
    }
    for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];
}

static void copy_8(const uint64_t *x, int64_t sx, uint64_t *y, int64_t sy, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];
}

static void copy_line(size_t item, const char *x, int64_t sx, char *y, int64_t sy, int64_t n)
{
    if (sx == 1 && sy == 1) {
        memcpy(y, x, (size_t)n * item);
        return;
    }
    switch (item) {
    case 1: copy_1((const uint8_t *)x, sx, (uint8_t *)y, sy, n); break;
    case 2: copy_2((const uint16_t *)(const void *)x, sx, (uint16_t *)(void *)y, sy, n); break;
    case 4: copy_4((const uint32_t *)(const void *)x, sx, (uint32_t *)(void *)y, sy, n); break;
    case 8: copy_8((const uint64_t *)(const void *)x, sx, (uint64_t *)(void *)y, sy, n); break;
    default: break;
    }
}

static void strided_copy_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__strided_copy *p = params;
    artel__loop loop = copy_loop(p);
    int64_t to = artel__piece_end(artel__loop_count(&loop), ARTEL__ELEMENT_TASK, end), item = (int64_t)p->item;
    int last = loop.rank - 1;
    artel__walk walk;
    (void)scratch;
    artel__walk_start(&walk, &loop, begin * ARTEL__ELEMENT_TASK);
    while (walk.position < to) {
        int64_t n = artel__walk_run(&walk, &loop, to);
        copy_line(p->item, (const char *)p->x + (p->x_offset + walk.offset[0]) * item, loop.stride[0][last],
                  (char *)p->y + (p->y_offset + walk.offset[1]) * item, loop.stride[1][last], n);
        artel__walk_advance(&walk, &loop, n);
    }
}

/* -- pad and crop: lines of the last axis after merging whole axes into it -- */

typedef struct padding {
    int rank;
    int64_t in[ARTEL__LOOP_RANK], out[ARTEL__LOOP_RANK], before[ARTEL__LOOP_RANK];
    int64_t lines, width; /* product of the outer extents of y, and its last one */
} padding;

static padding padding_of(const artel__pad *p)
{
    padding m = {.rank = 1, .in = {1}, .out = {1}, .lines = 1};
    for (int d = 0; d < p->rank; d++) {
        bool whole = p->in[d] == p->out[d] && p->before[d] == 0;
        int to = whole ? m.rank - 1 : m.rank++;
        m.in[to] = whole ? m.in[to] * p->in[d] : p->in[d];
        m.out[to] = whole ? m.out[to] * p->out[d] : p->out[d];
        m.before[to] = whole ? m.before[to] * p->in[d] : p->before[d];
    }
    for (int d = 0; d + 1 < m.rank; d++) m.lines *= m.out[d];
    m.width = m.out[m.rank - 1];
    return m;
}

static int64_t lines_per_task(const padding *m)
{
    return m->width >= ARTEL__ELEMENT_TASK || m->width == 0 ? 1 : ARTEL__ELEMENT_TASK / m->width;
}

static void fill_bytes(char *y, int64_t count, size_t item, uint64_t bits)
{
    if (bits == 0) {
        memset(y, 0, (size_t)count * item);
        return;
    }
    for (int64_t i = 0; i < count; i++) memcpy(y + (size_t)i * item, &bits, item);
}

static int64_t pad_tasks(const void *params)
{
    padding m = padding_of(params);
    return m.width == 0 ? 0 : artel__pieces(m.lines, lines_per_task(&m));
}

/* Where line `line` of y begins in x, or -1 when it lies outside. */
static int64_t line_in_x(const padding *m, int64_t line)
{
    int64_t at = 0, stride = m->in[m->rank - 1];
    for (int d = m->rank - 2; d >= 0; d--) {
        int64_t i = line % m->out[d] - m->before[d];
        line /= m->out[d];
        if (i < 0 || i >= m->in[d]) return -1;
        at += i * stride;
        stride *= m->in[d];
    }
    return at;
}

static void pad_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pad *p = params;
    padding m = padding_of(p);
    int64_t size = lines_per_task(&m), to = artel__piece_end(m.lines, size, end), item = (int64_t)p->item;
    int64_t before = m.before[m.rank - 1], in = m.in[m.rank - 1];
    int64_t from = before > 0 ? before : 0,
            stop = before + in < m.width ? before + in : m.width; /* of y, covered by x */
    (void)scratch;
    if (from > m.width) from = m.width;
    if (stop < from) stop = from;
    for (int64_t line = begin * size; line < to; line++) {
        char *y = (char *)p->y + line * m.width * item;
        int64_t at = line_in_x(&m, line);
        if (at < 0) {
            fill_bytes(y, m.width, p->item, p->bits);
            continue;
        }
        fill_bytes(y, from, p->item, p->bits);
        if (stop > from)
            memcpy(y + from * item, (const char *)p->x + (at + from - before) * item, (size_t)((stop - from) * item));
        fill_bytes(y + stop * item, m.width - stop, p->item, p->bits);
    }
}

/* -- conversions of integers to float32; others go bit by bit, since denormals must survive them -- */

static const char *cast_refuses(const void *params)
{
    const artel__cast *p = params;
    bool fast = p->to == ARTEL_DTYPE_FLOAT32 && (p->from == ARTEL_DTYPE_INT32 || p->from == ARTEL_DTYPE_UINT8);
    return fast ? NULL : "no fast form for these types";
}

static int64_t cast_tasks(const void *params)
{
    return artel__pieces(((const artel__cast *)params)->count, ARTEL__ELEMENT_TASK);
}

static void cast_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__cast *p = params;
    int64_t from = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, begin),
            to = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, end);
    const int32_t *wide = p->x;
    const uint8_t *narrow = p->x;
    float *restrict y = p->y;
    (void)scratch;
    if (p->from == ARTEL_DTYPE_INT32)
        for (int64_t i = from; i < to; i++) y[i] = (float)wide[i];
    else
        for (int64_t i = from; i < to; i++) y[i] = (float)narrow[i];
}

ARTEL__SIMD_KERNEL(strided_copy, .tasks = strided_copy_tasks, .run = strided_copy_run);
ARTEL__SIMD_KERNEL(pad, .tasks = pad_tasks, .halves = artel__halves_always, .run = pad_run);
ARTEL__SIMD_KERNEL(cast, .refuses = cast_refuses, .tasks = cast_tasks, .run = cast_run);
