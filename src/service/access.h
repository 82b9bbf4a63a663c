/* SPDX-License-Identifier: Apache-2.0 */
/* What a process of the data service is on the network: its certificate and name, as everywhere in artel (net/site.h).
 *
 * All of a service, and those that ask it, have certificates of one authority; the name in it is the process's own.
 * Without certificates everything stays on this machine, between processes of one user.
 */
#ifndef ARTEL_SERVICE_ACCESS_H
#define ARTEL_SERVICE_ACCESS_H

#include "base/arena.h"
#include "base/json.h"
#include "net/connection.h"

typedef struct artel__service_access {
    const char *cert_dir;  /* NULL: none */
    const char *cert_name; /* whose certificate of it; NULL: the folder's own */
    bool insecure_network; /* plaintext beyond this machine */
} artel__service_access;

typedef struct artel__service_site {
    artel__arena arena;
    artel__tls tls;
    artel__site site;
} artel__service_site;

/* `role`: how the process calls itself where no certificate says so. `asks`: it listens to nobody, and whoever refuses
 * it is told of by what it asked for; else incidents go to the log. */
artel_status artel__service_site_open(artel_context *ctx, const artel__service_access *access, const char *role,
                                      bool asks, artel__service_site *out);
void artel__service_site_close(artel__service_site *site); /* a cleared one is accepted */

/* Asks a process of the service one question (the reference is taken) and waits for the answer, a JSON object that the
 * caller owns. Errors: ARTEL_ERROR_RUN (nobody answers, not in time), ARTEL_ERROR_INVALID (refused there: certificate,
 * or {"say": "refused"}), ARTEL_ERROR_NOT_FOUND (no such host), ARTEL_ERROR_CANCELLED. */
artel_status artel__service_ask(artel__service_site *site, const char *address, json_t *question, int64_t limit_ns,
                                json_t **out);

/* Why a connection was lost, in short, and whether that may heal by itself. */
const char *artel__service_why(const artel__connection *connection);
bool artel__service_may_heal(artel__net_fault fault);

#endif
