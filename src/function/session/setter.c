/* SPDX-License-Identifier: Apache-2.0 */
/* tf.compat.v1.train.replica_device_setter: variables onto parameter servers, one after another or where the fewest
 * bytes are (tensorflow/python/training/device_setter.py, contrib's GreedyLoadBalancingStrategy). */
#include <stdio.h>
#include <string.h>

#include "artel/session.h"
#include "function/function_impl.h"

struct artel_device_setter {
    artel_context *ctx;
    artel_setter_balance balance;
    artel__device_name ps, worker;
    char worker_text[ARTEL__DEVICE_TEXT];
    int servers;
    int64_t placed;
    double *load; /* by server: bytes */
};

#define OPTION(field) offsetof(artel_device_setter_options, field)
static const artel__range ranges[] = {{".ps_tasks", ARTEL__RANGE_INT, OPTION(ps_tasks), 0, 4096, NULL}, {.name = NULL}};
static const artel__options_kind kind = {"device setter options", "begin with ARTEL_DEVICE_SETTER_OPTIONS_INIT",
                                         sizeof(artel_device_setter_options), ranges};

static artel_status make(artel_device_setter *d, const artel_device_setter_options *o)
{
    void *block;
    if (o->balance != ARTEL_SETTER_ROUND_ROBIN && o->balance != ARTEL_SETTER_GREEDY)
        return artel__fail(d->ctx, ARTEL_ERROR_INVALID, "device setter options", "see artel/session.h",
                           ".balance %d is none", (int)o->balance);
    d->balance = o->balance;
    d->servers = o->ps_tasks;
    ARTEL_TRY(artel__device_name_read(d->ctx, o->ps_device ? o->ps_device : "/job:ps", &d->ps));
    ARTEL_TRY(artel__device_name_read(d->ctx, o->worker_device ? o->worker_device : "/job:worker", &d->worker));
    artel__device_name_write(&d->worker, d->worker_text);
    ARTEL_TRY(artel__calloc(d->ctx, (size_t)d->servers + 1, sizeof *d->load, "device setter", &block));
    d->load = block;
    return ARTEL_OK;
}

artel_status artel_device_setter_create(artel_context *ctx, const artel_device_setter_options *options,
                                        artel_device_setter **out)
{
    artel_device_setter_options chosen = ARTEL_DEVICE_SETTER_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context out", ctx, out));
    ARTEL_TRY(artel__take_options(ctx, &kind, options, &chosen));
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_device_setter), "device setter", &block));
    artel_device_setter *made = block;
    made->ctx = ctx;
    artel_status status = make(made, &chosen);
    if (status < 0) {
        artel_device_setter_destroy(made);
        return status;
    }
    *out = made;
    return ARTEL_OK;
}

void artel_device_setter_destroy(artel_device_setter *d)
{
    if (!d) return;
    artel__free(d->ctx, d->load);
    artel__free(d->ctx, d);
}

static double bytes_of(const artel_variable *v)
{
    return (double)artel__variable_bytes(&v->strategy->variables.item[v->index]);
}

/* The server that has the next variable. */
static int choose(artel_device_setter *d, const artel_variable *v)
{
    int best = 0;
    if (d->balance == ARTEL_SETTER_ROUND_ROBIN) return (int)(d->placed++ % d->servers);
    for (int i = 1; i < d->servers; i++) best = d->load[i] < d->load[best] ? i : best;
    d->load[best] += bytes_of(v);
    return best;
}

static artel_status place(artel_device_setter *d, artel_variable *v)
{
    char text[ARTEL__DEVICE_TEXT];
    artel__device_name name = d->servers ? d->ps : d->worker;
    if (d->servers && name.task < 0) name.task = choose(d, v);
    if (v->device_text) name = artel__device_name_merge(&name, &v->device);
    artel__device_name_write(&name, text);
    return artel_variable_set_device(v, text);
}

artel_status artel_device_setter_place(artel_device_setter *d, artel_variable *const *variables, int count)
{
    ARTEL_TRY(artel__enter(d ? d->ctx : NULL, __func__, "setter variables", d, variables));
    if (count < 0)
        return artel__fail(d->ctx, ARTEL_ERROR_INVALID, "device setter", "count the variables", "%d variables", count);
    for (int i = 0; i < count; i++) {
        if (!variables[i] || variables[i]->strategy->ctx != d->ctx)
            return artel__fail(d->ctx, ARTEL_ERROR_INVALID, "device setter", "give variables of the setter's context",
                               "variable %d is %s", i, variables[i] ? "another context's" : "NULL");
        ARTEL_TRY(artel__words_refuse(variables[i], "devices"));
        ARTEL_TRY(place(d, variables[i]));
    }
    return ARTEL_OK;
}

const char *artel_device_setter_worker(const artel_device_setter *d)
{
    return d ? d->worker_text : "";
}
