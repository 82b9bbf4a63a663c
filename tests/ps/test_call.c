/* SPDX-License-Identifier: Apache-2.0 */
/* Golden bytes of heads and entries, and what a server refuses to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "ps/call.h"

static const artel__ps_head head = {.op = ARTEL__PS_PUSH,
                                    .flags = 1,
                                    .pieces = 0x0203,
                                    .part = 7,
                                    .epoch = 0x1112131415161718,
                                    .client = 0x21,
                                    .item = 0x3132333435363738,
                                    .position = 0x41,
                                    .rows = 0,
                                    .hash = 0x51525354};

static void a_head_has_these_bytes(void **state)
{
    (void)state;
    static const uint8_t golden[ARTEL__PS_HEAD_BYTES] = {
        3,    1, 3, 2, 7, 0, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
        0x21, 0, 0, 0, 0, 0, 0, 0, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
        0x41, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,    0x54, 0x53, 0x52, 0x51};
    uint8_t bytes[ARTEL__PS_HEAD_BYTES];
    artel__ps_head read;
    artel__ps_head_write(&head, bytes);
    assert_memory_equal(bytes, golden, sizeof golden);
    assert_null(artel__ps_head_read(bytes, sizeof bytes, 8, ARTEL__PS_CLIENT, &read));
    assert_memory_equal(&read, &head, sizeof head);
}

static void heads_are_judged(void **state)
{
    (void)state;
    uint8_t bytes[ARTEL__PS_HEAD_BYTES];
    artel__ps_head read, h = head;
    artel__ps_head_write(&head, bytes);
    assert_non_null(artel__ps_head_read(bytes, sizeof bytes - 1, 8, ARTEL__PS_CLIENT, &read));
    assert_non_null(artel__ps_head_read(bytes, sizeof bytes, 7, ARTEL__PS_CLIENT, &read));
    assert_non_null(artel__ps_head_read(bytes, sizeof bytes, 8, ARTEL__PS_COORDINATOR, &read));
    for (unsigned op = 0; op < 256; op++) {
        h.op = (uint8_t)op;
        h.flags = 0;
        artel__ps_head_write(&h, bytes);
        bool known = op > 0 && op < ARTEL__PS_OPS, read_by_all = !artel__ps_head_read(bytes, sizeof bytes, 8, 7, &read);
        assert_int_equal(read_by_all, known);
        assert_int_equal(strcmp(artel__ps_op_name(op), "unknown") != 0, known);
    }
    h = head;
    h.flags = 2;
    artel__ps_head_write(&h, bytes);
    assert_non_null(artel__ps_head_read(bytes, sizeof bytes, 8, ARTEL__PS_CLIENT, &read));
    h = head;
    h.rows = 1; /* PUSH has none */
    artel__ps_head_write(&h, bytes);
    assert_non_null(artel__ps_head_read(bytes, sizeof bytes, 8, ARTEL__PS_CLIENT, &read));
    h = head;
    h.pieces = ARTEL__PS_MOST_PIECES + 1;
    artel__ps_head_write(&h, bytes);
    assert_non_null(artel__ps_head_read(bytes, sizeof bytes, 8, ARTEL__PS_CLIENT, &read));
}

static void ids_ascend(void **state)
{
    (void)state;
    uint8_t bytes[32];
    static const uint64_t good[] = {0, 3, 4, 9}, twice[] = {0, 3, 3, 9}, falling[] = {0, 3, 2, 9};
    for (int i = 0; i < 4; i++) artel__bytes_put(bytes + 8 * i, good[i], 8);
    assert_null(artel__ps_ids_check(bytes, 4, 10));
    assert_non_null(artel__ps_ids_check(bytes, 4, 9));
    for (int i = 0; i < 4; i++) artel__bytes_put(bytes + 8 * i, twice[i], 8);
    assert_non_null(artel__ps_ids_check(bytes, 4, 10));
    for (int i = 0; i < 4; i++) artel__bytes_put(bytes + 8 * i, falling[i], 8);
    assert_non_null(artel__ps_ids_check(bytes, 4, 10));
    artel__bytes_put(bytes, UINT64_MAX, 8);
    assert_non_null(artel__ps_ids_check(bytes, 2, UINT64_MAX));
}

static void entries_come_back(void **state)
{
    (void)state;
    uint8_t bytes[ARTEL__PS_LOG_BYTES + 5];
    artel__log_message m = {.word = ARTEL__LOG_APPEND,
                            .part = 2,
                            .epoch = 77,
                            .position = 12,
                            .digest_at = 64,
                            .digest = 5},
                       read;
    m.entry = (artel__log_entry){
        .position = 12, .epoch = 70, .client = 3, .sequence = 4, .item = artel__item(2, 9), .iteration = 11};
    m.entry.length = 5;
    m.entry.kind = ARTEL__LOG_ROWS;
    m.entry.flags = ARTEL__LOG_STEP;
    m.entry.source = 6;
    m.entry.hash = artel__crc32c(0, "hello", 5);
    assert_int_equal(artel__ps_log_write(&m, bytes), ARTEL__PS_LOG_BYTES);
    memcpy(bytes + ARTEL__PS_LOG_BYTES, "hello", 5);
    assert_null(artel__ps_log_read(bytes, sizeof bytes, 3, &read));
    assert_memory_equal(read.payload, "hello", 5);
    assert_memory_equal(&read.entry, &m.entry, sizeof m.entry);
    assert_true(read.digest_at == 64 && read.digest == 5 && read.epoch == 77);
    assert_non_null(artel__ps_log_read(bytes, sizeof bytes - 1, 3, &read));
    bytes[ARTEL__PS_LOG_BYTES] ^= 1;
    assert_non_null(artel__ps_log_read(bytes, sizeof bytes, 3, &read));
    bytes[ARTEL__PS_LOG_BYTES] ^= 1;
    bytes[ARTEL__PS_HEAD_BYTES] ^= 1; /* another position than the head's */
    assert_non_null(artel__ps_log_read(bytes, sizeof bytes, 3, &read));
    for (int word = ARTEL__LOG_HAVE; word < ARTEL__LOG_WORDS; word++) {
        m.word = (artel__log_word)word;
        m.entry.flags = word == ARTEL__LOG_ASK;
        assert_int_equal(artel__ps_log_write(&m, bytes), ARTEL__PS_HEAD_BYTES);
        assert_null(artel__ps_log_read(bytes, ARTEL__PS_HEAD_BYTES, 3, &read));
        assert_true(read.word == m.word && read.position == 12 && read.entry.flags == m.entry.flags);
        assert_non_null(artel__ps_log_read(bytes, ARTEL__PS_HEAD_BYTES + 1, 3, &read));
    }
    assert_int_equal(sizeof(artel__log_entry), ARTEL__PS_ENTRY_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_has_these_bytes),
        cmocka_unit_test(heads_are_judged),
        cmocka_unit_test(ids_ascend),
        cmocka_unit_test(entries_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
