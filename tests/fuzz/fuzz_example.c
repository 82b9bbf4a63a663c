/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a feature specification, a NUL, and a tf.train.Example or SequenceExample. Rows are read into blocks of
 * just their size, each alone and some together, which gives the same; what a record is made from (visited, written
 * again) reads back as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "data/features.h"
#include "data/record_write.h"
#include "fuzz/help_fuzz.h"

enum {
    MOST_BYTES = 1 << 16
};

enum {
    MOST_TOGETHER = 8
};

/* A block of the row's size, cleared; NULL where it is not read here. */
static void *room_for(const artel__feature *feature)
{
    size_t bytes = (size_t)feature->count * artel_dtype_size(feature->dtype);
    if (feature->decode == ARTEL__DECODE_IMAGE || feature->decode == ARTEL__DECODE_STRING ||
        feature->count > MOST_BYTES || bytes > MOST_BYTES)
        return NULL;
    return calloc(1, bytes > 0 ? bytes : 1);
}

static void read_rows(artel_context *ctx, artel__proto record, const artel__features *features)
{
    artel__example_reader reader = {.ctx = ctx, .path = "fuzz"};
    artel__row_want wants[MOST_TOGETHER] = {{0}};
    void *alone[MOST_TOGETHER];
    int count = 0;
    for (int i = 0; i < features->count; i++) {
        const artel__feature *feature = &features->item[i];
        artel__row_want want = {i, &feature->row, room_for(feature)};
        if (want.out == NULL || count == MOST_TOGETHER) {
            free(want.out);
            continue;
        }
        bool read = artel__example_rows(&reader, record, features, &want, 1) == ARTEL_OK;
        alone[count] = want.out;
        want.out = read ? room_for(feature) : NULL;
        if (want.out != NULL)
            wants[count++] = want;
        else
            free(alone[count]);
    }
    bool good = artel__example_rows(&reader, record, features, wants, count) == ARTEL_OK;
    for (int k = 0; k < count; k++) {
        const artel__feature *feature = &features->item[wants[k].array];
        if (!good || memcmp(alone[k], wants[k].out, (size_t)feature->count * artel_dtype_size(feature->dtype)) != 0)
            abort();
        free(alone[k]);
        free(wants[k].out);
    }
    artel_context_clear(ctx);
}

/* Features as they are visited, written again. */
static void write_again(void *user, artel__proto name, const artel__example_list *list)
{
    artel__text *out = user;
    char text[64];
    size_t length = (size_t)(name.end - name.at);
    int64_t count = 0;
    artel__proto value;
    if (length >= sizeof text || memchr(name.at, 0, length) != NULL) return;
    memcpy(text, name.at, length);
    text[length] = '\0';
    if (list->kind == ARTEL__FEATURE_BYTES && artel__example_bytes(list->values, &value, 1, &count) && count > 0)
        artel__example_add_bytes(out, text, value.at, (size_t)(value.end - value.at));
    if (list->kind != ARTEL__FEATURE_INT64 || !artel__example_ints(list->values, NULL, 0, &count)) return;
    int64_t *numbers = malloc((size_t)(count + 1) * sizeof *numbers), again = 0;
    if (numbers != NULL && artel__example_ints(list->values, numbers, count, &again)) {
        if (again != count) abort();
        artel__example_add_ints(out, text, numbers, count);
    }
    free(numbers);
}

static void rewrite(artel_context *ctx, artel__proto record)
{
    artel__text features, once, more, twice;
    artel__text_init(&features, ctx);
    artel__text_init(&once, ctx);
    artel__text_init(&more, ctx);
    artel__text_init(&twice, ctx);
    if (artel__example_visit(record, write_again, &features)) {
        artel__example_end(&features, &once);
        if (!artel__example_visit(artel__proto_of(once.data, once.length), write_again, &more)) abort();
        artel__example_end(&more, &twice);
        if (once.length != twice.length || memcmp(once.data, twice.data, once.length) != 0) abort();
    }
    artel__text_fini(&features);
    artel__text_fini(&once);
    artel__text_fini(&more);
    artel__text_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__arena arena;
    artel__features features;
    json_t *root;
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    if (end == NULL || artel_context_create(NULL, &ctx) < 0) return 0;
    artel__proto record = artel__proto_of(end + 1, size - (size_t)(end + 1 - data));
    artel__arena_init(&arena, ctx);
    if (artel__json_load(ctx, "fuzz", (const char *)data, (size_t)(end - data), &root) == ARTEL_OK) {
        if (artel__features_parse(&arena, "fuzz", root, &features) == ARTEL_OK) read_rows(ctx, record, &features);
        json_decref(root);
    }
    if (artel__features_infer(&arena, "fuzz", record, &features) == ARTEL_OK) read_rows(ctx, record, &features);
    rewrite(ctx, record);
    artel__arena_fini(&arena);
    artel_context_destroy(ctx);
    return 0;
}

/* A specification and a record that fits it. */
static size_t put(const char *text, const uint8_t *record, size_t size, uint8_t *out, size_t room)
{
    size_t length = strlen(text) + 1;
    if (length + size > room) return 0;
    memcpy(out, text, length);
    memcpy(out + length, record, size);
    return length + size;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    /* x: floats 1, 2; n: integers 5, 300; b: the bytes "abcd" */
    static const uint8_t example[] = {0x0a, 0x35, 0x0a, 0x11, 0x0a, 1,    'x',  0x12, 0x0c, 0x12, 0x0a, 0x0a, 8,    0,
                                      0,    0x80, 0x3f, 0,    0,    0,    0x40, 0x0a, 0x0c, 0x0a, 1,    'n',  0x12, 7,
                                      0x1a, 5,    0x0a, 3,    5,    0xac, 2,    0x0a, 0x0d, 0x0a, 1,    'b',  0x12, 8,
                                      0x0a, 6,    0x0a, 4,    'a',  'b',  'c',  'd',  0x0a, 3,    0x0a, 1,    'z'};
    /* the feature list s: two steps of two floats, unpacked and packed */
    static const uint8_t sequence[] = {0x12, 0x27, 0x0a, 0x25, 0x0a, 1, 's', 0x12, 0x20, 0x0a, 0x0e, 0x12, 0x0c, 0x0d,
                                       0,    0,    0x80, 0x3f, 0x0d, 0, 0,   0,    0x40, 0x0d, 0,    0,    0x40, 0x40,
                                       0x0a, 0x0e, 0x12, 0x0c, 0x0a, 8, 0,   0,    0x80, 0x3f, 0,    0,    0,    0x40};
    static const char *const text[] = {
        "{\"x\": {\"dtype\": \"float32\", \"shape\": [2]}, \"n\": {\"dtype\": \"int64\", \"shape\": [3], \"ragged\": "
        "true, \"default\": "
        "7}}",
        "{\"y\": {\"dtype\": \"bytes\", \"decode\": \"uint16\", \"shape\": [2], \"key\": \"b\"}, \"q\": {\"dtype\": "
        "\"int64\", "
        "\"default\": 1}}",
        "{\"b\": {\"dtype\": \"bytes\", \"vocabulary\": [\"\", \"abcd\", \"x\"], \"shape\": [3], \"ragged\": true, "
        "\"default\": 9}}",
        "{\"x\": {\"dtype\": \"float32\", \"shape\": [400], \"index\": \"n\"}, \"z\": {\"dtype\": \"float32\", "
        "\"shape\": [9, 0], "
        "\"ragged\": true}}",
    };
    if (number < 4) return put(text[number], example, sizeof example, out, room);
    if (number > 4) return 0;
    return put("{\"s\": {\"dtype\": \"float32\", \"shape\": [4, 2], \"sequence\": true, \"ragged\": true, "
               "\"truncate\": true}}",
               sequence, sizeof sequence, out, room);
}
