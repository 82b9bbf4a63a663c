/* SPDX-License-Identifier: Apache-2.0 */
/* How the files that write StableHLO write it. */
#ifndef ARTEL_GRAPH_HLO_IMPL_H
#define ARTEL_GRAPH_HLO_IMPL_H

#include "graph/hlo.h"

/* A new value; -1 after a failure. */
artel__hlo_value artel__hlo_add(artel__hlo *h, const artel__hlo_type *type);
/* Operands do not fit: -1. */
artel__hlo_value artel__hlo_wrong(artel__hlo *h, const char *op);
void artel__hlo_write_type(artel__text *to, const artel__hlo_type *type);
/* "tensor<f32>, tensor<2xf32>" */
void artel__hlo_write_types(artel__text *to, const artel__hlo *h, const artel__hlo_value *in, int count);
/* " : (types of `in`) -> type of `out`", and the end of the line. */
void artel__hlo_write_signature(artel__hlo *h, const artel__hlo_value *in, int count, artel__hlo_value out);
/* "[1, 2]" */
void artel__hlo_write_list(artel__text *to, const int64_t *item, int count);
void artel__hlo_write_axes(artel__text *to, const int *item, int count);
/* "%1, %2" */
void artel__hlo_write_values(artel__text *to, const artel__hlo_value *in, int count);

#endif
