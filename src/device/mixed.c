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
    return mixture->core[replica];
}

bool artel__mixture_divide(artel__mixture *mixture, int32_t shards)
{
    int64_t all = 0, before = 0;
    bool each = true;
    for (int r = 0; r < mixture->count; r++) all += mixture->share[r];
    for (int r = 0; r <= mixture->count; r++) {
        mixture->start[r] = (int32_t)(before * shards / all);
        each = each && (r == 0 || mixture->start[r] > mixture->start[r - 1]);
        before += r < mixture->count ? mixture->share[r] : 0;
    }
    return each;
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

/* Of the processors' half or the devices', each counts its own. */
static artel__executable *part(void *executable, int index, int *own_index)
{
    both *x = executable;
    bool core = artel__mixture_is_core(x->mixture, index);
    *own_index = 0;
    for (int r = 0; r < index; r++) *own_index += artel__mixture_is_core(x->mixture, r) == core;
    return core ? x->cores : x->devices;
}

const artel__device_ops artel__mixed_device_ops = {
    .compile = compile,
    .release = release,
    .kernel = kernel,
    .dump = dump,
    .exchange = exchange,
    .summary = summary,
    .programs = programs,
    .part = part,
};
