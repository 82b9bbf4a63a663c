/* SPDX-License-Identifier: Apache-2.0 */
/* artel inspect: TFRecord files. TensorBoard's events (tensorflow/core/util/event.proto) are listed by tag with the
 * range of steps and the last value, examples (tensorflow/core/example/example.proto) by feature. The file is checked
 * to its end. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/inspect.h"
#include "data/record_file.h"

enum {
    MOST_ROWS = 1000
};

/* A tag or feature. */
typedef struct row {
    char name[160];
    const char *kind;
    int64_t count, first, last; /* steps of a tag; fewest and most values of a feature */
    double value;
    bool has_value;
} row;

typedef struct listing {
    row *item;
    int count;
    int64_t records, left_out, operations; /* operations: of a graph */
    bool events, examples;
    char version[80];
} listing;

bool artel__inspect_is_records(const void *bytes, size_t size)
{
    artel__record_walk walk = {.bytes = bytes, .size = size};
    artel__proto record;
    return artel__record_step(&walk, true, &record) == ARTEL__RECORD_GOOD;
}

static row *find_row(listing *l, artel__proto name, const char *kind)
{
    char text[160];
    artel__proto_string(name, text, sizeof text);
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->item[i].name, text) == 0 && l->item[i].kind == kind) return &l->item[i];
    if (l->count == MOST_ROWS) {
        l->left_out++;
        return NULL;
    }
    row *r = &l->item[l->count++];
    memcpy(r->name, text, sizeof text);
    r->kind = kind;
    return r;
}

/* The number in a scalar's TensorProto: float_val (5), packed or not, or four bytes of tensor_content (4). */
static bool scalar_of(artel__proto tensor, double *out)
{
    artel__proto_field f;
    while (artel__proto_next(&tensor, &f)) {
        if (f.number == 5 && f.wire == 5) {
            *out = (double)artel__proto_float(f.value);
            return true;
        }
        if ((f.number != 4 && f.number != 5) || f.wire != 2 || f.bytes.end - f.bytes.at != 4) continue;
        uint64_t bits = 0;
        for (int i = 0; i < 4; i++) bits |= (uint64_t)f.bytes.at[i] << (8 * i);
        *out = (double)artel__proto_float(bits);
        return true;
    }
    return false;
}

/* Kind by the plug-in of the metadata, else by the field that holds the value. */
static const char *kind_of(artel__proto value)
{
    static const char *const plugins[] = {"scalars",           "histograms", "text", "images",
                                          "graph_keras_model", "hparams",    "audio"};
    artel__proto_field f, plugin, name;
    char text[40];
    if (artel__proto_find(value, 9, &f) && artel__proto_find(f.bytes, 1, &plugin) &&
        artel__proto_find(plugin.bytes, 1, &name)) {
        artel__proto_string(name.bytes, text, sizeof text);
        for (size_t i = 0; i < ARTEL__COUNT(plugins); i++)
            if (strcmp(plugins[i], text) == 0) return plugins[i];
    }
    return artel__proto_find(value, 2, &f) ? "scalars" : artel__proto_find(value, 5, &f) ? "histograms" : "other";
}

static void add_value(listing *l, artel__proto value, int64_t step)
{
    artel__proto_field tag, f;
    if (!artel__proto_find(value, 1, &tag)) return;
    /* only the first value of a tag has metadata */
    row *r = NULL;
    char text[160];
    artel__proto_string(tag.bytes, text, sizeof text);
    for (int i = 0; i < l->count && !r; i++)
        if (strcmp(l->item[i].name, text) == 0) r = &l->item[i];
    if (!r) r = find_row(l, tag.bytes, kind_of(value));
    if (!r) return;
    if (r->count++ == 0) r->first = step;
    r->last = step;
    if (strcmp(r->kind, "scalars") != 0) return;
    if (artel__proto_find(value, 2, &f) && f.wire == 5) {
        r->value = (double)artel__proto_float(f.value);
        r->has_value = true;
    } else if (artel__proto_find(value, 8, &f)) {
        r->has_value = scalar_of(f.bytes, &r->value) || r->has_value;
    }
}

/* Of a GraphDef. */
static int64_t count_operations(artel__proto graph)
{
    artel__proto_field f;
    int64_t count = 0;
    while (artel__proto_next(&graph, &f)) count += f.number == 1 && f.wire == 2;
    return count;
}

static bool add_event(listing *l, artel__proto event)
{
    artel__proto_field f, step = {0};
    bool any = false;
    artel__proto_find(event, 2, &step);
    while (artel__proto_next(&event, &f)) {
        if (f.number == 1 && f.wire == 1) any = true; /* wall_time */
        if (f.number == 3 && f.wire == 2) artel__proto_string(f.bytes, l->version, sizeof l->version);
        if (f.number == 4 && f.wire == 2) l->operations = count_operations(f.bytes);
        if (f.number != 5 || f.wire != 2) continue;
        artel__proto_field value;
        while (artel__proto_next(&f.bytes, &value))
            if (value.number == 1 && value.wire == 2) add_value(l, value.bytes, (int64_t)step.value);
    }
    return any;
}

/* Numbers in a list: packed or one a field; strings one a field. */
static int64_t count_values(int kind, artel__proto list)
{
    artel__proto_field f;
    int64_t count = 0;
    while (artel__proto_next(&list, &f)) {
        if (f.number != 1) continue;
        if (kind == 1 || f.wire != 2)
            count++;
        else if (kind == 2)
            count += (f.bytes.end - f.bytes.at) / 4;
        else
            for (const uint8_t *b = f.bytes.at; b < f.bytes.end; b++) count += *b < 128;
    }
    return count;
}

static bool add_example(listing *l, artel__proto example)
{
    static const char *const kinds[] = {"none", "bytes", "float32", "int64"};
    artel__proto_field features, entry, name, feature, list;
    if (!artel__proto_find(example, 1, &features) || features.wire != 2) return false;
    bool any = false;
    while (artel__proto_next(&features.bytes, &entry)) {
        if (entry.number != 1 || entry.wire != 2 || !artel__proto_find(entry.bytes, 1, &name)) return any;
        int kind = 0;
        int64_t count = 0;
        if (artel__proto_find(entry.bytes, 2, &feature) && artel__proto_next(&feature.bytes, &list) &&
            list.number >= 1 && list.number <= 3) {
            kind = list.number;
            count = count_values(kind, list.bytes);
        }
        row *r = find_row(l, name.bytes, kinds[kind]);
        any = true;
        if (!r) continue;
        if (r->count++ == 0 || count < r->first) r->first = count;
        if (count > r->last) r->last = count;
    }
    return any;
}

static void print_listing(const char *path, const listing *l)
{
    if (l->events)
        artel__show(stdout, "%s: TensorBoard events, %lld records (%s)\n", path, (long long)l->records,
                    l->version[0] ? l->version : "no version");
    else
        artel__show(stdout, "%s: TFRecord, %lld records%s\n", path, (long long)l->records,
                    l->examples ? " of tf.train.Example" : "");
    for (int i = 0; i < l->count; i++) {
        const row *r = &l->item[i];
        if (!l->events) {
            artel__show(stdout, "  %-40s %-8s in %lld records, ", r->name, r->kind, (long long)r->count);
            artel__show(stdout, r->first == r->last ? "%lld values each\n" : "%lld to %lld values\n",
                        (long long)r->first, (long long)r->last);
            continue;
        }
        artel__show(stdout, "  %-40s %-18s %lld points, steps %lld to %lld", r->name, r->kind, (long long)r->count,
                    (long long)r->first, (long long)r->last);
        if (r->has_value) artel__show(stdout, ", last %.7g", r->value);
        putchar('\n');
    }
    if (l->operations) artel__show(stdout, "  a graph of %lld operations\n", (long long)l->operations);
    if (l->left_out) artel__show(stdout, "  and more names, left out after %d\n", MOST_ROWS);
}

artel_status artel__inspect_records(artel__invocation *call, const char *path)
{
    artel__mapping mapping;
    listing l = {.item = artel__arena_alloc(&call->arena, MOST_ROWS, sizeof(row))};
    if (!l.item) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__map_file(call->ctx, path, &mapping));
    artel__record_walk walk = {.bytes = mapping.bytes, .size = mapping.size};
    artel__record_fault fault;
    artel__proto record;
    size_t at = 0;
    while ((fault = artel__record_step(&walk, true, &record)) == ARTEL__RECORD_GOOD) {
        at = walk.at;
        if (l.records == 0) {
            l.events = add_event(&l, record);
            l.examples = !l.events && add_example(&l, record);
        } else if (l.events) {
            add_event(&l, record);
        } else if (l.examples) {
            add_example(&l, record);
        }
        l.records++;
    }
    artel__unmap_file(&mapping);
    print_listing(path, &l);
    if (fault == ARTEL__RECORD_END) return ARTEL_OK;
    return artel__fail(call->ctx, ARTEL_ERROR_CORRUPT, path, "make the file again; what stands before it can be read",
                       "record %lld at byte %zu is damaged: %s", (long long)l.records, at,
                       artel__record_fault_text(fault));
}
