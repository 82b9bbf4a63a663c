/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a row, one behind another: what is computed of a model's inputs before its graph sees them.
 *
 * Values are numbered: first the inputs, then one for each step. A program is written once, while a model is made
 * (nn/ahead.h), and is read-only from then on. Those values that the graph reads are `delivered`; a feed (data/data.h)
 * delivers them in place of the inputs.
 */
#ifndef ARTEL_TEXT_PROGRAM_H
#define ARTEL_TEXT_PROGRAM_H

#include "base/arena.h"
#include "text/row_function.h"

typedef struct artel__program_step {
    const artel__row_function *function;
    const void *settings;
    const char *layer; /* its name, for messages */
    int in[ARTEL__ROW_INPUTS];
    int inputs;
} artel__program_step;

typedef struct artel__program {
    artel__arena *arena;
    int inputs;
    artel__program_step *step;
    int steps, capacity;
    bool *delivered; /* by value; made by artel__program_close */
} artel__program;

static inline int artel__program_values(const artel__program *program)
{
    return program->inputs + program->steps;
}

artel_status artel__program_add(artel__program *program, const artel__program_step *step);
/* No more steps follow; nothing is delivered yet. */
artel_status artel__program_close(artel__program *program);

/* Shapes of all values, from those of the inputs, which are set in `values`. ARTEL_ERROR_INVALID with a record that
 * names the layer. */
artel_status artel__program_infer(artel_context *ctx, const artel__program *program, artel__cells *values);
/* Computes the steps of a row; data of all values is set. On a fault *at is the step that met it. */
artel_status artel__program_run(const artel__program *program, artel__cells *values, artel__row_scratch *scratch,
                                artel__row_fault *fault, int *at);

#endif
