/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers, losses and metrics on the command line: text to the JSON that their readers take.
 *
 *   NAME                        the name, as a string
 *   NAME:key=value,...          {"class_name": NAME, "config": {...}}
 *   @FILE.json                  what the file holds
 * A value is JSON (a number, true, null, a list, a record), a word, or a call such as
 * cosine_decay(initial=0.1,steps=1000), which is a record too; the short words of schedules are spelled out
 * (nn/optimizer.h). Commas and colons inside brackets and quotes belong to the value. The JSON is the caller's
 * (json_decref).
 */
#ifndef ARTEL_NN_SPEC_H
#define ARTEL_NN_SPEC_H

#include "base/json.h"

/* `option` names the setting in messages ("optimizer"). Errors: INVALID, and those of reading files. */
artel_status artel__spec_read(artel_context *ctx, const char *option, const char *text, json_t **out);
/* A list separated by commas: "accuracy,auc:num_thresholds=50,curve=PR" are two metrics, the second with two settings.
 * A file may hold one record or a list of them. *out is an array. */
artel_status artel__spec_read_list(artel_context *ctx, const char *option, const char *text, json_t **out);

#endif
