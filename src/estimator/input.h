/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of what an input function has given, by number: so a step's batch does not depend on who computes it, and
 * when. */
#ifndef ARTEL_ESTIMATOR_INPUT_H
#define ARTEL_ESTIMATOR_INPUT_H

#include "artel/estimator.h"
#include "artel/pipeline.h"
#include "base/arena.h"

typedef enum artel__input_role {
    ARTEL__INPUT_FEATURE,
    ARTEL__INPUT_LABEL,
    ARTEL__INPUT_WEIGHT
} artel__input_role;

typedef struct artel__input {
    artel_context *ctx;
    artel_estimator_input given;
    artel_reader *reader;
    int64_t per_pass; /* batches */
    int columns;
    artel__input_role *role;
    artel_argument *argument; /* of functions, by column */
    artel_array *array;       /* the batch that was read last */
    void **cursor, **now;     /* room for reading */
    size_t *bytes;            /* of a row */
    struct artel__input_ahead *ahead;
} artel__input;

/* Lists lie in the arena. */
artel_status artel__input_open(artel_context *ctx, artel_estimator_input_fn *function, void *user, artel__arena *arena,
                               artel__input *out);
void artel__input_close(artel__input *input);
/* Batches until it ends; INT64_MAX: it does not. */
int64_t artel__input_batches(const artel__input *input);
/* Reads a batch, or takes it where it was read ahead, and has the one behind it read by a thread of the input's own
 * while the caller computes: never more than that one. */
artel_status artel__input_read(artel__input *input, int64_t batch, int64_t *rows);

#endif
