/* SPDX-License-Identifier: Apache-2.0 */
/* torchrun and everything that speaks its variables (Kubeflow's PyTorchJob, accelerate, scripts).
 *
 *   RANK, WORLD_SIZE, MASTER_ADDR   required; MASTER_PORT (29500 when missing, torchrun's own default)
 *   LOCAL_RANK, LOCAL_WORLD_SIZE    taken when they are there
 *   TORCHELASTIC_USE_AGENT_STORE    "True": torchrun itself listens on MASTER_PORT of the master's host, so rank 0
 * takes the port after it
 *
 * Only rank 0's host is known, so the cluster has a rendezvous and no addresses. WORLD_SIZE without RANK is what people
 * export before srun: not ours. LOCAL_RANK's tasks share a host, hence one port each: only rank 0's is fixed.
 */
#include <string.h>

#include "cluster/resolver.h"

#define DEFAULT_PORT 29500

static bool applies(const artel__resolver_input *in)
{
    return artel__resolver_get(in, "RANK") && artel__resolver_get(in, "WORLD_SIZE") &&
           artel__resolver_get(in, "MASTER_ADDR");
}

static artel_status read_local(const artel__resolver_input *in, artel__cluster *out)
{
    int64_t rank, count;
    if (!artel__resolver_get(in, "LOCAL_RANK") || !artel__resolver_get(in, "LOCAL_WORLD_SIZE")) return ARTEL_OK;
    const artel__resolver_number wanted = {"LOCAL_WORLD_SIZE", 1, out->tasks};
    ARTEL_TRY(artel__resolver_int(in, &wanted, &count));
    const artel__resolver_number local = {"LOCAL_RANK", 0, count - 1};
    ARTEL_TRY(artel__resolver_int(in, &local, &rank));
    out->local_rank = (int)rank;
    out->local_count = (int)count;
    return ARTEL_OK;
}

static artel_status find_rendezvous(const artel__resolver_input *in, artel__cluster *out)
{
    const artel__resolver_number wanted = {"MASTER_PORT", 1, 65534};
    int64_t port = DEFAULT_PORT;
    const char *store, *master;
    if (in->options.rendezvous)
        return artel__resolver_set_rendezvous(out, ".rendezvous", in->options.rendezvous, in->options.port);
    if (artel__resolver_get(in, "MASTER_PORT")) ARTEL_TRY(artel__resolver_int(in, &wanted, &port));
    store = artel__resolver_get(in, "TORCHELASTIC_USE_AGENT_STORE");
    if (store && strcmp(store, "True") == 0) port++;
    master = artel__resolver_get(in, "MASTER_ADDR");
    if (!master)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "MASTER_ADDR", "name the host of rank 0",
                           "the variable is not set");
    return artel__resolver_set_rendezvous(out, "MASTER_ADDR", master, (int)port);
}

static artel_status resolve(const artel__resolver_input *in, artel__cluster *out)
{
    const artel__resolver_number wanted = {"WORLD_SIZE", 1, ARTEL__CLUSTER_MAX_TASKS};
    int64_t rank, count;
    ARTEL_TRY(artel__cluster_init(in->ctx, out, "torchrun", "RANK"));
    ARTEL_TRY(artel__resolver_int(in, &wanted, &count));
    const artel__resolver_number own = {"RANK", 0, count - 1};
    ARTEL_TRY(artel__resolver_int(in, &own, &rank));
    ARTEL_TRY(artel__resolver_add_unknown(out, rank, count));
    ARTEL_TRY(read_local(in, out));
    return count > 1 ? find_rendezvous(in, out) : ARTEL_OK;
}

const artel__resolver artel__resolver_torchrun = {"torchrun", applies, resolve};
