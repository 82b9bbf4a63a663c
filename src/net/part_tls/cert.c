/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates by OpenSSL: an authority, certificates it signs, what they say, whether they hold.
 *
 * Every extension is written out here, none comes from a configuration file. Serial numbers are 126 random bits. A key
 * that needs a passphrase is refused: OpenSSL would ask for it on the terminal.
 */
#include "net/part_tls/cert.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "artel/status.h"

#define SCHEME "artel://"
#define LATEST ((int64_t)253402300799) /* the last second of the year 9999, the end of ASN.1 time */

ARTEL_API const artel__cert_part *artel_part_tls_cert(void);

static int fail(artel__cert_why *why, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    snprintf(why->text, sizeof why->text, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
    ERR_clear_error();
    return -1;
}

/* -- PEM -- */

static int no_passphrase(char *out, int size, int writing, void *user)
{
    (void)out;
    (void)size;
    (void)writing;
    (void)user;
    return -1;
}

static X509 *read_certificate(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;
    BIO_free(bio);
    return certificate;
}

static EVP_PKEY *read_key(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
    BIO_free(bio);
    return key;
}

static bool take_text(BIO *bio, char *out, size_t size)
{
    size_t count = 0;
    if (!BIO_read_ex(bio, out, size - 1, &count) || BIO_pending(bio) > 0) return false;
    out[count] = '\0';
    return true;
}

static int write_pem(X509 *certificate, EVP_PKEY *key, artel__cert_pem *out, artel__cert_why *why)
{
    BIO *text = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_mem());
    bool fine = text && secret && PEM_write_bio_X509(text, certificate) &&
                take_text(text, out->certificate, sizeof out->certificate) &&
                PEM_write_bio_PKCS8PrivateKey(secret, key, NULL, NULL, 0, no_passphrase, NULL) &&
                take_text(secret, out->key, sizeof out->key);
    BIO_free(text);
    BIO_free(secret);
    return fine ? 0 : fail(why, "the certificate cannot be written");
}

/* -- making -- */

static EVP_PKEY *make_key(artel__cert_kind kind)
{
    return kind == ARTEL__CERT_ED25519 ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")
                                       : EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
}

static bool set_serial(X509 *certificate)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive and of full length */
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool fine = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return fine;
}

static bool add_entry(X509_NAME *name, const char *field, const char *value)
{
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const unsigned char *)value, -1, -1, 0) == 1;
}

static bool add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    bool fine = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return fine;
}

/* One more name; `bytes` of an address, else text. */
static bool add_name(GENERAL_NAMES *names, int type, const void *bytes, int count)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *value =
        type == GEN_IPADD ? (ASN1_STRING *)ASN1_OCTET_STRING_new() : (ASN1_STRING *)ASN1_IA5STRING_new();
    if (!name || !value || !ASN1_STRING_set(value, bytes, count)) {
        GENERAL_NAME_free(name);
        ASN1_STRING_free(value);
        return false;
    }
    GENERAL_NAME_set0_value(name, type, value);
    if (sk_GENERAL_NAME_push(names, name)) return true;
    GENERAL_NAME_free(name);
    return false;
}

static bool add_host(GENERAL_NAMES *names, const char *host)
{
    unsigned char address[16];
    if (inet_pton(AF_INET, host, address) == 1) return add_name(names, GEN_IPADD, address, 4);
    if (inet_pton(AF_INET6, host, address) == 1) return add_name(names, GEN_IPADD, address, 16);
    return add_name(names, GEN_DNS, host, (int)strlen(host));
}

static bool add_names(X509 *certificate, const artel__cert_wish *wish, bool authority)
{
    char uri[2 * ARTEL__CERT_NAME + sizeof SCHEME];
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    int length =
        snprintf(uri, sizeof uri, SCHEME "%s%s%s", wish->job, authority ? "" : "/", authority ? "" : wish->name);
    bool fine = names && length > 0 && (size_t)length < sizeof uri && add_name(names, GEN_URI, uri, length);
    if (fine && !authority) fine = add_name(names, GEN_DNS, wish->name, (int)strlen(wish->name));
    for (int i = 0; fine && !authority && i < wish->hosts; i++) fine = add_host(names, wish->host[i]);
    if (fine) fine = X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0) == 1;
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    return fine;
}

static bool add_purposes(X509 *certificate, X509 *issuer, bool authority)
{
    bool fine = add_extension(certificate, issuer, NID_basic_constraints,
                              authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
                add_extension(certificate, issuer, NID_key_usage,
                              authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
    if (fine && !authority) fine = add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth");
    return fine && add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
           (authority || add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always"));
}

static bool set_times(X509 *certificate, const artel__cert_wish *wish)
{
    int64_t end = wish->not_after < LATEST ? wish->not_after : LATEST;
    return ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)wish->not_before) &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), (time_t)end);
}

/* All but the signature. `issuer` is NULL for an authority, which signs itself. */
static bool fill(X509 *certificate, X509 *issuer, EVP_PKEY *key, const artel__cert_wish *wish)
{
    X509_NAME *subject = X509_get_subject_name(certificate);
    bool authority = !issuer;
    if (authority) issuer = certificate;
    return X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate) && set_times(certificate, wish) &&
           X509_set_pubkey(certificate, key) && add_entry(subject, "O", wish->job) &&
           add_entry(subject, "CN", authority ? "artel cluster authority" : wish->name) &&
           X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) &&
           add_purposes(certificate, issuer, authority) && add_names(certificate, wish, authority);
}

static bool sign(X509 *certificate, EVP_PKEY *key)
{
    return X509_sign(certificate, key, EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256()) > 0;
}

static int make_authority(const artel__cert_wish *wish, artel__cert_pem *out, artel__cert_why *why)
{
    EVP_PKEY *key = make_key(wish->kind);
    X509 *certificate = X509_new();
    bool fine = key && certificate && fill(certificate, NULL, key, wish) && sign(certificate, key);
    int result = fine ? write_pem(certificate, key, out, why) : fail(why, "the authority cannot be made");
    X509_free(certificate);
    EVP_PKEY_free(key);
    return result;
}

static int64_t seconds(const ASN1_TIME *time)
{
    struct tm parts;
    memset(&parts, 0, sizeof parts);
    return ASN1_TIME_to_tm(time, &parts) ? (int64_t)timegm(&parts) : 0;
}

static int issue_with(const artel__cert_wish *wish, X509 *authority, EVP_PKEY *authority_key, artel__cert_pem *out,
                      artel__cert_why *why)
{
    artel__cert_wish capped = *wish;
    int64_t end = seconds(X509_get0_notAfter(authority));
    if (X509_check_private_key(authority, authority_key) != 1) return fail(why, "the authority's key is another one's");
    if (X509_check_ca(authority) != 1) return fail(why, "it is no authority's certificate");
    if (end <= wish->not_before) return fail(why, "the authority has expired");
    if (capped.not_after > end) capped.not_after = end;
    EVP_PKEY *key = wish->key ? read_key(wish->key) : make_key(wish->kind);
    X509 *certificate = X509_new();
    bool fine = key && certificate && fill(certificate, authority, key, &capped) && sign(certificate, authority_key);
    int result = fine ? write_pem(certificate, key, out, why)
                      : fail(why, key ? "the certificate cannot be made" : "the key cannot be read");
    X509_free(certificate);
    EVP_PKEY_free(key);
    return result;
}

static int issue(const artel__cert_wish *wish, const char *authority, const char *authority_key, artel__cert_pem *out,
                 artel__cert_why *why)
{
    X509 *issuer = read_certificate(authority);
    EVP_PKEY *key = issuer ? read_key(authority_key) : NULL;
    int result = !issuer ? fail(why, "the authority's certificate cannot be read")
                 : !key  ? fail(why, "the authority's key cannot be read")
                         : issue_with(wish, issuer, key, out, why);
    EVP_PKEY_free(key);
    X509_free(issuer);
    return result;
}

/* -- reading -- */

/* Printable ASCII; anything else becomes '?'. */
static void copy_text(char *out, size_t size, const unsigned char *bytes, int count)
{
    size_t length = count < 0 ? 0 : (size_t)count < size - 1 ? (size_t)count : size - 1;
    for (size_t i = 0; i < length; i++) out[i] = bytes[i] < 127 && isprint(bytes[i]) ? (char)bytes[i] : '?';
    out[length] = '\0';
}

static void read_uri(const char *uri, artel__cert_info *out)
{
    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0) return;
    uri += strlen(SCHEME);
    size_t job = strcspn(uri, "/");
    if (job >= sizeof out->job || strlen(uri) - job > sizeof out->name) return;
    memcpy(out->job, uri, job);
    out->job[job] = '\0';
    snprintf(out->name, sizeof out->name, "%s", uri[job] ? uri + job + 1 : "");
}

static void read_name(const GENERAL_NAME *name, artel__cert_info *out)
{
    int type;
    char text[256];
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    if (type != GEN_DNS && type != GEN_URI && type != GEN_IPADD) return;
    const unsigned char *bytes = ASN1_STRING_get0_data(value);
    int count = ASN1_STRING_length(value);
    if (type == GEN_IPADD) {
        if (count != 4 && count != 16) return;
        inet_ntop(count == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text);
    } else {
        copy_text(text, sizeof text, bytes, count);
    }
    if (type == GEN_URI)
        read_uri(text, out);
    else if (out->hosts < ARTEL__CERT_HOSTS && strcmp(text, out->name) != 0)
        snprintf(out->host[out->hosts++], sizeof out->host[0], "%s", text);
}

static void read_names(X509 *certificate, artel__cert_info *out)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) read_name(sk_GENERAL_NAME_value(names, i), out);
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
}

static void read_subject(const X509_NAME *name, char *out, size_t size)
{
    char text[512] = "";
    X509_NAME_oneline(name, text, sizeof text);
    copy_text(out, size, (const unsigned char *)text, (int)strlen(text));
}

static void read_numbers(X509 *certificate, artel__cert_info *out)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int count = 0;
    BIGNUM *serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
    char *text = serial ? BN_bn2hex(serial) : NULL;
    snprintf(out->serial, sizeof out->serial, "%s", text ? text : "?");
    OPENSSL_free(text);
    BN_free(serial);
    if (!X509_digest(certificate, EVP_sha256(), digest, &count)) count = 0;
    for (unsigned int i = 0; i < count && i < 32; i++) snprintf(out->fingerprint + 2 * i, 3, "%02x", digest[i]);
    const EVP_PKEY *key = X509_get0_pubkey(certificate);
    const char *type = key ? EVP_PKEY_get0_type_name(key) : NULL;
    snprintf(out->key, sizeof out->key, "%s %d", type ? type : "?", key ? EVP_PKEY_get_bits(key) : 0);
}

static int read_info(const char *text, artel__cert_info *out, artel__cert_why *why)
{
    X509 *certificate = read_certificate(text);
    memset(out, 0, sizeof *out);
    if (!certificate) return fail(why, "it is no certificate");
    read_names(certificate, out);
    read_subject(X509_get_subject_name(certificate), out->subject, sizeof out->subject);
    read_subject(X509_get_issuer_name(certificate), out->issuer, sizeof out->issuer);
    read_numbers(certificate, out);
    out->not_before = seconds(X509_get0_notBefore(certificate));
    out->not_after = seconds(X509_get0_notAfter(certificate));
    out->authority = X509_check_ca(certificate) == 1;
    X509_free(certificate);
    ERR_clear_error();
    return 0;
}

/* -- verifying -- */

/* Every certificate of the text; NULL when there is none. */
static X509_STORE *read_store(const char *text)
{
    X509_STORE *store = X509_STORE_new();
    BIO *bio = BIO_new_mem_buf(text, -1);
    int count = 0;
    for (X509 *one; store && bio && (one = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)); X509_free(one))
        count += X509_STORE_add_cert(store, one);
    BIO_free(bio);
    if (count > 0) {
        ERR_clear_error(); /* the end of the text */
        return store;
    }
    X509_STORE_free(store);
    return NULL;
}

static int verify_purpose(X509 *certificate, X509_STORE *store, int64_t when, const char *purpose, artel__cert_why *why)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    int result = -1;
    if (context && X509_STORE_CTX_init(context, store, certificate, NULL) &&
        X509_STORE_CTX_set_default(context, purpose)) {
        X509_STORE_CTX_set_time(context, 0, (time_t)when);
        result = X509_verify_cert(context) == 1 ? 0 : -1;
        if (result < 0)
            snprintf(why->text, sizeof why->text, "%s",
                     X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
        ERR_clear_error();
    } else {
        fail(why, "it cannot be checked");
    }
    X509_STORE_CTX_free(context);
    return result;
}

static int check_key(X509 *certificate, const char *text, artel__cert_why *why)
{
    EVP_PKEY *key = read_key(text);
    int result = !key ? fail(why, "the key cannot be read") : X509_check_private_key(certificate, key) == 1 ? 0 : -1;
    if (key && result < 0) fail(why, "the key is another certificate's");
    EVP_PKEY_free(key);
    return result;
}

static int verify(const char *text, const char *key, const char *authority, int64_t when, artel__cert_why *why)
{
    X509 *certificate = read_certificate(text);
    X509_STORE *store = certificate ? read_store(authority) : NULL;
    int result = 0;
    if (!certificate)
        result = fail(why, "it is no certificate");
    else if (!store)
        result = fail(why, "the authority's certificate cannot be read");
    if (result == 0) result = verify_purpose(certificate, store, when, "ssl_server", why);
    if (result == 0) result = verify_purpose(certificate, store, when, "ssl_client", why);
    if (result == 0 && key) result = check_key(certificate, key, why);
    X509_STORE_free(store);
    X509_free(certificate);
    return result;
}

static void wipe(void *bytes, size_t count)
{
    OPENSSL_cleanse(bytes, count);
}

const artel__cert_part *artel_part_tls_cert(void)
{
    static const artel__cert_part part = {ARTEL__CERT_PART_VERSION, make_authority, issue, read_info, verify, wipe};
    return &part;
}
