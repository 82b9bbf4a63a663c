/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations as programs of devices: batch_norm.c's operations, then layer_norm.c's. */
#ifndef ARTEL_OP_LOWER_NORM_H
#define ARTEL_OP_LOWER_NORM_H

#include "graph/lower.h"

void artel__lower_moments_rows(artel__lower *lower);
void artel__lower_moments_fold(artel__lower *lower);
void artel__lower_moments_finalize(artel__lower *lower);
void artel__lower_norm_inverse(artel__lower *lower);
void artel__lower_moving_statistics(artel__lower *lower);
void artel__lower_normalise(artel__lower *lower);
void artel__lower_normalise_rows(artel__lower *lower);
void artel__lower_normalise_gradient(artel__lower *lower);

void artel__lower_layer_norm(artel__lower *lower);
void artel__lower_layer_norm_gradient(artel__lower *lower);
void artel__lower_layer_norm_parameters(artel__lower *lower);

#endif
