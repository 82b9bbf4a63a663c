/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are whole and something else than their reader expects are named, with what to do about them; bytes that
 * nobody knows, and the first part of a mark, are no such file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/foreign.h"

static const char tar[512] = {[0] = 'a', [257] = 'u', [258] = 's', [259] = 't', [260] = 'a', [261] = 'r'};

#define BEGINS(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t size;
    const char *what, *advice;
} rows[] = {
    {BEGINS("version https://git-lfs.github.com/spec/v1\n"), "Git LFS", "git lfs pull"},
    {BEGINS("<!DOCTYPE html>"), "web page", "download"},
    {BEGINS("<!doctype html>"), "web page", "download"},
    {BEGINS("<html lang=en>"), "web page", "download"},
    {BEGINS("PK\3\4\24\0"), "zip archive", "npz:FILE"},
    {BEGINS("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"), "Office", "CSV"},
    {BEGINS("PAR1\x15\4"), "Parquet", "read_parquet"},
    {BEGINS("ARROW1\0\0\xff"), "Arrow", "read_feather"},
    {BEGINS("\x93NUMPY\1\0"), "NumPy", "npy:FILE"},
    {BEGINS("\x89HDF\r\n\x1a\n\0"), "HDF5", "npz:FILE"},
    {BEGINS("\x80\4\x95\1"), "pickle", "numpy.save"},
    {BEGINS("\x80\5\x95\1"), "pickle", "numpy.save"},
    {BEGINS("Obj\1\4\x14"), "Avro", "fastavro"},
    {BEGINS("ORC\x08\3\x10"), "ORC", "read_orc"},
    {BEGINS("MATLAB 5.0 MAT-file, Platform"), "MATLAB", "loadmat"},
    {BEGINS("\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\xde\xc0\xef\xbe\1\0\0\0"), "LMDB", "TFRecordWriter"},
    {tar, sizeof tar, "tar archive", "tar xf"},
    {BEGINS("SQLite format 3\0"), "SQLite", "-csv"},
    {BEGINS("%PDF-1.7"), "PDF", "data itself"},
    {BEGINS("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "image", "images:FOLDER"},
    {BEGINS("\xff\xd8\xff\xe0\0\x10JFIF"), "image", "images:FOLDER"},
    {BEGINS("GIF89a"), "image", "images:FOLDER"},
    {BEGINS("BZh91AY&SY."), "bzip2", "bunzip2"},
    {BEGINS("\xfd\x37zXZ\0"), "xz", "unxz"},
    {BEGINS("\x28\xb5\x2f\xfd\4"), "zstd", "unzstd"},
};

static void named(void **state)
{
    (void)state;
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        artel__operation_begin(ctx);
        assert_int_equal(artel__check_foreign(ctx, "a.bin", rows[i].bytes, rows[i].size), ARTEL_ERROR_CORRUPT);
        const artel_error *error = artel_context_error(ctx);
        assert_string_equal(error->where, "a.bin");
        if (!strstr(error->what, rows[i].what) || !strstr(error->advice, rows[i].advice))
            fail_msg("%s; %s", error->what, error->advice);
        artel__operation_begin(ctx);
        assert_int_equal(artel__check_foreign(ctx, "a.bin", rows[i].bytes, 2), ARTEL_OK);
    }
    assert_int_equal(artel__check_foreign(ctx, "a.bin", "a,b\n1,2\n", 8), ARTEL_OK);
    assert_int_equal(artel__check_foreign(ctx, "a.bin", "", 0), ARTEL_OK);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
