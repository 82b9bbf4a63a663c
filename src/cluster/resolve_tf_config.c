/* SPDX-License-Identifier: Apache-2.0 */
/* TF_CONFIG, as TensorFlow reads it and as Kubeflow's TFJob writes it.
 *
 *   {"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": {"0": "d:1"}}, "task": {"type": "worker", "index":
 * 0}, "environment": "cloud", "rpc_layer": "grpc"}
 *
 * TFJob with dynamic workers writes "sparseCluster" instead of "cluster": the task itself and the parameter servers (a
 * parameter server finds only itself there, at place 0 whatever its index). Its evaluator is never in the cluster.
 * Keys that TensorFlow ignores are ignored; "master" is TensorFlow 1's chief. Unlike Python's int(), an index is a
 * whole number or a string of digits, nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_written.h"
#include "cluster/resolver.h"

static artel_status wrong_kind(const artel__cluster *out, const char *what, const char *expected)
{
    return artel__fail(out->arena.ctx, ARTEL_ERROR_INVALID, out->where, "see docs/cluster.md for the form",
                       "%s is not %s", what, expected);
}

static bool read_index(const json_t *value, int64_t *out)
{
    if (!json_is_string(value)) return artel__json_integer(value, out);
    return artel__parse_int64(json_string_value(value), out);
}

static artel_status add_list(artel__cluster *out, artel__task_type type, const json_t *list)
{
    size_t i;
    json_t *address;
    json_array_foreach(list, i, address)
    {
        if (!json_is_string(address)) return wrong_kind(out, "an address", "a string like \"host:port\"");
        ARTEL_TRY(artel__cluster_add(out, type, (int64_t)i, json_string_value(address)));
    }
    return ARTEL_OK;
}

static artel_status add_map(artel__cluster *out, artel__task_type type, json_t *map)
{
    const char *key;
    json_t *address;
    int64_t index, highest = -1;
    json_object_foreach(map, key, address)
    {
        if (!artel__parse_int64(key, &index) || index < 0)
            return artel__fail(out->arena.ctx, ARTEL_ERROR_INVALID, out->where, "use the task's index as the key",
                               "\"%.40s\" is no index of a %s", key, artel__task_type_name(type));
        if (!json_is_string(address)) return wrong_kind(out, "an address", "a string like \"host:port\"");
        ARTEL_TRY(artel__cluster_add(out, type, index, json_string_value(address)));
        if (index > highest) highest = index;
    }
    bool gaps = highest + 1 > (int64_t)json_object_size(map);
    if (gaps && json_object_size(map) == 1) out->sparse = true; /* itself alone, as TFJob writes it: there are others */
    out->gaps = out->gaps || gaps;
    return ARTEL_OK;
}

artel_status artel__resolver_add_jobs(artel__cluster *out, const json_t *jobs)
{
    const char *name;
    json_t *tasks;
    json_object_foreach((json_t *)jobs, name, tasks)
    {
        artel__task_type type;
        if (!artel__task_type_find(name, &type))
            return artel__fail(out->arena.ctx, ARTEL_ERROR_INVALID, out->where,
                               "the types are chief (or master), worker, ps, evaluator",
                               "the cluster has tasks of the unknown type \"%.60s\"", name);
        if (json_is_null(tasks)) continue; /* Go's empty list */
        if (json_is_array(tasks))
            ARTEL_TRY(add_list(out, type, tasks));
        else if (json_is_object(tasks))
            ARTEL_TRY(add_map(out, type, tasks));
        else
            return wrong_kind(out, name, "a list of addresses, or an object from indices to addresses");
    }
    return ARTEL_OK;
}

artel_status artel__resolver_set_task(artel__cluster *out, const json_t *task)
{
    artel_context *ctx = out->arena.ctx;
    const json_t *type = json_object_get(task, "type"), *index = json_object_get(task, "index");
    artel__task_type found;
    int64_t number;
    if (!json_is_object(task)) return wrong_kind(out, "task", "an object {\"type\": ..., \"index\": ...}");
    if (!type || !index)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, out->where,
                           "say which task this is: \"task\": {\"type\": \"worker\", \"index\": 0}", "task has no %s",
                           type ? "index" : "type");
    if (!json_is_string(type)) return wrong_kind(out, "the task's type", "a string");
    if (!artel__task_type_find(json_string_value(type), &found))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, out->where,
                           "the types are chief (or master), worker, ps, evaluator",
                           "this task is of the unknown type \"%.60s\"", json_string_value(type));
    if (!read_index(index, &number)) return wrong_kind(out, "the task's index", "a whole number");
    if (number < 0 || number > ARTEL__CLUSTER_MAX_INDEX)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, out->where, "number the tasks of a type from 0",
                           "the task's index is impossible (found %lld, expected 0 to %d)", (long long)number,
                           ARTEL__CLUSTER_MAX_INDEX);
    artel__cluster_set_self(out, found, (int32_t)number);
    return ARTEL_OK;
}

/* TFJob gives a parameter server of a dynamic job a list that holds only itself. */
static void place_lone_server(artel__cluster *out)
{
    if (out->self.type == ARTEL__TASK_PS && out->tasks == 1 && out->task[0].type == ARTEL__TASK_PS)
        out->task[0].index = out->self.index;
}

static artel_status read_environment(artel__cluster *out, const json_t *config)
{
    const json_t *environment = json_object_get(config, "environment");
    if (!json_is_string(environment)) return ARTEL_OK;
    out->environment = artel__arena_strdup(&out->arena, json_string_value(environment));
    return artel__arena_status(&out->arena);
}

static artel_status read_config(const artel__resolver_input *in, const json_t *config, artel__cluster *out)
{
    const json_t *cluster = json_object_get(config, "cluster"), *task = json_object_get(config, "task");
    if (!json_is_object(config)) return wrong_kind(out, "the value", "a JSON object");
    ARTEL_TRY(read_environment(out, config));
    if (!cluster || json_is_null(cluster)) {
        cluster = json_object_get(config, "sparseCluster");
        out->sparse = json_is_object(cluster);
    }
    if (cluster && !json_is_null(cluster) && !json_is_object(cluster))
        return wrong_kind(out, "cluster", "an object from task types to addresses");
    if (json_object_size(cluster) == 0 && !out->sparse) { /* TensorFlow's single-worker mode */
        artel__cluster_set_self(out, ARTEL__TASK_WORKER, 0);
        return artel__cluster_add(out, ARTEL__TASK_WORKER, 0, NULL);
    }
    ARTEL_TRY(artel__resolver_add_jobs(out, cluster));
    if (in->options.task)
        ARTEL_TRY(artel__resolver_set_given_task(out, in->options.task));
    else if (task && !json_is_null(task))
        ARTEL_TRY(artel__resolver_set_task(out, task));
    else
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, out->where,
                           "say which task this is: \"task\": {\"type\": \"worker\", \"index\": 0}",
                           "there is a cluster but no task");
    if (json_object_get(config, "sparseCluster")) place_lone_server(out);
    return ARTEL_OK;
}

static bool applies(const artel__resolver_input *in)
{
    return artel__resolver_get(in, "TF_CONFIG") != NULL;
}

static artel_status resolve(const artel__resolver_input *in, artel__cluster *out)
{
    const char *text = artel__resolver_get(in, "TF_CONFIG");
    json_t *config = NULL;
    ARTEL_TRY(artel__cluster_init(in->ctx, out, "tf-config", "TF_CONFIG"));
    if (!text) text = "{}";
    ARTEL_TRY(artel__json_load_written(in->ctx, "TF_CONFIG", text, strlen(text), &config));
    artel_status status = read_config(in, config, out);
    json_decref(config);
    return status;
}

const artel__resolver artel__resolver_tf_config = {"tf-config", applies, resolve};
