/* SPDX-License-Identifier: Apache-2.0 */
/* The `grad` of the gradients of recurrent cells and attention (see op/second.h). */
#ifndef ARTEL_OP_SECOND_RECURRENT_H
#define ARTEL_OP_SECOND_RECURRENT_H

#include "op/elementwise.h"
#include "op/node_attributes.h"
#include "op/recurrent.h"

artel_status artel__second_recurrent(artel__gradient *gradient);
/* Of a recurrent node: what came back to the states that it has kept (none: absent) is added to the gradients of its
 * inputs. */
artel_status artel__second_recurrent_kept(artel__gradient *gradient, artel__value_id before, artel__value_id extra);
artel_status artel__second_attention(artel__gradient *gradient);

#endif
