/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of this machine as a device: an executable is a plan, an execution a run and, where variables are common, those of all ranks. */
#include "exec/device.h"

#include "exec/cpu/plan_impl.h"

typedef struct cpu_execution {
    artel__run *run;
    artel__run **all; /* by rank; NULL unless joined */
} cpu_execution;

static artel_status compile(artel_context *ctx, void *device, const artel__graph *graph, const artel__plan_options *options, void **out)
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

static artel_status create(void *executable, const artel__execution_options *options, void **out)
{
    artel__plan *plan = executable;
    void *block;
    ARTEL_TRY(artel__calloc(plan->ctx, 1, sizeof(cpu_execution), "run", &block));
    cpu_execution *e = block;
    artel_status status = artel__run_create(plan, options->state, options->pool, options->comm, &e->run);
    if (status < 0) {
        artel__free(plan->ctx, e);
        return status;
    }
    *out = e;
    return ARTEL_OK;
}

static void destroy(void *execution)
{
    cpu_execution *e = execution;
    artel_context *ctx = e->run->ctx;
    artel__run_destroy(e->run);
    artel__free(ctx, e->all);
    artel__free(ctx, e);
}

static artel_status join(void *const *executions, int count)
{
    for (int r = 0; r < count; r++) {
        cpu_execution *e = executions[r];
        void *block;
        ARTEL_TRY(artel__calloc(e->run->ctx, (size_t)count, sizeof(artel__run *), "run", &block));
        artel__free(e->run->ctx, e->all);
        e->all = block;
        for (int k = 0; k < count; k++) e->all[k] = ((const cpu_execution *)executions[k])->run;
        ARTEL_TRY(artel__run_join(e->run, e->all, count));
    }
    return ARTEL_OK;
}

static void stop_when(void *execution, const atomic_bool *stop)
{
    artel__run_stop_when(((cpu_execution *)execution)->run, stop);
}

static artel_status compute(void *execution, const artel__step *step, const void *const *inputs)
{
    return artel__run_compute(((cpu_execution *)execution)->run, step, inputs);
}

static void apply(void *execution, const artel__step *step)
{
    artel__run_apply(((cpu_execution *)execution)->run, step);
}

static const void *read_kept(const void *execution, int kept)
{
    return artel__run_kept(((const cpu_execution *)execution)->run, kept);
}

static const artel__fault *fault(const void *execution)
{
    return artel__run_fault(((const cpu_execution *)execution)->run);
}

static bool find_nonfinite(void *execution, const artel__step *step, const void *const *inputs, artel__nonfinite *out)
{
    return artel__run_find_nonfinite(((cpu_execution *)execution)->run, step, inputs, out);
}

static artel_status profile(void *execution)
{
    return artel__run_profile(((cpu_execution *)execution)->run);
}

static const artel__node_time *times(const void *execution)
{
    return artel__run_times(((const cpu_execution *)execution)->run);
}

static const artel__device_ops ops = {
    .compile = compile,
    .release = release,
    .kernel = kernel,
    .dump = dump,
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
