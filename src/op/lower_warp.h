/* SPDX-License-Identifier: Apache-2.0 */
/* Images through affine maps as programs of devices; the attributes are artel__warp_settings of op/shape_ops.h. */
#ifndef ARTEL_OP_LOWER_WARP_H
#define ARTEL_OP_LOWER_WARP_H

#include "graph/lower.h"

void artel__lower_warp(artel__lower *lower);
void artel__lower_warp_gradient(artel__lower *lower);

#endif
