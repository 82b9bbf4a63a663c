/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever goes over all rows when data is opened ends when it is cancelled, and nothing on the way forgets that. */
#include <stdlib.h>

#include "data/help_data.h"

static void opening(void **state)
{
    static const char chain[] = "{\"from\": \"%s\", \"stages\": [{\"stage\": \"%s\"%s}]}",
                      join[] = "{\"%s\": [\"%s\", \"%s\"]}";
    bench *b = *state;
    char npy[600], spec[9][640], text[2048];
    uint8_t file[4096], packed[4096];
    int64_t values[] = {1, 2, 3};
    size_t size = make_npy(file, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", values, sizeof values);
    snprintf(npy, sizeof npy, "npy:%s", bench_write(b, "x.npy", file, size));
    size = make_gzip(packed, sizeof packed, "a,b\n1,2\n", 8);
    snprintf(spec[0], sizeof spec[0], "csv:%s", bench_text(b, "a.csv", "a,b\n1,2\n"));
    snprintf(spec[1], sizeof spec[1], "csv:%s", bench_write(b, "a.csv.gz", packed, size));
    snprintf(spec[2], sizeof spec[2], "jsonl:%s", bench_text(b, "a.jsonl", "{\"x\": 1}\n"));
    snprintf(spec[3], sizeof spec[3], "text:%s#length=3", bench_text(b, "a.txt", "abcdefgh"));
    snprintf(spec[4], sizeof spec[4], "tfrecord:%s",
             bench_text(b, "a.tfrecord", "no records, but much to look through"));
    snprintf(text, sizeof text, chain, npy, "filter", ", \"column\": \"x\", \"is\": \"finite\"");
    snprintf(spec[5], sizeof spec[5], "pipeline:%s", bench_text(b, "f.json", text));
    snprintf(text, sizeof text, chain, npy, "shuffle", ", \"buffer\": 2");
    snprintf(spec[6], sizeof spec[6], "pipeline:%s", bench_text(b, "s.json", text));
    snprintf(text, sizeof text, join, "interleave", npy, npy);
    snprintf(spec[7], sizeof spec[7], "pipeline:%s", bench_text(b, "i.json", text));
    snprintf(text, sizeof text, chain, npy, "take", ", \"count\": 2");
    snprintf(spec[8], sizeof spec[8], "pipeline:%s#skip-errors=1", bench_text(b, "t.json", text));
    for (int s = 0; s < 9; s++) {
        artel_data *data;
        if (s != 4) artel_data_destroy(bench_open(b, "%s", spec[s]));
        artel_context_cancel(b->ctx);
        if (artel_data_open(b->ctx, spec[s], &data) == ARTEL_OK)
            fail_msg("%s is opened in spite of cancelling", spec[s]);
        bench_failed(b, ARTEL_ERROR_CANCELLED, "cancelled");
    }
}

/* Whether a file is among those that are read is asked before all else, perhaps after Ctrl-C. */
static void asking(void **state)
{
    bench *b = *state;
    char spec[640];
    const char *path = bench_text(b, "a.csv", "a,b\n1,2\n");
    snprintf(spec, sizeof spec, "csv:%s", path);
    for (int i = 0; i < 2; i++) {
        if (i == 1) artel_context_cancel(b->ctx);
        bool reads = false;
        assert_int_equal(artel__data_reads(b->ctx, spec, path, &reads), ARTEL_OK);
        assert_true(reads);
        assert_int_equal(artel__data_reads(b->ctx, "csv:#", path, &reads), ARTEL_OK);
        assert_false(reads);
        assert_int_equal(artel_context_error(b->ctx)->status, ARTEL_OK);
        assert_int_equal(artel__cancelled(b->ctx), i);
    }
    artel_context_clear(b->ctx);
}

/* What cannot be read leaves no record behind, and without memory there is no answer, least of all a "no". */
static void without_memory(void **state)
{
    bench *b = *state;
    char spec[3][1400], text[700];
    const char *path = bench_text(b, "a.csv", "a,b\n1,2\n"), *broken = bench_text(b, "broken.json", "{\"a\": ");
    snprintf(text, sizeof text, "[\"csv:%s\"]", path);
    snprintf(spec[0], sizeof spec[0], "pipeline:%s", bench_text(b, "f.json", text));
    snprintf(spec[1], sizeof spec[1], "tfrecord:%s#features=%s", path, broken);
    snprintf(spec[2], sizeof spec[2], "tfrecord:%s#features=%s", bench_text(b, "none", ""), broken);
    for (int s = 0; s < 3; s++) {
        bool reads = false;
        uint64_t n = 0, calls = artel__heap_calls(b->ctx);
        assert_int_equal(artel__data_reads(b->ctx, spec[s], path, &reads), ARTEL_OK);
        assert_int_equal(reads, s < 2);
        assert_int_equal(artel_context_error(b->ctx)->status, ARTEL_OK);
        calls = artel__heap_calls(b->ctx) - calls;
        for (n = 1; n <= calls; n++) {
            artel__fail_allocation_after(b->ctx, n);
            artel_status status = artel__data_reads(b->ctx, spec[s], path, &reads);
            artel__fail_allocation_after(b->ctx, 0);
            assert_true(status == ARTEL_ERROR_NO_MEMORY || (status == ARTEL_OK && reads));
            assert_int_equal(artel_context_error(b->ctx)->status, status);
            artel_context_clear(b->ctx);
        }
        assert_true(n > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(opening, bench_setup, bench_teardown),
                                       cmocka_unit_test_setup_teardown(asking, bench_setup, bench_teardown),
                                       cmocka_unit_test_setup_teardown(without_memory, bench_setup, bench_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
