/* SPDX-License-Identifier: Apache-2.0 */
/* This task's certificate and the part that encrypts (libartel-tls.so), opened together. */
#ifndef ARTEL_NET_TLS_H
#define ARTEL_NET_TLS_H

#include "base/part.h"
#include "net/part_tls/stream.h"

typedef struct artel__tls {
    artel__part library;
    const artel__tls_stream_part *part;
    artel__tls_identity *identity;
} artel__tls;

/* Opens the part and reads the PEM files. Errors: ARTEL_ERROR_UNSUPPORTED (no such part), ARTEL_ERROR_INVALID (a file
 * that is missing, damaged, or a key of another certificate; the record names the file). */
artel_status artel__tls_open(artel_context *ctx, const artel__tls_files *files, artel__tls *out);
void artel__tls_close(artel__tls *tls); /* when no stream of it is left; a cleared one is accepted */

#endif
