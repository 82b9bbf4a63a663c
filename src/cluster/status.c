/* SPDX-License-Identifier: Apache-2.0 */
/* The desk where a task answers. */
#include "cluster/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#define PATIENCE_NS INT64_C(5000000000)

/* -- answers -- */

/* As events write it. */
static void write_name(const char *name, char out[64])
{
    snprintf(out, 64, "%.63s", name);
    char *dash = strrchr(out, '-');
    if (dash) *dash = ':';
}

/* "worker-1 at a:1, connected with worker-0: unreachable: no route" without what the reader knows. */
static void write_why(const char *why, char out[128])
{
    const char *with = strstr(why, ", connected with "), *rest = with ? strstr(with, ": ") : NULL;
    snprintf(out, 128, "%.127s", rest ? rest + 2 : why);
}

static json_t *task_json(const artel__status_task *t)
{
    char name[64], why[128] = "";
    write_name(t->name, name);
    if (t->why && !t->linked && !t->self) write_why(t->why, why);
    json_t *busy = t->busy < 0 ? json_null() : json_real(t->busy);
    return json_pack("{s:s, s:s, s:b, s:b, s:b, s:i, s:I, s:s?, s:I, s:I, s:o, s:s}", "task", name, "address",
                     t->address ? t->address : "", "self", t->self, "linked", t->linked, "member", t->member,
                     "replicas", t->replicas, "step", (json_int_t)t->step, "phase", t->phase, "phase_ms",
                     (json_int_t)(t->phase_ns / 1000000), "heard_ms", (json_int_t)(t->heard_ns / 1000000), "busy", busy,
                     "why", why);
}

static json_t *status_json(artel_context *ctx, const artel__status *s, int shown)
{
    char job[17], name[64];
    int members = 0;
    json_t *tasks = json_array();
    write_name(s->task[s->self].name, name);
    snprintf(job, sizeof job, "%016" PRIx64, s->job);
    for (int i = 0; i < s->tasks; i++) {
        members += s->task[i].member;
        if (i < shown) json_array_append_new(tasks, task_json(&s->task[i]));
    }
    json_t *servers = NULL;
    if (s->servers && artel__json_load(ctx, "status", s->servers, strlen(s->servers), &servers) < 0) servers = NULL;
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:b, s:b, s:I, s:i, s:I, s:s?, s:i, s:o, s:o*}", "artel", ARTEL_VERSION,
                     "task", name, "job", job, "pid", (int)getpid(), "state", s->state, "running", s->running,
                     "leaving", s->leaving, "generation", (json_int_t)s->generation, "members", members, "step",
                     (json_int_t)s->step, "cause", s->cause, "total", s->tasks, "tasks", tasks, "servers", servers);
}

/* As many tasks as fit. */
static artel_status describe(const artel__status *s, artel__text *out)
{
    for (int shown = s->tasks;; shown /= 2) {
        json_t *value = status_json(out->ctx, s, shown);
        if (!value) return ARTEL_ERROR_NO_MEMORY;
        artel__text_clear(out);
        artel_status status = artel__json_dump(value, ARTEL__JSON_PYTHON, out);
        json_decref(value);
        if (status < 0 || out->length <= ARTEL__CONTROL_MOST || shown == 0) return status;
    }
}

static bool is(const void *question, size_t count, const char *word)
{
    return count == strlen(word) && memcmp(question, word, count) == 0;
}

artel_status artel__status_answer(const artel__status_source *source, const void *question, size_t count,
                                  artel__text *out)
{
    artel__status now = {0};
    bool drain = is(question, count, "drain");
    artel__text_clear(out);
    if (!drain && !is(question, count, "status")) {
        artel__text_append(out, "{\"error\": \"this version of artel answers to status and drain\"}");
        return artel__text_status(out);
    }
    if (drain) source->drain(source->user);
    source->look(source->user, &now);
    return describe(&now, out);
}

/* -- the desk -- */

bool artel__status_asks(const artel__connection *c)
{
    const artel__hello *peer = artel__connection_peer(c);
    return peer->job == 0 && peer->purpose == ARTEL__NET_CONTROL;
}

static void dismiss(artel__status_desk *desk, int i)
{
    artel__connection_close(desk->asker[i].connection);
    memmove(desk->asker + i, desk->asker + i + 1, (size_t)(desk->count - i - 1) * sizeof desk->asker[0]);
    desk->count--;
}

void artel__status_desk_take(artel__status_desk *desk, artel__connection *connection, int64_t now)
{
    if (desk->count == ARTEL__STATUS_ASKERS) dismiss(desk, 0);
    desk->asker[desk->count++] = (struct artel__status_asker){connection, now + PATIENCE_NS};
}

/* False when the connection is of no use any more. */
static bool serve(artel__connection *c, const artel__status_source *source)
{
    const void *question;
    size_t count;
    if (artel__connection_progress(c) == ARTEL__CONNECTION_LOST) return false;
    if (artel__connection_hear(c, &question, &count) != ARTEL_OK)
        return artel__connection_get_state(c) != ARTEL__CONNECTION_LOST;
    artel__text answer;
    artel__text_init(&answer, artel__connection_site(c)->ctx);
    artel_status status = artel__status_answer(source, question, count, &answer);
    if (status == ARTEL_OK) status = artel__connection_say(c, answer.data, answer.length);
    artel__text_fini(&answer);
    return status == ARTEL_OK;
}

void artel__status_desk_progress(artel__status_desk *desk, const artel__status_source *source, int64_t now)
{
    for (int i = 0; i < desk->count;) {
        if (now < desk->asker[i].deadline_ns && serve(desk->asker[i].connection, source))
            i++;
        else
            dismiss(desk, i);
    }
}

void artel__status_desk_close(artel__status_desk *desk)
{
    while (desk->count) dismiss(desk, desk->count - 1);
}
