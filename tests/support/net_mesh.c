/* SPDX-License-Identifier: Apache-2.0 */
#include "support/net_mesh.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/certificates.h"

static void note(void *user, const artel__net_incident *incident)
{
    support_mesh *mesh = user;
    mesh->incidents++;
    mesh->fault = incident->fault;
    mesh->proven = incident->proven;
    snprintf(mesh->reason, sizeof mesh->reason, "%s", incident->reason);
}

static artel_status make_certificates(support_mesh *mesh)
{
    char authority[96], certificate[96], key[96], name[32];
    snprintf(mesh->folder, sizeof mesh->folder, "/tmp/artel-mesh-XXXXXX");
    if (!mkdtemp(mesh->folder)) return ARTEL_ERROR_IO;
    snprintf(authority, sizeof authority, "%s/ca.pem", mesh->folder);
    support_authority *a = support_authority_create(authority);
    artel_status status = ARTEL_OK;
    for (int r = 0; r < mesh->ranks && status == ARTEL_OK; r++) {
        snprintf(certificate, sizeof certificate, "%s/%d.pem", mesh->folder, r);
        snprintf(key, sizeof key, "%s/%d.key", mesh->folder, r);
        snprintf(name, sizeof name, "worker-%d", r);
        support_issue(a, &(support_certificate){name, certificate, key, -3600, 3600});
        status = artel__tls_open(mesh->ctx, &(artel__tls_files){authority, certificate, key}, &mesh->tls[r]);
        unlink(certificate);
        unlink(key);
    }
    support_authority_destroy(a);
    unlink(authority);
    rmdir(mesh->folder);
    return status;
}

/* Sockets that the calling thread makes from now on belong to the rank's host. */
static artel_status enter(const support_mesh *mesh, int rank)
{
    char path[128];
    if (!mesh->space[rank]) return ARTEL_OK;
    snprintf(path, sizeof path, "/run/netns/%s", mesh->space[rank]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ARTEL_ERROR_IO;
    int failed = setns(fd, CLONE_NEWNET);
    close(fd);
    return failed ? ARTEL_ERROR_IO : ARTEL_OK;
}

static bool address_of(const support_mesh *mesh, int rank, int port, artel__net_address *out)
{
    char text[80];
    snprintf(text, sizeof text, "%s:%d", mesh->host[rank] ? mesh->host[rank] : "127.0.0.1", port);
    return artel__net_address_parse(text, out);
}

artel_status support_mesh_listen(support_mesh *mesh)
{
    artel__listener_options options = {.most_pending = 0};
    if (mesh->secure) ARTEL_TRY(make_certificates(mesh));
    for (int r = 0; r < mesh->ranks; r++) {
        artel__site *s = &mesh->site[r];
        *s = (artel__site){.ctx = mesh->ctx, .self = {.job = 7, .incarnation = (uint64_t)r + 100, .generation = 1}};
        s->tls = mesh->secure ? &mesh->tls[r] : NULL;
        s->shares = mesh->shares;
        s->insecure_network = mesh->space[r] != NULL; /* whoever makes namespaces knows who is in them */
        s->incident = note;
        s->user = mesh;
        snprintf(s->self.task, sizeof s->self.task, "worker-%d", r);
        if (!address_of(mesh, r, 0, &options.address)) return ARTEL_ERROR_IO;
        ARTEL_TRY(enter(mesh, r));
        ARTEL_TRY(artel__listener_create(s, &options, &mesh->listener[r]));
    }
    return ARTEL_OK;
}

artel_status support_mesh_dial(support_mesh *mesh, int from, int to, artel__net_purpose purpose,
                               artel__connection **out)
{
    artel__connection_request request = {.purpose = purpose, .task = mesh->site[to].self.task};
    if (!address_of(mesh, to, artel__listener_port(mesh->listener[to]), &request.to)) return ARTEL_ERROR_IO;
    ARTEL_TRY(enter(mesh, from));
    return artel__connection_open(&mesh->site[from], &request, out);
}

static bool settled(const artel__connection *c)
{
    artel__connection_state state = artel__connection_get_state(c);
    return state == ARTEL__CONNECTION_OPEN || state == ARTEL__CONNECTION_LOST;
}

artel__connection *support_mesh_meet(support_mesh *mesh, int to, artel__connection *from)
{
    int64_t until = artel__now_ns() + INT64_C(120000000000);
    artel__connection *other = NULL;
    artel__listener *listener = mesh->listener[to];
    while (artel__now_ns() < until) {
        artel__connection_progress(from);
        artel__listener_progress(listener);
        if (!other) other = artel__listener_take(listener);
        if (settled(from) && (other || artel__listener_pending(listener) == 0)) break;
        struct pollfd ready[2] = {{artel__connection_fd(from), artel__connection_events(from), 0},
                                  {artel__listener_fd(listener), POLLIN, 0}};
        poll(ready, 2, 10);
    }
    return other;
}

static artel_status join(support_mesh *mesh, int a, int b)
{
    artel__connection *near, *far;
    ARTEL_TRY(support_mesh_dial(mesh, a, b, ARTEL__NET_DATA, &near));
    far = support_mesh_meet(mesh, b, near);
    if (!far || artel__connection_get_state(near) != ARTEL__CONNECTION_OPEN) {
        artel__connection_close(near);
        artel__connection_close(far);
        return ARTEL_ERROR_NO_MEMORY; /* the only reason that tests provoke here */
    }
    artel_status status = artel__far_attach(mesh->endpoint[a], b, near);
    if (status < 0) {
        artel__connection_close(far);
        return status;
    }
    return artel__far_attach(mesh->endpoint[b], a, far);
}

static artel_status connect_all(support_mesh *mesh)
{
    if (!mesh->transport) ARTEL_TRY(artel__far_find(mesh->ctx, NULL, &mesh->transport));
    ARTEL_TRY(support_mesh_listen(mesh));
    for (int r = 0; r < mesh->ranks; r++) {
        artel__far_options options = {
            .rank = r, .ranks = mesh->ranks, .window = mesh->window, .spin_ns = mesh->spin_ns};
        ARTEL_TRY(mesh->transport->create(mesh->ctx, &options, &mesh->endpoint[r]));
    }
    for (int a = 0; a < mesh->ranks; a++) {
        for (int b = a + 1; b < mesh->ranks; b++) ARTEL_TRY(join(mesh, a, b));
    }
    return ARTEL_OK;
}

artel_status support_mesh_open(support_mesh *mesh)
{
    artel_status status = connect_all(mesh);
    if (status < 0) support_mesh_close(mesh);
    return status;
}

void support_mesh_close(support_mesh *mesh)
{
    for (int r = 0; r < mesh->ranks; r++) {
        artel__net_close(mesh->endpoint[r]);
        mesh->endpoint[r] = NULL;
        artel__listener_destroy(mesh->listener[r]);
        mesh->listener[r] = NULL;
    }
    for (int r = 0; r < mesh->ranks; r++) artel__tls_close(&mesh->tls[r]);
}
