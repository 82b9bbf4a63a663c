/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes Jobs with completionMode: Indexed and a headless service.
 *
 *   JOB_COMPLETION_INDEX   this pod's index; Kubernetes sets it
 *   HOSTNAME               <job>-<index>, the host name Kubernetes gives such a pod
 *   ARTEL_SERVICE          the service named as the pods' subdomain, so that <job>-<index>.<service> resolves
 *   ARTEL_WORKERS          the Job's completions, which no variable tells
 *
 * Without a service an indexed Job is a set of runs that know nothing of one another (a sweep, say), so
 * JOB_COMPLETION_INDEX alone means a cluster of one. Every pod has an address of its own, hence one port for all.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/resolver.h"

static bool applies(const artel__resolver_input *in)
{
    return in->options.service && artel__resolver_get(in, "JOB_COMPLETION_INDEX");
}

/* HOSTNAME without "-<index>" and what follows a dot (setHostnameAsFQDN). */
static artel_status find_job(const artel__resolver_input *in, int64_t index, artel__cluster *out, const char **out_job)
{
    char ending[32];
    const char *host = artel__resolver_get(in, "HOSTNAME");
    if (!host) host = in->options.hostname ? in->options.hostname : "";
    char *job = artel__arena_strdup(&out->arena, host);
    ARTEL_TRY(artel__arena_status(&out->arena));
    job[strcspn(job, ".")] = '\0';
    snprintf(ending, sizeof ending, "-%lld", (long long)index);
    size_t length = strlen(job);
    if (!artel__ends_with(job, ending) || length == strlen(ending))
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "HOSTNAME",
                           "do not set hostname in the pod's template; an indexed Job sets it",
                           "the host name is not <job>%s (found \"%.100s\")", ending, host);
    job[length - strlen(ending)] = '\0';
    *out_job = job;
    return ARTEL_OK;
}

static artel_status resolve(const artel__resolver_input *in, artel__cluster *out)
{
    const char *job = NULL, *service = in->options.service;
    int64_t index;
    int count = in->options.workers;
    ARTEL_TRY(artel__cluster_init(in->ctx, out, "kubernetes", "JOB_COMPLETION_INDEX"));
    if (!service)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "ARTEL_SERVICE",
                           "name the headless service that is the pods' subdomain", "the variable is not set");
    if (count < 1)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "ARTEL_WORKERS", "set it to the Job's completions",
                           "the variable is not set");
    const artel__resolver_number wanted = {"JOB_COMPLETION_INDEX", 0, count - 1};
    ARTEL_TRY(artel__resolver_int(in, &wanted, &index));
    ARTEL_TRY(find_job(in, index, out, &job));
    for (int i = 0; i < count; i++) {
        const char *address = artel__arena_printf(&out->arena, "%s-%d.%s:%d", job, i, service, in->options.port);
        ARTEL_TRY(artel__arena_status(&out->arena));
        ARTEL_TRY(artel__cluster_add(out, ARTEL__TASK_WORKER, i, address));
    }
    artel__cluster_set_self(out, ARTEL__TASK_WORKER, (int32_t)index);
    out->local_rank = 0;
    out->local_count = 1;
    return ARTEL_OK;
}

const artel__resolver artel__resolver_kubernetes = {"kubernetes", applies, resolve};
