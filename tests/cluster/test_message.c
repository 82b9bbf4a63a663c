/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages: golden bytes, every field there and back, every prefix and every flipped byte of a message read
 * without harm. That the bytes are those of Protocol Buffers is the matter of test_message.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cluster/message.h"
#include "help_message.h"

static void golden_bytes(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        0x08, 0x02,                                                 /* kind = status */
        0x10, 0x05,                                                 /* task = 5 */
        0x19, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,       /* incarnation */
        0x50, 0xac, 0x02,                                           /* step = 300 */
        0x81, 0x01, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* ping = 9 */
        0xd0, 0x01, 0x0d,                                           /* status = -7 */
        0x9a, 0x02, 0x02, 'h',  'i',                                /* text */
    };
    artel__message m = {.kind = ARTEL__MESSAGE_STATUS,
                        .task = 5,
                        .incarnation = 0x0102030405060708u,
                        .step = 300,
                        .ping = 9,
                        .status = -7};
    m.text = (artel__message_bytes){(const uint8_t *)"hi", 2};
    uint8_t out[8192];
    assert_true(artel__message_bound(0) <= sizeof out);
    size_t count = artel__message_encode(&m, out, sizeof out);
    assert_int_equal(count, sizeof expected);
    assert_memory_equal(out, expected, count);
}

static void there_and_back(void **state)
{
    (void)state;
    uint8_t out[8192];
    for (uint32_t variant = 0; variant < HELP_MESSAGES; variant++) {
        artel__member member[HELP_MEMBERS], read[HELP_MEMBERS];
        artel__message m = help_message(variant, member), back = {.member = read, .member_capacity = HELP_MEMBERS};
        size_t count = artel__message_encode(&m, out, sizeof out);
        assert_true(count > 0 && count <= artel__message_bound(HELP_MEMBERS));
        assert_null(artel__message_decode(out, count, &back));
        assert_true(help_message_same(&m, &back));
    }
}

/* A prefix is either refused or a message with fewer fields; no byte makes the reader leave its bounds (run under
 * ASan). */
static void damaged_bytes(void **state)
{
    (void)state;
    uint8_t out[8192], copy[8192];
    for (uint32_t variant = 0; variant < HELP_MESSAGES; variant++) {
        artel__member member[HELP_MEMBERS], read[2];
        artel__message m = help_message(variant, member), back = {.member = read, .member_capacity = 2};
        size_t count = artel__message_encode(&m, out, sizeof out);
        for (size_t i = 0; i < count; i++) {
            artel__message_decode(out, i, &back);
            for (int bit = 0; bit < 8; bit++) {
                memcpy(copy, out, count);
                copy[i] ^= (uint8_t)(1 << bit);
                artel__message_decode(copy, count, &back);
                assert_true(back.members <= 2);
            }
        }
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t count;
        const char *wrong;
    } row[] = {
        {{0x10, 0x01}, 2, "it is of an unknown kind"}, /* no kind */
        {{0x08, 0x63}, 2, "it is of an unknown kind"}, /* kind 99 */
        {{0x08}, 1, "it is cut short"},                /* no value */
        {{0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
         11,
         "it is cut short"},                                                            /* an endless varint */
        {{0x08, 0x02, 0x10, 0x80, 0x80, 0x80, 0x80, 0x10}, 8, "a number is too large"}, /* task = 2^32 */
        {{0x09, 0, 0, 0, 0, 0, 0, 0, 0}, 9, "a field has another type"},
        {{0x08, 0x02, 0x9a, 0x02, 0x05, 'h'}, 6, "it is cut short"}, /* a text longer than the message */
        {{0x0b}, 1, "it is cut short"},                              /* a group */
    };
    artel__message m = {0};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(artel__message_decode(row[i].bytes, row[i].count, &m), row[i].wrong);
    static const uint8_t newer[] = {0x08, 0x02, 0xc0, 0x3e, 0x07, 0xca, 0x3e, 0x01, 'x', 0xd5, 0x3e, 1, 2, 3, 4};
    assert_null(artel__message_decode(newer, sizeof newer, &m)); /* fields 1000 to 1002 of a later version */
    assert_int_equal(m.kind, ARTEL__MESSAGE_STATUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_bytes),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(damaged_bytes),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
