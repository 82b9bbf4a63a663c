/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of unaligned sequences in programs of devices (op/align.c). */
#ifndef ARTEL_OP_LOWER_ALIGN_H
#define ARTEL_OP_LOWER_ALIGN_H

#include "graph/lower.h"

void artel__lower_align(artel__lower *lower);
void artel__lower_align_gradient(artel__lower *lower);

#endif
