/* SPDX-License-Identifier: Apache-2.0 */
/* Places buffers as they are born: in the smallest gap that holds them, the largest of one action first; what dies
 * leaves a gap that joins its neighbours. The activations of a tower of layers die in the opposite order of their
 * birth, so there are few gaps at any time, and the cost is that of sorting. Who has many gaps pays for searching them.
 */
#include "exec/cpu/lifetime.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct field {
    artel__lifetime_gap *gap; /* by offset; none touches the next */
    int gaps;
    size_t end; /* of what was ever used */
} field;

static int by_birth(const void *a, const void *b)
{
    const artel__lifetime *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->value < y->value ? -1 : 1;
}

static int by_death(const void *a, const void *b)
{
    const artel__lifetime *x = *(const artel__lifetime *const *)a, *y = *(const artel__lifetime *const *)b;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

static void remove_gap(field *f, int at)
{
    f->gaps--;
    memmove(f->gap + at, f->gap + at + 1, (size_t)(f->gaps - at) * sizeof *f->gap);
}

static size_t take(field *f, size_t bytes)
{
    int best = -1, last = f->gaps - 1;
    for (int i = 0; i < f->gaps; i++) {
        size_t room = f->gap[i].end - f->gap[i].begin;
        if (room >= bytes && (best < 0 || room < f->gap[best].end - f->gap[best].begin)) best = i;
    }
    if (best < 0 && last >= 0 && f->gap[last].end == f->end) { /* it grows */
        best = last;
        f->end = f->gap[last].end = f->gap[last].begin + bytes;
    }
    if (best < 0) {
        f->end += bytes;
        return f->end - bytes;
    }
    size_t offset = f->gap[best].begin;
    f->gap[best].begin += bytes;
    if (f->gap[best].begin == f->gap[best].end) remove_gap(f, best);
    return offset;
}

static void give_back(field *f, size_t begin, size_t end)
{
    int low = 0, high = f->gaps; /* the first gap behind it */
    while (low < high) {
        int middle = (low + high) / 2;
        if (f->gap[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    bool before = low > 0 && f->gap[low - 1].end == begin, behind = low < f->gaps && f->gap[low].begin == end;
    if (before && behind) {
        f->gap[low - 1].end = f->gap[low].end;
        remove_gap(f, low);
    } else if (before) {
        f->gap[low - 1].end = end;
    } else if (behind) {
        f->gap[low].begin = begin;
    } else {
        memmove(f->gap + low + 1, f->gap + low, (size_t)(f->gaps - low) * sizeof *f->gap);
        f->gap[low] = (artel__lifetime_gap){begin, end};
        f->gaps++;
    }
}

size_t artel__lifetime_place(artel__lifetime *life, int count, const artel__lifetime_room *room)
{
    field f = {.gap = room->gap};
    int dead = 0;
    qsort(life, (size_t)count, sizeof *life, by_birth);
    for (int i = 0; i < count; i++) room->list[i] = &life[i];
    qsort(room->list, (size_t)count, sizeof(const artel__lifetime *), by_death);
    for (int i = 0; i < count; i++) {
        for (; room->list[dead]->to < life[i].from; dead++)
            if (room->list[dead]->bytes)
                give_back(&f, room->list[dead]->offset, room->list[dead]->offset + room->list[dead]->bytes);
        life[i].offset = life[i].bytes ? take(&f, life[i].bytes) : 0;
    }
    return f.end;
}
