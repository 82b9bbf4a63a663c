/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a product: which form of the register tile computes it, and what is done with its output around that. */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_TILE_H
#define ARTEL_KERNEL_SIMD_PRODUCT_TILE_H

#include "kernel/product.h"
#include "kernel/simd/micro_tile.h"

enum {
    PRODUCT_NEAR = 128 << 10 /* bytes of the output up to which it is expected in the second-level cache */
};

/* Rounds what the tile has just written. Apart from it: with the rounding inside the tile, compilers keep its loops 5 %
 * slower. */
VEC_APART void tile_narrow(int mr, const tile *t)
{
    vec_mask m[] = {vec_range(t->first, t->last), vec_range(t->first - VEC_LANES, t->last - VEC_LANES)};
    for (int i = 0; i < mr; i++) {
        float *c = tile_c(t, (mr + 1) / 2, i);
        for (int j = 0; j * VEC_LANES < t->last; j++, c += VEC_LANES) {
            vec x = vec_load_part(c, m[j]);
            vec_store_part(c, m[j], t->narrow == ARTEL_DTYPE_BFLOAT16 ? vec_to_bfloat16(x) : vec_to_float16(x));
        }
    }
}

static void product_tile(int mr, const tile *t)
{
    int nv = t->last > VEC_LANES ? 2 : 1;
    if (t->from0 && nv == 2)
        tile_dispatch(TILE_COPY, mr, 2, t);
    else if (t->burst > 0 && nv == 2)
        tile_dispatch(TILE_AHEAD, mr, 2, t);
    else if (nv == 2)
        tile_dispatch(TILE_PANEL, mr, 2, t);
    else
        tile_dispatch(TILE_PANEL, mr, 1, t);
    if (t->narrow) tile_narrow(mr, t);
}

/* Whether the output is asked for before it is written. */
static bool product_claims(const artel__product_forward *p)
{
    return p->m * p->n * 4 > PRODUCT_NEAR;
}

#endif
