/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format: bytes of protobuf's own documentation, what is written read again, and messages cut off at
 * every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "artel/context.h"
#include "base/context.h"
#include "base/protobuf.h"

static const uint64_t numbers[] = {0, 1, 127, 128, 150, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};

static artel__text new_text(artel_context **ctx)
{
    artel__text text;
    assert_int_equal(artel_context_create(NULL, ctx), ARTEL_OK);
    artel__text_init(&text, *ctx);
    return text;
}

static void test_documented_bytes(void **state)
{
    static const uint8_t wanted[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',  's', 't',
                                     'i',  'n',  'g',  0x1a, 0x03, 0x08, 0x96, 0x01};
    artel_context *ctx;
    artel__text text = new_text(&ctx), inner;
    (void)state; /* protobuf.dev/programming-guides/encoding: 150, "testing", a message within */
    artel__text_init(&inner, ctx);
    artel__put_integer(&inner, 1, 150);
    artel__put_integer(&text, 1, 150);
    artel__put_string(&text, 2, "testing");
    artel__put_message(&text, 3, &inner);
    assert_int_equal(text.length, sizeof wanted);
    assert_memory_equal(text.data, wanted, sizeof wanted);
    artel__text_fini(&inner);
    artel__text_fini(&text);
    artel_context_destroy(ctx);
}

static void test_numbers_come_back(void **state)
{
    artel_context *ctx;
    artel__text text = new_text(&ctx);
    artel__proto_field field;
    (void)state;
    for (unsigned i = 0; i < ARTEL__COUNT(numbers); i++) artel__put_integer(&text, 1 + i * 1000, numbers[i]);
    artel__put_bytes(&text, 3, NULL, 0);
    artel__proto message = artel__proto_of(text.data, text.length);
    for (unsigned i = 0; i < ARTEL__COUNT(numbers); i++) {
        assert_true(artel__proto_next(&message, &field));
        assert_int_equal(field.number, 1 + i * 1000);
        assert_true(field.wire == 0 && field.value == numbers[i]);
    }
    assert_true(artel__proto_next(&message, &field) && field.number == 3 && field.wire == 2 &&
                field.bytes.at == field.bytes.end);
    assert_false(artel__proto_next(&message, &field) || message.damaged);
    artel__text_fini(&text);
    artel_context_destroy(ctx);
}

/* Every field is whole, or the message says that it is damaged: behind which byte it was cut decides alone. */
static void test_cut_anywhere(void **state)
{
    static const uint8_t bytes[] = {0x08, 0x96, 0x01, 0x11, 1,   2,    3, 4, 5,    6,   7,
                                    8,    0x1a, 0x02, 'o',  'k', 0x25, 0, 0, 0x80, 0x3f};
    static const size_t ends[] = {0, 3, 12, 16, 21};
    artel__proto_field field;
    (void)state;
    for (size_t size = 0; size <= sizeof bytes; size++) {
        artel__proto message = artel__proto_of(bytes, size);
        size_t fields = 0, whole = 0;
        while (artel__proto_next(&message, &field)) fields++;
        while (whole + 1 < ARTEL__COUNT(ends) && ends[whole + 1] <= size) whole++;
        assert_int_equal(fields, whole);
        assert_int_equal(message.damaged, ends[whole] != size);
    }
    assert_true(artel__proto_find(artel__proto_of(bytes, sizeof bytes), 4, &field) &&
                artel__proto_float(field.value) == 1.0f);
    assert_false(artel__proto_find(artel__proto_of(bytes, sizeof bytes), 5, &field));
}

static void test_no_kind_of_field(void **state)
{
    static const uint8_t wrong[][11] = {{0x0b},
                                        {0x0c},
                                        {0x0f},
                                        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
                                        {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}};
    artel__proto_field field;
    (void)state; /* groups, an unused kind, a varint without end, a length beyond all memory */
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++) {
        artel__proto message = artel__proto_of(wrong[i], sizeof *wrong);
        assert_false(artel__proto_next(&message, &field));
        assert_true(message.damaged);
    }
}

static void test_failures_are_handed_on(void **state)
{
    artel_context *ctx;
    artel__text text = new_text(&ctx), inner;
    (void)state;
    artel__text_init(&inner, ctx);
    artel__put_integer(&inner, 1, 1);
    inner.failed = true;
    artel__put_message(&text, 1, &inner);
    assert_true(artel__text_status(&text) < 0);
    artel__text_fini(&inner);
    artel__text_fini(&text);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented_bytes),       cmocka_unit_test(test_numbers_come_back),
        cmocka_unit_test(test_cut_anywhere),           cmocka_unit_test(test_no_kind_of_field),
        cmocka_unit_test(test_failures_are_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
