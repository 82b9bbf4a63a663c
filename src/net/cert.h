/* SPDX-License-Identifier: Apache-2.0 */
/* The certificates of a cluster, as files.
 *
 *   DIR/ca.crt           the authority's certificate     DIR/NAME/tls.crt   the certificate of the task NAME
 *   DIR/ca.key           its key: stays with whoever     DIR/NAME/tls.key   its key
 *                        issues, never on a worker       DIR/NAME/ca.crt    a copy of the authority's certificate
 *
 * DIR/NAME is what a task gets (--cert-dir); the three names are those of a Kubernetes TLS secret. NAME is the task's
 * name on the network, "worker-0", which its peers compare. Keys are readable by their owner only. A folder appears
 * whole or not at all; a renewed certificate keeps its key, so that replacing one file is enough.
 */
#ifndef ARTEL_NET_CERT_H
#define ARTEL_NET_CERT_H

#include "base/arena.h"
#include "base/part.h"
#include "net/part_tls/cert.h"
#include "net/part_tls/stream.h"

/* The opened part; finish with artel__cert_close. */
typedef struct artel__cert_maker {
    artel_context *ctx;
    artel__part library;
    const artel__cert_part *part;
} artel__cert_maker;

typedef struct artel__cert_request {
    const char *job; /* of a new authority; certificates take their authority's */
    const char *name;
    const char *const *host; /* further DNS names and addresses */
    int hosts;
    int days; /* of validity, from now (five minutes ago, for clocks that differ) */
    artel__cert_kind kind;
    bool force; /* replace a certificate that exists */
} artel__cert_request;

/* Errors of all: UNSUPPORTED (no part), INVALID (names, files that exist or do not hold), NOT_FOUND, IO. */
artel_status artel__cert_open(artel_context *ctx, artel__cert_maker *out);
void artel__cert_close(artel__cert_maker *maker); /* a cleared one is accepted */

/* Makes DIR and the authority for request->job. An authority that exists is never replaced. */
artel_status artel__cert_init(const artel__cert_maker *maker, const char *dir, const artel__cert_request *request);
/* Makes DIR/NAME with a new key. */
artel_status artel__cert_issue(const artel__cert_maker *maker, const char *dir, const artel__cert_request *request);
/* Writes DIR/NAME/tls.crt and ca.crt anew: same key, name and hosts, `days` from now. */
artel_status artel__cert_renew(const artel__cert_maker *maker, const char *dir, const char *name, int days);
/* What a certificate file says. */
artel_status artel__cert_read(const artel__cert_maker *maker, const char *path, artel__cert_info *out);
/* Whether the files hold at that time (seconds since 1970): signed by the authority, in time, the key its own, and the
 * name the one wanted (NULL: any), or else that of the task's host (NULL: it has none of its own). */
typedef struct artel__cert_owner {
    const char *name, *host;
} artel__cert_owner;
artel_status artel__cert_verify(const artel__cert_maker *maker, const artel__tls_files *files, artel__cert_owner owner,
                                int64_t when);

/* Letters, digits, '-' and '_', at most 63, not beginning with a sign. */
bool artel__cert_is_name(const char *name);
/* The files of the task `name` in a folder given by --cert-dir: DIR/tls.crt and so on, or those of DIR/NAME. NOT_FOUND
 * names both. The paths are in the arena. `name` may be NULL: DIR only. */
artel_status artel__cert_locate(artel__arena *arena, const char *dir, const char *name, artel__tls_files *out);

#endif
