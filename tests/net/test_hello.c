/* SPDX-License-Identifier: Apache-2.0 */
/* Greetings: their golden bytes, and every way in which one can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/hash.h"
#include "net/hello.h"

static artel__hello example(void)
{
    artel__hello h = {.purpose = ARTEL__NET_CONTROL,
                      .job = 0x1112131415161718,
                      .incarnation = 0x2122232425262728,
                      .generation = 0x31323334};
    memset(h.identity, 0x41, sizeof h.identity);
    memset(h.nonce, 0x51, sizeof h.nonce);
    strcpy(h.task, "worker-0");
    strcpy(h.to, "chief-0");
    return h;
}

static void golden_bytes(void **state)
{
    (void)state;
    static const uint8_t head[32] = {0x61, 0x72, 0x74, 0x48, 3,    0,    1,    2,    0x18, 0x17, 0x16,
                                     0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23,
                                     0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0,    0,    0,    0};
    uint8_t wanted[ARTEL__HELLO_BYTES] = {0}, bytes[ARTEL__HELLO_BYTES];
    memcpy(wanted, head, sizeof head);
    memset(wanted + 32, 0x41, 32);
    memset(wanted + 64, 0x51, 16);
    memcpy(wanted + 80, "worker-0", 8);
    memcpy(wanted + 144, "chief-0", 7);
    uint32_t crc = artel__crc32c(0, wanted, 220);
    for (int i = 0; i < 4; i++) wanted[220 + i] = (uint8_t)(crc >> (8 * i));
    artel__hello h = example(), back;
    artel__refusal refusal;
    bool refused;
    artel__hello_encode(&h, bytes);
    assert_memory_equal(bytes, wanted, sizeof wanted);
    assert_int_equal(artel__hello_decode(bytes, &back, &refusal, &refused), ARTEL__FAULT_NONE);
    assert_false(refused);
    assert_memory_equal(&back, &h, sizeof h);
}

/* Any flipped bit is noticed, and says so. */
static void every_bit_counts(void **state)
{
    (void)state;
    uint8_t bytes[ARTEL__HELLO_BYTES];
    artel__hello h = example(), back;
    artel__hello_encode(&h, bytes);
    for (int bit = 0; bit < ARTEL__HELLO_BYTES * 8; bit++) {
        artel__refusal refusal = {.reason = ""};
        bool refused;
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(artel__hello_decode(bytes, &back, &refusal, &refused), ARTEL__FAULT_NONE);
        assert_true(refusal.reason[0]);
        assert_false(refused);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void reseal(uint8_t bytes[ARTEL__HELLO_BYTES])
{
    uint32_t crc = artel__crc32c(0, bytes, 220);
    for (int i = 0; i < 4; i++) bytes[220 + i] = (uint8_t)(crc >> (8 * i));
}

/* Well summed and still wrong. */
static void malformed(void **state)
{
    (void)state;
    static const struct {
        int at;
        uint8_t value;
    } wrong[] = {{6, 3},  {6, 0},  {7, 0},     {7, 3},     {28, 1},  {80, 0},
                 {80, 7}, {81, 0}, {143, 'x'}, {144, 200}, {216, 1}, {219, 1}};
    artel__hello h = example(), back;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t bytes[ARTEL__HELLO_BYTES];
        artel__refusal refusal;
        bool refused;
        artel__hello_encode(&h, bytes);
        bytes[wrong[i].at] = wrong[i].value;
        reseal(bytes);
        assert_int_equal(artel__hello_decode(bytes, &back, &refusal, &refused), ARTEL__FAULT_GARBAGE);
    }
}

static void refusals_travel(void **state)
{
    (void)state;
    artel__refusal sent = {.fault = ARTEL__FAULT_JOB, .reason = "another\njob"}, got;
    uint8_t bytes[ARTEL__HELLO_BYTES];
    artel__hello back;
    bool refused;
    artel__refusal_encode(&sent, bytes);
    assert_int_equal(artel__hello_decode(bytes, &back, &got, &refused), ARTEL__FAULT_JOB);
    assert_true(refused);
    assert_string_equal(got.reason, "another?job");
    bytes[7] = 0;
    reseal(bytes);
    assert_int_equal(artel__hello_decode(bytes, &back, &got, &refused), ARTEL__FAULT_GARBAGE);
    assert_false(refused);
    bytes[7] = 99;
    reseal(bytes);
    assert_int_equal(artel__hello_decode(bytes, &back, &got, &refused), ARTEL__FAULT_GARBAGE);
}

static void versions_are_named(void **state)
{
    (void)state;
    uint8_t bytes[ARTEL__HELLO_BYTES];
    artel__hello h = example(), back;
    artel__refusal refusal;
    bool refused;
    artel__hello_encode(&h, bytes);
    bytes[4] = 9;
    assert_int_equal(artel__hello_decode(bytes, &back, &refusal, &refused), ARTEL__FAULT_VERSION);
    assert_non_null(strstr(refusal.reason, "version 9"));
}

static void judging(void **state)
{
    (void)state;
    char reason[ARTEL__HELLO_REASON];
    artel__hello self = example(), peer = example();
    strcpy(self.task, "chief-0");
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_NONE);
    peer.to[0] = '\0';
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_NONE);
    strcpy(peer.to, "chief-1");
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_NAME);
    assert_non_null(strstr(reason, "chief-1"));
    peer = example();
    peer.job++;
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_JOB);
    peer.job = 0; /* who asks a question knows none, and the answer names one */
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_NONE);
    self.to[0] = '\0';
    assert_int_equal(artel__hello_check(&peer, &self, reason), ARTEL__FAULT_NONE);
    peer.purpose = ARTEL__NET_DATA;
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_JOB);
    peer = example();
    peer.identity[31]++;
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_IDENTITY);
    memset(peer.identity, 0, sizeof peer.identity);
    assert_int_equal(artel__hello_check(&self, &peer, reason), ARTEL__FAULT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_bytes),    cmocka_unit_test(every_bit_counts),   cmocka_unit_test(malformed),
        cmocka_unit_test(refusals_travel), cmocka_unit_test(versions_are_named), cmocka_unit_test(judging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
