/* SPDX-License-Identifier: Apache-2.0 */
/* Pools as programs of devices; the attributes are op/pool_attributes.h's. */
#ifndef ARTEL_OP_LOWER_POOL_H
#define ARTEL_OP_LOWER_POOL_H

#include "graph/lower.h"

void artel__lower_pool(artel__lower *lower);
void artel__lower_pool_gradient(artel__lower *lower);

#endif
