/* SPDX-License-Identifier: Apache-2.0 */
/* The builder behind artel/build.h: records in Keras' form, turned into a model at the end. */
#ifndef ARTEL_KERAS_BUILD_H
#define ARTEL_KERAS_BUILD_H

#include "artel/build.h"
#include "base/arena.h"
#include "base/json.h"

struct artel_builder {
    artel_context *ctx;
    artel__arena arena;
    const char *name;
    bool functional;
    artel_status status; /* the first failure */
    json_t *layers;      /* records in order */
    json_t *inputs;      /* [name, 0, 0] of the inputs */
    json_t *shape;       /* of a Sequential: its build_input_shape */
    struct artel__built_call {
        int layer, node; /* index in layers, number of the call of that layer */
    } * call;
    int calls, capacity;
};

/* Adds a layer record; takes `config`, gives it a name when it has none. Returns the builder's status. */
artel_status artel__builder_add(artel_builder *builder, const char *class_name, json_t *config);
/* What every public call begins with: a builder that is NULL, and the failure of a call before. */
artel_status artel__builder_enter(artel_builder *builder, const char *function);
/* One of Keras' operations ("keras.src.ops.numpy", "Flip") on a tensor. */
artel_status artel__builder_operation(artel_builder *builder, const char *module, const char *class_name,
                                      const char *config, artel_tensor x, artel_tensor *out);
/* Brings the layers into the order in which Keras lists those of a model with these outputs, which exist: its files
 * count layers by it. */
artel_status artel__builder_order(artel_builder *builder, const artel_tensor *outputs, int count);
/* Records a failure. */
artel_status artel__builder_fail(artel_builder *builder, artel_status status);

#endif
