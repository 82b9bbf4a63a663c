/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as the environment of a launcher. A line is a letter for the variable and its value. A cluster
 * that is accepted can be shown, and the TF_CONFIG made from it reads back to the same tasks.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "fuzz/help_fuzz.h"

static const char *const names[] = {
    "TF_CONFIG",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_NODEID",
    "SLURM_DISTRIBUTION",
    "SLURM_DIST_PLANESIZE",
    "SLURM_JOB_NODELIST",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "RANK",
    "WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "LOCAL_RANK",
    "JOB_COMPLETION_INDEX",
    "HOSTNAME",
    "ARTEL_SERVICE",
    "ARTEL_WORKERS",
    "ARTEL_TASK",
    "ARTEL_RENDEZVOUS",
};

static const char *look(void *user, const char *name)
{
    char *const *values = user;
    for (size_t i = 0; i < ARTEL__COUNT(names); i++)
        if (strcmp(names[i], name) == 0) return values[i];
    return NULL;
}

static const char *only_config(void *user, const char *name)
{
    return strcmp(name, "TF_CONFIG") == 0 ? user : NULL;
}

static void check(artel_context *ctx, const artel__cluster *cluster)
{
    artel__text text;
    artel__cluster again;
    artel__text_init(&text, ctx);
    artel__cluster_describe(cluster, &text);
    artel__text_clear(&text);
    if (artel__cluster_to_json(cluster, &text) < 0) abort();
    artel__text_clear(&text);
    if (artel__cluster_tf_config(cluster, &cluster->self, &text) == ARTEL_OK) {
        if (artel__cluster_resolve(ctx, only_config, text.data, NULL, &again) < 0) {
            if (!cluster->sparse) abort();
        } else {
            if (again.tasks != cluster->tasks || again.rank != cluster->rank) abort();
            artel__cluster_fini(&again);
        }
    }
    artel__text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__cluster cluster;
    char *values[ARTEL__COUNT(names)] = {NULL}, *copy = malloc(size + 1), *rest = copy;
    if (!copy || artel_context_create(NULL, &ctx) < 0) {
        free(copy);
        return 0;
    }
    memcpy(copy, data, size);
    copy[size] = '\0';
    while (rest) {
        char *line = strsep(&rest, "\n");
        if (line[0]) values[(unsigned char)(line[0] - 'a') % ARTEL__COUNT(names)] = line + 1;
    }
    if (artel__cluster_resolve(ctx, look, values, NULL, &cluster) == ARTEL_OK) {
        check(ctx, &cluster);
        artel__cluster_fini(&cluster);
    }
    artel_context_destroy(ctx);
    free(copy);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    static const char *const text[] = {
        "a{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\", \"[::1]:2\"]}, \"task\": {\"type\": \"worker\", "
        "\"index\": \"1\"}}",
        "a{\"cluster\": {\"worker\": {\"0\": \"a:1\", \"3\": \"b:1\"}}, \"task\": {\"type\": \"worker\", \"index\": "
        "3}}",
        "b1\nc3\ndn[1-2,7]\ne2,1\nf0\ngblock",
        "j1\nk2\nl1\nm2\nrhost",
        "p1\nq4\nrhost\ns29500",
        "u1\nvjob-1\nwtrain\nx4",
    };
    return artel_fuzz_text(text, sizeof text / sizeof *text, number, out, room);
}
