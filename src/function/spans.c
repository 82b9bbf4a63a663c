/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a variable that a function reads, where it reads nothing but slices along the first axis: the others are not
 * fetched, nor is anything of servers that have none of them. A function of the graph, so workers and servers find the
 * same. What reads nothing, or rows that arguments say, is another matter (tables.c).
 */
#include "function/closure.h"
#include "op/ops.h"
#include "op/shape_attributes.h"

/* Widens the span by the rows of a slice. */
static void add_slice(const artel__slice_attributes *a, int64_t row, artel__span *span)
{
    if (a->length < 1) return;
    int64_t last = a->begin + (a->length - 1) * a->step;
    int64_t first = (a->begin < last ? a->begin : last) * row, end = ((a->begin > last ? a->begin : last) + 1) * row;
    if (span->first == span->end) *span = (artel__span){first, first};
    if (first < span->first) span->first = first;
    if (end > span->end) span->end = end;
}

/* False: something reads it otherwise, or nothing does. */
static bool find_slices(const artel__graph *graph, artel__value_id value, int64_t row, artel__span *span)
{
    bool any = false;
    for (int i = 0; i < graph->kept_count; i++) {
        if (graph->kept[i] == value) return false;
    }
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] != value || node->op == &artel__op_fill_def) continue; /* which reads the shape alone */
            const artel__slice_attributes *a = node->attributes;
            if (node->op != &artel__op_slice_def || a->axis != 0) return false;
            add_slice(a, row, span);
            any = true;
        }
    }
    return any;
}

static artel__span span_of(const artel_function *f, int variable)
{
    const artel__graph *graph = &f->graph;
    const artel__variable *v = &f->strategy->variables.item[variable];
    const artel__span all = {0, v->count};
    artel__span span = {0, 0};
    artel__value_id value = variable < graph->variable_values ? graph->variable_value[variable] : ARTEL__NO_VALUE;
    if (value < 0 || v->layout != ARTEL__LAYOUT_PLAIN || v->shape.rank < 1 || v->count < 1) return all;
    for (int k = 0; k < f->updates; k++) {
        if (f->update[k].variable == variable && f->update[k].kind == ARTEL__UPDATE_STATISTIC) return all;
    }
    return find_slices(graph, value, artel__variable_unit(v), &span) ? span : all;
}

artel_status artel__spans_find(artel_function *f)
{
    f->span = artel__arena_alloc(&f->arena, (size_t)f->reads + 1, sizeof *f->span);
    ARTEL_TRY(artel__arena_status(&f->arena));
    for (int k = 0; k < f->reads; k++) {
        f->span[k] = (artel__span){0, f->strategy->variables.item[f->read[k]].count};
        if (f->tables.of[k] < 0) f->span[k] = span_of(f, f->read[k]);
    }
    return ARTEL_OK;
}

const artel__owned_piece *artel__closure_read(const artel_function *f, int read, int part, int *piece, artel__span *out)
{
    const artel__owned_piece *p;
    while ((p = artel__closure_piece(f->strategy, f->read[read], part, piece)) != NULL) {
        const artel__span *s = &f->span[read];
        out->first = p->first > s->first ? p->first : s->first;
        out->end = p->first + p->count < s->end ? p->first + p->count : s->end;
        if (out->first < out->end) return p;
    }
    return NULL;
}
