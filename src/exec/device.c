/* SPDX-License-Identifier: Apache-2.0 */
/* From the interface to the device that fills it in. */
#include "exec/device.h"

#include "base/clock.h"

struct artel__executable {
    artel_context *ctx;
    const artel__device *device;
    void *self;
};

struct artel__execution {
    artel_context *ctx;
    const artel__device_ops *ops;
    void *self;
};

#define MOST_BYTES 0x1p46 /* of one value, for all rows: beyond it sums of them may be no size any more */

static artel_status check_sizes(artel_context *ctx, const artel__graph *graph, const artel__plan_options *options)
{
    for (int i = 0; i < graph->values; i++) {
        const artel__value *value = &graph->value[i];
        double blocks = value->domain == ARTEL__DOMAIN_NODES    ? 2.0 * (double)options->shards
                        : value->domain == ARTEL__DOMAIN_GLOBAL ? 1
                                                                : (double)options->batch_size,
               bytes = blocks * (double)value->storage * (double)artel_dtype_size(value->dtype);
        if (bytes > MOST_BYTES)
            return artel__fail(ctx, ARTEL_ERROR_NO_MEMORY, "plan", "use a smaller batch or model",
                               "a value of %.3g bytes", bytes);
    }
    return ARTEL_OK;
}

artel_status artel__compile(artel_context *ctx, const artel__device *device, const artel__graph *graph,
                            const artel__plan_options *options, artel__executable **out)
{
    void *block;
    ARTEL_TRY(check_sizes(ctx, graph, options));
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof **out, "plan", &block));
    artel__executable *executable = block;
    *executable = (artel__executable){.ctx = ctx, .device = device};
    artel_status status = device->ops->compile(ctx, device->self, graph, options, &executable->self);
    if (status < 0) {
        artel__free(ctx, executable);
        return status;
    }
    *out = executable;
    return ARTEL_OK;
}

void artel__executable_destroy(artel__executable *executable)
{
    if (!executable) return;
    executable->device->ops->release(executable->self);
    artel__free(executable->ctx, executable);
}

const char *artel__executable_kernel(const artel__executable *executable, int32_t node, int64_t rows,
                                     double *operations)
{
    return executable->device->ops->kernel(executable->self, node, rows, operations);
}

void artel__executable_dump(const artel__executable *executable, artel__text *out)
{
    executable->device->ops->dump(executable->self, out);
}

bool artel__executable_exchange(const artel__executable *executable, int index, artel__exchange *out)
{
    return executable->device->ops->exchange(executable->self, index, out);
}

void artel__executable_summary(const artel__executable *executable, artel__text *out)
{
    if (executable->device->ops->summary) executable->device->ops->summary(executable->self, out);
}

bool artel__executable_programs(const artel__executable *executable, char out[65])
{
    return executable->device->ops->programs && executable->device->ops->programs(executable->self, out);
}

artel_status artel__execution_create(artel__executable *executable, const artel__execution_options *options,
                                     artel__execution **out)
{
    artel_context *ctx = executable->ctx;
    artel__execution_options own = *options;
    void *block;
    if (executable->device->ops->part)
        executable = executable->device->ops->part(executable->self, options->index, &own.index);
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof **out, "run", &block));
    artel__execution *execution = block;
    *execution = (artel__execution){.ctx = ctx, .ops = executable->device->ops};
    artel_status status = execution->ops->create(executable->self, &own, &execution->self);
    if (status < 0) {
        artel__free(ctx, execution);
        return status;
    }
    *out = execution;
    return ARTEL_OK;
}

void artel__execution_destroy(artel__execution *execution)
{
    if (!execution) return;
    execution->ops->destroy(execution->self);
    artel__free(execution->ctx, execution);
}

artel_status artel__execution_join(artel__execution *const *executions, int count)
{
    artel_context *ctx = executions[0]->ctx;
    const artel__device_ops *ops = executions[0]->ops;
    void *block;
    if (!ops->join)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device", "let every replica have its own variables",
                           "replicas on this kind of device cannot have common variables");
    ARTEL_TRY(artel__calloc(ctx, (size_t)count, sizeof(void *), "run", &block));
    void **own = block;
    for (int r = 0; r < count; r++) own[r] = executions[r]->self;
    artel_status status = ops->join(own, count);
    artel__free(ctx, own);
    return status;
}

void artel__execution_stop_when(artel__execution *execution, const atomic_bool *stop)
{
    execution->ops->stop_when(execution->self, stop);
}

artel_status artel__execution_compute(artel__execution *execution, const artel__step *step, const void *const *inputs)
{
    return execution->ops->compute(execution->self, step, inputs);
}

void artel__execution_apply(artel__execution *execution, const artel__step *step)
{
    execution->ops->apply(execution->self, step);
}

int artel__execution_sends(const artel__execution *execution)
{
    return execution->ops->sends ? execution->ops->sends(execution->self) : 0;
}

bool artel__execution_send(artel__execution *execution, const artel__fold_plan *fold, const void *const *inputs)
{
    return execution->ops->send && execution->ops->send(execution->self, fold, inputs);
}

const void *artel__execution_read(const artel__execution *execution, int n)
{
    return execution->ops->read(execution->self, n);
}

const artel__fault *artel__execution_fault(const artel__execution *execution)
{
    return execution->ops->fault(execution->self);
}

bool artel__execution_find_nonfinite(artel__execution *execution, const artel__step *step, const void *const *inputs,
                                     artel__nonfinite *out)
{
    return execution->ops->find_nonfinite(execution->self, step, inputs, out);
}

artel_status artel__execution_profile(artel__execution *execution)
{
    return execution->ops->profile(execution->self);
}

const artel__node_time *artel__execution_times(const artel__execution *execution)
{
    return execution->ops->times(execution->self);
}

void artel__note_time(artel__node_time *time, int64_t before)
{
    int64_t took = artel__now_ns() - before;
    time->ns += took;
    time->calls++;
    if (time->calls > 1 && took < time->longest_ns) return;
    time->longest_ns = took;
    time->begin_ns = before;
}
