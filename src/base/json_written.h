/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that a person has written, who has meant something by each key: one that occurs twice in an object is refused,
 * with its line, where base/json.h takes the last one, as Python does. For options, files of settings and descriptions
 * of clusters; not for what programs have written. */
#ifndef ARTEL_BASE_JSON_WRITTEN_H
#define ARTEL_BASE_JSON_WRITTEN_H

#include "base/json.h"

/* As artel__json_load and artel__json_load_file. Errors: INVALID (a key twice), CORRUPT, NO_MEMORY. */
artel_status artel__json_load_written(artel_context *ctx, const char *where, const char *text, size_t size,
                                      json_t **out);
artel_status artel__json_load_written_file(artel_context *ctx, const char *path, json_t **out);

#endif
