/* SPDX-License-Identifier: Apache-2.0 */
/* What this task knows of its job: artel_cluster_look for programs that show it, and the post-mortem file of a job that
 * has ended badly. The state in it is taken when the pass ends, before peers hang up; the file is written when the task
 * finishes.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cluster/mesh_impl.h"

/* -- looking -- */

static artel_cluster_task task_of(artel_cluster *mesh, int rank)
{
    const artel__mesh_peer *p = &mesh->peer[rank];
    artel__peer_view v = artel__membership_peer(mesh->machine, (uint32_t)rank);
    bool self = rank == mesh->self, known = self || v.step > 0 || v.phase != ARTEL__MEMBER_IDLE;
    return (artel_cluster_task){.name = p->title,
                                .phase = known ? artel__member_phase_name(v.phase) : "",
                                .phase_time = known ? (double)v.phase_ns * 1e-9 : 0,
                                .silence = self || !v.linked ? 0 : (double)v.heard_ns * 1e-9,
                                .busy = v.busy ? (v.busy - 1) * 1e-3 : -1,
                                .position = (int64_t)v.step,
                                .replicas = v.member ? p->replicas : 0,
                                .self = self,
                                .connected = self || v.linked};
}

int artel_cluster_look(const artel_cluster *cluster, artel_cluster_task *tasks, int most)
{
    if (artel__mesh_is_single(cluster)) return 0;
    if (!tasks) most = 0;
    artel_cluster *mesh = (artel_cluster *)(uintptr_t)cluster; /* for its mutex */
    int count = 0;
    pthread_mutex_lock(&mesh->mutex);
    if (mesh->machine) {
        count = mesh->peers;
        for (int r = 0; r < count && r < most; r++) tasks[r] = task_of(mesh, r);
    }
    pthread_mutex_unlock(&mesh->mutex);
    return count;
}

/* -- the post-mortem file -- */

void artel__mesh_keep_report(artel_cluster *mesh)
{
    artel_status s = artel__mesh_is_over(mesh) ? mesh->pass.cause.status : ARTEL_OK;
    bool asked = s == ARTEL_ERROR_PREEMPTED || s == ARTEL_ERROR_CANCELLED;
    artel__text_clear(&mesh->pass.report);
    if (s < 0 && !asked && artel__mesh_has_formed(mesh) && mesh->options.post_mortem)
        artel__mesh_describe(mesh, &mesh->pass.report);
}

void artel__mesh_say(artel_cluster *mesh, artel__mesh_say_fn *say)
{
    if (mesh->single) return;
    pthread_mutex_lock(&mesh->mutex);
    mesh->say = say;
    pthread_mutex_unlock(&mesh->mutex);
}

static json_t *words(const artel_cluster *mesh, const char *text)
{
    char said[2048];
    return json_string(mesh->say ? mesh->say(text, said, sizeof said) : text);
}

static json_t *error_json(const artel_cluster *mesh, const artel_error *error, artel_status status)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "status", artel_status_name(status), "where", words(mesh, error->where),
                     "what", words(mesh, error->what), "advice", words(mesh, error->advice));
}

static json_t *cause_json(const artel_cluster *mesh)
{
    const artel__cause *c = &mesh->pass.cause;
    return json_pack("{s:s, s:s, s:I, s:s}", "task", mesh->peer[c->task].title, "phase",
                     artel__member_phase_name(c->phase), "position", (json_int_t)c->step, "what", c->text);
}

typedef struct log_of {
    const artel_cluster *mesh;
    json_t *lines;
} log_of;

static void add_line(void *user, artel_log_level level, int64_t age_ns, const char *text)
{
    const log_of *log = user;
    static const char *const names[] = {"error", "warning", "note", "debug"};
    json_t *line = json_pack("{s:f, s:s, s:o}", "seconds_ago", (double)age_ns * 1e-9, "level", names[level], "text",
                             words(log->mesh, text));
    if (json_array_append_new(log->lines, line) < 0) return; /* a report that lacks a line is better than none */
}

static json_t *report_json(const artel_cluster *mesh, artel_status status)
{
    char host[256] = "", when[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    json_t *job;
    log_of log = {mesh, json_array()};
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (artel__json_load(mesh->quiet, "report", mesh->pass.report.data, mesh->pass.report.length, &job) < 0)
        job = json_null();
    artel__log_kept(mesh->ctx, add_line, &log);
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o}", "artel", ARTEL_VERSION, "time", when, "host",
                     host, "pid", (int)getpid(), "task", mesh->peer[mesh->self].title, "error",
                     error_json(mesh, artel_context_error(mesh->ctx), status), "cause", cause_json(mesh), "job", job,
                     "log", log.lines);
}

/* A failure to write it is a warning: the job has failed for a reason of its own, which stays in the context. */
void artel__mesh_write_report(artel_cluster *mesh, artel_status status)
{
    if (!mesh->pass.report.length) return;
    char path[4096], *text = NULL;
    snprintf(path, sizeof path, "%.3900s/artel-post-mortem-%s.json", mesh->options.post_mortem,
             mesh->peer[mesh->self].name);
    json_t *report = report_json(mesh, status);
    artel_status written = artel__json_dump_string(mesh->quiet, report, ARTEL__JSON_PYTHON, &text);
    json_decref(report);
    if (written == ARTEL_OK) written = artel__make_directory(mesh->quiet, mesh->options.post_mortem);
    if (written == ARTEL_OK) written = artel__write_file(mesh->quiet, path, text, strlen(text));
    artel__free(mesh->quiet, text);
    if (written == ARTEL_OK)
        artel__log(mesh->ctx, ARTEL_LOG_NOTE, "what this task knew of the job is in %s", path);
    else
        artel__log(mesh->ctx, ARTEL_LOG_WARNING, "%s: %s", path, artel_context_error(mesh->quiet)->what);
    artel__text_clear(&mesh->pass.report);
}
