/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of all operations by name, for whoever looks for one in a graph. */
#ifndef ARTEL_OP_OPS_H
#define ARTEL_OP_OPS_H

#include "graph/op_def.h"

#define OP(name) extern const artel__op_def artel__op_##name##_def;
#include "op/ops.list"
#undef OP

#endif
