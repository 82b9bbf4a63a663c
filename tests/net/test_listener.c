/* SPDX-License-Identifier: Apache-2.0 */
/* The port among strangers: noise, silence, floods. Nothing gets in, little is kept, honest peers still do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/farewell.h"
#include "net/help_sites.h"
#include "support/certificates.h"

#define LONG_NS INT64_C(600000000000) /* longer than any wait here: what ends before has not waited for it */

enum {
    CALLERS = 48 /* more than may be in their handshake */
};

typedef struct goodbye {
    artel__site *site;
    const artel__net_address *to;
} goodbye;

static void *say_farewell(void *user)
{
    const goodbye *g = user;
    static const char *const task[] = {"worker-1"};
    artel__farewell(g->site, g->to, task, 1, INT64_C(10000000000));
    return NULL;
}

static bool ended(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

/* Until nothing is pending; reads away what comes at `fd`. */
static void settle(support_mesh *mesh, int fd)
{
    int64_t until = artel__now_ns() + INT64_C(120000000000);
    char away[4096];
    do {
        artel__listener_progress(mesh->listener[1]);
        while (recv(fd, away, sizeof away, MSG_DONTWAIT) > 0) {
        }
        if (artel__listener_pending(mesh->listener[1]) == 0) return;
        struct pollfd ready = {artel__listener_fd(mesh->listener[1]), POLLIN, 0};
        poll(&ready, 1, 5);
    } while (artel__now_ns() < until);
    fail_msg("something is still pending");
}

/* Bytes of no protocol, in one piece and one by one. */
static void noise(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        sites_open(&mesh, secure);
        for (int i = 0; i < 8; i++) {
            uint8_t bytes[400];
            for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (uint8_t)((k + 1) * (size_t)(i * 37 + 11) >> 2);
            static const char *const known[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-x\r\n",
                                                "\x16\x03\x01\x02", "artH\x01"};
            if (i < 4) memcpy(bytes, known[i], strlen(known[i]));
            int fd = sites_dial(&mesh);
            assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
            shutdown(fd, SHUT_WR);
            settle(&mesh, fd);
            assert_null(artel__listener_take(mesh.listener[1]));
            close(fd);
        }
        assert_true(mesh.incidents >= 4);
        sites_close(&mesh);
    }
}

/* A task that dies while it greets has shown no bad certificate: it may come again. */
static void killed_in_the_handshake(void **state)
{
    (void)state;
    support_mesh mesh;
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    static const uint8_t begun[] = {0x16, 3, 1, 1, 0, 1, 0, 0, 0xfc};
    sites_open(&mesh, true);
    int fd = sites_dial(&mesh), idle = sites_dial(&mesh);
    assert_int_equal(send(fd, begun, sizeof begun, MSG_NOSIGNAL), sizeof begun);
    for (int i = 0; i < 3; i++) artel__listener_progress(mesh.listener[1]);
    assert_int_equal(artel__listener_pending(mesh.listener[1]), 2);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    close(fd);
    shutdown(idle, SHUT_WR);
    settle(&mesh, idle);
    assert_true(mesh.incidents == 0 || mesh.fault == ARTEL__FAULT_LOST);
    close(idle);
    sites_close(&mesh);
}

/* Who says nothing, or one byte, is gone when its time is over. */
static void silence(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        sites_open(&mesh, secure);
        mesh.site[1].handshake_ns = 300000000;
        int quiet = sites_dial(&mesh), slow = sites_dial(&mesh);
        assert_int_equal(send(slow, secure ? "\x16" : "a", 1, MSG_NOSIGNAL), 1);
        int64_t start = artel__now_ns();
        artel__listener_progress(mesh.listener[1]);
        assert_int_equal(artel__listener_pending(mesh.listener[1]), 2);
        assert_true(artel__listener_deadline(mesh.listener[1]) <= artel__now_ns() + 300000000);
        settle(&mesh, quiet);
        assert_true(artel__now_ns() - start >= 250000000);
        assert_true(ended(quiet));
        assert_true(ended(slow));
        assert_int_equal(mesh.fault, ARTEL__FAULT_SLOW);
        assert_int_equal(artel__listener_deadline(mesh.listener[1]), INT64_MAX);
        close(quiet);
        close(slow);
        sites_close(&mesh);
    }
}

/* Who has said half a word, or less than the first record that it announced, wakes nobody; not when it goes on, and is
 * gone once it ends. */
static void half_a_word(void **state)
{
    (void)state;
    static const uint8_t record[] = {0x16, 3, 1, 0, 64, 1, 0, 0, 60};
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        sites_open(&mesh, secure);
        mesh.site[1].handshake_ns = LONG_NS;
        int fd = sites_dial(&mesh);
        struct pollfd ready = {artel__listener_fd(mesh.listener[1]), POLLIN, 0};
        assert_int_equal(send(fd, record, 3, MSG_NOSIGNAL), 3);
        assert_int_equal(poll(&ready, 1, 5000), 1); /* the port */
        artel__listener_progress(mesh.listener[1]);
        assert_int_equal(artel__listener_pending(mesh.listener[1]), 1);
        assert_int_equal(poll(&ready, 1, 10), 0);
        if (secure) {
            assert_int_equal(send(fd, record + 3, 2, MSG_NOSIGNAL), 2);
            assert_int_equal(poll(&ready, 1, 5000), 1); /* the head of a record */
            artel__listener_progress(mesh.listener[1]);
            assert_int_equal(send(fd, record + 5, sizeof record - 5, MSG_NOSIGNAL), sizeof record - 5);
            assert_int_equal(poll(&ready, 1, 10), 0);
        }
        assert_int_equal(artel__listener_pending(mesh.listener[1]), 1);
        shutdown(fd, SHUT_WR);
        settle(&mesh, fd); /* long before its time */
        close(fd);
        sites_close(&mesh);
    }
}

/* Many half-open connections from one host: few are kept, and an honest peer of the same host gets in between them. */
static void half_open(void **state)
{
    (void)state;
    enum {
        CROWD = 600
    };
    static int fd[CROWD];
    support_mesh mesh;
    sites_open(&mesh, true);
    mesh.site[0].handshake_ns = mesh.site[1].handshake_ns = LONG_NS;
    uint64_t most = 0;
    for (int i = 0; i < CROWD; i++) {
        fd[i] = sites_dial(&mesh);
        if (i % 50) continue;
        artel__listener_progress(mesh.listener[1]);
        uint64_t now = (uint64_t)artel__listener_pending(mesh.listener[1]);
        if (now > most) most = now;
    }
    for (int i = 0; i < 10; i++) artel__listener_progress(mesh.listener[1]);
    assert_true(most <= 64);
    assert_int_equal(artel__listener_pending(mesh.listener[1]), 64);
    assert_true(ended(fd[0]));
    assert_false(ended(fd[CROWD - 1]));
    artel__connection *near;
    assert_int_equal(support_mesh_dial(&mesh, 0, 1, ARTEL__NET_DATA, &near), ARTEL_OK);
    artel__connection *far = NULL;
    int64_t until = artel__now_ns() + INT64_C(120000000000);
    while ((!far || artel__connection_get_state(near) != ARTEL__CONNECTION_OPEN) && artel__now_ns() < until) {
        artel__connection_progress(near);
        artel__listener_progress(mesh.listener[1]);
        if (!far) far = artel__listener_take(mesh.listener[1]);
    }
    assert_non_null(far);
    assert_true(mesh.incidents >= 1 && mesh.incidents <= 64); /* a flood does not fill the log */
    assert_int_equal(mesh.fault, ARTEL__FAULT_CROWDED);
    artel__connection_close(near);
    artel__connection_close(far);
    for (int i = 0; i < CROWD; i++) close(fd[i]);
    sites_close(&mesh);
}

/* What strangers say in plaintext to a task that encrypts is noted, and proves nothing. */
static void said_in_plaintext(void **state)
{
    (void)state;
    support_mesh mesh;
    sites_open(&mesh, true);
    for (int fault = ARTEL__FAULT_UNREACHABLE; fault <= ARTEL__FAULT_REJECTED; fault++) {
        uint8_t bytes[ARTEL__HELLO_BYTES];
        artel__refusal_encode(&(artel__refusal){.fault = (artel__net_fault)fault, .reason = "no"}, bytes);
        int fd = sites_dial(&mesh);
        mesh.proven = true;
        mesh.site[1].incident_like = 0;
        assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
        settle(&mesh, fd);
        assert_int_equal(mesh.fault, ARTEL__FAULT_PLAINTEXT);
        assert_false(mesh.proven);
        close(fd);
    }
    sites_close(&mesh);
}

/* Whose certificate is out of its dates says so over TLS: it has proven who it is, and is refused for that. */
static void farewell(void **state)
{
    (void)state;
    support_mesh mesh;
    artel__net_address to;
    char text[32], folder[] = "/tmp/artel-farewell-XXXXXX", path[4][64];
    static const char *const files[] = {"ca", "crt", "key"};
    sites_open(&mesh, true);
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s/%s", folder, files[i]);
    support_authority *authority = support_authority_create(path[0]);
    for (int rank = 0; rank < 2; rank++) { /* rank 0: from tomorrow on */
        support_issue(authority, &(support_certificate){rank ? "worker-1" : "worker-0", path[1], path[2],
                                                        rank ? -60 : 86400, 172800});
        artel__tls_close(&mesh.tls[rank]);
        assert_int_equal(artel__tls_open(mesh.ctx, &(artel__tls_files){path[0], path[1], path[2]}, &mesh.tls[rank]),
                         ARTEL_OK);
    }
    support_authority_destroy(authority);
    for (int i = 0; i < 3; i++) unlink(path[i]);
    rmdir(folder);
    snprintf(text, sizeof text, "127.0.0.1:%d", artel__listener_port(mesh.listener[1]));
    assert_true(artel__net_address_parse(text, &to));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, say_farewell, &(goodbye){&mesh.site[0], &to}), 0);
    int idle = sites_dial(&mesh);
    for (int64_t until = artel__now_ns() + INT64_C(120000000000); artel__now_ns() < until && !mesh.proven;) {
        struct pollfd ready = {artel__listener_fd(mesh.listener[1]), POLLIN, 0};
        poll(&ready, 1, 10);
        artel__listener_progress(mesh.listener[1]);
    }
    shutdown(idle, SHUT_WR);
    settle(&mesh, idle);
    pthread_join(thread, NULL);
    assert_true(mesh.proven);
    assert_int_equal(mesh.fault, ARTEL__FAULT_CERTIFICATE);
    assert_non_null(strstr(mesh.reason, "not yet valid"));
    assert_null(artel__listener_take(mesh.listener[1]));
    close(idle);
    sites_close(&mesh);
}

/* A first record that is none of ours costs nothing: it is not given to TLS. */
static void long_hello(void **state)
{
    (void)state;
    static const struct {
        uint8_t head[9];
        size_t more;
    } begun[] = {
        {{22, 3, 1, 64, 0, 1, 1, 255, 0}, 16380}, /* a ClientHello of 128 KB, its first 16 */
        {{22, 3, 1, 0, 60, 1, 0, 0, 57}, 56},     /* one that goes on in another record */
        {{22, 3, 1, 0, 60, 11, 0, 0, 56}, 56},    /* another message */
        {{23, 3, 1, 0, 60, 1, 0, 0, 56}, 56},     /* another kind of record */
    };
    static uint8_t rest[16384];
    support_mesh mesh;
    sites_open(&mesh, true);
    for (size_t i = 0; i < ARTEL__COUNT(begun); i++) {
        int fd = sites_dial(&mesh);
        mesh.fault = ARTEL__FAULT_NONE;
        mesh.site[1].incident_like = 0;
        assert_int_equal(send(fd, begun[i].head, sizeof begun[i].head, MSG_NOSIGNAL), sizeof begun[i].head);
        assert_int_equal(send(fd, rest, begun[i].more, MSG_NOSIGNAL), (ssize_t)begun[i].more);
        settle(&mesh, fd);
        assert_int_equal(mesh.fault, ARTEL__FAULT_GARBAGE);
        assert_false(mesh.proven);
        close(fd);
    }
    sites_close(&mesh);
}

/* A stranger's handshake over `fd` that offers these groups; the group that was agreed to, or NID_undef. */
static int agreed_group(support_mesh *mesh, int fd, const char *groups)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    assert_int_equal(SSL_CTX_set1_groups_list(context, groups), 1);
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    int done = -1;
    for (int64_t until = artel__now_ns() + INT64_C(120000000000); done < 0 && artel__now_ns() < until;) {
        struct pollfd ready = {artel__listener_fd(mesh->listener[1]), POLLIN, 0};
        done = SSL_connect(ssl);
        int error = SSL_get_error(ssl, done);
        bool again = done < 0 && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE);
        if (done < 0 && !again) done = 0;
        poll(&ready, 1, 1);
        artel__listener_progress(mesh->listener[1]);
    }
    int group = done == 1 ? (int)SSL_get_negotiated_group(ssl) : NID_undef;
    SSL_free(ssl);
    SSL_CTX_free(context);
    return group;
}

/* Which groups a ClientHello may ask for: none over a finite field, whose exchange costs a tenth of a second. */
static void groups_of_strangers(void **state)
{
    (void)state;
    static const struct {
        const char *offered;
        int agreed;
    } row[] = {
        {"X25519", NID_X25519},   {"P-256", NID_X9_62_prime256v1},    {"ffdhe8192:P-256", NID_X9_62_prime256v1},
        {"ffdhe2048", NID_undef}, {"ffdhe8192:ffdhe2048", NID_undef}, {"P-384", NID_undef},
        {"X448", NID_undef},
    };
    support_mesh mesh;
    sites_open(&mesh, true);
    for (size_t i = 0; i < ARTEL__COUNT(row); i++) {
        int fd = sites_dial(&mesh);
        assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(agreed_group(&mesh, fd, row[i].offered), row[i].agreed);
        shutdown(fd, SHUT_WR);
        settle(&mesh, fd); /* without a certificate it is refused either way */
        assert_null(artel__listener_take(mesh.listener[1]));
        close(fd);
    }
    sites_close(&mesh);
}

/* The first words of a client. */
static size_t client_hello(uint8_t *out, size_t size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *said = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, said);
    assert_int_equal(SSL_connect(ssl), -1);
    int count = BIO_read(said, out, (int)size);
    assert_true(count > 0 && (size_t)count < size);
    SSL_free(ssl);
    SSL_CTX_free(context);
    return (size_t)count;
}

static size_t heap_bytes(void)
{
    struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

/* A crowd from many hosts that begins and says no more takes at most 6 MB, what docs/cluster-security.md says and some
 * more. (A sanitizer's heap counts nothing.) */
static void memory_of_half_open(void **state)
{
    (void)state;
    enum {
        HOSTS = 8,
        EACH = 40
    };
    static int fd[HOSTS * EACH];
    uint8_t hello[4096];
    support_mesh mesh;
    sites_open(&mesh, true);
    mesh.site[1].handshake_ns = LONG_NS;
    artel__net_address to;
    char text[32];
    snprintf(text, sizeof text, "127.0.0.1:%d", artel__listener_port(mesh.listener[1]));
    assert_true(artel__net_address_parse(text, &to));
    size_t bytes = client_hello(hello, sizeof hello), before = 0, most = 0;
    for (int i = 0; i < HOSTS * EACH; i++) {
        artel__net_address from;
        snprintf(text, sizeof text, "127.0.0.%d:0", 2 + i / EACH);
        assert_true(artel__net_address_parse(text, &from));
        fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(fd[i], (struct sockaddr *)&from.socket, from.bytes), 0);
        assert_int_equal(connect(fd[i], (struct sockaddr *)&to.socket, to.bytes), 0);
        assert_int_equal(send(fd[i], hello, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
        struct pollfd ready = {artel__listener_fd(mesh.listener[1]), POLLIN, 0};
        for (int k = 0; k < 3 && poll(&ready, 1, 20) > 0; k++) artel__listener_progress(mesh.listener[1]);
        if (i == 0) before = heap_bytes(); /* what the first one makes OpenSSL keep for ever */
        if (heap_bytes() > most) most = heap_bytes();
    }
    assert_true(artel__listener_pending(mesh.listener[1]) >= 96);
    assert_true(most - before <= 6 << 20);
    for (int i = 0; i < HOSTS * EACH; i++) close(fd[i]);
    sites_close(&mesh);
}

/* Moves all that have not been left to themselves, and the listener, until `wanted` have been taken. */
static int meet_all(support_mesh *mesh, artel__connection **near, int from, int count, int wanted)
{
    artel__connection *far[CALLERS];
    int met = 0;
    for (int64_t until = artel__now_ns() + INT64_C(120000000000); artel__now_ns() < until && met < wanted;) {
        for (int i = from; i < count; i++) artel__connection_progress(near[i]);
        artel__listener_progress(mesh->listener[1]);
        while (met < CALLERS && (far[met] = artel__listener_take(mesh->listener[1]))) met++;
        struct pollfd ready = {artel__listener_fd(mesh->listener[1]), POLLIN, 0};
        poll(&ready, 1, 1);
    }
    for (int i = 0; i < met; i++) artel__connection_close(far[i]);
    return met;
}

/* Few handshakes are under way at a time. A crowd of honest peers is let in one after the other, and loses nobody. */
static void honest_crowd(void **state)
{
    (void)state;
    artel__connection *near[CALLERS];
    support_mesh mesh;
    sites_open(&mesh, true);
    mesh.site[0].handshake_ns = mesh.site[1].handshake_ns = LONG_NS; /* none has had its time */
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(support_mesh_dial(&mesh, 0, 1, ARTEL__NET_DATA, &near[i]), ARTEL_OK);
    assert_int_equal(meet_all(&mesh, near, 0, CALLERS, CALLERS), CALLERS);
    assert_int_equal(mesh.incidents, 0);
    for (int i = 0; i < CALLERS; i++) artel__connection_close(near[i]);
    sites_close(&mesh);
}

/* Those that begin and say no more hold few places, and give way in a quarter of their time to who comes after them. */
static void stalled_handshakes(void **state)
{
    (void)state;
    artel__connection *near[CALLERS];
    support_mesh mesh;
    sites_open(&mesh, true);
    mesh.site[0].handshake_ns = LONG_NS;
    mesh.site[1].handshake_ns = INT64_C(8000000000);
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(support_mesh_dial(&mesh, 0, 1, ARTEL__NET_DATA, &near[i]), ARTEL_OK);
        for (int k = 0; k < 1000 && artel__connection_get_state(near[i]) == ARTEL__CONNECTION_CONNECTING; k++)
            artel__connection_progress(near[i]);
        if (i + 1 < CALLERS) artel__listener_progress(mesh.listener[1]);
    }
    assert_int_equal(meet_all(&mesh, near, CALLERS - 1, CALLERS, 1), 1);
    assert_int_equal(mesh.fault, ARTEL__FAULT_CROWDED);
    for (int i = 0; i < CALLERS; i++) artel__connection_close(near[i]);
    sites_close(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise),
        cmocka_unit_test(silence),
        cmocka_unit_test(half_a_word),
        cmocka_unit_test(half_open),
        cmocka_unit_test(killed_in_the_handshake),
        cmocka_unit_test(said_in_plaintext),
        cmocka_unit_test(farewell),
        cmocka_unit_test(long_hello),
        cmocka_unit_test(groups_of_strangers),
        cmocka_unit_test(memory_of_half_open),
        cmocka_unit_test(honest_crowd),
        cmocka_unit_test(stalled_handshakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
