/* SPDX-License-Identifier: Apache-2.0 */
/* The gated linear unit in programs of devices. */
#ifndef ARTEL_OP_LOWER_GLU_H
#define ARTEL_OP_LOWER_GLU_H

#include "graph/lower.h"

/* `axis`: that of a row. */
void artel__lower_glu(artel__lower *lower, int axis);
/* Inputs: x, dy. */
void artel__lower_glu_gradient(artel__lower *lower, int axis);

#endif
