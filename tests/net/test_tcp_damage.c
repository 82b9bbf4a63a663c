/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that were damaged, repeated, left out or made by a stranger on their way: the connection is condemned, nothing
 * is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "net/help_tcp.h"
#include "net/tcp_impl.h"

enum {
    SUM_AT = ARTEL__FRAME_BYTES - 4,
    WHOLE = ARTEL__FRAME_BYTES + 8 + 16 /* a right message of 16 bytes */
};

/* Rank 1 is the test itself: it writes the bytes of the protocol into a connection that is open. */
typedef struct forger {
    support_mesh mesh;
    artel__connection *connection;
    uint32_t number;
    uint8_t bytes[512];
    size_t count;
} forger;

static void open_forger(forger *f)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(artel_context_create(NULL, &f->mesh.ctx), ARTEL_OK);
    f->mesh.ranks = 2;
    assert_int_equal(support_mesh_listen(&f->mesh), ARTEL_OK);
    artel__far_options options = {.rank = 0, .ranks = 2, .window = 4096};
    assert_int_equal(artel__tcp_create(f->mesh.ctx, &options, &f->mesh.endpoint[0]), ARTEL_OK);
    assert_int_equal(support_mesh_dial(&f->mesh, 1, 0, ARTEL__NET_DATA, &f->connection), ARTEL_OK);
    artel__connection *far = support_mesh_meet(&f->mesh, 0, f->connection);
    assert_non_null(far);
    assert_int_equal(artel__tcp_attach(f->mesh.endpoint[0], 1, far), ARTEL_OK);
}

static void close_forger(forger *f)
{
    artel__connection_close(f->connection);
    tcp_close(&f->mesh);
}

static void put(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

/* A right message of 16 bytes, appended to `bytes`. */
static void forge(forger *f, uint32_t slice)
{
    uint32_t mask = artel__connection_mask(f->connection, true);
    artel__frame frame = {.kind = ARTEL__FRAME_NODES, .generation = 5, .slice = slice, .length = 16};
    uint8_t *at = f->bytes + f->count;
    artel__frame_encode(&frame, at);
    put(at + SUM_AT, artel__tcp_seal(artel__crc32c(0, at, SUM_AT), mask, f->number++));
    at += ARTEL__FRAME_BYTES;
    memset(at, 0, 8);
    memcpy(at + 8, "0123456789abcdef", 16);
    put(at, artel__tcp_seal(artel__crc32c(0, at + 4, 20), mask, f->number++));
    f->count += WHOLE;
}

static void deliver(forger *f)
{
    assert_int_equal(send(artel__connection_stream(f->connection)->socket, f->bytes, f->count, MSG_NOSIGNAL), f->count);
}

static void forged_right(void **state)
{
    (void)state;
    forger f;
    open_forger(&f);
    forge(&f, 0);
    forge(&f, 1);
    deliver(&f);
    for (uint32_t i = 0; i < 2; i++) {
        artel__net_request receive = tcp_request(1, i, NULL);
        assert_int_equal(artel__net_receive(f.mesh.endpoint[0], &receive), ARTEL_OK);
        assert_int_equal(tcp_run(&f.mesh, 0, &receive), ARTEL_OK);
        assert_memory_equal(artel__net_part(&receive, 0, 0), "0123456789abcdef", 16);
        artel__net_release(f.mesh.endpoint[0], &receive);
    }
    close_forger(&f);
}

/* The connection is lost, logged, and nothing was taken. */
static void expect_condemned(forger *f)
{
    artel__net_request receive = tcp_request(1, 0, NULL);
    deliver(f);
    assert_int_equal(artel__net_receive(f->mesh.endpoint[0], &receive), ARTEL_OK);
    assert_int_equal(tcp_run(&f->mesh, 0, &receive), ARTEL_ERROR_RUN);
    assert_false(artel__net_done(&receive));
    assert_int_equal(f->mesh.incidents, 1);
    assert_int_equal(f->mesh.fault, ARTEL__FAULT_GARBAGE);
    artel__net_withdraw(f->mesh.endpoint[0], &receive);
}

static void every_flipped_bit(void **state)
{
    (void)state;
    for (int bit = 0; bit < WHOLE * 8; bit += 5) {
        forger f;
        open_forger(&f);
        forge(&f, 0);
        f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        expect_condemned(&f);
        close_forger(&f);
    }
}

static void repeated_and_left_out(void **state)
{
    (void)state;
    forger f;
    open_forger(&f); /* repeated */
    forge(&f, 7);
    memcpy(f.bytes + WHOLE, f.bytes, WHOLE);
    f.count = 2 * WHOLE;
    expect_condemned(&f);
    close_forger(&f);
    open_forger(&f); /* left out */
    forge(&f, 7);
    f.count = 0;
    forge(&f, 0);
    expect_condemned(&f);
    close_forger(&f);
    open_forger(&f); /* recorded on another connection */
    forge(&f, 0);
    uint8_t old[WHOLE];
    memcpy(old, f.bytes, WHOLE);
    close_forger(&f);
    open_forger(&f);
    memcpy(f.bytes, old, WHOLE);
    f.count = WHOLE;
    expect_condemned(&f);
    close_forger(&f);
}

/* A message of which only the header is there, and that it is withdrawn. */
static void forge_length(forger *f, uint32_t slice, uint64_t length)
{
    uint32_t mask = artel__connection_mask(f->connection, true);
    artel__frame frame = {.kind = ARTEL__FRAME_NODES, .generation = 5, .slice = slice, .length = length};
    uint8_t *at = f->bytes + f->count;
    artel__frame_encode(&frame, at);
    put(at + SUM_AT, artel__tcp_seal(artel__crc32c(0, at, SUM_AT), mask, f->number++));
    at += ARTEL__FRAME_BYTES;
    put(at + 4, 1);
    put(at, artel__tcp_seal(artel__crc32c(0, at + 4, 4), mask, f->number++));
    f->count += ARTEL__FRAME_BYTES + 8;
}

/* 4 GiB and 16 bytes are not 16 bytes; nothing is taken in for what is longer than was asked for. */
static void lengths_beyond_32_bits(void **state)
{
    (void)state;
    forger f;
    open_forger(&f);
    artel__net_request receive = tcp_request(1, 0, NULL);
    receive.most = 16;
    assert_int_equal(artel__net_receive(f.mesh.endpoint[0], &receive), ARTEL_OK);
    forge_length(&f, 0, (UINT64_C(1) << 32) + 16);
    forge_length(&f, 0, ARTEL__FRAME_LONGEST);
    forge(&f, 0);
    deliver(&f);
    assert_int_equal(tcp_run(&f.mesh, 0, &receive), ARTEL_OK);
    assert_int_equal(receive.frame.length, 16);
    assert_memory_equal(artel__net_part(&receive, 0, 0), "0123456789abcdef", 16);
    artel__net_release(f.mesh.endpoint[0], &receive);
    close_forger(&f);
}

/* What nobody asked for is left in the socket, however long it is said to be. */
static void unasked_lengths(void **state)
{
    (void)state;
    static const uint64_t length[] = {4096, UINT64_C(1) << 32, ARTEL__FRAME_LONGEST};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        forger f;
        open_forger(&f);
        forge_length(&f, 0, length[i]);
        deliver(&f);
        for (int k = 0; k < 100; k++) assert_int_equal(artel__net_progress(f.mesh.endpoint[0]), ARTEL_OK);
        assert_int_equal(artel__tcp_held_bytes(f.mesh.endpoint[0]), 0);
        close_forger(&f);
    }
}

static void lengths_that_cannot_be(void **state)
{
    (void)state;
    static const uint64_t length[] = {12, ARTEL__FRAME_LONGEST + 8, UINT64_C(1) << 63, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        forger f;
        open_forger(&f);
        forge_length(&f, 0, length[i]);
        expect_condemned(&f);
        close_forger(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_right),          cmocka_unit_test(every_flipped_bit),
        cmocka_unit_test(repeated_and_left_out), cmocka_unit_test(lengths_beyond_32_bits),
        cmocka_unit_test(unasked_lengths),       cmocka_unit_test(lengths_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
