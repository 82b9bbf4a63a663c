/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers in programs of devices: the words of base/rng.h as integer arithmetic, the same on every device. */
#ifndef ARTEL_OP_LOWER_RANDOM_H
#define ARTEL_OP_LOWER_RANDOM_H

#include "graph/lower.h"

/* What a node draws by row. The offsets are those of fields of its params: artel__rng_key, uint64_t, int64_t. */
typedef struct artel__lower_drawing {
    size_t key, batch, first_row;
    uint32_t ordinal;
    int64_t count;    /* logical indices of a row */
    bool shared_rows; /* all rows draw what row 0 does */
    bool normal;      /* of mean 0 and deviation 1; else uniform in [0, 1) */
} artel__lower_drawing;

/* FLOAT32 [rows][count]. */
artel__hlo_value artel__lower_draw(artel__lower *lower, const artel__lower_drawing *drawing);
/* x * scale where the draw is no smaller than `rate`, else +0. All of one shape. */
artel__hlo_value artel__lower_drop(artel__hlo *h, artel__hlo_value x, artel__hlo_value draw, double rate, double scale);

#endif
