/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation, pooling. Channels are the last axis. */
#ifndef ARTEL_OP_NORM_H
#define ARTEL_OP_NORM_H

#include "kernel/norm.h"
#include "kernel/pool.h"
#include "op/op.h"

/* Training: statistics of the whole global batch. gamma, beta (none allowed) and the moving statistics are GLOBAL [c].
 * Adds the APPLY nodes that update the moving statistics: moving = moving * momentum + batch * (1 - momentum), with the
 * biased variance of the batch, as Keras does. */
typedef struct artel__batch_norm {
    artel__value_id x, gamma, beta, mean, variance; /* mean and variance: the moving statistics */
    double epsilon, momentum;
    bool update; /* add the update of the moving statistics */
} artel__batch_norm;
artel__value_id artel__op_batch_norm_training(artel__graph *graph, const artel__batch_norm *norm);
artel__value_id artel__op_batch_norm_inference(artel__graph *graph, const artel__batch_norm *norm);

/* The attributes of the "normalise" operation (inputs x, mean, inverse, gamma, beta, residual), which the fusion pass
 * edits. */
typedef struct artel__norm_attributes {
    artel__norm_activation activation;
    bool training; /* the statistics are those of the batch: the gradient passes through them */
    bool residual; /* of the gradient: the residual's gradient is wanted */
} artel__norm_attributes;
extern const artel__op_def artel__op_normalise_def;

/* Over the last `axes` axes. gamma, beta GLOBAL of those extents, or none. */
artel__value_id artel__op_layer_norm(artel__graph *graph, artel__layer_norm_mode mode, artel__value_id x,
                                     artel__value_id gamma, artel__value_id beta, int axes, double epsilon);

/* x [in...][channels] with one to three spatial axes, those missing counted as leading extents of 1 in `shape`. */
extern const artel__op_def artel__op_pool_gradient_def; /* inputs: dy, x, y */
/* Has a gradient of pooling pass a ReLU, whose result x is, as well; false, and nothing changes, where it is not one of
 * maxima. */
bool artel__op_pool_take_relu(artel__graph *graph, artel__node *node);
artel__value_id artel__op_pool(artel__graph *graph, artel__pool_op function, artel__value_id x,
                               const artel__pool_shape *shape);

#endif
