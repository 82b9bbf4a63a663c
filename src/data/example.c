/* SPDX-License-Identifier: Apache-2.0 */
/* tf.train.Example and SequenceExample (tensorflow/core/example/example.proto), read in place.
 *
 * Example: features (1) = a map of name (1) to Feature (2); Feature: bytes_list (1), float_list (2) or int64_list (3),
 * each with its values in field 1, numbers packed or one a field. SequenceExample: context (1) has the form of
 * features; feature_lists (2) = a map of name to FeatureList, whose field 1 holds a Feature for each step. As protobuf
 * has it, the last of several entries of one name counts. Nothing is copied but the values asked for, and no memory is
 * taken for what a record claims.
 */
#include <string.h>

#include "base/hash.h"
#include "data/features.h"

/* The last of its fields 1 to 3. */
bool artel__example_open(artel__proto feature, artel__example_list *out)
{
    artel__proto_field field;
    *out = (artel__example_list){ARTEL__FEATURE_NONE, feature};
    while (artel__proto_next_here(&feature, &field)) {
        if (field.wire != 2 || field.number < 1 || field.number > 3) continue;
        *out = (artel__example_list){(artel__feature_kind)field.number, field.bytes};
    }
    return !feature.damaged;
}

/* Name and value of a map's entry. */
static bool open_entry(artel__proto entry, artel__proto *name, artel__proto *value)
{
    artel__proto_field field;
    *name = *value = artel__proto_of(entry.at, 0);
    while (artel__proto_next_here(&entry, &field)) {
        if (field.wire == 2 && field.number == 1) *name = field.bytes;
        if (field.wire == 2 && field.number == 2) *value = field.bytes;
    }
    return !entry.damaged;
}

static bool has_name(artel__proto name, const char *wanted, size_t length)
{
    return (size_t)(name.end - name.at) == length && (length == 0 || memcmp(name.at, wanted, length) == 0);
}

/* The value of that name in the maps that are field `map` of the record; empty when there is none. */
static bool find_value(artel__proto record, int map, const char *wanted, size_t length, artel__proto *out)
{
    artel__proto_field field, entry;
    *out = artel__proto_of(record.at, 0);
    while (artel__proto_next_here(&record, &field)) {
        if (field.number != map || field.wire != 2) continue;
        while (artel__proto_next_here(&field.bytes, &entry)) {
            artel__proto name, value;
            if (entry.number != 1 || entry.wire != 2) continue;
            if (!open_entry(entry.bytes, &name, &value)) return false;
            if (has_name(name, wanted, length)) *out = value;
        }
        if (field.bytes.damaged) return false;
    }
    return !record.damaged;
}

bool artel__example_find(artel__proto record, const char *name, size_t length, artel__example_list *out)
{
    artel__proto value;
    return find_value(record, 1, name, length, &value) && artel__example_open(value, out);
}

/* The names that are wanted. Up to FEW are compared with each name of a record; more are looked up in a table. */
enum {
    FEW = 4,
    SLOTS = 4 * ARTEL__EXAMPLE_TOGETHER
};

typedef struct wanted_names {
    const artel__features *features;
    const artel__row_want *wants;
    int count;
    uint8_t slot[SLOTS]; /* the place in wants + 1; 0: free */
} wanted_names;

static const artel__feature *wanted(const wanted_names *names, int i)
{
    return &names->features->item[names->wants[i].array];
}

static void table_names(wanted_names *names)
{
    memset(names->slot, 0, sizeof names->slot);
    for (int i = 0; i < names->count; i++) {
        const artel__feature *f = wanted(names, i);
        size_t at = (size_t)artel__hash64(f->name, f->length) % SLOTS;
        while (names->slot[at] != 0) at = (at + 1) % SLOTS;
        names->slot[at] = (uint8_t)(i + 1);
    }
}

/* Two features may be read from one entry. */
static void take_entry(const wanted_names *names, artel__proto name, artel__proto value, artel__proto *out)
{
    if (names->count <= FEW) {
        for (int i = 0; i < names->count; i++)
            if (has_name(name, wanted(names, i)->name, wanted(names, i)->length)) out[i] = value;
        return;
    }
    size_t at = (size_t)artel__hash64(name.at, (size_t)(name.end - name.at)) % SLOTS;
    for (; names->slot[at] != 0; at = (at + 1) % SLOTS) {
        int i = names->slot[at] - 1;
        if (has_name(name, wanted(names, i)->name, wanted(names, i)->length)) out[i] = value;
    }
}

/* A record is gone through once, not once for each feature. */
bool artel__example_find_all(artel__proto record, const artel__features *features, const artel__row_want *wants,
                             int count, artel__proto *out)
{
    wanted_names names; /* its table is not cleared where none is wanted */
    artel__proto_field field, entry;
    names.features = features, names.wants = wants, names.count = count;
    if (count > FEW) table_names(&names);
    for (int i = 0; i < count; i++) out[i] = artel__proto_of(record.at, 0);
    while (artel__proto_next_here(&record, &field)) {
        if (field.number != 1 || field.wire != 2) continue;
        while (artel__proto_next_here(&field.bytes, &entry)) {
            artel__proto name, value;
            if (entry.number != 1 || entry.wire != 2) continue;
            if (!open_entry(entry.bytes, &name, &value)) return false;
            take_entry(&names, name, value, out);
        }
        if (field.bytes.damaged) return false;
    }
    return !record.damaged;
}

bool artel__example_find_steps(artel__proto record, const char *name, size_t length, artel__proto *out)
{
    return find_value(record, 2, name, length, out);
}

bool artel__example_visit(artel__proto record, artel__example_visit_fn *visit, void *user)
{
    artel__proto_field field, entry;
    while (artel__proto_next_here(&record, &field)) {
        if (field.number != 1 || field.wire != 2) continue;
        while (artel__proto_next_here(&field.bytes, &entry)) {
            artel__proto name, value;
            artel__example_list list;
            if (entry.number != 1 || entry.wire != 2) continue;
            if (!open_entry(entry.bytes, &name, &value) || !artel__example_open(value, &list)) return false;
            visit(user, name, &list);
        }
        if (field.bytes.damaged) return false;
    }
    return !record.damaged;
}

bool artel__example_floats(artel__proto values, float *out, int64_t room, int64_t *count)
{
    artel__proto_field field;
    *count = 0;
    while (artel__proto_next_here(&values, &field)) {
        if (field.number != 1) continue;
        if (field.wire == 5) {
            if (*count < room) out[*count] = artel__proto_float(field.value);
            ++*count;
        } else if (field.wire == 2) {
            int64_t bytes = field.bytes.end - field.bytes.at, more = bytes / 4, fit = room - *count;
            if (bytes % 4 != 0) return false;
            if (fit > more) fit = more;
            if (fit > 0) memcpy(out + *count, field.bytes.at, (size_t)fit * sizeof(float));
            *count += more;
        }
    }
    return !values.damaged;
}

static bool packed_ints(artel__proto packed, int64_t *out, int64_t room, int64_t *count)
{
    while (packed.at < packed.end) {
        uint64_t value = *packed.at++;
        if (value > 127) {
            uint64_t byte = value;
            value &= 127;
            int shift = 7;
            do {
                if (packed.at == packed.end || shift > 63) return false;
                byte = *packed.at++;
                value |= (byte & 127) << shift;
                shift += 7;
            } while (byte > 127);
        }
        if (*count < room) out[*count] = (int64_t)value;
        ++*count;
    }
    return true;
}

bool artel__example_ints(artel__proto values, int64_t *out, int64_t room, int64_t *count)
{
    artel__proto_field field;
    *count = 0;
    while (artel__proto_next_here(&values, &field)) {
        if (field.number != 1) continue;
        if (field.wire == 0) {
            if (*count < room) out[*count] = (int64_t)field.value;
            ++*count;
        } else if (field.wire == 2 && !packed_ints(field.bytes, out, room, count)) {
            return false;
        }
    }
    return !values.damaged;
}

bool artel__example_bytes(artel__proto values, artel__proto *out, int64_t room, int64_t *count)
{
    artel__proto_field field;
    *count = 0;
    while (artel__proto_next_here(&values, &field)) {
        if (field.number != 1 || field.wire != 2) continue;
        if (*count < room) out[*count] = field.bytes;
        ++*count;
    }
    return !values.damaged;
}
