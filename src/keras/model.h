/* SPDX-License-Identifier: Apache-2.0 */
/* What the public artel_model is: a model, its weights, its compile settings and the state of its optimizer.
 *
 * Reading and writing keep everything that Keras wrote: the record of the model, the compile settings, the optimizer's
 * variables. The train room takes weights and optimizer state from here into the states of its replicas and puts the
 * results back. Belongs to one thread at a time.
 */
#ifndef ARTEL_KERAS_MODEL_H
#define ARTEL_KERAS_MODEL_H

#include "artel/model.h"
#include "exec/state.h"
#include "nn/model.h"

/* One variable of an optimizer as Keras' files hold it. */
typedef struct artel__saved_array {
    artel_dtype dtype;
    artel_shape shape;
    void *data; /* on the context's heap, plain row-major, little-endian */
} artel__saved_array;

/* The list under /optimizer/vars: 0 iteration, 1 learning rate (unless it is a schedule), then the slots. */
enum {
    ARTEL__KERAS_INNER_STATE = 4 /* of a LossScaleOptimizer: where the list of the optimizer it wraps begins */
};
typedef struct artel__saved_optimizer {
    artel__saved_array *array;
    int count;      /* 0: no state saved */
    json_t *record; /* of the optimizer with the entries that a run has chosen in tables (docs/schedules.md); NULL:
                       compile_config's */
} artel__saved_optimizer;

struct artel_model {
    artel_context *ctx;
    artel__model *nn;
    artel__state *weights;  /* of nn->variables */
    bool initialised;       /* false: architecture only, weights come from the seed of the first use */
    json_t *compile_config; /* Keras' compile_config, or NULL; own reference */
    artel__saved_optimizer optimizer;
    char *source; /* the file, for messages; "" when made by calls */
};

/* Loads by content, not by name: .keras (zip or directory), legacy .h5, JSON text of model.to_json(). Prints nothing.
 * Errors name the file and the thing inside it. */
artel_status artel__keras_load(artel_context *ctx, const char *path, artel_model **out);
/* Loads only weights into a model: .weights.h5, .keras, legacy .h5, .safetensors. */
artel_status artel__keras_load_weights(artel_model *model, const char *path);
/* By the ending: .keras, .weights.h5, .h5, .json, .safetensors, .onnx. The file appears whole or not at all; equal
 * models give equal files. A model without weights is saved with those of seed 0. */
artel_status artel__keras_save(const artel_model *model, const char *path);
/* From a record made by calls (see nn/build.h) or by json. Takes a new reference. */
artel_status artel__keras_from_record(artel_context *ctx, const char *where, json_t *record, artel_model **out);

/* Fills all weights from their initialisers: a pure function of the seed. */
artel_status artel__keras_initialise(artel_model *model, uint64_t seed);
/* Of adapters alone (nn/adapters.h). */
artel_status artel__keras_start_adapters(artel_model *model);
/* The record of an optimizer that is given by name; NULL, and no error, when there is none. */
json_t *artel__keras_optimizer_record(artel_context *ctx, json_t *name);
/* As compile() does: the optimizer of a model in which a layer computes in float16 is wrapped in a LossScaleOptimizer.
 * A name that artel does not know is left alone; who trains will say so. */
artel_status artel__keras_scale_loss(artel_model *model);
/* Takes off the LossScaleOptimizer that compile() has put around the optimizer where no layer computes in float16; one
 * with settings of its own stays. */
artel_status artel__keras_unscale_loss(artel_model *model);
void artel__saved_optimizer_fini(artel_context *ctx, artel__saved_optimizer *optimizer);

/* SHA-256 over the model's own variables, with `all` the optimizer's too; 64 hex digits and a NUL. The bytes hashed:
 * for each variable, in the byte order of the paths (files that hold only weights know no other order): its path in the
 * weights tree
 * ("layers/dense/vars/0", "optimizer/vars/3"), newline, dtype ("float32"), newline, shape as Python prints a tuple
 * ("(3, 4)",
 * "(5,)", "()"), newline, then the elements in row-major order, little-endian. Of the model's own variables, floats
 * count as float32 and integers as int64. INVALID for a model without weights. */
artel_status artel__keras_digest(const artel_model *model, bool all, char out[65]);
/* The same from a .keras, .weights.h5, .h5 or .safetensors file, without making the model (a legacy .h5 excepted). */
artel_status artel__keras_digest_file(artel_context *ctx, const char *path, bool all, char out[65]);

/* The number of parameters: trainable, others. */
void artel__keras_count(const artel_model *model, int64_t *trainable, int64_t *frozen);

#endif
