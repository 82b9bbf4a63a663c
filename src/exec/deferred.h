/* SPDX-License-Identifier: Apache-2.0 */
/* Steps without a gradient that rows of a table make late: when they are read, or get a gradient.
 *
 * Most rules change a row in each step although its gradient is 0: what they remember of it fades. Keras walks the
 * whole table for that. Here a row knows the step up to which it has been taken, and makes those that it lacks when
 * somebody looks at it, with the rates of those steps, by the kernel of a step on rows: the bits are those of the walk,
 * and an update costs what its rows cost. Rows that remember nothing (all slots 0, no weight decay) do not change, and
 * are passed over until their first gradient.
 */
#ifndef ARTEL_EXEC_DEFERRED_H
#define ARTEL_EXEC_DEFERRED_H

#include "base/threads.h"
#include "kernel/optimize.h"

typedef struct artel__deferred artel__deferred;

typedef struct artel__deferred_table {
    const artel__apply_options *options;
    bool squares; /* the rule is given squares of embeddings */
    int64_t rows, width;
    float *variable, *slot[ARTEL__APPLY_SLOTS];
} artel__deferred_table;

/* What steps of the part were taken with, since all rows were level. */
typedef struct artel__deferred_steps {
    artel_context *ctx;
    struct artel__deferred_step {
        float rate, product;
    } * step;
    int64_t first; /* iteration of step[0] */
    uint32_t count, room;
} artel__deferred_steps;

/* Room for one more: before it is taken, as a step that was taken must be noted. */
artel_status artel__deferred_reserve(artel__deferred_steps *steps);
void artel__deferred_note(artel__deferred_steps *steps, float rate, float product);

/* `table` and what it points to outlive it, as does `pool`. */
artel_status artel__deferred_create(artel_context *ctx, const artel__deferred_table *table, artel__pool *pool,
                                    artel__deferred **out);
void artel__deferred_destroy(artel__deferred *deferred);
/* All rows are level with a part that has noted no step. */
void artel__deferred_begin(artel__deferred *deferred);
/* The rows named, ascending, make the steps that they lack. */
void artel__deferred_rows(artel__deferred *deferred, const artel__deferred_steps *steps, const int32_t *token,
                          int32_t count);
/* All rows do. */
void artel__deferred_all(artel__deferred *deferred, const artel__deferred_steps *steps);
/* The rows named have taken all steps that are noted. */
void artel__deferred_mark(artel__deferred *deferred, const artel__deferred_steps *steps, const int32_t *token,
                          int32_t count);

#endif
