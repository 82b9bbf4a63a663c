/* SPDX-License-Identifier: Apache-2.0 */
/* Feature specifications: read from JSON, taken from a first record, written, published as arrays. */
#include "data/features.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "data/fingerprint.h"
#include "data/json_options.h"
#include "data/remote.h"

#define MOST_INFERRED 4096

/* The settings of one feature, as written. */
typedef struct settings {
    int dtype, role, decode;
    artel__ints shape, resize;
    const char *input, *fallback, *index, *key, *vocabulary;
    bool ragged, truncate, sequence;
    int64_t channels;
} settings;

static const char *const dtypes[] = {"float32", "int64", "bytes", NULL};
static const char *const roles[] = {"auto", "x", "y", "weight", NULL};
/* Behind the first three the names of dtypes, for raw numbers. */
static const char *const decodings[] = {"none",     "image",  "string", "float32", "float64", "float16",
                                        "bfloat16", "int8",   "int16",  "int32",   "int64",   "uint8",
                                        "uint16",   "uint32", "uint64", "bool",    NULL};

static const artel__option table[] = {
    {"dtype", "the kind of its values: float32, int64 or bytes", ARTEL__OPTION_ENUM, offsetof(settings, dtype), NULL, 0,
     0, dtypes},
    {"shape", "extents of one row; left out: one value", ARTEL__OPTION_INTS, offsetof(settings, shape), "[]", 0, 0,
     NULL},
    {"role", "x, y or weight; auto: by its name", ARTEL__OPTION_ENUM, offsetof(settings, role), "auto", 0, 0, roles},
    {"input", "the layer it is for", ARTEL__OPTION_STRING, offsetof(settings, input), "null", 0, 0, NULL},
    {"key", "its name in the record, when that is another", ARTEL__OPTION_STRING, offsetof(settings, key), "null", 0, 0,
     NULL},
    {"ragged", "lists of varying length, filled at the end up to shape", ARTEL__OPTION_BOOL, offsetof(settings, ragged),
     "false", 0, 0, NULL},
    {"truncate", "cut longer lists instead of refusing them", ARTEL__OPTION_BOOL, offsetof(settings, truncate), "false",
     0, 0, NULL},
    {"sequence", "in the feature lists of a SequenceExample", ARTEL__OPTION_BOOL, offsetof(settings, sequence), "false",
     0, 0, NULL},
    {"default", "the value where the feature is missing", ARTEL__OPTION_JSON, offsetof(settings, fallback), "null", 0,
     0, NULL},
    {"decode", "how bytes are read", ARTEL__OPTION_ENUM, offsetof(settings, decode), "none", 0, 0, decodings},
    {"channels", "channels of images: 1, 3 or 4", ARTEL__OPTION_INT, offsetof(settings, channels), "0", 0, 4, NULL},
    {"resize", "height and width of images", ARTEL__OPTION_INTS, offsetof(settings, resize), "[]", 0, 0, NULL},
    {"vocabulary", "strings become their places in this list, or file of lines", ARTEL__OPTION_JSON,
     offsetof(settings, vocabulary), "null", 0, 0, NULL},
    {"index", "features with the place of each value, one an axis: a sparse tensor", ARTEL__OPTION_JSON,
     offsetof(settings, index), "null", 0, 0, NULL},
    {.name = NULL},
};

static artel_status wrong(artel__arena *arena, const char *where, const char *what)
{
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, "correct the feature specification (docs/data.md)", "%s",
                       what);
}

/* "default": a number. */
static artel_status set_fill(artel__arena *arena, const char *where, const settings *s, artel__feature *out)
{
    json_t *value;
    if (s->fallback == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__json_load(arena->ctx, where, s->fallback, strlen(s->fallback), &value));
    bool good = artel__json_number(value, &out->fill);
    if (good && out->dtype == ARTEL_DTYPE_INT64) good = artel__json_integer(value, &out->fill_int);
    json_decref(value);
    out->has_default = true;
    return good ? ARTEL_OK : wrong(arena, where, "default is no number of its dtype");
}

/* "index": a name, or a list of them. */
static artel_status set_index(artel__arena *arena, const char *where, const settings *s, artel__feature *out)
{
    json_t *value;
    if (s->index == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__json_load(arena->ctx, where, s->index, strlen(s->index), &value));
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    bool good = count >= 1 && count <= ARTEL_MAX_RANK;
    for (size_t i = 0; i < count && good; i++) {
        json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        good = json_is_string(one);
        if (good) out->index[out->index_count++] = artel__arena_strdup(arena, json_string_value(one));
    }
    json_decref(value);
    if (!good) return wrong(arena, where, "index is no name of a feature, and no list of such");
    if (out->index_count != out->row.rank)
        return wrong(arena, where, "index needs one feature for each axis of the shape");
    if (out->kind == ARTEL__FEATURE_BYTES || out->ragged || out->sequence)
        return wrong(arena, where, "index goes with numbers that are neither ragged nor a sequence");
    return artel__arena_status(arena);
}

static artel_status set_image(artel__arena *arena, const char *where, const settings *s, artel__feature *out)
{
    out->dtype = ARTEL_DTYPE_FLOAT32;
    if (out->row.rank != 0 && out->row.rank != 3)
        return wrong(arena, where, "the shape of an image is [height, width, channels]");
    if (out->row.rank == 0) out->row = (artel_shape){3, {-1, -1, -1}};
    if (s->resize.count != 0 && s->resize.count != 2) return wrong(arena, where, "resize is [height, width]");
    for (int i = 0; i < s->resize.count; i++) out->row.dim[i] = s->resize.item[i];
    if (s->channels > 0) out->row.dim[2] = s->channels;
    if (out->row.dim[0] > 0 && out->row.dim[2] < 0) out->row.dim[2] = 3;
    int64_t c = out->row.dim[2];
    if (c == 2 || c == 0 || c > 4) return wrong(arena, where, "images have 1, 3 or 4 channels");
    if (out->row.dim[0] < 0 && out->row.dim[2] > 0) return wrong(arena, where, "channels go with resize or shape");
    if (out->row.dim[0] == 0 || out->row.dim[1] == 0 || out->row.dim[0] > 1 << 15 || out->row.dim[1] > 1 << 15)
        return wrong(arena, where, "extents of images are 1 to 32768");
    return ARTEL_OK;
}

static artel_status set_words(artel__arena *arena, const char *where, const settings *s, artel__feature *out)
{
    json_t *value;
    ARTEL_TRY(artel__json_load(arena->ctx, where, s->vocabulary, strlen(s->vocabulary), &value));
    artel_status status = artel__vocabulary_read(arena, where, value, &out->vocabulary);
    json_decref(value);
    out->decode = ARTEL__DECODE_WORDS;
    out->dtype = ARTEL_DTYPE_INT64;
    return status;
}

static artel_status set_bytes(artel__arena *arena, const char *where, const settings *s, artel__feature *out)
{
    if (s->vocabulary != NULL && s->decode != 0) return wrong(arena, where, "a vocabulary stands instead of decode");
    if (s->vocabulary != NULL) return set_words(arena, where, s, out);
    if (s->decode == 0)
        return wrong(arena, where,
                     "bytes need \"decode\": image, string, or the dtype of raw numbers; or a \"vocabulary\"");
    if (s->decode == 1) {
        out->decode = ARTEL__DECODE_IMAGE;
        return set_image(arena, where, s, out);
    }
    out->decode = s->decode == 2 ? ARTEL__DECODE_STRING : ARTEL__DECODE_RAW;
    out->dtype = ARTEL_DTYPE_STRING;
    return s->decode == 2 ? ARTEL_OK : artel_dtype_parse(decodings[s->decode], &out->dtype);
}

/* From settings, whose names are checked, to a feature. */
static artel_status settle(artel__arena *arena, const char *where, const char *name, const settings *s,
                           artel__feature *out)
{
    static const artel_dtype kinds[] = {ARTEL_DTYPE_FLOAT32, ARTEL_DTYPE_INT64, ARTEL_DTYPE_STRING};
    static const artel__feature_kind lists[] = {ARTEL__FEATURE_FLOAT32, ARTEL__FEATURE_INT64, ARTEL__FEATURE_BYTES};
    *out = (artel__feature){.name = artel__arena_strdup(arena, s->key != NULL ? s->key : name),
                            .array = artel__arena_strdup(arena, s->input != NULL ? s->input : name),
                            .role = (artel_data_role)s->role,
                            .kind = lists[s->dtype],
                            .dtype = kinds[s->dtype],
                            .row = {.rank = s->shape.count},
                            .ragged = s->ragged,
                            .truncate = s->truncate,
                            .sequence = s->sequence};
    ARTEL_TRY(artel__arena_status(arena));
    out->length = strlen(out->name);
    for (int i = 0; i < s->shape.count; i++) {
        out->row.dim[i] = s->shape.item[i];
        if (out->row.dim[i] < 0)
            return wrong(arena, where, "the extents of the shape are 0 or more; ragged ones state the most");
    }
    if (out->kind == ARTEL__FEATURE_BYTES) {
        ARTEL_TRY(set_bytes(arena, where, s, out));
    } else if (s->decode != 0 || s->channels != 0 || s->resize.count != 0 || s->vocabulary != NULL) {
        return wrong(arena, where, "decode, channels, resize and vocabulary go with bytes");
    }
    bool open = out->row.rank > 0 && out->row.dim[0] < 0;
    out->count = open ? 0 : artel_shape_count(&out->row);
    if (out->count < 0 || out->count > INT64_MAX / 64) return wrong(arena, where, "the shape overflows");
    if (out->truncate && !out->ragged) return wrong(arena, where, "truncate goes with ragged");
    if ((out->ragged || out->sequence) && (out->row.rank < 1 || out->decode == ARTEL__DECODE_IMAGE))
        return wrong(arena, where, "ragged and sequence need a shape, and are no images");
    if (out->sequence && out->kind == ARTEL__FEATURE_BYTES)
        return wrong(arena, where, "sequences of bytes are not supported");
    ARTEL_TRY(set_fill(arena, where, s, out));
    return set_index(arena, where, s, out);
}

static artel_status read_feature(artel__arena *arena, const char *path, const char *name, json_t *value,
                                 artel__feature *out)
{
    settings s;
    char *where = artel__arena_printf(arena, "%s: \"%s\"", path, name);
    if (where == NULL) return ARTEL_ERROR_NO_MEMORY;
    if (!json_is_object(value)) return wrong(arena, where, "each feature is an object of settings");
    ARTEL_TRY(artel__json_options(arena, table, &s, where, value, NULL));
    return settle(arena, where, name, &s, out);
}

artel_status artel__features_parse(artel__arena *arena, const char *where, json_t *root, artel__features *out)
{
    json_t *value;
    const char *name;
    size_t count = json_is_object(root) ? json_object_size(root) : 0;
    memset(out, 0, sizeof *out);
    out->where = where;
    if (count == 0) return wrong(arena, where, "a feature specification is an object of features, at least one");
    out->item = artel__arena_alloc(arena, count, sizeof *out->item);
    if (out->item == NULL) return ARTEL_ERROR_NO_MEMORY;
    json_object_foreach(root, name, value) ARTEL_TRY(read_feature(arena, where, name, value, &out->item[out->count++]));
    return ARTEL_OK;
}

artel_status artel__features_read(artel__arena *arena, const char *path, bool optional, artel__features *out)
{
    json_t *root;
    memset(out, 0, sizeof *out);
    ARTEL_TRY(artel__data_load_json(arena->ctx, path, optional, &root));
    if (root == NULL) return ARTEL_OK;
    artel_status status = artel__features_parse(arena, path, root, out);
    json_decref(root);
    return status;
}

/* ---- taken from a record ---- */

typedef struct inference {
    artel__arena *arena;
    artel__features *out;
    bool more; /* than there is room for */
} inference;

static bool looks_like_image(artel__proto bytes)
{
    size_t size = (size_t)(bytes.end - bytes.at);
    return (size > 3 && memcmp(bytes.at, "\xff\xd8\xff", 3) == 0) ||
           (size > 8 && memcmp(bytes.at, "\x89PNG\r\n\x1a\n", 8) == 0) ||
           (size > 13 && (memcmp(bytes.at, "GIF87a", 6) == 0 || memcmp(bytes.at, "GIF89a", 6) == 0)) ||
           (size > 54 && memcmp(bytes.at, "BM", 2) == 0 && artel__bytes_get(bytes.at + 2, 4) == size);
}

/* Names that the field gives to inputs and targets, beside those that matching knows. */
static artel_data_role guess_role(const char *name)
{
    static const char *const inputs[] = {"image", "image/encoded", "image_raw", NULL};
    static const char *const targets[] = {"label", "labels", "target", "image/class/label", NULL};
    for (int i = 0; inputs[i] != NULL; i++) {
        if (strcmp(name, inputs[i]) == 0) return ARTEL_DATA_ROLE_INPUT;
    }
    for (int i = 0; targets[i] != NULL; i++) {
        if (strcmp(name, targets[i]) == 0) return ARTEL_DATA_ROLE_TARGET;
    }
    return ARTEL_DATA_ROLE_AUTO;
}

static void infer_one(void *user, artel__proto name, const artel__example_list *list)
{
    inference *job = user;
    artel__features *out = job->out;
    int64_t count = 0;
    if (list->kind == ARTEL__FEATURE_NONE) return;
    if (out->count == MOST_INFERRED) {
        job->more = true;
        return;
    }
    if (name.at != name.end &&
        memchr(name.at, '\0', (size_t)(name.end - name.at)) != NULL) { /* nothing could name it */
        artel__log(job->arena->ctx, ARTEL_LOG_NOTE, "%s: a feature with a zero byte in its name is left out",
                   out->where);
        return;
    }
    artel__feature *f = &out->item[out->count];
    artel__proto value = artel__proto_of(name.at, 0);
    *f = (artel__feature){.kind = list->kind, .dtype = ARTEL_DTYPE_FLOAT32};
    if (list->kind == ARTEL__FEATURE_BYTES) {
        artel__example_bytes(list->values, &value, 1, &count);
        f->decode = count == 1 && looks_like_image(value) ? ARTEL__DECODE_IMAGE : ARTEL__DECODE_STRING;
        if (f->decode == ARTEL__DECODE_STRING) f->dtype = ARTEL_DTYPE_STRING;
    } else if (list->kind == ARTEL__FEATURE_INT64) {
        f->dtype = ARTEL_DTYPE_INT64;
        artel__example_ints(list->values, NULL, 0, &count);
    } else {
        artel__example_floats(list->values, NULL, 0, &count);
    }
    if (count != 1) f->row = (artel_shape){1, {count}};
    if (f->decode == ARTEL__DECODE_IMAGE) f->row = (artel_shape){3, {-1, -1, -1}};
    f->count = f->decode == ARTEL__DECODE_IMAGE ? 0 : count;
    f->name = f->array = artel__arena_printf(job->arena, "%.*s", (int)(name.end - name.at), (const char *)name.at);
    if (f->name == NULL) return;
    f->length = (size_t)(name.end - name.at);
    f->role = guess_role(f->name);
    out->count++;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const artel__feature *)a)->name, ((const artel__feature *)b)->name);
}

artel_status artel__features_infer(artel__arena *arena, const char *where, artel__proto record, artel__features *out)
{
    inference job = {arena, out, false};
    memset(out, 0, sizeof *out);
    out->where = where;
    out->item = artel__arena_alloc(arena, MOST_INFERRED, sizeof *out->item);
    if (out->item == NULL) return ARTEL_ERROR_NO_MEMORY;
    bool good = artel__example_visit(record, infer_one, &job);
    ARTEL_TRY(artel__arena_status(arena));
    if (!good || out->count == 0) {
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, "say what the records hold with #features=FILE.json",
                           "the first record is no tf.train.Example with features");
    }
    if (job.more)
        return artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, where,
                           "say what the records hold with #features=FILE.json",
                           "more than %d features in the first record, without a description of them", MOST_INFERRED);
    qsort(out->item, (size_t)out->count, sizeof *out->item, by_name);
    return ARTEL_OK;
}

/* ---- */

void artel__feature_fill(const artel__feature *feature, void *out, int64_t count)
{
    uint64_t one = 0;
    size_t size = artel_dtype_size(feature->dtype);
    uint8_t *at = out;
    if (count <= 0) return;
    if (feature->dtype == ARTEL_DTYPE_STRING) {
        for (int64_t i = 0; i < count; i++) ((artel__string *)out)[i] = (artel__string){"", 0};
        return;
    }
    if (feature->dtype == ARTEL_DTYPE_INT64)
        memcpy(&one, &feature->fill_int, sizeof one);
    else
        artel__convert(ARTEL_DTYPE_FLOAT64, &feature->fill, feature->dtype, &one, 1);
    if (one == 0) memset(at, 0, (size_t)count * size);
    for (int64_t i = 0; i < count && one != 0; i++, at += size) memcpy(at, &one, size);
}

bool artel__features_have_images(const artel__features *features)
{
    for (int i = 0; i < features->count; i++) {
        if (features->item[i].decode == ARTEL__DECODE_IMAGE) return true;
    }
    return false;
}

void artel__features_hash(const artel__features *features, artel__sha256 *hash)
{
    for (int i = 0; i < features->count; i++) {
        const artel__feature *f = &features->item[i];
        artel__hash_text(hash, f->name);
        artel__hash_integer(hash, (uint64_t)f->kind << 8 | (uint64_t)f->decode);
        artel__hash_integer(hash, (uint64_t)f->ragged | (uint64_t)f->truncate << 1 | (uint64_t)f->sequence << 2);
        artel__hash_integer(hash, (uint64_t)f->fill_int);
        artel__sha256_update(hash, &f->fill, sizeof f->fill);
        for (int axis = 0; axis < f->index_count; axis++) artel__hash_text(hash, f->index[axis]);
        for (int64_t w = 0; w < f->vocabulary.count; w++) {
            artel__hash_text(hash, f->vocabulary.words[w].text);
            artel__hash_integer(hash, (uint64_t)f->vocabulary.words[w].place);
        }
    }
}

artel_status artel__features_publish(artel__source *source, const artel__features *features, int64_t count)
{
    ARTEL_TRY(artel__source_add_arrays(source, features->count));
    for (int i = 0; i < features->count; i++) {
        const artel__feature *f = &features->item[i];
        source->arrays[i] =
            (artel__source_array){.name = f->array,
                                  .role = f->role,
                                  .dtype = f->dtype,
                                  .row = f->row,
                                  .count = count,
                                  .pixels = f->decode == ARTEL__DECODE_IMAGE ||
                                            (f->decode == ARTEL__DECODE_RAW && f->dtype == ARTEL_DTYPE_UINT8)};
        artel__array_set_text(&source->arrays[i]);
    }
    return ARTEL_OK;
}

static json_t *shape_json(const artel_shape *shape)
{
    json_t *list = json_array();
    for (int i = 0; i < shape->rank; i++) {
        if (json_array_append_new(list, json_integer(shape->dim[i])) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *index_json(const artel__feature *feature)
{
    json_t *list = json_array();
    for (int i = 0; i < feature->index_count; i++) {
        if (json_array_append_new(list, json_string(feature->index[i])) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

/* The words in the order of their places. */
static json_t *words_json(const artel__vocabulary *vocabulary)
{
    json_t *list = json_array();
    bool good = list != NULL;
    for (int64_t i = 0; i < vocabulary->count && good; i++) good = json_array_append_new(list, json_null()) == 0;
    for (int64_t i = 0; i < vocabulary->count && good; i++) {
        const struct artel__word *word = &vocabulary->words[i];
        good = json_array_set_new(list, (size_t)word->place, json_stringn_nocheck(word->text, word->length)) == 0;
    }
    if (good) return list;
    json_decref(list);
    return NULL;
}

static bool put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

/* The settings that differ from their defaults. */
static bool put_feature(json_t *one, const artel__feature *f)
{
    static const char *const names[] = {"", "bytes", "float32", "int64"};
    static const char *const decodes[] = {"", "", "image", "string", ""};
    bool good = put(one, "dtype", json_string(names[f->kind]));
    if (f->row.rank > 0 && f->row.dim[0] >= 0) good &= put(one, "shape", shape_json(&f->row));
    if (f->decode == ARTEL__DECODE_RAW) good &= put(one, "decode", json_string(artel_dtype_name(f->dtype)));
    if (f->decode == ARTEL__DECODE_WORDS) good &= put(one, "vocabulary", words_json(&f->vocabulary));
    if (f->decode == ARTEL__DECODE_IMAGE || f->decode == ARTEL__DECODE_STRING)
        good &= put(one, "decode", json_string(decodes[f->decode]));
    if (f->role != ARTEL_DATA_ROLE_AUTO) good &= put(one, "role", json_string(roles[f->role]));
    if (strcmp(f->array, f->name) != 0) good &= put(one, "key", json_string(f->name));
    if (f->ragged) good &= put(one, "ragged", json_true());
    if (f->truncate) good &= put(one, "truncate", json_true());
    if (f->sequence) good &= put(one, "sequence", json_true());
    if (f->has_default)
        good &=
            put(one, "default", f->dtype == ARTEL_DTYPE_INT64 ? json_integer(f->fill_int) : artel__json_real(f->fill));
    return f->index_count == 0 ? good : good & put(one, "index", index_json(f));
}

artel_status artel__features_write(artel_context *ctx, const artel__features *features, json_t **out)
{
    json_t *root = json_object();
    bool good = true;
    for (int i = 0; i < features->count && good; i++) {
        json_t *one = json_object();
        good = put_feature(one, &features->item[i]);
        good &= put(root, features->item[i].array, one);
    }
    if (good) {
        *out = root;
        return ARTEL_OK;
    }
    json_decref(root);
    return artel__fail_memory(ctx, features->where, 0);
}
