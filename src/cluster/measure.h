/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the network between the tasks of a cluster is: every pair, before a run, over the ports, certificates and
 * paths (sockets, or memory that two tasks of a host share) that the run will use. All tasks measure at the same time;
 * each talks with one other at a time, in the rounds of a tournament, so that pairs do not disturb one another on a
 * host.
 *
 * Of a pair the lower rank leads: round trips of 8 bytes, then as much as goes through in half a second (64 MB at the
 * most), there and back. Nothing is kept; the job that this forms is known as no run's, so that a task which trains
 * refuses it and the other way round.
 */
#ifndef ARTEL_CLUSTER_MEASURE_H
#define ARTEL_CLUSTER_MEASURE_H

#include "cluster/cluster.h"
#include "net/connection.h"

typedef struct artel__measure_options {
    const char *bind;      /* NULL: loopback when this task's address is, else all */
    const char *cert_dir;  /* NULL: plaintext */
    bool insecure_network; /* plaintext off loopback, too */
    double wait;           /* seconds to wait for tasks that are not there */
} artel__measure_options;

/* With one other task, as seen from here. */
typedef struct artel__measured {
    bool reached, secure;
    bool shared;    /* through memory; else through sockets */
    char why[256];  /* it was not reached, or was lost */
    double latency; /* seconds one way: half the median round trip */
    double out, in; /* bytes a second from here to there, from there to here */
} artel__measured;

/* Measures from this task; all others that train have to do the same. `out` has an entry for each rank; this task's own
 * stays empty. Waits are noted every five seconds. Errors: ARTEL_ERROR_UNSUPPORTED (no addresses of all tasks),
 * ARTEL_ERROR_IO (the port is taken), ARTEL_ERROR_INVALID, ARTEL_ERROR_NOT_FOUND (certificate). That others are not
 * reached is in `out`, and no error. */
artel_status artel__measure(artel_context *ctx, const artel__cluster *cluster, const artel__measure_options *options,
                            artel__measured *out);

/* The partner of rank i of n in that round, or -1: it rests. There are n - 1 rounds, n of them when n is odd. */
int artel__measure_partner(int n, int round, int i);

/* Measures over an open data connection; both ends must call it. `until`: artel__now_ns() time to have begun by. False:
 * *out says why. */
bool artel__measure_pair(artel__connection *connection, bool leads, int64_t until, artel__measured *out);

#endif
