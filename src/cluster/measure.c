/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting every pair of tasks, and the rounds. Higher ranks dial lower ones, with a backoff, until all are there or
 * the time is over. */
#include "cluster/measure.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cluster/listen.h"
#include "net/cert.h"
#include "net/listener.h"

#define SECOND INT64_C(1000000000)
#define PAUSE_NS (SECOND / 5)

typedef struct partner {
    char name[64];
    artel__connection *connection;
    int64_t dial_at;
    bool open, dead; /* dead: what cannot heal */
} partner;

typedef struct measuring {
    artel_context *ctx, *quiet; /* quiet: for names that are not known yet */
    const artel__cluster *cluster;
    const artel__measure_options *options;
    artel__measured *out;
    artel__site site;
    artel__tls tls;
    artel__listener *listener;
    artel__arena arena;
    partner *peer;
    int peers, self;
    int64_t until, noted;
    char host[ARTEL__HOST_MAX + 1]; /* for host_of */
} measuring;

int artel__measure_partner(int n, int round, int i)
{
    int last = n + n % 2 - 1, other; /* an even number of places, the last one fixed */
    if (i == last)
        other = round;
    else {
        other = (2 * round - i) % last;
        other = other < 0 ? other + last : other;
        if (other == i) other = last;
    }
    return other < n ? other : -1;
}

static int find(const measuring *m, const char *name)
{
    for (int r = 0; r < m->peers; r++) {
        if (strcmp(m->peer[r].name, name) == 0) return r;
    }
    return -1;
}

static artel__net_fault admit(void *user, const artel__hello *peer, char reason[ARTEL__HELLO_REASON])
{
    const measuring *m = user;
    int rank = find(m, peer->task);
    if (rank >= 0 && rank != m->self && peer->purpose == ARTEL__NET_DATA) return ARTEL__FAULT_NONE;
    snprintf(reason, ARTEL__HELLO_REASON,
             rank == m->self ? "another process is %.50s already" : "there is no task %.50s in this cluster",
             peer->task);
    return ARTEL__FAULT_REJECTED;
}

/* The DNS name of the task's host, when no other task is there. */
static const char *host_of(void *user, const char *name)
{
    measuring *m = user;
    int rank = find(m, name), there = 0;
    artel__host_port known, other;
    if (rank < 0 || artel__host_port_parse(m->cluster->task[rank].address, &known)) return NULL;
    for (int r = 0; r < m->peers; r++)
        there += !artel__host_port_parse(m->cluster->task[r].address, &other) && strcmp(known.host, other.host) == 0;
    if (there != 1 || !artel__host_is_name(known.host) || find(m, known.host) >= 0) return NULL;
    snprintf(m->host, sizeof m->host, "%s", known.host);
    return m->host;
}

/* -- setting up -- */

static artel_status name_peers(measuring *m)
{
    artel__sha256 hash;
    uint8_t digest[32];
    m->peer = artel__arena_alloc(&m->arena, (size_t)m->peers, sizeof *m->peer);
    ARTEL_TRY(artel__arena_status(&m->arena));
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, "artel check", 11);
    for (int r = 0; r < m->peers; r++) {
        const artel__task *task = &m->cluster->task[r];
        if (!task->address)
            return artel__fail(m->ctx, ARTEL_ERROR_UNSUPPORTED, m->cluster->where,
                               "name all of them, with a cluster file for example",
                               "the addresses of the other tasks are not known before they meet");
        snprintf(m->peer[r].name, sizeof m->peer[r].name, "%s-%d", artel__task_type_name(task->type), (int)task->index);
        artel__sha256_update(&hash, m->peer[r].name, strlen(m->peer[r].name) + 1);
    }
    artel__sha256_final(&hash, digest);
    memcpy(&m->site.self.job, digest, sizeof m->site.self.job);
    snprintf(m->site.self.task, sizeof m->site.self.task, "%s", m->peer[m->self].name);
    if (getrandom(&m->site.self.incarnation, sizeof m->site.self.incarnation, 0) < 0)
        return artel__fail_errno(m->ctx, "check", "take a random number for");
    return ARTEL_OK;
}

static artel_status open_certificate(measuring *m)
{
    artel__tls_files files;
    if (!m->options->cert_dir) return ARTEL_OK;
    ARTEL_TRY(artel__cert_locate(&m->arena, m->options->cert_dir, m->peer[m->self].name, &files));
    ARTEL_TRY(artel__tls_open(m->ctx, &files, &m->tls));
    m->site.tls = &m->tls;
    return ARTEL_OK;
}

static artel_status listen_here(measuring *m)
{
    artel__listener_options options = {.most_per_host = 256, .most_pending = 1024};
    artel__host_port known = {.host = ""};
    artel__host_port_parse(m->cluster->task[m->self].address, &known);
    ARTEL_TRY(artel__listen_address(m->ctx, &known, m->options->bind, known.port, &options.address));
    return artel__listener_create(&m->site, &options, &m->listener);
}

/* -- connecting -- */

static bool may_heal(artel__net_fault fault)
{
    return fault == ARTEL__FAULT_UNREACHABLE || fault == ARTEL__FAULT_LOST || fault == ARTEL__FAULT_SLOW ||
           fault == ARTEL__FAULT_CROWDED;
}

static void dial(measuring *m, int rank, int64_t now)
{
    partner *p = &m->peer[rank];
    artel__connection_request request = {.purpose = ARTEL__NET_DATA, .task = p->name};
    if (p->connection || p->dead || now < p->dial_at) return;
    p->dial_at = now + PAUSE_NS;
    if (artel__net_address_resolve(m->quiet, m->cluster->task[rank].address, &request.to) < 0)
        snprintf(m->out[rank].why, sizeof m->out[rank].why, "there is no such host name (yet)");
    else if (artel__connection_open(&m->site, &request, &p->connection) < 0)
        p->connection = NULL;
}

static void move(measuring *m, int rank)
{
    partner *p = &m->peer[rank];
    if (!p->connection || p->open) return;
    artel__connection_state state = artel__connection_progress(p->connection);
    p->open = state == ARTEL__CONNECTION_OPEN;
    if (state != ARTEL__CONNECTION_LOST) return;
    snprintf(m->out[rank].why, sizeof m->out[rank].why, "%.250s", artel__connection_why(p->connection));
    p->dead = !may_heal(artel__connection_fault(p->connection));
    artel__connection_close(p->connection);
    p->connection = NULL;
}

static void accept_all(measuring *m)
{
    artel__listener_progress(m->listener);
    for (artel__connection *c = artel__listener_take(m->listener); c; c = artel__listener_take(m->listener)) {
        int rank = find(m, artel__connection_peer(c)->task);
        if (rank <= m->self || m->peer[rank].connection) {
            artel__connection_close(c);
            continue;
        }
        m->peer[rank].connection = c;
        m->peer[rank].open = true;
    }
}

/* How many are still waited for; says so now and then. */
static int count_missing(measuring *m, int64_t now)
{
    int missing = 0;
    for (int r = 0; r < m->peers; r++) {
        const partner *p = &m->peer[r];
        if (r == m->self || p->open || p->dead) continue;
        if (now >= m->noted)
            artel__log(m->ctx, ARTEL_LOG_NOTE, "waiting for %s (%s)%s%s", p->name, m->cluster->task[r].address,
                       m->out[r].why[0] ? ": " : "", m->out[r].why);
        missing++;
    }
    if (now >= m->noted) m->noted = now + 5 * SECOND;
    return missing;
}

static void connect_all(measuring *m)
{
    for (int64_t now = artel__now_ns(); now < m->until && !artel__cancelled(m->ctx) && !artel__preempted(m->ctx);
         now = artel__now_ns()) {
        for (int r = 0; r < m->self; r++) {
            dial(m, r, now);
            move(m, r);
        }
        accept_all(m);
        if (count_missing(m, now) == 0) return;
        struct pollfd ready = {.fd = artel__listener_fd(m->listener), .events = POLLIN};
        poll(&ready, 1, 5);
    }
}

/* -- measuring -- */

static void run_rounds(measuring *m)
{
    int rounds = m->peers + m->peers % 2 - 1;
    int64_t until = m->until + 60 * SECOND; /* others may wait as long as this task would have */
    for (int k = 0; k < rounds; k++) {
        int r = artel__measure_partner(m->peers, k, m->self);
        if (r < 0 || !m->peer[r].open) continue;
        artel__measure_pair(m->peer[r].connection, m->self < r, until, &m->out[r]);
    }
}

artel_status artel__measure(artel_context *ctx, const artel__cluster *cluster, const artel__measure_options *options,
                            artel__measured *out)
{
    measuring m = {.ctx = ctx,
                   .cluster = cluster,
                   .options = options,
                   .out = out,
                   .peers = cluster->trainers,
                   .self = cluster->rank};
    int64_t now = artel__now_ns();
    m.until = now + (int64_t)(options->wait * 1e9);
    m.noted = now + SECOND;
    m.site = (artel__site){.ctx = ctx,
                           .insecure_network = options->insecure_network,
                           .shares = true,
                           .admit = admit,
                           .host_of = host_of,
                           .user = &m};
    memset(out, 0, (size_t)cluster->trainers * sizeof *out);
    artel__arena_init(&m.arena, ctx);
    artel_status status = artel_context_create(NULL, &m.quiet);
    if (status == ARTEL_OK) status = name_peers(&m);
    if (status == ARTEL_OK) status = open_certificate(&m);
    if (status == ARTEL_OK) status = listen_here(&m);
    if (status == ARTEL_OK) {
        connect_all(&m);
        run_rounds(&m);
    }
    for (int r = 0; m.peer && r < m.peers; r++) {
        if (r != m.self && status == ARTEL_OK && !out[r].reached && !out[r].why[0])
            snprintf(out[r].why, sizeof out[r].why, "it has not connected");
        artel__connection_close(m.peer[r].connection);
    }
    artel__listener_destroy(m.listener);
    artel__tls_close(&m.tls);
    artel_context_destroy(m.quiet);
    artel__arena_fini(&m.arena);
    return status;
}
