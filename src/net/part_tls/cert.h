/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary between net and libartel-tls.so for making and judging certificates.
 *
 * X.509 v3, signed by the cluster's own authority. A task's certificate carries its name as a DNS name (what peers
 * compare), the URI artel://JOB/NAME, the hosts it was given, and the purposes of server and client. Texts are PEM,
 * NUL-terminated. The part knows nothing of artel but this header: it opens no file, and failures are a line of text.
 * All functions may be called by any number of threads at once.
 */
#ifndef ARTEL_NET_PART_TLS_CERT_H
#define ARTEL_NET_PART_TLS_CERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARTEL__CERT_PART_VERSION 1u
#define ARTEL__CERT_PART_SYMBOL "artel_part_tls_cert"

enum {
    ARTEL__CERT_NAME = 64,         /* bytes of a job or task name */
    ARTEL__CERT_HOSTS = 64,        /* further hosts of one certificate */
    ARTEL__CERT_TEXT = 64 << 10,   /* bytes of a certificate as PEM */
    ARTEL__CERT_KEY_TEXT = 4 << 10 /* of a key */
};

typedef enum artel__cert_kind {
    ARTEL__CERT_P256,
    ARTEL__CERT_ED25519
} artel__cert_kind;

typedef struct artel__cert_why {
    char text[256];
} artel__cert_why;

/* What a certificate is to say. Times are seconds since 1970. */
typedef struct artel__cert_wish {
    const char *job, *name;
    const char *const *host; /* DNS names and IP addresses */
    int hosts;
    int64_t not_before, not_after;
    artel__cert_kind kind; /* of a new key */
    const char *key;       /* an existing key to certify again, or NULL */
} artel__cert_wish;

typedef struct artel__cert_pem {
    char certificate[ARTEL__CERT_TEXT];
    char key[ARTEL__CERT_KEY_TEXT]; /* whoever asked wipes it */
} artel__cert_pem;

/* What a certificate says. Texts are printable. */
typedef struct artel__cert_info {
    char name[ARTEL__CERT_NAME], job[ARTEL__CERT_NAME]; /* of the URI; empty when it has none of ours */
    char host[ARTEL__CERT_HOSTS][256];                  /* DNS names and addresses but for the task's own name */
    int hosts;
    char subject[256], issuer[256], serial[64], fingerprint[100], key[32];
    int64_t not_before, not_after;
    bool authority;
} artel__cert_info;

/* Each answers 0, or -1 with the reason. */
typedef struct artel__cert_part {
    uint32_t version;
    /* A new authority for wish->job; name and hosts are not used. */
    int (*make_authority)(const artel__cert_wish *wish, artel__cert_pem *out, artel__cert_why *why);
    /* A certificate signed by an authority. The end is the authority's own at the latest. */
    int (*issue)(const artel__cert_wish *wish, const char *authority, const char *authority_key, artel__cert_pem *out,
                 artel__cert_why *why);
    int (*read)(const char *certificate, artel__cert_info *out, artel__cert_why *why);
    /* Whether `authority` (one certificate or several) vouches for it as server and client at that time, and `key`,
     * when given, is its key. */
    int (*verify)(const char *certificate, const char *key, const char *authority, int64_t when, artel__cert_why *why);
    void (*wipe)(void *bytes, size_t count);
} artel__cert_part;

#endif
