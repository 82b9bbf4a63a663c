/* SPDX-License-Identifier: Apache-2.0 */
/* Asking: a connection of its own, one question, one answer. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "cluster/cluster.h"
#include "cluster/status.h"
#include "net/cert.h"

typedef struct asking {
    artel_context *ctx;
    const artel__status_request *request;
    artel__arena arena;
    artel__site site;
    artel__tls tls;
    artel__connection *connection;
    int64_t deadline;
    char host[ARTEL__HOST_MAX + 1]; /* its DNS name; "": a number, or this machine */
} asking;

/* What is refused here is what the caller is told. */
static void ignore_incident(void *user, const artel__net_incident *incident)
{
    (void)user;
    (void)incident;
}

/* Who answers there may have a certificate for that host instead of one for its task. */
static const char *host_asked(void *user, const char *task)
{
    const asking *a = user;
    (void)task;
    return a->host[0] ? a->host : NULL;
}

/* The certificate, and the name in it: under another one nobody would be let in. */
static artel_status open_certificate(asking *a)
{
    const artel__status_request *r = a->request;
    artel__tls_files files;
    artel__cert_maker maker;
    if (!r->cert_dir) return ARTEL_OK;
    if (artel__cert_locate(&a->arena, r->cert_dir, r->name ? r->name : "operator", &files) < 0) {
        artel__operation_begin(a->ctx);
        return artel__fail(
            a->ctx, ARTEL_ERROR_NOT_FOUND, r->cert_dir,
            "make one with: artel cert issue DIR operator; or give .name, a task whose certificate is there",
            "there is no certificate for %s", r->name ? r->name : "operator");
    }
    artel__cert_info *info = artel__arena_alloc(&a->arena, 1, sizeof *info);
    ARTEL_TRY(artel__arena_status(&a->arena));
    ARTEL_TRY(artel__cert_open(a->ctx, &maker));
    artel_status status = artel__cert_read(&maker, files.certificate, info);
    artel__cert_close(&maker);
    if (status < 0) return status;
    ARTEL_TRY(artel__tls_open(a->ctx, &files, &a->tls));
    a->site.tls = &a->tls;
    /* Certificates of other tools have no URI of ours: the first DNS name is the task's. */
    const char *name = r->name ? r->name : info->name[0] ? info->name : info->hosts ? info->host[0] : "";
    snprintf(a->site.self.task, sizeof a->site.self.task, "%.63s", name);
    if (name[0]) return ARTEL_OK;
    return artel__fail(a->ctx, ARTEL_ERROR_INVALID, files.certificate, "use one that artel cert has issued",
                       "it names no task");
}

static artel_status connect_to(asking *a)
{
    artel__connection_request request = {.purpose = ARTEL__NET_CONTROL, .task = ""};
    a->site =
        (artel__site){.ctx = a->ctx, .insecure_network = a->request->insecure_network, .incident = ignore_incident};
    a->site.host_of = host_asked;
    a->site.user = a;
    a->site.handshake_ns = (int64_t)(a->request->timeout * 1e9);
    snprintf(a->site.self.task, sizeof a->site.self.task, "operator");
    if (getrandom(&a->site.self.incarnation, sizeof a->site.self.incarnation, 0) < 0)
        return artel__fail_errno(a->ctx, a->request->address, "take a random number for");
    ARTEL_TRY(artel__net_address_resolve(a->ctx, a->request->address, &request.to));
    ARTEL_TRY(open_certificate(a));
    return artel__connection_open(&a->site, &request, &a->connection);
}

static const char *advice_for(artel__net_fault fault)
{
    switch (fault) {
    case ARTEL__FAULT_CERTIFICATE:
    case ARTEL__FAULT_NAME:
    case ARTEL__FAULT_PLAINTEXT: return "give a certificate of the job's authority with .cert_dir";
    case ARTEL__FAULT_VERSION:
    case ARTEL__FAULT_GARBAGE: return "ask the port of a running artel task of this version";
    default: return "see whether a task of a job runs there";
    }
}

static artel_status fail_lost(const asking *a)
{
    artel__net_fault fault = artel__connection_fault(a->connection);
    bool gone = fault == ARTEL__FAULT_UNREACHABLE || fault == ARTEL__FAULT_LOST || fault == ARTEL__FAULT_SLOW ||
                fault == ARTEL__FAULT_CROWDED;
    const char *why = artel__connection_why(a->connection), *short_why = strstr(why, artel__net_fault_name(fault));
    return artel__fail(a->ctx, gone ? ARTEL_ERROR_RUN : ARTEL_ERROR_INVALID, a->request->address, advice_for(fault),
                       "no answer: %s", short_why ? short_why : why);
}

/* Waits for the socket; false when the time is over. */
static bool wait_for(const asking *a)
{
    int64_t left = a->deadline - artel__now_ns();
    struct pollfd ready = {.fd = artel__connection_fd(a->connection),
                           .events = artel__connection_events(a->connection)};
    if (left <= 0) return false;
    poll(&ready, 1, left < INT64_C(100000000) ? (int)(left / 1000000) + 1 : 100);
    return true;
}

static artel_status converse(asking *a, artel__text *out)
{
    const void *answer;
    size_t count;
    bool asked = false;
    for (;;) {
        artel__connection_state state = artel__connection_progress(a->connection);
        if (state == ARTEL__CONNECTION_OPEN && !asked)
            asked =
                artel__connection_say(a->connection, a->request->question, strlen(a->request->question)) == ARTEL_OK;
        if (asked && artel__connection_hear(a->connection, &answer, &count) == ARTEL_OK) break;
        if (artel__connection_get_state(a->connection) == ARTEL__CONNECTION_LOST) return fail_lost(a);
        if (!wait_for(a))
            return artel__fail(a->ctx, ARTEL_ERROR_RUN, a->request->address,
                               "see whether its process is stopped, or its host reachable", "no answer within %g s",
                               a->request->timeout);
    }
    artel__text_append_bytes(out, answer, count);
    return artel__text_status(out);
}

artel_status artel__status_ask(artel_context *ctx, const artel__status_request *request, artel__text *out)
{
    asking a = {.ctx = ctx, .request = request, .deadline = artel__now_ns() + (int64_t)(request->timeout * 1e9)};
    artel__host_port known;
    artel__arena_init(&a.arena, ctx);
    bool named = !artel__host_port_parse(request->address, &known) && artel__host_is_name(known.host);
    if (named) snprintf(a.host, sizeof a.host, "%s", known.host);
    artel_status status = connect_to(&a);
    if (status == ARTEL_OK) status = converse(&a, out);
    artel__connection_close(a.connection);
    artel__tls_close(&a.tls);
    artel__arena_fini(&a.arena);
    return status;
}
