/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a pipeline: a pass that is stopped and taken up again, elements asked for by several threads, memory that
 * runs out; and the same failures while other sources are opened and read. */
#include <pthread.h>

#include "data/help_data.h"
#include "data/record_write.h"
#include "data/stage.h"

enum {
    ROWS = 60,
    THREADS = 4
};

static const char *write_rows(bench *b)
{
    uint8_t file[4096];
    int64_t values[ROWS];
    for (int i = 0; i < ROWS; i++) values[i] = i * 7;
    size_t size = make_npy(file, "{'descr': '<i8', 'fortran_order': False, 'shape': (60,), }", values, sizeof values);
    return bench_write(b, "x.npy", file, size);
}

/* Shuffled, filtered, cached, windowed, repeated, taken apart, batched, padded: every kind of state. */
static const char *write_pipeline(bench *b)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"from\": {\"interleave\": [\"npy:%s\", {\"from\": \"npy:%s\", \"stages\": [{\"stage\": \"take\", "
             "\"count\": 9}]}], "
             "\"block\": 2},"
             " \"stages\": [{\"stage\": \"shuffle\", \"seed\": 3}, {\"stage\": \"shuffle\", \"buffer\": 8},"
             " {\"stage\": \"filter\", \"column\": \"x\", \"is\": \"<\", \"value\": 300}, {\"stage\": \"scale\", "
             "\"column\": \"x\", "
             "\"divide\": 3},"
             " {\"stage\": \"cache\"}, {\"stage\": \"window\", \"size\": 4, \"shift\": 3}, {\"stage\": \"repeat\", "
             "\"count\": 5}, {\"stage\": \"unbatch\"}, {\"stage\": \"batch\", \"size\": 3},"
             " {\"stage\": \"pad\", \"column\": \"x\", \"shape\": [4], \"value\": -1}]}",
             write_rows(b), bench_path(b, "x.npy"));
    return bench_text(b, "p.json", text);
}

typedef struct built {
    artel__arena arena;
    artel__stage *top;
    uint8_t hash[32];
} built;

static artel_status build(bench *b, const char *path, built *out)
{
    json_t *value;
    artel__sha256 hash;
    artel__arena_init(&out->arena, b->ctx);
    out->top = NULL;
    ARTEL_TRY(artel__json_load_file(b->ctx, path, &value));
    artel__sha256_init(&hash);
    artel_status status = artel__pipeline_build(b->ctx, &out->arena, path, value, &hash, &out->top);
    artel__sha256_final(&hash, out->hash);
    json_decref(value);
    return status;
}

static void drop(built *p)
{
    artel__stage_close(p->top);
    artel__arena_fini(&p->arena);
}

static void passes(void **state)
{
    bench *b = *state;
    built one, other;
    const char *path = write_pipeline(b);
    assert_int_equal(build(b, path, &one), ARTEL_OK);
    assert_int_equal(build(b, path, &other), ARTEL_OK);
    assert_memory_equal(one.hash, other.hash, sizeof one.hash);
    artel__stage_position at = {0};
    for (int64_t i = 0;; i++) {
        float x[4], y[4];
        void *columns[1] = {x};
        bool end;
        artel__stage_position saved = at; /* a position is a number: saved, and restored in another pipeline */
        assert_int_equal(artel__stage_next(one.top, &at, columns, &end), ARTEL_OK);
        if (end) {
            assert_int_equal(i, one.top->count);
            break;
        }
        columns[0] = y;
        assert_int_equal(artel__stage_next(other.top, &saved, columns, &end), ARTEL_OK);
        assert_memory_equal(x, y, sizeof x);
        assert_int_equal(saved.next, at.next);
    }
    assert_true(one.top->count > 30);
    drop(&one);
    drop(&other);
}

static void *read_all(void *user)
{
    const artel__stage *top = user;
    uint64_t sum = 0;
    for (int64_t i = 0; i < top->count; i++) {
        float x[4];
        if (artel__stage_at(top, 0, i, x) < 0) return NULL;
        sum = sum * 31 + artel__hash64(x, sizeof x);
    }
    return (void *)(uintptr_t)(sum | 1);
}

/* The cache is filled by all of them. */
static void threads(void **state)
{
    bench *b = *state;
    built p;
    pthread_t thread[THREADS];
    void *sum[THREADS];
    assert_int_equal(build(b, write_pipeline(b), &p), ARTEL_OK);
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&thread[t], NULL, read_all, p.top), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], &sum[t]);
    for (int t = 0; t < THREADS; t++) assert_ptr_equal(sum[t], sum[0]);
    assert_non_null(sum[0]);
    drop(&p);
}

/* Opens and reads the first rows of every column. */
static artel_status read_some(bench *b, const char *specification)
{
    artel_data *data;
    artel__arena arena;
    artel__rows rows;
    uint8_t row[4096];
    ARTEL_TRY(artel_data_open(b->ctx, specification, &data));
    artel__arena_init(&arena, b->ctx);
    artel_status status = artel__rows_open(data, &arena, true, &rows);
    for (int64_t i = 0; status == ARTEL_OK && i < rows.count && i < 5; i++) {
        for (int c = 0; status == ARTEL_OK && c < rows.column_count; c++) {
            assert_true(rows.columns[c].bytes <= sizeof row);
            status = artel__rows_fetch(&rows, c, i, row);
        }
    }
    artel__arena_fini(&arena);
    artel_data_destroy(data);
    return status;
}

static void write_records(bench *b, const char *path)
{
    artel__record_writer writer;
    artel__text features, record;
    char digest[65];
    assert_int_equal(artel__record_writer_open(b->ctx, path, ARTEL__RECORDS_PLAIN, &writer), ARTEL_OK);
    artel__text_init(&features, b->ctx);
    artel__text_init(&record, b->ctx);
    for (int64_t i = 0; i < 20; i++) {
        const float values[3] = {(float)i, 1, 2};
        artel__text_clear(&features);
        artel__text_clear(&record);
        artel__example_add_floats(&features, "x", values, 3);
        artel__example_add_ints(&features, "y", &i, 1);
        artel__example_end(&features, &record);
        assert_int_equal(artel__record_writer_add(&writer, record.data, record.length), ARTEL_OK);
    }
    assert_int_equal(artel__record_writer_commit(&writer, true, digest), ARTEL_OK);
    artel__record_writer_close(&writer);
    artel__text_fini(&features);
    artel__text_fini(&record);
}

/* Each allocation fails once: nothing is lost, nothing is read that is not there, and the cause is said. */
static void memory_runs_out(void **state)
{
    bench *b = *state;
    char spec[6][640];
    write_records(b, bench_path(b, "r"));
    snprintf(spec[0], sizeof spec[0], "pipeline:%s", write_pipeline(b));
    snprintf(spec[1], sizeof spec[1], "tfrecord:%s", bench_path(b, "r"));
    snprintf(spec[2], sizeof spec[2], "jsonl:%s#label=y",
             bench_text(b, "a.jsonl", "{\"x\": [1, 2.5], \"y\": 3}\n{\"x\": [4, 5], \"y\": 1}\n"));
    snprintf(spec[3], sizeof spec[3], "text:%s#length=3", bench_text(b, "a.txt", "abcdefghij"));
    snprintf(spec[4], sizeof spec[4], "csv:%s#label=y&stream=yes", bench_text(b, "a.csv", "a,b,y\n1,2,3\n4,,6\n"));
    snprintf(spec[5], sizeof spec[5], "tfrecord:%s,%s", bench_path(b, "r"), bench_path(b, "r"));
    for (int s = 0; s < 6; s++) {
        artel_status status = ARTEL_ERROR_NO_MEMORY;
        uint64_t n = 1;
        for (; status == ARTEL_ERROR_NO_MEMORY; n++) {
            artel__fail_allocation_after(b->ctx, n);
            status = read_some(b, spec[s]);
            artel__fail_allocation_after(b->ctx, 0);
            if (status < 0) artel_context_clear(b->ctx);
        }
        assert_int_equal(status, s == 4 ? ARTEL_ERROR_CORRUPT : ARTEL_OK); /* an empty field without a default */
        assert_true(n > 5);
    }
}

/* Numbers near the largest of 64 bits: refused where the number of an element would not fit, right where it does. */
static void huge_counts(void **state)
{
    static const char without_end[] = "{\"stage\": \"repeat\"}",
                      skip[] = "{\"stage\": \"skip\", \"count\": 9000000000000000000}";
    static const char shard[] = "{\"stage\": \"shard\", \"count\": 9000000000000000000, \"index\": 7}";
    static const char take[] = "{\"stage\": \"take\", \"count\": 2}",
                      most[] = "{\"stage\": \"repeat\", \"count\": 38430716820228233}"; /* 2^61 + 28 elements */
    static const char window[] = "{\"stage\": \"window\", \"size\": 4, \"shift\": 1000000000000000}";
    static const char less[] = "{\"stage\": \"repeat\", \"count\": 30000000000000000}"; /* 1.8e18 elements */
    static const char filter[] = "{\"stage\": \"filter\", \"column\": \"x\", \"is\": \"finite\"}";
    static const char buffered[] = "{\"stage\": \"shuffle\", \"buffer\": 8}";
    const struct {
        const char *stages[5];
        artel_status status;
        const char *part; /* of the message */
        int64_t wanted;   /* element 1 */
    } rows[] = {
        {{without_end, skip, take}, ARTEL_OK, "", (9000000000000000000 + 1) % ROWS * 7},
        {{without_end, skip, skip, take}, ARTEL_ERROR_INVALID, "stage 4 (skip): it begins behind", 0},
        {{without_end, shard, take}, ARTEL_OK, "", (9000000000000000000 + 7) % ROWS * 7},
        {{without_end, skip, shard, take}, ARTEL_ERROR_INVALID, "stage 5 (take): only 1 can be numbered", 0},
        {{without_end, window, shard, take}, ARTEL_ERROR_INVALID, "stage 5 (take): only 1 can be numbered", 0},
        {{most, buffered, take}, ARTEL_ERROR_INVALID, "cannot be shuffled", 0},
        {{less, buffered, take}, ARTEL_ERROR_NO_MEMORY, "(shuffle)", 0},
        {{most, filter, take}, ARTEL_ERROR_NO_MEMORY, "(filter)", 0},
        {{most, "{\"stage\": \"cache\"}", take}, ARTEL_ERROR_INVALID, "are to be kept", 0},
    };
    bench *b = *state;
    write_rows(b);
    for (size_t r = 0; r < ARTEL__COUNT(rows); r++) {
        char text[1024];
        int64_t x[4];
        built p;
        int length = snprintf(text, sizeof text, "{\"from\": \"npy:%s\", \"stages\": [", bench_path(b, "x.npy"));
        for (int s = 0; rows[r].stages[s] != NULL; s++)
            length +=
                snprintf(text + length, sizeof text - (size_t)length, "%s%s", s > 0 ? ", " : "", rows[r].stages[s]);
        snprintf(text + length, sizeof text - (size_t)length, "]}");
        assert_int_equal(build(b, bench_text(b, "h.json", text), &p), rows[r].status);
        if (rows[r].status < 0) {
            bench_failed(b, rows[r].status, rows[r].part);
        } else {
            assert_int_equal(artel__stage_at(p.top, 0, 1, x), ARTEL_OK);
            assert_int_equal(x[0], rows[r].wanted);
        }
        drop(&p);
    }
}

/* ---- several columns of an element ---- */

enum {
    WIDTH = 4,
    MOST_COLUMNS = 4,
    MOST_BYTES = 256
};

/* What a stage that was put below another one has been asked. */
static struct {
    int readings, columns;
} asked;

static artel_status counted_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    asked.readings++;
    asked.columns += count;
    return artel__stage_at_some(stage->inputs[0], wants, count, index);
}

static const artel__stage_ops counting = {
    .name = "counting", .at = artel__stage_at_one, .at_some = counted_at_some, .same_number = true};

/* The top's input, counted. */
static void count_below(built *p, artel__stage *counter, artel__stage **input)
{
    *input = p->top->inputs[0];
    *counter = **input;
    counter->ops = &counting;
    counter->inputs = input;
    counter->input_count = 1;
    p->top->inputs[0] = counter;
    asked.readings = asked.columns = 0;
}

static void write_columns(bench *b)
{
    uint8_t file[4096];
    float values[ROWS][WIDTH];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < ROWS; i++)
            for (int w = 0; w < WIDTH; w++) values[i][w] = (float)((i * WIDTH + w) * (k > 0 ? 10 : 1));
        size_t size =
            make_npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (60, 4), }", values, sizeof values);
        bench_write(b, k > 0 ? "v.npy" : "u.npy", file, size);
    }
}

/* All columns of element 3 at once, and in each case how often the stage below was asked, and for how many columns;
 * `again`: the same for the second time. The values are those of the columns one by one. */
static void columns_are_asked_for_together(void **state)
{
    static const struct {
        const char *stage;
        int readings, columns, again;
    } rows[] = {{"\"window\", \"size\": 3", 3, 6, 3},
                {"\"window\", \"size\": 3, \"columns\": [\"x\"]", 3, 4, 3},
                {"\"window\", \"size\": 3, \"columns\": [\"x\"], \"offset\": 2", 4, 4, 4},
                {"\"batch\", \"size\": 2", 2, 4, 2},
                {"\"unbatch\"", 1, 2, 1},
                {"\"cache\"", 1, 2, 0},
                {"\"cache\", \"file\": \"FOLDER/kept\"", 1, 2, 0},
                {"\"snapshot\", \"folder\": \"FOLDER\"", 1, 2, 0},
                {"\"stack_columns\", \"columns\": [\"x\"], \"to\": \"z\"", 1, 2, 1},
                {"\"concatenate_columns\", \"columns\": [\"y\"], \"to\": \"z\"", 1, 2, 1}};
    bench *b = *state;
    write_columns(b);
    for (size_t r = 0; r < ARTEL__COUNT(rows); r++) {
        char text[2048], stage[600];
        uint8_t one[MOST_COLUMNS][MOST_BYTES], some[2][MOST_COLUMNS][MOST_BYTES];
        artel__stage_want wants[2][MOST_COLUMNS];
        artel__stage counter, *input;
        built p;
        const char *folder = strstr(rows[r].stage, "FOLDER");
        int head = folder != NULL ? (int)(folder - rows[r].stage) : (int)strlen(rows[r].stage);
        snprintf(stage, sizeof stage, "%.*s%s%s", head, rows[r].stage, folder != NULL ? b->folder : "",
                 folder != NULL ? folder + strlen("FOLDER") : "");
        snprintf(text, sizeof text, "{\"from\": \"npy:%s,%s\", \"stages\": [{\"stage\": %s}]}", bench_path(b, "u.npy"),
                 bench_path(b, "v.npy"), stage);
        if (build(b, bench_text(b, "t.json", text), &p) < 0)
            fail_msg("%s: %s", text, artel_context_error(b->ctx)->what);
        count_below(&p, &counter, &input);
        int columns = p.top->column_count;
        for (int c = 0; c < columns; c++)
            for (int k = 0; k < 2; k++) wants[k][c] = (artel__stage_want){columns - 1 - c, some[k][columns - 1 - c]};
        assert_int_equal(artel__stage_at_some(p.top, wants[0], columns, 3), ARTEL_OK);
        assert_int_equal(asked.readings, rows[r].readings);
        assert_int_equal(asked.columns, rows[r].columns);
        assert_int_equal(artel__stage_at_some(p.top, wants[1], columns, 3), ARTEL_OK);
        assert_int_equal(asked.readings, rows[r].readings + rows[r].again);
        p.top->inputs[0] = input;
        for (int c = 0; c < columns; c++) {
            assert_int_equal(artel__stage_at(p.top, c, 3, one[c]), ARTEL_OK);
            assert_memory_equal(one[c], some[0][c], p.top->columns[c].bytes);
            assert_memory_equal(one[c], some[1][c], p.top->columns[c].bytes);
        }
        drop(&p);
    }
}

/* Each input of a zip is asked once. */
static void inputs_are_asked_once(void **state)
{
    bench *b = *state;
    char text[2048];
    const char *u = bench_path(b, "u.npy"), *v = bench_path(b, "v.npy");
    float row[4][WIDTH];
    artel__stage counter, *input;
    built p;
    write_columns(b);
    snprintf(text, sizeof text,
             "{\"zip\": [\"npy:%s,%s\", {\"from\": \"npy:%s,%s\", \"stages\": [{\"stage\": \"rename\", \"column\": "
             "\"x\", \"to\": \"a\"}, {\"stage\": \"rename\", \"column\": \"y\", \"to\": \"b\"}]}]}",
             u, v, v, u);
    assert_int_equal(build(b, bench_text(b, "z.json", text), &p), ARTEL_OK);
    count_below(&p, &counter, &input);
    const artel__stage_want wants[] = {{3, row[3]}, {0, row[0]}, {2, row[2]}, {1, row[1]}, {0, row[0]}};
    assert_int_equal(artel__stage_at_some(p.top, wants, 5, 5), ARTEL_OK);
    for (int w = 0; w < WIDTH; w++) {
        float was = (float)(5 * WIDTH + w);
        assert_true(row[0][w] == was && row[1][w] == 10 * was && row[2][w] == 10 * was && row[3][w] == was);
    }
    assert_int_equal(asked.readings, 1);
    assert_int_equal(asked.columns, 3);
    p.top->inputs[0] = input;
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(threads, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(huge_counts, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(memory_runs_out, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(columns_are_asked_for_together, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(inputs_are_asked_once, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
