/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of rows: which tokens of a batch belong to which server, and their form in messages. */
#include "ps/rows.h"

#include <string.h>

#include "base/fetch_soon.h"

enum {
    AHEAD = 16, /* rows that are asked for before they are copied */
    ASKED = 512 /* bytes of a row that are asked for; what follows is fetched as a stream */
};

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

void artel__row_piece_look(artel__row_piece *p, const int32_t *token, int32_t count, const float *rows,
                           const float *squares)
{
    int32_t from = find_token(token, count, p->first), to = find_token(token, count, p->first + p->rows);
    p->token = token + from;
    p->from = from;
    p->count = to - from;
    p->row = rows ? rows + from * p->width : NULL;
    p->square = squares ? squares + from * p->width : NULL;
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

bool artel__row_list_read(artel__row_list *list, const artel__lane_slot *slot, artel__slot_at *at, bool rows)
{
    if (list->count == 0) return true;
    const int32_t *counts = artel__slot_next(slot, at, (size_t)list->count * sizeof *counts);
    if (!counts) return false;
    memcpy(list->counts, counts, (size_t)list->count * sizeof *counts);
    for (int i = 0; i < list->count; i++) {
        artel__row_piece *p = &list->item[i];
        p->count = list->counts[i];
        if (p->count < 0 || p->count > (rows ? p->most : p->rows)) return false;
        if (p->count == 0) continue;
        size_t bytes = (size_t)p->count * (size_t)p->width * sizeof(float);
        p->token = artel__slot_next(slot, at, (size_t)p->count * sizeof *p->token);
        if (!p->token || !is_in_order(p)) return false;
        p->row = rows ? artel__slot_next(slot, at, bytes) : NULL;
        p->square = rows && p->squares ? artel__slot_next(slot, at, bytes) : NULL;
        if (rows && (!p->row || (p->squares && !p->square))) return false;
    }
    return true;
}

bool artel__row_piece_tokens(const artel__row_piece *p, int32_t *to)
{
    for (int32_t k = 0; k < p->count; k++) {
        int64_t row = (int64_t)p->token[k] - p->first;
        if (row < 0 || row >= p->rows) return false;
        to[k] = (int32_t)row;
    }
    return true;
}

void artel__row_piece_copy(const artel__row_piece *p, const float *values, const int32_t *row, void *to)
{
    size_t bytes = (size_t)p->width * sizeof(float);
    uint8_t *at = to;
    for (int32_t k = 0; k < p->count; k++, at += bytes) {
        if (k + AHEAD < p->count) artel__fetch_soon(values + row[k + AHEAD] * p->width, bytes < ASKED ? bytes : ASKED);
        memcpy(at, values + row[k] * p->width, bytes);
    }
}
