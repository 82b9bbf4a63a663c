/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, padding, conversions, noise and resizing, the reference: one element at a time. Also the lists, the
 * parameters of copies, and the kernels without a fast form. */
#include "kernel/shape_ops.h"

#include <string.h>

#include "kernel/noise_formula.h"
#include "kernel/resize_formula.h"

/* -- parameters of copies -- */

static void dense_strides(int rank, const int64_t *dim, int64_t *stride)
{
    int64_t next = 1;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = next;
        next *= dim[d];
    }
}

/* Drops axes of extent 1 and merges neighbours, so that inner runs are as long as they can be. */
static void copy_merge(artel__strided_copy *copy)
{
    int kept = 0;
    for (int d = 0; d < copy->rank; d++) {
        if (copy->dim[d] == 1) continue;
        bool merge = kept > 0 && copy->x_stride[kept - 1] == copy->x_stride[d] * copy->dim[d] &&
                     copy->y_stride[kept - 1] == copy->y_stride[d] * copy->dim[d];
        int to = merge ? kept - 1 : kept++;
        copy->dim[to] = merge ? copy->dim[to] * copy->dim[d] : copy->dim[d];
        copy->x_stride[to] = copy->x_stride[d];
        copy->y_stride[to] = copy->y_stride[d];
    }
    copy->rank = kept;
}

void artel__copy_transpose(artel__strided_copy *copy, int rank, const int64_t *dim, const int *permutation)
{
    int64_t stride[ARTEL__LOOP_RANK];
    dense_strides(rank, dim, stride);
    copy->rank = rank;
    for (int d = 0; d < rank; d++) {
        copy->dim[d] = dim[permutation[d]];
        copy->x_stride[d] = stride[permutation[d]];
    }
    dense_strides(rank, copy->dim, copy->y_stride);
    copy->x_offset = copy->y_offset = 0;
    copy_merge(copy);
}

/* Where the element `start` lies. */
static int64_t start_offset(int rank, const int64_t *stride, const int64_t *start)
{
    int64_t offset = 0;
    for (int d = 0; d < rank; d++) offset += start[d] * stride[d];
    return offset;
}

void artel__copy_slice(artel__strided_copy *copy, int rank, const int64_t *dim, const int64_t *start,
                       const int64_t *step, const int64_t *count)
{
    int64_t stride[ARTEL__LOOP_RANK];
    dense_strides(rank, dim, stride);
    copy->rank = rank;
    for (int d = 0; d < rank; d++) {
        copy->dim[d] = count[d];
        copy->x_stride[d] = stride[d] * step[d];
    }
    dense_strides(rank, count, copy->y_stride);
    copy->x_offset = start_offset(rank, stride, start);
    copy->y_offset = 0;
    copy_merge(copy);
}

void artel__copy_insert(artel__strided_copy *copy, int rank, const int64_t *dim, const int64_t *start,
                        const int64_t *step, const int64_t *count)
{
    int64_t stride[ARTEL__LOOP_RANK];
    dense_strides(rank, dim, stride);
    copy->rank = rank;
    for (int d = 0; d < rank; d++) {
        copy->dim[d] = count[d];
        copy->y_stride[d] = stride[d] * step[d];
    }
    dense_strides(rank, count, copy->x_stride);
    copy->x_offset = 0;
    copy->y_offset = start_offset(rank, stride, start);
    copy_merge(copy);
}

/* The index space is (whole, dim, each) for every axis, without the extents of 1. */
void artel__copy_repeat(artel__strided_copy *copy, int rank, const int64_t *dim, const int64_t *each,
                        const int64_t *whole)
{
    int64_t stride[ARTEL__LOOP_RANK];
    dense_strides(rank, dim, stride);
    copy->rank = 0;
    copy->x_offset = copy->y_offset = 0;
    for (int d = 0; d < rank; d++) {
        const int64_t extent[] = {whole[d], dim[d], each[d]}, step[] = {0, stride[d], 0};
        for (int k = 0; k < 3; k++) {
            if (extent[k] == 1 || copy->rank == ARTEL__LOOP_RANK) continue;
            copy->dim[copy->rank] = extent[k];
            copy->x_stride[copy->rank++] = step[k];
        }
    }
    dense_strides(copy->rank, copy->dim, copy->y_stride);
    copy_merge(copy);
}

/* -- strided copies; a task is an element -- */

static int64_t product(int rank, const int64_t *dim)
{
    int64_t count = 1;
    for (int d = 0; d < rank; d++) count *= dim[d];
    return count;
}

static int64_t strided_copy_tasks(const void *params)
{
    const artel__strided_copy *p = params;
    return product(p->rank, p->dim);
}

static void strided_copy_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__strided_copy *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, x = p->x_offset, y = p->y_offset;
        for (int d = p->rank - 1; d >= 0; d--) {
            x += rest % p->dim[d] * p->x_stride[d];
            y += rest % p->dim[d] * p->y_stride[d];
            rest /= p->dim[d];
        }
        memcpy((char *)p->y + y * (int64_t)p->item, (const char *)p->x + x * (int64_t)p->item, p->item);
    }
}

/* -- pad; a task is an element of y -- */

static int64_t pad_tasks(const void *params)
{
    const artel__pad *p = params;
    return product(p->rank, p->out);
}

static void pad_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pad *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, at = 0, stride = 1;
        bool inside = true;
        for (int d = p->rank - 1; d >= 0; d--) {
            int64_t k = rest % p->out[d] - p->before[d];
            rest /= p->out[d];
            inside = inside && k >= 0 && k < p->in[d];
            at += k * stride;
            stride *= p->in[d];
        }
        const void *from = inside ? (const void *)((const char *)p->x + at * (int64_t)p->item) : &p->bits;
        memcpy((char *)p->y + i * (int64_t)p->item, from, p->item);
    }
}

/* -- fill, cast, one_hot; a task is a run -- */

static int64_t pieces(int64_t count)
{
    return (count + ARTEL__ELEMENT_TASK - 1) / ARTEL__ELEMENT_TASK;
}

static int64_t piece_end(int64_t count, int64_t task)
{
    return task * ARTEL__ELEMENT_TASK < count ? task * ARTEL__ELEMENT_TASK : count;
}

static int64_t fill_tasks(const void *params)
{
    return pieces(((const artel__fill *)params)->count);
}

static void fill_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__fill *p = params;
    int64_t from = begin * ARTEL__ELEMENT_TASK, to = piece_end(p->count, end);
    char *y = (char *)p->y + from * (int64_t)p->item;
    (void)scratch;
    if (to <= from) return;
    size_t bytes = (size_t)(to - from) * p->item, done = p->item;
    memcpy(y, &p->bits, p->item);
    for (; done < bytes; done *= 2) memcpy(y + done, y, done < bytes - done ? done : bytes - done);
}

static int64_t cast_tasks(const void *params)
{
    return pieces(((const artel__cast *)params)->count);
}

static void cast_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__cast *p = params;
    int64_t from = begin * ARTEL__ELEMENT_TASK, to = piece_end(p->count, end);
    const char *x = (const char *)p->x + from * (int64_t)artel_dtype_size(p->from);
    (void)scratch;
    if (to > from) artel__convert(p->from, x, p->to, (char *)p->y + from * (int64_t)artel_dtype_size(p->to), to - from);
}

static int64_t one_hot_tasks(const void *params)
{
    return ((const artel__one_hot *)params)->positions;
}

static void one_hot_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__one_hot *p = params;
    (void)scratch;
    for (int64_t at = begin; at < end; at++) {
        float *y = p->y + at * p->depth;
        for (int64_t d = 0; d < p->depth; d++) y[d] = p->off;
        if (p->index[at] >= 0 && p->index[at] < p->depth) y[p->index[at]] = p->on;
    }
}

static const artel__kernel strided_copy = {
    .name = "reference strided_copy", .tasks = strided_copy_tasks, .run = strided_copy_run};
static const artel__kernel fill = {.name = "reference fill", .tasks = fill_tasks, .run = fill_run};
static const artel__kernel pad = {.name = "reference pad", .tasks = pad_tasks, .run = pad_run};
static const artel__kernel cast = {.name = "reference cast", .tasks = cast_tasks, .run = cast_run};
static const artel__kernel one_hot = {.name = "reference one_hot", .tasks = one_hot_tasks, .run = one_hot_run};

/* -- noise; a task is an element -- */

static int64_t noise_tasks(const void *params)
{
    const artel__noise *p = params;
    return p->rows * noise_row_size(p);
}

/* The uniform or normal number of a logical index. */
static float noise_draw(const artel__noise *p, uint32_t row, int64_t logical)
{
    uint32_t word[4];
    float pair[2];
    artel__rng_block(p->key, p->batch, p->node, row, (uint64_t)logical / 4, word);
    if (!noise_is_normal(p->op)) return artel__rng_uniform(word[logical % 4]);
    artel__rng_normal_pair(word[logical % 4 & ~1], word[logical % 4 | 1], pair);
    return pair[logical % 2];
}

static void noise_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__noise *p = params;
    noise_constants k = {p->rate, p->scale, p->shift, p->other};
    int64_t size = noise_row_size(p);
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i % size, logical = 0, stride = 1;
        for (int d = p->rank - 1; d >= 0; d--) {
            logical += p->noise[d] == 1 ? 0 : rest % p->dim[d] * stride;
            stride *= p->noise[d];
            rest /= p->dim[d];
        }
        uint32_t row = p->shared_rows ? 0 : (uint32_t)(p->first_row + i / size);
        p->y[i] = noise_element(p->op, p->op == ARTEL__NOISE_UNIFORM ? 0.0f : p->x[i], noise_draw(p, row, logical), &k);
    }
}

static const artel__kernel noise = {.name = "reference noise", .tasks = noise_tasks, .run = noise_run};

/* -- resizing; a task is a line of y, or a channel of a row of x -- */

static int64_t resize_forward_tasks(const void *params)
{
    const artel__resize_forward *p = params;
    return p->rows * p->out_h;
}

static void resize_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__resize_forward *p = params;
    int64_t line = p->in_w * p->channels;
    (void)scratch;
    for (int64_t i = begin * p->out_w * p->channels; i < end * p->out_w * p->channels; i++) {
        int64_t c = i % p->channels, w = i / p->channels % p->out_w, task = i / p->channels / p->out_w,
                h = task % p->out_h;
        const float *x = p->x + task / p->out_h * p->in_h * line + c;
        resize_tap a = resize_tap_of(h, p->in_h, p->out_h), b = resize_tap_of(w, p->in_w, p->out_w);
        const float *top = x + a.lower * line, *bottom = x + a.upper * line;
        int64_t l = b.lower * p->channels, r = b.upper * p->channels;
        if (p->method == ARTEL__RESIZE_NEAREST)
            p->y[i] = x[h / (p->out_h / p->in_h) * line + w / (p->out_w / p->in_w) * p->channels];
        else
            p->y[i] = resize_blend(top[l], top[r], bottom[l], bottom[r], b.share, a.share);
    }
}

static int64_t resize_gradient_tasks(const void *params)
{
    const artel__resize_gradient *p = params;
    return p->rows * p->channels;
}

/* One output position of one channel. */
static void scatter(const artel__resize_gradient *p, float *dx, int64_t h, int64_t w, float dy)
{
    int64_t line = p->in_w * p->channels;
    if (p->method == ARTEL__RESIZE_NEAREST) {
        dx[h / (p->out_h / p->in_h) * line + w / (p->out_w / p->in_w) * p->channels] += dy;
        return;
    }
    resize_tap a = resize_tap_of(h, p->in_h, p->out_h), b = resize_tap_of(w, p->in_w, p->out_w);
    dx[a.lower * line + b.lower * p->channels] += dy * ((1.0f - a.share) * (1.0f - b.share));
    dx[a.lower * line + b.upper * p->channels] += dy * ((1.0f - a.share) * b.share);
    dx[a.upper * line + b.lower * p->channels] += dy * (a.share * (1.0f - b.share));
    dx[a.upper * line + b.upper * p->channels] += dy * (a.share * b.share);
}

static void resize_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__resize_gradient *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / p->channels, c = task % p->channels;
        float *dx = p->dx + row * p->in_h * p->in_w * p->channels + c;
        for (int64_t i = 0; i < p->in_h * p->in_w; i++) dx[i * p->channels] = 0.0f;
        for (int64_t o = 0; o < p->out_h * p->out_w; o++)
            scatter(p, dx, o / p->out_w, o % p->out_w, p->dy[(row * p->out_h * p->out_w + o) * p->channels + c]);
    }
}

static const artel__kernel resize_forward = {
    .name = "reference resize_forward", .tasks = resize_forward_tasks, .run = resize_forward_run};
static const artel__kernel resize_gradient = {
    .name = "reference resize_gradient", .tasks = resize_gradient_tasks, .run = resize_gradient_run};

/* -- the lists -- */

ARTEL__KERNEL_LIST(strided_copy, strided_copy);
const artel__kernel *const artel__fill_kernels[] = {&fill, NULL};
ARTEL__KERNEL_LIST(pad, pad);
ARTEL__KERNEL_LIST(cast, cast);
const artel__kernel *const artel__one_hot_kernels[] = {&one_hot, NULL};
ARTEL__KERNEL_LIST(noise, noise);
ARTEL__KERNEL_LIST(resize_forward, resize_forward);
ARTEL__KERNEL_LIST(resize_gradient, resize_gradient);
