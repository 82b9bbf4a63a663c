/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a safetensors file of a model, changed, is read as that model's weights, as a model, and tensor by tensor.
 *
 * The first byte says how: '{', the input is the header itself, in front of the model's own data; 0, it is the whole
 * file; else bit 0 changes the length of the header by the second byte, bit 1 cuts the data by the third, and what
 * follows changes values of the header. Weights that were taken are those that a file saved from the model then gives
 * back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artel/model.h"
#include "base/json.h"
#include "fuzz/help_fuzz.h"
#include "keras/model.h"
#include "keras/safetensors.h"

static const char model_json[] = "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": "
                                 "[{\"class_name\": \"InputLayer\", \"config\": "
                                 "{\"batch_shape\": [null, 4], \"dtype\": \"float32\", \"name\": \"in\"}}, "
                                 "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", "
                                 "\"units\": 2}}, {\"class_name\": \"BatchNormalization\", \"config\": {\"name\": "
                                 "\"b\"}}, {\"class_name\": \"Dropout\", \"config\": "
                                 "{\"name\": \"c\", \"rate\": 0.5}}]}}";

static char folder[40], own[64]; /* where the model's own file lies */
static char *header;             /* of it */
static uint8_t *values;
static size_t values_size;

static void need(bool fact)
{
    if (!fact) abort();
}

/* A file without a place; its path is good until it is closed. */
static int open_file(char path[64], const void *bytes, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static artel_model *make_model(artel_context *ctx)
{
    char path[64];
    artel_model *model = NULL;
    int fd = open_file(path, model_json, sizeof model_json - 1);
    need(artel_model_load(ctx, path, &model) == ARTEL_OK && artel_model_initialise(model, 3) == ARTEL_OK);
    close(fd);
    return model;
}

static void clean_up(void)
{
    unlink(own);
    rmdir(folder);
}

static void prepare(void)
{
    artel_context *ctx;
    artel__mapping file;
    need(artel_context_create(NULL, &ctx) == ARTEL_OK);
    artel_model *model = make_model(ctx);
    snprintf(folder, sizeof folder, "/dev/shm/artel-fuzz-XXXXXX"); /* in memory: files are synchronised */
    if (!mkdtemp(folder)) need(mkdtemp(strcpy(folder, "/tmp/artel-fuzz-XXXXXX")) != NULL);
    atexit(clean_up);
    snprintf(own, sizeof own, "%s/m.safetensors", folder);
    need(artel_model_save(model, own) == ARTEL_OK && artel__map_file(ctx, own, &file) == ARTEL_OK);
    size_t length = file.bytes[0] | (size_t)file.bytes[1] << 8;
    header = calloc(1, length + 1);
    values_size = file.size - 8 - length;
    values = malloc(values_size);
    need(header && values && file.bytes[2] == 0);
    memcpy(header, file.bytes + 8, length);
    memcpy(values, file.bytes + 8 + length, values_size);
    artel__unmap_file(&file);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

/* Length, header, data. */
static uint8_t *lay_out(const char *text, size_t length, int wrong, size_t data_size, size_t *size)
{
    uint8_t *file = malloc(8 + length + data_size);
    need(file != NULL);
    uint64_t said = length + (uint64_t)(int64_t)wrong;
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)(said >> (8 * i));
    memcpy(file + 8, text, length);
    memcpy(file + 8 + length, values, data_size);
    *size = 8 + length + data_size;
    return file;
}

static uint8_t *changed(artel_context *ctx, const uint8_t *data, size_t size, size_t *file_size)
{
    json_t *tree;
    char *text = NULL;
    int wrong = data[0] & 1 && size > 1 ? data[1] - 128 : 0;
    size_t cut = data[0] & 2 && size > 2 ? data[2] % (values_size + 1) : 0;
    need(artel__json_load(ctx, "header", header, strlen(header), &tree) == ARTEL_OK);
    if (size > 3) artel_fuzz_change_json(tree, data + 3, size - 3);
    need(artel__json_dump_string(ctx, tree, 0, &text) == ARTEL_OK);
    uint8_t *file = lay_out(text, strlen(text), wrong, values_size - cut, file_size);
    artel__free(ctx, text);
    json_decref(tree);
    return file;
}

static void read_tensors(artel_context *ctx, const char *path)
{
    artel__safetensors file;
    volatile uint8_t sum = 0;
    if (artel__safetensors_open(ctx, path, &file) < 0) return;
    for (size_t i = 0; i < file.count; i++) {
        const artel__safetensor *t = &file.tensor[i];
        size_t bytes = (size_t)artel_shape_count(&t->array.shape) * artel_dtype_size(t->array.dtype);
        need(bytes == (size_t)(t->end - t->begin));
        for (size_t k = 0; k < bytes; k++) sum = (uint8_t)(sum + ((const uint8_t *)t->array.data)[k]);
    }
    artel__safetensors_close(&file);
}

/* What was taken can be written and read again. */
static void read_back(artel_context *ctx, const artel_model *model)
{
    char digest[65], again[65];
    artel_model *other = make_model(ctx);
    need(artel_model_digest(model, digest) == ARTEL_OK);
    need(artel_model_save(model, own) == ARTEL_OK && artel_model_load_weights(other, own) == ARTEL_OK);
    need(artel_model_digest(other, again) == ARTEL_OK && memcmp(digest, again, sizeof digest) == 0);
    artel_model_destroy(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel_model *none = NULL;
    char path[64];
    size_t file_size = 0;
    if (!header) prepare();
    if (size == 0 || artel_context_create(NULL, &ctx) < 0) return 0;
    uint8_t *file = NULL;
    if (data[0] == '{')
        file = lay_out((const char *)data, size, 0, values_size, &file_size);
    else if (data[0] != 0)
        file = changed(ctx, data, size, &file_size);
    int fd = file ? open_file(path, file, file_size) : open_file(path, data + 1, size - 1);
    free(file);
    artel_model *model = make_model(ctx);
    if (artel_model_load_weights(model, path) == ARTEL_OK)
        read_back(ctx, model);
    else
        need(artel_context_error(ctx)->what[0] != 0);
    read_tensors(ctx, path);
    if (artel_model_load(ctx, path, &none) == ARTEL_OK) artel_model_destroy(none);
    artel_model_destroy(model);
    close(fd);
    artel_context_destroy(ctx);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (!header) prepare();
    if (number == 0) return artel_fuzz_text((const char *const *)&header, 1, 0, out, room);
    for (uint8_t i = 0; i < 16; i++) out[i] = (uint8_t)(number * 29 + i * 11);
    out[0] = (uint8_t)(number < 4 ? number : 4);
    if (number < 12) return number < 4 ? 3 : 16;
    if (number > 12) return 0;
    size_t whole;
    uint8_t *file = lay_out(header, strlen(header), 0, values_size, &whole);
    need(whole < room);
    out[0] = 0;
    memcpy(out + 1, file, whole);
    free(file);
    return whole + 1;
}
