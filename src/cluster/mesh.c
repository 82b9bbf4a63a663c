/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and leaving a cluster. */
#include "cluster/mesh.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/threads.h"
#include "cluster/listen.h"
#include "cluster/mesh_impl.h"

enum {
    REPORT_LINES = 100
};

#define AT(field) offsetof(artel_cluster_options, field)
static const char seconds[] = "give seconds, for example 10";
static const artel__range ranges[] = {
    {".workers", ARTEL__RANGE_INT, AT(workers), 0, ARTEL__CLUSTER_MAX_TASKS, NULL},
    {".port", ARTEL__RANGE_INT, AT(port), 0, 65535, "give a port from 1 to 65535"},
    {".min_workers", ARTEL__RANGE_INT, AT(min_workers), 0, ARTEL__CLUSTER_MAX_TASKS, NULL},
    {".wait_for_cluster", ARTEL__RANGE_DOUBLE, AT(wait_for_cluster), 0.01, 1e9, seconds},
    {".collective_timeout", ARTEL__RANGE_DOUBLE, AT(collective_timeout), 0.01, 1e9, seconds},
    {".suspect_after", ARTEL__RANGE_DOUBLE, AT(suspect_after), 0.01, 1e9, seconds},
    {.name = NULL}};
static const artel__options_kind kind = {"cluster options", "begin with ARTEL_CLUSTER_OPTIONS_INIT",
                                         sizeof(artel_cluster_options), ranges};

static artel_status take_options(artel_context *ctx, const artel_cluster_options *given, artel_cluster_options *out)
{
    *out = (artel_cluster_options)ARTEL_CLUSTER_OPTIONS_INIT;
    return artel__take_options(ctx, &kind, given, out);
}

/* Which tasks are members: those that train and, with parameter servers, these. */
static int count_members(const artel_cluster *mesh)
{
    const artel__cluster *c = &mesh->cluster;
    return c->trainers + (mesh->options.parameter_servers ? c->count[ARTEL__TASK_PS] : 0);
}

/* A job with parameter servers has one chief, who coordinates, a worker and a server at least. */
static artel_status check_servers(const artel_cluster *mesh)
{
    const artel__cluster *c = &mesh->cluster;
    const char *lack = c->count[ARTEL__TASK_CHIEF] == 0    ? "chief, which coordinates,"
                       : c->count[ARTEL__TASK_WORKER] == 0 ? "worker, which computes,"
                       : c->count[ARTEL__TASK_PS] == 0     ? "ps task, which owns variables,"
                                                           : NULL;
    if (!lack) return ARTEL_OK;
    return artel__fail(
        mesh->ctx, ARTEL_ERROR_INVALID, c->where,
        "start one: artel launch -n 2 --ps 1 fit ..., or name it in TF_CONFIG; without servers use multi-worker",
        "parameter-server needs a %s and the cluster has none", lack);
}

static artel_status check_scope(artel_cluster *mesh)
{
    const artel__cluster *c = &mesh->cluster;
    bool servers = mesh->options.parameter_servers && c->self.type != ARTEL__TASK_EVALUATOR;
    if (servers) ARTEL_TRY(check_servers(mesh));
    mesh->single = servers ? false : c->single || c->rank < 0;
    if (!servers && c->self.type == ARTEL__TASK_PS)
        return artel__fail(mesh->ctx, ARTEL_ERROR_UNSUPPORTED, c->where,
                           "use .strategy parameter-server everywhere, or leave parameter servers out of a cluster "
                           "that trains synchronously",
                           "this task is a parameter server (ps:%d), and multi-worker has none", (int)c->self.index);
    return ARTEL_OK;
}

static artel_status resolve(artel_cluster *mesh)
{
    const artel_cluster_options *o = &mesh->options;
    const artel__cluster_options wanted = {.resolver = o->resolver,
                                           .file = o->file,
                                           .task = o->task,
                                           .rendezvous = o->rendezvous,
                                           .service = o->service,
                                           .workers = o->workers,
                                           .port = o->port,
                                           .together = true};
    ARTEL_TRY(artel__cluster_resolve(mesh->ctx, artel__process_environment, NULL, &wanted, &mesh->cluster));
    const artel__cluster *c = &mesh->cluster;
    ARTEL_TRY(check_scope(mesh));
    if (!mesh->single && c->sparse)
        return artel__fail(mesh->ctx, ARTEL_ERROR_UNSUPPORTED, c->where, "list all tasks",
                           "a sparse cluster does not name the other workers");
    if (!mesh->single && count_members(mesh) > ARTEL__MESH_MOST_RANKS)
        return artel__fail(mesh->ctx, ARTEL_ERROR_UNSUPPORTED, c->where, "use fewer tasks",
                           "%d tasks work together (at most %d can)", count_members(mesh), ARTEL__MESH_MOST_RANKS);
    return ARTEL_OK;
}

/* A program that opens a cluster has no command line of artel's: a launcher says by the environment what it says to
 * artel fit. */
static artel_status take_least(artel_cluster *mesh)
{
    const char *given = artel__process_environment(NULL, "ARTEL_MIN_WORKERS");
    int64_t least;
    if (mesh->single || mesh->options.min_workers > 0 || !given || !given[0]) return ARTEL_OK;
    if (!artel__parse_int64(given, &least) || least < 0 || least > ARTEL__CLUSTER_MAX_TASKS)
        return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, "ARTEL_MIN_WORKERS", "write a number of tasks, or 0",
                           "\"%.40s\" is no number of tasks", given);
    mesh->options.min_workers = (int)least;
    return ARTEL_OK;
}

static artel_status take_security(artel_cluster *mesh)
{
    artel_cluster_options *o = &mesh->options;
    const char *folder = artel__process_environment(NULL, "ARTEL_CERT_DIR");
    const char *insecure = artel__process_environment(NULL, "ARTEL_INSECURE_NETWORK");
    o->insecure_network =
        o->insecure_network || (insecure && (strcmp(insecure, "1") == 0 || strcmp(insecure, "true") == 0));
    if (o->cert_dir || !folder || !folder[0]) return ARTEL_OK;
    o->cert_dir = artel__arena_strdup(&mesh->cluster.arena, folder);
    return artel__arena_status(&mesh->cluster.arena);
}

static void name_peer(artel_cluster *mesh, int rank)
{
    const artel__cluster *c = &mesh->cluster;
    artel__mesh_peer *p = &mesh->peer[rank];
    p->task = &c->task[rank];
    const char *type = artel__task_type_name(p->task->type), *address = p->task->address;
    if (!address && rank == 0) address = c->rendezvous;
    snprintf(p->name, sizeof p->name, "%s-%d", type, (int)p->task->index);
    snprintf(p->address, sizeof p->address, "%s", address ? address : "");
    snprintf(p->title, sizeof p->title, "%s %d%s%.120s%s", type, (int)p->task->index, address ? " (" : "",
             address ? address : "", address ? ")" : "");
    mesh->title[rank] = p->title;
}

/* Hosts of several tasks, and those that are numbers, this machine itself or called like a task, are nobody's names. */
static void name_hosts(artel_cluster *mesh)
{
    artel__host_port known;
    for (int r = 0; r < mesh->peers; r++) {
        artel__mesh_peer *p = &mesh->peer[r];
        if (!p->task->address || artel__host_port_parse(p->task->address, &known)) continue;
        bool own = artel__host_is_name(known.host) && artel__mesh_find(mesh, known.host) < 0;
        for (int other = 0; other < r; other++) {
            if (strcmp(mesh->peer[other].host, known.host) != 0) continue;
            mesh->peer[other].shared_host = true;
            p->shared_host = true;
        }
        if (own) snprintf(p->host, sizeof p->host, "%s", known.host);
    }
}

static bool is_loopback(const artel__mesh_peer *p)
{
    artel__host_port known;
    if (!p->task->address || artel__host_port_parse(p->task->address, &known)) return false;
    return strcmp(known.host, "localhost") == 0 || strncmp(known.host, "127.", 4) == 0 ||
           strcmp(known.host, "::1") == 0;
}

/* Where many tasks share a machine their handshakes, of which there are as many as pairs, share its cores: limits grow
 * with their number. */
static int crowd_of(const artel_cluster *mesh)
{
    artel__host_port own, other;
    int here = 0, cores = artel__usable_cores();
    if (!mesh->peer[mesh->self].address[0] || artel__host_port_parse(mesh->peer[mesh->self].address, &own)) return 1;
    for (int r = 0; r < mesh->peers; r++)
        here += mesh->peer[r].address[0] && !artel__host_port_parse(mesh->peer[r].address, &other) &&
                strcmp(own.host, other.host) == 0;
    return 1 + here / (8 * cores);
}

/* A list in which every host calls itself localhost and the others by their names looks right on each of them. */
static void warn_loopback(const artel_cluster *mesh)
{
    const artel__mesh_peer *self = &mesh->peer[mesh->self];
    for (int r = 0; r < mesh->peers && is_loopback(self); r++) {
        const artel__mesh_peer *p = &mesh->peer[r];
        if (!p->task->address || is_loopback(p)) continue;
        artel__log(mesh->ctx, ARTEL_LOG_WARNING,
                   "%s: this task's own address is the loopback, which %s cannot reach; give the same list, with names "
                   "that all "
                   "can reach, to every task",
                   self->title, p->title);
        return;
    }
}

static artel_status make_peers(artel_cluster *mesh)
{
    void *block;
    size_t peers = (size_t)count_members(mesh);
    mesh->self = mesh->cluster.self_at; /* members are the first tasks */
    ARTEL_TRY(artel__calloc(mesh->ctx, peers, sizeof *mesh->peer, "cluster", &block));
    mesh->peer = block;
    mesh->peers = (int)peers;
    ARTEL_TRY(artel__calloc(mesh->ctx, peers, sizeof *mesh->title, "cluster", &block));
    mesh->title = block;
    ARTEL_TRY(artel__calloc(mesh->ctx, 3 * peers, sizeof *mesh->named, "cluster", &block));
    mesh->named = block;
    ARTEL_TRY(artel__calloc(mesh->ctx, peers, sizeof *mesh->status.view, "cluster", &block));
    mesh->status.view = block;
    ARTEL_TRY(artel__calloc(mesh->ctx, peers, 1, "cluster", &block));
    mesh->orders.serve = block;
    int links = 4 * mesh->peers + 16;
    ARTEL_TRY(artel__calloc(mesh->ctx, (size_t)links, sizeof *mesh->links.link, "cluster", &block));
    mesh->links.link = block;
    mesh->links.count = links; /* not before there are any: a mesh is closed at whatever step it failed */
    mesh->links.room = mesh->links.count + mesh->peers + 2 + 2 * ARTEL__MESH_MOST_RANKS;
    ARTEL_TRY(artel__calloc(mesh->ctx, (size_t)mesh->links.room, sizeof *mesh->links.poll, "cluster", &block));
    mesh->links.poll = block;
    for (int r = 0; r < mesh->peers; r++) name_peer(mesh, r);
    name_hosts(mesh);
    return ARTEL_OK;
}

/* All tasks of a job find the same number: who is in it. */
static uint64_t job_number(const artel_cluster *mesh)
{
    uint8_t digest[32];
    uint64_t job;
    artel__sha256 hash;
    artel__sha256_init(&hash);
    for (int r = 0; r < mesh->peers; r++)
        artel__sha256_update(&hash, mesh->peer[r].name, strlen(mesh->peer[r].name) + 1);
    artel__sha256_final(&hash, digest);
    memcpy(&job, digest, sizeof job);
    return job;
}

static artel_status listen_here(artel_cluster *mesh)
{
    const artel__mesh_peer *self = &mesh->peer[mesh->self];
    int of_a_host = 12 * mesh->peers > 256 ? 12 * mesh->peers : 256; /* all may share one, and dial again */
    artel__listener_options options = {.most_per_host = of_a_host, .most_pending = 768 + of_a_host};
    artel__host_port known = {.host = ""};
    artel__host_port_parse(self->address[0] ? self->address : mesh->peer[0].address, &known);
    int port = self->address[0] ? known.port : mesh->options.port;
    ARTEL_TRY(artel__listen_address(mesh->ctx, &known, mesh->options.bind, port, &options.address));
    ARTEL_TRY(artel__listener_create(&mesh->site, &options, &mesh->listener));
    artel__listen_reach(&options.address, artel__listener_port(mesh->listener), &mesh->own);
    return ARTEL_OK;
}

static artel_status init_mutex(artel_cluster *mesh)
{
    if (pthread_mutex_init(&mesh->mutex, NULL) != 0)
        return artel__fail(mesh->ctx, ARTEL_ERROR_NO_MEMORY, "cluster", "", "no mutex");
    pthread_mutex_init(&mesh->incident.mutex, NULL);
    artel__cond_init(&mesh->changed);
    artel__cond_init(&mesh->threads.names);
    artel__mesh_move_life(&mesh->threads.life, ARTEL__MESH_LOCKED);
    return ARTEL_OK;
}

static artel_status start_threads(artel_cluster *mesh)
{
    artel__mesh_threads *t = &mesh->threads;
    pthread_mutex_lock(&mesh->mutex); /* they look at the life that is written here */
    if (pthread_create(&t->mover, NULL, artel__mesh_main, mesh) == 0)
        artel__mesh_move_life(&t->life, ARTEL__MESH_MOVING);
    if (t->life == ARTEL__MESH_MOVING && pthread_create(&t->namer, NULL, artel__mesh_name_main, mesh) == 0)
        artel__mesh_move_life(&t->life, ARTEL__MESH_NAMING);
    pthread_mutex_unlock(&mesh->mutex);
    if (t->life == ARTEL__MESH_NAMING) return ARTEL_OK;
    return artel__fail(mesh->ctx, ARTEL_ERROR_RUN, "cluster", ARTEL__ADVISE_THREADS,
                       "its threads could not be started");
}

static artel_status start(artel_cluster *mesh)
{
    if (mesh->options.min_workers > count_members(mesh))
        return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, ".min_workers", "ask for as many as there are, or fewer",
                           "there are not so many tasks that train (found %d, the cluster of %s has %d)",
                           mesh->options.min_workers, mesh->cluster.where, count_members(mesh));
    ARTEL_TRY(init_mutex(mesh));
    ARTEL_TRY(make_peers(mesh));
    warn_loopback(mesh);
    mesh->crowd = crowd_of(mesh);
    mesh->site = (artel__site){.ctx = mesh->ctx,
                               .insecure_network = mesh->options.insecure_network,
                               .shares = !mesh->options.no_shared_memory,
                               .admit = artel__mesh_admit,
                               .host_of = artel__mesh_host,
                               .incident = artel__mesh_note_incident,
                               .handshake_ns = mesh->crowd * 2 * ARTEL__MESH_SECOND,
                               .user = mesh};
    mesh->site.self.job = job_number(mesh);
    snprintf(mesh->site.self.task, sizeof mesh->site.self.task, "%s", mesh->peer[mesh->self].name);
    if (getrandom(&mesh->site.self.incarnation, sizeof mesh->site.self.incarnation, 0) < 0)
        return artel__fail_errno(mesh->ctx, "cluster", "take a random number");
    ARTEL_TRY(artel_context_create(NULL, &mesh->quiet));
    artel__text_init(&mesh->pass.report, mesh->quiet);
    if (mesh->options.post_mortem) ARTEL_TRY(artel__log_keep(mesh->ctx, REPORT_LINES));
    ARTEL_TRY(artel__mesh_open_certificate(mesh));
    ARTEL_TRY(listen_here(mesh));
    mesh->threads.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (mesh->threads.wake < 0) return artel__fail_errno(mesh->ctx, "cluster", "open");
    return start_threads(mesh);
}

artel_status artel__mesh_open(artel_context *ctx, const artel_cluster_options *options, const char *transport,
                              artel_cluster **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_cluster), "cluster", &block));
    artel_cluster *mesh = block;
    mesh->ctx = ctx;
    mesh->threads.wake = -1;
    artel_status status = take_options(ctx, options, &mesh->options);
    if (status == ARTEL_OK) status = artel__far_find(ctx, transport, &mesh->transport);
    if (status == ARTEL_OK) status = resolve(mesh);
    if (status == ARTEL_OK) status = take_least(mesh);
    if (status == ARTEL_OK) status = take_security(mesh);
    if (status == ARTEL_OK) mesh->generation.writes = mesh->single || mesh->cluster.is_chief;
    if (status == ARTEL_OK && !mesh->single) status = start(mesh);
    if (status < 0) {
        artel_cluster_close(mesh);
        return status;
    }
    *out = mesh;
    return ARTEL_OK;
}

artel_status artel_cluster_open(artel_context *ctx, const artel_cluster_options *options, artel_cluster **out)
{
    ARTEL_TRY(artel__enter(ctx, __func__, "context out", ctx, out));
    return artel__mesh_open(ctx, options, NULL, out);
}

static void stop_threads(artel_cluster *mesh)
{
    artel__mesh_life life = mesh->threads.life;
    if (life < ARTEL__MESH_MOVING) return;
    pthread_mutex_lock(&mesh->mutex);
    artel__mesh_move_life(&mesh->threads.life, ARTEL__MESH_CLOSING);
    pthread_cond_broadcast(&mesh->threads.names);
    pthread_mutex_unlock(&mesh->mutex);
    artel__mesh_wake(mesh);
    pthread_join(mesh->threads.mover, NULL);
    if (life == ARTEL__MESH_NAMING) pthread_join(mesh->threads.namer, NULL);
}

static void close_connections(artel_cluster *mesh)
{
    artel__mesh_drop_data(mesh, true);
    artel__mesh_table_fini(mesh, &mesh->generation.now);
    artel__mesh_table_fini(mesh, &mesh->generation.next);
    for (int i = 0; i < mesh->links.count; i++) artel__connection_close(mesh->links.link[i].connection);
    for (int r = 0; r < mesh->peers; r++) artel__connection_close(mesh->peer[r].dialled);
    artel__status_desk_close(&mesh->status.desk);
    artel__listener_destroy(mesh->listener);
    artel__tls_close(&mesh->certificate.tls);
    if (mesh->threads.wake >= 0) close(mesh->threads.wake);
}

void artel_cluster_close(artel_cluster *mesh)
{
    if (!mesh) return;
    stop_threads(mesh);
    artel__membership_destroy(mesh->machine);
    close_connections(mesh);
    if (mesh->threads.life != ARTEL__MESH_BARE) {
        pthread_cond_destroy(&mesh->changed);
        pthread_cond_destroy(&mesh->threads.names);
        pthread_mutex_destroy(&mesh->incident.mutex);
        pthread_mutex_destroy(&mesh->mutex);
    }
    void *const block[] = {mesh->data.list, mesh->links.link, mesh->links.poll,  mesh->peer,
                           mesh->title,     mesh->named,      mesh->status.view, mesh->orders.serve};
    for (size_t i = 0; i < ARTEL__COUNT(block); i++) artel__free(mesh->ctx, block[i]);
    artel__mesh_forget_notes(mesh);
    artel__text_fini(&mesh->pass.report);
    artel_context_destroy(mesh->quiet);
    artel__cluster_fini(&mesh->cluster);
    artel__free(mesh->ctx, mesh);
}
