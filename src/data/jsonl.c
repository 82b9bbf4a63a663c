/* SPDX-License-Identifier: Apache-2.0 */
/* jsonl: a JSON object a line, whose members are features (features.h).
 *
 * Numbers, true and false, and lists of them nested as the shape is; "ragged" lets each list be shorter than its
 * extent. A string is the name of an image's file, below the folder of the file that names it, where the specification
 * says "decode": "image"; other strings are listed and not fed. Without a specification the first line says what there
 * is. A line is parsed when its row is wanted.
 */
#include <string.h>

#include "data/features.h"
#include "data/fingerprint.h"
#include "data/image_decode.h"
#include "data/jsonl_fast.h"
#include "data/lines.h"
#include "data/part_index.h"

typedef struct jsonl_state {
    artel__lines lines;
    artel__features features;
    artel__image_library images;
} jsonl_state;

static artel_status bad_line(artel_context *ctx, const artel__line *line, const char *advice, const char *name,
                             const char *what)
{
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, line->path, advice, "line %lld (counted from 0) at byte %llu: %s%s%s",
                       (long long)line->number, (unsigned long long)line->offset, name, name[0] ? ": " : "", what);
}

static artel_status parse_line(artel_context *ctx, const artel__line *line, json_t **out)
{
    char where[4200];
    snprintf(where, sizeof where, "%s: line %lld (counted from 0) at byte %llu", line->path, (long long)line->number,
             (unsigned long long)line->offset);
    ARTEL_TRY(artel__json_load(ctx, where, line->text, line->length, out));
    if (json_is_object(*out)) return ARTEL_OK;
    json_decref(*out);
    return bad_line(ctx, line, "write one object a line", "", "not a JSON object");
}

/* ---- opening ---- */

/* NaN and Infinity, which Python writes, are strings of a kind here (base/json.h). */
static bool is_special(const json_t *value)
{
    double ignored;
    return json_is_string(value) && artel__json_number(value, &ignored);
}

static artel__feature_kind kind_of(const json_t *value, artel_shape *row)
{
    while (json_is_array(value) && json_array_size(value) > 0 && row->rank < ARTEL_MAX_RANK) {
        row->dim[row->rank++] = (int64_t)json_array_size(value);
        value = json_array_get(value, 0);
    }
    if (json_is_integer(value) || json_is_boolean(value)) return ARTEL__FEATURE_INT64;
    if (json_is_real(value) || is_special(value)) return ARTEL__FEATURE_FLOAT32;
    return json_is_string(value) ? ARTEL__FEATURE_BYTES : ARTEL__FEATURE_NONE;
}

/* Whether any number in nested lists is no integer: [1, 2.5] are floats. */
static bool has_real(const json_t *value)
{
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++) {
        if (has_real(json_array_get(value, i))) return true;
    }
    return json_is_real(value) || is_special(value);
}

static bool is_listed(artel__source *source, const char *list, const char *name)
{
    char **names;
    int count = 0;
    if (list == NULL || artel__data_list_parse(&source->arena, list, &names, &count) < 0) return false;
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

static artel_status infer(artel__source *source, json_t *first, artel__features *out)
{
    const char *name;
    json_t *value;
    out->where = source->target;
    out->item = artel__arena_alloc(&source->arena, json_object_size(first) + 1, sizeof *out->item);
    if (out->item == NULL) return ARTEL_ERROR_NO_MEMORY;
    json_object_foreach(first, name, value)
    {
        artel__feature *f = &out->item[out->count];
        *f = (artel__feature){.name = artel__arena_strdup(&source->arena, name), .length = strlen(name)};
        if (f->name == NULL) return ARTEL_ERROR_NO_MEMORY;
        f->array = f->name;
        f->kind = kind_of(value, &f->row);
        if (f->kind == ARTEL__FEATURE_NONE) continue;
        if (f->kind == ARTEL__FEATURE_INT64 && has_real(value)) f->kind = ARTEL__FEATURE_FLOAT32;
        if (f->kind == ARTEL__FEATURE_BYTES) f->decode = ARTEL__DECODE_STRING;
        f->dtype = f->kind == ARTEL__FEATURE_INT64     ? ARTEL_DTYPE_INT64
                   : f->kind == ARTEL__FEATURE_FLOAT32 ? ARTEL_DTYPE_FLOAT32
                                                       : ARTEL_DTYPE_STRING;
        f->count = artel_shape_count(&f->row);
        if (is_listed(source, source->options.label, name)) f->role = ARTEL_DATA_ROLE_TARGET;
        out->count++;
    }
    if (out->count > 0) return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                       "say what the lines hold with #features=FILE.json",
                       "the first line has no member that could be fed");
}

static artel_status find_features(artel__source *source)
{
    jsonl_state *state = source->state;
    json_t *first;
    if (source->options.features != NULL)
        return artel__features_read(&source->arena, source->options.features, false, &state->features);
    if (state->lines.count == 0) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                           "say what the lines hold with #features=FILE.json", "there are no lines");
    }
    artel__unfold_room room = {NULL, 0};
    artel__line line;
    artel_status status = artel__lines_at(source, &state->lines, 0, &room, &line);
    if (status == ARTEL_OK) status = parse_line(source->ctx, &line, &first);
    if (status == ARTEL_OK) {
        status = infer(source, first, &state->features);
        json_decref(first);
    }
    artel__unfold_room_fini(source->ctx, &room);
    return status;
}

static artel_status check_features(artel__source *source, const artel__features *features)
{
    for (int i = 0; i < features->count; i++) {
        const artel__feature *f = &features->item[i];
        if (f->decode != ARTEL__DECODE_RAW && f->index_count == 0 && !f->sequence) continue;
        return artel__fail(source->ctx, ARTEL_ERROR_UNSUPPORTED, features->where, "write plain lists of numbers",
                           "feature '%s': raw bytes, index and sequence are for records", f->name);
    }
    return ARTEL_OK;
}

/* With skip-errors: lines that are no objects are left out, up to so many. */
static artel_status check_line(void *user, const artel__line *line, bool *keep)
{
    artel__source *source = user;
    json_t *value;
    artel_status status = parse_line(source->ctx, line, &value);
    *keep = status == ARTEL_OK;
    if (status == ARTEL_OK) json_decref(value);
    if (!artel__is_damage(status) || *source->skips == 0) return status;
    --*source->skips;
    const artel_error *error = artel_context_error(source->ctx);
    artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: the line is left out: %s", error->where, error->what);
    artel__operation_begin(source->ctx);
    return ARTEL_OK;
}

static artel_status jsonl_open(artel__source *source)
{
    jsonl_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->state = state;
    ARTEL_TRY(artel__lines_open(source, source->skips != NULL ? check_line : NULL, source, &state->lines));
    ARTEL_TRY(find_features(source));
    ARTEL_TRY(check_features(source, &state->features));
    if (artel__features_have_images(&state->features))
        ARTEL_TRY(artel__image_library_open(source->ctx, &state->images));
    return artel__features_publish(source, &state->features, state->lines.count);
}

/* ---- rows ---- */

typedef struct row {
    artel_context *ctx;
    const artel__line *line;
    const artel__feature *feature;
    const artel_shape *shape;
    size_t size;           /* bytes of an element */
    artel__arena *strings; /* where text is kept; NULL while numbers are read */
} row;

static artel_status bad_value(const row *r, const char *what)
{
    return bad_line(r->ctx, r->line, "correct the line, or say what lines hold with #features=FILE.json",
                    r->feature->name, what);
}

static artel_status place_word(const row *r, const json_t *value, uint8_t *out)
{
    const char *word = json_string_value(value);
    if (word == NULL || is_special(value)) return bad_value(r, "not a string");
    int64_t place = artel__vocabulary_find(&r->feature->vocabulary, word, json_string_length(value));
    if (place < 0 && r->feature->has_default)
        place = r->feature->fill_int;
    else if (place < 0)
        return bad_value(r, "a word that is not in the vocabulary");
    memcpy(out, &place, sizeof place);
    return ARTEL_OK;
}

static artel_status place_text(const row *r, const json_t *value, uint8_t *out)
{
    if (!json_is_string(value) || is_special(value)) return bad_value(r, "not a string");
    size_t length = json_string_length(value);
    char *copy = artel__arena_alloc(r->strings, 1, length + 1);
    if (copy == NULL) return ARTEL_ERROR_NO_MEMORY;
    memcpy(copy, json_string_value(value), length);
    *(artel__string *)(void *)out = (artel__string){copy, length};
    return ARTEL_OK;
}

static artel_status place_number(const row *r, const json_t *value, uint8_t *out)
{
    if (r->feature->decode == ARTEL__DECODE_STRING) return place_text(r, value, out);
    if (r->feature->decode == ARTEL__DECODE_WORDS) return place_word(r, value, out);
    double number = json_is_true(value) ? 1 : 0;
    int64_t integer = json_is_true(value);
    bool boolean = json_is_boolean(value);
    if (r->feature->dtype == ARTEL_DTYPE_INT64) {
        if (!boolean && !artel__json_integer(value, &integer))
            return bad_value(r, "not an integer (its dtype is int64)");
        memcpy(out, &integer, sizeof integer);
        return ARTEL_OK;
    }
    if (!boolean && !artel__json_number(value, &number)) return bad_value(r, "not a number");
    float narrow = (float)number;
    memcpy(out, &narrow, sizeof narrow);
    return ARTEL_OK;
}

/* Nested lists from `axis` on; `count` elements at `out`. */
static artel_status place(const row *r, const json_t *value, int axis, uint8_t *out, int64_t count)
{
    char what[128];
    if (axis == r->shape->rank) return place_number(r, value, out);
    int64_t extent = r->shape->dim[axis], each = extent > 0 ? count / extent : 0;
    int64_t found = json_is_array(value) ? (int64_t)json_array_size(value) : -1;
    if (found > extent && r->feature->truncate) found = extent;
    if (found < 0 || found > extent || (found < extent && !r->feature->ragged)) {
        snprintf(what, sizeof what, found < 0 ? "not a list" : "a list of %lld (expected %s%lld)", (long long)found,
                 r->feature->ragged ? "at most " : "", (long long)extent);
        return bad_value(r, what);
    }
    for (int64_t i = 0; i < found; i++)
        ARTEL_TRY(place(r, json_array_get(value, (size_t)i), axis + 1, out + (size_t)(i * each) * r->size, each));
    artel__feature_fill(r->feature, out + (size_t)(found * each) * r->size, (extent - found) * each);
    return ARTEL_OK;
}

/* The image whose name the line gives, below the folder of the line's file. */
static artel_status place_image(const artel__source *source, const row *r, const json_t *value, float *out)
{
    const jsonl_state *state = source->state;
    char folder[4096], path[8300];
    artel__image_why why = {""};
    artel__mapping mapping;
    const char *name = json_string_value(value);
    if (name == NULL) return bad_value(r, "not the name of an image's file");
    if (name[0] == '/' || strstr(name, "..") != NULL)
        return bad_value(r, "the name leads out of the folder of the file");
    const char *base = artel__folder_of(r->line->path, folder, sizeof folder);
    if (base == NULL || snprintf(path, sizeof path, "%s/%s", base, name) >= (int)sizeof path)
        return bad_value(r, "the name is too long");
    ARTEL_TRY(artel__map_file(source->ctx, path, &mapping));
    const artel__image_how how = artel__image_how_of(state->images.part, &source->options);
    artel__proto encoded = artel__proto_of(mapping.bytes, mapping.size);
    artel_status status = artel__image_decode(source->ctx, &how, encoded, r->shape, out, &why);
    artel__unmap_file(&mapping);
    if (status != ARTEL_ERROR_CORRUPT) return status;
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, path, "replace the image", "%s", why.text);
}

static artel_status place_member(const artel__source *source, const row *r, const json_t *value, void *out)
{
    int64_t count = artel_shape_count(r->shape);
    if (value == NULL || json_is_null(value)) {
        if (!r->feature->has_default && !r->feature->ragged)
            return bad_value(r, "the line lacks it; \"default\" would stand for it");
        artel__feature_fill(r->feature, out, count);
        return ARTEL_OK;
    }
    if (r->feature->decode == ARTEL__DECODE_IMAGE) return place_image(source, r, value, out);
    return place(r, value, 0, out, count);
}

static artel_status read_line(const artel__source *source, const artel__line *line, int array,
                              const artel_shape *row_shape, void *out)
{
    const artel__feature *feature = &((const jsonl_state *)source->state)->features.item[array];
    const row r = {source->ctx, line, feature, row_shape, artel_dtype_size(feature->dtype), NULL};
    json_t *object;
    if (artel__jsonl_fast(line->text, line->length, feature, row_shape, out)) return ARTEL_OK;
    ARTEL_TRY(parse_line(source->ctx, line, &object));
    artel_status status = place_member(source, &r, json_object_get(object, feature->name), out);
    json_decref(object);
    return status;
}

static artel_status jsonl_fetch(const artel__source *source, int array, const artel_shape *row_shape,
                                int64_t row_number, void *out)
{
    artel__unfold_room room = {NULL, 0};
    artel__line line;
    artel_status status =
        artel__lines_at(source, &((const jsonl_state *)source->state)->lines, row_number, &room, &line);
    if (status == ARTEL_OK) status = read_line(source, &line, array, row_shape, out);
    artel__unfold_room_fini(source->ctx, &room);
    return status;
}

/* The text of a line; `room` is used for one after another. */
static artel_status load_line(artel__source *source, const artel__feature *feature, int64_t number,
                              artel__unfold_room *room, void *out)
{
    artel__line line;
    json_t *object;
    ARTEL_TRY(artel__data_go_on(source->ctx, source->target));
    ARTEL_TRY(artel__lines_at(source, &((const jsonl_state *)source->state)->lines, number, room, &line));
    const row r = {source->ctx, &line, feature, &feature->row, sizeof(artel__string), &source->arena};
    ARTEL_TRY(parse_line(source->ctx, &line, &object));
    artel_status status = place_member(source, &r, json_object_get(object, feature->name), out);
    json_decref(object);
    return status;
}

/* The text of all lines. Text is escaped in them, so it cannot stay where it lies. */
static artel_status jsonl_load_text(artel__source *source, int array, const artel__string **out)
{
    const jsonl_state *state = source->state;
    const artel__feature *feature = &state->features.item[array];
    size_t bytes = (size_t)feature->count * sizeof(artel__string);
    artel__unfold_room room = {NULL, 0};
    artel_status status = ARTEL_OK;
    void *block;
    ARTEL_TRY(artel__source_alloc(source, (size_t)state->lines.count * bytes + 1, &block));
    memset(block, 0, (size_t)state->lines.count * bytes);
    for (int64_t i = 0; i < state->lines.count && status == ARTEL_OK; i++) {
        const artel__lines_file *file = &state->lines.files[artel__lines_file_of(&state->lines, i)];
        if (file->blob != NULL)
            status = load_line(source, feature, i, &room, (uint8_t *)block + (size_t)i * bytes);
        else if (!source->apart) /* else nobody reads it here */
            status = artel__part_missing(source, file->path);
    }
    artel__unfold_room_fini(source->ctx, &room);
    *out = block;
    return status;
}

static artel_status jsonl_hash_row(const artel__source *source, int array, int64_t row_number, uint64_t *out)
{
    artel__unfold_room room = {NULL, 0};
    artel__line line;
    (void)array;
    artel_status status =
        artel__lines_at(source, &((const jsonl_state *)source->state)->lines, row_number, &room, &line);
    if (status == ARTEL_OK) *out = artel__hash64(line.text, line.length);
    artel__unfold_room_fini(source->ctx, &room);
    return status;
}

static artel_status jsonl_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    ARTEL_TRY(artel__parts_fingerprint(source, hash));
    artel__features_hash(&((const jsonl_state *)source->state)->features, hash);
    return ARTEL_OK;
}

/* ---- pieces ---- */

static int jsonl_parts(const artel__source *source)
{
    return ((const jsonl_state *)source->state)->lines.file_count;
}

static artel__data_piece jsonl_part(const artel__source *source, int part)
{
    return artel__lines_piece(&((const jsonl_state *)source->state)->lines, part);
}

static int jsonl_part_of(const artel__source *source, int64_t number)
{
    return artel__lines_file_of(&((const jsonl_state *)source->state)->lines, number);
}

/* Its first line, which says what the members are where no file of features does. */
static artel_status jsonl_beginning(const artel__source *source, int part, artel__text *out)
{
    const jsonl_state *state = source->state;
    artel__unfold_room room = {NULL, 0};
    artel__line line;
    if (jsonl_part(source, part).rows == 0) return ARTEL_OK;
    artel_status status = artel__lines_at(source, &state->lines, state->lines.files[part].first, &room, &line);
    if (status == ARTEL_OK) artel__text_append_bytes(out, line.text, line.length);
    artel__unfold_room_fini(source->ctx, &room);
    return status;
}

static void jsonl_close(artel__source *source)
{
    jsonl_state *state = source->state;
    artel__lines_close(source->ctx, &state->lines);
    artel__image_library_close(&state->images);
}

const artel__data_format artel__data_jsonl = {
    .name = "jsonl",
    .syntax = "jsonl:GLOB#features=FILE.json",
    .options = "features label names scale shift size channels interpolation decode skip-errors",
    .open = jsonl_open,
    .reads_ahead = true,
    .load_text = jsonl_load_text,
    .fetch_row = jsonl_fetch,
    .hash_row = jsonl_hash_row,
    .fingerprint = jsonl_fingerprint,
    .parts = jsonl_parts,
    .part = jsonl_part,
    .part_of = jsonl_part_of,
    .beginning = jsonl_beginning,
    .close = jsonl_close,
};
