/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all operations, made from ops.list. */
#include "op/op.h"
#include "op/ops.h"

const artel__op_def *const artel__ops[] = {
#define OP(name) &artel__op_##name##_def,
#include "op/ops.list"
#undef OP
    NULL,
};
