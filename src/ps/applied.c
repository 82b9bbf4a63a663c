/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of updates as bits. */
#include "ps/applied.h"

#include <string.h>

bool artel__applied_has(const artel__applied *a, uint64_t number)
{
    uint64_t bit = number - a->base;
    if (number < a->base) return true;
    return bit / 8 < a->bytes && a->bits[bit / 8] >> (bit % 8) & 1;
}

artel_status artel__applied_add(artel_context *ctx, artel__applied *a, uint64_t number)
{
    uint64_t bit = number - a->base;
    size_t wanted = (size_t)(bit / 8) + 1;
    if (wanted > a->bytes) {
        size_t bytes = (2 * wanted + 1024) / 8 * 8; /* so a copy is as long as what is sent of it */
        void *wider = a->bits;
        ARTEL_TRY(artel__realloc(ctx, bytes, "parameter server", &wider));
        a->bits = wider;
        memset(a->bits + a->bytes, 0, bytes - a->bytes);
        a->bytes = bytes;
    }
    a->bits[bit / 8] |= (uint8_t)(1u << (bit % 8));
    return ARTEL_OK;
}

void artel__applied_forget(artel__applied *a, uint64_t floor, uint64_t worth)
{
    size_t bytes = floor > a->base ? (size_t)((floor - a->base) / 8) : 0, known = bytes < a->bytes ? bytes : a->bytes;
    if (bytes < worth / 8) return;
    if (known > 0) {
        memmove(a->bits, a->bits + known, a->bytes - known);
        memset(a->bits + a->bytes - known, 0, known);
    }
    a->base += 8 * (uint64_t)bytes;
}

artel_status artel__applied_take(artel_context *ctx, artel__applied *a, const void *bits, size_t bytes)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, bytes + 8, 1, "parameter server", &block));
    artel__free(ctx, a->bits);
    a->bits = block;
    a->bytes = bytes;
    if (bytes) memcpy(a->bits, bits, bytes);
    return ARTEL_OK;
}

void artel__applied_fini(artel_context *ctx, artel__applied *a)
{
    artel__free(ctx, a->bits);
    *a = (artel__applied){.base = 0};
}
