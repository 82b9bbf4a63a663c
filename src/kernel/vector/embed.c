/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding; see simd.h for how this file is compiled, kernel/embed.h for the contracts. Inner loops run over the
 * width. */
#include "kernel/simd/simd.h"

#include "base/fetch_soon.h"
#include "kernel/embed_tree.h"

#include <string.h>

enum {
    TILE = 128,
    FLOAT_TASK = 4096,
    TOKENS = 64,
    AHEAD = 16, /* positions whose rows are asked for before they are copied or added */
    ASKED = 128 /* elements of a row that are asked for; what follows is fetched as a stream */
};

static int64_t positions_per_task(int64_t width)
{
    return width >= FLOAT_TASK || width == 0 ? 1 : FLOAT_TASK / width;
}

static int64_t embed_forward_tasks(const void *params)
{
    const artel__embed_forward *p = params;
    return artel__pieces(p->positions, positions_per_task(p->width));
}

static void ask_for_row(const float *row, int64_t width)
{
    artel__fetch_soon(row, (size_t)(width < ASKED ? width : ASKED) * sizeof *row);
}

static void ask_for(const artel__embed_forward *p, int64_t position)
{
    if (position >= p->positions || p->held.row) return; /* held rows are few, and lie together */
    int64_t token = p->index[position];
    if (token >= 0 && token < p->vocabulary) ask_for_row(p->table + token * p->width, p->width);
}

/* NULL: there is none. */
static const float *row_of(const artel__embed_forward *p, int64_t token)
{
    if (token < 0 || token >= p->vocabulary) return NULL;
    if (!p->held.row) return p->table + token * p->width;
    int32_t at = artel__held_find(&p->held, (int32_t)token);
    return at >= 0 ? p->held.row + at * p->width : NULL;
}

static void embed_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_forward *p = params;
    int64_t size = positions_per_task(p->width), to = artel__piece_end(p->positions, size, end);
    size_t bytes = (size_t)p->width * sizeof(float);
    (void)scratch;
    for (int64_t at = begin * size; at < to; at++) {
        int64_t token = p->index[at];
        float *y = p->y + at * p->width;
        ask_for(p, at + AHEAD);
        const float *row = row_of(p, token);
        if (row) {
            memcpy(y, row, bytes);
            continue;
        }
        memset(y, 0, bytes);
        artel__fault_slot_report(&p->fault, at / p->per_row, token);
    }
}

static int64_t embed_gradient_tasks(const void *params)
{
    const artel__embed_gradient *p = params;
    return p->fold->nodes * artel__pieces(p->vocabulary, TOKENS);
}

/* Subtrees that wait for what comes to their right, oldest first, each with one of its shards. */
typedef struct waiting {
    int depth;
    int32_t shard[ARTEL__EMBED_DEPTH];
    float sum[ARTEL__EMBED_DEPTH][TILE];
} waiting;

/* Columns [column, column + width) of the sum over a list of positions. */
typedef struct columns {
    artel__embed_source source;
    artel__embed_list list;
    int64_t column, width;
} columns;

static void merge_newest(waiting *w, int64_t width)
{
    float *left = w->sum[w->depth - 2];
    const float *right = w->sum[w->depth - 1];
    for (int64_t c = 0; c < width; c++) left[c] = left[c] + right[c];
    w->depth--;
}

/* What one occurrence adds: to `sum`, or to 0. Constants, so that the loop vectorises. */
ARTEL__INLINE void term_loop(artel__occurrence of, bool adds, const float *dy, float *sum, int64_t width)
{
    for (int64_t c = 0; c < width; c++) sum[c] = (adds ? sum[c] : 0.0f) + artel__occurrence_term(of, dy[c]);
}

ARTEL__INLINE void add_terms(artel__occurrence of, bool adds, const float *dy, float *sum, int64_t width)
{
    switch (of) {
    case ARTEL__OCCURRENCE_ITSELF: term_loop(ARTEL__OCCURRENCE_ITSELF, adds, dy, sum, width); break;
    case ARTEL__OCCURRENCE_SQUARE: term_loop(ARTEL__OCCURRENCE_SQUARE, adds, dy, sum, width); break;
    case ARTEL__OCCURRENCE_SIZE: term_loop(ARTEL__OCCURRENCE_SIZE, adds, dy, sum, width); break;
    }
}

/* Adds the leaf of the shard that holds list position i; returns the first position behind it. Two subtrees that meet
 * below the point where the new leaf meets them are complete and are merged first. */
static int64_t add_leaf(const columns *p, int64_t i, waiting *w)
{
    int32_t shard = artel__embed_shard(&p->source, p->list.position[i]);
    int64_t stop = artel__embed_shard_end(&p->source, shard), width = p->width;
    while (w->depth > 1 && artel__embed_level(w->shard[w->depth - 2], w->shard[w->depth - 1]) <
                               artel__embed_level(w->shard[w->depth - 1], shard))
        merge_newest(w, width);
    float *leaf = w->sum[w->depth];
    for (int64_t c = 0; c < width; c++) leaf[c] = 0.0f;
    for (; i < p->list.count && p->list.position[i] < stop; i++) {
        const float *dy = p->source.dy + (int64_t)p->list.position[i] * p->source.width + p->column;
        add_terms(p->source.of, true, dy, leaf, width);
    }
    for (int64_t c = 0; c < width; c++) leaf[c] = leaf[c] + 0.0f;
    w->shard[w->depth++] = shard;
    return i;
}

/* A tree of one leaf of one position: 0 + dy + 0. */
static void single_sum(const columns *p, float *sum)
{
    const float *dy = p->source.dy + (int64_t)p->list.position[0] * p->source.width + p->column;
    add_terms(p->source.of, false, dy, sum, p->width);
}

/* The whole row of a token that occurs. */
static void token_sum(const artel__embed_source *source, artel__embed_list list, float *sum)
{
    for (int64_t column = 0; column < source->width; column += TILE) {
        columns part = {*source, list, column, source->width - column < TILE ? source->width - column : TILE};
        if (list.count == 1) {
            single_sum(&part, sum + column);
            continue;
        }
        waiting w;
        w.depth = 0;
        for (int64_t i = 0; i < list.count;) i = add_leaf(&part, i, &w);
        while (w.depth > 1) merge_newest(&w, part.width);
        memcpy(sum + column, w.sum[0], (size_t)part.width * sizeof *sum);
    }
}

static void embed_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_gradient *p = params;
    artel__embed_source source = artel__embed_source_of(p);
    int64_t runs = artel__pieces(p->vocabulary, TOKENS);
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t node = task / runs, stop = artel__piece_end(p->vocabulary, TOKENS, task % runs + 1);
        for (int64_t token = task % runs * TOKENS; token < stop; token++) {
            artel__embed_list list = artel__embed_list_of(p, node, token);
            float *to = p->dtable + node * p->stride + token * p->width;
            if (list.count == 0)
                memset(to, 0, (size_t)p->width * sizeof *to);
            else
                token_sum(&source, list, to);
        }
    }
}

static int64_t embed_rows_tasks(const void *params)
{
    const artel__embed_rows *p = params;
    return artel__pieces(p->batch * p->per_row, TOKENS);
}

static void embed_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__embed_rows *p = params;
    artel__embed_source source = artel__embed_source_of_rows(p);
    int64_t stop = artel__piece_end(*p->count, TOKENS, end);
    (void)scratch;
    for (int64_t k = begin * TOKENS; k < stop; k++) {
        int64_t ahead = k + AHEAD < *p->count ? k + AHEAD : *p->count - 1;
        ask_for_row(source.dy + (int64_t)p->sorted[p->end[ahead] - 1] * p->width, p->width);
        token_sum(&source, artel__embed_list_at(p, k), p->rows + k * p->width);
    }
}

ARTEL__SIMD_KERNEL(embed_forward, .tasks = embed_forward_tasks, .run = embed_forward_run);
ARTEL__SIMD_KERNEL(embed_gradient, .tasks = embed_gradient_tasks, .run = embed_gradient_run);
ARTEL__SIMD_KERNEL(embed_rows, .tasks = embed_rows_tasks, .run = embed_rows_run);
