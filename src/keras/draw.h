/* SPDX-License-Identifier: Apache-2.0 */
/* Models of which not all initial values are drawn: large variables are left to whoever needs them (model.c). */
#ifndef ARTEL_KERAS_DRAW_H
#define ARTEL_KERAS_DRAW_H

#include "keras/model.h"

/* As artel__keras_initialise, but trainable variables of at least so many bytes of which every element can be drawn
 * alone are left as they are, zero, and left[index] is set. Then the model stays without weights; who has drawn these,
 * too, says that it is initialised. */
artel_status artel__keras_initialise_but(artel_model *model, uint64_t seed, size_t least, bool *left);
/* Elements [first, first + count) that artel__keras_initialise gives to such a variable. */
artel_status artel__keras_draw(const artel_model *model, uint64_t seed, int variable, int64_t first, int64_t count,
                               float *out);

#endif
