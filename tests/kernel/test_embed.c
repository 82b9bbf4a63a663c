/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding: fast against reference, the table's gradient under any distribution of shards and as rows, indices out of
 * range. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/embed.h"

static void gradient_part(check_part *part, const int32_t *index, const float *dy, int64_t per_row, int64_t vocabulary,
                          int64_t width)
{
    const artel__fold_plan *plan = &part->plan;
    int64_t positions = plan->rows * per_row, at = plan->row * per_row;
    size_t sorted_bytes = (size_t)positions * 4, first_bytes = (size_t)(plan->nodes * (vocabulary + 1)) * 4;
    int32_t *sorted = check_alloc(sorted_bytes), *first = check_alloc(first_bytes);
    memset(sorted, 0, sorted_bytes);
    artel__embed_sort s = {plan, per_row, vocabulary, index + at, sorted, first};
    check_buffer buffers[] = {{sorted, sorted_bytes}, {first, first_bytes}};
    check_kernels(artel__embed_sort_kernels, &s, buffers, 2);
    part->block_bytes = (size_t)(vocabulary * width) * 4;
    part->blocks = check_alloc((size_t)plan->nodes * part->block_bytes);
    artel__embed_gradient g = {
        plan,         per_row,           vocabulary, width, sorted, first, dy + at * width, ARTEL__OCCURRENCE_ITSELF,
        part->blocks, vocabulary * width};
    check_kernels(artel__embed_gradient_kernels, &g,
                  &(check_buffer){part->blocks, (size_t)plan->nodes * part->block_bytes}, 1);
    check_free(sorted), check_free(first);
}

static void gradient_root(int32_t shards, int32_t replicas, int64_t rows, const int32_t *index, const float *dy,
                          int64_t per_row, int64_t vocabulary, int64_t width, float *root)
{
    check_part part[8] = {0};
    for (int32_t r = 0; r < replicas; r++) {
        int32_t first = artel__replica_first_shard(shards, replicas, r),
                next = artel__replica_first_shard(shards, replicas, r + 1);
        check_plan_init(&part[r].plan, shards, first, next - first, rows);
        gradient_part(&part[r], index, dy, per_row, vocabulary, width);
    }
    check_finish(part, replicas, vocabulary * width, check_add_floats, root);
    for (int32_t r = 0; r < replicas; r++) {
        check_free(part[r].blocks);
        check_plan_fini(&part[r].plan);
    }
}

/* The tokens of a batch, ascending, and their positions. */
static artel__embed_tokens tokens_of(const int32_t *index, int64_t positions, int64_t vocabulary)
{
    size_t bytes = (size_t)positions * 4;
    artel__embed_tokens t = {positions,          vocabulary,         index,         check_alloc(bytes),
                             check_alloc(bytes), check_alloc(bytes), check_alloc(4)};
    check_buffer buffers[] = {{t.sorted, bytes}, {t.end, bytes}, {t.token, bytes}, {t.count, 4}};
    memset(t.sorted, 0, bytes), memset(t.end, 0, bytes), memset(t.token, 0, bytes);
    check_kernels(artel__embed_tokens_kernels, &t, buffers, 4);
    int64_t valid = 0, listed = *t.count ? t.end[*t.count - 1] : 0;
    for (int64_t i = 0; i < positions; i++) valid += index[i] >= 0 && index[i] < vocabulary;
    assert_int_equal(listed, valid);
    for (int32_t k = 0; k < *t.count; k++) {
        int32_t from = k ? t.end[k - 1] : 0;
        assert_true(from < t.end[k] && (k == 0 || t.token[k - 1] < t.token[k]));
        for (int32_t i = from; i < t.end[k]; i++)
            assert_true(index[t.sorted[i]] == t.token[k] && (i == from || t.sorted[i - 1] < t.sorted[i]));
    }
    return t;
}

static void tokens_free(const artel__embed_tokens *t)
{
    check_free(t->sorted), check_free(t->end), check_free(t->token), check_free(t->count);
}

/* Rows hold the bits of the table-size gradient, which has zeros everywhere else. */
static void check_rows(int64_t rows, const int32_t *index, const float *dy, int64_t per_row, int64_t vocabulary,
                       int64_t width, const float *root)
{
    int64_t positions = rows * per_row;
    size_t bytes = (size_t)(positions * width) * 4;
    artel__embed_tokens t = tokens_of(index, positions, vocabulary);
    float *row = check_alloc(bytes), *whole = check_alloc((size_t)(vocabulary * width) * 4);
    memset(row, 0, bytes), memset(whole, 0, (size_t)(vocabulary * width) * 4);
    artel__embed_rows r = {16, rows, per_row, width, t.sorted, t.end, t.count, dy, ARTEL__OCCURRENCE_ITSELF, row};
    check_kernels(artel__embed_rows_kernels, &r, &(check_buffer){row, bytes}, 1);
    for (int32_t k = 0; k < *t.count; k++) memcpy(whole + t.token[k] * width, row + k * width, (size_t)width * 4);
    assert_memory_equal(whole, root, (size_t)(vocabulary * width) * 4);
    for (int of = ARTEL__OCCURRENCE_SQUARE; of <= ARTEL__OCCURRENCE_SIZE; of++) {
        r.of = (artel__occurrence)of;
        check_kernels(artel__embed_rows_kernels, &r, &(check_buffer){row, bytes}, 1);
    }
    check_free(row), check_free(whole), tokens_free(&t);
}

static void test_tokens(void **state)
{
    static const int64_t vocabularies[] = {1, 2, 2048, 2049, 1000000, INT32_MAX - 1};
    check_random random = {3};
    int32_t index[3000];
    (void)state;
    for (size_t v = 0; v < sizeof vocabularies / sizeof *vocabularies; v++) {
        for (int i = 0; i < 3000; i++)
            index[i] = (int32_t)check_below(&random, i % 2 ? vocabularies[v] : (vocabularies[v] + 999) / 1000);
        index[17] = -1, index[18] = INT32_MIN, index[19] = (int32_t)vocabularies[v];
        artel__embed_tokens t = tokens_of(index, 3000, vocabularies[v]);
        tokens_free(&t);
    }
}

static void gradient_case(int64_t rows, int64_t per_row, int64_t vocabulary, int64_t width, check_random *random)
{
    int64_t positions = rows * per_row, n = vocabulary * width;
    float *dy = check_floats(random, positions * width, -1, 1), *root = check_alloc((size_t)n * 4),
          *other = check_alloc((size_t)n * 4);
    double *truth = check_alloc((size_t)n * 8);
    int32_t *index = check_alloc((size_t)positions * 4);
    for (int64_t i = 0; i < positions; i++)
        index[i] = (int32_t)(check_below(random, vocabulary) * check_below(random, 2));
    if (positions > 3) index[2] = -1, index[3] = (int32_t)vocabulary;
    memset(truth, 0, (size_t)n * 8);
    for (int64_t i = 0; i < positions * width; i++) {
        int32_t token = index[i / width];
        if (token >= 0 && token < vocabulary) truth[token * width + i % width] += (double)dy[i];
    }
    gradient_root(16, 1, rows, index, dy, per_row, vocabulary, width, root);
    for (int64_t i = 0; i < n; i++) assert_true(fabs(truth[i] - (double)root[i]) < 1e-4);
    check_rows(rows, index, dy, per_row, vocabulary, width, root);
    for (int32_t replicas = 2; replicas <= 8; replicas += 3) {
        gradient_root(16, replicas, rows, index, dy, per_row, vocabulary, width, other);
        assert_memory_equal(root, other, (size_t)n * 4);
    }
    check_free(dy), check_free(root), check_free(other), check_free(truth), check_free(index);
}

static void test_gradient(void **state)
{
    check_random random = {1};
    (void)state;
    gradient_case(40, 5, 7, 3, &random);
    gradient_case(40, 5, 100, 16, &random);
    gradient_case(5, 1, 3, 150, &random);
    gradient_case(0, 4, 5, 8, &random);
    gradient_case(64, 20, 1, 1, &random);
    gradient_case(100, 3, 70, 33, &random);
}

static void test_forward(void **state)
{
    check_random random = {2};
    int32_t index[30];
    float *table = check_floats(&random, 9 * 200, -1, 1), *y = check_floats(&random, 30 * 200, 0, 1);
    _Atomic int64_t row = INT64_MAX, value = 0;
    (void)state;
    for (int i = 0; i < 30; i++) index[i] = (int32_t)check_below(&random, 9);
    artel__embed_forward p = {30, 3, 9, 200, index, table, y, {&row, &value, 50}, {.row = NULL}};
    check_kernels(artel__embed_forward_kernels, &p, &(check_buffer){y, 30 * 200 * 4}, 1);
    assert_true(atomic_load(&row) == INT64_MAX);
    for (int i = 0; i < 30; i++) assert_memory_equal(y + i * 200, table + index[i] * 200, 800);
    index[20] = 9, index[7] = -4;
    check_kernels(artel__embed_forward_kernels, &p, &(check_buffer){y, 30 * 200 * 4}, 1);
    assert_true(atomic_load(&row) == 52 && y[7 * 200] == 0 && y[20 * 200 + 199] == 0);
    p.fault = (artel__fault_slot){0};
    check_kernels(artel__embed_forward_kernels, &p, &(check_buffer){y, 30 * 200 * 4}, 1);
    check_free(table), check_free(y);
}

/* Rows 11 k of a table that is not there, k < 40; the hash of 64 places or more meets itself. */
static void test_held_rows(void **state)
{
    check_random random = {3};
    int32_t index[90];
    artel__held_place place[128];
    float *rows = check_floats(&random, 40 * 20, -1, 1), *y = check_floats(&random, 90 * 20, 0, 1);
    _Atomic int64_t row = INT64_MAX, value = 0;
    (void)state;
    memset(place, 0xff, sizeof place);
    for (int32_t k = 0; k < 40; k++) {
        uint32_t at = artel__held_first(25, 11 * k);
        while (place[at].token >= 0) at = (at + 1) % 128;
        place[at] = (artel__held_place){11 * k, k};
    }
    for (int i = 0; i < 90; i++) index[i] = 11 * (int32_t)check_below(&random, 40);
    artel__embed_forward p = {90, 3, 500, 20, index, NULL, y, {&row, &value, 50}, {rows, place, 127, 25}};
    check_kernels(artel__embed_forward_kernels, &p, &(check_buffer){y, 90 * 20 * 4}, 1);
    assert_true(atomic_load(&row) == INT64_MAX);
    for (int i = 0; i < 90; i++) assert_memory_equal(y + i * 20, rows + index[i] / 11 * 20, 80);
    index[80] = 500, index[7] = 12;
    check_kernels(artel__embed_forward_kernels, &p, &(check_buffer){y, 90 * 20 * 4}, 1);
    assert_true(atomic_load(&row) == 52 && atomic_load(&value) == 12 && y[7 * 20] == 0 && y[80 * 20 + 19] == 0);
    check_free(rows), check_free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_held_rows),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
