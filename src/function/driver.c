/* SPDX-License-Identifier: Apache-2.0 */
/* How the coordinator's thread ends a job that cannot go on. */
#include "function/driver.h"

#include <stdio.h>

artel_status artel__driver_fatal(artel_coordinator *c, artel_status status, const char *what)
{
    if (status >= 0) return status;
    pthread_mutex_lock(&c->mutex);
    if (c->fatal.status == ARTEL_OK) {
        c->fatal = (artel_error){.status = status, .where = "coordinator", .advice = "run the same program everywhere"};
        snprintf(c->fatal.what, sizeof c->fatal.what, "%s", what);
    }
    pthread_mutex_unlock(&c->mutex);
    return status;
}

artel_status artel__driver_misfit(const artel__driver *d, const char *who)
{
    char what[128];
    snprintf(what, sizeof what, "what %s sent does not fit this program's functions and variables", who);
    return artel__driver_fatal(d->c, ARTEL_ERROR_INVALID, what);
}
