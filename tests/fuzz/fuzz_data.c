/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: the first byte chooses a format of data, the rest is the file, as it is or what its gzip unfolds to. Every
 * row of every array is read; opening again with damaged records left out gives rows that can be read. Some forms take
 * it for the index of a file that is not here, whose sum is put right.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/bytes.h"
#include "data/remote.h"
#include "data/rows.h"
#include "fuzz/help_fuzz.h"

enum {
    MOST_ROWS = 40,
    MOST_BYTES = 1 << 20,
    INDEX_HEAD = 40,
    INDEXES = 240 /* from this first byte on */
};

static const char *const forms[] = {"tfrecord:%s",
                                    "tfrecord:%s#skip-errors=99",
                                    "jsonl:%s",
                                    "jsonl:%s#skip-errors=99",
                                    "text:%s#length=3",
                                    "csv:%s",
                                    "npy:%s",
                                    "idx:%s",
                                    "fixed:%s#layout=y:uint8,x:int16:2x2",
                                    "csv:%s#stream=yes",
                                    "csv:%s#stream=yes&skip-errors=9",
                                    "npz:%s"};

static const char *const indexed[] = {"jsonl:%s", "csv:%s#stream=yes", "fixed:%s#layout=y:uint8,x:int16:2x2",
                                      "tfrecord:%s"};

/* Behind the magic three numbers, their sum with the rest, the rest. */
static bool write_index(int file, const uint8_t *data, size_t size)
{
    uint8_t head[INDEX_HEAD] = {'A', 'R', 'T', 'E', 'L', 'P', 'I', '1'};
    size_t numbers = size < 24 ? size : 24;
    memcpy(head + 8, data, numbers);
    artel__bytes_put(head + 32, artel__crc32c(artel__crc32c(0, head + 8, 24), data + numbers, size - numbers), 8);
    return write(file, head, sizeof head) == sizeof head &&
           write(file, data + numbers, size - numbers) == (ssize_t)(size - numbers);
}

static char link_path[80];
static const char *folder_path;

static void remove_folder(void)
{
    unlink(link_path);
    rmdir(folder_path);
}

/* The name of a file whose index leads to this one; NULL: there is none. */
static const char *name_of_absent(int file)
{
    static char folder[] = "/tmp/artel-fuzz-XXXXXX", path[64];
    char target[40];
    if (folder[strlen(folder) - 1] == 'X') {
        if (!mkdtemp(folder)) return NULL;
        snprintf(path, sizeof path, "%s/rows", folder);
        snprintf(link_path, sizeof link_path, "%s.index", path);
        folder_path = folder;
        atexit(remove_folder);
    }
    snprintf(target, sizeof target, "/proc/self/fd/%d", file);
    unlink(link_path);
    return symlink(target, link_path) == 0 ? path : NULL;
}

/* The file; packed: in two members. */
static bool write_file(int file, const uint8_t *data, size_t size, bool packed)
{
    if (!packed) return write(file, data, size) == (ssize_t)size;
    static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    size_t half = size / 2;
    uint8_t block[5 + 8];
    bool written = true;
    for (int member = 0; member < 2; member++) { /* stored, not deflated: that is quick */
        size_t part = member == 0 ? half : size - half;
        if (part > UINT16_MAX) return false;
        uint8_t *at = artel__bytes_put(block, 1, 1);
        at = artel__bytes_put(at, part, 2);
        artel__bytes_put(at, (uint16_t)~part, 2);
        artel__bytes_put(block + 5, crc32(0, data, (uInt)part), 4);
        artel__bytes_put(block + 9, part, 4);
        written = written && write(file, head, sizeof head) == sizeof head && write(file, block, 5) == 5 &&
                  write(file, data, part) == (ssize_t)part && write(file, block + 5, 8) == 8;
        data += part;
    }
    return written;
}

static void read_rows(artel_context *ctx, artel_data *data)
{
    artel__arena arena;
    artel__rows rows;
    artel__arena_init(&arena, ctx);
    if (artel__rows_open(data, &arena, true, &rows) == ARTEL_OK) {
        for (int c = 0; c < rows.column_count; c++) {
            if (rows.columns[c].bytes > MOST_BYTES) continue;
            void *out = malloc(rows.columns[c].bytes + 1);
            for (int64_t row = 0; out != NULL && row < rows.count && row < MOST_ROWS; row++)
                artel__rows_fetch(&rows, c, row, out);
            free(out);
        }
    }
    artel__arena_fini(&arena);
}

/* The same bytes as the list of a bucket. */
static void read_list(artel_context *ctx, const uint8_t *data, size_t size)
{
    artel__paths found = {.ctx = ctx};
    char *text = malloc(size + 1), *token = NULL;
    if (text == NULL) return;
    memcpy(text, data, size);
    text[size] = '\0';
    artel__s3_read_list(ctx, "s3://bucket/a*", text, size, &found, &token);
    artel__paths_fini(&found);
    artel__free(ctx, token);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel_data *opened;
    char path[64], spec[128];
    if (size < 1 || artel_context_create(NULL, &ctx) < 0) return 0;
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    bool index = data[0] >= INDEXES;
    const char *form = index ? indexed[data[0] % ARTEL__COUNT(indexed)] : forms[data[0] % ARTEL__COUNT(forms)];
    const char *absent = index ? name_of_absent(file) : NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (absent) snprintf(path, sizeof path, "%s", absent);
    bool packed = data[0] / ARTEL__COUNT(forms) % 2 == 1;
    snprintf(spec, sizeof spec, "%.*s%s%s", (int)(strstr(form, "%s") - form), form, path, strstr(form, "%s") + 2);
    bool written = index ? write_index(file, data + 1, size - 1) : write_file(file, data + 1, size - 1, packed);
    if (file >= 0 && written && artel_data_open(ctx, spec, &opened) == ARTEL_OK) {
        read_rows(ctx, opened);
        artel_data_destroy(opened);
    }
    if (file >= 0) close(file);
    artel_context_clear(ctx);
    read_list(ctx, data + 1, size - 1);
    artel_context_destroy(ctx);
    return 0;
}

/* A record around bytes. */
static size_t frame(const uint8_t *bytes, size_t size, uint8_t *out)
{
    uint8_t *at = artel__bytes_put(out, size, 8);
    at = artel__bytes_put(at, artel__crc32c_mask(artel__crc32c(0, out, 8)), 4);
    memcpy(at, bytes, size);
    artel__bytes_put(at + size, artel__crc32c_mask(artel__crc32c(0, bytes, size)), 4);
    return size + 16;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    static const uint8_t example[] = {0x0a, 0x0e, 0x0a, 0x0c, 0x0a, 1, 'n', 0x12, 7, 0x1a, 5, 0x0a, 3, 5, 0xac, 2};
    static const char *const text[] = {
        "",
        "",
        "{\"x\": [1, 2.5], \"y\": 1}\n\n{\"x\": [3, 4], \"y\": 0}\n",
        "{\"a\": true}\n{\"a\": fals}\n",
        "abc \xc3\xa9 abcabc",
        "a,b,y\n1,2.5,x\n\"3\",,\n",
        "<ListBucketResult><Key>a&amp;b</Key><Key>b</Key><NextContinuationToken>t</NextContinuationToken>"};
    static const char *const begin[] = {"{\"x\": [1, 2.5], \"y\": 1}", "a,b,y\n1,2.5,0\n2,3,1\n", ""};
    bool packed = number >= ARTEL__COUNT(text);
    if (number >= 2 * ARTEL__COUNT(text) && number < 2 * ARTEL__COUNT(text) + ARTEL__COUNT(begin) && room >= 256) {
        number -= 2 * (unsigned)ARTEL__COUNT(text); /* 50 bytes, 3 rows, and the beginning */
        memset(out, 0, 25);
        out[0] = (uint8_t)(INDEXES + number);
        out[1] = 50;
        out[9] = 3;
        memcpy(out + 25, begin[number], strlen(begin[number]));
        return 25 + strlen(begin[number]);
    }
    if (number >= 2 * ARTEL__COUNT(text) || room < 256) return 0;
    number %= ARTEL__COUNT(text);
    out[0] = (uint8_t)(number + packed * ARTEL__COUNT(forms));
    if (number < 2) {
        size_t size = 1 + frame(example, sizeof example, out + 1);
        return size + frame(example, sizeof example, out + size);
    }
    memcpy(out + 1, text[number], strlen(text[number]));
    return 1 + strlen(text[number]);
}
