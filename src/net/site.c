/* SPDX-License-Identifier: Apache-2.0 */
/* Reporting incidents, counted instead of written when they come in floods. */
#include "net/site.h"

#include "base/clock.h"

enum {
    MOST_A_SECOND = 16
};

void artel__site_report(artel__site *site, const artel__net_incident *incident)
{
    artel__net_incident line = *incident;
    int64_t now = artel__now_ns(), began = atomic_load(&site->incident_ns);
    if ((began == 0 || now - began > 1000000000) && atomic_compare_exchange_strong(&site->incident_ns, &began, now)) {
        uint64_t before = atomic_exchange(&site->incidents, 0);
        line.further = before > MOST_A_SECOND ? before - MOST_A_SECOND : 0;
    }
    if (atomic_fetch_add(&site->incidents, 1) >= MOST_A_SECOND) return;
    if (site->incident) {
        site->incident(site->user, &line);
        return;
    }
    artel__log(site->ctx, ARTEL_LOG_WARNING, "network: %s%s%s refused (%s): %s%s", line.address, line.task[0] ? " as " : "", line.task,
               artel__net_fault_name(line.fault), line.reason, line.further ? " (and more like it)" : "");
}
