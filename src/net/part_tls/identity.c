/* SPDX-License-Identifier: Apache-2.0 */
/* Each new connection looks whether the files have changed since they were read (cert-manager and `artel cert renew`
 * replace them while a run goes on), and then reads them again. What cannot be used, because it is half written or does
 * not belong together, is passed over, and looked at again by the next connection; those that stand keep what they
 * began with.
 */
#include "net/part_tls/identity.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    CHAIN_BYTES = 32 << 10, /* of the peer's certificates */
    CHAIN_DEPTH = 4,
    FILES = 3
};

/* What tells one file from the one that took its place. */
typedef struct mark {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
} mark;

struct artel__tls_identity {
    char *path[FILES];     /* authority, certificate, key */
    pthread_mutex_t mutex; /* guards the rest; innermost */
    SSL_CTX *context;
    mark read[FILES];
};

int artel__tls_explain(artel__net_why *why, const char *what)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    snprintf(why->text, sizeof why->text, "%s: %s", what, reason ? reason : "failed");
    ERR_clear_error();
    return ARTEL__NET_STREAM_FAILED;
}

static bool set_up(SSL_CTX *context)
{
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, artel__tls_judge_certificate);
    SSL_CTX_set_verify_depth(context, CHAIN_DEPTH);
    SSL_CTX_set_max_cert_list(context, CHAIN_BYTES);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256") == 1 &&
           SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384") == 1 &&
           SSL_CTX_set_num_tickets(context, 0) == 1;
}

static int load_files(SSL_CTX *context, char *const *path, artel__net_why *why)
{
    if (SSL_CTX_load_verify_locations(context, path[0], NULL) != 1) return artel__tls_explain(why, path[0]);
    if (SSL_CTX_use_certificate_chain_file(context, path[1]) != 1) return artel__tls_explain(why, path[1]);
    if (SSL_CTX_use_PrivateKey_file(context, path[2], SSL_FILETYPE_PEM) != 1) return artel__tls_explain(why, path[2]);
    if (SSL_CTX_check_private_key(context) != 1) return artel__tls_explain(why, path[2]);
    return 0;
}

static int make_context(char *const *path, SSL_CTX **out, artel__net_why *why)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    int result = context && set_up(context) ? load_files(context, path, why) : artel__tls_explain(why, "TLS");
    if (result < 0) {
        SSL_CTX_free(context);
        return result;
    }
    *out = context;
    return 0;
}

/* False when one of them is not there. */
static bool look(const artel__tls_identity *identity, mark *out)
{
    for (int i = 0; i < FILES; i++) {
        struct stat about;
        if (stat(identity->path[i], &about) != 0) return false;
        out[i] = (mark){about.st_dev, about.st_ino, about.st_size, about.st_mtim};
    }
    return true;
}

static bool same(const mark *a, const mark *b)
{
    bool equal = true;
    for (int i = 0; i < FILES; i++)
        equal = equal && a[i].device == b[i].device && a[i].inode == b[i].inode && a[i].size == b[i].size &&
                a[i].changed.tv_sec == b[i].changed.tv_sec && a[i].changed.tv_nsec == b[i].changed.tv_nsec;
    return equal;
}

/* The mutex is held. */
static void take_renewed(artel__tls_identity *identity)
{
    mark now[FILES];
    SSL_CTX *context;
    artel__net_why why;
    if (!look(identity, now) || same(now, identity->read)) return;
    if (make_context(identity->path, &context, &why) < 0) return;
    SSL_CTX_free(identity->context); /* connections that stand hold it */
    identity->context = context;
    memcpy(identity->read, now, sizeof now);
}

void artel__tls_identity_destroy(artel__tls_identity *identity)
{
    if (!identity) return;
    SSL_CTX_free(identity->context);
    for (int i = 0; i < FILES; i++) free(identity->path[i]);
    pthread_mutex_destroy(&identity->mutex);
    free(identity);
}

int artel__tls_identity_create(const artel__tls_files *files, artel__tls_identity **out, artel__net_why *why)
{
    const char *const path[FILES] = {files->authority, files->certificate, files->key};
    artel__tls_identity *identity = calloc(1, sizeof *identity);
    if (!identity) return artel__tls_explain(why, "TLS");
    pthread_mutex_init(&identity->mutex, NULL);
    bool whole = true;
    for (int i = 0; i < FILES; i++) whole = (identity->path[i] = strdup(path[i])) != NULL && whole;
    look(identity, identity->read); /* before they are read: what changes meanwhile is read again */
    int result = whole ? make_context(identity->path, &identity->context, why) : artel__tls_explain(why, "TLS");
    if (result < 0) {
        artel__tls_identity_destroy(identity);
        return result;
    }
    *out = identity;
    return 0;
}

SSL *artel__tls_identity_connection(artel__tls_identity *identity)
{
    pthread_mutex_lock(&identity->mutex);
    take_renewed(identity);
    SSL *ssl = SSL_new(identity->context);
    pthread_mutex_unlock(&identity->mutex);
    return ssl;
}

int64_t artel__tls_identity_ends(artel__tls_identity *identity)
{
    struct tm date;
    int64_t seconds = INT64_MAX;
    pthread_mutex_lock(&identity->mutex);
    take_renewed(identity);
    const X509 *certificate = SSL_CTX_get0_certificate(identity->context);
    if (certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &date) == 1) seconds = (int64_t)timegm(&date);
    pthread_mutex_unlock(&identity->mutex);
    return seconds;
}
