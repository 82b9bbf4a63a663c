/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes of convolutions and their gradients know: those of the forward node. */
#ifndef ARTEL_OP_CONV_ATTRIBUTES_H
#define ARTEL_OP_CONV_ATTRIBUTES_H

#include "kernel/conv.h"

typedef struct artel__conv_attributes {
    artel__conv2d_shape shape;
    artel__fused activation;
    bool bias; /* there is one; of a weight gradient: its gradient is the second output */
} artel__conv_attributes;

#endif
