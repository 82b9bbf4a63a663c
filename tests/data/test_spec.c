/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications as text: formats, options, joins, and what is said about those that are wrong. */
#include "data/help_data.h"
#include "data/source.h"

static void parts_and_options(void **state)
{
    bench *b = *state;
    artel__arena arena;
    artel__data_spec spec;
    artel__arena_init(&arena, b->ctx);
    assert_int_equal(artel__data_spec_parse(&arena, "npz:a+b.npz#p,q&scale=1/127.5,shift=-1 + npz:c.npz", &spec),
                     ARTEL_OK);
    assert_int_equal(spec.part_count, 2);
    assert_string_equal(spec.parts[0].target, "a+b.npz");
    assert_string_equal(spec.parts[1].target, "c.npz");
    assert_string_equal(spec.options.names, "p,q");
    assert_true(spec.options.has_scale && spec.options.scale_by == 1.0f && spec.options.scale_over == 127.5f);
    assert_true(spec.options.has_shift && spec.options.shift == -1.0f);
    assert_int_equal(artel__data_spec_parse(&arena, "images:d#size=32x64&channels=1&interpolation=nearest", &spec),
                     ARTEL_OK);
    assert_true(spec.options.height == 32 && spec.options.width == 64 && spec.options.channels == 1);
    assert_int_equal(spec.options.interpolation, ARTEL__DATA_NEAREST);
    assert_int_equal(artel__data_spec_parse(&arena, "csv:t.csv#label=a,b&header=no&delimiter=;&missing=0", &spec),
                     ARTEL_OK);
    assert_string_equal(spec.options.label, "a,b");
    assert_string_equal(spec.options.delimiter, ";");
    assert_int_equal(spec.options.header, ARTEL__DATA_HEADER_NO);
    assert_int_equal(artel__data_spec_parse(&arena, "npy:x#scale=0.5", &spec), ARTEL_OK);
    assert_true(spec.options.scale_by == 0.5f && spec.options.scale_over == 1.0f);
    artel__arena_fini(&arena);
}

static void refused(void **state)
{
    static const struct {
        const char *spec;
        artel_status status;
        const char *part;
    } rows[] = {
        {"npzz:a.npz", ARTEL_ERROR_INVALID, "npzz"},
        {"npzz:a.npz", ARTEL_ERROR_INVALID, "idx, npy, npz, csv, cifar10, images, synthetic"},
        {"a.npz", ARTEL_ERROR_INVALID, "npz:train.npz"},
        {"", ARTEL_ERROR_INVALID, "FORMAT:WHAT"},
        {"npz:", ARTEL_ERROR_INVALID, "nothing follows"},
        {"npz:a#colour=red", ARTEL_ERROR_INVALID, "no option 'colour'"},
        {"npz:a#label=x", ARTEL_ERROR_INVALID, "npz takes: scale shift names"},
        {"csv:a#scale=1/255", ARTEL_ERROR_INVALID, "no option 'scale'"},
        {"npy:a#x,y", ARTEL_ERROR_INVALID, "no option 'names'"},
        {"npz:a#scale=x", ARTEL_ERROR_INVALID, "scale=1/255"},
        {"npz:a#scale=1/0", ARTEL_ERROR_INVALID, "scale=1/255"},
        {"npz:a#scale=nan", ARTEL_ERROR_INVALID, "scale=1/255"},
        {"npz:a#shift=inf", ARTEL_ERROR_INVALID, "shift=-1"},
        {"npz:a#scale=1/2+npz:b#scale=1/3", ARTEL_ERROR_INVALID, "'1/2' and as '1/3'"},
        {"npz:a+npy:b", ARTEL_ERROR_INVALID, "cannot be joined"},
        {"images:a#size=3", ARTEL_ERROR_INVALID, "size=224x224"},
        {"images:a#size=0x3", ARTEL_ERROR_INVALID, "size=224x224"},
        {"images:a#size=3x99999", ARTEL_ERROR_INVALID, "size=224x224"},
        {"images:a#channels=5", ARTEL_ERROR_INVALID, "channels"},
        {"images:a#channels=2", ARTEL_ERROR_INVALID, "1, 3 or 4 channels"},
        {"images:a#interpolation=cubic", ARTEL_ERROR_INVALID, "interpolation"},
        {"npy:a,,b", ARTEL_ERROR_INVALID, "empty name"},
        {"parquet:a", ARTEL_ERROR_UNSUPPORTED, "files of parquet are not read"},
        {"train.parquet", ARTEL_ERROR_UNSUPPORTED, "read_parquet"},
        {"feather:a", ARTEL_ERROR_UNSUPPORTED, "read_feather"},
        {"orc:a", ARTEL_ERROR_UNSUPPORTED, "read_orc"},
        {"avro:a", ARTEL_ERROR_UNSUPPORTED, "fastavro"},
        {"lmdb:a", ARTEL_ERROR_UNSUPPORTED, "TFRecordWriter"},
        {"webdataset:a", ARTEL_ERROR_UNSUPPORTED, "images:DIR"},
        {"shard-000.tar", ARTEL_ERROR_UNSUPPORTED, "files of webdataset are not read"},
        {"mat:a", ARTEL_ERROR_UNSUPPORTED, "loadmat"},
        {"xlsx:a", ARTEL_ERROR_UNSUPPORTED, "as CSV"},
        {"xls:a", ARTEL_ERROR_UNSUPPORTED, "as CSV"},
        {"arrow:a", ARTEL_ERROR_UNSUPPORTED, "read_feather"},
        {"hdf5:a", ARTEL_ERROR_UNSUPPORTED, "files of hdf5 are not read"},
        {"h5:train.h5", ARTEL_ERROR_UNSUPPORTED, "h5py.File"},
        {"train.hdf5", ARTEL_ERROR_UNSUPPORTED, "npz:out.npz"},
        {"pickle:a", ARTEL_ERROR_UNSUPPORTED, "run code"},
        {"train.pkl", ARTEL_ERROR_UNSUPPORTED, "numpy.savez"},
        {"zip:a", ARTEL_ERROR_UNSUPPORTED, "unzip"},
        {"photos.zip", ARTEL_ERROR_UNSUPPORTED, "images:DIR"},
        {"photos.tar.gz", ARTEL_ERROR_UNSUPPORTED, "tar xf"},
        {"sqlite:a", ARTEL_ERROR_UNSUPPORTED, "-csv"},
        {"torch:a", ARTEL_ERROR_UNSUPPORTED, "torch.load"},
        {"recordio:a", ARTEL_ERROR_UNSUPPORTED, "TFRecordWriter"},
    };
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++)
        bench_open_fails(b, rows[i].status, rows[i].part, "%s", rows[i].spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_and_options, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(refused, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
