/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding, the reference: one position, or one element of the table, at a time. Also the lists, and the sorting
 * of positions, which has no fast form. */
#include "kernel/embed.h"

#include <string.h>

#include "kernel/embed_tree.h"

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
        int64_t row = valid && p->held.row ? artel__held_find(&p->held, (int32_t)token) : token;
        const float *table = p->held.row ? p->held.row : p->table;
        valid = valid && row >= 0;
        for (int64_t c = 0; c < p->width; c++) p->y[at * p->width + c] = valid ? table[row * p->width + c] : 0.0f;
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
    int64_t from = artel__fold_begin(p->fold, n.first) * p->per_row,
            to = artel__fold_end(p->fold, n.first + n.count - 1) * p->per_row;
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

static float tree(const artel__embed_source *s, const artel__embed_list *list, artel__fold_node n, int64_t column)
{
    if (n.count > 1) {
        float left = tree(s, list, (artel__fold_node){n.first, n.count / 2}, column);
        return left + tree(s, list, (artel__fold_node){n.first + n.count / 2, n.count / 2}, column);
    }
    float sum = 0.0f;
    for (int64_t i = 0; i < list->count; i++)
        if (artel__embed_shard(s, list->position[i]) == n.first) {
            float dy = s->dy[list->position[i] * s->width + column];
            sum = sum + artel__occurrence_term(s->of, dy);
        }
    return sum + 0.0f;
}

static void embed_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_gradient *p = params;
    artel__embed_source source = artel__embed_source_of(p);
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t column = task % p->width, token = task / p->width % p->vocabulary,
                node = task / p->width / p->vocabulary;
        artel__embed_list list = artel__embed_list_of(p, node, token);
        p->dtable[node * p->stride + token * p->width + column] =
            list.count ? tree(&source, &list, p->fold->node[node], column) : 0.0f;
    }
}

/* -- the tokens of a batch: positions sorted by their token's digits, the lowest first; one task -- */

enum {
    DIGIT_BITS = 11
};

static int64_t embed_tokens_tasks(const void *params)
{
    (void)params;
    return 1;
}

/* One pass, stable; `from` NULL: all positions with a token of the table. Returns how many. */
static int64_t sort_by_digit(const artel__embed_tokens *p, const int32_t *from, int64_t count, int shift, int bits,
                             int32_t *to)
{
    int32_t place[(1 << DIGIT_BITS) + 1] = {0};
    uint32_t mask = (1u << bits) - 1, vocabulary = (uint32_t)p->vocabulary;
    for (int64_t i = 0; i < count; i++) {
        uint32_t token = (uint32_t)p->index[from ? from[i] : i];
        if (token < vocabulary) place[(token >> shift & mask) + 1]++;
    }
    for (uint32_t d = 0; d <= mask; d++) place[d + 1] += place[d];
    int64_t kept = place[mask + 1];
    for (int64_t i = 0; i < count; i++) {
        int32_t position = from ? from[i] : (int32_t)i;
        uint32_t token = (uint32_t)p->index[position];
        if (token < vocabulary) to[place[token >> shift & mask]++] = position;
    }
    return kept;
}

/* Ends in `sorted`; `end` is the other buffer. */
static int64_t sort_positions(const artel__embed_tokens *p)
{
    int digits = 1;
    while (digits < 31 && (p->vocabulary - 1) >> digits) digits++;
    int passes = (digits + DIGIT_BITS - 1) / DIGIT_BITS, bits = (digits + passes - 1) / passes;
    const int32_t *from = NULL;
    int64_t count = p->positions;
    for (int pass = 0; pass < passes; pass++) {
        int32_t *to = (passes - pass) % 2 ? p->sorted : p->end;
        count = sort_by_digit(p, from, count, pass * bits, bits, to);
        from = to;
    }
    return count;
}

static void embed_tokens_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_tokens *p = params;
    int64_t positions = sort_positions(p), count = 0;
    (void)begin, (void)end, (void)scratch;
    for (int64_t i = 0; i < positions; i++) {
        int32_t token = p->index[p->sorted[i]];
        if (count == 0 || p->token[count - 1] != token) p->token[count++] = token;
        p->end[count - 1] = (int32_t)i + 1;
    }
    *p->count = (int32_t)count;
}

/* -- their rows; a task is a row of the most there can be -- */

static int64_t embed_rows_tasks(const void *params)
{
    const artel__embed_rows *p = params;
    return p->batch * p->per_row;
}

static void embed_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_rows *p = params;
    artel__embed_source source = artel__embed_source_of_rows(p);
    (void)scratch;
    for (int64_t k = begin; k < end && k < *p->count; k++) {
        artel__embed_list list = artel__embed_list_at(p, k);
        for (int64_t c = 0; c < p->width; c++)
            p->rows[k * p->width + c] = tree(&source, &list, (artel__fold_node){0, p->shards}, c);
    }
}

static const artel__kernel forward = {
    .name = "reference embed_forward", .tasks = embed_forward_tasks, .run = embed_forward_run};
static const artel__kernel sort = {.name = "reference embed_sort", .tasks = embed_sort_tasks, .run = embed_sort_run};
static const artel__kernel gradient = {
    .name = "reference embed_gradient", .tasks = embed_gradient_tasks, .run = embed_gradient_run};
static const artel__kernel tokens = {
    .name = "reference embed_tokens", .tasks = embed_tokens_tasks, .run = embed_tokens_run};
static const artel__kernel rows = {.name = "reference embed_rows", .tasks = embed_rows_tasks, .run = embed_rows_run};

ARTEL__KERNEL_LIST(embed_forward, forward);
const artel__kernel *const artel__embed_sort_kernels[] = {&sort, NULL};
ARTEL__KERNEL_LIST(embed_gradient, gradient);
const artel__kernel *const artel__embed_tokens_kernels[] = {&tokens, NULL};
ARTEL__KERNEL_LIST(embed_rows, rows);
