/* SPDX-License-Identifier: Apache-2.0 */
/* What a byte costs on its way between two processes of one machine: plain TCP, TLS 1.3 of OpenSSL over TCP, gRPC with
 * mutual TLS.
 *
 * net_bench [CORE_A CORE_B [ROUNDS]]: for 4 B, 64 KB and 4 MB, over carriers taken in turn in each round: the time of a
 * round trip (the message goes and comes back), the rate of a stream in one direction, and the same rate for each
 * second of processor time of the busier side, which is what a core can carry, however busy the machine is. Medians of
 * the rounds. Each carrier runs in a pair of fresh processes, bound to a core each when cores are given.
 *
 * Build: cc -O2 -std=c17 -D_GNU_SOURCE net_bench.c net_bench_grpc.c -lssl -lcrypto -lgrpc -lgpr
 */
#include "net_bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Noreturn void give_up(const char *what)
{
    fprintf(stderr, "net_bench: %s (%s)\n", what, strerror(errno));
    exit(1);
}

/* -- certificates -- */

static EVP_PKEY *new_key(void)
{
    return EVP_EC_gen("P-256");
}

static void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (!extension || !X509_add_ext(certificate, extension, -1)) give_up("extension");
    X509_EXTENSION_free(extension);
}

static X509 *new_certificate(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
    X509 *c = X509_new();
    X509_set_version(c, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c), issuer ? 2 : 1);
    X509_gmtime_adj(X509_getm_notBefore(c), -60);
    X509_gmtime_adj(X509_getm_notAfter(c), 3600);
    X509_set_pubkey(c, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(c, X509_get_subject_name(issuer ? issuer : c));
    add_extension(c, issuer ? issuer : c, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    if (issuer) add_extension(c, issuer, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    if (!X509_sign(c, issuer_key ? issuer_key : key, EVP_sha256())) give_up("signature");
    return c;
}

static char *text_of(BIO *bio)
{
    char *data;
    long length = BIO_get_mem_data(bio, &data);
    char *text = strndup(data, (size_t)length);
    BIO_free(bio);
    return text;
}

static char *certificate_text(X509 *c)
{
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, c);
    return text_of(bio);
}

static char *key_text(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    return text_of(bio);
}

static void make_credentials(credentials *out)
{
    EVP_PKEY *ca_key = new_key();
    X509 *ca = new_certificate("net_bench CA", ca_key, NULL, NULL);
    out->ca = certificate_text(ca);
    for (int side = 0; side < 2; side++) {
        EVP_PKEY *key = new_key();
        X509 *c = new_certificate("localhost", key, ca, ca_key);
        out->certificate[side] = certificate_text(c);
        out->key[side] = key_text(key);
        X509_free(c);
        EVP_PKEY_free(key);
    }
    X509_free(ca);
    EVP_PKEY_free(ca_key);
}

/* -- TCP -- */

typedef struct wire {
    int fd;
    SSL *ssl;
    SSL_CTX *context;
} wire;

static void tcp_prepare(const credentials *c, int *meeting)
{
    (void)c;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1) < 0) give_up("listen");
    *meeting = fd;
}

static void *tcp_open(const credentials *c, int meeting, int side)
{
    (void)c;
    wire *l = calloc(1, sizeof *l);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (side == SERVER) {
        l->fd = accept(meeting, NULL, NULL);
        if (l->fd < 0) give_up("accept");
    } else {
        l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (getsockname(meeting, (struct sockaddr *)&address, &size) < 0 ||
            connect(l->fd, (struct sockaddr *)&address, size) < 0)
            give_up("connect");
    }
    setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return l;
}

static void tcp_send(void *user, const void *bytes, size_t count)
{
    wire *l = user;
    for (const char *at = bytes; count;) {
        ssize_t n = send(l->fd, at, count, MSG_NOSIGNAL);
        if (n <= 0) give_up("send");
        at += n;
        count -= (size_t)n;
    }
}

static void tcp_receive(void *user, void *bytes, size_t count)
{
    wire *l = user;
    for (char *at = bytes; count;) {
        ssize_t n = recv(l->fd, at, count, 0);
        if (n <= 0) give_up("recv");
        at += n;
        count -= (size_t)n;
    }
}

static void tcp_close(void *user)
{
    wire *l = user;
    if (l->ssl) SSL_free(l->ssl);
    SSL_CTX_free(l->context);
    close(l->fd);
    free(l);
}

const carrier carrier_tcp = {"tcp", tcp_prepare, tcp_open, tcp_send, tcp_receive, tcp_close};

/* -- OpenSSL on TCP, records of 16 KB -- */

static SSL_CTX *new_context(const credentials *c, int side, const char *cipher)
{
    SSL_CTX *context = SSL_CTX_new(side == SERVER ? TLS_server_method() : TLS_client_method());
    BIO *bio = BIO_new_mem_buf(c->certificate[side], -1);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    bio = BIO_new_mem_buf(c->key[side], -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    BIO_free(bio);
    bio = BIO_new_mem_buf(c->ca, -1);
    X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca);
    if (SSL_CTX_use_certificate(context, certificate) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1 ||
        SSL_CTX_set_ciphersuites(context, cipher) != 1)
        give_up("TLS context");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 256 << 10);
    X509_free(certificate);
    X509_free(ca);
    EVP_PKEY_free(key);
    return context;
}

static void *tls_open(const credentials *c, int meeting, int side, const char *cipher, bool kernel)
{
    wire *l = tcp_open(c, meeting, side);
    l->context = new_context(c, side, cipher);
    if (kernel) SSL_CTX_set_options(l->context, SSL_OP_ENABLE_KTLS);
    l->ssl = SSL_new(l->context);
    SSL_set_fd(l->ssl, l->fd);
    if ((side == SERVER ? SSL_accept(l->ssl) : SSL_connect(l->ssl)) != 1) give_up("TLS handshake");
    if (kernel && !BIO_get_ktls_send(SSL_get_wbio(l->ssl))) {
        tcp_close(l);
        return NULL;
    }
    return l;
}

static void *tls128_open(const credentials *c, int meeting, int side)
{
    return tls_open(c, meeting, side, "TLS_AES_128_GCM_SHA256", false);
}

static void *tls256_open(const credentials *c, int meeting, int side)
{
    return tls_open(c, meeting, side, "TLS_AES_256_GCM_SHA384", false);
}

static void *ktls_open(const credentials *c, int meeting, int side)
{
    return tls_open(c, meeting, side, "TLS_AES_128_GCM_SHA256", true);
}

static void tls_send(void *user, const void *bytes, size_t count)
{
    size_t sent;
    if (SSL_write_ex(((wire *)user)->ssl, bytes, count, &sent) != 1) give_up("SSL_write");
}

static void tls_receive(void *user, void *bytes, size_t count)
{
    for (char *at = bytes; count;) {
        size_t n;
        if (SSL_read_ex(((wire *)user)->ssl, at, count, &n) != 1) give_up("SSL_read");
        at += n;
        count -= n;
    }
}

const carrier carrier_tls128 = {"TLS 1.3 AES-128-GCM", tcp_prepare, tls128_open, tls_send, tls_receive, tcp_close};
const carrier carrier_tls256 = {"TLS 1.3 AES-256-GCM", tcp_prepare, tls256_open, tls_send, tls_receive, tcp_close};
const carrier carrier_ktls = {"kTLS AES-128-GCM", tcp_prepare, ktls_open, tls_send, tls_receive, tcp_close};

/* -- measuring -- */

enum {
    SIZES = 3,
    MOST_ROUNDS = 101
};

static const size_t sizes[SIZES] = {4, 64 << 10, 4 << 20};
static const int trips[SIZES] = {2000, 400, 20}, streams[SIZES] = {20000, 6000, 150};

typedef struct figures {
    double trip_us, rate, core_rate; /* rates in bytes a second */
    bool have;
} figures;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The server echoes, then counts, and says how much processor time that took. */
static void serve(const carrier *k, void *l, char *buffer)
{
    for (int s = 0; s < SIZES; s++) {
        for (int i = 0; i < trips[s] + trips[s] / 4; i++) {
            k->receive(l, buffer, sizes[s]);
            k->send(l, buffer, sizes[s]);
        }
        double cpu = processor_seconds();
        for (int i = 0; i < streams[s]; i++) k->receive(l, buffer, sizes[s]);
        cpu = processor_seconds() - cpu;
        k->send(l, &cpu, sizeof cpu);
    }
}

static void ask(const carrier *k, void *l, char *buffer, figures out[SIZES])
{
    for (int s = 0; s < SIZES; s++) {
        double start = 0, theirs;
        for (int i = -trips[s] / 4; i < trips[s]; i++) {
            if (i == 0) start = now();
            k->send(l, buffer, sizes[s]);
            k->receive(l, buffer, sizes[s]);
        }
        out[s].trip_us = (now() - start) / trips[s] * 1e6;
        double cpu = processor_seconds();
        start = now();
        for (int i = 0; i < streams[s]; i++) k->send(l, buffer, sizes[s]);
        cpu = processor_seconds() - cpu;
        k->receive(l, &theirs, sizeof theirs);
        double bytes = (double)sizes[s] * streams[s];
        out[s].rate = bytes / (now() - start);
        out[s].core_rate = bytes / (cpu > theirs ? cpu : theirs);
        out[s].have = true;
    }
}

static void bind_to(int core)
{
    if (core < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* Both sides in processes of their own; the client writes its figures into a pipe. */
static void run(const carrier *k, const credentials *c, const int cores[2], figures out[SIZES])
{
    int meeting, pipes[2];
    k->prepare(c, &meeting);
    if (pipe(pipes) < 0) give_up("pipe");
    for (int side = 0; side < 2; side++) {
        pid_t child = fork();
        if (child < 0) give_up("fork");
        if (child) continue;
        bind_to(cores[side]);
        char *buffer = calloc(1, sizes[SIZES - 1]);
        figures mine[SIZES] = {{0}};
        void *l = k->open(c, meeting, side);
        if (l && side == SERVER) serve(k, l, buffer);
        if (l && side == CLIENT) ask(k, l, buffer, mine);
        if (l) k->close(l);
        if (side == CLIENT && write(pipes[1], mine, sizeof mine) != sizeof mine) give_up("write");
        _exit(0);
    }
    close(pipes[1]);
    if (read(pipes[0], out, SIZES * sizeof *out) != (ssize_t)(SIZES * sizeof *out)) memset(out, 0, SIZES * sizeof *out);
    close(pipes[0]);
    close(meeting);
    while (wait(NULL) > 0) {
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    static const carrier *const all[] = {&carrier_tcp, &carrier_tls128, &carrier_tls256, &carrier_ktls, &carrier_grpc};
    enum {
        CARRIERS = sizeof all / sizeof *all
    };
    static figures f[CARRIERS][MOST_ROUNDS][SIZES];
    int cores[2] = {argc > 2 ? atoi(argv[1]) : -1, argc > 2 ? atoi(argv[2]) : -1};
    int rounds = argc > 3 ? atoi(argv[3]) : 5;
    if (rounds < 1 || rounds > MOST_ROUNDS) return fprintf(stderr, "net_bench: 1 to %d rounds\n", MOST_ROUNDS), 1;
    credentials c;
    make_credentials(&c);
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < CARRIERS; k++) run(all[k], &c, cores, f[k][r]);
    }
    for (int k = 0; k < CARRIERS; k++) {
        if (!f[k][0][0].have) {
            printf("%-20s not on this machine\n", all[k]->name);
            continue;
        }
        for (int s = 0; s < SIZES; s++) {
            double trip[MOST_ROUNDS], rate[MOST_ROUNDS], core[MOST_ROUNDS];
            for (int r = 0; r < rounds; r++) {
                trip[r] = f[k][r][s].trip_us;
                rate[r] = f[k][r][s].rate;
                core[r] = f[k][r][s].core_rate;
            }
            printf("%-20s %8zu bytes: round trip %9.1f us, stream %8.1f MB/s, a core carries %8.1f MB/s\n",
                   all[k]->name, sizes[s], median(trip, rounds), median(rate, rounds) * 1e-6,
                   median(core, rounds) * 1e-6);
        }
    }
    return 0;
}
