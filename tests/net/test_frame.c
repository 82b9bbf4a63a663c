/* SPDX-License-Identifier: Apache-2.0 */
/* The wire header: golden bytes, round trip, crc, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "net/frame.h"

static const artel__frame example = {.kind = ARTEL__FRAME_RESULT,
                                     .job = 0x0102030405060708u,
                                     .generation = 0x11121314,
                                     .step = 0x2122232425262728u,
                                     .collective = 0x31323334,
                                     .node = 0x41424344,
                                     .slice = 0x51525354,
                                     .length = 0x212263646566,
                                     .lent = 0x81828384,
                                     .crc32c = 0x71727374};

static const uint8_t golden[ARTEL__FRAME_BYTES] = {
    'a',  'r',  't',  'l',  3,    0,    2,    0,    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12,
    0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41, 0x54, 0x53,
    0x52, 0x51, 0x66, 0x65, 0x64, 0x63, 0x22, 0x21, 0,    0,    0x84, 0x83, 0x82, 0x81, 0x74, 0x73, 0x72, 0x71};

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void golden_bytes(void **state)
{
    uint8_t bytes[ARTEL__FRAME_BYTES];
    artel__frame_encode(&example, bytes);
    assert_memory_equal(bytes, golden, sizeof golden);
    artel__frame back;
    assert_int_equal(artel__frame_decode(*state, "peer", golden, &back), ARTEL_OK);
    assert_true(artel__frame_match(&back, &example));
    assert_true(back.length == example.length);
    assert_int_equal(back.lent, example.lent);
    assert_int_equal(back.crc32c, example.crc32c);
}

static void matching_looks_at_every_field(void **state)
{
    (void)state;
    artel__frame other[] = {example, example, example, example, example, example, example};
    other[0].kind++;
    other[1].job++;
    other[2].generation++;
    other[3].step++;
    other[4].collective++;
    other[5].node++;
    other[6].slice++;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) assert_false(artel__frame_match(&example, &other[i]));
    artel__frame same = example;
    same.length++;
    same.crc32c++;
    assert_true(artel__frame_match(&example, &same));
}

static void crc_covers_header_and_payload(void **state)
{
    (void)state;
    uint32_t empty = artel__frame_crc(&example, NULL, 0), full = artel__frame_crc(&example, "abc", 3);
    artel__frame other = example;
    other.crc32c = 0;
    assert_int_equal(artel__frame_crc(&other, NULL, 0), empty);
    other.step++;
    assert_int_not_equal(artel__frame_crc(&other, NULL, 0), empty);
    assert_int_not_equal(full, empty);
    assert_int_not_equal(artel__frame_crc(&example, "abd", 3), full);
}

static void refusals(void **state)
{
    uint8_t bytes[ARTEL__FRAME_BYTES];
    artel__frame out = {.kind = 99};
    memcpy(bytes, golden, sizeof bytes);
    bytes[0] = 'x';
    assert_int_equal(artel__frame_decode(*state, "peer", bytes, &out), ARTEL_ERROR_CORRUPT);
    assert_string_equal(artel_context_error(*state)->where, "peer");
    artel__operation_begin(*state);
    memcpy(bytes, golden, sizeof bytes);
    bytes[4] = 1;
    assert_int_equal(artel__frame_decode(*state, "peer", bytes, &out), ARTEL_ERROR_UNSUPPORTED);
    artel__operation_begin(*state);
    for (int kind = 0; kind <= ARTEL__FRAME_FORGET + 1; kind += ARTEL__FRAME_FORGET + 1) {
        memcpy(bytes, golden, sizeof bytes);
        bytes[6] = (uint8_t)kind;
        assert_int_equal(artel__frame_decode(*state, "peer", bytes, &out), ARTEL_ERROR_CORRUPT);
    }
    assert_int_equal(out.kind, 99);
}

/* No length may be so large that sums of lengths overflow. */
static void lengths(void **state)
{
    static const uint64_t good[] = {0, 8, UINT32_MAX - 7u, (uint64_t)UINT32_MAX + 1, ARTEL__FRAME_LONGEST};
    static const uint64_t bad[] = {ARTEL__FRAME_LONGEST + 1, (uint64_t)1 << 63, UINT64_MAX - 7, UINT64_MAX};
    uint8_t bytes[ARTEL__FRAME_BYTES];
    artel__frame frame = example, out = {.kind = 99};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        frame.length = good[i];
        artel__frame_encode(&frame, bytes);
        assert_int_equal(artel__frame_decode(*state, "peer", bytes, &out), ARTEL_OK);
        assert_true(out.length == good[i]);
    }
    out.kind = 99;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        frame.length = bad[i];
        artel__frame_encode(&frame, bytes);
        assert_int_equal(artel__frame_decode(*state, "peer", bytes, &out), ARTEL_ERROR_CORRUPT);
        artel__operation_begin(*state);
    }
    assert_int_equal(out.kind, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(golden_bytes, set_up, tear_down),
        cmocka_unit_test(matching_looks_at_every_field),
        cmocka_unit_test(crc_covers_header_and_payload),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lengths, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
