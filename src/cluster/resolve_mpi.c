/* SPDX-License-Identifier: Apache-2.0 */
/* mpirun: Open MPI's OMPI_COMM_WORLD_*, and PMI_* of MPICH, Intel MPI and whatever else starts with Hydra.
 *
 * MPI's own wire-up is not used, only its numbering. The variables say how many processes there are and which this is,
 * and how many share the host (OMPI_COMM_WORLD_LOCAL_*, MPI_LOCAL*), but no host names. Rank 0 is met
 *   1. at --rendezvous or ARTEL_RENDEZVOUS;
 *   2. at MASTER_ADDR[:MASTER_PORT], as people pass it (mpirun -x MASTER_ADDR=...);
 *   3. on this host, when all processes are on it: then every address is known, 127.0.0.1 and ports from --port on;
 *   4. on the first host of a Slurm allocation, where mpirun puts rank 0;
 * otherwise it must be given. Hydra's processes have PMI_RANK too when srun starts them: see applies().
 */
#include <string.h>

#include "cluster/resolver.h"

typedef struct variables {
    const char *rank, *size, *local_rank, *local_size;
} variables;

static const variables open_mpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                                   "OMPI_COMM_WORLD_LOCAL_SIZE"};
static const variables hydra = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

static const variables *find_variables(const artel__resolver_input *in)
{
    if (artel__resolver_get(in, open_mpi.rank) && artel__resolver_get(in, open_mpi.size)) return &open_mpi;
    return artel__resolver_get(in, hydra.rank) && artel__resolver_get(in, hydra.size) ? &hydra : NULL;
}

/* Two variables that are both set and equal; *other is copied because a lookup may reuse its buffer. */
static bool agree(const artel__resolver_input *in, const char *a, const char *b)
{
    char first[32];
    const char *value = artel__resolver_get(in, a);
    if (!value || strlen(value) >= sizeof first) return false;
    strcpy(first, value);
    value = artel__resolver_get(in, b);
    return value && strcmp(first, value) == 0;
}

/* srun --mpi sets MPI's variables for its own tasks: equal numbers, and Slurm knows more. mpirun within a Slurm
 * allocation starts its daemons with srun, one a node, which count differently. */
static bool applies(const artel__resolver_input *in)
{
    const variables *v = find_variables(in);
    return v && !(agree(in, v->rank, "SLURM_PROCID") && agree(in, v->size, "SLURM_STEP_NUM_TASKS"));
}

static artel_status read_local(const artel__resolver_input *in, const variables *v, artel__cluster *out, int64_t size)
{
    int64_t rank, count;
    if (!artel__resolver_get(in, v->local_rank) || !artel__resolver_get(in, v->local_size)) return ARTEL_OK;
    const artel__resolver_number counts = {v->local_size, 1, size};
    ARTEL_TRY(artel__resolver_int(in, &counts, &count));
    const artel__resolver_number ranks = {v->local_rank, 0, count - 1};
    ARTEL_TRY(artel__resolver_int(in, &ranks, &rank));
    out->local_rank = (int)rank;
    out->local_count = (int)count;
    return ARTEL_OK;
}

static artel_status add_local(const artel__resolver_input *in, artel__cluster *out, int64_t rank, int64_t size)
{
    if (in->options.port + size - 1 > 65535)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, out->where,
                           "start fewer processes on this host, or set .port lower",
                           "there are not enough ports (%lld from %d on)", (long long)size, in->options.port);
    for (int64_t i = 0; i < size; i++) {
        const char *address = artel__host_port_format(&out->arena, "127.0.0.1", in->options.port + (int)i);
        ARTEL_TRY(artel__arena_status(&out->arena));
        ARTEL_TRY(artel__cluster_add(out, ARTEL__TASK_WORKER, i, address));
    }
    artel__cluster_set_self(out, ARTEL__TASK_WORKER, (int32_t)rank);
    return ARTEL_OK;
}

static artel_status from_master(const artel__resolver_input *in, artel__cluster *out)
{
    const artel__resolver_number wanted = {"MASTER_PORT", 1, 65535};
    int64_t port = in->options.port;
    if (artel__resolver_get(in, "MASTER_PORT")) ARTEL_TRY(artel__resolver_int(in, &wanted, &port));
    return artel__resolver_set_rendezvous(out, "MASTER_ADDR", artel__resolver_get(in, "MASTER_ADDR"), (int)port);
}

static artel_status from_slurm(const artel__resolver_input *in, const char *name, artel__cluster *out)
{
    artel__hostlist hosts;
    ARTEL_TRY(artel__hostlist_expand(&out->arena, name, artel__resolver_get(in, name), &hosts));
    return artel__resolver_set_rendezvous(out, name, hosts.host[0], in->options.port);
}

static artel_status resolve(const artel__resolver_input *in, artel__cluster *out)
{
    static const char *const lists[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST", NULL};
    const variables *v = find_variables(in);
    int64_t rank, size;
    if (!v) v = &open_mpi;
    ARTEL_TRY(artel__cluster_init(in->ctx, out, "mpi", v->rank));
    const artel__resolver_number sizes = {v->size, 1, ARTEL__CLUSTER_MAX_TASKS};
    ARTEL_TRY(artel__resolver_int(in, &sizes, &size));
    const artel__resolver_number ranks = {v->rank, 0, size - 1};
    ARTEL_TRY(artel__resolver_int(in, &ranks, &rank));
    ARTEL_TRY(read_local(in, v, out, size));
    const char *given = in->options.rendezvous, *value;
    bool named = given || artel__resolver_get(in, "MASTER_ADDR");
    if (!named && size > 1 && out->local_count == size) return add_local(in, out, rank, size);
    ARTEL_TRY(artel__resolver_add_unknown(out, rank, size));
    if (size == 1) return ARTEL_OK;
    if (given) return artel__resolver_set_rendezvous(out, ".rendezvous", given, in->options.port);
    if (named) return from_master(in, out);
    const char *list = artel__resolver_first(in, lists, &value);
    if (list) return from_slurm(in, list, out);
    return artel__fail(
        in->ctx, ARTEL_ERROR_INVALID, out->where,
        "name the host of rank 0: mpirun -x MASTER_ADDR=HOST (Hydra: -genv MASTER_ADDR HOST), or .rendezvous HOST:PORT",
        "this is rank %lld of %lld, and mpirun does not say where rank 0 runs", (long long)rank, (long long)size);
}

const artel__resolver artel__resolver_mpi = {"mpi", applies, resolve};
