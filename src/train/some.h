/* SPDX-License-Identifier: Apache-2.0 */
/* sync:K at one part: the updates of a step that have come first, until there are K of them; then their mean.
 *
 * Each update is of a share of the batch: one for each worker, or K where there are fewer workers, who then make more
 * than one. The mean weighs them by rows and adds them in the order of shares, so it depends on which were in time and
 * not on which was first, nor on who made it. Who comes later is told so and adds nothing.
 */
#ifndef ARTEL_TRAIN_SOME_H
#define ARTEL_TRAIN_SOME_H

#include "train/part.h"

typedef struct artel__some_update {
    int share;
    int64_t rows;
    uint8_t *bytes; /* the entries, one behind the other, each padded to 8 */
} artel__some_update;

typedef struct artel__some_stage {
    artel_context *ctx;
    artel__some_update *item; /* by share, ascending */
    int count, room;
    uint64_t step; /* item that they are of */
} artel__some_stage;

/* Takes the update of a share, of another step than the last one: those are dropped. ARTEL_ERROR_INVALID, not recorded:
 * it does not fit the entries, or the share's is there already. */
artel_status artel__some_stage_take(artel__some_stage *stage, const artel__entry *entry, int count,
                                    const artel__lane_slot *slot, uint64_t step, int share, int64_t rows);
/* Puts the mean of all where the entries lie. */
void artel__some_stage_mean(const artel__some_stage *stage, const artel__entry *entry, int count,
                            artel__entry_place_fn *place, void *user);
void artel__some_stage_drop(
    artel__some_stage *stage); /* its updates; those of a step that is over, or of a generation */
void artel__some_stage_fini(artel__some_stage *stage);

#endif
