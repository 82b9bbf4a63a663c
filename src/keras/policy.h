/* SPDX-License-Identifier: Apache-2.0 */
/* Another dtype policy for a model that is being read. */
#ifndef ARTEL_KERAS_POLICY_H
#define ARTEL_KERAS_POLICY_H

#include "base/context.h"
#include "base/json.h"

/* Gives the layers in the record of a model that have the model's own policy another one, in place. INVALID: there is
 * no such policy. */
artel_status artel__keras_set_policy(artel_context *ctx, json_t *record, const char *policy);

#endif
