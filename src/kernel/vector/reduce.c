/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions inside a row and folds of columns; see simd.h for how this file is compiled, kernel/reduce.h for the
 * contracts.
 *
 * A reduction whose last axis is kept is made on tiles of columns held in an array of accumulators; one whose last axis
 * is reduced on 16 lanes. Folds walk the tree recursively on such tiles; neighbouring tasks are done together as one
 * wider tile.
 */
#include "kernel/simd/simd.h"

#include "kernel/fold_tree.h"
#include "kernel/half.h"
#include "kernel/reduce_form.h"
#include "kernel/walk.h"

#include <math.h>
#include <string.h>

enum {
    TILE = 128,
    COLUMNS = 16
};

typedef float combine_fn(float accumulated, float x);

ARTEL__INLINE float combine_sum(float accumulated, float x)
{
    return accumulated + x;
}

ARTEL__INLINE float combine_max(float accumulated, float x)
{
    return ((x > accumulated) | (x != x)) ? x : accumulated; /* NaN stays, as in reference */
}

ARTEL__INLINE float combine_min(float accumulated, float x)
{
    return ((x < accumulated) | (x != x)) ? x : accumulated;
}

ARTEL__INLINE float combine_prod(float accumulated, float x)
{
    return accumulated * x;
}

/* What one call works on. */
typedef struct reduction {
    const artel__reduce *p;
    artel__reduce_form form;
    float first; /* what chains start from */
    float *y;    /* of output 0 of p, or `room` of output `from` */
    int64_t from;
} reduction;

/* -- last axis reduced: 16 lanes -- */

ARTEL__INLINE void lanes_run(combine_fn *combine, const float *x, int64_t n, float *restrict lane)
{
    int64_t i = 0;
    float sum[ARTEL__LANES];
    memcpy(sum, lane, sizeof sum);
    for (; i + ARTEL__LANES <= n; i += ARTEL__LANES)
        for (int k = 0; k < ARTEL__LANES; k++) sum[k] = combine(sum[k], x[i + k]);
    for (int k = 0; i + k < n; k++) sum[k] = combine(sum[k], x[i + k]);
    memcpy(lane, sum, sizeof sum);
}

/* The same of elements from `at` on, stored either way: whole lanes at a time. */
ARTEL__INLINE void lanes_any(combine_fn *combine, const artel__reduce *p, int64_t at, int64_t n, float *restrict lane)
{
    float room[ARTEL__HALF_RUN];
    if (!p->x_half) {
        lanes_run(combine, p->x + at, n, lane);
        return;
    }
    for (int64_t i = 0; i < n; i += ARTEL__HALF_RUN) {
        int64_t count = n - i < ARTEL__HALF_RUN ? n - i : ARTEL__HALF_RUN;
        lanes_run(combine, artel__half_load(p->x, true, at + i, count, room), count, lane);
    }
}

ARTEL__INLINE float lanes_tree(combine_fn *combine, float *lane)
{
    for (int half = ARTEL__LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] = combine(lane[i], lane[i + half]);
    return lane[0];
}

ARTEL__INLINE void lanes_outputs(combine_fn *combine, const reduction *r, int64_t from, int64_t to)
{
    const artel__axes *axes = &r->form.reduced;
    int64_t run = axes->dim[axes->rank - 1], runs = r->form.count / run;
    artel__axes outer = *axes;
    outer.rank--;
    for (int64_t o = from; o < to; o++) {
        int64_t x = artel__axes_offset(&r->form.kept, o);
        float lane[ARTEL__LANES];
        for (int k = 0; k < ARTEL__LANES; k++) lane[k] = r->first;
        for (int64_t j = 0; j < runs; j++) lanes_any(combine, r->p, x + artel__axes_offset(&outer, j), run, lane);
        r->y[o - r->from] = lanes_tree(combine, lane);
    }
}

/* -- last axis kept: tiles of columns -- */

ARTEL__INLINE void tile_reduce(combine_fn *combine, const reduction *r, int64_t x, int64_t width, float *y)
{
    float sum[TILE], room[TILE];
    const artel__axes *axes = &r->form.reduced;
    for (int64_t c = 0; c < width; c++) sum[c] = r->first;
    int64_t run = axes->rank ? axes->dim[axes->rank - 1] : 1, step = axes->rank ? axes->stride[axes->rank - 1] : 0;
    int64_t runs = run ? r->form.count / run : 0;
    artel__axes outer = *axes;
    outer.rank = axes->rank ? axes->rank - 1 : 0;
    for (int64_t j = 0; j < runs; j++) {
        int64_t at = x + artel__axes_offset(&outer, j);
        for (int64_t i = 0; i < run; i++, at += step) {
            const float *from = artel__half_load(r->p->x, r->p->x_half, at, width, room);
            for (int64_t c = 0; c < width; c++) sum[c] = combine(sum[c], from[c]);
        }
    }
    memcpy(y, sum, (size_t)width * sizeof *sum);
}

ARTEL__INLINE void tile_outputs(combine_fn *combine, const reduction *r, int64_t from, int64_t to)
{
    const artel__axes *kept = &r->form.kept;
    int64_t columns = kept->rank ? kept->dim[kept->rank - 1] : 1;
    for (int64_t o = from; o < to;) {
        int64_t left = columns - o % columns, width = left < to - o ? left : to - o;
        if (width > TILE) width = TILE;
        tile_reduce(combine, r, artel__axes_offset(kept, o), width, r->y + (o - r->from));
        o += width;
    }
}

ARTEL__INLINE void outputs(combine_fn *combine, const reduction *r, int64_t from, int64_t to)
{
    if (r->form.last_reduced && r->form.count > 0)
        lanes_outputs(combine, r, from, to);
    else
        tile_outputs(combine, r, from, to);
}

/* Outputs of one task: about 4,096 elements read, in whole tiles where columns are kept. */
static int64_t outputs_per_task(const artel__reduce_form *form)
{
    int64_t n = ARTEL__ELEMENT_TASK / (form->count > 0 ? form->count : 1);
    return n < 1 ? form->last_reduced ? 1 : COLUMNS : form->last_reduced ? n : (n + COLUMNS - 1) / COLUMNS * COLUMNS;
}

static int64_t reduce_tasks(const void *params)
{
    const artel__reduce *p = params;
    artel__reduce_form form = artel__reduce_form_make(p->rank, p->dim, p->reduced);
    return artel__pieces(form.outputs, outputs_per_task(&form));
}

static void reduce_outputs(reduction *r, int64_t from, int64_t to)
{
    switch (r->p->op) {
    case ARTEL__REDUCE_SUM:
    case ARTEL__REDUCE_MEAN: outputs(combine_sum, r, from, to); break;
    case ARTEL__REDUCE_MAX: r->first = -INFINITY, outputs(combine_max, r, from, to); break;
    case ARTEL__REDUCE_MIN: r->first = INFINITY, outputs(combine_min, r, from, to); break;
    case ARTEL__REDUCE_PROD: r->first = 1.0f, outputs(combine_prod, r, from, to); break;
    }
    float count = (float)r->form.count;
    for (int64_t o = from; r->p->op == ARTEL__REDUCE_MEAN && o < to; o++) r->y[o - r->from] = r->y[o - r->from] / count;
}

static void reduce_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__reduce *p = params;
    reduction r = {.p = p, .form = artel__reduce_form_make(p->rank, p->dim, p->reduced), .y = p->y};
    int64_t size = outputs_per_task(&r.form);
    int64_t from = artel__piece_end(r.form.outputs, size, begin), to = artel__piece_end(r.form.outputs, size, end);
    float room[ARTEL__HALF_RUN];
    (void)scratch;
    if (!p->y_half) {
        reduce_outputs(&r, from, to);
        return;
    }
    r.y = room;
    for (r.from = from; r.from < to; r.from += ARTEL__HALF_RUN) {
        int64_t n = to - r.from < ARTEL__HALF_RUN ? to - r.from : ARTEL__HALF_RUN;
        reduce_outputs(&r, r.from, r.from + n);
        artel__half_store(p->y, true, r.from, n, room);
    }
}

/* -- gradient of sum and mean -- */

static const char *reduce_gradient_refuses(const void *params)
{
    const artel__reduce_gradient *p = params;
    return p->op == ARTEL__REDUCE_SUM || p->op == ARTEL__REDUCE_MEAN ? NULL : "only sums and means";
}

static artel__loop gradient_loop(const artel__reduce_gradient *p)
{
    artel__loop loop = {.rank = p->rank};
    int64_t stride = 1;
    for (int d = p->rank - 1; d >= 0; d--) {
        loop.dim[d] = p->dim[d];
        loop.stride[0][d] = p->reduced[d] ? 0 : stride;
        stride *= p->reduced[d] ? 1 : p->dim[d];
    }
    if (loop.rank == 0) loop.dim[loop.rank++] = 1;
    return loop;
}

static int64_t reduce_gradient_tasks(const void *params)
{
    artel__loop loop = gradient_loop(params);
    return artel__pieces(artel__loop_count(&loop), ARTEL__ELEMENT_TASK);
}

static void reduce_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__reduce_gradient *p = params;
    artel__loop loop = gradient_loop(p);
    float count = 1.0f, from[ARTEL__HALF_RUN], made[ARTEL__HALF_RUN];
    if (p->op == ARTEL__REDUCE_MEAN) count = (float)artel__reduce_form_make(p->rank, p->dim, p->reduced).count;
    int64_t to = artel__piece_end(artel__loop_count(&loop), ARTEL__ELEMENT_TASK, end),
            step = loop.stride[0][loop.rank - 1];
    artel__walk walk;
    (void)scratch;
    artel__walk_start(&walk, &loop, begin * ARTEL__ELEMENT_TASK);
    while (walk.position < to) {
        int64_t n = artel__walk_run(&walk, &loop, to);
        if ((p->dy_half || p->dx_half) && n > ARTEL__HALF_RUN) n = ARTEL__HALF_RUN;
        const float *dy = artel__half_load(p->dy, p->dy_half, walk.offset[0], step == 0 ? 1 : n, from);
        float *dx = artel__half_make(p->dx, p->dx_half, walk.position, made), fixed = *dy / count;
        if (step == 0) {
            for (int64_t i = 0; i < n; i++) dx[i] = fixed;
        } else {
            ARTEL__INDEPENDENT
            for (int64_t i = 0; i < n; i++) dx[i] = dy[i] / count;
        }
        artel__half_store(p->dx, p->dx_half, walk.position, n, made);
        artel__walk_advance(&walk, &loop, n);
    }
}

/* -- folds of columns -- */

static const char *fold_columns_refuses(const void *params)
{
    const artel__fold_columns *p = params;
    bool in = p->from == ARTEL_DTYPE_FLOAT32 || p->from == ARTEL_DTYPE_FLOAT64;
    return in && (p->to == ARTEL_DTYPE_FLOAT32 || p->to == ARTEL_DTYPE_FLOAT64) ? NULL : "only floating point";
}

static int64_t fold_columns_tasks(const void *params)
{
    const artel__fold_columns *p = params;
    return p->fold->nodes * artel__pieces(p->columns, COLUMNS);
}

/* The leaf of shard v over columns [column, column + width). */
static void leaf32(const artel__fold_columns *p, int32_t v, int64_t column, int64_t width, float *sum)
{
    const float *x = (const float *)p->x + column;
    int64_t end = artel__fold_end(p->fold, v);
    float row[TILE];
    for (int64_t c = 0; c < width; c++) sum[c] = 0.0f;
    for (int64_t r = artel__fold_begin(p->fold, v); r < end; r++) {
        if (p->inner == 1) { /* 0 + x adds like x */
            for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + x[r * p->columns + c];
            continue;
        }
        for (int64_t c = 0; c < width; c++) row[c] = 0.0f;
        for (int64_t i = 0; i < p->inner; i++)
            for (int64_t c = 0; c < width; c++) row[c] = row[c] + x[(r * p->inner + i) * p->columns + c];
        for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + row[c];
    }
    for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + 0.0f;
}

static void tree32(const artel__fold_columns *p, artel__fold_node node, int64_t column, int64_t width, float *sum)
{
    if (node.count == 1) {
        leaf32(p, node.first, column, width, sum);
        return;
    }
    float right[TILE];
    int32_t half = node.count / 2;
    tree32(p, (artel__fold_node){node.first, half}, column, width, sum);
    tree32(p, (artel__fold_node){node.first + half, half}, column, width, right);
    for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + right[c];
}

static inline void add_wide(const void *x, bool wide, int64_t at, int64_t width, double *restrict sum)
{
    const double *x64 = (const double *)x + at;
    const float *x32 = (const float *)x + at;
    if (wide)
        for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + x64[c];
    else
        for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + (double)x32[c];
}

static void leaf64(const artel__fold_columns *p, int32_t v, int64_t column, int64_t width, double *sum)
{
    int64_t end = artel__fold_end(p->fold, v);
    bool wide = p->from == ARTEL_DTYPE_FLOAT64;
    double row[TILE];
    for (int64_t c = 0; c < width; c++) sum[c] = 0.0;
    for (int64_t r = artel__fold_begin(p->fold, v); r < end; r++) {
        for (int64_t c = 0; c < width; c++) row[c] = 0.0;
        for (int64_t i = 0; i < p->inner; i++)
            add_wide(p->x, wide, (r * p->inner + i) * p->columns + column, width, row);
        for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + row[c];
    }
    for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + 0.0;
}

static void tree64(const artel__fold_columns *p, artel__fold_node node, int64_t column, int64_t width, double *sum)
{
    if (node.count == 1) {
        leaf64(p, node.first, column, width, sum);
        return;
    }
    double right[TILE];
    int32_t half = node.count / 2;
    tree64(p, (artel__fold_node){node.first, half}, column, width, sum);
    tree64(p, (artel__fold_node){node.first + half, half}, column, width, right);
    for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + right[c];
}

static void fold_columns_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__fold_columns *p = params;
    int64_t tiles = artel__pieces(p->columns, COLUMNS);
    (void)scratch;
    for (int64_t task = begin; task < end;) {
        int64_t node = task / tiles, tile = task % tiles, more = tiles - tile < end - task ? tiles - tile : end - task;
        if (more > TILE / COLUMNS) more = TILE / COLUMNS;
        int64_t column = tile * COLUMNS, width = artel__piece_end(p->columns, COLUMNS, tile + more) - column;
        int64_t at = node * p->y_stride + column;
        if (p->to == ARTEL_DTYPE_FLOAT32)
            tree32(p, p->fold->node[node], column, width, (float *)p->y + at);
        else
            tree64(p, p->fold->node[node], column, width, (double *)p->y + at);
        task += more;
    }
}

ARTEL__SIMD_KERNEL(reduce, .tasks = reduce_tasks, .halves = artel__halves_always, .run = reduce_run);
ARTEL__SIMD_KERNEL(reduce_gradient, .refuses = reduce_gradient_refuses, .tasks = reduce_gradient_tasks,
                   .halves = artel__halves_always, .run = reduce_gradient_run);
ARTEL__SIMD_KERNEL(fold_columns, .refuses = fold_columns_refuses, .tasks = fold_columns_tasks, .run = fold_columns_run);
