/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 and zip containers from the command line, for the tests that compare with h5py and Keras.
 *
 *   prog_h5 dump FILE...            every node: path, dtype, shape, SHA-256 of the data, attributes as JSON
 *   prog_h5 copy IN OUT             reads a tree and writes it again
 *   prog_h5 rezip IN OUT            reads all members of an archive or directory and stores them in a new archive
 *   prog_h5 mutants FILE COUNT SEED reads copies of FILE with 1-3 bytes changed; prints how they ended
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/zip.h"
#include "keras/h5.h"

static int complain(artel_context *ctx)
{
    const artel_error *e = artel_context_error(ctx);
    fprintf(stderr, "%s: %s: %s; %s\n", artel_status_name(e->status), e->where, e->what, e->advice);
    return 1;
}

static json_t *attribute_value(const artel__h5_attribute *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->count; i++) {
        if (a->kind == ARTEL__H5_STRINGS)
            json_array_append_new(list, json_string(a->strings[i]));
        else
            json_array_append_new(list, a->kind == ARTEL__H5_INTS ? json_integer(a->ints[i])
                                                                  : artel__json_real(a->doubles[i]));
    }
    if (!a->scalar) return list;
    json_t *value = json_incref(json_array_get(list, 0));
    json_decref(list);
    return value;
}

static void dump_data(const artel__h5_node *node, json_t *entry)
{
    json_t *shape = json_array();
    for (int i = 0; i < node->shape.rank; i++) json_array_append_new(shape, json_integer(node->shape.dim[i]));
    json_object_set_new(entry, "shape", shape);
    json_object_set_new(entry, "dtype", json_string(node->readable ? artel_dtype_name(node->dtype) : "unreadable"));
    if (node->readable && node->dtype == ARTEL_DTYPE_STRING) {
        json_t *texts = json_array();
        const char *const *strings = node->data;
        for (size_t i = 0; i < node->bytes / sizeof *strings; i++)
            json_array_append_new(texts, json_string(strings[i]));
        json_object_set_new(entry, "texts", texts);
    } else if (node->readable) {
        artel__sha256 hash;
        char hex[65];
        artel__sha256_init(&hash);
        artel__sha256_update(&hash, node->data, node->bytes);
        artel__sha256_hex(&hash, hex);
        json_object_set_new(entry, "sha256", json_string(hex));
    }
}

static void dump_node(const artel__h5_node *node, const char *path, json_t *out)
{
    json_t *entry = json_object(), *attributes = json_object();
    for (const artel__h5_attribute *a = node->attributes; a; a = a->next)
        json_object_set_new(attributes, a->name, attribute_value(a));
    json_object_set_new(entry, "attributes", attributes);
    if (node->is_dataset) dump_data(node, entry);
    json_object_set_new(out, path, entry);
    for (const artel__h5_node *child = node->first; child; child = child->next) {
        char below[4096];
        snprintf(below, sizeof below, "%s/%s", path, child->name);
        dump_node(child, below, out);
    }
}

static int dump(artel_context *ctx, const char *path)
{
    artel__arena arena;
    artel__h5_file file;
    artel__arena_init(&arena, ctx);
    int result = 1;
    if (artel__h5_read_file(&arena, path, &file) < 0) {
        complain(ctx);
    } else {
        artel__text text;
        artel__text_init(&text, ctx);
        json_t *out = json_object();
        dump_node(file.root, "", out);
        artel__json_dump(out, ARTEL__JSON_INDENT, &text);
        puts(text.data);
        json_decref(out);
        artel__text_fini(&text);
        artel__h5_close(&file);
        result = 0;
    }
    artel__arena_fini(&arena);
    return result;
}

static int copy(artel_context *ctx, const char *from, const char *to)
{
    artel__arena arena;
    artel__h5_file file = {0};
    artel__mapping bytes = {0};
    artel__arena_init(&arena, ctx);
    artel_status status = artel__h5_read_file(&arena, from, &file);
    if (status >= 0) status = artel__h5_write(ctx, to, file.root, &bytes);
    if (status >= 0) status = artel__write_file(ctx, to, bytes.bytes, bytes.size);
    if (status < 0) complain(ctx);
    artel__h5_release(&bytes);
    artel__h5_close(&file);
    artel__arena_fini(&arena);
    return status < 0;
}

static int rezip(artel_context *ctx, const char *from, const char *to)
{
    artel__zip zip = {0};
    artel__zip_writer writer = {0};
    artel_status status = artel__zip_open(ctx, from, &zip);
    if (status >= 0) status = artel__zip_create(ctx, to, &writer);
    for (size_t i = 0; i < zip.count && status >= 0; i++) {
        artel__zip_content content;
        status = artel__zip_extract(&zip, &zip.members[i], 0, &content);
        if (status < 0) break;
        status = artel__zip_add(&writer, zip.members[i].name, content.bytes, content.size);
        artel__zip_release(&zip, &content);
    }
    if (status >= 0) status = artel__zip_commit(&writer);
    if (status < 0) complain(ctx);
    artel__zip_abandon(&writer);
    artel__zip_close(&zip);
    return status < 0;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* How a mutant ended: fine, refused, crashed the helper, hung it. */
static const char *try_mutant(artel_context *ctx, const char *path, const uint8_t *bytes, size_t size)
{
    artel__arena arena;
    artel__h5_file file;
    artel__arena_init(&arena, ctx);
    const char *result = "fine";
    if (artel__h5_read(&arena, path, bytes, size, &file) < 0) {
        const char *what = artel_context_error(ctx)->what;
        result = strstr(what, "crashed")                                         ? "crashed"
                 : strstr(what, "finish this") || strstr(what, "processor time") ? "hung"
                                                                                 : "refused";
        if (getenv("VERBOSE")) complain(ctx);
    } else {
        artel__h5_close(&file);
    }
    artel__arena_fini(&arena);
    artel_context_clear(ctx);
    return result;
}

static int mutants(artel_context *ctx, const char *path, int count, uint64_t seed)
{
    char *original;
    size_t size;
    if (artel__read_file(ctx, path, (size_t)1 << 30, &original, &size) < 0) return complain(ctx);
    static const char *const names[] = {"fine", "refused", "crashed", "hung"};
    int totals[4] = {0};
    double worst = 0;
    uint8_t *bytes = malloc(size);
    for (int i = 0; bytes && i < count; i++) {
        memcpy(bytes, original, size);
        for (uint32_t changes = 1 + next_random(&seed) % 3; changes > 0; changes--)
            bytes[next_random(&seed) % size] = (uint8_t)next_random(&seed);
        int64_t start = artel__now_ns();
        const char *result = try_mutant(ctx, path, bytes, size);
        double seconds = (double)(artel__now_ns() - start) * 1e-9;
        if (seconds > worst) worst = seconds;
        for (int k = 0; k < 4; k++) totals[k] += strcmp(result, names[k]) == 0;
    }
    printf("fine %d, refused %d, crashed %d, hung %d; longest %.2f s\n", totals[0], totals[1], totals[2], totals[3],
           worst);
    free(bytes);
    artel__free(ctx, original);
    return 0;
}

int main(int argc, char **argv)
{
    artel_context *ctx;
    if (artel_context_create(NULL, &ctx) < 0) return 3;
    int result = 1;
    if (argc >= 3 && strcmp(argv[1], "dump") == 0) {
        result = 0;
        for (int i = 2; i < argc; i++) result |= dump(ctx, argv[i]);
    } else if (argc == 4 && strcmp(argv[1], "copy") == 0) {
        result = copy(ctx, argv[2], argv[3]);
    } else if (argc == 4 && strcmp(argv[1], "rezip") == 0) {
        result = rezip(ctx, argv[2], argv[3]);
    } else if (argc == 5 && strcmp(argv[1], "mutants") == 0) {
        result = mutants(ctx, argv[2], atoi(argv[3]), strtoull(argv[4], NULL, 10));
    }
    artel_context_destroy(ctx);
    return result;
}
