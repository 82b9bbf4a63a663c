/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers that number their processes and that no resolver reads: each process would train alone, in silence, and write the same files.
 *
 * Such a process ends with the name of the variable, unless it was told how it works. One process, whatever numbers it, is no case.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/resolver.h"

typedef struct launcher {
    const char *name;
    const char *rank;   /* the variable that numbers the process */
    const char *size;   /* how many there are: a number, or a list with commas; NULL: not told */
    const char *unless; /* set where the same variables mean nothing; or NULL */
} launcher;

static const launcher launchers[] = {
    {"SageMaker", "SM_CURRENT_HOST", "SM_HOSTS", NULL},
    {"a launcher of PyTorch", "RANK", "WORLD_SIZE", NULL}, /* without MASTER_ADDR, or torchrun's resolver had it */
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL},
    {"MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"MPI", "PMI_RANK", "PMI_SIZE", NULL},
    {"PMIx", "PMIX_RANK", NULL, NULL},
    {"PALS", "PALS_RANKID", "PALS_SIZE", NULL},
    {"PALS", "PALS_RANKID", NULL, "PALS_SIZE"},
    {"ALPS", "ALPS_APP_PE", NULL, NULL},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", NULL},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", NULL},
    {"Horovod", "HOROVOD_RANK", "HOROVOD_SIZE", NULL},
    {"a TPU pod", "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", NULL},
    {"a TPU pod", "CLOUD_TPU_TASK_ID", "TPU_PROCESS_ADDRESSES", NULL},
    {"Vertex AI", "CLUSTER_SPEC", NULL, NULL},
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
    if (!artel__resolver_get(in, l->rank) || (l->unless && artel__resolver_get(in, l->unless))) return 0;
    const char *size = l->size ? artel__resolver_get(in, l->size) : NULL;
    if (!l->size) return -1;
    if (!size) return 0;
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
                           "describe the cluster in TF_CONFIG or with --cluster-file, or say --resolver none to work alone",
                           "this is one process%s of %s, which artel cannot read: each would work alone", many, l->name);
    }
    return ARTEL_OK;
}
