/* SPDX-License-Identifier: Apache-2.0 */
/* How a loss or an optimizer is named in calls. */
#ifndef ARTEL_FUNCTION_SPEC_H
#define ARTEL_FUNCTION_SPEC_H

#include "base/json.h"

/* A name, "name:key=value,..." or a JSON record, as Keras' loss or optimizer is given. The JSON is the caller's. */
artel_status artel__read_spec(artel_context *ctx, const char *what, const char *text, json_t **out);

#endif
