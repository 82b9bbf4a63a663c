/* SPDX-License-Identifier: Apache-2.0 */
/* This task's certificate: judged before the others see it, and watched while the job runs.
 *
 * Files that are renewed are read again by the next connection (net/part_tls/identity.c); nobody has to be told. Whose
 * certificate ends within the hour hears of it once, while there is time: connections that stand go on, new ones would
 * be refused.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/mesh_impl.h"
#include "net/cert.h"
#include "net/farewell.h"

#define FAREWELL_NS (3 * ARTEL__MESH_SECOND)
#define LOOK_EVERY (10 * ARTEL__MESH_SECOND)
#define WARN_SECONDS 3600

/* This task can never join: the others need not wait for it. */
static void say_farewell(artel_cluster *mesh, const artel__tls_files *files)
{
    artel__tls tls = {.identity = NULL};
    artel__site site = {.ctx = mesh->quiet,
                        .self = mesh->site.self,
                        .tls = &tls,
                        .host_of = artel__mesh_host,
                        .incident = artel__mesh_ignore_incident,
                        .user = mesh};
    void *block, *names;
    int count = 0;
    if (artel__tls_open(mesh->quiet, files, &tls) < 0) return; /* nothing that others would believe */
    if (artel__calloc(mesh->quiet, (size_t)mesh->peers, sizeof(artel__net_address), "cluster", &block) < 0)
        goto undo_tls;
    if (artel__calloc(mesh->quiet, (size_t)mesh->peers, sizeof(char *), "cluster", &names) < 0) goto undo_addresses;
    artel__net_address *to = block;
    const char **task = names;
    for (int r = 0; r < mesh->peers; r++) {
        const artel__mesh_peer *p = &mesh->peer[r];
        if (r == mesh->self || !p->address[0] || artel__net_address_resolve(mesh->quiet, p->address, &to[count]) < 0)
            continue;
        task[count++] = p->name;
    }
    artel__farewell(&site, to, task, count, FAREWELL_NS);
    artel__free(mesh->quiet, names);
undo_addresses:
    artel__free(mesh->quiet, block);
undo_tls:
    artel__tls_close(&tls);
}

artel_status artel__mesh_open_certificate(artel_cluster *mesh)
{
    artel__tls_files files;
    if (!mesh->options.cert_dir) return ARTEL_OK;
    const char *name = mesh->peer[mesh->self].name;
    artel__cert_maker judge;
    ARTEL_TRY(artel__cert_locate(&mesh->cluster.arena, mesh->options.cert_dir, name, &files));
    ARTEL_TRY(artel__cert_open(mesh->ctx, &judge)); /* what every peer would refuse is said here */
    const artel__cert_owner owner = {name, artel__mesh_host(mesh, name)};
    artel_status status = artel__cert_verify(&judge, &files, owner, (int64_t)artel__wall_seconds());
    artel__cert_close(&judge);
    if (status < 0) {
        say_farewell(mesh, &files);
        return status;
    }
    ARTEL_TRY(artel__tls_open(mesh->ctx, &files, &mesh->certificate.tls));
    mesh->site.tls = &mesh->certificate.tls;
    return ARTEL_OK;
}

void artel__mesh_watch_certificate(artel_cluster *mesh, int64_t now)
{
    if (!mesh->site.tls || now < mesh->certificate.look_ns) return;
    mesh->certificate.look_ns = now + LOOK_EVERY;
    int64_t ends = mesh->certificate.tls.part->identity_ends(mesh->certificate.tls.identity),
            left = ends - (int64_t)artel__wall_seconds();
    if (ends == mesh->certificate.warned || left > WARN_SECONDS) return;
    mesh->certificate.warned = ends;
    artel__log(mesh->ctx, ARTEL_LOG_WARNING,
               "the certificate of this task (%s) %s %lld min%s; renew it (artel cert renew): the new file is taken "
               "without a restart",
               mesh->options.cert_dir, left > 0 ? "ends in" : "ended", (long long)(left > 0 ? left : -left) / 60,
               left > 0 ? "" : " ago");
}
