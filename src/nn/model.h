/* SPDX-License-Identifier: Apache-2.0 */
/* A model: layers and how they call one another, made from Keras' Sequential or Functional config.
 *
 * artel__model_create reads the record, makes the layers and declares all variables (by building an inference graph
 * once). artel__model_call adds the whole model to a graph. The record is kept and can be written back as it came.
 * A model owns its arena; it holds no weights (those live in states, exec/state.h).
 */
#ifndef ARTEL_NN_MODEL_H
#define ARTEL_NN_MODEL_H

#include "base/names.h"
#include "nn/layer.h"
#include "text/program.h"

typedef struct artel__model_input {
    const char *name; /* of the InputLayer */
    artel_dtype dtype;
    artel_shape shape; /* of one row; -1 where open */
    int64_t limit;     /* exclusive upper limit of the integers an Embedding behind it accepts; 0: none */
} artel__model_input;

typedef struct artel__model_output {
    const char *name;      /* Keras' output name: that of the layer (Functional), or the key of a plain dict */
    const char *loss_name; /* "_loss" comes behind it: the name, in nested outputs with the place in front: "q/a" */
    const char *path;  /* keys and positions in the nesting of the outputs: "q/0"; NULL or empty: it is the only one */
    artel_shape shape; /* known after creation */
    artel_dtype dtype;
} artel__model_output;

/* A call of a layer in a Functional model. Tensors are (call, output) pairs of this model. */
typedef struct artel__model_tensor {
    int call, output;
} artel__model_tensor;

typedef struct artel__model_call_site {
    artel__layer *layer; /* NULL: input number `input` */
    int input;
    artel__model_tensor *in;
    int inputs;
    json_t *arguments;
    bool *converted; /* by operand: the layer is handed a copy of another dtype; NULL until the model is called */
} artel__model_call_site;

enum {
    ARTEL__SEVERAL_LAYERS = -1
};

typedef struct artel__model {
    artel_context *ctx;
    artel__arena *arena; /* own for a top model, the parent's for a nested one */
    artel__arena storage;
    artel__variables *variables;
    const char *class_name, *name; /* "Sequential" or "Functional" */
    json_t *record;                /* Keras' object record of the whole model; a reference of its own at the top */
    artel__layer **layer;          /* model.layers in Keras' order, InputLayers included */
    int layers, layer_capacity;
    artel__names layer_names,
        class_counts; /* the numbers of layers, SEVERAL_LAYERS: of more than one; how many there are of a class */
    artel__model_call_site *site; /* executable order */
    int sites, site_capacity;
    artel__model_input *input;
    int inputs;
    artel__model_output *output;
    artel__model_tensor *result; /* by output */
    int outputs;
    artel__program program; /* of a top model: what is computed of its inputs where rows are fetched (nn/ahead.h) */
    int *mask_taker[2], *mask_object[2]; /* mask_order.c, by training; no takers: no mask is taken off */
    int *mask_depth, *mask_rank;
    bool nested;
    bool wide; /* has variables or outputs of float64; known once it is built */
    artel__variables own_variables;
} artel__model;

/* Takes a new reference of `record`. `where` names the file in messages. */
artel_status artel__model_create(artel_context *ctx, const char *where, json_t *record, artel__model **out);
void artel__model_destroy(artel__model *model);

/* The program, or NULL when nothing is computed ahead: then rows are fed to the inputs as they are. */
const artel__program *artel__model_program(const artel__model *model);

/* Adds the model to a graph: in[i] belongs to input i, out[i] receives output i. */
artel_status artel__model_call(artel__model *model, artel__graph *graph, const artel__tensor *in, artel__tensor *out);

/* Every variable of the model in Keras' order (model.variables: layer by layer, sublayers after their owner), with its
 * path in the weights tree ("layers/dense/vars/0"). Stops at the first negative answer. */
typedef struct artel__model_variable {
    const char *path;          /* in weights files */
    const char *group;         /* the same without "/vars/N" */
    int position;              /* N; -1 of an adapter, whose path ends with its name */
    const artel__layer *layer; /* its owner */
    const artel__layer_variable *variable;
    bool trainable; /* after freezing of the layer or one around it */
} artel__model_variable;
typedef artel_status artel__model_visit_fn(void *user, const artel__model_variable *variable);
artel_status artel__model_visit(const artel__model *model, artel__model_visit_fn *visit, void *user);
/* The same of what the weights tree of a file holds: aliases too, and no adapters (artel__layer_variable). */
artel_status artel__model_visit_filed(const artel__model *model, artel__model_visit_fn *visit, void *user);

/* For the model's own call and for those nested in it. */
artel_status artel__model_parse(artel__model *model, json_t *config);            /* Functional, functional.c */
artel_status artel__model_parse_sequential(artel__model *model, json_t *config); /* sequential.c */
artel_status artel__model_make(artel__arena *arena, artel__variables *variables, json_t *record,
                               artel__model **out); /* a nested one */
/* Finds out where masks end, of a model whose sites and results are known, and once more, for the models inside as
 * well, when a call has shown which operands are converted; then whether a tensor has lost its own when a site is
 * called, or
 * (-1) at the end of the model (mask_order.c). */
artel_status artel__model_order_masks(artel__model *model);
artel_status artel__model_settle_masks(artel__model *model);
/* Of the first call of a site: the operands that were `given`, and those that its layer has taken. */
artel_status artel__model_note_operands(artel__model *model, int site, const artel__graph *graph,
                                        const artel__tensor *given, const artel__call *call);
bool artel__model_mask_is_taken(const artel__model *model, const artel__model_tensor *tensor, int site, bool training);
/* Of a call with these arguments and that many tensors (model_places.c): the number of the tensor that each input of a
 * model takes, or -1; the result is how many are given. */
int artel__model_places(const artel__model *model, json_t *arguments, int inputs, int *place);
/* The masks that a call of the model in `layer` gives, to its tensors: as many as the model has inputs, in their order.
 */
artel_status artel__model_take_masks(const artel__layer *layer, const artel__call *call, json_t *masks,
                                     artel__tensor *in);
/* The numbers of the tensors in arguments, in the order in which Keras flattens them: keys are sorted. The result is
 * how many there are, of which `room` are kept. */
int artel__flatten_tensors(json_t *value, int *number, int room);
artel_status artel__model_add_layer(artel__model *model, json_t *record, artel__layer **out);
/* Layers are found by this name from here on. */
artel_status artel__model_name_layer(artel__model *model, int layer, const char *name);
artel__model_call_site *artel__model_add_site(artel__model *model);
artel_status artel__model_fail(const artel__model *model, artel_status status, const char *advice, const char *format,
                               ...) ARTEL__PRINTF(4, 5);

/* The Rescaling or Normalization that an input meets first, behind layers without weights at most; NULL: none. */
const artel__layer *artel__model_scaling(const artel__model *model);
/* A subclass of Model around a graph of layers: what it does in a method of its own is not in the file. */
bool artel__model_is_custom(const artel__model *model);

/* Keras' snake_case of a class name, as it appears in weights files: "MaxPooling2D" -> "max_pooling2d". */
void artel__snake_case(const char *class_name, char *out, size_t size);

#endif
