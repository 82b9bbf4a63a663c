/* SPDX-License-Identifier: Apache-2.0 */
/* What a task of a job with parameter servers is asked to do, and how it speaks to the others; what it then does is in
 * servers.c. */
#include "train/servers.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "ps/part.h"

#define SECOND INT64_C(1000000000)

enum {
    REMIND = 5 /* seconds */
};

artel_status artel__fit_find_role(artel__fit *fit)
{
    const artel_fit_options *o = &fit->options;
    if (!o->strategy || strcmp(o->strategy, "parameter-server") != 0 || o->dry_run) return ARTEL_OK;
    if (artel__mesh_is_single(o->cluster))
        return artel__fail(
            fit->ctx, ARTEL_ERROR_INVALID, ".strategy", "start it with artel launch -n 2 --ps 1, or set TF_CONFIG",
            "parameter-server needs a cluster with a chief, workers and ps tasks, and this process is alone");
    int servers = artel__mesh_tasks(o->cluster)->count[ARTEL__TASK_PS];
    if (servers > ARTEL__MOST_SERVERS)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, "parameter servers", "use fewer, with more memory each",
                           "%d ps tasks are more than the %d that a job may have", servers, ARTEL__MOST_SERVERS);
    const char *type = artel_cluster_role(o->cluster);
    fit->role = strcmp(type, "chief") == 0 ? ARTEL__ROLE_COORDINATOR
                : strcmp(type, "ps") == 0  ? ARTEL__ROLE_SERVER
                                           : ARTEL__ROLE_WORKER;
    return ARTEL_OK;
}

/* What these modes cannot do, said before anything is begun. */
static artel_status check_variables(artel__fit *fit)
{
    const artel__variables *variables = fit->model->nn->variables;
    for (int i = 0; i < variables->count; i++) {
        if (artel__variable_narrow(&variables->item[i]) || variables->item[i].dtype == ARTEL_DTYPE_FLOAT64)
            return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, variables->item[i].name,
                               "use multi-worker, or a mixed policy", "parameter servers do not keep variables of %s",
                               artel_dtype_name(variables->item[i].dtype));
    }
    return ARTEL_OK;
}

artel_status artel__fit_read_row_updates(artel__fit *fit)
{
    const char *text = fit->options.embedding_updates;
    bool lazy = text && strcmp(text, "lazy") == 0;
    if (text && !lazy && strcmp(text, "exact") != 0)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".embedding_updates", "use exact or lazy",
                           "\"%.40s\" is not a way to update tables", text);
    fit->settings.optimizer.lazy_rows = lazy && fit->role != ARTEL__ROLE_NONE;
    return ARTEL_OK;
}

static artel_status check_some(const artel__service *s)
{
    const artel__optimizer *optimizer = &s->fit->settings.optimizer;
    if (s->some == 0 || !optimizer->lazy_rows) return ARTEL_OK;
    return artel__fail(s->fit->ctx, ARTEL_ERROR_UNSUPPORTED, ".consistency", "use sync, bounded or async",
                       "in sync:%d tables travel whole, and .embedding_updates is \"lazy\"", s->some);
}

int64_t artel__service_copies(const artel__fit *fit)
{
    int servers = artel__mesh_tasks(fit->options.cluster)->count[ARTEL__TASK_PS];
    return fit->options.ps_copies ? fit->options.ps_copies : servers < 2 ? 1 : 2;
}

static artel_status read_copies(artel__service *s)
{
    int64_t copies = artel__service_copies(s->fit);
    int servers = artel__mesh_tasks(s->cluster)->count[ARTEL__TASK_PS];
    if (copies < 1 || copies > ARTEL__MOST_COPIES)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".ps_copies", "use 1, 2 or 3",
                           "%lld copies of a part are not supported", (long long)copies);
    if (copies > servers)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".ps_copies", "start as many ps tasks, or leave it out",
                           "%lld copies of a part need as many ps tasks, and there is %d", (long long)copies, servers);
    s->copies = (int)copies;
    return ARTEL_OK;
}

static const char *const placings[] = {[ARTEL__PLACING_TRAFFIC] = "traffic",
                                       [ARTEL__PLACING_BYTES] = "bytes",
                                       [ARTEL__PLACING_ROUND_ROBIN] = "round-robin"};

const char *artel__part_placing_name(artel__part_placing placing)
{
    return placings[placing];
}

static artel_status read_placement(artel__service *s)
{
    const char *text = s->fit->options.ps_placement;
    int found = 0, count = (int)(sizeof placings / sizeof *placings);
    while (text && found < count && strcmp(text, placings[found]) != 0) found++;
    if (found == count)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".ps_placement", "use round-robin, bytes or traffic",
                           "\"%.40s\" is not a placement", text);
    s->placing = (artel__part_placing)found;
    s->rule.in_turn = s->placing == ARTEL__PLACING_ROUND_ROBIN;
    return ARTEL_OK;
}

static artel_status read_loss(artel__service *s)
{
    const char *text = s->fit->options.ps_loss;
    s->stops = text && strcmp(text, "stop") == 0;
    if (!text || s->stops || strcmp(text, "checkpoint") == 0) return ARTEL_OK;
    return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".ps_loss", "use checkpoint or stop",
                       "\"%.40s\" is not what can be done about a loss", text);
}

artel_status artel__service_read_options(artel__service *s)
{
    const artel_fit_options *o = &s->fit->options;
    const char *text = o->consistency ? o->consistency : "async";
    int64_t some = 0;
    s->staleness = -1;
    s->sync = strcmp(text, "sync") == 0;
    bool good = s->sync || strcmp(text, "async") == 0;
    if (artel__starts_with(text, "bounded:"))
        good = artel__parse_int64(text + 8, &s->staleness) && s->staleness >= 0 && s->staleness < 1 << 20;
    if (artel__starts_with(text, "sync:"))
        good = artel__parse_int64(text + 5, &some) && some >= 1 && some <= ARTEL__MOST_SHARES;
    if (!good)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".consistency",
                           "use async, bounded:2, sync, or sync:3 for the first 3 shares",
                           "\"%.40s\" is not a consistency of this version", text);
    s->some = (int)some;
    s->rule.mean = some > 0;
    s->worth = ARTEL__WORTH;
    ARTEL_TRY(check_variables(s->fit));
    ARTEL_TRY(check_some(s));
    ARTEL_TRY(read_copies(s));
    artel__partition_rule rule;
    ARTEL_TRY(read_placement(s));
    ARTEL_TRY(read_loss(s));
    s->rule.partitioner = o->ps_partitioner ? o->ps_partitioner : "none";
    return artel__partition_read(s->fit->ctx, s->rule.partitioner, 1, &rule);
}

artel__lane artel__service_lane(const artel__service *s, int rank)
{
    return (artel__lane){.endpoint = s->endpoint, .peer = rank, .job = s->seat.job, .generation = s->seat.generation};
}

artel_status artel__service_move(const artel__service *s)
{
    if (artel__mesh_leaving(s->cluster)) return ARTEL_AGAIN;
    return artel__lane_judge(artel__net_progress(s->endpoint));
}

artel_status artel__service_wait(const artel__service *s)
{
    artel__net_wait(s->endpoint);
    return artel__service_move(s);
}

artel_status artel__service_wait_till(const artel__service *s, const char *what, int64_t *since)
{
    int64_t before = artel__now_ns();
    if (*since == 0) *since = before;
    artel_status status = artel__service_wait(s);
    int64_t seconds = (artel__now_ns() - *since) / SECOND;
    if (status == ARTEL_OK && seconds / REMIND != (before - *since) / SECOND / REMIND)
        artel__log(s->fit->ctx, ARTEL_LOG_NOTE, "waiting for %s, %lld s", what, (long long)seconds);
    return status;
}

artel_status artel__service_wait_for(const artel__service *s, int rank, int64_t *since)
{
    char what[160];
    snprintf(what, sizeof what, "an answer of %s", artel__mesh_title(s->cluster, s->task[rank]));
    return artel__service_wait_till(s, what, since);
}

void artel__service_fail_job(const artel__service *s, artel_status status)
{
    bool asked = status == ARTEL_ERROR_CANCELLED || status == ARTEL_ERROR_PREEMPTED;
    if (status < 0 && !asked) artel__mesh_fail(s->cluster, true, status);
}
