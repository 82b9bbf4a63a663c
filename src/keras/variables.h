/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of a model as files see them: a list in Keras' order, and copying between files and the state.
 *
 * Every reader and writer of this room works on this list: the weights tree, legacy files, safetensors, digests.
 */
#ifndef ARTEL_KERAS_VARIABLES_H
#define ARTEL_KERAS_VARIABLES_H

#include "keras/h5.h"
#include "keras/model.h"

typedef struct artel__keras_variable {
    const char *path;  /* "layers/dense/vars/0"; in the arena */
    const char *group; /* "layers/dense" */
    int position;      /* 0 */
    int siblings;      /* variables in the same group */
    int top;           /* index of the top-level layer it belongs to, in nn->layer */
    int index;         /* in nn->variables */
    bool trainable;    /* after freezing */
    const artel__layer *layer;
    const artel__layer_variable *variable;
} artel__keras_variable;

typedef struct artel__keras_variables {
    artel__keras_variable *item;
    int count;
} artel__keras_variables;

/* Those that files hold, in the order of artel__model_visit: adapters are parts of their kernels. */
artel_status artel__keras_variables_list(const artel__model *model, artel__arena *arena, artel__keras_variables *out);
/* With those that the weights tree has at a second place. */
artel_status artel__keras_tree_list(const artel__model *model, artel__arena *arena, artel__keras_variables *out);

/* A top-level layer's group in the weights tree: "layers/dense_1". `size` bytes at `out`. */
void artel__keras_layer_group(const artel__model *model, int layer, char *out, size_t size);

/* Whether a model is a Sequential, or of a class of the user's own made of it, whose record tells no input and output
 * layers. */
bool artel__keras_is_sequential(const artel__model *model);
/* Whether a layer is left out of Keras' model.layers: the InputLayer of a Sequential, and raw operations. */
bool artel__keras_is_hidden(const artel__model *model, int layer);

static inline const artel__variable *artel__keras_variable_of(const artel_model *model,
                                                              const artel__keras_variable *variable)
{
    return &model->nn->variables->item[variable->index];
}

/* An array found in a file. */
typedef struct artel__keras_array {
    const char *name; /* what it is called there, for messages */
    artel_dtype dtype;
    artel_shape shape;
    const void *data; /* any alignment */
} artel__keras_array;

/* Copies an array into a variable of `state`, converting to its dtype. `where` is the file. Fails with INVALID when the
 * shapes differ; the message says what was found and what was expected. */
artel_status artel__keras_put(artel_model *model, artel__state *state, const char *where,
                              const artel__keras_variable *variable, const artel__keras_array *array);
/* The same from a node of an HDF5 file; CORRUPT when it holds no numbers. */
artel_status artel__keras_put_node(artel_model *model, artel__state *state, const char *where,
                                   const artel__keras_variable *variable, const artel__h5_node *node, const char *path);
/* A plain copy of a variable's elements in the arena; NULL when memory is out. */
void *artel__keras_fetch(const artel_model *model, artel__arena *arena, const artel__keras_variable *variable);

/* Adds what its adapters add to the numbers of a kernel; nothing when it has none. */
artel_status artel__keras_merge(const artel_model *model, artel__arena *arena, const artel__layer *layer,
                                const artel__layer_variable *variable, void *plain);

/* Takes `state` as the model's weights; adapters, which no file holds, begin anew. */
artel_status artel__keras_adopt(artel_model *model, artel__state *state);

/* An array of the optimizer's state from a dataset; appended to `optimizer`. */
artel_status artel__keras_add_saved(artel_context *ctx, artel__saved_optimizer *optimizer, const char *where,
                                    const artel__h5_node *node);

#endif
