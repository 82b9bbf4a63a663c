/* SPDX-License-Identifier: Apache-2.0 */
/* Records of older files, brought into the form that Keras 3 writes into `.keras`.
 *
 * Legacy `.h5` files and the JSON of Keras 2 leave out `module` and `registered_name`, say `batch_input_shape` for
 * `batch_shape`, know settings that Keras 3 has dropped and spell optimizers, losses and metrics their own way. What
 * Keras 3 accepts when it loads such a file is accepted here, with the same meaning.
 */
#ifndef ARTEL_KERAS_TRANSLATE_H
#define ARTEL_KERAS_TRANSLATE_H

#include "base/json.h"

/* Changes the record of a model in place. Modern records stay as they are. NO_MEMORY is the only failure; `where` names
 * the file, or the model, in messages. `version` is that of Keras as the file says it; NULL where it does not, or where
 * the record itself does. */
artel_status artel__keras_translate_model(artel_context *ctx, const char *where, const char *version, json_t *record);

/* Its part for the calls between layers (translate_calls.c); NO_MEMORY is not recorded. */
artel_status artel__keras_translate_calls(json_t *record, int depth);

/* The same for the compile settings of a `.keras` file that Keras 2 wrote. */
artel_status artel__keras_translate_compile(artel_context *ctx, const char *where, json_t *compile);

/* Turns a legacy `training_config` into the form of `compile_config`: a new reference. */
artel_status artel__keras_translate_training(artel_context *ctx, const char *where, json_t *training, json_t **out);

/* Deepest nesting of records followed; deeper ones are left as they are. */
#define ARTEL__KERAS_MAX_NESTING 64

#endif
