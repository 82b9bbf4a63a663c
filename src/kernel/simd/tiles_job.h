/* SPDX-License-Identifier: Apache-2.0 */
/* What a multiplier of blocks does: a cell of the result, up to 32 x 32, from rows of blocks and blocks of tiles
 * (tiles_pack.h). */
#ifndef ARTEL_KERNEL_SIMD_TILES_JOB_H
#define ARTEL_KERNEL_SIMD_TILES_JOB_H

#include <stdbool.h>

#include "kernel/simd/tiles_pack.h"

typedef struct tiles_job {
    const char *a;     /* rows of blocks; as many as whole tiles have may be read */
    int64_t sa;        /* bytes between rows */
    const char *b;     /* tiles of the first block */
    int64_t sb;        /* bytes between blocks */
    int64_t blocks;    /* 0: nothing is added */
    int rows, columns; /* 1 .. TILES_CELL; whole tiles are computed and written */
    bool load;         /* the sums go on from c, else they begin at +0 */
    float *c;          /* [TILES_CELL][TILES_CELL] */
} tiles_job;

#endif
