/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a row where they can be told by hand: bounds, masks, unknown terms, n-grams; UTF-8; vocabularies against
 * a search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "text/functions.h"

enum {
    ROOM = 64
};

typedef struct bench {
    artel_context *ctx;
    artel__arena arena;
    artel__row_scratch scratch;
} bench;

static int open_bench(void **state)
{
    static bench b;
    assert_int_equal(artel_context_create(NULL, &b.ctx), ARTEL_OK);
    artel__arena_init(&b.arena, b.ctx);
    b.scratch = (artel__row_scratch){.ctx = b.ctx};
    *state = &b;
    return 0;
}

static int close_bench(void **state)
{
    bench *b = *state;
    artel__row_scratch_fini(&b->scratch);
    artel__arena_fini(&b->arena);
    artel_context_destroy(b->ctx);
    return 0;
}

/* Runs a function on one row; the result as text, its elements between blanks, or the reason why there is none. */
static const char *result_of(bench *b, const artel__row_function *f, const void *settings, const artel__cells *in)
{
    static char text[1024];
    static union {
        int64_t whole[ROOM];
        artel__string string[ROOM];
    } room;
    artel__cells out = {.data = NULL};
    artel__row_fault fault = {NULL, 0, 0};
    const char *why = f->infer(settings, in, 1, &out);
    if (why) return why;
    assert_true(out.count <= ROOM);
    out.data = &room;
    if (f->run(settings, in, 1, &out, &b->scratch, &fault) < 0) return fault.why;
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < out.count; i++) {
        const char *gap = i ? " " : "";
        if (out.dtype == ARTEL_DTYPE_STRING)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", gap, (int)room.string[i].length,
                                     room.string[i].bytes);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%g", gap, artel__cell_number(&out, i));
    }
    return text;
}

static artel__cells cells_of(artel_dtype dtype, void *data, int64_t count)
{
    artel__cells cells = {.data = data};
    artel_shape shape = artel__shape(1, count);
    artel__cells_describe(&cells, dtype, &shape);
    return cells;
}

static artel__string string_of(const char *text)
{
    return (artel__string){text, strlen(text)};
}

static void test_bins(void **state)
{
    static const float boundary[] = {-1, 0.5f, 0.5f, 3};
    artel__discretize s = {boundary, 4, {.mode = ARTEL__ENCODE_INT, .depth = 5, .dtype = ARTEL_DTYPE_INT32}};
    float x[] = {-INFINITY, -1, -0.9f, 0.5f, 2.9f, 3, NAN};
    artel__cells in = cells_of(ARTEL_DTYPE_FLOAT32, x, 7);
    assert_string_equal(result_of(*state, &artel__discretize_function, &s, &in), "0 1 1 3 3 4 4");
    s.encoding.mode = ARTEL__ENCODE_COUNT;
    s.encoding.dtype = ARTEL_DTYPE_FLOAT32;
    assert_string_equal(result_of(*state, &artel__discretize_function, &s, &in), "1 2 0 2 2");
}

static void test_encodings(void **state)
{
    artel__categories s = {{.mode = ARTEL__ENCODE_MULTI_HOT, .depth = 4, .dtype = ARTEL_DTYPE_FLOAT32}};
    int32_t x[] = {3, 0, 3, -1, 4, 9};
    artel__cells in = cells_of(ARTEL_DTYPE_INT32, x, 6), one = cells_of(ARTEL_DTYPE_INT32, x, 1), none = one;
    none.shape.rank = 0;
    assert_string_equal(result_of(*state, &artel__categories_function, &s, &in), "1 0 0 1");
    assert_non_null(
        strstr(result_of(*state, &artel__categories_function, &s, &none), "the batch would count as one sample"));
    s.encoding.mode = ARTEL__ENCODE_ONE_HOT;
    assert_string_equal(result_of(*state, &artel__categories_function, &s, &one), "0 0 0 1");
    s.encoding.mode = ARTEL__ENCODE_MULTI_HOT; /* of more axes the first goes */
    in.shape = artel__shape(2, (int64_t)3, (int64_t)2);
    assert_string_equal(result_of(*state, &artel__categories_function, &s, &in), "0 0 0 1 1 0 0 0");
}

static artel__table *table_of(bench *b, artel__string *words, int64_t count)
{
    artel__table *table = artel__arena_alloc(&b->arena, 1, sizeof *table);
    int64_t repeated;
    assert_non_null(table);
    assert_int_equal(artel__table_words(&b->arena, words, count, table, &repeated), ARTEL_OK);
    assert_int_equal(repeated, -1);
    return table;
}

static void test_lookup(void **state)
{
    artel__string words[] = {string_of("b"), string_of("a"), string_of("")},
                  x[] = {words[1], string_of("zz"), words[2], words[0]};
    artel__lookup s = {
        .table = table_of(*state, words, 3), .oov = 1, .encoding = {.dtype = ARTEL_DTYPE_INT32, .depth = 4}};
    artel__cells in = cells_of(ARTEL_DTYPE_STRING, x, 4);
    s.oov_word = string_of("[UNK]");
    assert_string_equal(result_of(*state, &artel__lookup_function, &s, &in), "2 0 3 1");
    s.masked = true;
    s.first_oov = 1;
    s.mask_word = string_of("zz");
    assert_string_equal(result_of(*state, &artel__lookup_function, &s, &in), "3 0 4 2");
    s.inverse = true;
    int64_t place[] = {0, 1, 4, 2, 99};
    artel__cells back = cells_of(ARTEL_DTYPE_INT64, place, 5);
    assert_string_equal(result_of(*state, &artel__lookup_function, &s, &back), "zz [UNK]  b [UNK]");
    s.inverse = s.masked = false;
    s.oov = s.first_oov = 0;
    assert_non_null(strstr(result_of(*state, &artel__lookup_function, &s, &in), "is not in the vocabulary"));
    assert_non_null(strstr(result_of(*state, &artel__lookup_function, &s, &back), "expected strings"));
}

/* Remainders of negative numbers are those of Python. */
static void test_integers(void **state)
{
    bench *b = *state;
    int64_t terms[] = {5, -7, INT64_MIN}, x[] = {5, INT64_MIN, -1, -4, 8}, repeated;
    artel__table table;
    assert_int_equal(artel__table_integers(&b->arena, terms, 3, &table, &repeated), ARTEL_OK);
    artel__lookup s = {.table = &table, .oov = 3, .encoding = {.dtype = ARTEL_DTYPE_INT32, .depth = 6}};
    artel__cells in = cells_of(ARTEL_DTYPE_INT64, x, 5);
    assert_string_equal(result_of(b, &artel__lookup_function, &s, &in), "3 5 2 2 2");
}

static const char *places_of(bench *b, artel__vectorize *s, const char *text)
{
    artel__string x = string_of(text);
    artel__cells in = cells_of(ARTEL_DTYPE_STRING, &x, 1);
    return result_of(b, &artel__vectorize_function, s, &in);
}

static void test_texts(void **state)
{
    artel__string words[] = {string_of("the"), string_of("cat"),      string_of("the cat"),
                             string_of("t h"), string_of("\xC3\xA9"), string_of(" ")};
    artel__vectorize s = {.lower = true, .strip = true, .split = ARTEL__SPLIT_SPACES, .length = 5};
    s.lookup = (artel__lookup){.table = table_of(*state, words, 6), .oov = 1, .first_oov = 1, .masked = true};
    s.lookup.mask_word = string_of("");
    s.lookup.encoding = (artel__encoding){.mode = ARTEL__ENCODE_INT, .depth = 8, .dtype = ARTEL_DTYPE_INT32};
    assert_string_equal(places_of(*state, &s, "  The\tC.a-t, DOG!\n"), "2 3 1 0 0");
    assert_string_equal(places_of(*state, &s, ""), "0 0 0 0 0");
    assert_string_equal(places_of(*state, &s, "..."), "0 0 0 0 0");
    assert_string_equal(places_of(*state, &s, "the the the the cat cat"), "2 2 2 2 3");
    s.widths = 2; /* widths in the order given: pairs, then single ones */
    s.width[0] = 2;
    s.width[1] = 1;
    assert_string_equal(places_of(*state, &s, "the cat cat"), "4 1 2 3 3");
    assert_string_equal(places_of(*state, &s, "cat"), "3 0 0 0 0");
    s.split = ARTEL__SPLIT_CHARACTERS;
    assert_string_equal(places_of(*state, &s, "TH \xC3\xA9"), "5 1 1 1 1");
    s.widths = 0;
    s.lower = false;
    assert_string_equal(places_of(*state, &s, "T \xC3\xA9"), "1 7 6 0 0");
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length, good;
    } cases[] = {
        {"", 0, 0},
        {"a\xC3\xA9\xE8\xAA\x9E\xF0\x9F\x98\x80", 10, 10},
        {"ab\xFFz", 4, 2},
        {"\xC0\x80", 2, 0},         /* overlong */
        {"\xE0\x9F\xBF", 3, 0},     /* overlong */
        {"a\xED\xA0\x80", 4, 1},    /* a surrogate */
        {"\xF4\x8F\xBF\xBF", 4, 4}, /* the last code point */
        {"\xF4\x90\x80\x80", 4, 0}, /* behind it */
        {"abc\xE8\xAA", 5, 3},      /* cut off */
        {"\x80", 1, 0},
        {"a\0b", 3, 3},
    };
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++)
        assert_int_equal(artel__utf8_valid(cases[i].bytes, cases[i].length), cases[i].good);
}

/* Every word is found, and nothing else, among a few thousand. */
static void test_table(void **state)
{
    bench *b = *state;
    enum {
        WORDS = 3000
    };
    static char text[WORDS][8];
    static artel__string words[WORDS];
    for (int i = 0; i < WORDS; i++) {
        snprintf(text[i], sizeof text[i], "%x", i * 7919);
        words[i] = string_of(text[i]);
    }
    artel__table *table = table_of(b, words, WORDS);
    for (int i = 0; i < WORDS; i++) assert_int_equal(artel__table_find_word(table, text[i], strlen(text[i])), i);
    assert_int_equal(artel__table_find_word(table, "no", 2), -1);
    artel__table again;
    int64_t repeated;
    words[7] = words[11];
    assert_int_equal(artel__table_words(&b->arena, words, WORDS, &again, &repeated), ARTEL_OK);
    assert_int_equal(repeated, 11);
    assert_int_equal(artel__table_find_word(&again, text[11], strlen(text[11])), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bins),     cmocka_unit_test(test_encodings), cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_integers), cmocka_unit_test(test_texts),     cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, open_bench, close_bench);
}
