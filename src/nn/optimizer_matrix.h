/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers whose step sees a variable as a matrix: Adafactor, Muon. Used by optimizer.c and optimizer_step.c. */
#ifndef ARTEL_NN_OPTIMIZER_MATRIX_H
#define ARTEL_NN_OPTIMIZER_MATRIX_H

#include "nn/optimizer_table.h"

/* Their settings, by Keras' names. */
struct artel__matrix_options {
    double beta_2_decay, epsilon_1, epsilon_2, clip_threshold; /* Adafactor */
    double muon_a, muon_b, muon_c, momentum, rms_rate;         /* Muon; rms_rate 0: none */
    double weight_decay;
    int64_t ns_steps;
    bool nesterov, exclude_embeddings;
    const char **exclude_layers; /* [excluded] */
    int excluded;
};

/* Whether Muon leaves a variable to Adam. */
bool artel__matrix_adam(const artel__optimizer *optimizer, const artel__variable *variable);
/* The step on one variable: `slot` by row of the table, -1: none. `gradient` is as it comes, the rest of `o` as of the
 * usual step. */
void artel__matrix_step(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                        const artel__optimize *o, artel__value_id gradient);

#endif
