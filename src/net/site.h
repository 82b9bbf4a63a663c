/* SPDX-License-Identifier: Apache-2.0 */
/* What a process is on the network: who it says it is, how it encrypts, whom it admits, where incidents are written.
 *
 * One site serves the listener and all connections of a process. It is borrowed by them, and changed (the generation of
 * `self`, say) only by the thread that progresses them.
 */
#ifndef ARTEL_NET_SITE_H
#define ARTEL_NET_SITE_H

#include <stdatomic.h>

#include "net/address.h"
#include "net/hello.h"
#include "net/tls.h"

/* A line of the security log: something that wanted in, or answered, and was not what it should be. */
typedef struct artel__net_incident {
    artel__net_fault fault;
    const char *address; /* of the peer, with its port */
    const char *task;    /* what the peer claims to be; "" when it did not come so far */
    const char *reason;
    bool proven; /* the peer has shown a certificate of the authority; or the job does not encrypt, and nothing can be
                    proven */
    uint64_t further; /* incidents left out since the last one, so that a flood does not fill the log */
} artel__net_incident;
typedef void artel__net_incident_fn(void *user, const artel__net_incident *incident);

/* May a peer whose certificate, job and identity are right join in? FAULT_NONE, or a fault and its reason. Called by
 * the thread that progresses the connection. */
typedef artel__net_fault artel__net_admit_fn(void *user, const artel__hello *peer, char reason[ARTEL__HELLO_REASON]);

/* The DNS name under which others are told to find a task, which its certificate may carry instead of the task's name;
 * NULL: none that is this task's alone. */
typedef const char *artel__net_host_fn(void *user, const char *task);

typedef struct artel__site {
    artel_context *ctx;
    artel__hello self;     /* job, incarnation, generation, identity, task; the rest is filled in for each connection */
    artel__tls *tls;       /* NULL: plaintext, allowed only where both ends are on loopback, or: */
    bool insecure_network; /* plaintext anywhere */
    bool shares;           /* data connections to processes of this host and user may go through shared memory */
    int64_t handshake_ns;  /* from the first packet to the end of the greeting; 0: 2 s */
    artel__net_admit_fn *admit;       /* NULL: everyone */
    artel__net_host_fn *host_of;      /* NULL: certificates carry the task's name */
    artel__net_incident_fn *incident; /* NULL: the context's log, as warnings */
    void *user;
    /* The room's own. */
    _Atomic int64_t incident_ns;    /* when the running second began */
    _Atomic uint64_t incidents;     /* lines in it */
    _Atomic uint64_t incident_like; /* what the last one was, and from which host */
    _Atomic uint64_t incidents_left_out;
} artel__site;

/* Reports an incident to the callback or the log: at most 16 a second, and one a second of the same kind from the same
 * host as the last. Any thread; so may the callback be called. */
void artel__site_report(artel__site *site, const artel__net_incident *incident);
/* Writes its line to the context's log, as a warning; for callbacks. */
void artel__site_log(const artel__site *site, const artel__net_incident *incident);

#endif
