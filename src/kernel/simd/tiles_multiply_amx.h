/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplying blocks with AMX: two by two tiles of the result in registers, a block at a time.
 *
 * The state of the tiles belongs to the thread: tiles_begin lays it out at the beginning of a call of a kernel,
 * tiles_end gives it back, so that whoever comes after finds none. Permission was asked for when the instruction set
 * was found (base/context.c).
 */
#ifndef ARTEL_KERNEL_SIMD_TILES_MULTIPLY_AMX_H
#define ARTEL_KERNEL_SIMD_TILES_MULTIPLY_AMX_H

#include "kernel/simd/tiles_job.h"

typedef struct tiles_layout {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tiles_layout;

static inline void tiles_begin(void)
{
    tiles_layout layout = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        layout.bytes[i] = TILES_LINE;
        layout.rows[i] = TILES_SIDE;
    }
    _tile_loadconfig(&layout);
}

static inline void tiles_end(void)
{
    _tile_release();
}

/* Tiles 0 to 3 are the result, 4 and 5 the rows, 6 and 7 the columns. */
VEC_INLINE void tiles_cell(const tiles_job *j, bool tall, bool wide)
{
    enum {
        PITCH = TILES_CELL * sizeof(float)
    };
    float *c = j->c, *under = c + TILES_SIDE * TILES_CELL;
    if (j->load) {
        _tile_loadd(0, c, PITCH);
        if (wide) _tile_loadd(1, c + TILES_SIDE, PITCH);
        if (tall) _tile_loadd(2, under, PITCH);
        if (tall && wide) _tile_loadd(3, under + TILES_SIDE, PITCH);
    } else {
        _tile_zero(0);
        if (wide) _tile_zero(1);
        if (tall) _tile_zero(2);
        if (tall && wide) _tile_zero(3);
    }
    const char *a = j->a, *low = a + TILES_SIDE * j->sa, *b = j->b;
    for (int64_t block = 0; block < j->blocks; block++, a += TILES_LINE, low += TILES_LINE, b += j->sb) {
        _tile_loadd(6, b, TILES_LINE);
        _tile_loadd(4, a, j->sa);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + TILES_BYTES, TILES_LINE);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (tall) {
            _tile_loadd(5, low, j->sa);
            _tile_dpbf16ps(2, 5, 6);
            if (wide) _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, c, PITCH);
    if (wide) _tile_stored(1, c + TILES_SIDE, PITCH);
    if (tall) _tile_stored(2, under, PITCH);
    if (tall && wide) _tile_stored(3, under + TILES_SIDE, PITCH);
}

static void tiles_multiply(const tiles_job *j)
{
    bool tall = j->rows > TILES_SIDE, wide = j->columns > TILES_SIDE;
    if (tall && wide)
        tiles_cell(j, true, true);
    else if (tall)
        tiles_cell(j, true, false);
    else if (wide)
        tiles_cell(j, false, true);
    else
        tiles_cell(j, false, false);
}

#endif
