/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is that is not what it should be: told by bytes near its beginning, so that the advice is not about
 * damage when it is whole and something else.
 */
#include "base/foreign.h"

#include <string.h>

typedef struct kind {
    const char *begin;
    size_t bytes;
    size_t at; /* where these bytes stand */
    const char *what, *advice;
} kind;

#define HOLDS(text, at) text, sizeof(text) - 1, at
#define BEGINS(text) HOLDS(text, 0)

static const kind kinds[] = {
    {BEGINS("version https://git-lfs"), "a pointer of Git LFS stands in its place",
     "fetch the file itself: git lfs pull"},
    {BEGINS("<!DOCTYPE "), "it is a web page, of a sign-in or an error perhaps", "download the file itself"},
    {BEGINS("<!doctype "), "it is a web page, of a sign-in or an error perhaps", "download the file itself"},
    {BEGINS("<html"), "it is a web page, of a sign-in or an error perhaps", "download the file itself"},
    {BEGINS("PK\3\4"), "it is a zip archive, as the workbooks of Excel are",
     "save the sheet as CSV (UTF-8), or read arrays with npz:FILE"},
    {BEGINS("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "it is a document of Office", "save the sheet as CSV (UTF-8)"},
    {BEGINS("PAR1\x15"), "it is a Parquet file", "write it anew: pandas.read_parquet(FILE).to_csv(NEW, index=False)"},
    {BEGINS("ARROW1\0\0"), "it is an Arrow file", "write it anew: pandas.read_feather(FILE).to_csv(NEW, index=False)"},
    {BEGINS("\x93NUMPY"), "it is an array of NumPy", "npy:FILE reads it"},
    {BEGINS("\x89HDF\r\n\x1a\n"), "it is an HDF5 file",
     "write its arrays with numpy.savez, and read them with npz:FILE"},
    {BEGINS("\x80\4\x95"), "it is a pickle of Python", "load it there, and write it with numpy.save or model.save"},
    {BEGINS("\x80\5\x95"), "it is a pickle of Python", "load it there, and write it with numpy.save or model.save"},
    {BEGINS("Obj\1"), "it is an Avro file",
     "write it anew: fastavro FILE > NEW.jsonl, and read that with jsonl:NEW.jsonl"},
    {BEGINS("ORC\x08\3"), "it is an ORC file", "write it anew: pandas.read_orc(FILE).to_csv(NEW, index=False)"},
    {BEGINS("MATLAB 5.0 MAT-file"), "it is a MATLAB file",
     "load it with scipy.io.loadmat, and write its arrays with numpy.savez"},
    {HOLDS("\xde\xc0\xef\xbe", 16), "it is an LMDB database",
     "write its values with tf.io.TFRecordWriter, and read them with tfrecord:FILE"},
    {HOLDS("ustar", 257), "it is a tar archive", "unpack it: tar xf FILE"},
    {BEGINS("SQLite format 3"), "it is an SQLite database",
     "write the table as CSV: sqlite3 -header -csv FILE 'select ...'"},
    {BEGINS("\x89PNG\r\n\x1a\n"), "it is an image", "images:FOLDER reads images, a folder for each class"},
    {BEGINS("\xff\xd8\xff"), "it is an image", "images:FOLDER reads images, a folder for each class"},
    {BEGINS("GIF8"), "it is an image", "images:FOLDER reads images, a folder for each class"},
    {BEGINS("%PDF-"), "it is a PDF document", "give the data itself"},
    {BEGINS("BZh91AY&SY"), "it is compressed by bzip2", "unpack it: bunzip2 FILE (gzip is read as it is)"},
    {BEGINS("\xfd"
            "7zXZ"),
     "it is compressed by xz", "unpack it: unxz FILE (gzip is read as it is)"},
    {BEGINS("\x28\xb5\x2f\xfd"), "it is compressed by zstd", "unpack it: unzstd FILE (gzip is read as it is)"},
};

artel_status artel__check_foreign(artel_context *ctx, const char *where, const void *bytes, size_t size)
{
    for (size_t i = 0; i < ARTEL__COUNT(kinds); i++) {
        if (size >= kinds[i].at + kinds[i].bytes &&
            memcmp((const char *)bytes + kinds[i].at, kinds[i].begin, kinds[i].bytes) == 0)
            return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, kinds[i].advice, "%s", kinds[i].what);
    }
    return ARTEL_OK;
}
