/* SPDX-License-Identifier: Apache-2.0 */
/* The values of variables: a replica's own, or those of several replicas.
 *
 * Where they lie, and how, is known to this room alone: whoever computes reads and writes them through a run, everybody
 * else through the verbs below. There are two forms. The plain one is that of files: the elements of a variable in the
 * order of its shape. The image is that of memory: the bytes of a range of variables as a run holds them, padding
 * included; equal states have equal images, and images of one table of variables can be exchanged between processes of
 * one kind. Variables of float16 and bfloat16 are 16 bits in the plain form and float32 in the image.
 *
 * A device may hold newer values than this machine's memory (exec/state_home.h). The verbs bring them, and cannot fail;
 * whoever can report a failure calls artel__state_bring first. Copies and images of all variables bring nothing to
 * where they are written.
 *
 * A state belongs to one thread at a time; reading it is allowed to any number once it was brought.
 */
#ifndef ARTEL_EXEC_STATE_H
#define ARTEL_EXEC_STATE_H

#include "graph/graph.h"

typedef struct artel__state artel__state;

/* Variables [first, first + count) of a table. */
typedef struct artel__variable_range {
    int first, count;
} artel__variable_range;

static inline artel__variable_range artel__all_of(const artel__variables *variables)
{
    return (artel__variable_range){0, variables->count};
}

/* Zero at first. `variables` is borrowed and may not grow any more. */
artel_status artel__state_create(artel_context *ctx, const artel__variables *variables, artel__state **out);
void artel__state_destroy(artel__state *state);
const artel__variables *artel__state_variables(const artel__state *state);
/* Brings what a device holds. Errors: RUN (the device is lost, and what it held). */
artel_status artel__state_bring(const artel__state *state);

/* The plain form of a whole variable, in its dtype. */
void artel__state_store(artel__state *state, int variable, const void *plain);
void artel__state_fetch(const artel__state *state, int variable, void *plain);
/* The same of elements [first, first + count) of the plain form; `plain` holds just these. */
void artel__state_store_part(artel__state *state, int variable, int64_t first, int64_t count, const void *plain);
void artel__state_fetch_part(const artel__state *state, int variable, int64_t first, int64_t count, void *plain);
/* The memory of a variable, in its layout, for whoever exchanges parts of it with other processes: brought, and then as
 * if stored. Borrowed until the next step. */
void *artel__state_lend(artel__state *state, int variable);
/* From the plain form of a variable, or of its gradient, to the layout of memory (artel__variable.count elements of the
 * dtype that is held there), padding zero. */
void artel__state_arrange(const artel__variable *variable, const void *plain, void *out);
/* Every element of a floating-point variable becomes `value`, as its dtype holds it. */
void artel__state_fill(artel__state *state, int variable, double value);
/* Variable `to` becomes what variable `from` of the same form is. */
void artel__state_assign(artel__state *state, int to, int from);
/* The range in `to` becomes what it is in `from`. Both tables hold the same variables there. */
void artel__state_copy(artel__state *to, const artel__state *from, artel__variable_range range);
/* Of the image. */
uint64_t artel__state_hash(const artel__state *state, artel__variable_range range);

/* Bytes of the image of a range. */
size_t artel__image_bytes(const artel__variables *variables, artel__variable_range range);
void artel__state_image(const artel__state *state, artel__variable_range range, void *image);
void artel__state_restore(artel__state *state, artel__variable_range range, const void *image);
/* The plain form of a variable in the image of a range that starts with the first. */
void artel__image_store(const artel__variables *variables, void *image, int variable, const void *plain);
void artel__image_fetch(const artel__variables *variables, const void *image, int variable, void *plain);

#endif
