/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers that number their processes and that no resolver reads: each process would train alone, in silence, and
 * write the same files.
 *
 * Such a process ends with the name of the variable, unless it was told how it works. One process, whatever numbers it,
 * is no case: how many there are is then said to be 1; or, by launchers that do not always say it, the number is 0.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/resolver.h"

typedef struct launcher {
    const char *name;
    const char *rank; /* the variable that numbers the process */
    const char *size; /* how many there are: a number, or a list with commas; NULL: not told */
    enum {
        SAYS_SIZE,   /* always: where the size is missing, somebody has taken it away */
        MAY_SAY_IT,  /* number 0 without a size may be the only one */
        COMMON_NAME, /* a name that many a script uses: without the size it says nothing */
    } kind;
} launcher;

static const launcher launchers[] = {
    {"SageMaker", "SM_CURRENT_HOST", "SM_HOSTS", SAYS_SIZE},
    {"a launcher of PyTorch", "RANK", "WORLD_SIZE",
     COMMON_NAME}, /* without MASTER_ADDR, or torchrun's resolver had it */
    {"Kubeflow's trainer", "PET_NODE_RANK", "PET_NNODES", MAY_SAY_IT},
    {"a launcher of JAX", "PROCESS_ID", "NUM_PROCESSES", COMMON_NAME},
    {"a launcher of JAX", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", MAY_SAY_IT},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", SAYS_SIZE},
    {"MVAPICH", "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", SAYS_SIZE},
    {"MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", SAYS_SIZE},
    {"MPI", "PMI_RANK", "PMI_SIZE", SAYS_SIZE},
    {"MPI", "MPI_RANKID", "MPI_NRANKS", MAY_SAY_IT},
    {"PMIx", "PMIX_RANK", NULL, SAYS_SIZE},
    {"PALS", "PALS_RANKID", "PALS_SIZE", SAYS_SIZE},
    {"ALPS", "ALPS_APP_PE", NULL, SAYS_SIZE},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", SAYS_SIZE},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", SAYS_SIZE},
    {"Horovod", "HOROVOD_RANK", "HOROVOD_SIZE", SAYS_SIZE},
    {"a TPU pod", "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", MAY_SAY_IT},
    {"a TPU pod", "CLOUD_TPU_TASK_ID", "TPU_PROCESS_ADDRESSES", MAY_SAY_IT},
    {"slices of TPUs", "MEGASCALE_SLICE_ID", "MEGASCALE_NUM_SLICES", MAY_SAY_IT},
    {"a LeaderWorkerSet", "LWS_WORKER_INDEX", "LWS_GROUP_SIZE", MAY_SAY_IT},
    {"Vertex AI", "CLUSTER_SPEC", NULL, SAYS_SIZE},
    {"AWS Batch", "AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES", SAYS_SIZE},
    {"Volcano", "VC_TASK_INDEX", "VC_WORKER_NUM", MAY_SAY_IT},
    {"Paddle", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", MAY_SAY_IT},
    {"a launcher of DMLC", "DMLC_WORKER_ID", "DMLC_NUM_WORKER", MAY_SAY_IT},
};

/* Of a number itself, or of the entries of a list; 0: neither. */
static int64_t count_of(const char *text)
{
    int64_t count = 1;
    if (artel__parse_int64(text, &count)) return count;
    for (const char *c = text; *c; c++) count += *c == ',';
    return count;
}

/* How many processes it has started; 0: this one is not of it, or the only one; -1: not known. */
static int64_t processes_of(const artel__resolver_input *in, const launcher *l)
{
    const char *rank = artel__resolver_get(in, l->rank);
    if (!rank) return 0;
    int64_t number;
    bool others = artel__parse_int64(rank, &number) && number > 0; /* there is a number 0, too */
    const char *size = l->size ? artel__resolver_get(in, l->size) : NULL;
    if (!size) return l->kind == SAYS_SIZE || (l->kind == MAY_SAY_IT && others) ? -1 : 0;
    int64_t count = count_of(size);
    return count > 1 ? count : 0;
}

artel_status artel__resolver_refuse_unread(const artel__resolver_input *in)
{
    for (size_t i = 0; i < ARTEL__COUNT(launchers); i++) {
        const launcher *l = &launchers[i];
        int64_t count = processes_of(in, l);
        char many[48] = "";
        if (count == 0) continue;
        if (count > 0) snprintf(many, sizeof many, " of %lld", (long long)count);
        return artel__fail(in->ctx, ARTEL_ERROR_UNSUPPORTED, l->rank,
                           "describe the cluster in TF_CONFIG or with .file, or say .resolver none to work alone",
                           "this is one process%s of %s, which artel cannot read: each would work alone", many,
                           l->name);
    }
    return ARTEL_OK;
}
