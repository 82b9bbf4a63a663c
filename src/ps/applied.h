/* SPDX-License-Identifier: Apache-2.0 */
/* Which updates a part of the variables has: by their numbers, so that each counts once, however often it comes. */
#ifndef ARTEL_PS_APPLIED_H
#define ARTEL_PS_APPLIED_H

#include "base/context.h"

typedef struct artel__applied {
    uint64_t base; /* all numbers before it count as applied */
    uint8_t *bits; /* a bit a number from `base` on */
    size_t bytes;
} artel__applied;

/* Below the base always: who asks about such a number was answered before, or nobody waits for an answer any more. */
bool artel__applied_has(const artel__applied *applied, uint64_t number);
/* `number` is not below the base. */
artel_status artel__applied_add(artel_context *ctx, artel__applied *applied, uint64_t number);
/* All numbers before `floor`, or some of them, are given up together, once they are `worth` or more. */
void artel__applied_forget(artel__applied *applied, uint64_t floor, uint64_t worth);
/* Takes the bits of another one, whose base is this one's. */
artel_status artel__applied_take(artel_context *ctx, artel__applied *applied, const void *bits, size_t bytes);
void artel__applied_fini(artel_context *ctx, artel__applied *applied);

#endif
