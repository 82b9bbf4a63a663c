/* SPDX-License-Identifier: Apache-2.0 */
/* What only the TCP driver has: peers that are lost, windows, lengths, generations, cancellations that come late,
 * messages withdrawn in the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/help_tcp.h"
#include "net/tcp_impl.h"

enum {
    LARGE = 24 << 20 /* more than sockets hold */
};

static uint8_t *large;

static void run_a_little(support_mesh *mesh)
{
    for (int i = 0; i < 50; i++) {
        for (int r = 0; r < mesh->ranks; r++) artel__net_progress(mesh->endpoint[r]);
    }
}

static void close_endpoint(support_mesh *mesh, int rank)
{
    artel__net_close(mesh->endpoint[rank]);
    mesh->endpoint[rank] = NULL;
}

/* -- loss -- */

static void a_lost_peer_is_named(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        tcp_open(&mesh, 3, secure);
        artel__net_request wait = tcp_request(1, 0, NULL), other = tcp_request(2, 0, NULL);
        assert_int_equal(artel__net_receive(mesh.endpoint[0], &wait), ARTEL_OK);
        run_a_little(&mesh);
        close_endpoint(&mesh, 1);
        assert_int_equal(tcp_run(&mesh, 0, &wait), ARTEL_ERROR_RUN);
        assert_string_equal(artel_context_error(mesh.ctx)->where, "worker-1");
        assert_true(artel__tcp_is_lost(mesh.endpoint[0], 1));
        assert_false(artel__tcp_is_lost(mesh.endpoint[0], 2));
        artel__net_withdraw(mesh.endpoint[0], &wait);
        /* Nothing is expected of it any more: the others go on. */
        assert_int_equal(artel__net_progress(mesh.endpoint[0]), ARTEL_OK);
        artel__operation_begin(mesh.ctx);
        assert_int_equal(artel__net_receive(mesh.endpoint[0], &wait), ARTEL_ERROR_RUN);
        assert_int_equal(artel__net_receive(mesh.endpoint[0], &other), ARTEL_OK);
        artel__net_withdraw(mesh.endpoint[0], &other);
        tcp_close(&mesh);
    }
}

/* Leaving in order: what was said before can still be had. */
static void last_words_are_kept(void **state)
{
    (void)state;
    support_mesh mesh;
    tcp_open(&mesh, 2, false);
    artel__net_piece piece = {"farewell", 8};
    artel__net_request send = tcp_request(0, 0, &piece), receive = tcp_request(1, 0, NULL);
    assert_int_equal(artel__net_send(mesh.endpoint[1], &send), ARTEL_OK);
    assert_int_equal(artel__net_progress(mesh.endpoint[1]), ARTEL_OK);
    assert_true(artel__net_done(&send));
    close_endpoint(&mesh, 1);
    while (!artel__tcp_is_lost(mesh.endpoint[0], 1)) assert_int_equal(artel__net_progress(mesh.endpoint[0]), ARTEL_OK);
    assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
    assert_true(artel__net_done(&receive));
    assert_memory_equal(artel__net_part(&receive, 0, 0), "farewell", 8);
    artel__net_release(mesh.endpoint[0], &receive);
    tcp_close(&mesh);
}

typedef struct helper {
    support_mesh *mesh;
    artel_status status;
    pthread_t thread;
} helper;

static void *wait_for_nothing(void *user)
{
    helper *h = user;
    artel__endpoint *endpoint = h->mesh->endpoint[0];
    artel__net_request receive = tcp_request(1, 99, NULL);
    h->status = artel__net_receive(endpoint, &receive);
    while (h->status == ARTEL_OK) {
        artel__net_wait(endpoint);
        h->status = artel__net_progress(endpoint);
    }
    artel__net_withdraw(endpoint, &receive);
    return NULL;
}

/* The membership's verdict and a cancellation wake a rank that sleeps. */
static void others_wake_a_sleeper(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        support_mesh mesh;
        tcp_open(&mesh, 2, how == 2);
        helper h = {.mesh = &mesh};
        assert_int_equal(pthread_create(&h.thread, NULL, wait_for_nothing, &h), 0);
        if (how == 0)
            artel__tcp_lose(mesh.endpoint[0], 1, "silent for 2 s");
        else
            artel__net_cancel(mesh.endpoint[how == 1 ? 0 : 1]);
        pthread_join(h.thread, NULL);
        assert_int_equal(h.status, how == 0 ? ARTEL_ERROR_RUN : ARTEL_ERROR_CANCELLED);
        if (how == 0) assert_non_null(strstr(artel_context_error(mesh.ctx)->what, "silent for 2 s"));
        tcp_close(&mesh);
    }
}

/* -- the next membership -- */

/* 0 1 2 3 lose 1 and go on as 0 1 2, on the connections that they have, with a message still on its way. */
static void connections_outlive_a_membership(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        tcp_open(&mesh, 4, secure);
        artel__net_piece old = {large, LARGE}, new = {"new", 3};
        artel__net_request half = tcp_request(3, 0, &old);
        assert_int_equal(artel__net_send(mesh.endpoint[2], &half), ARTEL_OK);
        artel__net_progress(mesh.endpoint[2]);
        artel__net_withdraw(mesh.endpoint[2], &half);
        close_endpoint(&mesh, 1);
        static const int old_rank[3] = {0, 2, 3}, twice[3] = {0, 2, 2}, none[3] = {0, 2, 4};
        artel__operation_begin(mesh.ctx);
        assert_int_equal(artel__tcp_remap(mesh.endpoint[0], 0, 3, twice), ARTEL_ERROR_INVALID);
        assert_int_equal(artel__tcp_remap(mesh.endpoint[0], 0, 3, none), ARTEL_ERROR_INVALID);
        for (int r = 0; r < 3; r++) {
            mesh.endpoint[r] = mesh.endpoint[old_rank[r]];
            assert_int_equal(artel__tcp_remap(mesh.endpoint[r], r, 3, old_rank), ARTEL_OK);
            artel__tcp_set_generation(mesh.endpoint[r], 6);
        }
        mesh.endpoint[3] = NULL;
        mesh.ranks = 3;
        for (int from = 0; from < 3; from++) {
            int to = (from + 1) % 3;
            artel__net_request send = tcp_request(to, 0, &new), receive = tcp_request(from, 0, NULL);
            send.frame.generation = receive.frame.generation = 6;
            assert_int_equal(artel__net_receive(mesh.endpoint[to], &receive), ARTEL_OK);
            assert_int_equal(artel__net_send(mesh.endpoint[from], &send), ARTEL_OK);
            assert_int_equal(tcp_run(&mesh, to, &receive), ARTEL_OK);
            assert_memory_equal(artel__net_part(&receive, 0, 0), "new", 3);
            artel__net_release(mesh.endpoint[to], &receive);
        }
        mesh.ranks = 4;
        tcp_close(&mesh);
    }
}

/* -- what a peer can make us hold -- */

static void the_window_bounds_what_nobody_asked_for(void **state)
{
    (void)state;
    support_mesh mesh;
    tcp_open(&mesh, 2, false);
    static uint8_t bytes[1000];
    artel__net_piece piece = {bytes, sizeof bytes};
    artel__net_request send[20], receive[20];
    for (uint32_t i = 0; i < 20; i++) {
        send[i] = tcp_request(0, i, &piece);
        assert_int_equal(artel__net_send(mesh.endpoint[1], &send[i]), ARTEL_OK);
    }
    run_a_little(&mesh);
    size_t held = artel__tcp_held_bytes(mesh.endpoint[0]);
    assert_true(held > 2000 && held <= 4096);
    for (uint32_t i = 0; i < 20; i++) {
        receive[i] = tcp_request(1, i, NULL);
        assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive[i]), ARTEL_OK);
        assert_int_equal(tcp_run(&mesh, 0, &receive[i]), ARTEL_OK);
        artel__net_release(mesh.endpoint[0], &receive[i]);
        assert_true(artel__tcp_held_bytes(mesh.endpoint[0]) <= 4096);
    }
    tcp_close(&mesh);
}

/* Also those of a peer that has asked for nothing yet. */
static void what_overtakes_arrives_first(void **state)
{
    (void)state;
    enum {
        LONG = 3,
        ALL = 5
    };
    static uint8_t bytes[512 << 10];
    for (int late = 0; late < 2; late++) {
        support_mesh mesh;
        tcp_open(&mesh, 2, false);
        artel__net_piece big = {bytes, sizeof bytes}, small[ALL - LONG] = {{"one", 3}, {"two", 3}};
        artel__net_request send[ALL], receive[ALL];
        for (uint32_t i = 0; i < ALL; i++) {
            receive[i] = tcp_request(1, i, NULL);
            if (!late) assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive[i]), ARTEL_OK);
            send[i] = tcp_request(0, i, i < LONG ? &big : &small[i - LONG]);
            send[i].overtakes = i >= LONG;
            assert_int_equal(artel__net_send(mesh.endpoint[1], &send[i]), ARTEL_OK);
        }
        if (late) run_a_little(&mesh);
        for (int i = ALL - 1; late && i >= 0; i--)
            assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive[i]), ARTEL_OK);
        assert_int_equal(tcp_run(&mesh, 0, &receive[LONG]), ARTEL_OK);
        assert_true(artel__net_done(&receive[LONG + 1]) && !artel__net_done(&receive[LONG - 1]));
        for (int i = 0; i < ALL; i++) {
            assert_int_equal(tcp_run(&mesh, 0, &receive[i]), ARTEL_OK);
            assert_memory_equal(artel__net_part(&receive[i], 0, 0), send[i].piece->data, send[i].piece->bytes);
            artel__net_release(mesh.endpoint[0], &receive[i]);
            assert_int_equal(tcp_run(&mesh, 1, &send[i]), ARTEL_OK);
        }
        tcp_close(&mesh);
    }
}

static void longer_than_expected(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        support_mesh mesh;
        tcp_open(&mesh, 2, false);
        static uint8_t bytes[2000];
        artel__net_piece piece = {bytes, sizeof bytes}, next = {"next", 4};
        artel__net_request send = tcp_request(0, 0, &piece), after = tcp_request(0, 1, &next);
        artel__net_request receive = tcp_request(1, 0, NULL), second = tcp_request(1, 1, NULL);
        receive.most = 1992;
        if (!late) assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
        assert_int_equal(artel__net_send(mesh.endpoint[1], &send), ARTEL_OK);
        assert_int_equal(artel__net_send(mesh.endpoint[1], &after), ARTEL_OK);
        run_a_little(&mesh);
        if (late) assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
        assert_true(artel__net_done(&receive));
        assert_int_equal(receive.frame.length, 2000);
        assert_int_equal(receive.pieces, 0);
        artel__net_release(mesh.endpoint[0], &receive);
        assert_int_equal(artel__net_receive(mesh.endpoint[0], &second), ARTEL_OK);
        assert_int_equal(tcp_run(&mesh, 0, &second), ARTEL_OK);
        assert_memory_equal(artel__net_part(&second, 0, 0), "next", 4);
        artel__net_release(mesh.endpoint[0], &second);
        assert_int_equal(artel__tcp_held_bytes(mesh.endpoint[0]), 0);
        tcp_close(&mesh);
    }
}

static void old_generations_are_dropped(void **state)
{
    (void)state;
    support_mesh mesh;
    tcp_open(&mesh, 2, false);
    artel__net_piece piece = {"old", 3}, other = {"new", 3};
    artel__net_request old[2] = {tcp_request(0, 0, &piece), tcp_request(0, 1, &piece)}, new = tcp_request(0, 0, &other);
    new.frame.generation = 6;
    assert_int_equal(artel__net_send(mesh.endpoint[1], &old[0]), ARTEL_OK);
    run_a_little(&mesh);
    assert_true(artel__tcp_held_bytes(mesh.endpoint[0]) > 0);
    artel__tcp_set_generation(mesh.endpoint[0], 6);
    assert_int_equal(artel__tcp_held_bytes(mesh.endpoint[0]), 0);
    assert_int_equal(artel__net_send(mesh.endpoint[1], &old[1]), ARTEL_OK);
    run_a_little(&mesh);
    assert_int_equal(artel__tcp_held_bytes(mesh.endpoint[0]), 0);
    assert_int_equal(artel__net_send(mesh.endpoint[1], &new), ARTEL_OK);
    artel__net_request receive = tcp_request(1, 0, NULL);
    receive.frame.generation = 6;
    assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
    assert_int_equal(tcp_run(&mesh, 0, &receive), ARTEL_OK);
    assert_memory_equal(artel__net_part(&receive, 0, 0), "new", 3);
    artel__net_release(mesh.endpoint[0], &receive);
    tcp_close(&mesh);
}

/* -- cancelling and withdrawing in the middle -- */

static void late_cancellations_harm_nobody(void **state)
{
    (void)state;
    support_mesh mesh;
    tcp_open(&mesh, 2, false);
    artel__tcp_set_generation(mesh.endpoint[0], 5);
    artel__tcp_set_generation(mesh.endpoint[1], 5);
    artel__net_cancel(mesh.endpoint[0]); /* both, for the same reason; neither has heard of the other's */
    artel__net_cancel(mesh.endpoint[1]);
    artel__net_resume(mesh.endpoint[0]);
    artel__net_resume(mesh.endpoint[1]);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(artel__net_progress(mesh.endpoint[0]), ARTEL_OK);
        assert_int_equal(artel__net_progress(mesh.endpoint[1]), ARTEL_OK);
    }
    artel__net_cancel(mesh.endpoint[0]); /* a new reason still counts */
    assert_int_equal(tcp_run(&mesh, 1, NULL), ARTEL_ERROR_CANCELLED);
    artel__tcp_set_generation(mesh.endpoint[1], 6); /* and ends with its generation */
    assert_int_equal(artel__net_progress(mesh.endpoint[1]), ARTEL_OK);
    tcp_close(&mesh);
}

/* A send that is half on its way is taken back: its memory is free at once, the receiver never sees it, and what
 * follows arrives whole. */
static void withdrawn_in_the_middle(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        tcp_open(&mesh, 2, secure);
        uint8_t *copy = malloc(LARGE);
        memcpy(copy, large, LARGE);
        artel__net_piece piece = {copy, LARGE}, whole = {large, LARGE};
        artel__net_request send = tcp_request(0, 0, &piece), again = tcp_request(0, 0, &whole),
                           receive = tcp_request(1, 0, NULL);
        assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
        assert_int_equal(artel__net_send(mesh.endpoint[1], &send), ARTEL_OK);
        artel__net_progress(mesh.endpoint[1]); /* fills the socket */
        artel__net_progress(mesh.endpoint[0]);
        artel__net_progress(mesh.endpoint[1]);
        assert_false(artel__net_done(&send));
        artel__net_withdraw(mesh.endpoint[1], &send);
        memset(copy, 0xee, LARGE);
        free(copy);
        run_a_little(&mesh);
        assert_false(artel__net_done(&receive));
        assert_int_equal(artel__net_send(mesh.endpoint[1], &again), ARTEL_OK);
        assert_int_equal(tcp_run(&mesh, 0, &receive), ARTEL_OK);
        assert_int_equal(receive.frame.length, LARGE);
        assert_memory_equal(artel__net_part(&receive, 0, 0), large, LARGE);
        artel__net_release(mesh.endpoint[0], &receive);
        assert_int_equal(tcp_run(&mesh, 1, &again), ARTEL_OK);
        tcp_close(&mesh);
    }
}

/* The receiver loses interest in the middle; the message is kept for the next who asks. */
static void unasked_in_the_middle(void **state)
{
    (void)state;
    support_mesh mesh;
    tcp_open(&mesh, 2, false);
    artel__net_piece piece = {large, LARGE};
    artel__net_request send = tcp_request(0, 0, &piece), receive = tcp_request(1, 0, NULL);
    assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
    assert_int_equal(artel__net_send(mesh.endpoint[1], &send), ARTEL_OK);
    for (int i = 0; i < 2; i++) {
        artel__net_progress(mesh.endpoint[1]);
        artel__net_progress(mesh.endpoint[0]);
    }
    assert_false(artel__net_done(&receive));
    artel__net_withdraw(mesh.endpoint[0], &receive);
    assert_int_equal(tcp_run(&mesh, 1, &send), ARTEL_OK);
    assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
    assert_int_equal(tcp_run(&mesh, 0, &receive), ARTEL_OK);
    assert_memory_equal(artel__net_part(&receive, 0, 0), large, LARGE);
    artel__net_release(mesh.endpoint[0], &receive);
    tcp_close(&mesh);
}

/* A large message goes where the caller wants it; withdrawn in the middle, that memory is the caller's at once. */
static void received_in_place(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        bool secure = round & 1, withdraw = round & 2;
        support_mesh mesh;
        tcp_open(&mesh, 2, secure);
        size_t cut = 1000003, rest = LARGE - cut - 5;
        uint8_t *to = calloc(1, LARGE + 1);
        artel__net_piece from[3] = {{large, cut}, {large + cut, 5}, {large + cut + 5, rest}};
        artel__net_piece into[3] = {{to, cut}, {to + cut, 5}, {to + cut + 5, rest}};
        artel__net_request send = tcp_request(0, 0, from), receive = tcp_request(1, 0, NULL),
                           again = tcp_request(1, 0, NULL);
        send.pieces = 3;
        receive.into = into;
        receive.intos = 3;
        assert_int_equal(artel__net_receive(mesh.endpoint[0], &receive), ARTEL_OK);
        assert_int_equal(artel__net_send(mesh.endpoint[1], &send), ARTEL_OK);
        if (withdraw) {
            for (int i = 0; i < 2; i++) {
                artel__net_progress(mesh.endpoint[1]);
                artel__net_progress(mesh.endpoint[0]);
            }
            assert_false(artel__net_done(&receive));
            artel__net_withdraw(mesh.endpoint[0], &receive);
            memset(to, 0xee, LARGE);
            free(to);
            to = NULL;
            assert_int_equal(tcp_run(&mesh, 1, &send), ARTEL_OK);
            assert_int_equal(artel__net_receive(mesh.endpoint[0], &again), ARTEL_OK);
            assert_int_equal(tcp_run(&mesh, 0, &again), ARTEL_OK);
            assert_memory_equal(artel__net_part(&again, 0, 0), large, cut);
            assert_memory_equal(artel__net_part(&again, 2, artel__net_padded(cut) + 8), large + cut + 5, rest);
            artel__net_release(mesh.endpoint[0], &again);
        } else {
            assert_int_equal(tcp_run(&mesh, 0, &receive), ARTEL_OK);
            assert_ptr_equal(receive.piece, into);
            assert_memory_equal(to, large, LARGE);
            assert_int_equal(to[LARGE], 0);
            artel__net_release(mesh.endpoint[0], &receive);
        }
        free(to);
        tcp_close(&mesh);
    }
}

/* Cancelled while both directions are full: both ranks get away, and their memory with them. */
static void cancelled_in_the_middle(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        tcp_open(&mesh, 2, secure);
        artel__net_piece piece = {large, LARGE};
        artel__net_request send[2] = {tcp_request(1, 0, &piece), tcp_request(0, 0, &piece)};
        artel__net_request receive[2] = {tcp_request(1, 0, NULL), tcp_request(0, 0, NULL)};
        for (int r = 0; r < 2; r++) {
            assert_int_equal(artel__net_receive(mesh.endpoint[r], &receive[r]), ARTEL_OK);
            assert_int_equal(artel__net_send(mesh.endpoint[r], &send[r]), ARTEL_OK);
        }
        artel__net_progress(mesh.endpoint[0]);
        artel__net_progress(mesh.endpoint[1]);
        artel__net_cancel(mesh.endpoint[0]);
        artel__net_withdraw(mesh.endpoint[0], &receive[0]);
        artel__net_withdraw(mesh.endpoint[0], &send[0]);
        assert_int_equal(artel__net_progress(mesh.endpoint[0]), ARTEL_ERROR_CANCELLED);
        int64_t until = artel__now_ns() + INT64_C(120000000000);
        artel_status status = ARTEL_OK;
        while (status == ARTEL_OK && artel__now_ns() < until) {
            artel__net_progress(mesh.endpoint[0]);
            status = artel__net_progress(mesh.endpoint[1]);
        }
        assert_int_equal(status, ARTEL_ERROR_CANCELLED);
        artel__net_withdraw(mesh.endpoint[1], &receive[1]);
        artel__net_withdraw(mesh.endpoint[1], &send[1]);
        tcp_close(&mesh);
    }
}

/* Rank 0 sends and receives until it is cancelled. */
static void *exchange_until_cancelled(void *user)
{
    helper *h = user;
    artel__endpoint *endpoint = h->mesh->endpoint[0];
    artel__net_piece piece = {large, LARGE};
    artel__net_request send = tcp_request(1, 0, &piece), receive = tcp_request(1, 0, NULL);
    h->status = artel__net_receive(endpoint, &receive);
    if (h->status == ARTEL_OK) h->status = artel__net_send(endpoint, &send);
    while (h->status == ARTEL_OK) {
        h->status = artel__net_progress(endpoint);
        if (h->status == ARTEL_OK) artel__net_wait(endpoint);
    }
    artel__net_withdraw(endpoint, &receive);
    artel__net_withdraw(endpoint, &send);
    return NULL;
}

/* Rank 1 fills its socket, cancels, takes everything back and never progresses again; rank 0 hears of it. */
static void a_cancellation_gets_through_full_sockets(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        support_mesh mesh;
        tcp_open(&mesh, 2, secure);
        artel__net_piece piece = {large, LARGE};
        artel__net_request send = tcp_request(0, 0, &piece), receive = tcp_request(0, 0, NULL);
        assert_int_equal(artel__net_receive(mesh.endpoint[1], &receive), ARTEL_OK);
        assert_int_equal(artel__net_send(mesh.endpoint[1], &send), ARTEL_OK);
        artel__net_progress(mesh.endpoint[1]);
        assert_false(artel__net_done(&send));
        helper h = {.mesh = &mesh};
        assert_int_equal(pthread_create(&h.thread, NULL, exchange_until_cancelled, &h), 0);
        artel__net_cancel(mesh.endpoint[1]);
        artel__net_withdraw(mesh.endpoint[1], &receive);
        artel__net_withdraw(mesh.endpoint[1], &send);
        pthread_join(h.thread, NULL);
        assert_int_equal(h.status, ARTEL_ERROR_CANCELLED);
        tcp_close(&mesh);
    }
}

static int make_large(void **state)
{
    (void)state;
    large = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++) large[i] = (uint8_t)(i * 2654435761u >> 13);
    return large ? 0 : -1;
}

static int free_large(void **state)
{
    (void)state;
    free(large);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_peer_is_named),
        cmocka_unit_test(last_words_are_kept),
        cmocka_unit_test(others_wake_a_sleeper),
        cmocka_unit_test(connections_outlive_a_membership),
        cmocka_unit_test(the_window_bounds_what_nobody_asked_for),
        cmocka_unit_test(what_overtakes_arrives_first),
        cmocka_unit_test(longer_than_expected),
        cmocka_unit_test(old_generations_are_dropped),
        cmocka_unit_test(late_cancellations_harm_nobody),
        cmocka_unit_test(withdrawn_in_the_middle),
        cmocka_unit_test(unasked_in_the_middle),
        cmocka_unit_test(received_in_place),
        cmocka_unit_test(cancelled_in_the_middle),
        cmocka_unit_test(a_cancellation_gets_through_full_sockets),
    };
    return cmocka_run_group_tests(tests, make_large, free_large);
}
