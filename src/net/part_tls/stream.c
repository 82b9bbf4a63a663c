/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted streams over OpenSSL.
 *
 * Records go into a buffer of this file and leave it many at a time: a system call for each record of 16 KB costs a
 * third of the rate. Small pieces are gathered until they fill a record. Reading goes the other way by OpenSSL's own
 * read-ahead. Read-ahead, the large buffers and OpenSSL's keeping of its own begin when the handshake is done:
 * strangers are to cost little. Both groups are elliptic: a key exchange over a finite field costs a tenth of a second,
 * and anybody may ask for it. A peer whose certificate holds but for its dates is let through the handshake, which
 * proves that the key is its own, and is then doubted: so what it is refused for is known to be about a task of this
 * cluster. Keys are changed every 64 GiB: AES-GCM is safe for 2^24.5 full records under one key (RFC 8446, 5.5), six
 * times more. The socket's errors are kept apart from OpenSSL's, so that a reset is called a reset.
 */
#include "net/part_tls/identity.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "artel/status.h"

enum {
    RECORD = 16384,
    OUT_BYTES = 16 * (RECORD + 256), /* of encrypted bytes that wait for the socket */
    HANDSHAKE_BYTES = 8 << 10, /* of those until the handshake is done: what does not fit waits for the peer to read */
    READ_AHEAD = 128 << 10
};

#define KEY_BYTES (UINT64_C(1) << 36)

struct artel__tls_stream {
    SSL *ssl;
    BIO_METHOD *method; /* how OpenSSL reaches the socket */
    int socket, error;  /* errno of the socket when it failed */
    bool ended, opened; /* opened: the handshake is done, which OpenSSL forgets after a failure */
    int doubt;          /* X509_V_ERR of the dates of the peer's certificate; 0: they hold */
    uint8_t *out;       /* taken when the first byte is written */
    size_t begin, end, room;
    uint64_t under_key; /* bytes sent since the key was changed */
    int late;           /* what the next read answers: OpenSSL says it once, behind bytes that were good */
    artel__net_why late_why;
    uint8_t *gather; /* RECORD, once the handshake is done */
};

ARTEL_API const artel__tls_stream_part *artel_part_tls_stream(void);

/* -- the socket as OpenSSL sees it -- */

/* True when the buffer is empty, or can be made so without blocking. */
static bool flush_out(artel__tls_stream *s)
{
    while (s->begin < s->end) {
        ssize_t n = send(s->socket, s->out + s->begin, s->end - s->begin, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            if (errno != EAGAIN) s->error = errno;
            return false;
        }
        s->begin += (size_t)n;
    }
    s->begin = s->end = 0;
    return true;
}

static int bio_write(BIO *bio, const char *bytes, int count)
{
    artel__tls_stream *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!s->out) {
        s->out = malloc(HANDSHAKE_BYTES);
        s->room = s->out ? HANDSHAKE_BYTES : 0;
    }
    if (!s->out || count <= 0) return -1;
    if (s->end + (size_t)count > s->room) flush_out(s);
    size_t room = s->room - s->end;
    if (room == 0) {
        if (!s->error) BIO_set_retry_write(bio);
        return -1;
    }
    size_t n = (size_t)count < room ? (size_t)count : room;
    memcpy(s->out + s->end, bytes, n);
    s->end += n;
    return (int)n;
}

static int bio_read(BIO *bio, char *bytes, int count)
{
    artel__tls_stream *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t n;
    do n = recv(s->socket, bytes, (size_t)count, 0);
    while (n < 0 && errno == EINTR);
    if (n == 0) s->ended = true;
    if (n < 0 && errno == EAGAIN) BIO_set_retry_read(bio);
    if (n < 0 && errno != EAGAIN) s->error = errno;
    return (int)n;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    artel__tls_stream *s = BIO_get_data(bio);
    if (command == BIO_CTRL_EOF) return s->ended;
    return command == BIO_CTRL_FLUSH;
}

/* Dates alone are judged when the handshake is over. */
int artel__tls_judge_certificate(int fine, X509_STORE_CTX *store)
{
    int error = X509_STORE_CTX_get_error(store);
    bool dates = error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID;
    if (fine || !dates || X509_STORE_CTX_get_error_depth(store) != 0) return fine;
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    artel__tls_stream *s = ssl ? SSL_get_app_data(ssl) : NULL;
    if (!s) return 0;
    s->doubt = error;
    return 1;
}

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "artel socket");
    bool set = method && BIO_meth_set_write(method, bio_write) && BIO_meth_set_read(method, bio_read) &&
               BIO_meth_set_ctrl(method, bio_control);
    if (set) return method;
    BIO_meth_free(method);
    return NULL;
}

/* -- streams -- */

static void destroy(artel__tls_stream *stream)
{
    if (!stream) return;
    if (stream->ssl && SSL_is_init_finished(stream->ssl) && !stream->error) {
        SSL_shutdown(stream->ssl);
        flush_out(stream);
    }
    SSL_free(stream->ssl);
    BIO_meth_free(stream->method);
    ERR_clear_error();
    free(stream->out);
    free(stream->gather);
    free(stream);
}

static int create(artel__tls_identity *identity, int socket, bool server, artel__tls_stream **out, artel__net_why *why)
{
    artel__tls_stream *stream = calloc(1, sizeof *stream);
    SSL *ssl = stream ? artel__tls_identity_connection(identity) : NULL;
    BIO_METHOD *method = ssl ? make_method() : NULL;
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!bio) {
        BIO_meth_free(method);
        SSL_free(ssl);
        free(stream);
        return artel__tls_explain(why, "TLS");
    }
    stream->ssl = ssl;
    stream->method = method;
    stream->socket = socket;
    SSL_set_app_data(ssl, stream);
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    if (server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    *out = stream;
    return 0;
}

/* What an OpenSSL call that moved nothing means. Verification failures have a text of their own. */
static int judge(artel__tls_stream *s, int result, artel__net_why *why)
{
    int error = SSL_get_error(s->ssl, result);
    if (!s->error && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)) {
        ERR_clear_error();
        return ARTEL__NET_STREAM_AGAIN;
    }
    if (error == SSL_ERROR_ZERO_RETURN || (s->ended && !s->error && error == SSL_ERROR_SYSCALL))
        return ARTEL__NET_STREAM_END;
    if (s->error) {
        snprintf(why->text, sizeof why->text, "%s", strerror(s->error));
        ERR_clear_error();
        return ARTEL__NET_STREAM_BROKEN;
    }
    if (s->ended) { /* "unexpected eof": the socket ended without TLS's own goodbye */
        ERR_clear_error();
        return ARTEL__NET_STREAM_END;
    }
    long verify = SSL_get_verify_result(s->ssl);
    bool alert = ERR_GET_REASON(ERR_peek_error()) >= SSL_AD_REASON_OFFSET; /* the peer's word, not our finding */
    if (s->opened && !alert && error == SSL_ERROR_SSL) {
        artel__tls_explain(why, "TLS");
        return ARTEL__NET_STREAM_DAMAGED;
    }
    if (verify == X509_V_OK) return artel__tls_explain(why, "TLS");
    snprintf(why->text, sizeof why->text, "the peer's certificate is refused: %s",
             X509_verify_cert_error_string(verify));
    ERR_clear_error();
    return ARTEL__NET_STREAM_FAILED;
}

/* From here on it may cost what speed costs. */
static int open_up(artel__tls_stream *s, artel__net_why *why)
{
    s->opened = true;
    SSL_clear_mode(s->ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_set_read_ahead(s->ssl, 1);
    SSL_set_default_read_buffer_len(s->ssl, READ_AHEAD);
    SSL_free_buffers(s->ssl); /* the next read takes one of that size */
    uint8_t *out = realloc(s->out, OUT_BYTES), *gather = malloc(RECORD);
    if (out) s->out = out;
    s->gather = gather;
    if (!out || !gather) return artel__tls_explain(why, "no memory for an encrypted connection");
    s->room = OUT_BYTES;
    return 0;
}

static int handshake(artel__tls_stream *s, artel__net_why *why)
{
    ERR_clear_error();
    int result = SSL_do_handshake(s->ssl);
    int meaning = result == 1 ? 0 : judge(s, result, why);
    if (result == 1 && !s->opened) meaning = open_up(s, why);
    /* Alerts too: they say why to the other side. */
    bool flushed = flush_out(s);
    if (meaning == 0 && !flushed) return s->error ? judge(s, -1, why) : ARTEL__NET_STREAM_AGAIN;
    return meaning;
}

static void list_names(X509 *certificate, char *names, size_t size)
{
    GENERAL_NAMES *list = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    size_t used = 0;
    names[0] = '\0';
    for (int i = 0; list && i < sk_GENERAL_NAME_num(list); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(list, i);
        if (name->type != GEN_DNS) continue;
        const char *text = (const char *)ASN1_STRING_get0_data(name->d.dNSName);
        int length = ASN1_STRING_length(name->d.dNSName);
        int n = snprintf(names + used, size - used, "%s%.*s", used ? ", " : "", length, text);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    GENERAL_NAMES_free(list);
}

/* Names are compared byte by byte: no wildcards, no case folding, no common names. */
static bool has_name(X509 *certificate, const char *wanted)
{
    GENERAL_NAMES *list = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    size_t length = strlen(wanted);
    bool found = false;
    for (int i = 0; list && i < sk_GENERAL_NAME_num(list); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(list, i);
        if (name->type != GEN_DNS) continue;
        const ASN1_STRING *text = name->d.dNSName;
        if ((size_t)ASN1_STRING_length(text) == length && memcmp(ASN1_STRING_get0_data(text), wanted, length) == 0)
            found = true;
    }
    GENERAL_NAMES_free(list);
    return found;
}

static bool peer_is(artel__tls_stream *s, const char *name, char *names, size_t size)
{
    X509 *certificate = SSL_get1_peer_certificate(s->ssl);
    names[0] = '\0';
    if (!certificate) return false;
    bool right = name[0] && has_name(certificate, name);
    if (!right) list_names(certificate, names, size);
    X509_free(certificate);
    return right;
}

static bool doubts(const artel__tls_stream *s, artel__net_why *why)
{
    if (s->doubt)
        snprintf(why->text, sizeof why->text, "the peer's certificate is refused: %s",
                 X509_verify_cert_error_string(s->doubt));
    return s->doubt != 0;
}

static int64_t read_stream(artel__tls_stream *s, const struct iovec *to, int count, artel__net_why *why)
{
    int64_t total = 0;
    if (s->late) {
        *why = s->late_why;
        return s->late;
    }
    for (int i = 0; i < count; i++) {
        size_t at = 0;
        while (at < to[i].iov_len) {
            size_t n = 0;
            ERR_clear_error();
            int result = SSL_read_ex(s->ssl, (char *)to[i].iov_base + at, to[i].iov_len - at, &n);
            if (result != 1 && total == 0) return judge(s, result, why);
            if (result != 1) {
                int meaning = judge(s, result, &s->late_why);
                s->late = meaning == ARTEL__NET_STREAM_AGAIN ? 0 : meaning;
                return total;
            }
            at += n;
            total += (int64_t)n;
        }
    }
    return total;
}

/* The next bytes to encrypt: in place when they fill a record, else gathered. */
static const void *next_record(artel__tls_stream *s, const struct iovec *from, int count, int64_t skip, size_t *out)
{
    int i = 0;
    while (i < count && skip >= (int64_t)from[i].iov_len) skip -= (int64_t)from[i++].iov_len;
    *out = 0;
    if (i == count) return NULL;
    const char *bytes = (const char *)from[i].iov_base + skip;
    size_t have = from[i].iov_len - (size_t)skip;
    if (have >= RECORD || i + 1 == count) {
        *out = have / RECORD ? RECORD : have;
        return bytes;
    }
    size_t used = 0;
    for (; i < count && used < RECORD; i++, skip = 0) {
        size_t n = from[i].iov_len - (size_t)skip;
        if (n > RECORD - used) n = RECORD - used;
        memcpy(s->gather + used, (const char *)from[i].iov_base + skip, n);
        used += n;
    }
    *out = used;
    return s->gather;
}

/* Takes no more than fits into the buffer with certainty, so that no record is left half written. */
static int64_t write_stream(artel__tls_stream *s, const struct iovec *from, int count, artel__net_why *why)
{
    int64_t total = 0;
    for (;;) {
        size_t n = 0, bytes;
        const void *record = next_record(s, from, count, total, &bytes);
        if (!record || bytes == 0) break;
        if (s->room - s->end < RECORD + 512) {
            if (!flush_out(s)) break;
        }
        ERR_clear_error();
        if (s->under_key > KEY_BYTES && SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1) s->under_key = 0;
        int result = SSL_write_ex(s->ssl, record, bytes, &n);
        if (result != 1) return total ? total : judge(s, result, why);
        s->under_key += n;
        total += (int64_t)n;
    }
    if (!flush_out(s) && s->error) return judge(s, -1, why);
    return total ? total : ARTEL__NET_STREAM_AGAIN;
}

static int flush(artel__tls_stream *s, artel__net_why *why)
{
    if (flush_out(s)) return 0;
    return s->error ? judge(s, -1, why) : ARTEL__NET_STREAM_AGAIN;
}

static size_t unsent(const artel__tls_stream *s)
{
    return s->end - s->begin;
}

const artel__tls_stream_part *artel_part_tls_stream(void)
{
    static const artel__tls_stream_part part = {
        .version = ARTEL__TLS_STREAM_VERSION,
        .identity_create = artel__tls_identity_create,
        .identity_destroy = artel__tls_identity_destroy,
        .identity_ends = artel__tls_identity_ends,
        .create = create,
        .destroy = destroy,
        .handshake = handshake,
        .peer_is = peer_is,
        .doubts = doubts,
        .read = read_stream,
        .write = write_stream,
        .flush = flush,
        .unsent = unsent,
    };
    return &part;
}
