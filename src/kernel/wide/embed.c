/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table by index in float64, and the gradient of the table. See kernel/wide.h.
 *
 * The gradient of one row of the table is a tree of sums over the shards, as any fold. The places of a node are sorted
 * by the row that they name, and stay in their order else: each row that is named has its own, and is computed in
 * pieces.
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

/* Elements c .. c + n - 1 of one row of the table, which the places up to `end` name. */
typedef struct piece {
    const artel__wide_lookup_gradient *p;
    const int64_t *next, *end; /* `next`: behind those that have been added */
    int64_t c;
    int n;
} piece;

/* The places of the row of the batch that has the next one. */
static void add_row(piece *at, double *sum)
{
    const artel__wide_lookup_gradient *p = at->p;
    double own[PIECE] = {0};
    int64_t behind = (*at->next / p->picks + 1) * p->picks;
    for (; at->next < at->end && *at->next < behind; at->next++) {
        const double *dy = p->dy + *at->next * p->width + at->c;
        for (int k = 0; k < at->n; k++) own[k] = own[k] + dy[k];
    }
    for (int k = 0; k < at->n; k++) sum[k] = sum[k] + own[k];
}

/* Shards are met in their order, as places are. */
static void tree(piece *at, int32_t first, int32_t count, double *out)
{
    if (count == 1) {
        int64_t behind = artel__fold_end(at->p->fold, first) * at->p->picks;
        memset(out, 0, PIECE * sizeof *out);
        while (at->next < at->end && *at->next < behind) add_row(at, out);
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

static size_t gradient_scratch(const void *params)
{
    const artel__wide_lookup_gradient *p = params;
    return (size_t)(p->extent + 1 + p->fold->rows * p->picks) * sizeof(int64_t);
}

static bool is_inside(const artel__wide_lookup_gradient *p, int64_t place)
{
    return p->index[place] >= 0 && p->index[place] < p->extent;
}

/* first[k]: where those of row k of the table begin in `places`, and after all where they end. */
static void sort_places(const artel__wide_lookup_gradient *p, int64_t from, int64_t to, int64_t *first, int64_t *places)
{
    memset(first, 0, (size_t)(p->extent + 1) * sizeof *first);
    for (int64_t i = from; i < to; i++) first[is_inside(p, i) ? p->index[i] : p->extent]++;
    for (int64_t k = 0, before = 0; k <= p->extent; k++) {
        int64_t count = first[k];
        first[k] = before;
        before += count;
    }
    for (int64_t i = from; i < to; i++)
        if (is_inside(p, i)) places[first[p->index[i]]++] = i;
}

static void gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_lookup_gradient *p = params;
    int64_t *behind = scratch, *places = behind + p->extent + 1; /* behind[k]: where those of row k end */
    for (int64_t task = begin; task < end; task++) {
        artel__fold_node node = p->fold->node[task];
        double *table = p->dtable + task * p->extent * p->width;
        int64_t from = artel__fold_begin(p->fold, node.first) * p->picks,
                to = artel__fold_end(p->fold, node.first + node.count - 1) * p->picks;
        memset(table, 0, (size_t)(p->extent * p->width) * sizeof *table);
        sort_places(p, from, to, behind, places);
        for (int64_t k = 0; k < p->extent; k++) {
            const int64_t *own = places + (k > 0 ? behind[k - 1] : 0);
            for (int64_t c = 0; c < p->width && own < places + behind[k]; c += PIECE) {
                int n = (int)(p->width - c < PIECE ? p->width - c : PIECE);
                piece at = {p, own, places + behind[k], c, n};
                double sum[PIECE];
                tree(&at, node.first, node.count, sum);
                memcpy(table + k * p->width + c, sum, (size_t)n * sizeof *sum);
            }
        }
    }
}

static const artel__kernel lookup = {.name = "float64 lookup", .tasks = lookup_tasks, .run = lookup_run};
static const artel__kernel lookup_gradient = {
    .name = "float64 lookup_gradient", .tasks = gradient_tasks, .scratch_bytes = gradient_scratch, .run = gradient_run};

const artel__kernel *const artel__wide_lookup_kernels[] = {&lookup, NULL};
const artel__kernel *const artel__wide_lookup_gradient_kernels[] = {&lookup_gradient, NULL};
