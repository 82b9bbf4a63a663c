/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as they are traced: values, operations, models, gradients, assignments.
 *
 * A graph exists while a function is traced (artel/strategy.h): a C function is called once, adds what is to be
 * computed, and is not called again. A value is one of two kinds:
 * - rows: one entry for each row of the batch. Its first axis is the batch, as in Keras; shapes here leave it out.
 *   Replicas hold rows of their own. Operations keep rows apart.
 * - shared: the same bits on every replica: variables, constants, reduced values and what is computed from these. No
 *   batch axis.
 *
 * artel_graph_reduce() makes one number of all rows of all replicas, along the library's one tree of
 * sums: so what a function computes does not depend on the strategy or on how many replicas, threads or tasks there
 * are, to the bit.
 *
 * Errors: the first one is kept by the graph; every later call gives ARTEL_NO_VALUE and does nothing. So expressions
 * need no checks, and what the traced function was called from returns the failure. Everything belongs to the thread
 * that traces. */
#ifndef ARTEL_GRAPH_H
#define ARTEL_GRAPH_H

#include <stdbool.h>

#include "artel/communicator.h"
#include "artel/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_graph artel_graph;         /* while it is traced */
typedef struct artel_variable artel_variable;   /* of a strategy */
typedef struct artel_optimizer artel_optimizer; /* of a strategy */
typedef struct artel_metric artel_metric;       /* of a strategy */
typedef int32_t artel_value;                    /* of one graph */
#define ARTEL_NO_VALUE (-1)

/* The first failure, or ARTEL_OK; a function that traces may return it. artel_context_error() says more. */
ARTEL_API artel_status artel_graph_status(const artel_graph *graph);
/* Whether layers behave as in training (dropout, batch statistics), as the function was declared. */
ARTEL_API bool artel_graph_training(const artel_graph *graph);
/* Element type, shape (of one row, or of the whole shared value) and kind. Any of the outputs may be NULL.
 * ARTEL_ERROR_INVALID: no such value. */
ARTEL_API artel_status artel_graph_describe(const artel_graph *graph, artel_value value, artel_dtype *dtype,
                                            artel_shape *shape, bool *rows);

/* -- values -- */

/* A shared constant; the elements are copied, in row-major order. dtype: float32, float64, int32, int64, bool (one
 * byte each) or string (artel_string, UTF-8). */
ARTEL_API artel_value artel_graph_constant(artel_graph *graph, artel_dtype dtype, const artel_shape *shape,
                                           const void *elements);
/* A shared float32 scalar; beside float64 operands it is the number as it was given. */
ARTEL_API artel_value artel_graph_number(artel_graph *graph, double number);
/* The value of a variable before this run's assignments. */
ARTEL_API artel_value artel_graph_variable(artel_graph *graph, artel_variable *variable);

/* -- operations -- */

/* An operation of keras.ops by its name, as a function ("log_softmax") or as Keras writes it in files ("LogSoftmax"):
 * docs/layers.md has the list. `attributes`: a JSON object of its settings ("{\"axis\": -1, \"keepdims\": true}"),
 * under "args" a list of further positional arguments; NULL: none. Axes of rows count the batch as axis 0, as in Keras;
 * axes of shared values count from their first. A shared operand beside rows broadcasts against each row. "matmul" of
 * rows with a shared matrix is a layer's product. What takes lists of tensors gets them one behind another:
 * "concatenate" and its kin, both parts of a pair ("fft"), all conditions, all choices and perhaps a default
 * ("select"). Tensors of "slice_update" are the whole and the part; limits of "searchsorted" may be a setting
 * ("sorted_sequence"). Beside that list there are "slice" and "broadcast_to", of rows with the batch as 0 or -1
 * ("{\"start_indices\": [0, 2], \"shape\": [-1, 3]}"), and of shared values "ravel", "flipud", "vstack". The result of
 * the operation, the first where it has several. Of strings there are the operations of docs/eager.md, as far as
 * docs/functions.md says, and layers of words, by their class and with their config ("TextVectorization"). Numbers
 * that they make of what the graph computes have it computed once more, up to 16 times (ARTEL_ERROR_UNSUPPORTED). */
ARTEL_API artel_value artel_graph_op(artel_graph *graph, const char *name, const artel_value *inputs, int count,
                                     const char *attributes);
/* All results of an operation ("split", "unstack"): writes at most `most` and returns how many there are, or a negative
 * status. */
ARTEL_API int artel_graph_op_all(artel_graph *graph, const char *name, const artel_value *inputs, int count,
                                 const char *attributes, artel_value *outputs, int most);
/* The same for one and two operands. */
ARTEL_API artel_value artel_graph_unary(artel_graph *graph, const char *name, artel_value x);
ARTEL_API artel_value artel_graph_binary(artel_graph *graph, const char *name, artel_value a, artel_value b);

/* A model whose weights the strategy holds (artel_strategy_add_model), called on rows: `inputs` and `outputs` as the
 * model has them. Moving statistics are updated in training. */
ARTEL_API artel_status artel_graph_call(artel_graph *graph, artel_model *model, const artel_value *inputs,
                                        int input_count, artel_value *outputs, int output_count);
/* The mask that an output of artel_graph_call() carries, as Keras' layers hand it on (an Embedding with mask_zero, a
 * Masking): rows of bool, true where a position counts, of the shape of a row of the output without its features;
 * ARTEL_NO_VALUE: it has none. Keras leaves masked positions out of losses and metrics. Errors, the graph's:
 * ARTEL_ERROR_INVALID (no output of a model that this function has called). */
ARTEL_API artel_value artel_graph_mask(artel_graph *graph, artel_value output);
/* The sum of keras.Model.losses, for you to add to a loss: what regularisers say of the model's trainable weights, and
 * the mean over the batch of what activity regularisers said when this function last called the model. A shared float32
 * (float64) scalar, 0 where the model adds nothing. Errors, the graph's: ARTEL_ERROR_INVALID (a model that the strategy
 * does not hold, an OrthogonalRegularizer of a weight that is no matrix). */
ARTEL_API artel_value artel_graph_model_losses(artel_graph *graph, artel_model *model);
/* A loss of Keras by name or record, before any reduction: of a target and a prediction, both rows. It has the shape of
 * a row of the prediction without the last axis: one number a sample, of sequences one a position (take their mean
 * along it before artel_graph_reduce(), which gives a number for each). The
 * target is float32 of the prediction's shape, or, for losses of class numbers, int32 without its last axis. Where one
 * of the two is float64 the loss is (docs/eager.md says which do not have it). */
ARTEL_API artel_value artel_graph_loss(artel_graph *graph, const char *loss, artel_value target,
                                       artel_value prediction);

/* Elements kept with the probability 1 - rate and scaled by 1 / (1 - rate); rows of float32. */
ARTEL_API artel_value artel_graph_dropout(artel_graph *graph, artel_value x, double rate);
/* Uniform numbers in [low, high) of `shape` for each row. `like`: any rows. Counter-based: a function of the seed, the
 * run's number and the row's place in the batch. With `shared` all rows see the same numbers. */
ARTEL_API artel_value artel_graph_uniform(artel_graph *graph, artel_value like, const artel_shape *shape, double low,
                                          double high, bool shared);
/* Normal numbers of mean 0 and this deviation, likewise. */
ARTEL_API artel_value artel_graph_normal(artel_graph *graph, artel_value like, const artel_shape *shape,
                                         double deviation);

/* -- across rows and replicas -- */

/* SUM, MEAN, MIN or MAX over all rows of the global batch, element by element: rows of a shape become a shared value of
 * that shape. Exact for uneven batches: MEAN divides by the number of rows. Differentiable. A scalar a row is added up
 * in float64 and rounded once; rows of float64 are reduced in that. MIN, MAX: of all rows; NaN is taken for both. Their
 * gradient is shared out evenly among the rows that are as small or great. PRODUCT: ARTEL_ERROR_UNSUPPORTED; return the
 * rows and reduce them outside. */
ARTEL_API artel_value artel_graph_reduce(artel_graph *graph, artel_reduction reduction, artel_value rows);
/* All rows of the global batch as one shared value of their element type, as ReplicaContext.all_gather() along axis 0:
 * rows of a shape become [batch_size][shape], batch_size being the strategy's, in the order of the batch, with zeros
 * behind a smaller one (a reduction of ones counts the rows). Every replica gets and keeps all of it. Differentiable: a
 * row gets its slice of what comes back to the whole. Errors, the graph's: ARTEL_ERROR_INVALID (a shared value),
 * ARTEL_ERROR_UNSUPPORTED (rows of ARTEL_MAX_RANK axes; in parts of models: custom layers, losses, ...). Strings have
 * empty ones behind a smaller batch. */
ARTEL_API artel_value artel_graph_gather(artel_graph *graph, artel_value rows);
/* The same joined along another axis, as all_gather(axis) does it of one value a replica, here one a row: rows of
 * [2][3] and axis 2 give [2][batch_size * 3], row after row along that axis, with zeros behind those of a smaller
 * batch. The batch counts as axis 0, which is artel_graph_gather(); -1 is the last one. Differentiable likewise.
 * Errors, the graph's: those of artel_graph_gather(); ARTEL_ERROR_INVALID (no such axis). */
ARTEL_API artel_value artel_graph_gather_along(artel_graph *graph, artel_value rows, int axis);

/* -- gradients and variables -- */

/* Reverse mode: out[i] = the gradient of `target` with respect to wanted[i], of its shape and kind; ARTEL_NO_VALUE
 * where the target does not depend on it. A shared target that is no scalar, and rows, count as the sum of their
 * elements: so the gradient of a loss by row with respect to rows is that of each example. Gradients may be
 * differentiated again. Errors: ARTEL_ERROR_UNSUPPORTED (an operation on the way has no gradient; docs/functions.md
 * lists gradients that have none themselves). */
ARTEL_API artel_status artel_graph_gradients(artel_graph *graph, artel_value target, const artel_value *wanted,
                                             int count, artel_value *out);

/* The slopes of each element of `target` by each element of wanted[i], as tf.GradientTape.jacobian() and, of rows by
 * rows, batch_jacobian() give them: out[i] has the axes of the target and behind them those of wanted[i], and is by row
 * where wanted[i] is; ARTEL_NO_VALUE where no element depends on it. Where rows meet on the way, a row's matrix is that
 * of the sum over the batch. An element of the target costs a gradient: of up to 4,096. A shared wanted[i] wants a
 * shared target. Jacobians may be differentiated again: that of a gradient is a Hessian. Errors: those of
 * artel_graph_gradients(); ARTEL_ERROR_UNSUPPORTED (a target of too many elements or by row where the value is shared;
 * more than ARTEL_MAX_RANK axes). */
ARTEL_API artel_status artel_graph_jacobians(artel_graph *graph, artel_value target, const artel_value *wanted,
                                             int count, artel_value *out);

/* After the whole run has been computed on all replicas, the variable becomes `value` (shared, of its shape and element
 * type; or rows of these, where the variable has an aggregation: artel_variable_options). One assignment a run for each
 * variable. Of a variable of strings: shared strings. Errors, the graph's: ARTEL_ERROR_INVALID (another shape or type,
 * rows without an aggregation, a second assignment, a variable of another strategy). */
ARTEL_API void artel_graph_assign(artel_graph *graph, artel_variable *variable, artel_value value);
/* The same of what the variable is and `value` together: it becomes more, or less, by the value, by what its
 * aggregation makes of rows. Closures of parameter servers that run at once all count, where of assignments the last
 * one does. Errors: its own; ARTEL_ERROR_INVALID (a shared value for a variable "on_read" of "sum": TensorFlow, too,
 * takes such only from replicas). */
ARTEL_API void artel_graph_assign_add(artel_graph *graph, artel_variable *variable, artel_value value);
ARTEL_API void artel_graph_assign_sub(artel_graph *graph, artel_variable *variable, artel_value value);
/* Rows are added to, or taken from, rows of a variable: each row of the batch says a place on its first axis (one
 * number, int32 or int64) and brings what is to be there (of the variable's shape without that axis, and its element
 * type). Those that name the same place all count, once each, whatever the aggregation. A place that there is not fails
 * the run. Errors: those of artel_graph_assign(); ARTEL_ERROR_INVALID (shared values, other types or shapes, a variable
 * "on_read", which TensorFlow refuses, too). */
ARTEL_API void artel_graph_scatter_add(artel_graph *graph, artel_variable *variable, artel_value places,
                                       artel_value rows);
ARTEL_API void artel_graph_scatter_sub(artel_graph *graph, artel_variable *variable, artel_value places,
                                       artel_value rows);
/* A step of an optimizer with a gradient (shared, of the variable's shape; or ARTEL_NO_VALUE, which leaves it alone)
 * for each of its variables, in their order; then the variables' constraints. A function may step several optimizers,
 * each once, and none of a variable of another; over parameter servers and in sessions one. Of an optimizer that scales
 * its loss (LossScaleOptimizer, loss_scale_factor) the gradients are those of artel_graph_scale_loss(), which the step
 * divides; where one is not finite there is no step, nothing counts, and the scale is halved. At most one
 * LossScaleOptimizer in a function. Regularisers are for the function to add to its loss: artel_graph_model_losses().
 */
ARTEL_API void artel_graph_apply(artel_graph *graph, artel_optimizer *optimizer, const artel_value *gradients,
                                 int count);
/* Takes rows into a metric, as keras.metrics.Metric.update_state(): all rows of the global batch, with the run's
 * assignments; each metric once in a function. target: float32 of the prediction's shape, or class numbers (whole ones)
 * without its last axis, as the metric has it; of "Mean" and "Sum" ARTEL_NO_VALUE. prediction: rows of the shape that
 * artel_metric_create() was told; of "Mean" and "Sum" rows of any shape, or a shared scalar. weight: rows of one
 * number, or of one for each position; ARTEL_NO_VALUE: 1. Masks are weights (artel_graph_mask(), cast). Errors, the
 * graph's: ARTEL_ERROR_INVALID (another strategy's metric, shapes that do not fit). */
ARTEL_API void artel_graph_update_metric(artel_graph *graph, artel_metric *metric, artel_value target,
                                         artel_value prediction, artel_value weight);
/* The loss times the scale of the moment, as keras.optimizers.Optimizer.scale_loss(); the loss itself of optimizers
 * that do not scale it. The failure is the graph's. */
ARTEL_API artel_value artel_graph_scale_loss(artel_graph *graph, artel_optimizer *optimizer, artel_value loss);
/* The gradients of `target` with respect to the optimizer's variables, and its step with them:
 * artel_graph_scale_loss(), artel_graph_gradients() and artel_graph_apply() in one. The failure is the graph's. */
ARTEL_API void artel_graph_minimise(artel_graph *graph, artel_optimizer *optimizer, artel_value target);

#ifdef __cplusplus
}
#endif
#endif
