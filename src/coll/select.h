/* SPDX-License-Identifier: Apache-2.0 */
/* Which algorithm an all-reduce takes. The choice never depends on timing and every rank makes the same one; all of
 * them give the same bits. */
#ifndef ARTEL_COLL_SELECT_H
#define ARTEL_COLL_SELECT_H

#include "coll/pattern/exchange.h"

/* By the bytes of one block of all segments and the number of ranks. */
artel__coll_algorithm artel__coll_select(int64_t bytes, int32_t ranks);
const char *artel__coll_algorithm_name(artel__coll_algorithm algorithm);

#endif
