/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of rows of a division, and what a step of a session has made of them. */
#include "train/rows.h"

static int find_table(const artel__objective *objective, int trainable)
{
    for (int i = 0; i < objective->tables; i++) {
        if (objective->table[i].trainable == trainable) return i;
    }
    return -1;
}

artel_status artel__row_list_make(artel__arena *arena, const artel__division *division, int server,
                                  artel__row_list *out)
{
    const artel__objective *o = division->objective;
    *out = (artel__row_list){.item = artel__arena_alloc(arena, (size_t)division->tables + 1, sizeof *out->item),
                             .counts = artel__arena_alloc(arena, (size_t)division->tables + 1, sizeof *out->counts)};
    ARTEL_TRY(artel__arena_status(arena));
    for (int i = 0; i < division->pieces; i++) {
        const artel__piece *p = &division->piece[i];
        if (p->width == 0 || p->server != server) continue;
        int table = find_table(o, p->trainable);
        int64_t rows = p->count / p->width, most = o->table[table].most;
        out->item[out->count++] = (artel__row_piece){.piece = i,
                                                     .table = table,
                                                     .first = p->first / p->width,
                                                     .rows = rows,
                                                     .width = p->width,
                                                     .most = most < rows ? most : rows,
                                                     .squares = o->squares_kept[p->trainable] >= 0};
    }
    return ARTEL_OK;
}

void artel__row_list_look(artel__row_list *list, const artel__division *division, artel__session *session,
                          artel__mode mode, bool rows)
{
    const artel__objective *o = artel__session_objective(session, mode);
    for (int i = 0; i < list->count; i++) {
        artel__row_piece *p = &list->item[i];
        const artel__objective_table *table = &o->table[p->table];
        const int32_t *token = artel__session_kept_in(session, mode, table->token);
        int32_t count = *(const int32_t *)artel__session_kept_in(session, mode, table->count);
        int trainable = division->piece[p->piece].trainable;
        const float *row = rows ? artel__session_kept_in(session, mode, o->gradient_kept[trainable]) : NULL;
        const float *square =
            rows && p->squares ? artel__session_kept_in(session, mode, o->squares_kept[trainable]) : NULL;
        artel__row_piece_look(p, token, count, row, square);
    }
}
