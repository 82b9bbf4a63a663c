/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of rows: which tokens of a batch belong to which server, and their form in messages. Tokens ascend and pieces
 * are runs of rows, so each server's share is a run of what the step has made: nothing is copied by who sends. */
#include "train/rows.h"

#include <string.h>

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

size_t artel__row_list_answer_bytes(const artel__row_list *list)
{
    size_t bytes = 0;
    for (int i = 0; i < list->count; i++)
        bytes += artel__net_padded((size_t)list->item[i].count * (size_t)list->item[i].width * sizeof(float));
    return bytes;
}

/* The first of ascending tokens that is not below `row`. */
static int32_t find_token(const int32_t *token, int32_t count, int64_t row)
{
    int32_t low = 0, high = count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (token[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
        int32_t from = find_token(token, count, p->first), to = find_token(token, count, p->first + p->rows);
        p->token = token + from;
        p->from = from;
        p->count = to - from;
        if (!rows) continue;
        int trainable = division->piece[p->piece].trainable;
        p->row = (const float *)artel__session_kept_in(session, mode, o->gradient_kept[trainable]) + from * p->width;
        p->square = p->squares ? (const float *)artel__session_kept_in(session, mode, o->squares_kept[trainable]) +
                                     from * p->width
                               : NULL;
    }
}

static void add_piece(artel__net_piece *out, int *count, const void *data, size_t bytes)
{
    out[(*count)++] = (artel__net_piece){(void *)(uintptr_t)data, bytes};
}

int artel__row_list_write(artel__row_list *list, bool rows, artel__net_piece *out)
{
    int count = 0;
    if (list->count == 0) return 0;
    add_piece(out, &count, list->counts, (size_t)list->count * sizeof *list->counts);
    for (int i = 0; i < list->count; i++) {
        const artel__row_piece *p = &list->item[i];
        size_t bytes = (size_t)p->count * (size_t)p->width * sizeof(float);
        list->counts[i] = p->count;
        if (p->count == 0) continue;
        add_piece(out, &count, p->token, (size_t)p->count * sizeof *p->token);
        if (rows) add_piece(out, &count, p->row, bytes);
        if (rows && p->squares) add_piece(out, &count, p->square, bytes);
    }
    return count;
}

static bool is_in_order(const artel__row_piece *p)
{
    for (int32_t k = 0; k < p->count; k++) {
        if (p->token[k] < p->first || p->token[k] >= p->first + p->rows || (k > 0 && p->token[k] <= p->token[k - 1]))
            return false;
    }
    return true;
}

bool artel__row_list_read(artel__row_list *list, const artel__lane_slot *slot, artel__entries_at *at, bool rows)
{
    if (list->count == 0) return true;
    const int32_t *counts = artel__entries_next(slot, at, (size_t)list->count * sizeof *counts);
    if (!counts) return false;
    memcpy(list->counts, counts, (size_t)list->count * sizeof *counts);
    for (int i = 0; i < list->count; i++) {
        artel__row_piece *p = &list->item[i];
        p->count = list->counts[i];
        if (p->count < 0 || p->count > (rows ? p->most : p->rows)) return false;
        if (p->count == 0) continue;
        size_t bytes = (size_t)p->count * (size_t)p->width * sizeof(float);
        p->token = artel__entries_next(slot, at, (size_t)p->count * sizeof *p->token);
        if (!p->token || !is_in_order(p)) return false;
        p->row = rows ? artel__entries_next(slot, at, bytes) : NULL;
        p->square = rows && p->squares ? artel__entries_next(slot, at, bytes) : NULL;
        if (rows && (!p->row || (p->squares && !p->square))) return false;
    }
    return true;
}
