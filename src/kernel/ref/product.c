/* SPDX-License-Identifier: Apache-2.0 */
/* Reference matrix products in plain C: what every faster kernel must equal bit for bit.
 *
 * One element at a time, in the order the headers prescribe. __builtin_fmaf is one instruction where the compiler may
 * use it and libm's correctly rounded fmaf elsewhere; both give the same bits. The fold is a recursion over the tree.
 */
#include "kernel/product.h"

#include "kernel/ref/finish.h"
#include "kernel/ref/product_fold.h"
#include "kernel/tiles.h"

static int64_t forward_tasks(const void *params)
{
    const artel__product_forward *p = params;
    return p->m;
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__product_forward *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            artel__terms sum = {.arithmetic = p->arithmetic};
            for (int64_t r = 0; r < p->k; r++)
                artel__terms_add(&sum, p->a[i * p->lda + r], p->w[artel__product_weight(p, r, j)]);
            float acc = artel__terms_end(&sum);
            if (p->bias) acc += p->bias[j];
            p->out[i * p->ldo + j] = artel__ref_finish(p->activation, p->narrow, acc);
        }
    }
}

const artel__kernel artel__ref_product_forward = {
    .name = "ref product_forward", .isa = ARTEL__ISA_BASELINE, .tasks = forward_tasks, .run = forward_run};

/* One task is one column panel of the result, or one row of K for PANELS_TO_PLAIN. */
static int64_t pack_tasks(const void *params)
{
    const artel__product_pack *p = params;
    if (p->what == ARTEL__PACK_PANELS_TO_PLAIN) return p->taps * p->rows;
    return artel__panel_count(p->what == ARTEL__PACK_TRANSPOSE ? p->rows * p->groups : p->columns);
}

/* Element (row k, column n) of the result: index in `from`. */
static int64_t pack_source(const artel__product_pack *p, int64_t k, int64_t n)
{
    int64_t depth = p->taps * p->rows;
    if (p->what == ARTEL__PACK_PLAIN_TO_PANELS) return k * p->columns + n;
    int64_t wide = p->columns / p->groups, tap = p->taps - 1 - k / wide;
    return artel__panels_offset(depth, p->columns, tap * p->rows + n % p->rows, n / p->rows * wide + k % wide);
}

static void pack_panel(const artel__product_pack *p, int64_t panel)
{
    bool transpose = p->what == ARTEL__PACK_TRANSPOSE;
    int64_t depth = transpose ? p->taps * (p->columns / p->groups) : p->taps * p->rows;
    int64_t n = transpose ? p->rows * p->groups : p->columns;
    int64_t width = artel__panel_width(n, panel);
    float *to = p->to + panel * ARTEL__PANEL * depth;
    for (int64_t k = 0; k < depth; k++) {
        for (int64_t j = 0; j < width; j++) {
            int64_t column = panel * ARTEL__PANEL + j;
            to[k * width + j] = column < n ? p->from[pack_source(p, k, column)] : 0.0f;
        }
    }
}

static void pack_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__product_pack *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        if (p->what != ARTEL__PACK_PANELS_TO_PLAIN) {
            pack_panel(p, task);
            continue;
        }
        for (int64_t j = 0; j < p->columns; j++) {
            p->to[task * p->columns + j] = p->from[artel__panels_offset(p->taps * p->rows, p->columns, task, j)];
        }
    }
}

const artel__kernel artel__ref_product_pack = {
    .name = "ref product_pack", .isa = ARTEL__ISA_BASELINE, .tasks = pack_tasks, .run = pack_run};

float artel__ref_fold(const artel__fold_plan *fold, artel__fold_node node, artel__ref_leaf_fn *leaf, const void *user)
{
    if (node.count == 1) {
        int32_t shard = node.first - fold->first;
        return leaf(user, fold->start[shard], fold->start[shard + 1]) + 0.0f;
    }
    artel__fold_node left = {node.first, node.count / 2}, right = {node.first + node.count / 2, node.count / 2};
    float sum = artel__ref_fold(fold, left, leaf, user);
    return sum + artel__ref_fold(fold, right, leaf, user);
}

typedef struct gradient_at {
    const artel__product_weight_gradient *p;
    int64_t k, n; /* k = p->k stands for the bias */
} gradient_at;

static float gradient_leaf(const void *user, int64_t begin, int64_t end)
{
    const gradient_at *at = user;
    const artel__product_weight_gradient *p = at->p;
    artel__terms sum = {.arithmetic = p->arithmetic};
    for (int64_t r = begin * p->inner; r < end * p->inner; r++) {
        float dy = p->dy[r * p->ldy + at->n];
        if (at->k == p->k)
            sum.acc += dy;
        else
            artel__terms_add(&sum, p->x[r * p->ldx + at->k], dy);
    }
    return artel__terms_end(&sum);
}

/* One task is one row of K, and one more the bias. */
static int64_t gradient_tasks(const void *params)
{
    const artel__product_weight_gradient *p = params;
    return p->k + (p->dbias ? 1 : 0);
}

static void gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__product_weight_gradient *p = params;
    int64_t stored = artel__panels_floats(1, p->n);
    (void)scratch;
    for (int64_t k = begin; k < end; k++) {
        for (int32_t i = 0; i < p->fold->nodes; i++) {
            for (int64_t n = 0; n < (k < p->k ? stored : p->n); n++) {
                gradient_at at = {p, k, n};
                float sum = n < p->n ? artel__ref_fold(p->fold, p->fold->node[i], gradient_leaf, &at) : 0.0f;
                if (k == p->k)
                    p->dbias[i * p->dbias_stride + n] = sum;
                else
                    p->dw[i * p->dw_stride + artel__panels_offset(p->k, p->n, k, n)] = sum;
            }
        }
    }
}

const artel__kernel artel__ref_product_weight_gradient = {
    .name = "ref product_weight_gradient", .isa = ARTEL__ISA_BASELINE, .tasks = gradient_tasks, .run = gradient_run};
