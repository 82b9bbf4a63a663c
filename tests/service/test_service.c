/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of a data service stand on: the cache, the journal with its damage, descriptions that come from
 * the network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "service/cache.h"
#include "service/dataset.h"
#include "service/estimate.h"
#include "service/journal.h"
#include "service/texts.h"

typedef struct bench {
    artel_context *ctx;
    char folder[256], path[512];
} bench;

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    const char *tmp = getenv("TMPDIR");
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    snprintf(b->folder, sizeof b->folder, "%s/artel-service-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(b->folder));
    snprintf(b->path, sizeof b->path, "%s/journal", b->folder);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    assert_int_equal(artel__remove_tree(b->ctx, b->folder), ARTEL_OK);
    artel_context_destroy(b->ctx);
    free(b);
    return 0;
}

static void write_journal(const bench *b, const void *bytes, size_t size)
{
    FILE *file = fopen(b->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* The context's record says this, and is forgotten. */
static void says(bench *b, artel_status status, const char *part)
{
    const artel_error *error = artel_context_error(b->ctx);
    assert_int_equal(error->status, status);
    if (!strstr(error->what, part)) fail_msg("'%s' is not in: %s", part, error->what);
    artel__operation_begin(b->ctx);
}

/* ---- cache ---- */

static void fill(uint8_t *bytes, uint64_t row)
{
    for (int i = 0; i < 24; i++) bytes[i] = (uint8_t)(row * 31 + (uint64_t)i);
}

/* What is found is what was kept, however little room there is; with room for all, all of it is found. */
static void cache_keeps_elements(void **state)
{
    bench *b = *state;
    const uint64_t rows = 200, limits[] = {4000, 1 << 20};
    for (int k = 0; k < 2; k++) {
        artel__service_cache *cache;
        uint64_t found = 0;
        assert_int_equal(artel__service_cache_create(b->ctx, 24, limits[k], &cache), ARTEL_OK);
        assert_non_null(cache);
        for (uint64_t i = 0; i < 3 * rows; i++) {
            uint8_t got[24], want[24];
            uint64_t row = (i % rows) | (i / rows % 2) << 44; /* two passes, whose elements differ */
            fill(want, row);
            if (artel__service_cache_find(cache, row, got)) {
                assert_memory_equal(got, want, sizeof want);
                found++;
            } else {
                artel__service_cache_keep(cache, row, want);
            }
        }
        if (k == 1) assert_int_equal(found, rows);
        artel__service_cache_destroy(b->ctx, cache);
    }
    artel__service_cache *none;
    assert_int_equal(artel__service_cache_create(b->ctx, 1 << 20, 4000, &none), ARTEL_OK);
    assert_null(none);
    assert_false(artel__service_cache_find(none, 1, NULL));
}

/* ---- journal ---- */

static artel_status count_entry(void *user, const json_t *entry)
{
    int *count = user;
    assert_int_equal(json_integer_value(json_object_get(entry, "n")), *count);
    (*count)++;
    return ARTEL_OK;
}

static void add_entries(bench *b, int from, int to)
{
    artel__journal journal;
    int count = 0;
    assert_int_equal(artel__journal_open(b->ctx, b->path, count_entry, &count, &journal), ARTEL_OK);
    assert_int_equal(count, from);
    for (int n = from; n < to; n++)
        assert_int_equal(artel__journal_add(&journal, json_pack("{s:i}", "n", n)), ARTEL_OK);
    artel__journal_close(&journal);
}

/* Cut anywhere it holds the entries before, and is written on; a byte that changed is damage, and says where. */
static void journal_survives_crashes(void **state)
{
    bench *b = *state;
    char *text;
    size_t size;
    add_entries(b, 0, 5);
    assert_int_equal(artel__read_file(b->ctx, b->path, 1 << 20, &text, &size), ARTEL_OK);
    size_t line = size / 5;
    for (size_t cut = 0; cut < size; cut++) {
        write_journal(b, text, cut);
        add_entries(b, (int)(cut / line), 5);
    }
    for (size_t at = 0; at < size - line; at += 3) {
        artel__journal journal;
        int count = 0;
        text[at] ^= 4;
        write_journal(b, text, size);
        assert_int_equal(artel__journal_open(b->ctx, b->path, count_entry, &count, &journal), ARTEL_ERROR_CORRUPT);
        says(b, ARTEL_ERROR_CORRUPT, "is damaged");
        text[at] ^= 4;
    }
    artel__free(b->ctx, text);
}

static void journal_has_one_writer(void **state)
{
    bench *b = *state;
    artel__journal one, two;
    int count = 0;
    assert_int_equal(artel__journal_open(b->ctx, b->path, count_entry, &count, &one), ARTEL_OK);
    assert_int_equal(artel__journal_open(b->ctx, b->path, count_entry, &count, &two), ARTEL_ERROR_INVALID);
    says(b, ARTEL_ERROR_INVALID, "another process");
    artel__journal_close(&one);
    assert_int_equal(artel__journal_open(b->ctx, NULL, count_entry, &count, &two), ARTEL_OK);
    assert_int_equal(artel__journal_add(&two, json_pack("{s:i}", "n", 1)), ARTEL_OK);
    artel__journal_close(&two);
}

/* ---- descriptions ---- */

static const char described[] =
    "{\"name\":\"d\",\"policy\":\"file\",\"print\":"
    "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\"rows\":7,"
    "\"row_bytes\":32,\"draws\":true,\"sorted\":false,\"columns\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":"
    "\"float32\","
    "\"shape\":[3],\"pixels\":false},{\"name\":\"y\",\"role\":\"target\",\"dtype\":\"int64\",\"shape\":[],\"pixels\":"
    "false}],"
    "\"parts\":[{\"name\":\"a\",\"rows\":0},{\"name\":\"b\",\"rows\":4},{\"name\":\"c\",\"rows\":3}]}";

static artel_status read_description(bench *b, artel__arena *arena, const char *text, artel__service_dataset *out)
{
    json_t *value;
    assert_int_equal(artel__json_load(b->ctx, "test", text, strlen(text), &value), ARTEL_OK);
    artel_status status = artel__service_dataset_read(arena, "test", value, out);
    if (status == ARTEL_OK) {
        json_t *again = artel__service_dataset_json(out);
        assert_true(json_equal(value, again));
        json_decref(again);
    }
    json_decref(value);
    return status;
}

static void descriptions_travel(void **state)
{
    bench *b = *state;
    artel__arena arena;
    artel__service_dataset d;
    artel__arena_init(&arena, b->ctx);
    assert_int_equal(read_description(b, &arena, described, &d), ARTEL_OK);
    assert_int_equal(d.columns[1].at, 16);
    const int part[] = {1, 1, 1, 1, 2, 2, 2};
    for (int row = 0; row < 7; row++) assert_int_equal(artel__service_part_of(&d, row), part[row]);
    artel__arena_fini(&arena);
}

/* One thing wrong at a time. */
static void descriptions_are_checked(void **state)
{
    static const char *const wrong[][2] = {
        {"\"file\"", "\"files\""},
        {"00112233", "0011223X"},
        {"\"rows\":7", "\"rows\":-7"},
        {"\"rows\":7", "\"rows\":99999999999999"},
        {"\"rows\":7", "\"rows\":8"},
        {"\"row_bytes\":32", "\"row_bytes\":16"},
        {"\"input\"", "\"in\""},
        {"\"float32\"", "\"string\""},
        {"[3]", "[-3]"},
        {"[3]", "3"},
        {"[3]", "[4194304,4194304,4194304]"},
        {"\"rows\":3", "\"rows\":9"},
        {"\"name\":\"b\",", ""},
    };
    bench *b = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[1024];
        artel__arena arena;
        artel__service_dataset d;
        const char *at = strstr(described, wrong[i][0]);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - described), described, wrong[i][1],
                 at + strlen(wrong[i][0]));
        artel__arena_init(&arena, b->ctx);
        assert_int_equal(read_description(b, &arena, text, &d), ARTEL_ERROR_INVALID);
        says(b, ARTEL_ERROR_INVALID, "damaged");
        artel__arena_fini(&arena);
    }
}

/* ---- texts ---- */

/* Two rows of a number and two texts, as an answer holds them. */
static void texts_travel(void **state)
{
    bench *b = *state;
    artel__rows_column columns[2] = {{.dtype = ARTEL_DTYPE_INT64, .elements = 1, .bytes = 8},
                                     {.dtype = ARTEL_DTYPE_STRING, .elements = 2, .bytes = 32, .at = 16}};
    const artel__service_dataset d = {.name = "d", .row_bytes = 48, .columns = columns, .column_count = 2};
    const artel__string words[4] = {{"one", 3}, {"", 0}, {"with\0zero", 9}, {"one", 3}};
    uint64_t answer[2 * 6 + 2] = {7}, again[6];
    artel__texts kept;
    assert_true(artel__service_has_texts(&d));
    memcpy(&answer[2], words, 32);
    memcpy(&answer[8], words + 2, 32);
    assert_int_equal(artel__service_texts_bytes(&d, (const uint8_t *)answer, 2), 15);
    artel__service_texts_pack(&d, (uint8_t *)answer, 2);
    const uint8_t *texts = (const uint8_t *)(answer + 12);
    size_t place = 0;
    artel__texts_init(&kept, b->ctx, 0);
    for (int row = 0; row < 2; row++) {
        memcpy(again, answer + 6 * row, sizeof again);
        assert_int_equal(artel__service_texts_unpack(&d, &kept, (uint8_t *)again, texts, 15, &place), ARTEL_OK);
        assert_int_equal(again[0], row == 0 ? 7 : 0);
        for (int i = 0; i < 2; i++) {
            artel__string found;
            memcpy(&found, &again[2 + 2 * i], sizeof found);
            assert_int_equal(found.length, words[2 * row + i].length);
            assert_memory_equal(found.bytes, words[2 * row + i].bytes, found.length);
            assert_true(found.bytes < (const char *)answer || found.bytes >= (const char *)(answer + 14));
        }
    }
    assert_int_equal(place, 15);
    const uint64_t beyond[] = {16, UINT64_MAX, (uint64_t)1 << 63, 1}; /* the last: bytes that were taken already */
    for (int i = 0; i < 7; i++) { /* of one cell the place or the length lies outside, or elsewhere */
        place = 3;
        memcpy(again, answer + 6, sizeof again);
        again[2 + i % 2] = beyond[i / 2];
        assert_int_equal(artel__service_texts_unpack(&d, &kept, (uint8_t *)again, texts, 15, &place),
                         ARTEL_ERROR_INVALID);
    }
    artel__texts_fini(&kept);
}

/* Whoever reads says how long texts last: with him, or with their source. */
static void texts_last_as_long_as_their_reader(void **state)
{
    bench *b = *state;
    artel__rows_column column = {.dtype = ARTEL_DTYPE_STRING, .elements = 2, .bytes = 32};
    const artel__service_dataset d = {.name = "d", .row_bytes = 32, .columns = &column, .column_count = 1};
    const char here[] = "a word";
    artel__string row[2] = {{here, 1}, {here + 2, 4}}, again[2];
    artel__texts own, keeper;
    artel__texts_init(&own, b->ctx, 0);
    artel__texts_init(&keeper, b->ctx, 0);
    memcpy(again, row, sizeof row);
    assert_null(artel__texts_set_keeper(&keeper));
    assert_int_equal(artel__service_texts_hand_on(&d, &own, (uint8_t *)again), ARTEL_OK);
    assert_ptr_equal(artel__texts_set_keeper(NULL), &keeper);
    assert_int_equal(own.bytes, 0);
    assert_int_equal(keeper.bytes, 5);
    assert_true(again[1].bytes != row[1].bytes);
    assert_memory_equal(again[1].bytes, "word", 4);
    artel__texts_clear(&keeper, 5);
    assert_int_equal(keeper.bytes, 5);
    artel__texts_clear(&keeper, 4);
    assert_int_equal(keeper.bytes, 0);
    assert_int_equal(artel__service_texts_hand_on(&d, &own, (uint8_t *)row), ARTEL_OK);
    assert_int_equal(own.bytes, 5);
    assert_int_equal(artel__texts_keep(&keeper, "test", "more", 4, &again[0]), ARTEL_OK);
    assert_memory_equal(again[0].bytes, "more", 4);
    artel__texts_fini(&keeper);
    artel__texts_fini(&own);
}

/* Of a whole answer, before any of it is kept. */
static void texts_must_fit(void **state)
{
    artel__rows_column column = {.dtype = ARTEL_DTYPE_STRING, .elements = 1, .bytes = 16};
    const artel__service_dataset d = {.name = "d", .row_bytes = 16, .columns = &column, .column_count = 1};
    const uint64_t good[4] = {0, 3, 3, 4};
    (void)state;
    assert_true(artel__service_texts_fit(&d, (const uint8_t *)good, 2, 7));
    assert_false(artel__service_texts_fit(&d, (const uint8_t *)good, 2, 8));
    assert_false(artel__service_texts_fit(&d, (const uint8_t *)good, 2, 6));
    for (int i = 0; i < 4; i++) {
        uint64_t bad[4];
        memcpy(bad, good, sizeof bad);
        bad[i] += i % 2 ? UINT64_MAX - 2 : 1;
        assert_false(artel__service_texts_fit(&d, (const uint8_t *)bad, 2, 7));
    }
}

/* ---- how many workers would do ---- */

typedef struct scaling {
    double takes[4], does[4]; /* seconds an element: of clients, of workers; 0: none */
    int64_t now, needed;
} scaling;

/* What tensorflow/core/data/service/auto_scaler_test.cc has its estimates be, by the same times. */
static void DS7_estimate_is_that_of_tf_data(void **state)
{
    static const scaling cases[] = {
        {{0}, {0}, 9, 0},
        {{1e-5}, {0}, 9, 0},
        {{0}, {1e-5}, 9, 0},
        {{1e-5}, {1e-5}, 0, 0},
        {{0.025}, {0.2}, 9, 8},
        {{0.025, 0.05}, {0.2, 0.15}, 9, 11},
        {{0.01, 0.02}, {0.1, 0.2}, 9, 20},
        {{5e-7, 0.003, 0.002}, {0.08}, 99, 107},
        {{0.0003}, {0.08, 0.07, 1e-6}, 99, 244},
        {{1e-5}, {5e-4}, 15, 50},
        {{1e-6}, {1e-5}, 2, 8},
        {{1e-6}, {0.01}, 1000, 1500},
        {{1e-6}, {0.2}, 99700, 100000},
        {{1}, {1e-3}, 7, 1},
    };
    static artel__service_estimate e;
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        int dataset = (int)i;
        for (int k = 0; k < 4 && cases[i].takes[k] > 0; k++) {
            const artel__service_demand demand = {dataset, k, 1 / cases[i].takes[k], 1};
            artel__service_estimate_hear(&e, &demand);
        }
        artel__service_estimate_begin(&e, dataset, 1);
        for (int k = 0; k < 4 && cases[i].does[k] > 0; k++) artel__service_estimate_add(&e, 1 / cases[i].does[k]);
        assert_int_equal(artel__service_estimate_end(&e, cases[i].now), cases[i].needed);
    }
}

static int64_t needed_for(artel__service_estimate *e, int64_t now_ns)
{
    artel__service_estimate_begin(e, 0, now_ns);
    artel__service_estimate_add(e, 1);
    return artel__service_estimate_end(e, 1000);
}

/* What a client said last counts, for a minute; what is no rate was not said; of too many the oldest goes. */
static void DS7_clients_come_and_go(void **state)
{
    static const double no_rates[] = {0, -1, INFINITY, NAN, 1e300};
    static artel__service_estimate e;
    (void)state;
    artel__service_demand demand = {0, 7, 5, 1};
    artel__service_estimate_hear(&e, &demand);
    demand.rate = 3;
    artel__service_estimate_hear(&e, &demand);
    assert_int_equal(needed_for(&e, 1), 3);
    for (size_t i = 0; i < ARTEL__COUNT(no_rates); i++) {
        demand.rate = no_rates[i];
        artel__service_estimate_hear(&e, &demand);
        artel__service_estimate_begin(&e, 0, 1);
        artel__service_estimate_add(&e, no_rates[i]);
        assert_int_equal(artel__service_estimate_end(&e, 9), 0);
    }
    assert_int_equal(needed_for(&e, 1), 3);
    assert_int_equal(needed_for(&e, INT64_C(61000000000)), 0);
    demand.rate = 1;
    for (int i = 0; i < ARTEL__SERVICE_DEMANDS; i++) {
        demand.client = 1000 + i;
        demand.heard_ns = 2 + i;
        artel__service_estimate_hear(&e, &demand);
    }
    assert_int_equal(e.demands, ARTEL__SERVICE_DEMANDS);
    assert_int_equal(needed_for(&e, 2), ARTEL__SERVICE_DEMANDS);
}

/* Readers that have taken nothing since the last answer are no reason for more workers. */
static void DS7_readers_that_rest_ask_for_nothing(void **state)
{
    artel__pace pace = {.readers = 4};
    artel__service_told told = {0};
    (void)state;
    assert_true(artel__service_demand_of(&pace, &told) == 0);
    pace.at_work = 1;
    pace.rows = 500;
    pace.ns = 50000000; /* too little to say anything */
    assert_true(artel__service_demand_of(&pace, &told) == 0);
    pace.rows = 1000;
    pace.ns = 100000000;
    assert_true(artel__service_demand_of(&pace, &told) == 10000);
    assert_true(artel__service_demand_of(&pace, &told) == 10000); /* within a long step */
    assert_int_equal(pace.turn, 1);
    pace.at_work = 3;
    pace.rows = 4000;
    pace.ns = 400000000;
    assert_true(artel__service_demand_of(&pace, &told) == 30000);
    assert_int_equal(pace.at_work, 0);
    pace.readers = 0;
    assert_true(artel__service_demand_of(&pace, &told) == 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(cache_keeps_elements),
                                       CASE(journal_survives_crashes),
                                       CASE(journal_has_one_writer),
                                       CASE(descriptions_travel),
                                       CASE(descriptions_are_checked),
                                       CASE(texts_travel),
                                       CASE(texts_last_as_long_as_their_reader),
                                       CASE(texts_must_fit),
                                       CASE(DS7_estimate_is_that_of_tf_data),
                                       CASE(DS7_clients_come_and_go),
                                       CASE(DS7_readers_that_rest_ask_for_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
