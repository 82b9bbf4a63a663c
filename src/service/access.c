/* SPDX-License-Identifier: Apache-2.0 */
/* Sites of the data service, and questions that wait for their answer. */
#include "service/access.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "net/cert.h"
#include "service/line.h"

#define JOB                                                                                                          \
    UINT64_C(0x61746164656c7472) /* so that a task of a training and a service do not take one another for their own \
                                  */

static void ignore_incident(void *user, const artel__net_incident *incident)
{
    (void)user;
    (void)incident;
}

/* The certificate and the name in it: under another one nobody would be let in. */
static artel_status open_certificate(artel_context *ctx, const artel__service_access *access, artel__service_site *out)
{
    artel__tls_files files;
    artel__cert_maker maker;
    ARTEL_TRY(artel__cert_locate(&out->arena, access->cert_dir, access->cert_name, &files));
    artel__cert_info *info = artel__arena_alloc(&out->arena, 1, sizeof *info);
    ARTEL_TRY(artel__arena_status(&out->arena));
    ARTEL_TRY(artel__cert_open(ctx, &maker));
    artel_status status = artel__cert_read(&maker, files.certificate, info);
    artel__cert_close(&maker);
    if (status < 0) return status;
    ARTEL_TRY(artel__tls_open(ctx, &files, &out->tls));
    out->site.tls = &out->tls;
    const char *name = info->name[0] ? info->name : info->hosts ? info->host[0] : "";
    snprintf(out->site.self.task, sizeof out->site.self.task, "%.63s", name);
    if (name[0]) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, files.certificate, "use one that artel cert has issued",
                       "it names no task");
}

artel_status artel__service_site_open(artel_context *ctx, const artel__service_access *access, const char *role,
                                      bool asks, artel__service_site *out)
{
    memset(out, 0, sizeof *out);
    artel__arena_init(&out->arena, ctx);
    out->site =
        (artel__site){.ctx = ctx, .insecure_network = access->insecure_network, .handshake_ns = INT64_C(10000000000)};
    if (asks) out->site.incident = ignore_incident;
    out->site.self.job = JOB;
    snprintf(out->site.self.task, sizeof out->site.self.task, "%.63s", role);
    artel_status status = ARTEL_OK;
    if (getrandom(&out->site.self.incarnation, sizeof out->site.self.incarnation, 0) < 0)
        status = artel__fail_errno(ctx, role, "take a random number for");
    if (status == ARTEL_OK && access->cert_dir && access->cert_dir[0]) status = open_certificate(ctx, access, out);
    if (status < 0) artel__service_site_close(out);
    return status;
}

void artel__service_site_close(artel__service_site *site)
{
    if (!site->site.ctx) return;
    artel__tls_close(&site->tls);
    artel__arena_fini(&site->arena);
    memset(site, 0, sizeof *site);
}

const char *artel__service_why(const artel__connection *connection)
{
    const char *why = artel__connection_why(connection),
               *part = strstr(why, artel__net_fault_name(artel__connection_fault(connection)));
    return part ? part : why;
}

bool artel__service_may_heal(artel__net_fault fault)
{
    return fault == ARTEL__FAULT_UNREACHABLE || fault == ARTEL__FAULT_LOST || fault == ARTEL__FAULT_SLOW ||
           fault == ARTEL__FAULT_CROWDED;
}

static artel_status lost(const artel__line *line, const char *address)
{
    bool heals = artel__service_may_heal(artel__connection_fault(line->connection));
    return artel__fail(line->ctx, heals ? ARTEL_ERROR_RUN : ARTEL_ERROR_INVALID, address,
                       heals ? "see whether a data service runs there"
                             : "give a certificate of the service's authority: cert-dir",
                       "%s", artel__service_why(line->connection));
}

static artel_status read_answer(artel_context *ctx, const char *address, const uint8_t *bytes, size_t size,
                                json_t **out)
{
    ARTEL_TRY(artel__json_load(ctx, address, (const char *)bytes, size, out));
    const char *say = json_string_value(json_object_get(*out, "say"));
    if (say && strcmp(say, "refused") != 0) return ARTEL_OK;
    const char *why = json_string_value(json_object_get(*out, "why"));
    artel_status status =
        artel__fail(ctx, ARTEL_ERROR_INVALID, address, "artel data-service status tells what is served", "%.400s",
                    why ? why : "an answer that this version does not understand");
    json_decref(*out);
    *out = NULL;
    return status;
}

static artel_status await_answer(artel__line *line, const char *address, int64_t deadline, json_t **out)
{
    for (;;) {
        artel__line_kind kind;
        const uint8_t *bytes;
        size_t size;
        artel__connection_state state = artel__line_progress(line);
        artel_status heard = artel__line_hear(line, &kind, &bytes, &size);
        if (heard == ARTEL_OK) return read_answer(line->ctx, address, bytes, size, out);
        if (heard < 0)
            return artel__fail(line->ctx, ARTEL_ERROR_RUN, address, "use the artel that runs there",
                               "an answer that is none");
        if (state == ARTEL__CONNECTION_LOST) return lost(line, address);
        if (artel__cancelled(line->ctx)) return artel__fail(line->ctx, ARTEL_ERROR_CANCELLED, address, "", "cancelled");
        if (artel__now_ns() >= deadline)
            return artel__fail(line->ctx, ARTEL_ERROR_RUN, address,
                               "see whether its process is stopped, or its host reachable", "no answer in time");
        struct pollfd ready = {.fd = artel__connection_fd(line->connection),
                               .events = artel__connection_events(line->connection)};
        poll(&ready, 1, 50);
    }
}

artel_status artel__service_ask(artel__service_site *site, const char *address, json_t *question, int64_t limit_ns,
                                json_t **out)
{
    artel_context *ctx = site->site.ctx;
    artel__connection_request request = {.purpose = ARTEL__NET_CONTROL, .task = ""};
    artel__connection *connection = NULL;
    artel__line line = {.ctx = NULL};
    *out = NULL;
    artel_status status = artel__net_address_resolve(ctx, address, &request.to);
    if (status == ARTEL_OK) status = artel__connection_open(&site->site, &request, &connection);
    if (status < 0) {
        json_decref(question);
        return status;
    }
    artel__line_open(&line, ctx, connection, ARTEL__LINE_JSON_MOST);
    status = artel__line_say(&line, question);
    if (status == ARTEL_OK) status = await_answer(&line, address, artel__now_ns() + limit_ns, out);
    artel__line_close(&line);
    return status;
}
