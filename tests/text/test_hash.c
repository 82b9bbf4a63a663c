/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints and keyed hashes, against values that TensorFlow gives: one text of every length at which another
 * function begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "text/hash.h"

static const uint64_t buckets = ((uint64_t)1 << 61) - 1;

/* tf.strings.to_hash_bucket_fast and to_hash_bucket_strong (key [3, 2^50 + 9]) of the beginning of the alphabet over
 * and over. */
static const struct {
    size_t length;
    uint64_t fast, strong;
} known[] = {
    {0, 1936946117179621459u, 2027900031196917845u},  {1, 1388589064740894184u, 672497858916099321u},
    {2, 760385211680531747u, 577474636964975859u},    {3, 334871249046467434u, 1747570915089235241u},
    {4, 1897425971756105985u, 1642510604465902781u},  {31, 301152049013454035u, 1310076313536495792u},
    {32, 2276209681574081953u, 390251092793908822u},  {33, 2004761416539416594u, 860260966247982632u},
    {63, 1525447615924738980u, 696390057735774453u},  {64, 2038540033609931774u, 1626425523904302903u},
    {65, 303105194244636203u, 1009056275736254842u},  {127, 878616348504129446u, 1222757595855297636u},
    {128, 226390950763841360u, 591158343408075767u},  {129, 1953612634356772824u, 1400821239468579113u},
    {200, 419963525302164215u, 1332306852680023497u},
};

static void test_known_values(void **state)
{
    (void)state;
    const uint64_t key[2] = {3, ((uint64_t)1 << 50) + 9};
    char text[200];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(artel__fingerprint(text, known[i].length) % buckets, known[i].fast);
        assert_int_equal(artel__keyed_hash(key, text, known[i].length) % buckets, known[i].strong);
    }
    assert_int_equal(artel__fingerprint("12345678", 8) % buckets, 1124160918776690411u);
    assert_int_equal(artel__fingerprint("1234567890123456", 16) % buckets, 1098204296143930411u);
    assert_int_equal(artel__fingerprint("12345678901234567", 17) % buckets, 323895964247077306u);
}

/* The example of the paper: key 00 01 .. 0f, text 00 01 .. 0e. */
static void test_paper(void **state)
{
    (void)state;
    const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    uint8_t text[15];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)i;
    assert_true(artel__keyed_hash(key, text, sizeof text) == 0xa129ca6149be45e5u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_values), cmocka_unit_test(test_paper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
