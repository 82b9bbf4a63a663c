/* SPDX-License-Identifier: Apache-2.0 */
/* Reporting incidents, counted instead of written when they come in floods. */
#include "net/site.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

enum {
    MOST_A_SECOND = 16
};

/* Equal for incidents of one kind from one host, whatever the port. */
static uint64_t likeness(const artel__net_incident *incident)
{
    const char *colon = strrchr(incident->address, ':');
    size_t host = colon ? (size_t)(colon - incident->address) : strlen(incident->address);
    uint32_t crc = artel__crc32c((uint32_t)incident->fault, incident->address, host);
    return (uint64_t)1 << 32 | artel__crc32c(crc, incident->reason, strlen(incident->reason));
}

void artel__site_report(artel__site *site, const artel__net_incident *incident)
{
    artel__net_incident line = *incident;
    uint64_t like = likeness(incident);
    int64_t now = artel__now_ns(), began = atomic_load(&site->incident_ns);
    if ((began == 0 || now - began > 1000000000) && atomic_compare_exchange_strong(&site->incident_ns, &began, now)) {
        atomic_store(&site->incidents, 0);
        atomic_store(&site->incident_like, 0);
    }
    if (atomic_exchange(&site->incident_like, like) == like || atomic_fetch_add(&site->incidents, 1) >= MOST_A_SECOND) {
        atomic_fetch_add(&site->incidents_left_out, 1);
        return;
    }
    line.further = atomic_exchange(&site->incidents_left_out, 0);
    if (site->incident)
        site->incident(site->user, &line);
    else
        artel__site_log(site, &line);
}

void artel__site_log(const artel__site *site, const artel__net_incident *incident)
{
    char further[64] = "";
    if (incident->further)
        snprintf(further, sizeof further, " (%llu more before)", (unsigned long long)incident->further);
    artel__log(site->ctx, ARTEL_LOG_WARNING, "network: %s%s%s refused (%s): %s%s", incident->address,
               incident->task[0] ? " as " : "", incident->task, artel__net_fault_name(incident->fault),
               incident->reason, further);
}
