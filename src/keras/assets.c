/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies that lie beside a model in its `.keras` file: assets/<path of the layer>/vocabulary.txt.
 *
 * Keras keeps there what adapt() has found, and the weights of tf_idf as `idf_weights` among the layer's variables.
 * Both are put into the layer's config, where Keras keeps what was given by hand: from there on a model carries them
 * through every format, and files that artel writes are read by Keras as if they had been given. Lines end where
 * Python's splitlines ends them, as Keras reads them.
 */
#include "keras/assets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct attacher {
    artel_context *ctx;
    artel__zip *zip;
    const char *path; /* of the file */
    const artel__h5_node *weights;
} attacher;

/* -- lines -- */

/* Bytes of the line end at `at`; 0 when there is none. */
static size_t line_end(const char *at, size_t left)
{
    unsigned char a = (unsigned char)at[0], b = left > 1 ? (unsigned char)at[1] : 0,
                  c = left > 2 ? (unsigned char)at[2] : 0;
    if (a == '\r' && b == '\n') return 2;
    if ((a >= '\n' && a <= '\r') || (a >= 0x1C && a <= 0x1E)) return 1;
    if (a == 0xC2 && b == 0x85) return 2;
    return a == 0xE2 && b == 0x80 && (c == 0xA8 || c == 0xA9) ? 3 : 0;
}

/* A term: a string, or with `integers` a number. NULL when it is neither, or memory is out. */
static json_t *make_term(const char *text, size_t length, bool integers)
{
    char digits[32];
    int64_t value;
    if (!integers) return json_stringn(text, length);
    if (length >= sizeof digits) return NULL;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return artel__parse_int64(digits, &value) ? json_integer(value) : NULL;
}

static json_t *read_lines(const char *text, size_t size, bool integers, int64_t *line)
{
    json_t *list = json_array();
    size_t begin = 0, empty = 0; /* lines that were empty since the last that was not */
    *line = 0;
    while (begin < size) {
        size_t at = begin, end = 0;
        while (at < size && (end = line_end(text + at, size - at)) == 0) at++;
        ++*line;
        if (at == begin) {
            empty++;
        } else {
            bool kept = true;
            for (; empty > 0; empty--) kept = kept && json_array_append_new(list, make_term("", 0, integers)) == 0;
            kept = kept && json_array_append_new(list, make_term(text + begin, at - begin, integers)) == 0;
            if (!kept) {
                json_decref(list);
                return NULL;
            }
        }
        begin = at + end;
    }
    return list;
}

/* -- layers -- */

static artel_status read_vocabulary(const attacher *a, const char *layer, bool integers, json_t **out)
{
    char name[1200];
    artel__zip_content content;
    int64_t line;
    *out = NULL;
    snprintf(name, sizeof name, "assets/%s/vocabulary.txt", layer);
    const artel__zip_member *member = artel__zip_find(a->zip, name);
    if (!member) return ARTEL_OK;
    ARTEL_TRY(artel__zip_extract(a->zip, member, ARTEL__JSON_MAX_SIZE, &content));
    *out = read_lines((const char *)content.bytes, content.size, integers, &line);
    artel__zip_release(a->zip, &content);
    if (*out) return ARTEL_OK;
    return artel__fail(a->ctx, ARTEL_ERROR_CORRUPT, a->path, "save the model again with Keras",
                       "%s: line %lld is no %s", name, (long long)line, integers ? "integer" : "text in UTF-8");
}

/* The weights of as many terms as there are; what is behind them is padding. */
static artel_status attach_weights(const attacher *a, const char *layer, json_t *config, size_t terms)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/vars/idf_weights", layer);
    const artel__h5_node *node = a->weights ? artel__h5_find(a->weights, path) : NULL;
    bool fits = node && node->is_dataset && node->readable && node->dtype == ARTEL_DTYPE_FLOAT32 &&
                node->shape.rank == 1 && node->shape.dim[0] >= (int64_t)terms;
    if (!fits) return ARTEL_OK; /* the layer says that it has none */
    json_t *list = json_array();
    bool kept = true;
    for (size_t i = 0; i < terms; i++) {
        float weight;
        memcpy(&weight, (const char *)node->data + i * sizeof weight, sizeof weight);
        kept = kept && json_array_append_new(list, artel__json_real((double)weight)) == 0;
    }
    return json_object_set_new(config, "idf_weights", list) < 0 || !kept ? artel__fail_memory(a->ctx, a->path, terms)
                                                                         : ARTEL_OK;
}

static artel_status attach_vocabulary(const attacher *a, const char *layer, json_t *config, bool integers)
{
    json_t *list;
    if (json_is_array(json_object_get(config, "vocabulary"))) return ARTEL_OK;
    ARTEL_TRY(read_vocabulary(a, layer, integers, &list));
    if (!list) return ARTEL_OK;
    size_t terms = json_array_size(list);
    if (json_object_set_new(config, "vocabulary", list) < 0) return artel__fail_memory(a->ctx, a->path, terms);
    const char *mode = json_string_value(json_object_get(config, "output_mode"));
    bool weighted = mode && (strcmp(mode, "tf_idf") == 0 || strcmp(mode, "tf-idf") == 0);
    return weighted ? attach_weights(a, layer, config, terms) : ARTEL_OK;
}

static artel_status attach_layers(const attacher *a, json_t *config, const char *path);

static artel_status attach_layer(const attacher *a, json_t *record, const char *path)
{
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    json_t *config = json_object_get(record, "config"), *inner = json_object_get(config, "layer");
    char below[1100];
    if (!class_name || !json_is_object(config)) return ARTEL_OK;
    bool words = strcmp(class_name, "StringLookup") == 0 || strcmp(class_name, "TextVectorization") == 0;
    if (words || strcmp(class_name, "IntegerLookup") == 0) return attach_vocabulary(a, path, config, !words);
    snprintf(below, sizeof below, "%s/layer", path);
    if (json_is_object(inner)) ARTEL_TRY(attach_layer(a, inner, below));
    return attach_layers(a, config, path);
}

/* Layers that come before in the same list and have the same name in files. */
static int count_same(json_t *layers, size_t end, const char *snake)
{
    int same = 0;
    for (size_t i = 0; i < end; i++) {
        char other[128];
        const char *class_name = json_string_value(json_object_get(json_array_get(layers, i), "class_name"));
        if (!class_name) continue;
        artel__snake_case(class_name, other, sizeof other);
        same += strcmp(other, snake) == 0;
    }
    return same;
}

static artel_status attach_layers(const attacher *a, json_t *config, const char *path)
{
    json_t *layers = json_object_get(config, "layers");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        json_t *record = json_array_get(layers, i);
        const char *class_name = json_string_value(json_object_get(record, "class_name"));
        char snake[128], below[1100];
        if (!class_name) continue;
        artel__snake_case(class_name, snake, sizeof snake);
        int same = count_same(layers, i, snake);
        snprintf(below, sizeof below, "%s%slayers/%s", path, *path ? "/" : "", snake);
        if (same) snprintf(below + strlen(below), sizeof below - strlen(below), "_%d", same);
        ARTEL_TRY(attach_layer(a, record, below));
    }
    return ARTEL_OK;
}

artel_status artel__keras_attach_assets(artel__zip *zip, const char *path, json_t *record,
                                        const artel__h5_node *weights)
{
    const attacher a = {zip->ctx, zip, path, weights};
    return attach_layers(&a, json_object_get(record, "config"), "");
}
