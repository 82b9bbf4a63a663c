/* SPDX-License-Identifier: Apache-2.0 */
/* One feature of one example as a row of its array.
 *
 * As tf.io.parse_example has it: a list of fixed length has just as many values as its shape; one that is missing takes
 * the default or is an error; ragged and sparse ones may be missing, which makes them empty. What is shorter than the
 * row is filled at its end.
 */
#include <string.h>

#include "data/features.h"
#include "data/image_decode.h"

/* A row being read. */
typedef struct row {
    const artel__example_reader *reader;
    const artel__feature *feature;
    int64_t count; /* elements */
    size_t size;   /* bytes of one */
    uint8_t *out;
} row;

static artel_status bad_record(const artel__example_reader *reader, const char *advice, const char *name,
                               const char *what)
{
    return artel__fail(reader->ctx, ARTEL_ERROR_CORRUPT, reader->path, advice,
                       "record %lld (counted from 0) at byte %llu: feature '%s': %s", (long long)reader->row,
                       (unsigned long long)reader->offset, name, what);
}

static artel_status damaged(const row *r)
{
    return bad_record(r->reader, "make the record again", r->feature->name, "the record is no tf.train.Example");
}

static artel_status wrong_count(const row *r, int64_t found, int64_t wanted)
{
    char what[128];
    snprintf(what, sizeof what, "%lld values (expected %s%lld)", (long long)found, r->feature->ragged ? "at most " : "",
             (long long)wanted);
    const char *advice = r->feature->ragged ? "give a larger shape, or \"truncate\": true"
                                            : "correct its shape, or say \"ragged\": true";
    return bad_record(r->reader, advice, r->feature->name, what);
}

/* Fills elements from `begin` on. */
static void fill_from(const row *r, int64_t begin)
{
    artel__feature_fill(r->feature, r->out + (size_t)begin * r->size, r->count - begin);
}

static artel_status missing(const row *r)
{
    if (!r->feature->has_default && !r->feature->ragged && r->feature->index_count == 0)
        return bad_record(r->reader, "give its feature a \"default\"", r->feature->name, "the record lacks it");
    fill_from(r, 0);
    return ARTEL_OK;
}

static artel_status wrong_kind(const row *r, artel__feature_kind found)
{
    static const char *const kinds[] = {"no list", "a bytes_list", "a float_list", "an int64_list"};
    char what[96];
    snprintf(what, sizeof what, "%s (expected %s)", kinds[found], kinds[r->feature->kind]);
    return bad_record(r->reader, "correct its dtype in the feature specification", r->feature->name, what);
}

/* Up to `room` numbers of a list into `out`. */
static bool numbers(const artel__example_list *list, void *out, int64_t room, int64_t *found)
{
    if (list->kind == ARTEL__FEATURE_FLOAT32) return artel__example_floats(list->values, out, room, found);
    return artel__example_ints(list->values, out, room, found);
}

/* A list of numbers into `room` elements from `begin` on; `filled`: how many there are then. */
static artel_status place_numbers(const row *r, const artel__example_list *list, int64_t begin, int64_t room,
                                  int64_t *filled)
{
    int64_t found = 0;
    if (!numbers(list, r->out + (size_t)begin * r->size, room, &found)) return damaged(r);
    if (found > room && !r->feature->truncate) return wrong_count(r, found, room);
    *filled = found < room ? found : room;
    return ARTEL_OK;
}

/* ---- bytes ---- */

static artel_status place_raw(const row *r, artel__proto bytes)
{
    size_t size = (size_t)(bytes.end - bytes.at), room = (size_t)r->count * r->size;
    int64_t found = (int64_t)(size / r->size);
    if (size % r->size != 0)
        return bad_record(r->reader, "correct its \"decode\"", r->feature->name, "bytes that make no whole numbers");
    if (found != r->count && (!r->feature->ragged || (found > r->count && !r->feature->truncate)))
        return wrong_count(r, found, r->count);
    if (size > 0) memcpy(r->out, bytes.at, size < room ? size : room);
    fill_from(r, found);
    return ARTEL_OK;
}

static artel_status place_image(const row *r, artel__proto bytes, const artel_shape *shape)
{
    artel__image_why why = {""};
    artel_status status =
        artel__image_decode(r->reader->ctx, &r->reader->images, bytes, shape, (float *)(void *)r->out, &why);
    return status == ARTEL_ERROR_CORRUPT ? bad_record(r->reader, "replace the image", r->feature->name, why.text)
                                         : status;
}

/* Strings as their places in the vocabulary. */
static artel_status place_words(const row *r, const artel__example_list *list)
{
    artel__proto_field field;
    artel__proto values = list->values;
    int64_t at = 0, *out = (int64_t *)(void *)r->out;
    while (artel__proto_next_here(&values, &field)) {
        if (field.number != 1 || field.wire != 2) continue;
        if (at == r->count && r->feature->truncate) break;
        if (at == r->count) return wrong_count(r, at + 1, r->count);
        size_t length = (size_t)(field.bytes.end - field.bytes.at);
        int64_t place = artel__vocabulary_find(&r->feature->vocabulary, (const char *)field.bytes.at, length);
        if (place < 0 && !r->feature->has_default) {
            char what[440], word[400];
            artel__clean((const char *)field.bytes.at, length < 60 ? length : 60, word, sizeof word);
            snprintf(what, sizeof what, "'%s' is not in the vocabulary", word);
            return bad_record(r->reader, "add it, or give a \"default\"", r->feature->name, what);
        }
        out[at++] = place >= 0 ? place : r->feature->fill_int;
    }
    if (values.damaged) return damaged(r);
    if (at == 0 && r->count > 0 && (r->feature->has_default || r->feature->ragged)) return missing(r);
    if (at < r->count && !r->feature->ragged) return wrong_count(r, at, r->count);
    fill_from(r, at);
    return ARTEL_OK;
}

/* Strings as they lie in the record, whose file stays mapped as long as its source. */
static artel_status keep_text(const row *r, artel__proto value, artel__string *out)
{
    *out = (artel__string){(const char *)value.at, (size_t)(value.end - value.at)};
    return r->reader->texts ? artel__texts_take(r->reader->texts, r->reader->path, out->bytes, out->length, out)
                            : ARTEL_OK;
}

static artel_status place_text(const row *r, const artel__example_list *list)
{
    artel__proto_field field;
    artel__proto values = list->values;
    artel__string *out = (artel__string *)(void *)r->out;
    int64_t at = 0;
    while (artel__proto_next_here(&values, &field)) {
        if (field.number != 1 || field.wire != 2) continue;
        if (at == r->count && r->feature->truncate) break;
        if (at == r->count) return wrong_count(r, at + 1, r->count);
        ARTEL_TRY(keep_text(r, field.bytes, &out[at++]));
    }
    if (values.damaged) return damaged(r);
    if (at < r->count && !r->feature->ragged) return wrong_count(r, at, r->count);
    fill_from(r, at);
    return ARTEL_OK;
}

static artel_status place_bytes(const row *r, const artel__example_list *list, const artel_shape *shape)
{
    artel__proto value;
    int64_t found = 0;
    if (r->feature->decode == ARTEL__DECODE_WORDS) return place_words(r, list);
    if (r->feature->decode == ARTEL__DECODE_STRING) return place_text(r, list);
    if (!artel__example_bytes(list->values, &value, 1, &found)) return damaged(r);
    if (found == 0) return missing(r);
    if (found > 1)
        return bad_record(r->reader, "give one value for each record", r->feature->name,
                          "several byte strings (expected one)");
    return r->feature->decode == ARTEL__DECODE_IMAGE ? place_image(r, value, shape) : place_raw(r, value);
}

/* ---- sparse ---- */

/* Where an element with these coordinates lies; -1 when it is outside. `at[axis]` points to the coordinate of element
 * i. */
static int64_t place_of(const artel_shape *shape, const int64_t *coordinates, int64_t stride, int64_t i)
{
    int64_t place = 0;
    for (int axis = 0; axis < shape->rank; axis++) {
        int64_t at = coordinates[axis * stride + i];
        if (at < 0 || at >= shape->dim[axis]) return -1;
        place = place * shape->dim[axis] + at;
    }
    return place;
}

static artel_status scatter(const row *r, const artel_shape *shape, const int64_t *coordinates, const void *values,
                            int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t place = place_of(shape, coordinates, count, i);
        if (place < 0)
            return bad_record(r->reader, "correct the record or the shape", r->feature->name,
                              "an index lies outside the shape");
        memcpy(r->out + (size_t)place * r->size, (const uint8_t *)values + (size_t)i * r->size, r->size);
    }
    return ARTEL_OK;
}

/* The coordinates of all axes, one axis after another. */
static artel_status read_coordinates(const row *r, artel__proto record, int64_t count, int64_t *out)
{
    for (int axis = 0; axis < r->feature->index_count; axis++) {
        artel__example_list list;
        int64_t found = 0;
        const char *name = r->feature->index[axis];
        if (!artel__example_find(record, name, strlen(name), &list)) return damaged(r);
        if (list.kind == ARTEL__FEATURE_INT64 && !artel__example_ints(list.values, out + axis * count, count, &found))
            return damaged(r);
        if (found != count)
            return bad_record(r->reader, "write as many indices as values", r->feature->name,
                              "its indices and values differ in number");
    }
    return ARTEL_OK;
}

static artel_status place_sparse(const row *r, artel__proto record, const artel__example_list *list,
                                 const artel_shape *shape)
{
    int64_t count = 0;
    void *block;
    fill_from(r, 0);
    if (!numbers(list, NULL, 0, &count)) return damaged(r);
    if (count == 0) return ARTEL_OK;
    ARTEL_TRY(artel__alloc(r->reader->ctx, (size_t)count * (size_t)(r->feature->index_count + 1) * 8, r->reader->path,
                           &block));
    int64_t *coordinates = block;
    void *values = coordinates + r->feature->index_count * count;
    artel_status status = read_coordinates(r, record, count, coordinates);
    if (status == ARTEL_OK && !numbers(list, values, count, &count)) status = damaged(r);
    if (status == ARTEL_OK) status = scatter(r, shape, coordinates, values, count);
    artel__free(r->reader->ctx, block);
    return status;
}

/* ---- sequences ---- */

/* The steps of a feature list, each of as many values as a step of the shape has. */
static artel_status place_steps(const row *r, artel__proto steps, int64_t most)
{
    artel__proto_field field;
    int64_t step = 0, each = most > 0 ? r->count / most : 0;
    while (artel__proto_next(&steps, &field)) {
        artel__example_list list;
        int64_t filled = 0;
        if (field.number != 1 || field.wire != 2) continue;
        if (step == most && r->feature->truncate) break;
        if (step == most) return wrong_count(r, step + 1, most);
        if (!artel__example_open(field.bytes, &list)) return damaged(r);
        if (list.kind != r->feature->kind) return wrong_kind(r, list.kind);
        ARTEL_TRY(place_numbers(r, &list, step * each, each, &filled));
        if (filled != each) return wrong_count(r, filled, each);
        step++;
    }
    if (steps.damaged) return damaged(r);
    if (step < most && !r->feature->ragged) return wrong_count(r, step, most);
    fill_from(r, step * each);
    return ARTEL_OK;
}

/* ---- */

/* `value`: the Feature, or NULL: it is looked for. */
static artel_status read_row(const artel__example_reader *reader, artel__proto record, const artel__proto *value,
                             const artel__feature *feature, const artel__row_want *want)
{
    const artel_shape *shape = want->shape;
    const row r = {reader, feature, artel_shape_count(shape), artel__cell_size(feature->dtype), want->out};
    artel__example_list list;
    int64_t filled = 0;
    if (feature->sequence) {
        artel__proto steps;
        if (!artel__example_find_steps(record, feature->name, feature->length, &steps)) return damaged(&r);
        return steps.at == steps.end && feature->has_default ? missing(&r) : place_steps(&r, steps, shape->dim[0]);
    }
    bool whole =
        value ? artel__example_open(*value, &list) : artel__example_find(record, feature->name, feature->length, &list);
    if (!whole) return damaged(&r);
    if (list.kind == ARTEL__FEATURE_NONE) return missing(&r);
    if (list.kind != feature->kind) return wrong_kind(&r, list.kind);
    if (feature->index_count > 0) return place_sparse(&r, record, &list, shape);
    if (feature->kind == ARTEL__FEATURE_BYTES) return place_bytes(&r, &list, shape);
    ARTEL_TRY(place_numbers(&r, &list, 0, r.count, &filled));
    if (filled == 0 && r.count > 0 && (feature->has_default || feature->ragged)) return missing(&r);
    if (filled < r.count && !feature->ragged) return wrong_count(&r, filled, r.count);
    fill_from(&r, filled);
    return ARTEL_OK;
}

artel_status artel__example_rows(const artel__example_reader *reader, artel__proto record,
                                 const artel__features *features, const artel__row_want *wants, int count)
{
    artel__proto value[ARTEL__EXAMPLE_TOGETHER];
    for (int i = 0; i < count; i += ARTEL__EXAMPLE_TOGETHER) {
        int some = count - i < ARTEL__EXAMPLE_TOGETHER ? count - i : ARTEL__EXAMPLE_TOGETHER;
        bool found = some > 1 && artel__example_find_all(record, features, wants + i, some, value);
        for (int k = 0; k < some; k++)
            ARTEL_TRY(
                read_row(reader, record, found ? &value[k] : NULL, &features->item[wants[i + k].array], &wants[i + k]));
    }
    return ARTEL_OK;
}
