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
/* Records a failure. */
artel_status artel__builder_fail(artel_builder *builder, artel_status status);

#endif
