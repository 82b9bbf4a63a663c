/* SPDX-License-Identifier: Apache-2.0 */
/* What the workers of a job with parameter servers compute with: processors, or a device each. Whoever computes nothing
 * (the chief, servers) opens no device, wherever it runs: plug-ins and cards are needed at workers alone. So the chief,
 * which writes checkpoints, learns from them which arithmetic they have, and a run goes on with no other. Servers
 * update variables on processors in any case.
 */
#include <string.h>

#include "base/text.h"
#include "strategy/devices.h"
#include "train/mixed.h"
#include "train/servers.h"

static artel_status check_mixed(artel__fit *fit, const artel__device_request *device)
{
    bool sync = fit->options.consistency && strcmp(fit->options.consistency, "sync") == 0;
    if (!fit->job.mixed) return ARTEL_OK;
    if (sync)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, ".allow_mixed_arithmetic",
                           "use async, bounded or sync:K, or let all workers compute alike",
                           "in sync workers make each step together, with one arithmetic");
    return artel__devices_check_mixable(fit->ctx, device);
}

artel_status artel__fit_check_device(artel__fit *fit, artel__session_options *options)
{
    artel__device_request *device = &options->device;
    bool named;
    if (fit->role == ARTEL__ROLE_NONE) return ARTEL_OK;
    ARTEL_TRY(artel__servers_check_device(fit->ctx, device, &named));
    fit->job.mixed = device->mixed;
    fit->job.on_devices = named || device->mixed;
    device->programs = NULL; /* each worker has its own, or in sync those of the first */
    if (!fit->job.on_devices) return ARTEL_OK;
    ARTEL_TRY(check_mixed(fit, device));
    if (options->shards == 0) /* as on one device; of several kinds as elsewhere, too */
        options->shards =
            artel__mixed_shards(options->batch_size, device->mixed ? artel_cluster_size(fit->options.cluster) : 1);
    if (fit->role != ARTEL__ROLE_WORKER) device->device = NULL;
    return ARTEL_OK;
}

const char *artel__fit_workers_class(const artel__fit *fit)
{
    return fit->job.mixed ? "mixed among workers" : fit->job.on_devices ? "workers on devices" : NULL;
}

artel_status artel__fit_continue_workers(artel__fit *fit, const char *made_by)
{
    if (!artel__fit_workers_class(fit) || !made_by) return ARTEL_OK;
    fit->job.workers = artel__arena_strdup(&fit->arena, made_by);
    fit->job.workers_of_checkpoint = true;
    return artel__arena_status(&fit->arena);
}

/* "worker 0 pjrt cpu 3f9c..., worker 1 ..."; of one arithmetic that alone. */
static artel_status describe(const artel__service *s, artel__text *out)
{
    char own[ARTEL__OWN_MAX + 1];
    const artel__cluster *tasks = artel__mesh_tasks(s->cluster);
    bool mixed = s->fit->job.mixed;
    const char *between = mixed ? "mixed among workers: " : "workers on ";
    for (int r = 0; r < s->seat.ranks; r++) {
        if (s->type[r] != ARTEL__TASK_WORKER) continue;
        artel__mesh_own(s->cluster, s->task[r], own);
        artel__text_append(out, between);
        if (mixed) artel__text_printf(out, "worker %d ", tasks->task[s->task[r]].index);
        artel__text_append(out, own);
        between = ", ";
        if (!mixed) break;
    }
    return artel__text_status(out);
}

/* Of several kinds other ones may go on, and others give other last bits. */
static artel_status compare(artel__fit *fit, const char *now)
{
    const char *before = fit->job.workers;
    if (!before || strcmp(before, now) == 0) return ARTEL_OK;
    if (fit->job.mixed) {
        if (fit->job.workers_of_checkpoint)
            artel__log(fit->ctx, ARTEL_LOG_NOTE,
                       "the checkpoint was made by others, and last bits may differ from those of a run that goes on "
                       "as it was: there %s; here %s",
                       before, now);
        return ARTEL_OK;
    }
    return artel__fail(
        fit->ctx, ARTEL_ERROR_INVALID,
        fit->job.workers_of_checkpoint ? fit->options.checkpoint_dir : "parameter servers",
        "let workers compute on the device, and with the plug-in, of before, or give .fresh to begin anew",
        "what computes is another arithmetic than %s: there %s, here %s",
        fit->job.workers_of_checkpoint ? "the checkpoint's" : "the run began with", before, now);
}

static artel_status take(artel__service *s, const char *all)
{
    artel__fit *fit = s->fit;
    char now[ARTEL__ARITHMETIC_ROOM];
    artel__mixed_words(all, now);
    artel_status status = compare(fit, now);
    if (status < 0) artel__service_fail_job(s, status);
    if (status < 0) return status;
    memcpy(fit->session->arithmetic, now, sizeof now);
    fit->job.workers = fit->session->arithmetic;
    fit->job.workers_of_checkpoint = false;
    return ARTEL_OK;
}

artel_status artel__service_know_workers(artel__service *s)
{
    artel__text text;
    if (s->fit->role != ARTEL__ROLE_COORDINATOR || !artel__fit_workers_class(s->fit) || s->workers == 0)
        return ARTEL_OK;
    artel__text_init(&text, s->fit->ctx);
    artel_status status = describe(s, &text);
    if (status == ARTEL_OK) status = take(s, text.data);
    artel__text_fini(&text);
    return status;
}
