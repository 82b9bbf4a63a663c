/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate of a task as OpenSSL holds it, taken anew when its files have been renewed. Inside this part only. */
#ifndef ARTEL_NET_PART_TLS_IDENTITY_H
#define ARTEL_NET_PART_TLS_IDENTITY_H

#include <openssl/ssl.h>

#include "net/part_tls/stream.h"

/* Records what OpenSSL says, and answers ARTEL__NET_STREAM_FAILED. */
int artel__tls_explain(artel__net_why *why, const char *what);

/* The three functions of the part. */
int artel__tls_identity_create(const artel__tls_files *files, artel__tls_identity **out, artel__net_why *why);
void artel__tls_identity_destroy(artel__tls_identity *identity);
int64_t artel__tls_identity_ends(artel__tls_identity *identity);

/* A connection by the certificate of the moment, without a way for its bytes yet. NULL: no memory. Any thread. */
SSL *artel__tls_identity_connection(artel__tls_identity *identity);

/* stream.c: dates are left to the end of the handshake. */
int artel__tls_judge_certificate(int fine, X509_STORE_CTX *store);

#endif
