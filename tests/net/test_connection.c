/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: who is let in, who is refused and what both sides say about it, control messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/help_sites.h"
#include "support/certificates.h"

/* Rank 0 dials rank 1; returns the far end when it is open. */
static artel__connection *meet(support_mesh *mesh, artel__connection **near)
{
    assert_int_equal(support_mesh_dial(mesh, 0, 1, ARTEL__NET_CONTROL, near), ARTEL_OK);
    return support_mesh_meet(mesh, 1, *near);
}

static void they_meet(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        artel__connection *near;
        sites_open(&mesh, secure);
        artel__connection *far = meet(&mesh, &near);
        assert_non_null(far);
        assert_int_equal(artel__connection_get_state(near), ARTEL__CONNECTION_OPEN);
        assert_string_equal(artel__connection_peer(near)->task, "worker-1");
        assert_string_equal(artel__connection_peer(far)->task, "worker-0");
        assert_int_equal(artel__connection_peer(far)->incarnation, 100);
        assert_int_equal(artel__connection_peer(far)->purpose, ARTEL__NET_CONTROL);
        assert_int_equal(artel__connection_is_secure(far), secure);
        assert_int_equal(artel__connection_mask(near, true), artel__connection_mask(far, false));
        assert_int_equal(artel__connection_mask(near, false), artel__connection_mask(far, true));
        assert_int_equal(mesh.incidents, 0);
        artel__connection_close(near);
        artel__connection_close(far);
        sites_close(&mesh);
    }
}

/* Both ends ask the kernel to look whether the way is still there when nothing is said: a firewall that forgets what is
 * idle does not, and a host that is gone is noticed. */
static void ways_are_kept(void **state)
{
    (void)state;
    static const struct {
        int level, option, least, most;
    } wanted[] = {{SOL_SOCKET, SO_KEEPALIVE, 1, 1},
                  {IPPROTO_TCP, TCP_KEEPIDLE, 1, 30}, /* firewalls forget after a minute at the earliest */
                  {IPPROTO_TCP, TCP_KEEPINTVL, 1, 10},
                  {IPPROTO_TCP, TCP_KEEPCNT, 1, 6},
                  {IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 0}}; /* why not: connection.c */
    support_mesh mesh;
    artel__connection *near;
    sites_open(&mesh, false);
    artel__connection *far = meet(&mesh, &near);
    assert_non_null(far);
    for (size_t i = 0; i < 2 * ARTEL__COUNT(wanted); i++) {
        int value = -1, socket = artel__connection_fd(i % 2 ? near : far);
        socklen_t size = sizeof value;
        assert_int_equal(getsockopt(socket, wanted[i / 2].level, wanted[i / 2].option, &value, &size), 0);
        assert_in_range(value, wanted[i / 2].least, wanted[i / 2].most);
    }
    artel__connection_close(near);
    artel__connection_close(far);
    sites_close(&mesh);
}

/* The near end is lost with `fault`, the reason says `word`, and the security log has it. */
static void expect_refusal(support_mesh *mesh, artel__net_fault fault, const char *word)
{
    artel__connection *near, *far = meet(mesh, &near);
    if (far) fail_msg("let in: %s", artel__connection_peer(far)->task);
    assert_int_equal(artel__connection_get_state(near), ARTEL__CONNECTION_LOST);
    if (artel__connection_fault(near) != fault || !strstr(artel__connection_why(near), word))
        fail_msg("near: %s", artel__connection_why(near));
    assert_non_null(strstr(artel__connection_why(near), "worker-0"));
    assert_true(mesh->incidents >= 1);
    artel__connection_close(near);
}

static void wrong_job_and_identity_and_name(void **state)
{
    (void)state;
    support_mesh mesh;
    sites_open(&mesh, false);
    mesh.site[0].self.job = 8;
    expect_refusal(&mesh, ARTEL__FAULT_JOB, "job");
    mesh.site[0].self.job = 7;
    memset(mesh.site[0].self.identity, 1, 32);
    memset(mesh.site[1].self.identity, 2, 32);
    expect_refusal(&mesh, ARTEL__FAULT_IDENTITY, "another model");
    memset(mesh.site[0].self.identity, 2, 32);
    /* The dialler looks for worker-5 at the address of worker-1. */
    artel__connection *near;
    artel__connection_request request = {.purpose = ARTEL__NET_DATA, .task = "worker-5"};
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", artel__listener_port(mesh.listener[1]));
    assert_true(artel__net_address_parse(address, &request.to));
    assert_int_equal(artel__connection_open(&mesh.site[0], &request, &near), ARTEL_OK);
    assert_null(support_mesh_meet(&mesh, 1, near));
    assert_int_equal(artel__connection_fault(near), ARTEL__FAULT_NAME);
    assert_true(artel__connection_refused_there(near));
    artel__connection_close(near);
    sites_close(&mesh);
}

static artel__net_fault only_generation_nine(void *user, const artel__hello *peer, char reason[ARTEL__HELLO_REASON])
{
    (void)user;
    if (peer->generation == 9) return ARTEL__FAULT_NONE;
    snprintf(reason, ARTEL__HELLO_REASON, "generation %u is over", (unsigned)peer->generation);
    return ARTEL__FAULT_REJECTED;
}

static void the_members_own_rule(void **state)
{
    (void)state;
    support_mesh mesh;
    sites_open(&mesh, false);
    mesh.site[1].admit = only_generation_nine;
    expect_refusal(&mesh, ARTEL__FAULT_REJECTED, "generation 1 is over");
    mesh.site[0].self.generation = 9;
    artel__connection *near, *far = meet(&mesh, &near);
    assert_non_null(far);
    artel__connection_close(near);
    artel__connection_close(far);
    sites_close(&mesh);
}

static void one_side_encrypts(void **state)
{
    (void)state;
    for (int who = 0; who < 2; who++) {
        support_mesh mesh;
        sites_open(&mesh, true);
        mesh.site[who].tls = NULL;
        expect_refusal(&mesh, ARTEL__FAULT_PLAINTEXT, who == 0 ? "demands a certificate" : "encrypt");
        sites_close(&mesh);
    }
}

/* Rank 0 gets another certificate. */
typedef struct other {
    const char *name;
    long from, to;
    bool stranger; /* of another authority */
} other;

static void give_certificate(support_mesh *mesh, const other *o)
{
    char folder[] = "/tmp/artel-cert-XXXXXX", ca[64], certificate[64], key[64];
    assert_non_null(mkdtemp(folder));
    snprintf(ca, sizeof ca, "%s/ca.pem", folder);
    snprintf(certificate, sizeof certificate, "%s/task.pem", folder);
    snprintf(key, sizeof key, "%s/task.key", folder);
    support_authority *good = support_authority_create(ca);
    support_issue(good, &(support_certificate){"worker-1", certificate, key, -60, 3600});
    artel__tls_close(&mesh->tls[1]);
    assert_int_equal(artel__tls_open(mesh->ctx, &(artel__tls_files){ca, certificate, key}, &mesh->tls[1]), ARTEL_OK);
    support_authority *issuer = o->stranger ? support_authority_create(ca) : good;
    support_issue(issuer, &(support_certificate){o->name, certificate, key, o->from, o->to});
    artel__tls_close(&mesh->tls[0]);
    assert_int_equal(artel__tls_open(mesh->ctx, &(artel__tls_files){ca, certificate, key}, &mesh->tls[0]), ARTEL_OK);
    if (o->stranger) support_authority_destroy(issuer);
    support_authority_destroy(good);
    unlink(ca);
    unlink(certificate);
    unlink(key);
    rmdir(folder);
}

static void wrong_certificates(void **state)
{
    (void)state;
    static const struct {
        other certificate;
        artel__net_fault fault;
        const char *word;
    } cases[] = {
        {{"worker-7", -60, 3600, false}, ARTEL__FAULT_NAME, "worker-7"},
        {{"worker-0.example", -60, 3600, false}, ARTEL__FAULT_NAME, "worker-0.example"},
        {{"worker-0", -7200, -3600, false}, ARTEL__FAULT_CERTIFICATE, "expired"},
        {{"worker-0", 3600, 7200, false}, ARTEL__FAULT_CERTIFICATE, "certificate"},
        {{"worker-0", -60, 3600, true}, ARTEL__FAULT_CERTIFICATE, "certificate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_mesh mesh;
        sites_open(&mesh, true);
        give_certificate(&mesh, &cases[i].certificate);
        expect_refusal(&mesh, cases[i].fault, cases[i].word);
        sites_close(&mesh);
    }
}

static const char *host_of(void *user, const char *task)
{
    (void)user;
    return strcmp(task, "worker-0") == 0 ? "trainer-0.job.example" : NULL;
}

/* A certificate for the host under which a task is listed is that task's; for another host it is not. */
static void certified_by_host(void **state)
{
    (void)state;
    for (int good = 0; good < 2; good++) {
        support_mesh mesh;
        artel__connection *near;
        sites_open(&mesh, true);
        give_certificate(&mesh, &(other){good ? "trainer-0.job.example" : "trainer-1.job.example", -60, 3600, false});
        mesh.site[1].host_of = host_of;
        artel__connection *far = meet(&mesh, &near);
        assert_int_equal(far != NULL, good);
        if (!good) assert_int_equal(artel__connection_fault(near), ARTEL__FAULT_NAME);
        artel__connection_close(near);
        artel__connection_close(far);
        sites_close(&mesh);
    }
}

/* Files that are missing, or a key of somebody else. */
static void unusable_files(void **state)
{
    (void)state;
    support_mesh mesh;
    artel__tls tls = {.part = NULL};
    sites_open(&mesh, false);
    assert_int_equal(
        artel__tls_open(mesh.ctx, &(artel__tls_files){"/nowhere/ca", "/nowhere/cert", "/nowhere/key"}, &tls),
        ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(mesh.ctx)->what, "/nowhere/ca"));
    artel__tls_close(&tls);
    sites_close(&mesh);
}

static void nobody_listens(void **state)
{
    (void)state;
    support_mesh mesh;
    artel__connection *near;
    sites_open(&mesh, false);
    assert_int_equal(support_mesh_dial(&mesh, 0, 1, ARTEL__NET_DATA, &near), ARTEL_OK);
    artel__connection_close(near);
    artel__listener_options options = {.most_pending = 0};
    assert_true(artel__net_address_parse("127.0.0.1:0", &options.address));
    artel__listener *gone;
    assert_int_equal(artel__listener_create(&mesh.site[1], &options, &gone), ARTEL_OK);
    artel__connection_request request = {.purpose = ARTEL__NET_DATA, .task = "worker-1"};
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", artel__listener_port(gone));
    artel__listener_destroy(gone);
    assert_true(artel__net_address_parse(address, &request.to));
    assert_int_equal(artel__connection_open(&mesh.site[0], &request, &near), ARTEL_OK);
    while (artel__connection_get_state(near) != ARTEL__CONNECTION_LOST) artel__connection_progress(near);
    assert_int_equal(artel__connection_fault(near), ARTEL__FAULT_UNREACHABLE);
    assert_int_equal(mesh.incidents, 0); /* ordinary, not an incident */
    artel__connection_close(near);
    sites_close(&mesh);
}

static void move(artel__connection *a, artel__connection *b)
{
    artel__connection_progress(a);
    artel__connection_progress(b);
}

/* Sizes from 1 to the largest, a full queue, both directions. */
static void control_messages(void **state)
{
    (void)state;
    static uint8_t bytes[ARTEL__CONTROL_MOST];
    for (int i = 0; i < ARTEL__CONTROL_MOST; i++) bytes[i] = (uint8_t)(i * 7 >> 2);
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        artel__connection *near;
        sites_open(&mesh, secure);
        artel__connection *far = meet(&mesh, &near);
        assert_non_null(far);
        assert_int_equal(artel__connection_say(near, bytes, 0), ARTEL_ERROR_INVALID);
        assert_int_equal(artel__connection_say(near, bytes, ARTEL__CONTROL_MOST + 1), ARTEL_ERROR_INVALID);
        int said = 0, heard = 0;
        size_t sizes[64];
        while (said < 64) {
            sizes[said] = said % 3 == 0 ? ARTEL__CONTROL_MOST : (size_t)said * 13 + 1;
            if (artel__connection_say(near, bytes, sizes[said]) == ARTEL_OK)
                said++;
            else if (heard == said)
                fail();
            const void *at;
            size_t count;
            move(near, far);
            while (said > 40 && artel__connection_hear(far, &at, &count) == ARTEL_OK) {
                assert_int_equal(count, sizes[heard++]);
                assert_memory_equal(at, bytes, count);
            }
            if (said <= 40 && said > 20) { /* nobody hears for a while: the queue fills up, and empties again */
                const void *back;
                size_t n;
                if (artel__connection_hear(far, &back, &n) == ARTEL_OK) {
                    assert_int_equal(n, sizes[heard++]);
                    assert_memory_equal(back, bytes, n);
                }
            }
        }
        int64_t until = artel__now_ns() + INT64_C(120000000000);
        while (heard < said && artel__now_ns() < until) {
            const void *at;
            size_t count;
            move(near, far);
            while (artel__connection_hear(far, &at, &count) == ARTEL_OK) {
                assert_int_equal(count, sizes[heard++]);
                assert_memory_equal(at, bytes, count);
            }
        }
        assert_int_equal(heard, said);
        artel__connection_say(far, "ended", 5);
        artel__connection_close(far);
        const void *at = NULL;
        size_t count = 0;
        while (artel__connection_progress(near) == ARTEL__CONNECTION_OPEN && artel__now_ns() < until) {
        }
        assert_int_equal(artel__connection_get_state(near), ARTEL__CONNECTION_LOST);
        assert_int_equal(artel__connection_hear(near, &at, &count), ARTEL_OK);
        assert_int_equal(count, 5);
        assert_int_equal(artel__connection_say(near, "x", 1), ARTEL_ERROR_RUN);
        artel__connection_close(near);
        sites_close(&mesh);
    }
}

static void say_words(artel__connection *c, int count)
{
    char word[16];
    for (int i = 0; i < count; i++)
        assert_int_equal(artel__connection_say(c, word, (size_t)snprintf(word, sizeof word, "word %d", i)), ARTEL_OK);
}

/* Those that have come, in order, from `heard` on. */
static int hear_words(artel__connection *c, int heard)
{
    const void *at;
    size_t count;
    char word[16];
    while (artel__connection_hear(c, &at, &count) == ARTEL_OK) {
        assert_int_equal(count, snprintf(word, sizeof word, "word %d", heard++));
        assert_memory_equal(at, word, count);
    }
    return heard;
}

/* The other end says its last words and ends. This side notices by sending, and more than once, before it reads: it
 * hears them all. */
static void last_words(void **state)
{
    (void)state;
    enum {
        WORDS = 6 /* a kernel sends so many unasked */
    };
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        artel__connection *near;
        sites_open(&mesh, secure);
        artel__connection *far = meet(&mesh, &near);
        assert_non_null(far);
        say_words(far, WORDS);
        artel__connection_close(far);
        int64_t until = artel__now_ns() + INT64_C(120000000000);
        while (artel__connection_say(near, "are you there?", 14) == ARTEL_OK && artel__now_ns() < until) {
        }
        assert_int_equal(artel__connection_say(near, "are you?", 8), ARTEL_ERROR_RUN);
        assert_int_equal(artel__connection_events(near) & POLLOUT, 0);
        int heard = 0;
        for (bool open = true; open && artel__now_ns() < until;) {
            open = artel__connection_progress(near) == ARTEL__CONNECTION_OPEN;
            heard = hear_words(near, heard);
        }
        assert_int_equal(heard, WORDS);
        assert_int_equal(artel__connection_get_state(near), ARTEL__CONNECTION_LOST);
        assert_int_equal(artel__connection_fault(near), ARTEL__FAULT_LOST);
        assert_int_equal(mesh.incidents, 0);
        artel__connection_close(near);
        sites_close(&mesh);
    }
}

/* Many last words, of which the kernel still holds some when the other end sends and does not read: none is lost where
 * both part. */
static void parting(void **state)
{
    (void)state;
    enum {
        WORDS = 60
    };
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        artel__connection *near;
        sites_open(&mesh, secure);
        artel__connection *far = meet(&mesh, &near);
        assert_non_null(far);
        assert_int_equal(artel__connection_say(near, "unread", 6), ARTEL_OK);
        say_words(far, WORDS);
        for (int i = 0; i < 100; i++) {
            assert_false(artel__connection_part(far));
            assert_int_equal(artel__connection_say(near, "more", 4), ARTEL_OK);
        }
        int64_t until = artel__now_ns() + INT64_C(120000000000);
        int heard = 0;
        while (heard < WORDS && artel__now_ns() < until) {
            artel__connection_progress(near);
            heard = hear_words(near, heard);
            artel__connection_part(far);
        }
        assert_int_equal(heard, WORDS);
        artel__connection_close(near);
        while (!artel__connection_part(far) && artel__now_ns() < until) {
        }
        assert_true(artel__connection_part(far));
        artel__connection_close(far);
        sites_close(&mesh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_meet),
        cmocka_unit_test(ways_are_kept),
        cmocka_unit_test(wrong_job_and_identity_and_name),
        cmocka_unit_test(the_members_own_rule),
        cmocka_unit_test(one_side_encrypts),
        cmocka_unit_test(wrong_certificates),
        cmocka_unit_test(certified_by_host),
        cmocka_unit_test(unusable_files),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(control_messages),
        cmocka_unit_test(last_words),
        cmocka_unit_test(parting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
