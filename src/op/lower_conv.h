/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as programs of devices; the attributes are op/conv_attributes.h's. */
#ifndef ARTEL_OP_LOWER_CONV_H
#define ARTEL_OP_LOWER_CONV_H

#include "graph/lower.h"

void artel__lower_conv(artel__lower *lower);
void artel__lower_conv_data(artel__lower *lower);
void artel__lower_conv_transpose(artel__lower *lower);
void artel__lower_conv_weights(artel__lower *lower);
void artel__lower_depthwise(artel__lower *lower);
void artel__lower_depthwise_data(artel__lower *lower);
void artel__lower_depthwise_weights(artel__lower *lower);

#endif
