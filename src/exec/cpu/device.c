/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of this machine as a device: an executable is a plan, an execution a run. */
#include "exec/device.h"

#include "exec/cpu/plan_impl.h"

static artel_status compile(artel_context *ctx, void *device, const artel__graph *graph,
                            const artel__plan_options *options, void **out)
{
    artel__plan *plan;
    (void)device;
    ARTEL_TRY(artel__plan_create(ctx, graph, options, &plan));
    *out = plan;
    return ARTEL_OK;
}

static void release(void *executable)
{
    artel__plan_destroy(executable);
}

static const char *kernel(const void *executable, int32_t node, int64_t rows, double *operations)
{
    return artel__plan_kernel(executable, node, rows, operations);
}

static void dump(const void *executable, artel__text *out)
{
    artel__plan_dump(executable, out);
}

static bool exchange(const void *executable, int index, artel__exchange *out)
{
    return artel__plan_exchange(executable, index, out);
}

static artel_status create(void *executable, const artel__execution_options *options, void **out)
{
    artel__run *run;
    ARTEL_TRY(artel__run_create(executable, options->state, options->pool, options->comm, &run));
    *out = run;
    return ARTEL_OK;
}

static void destroy(void *execution)
{
    artel__run_destroy(execution);
}

static artel_status join(void *const *executions, int count)
{
    for (int r = 0; r < count; r++) {
        ARTEL_TRY(artel__run_join(executions[r], count));
        for (int k = 0; k < count; k++) artel__run_meet(executions[r], k, executions[k]);
    }
    return ARTEL_OK;
}

static void stop_when(void *execution, const atomic_bool *stop)
{
    artel__run_stop_when(execution, stop);
}

static artel_status compute(void *execution, const artel__step *step, const void *const *inputs)
{
    return artel__run_compute(execution, step, inputs);
}

static void apply(void *execution, const artel__step *step)
{
    artel__run_apply(execution, step);
}

static const void *read_kept(const void *execution, int kept)
{
    return artel__run_kept(execution, kept);
}

static const artel__fault *fault(const void *execution)
{
    return artel__run_fault(execution);
}

static bool find_nonfinite(void *execution, const artel__step *step, const void *const *inputs, artel__nonfinite *out)
{
    return artel__run_find_nonfinite(execution, step, inputs, out);
}

static artel_status profile(void *execution)
{
    return artel__run_profile(execution);
}

static const artel__node_time *times(const void *execution)
{
    return artel__run_times(execution);
}

static const artel__device_ops ops = {
    .compile = compile,
    .release = release,
    .kernel = kernel,
    .dump = dump,
    .exchange = exchange,
    .create = create,
    .destroy = destroy,
    .join = join,
    .stop_when = stop_when,
    .compute = compute,
    .apply = apply,
    .read = read_kept,
    .fault = fault,
    .find_nonfinite = find_nonfinite,
    .profile = profile,
    .times = times,
};

const artel__device artel__cpu = {.name = "cpu", .ops = &ops};
