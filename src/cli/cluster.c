/* SPDX-License-Identifier: Apache-2.0 */
/* From options to a place in a cluster. */
#include "cli/cluster.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/mesh.h"

const char *const artel__preempt_words[] = {"leave", "save", NULL};

double artel__cli_seconds(const char *text)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"min", 60}, {"s", 1}, {"h", 3600}, {"", 1}};
    for (size_t i = 0; i < ARTEL__COUNT(units); i++) {
        char number[32];
        double value;
        size_t length = strlen(text) - strlen(units[i].name) * artel__ends_with(text, units[i].name);
        if (!artel__ends_with(text, units[i].name) || length == 0 || length >= sizeof number) continue;
        memcpy(number, text, length);
        number[length] = 0;
        if (artel__parse_double(number, &value) && value > 0 && value * units[i].seconds < 1e9)
            return value * units[i].seconds;
    }
    return -1;
}

artel_status artel__cli_read_seconds(artel__invocation *call, const char *option, const char *text, double *out)
{
    if (!text) return ARTEL_OK;
    *out = artel__cli_seconds(text);
    if (*out > 0) return ARTEL_OK;
    return artel__cli_usage(call, option, "the value is no time (found %.60s, expected for example 30s or 10min)",
                            text);
}

/* A folder that is made when something is to be written: it could be. */
static artel_status check_folder(artel_context *ctx, const char *path)
{
    char buffer[4096];
    if (artel__file_exists(path)) return artel__probe_directory(ctx, path);
    const char *folder = artel__folder_of(path, buffer, sizeof buffer);
    return folder && artel__is_directory(folder) ? artel__probe_directory(ctx, folder) : ARTEL_OK;
}

/* What is typed for a cluster, where this run is none. */
static void note_idle_options(artel__invocation *call)
{
    static const char *const names[] = {
        "rendezvous",       "service",          "workers",           "port",       "bind",
        "cert-dir",         "min-workers",      "suspect-after",     "on-preempt", "post-mortem",
        "insecure-network", "wait-for-cluster", "collective-timeout"};
    const bool serves = artel__options_find(call->command->options, "consistency") != NULL;
    artel__cli_note_idle(call, names, ARTEL__COUNT(names),
                         serves ? "--strategy multi-worker or parameter-server" : "--strategy multi-worker");
}

/* Several tasks that do not know one another write the same files: hardly ever what was meant. Quiet where nothing is
 * described, since nobody asked; but who has not said how to work, and is one of several in a way that cannot be read,
 * ends. */
static artel_status judge_alone(artel__invocation *call, const char *strategy, const artel__cluster_choice *choice)
{
    const artel__cluster_options wanted = {.file = choice->file,
                                           .task = choice->task,
                                           .rendezvous = choice->rendezvous,
                                           .service = choice->service,
                                           .workers = (int)choice->workers,
                                           .port = (int)choice->port,
                                           .resolver = artel__cli_given(call, "resolver") ? choice->resolver : NULL};
    artel_context *quiet;
    artel__cluster cluster;
    if (artel_context_create(NULL, &quiet) < 0) return ARTEL_OK;
    artel_status status = artel__cluster_resolve(quiet, artel__process_environment, NULL, &wanted, &cluster);
    if (status == ARTEL_OK) {
        if (!cluster.single && cluster.rank >= 0)
            artel__log(call->ctx, ARTEL_LOG_WARNING,
                       "%s %d works alone, and so does each of the %d tasks of %s; to work at one model: --strategy "
                       "multi-worker",
                       artel__task_type_name(cluster.self.type), (int)cluster.self.index, cluster.trainers,
                       cluster.where);
        artel__cluster_fini(&cluster);
    }
    bool undecided = !artel__cli_given(call, "strategy") || strcmp(strategy, "auto") == 0;
    const artel_error *error = artel_context_error(quiet);
    const char *way_out = strstr(error->advice, ".resolver none") ? "" : "; or say .resolver none to work alone";
    char advice[sizeof error->advice];
    snprintf(advice, sizeof advice, "%.470s%s", error->advice, way_out);
    status =
        status < 0 && undecided ? artel__fail(call->ctx, status, error->where, advice, "%s", error->what) : ARTEL_OK;
    artel_context_destroy(quiet);
    return status;
}

artel_status artel__cli_open_cluster(artel__invocation *call, const char *strategy, const artel__cluster_choice *choice,
                                     artel_cluster **out)
{
    artel_cluster_options options = ARTEL_CLUSTER_OPTIONS_INIT;
    *out = NULL;
    ARTEL_TRY(artel__cli_read_seconds(call, "--wait-for-cluster", choice->wait, &options.wait_for_cluster));
    ARTEL_TRY(artel__cli_read_seconds(call, "--collective-timeout", choice->timeout, &options.collective_timeout));
    ARTEL_TRY(artel__cli_read_seconds(call, "--suspect-after", choice->suspect, &options.suspect_after));
    options.parameter_servers = strcmp(strategy, "parameter-server") == 0;
    bool together = strcmp(strategy, "multi-worker") == 0 || strcmp(strategy, "tpu") == 0;
    if (!together && !options.parameter_servers) {
        note_idle_options(call);
        return judge_alone(call, strategy, choice);
    }
    options.resolver = artel__cli_given(call, "resolver") ? choice->resolver : NULL;
    options.file = choice->file;
    options.task = choice->task;
    options.rendezvous = choice->rendezvous;
    options.service = choice->service;
    options.workers = (int)choice->workers;
    options.port = (int)choice->port;
    options.bind = choice->bind;
    options.cert_dir = choice->cert_dir;
    options.min_workers = (int)choice->min_workers;
    options.save_on_preempt = choice->on_preempt == 1;
    options.insecure_network = choice->insecure_network;
    options.no_shared_memory = !choice->shared_memory;
    options.post_mortem = strcmp(choice->post_mortem, "none") != 0 ? choice->post_mortem : NULL;
    ARTEL_TRY(artel_cluster_open(call->ctx, &options, out));
    artel__mesh_say(*out, artel__cli_name_options);
    if (!options.post_mortem || !artel__cli_given(call, "post-mortem")) return ARTEL_OK;
    artel_status status = check_folder(call->ctx, options.post_mortem);
    if (status < 0) { /* the others hear it */
        status = artel_cluster_finish(*out, status);
        artel_cluster_close(*out);
        *out = NULL;
    }
    return status;
}
