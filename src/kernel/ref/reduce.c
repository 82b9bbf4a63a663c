/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and folds, the reference: one output element at a time. Also the lists, and the kernels without a fast
 * form. */
#include "kernel/reduce.h"

#include <float.h>
#include <math.h>

#include "kernel/fold_tree.h"
#include "kernel/reduce_form.h"

#define REDUCE_PARAMS artel__reduce
#define REDUCE_GRADIENT_PARAMS artel__reduce_gradient
#define REDUCE_KIND "reference"
#include "kernel/ref/reduce_body.h"

/* -- argmax and in_top_k -- */

static int64_t argmax_tasks(const void *params)
{
    const artel__argmax *p = params;
    return p->outer * p->inner;
}

static void argmax_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__argmax *p = params;
    (void)scratch;
    for (int64_t o = begin; o < end; o++) {
        const float *x = p->x + o / p->inner * p->length * p->inner + o % p->inner;
        int64_t best = 0;
        float most = -FLT_MAX; /* as TensorFlow: so 0 when there is nothing above it, NaN included */
        for (int64_t i = 0; i < p->length; i++) {
            if (!(x[i * p->inner] > most)) continue;
            most = x[i * p->inner];
            best = i;
        }
        p->y[o] = (int32_t)best;
    }
}

static int64_t in_top_k_tasks(const void *params)
{
    return ((const artel__in_top_k *)params)->outer;
}

static void in_top_k_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__in_top_k *p = params;
    (void)scratch;
    for (int64_t o = begin; o < end; o++) {
        const float *x = p->x + o * p->length;
        int32_t target = p->target[o];
        bool valid = target >= 0 && target < p->length && isfinite(x[target]);
        int64_t above = 0;
        for (int64_t i = 0; valid && i < p->length; i++) {
            valid = isfinite(x[i]);
            above += x[i] > x[target];
        }
        p->y[o] = valid && above < p->k ? 1.0f : 0.0f;
    }
}

static const artel__kernel argmax = {.name = "reference argmax", .tasks = argmax_tasks, .run = argmax_run};
static const artel__kernel in_top_k = {.name = "reference in_top_k", .tasks = in_top_k_tasks, .run = in_top_k_run};

/* -- folds; a task is a column of a node -- */

static int64_t fold_columns_tasks(const void *params)
{
    const artel__fold_columns *p = params;
    return p->fold->nodes * p->columns;
}

static float leaf_float(const artel__fold_columns *p, int32_t v, int64_t column)
{
    const float *x = p->x;
    float sum = 0.0f;
    for (int64_t r = artel__fold_begin(p->fold, v); r < artel__fold_end(p->fold, v); r++) {
        float row = 0.0f;
        for (int64_t i = 0; i < p->inner; i++) row = row + x[(r * p->inner + i) * p->columns + column];
        sum = sum + row;
    }
    return sum + 0.0f;
}

static double leaf_double(const artel__fold_columns *p, int32_t v, int64_t column)
{
    double sum = 0.0;
    for (int64_t r = artel__fold_begin(p->fold, v); r < artel__fold_end(p->fold, v); r++) {
        double row = 0.0;
        for (int64_t i = 0; i < p->inner; i++) {
            int64_t at = (r * p->inner + i) * p->columns + column;
            row =
                row + (p->from == ARTEL_DTYPE_FLOAT64 ? ((const double *)p->x)[at] : (double)((const float *)p->x)[at]);
        }
        sum = sum + row;
    }
    return sum + 0.0;
}

static float tree_float(const artel__fold_columns *p, int32_t first, int32_t count, int64_t column)
{
    if (count == 1) return leaf_float(p, first, column);
    float left = tree_float(p, first, count / 2, column);
    return left + tree_float(p, first + count / 2, count / 2, column);
}

static double tree_double(const artel__fold_columns *p, int32_t first, int32_t count, int64_t column)
{
    if (count == 1) return leaf_double(p, first, column);
    double left = tree_double(p, first, count / 2, column);
    return left + tree_double(p, first + count / 2, count / 2, column);
}

/* Integers need no tree: their sums do not depend on order. */
static int64_t node_integer(const artel__fold_columns *p, artel__fold_node node, int64_t column)
{
    int64_t from = artel__fold_begin(p->fold, node.first) * p->inner,
            to = artel__fold_end(p->fold, node.first + node.count - 1) * p->inner;
    uint64_t sum = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t at = i * p->columns + column;
        if (p->from == ARTEL_DTYPE_INT64) sum += (uint64_t)((const int64_t *)p->x)[at];
        if (p->from == ARTEL_DTYPE_INT32) sum += (uint64_t)(int64_t)((const int32_t *)p->x)[at];
        if (p->from == ARTEL_DTYPE_BOOL) sum += ((const uint8_t *)p->x)[at] != 0;
    }
    return (int64_t)sum;
}

static void fold_columns_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__fold_columns *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t k = task / p->columns, column = task % p->columns, at = k * p->y_stride + column;
        artel__fold_node node = p->fold->node[k];
        if (p->to == ARTEL_DTYPE_FLOAT32)
            ((float *)p->y)[at] = tree_float(p, node.first, node.count, column);
        else if (p->to == ARTEL_DTYPE_FLOAT64)
            ((double *)p->y)[at] = tree_double(p, node.first, node.count, column);
        else
            ((int64_t *)p->y)[at] = node_integer(p, node, column);
    }
}

static const artel__kernel fold_columns = {
    .name = "reference fold_columns", .tasks = fold_columns_tasks, .run = fold_columns_run};

/* -- values and weights; a task is a node -- */

static int64_t fold_weighted_tasks(const void *params)
{
    return ((const artel__fold_weighted *)params)->fold->nodes;
}

static void weighted_leaf(const artel__fold_weighted *p, int32_t v, double *out)
{
    out[0] = out[1] = 0.0;
    for (int64_t r = artel__fold_begin(p->fold, v); r < artel__fold_end(p->fold, v); r++) {
        double values = 0.0, weights = 0.0;
        for (int64_t i = 0; i < p->inner; i++) {
            double weight = p->weight ? (double)p->weight[r * p->weight_inner + (p->weight_inner == 1 ? 0 : i)] : 1.0;
            values = values + (double)p->value[r * p->inner + i] * weight;
            weights = weights + weight;
        }
        out[0] = out[0] + values;
        out[1] = out[1] + weights;
    }
    out[0] = out[0] + 0.0;
    out[1] = out[1] + 0.0;
}

static void weighted_tree(const artel__fold_weighted *p, int32_t first, int32_t count, double *out)
{
    if (count == 1) {
        weighted_leaf(p, first, out);
        return;
    }
    double right[2];
    weighted_tree(p, first, count / 2, out);
    weighted_tree(p, first + count / 2, count / 2, right);
    out[0] = out[0] + right[0];
    out[1] = out[1] + right[1];
}

static void fold_weighted_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__fold_weighted *p = params;
    (void)scratch;
    for (int64_t k = begin; k < end; k++)
        weighted_tree(p, p->fold->node[k].first, p->fold->node[k].count, p->y + 2 * k);
}

static const artel__kernel fold_weighted = {
    .name = "reference fold_weighted", .tasks = fold_weighted_tasks, .run = fold_weighted_run};

/* -- the lists -- */

ARTEL__KERNEL_LIST(reduce, reduce);
ARTEL__KERNEL_LIST(reduce_gradient, reduce_gradient);
const artel__kernel *const artel__argmax_kernels[] = {&argmax, NULL};
const artel__kernel *const artel__in_top_k_kernels[] = {&in_top_k, NULL};
ARTEL__KERNEL_LIST(fold_columns, fold_columns);
const artel__kernel *const artel__fold_weighted_kernels[] = {&fold_weighted, NULL};
