/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of weights that all rows have in common, in float64. See kernel/wide.h.
 *
 * A line of the result is computed in pieces that lie in registers and the first-level cache on every level of the
 * tree.
 */
#include <string.h>

#include "kernel/fold_tree.h"
#include "kernel/wide.h"

enum {
    PIECE = 32
};

/* A piece of a line of the result: elements r .. r + n - 1 of line j of matrix l. */
typedef struct piece {
    const artel__wide_weight_gradient *p;
    int64_t l, j, r;
    int n;
} piece;

static void add_row(const piece *at, int64_t row, double *sum)
{
    const artel__wide_weight_gradient *p = at->p;
    const double *dy = p->dy + (row * p->lead + at->l) * p->rows * p->columns + at->j;
    const double *x = p->x + (row * p->lead + at->l) * p->rows * p->inner + at->r;
    double own[PIECE] = {0};
    for (int64_t i = 0; i < p->rows; i++) {
        double slope = dy[i * p->columns];
        for (int k = 0; k < at->n; k++) own[k] = own[k] + slope * x[i * p->inner + k];
    }
    for (int k = 0; k < at->n; k++) sum[k] = sum[k] + own[k];
}

static void leaf(const piece *at, int32_t v, double *out)
{
    const artel__fold_plan *fold = at->p->fold;
    memset(out, 0, PIECE * sizeof *out);
    for (int64_t row = artel__fold_begin(fold, v); row < artel__fold_end(fold, v); row++) add_row(at, row, out);
    for (int k = 0; k < at->n; k++) out[k] = out[k] + 0.0;
}

static void tree(const piece *at, int32_t first, int32_t count, double *out)
{
    double right[PIECE];
    if (count == 1) {
        leaf(at, first, out);
        return;
    }
    tree(at, first, count / 2, out);
    tree(at, first + count / 2, count / 2, right);
    for (int k = 0; k < at->n; k++) out[k] = out[k] + right[k];
}

static int64_t tasks(const void *params)
{
    const artel__wide_weight_gradient *p = params;
    return p->fold->nodes * p->lead * p->columns;
}

static void run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_weight_gradient *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t node = task / (p->lead * p->columns), line = task % (p->lead * p->columns);
        for (int64_t r = 0; r < p->inner; r += PIECE) {
            int n = (int)(p->inner - r < PIECE ? p->inner - r : PIECE);
            piece at = {p, line / p->columns, line % p->columns, r, n};
            double sum[PIECE];
            tree(&at, p->fold->node[node].first, p->fold->node[node].count, sum);
            memcpy(p->dw + task * p->inner + r, sum, (size_t)n * sizeof *sum);
        }
    }
}

static const artel__kernel weight_gradient = {.name = "float64 weight_gradient", .tasks = tasks, .run = run};

const artel__kernel *const artel__wide_weight_gradient_kernels[] = {&weight_gradient, NULL};
