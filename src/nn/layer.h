/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: what a Keras layer is to artel, one family a file.
 *
 * A layer is made from its Keras record {"class_name", "config"}: the option table of its class says which keys its
 * config has, with their defaults, and the record itself is kept to be written back unchanged. The first call declares
 * its variables from the shapes it sees (as Keras' build does); every call adds nodes to a graph. Adding a layer: one
 * artel__layer_def in a family file and one line in layers.list.
 *
 * Layers belong to a model's arena and to one thread at a time.
 */
#ifndef ARTEL_NN_LAYER_H
#define ARTEL_NN_LAYER_H

#include "base/json.h"
#include "base/option.h"
#include "graph/graph.h"
#include "nn/parts.h"

/* What flows between layers: a value, and the mask that travels with it (ROW BOOL [t], true = valid) or none. */
typedef struct artel__tensor {
    artel__value_id value, mask;
} artel__tensor;

typedef struct artel__layer artel__layer;

enum {
    ARTEL__LAYER_OUTPUTS = 16
};

/* One call of a layer. Outputs are written by the layer's `call`; masks default to none, see layer_def.mask. */
typedef struct artel__call {
    artel__graph *graph;
    const artel__tensor *in;
    int inputs;
    json_t *arguments;  /* {"args": [...], "kwargs": {...}} as Keras recorded them, each tensor replaced by {"tensor":
                           index  into in[]}; NULL: one positional argument holding all of in[] */
    artel__tensor *out; /* room for ARTEL__LAYER_OUTPUTS */
    int outputs;
    uint64_t *asked; /* a bit for each of kwargs, in their order, that the layer has asked for; NULL: nobody counts */
    uint64_t *taken; /* likewise a bit for each of in[] that the layer has looked for in its arguments */
    bool shared;     /* all inputs are GLOBAL: an operation of values without rows, with axes written as if there were a
                        batch in front */
} artel__call;

/* How the mask of the outputs follows from that of the inputs. */
typedef enum artel__mask_rule {
    ARTEL__MASK_PASS, /* supports_masking: the mask of the (first) input goes on */
    ARTEL__MASK_STOP, /* the mask ends here (layers that do not support masking: Keras warns; so does artel, once) */
    ARTEL__MASK_OWN   /* `call` sets the masks itself */
} artel__mask_rule;

/* What a 16-bit compute dtype rounds beside the results of the layer: Keras' `autocast`. */
typedef enum artel__cast_rule {
    ARTEL__CAST_ALL,    /* inputs and weights */
    ARTEL__CAST_INPUTS, /* weights stay float32, and so do statistics */
    ARTEL__CAST_RESULT  /* neither: the layer computes in float32 */
} artel__cast_rule;

typedef struct artel__layer_def {
    const char *class_name;       /* "Dense" */
    const char *doc;              /* one sentence */
    size_t config_size;           /* of the struct that `options` describes */
    const artel__option *options; /* the keys of config; name, trainable, dtype and the like are read by the core */
    artel__mask_rule mask;
    artel__cast_rule cast;
    const void
        *custom;  /* of a class that a program has added (custom.h): any key may be in its config. NULL: Keras' own */
    bool strings; /* takes strings; they never reach the others */
    artel_status (*configure)(artel__layer *layer); /* optional: after the options; checks, makes children */
    artel_status (*build)(artel__layer *layer,
                          const artel__call *call); /* optional: declares variables from input shapes */
    artel_status (*call)(artel__layer *layer, artel__call *call);
    bool (*returns_input)(const artel__layer *layer,
                          bool training); /* optional: whether Keras' layer returns the very tensor that it is given,
                                             mask and all (mask_order.c); left out: it never does */
} artel__layer_def;

/* A variable of a layer. Keras' order: trainable ones first, each group in order of creation. */
typedef struct artel__layer_variable {
    int index;        /* in artel__variables */
    bool trainable;   /* as created (gamma yes, moving mean no); a frozen layer overrides it */
    const char *name; /* "kernel" */
    artel__initializer initializer;
    artel__regularizer regularizer;
    artel__constraint_config constraint;
    bool matrix_fans; /* see artel__weight */
    bool alias;       /* a variable of a sublayer, which files of Keras hold here once more; only they show it here */
    bool frozen;      /* is not trained, though files count it among those that are: a kernel with adapters */
    bool adapter;     /* is in no file of Keras, but merged into its kernel there */
    int adapters; /* the first of two adapters a [..][rank], b [rank][columns]: `adapter_scale` a b is added to it; 0:
                     none */
    double adapter_scale;
} artel__layer_variable;

/* An array that weights files hold by name beside the variables, though it never changes: Keras looks for it there. */
typedef struct artel__layer_constant {
    const char *name, *child; /* `child`: of a sublayer of Keras that has it too; NULL: of none */
    const float *data;
    int64_t count;
} artel__layer_constant;

typedef struct artel__layer_child {
    const char *path; /* Keras' attribute path in weights files: "cell", "forward_layer", "layers/dense_1" */
    artel__layer *layer;
} artel__layer_child;

struct artel__model;

struct artel__layer {
    const artel__layer_def *def;
    artel__arena *arena;
    artel__variables *variables;
    const char *name;         /* the user's */
    int same_before;          /* layers of its class before it in its model */
    const char *scope;        /* path of variables: "model/dense" without a trailing slash */
    const char *dtype;        /* name of the dtype policy: "float32", "mixed_bfloat16" */
    artel_dtype precision;    /* compute dtype: FLOAT16, BFLOAT16; FLOAT32 for all others */
    artel_dtype variables_in; /* variable dtype: FLOAT16, BFLOAT16, FLOAT64 under the policies of these names; else
                                 FLOAT32 */
    artel_dtype real;         /* what it computes in: FLOAT64 under the policy of this name; else FLOAT32 */
    json_t *record;           /* Keras' record, borrowed from the model's document */
    void *config;
    void *own;                   /* whatever the class keeps between configure, build and call; in the arena */
    artel__regularizer activity; /* of each output; the mean over the batch is added to the loss */
    bool trainable, built, mask_warned;
    artel__layer_variable *variable;
    int variable_count;
    artel__layer_child *child;
    int child_count;
    const artel__layer_constant *constant; /* NULL: none */
    struct artel__model *model;            /* of a nested Sequential or Functional; else NULL */
};

/* Makes a layer from a record. Errors name the layer and the setting: ARTEL_ERROR_UNSUPPORTED for classes and settings
 * that artel lacks, ARTEL_ERROR_INVALID for wrong values. */
artel_status artel__layer_create(artel__arena *arena, artel__variables *variables, json_t *record, artel__layer **out);
/* Makes a sublayer and registers it as a child under `path`. */
artel_status artel__layer_add_child(artel__layer *layer, json_t *record, const char *path, artel__layer **out);

/* Names the variables of a layer and of everything inside it after what is around them; before they are declared. */
artel_status artel__layer_prefix_scope(artel__layer *layer, const char *prefix);

/* Declares a variable of the layer (in build); returns its index among layer->variable, or a negative status. `rows` >
 * 0 keeps it as panels of [rows][...] (weights of products). NULL parts: zeros, none, none. */
typedef struct artel__weight {
    const char *name;
    artel_shape shape;
    int64_t rows;
    bool trainable;
    const artel__initializer *initializer;
    const artel__regularizer *regularizer;
    const artel__constraint_config *constraint;
    bool matrix_fans;  /* initialisers see [rows][columns], as Keras' EinsumDense tells them; else the shape */
    artel_dtype dtype; /* the variable dtype of the policy when left out */
} artel__weight;
int artel__layer_add_weight(artel__layer *layer, const artel__weight *weight);
/* Names a variable of a sublayer as the layer's own (artel__layer_variable.alias). */
artel_status artel__layer_add_alias(artel__layer *layer, const artel__layer_variable *of);
/* The GLOBAL value of the n-th variable of the layer in a graph, rounded to graph->precision unless the class keeps its
 * weights. */
artel__value_id artel__layer_weight(const artel__layer *layer, artel__graph *graph, int n);

/* Adds the penalty of a value to the loss: l1 * sum |x| + l2 * sum x^2 of each row (Keras divides by the rows of the
 * batch). */
void artel__layer_penalise(artel__graph *graph, const artel__regularizer *regularizer, artel__value_id x);

/* A keyword argument of the call (use_causal_mask, initial_state), or NULL. */
json_t *artel__call_argument(const artel__call *call, const char *name);
/* The tensor that an argument stands for, or one without a value when it is none. */
artel__tensor artel__call_tensor(const artel__call *call, json_t *argument);

/* Builds if necessary, sets the graph's scope to the layer's name, calls, applies the mask rule. */
artel_status artel__layer_call(artel__layer *layer, artel__call *call);

/* Fails with the layer's name in front. */
artel_status artel__layer_fail(const artel__layer *layer, artel_status status, const char *advice, const char *format,
                               ...) ARTEL__PRINTF(4, 5);
static inline const artel_shape *artel__call_shape(const artel__call *call, int k)
{
    return &call->graph->value[call->in[k].value].shape;
}

/* Row axis of Keras' axis number for a row of `rank` axes (Keras counts the batch: 1 is our 0); negative from the end.
 * Negative result when out of range or the batch axis. */
int artel__row_axis(int64_t keras_axis, int rank);

static inline bool artel__layer_returns_input(const artel__layer *layer, bool training)
{
    return layer->def->returns_input && layer->def->returns_input(layer, training);
}

/* Whether layers of this class compute in float64 (layer_float64.c). */
bool artel__layer_has_float64(const char *class_name);
/* Fails where a node from `first` on reads float64 and does not compute in it. */
artel_status artel__layer_check_float64(const artel__layer *layer, const artel__graph *graph, int first);

/* All classes, NULL-terminated, in the order of layers.list. */
extern const artel__layer_def *const artel__layers[];
const artel__layer_def *artel__layer_find(const char *class_name);

#endif
