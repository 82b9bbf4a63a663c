/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a running task: answers, the desk over real connections, who is refused, hostile askers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "cluster/status.h"
#include "support/certificates.h"
#include "support/net_mesh.h"

/* -- a job to ask about -- */

typedef struct job {
    artel__status_task task[400];
    artel__status status;
    int drained;
} job;

static void look(void *user, artel__status *out)
{
    const job *j = user;
    *out = j->status;
    out->task = j->task;
}

static void drain(void *user)
{
    job *j = user;
    j->drained++;
    j->status.leaving = true;
}

static artel__status_source source_of(job *j, int tasks)
{
    memset(j, 0, sizeof *j);
    j->status = (artel__status){
        .state = "running", .running = true, .job = 0xabc, .generation = 3, .step = 812, .tasks = tasks, .self = 1};
    for (int i = 0; i < tasks; i++)
        j->task[i] =
            (artel__status_task){.name = "worker-1",
                                 .address = "10.0.0.2:2222",
                                 .phase = "exchange",
                                 .self = i == 1,
                                 .linked = i != 2,
                                 .member = i != 2,
                                 .replicas = 2,
                                 .step = 812,
                                 .phase_ns = 40000000,
                                 .heard_ns = 250000000,
                                 .why = "worker-1 at 10.0.0.2:2222, connected with worker-0: unreachable: no route"};
    return (artel__status_source){look, drain, j};
}

static json_t *answer(artel_context *ctx, const artel__status_source *source, const char *question)
{
    artel__text text;
    json_t *value;
    artel__text_init(&text, ctx);
    assert_int_equal(artel__status_answer(source, question, strlen(question), &text), ARTEL_OK);
    assert_true(text.length <= ARTEL__CONTROL_MOST);
    assert_int_equal(artel__json_load(ctx, "answer", text.data, text.length, &value), ARTEL_OK);
    artel__text_fini(&text);
    return value;
}

static void it_says_what_it_knows(void **state)
{
    artel_context *ctx;
    job j;
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__status_source source = source_of(&j, 3);
    json_t *said = answer(ctx, &source, "status"), *tasks = json_object_get(said, "tasks");
    assert_string_equal(json_string_value(json_object_get(said, "job")), "0000000000000abc");
    assert_string_equal(json_string_value(json_object_get(said, "state")), "running");
    assert_int_equal(json_integer_value(json_object_get(said, "members")), 2);
    assert_int_equal(json_integer_value(json_object_get(said, "step")), 812);
    assert_true(json_is_null(json_object_get(said, "cause")));
    assert_int_equal(json_array_size(tasks), 3);
    assert_true(json_is_true(json_object_get(json_array_get(tasks, 1), "self")));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(tasks, 0), "phase_ms")), 40);
    assert_string_equal(json_string_value(json_object_get(json_array_get(tasks, 2), "why")), "unreachable: no route");
    assert_string_equal(json_string_value(json_object_get(json_array_get(tasks, 0), "why")), "");
    assert_string_equal(json_string_value(json_object_get(json_array_get(tasks, 0), "task")), "worker:1");
    assert_string_equal(json_string_value(json_object_get(said, "task")), "worker:1");
    assert_int_equal(j.drained, 0);
    json_decref(said);
    said = answer(ctx, &source, "drain");
    assert_int_equal(j.drained, 1);
    assert_true(json_is_true(json_object_get(said, "leaving")));
    json_decref(said);
    static const char *const others[] = {"statu", "statuss", "drain ", "", "\xff\xfe"};
    for (size_t i = 0; i < ARTEL__COUNT(others); i++) {
        said = answer(ctx, &source, others[i]);
        assert_true(json_is_string(json_object_get(said, "error")));
        json_decref(said);
    }
    assert_int_equal(j.drained, 1);
    artel_context_destroy(ctx);
}

/* More tasks than a message has room for: the first ones, and how many there are. */
static void a_large_job_is_cut(void **state)
{
    artel_context *ctx;
    job j;
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__status_source source = source_of(&j, 400);
    json_t *said = answer(ctx, &source, "status");
    size_t shown = json_array_size(json_object_get(said, "tasks"));
    assert_true(shown >= 100 && shown < 400);
    assert_int_equal(json_integer_value(json_object_get(said, "total")), 400);
    assert_int_equal(json_integer_value(json_object_get(said, "members")), 399);
    json_decref(said);
    artel_context_destroy(ctx);
}

/* -- over connections: a thread with a listener and a desk, as a task has -- */

typedef struct office {
    support_mesh mesh; /* rank 0 answers */
    char folder[64], dir[3][96], address[32];
    job job;
    artel__status_source source;
    artel__status_desk desk;
    pthread_t thread;
    atomic_bool quit;
    int taken;
} office;

static void *serve(void *user)
{
    office *o = user;
    artel__listener *listener = o->mesh.listener[0];
    while (!o->quit) {
        struct pollfd ready = {artel__listener_fd(listener), POLLIN, 0};
        poll(&ready, 1, 2);
        artel__listener_progress(listener);
        for (artel__connection *c = artel__listener_take(listener); c; c = artel__listener_take(listener)) {
            o->taken++;
            if (artel__status_asks(c))
                artel__status_desk_take(&o->desk, c, artel__now_ns());
            else
                artel__connection_close(c);
        }
        artel__status_desk_progress(&o->desk, &o->source, artel__now_ns());
    }
    return NULL;
}

/* Folders as `artel cert` makes them: of worker-0 and operator, and of an operator of another authority. */
static void make_certificates(office *o)
{
    static const char *const names[] = {"worker-0", "operator", "operator"};
    support_authority *authority[2];
    char path[3][128];
    snprintf(o->folder, sizeof o->folder, "/tmp/artel-status-XXXXXX");
    assert_non_null(mkdtemp(o->folder));
    for (int a = 0; a < 2; a++) {
        snprintf(path[0], sizeof path[0], "%s/ca%d", o->folder, a);
        authority[a] = support_authority_create(path[0]);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(o->dir[i], sizeof o->dir[i], "%s/%d", o->folder, i);
        snprintf(path[0], sizeof path[0], "mkdir %s && cp %s/ca%d %s/ca.crt", o->dir[i], o->folder, i == 2, o->dir[i]);
        assert_int_equal(system(path[0]), 0);
        snprintf(path[1], sizeof path[1], "%s/tls.crt", o->dir[i]);
        snprintf(path[2], sizeof path[2], "%s/tls.key", o->dir[i]);
        support_issue(authority[i == 2], &(support_certificate){names[i], path[1], path[2], -3600, 3600});
    }
    for (int a = 0; a < 2; a++) support_authority_destroy(authority[a]);
}

static void open_office(office *o, bool secure)
{
    char path[3][128];
    memset(o, 0, sizeof *o);
    assert_int_equal(artel_context_create(NULL, &o->mesh.ctx), ARTEL_OK);
    o->mesh.ranks = 1;
    o->source = source_of(&o->job, 3);
    assert_int_equal(support_mesh_listen(&o->mesh), ARTEL_OK);
    make_certificates(o);
    if (secure) {
        snprintf(path[0], sizeof path[0], "%s/ca.crt", o->dir[0]);
        snprintf(path[1], sizeof path[1], "%s/tls.crt", o->dir[0]);
        snprintf(path[2], sizeof path[2], "%s/tls.key", o->dir[0]);
        assert_int_equal(artel__tls_open(o->mesh.ctx, &(artel__tls_files){path[0], path[1], path[2]}, &o->mesh.tls[0]),
                         ARTEL_OK);
        o->mesh.site[0].tls = &o->mesh.tls[0];
        o->mesh.secure = true;
    }
    snprintf(o->address, sizeof o->address, "127.0.0.1:%d", artel__listener_port(o->mesh.listener[0]));
    assert_int_equal(pthread_create(&o->thread, NULL, serve, o), 0);
}

static void close_office(office *o)
{
    char command[128];
    o->quit = true;
    pthread_join(o->thread, NULL);
    artel__status_desk_close(&o->desk);
    support_mesh_close(&o->mesh);
    artel_context_destroy(o->mesh.ctx);
    snprintf(command, sizeof command, "rm -rf %s", o->folder);
    assert_int_equal(system(command), 0);
}

/* The status; the answer's state or the error is in `said`. */
static artel_status ask(const artel__status_request *request, char *said, size_t room)
{
    artel_context *ctx;
    artel__text text;
    json_t *value = NULL;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__text_init(&text, ctx);
    artel_status status = artel__status_ask(ctx, request, &text);
    if (status == ARTEL_OK) status = artel__json_load(ctx, "answer", text.data, text.length, &value);
    const char *word = value ? json_string_value(json_object_get(value, "state")) : artel_context_error(ctx)->what;
    snprintf(said, room, "%.250s", word ? word : "");
    json_decref(value);
    artel__text_fini(&text);
    artel_context_destroy(ctx);
    return status;
}

static void who_may_ask_is_answered(void **state)
{
    char said[300];
    office o;
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        open_office(&o, secure);
        artel__status_request request = {
            .address = o.address, .question = "status", .cert_dir = secure ? o.dir[1] : NULL, .timeout = 120};
        for (int k = 0; k < 20; k++) {
            if (ask(&request, said, sizeof said) < 0) fail_msg("%s", said);
            assert_string_equal(said, "running");
        }
        if (secure) { /* a task's own certificate does, too */
            request.cert_dir = o.dir[0];
            assert_int_equal(ask(&request, said, sizeof said), ARTEL_OK);
        }
        request.question = "drain";
        assert_int_equal(ask(&request, said, sizeof said), ARTEL_OK);
        close_office(&o);
        assert_int_equal(o.job.drained, 1);
        assert_int_equal(o.mesh.incidents, 0);
    }
}

static void who_may_not_is_refused(void **state)
{
    char said[300];
    office o;
    (void)state;
    open_office(&o, true);
    artel__status_request request = {.address = o.address, .question = "drain", .timeout = 120};
    assert_int_equal(ask(&request, said, sizeof said), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(said, "demands a certificate"));
    request.cert_dir = o.dir[2];
    assert_int_equal(ask(&request, said, sizeof said), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(said, "certificate"));
    request.cert_dir = o.folder; /* none there, none of operator */
    assert_int_equal(ask(&request, said, sizeof said), ARTEL_ERROR_NOT_FOUND);
    close_office(&o);
    assert_int_equal(o.job.drained, 0);
    assert_int_equal(o.taken, 0);
}

static void nobody_answers(void **state)
{
    char said[300], address[32];
    office o;
    (void)state;
    open_office(&o, false);
    snprintf(address, sizeof address, "%s", o.address);
    o.quit = true; /* the port is open, nobody serves it: a stopped process */
    artel__status_request request = {.address = address, .question = "status", .timeout = 0.2};
    pthread_join(o.thread, NULL);
    assert_int_equal(ask(&request, said, sizeof said), ARTEL_ERROR_RUN);
    o.quit = false;
    assert_int_equal(pthread_create(&o.thread, NULL, serve, &o), 0);
    close_office(&o);
    assert_int_equal(ask(&request, said, sizeof said), ARTEL_ERROR_RUN);
    assert_non_null(strstr(said, "refused"));
    request.address = "nonsense";
    assert_int_equal(ask(&request, said, sizeof said), ARTEL_ERROR_INVALID);
}

/* Askers that say nothing hold no more than their places, and the others are answered. */
static void a_crowd_gives_way(void **state)
{
    char said[300];
    artel__connection *silent[3 * ARTEL__STATUS_ASKERS];
    artel__connection_request to = {.purpose = ARTEL__NET_CONTROL, .task = ""};
    office o;
    (void)state;
    open_office(&o, false);
    artel__site site = {.ctx = o.mesh.ctx, .self = {.incarnation = 5, .task = "operator"}};
    assert_true(artel__net_address_parse(o.address, &to.to));
    for (size_t i = 0; i < ARTEL__COUNT(silent); i++) {
        assert_int_equal(artel__connection_open(&site, &to, &silent[i]), ARTEL_OK);
        while (artel__connection_progress(silent[i]) < ARTEL__CONNECTION_OPEN) poll(NULL, 0, 1);
    }
    artel__status_request request = {.address = o.address, .question = "status", .timeout = 120};
    assert_int_equal(ask(&request, said, sizeof said), ARTEL_OK);
    for (size_t i = 0; i < ARTEL__COUNT(silent); i++) artel__connection_close(silent[i]);
    o.quit = true;
    pthread_join(o.thread, NULL);
    assert_true(o.desk.count <= ARTEL__STATUS_ASKERS);
    /* Time runs out for those that are left. */
    artel__status_desk_progress(&o.desk, &o.source, artel__now_ns() + INT64_C(6000000000));
    assert_int_equal(o.desk.count, 0);
    o.quit = false;
    assert_int_equal(pthread_create(&o.thread, NULL, serve, &o), 0);
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_it_knows),   cmocka_unit_test(a_large_job_is_cut),
        cmocka_unit_test(who_may_ask_is_answered), cmocka_unit_test(who_may_not_is_refused),
        cmocka_unit_test(nobody_answers),          cmocka_unit_test(a_crowd_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
