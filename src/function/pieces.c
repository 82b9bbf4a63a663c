/* SPDX-License-Identifier: Apache-2.0 */
/* How variables of servers are cut, and which server is the first that has a piece. A function of what all tasks
 * declare, so each finds the same. */
#include "function/closure.h"
#include "ps/part.h"

/* Whether who steps or constrains it reads all of it. */
static bool is_whole(const artel_strategy *s, int variable)
{
    for (const artel_variable *v = s->variable; v; v = v->next) {
        if (v->index == variable && v->constraint.def) return true;
    }
    for (const artel_optimizer *o = s->optimizer; o; o = o->next) {
        for (int i = 0; i < o->count; i++) {
            if (o->variable[i]->index == variable &&
                artel__optimizer_reads_whole(&o->rule, &s->variables.item[variable]))
                return true;
        }
    }
    return false;
}

/* Into how many pieces, of so many units. */
static int64_t count_pieces(const artel_strategy *s, int variable, int64_t *units)
{
    const artel__variable *v = &s->variables.item[variable];
    int64_t unit = artel__variable_unit(v);
    *units = unit > 0 ? (v->count + unit - 1) / unit : 1;
    const int64_t shape[] = {*units, unit};
    return is_whole(s, variable) ? 1 : artel__partition_count(&s->partition, shape, 2, sizeof(float));
}

static void cut(artel_strategy *s, int variable)
{
    const artel__variable *v = &s->variables.item[variable];
    int64_t unit = artel__variable_unit(v), units, pieces = count_pieces(s, variable, &units);
    for (int64_t k = 0; k < pieces; k++) {
        int64_t first = artel__partition_offset(units, pieces, k) * unit,
                end = artel__partition_offset(units, pieces, k + 1) * unit;
        if (end > v->count || pieces == 1) end = v->count; /* the last block is a short one */
        s->piece[s->pieces++] = (artel__owned_piece){.variable = variable,
                                                     .first = first,
                                                     .count = end - first,
                                                     .width = v->layout == ARTEL__LAYOUT_PLAIN ? unit : 0,
                                                     .whole = pieces == 1};
    }
}

artel_status artel__elsewhere_place(artel_strategy *s)
{
    size_t variables = (size_t)s->variables.count + 1, count = 1;
    int64_t units;
    for (int v = 0; v < s->variables.count; v++) count += (size_t)count_pieces(s, v, &units);
    uint64_t *load = artel__arena_alloc(&s->arena, count, sizeof *load);
    int *order = artel__arena_alloc(&s->arena, count, sizeof *order);
    int *part = artel__arena_alloc(&s->arena, count, sizeof *part);
    s->piece = artel__arena_alloc(&s->arena, count, sizeof *s->piece);
    s->first_piece = artel__arena_alloc(&s->arena, variables, sizeof *s->first_piece);
    ARTEL_TRY(artel__arena_status(&s->arena));
    for (int v = 0; v < s->variables.count; v++) {
        s->first_piece[v] = s->pieces;
        cut(s, v);
    }
    s->first_piece[s->variables.count] = s->pieces;
    for (int i = 0; i < s->pieces; i++) load[i] = (uint64_t)s->piece[i].count * sizeof(float);
    artel__place_by_load(load, s->pieces, s->servers, part, order);
    for (int i = 0; i < s->pieces; i++) s->piece[i].part = part[i];
    return ARTEL_OK;
}

/* -- pieces of a part -- */

int artel__update_parts(const artel__update *u, const artel__owned_piece *piece, size_t bytes[3])
{
    int count = 0;
    size_t whole = (size_t)piece->count * sizeof(float);
    bytes[count++] = whole;
    if (artel__update_has_second(u)) bytes[count++] = whole;
    if (u->kept_norm >= 0) bytes[count++] = sizeof(double);
    return count;
}

const artel__owned_piece *artel__closure_piece(const artel_strategy *s, int variable, int part, int *piece)
{
    if (*piece < s->first_piece[variable]) *piece = s->first_piece[variable];
    for (; *piece < s->first_piece[variable + 1]; ++*piece) {
        if (s->piece[*piece].part == part) return &s->piece[(*piece)++];
    }
    return NULL;
}

int64_t artel__part_bytes(const artel_strategy *s, int part)
{
    int64_t bytes = 0;
    for (int i = 0; i < s->pieces; i++) {
        if (s->piece[i].part == part) bytes += s->piece[i].count * (int64_t)sizeof(float);
    }
    return bytes;
}
