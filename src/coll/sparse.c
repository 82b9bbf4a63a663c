/* SPDX-License-Identifier: Apache-2.0 */
/* Sort by id, then combine run after run.
 *
 * A run that only one part has is summed alone: adding zeros changes nothing but the sign of a zero, and a sum of zero
 * is +0 anyway.
 */
#include "coll/sparse.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    int64_t id, row;
    int32_t part;
} entry;

static int compare(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int32_t parts_of(const artel__sparse_rows *rows)
{
    return rows->parts ? rows->parts : 1;
}

static void sort(const artel__sparse_rows *rows, entry *list)
{
    bool sorted = true;
    int64_t n = 0;
    for (int32_t p = 0; p < parts_of(rows); p++) {
        for (int64_t i = rows->start[p]; i < rows->start[p + 1]; i++, n++) {
            list[n] = (entry){rows->id[i], i, p};
            sorted = sorted && (n == 0 || compare(&list[n - 1], &list[n]) < 0);
        }
    }
    if (!sorted) qsort(list, (size_t)n, sizeof *list, compare);
}

static int64_t run_end(const entry *list, int64_t first, int64_t count)
{
    int64_t end = first + 1;
    while (end < count && list[end].id == list[first].id) end++;
    return end;
}

/* Operands of the run: its occurrences; or one for each part, zeros where it has none. Returns how many. */
static int32_t find_operands(const artel__sparse_rows *rows, const entry *run, int64_t count,
                             const artel__sparse_room *room)
{
    const void **operand = room->operands.data;
    size_t row_bytes = (size_t)rows->width * artel_dtype_size(rows->dtype);
    bool alone = rows->parts == 0 || (count == 1 && rows->reduction == ARTEL_REDUCTION_SUM);
    int32_t operands = alone ? (int32_t)count : rows->parts;
    for (int32_t p = 0; p < operands; p++) operand[p] = room->zeros.data;
    for (int64_t i = 0; i < count; i++)
        operand[alone ? i : run[i].part] = (const char *)rows->row + (size_t)run[i].row * row_bytes;
    return operands;
}

static artel_status reserve(artel_context *ctx, const artel__sparse_rows *rows, artel__sparse_room *room)
{
    int64_t count = rows->start[parts_of(rows)];
    size_t row_bytes = (size_t)rows->width * artel_dtype_size(rows->dtype);
    int64_t most = rows->parts ? rows->parts : count;
    if (most > INT32_MAX) return artel__fail_memory(ctx, "sparse rows", SIZE_MAX);
    ARTEL_TRY(artel__coll_reserve(ctx, &room->order, (size_t)count, sizeof(entry)));
    ARTEL_TRY(artel__coll_reserve(ctx, &room->operands, (size_t)most + 1, sizeof(void *)));
    ARTEL_TRY(artel__coll_reserve(ctx, &room->scratch, artel__coll_combine_scratch((int32_t)most + 1), 1));
    ARTEL_TRY(artel__coll_reserve(ctx, &room->zeros, row_bytes, 1));
    ARTEL_TRY(artel__coll_reserve(ctx, &room->ids, (size_t)count, sizeof(int64_t)));
    ARTEL_TRY(artel__coll_reserve(ctx, &room->rows, (size_t)count, row_bytes));
    if (row_bytes) memset(room->zeros.data, 0, row_bytes);
    return ARTEL_OK;
}

artel_status artel__sparse_combine(artel_context *ctx, const artel__sparse_rows *rows, artel__sparse_room *room,
                                   artel__sparse_result *out)
{
    ARTEL_TRY(reserve(ctx, rows, room));
    entry *list = room->order.data;
    int64_t count = rows->start[parts_of(rows)], *id = room->ids.data, made = 0;
    size_t row_bytes = (size_t)rows->width * artel_dtype_size(rows->dtype);
    sort(rows, list);
    for (int64_t first = 0, end; first < count; first = end, made++) {
        end = run_end(list, first, count);
        artel__coll_combination c = {.dtype = rows->dtype, .reduction = rows->reduction, .count = rows->width};
        c.members = find_operands(rows, &list[first], end - first, room);
        c.operand = room->operands.data;
        c.out = (char *)room->rows.data + (size_t)made * row_bytes;
        c.scratch = room->scratch.data;
        artel__coll_combine(&c);
        id[made] = list[first].id;
    }
    *out = (artel__sparse_result){made, id, room->rows.data};
    return ARTEL_OK;
}

void artel__sparse_room_fini(artel_context *ctx, artel__sparse_room *room)
{
    artel__coll_buffer *const buffer[] = {&room->order, &room->operands, &room->scratch,
                                          &room->zeros, &room->ids,      &room->rows};
    for (size_t i = 0; i < ARTEL__COUNT(buffer); i++) artel__coll_buffer_fini(ctx, buffer[i]);
}
