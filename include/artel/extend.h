/* SPDX-License-Identifier: Apache-2.0 */
/* Layers, losses, metrics, optimizers and operations of one's own, in C.
 *
 * What is added to a context is there for all models that are read or made in it afterwards: a `.keras` file whose
 * classes are the user's own loads when they have been added under the names that the file has (`class_name`, or Keras'
 * registered name "package>Name"), and trains under every strategy, as models of Keras' classes do. A shared object may
 * hold them: `artel fit --extensions my_layers.so`, artel_context_load_extension().
 *
 * Layers, losses, metrics and optimizers are written over graph building (artel/graph.h), so they have gradients and
 * the library's bits. An operation has a kernel of its own; its bits are its author's affair: the same inputs must give
 * the same outputs on every machine.
 *
 * Callbacks run on the thread that makes or reads models, kernels on any. `user` is handed through, and outlives the
 * context. */
#ifndef ARTEL_EXTEND_H
#define ARTEL_EXTEND_H

#include "artel/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- layers -- */

typedef struct artel_custom_layer artel_custom_layer; /* an instance, for the length of a callback */

/* Declares weights from the shapes of the inputs' rows. Called once for each instance. */
typedef artel_status artel_layer_build_fn(void *user, artel_custom_layer *layer, const artel_shape *inputs, int count);
/* Adds the layer to a graph and writes outputs[0 .. output_count - 1], rows. Called for each graph: the same layer
 * gives the same nodes. */
typedef artel_status artel_layer_call_fn(void *user, artel_custom_layer *layer, artel_graph *graph,
                                         const artel_value *inputs, int count, artel_value *outputs);

typedef struct artel_layer_definition {
    size_t struct_size;
    const char *class_name;      /* "Scale", "package>Scale" */
    artel_layer_build_fn *build; /* NULL: it has no weights */
    artel_layer_call_fn *call;
    int output_count; /* 0: 1; at most 16 */
    void *user;
} artel_layer_definition;

/* Errors: ARTEL_ERROR_INVALID (no name, no call, a name that is taken). The definition is copied. */
ARTEL_API artel_status artel_context_add_layer(artel_context *context, const artel_layer_definition *definition);

ARTEL_API const char *artel_custom_name(const artel_custom_layer *layer);
/* The config of the instance as JSON text, owned by it; "{}" when it has none. */
ARTEL_API const char *artel_custom_config(const artel_custom_layer *layer);
/* A number of the config; `fallback` where it is not there, or none. */
ARTEL_API double artel_custom_number(const artel_custom_layer *layer, const char *key, double fallback);
/* In build: a float32 weight; returns its index, 0, 1, ..., or a negative status. `initializer`: Keras' name or record;
 * NULL: "glorot_uniform". In files the weights lie in the order of their declaration, trainable ones first, as in
 * Keras. */
ARTEL_API int artel_custom_add_weight(artel_custom_layer *layer, const char *name, const artel_shape *shape,
                                      const char *initializer, bool trainable);
/* In call: the shared value of a weight. */
ARTEL_API artel_value artel_custom_weight(artel_custom_layer *layer, artel_graph *graph, int index);

/* -- losses and metrics -- */

/* By sample, rows: of a target and a prediction. `config`: the settings as JSON text. The reduction is made around it,
 * with sample weights. */
typedef artel_value artel_loss_call_fn(void *user, const char *config, artel_graph *graph, artel_value target,
                                       artel_value prediction);

typedef struct artel_loss_definition {
    size_t struct_size;
    const char *name; /* as compile settings have it: a function's or class' name, "package>name" */
    artel_loss_call_fn *call;
    bool class_numbers; /* the target is class numbers, int32, without the prediction's last axis; else float32 of its
                           shape */
    void *user;
} artel_loss_definition;

ARTEL_API artel_status artel_context_add_loss(artel_context *context, const artel_loss_definition *definition);
/* A metric is the weighted mean over the samples of what `call` says of each. */
ARTEL_API artel_status artel_context_add_metric(artel_context *context, const artel_loss_definition *definition);

/* -- optimizers -- */

/* What is kept beside each variable from update to update, of its shape and type; Keras' add_optimizer_variables(). */
typedef struct artel_optimizer_slot {
    const char *name; /* the end of its path in Keras: "momentum" */
    double start;     /* every element of it before the first update */
    int group;        /* 0 to 2: files have slots of one group variable by variable, groups one after another. 0 for all
                         unless the class in Python adds one slot for all variables before it adds the next */
} artel_optimizer_slot;

/* The update of one variable: what there is, and room for what it becomes. All are shared values. */
typedef struct artel_optimizer_update {
    artel_value variable; /* after weight_decay */
    artel_value gradient; /* after clipping, of the variable's shape */
    artel_value rate;     /* a scalar: the learning rate of this step */
    artel_value count;    /* a scalar: 1 at the first update; Keras' iterations + 1 */
    const artel_value *slots;
    artel_value next;        /* the variable afterwards; it has to be written */
    artel_value *next_slots; /* ARTEL_NO_VALUE: the slot stays as it is */
} artel_optimizer_update;

/* Keras' update_step(): adds the update of one variable to a graph. Called for each variable of each graph that trains;
 * the same settings and shapes give the same nodes. `config`: all settings as JSON text (artel_graph_setting()).
 * Nothing of it may be random, look up by indices or differentiate. */
typedef artel_status artel_optimizer_update_fn(void *user, const char *config, artel_graph *graph,
                                               artel_optimizer_update *update);

typedef struct artel_optimizer_definition {
    size_t struct_size;
    const char *class_name; /* "Signum", "package>Signum" */
    const char *settings; /* its own settings with their defaults, a JSON object of at most 16: "{\"beta\": 0.9}". Those
                             of Keras' base class (learning_rate, weight_decay, clipnorm, use_ema, ...) are there for
                             all. NULL: none */
    double learning_rate; /* unless it is given; 0: 0.001 */
    const artel_optimizer_slot *slots;
    int slot_count; /* at most 3 */
    artel_optimizer_update_fn *update;
    void *user;
} artel_optimizer_definition;

/* Found by its name wherever Keras' optimizers are: in model files, artel_model_compile(), `--optimizer`,
 * artel_optimizer_create(). The definition is copied. Weight decay, clipping, moving averages, gradient accumulation,
 * scaling of the loss and schedules are made around it, as Keras does; with parameter servers, too. Errors:
 * ARTEL_ERROR_INVALID (no name, no update, a name that is taken or Keras', slots without names, settings that are no
 * object, more than 3 slots or 16 settings). */
ARTEL_API artel_status artel_context_add_optimizer(artel_context *context,
                                                   const artel_optimizer_definition *definition);

/* In callbacks that get a `config`: a number among its settings; true counts as 1, false as 0. `fallback` where it is
 * not there, or neither. A config that is no JSON object marks the graph as failed. */
ARTEL_API double artel_graph_setting(artel_graph *graph, const char *config, const char *key, double fallback);

/* -- operations -- */

/* The shape of the result (of a row, or of the shared value) from those of the inputs. */
typedef artel_status artel_operation_infer_fn(void *user, const artel_shape *inputs, int count, artel_shape *output);
/* Computes `rows` rows, one behind the other in every array; shared inputs beside rows are whole. Without rows among
 * the inputs: one. May be called for any part of the rows, on any thread, at the same time: that is the split rule.
 * `row`: elements of one row of the output. */
typedef void artel_operation_compute_fn(void *user, int64_t rows, int64_t row, const float *const *inputs,
                                        float *output);
/* Adds the gradients of the inputs from that of the output; those it leaves at ARTEL_NO_VALUE are none. Of shared
 * inputs beside rows: by row, the library adds them up. */
typedef artel_status artel_operation_gradient_fn(void *user, artel_graph *graph, const artel_value *inputs, int count,
                                                 artel_value output, artel_value output_gradient,
                                                 artel_value *input_gradients);

typedef struct artel_operation {
    size_t struct_size;
    const char *name; /* for messages and dumps */
    artel_operation_infer_fn *infer;
    artel_operation_compute_fn *compute;
    artel_operation_gradient_fn *gradient; /* NULL: the operation has none */
    void *user;
} artel_operation;

/* float32 in and out, at most 8 inputs. The struct is copied; its name and what `user` points to outlive the context.
 * Errors of the graph: ARTEL_ERROR_INVALID, those of infer. */
ARTEL_API artel_value artel_graph_custom(artel_graph *graph, const artel_operation *operation,
                                         const artel_value *inputs, int count);

/* Makes an operation known by its name: functions that are loaded from files (artel/saved.h) find it. The struct and
 * its name are copied; what `user` points to outlives the context. Errors: ARTEL_ERROR_INVALID (a part is missing, a
 * name twice). */
ARTEL_API artel_status artel_context_add_operation(artel_context *context, const artel_operation *operation);

/* -- shared objects -- */

/* What a shared object shows: `ARTEL_EXTENSION artel_status artel_extension(artel_context *context)`, which adds what
 * it has. */
#define ARTEL_EXTENSION __attribute__((visibility("default")))
typedef artel_status artel_extension_fn(artel_context *context);

/* Opens a shared object and calls its artel_extension(). It stays open. Errors:
 * ARTEL_ERROR_NOT_FOUND, ARTEL_ERROR_INVALID (no such function, no shared object), those of the function. The object is
 * code: it can do what the program can. */
ARTEL_API artel_status artel_context_load_extension(artel_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif
