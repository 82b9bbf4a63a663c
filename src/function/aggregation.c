/* SPDX-License-Identifier: Apache-2.0 */
/* How rows that are written become the value of a variable: tf.VariableAggregation and tf.VariableSynchronization.
 *
 * A copy a replica, put together when it is read, would hold what depends on which replica has a row, and would be lost
 * with it. Sums, means and the first one are linear, so what rows add may be put together in the exchange of its run as
 * well as later: a variable on_read is the aggregate after every run, on all replicas, and there is nothing to put
 * together when it is read. */
#include <string.h>

#include "function/function_impl.h"

static const char *const aggregations[ARTEL__AGGREGATIONS] = {"none", "sum", "mean", "only_first_replica"};
static const char *const synchronizations[ARTEL__SYNCHRONIZATIONS] = {"on_write", "on_read"};

static int find(const char *const *names, int count, const char *name)
{
    int found = 0;
    while (found < count && strcmp(names[found], name) != 0) found++;
    return found;
}

static artel_status read_aggregation(artel_context *ctx, const artel_variable_options *o, artel__aggregation *out)
{
    int found = o->aggregation ? find(aggregations, ARTEL__AGGREGATIONS, o->aggregation) : ARTEL__AGGREGATION_NONE;
    *out = (artel__aggregation)found;
    if (found < ARTEL__AGGREGATIONS) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, o->name, "use none, sum, mean or only_first_replica",
                       "an aggregation '%s'", o->aggregation);
}

static artel_status read_synchronization(artel_context *ctx, const artel_variable_options *o,
                                         artel__synchronization *out)
{
    const char *name = o->synchronization;
    bool decided = !name || strcmp(name, "auto") == 0;
    int found = decided ? ARTEL__SYNCHRONIZATION_ON_WRITE : find(synchronizations, ARTEL__SYNCHRONIZATIONS, name);
    *out = (artel__synchronization)found;
    if (found < ARTEL__SYNCHRONIZATIONS) return ARTEL_OK;
    bool none = strcmp(name, "none") == 0;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, o->name, "use auto, on_write or on_read", "%s'%s'%s",
                       none ? "the synchronization " : "a synchronization ", name,
                       none ? ", under which replicas would differ" : "");
}

artel_status artel__joining_read(artel_context *ctx, const artel_variable_options *o, artel__joining *out)
{
    ARTEL_TRY(read_aggregation(ctx, o, &out->aggregation));
    ARTEL_TRY(read_synchronization(ctx, o, &out->synchronization));
    bool on_read = out->synchronization == ARTEL__SYNCHRONIZATION_ON_READ;
    if (o->dtype == ARTEL_DTYPE_STRING && (out->aggregation != ARTEL__AGGREGATION_NONE || on_read))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, o->name, "leave it out",
                           "strings have no sum, no mean and no aggregation");
    if (out->aggregation != ARTEL__AGGREGATION_NONE || !on_read) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, o->name, "use the aggregation sum, mean or only_first_replica",
                       "synchronised on_read and without an aggregation it could not be read");
}

const char *artel__joining_aggregation(const artel__joining *j)
{
    return j->aggregation == ARTEL__AGGREGATION_NONE ? NULL : aggregations[j->aggregation];
}

const char *artel__joining_synchronization(const artel__joining *j)
{
    return j->synchronization == ARTEL__SYNCHRONIZATION_ON_WRITE ? NULL : synchronizations[j->synchronization];
}
