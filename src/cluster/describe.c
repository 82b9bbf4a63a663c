/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster as text: lines for people, JSON for programs, TF_CONFIG for those it starts.
 *
 * Lines list at most SHOWN tasks; JSON lists all.
 */
#include <string.h>

#include "base/json.h"
#include "cluster/cluster.h"

#define SHOWN 64

static void describe_task(const artel__cluster *cluster, int i, artel__text *out)
{
    const artel__task *task = &cluster->task[i];
    char name[32];
    snprintf(name, sizeof name, "%s:%d", artel__task_type_name(task->type), (int)task->index);
    const char *address = task->address ? task->address : "address not known yet";
    artel__text_show(out, "  %-14s %s%s\n", name, address, i == cluster->self_at ? "  (this one)" : "");
}

void artel__cluster_describe(const artel__cluster *cluster, artel__text *out)
{
    artel__text_show(out, "cluster: from %s (resolver %s), %d task%s%s\n", cluster->where, cluster->resolver,
                     cluster->tasks, cluster->tasks == 1 ? "" : "s", cluster->sparse ? ", perhaps more" : "");
    artel__text_show(out, "this task: %s:%d", artel__task_type_name(cluster->self.type), (int)cluster->self.index);
    if (cluster->single)
        artel__text_append(out, ", alone: trains as a single process");
    else if (cluster->rank >= 0)
        artel__text_show(out, ", rank %d of %d", cluster->rank, cluster->trainers);
    if (cluster->is_chief && !cluster->single && cluster->rank >= 0) artel__text_append(out, ", writes the outputs");
    if (cluster->self_at < 0) artel__text_append(out, ", outside the cluster");
    artel__text_append(out, "\n");
    if (cluster->local_count > 0)
        artel__text_show(out, "on this host: %d of %d\n", cluster->local_rank, cluster->local_count);
    if (cluster->rendezvous) artel__text_show(out, "rendezvous: %s\n", cluster->rendezvous);
    for (int i = 0; i < cluster->tasks && i < SHOWN; i++) describe_task(cluster, i, out);
    if (cluster->tasks > SHOWN) artel__text_show(out, "  ... and %d more\n", cluster->tasks - SHOWN);
}

/* {"worker": ["a:1", ...]}, or {"worker": {"3": "a:1"}} where indices have gaps. NULL when memory is out. */
static json_t *jobs_json(const artel__cluster *cluster)
{
    json_t *jobs = json_object();
    for (int i = 0; jobs && i < cluster->tasks;) {
        artel__task_type type = cluster->task[i].type;
        int end = i;
        while (end < cluster->tasks && cluster->task[end].type == type) end++;
        bool dense = cluster->task[end - 1].index == end - 1 - i;
        json_t *job = dense ? json_array() : json_object();
        for (; i < end; i++) {
            const artel__task *task = &cluster->task[i];
            json_t *address = task->address ? json_string(task->address) : json_null();
            char key[16];
            snprintf(key, sizeof key, "%d", (int)task->index);
            if ((dense ? json_array_append_new(job, address) : json_object_set_new(job, key, address)) == 0) continue;
            json_decref(job);
            json_decref(jobs);
            return NULL;
        }
        if (json_object_set_new(jobs, artel__task_type_name(type), job) != 0) {
            json_decref(jobs);
            jobs = NULL;
        }
    }
    return jobs;
}

static artel_status write_json(artel__text *out, json_t *value)
{
    if (!value) return artel__fail_memory(out->ctx, "cluster", 0);
    artel_status status = artel__json_dump(value, 0, out);
    json_decref(value);
    return status == ARTEL_OK ? artel__text_status(out) : status;
}

artel_status artel__cluster_to_json(const artel__cluster *cluster, artel__text *out)
{
    json_t *value =
        json_pack("{s:s, s:s, s:{s:s, s:i}, s:i, s:i, s:b, s:b, s:b, s:s?, s:s?, s:o?}", "resolver", cluster->resolver,
                  "where", cluster->where, "task", "type", artel__task_type_name(cluster->self.type), "index",
                  (int)cluster->self.index, "rank", cluster->rank, "trainers", cluster->trainers, "chief",
                  cluster->is_chief, "single", cluster->single, "sparse", cluster->sparse, "rendezvous",
                  cluster->rendezvous, "environment", cluster->environment, "cluster", jobs_json(cluster));
    return write_json(out, value);
}

artel_status artel__cluster_tf_config(const artel__cluster *cluster, const artel__task *task, artel__text *out)
{
    for (int i = 0; i < cluster->tasks; i++) {
        if (cluster->task[i].address) continue;
        return artel__fail(out->ctx, ARTEL_ERROR_INVALID, cluster->where, "name every address",
                           "the address of %s %d is not known", artel__task_type_name(cluster->task[i].type),
                           (int)cluster->task[i].index);
    }
    json_t *value = json_pack("{s:o?, s:{s:s, s:i}}", "cluster", jobs_json(cluster), "task", "type",
                              artel__task_type_name(task->type), "index", (int)task->index);
    return write_json(out, value);
}
