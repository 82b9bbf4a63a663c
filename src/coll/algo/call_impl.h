/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a call: call_shape.c checks what is asked for, call.c carries it out. */
#ifndef ARTEL_COLL_CALL_IMPL_H
#define ARTEL_COLL_CALL_IMPL_H

#include "coll/algo/call.h"

static inline size_t artel__call_element(const artel__call *call)
{
    return artel_dtype_size(call->what.dtype);
}

/* Fills in call->shape, or refuses with the reason recorded. */
artel_status artel__call_check(artel__call *call);
/* Elements that `in` and `out` hold on this rank. */
void artel__call_extents(const artel__call *call, int64_t *in, int64_t *out);
/* What this member tells the others it calls; `status`: of its own check. */
artel__coll_signature artel__call_signature(const artel__call *call, artel_status status);

/* call_relay.c: an all-reduce along a route. */
bool artel__call_relays(const artel__call *t);
artel_status artel__call_relay_prepare(artel__call *t);
artel_status artel__call_relay_post(artel__call *t);
artel_status artel__call_relay_progress(artel__call *t);
void artel__call_relay_finalize(artel__call *t);

#endif
