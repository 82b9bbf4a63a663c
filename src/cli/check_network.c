/* SPDX-License-Identifier: Apache-2.0 */
/* Printing what artel__measure finds. */
#include "base/text.h"
#include "cli/check_network.h"

#include "base/json.h"

static void print_lines(const artel__cluster *cluster, const artel__measured *found)
{
    for (int r = 0; r < cluster->trainers; r++) {
        const artel__task *task = &cluster->task[r];
        const artel__measured *f = &found[r];
        char name[32];
        if (r == cluster->rank) continue;
        snprintf(name, sizeof name, "%s:%d", artel__task_type_name(task->type), (int)task->index);
        artel__show(stdout, "  %-14s %-22s ", name, task->address);
        if (f->reached)
            artel__show(stdout, "%.3g ms, %.0f MB/s there, %.0f MB/s back, %s\n", f->latency * 1e3, f->out * 1e-6,
                        f->in * 1e-6,
                        f->shared   ? "memory"
                        : f->secure ? "sockets, encrypted"
                                    : "sockets, plaintext");
        else
            artel__show(stdout, "not reached: %s\n", f->why);
    }
}

static json_t *task_json(const artel__task *task, const artel__measured *f)
{
    char name[32];
    snprintf(name, sizeof name, "%s:%d", artel__task_type_name(task->type), (int)task->index);
    if (!f->reached)
        return json_pack("{s:s, s:s, s:b, s:s}", "task", name, "address", task->address, "reached", 0, "why", f->why);
    return json_pack("{s:s, s:s, s:b, s:s, s:b, s:f, s:f, s:f}", "task", name, "address", task->address, "reached", 1,
                     "path", f->shared ? "memory" : "sockets", "encrypted", f->secure, "latency_ms", f->latency * 1e3,
                     "bytes_per_second_there", f->out, "bytes_per_second_back", f->in);
}

static artel_status print_json(artel__invocation *call, const artel__cluster *cluster, const artel__measured *found)
{
    artel__text text;
    json_t *list = json_array();
    for (int r = 0; r < cluster->trainers; r++) {
        if (r == cluster->rank || json_array_append_new(list, task_json(&cluster->task[r], &found[r])) == 0) continue;
        json_decref(list);
        return artel__fail_memory(call->ctx, "check", 0);
    }
    json_t *value = json_pack("{s:o}", "network", list);
    if (!value) return artel__fail_memory(call->ctx, "check", 0);
    artel__text_init(&text, call->ctx);
    artel_status status = artel__json_dump(value, ARTEL__JSON_PYTHON, &text);
    if (status == ARTEL_OK) puts(text.data);
    artel__text_fini(&text);
    json_decref(value);
    return status;
}

artel_status artel__cli_check_network(artel__invocation *call, const artel__cluster *cluster,
                                      const artel__measure_options *options, bool json)
{
    if (cluster->single || cluster->rank < 0) {
        artel__log(call->ctx, ARTEL_LOG_NOTE, "network: this task works alone, and needs none");
        return ARTEL_OK;
    }
    artel__measured *found = artel__arena_alloc(&call->arena, (size_t)cluster->trainers, sizeof *found);
    ARTEL_TRY(artel__arena_status(&call->arena));
    ARTEL_TRY(artel__measure(call->ctx, cluster, options, found));
    if (!json) {
        artel__show(stdout, "network: from %s:%d, half a round trip and bytes a second\n",
                    artel__task_type_name(cluster->self.type), (int)cluster->self.index);
        print_lines(cluster, found);
    } else
        ARTEL_TRY(print_json(call, cluster, found));
    int missing = 0;
    for (int r = 0; r < cluster->trainers; r++) missing += r != cluster->rank && !found[r].reached;
    if (missing == 0) return ARTEL_OK;
    return artel__fail(
        call->ctx, ARTEL_ERROR_RUN, "network", "start artel check --network on all hosts at about the same time",
        "%d of %d other tasks %s not reached", missing, cluster->trainers - 1, missing == 1 ? "was" : "were");
}
