/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all operations, made from ops.list. */
#include "op/op.h"

#define OP(name) extern const artel__op_def artel__op_##name##_def;
#include "op/ops.list"
#undef OP

const artel__op_def *const artel__ops[] = {
#define OP(name) &artel__op_##name##_def,
#include "op/ops.list"
#undef OP
    NULL,
};
