/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table by index in float64, and the gradient of the table. See kernel/wide.h.
 *
 * The gradient of one row of the table is a tree of sums over the shards, as any fold: those rows that a node's indices
 * name are computed one after the other, in pieces.
 */
#include <string.h>

#include "kernel/fold_tree.h"
#include "kernel/wide.h"

enum {
    PIECE = 128
};

static int64_t lookup_tasks(const void *params)
{
    return ((const artel__wide_lookup *)params)->rows;
}

static void lookup_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_lookup *p = params;
    (void)scratch;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t i = row * p->picks; i < (row + 1) * p->picks; i++) {
            int32_t token = p->index[i];
            double *to = p->y + i * p->width;
            if (token >= 0 && token < p->extent) {
                memcpy(to, p->table + token * p->width, (size_t)p->width * sizeof *to);
                continue;
            }
            artel__fault_slot_report(&p->fault, row, token);
            memset(to, 0, (size_t)p->width * sizeof *to);
        }
    }
}

/* Elements c .. c + n - 1 of one row of the table. */
typedef struct piece {
    const artel__wide_lookup_gradient *p;
    int32_t token;
    int64_t c;
    int n;
} piece;

static void add_row(const piece *at, int64_t row, double *sum)
{
    const artel__wide_lookup_gradient *p = at->p;
    double own[PIECE] = {0};
    bool any = false;
    for (int64_t i = row * p->picks; i < (row + 1) * p->picks; i++) {
        if (p->index[i] != at->token) continue;
        const double *dy = p->dy + i * p->width + at->c;
        for (int k = 0; k < at->n; k++) own[k] = own[k] + dy[k];
        any = true;
    }
    for (int k = 0; any && k < at->n; k++) sum[k] = sum[k] + own[k];
}

static void tree(const piece *at, int32_t first, int32_t count, double *out)
{
    const artel__fold_plan *fold = at->p->fold;
    if (count == 1) {
        memset(out, 0, PIECE * sizeof *out);
        for (int64_t row = artel__fold_begin(fold, first); row < artel__fold_end(fold, first); row++)
            add_row(at, row, out);
        return;
    }
    double right[PIECE];
    tree(at, first, count / 2, out);
    tree(at, first + count / 2, count / 2, right);
    for (int k = 0; k < at->n; k++) out[k] = out[k] + right[k];
}

static int64_t gradient_tasks(const void *params)
{
    return ((const artel__wide_lookup_gradient *)params)->fold->nodes;
}

/* Whether an index stands among those before it from `from` on. */
static bool seen(const int32_t *index, int64_t from, int64_t at)
{
    for (int64_t i = from; i < at; i++) {
        if (index[i] == index[at]) return true;
    }
    return false;
}

static void gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_lookup_gradient *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        artel__fold_node node = p->fold->node[task];
        double *table = p->dtable + task * p->extent * p->width;
        int64_t from = artel__fold_begin(p->fold, node.first) * p->picks,
                to = artel__fold_end(p->fold, node.first + node.count - 1) * p->picks;
        memset(table, 0, (size_t)(p->extent * p->width) * sizeof *table);
        for (int64_t i = from; i < to; i++) {
            int32_t token = p->index[i];
            if (token < 0 || token >= p->extent || seen(p->index, from, i)) continue;
            for (int64_t c = 0; c < p->width; c += PIECE) {
                int n = (int)(p->width - c < PIECE ? p->width - c : PIECE);
                piece at = {p, token, c, n};
                double sum[PIECE];
                tree(&at, node.first, node.count, sum);
                memcpy(table + token * p->width + c, sum, (size_t)n * sizeof *sum);
            }
        }
    }
}

static const artel__kernel lookup = {.name = "float64 lookup", .tasks = lookup_tasks, .run = lookup_run};
static const artel__kernel lookup_gradient = {
    .name = "float64 lookup_gradient", .tasks = gradient_tasks, .run = gradient_run};

const artel__kernel *const artel__wide_lookup_kernels[] = {&lookup, NULL};
const artel__kernel *const artel__wide_lookup_gradient_kernels[] = {&lookup_gradient, NULL};
