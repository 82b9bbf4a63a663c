/* SPDX-License-Identifier: Apache-2.0 */
/* Options (base/option.h) from the members of a JSON object, for feature specifications and stages. */
#ifndef ARTEL_DATA_JSON_OPTIONS_H
#define ARTEL_DATA_JSON_OPTIONS_H

#include "base/json.h"
#include "base/option.h"

/* Defaults, then every member but `passed` (NULL: none), which says what the object is. Unknown members are errors that
 * offer the nearest name; required ones (fallback NULL) must be there. */
artel_status artel__json_options(artel__arena *arena, const artel__option *table, void *target, const char *where,
                                 json_t *object, const char *passed);

#endif
