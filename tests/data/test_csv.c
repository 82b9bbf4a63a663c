/* SPDX-License-Identifier: Apache-2.0 */
/* csv: quoting after RFC 4180, dtypes column by column, options, and errors that name line and column. */
#include <stdio.h>
#include <stdlib.h>

#include "data/csv_reader.h"
#include "data/help_data.h"

/* Binds a vector of `width` inputs and one float target of `targets` values; returns all rows. */
static int64_t read_table(bench *b, artel_data *data, int64_t width, int64_t targets, float *x, float *y)
{
    simple_wants w;
    void *buffers[2] = {x, y};
    wants_init(&w, 1, width);
    w.target = (artel__data_want_target){
        .name = "out", .dtype = ARTEL_DTYPE_FLOAT32, .row = {1, {targets}}, .kind = ARTEL__DATA_TARGET_VALUES};
    artel__feed *feed = bench_bind(b, data, &w.wants);
    int64_t rows = artel__feed_count(feed);
    bench_fetch(b, feed, 0, rows, buffers);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
    return rows;
}

static void quoting(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               "plain,\"quo\"\"ted\",\"a,b\nc\",\r\n\r\n,last\n\"\",\"x\"";
    static const char *const expected[] = {"plain", "quo\"ted", "a,b\nc", "", "|", "", "last", "|", "", "x", "|"};
    bench *b = *state;
    artel__csv_reader reader;
    artel__csv_field field;
    size_t at = 0;
    int64_t lines[] = {1, 4, 5};
    artel__csv_init(&reader, b->ctx, "t", text, sizeof text - 1, ',');
    for (int record = 0; artel__csv_next_record(&reader); record++) {
        assert_int_equal(reader.line, lines[record]);
        while (artel__csv_next_field(&reader, &field) == ARTEL_OK) {
            assert_true(at < ARTEL__COUNT(expected));
            assert_int_equal(field.length, strlen(expected[at]));
            assert_memory_equal(field.text, expected[at], field.length);
            at++;
        }
        assert_string_equal(expected[at++], "|");
    }
    assert_int_equal(at, ARTEL__COUNT(expected));
    artel__csv_fini(&reader);
}

static void header_and_label(void **state)
{
    bench *b = *state;
    float x[4], y[2];
    const char *path = bench_text(b, "t.csv", "a,label,b\r\n1,7,2.5\r\n\"3\",8, 4 \r\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=label", path), 2, 1, x, y), 2);
    assert_true(x[0] == 1 && x[1] == 2.5f && x[2] == 3 && x[3] == 4 && y[0] == 7 && y[1] == 8);
    path = bench_text(b, "n.csv", "1;7;2.5\n3;8;-4e0\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=1&delimiter=;", path), 2, 1, x, y), 2);
    assert_true(x[0] == 1 && x[1] == 2.5f && x[2] == 3 && x[3] == -4 && y[0] == 7 && y[1] == 8);
    path = bench_text(b, "h.csv", "1,2\n3,4\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=2&header=yes", path), 1, 1, x, y), 1);
    assert_true(x[0] == 3 && y[0] == 4);
}

/* What pandas, numpy.savetxt, R and spreadsheets write besides. */
static void as_others_write(void **state)
{
    bench *b = *state;
    float x[8], y[4];
    const char *path = bench_text(b, "pandas.csv", ",rooms,age,price\n0,1.5,2,3\n1,4,5,6\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=price", path), 2, 1, x, y), 2);
    assert_true(x[0] == 1.5f && x[1] == 2 && x[3] == 5 && y[1] == 6);
    assert_non_null(strstr(b->log, "pandas' index"));
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=price&columns=Unnamed: 0,age", path), 2, 1, x, y), 2);
    assert_true(x[0] == 0 && x[1] == 2 && x[2] == 1);
    path = bench_text(b, "unnamed.csv", ",a,y\n7,1.5,3\n9,4,6\n"); /* no index: it counts as an input */
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y", path), 2, 1, x, y), 2);
    assert_true(x[0] == 7 && x[1] == 1.5f);
    path = bench_text(b, "ends.csv", "a,b,y,\n1,2,3,\n4,5,6,\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y", path), 2, 1, x, y), 2);
    assert_true(x[2] == 4 && x[3] == 5 && y[1] == 6);
    path = bench_text(b, "lines.csv", "a,b,y\n1,2,3,\n4,5,6, \n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y", path), 2, 1, x, y), 2);
    assert_true(x[2] == 4 && x[3] == 5 && y[1] == 6);
    path = bench_text(b, "blanks.csv", "a, b, y\n1, \"2\", 3\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y&columns=b", path), 1, 1, x, y), 1);
    assert_true(x[0] == 2 && y[0] == 3);
    path = bench_text(b, "savetxt.csv", "# made by\n# a,b,y\n1,2,3\n");
    b->log[0] = '\0';
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=2", path), 2, 1, x, y), 1);
    assert_non_null(strstr(b->log, "2 lines in front"));
    path = bench_text(b, "words.csv", "a,b,y\nTrue,NA,3\nFalse,0.5,nan\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y&missing=-1", path), 2, 1, x, y), 2);
    assert_true(x[0] == 1 && x[1] == -1 && x[2] == 0 && x[3] == 0.5f && y[1] == -1);
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y&missing=nan", path), 2, 1, x, y), 2);
    assert_true(x[1] != x[1] && y[1] != y[1]);
    bench_open_fails(b, ARTEL_ERROR_UNSUPPORTED, "UTF-16", "csv:%s",
                     bench_write(b, "wide.csv", "\xff\xfe\x61\x00\x2c\x00", 6));
    bench_open_fails(b, ARTEL_ERROR_UNSUPPORTED, "UTF-16", "csv:%s", bench_write(b, "bare.csv", "a\0,\0b\0", 6));
    bench_open_fails(b, ARTEL_ERROR_UNSUPPORTED, "UTF-32", "csv:%s",
                     bench_write(b, "four.csv", "\xff\xfe\0\0a\0\0\0", 8));
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "workbooks of Excel", "csv:%s",
                     bench_write(b, "book.csv", "PK\3\4....", 8));
    path = bench_text(b, "mixed.csv", "a,2,y\n1,2,3\n");
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "no column 'y'", "csv:%s#label=y", path);
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y&header=yes", path), 2, 1, x, y), 1);
}

static void names_that_fit_no_column(void **state)
{
    bench *b = *state;
    const char *path;
    path = bench_text(b, "semi.csv", "a;b;y\n1;2;3\n");
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "#delimiter=; reads it", "csv:%s#label=y", path);
    path = bench_text(b, "comma.csv", "a;b;y\n1,5;2;3\n");
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "#delimiter=; reads it", "csv:%s", path);
    path = bench_text(b, "sep.csv", "sep=,\na,b,y\n1,2,3\n");
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "take the first line out", "csv:%s", path);
    path = bench_text(b, "tab.csv", "a\tb\ty\n1\t2\t3\n");
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "#delimiter=tab reads it", "csv:%s#label=y", path);
    path = bench_text(b, "twice.csv", "a,a,y\n1,2,3\n"); /* one of the two would be the label, the other an input */
    bench_open_fails(b, ARTEL_ERROR_INVALID, "2 columns are called 'a'", "csv:%s#label=a", path);
    bench_open_fails(b, ARTEL_ERROR_INVALID, "2 columns are called 'a'", "csv:%s#label=y&columns=a", path);
    path = bench_text(b, "mac.csv", "a,y\r1,2\r3,4\r");
    bench_open_fails(b, ARTEL_ERROR_UNSUPPORTED, "carriage return alone", "csv:%s#label=y", path);
}

/* They are told apart as pandas.read_csv does it, in each of several files. */
static void names_that_stand_twice(void **state)
{
    static const char *const names[] = {"a", "a.2", "a.1", "a.3", "y"};
    bench *b = *state;
    artel_data_array array;
    const char *path = bench_text(b, "thrice1.csv", "a,a,a.1,a,y\n1,2,3,4,5\n");
    bench_text(b, "thrice2.csv", "a,a,a.1,a,y\n6,7,8,9,0\n");
    artel_data *data = bench_open(b, "csv:%s#label=y", path);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(artel_data_array_describe(data, i, &array), ARTEL_OK);
        assert_string_equal(array.name, names[i]);
    }
    artel_data_destroy(data);
    assert_non_null(strstr(b->log, "several columns are called 'a'"));
    for (int streamed = 0; streamed < 2; streamed++) {
        float x[2], y[2];
        data = bench_open(b, "csv:%s/thrice*.csv#label=y,columns=a.2%s", b->folder, streamed ? ",stream=yes" : "");
        assert_int_equal(read_table(b, data, 1, 1, x, y), 2);
        assert_true(x[0] == 2 && x[1] == 7);
    }
}

static void chosen_columns(void **state)
{
    bench *b = *state;
    float x[2], y[2];
    const char *path = bench_text(b, "t.csv", "a,b,c,d,e\n1,2,text,4,5\n");
    read_table(b, bench_open(b, "csv:%s#label=e,a&columns=d,b", path), 2, 2, x, y);
    assert_true(x[0] == 4 && x[1] == 2 && y[0] == 5 && y[1] == 1);
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "no column 'z'", "csv:%s#label=z", path);
    bench_open_fails(b, ARTEL_ERROR_INVALID, "listed twice", "csv:%s#label=a&columns=a,b", path);
    artel_data *data = bench_open(b, "csv:%s#label=e", path);
    simple_wants w;
    wants_init(&w, 1, (int64_t)4);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_UNSUPPORTED, "'text' in line 2, column 3 of");
    artel_data_destroy(data);
}

static void several_inputs(void **state)
{
    bench *b = *state;
    const char *path = bench_text(b, "t.csv", "y,wide,deep\n1,2,3\n4,5,6\n");
    artel__data_want_input inputs[2] = {{.name = "deep", .dtype = ARTEL_DTYPE_FLOAT32, .row = {1, {1}}},
                                        {.name = "wide", .dtype = ARTEL_DTYPE_INT64, .row = {.rank = 0}}};
    simple_wants w;
    wants_init(&w, 0);
    w.wants.inputs = inputs;
    w.wants.input_count = 2;
    artel_data *data = bench_open(b, "csv:%s#label=y", path);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    float deep[2];
    int64_t wide[2];
    int32_t y[2];
    void *buffers[3] = {deep, wide, y};
    bench_fetch(b, feed, 0, 2, buffers);
    assert_true(deep[0] == 3 && deep[1] == 6 && wide[0] == 2 && wide[1] == 5 && y[0] == 1 && y[1] == 4);
    artel__feed_destroy(feed);
    inputs[0].name = "depth";
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "inputs depth, wide");
    artel_data_destroy(data);
}

static void missing_values(void **state)
{
    bench *b = *state;
    float x[4], y[2];
    const char *path = bench_text(b, "t.csv", "a,b,y\n1,,3\n,2.5,4\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y&missing=-9", path), 2, 1, x, y), 2);
    assert_true(x[0] == 1 && x[1] == -9 && x[2] == -9 && x[3] == 2.5f);
    simple_wants w;
    wants_init(&w, 1, (int64_t)2);
    artel_data *data = bench_open(b, "csv:%s#label=y", path);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "line 3, column 1");
    artel_data_destroy(data);
    bench_open_fails(b, ARTEL_ERROR_INVALID, "not a number", "csv:%s#missing=x", path);
}

static void several_files(void **state)
{
    bench *b = *state;
    float x[4], y[4];
    bench_text(b, "rows-2.csv", "a,y\n3,30\n4.5,40\n");
    bench_text(b, "rows-1.csv", "a,y\n1,10\n2,20\n");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y", bench_path(b, "rows-*.csv")), 1, 1, x, y), 4);
    assert_true(x[0] == 1 && x[2] == 3 && x[3] == 4.5f && y[3] == 40);
    const char *one = bench_path(b, "rows-1.csv"), *two = bench_path(b, "rows-2.csv");
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=y+csv:%s", two, one), 1, 1, x, y), 4);
    assert_true(x[0] == 3 && x[1] == 4.5f && x[3] == 2);
    bench_text(b, "rows-3.csv", "a,z\n1,10\n");
    bench_open_fails(b, ARTEL_ERROR_INVALID, "named 'z' (expected y)", "csv:%s#label=y", bench_path(b, "rows-*.csv"));
    bench_open_fails(b, ARTEL_ERROR_NOT_FOUND, "*.nothing", "csv:%s", bench_path(b, "*.nothing"));
}

static void class_labels(void **state)
{
    bench *b = *state;
    simple_wants w;
    int32_t y[3];
    void *buffers[2] = {NULL, y};
    const char *path = bench_text(b, "t.csv", "x,y\n1,3\n2,10\n3,4\n");
    artel_data *data = bench_open(b, "csv:%s#label=y", path);
    wants_init(&w, 1, (int64_t)1);
    artel__feed *feed = bench_bind(b, data, &w.wants);
    assert_int_equal(artel__feed_fetch(feed, NULL, (const uint64_t[]){0, 2}, 2, buffers), ARTEL_OK);
    assert_true(y[0] == 3 && y[1] == 4);
    assert_int_equal(artel__feed_fetch(feed, NULL, (const uint64_t[]){0, 1}, 2, buffers), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "record 1 (counted from 0): the label 10");
    artel__feed_destroy(feed);
    artel_data_destroy(data);
    data = bench_open(b, "csv:%s", path);
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "#label=COLUMN");
    artel_data_destroy(data);
}

static void refused(void **state)
{
    static const char *const rows[][2] = {
        {"a,b\n1,2\n3\n", "line 3 has 1 field (expected 2)"},
        {"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields"},
        {"a,b\n1,2\"x\n", "line 2, column 2: a quote stands inside"},
        {"a,b\n1,\"2\"x\n", "line 2, column 2: text follows"},
        {"a,b\n1,2\n1,\"2\n", "line 3, column 2: the quote that opens"},
        {"", "no records"},
        {"\n\r\n\n", "no records"},
        {"a,b\n", "no records below its header"},
    };
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        const char *path = bench_text(b, "t.csv", rows[i][0]);
        artel_data *data = NULL;
        char spec[600];
        snprintf(spec, sizeof spec, "csv:%s", path);
        assert_true(artel_data_open(b->ctx, spec, &data) < 0);
        bench_failed(b, artel_context_error(b->ctx)->status, rows[i][1]);
    }
    bench_open_fails(b, ARTEL_ERROR_INVALID, "one character", "csv:%s#delimiter=ab", bench_path(b, "t.csv"));
}

static void gzipped_and_large(void **state)
{
    bench *b = *state;
    static char text[200000];
    static uint8_t packed[200000];
    static float x[4096], y[4096];
    size_t at = 0;
    for (int i = 0; i < 4000; i++) at += (size_t)sprintf(text + at, "%d,%d.25\n", i, 2 * i);
    const char *path = bench_write(b, "t.csv.gz", packed, make_gzip(packed, sizeof packed, text, at));
    assert_int_equal(read_table(b, bench_open(b, "csv:%s#label=1", path), 1, 1, x, y), 4000);
    assert_true(x[3999] == 3999 && y[3999] == 7998.25f && y[0] == 0.25f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(quoting, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(header_and_label, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(as_others_write, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(names_that_stand_twice, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(chosen_columns, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(names_that_fit_no_column, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(several_inputs, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(missing_values, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(several_files, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(class_labels, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(gzipped_and_large, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
