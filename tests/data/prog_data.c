/* SPDX-License-Identifier: Apache-2.0 */
/* For test_numpy.py: prog_data SPEC DTYPE OUT [EXTENT...]
 * Binds the one input as DTYPE with rows of these extents (-1: open; none given: anything), writes all rows to OUT as
 * they lie in memory (DTYPE string: of each text its length, four bytes, then it), and prints the shape.
 * ARTEL_TEST_PASS=N: those of pass N. ARTEL_TEST_MEMORY=N: with this budget, and the peak of resident memory in kB on
 * stderr; ARTEL_TEST_ROWS=N, ARTEL_TEST_STEP=S: rows 0, S, 2S, ... modulo their number, N of them. Exit code 1 with the
 * error on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "data/data.h"

static int report(artel_context *ctx)
{
    const artel_error *error = artel_context_error(ctx);
    fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    return 1;
}

static int64_t number_from(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

static void say_peak(void)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0) fprintf(stderr, "peak %lld\n", strtoll(line + 6, NULL, 10));
    if (file != NULL) fclose(file);
}

static bool write_row(const artel__feed_array *array, const void *row, FILE *out)
{
    const artel__string *text = row;
    if (array->dtype != ARTEL_DTYPE_STRING) return fwrite(row, 1, array->row_bytes, out) == array->row_bytes;
    bool good = true;
    for (size_t i = 0; i < array->row_bytes / sizeof *text; i++) {
        uint32_t length = (uint32_t)text[i].length;
        good = good && fwrite(&length, 1, sizeof length, out) == sizeof length;
        good = good && fwrite(text[i].bytes, 1, length, out) == length;
    }
    return good;
}

static artel_status write_rows(artel_context *ctx, const artel__feed *feed, FILE *out)
{
    int count;
    const artel__feed_array *array = artel__feed_arrays(feed, &count);
    void *row;
    ARTEL_TRY(artel__alloc(ctx, array->row_bytes + 1, "row", &row));
    artel_status status = ARTEL_OK;
    int64_t count_all = artel__feed_count(feed), rows = number_from("ARTEL_TEST_ROWS", count_all),
            step = number_from("ARTEL_TEST_STEP", 1);
    for (int64_t i = 0; i < rows && status == ARTEL_OK; i++) {
        uint64_t number = artel__row_in_pass((uint64_t)(i * step % count_all), number_from("ARTEL_TEST_PASS", 0));
        status = artel__feed_fetch(feed, NULL, &number, 1, &row);
        if (status == ARTEL_OK && !write_row(array, row, out)) status = ARTEL_ERROR_IO;
    }
    artel__free(ctx, row);
    printf("%lld", (long long)rows);
    for (int i = 0; i < array->row.rank; i++) printf(" %lld", (long long)array->row.dim[i]);
    printf("\n");
    return status;
}

int main(int argc, char **argv)
{
    artel_context *ctx;
    artel_data *data = NULL;
    artel__feed *feed = NULL;
    artel__data_want_input want = {.name = "in", .row = {.rank = argc > 4 ? argc - 4 : -1}};
    if (argc < 4 || artel_context_create(NULL, &ctx) < 0) return 2;
    for (int i = 0; i < want.row.rank && i < ARTEL_MAX_RANK; i++) want.row.dim[i] = strtoll(argv[4 + i], NULL, 10);
    artel__data_wants wants = {.purpose = ARTEL__DATA_PURPOSE_PREDICT, .inputs = &want, .input_count = 1};
    FILE *out = fopen(argv[3], "wb");
    if (out == NULL || artel_dtype_parse(argv[2], &want.dtype) < 0) return 2;
    artel__budget_set(ctx, (uint64_t)number_from("ARTEL_TEST_MEMORY", 0));
    artel_status status = artel_data_open(ctx, argv[1], &data);
    if (status == ARTEL_OK) status = artel__data_bind(data, &wants, &feed);
    if (status == ARTEL_OK) status = write_rows(ctx, feed, out);
    fclose(out);
    if (getenv("ARTEL_TEST_MEMORY") != NULL) say_peak();
    int code = status < 0 ? report(ctx) : 0;
    artel__feed_destroy(feed);
    artel_data_destroy(data);
    artel_context_destroy(ctx);
    return code;
}
