/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding, the reference: one position, or one element of the table, at a time. Also the lists, and the sorting of
 * positions, which has no fast form. */
#include "kernel/embed.h"

#include <string.h>

#include "kernel/embed_tree.h"
#include "kernel/simd/embed_tables.h"

/* -- forward; a task is a position -- */

static int64_t embed_forward_tasks(const void *params)
{
    return ((const artel__embed_forward *)params)->positions;
}

static void embed_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_forward *p = params;
    (void)scratch;
    for (int64_t at = begin; at < end; at++) {
        int64_t token = p->index[at];
        bool valid = token >= 0 && token < p->vocabulary;
        for (int64_t c = 0; c < p->width; c++) p->y[at * p->width + c] = valid ? p->table[token * p->width + c] : 0.0f;
        if (!valid) artel__fault_slot_report(&p->fault, at / p->per_row, token);
    }
}

/* -- sorting by counting; a task is a node -- */

static int64_t embed_sort_tasks(const void *params)
{
    return ((const artel__embed_sort *)params)->fold->nodes;
}

static bool is_token(const artel__embed_sort *p, int64_t position)
{
    return p->index[position] >= 0 && p->index[position] < p->vocabulary;
}

/* first[t + 1] counts token t, then is where t's next position goes, and ends as where t's positions end. */
static void sort_node(const artel__embed_sort *p, int64_t node)
{
    artel__fold_node n = p->fold->node[node];
    int64_t from = artel__fold_begin(p->fold, n.first) * p->per_row, to = artel__fold_end(p->fold, n.first + n.count - 1) * p->per_row;
    int32_t *first = p->first + node * (p->vocabulary + 1), next = (int32_t)from;
    memset(first, 0, (size_t)(p->vocabulary + 1) * sizeof *first);
    for (int64_t i = from; i < to; i++)
        if (is_token(p, i)) first[p->index[i] + 1]++;
    first[0] = (int32_t)from;
    for (int64_t t = 1; t <= p->vocabulary; t++) {
        int32_t count = first[t];
        first[t] = next;
        next += count;
    }
    for (int64_t i = from; i < to; i++)
        if (is_token(p, i)) p->sorted[first[p->index[i] + 1]++] = (int32_t)i;
}

static void embed_sort_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    (void)scratch;
    for (int64_t node = begin; node < end; node++) sort_node(params, node);
}

/* -- gradient; a task is an element of a node's table -- */

static int64_t embed_gradient_tasks(const void *params)
{
    const artel__embed_gradient *p = params;
    return p->fold->nodes * p->vocabulary * p->width;
}

static float tree(const artel__embed_gradient *p, const artel__embed_list *list, int32_t first, int32_t count, int64_t column)
{
    if (count > 1) {
        float left = tree(p, list, first, count / 2, column);
        return left + tree(p, list, first + count / 2, count / 2, column);
    }
    int64_t from = artel__fold_begin(p->fold, first) * p->per_row, to = artel__fold_end(p->fold, first) * p->per_row;
    float sum = 0.0f;
    for (int64_t i = 0; i < list->count; i++)
        if (list->position[i] >= from && list->position[i] < to) {
            float dy = p->dy[list->position[i] * p->width + column];
            sum = sum + (p->squares ? dy * dy : dy);
        }
    return sum + 0.0f;
}

static void embed_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_gradient *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t column = task % p->width, token = task / p->width % p->vocabulary, node = task / p->width / p->vocabulary;
        artel__embed_list list = artel__embed_list_of(p, node, token);
        artel__fold_node n = p->fold->node[node];
        p->dtable[node * p->stride + token * p->width + column] = list.count ? tree(p, &list, n.first, n.count, column) : 0.0f;
    }
}

static const artel__kernel forward = {.name = "reference embed_forward", .tasks = embed_forward_tasks, .run = embed_forward_run};
static const artel__kernel sort = {.name = "reference embed_sort", .tasks = embed_sort_tasks, .run = embed_sort_run};
static const artel__kernel gradient = {.name = "reference embed_gradient", .tasks = embed_gradient_tasks, .run = embed_gradient_run};

#define FAST(row) &artel__embed_avx512[row], &artel__embed_avx2[row], &artel__embed_baseline[row]

const artel__kernel *const artel__embed_forward_kernels[] = {FAST(ARTEL__EMBED_FORWARD), &forward, NULL};
const artel__kernel *const artel__embed_sort_kernels[] = {&sort, NULL};
const artel__kernel *const artel__embed_gradient_kernels[] = {FAST(ARTEL__EMBED_GRADIENT), &gradient, NULL};
