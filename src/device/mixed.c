/* SPDX-License-Identifier: Apache-2.0 */
/* Handing on what is asked for to the processors' half, or to the devices'. */
#include "device/mixed.h"

typedef struct both {
    artel_context *ctx;
    const artel__mixture *mixture;
    artel__executable *cores, *devices;
} both;

bool artel__mixture_is_core(const artel__mixture *mixture, int replica)
{
    return mixture->core[replica % mixture->count];
}

/* -- executables -- */

static void release(void *executable)
{
    both *x = executable;
    artel__executable_destroy(x->cores);
    artel__executable_destroy(x->devices);
    artel__free(x->ctx, x);
}

static artel_status compile(artel_context *ctx, void *device, const artel__graph *graph,
                            const artel__plan_options *options, void **out)
{
    const artel__mixture *mixture = device;
    artel__plan_options staged = *options;
    void *block;
    staged.staged = true;
    staged.lends = false;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(both), "device", &block));
    both *x = block;
    *x = (both){.ctx = ctx, .mixture = mixture};
    artel_status status = artel__compile(ctx, &mixture->devices, graph, options, &x->devices);
    if (status == ARTEL_OK) status = artel__compile(ctx, &artel__cpu, graph, &staged, &x->cores);
    if (status < 0)
        release(x);
    else
        *out = x;
    return status;
}

/* That of the first replica, whose times a profile shows. */
static const char *kernel(const void *executable, int32_t node, int64_t rows, double *operations)
{
    const both *x = executable;
    return artel__executable_kernel(artel__mixture_is_core(x->mixture, 0) ? x->cores : x->devices, node, rows,
                                    operations);
}

static void dump(const void *executable, artel__text *out)
{
    const both *x = executable;
    artel__text_append(out, "on processors\n");
    artel__executable_dump(x->cores, out);
    artel__text_append(out, "on devices\n");
    artel__executable_dump(x->devices, out);
}

static bool exchange(const void *executable, int index, artel__exchange *out)
{
    return artel__executable_exchange(((const both *)executable)->devices, index, out);
}

static void summary(const void *executable, artel__text *out)
{
    artel__executable_summary(((const both *)executable)->devices, out);
}

static bool programs(const void *executable, char out[65])
{
    return artel__executable_programs(((const both *)executable)->devices, out);
}

/* -- executions -- */

static artel_status create(void *executable, const artel__execution_options *options, void **out)
{
    both *x = executable;
    artel__execution_options own = *options;
    artel__execution *inner;
    bool core = artel__mixture_is_core(x->mixture, options->index);
    for (int r = own.index = 0; r < options->index; r++) own.index += artel__mixture_is_core(x->mixture, r) == core;
    ARTEL_TRY(artel__execution_create(core ? x->cores : x->devices, &own, &inner));
    *out = inner;
    return ARTEL_OK;
}

static void destroy(void *execution)
{
    artel__execution_destroy(execution);
}

static void stop_when(void *execution, const atomic_bool *stop)
{
    artel__execution_stop_when(execution, stop);
}

static artel_status compute(void *execution, const artel__step *step, const void *const *inputs)
{
    return artel__execution_compute(execution, step, inputs);
}

static void apply(void *execution, const artel__step *step)
{
    artel__execution_apply(execution, step);
}

static int sends(const void *execution)
{
    return artel__execution_sends(execution);
}

static void send(void *execution, const artel__fold_plan *fold, const void *const *inputs)
{
    artel__execution_send(execution, fold, inputs);
}

static const void *read_kept(const void *execution, int kept)
{
    return artel__execution_read(execution, kept);
}

static const artel__fault *fault(const void *execution)
{
    return artel__execution_fault(execution);
}

static bool find_nonfinite(void *execution, const artel__step *step, const void *const *inputs, artel__nonfinite *out)
{
    return artel__execution_find_nonfinite(execution, step, inputs, out);
}

static artel_status profile(void *execution)
{
    return artel__execution_profile(execution);
}

static const artel__node_time *times(const void *execution)
{
    return artel__execution_times(execution);
}

const artel__device_ops artel__mixed_device_ops = {
    .compile = compile,
    .release = release,
    .kernel = kernel,
    .dump = dump,
    .exchange = exchange,
    .summary = summary,
    .programs = programs,
    .create = create,
    .destroy = destroy,
    .stop_when = stop_when,
    .compute = compute,
    .apply = apply,
    .sends = sends,
    .send = send,
    .read = read_kept,
    .fault = fault,
    .find_nonfinite = find_nonfinite,
    .profile = profile,
    .times = times,
};
