/* SPDX-License-Identifier: Apache-2.0 */
/* product_pack with AVX2: whole lines copied, blocks of eight by eight transposed in registers. */
#include <string.h>

#include "kernel/simd/micro_tables.h"
#include "kernel/simd/micro_transpose.h"

/* One task is one panel (of the result; of the source for PANELS_TO_PLAIN). */
static int64_t pack_tasks(const void *params)
{
    const artel__product_pack *p = params;
    return artel__panel_count(p->what == ARTEL__PACK_TRANSPOSE ? p->rows * p->groups : p->columns);
}

static void pack_lines(const artel__product_pack *p, int64_t panel)
{
    int64_t depth = p->taps * p->rows, column = panel * ARTEL__PANEL, width = artel__panel_width(p->columns, panel);
    int64_t real = p->columns - column < width ? p->columns - column : width;
    for (int64_t k = 0; k < depth; k++) {
        if (p->what == ARTEL__PACK_PANELS_TO_PLAIN) {
            memcpy(p->to + k * p->columns + column, p->from + column * depth + k * width, (size_t)real * sizeof(float));
            continue;
        }
        float *to = p->to + column * depth + k * width;
        memcpy(to, p->from + k * p->columns + column, (size_t)real * sizeof(float));
        memset(to + real, 0, (size_t)(width - real) * sizeof(float));
    }
}

/* Columns [n0, n1) of the panel, all of one group: `rows` of the source become columns, 32 source columns at a time. */
static void pack_turn(const artel__product_pack *p, int64_t panel, int64_t n0, int64_t n1)
{
    int64_t depth = p->taps * p->rows, wide = p->columns / p->groups, first = n0 / p->rows * wide;
    int64_t width = artel__panel_width(p->rows * p->groups, panel);
    float *to = p->to + panel * ARTEL__PANEL * p->taps * wide + n0 - panel * ARTEL__PANEL;
    for (int64_t tap = 0; tap < p->taps; tap++) {
        int64_t row = (p->taps - 1 - tap) * p->rows + n0 % p->rows;
        for (int64_t c = 0; c < wide;) {
            int64_t column = first + c, source = column / ARTEL__PANEL;
            int64_t count =
                (source + 1) * ARTEL__PANEL - column < wide - c ? (source + 1) * ARTEL__PANEL - column : wide - c;
            transpose_block(p->from + artel__panels_offset(depth, p->columns, row, column),
                            artel__panel_width(p->columns, source), to + (tap * wide + c) * width, width, n1 - n0,
                            count);
            c += count;
        }
    }
}

static void pack_transpose(const artel__product_pack *p, int64_t panel)
{
    int64_t total = p->rows * p->groups, width = artel__panel_width(total, panel), wide = p->columns / p->groups;
    int64_t begin = panel * ARTEL__PANEL, end = begin + width < total ? begin + width : total;
    for (int64_t n = begin; n < end;) {
        int64_t next = (n / p->rows + 1) * p->rows;
        if (next > end) next = end;
        pack_turn(p, panel, n, next);
        n = next;
    }
    if (end == begin + width) return;
    float *to = p->to + begin * p->taps * wide;
    for (int64_t k = 0; k < p->taps * wide; k++)
        memset(to + k * width + (end - begin), 0, (size_t)(begin + width - end) * sizeof(float));
}

static void pack_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__product_pack *p = params;
    (void)scratch;
    for (int64_t panel = begin; panel < end; panel++) {
        if (p->what == ARTEL__PACK_TRANSPOSE)
            pack_transpose(p, panel);
        else
            pack_lines(p, panel);
    }
    _mm256_zeroupper(); /* see vec_leave */
}

const artel__kernel artel__avx2_product_pack = {
    .name = "avx2 product_pack", .isa = ARTEL__ISA_AVX2, .tasks = pack_tasks, .run = pack_run};
