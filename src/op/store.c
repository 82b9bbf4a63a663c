/* SPDX-License-Identifier: Apache-2.0 */
/* A variable of whole numbers or truth values becomes a value: the bytes of it. Those of floats are scaled by 1
 * (parameter.c). */
#include <string.h>

#include "op/lower_formula.h"
#include "op/optimize.h"

typedef struct store_params {
    void *to;
    const void *from;
    size_t bytes;
} store_params;

static int64_t one_task(const void *params)
{
    (void)params;
    return 1;
}

static void run_store(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const store_params *p = params;
    (void)begin;
    (void)end;
    (void)scratch;
    memcpy(p->to, p->from, p->bytes);
}

static const artel__kernel store_kernel = {
    .name = "ref store", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = run_store};
static const artel__kernel *const store_kernels[] = {&store_kernel, NULL};

/* Inputs: the variable, the value. */
static artel_status infer_store(artel__infer *infer)
{
    const artel__value *variable = infer->in[0], *value = infer->in[1];
    if (variable->dtype != value->dtype || variable->storage != value->storage || value->domain != ARTEL__DOMAIN_GLOBAL)
        return artel__op_fail(infer, "the value does not have the form of its variable");
    infer->outputs = 0;
    return ARTEL_OK;
}

static void fill_store(const artel__run_args *args, void *params)
{
    const artel__value *value = artel__args_in(args, 1);
    *(store_params *)params =
        (store_params){args->in[0], args->in[1], (size_t)value->storage * artel_dtype_size(value->dtype)};
}

static void lower_store(artel__lower *lower)
{
    artel__hlo_type type = artel__lower_in_type(lower, 0);
    lower->written[0] = artel__hlo_reshape(lower->hlo, lower->in[1], &type);
}

const artel__op_def artel__op_store_def = {
    .name = "store",
    .doc = "A variable of whole numbers or truth values becomes a value.",
    .infer = infer_store,
    .lower = lower_store,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = store_kernels,
            .params_size = sizeof(store_params),
            .fill = fill_store,
        },
};
