/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a description of a dataset, changed and then read as a dispatcher and a client of a data service read it.
 * What is taken is written again as it was. And a row of an answer, whose texts are looked for.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/help_fuzz.h"
#include "service/texts.h"

static const char *const seeds[] = {
    "{\"name\":\"d\",\"policy\":\"file\",\"print\":"
    "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\"rows\":7,"
    "\"row_bytes\":32,\"draws\":true,\"sorted\":false,\"columns\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":"
    "\"float32\","
    "\"shape\":[3],\"pixels\":false},{\"name\":\"y\",\"role\":\"target\",\"dtype\":\"int64\",\"shape\":[],\"pixels\":"
    "false}],"
    "\"parts\":[{\"name\":\"a\",\"rows\":4},{\"name\":\"b\",\"rows\":3}]}",
    "{\"columns\":[{\"shape\":[]}]}",
};

static void read_value(artel_context *ctx, const json_t *value)
{
    artel__arena arena;
    artel__service_dataset d;
    artel__arena_init(&arena, ctx);
    if (artel__service_dataset_read(&arena, "fuzz", value, &d) == ARTEL_OK) {
        json_t *again = artel__service_dataset_json(&d);
        artel__arena second;
        artel__service_dataset other;
        artel__arena_init(&second, ctx);
        if (!again || artel__service_dataset_read(&second, "fuzz", again, &other) != ARTEL_OK) abort();
        if (other.rows != d.rows || other.row_bytes != d.row_bytes || memcmp(other.print, d.print, 32) != 0) abort();
        for (int64_t row = 0; row < d.rows && row < 64; row++) {
            int part = artel__service_part_of(&d, row);
            if (part < 0 || (d.part_count > 0 && part >= d.part_count)) abort();
        }
        json_decref(again);
        artel__arena_fini(&second);
    }
    artel__arena_fini(&arena);
}

/* The first half changes the first seed, member by member, so that what is read looks like a description. */
static void change_seed(artel_context *ctx, const uint8_t *data, size_t size)
{
    json_t *value;
    if (artel__json_load(ctx, "fuzz", seeds[0], strlen(seeds[0]), &value) != ARTEL_OK) return;
    artel_fuzz_change_json(value, data, size);
    read_value(ctx, value);
    json_decref(value);
}

static void read_texts(artel_context *ctx, const uint8_t *data, size_t size)
{
    artel__rows_column column = {.dtype = ARTEL_DTYPE_STRING, .elements = 2, .bytes = 32};
    const artel__service_dataset d = {.name = "d", .row_bytes = 32, .columns = &column, .column_count = 1};
    artel__string cells[2];
    artel__texts kept;
    size_t place = 0;
    if (size < sizeof cells) return;
    memcpy(cells, data, sizeof cells);
    artel__texts_init(&kept, ctx, 0);
    if (artel__service_texts_unpack(&d, &kept, (uint8_t *)cells, data + 32, size - 32, &place) == ARTEL_OK &&
        (place > size - 32 || artel__service_texts_bytes(&d, (const uint8_t *)cells, 1) != place))
        abort();
    artel__texts_fini(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    json_t *value;
    if (artel_context_create(NULL, &ctx) != ARTEL_OK) return 0;
    change_seed(ctx, data, size);
    read_texts(ctx, data, size);
    if (artel__json_load(ctx, "fuzz", (const char *)data, size, &value) == ARTEL_OK) {
        read_value(ctx, value);
        json_decref(value);
    }
    artel_context_destroy(ctx);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    return artel_fuzz_text(seeds, sizeof seeds / sizeof *seeds, number, out, room);
}
