/* SPDX-License-Identifier: Apache-2.0 */
#include "support/certificates.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

struct support_authority {
    EVP_PKEY *key;
    X509 *certificate;
    long issued;
};

static void insist(int condition)
{
    if (condition) return;
    fprintf(stderr, "certificates: OpenSSL or a file refused\n");
    abort();
}

static void add_extension(X509 *to, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, to, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    insist(extension && X509_add_ext(to, extension, -1));
    X509_EXTENSION_free(extension);
}

static X509 *make(const char *name, EVP_PKEY *key, support_authority *issuer, long from, long to)
{
    X509 *c = X509_new();
    X509_set_version(c, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c), ++issuer->issued);
    X509_gmtime_adj(X509_getm_notBefore(c), from);
    X509_gmtime_adj(X509_getm_notAfter(c), to);
    X509_set_pubkey(c, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509 *by = issuer->certificate ? issuer->certificate : c;
    X509_set_issuer_name(c, X509_get_subject_name(by));
    add_extension(c, by, NID_basic_constraints, by == c ? "critical,CA:TRUE" : "CA:FALSE");
    if (by != c) {
        char names[128];
        snprintf(names, sizeof names, "DNS:%s", name);
        add_extension(c, by, NID_subject_alt_name, names);
    }
    insist(X509_sign(c, issuer->key, EVP_sha256()) > 0);
    return c;
}

static void write_certificate(const char *path, X509 *c)
{
    FILE *f = fopen(path, "w");
    insist(f && PEM_write_X509(f, c));
    fclose(f);
}

support_authority *support_authority_create(const char *path)
{
    support_authority *a = calloc(1, sizeof *a);
    insist(a != NULL);
    a->key = EVP_EC_gen("P-256");
    a->certificate = make("test authority", a->key, a, -3600, 3600);
    write_certificate(path, a->certificate);
    return a;
}

void support_authority_destroy(support_authority *a)
{
    if (!a) return;
    X509_free(a->certificate);
    EVP_PKEY_free(a->key);
    free(a);
}

void support_issue(support_authority *a, const support_certificate *wanted)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *c = make(wanted->name, key, a, wanted->from, wanted->to);
    write_certificate(wanted->certificate, c);
    FILE *f = fopen(wanted->key, "w");
    insist(f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
    fclose(f);
    X509_free(c);
    EVP_PKEY_free(key);
}
