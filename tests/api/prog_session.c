/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose layers lie on different tasks, for test_session.py: prog_session FOLDER UNITS VICTIM TASKS FIRST SECOND
 * LOSS. The places are of the first layer, the second one, and the loss. At half of its units it loses a task once:
 * VICTIM is its number, -1: none. Prints the variables' hash. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/hooks.h"
#include "help_session.h"

typedef struct job {
    session_program program;
    const char *folder;
    int units, victim, tasks, sessions, seen;
    const char *place[4];
} job;

static FILE *open_file(const job *j, const char *name, int number, const char *mode)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s-%d", j->folder, name, number);
    return fopen(path, mode);
}

/* Who this process is, for whoever ends it. */
static void leave_name(const job *j, int task)
{
    FILE *file = open_file(j, "pid", task, "w");
    if (!file) return;
    fprintf(file, "%ld", (long)getpid());
    fclose(file);
}

/* Ends a task, in its first life. */
static void lose(const job *j)
{
    FILE *marker = open_file(j, "lost", j->victim, "wx"), *file = open_file(j, "pid", j->victim, "r");
    long pid = 0;
    if (marker && file && fscanf(file, "%ld", &pid) == 1 && pid > 1) kill((pid_t)pid, SIGKILL);
    if (file) fclose(file);
    if (marker) fclose(marker);
}

static artel_status unit(void *user, int64_t number)
{
    job *j = user;
    float loss;
    if (j->victim >= 0 && number == j->units / 2) lose(j);
    return session_step(&j->program, (int)number, &loss, NULL);
}

static void print_hash(const session_outcome *o)
{
    const unsigned char *at = (const unsigned char *)o;
    unsigned long long hash = 14695981039346656037ULL;
    for (size_t i = 0; i < sizeof *o; i++) hash = (hash ^ at[i]) * 1099511628211ULL;
    printf("variables %016llx\n", hash);
}

/* A hook that fetches what units do not, and counts sessions. */
static artel_status count_session(void *user, artel_session *session, int64_t unit)
{
    job *j = user;
    (void)session;
    (void)unit;
    j->sessions++;
    return ARTEL_OK;
}

static artel_status fetch_logits(void *user, artel_hook_run *run)
{
    (void)user;
    return artel_hook_fetch(run, 1);
}

static artel_status see_logits(void *user, artel_hook_run *run)
{
    job *j = user;
    artel_array value;
    artel_status status = artel_hook_value(run, 1, &value);
    j->seen += status == ARTEL_OK && value.shape.dim[0] == SESSION_BATCH;
    return status;
}

static artel_status say(void *user, artel_session *session, int64_t unit)
{
    const job *j = user;
    (void)session;
    printf("sessions %d of %lld units, %s\n", j->sessions, (long long)unit, j->seen > 0 ? "logits seen" : "no logits");
    return ARTEL_OK;
}

static artel_status monitor(job *j)
{
    static const artel_hook_functions functions = {.struct_size = sizeof functions,
                                                   .created = count_session,
                                                   .before = fetch_logits,
                                                   .after = see_logits,
                                                   .end = say};
    artel_monitor_options m = ARTEL_MONITOR_OPTIONS_INIT;
    artel_hook *hook;
    artel_status status = artel_hook_create(j->program.ctx, &functions, j, &hook);
    if (status < 0) return status;
    m.directory = j->folder;
    m.save_every = 5;
    m.hooks = &hook;
    m.hook_count = 1;
    status = artel_session_monitor(j->program.session, &m, j->units, unit, j);
    artel_hook_destroy(hook);
    return status;
}

static artel_status train(job *j, artel_communicator *communicator)
{
    session_program *p = &j->program;
    session_outcome o = {.loss = {0}};
    artel_session_options s = ARTEL_SESSION_OPTIONS_INIT;
    s.communicator = communicator;
    artel_status status = session_declare(p);
    if (status == ARTEL_OK) status = artel_session_create(p->strategy, &s, &p->session);
    if (status == ARTEL_OK) status = monitor(j);
    artel_session_destroy(p->session);
    p->session = NULL; /* what was saved last lies in the memory of task 0 */
    if (status == ARTEL_OK && artel_communicator_position(communicator) == 0) {
        status = session_read(p, &o);
        print_hash(&o);
    }
    if (status == ARTEL_OK) status = artel_communicator_finish(communicator);
    artel_strategy_destroy(p->strategy);
    return status;
}

static artel_status run(job *j)
{
    artel_cluster_options o = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_cluster *cluster = NULL;
    artel_communicator *communicator = NULL;
    o.insecure_network = true;
    for (int i = 0; i < 3; i++) o.parameter_servers = o.parameter_servers || strstr(j->place[i], "/job:ps");
    o.min_workers = j->tasks; /* nobody goes on without the others: each has layers that no other one has */
    artel_status status = artel_cluster_open(j->program.ctx, &o, &cluster);
    if (status == ARTEL_OK) status = artel_communicator_open(j->program.ctx, cluster, &communicator);
    if (status == ARTEL_OK) leave_name(j, artel_communicator_position(communicator));
    if (status == ARTEL_OK) status = train(j, communicator);
    artel_communicator_destroy(communicator);
    artel_cluster_close(cluster);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 8) return 64;
    job j = {.folder = argv[1],
             .units = atoi(argv[2]),
             .victim = atoi(argv[3]),
             .tasks = atoi(argv[4]),
             .place = {argv[5], argv[6], argv[7], ""}};
    j.program.place = j.place;
    if (artel_context_create(NULL, &j.program.ctx) < 0) return 1;
    artel_status status = run(&j);
    if (status < 0) {
        const artel_error *e = artel_context_error(j.program.ctx);
        fprintf(stderr, "%s: %s; %s\n", e->where, e->what, e->advice);
    }
    artel_context_destroy(j.program.ctx);
    return status < 0;
}
