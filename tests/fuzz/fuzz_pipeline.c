/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any text as a pipeline over a small array, which "$" stands for. What can be built gives its elements,
 * into blocks of just their size, the same twice. Texts with numbers of more than four digits are passed over: they ask
 * for what takes long, not for what is wrong.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/stage.h"
#include "fuzz/help_fuzz.h"

enum {
    MOST_TEXT = 1 << 14,
    MOST_ELEMENTS = 20,
    MOST_BYTES = 1 << 20
};

static const char array[] =
    "\x93NUMPY\x01\x00\x46\x00{'descr': '|u1', 'fortran_order': False, 'shape': (6, 2, 3, 1), }    \n";

/* The text with the specification of the array for each "$"; false when it is passed over. */
static bool expand(const uint8_t *data, size_t size, const char *path, char *out)
{
    size_t length = 0, digits = 0;
    for (size_t i = 0; i < size; i++) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        if (digits > 4 || data[i] == '\0' || length + 64 > MOST_TEXT) return false;
        if (data[i] == 'e' || data[i] == 'E') digits += i > 0 && data[i - 1] >= '0' && data[i - 1] <= '9' ? 5 : 0;
        if (data[i] == '$')
            length += (size_t)snprintf(out + length, 64, "npy:%s", path);
        else if (data[i] == ':' && i > 0 &&
                 data[i - 1] != '"') /* names of other files: there is nothing to be learnt from them */
            return false;
        else
            out[length++] = (char)data[i];
    }
    out[length] = '\0';
    return true;
}

static void read_elements(const artel__stage *top)
{
    for (int c = 0; c < top->column_count; c++) {
        size_t bytes = top->columns[c].bytes;
        if (bytes > MOST_BYTES) continue;
        uint8_t *one = malloc(bytes + 1), *two = malloc(bytes + 1);
        for (int64_t i = 0; one && two && i < MOST_ELEMENTS && (top->count < 0 || i < top->count); i++) {
            bool good = artel__stage_at(top, c, i, one) == ARTEL_OK;
            if (good != (artel__stage_at(top, c, i, two) == ARTEL_OK) || (good && memcmp(one, two, bytes) != 0))
                abort();
        }
        free(one);
        free(two);
    }
}

static void build(artel_context *ctx, const char *text)
{
    artel__arena arena;
    artel__sha256 hash;
    artel__stage *top;
    json_t *value;
    if (artel__json_load(ctx, "fuzz", text, strlen(text), &value) < 0) return;
    artel__arena_init(&arena, ctx);
    artel__sha256_init(&hash);
    if (artel__pipeline_build(ctx, &arena, "fuzz", value, &hash, &top) == ARTEL_OK) {
        read_elements(top);
        artel__stage_close(top);
    }
    json_decref(value);
    artel__arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MOST_TEXT];
    artel_context *ctx;
    char path[64];
    uint8_t values[36];
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    for (int i = 0; i < 36; i++) values[i] = (uint8_t)(i * 7);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    bool ready = file >= 0 && write(file, array, sizeof array - 1) == (ssize_t)(sizeof array - 1) &&
                 write(file, values, 36) == 36;
    if (ready && expand(data, size, path, text) && artel_context_create(NULL, &ctx) == ARTEL_OK) {
        build(ctx, text);
        artel_context_destroy(ctx);
    }
    if (file >= 0) close(file);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    static const char *const text[] = {
        "{\"from\":\"$\",\"stages\":[{\"stage\":\"shuffle\",\"seed\":1,\"buffer\":3},{\"stage\":\"take\",\"count\":5},{"
        "\"stage\":"
        "\"repeat\",\"count\":2}]}",
        "{\"interleave\":[\"$\",{\"from\":\"$\",\"stages\":[{\"stage\":\"skip\",\"count\":4}]}],\"cycle\":2,\"block\":"
        "2}",
        "{\"from\":{\"sample\":[\"$\",\"$\"],\"weights\":[1,2]},\"stages\":[{\"stage\":\"window\",\"size\":2,\"shift\":"
        "1,\"stride\":2}]}",
        "{\"from\":\"$\",\"stages\":[{\"stage\":\"random_crop\",\"column\":\"x\",\"height\":1,\"width\":2},{\"stage\":"
        "\"random_flip\","
        "\"column\":\"x\"},"
        "{\"stage\":\"resize\",\"column\":\"x\",\"height\":3,\"width\":5},{\"stage\":\"cache\"}]}",
        "{\"from\":\"$\",\"stages\":[{\"stage\":\"batch\",\"size\":2},{\"stage\":\"unbatch\"},{\"stage\":\"reshape\","
        "\"column\":\"x\",\"shape\":[3,-1]},{\"stage\":\"pad\",\"column\":\"x\",\"shape\":[5,-1],\"value\":7}]}",
        "{\"from\":\"$\",\"stages\":[{\"stage\":\"bucket_by_sequence_length\",\"column\":\"x\",\"bucket_boundaries\":["
        "2,"
        "3],\"bucket_batch_sizes\":[3,2],\"columns\":[\"x\"],\"padding\":1}]}",
        "{\"zip\":[\"$\",{\"from\":\"$\",\"stages\":[{\"stage\":\"rename\",\"column\":\"x\",\"to\":\"y\"},{\"stage\":"
        "\"reshape\","
        "\"column\":\"y\",\"shape\":[3,-1]}]}]}",
        "{\"from\":{\"zip\":[\"$\",{\"from\":\"$\",\"stages\":[{\"stage\":\"rename\",\"column\":\"x\",\"to\":\"z\"}]}]}"
        ","
        "\"stages\":[{\"stage\":\"stack_columns\",\"columns\":[\"z\",\"x\"],\"axis\":-1},"
        "{\"stage\":\"concatenate_columns\",\"to\":\"z\",\"dtype\":\"int16\",\"axis\":0}]}",
        "{\"from\":\"$\",\"stages\":[{\"stage\":\"filter\",\"column\":\"x\",\"is\":\"in\",\"value\":[1,2]},{\"stage\":"
        "\"one_hot\","
        "\"column\":\"x\",\"classes\":9}]}",
        "{\"from\":\"$\",\"stages\":[{\"stage\":\"normalise\",\"column\":\"x\",\"mean\":[1],\"std\":2},{\"stage\":"
        "\"shard\",\"count\":2,"
        "\"index\":1},"
        "{\"stage\":\"select\",\"columns\":[\"x\"]},{\"stage\":\"lookup\",\"column\":\"x\",\"keys\":[1,2],\"default\":"
        "0}]}",
    };
    return artel_fuzz_text(text, sizeof text / sizeof *text, number, out, room);
}
