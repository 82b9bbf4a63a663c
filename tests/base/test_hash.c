/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and CRC-32C against published vectors; processor instructions against plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/hash.h"
#include "base/hash_impl.h"
#include "base/rng.h"

static void expect_digest(const char *text, size_t repeat, const char *hex)
{
    artel__sha256 hash;
    char out[65];
    artel__sha256_init(&hash);
    for (size_t i = 0; i < repeat; i++) artel__sha256_update(&hash, text, strlen(text));
    artel__sha256_hex(&hash, out);
    assert_string_equal(out, hex);
}

static void test_sha256_vectors(void **state)
{
    (void)state; /* FIPS 180-4 examples */
    expect_digest("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_digest("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_digest("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void fill(uint8_t *bytes, size_t count)
{
    artel__rng_key key = artel__rng_make_key(7, ARTEL__STREAM_INIT);
    uint32_t word[4];
    for (size_t i = 0; i < count; i++) {
        if (i % 16 == 0) artel__rng_block(key, 0, 0, 0, i / 16, word);
        bytes[i] = (uint8_t)(word[i / 4 % 4] >> (8 * (i % 4)));
    }
}

static void test_pieces_do_not_matter(void **state)
{
    uint8_t bytes[1000];
    char whole[65], pieces[65];
    artel__sha256 hash;
    (void)state;
    fill(bytes, sizeof(bytes));
    for (size_t count = 0; count < 300; count += 7) {
        artel__sha256_init(&hash);
        artel__sha256_update(&hash, bytes, count);
        artel__sha256_hex(&hash, whole);
        artel__sha256_init(&hash);
        for (size_t at = 0, step = 1; at < count; at += step, step = step * 5 % 67 + 1) {
            if (step > count - at) step = count - at;
            artel__sha256_update(&hash, bytes + at, step);
        }
        artel__sha256_update(&hash, NULL, 0);
        artel__sha256_hex(&hash, pieces);
        assert_string_equal(whole, pieces);
    }
}

static void test_instructions_agree(void **state)
{
    uint8_t bytes[64 * 5];
    uint32_t plain[8] = {1, 2, 3, 4, 5, 6, 7, 8}, fast[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    fill(bytes, sizeof(bytes));
    artel__sha256_blocks_plain(plain, bytes, 5);
    if (artel__sha256_has_instructions()) {
        artel__sha256_blocks_fast(fast, bytes, 5);
        assert_memory_equal(plain, fast, sizeof(plain));
    }
    for (size_t count = 0; artel__crc32c_has_instructions() && count < sizeof(bytes); count++)
        assert_int_equal(artel__crc32c_plain(0x1234u, bytes + count % 7, count - count % 7),
                         artel__crc32c_fast(0x1234u, bytes + count % 7, count - count % 7));
}

/* Long inputs are summed in lanes, or folded. */
static void test_crc32c_long_forms_agree(void **state)
{
    static uint8_t bytes[20011];
    (void)state;
    fill(bytes, sizeof(bytes));
    for (size_t count = 900; artel__crc32c_has_instructions() && count < sizeof(bytes); count += 61) {
        uint32_t plain = artel__crc32c_plain((uint32_t)count, bytes + count % 7, count - count % 7);
        assert_int_equal(plain, artel__crc32c_fast((uint32_t)count, bytes + count % 7, count - count % 7));
        assert_int_equal(plain, artel__crc32c_lanes((uint32_t)count, bytes + count % 7, count - count % 7));
    }
}

static void test_crc32c_vectors(void **state)
{
    uint8_t bytes[32];
    (void)state; /* RFC 3720, B.4 */
    memset(bytes, 0, 32);
    assert_int_equal(artel__crc32c(0, bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, 32);
    assert_int_equal(artel__crc32c(0, bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)i;
    assert_int_equal(artel__crc32c(0, bytes, 32), 0x46dd794eu);
    assert_int_equal(artel__crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(artel__crc32c(artel__crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
    assert_int_equal(artel__crc32c_mask(0xe3069283u), 0xc78ab0e5u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_vectors),     cmocka_unit_test(test_pieces_do_not_matter),
        cmocka_unit_test(test_instructions_agree), cmocka_unit_test(test_crc32c_long_forms_agree),
        cmocka_unit_test(test_crc32c_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
