/* SPDX-License-Identifier: Apache-2.0 */
/* Models: loaded from what Keras writes, or built layer by layer; saved for Keras to read.
 *
 * A model owns its weights and the state of its optimizer. It belongs to the context it was made in and to one thread
 * at a time. Shapes leave the batch axis out. All functions return ARTEL_OK or a failure that
 * artel_context_error() explains; outputs are written only on success.
 */
#ifndef ARTEL_MODEL_H
#define ARTEL_MODEL_H

#include "artel/context.h"
#include "artel/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_model artel_model;

/* Reads a `.keras` file (or directory), a legacy `.h5`, the JSON text of model.to_json(); the content decides. `.onnx`
 * by its name. Models without weights are initialised from the seed of their first use. */
ARTEL_API artel_status artel_model_load(artel_context *context, const char *path, artel_model **out);
/* The same under another dtype policy: "float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16" or
 * "float64". As if keras.config.set_dtype_policy() had been called before the model was built: layers that were given a
 * policy of their own keep it, and so do inputs; weights are converted. INVALID: there is no such policy. */
ARTEL_API artel_status artel_model_load_with_policy(artel_context *context, const char *path, const char *policy,
                                                    artel_model **out);
/* Reads weights alone: `.weights.h5`, `.weights.json`, `.keras`, `.h5`, `.safetensors`, TensorFlow checkpoints
 * (docs/formats.md). */
ARTEL_API artel_status artel_model_load_weights(artel_model *model, const char *path);
/* Writes by the ending of the name: .keras, .weights.h5, .h5, .json (architecture), .safetensors, .onnx (export). The
 * file appears whole or not at all. */
ARTEL_API artel_status artel_model_save(const artel_model *model, const char *path);
/* NULL is accepted. */
ARTEL_API void artel_model_destroy(artel_model *model);

/* Fills all weights from their initialisers; a pure function of the seed. */
ARTEL_API artel_status artel_model_initialise(artel_model *model, uint64_t seed);

/* SHA-256 over the named weights as 64 hex digits and a NUL: equal digests mean equal models. */
ARTEL_API artel_status artel_model_digest(const artel_model *model, char out[65]);

/* Inputs and outputs: how many, their names, element types and row shapes (-1 where the model leaves an axis of an
 * input open; outputs have the extents that follow when such an axis is 96 in images, else 16). */
ARTEL_API int artel_model_input_count(const artel_model *model);
ARTEL_API int artel_model_output_count(const artel_model *model);
ARTEL_API artel_status artel_model_input(const artel_model *model, int index, const char **name, artel_dtype *dtype,
                                         artel_shape *shape);
ARTEL_API artel_status artel_model_output(const artel_model *model, int index, const char **name, artel_dtype *dtype,
                                          artel_shape *shape);

/* One weight by its path in Keras' weights tree ("layers/dense/vars/0"): copies float32 values in plain row-major order
 * out of or into the model; a weight of float64 is rounded on its way. `count` is the number of elements and must
 * match. */
ARTEL_API artel_status artel_model_get_weight(const artel_model *model, const char *path, float *values, int64_t count);
ARTEL_API artel_status artel_model_set_weight(artel_model *model, const char *path, const float *values, int64_t count);

/* Training settings, as Keras' compile(): names, or JSON records as Keras writes them. NULL keeps what the model has.
 * An optimizer given here starts without state. */
ARTEL_API artel_status artel_model_compile(artel_model *model, const char *optimizer, const char *loss,
                                           const char *metrics);

/* The layers whose names match `pattern` ("conv*", with *, ? and [...] as in file names), also those of models inside,
 * are not trained from here on, as behind `layer.trainable = False` of Keras: their weights stay, and a
 * BatchNormalization among them uses its moving statistics. Saved files say so, too. The optimizer starts without
 * state. Errors: INVALID where no layer has such a name. */
ARTEL_API artel_status artel_model_freeze(artel_model *model, const char *pattern);

#ifdef __cplusplus
}
#endif
#endif
