/* SPDX-License-Identifier: Apache-2.0 */
/* Memory shared between two processes: how they meet, the bytes, sleeping and waking, what a peer can do to it, and
 * what is left afterwards. That it carries messages as other transports do is tested in test_transport.c and
 * tests/coll/test_over_tcp.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/shared_impl.h"
#include "support/net_mesh.h"

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

typedef struct pair {
    artel_context *ctx;
    artel__shared *near, *far; /* who connected, who accepted */
} pair;

static void fill_proof(uint8_t proof[ARTEL__SHARED_PROOF])
{
    for (int i = 0; i < ARTEL__SHARED_PROOF; i++) proof[i] = (uint8_t)(i * 7 + getpid());
}

static void meet(pair *p)
{
    uint8_t proof[ARTEL__SHARED_PROOF];
    fill_proof(proof);
    assert_int_equal(artel_context_create(NULL, &p->ctx), ARTEL_OK);
    int listening = artel__shared_listen(proof);
    assert_true(listening >= 0);
    assert_true(artel__shared_offer(p->ctx, proof, &p->far));
    assert_true(artel__shared_take(p->ctx, listening, proof, &p->near));
    close(listening);
}

static void part(pair *p)
{
    artel__shared_destroy(p->near);
    artel__shared_destroy(p->far);
    artel_context_destroy(p->ctx);
}

/* Random lengths in pieces, both ways, many times around the ring. */
static void bytes_arrive(void **state)
{
    (void)state;
    static uint8_t from[3000], to[3000];
    pair p;
    meet(&p);
    artel__net_why why = {""};
    uint32_t seed = 1;
    uint8_t next[2] = {0, 0}, wanted[2] = {0, 0};
    for (int i = 0; i < 6000; i++) {
        artel__shared *writer = i & 1 ? p.near : p.far, *reader = i & 1 ? p.far : p.near;
        seed = seed * 1664525u + 1013904223u;
        size_t bytes = seed >> 16 & 2047, first = bytes / 3, read = 0;
        for (size_t k = 0; k < bytes; k++) from[k] = next[i & 1]++;
        struct iovec out[3] = {{from, first}, {from + first, 0}, {from + first, bytes - first}};
        assert_int_equal(artel__shared_write(writer, out, 3, &why), bytes ? (int64_t)bytes : ARTEL__NET_STREAM_AGAIN);
        assert_int_equal(artel__shared_has_bytes(reader), bytes > 0);
        while (read < bytes) {
            struct iovec in[2] = {{to, 100}, {to + 100, 1000}};
            int64_t n = artel__shared_read(reader, in, 2, &why);
            assert_true(n > 0);
            for (int64_t k = 0; k < n; k++) assert_int_equal(to[k], wanted[i & 1]++);
            read += (size_t)n;
        }
        assert_int_equal(artel__shared_read(reader, &(struct iovec){to, 1}, 1, &why), ARTEL__NET_STREAM_AGAIN);
    }
    part(&p);
}

/* The same with runs long enough for stores past the caches, which begin and end anywhere. */
static void long_runs_arrive(void **state)
{
    (void)state;
    enum {
        MOST = 40000,
        PERIOD = 251,
        PAST = 64
    };
    static uint8_t from[MOST + PERIOD], to[MOST + PAST];
    artel__net_why why = {""};
    uint32_t seed = 3;
    int64_t at = 0;
    pair p;
    meet(&p);
    for (size_t k = 0; k < sizeof from; k++) from[k] = (uint8_t)(k % PERIOD);
    for (int i = 0; i < 2000; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t bytes = 3000 + (seed >> 8) % (MOST - 3000);
        memset(to, 0xff, sizeof to);
        assert_int_equal(artel__shared_write(p.near, &(struct iovec){from + at % PERIOD, bytes}, 1, &why),
                         (int64_t)bytes);
        assert_int_equal(artel__shared_read(p.far, &(struct iovec){to, sizeof to}, 1, &why), (int64_t)bytes);
        assert_memory_equal(to, from + at % PERIOD, bytes);
        for (size_t k = bytes; k < sizeof to; k++) assert_int_equal(to[k], 0xff);
        at += (int64_t)bytes;
    }
    part(&p);
}

static bool is_roused(artel__shared *s)
{
    uint64_t count;
    struct pollfd ready = {.fd = artel__shared_fd(s), .events = POLLIN};
    return poll(&ready, 1, 0) == 1 && read(ready.fd, &count, sizeof count) == sizeof count;
}

/* Only who sleeps is woken, once, and a writer only when there is room worth it. */
static void waking(void **state)
{
    (void)state;
    static uint8_t memory[ARTEL__SHARED_RING];
    artel__net_why why = {""};
    pair p;
    meet(&p);
    struct iovec all = {memory, sizeof memory}, some = {memory, 1000}, much = {memory, sizeof memory / 2};
    assert_int_equal(artel__shared_write(p.near, &some, 1, &why), 1000);
    assert_false(is_roused(p.far));
    artel__shared_sleep(p.far, false);
    assert_int_equal(artel__shared_write(p.near, &some, 1, &why), 1000);
    assert_true(is_roused(p.far));
    assert_int_equal(artel__shared_write(p.near, &all, 1, &why), ARTEL__SHARED_RING - 2000);
    assert_false(is_roused(p.far));
    assert_int_equal(artel__shared_write(p.near, &some, 1, &why), ARTEL__NET_STREAM_AGAIN);
    assert_false(artel__shared_has_room(p.near));
    artel__shared_sleep(p.near, true);
    assert_int_equal(artel__shared_read(p.far, &some, 1, &why), 1000);
    assert_false(is_roused(p.near));
    assert_int_equal(artel__shared_read(p.far, &much, 1, &why), (int64_t)much.iov_len);
    assert_true(is_roused(p.near));
    assert_true(artel__shared_has_room(p.near));
    part(&p);
}

/* Each end knows whether the other waits on a core of its own, once it has said so. */
static void cores(void **state)
{
    (void)state;
    pair p;
    meet(&p);
    assert_false(artel__shared_is_apart(p.near, 0));
    artel__shared_say_core(p.far, 0);
    assert_false(artel__shared_is_apart(p.near, 0));
    assert_true(artel__shared_is_apart(p.near, 1));
    assert_false(artel__shared_is_apart(p.far, 1));
    artel__shared_say_core(p.far, 1);
    assert_true(artel__shared_is_apart(p.near, 0));
    assert_false(artel__shared_is_apart(p.near, 1));
    part(&p);
}

/* Positions that cannot be end the stream; they never lead out of the segment. */
static void damaged_positions(void **state)
{
    (void)state;
    static const uint64_t wrong[] = {ARTEL__SHARED_RING + 1, UINT64_MAX / 2, (uint64_t)1 << 63, 1u << 31};
    uint8_t byte;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        artel__net_why why = {""};
        pair p;
        meet(&p);
        atomic_store(&p.far->segment->ring[1].head, wrong[i]);
        assert_true(artel__shared_has_bytes(p.far));
        assert_int_equal(artel__shared_read(p.far, &(struct iovec){&byte, 1}, 1, &why), ARTEL__NET_STREAM_FAILED);
        assert_non_null(strstr(why.text, "damaged"));
        atomic_store(&p.far->segment->ring[0].tail, wrong[i]);
        assert_true(artel__shared_has_room(p.far));
        assert_int_equal(artel__shared_write(p.far, &(struct iovec){&byte, 1}, 1, &why), ARTEL__NET_STREAM_FAILED);
        part(&p);
    }
}

/* Nobody there; another proof; a segment that its maker has changed. */
static void refused_meetings(void **state)
{
    (void)state;
    uint8_t proof[ARTEL__SHARED_PROOF], other[ARTEL__SHARED_PROOF];
    int before = open_descriptors();
    artel_context *ctx;
    artel__shared *near = NULL, *far = NULL;
    fill_proof(proof);
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_false(artel__shared_offer(ctx, proof, &far));
    int listening = artel__shared_listen(proof);
    assert_int_equal(artel__shared_listen(proof), -1); /* the name is taken */
    assert_false(artel__shared_take(ctx, listening, proof, &near));
    assert_true(artel__shared_offer(ctx, proof, &far));
    memcpy(other, proof, sizeof other);
    other[31] ^= 1;
    assert_false(artel__shared_take(ctx, listening, other, &near));
    artel__shared_destroy(far);
    artel__fail_allocation_after(ctx, 1);
    assert_false(artel__shared_offer(ctx, proof, &far));
    artel__fail_allocation_after(ctx, 0);
    close(listening);
    artel_context_destroy(ctx);
    assert_int_equal(open_descriptors(), before);
}

static artel__shared *shared_of(artel__connection *c)
{
    return artel__connection_carrier(c)->shared;
}

/* Who does not want to share is not made to, on either side; what is shared is one segment. Control connections share
 * nothing. */
static void agreeing(void **state)
{
    (void)state;
    int before = open_descriptors();
    for (int secure = 0; secure < 2; secure++) {
        for (int wish = 0; wish < 4; wish++) {
            support_mesh mesh = {.ranks = 2, .secure = secure == 1};
            assert_int_equal(artel_context_create(NULL, &mesh.ctx), ARTEL_OK);
            assert_int_equal(support_mesh_listen(&mesh), ARTEL_OK);
            mesh.site[0].shares = wish & 1;
            mesh.site[1].shares = wish & 2;
            for (int control = 0; control < 2; control++) {
                artel__connection *near, *far;
                assert_int_equal(support_mesh_dial(&mesh, 0, 1, control ? ARTEL__NET_CONTROL : ARTEL__NET_DATA, &near),
                                 ARTEL_OK);
                far = support_mesh_meet(&mesh, 1, near);
                assert_non_null(far);
                assert_int_equal(artel__connection_get_state(near), ARTEL__CONNECTION_OPEN);
                bool shares = wish == 3 && !control;
                assert_int_equal(shared_of(near) != NULL, shares);
                assert_int_equal(shared_of(far) != NULL, shares);
                if (shares) {
                    atomic_store(&shared_of(near)->segment->side[0].asleep, 77);
                    assert_int_equal(atomic_load(&shared_of(far)->segment->side[0].asleep), 77);
                }
                artel__connection_close(near);
                artel__connection_close(far);
            }
            support_mesh_close(&mesh);
            artel_context_destroy(mesh.ctx);
        }
    }
    assert_int_equal(open_descriptors(), before);
}

static artel__net_request request_of(int peer, const artel__net_piece *piece)
{
    artel__net_request r = {.peer = peer, .piece = piece, .pieces = piece ? 1 : 0};
    r.frame = (artel__frame){.kind = ARTEL__FRAME_NODES, .generation = 1, .step = 2, .node = 4};
    return r;
}

static artel_status progress_until(artel__endpoint *endpoint, const artel__net_request *request)
{
    int64_t until = artel__now_ns() + INT64_C(120000000000);
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && !artel__net_done(request) && artel__now_ns() < until) {
        artel__net_wait(endpoint);
        status = artel__net_progress(endpoint);
    }
    return status;
}

static void open_shared(support_mesh *mesh)
{
    *mesh = (support_mesh){.ranks = 2, .shares = true};
    assert_int_equal(artel_context_create(NULL, &mesh->ctx), ARTEL_OK);
    assert_int_equal(support_mesh_open(mesh), ARTEL_OK);
}

static void close_shared(support_mesh *mesh)
{
    support_mesh_close(mesh);
    artel_context_destroy(mesh->ctx);
}

/* What was said before the end is heard, then the end is. */
static void last_words(void **state)
{
    (void)state;
    support_mesh mesh;
    open_shared(&mesh);
    static const char text[] = "the last";
    artel__net_piece piece = {text, sizeof text};
    artel__net_request send = request_of(1, &piece), heard = request_of(0, NULL), never = request_of(0, NULL);
    assert_int_equal(artel__net_send(mesh.endpoint[0], &send), ARTEL_OK);
    assert_int_equal(artel__net_progress(mesh.endpoint[0]), ARTEL_OK);
    assert_true(artel__net_done(&send));
    artel__net_close(mesh.endpoint[0]);
    mesh.endpoint[0] = NULL;
    assert_int_equal(artel__net_receive(mesh.endpoint[1], &heard), ARTEL_OK);
    assert_int_equal(artel__net_receive(mesh.endpoint[1], &never), ARTEL_OK);
    assert_int_equal(progress_until(mesh.endpoint[1], &never), ARTEL_ERROR_RUN);
    assert_true(artel__net_done(&heard));
    assert_string_equal(artel__net_part(&heard, 0, 0), text);
    assert_non_null(strstr(artel_context_error(mesh.ctx)->what, "it ended the connection"));
    artel__net_release(mesh.endpoint[1], &heard);
    artel__net_withdraw(mesh.endpoint[1], &never);
    close_shared(&mesh);
}

/* Bytes that are no messages, and positions that cannot be, cost the peer its connection, by name, and nothing else. */
static void garbage(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        support_mesh mesh;
        artel__connection *near, *far;
        open_shared(&mesh);
        artel__far_lose(mesh.endpoint[1], 0, "to be replaced");
        assert_int_equal(support_mesh_dial(&mesh, 0, 1, ARTEL__NET_DATA, &near), ARTEL_OK);
        far = support_mesh_meet(&mesh, 1, near);
        assert_int_equal(artel__far_attach(mesh.endpoint[1], 0, far), ARTEL_OK);
        artel__net_request never = request_of(0, NULL);
        assert_int_equal(artel__net_receive(mesh.endpoint[1], &never), ARTEL_OK);
        uint8_t noise[4096];
        artel__net_why why = {""};
        for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)(i * 31 + 7);
        if (kind)
            atomic_store(&shared_of(near)->segment->ring[1].head, UINT64_MAX / 3);
        else
            artel__shared_write(shared_of(near), &(struct iovec){noise, sizeof noise}, 1, &why);
        assert_int_equal(progress_until(mesh.endpoint[1], &never), ARTEL_ERROR_RUN);
        assert_true(artel__far_is_lost(mesh.endpoint[1], 0));
        assert_int_equal(mesh.incidents > 0, kind == 0);
        artel__net_withdraw(mesh.endpoint[1], &never);
        artel__connection_close(near);
        close_shared(&mesh);
    }
}

/* A process that has taken its half and is killed: the other end hears that it is gone. */
static void a_killed_peer(void **state)
{
    (void)state;
    int before = open_descriptors();
    support_mesh mesh;
    open_shared(&mesh);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* holds everything that rank 0 has, and sleeps in the middle of a message */
        static uint8_t memory[3 * ARTEL__SHARED_RING];
        artel__net_piece piece = {memory, sizeof memory};
        artel__net_request send = request_of(1, &piece);
        artel__net_send(mesh.endpoint[0], &send);
        for (;;) {
            artel__net_progress(mesh.endpoint[0]);
            artel__net_wait(mesh.endpoint[0]);
        }
    }
    artel__net_request receive = request_of(0, NULL);
    assert_int_equal(artel__net_receive(mesh.endpoint[1], &receive), ARTEL_OK);
    assert_int_equal(artel__net_progress(mesh.endpoint[1]), ARTEL_OK);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    artel__net_close(mesh.endpoint[0]); /* the child's sockets are this process's, too */
    mesh.endpoint[0] = NULL;
    artel_status status = progress_until(mesh.endpoint[1], &receive);
    assert_true(status == ARTEL_ERROR_RUN || artel__net_done(&receive));
    artel__net_withdraw(mesh.endpoint[1], &receive);
    close_shared(&mesh);
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive),  cmocka_unit_test(long_runs_arrive),  cmocka_unit_test(waking),
        cmocka_unit_test(cores),         cmocka_unit_test(damaged_positions), cmocka_unit_test(refused_meetings),
        cmocka_unit_test(agreeing),      cmocka_unit_test(last_words),        cmocka_unit_test(garbage),
        cmocka_unit_test(a_killed_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
