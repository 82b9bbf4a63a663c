/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on strings whose results have other shapes than their operands, after tf.strings and tf.lookup: joining,
 * splitting, and places in a vocabulary.
 *
 * Splitting gives what tf.strings.split(x).to_tensor("") does: arrays are dense, so elements with fewer parts than the
 * one with the most end in empty strings. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "eager/eager_impl.h"

typedef struct settings {
    artel_string separator;
    int64_t axis, most, missing; /* most: parts but one; -1: all */
    bool all;                    /* no axis: of all elements */
} settings;

typedef struct call {
    artel_eager *e;
    const char *name;
    const settings *settings;
    artel_ndarray *const *inputs;
    const artel_string *const *in; /* their elements, dense */
    int count;
    artel_ndarray **out;
} call;

typedef struct operation {
    const char *name;
    int least, most_inputs;
    uint32_t keys; /* settings that it has, by bit */
    artel_status (*run)(const call *call);
} operation;

enum {
    KEY_SEPARATOR,
    KEY_SEP,
    KEY_AXIS,
    KEY_MAXSPLIT,
    KEY_DEFAULT,
    KEYS
};
static const char *const key_names[KEYS] = {"separator", "sep", "axis", "maxsplit", "default_value"};

static artel_status wrong(const call *c, const char *advice, const char *what)
{
    return artel__fail(c->e->ctx, ARTEL_ERROR_INVALID, c->name, advice, "%s", what);
}

/* An array of these strings, which are copied. */
static artel_status give_strings(const call *c, const artel_shape *shape, const artel_string *from)
{
    artel_ndarray *made;
    ARTEL_TRY(artel__ndarray_new(c->e, ARTEL_DTYPE_STRING, shape, &made));
    artel_status status = artel__ndarray_take_text(made, from);
    if (status < 0)
        artel_ndarray_release(made);
    else
        *c->out = made;
    return status;
}

/* -- joining -- */

/* Part `part` of element `i` of the result. */
typedef const artel_string *part_fn(const call *call, int64_t i, int64_t part);

static artel_status join_parts(const call *c, const artel_shape *shape, int64_t parts, part_fn *part)
{
    int64_t count = artel_shape_count(shape);
    const artel_string *between = &c->settings->separator;
    size_t bytes = 1;
    void *list, *block;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t p = 0; p < parts; p++) {
            size_t more = part(c, i, p)->length + (p ? between->length : 0);
            if (__builtin_add_overflow(bytes, more, &bytes)) return artel__fail_memory(c->e->ctx, "strings", SIZE_MAX);
        }
    }
    ARTEL_TRY(artel__alloc(c->e->ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &list));
    artel_status status = artel__alloc(c->e->ctx, bytes, "strings", &block);
    artel_string *made = list;
    char *at = status < 0 ? NULL : block;
    for (int64_t i = 0; i < count && at; i++) {
        made[i] = (artel_string){at, 0};
        for (int64_t p = 0; p < parts; p++) {
            const artel_string *pieces[2] = {between, part(c, i, p)};
            for (int k = p ? 0 : 1; k < 2; k++) {
                if (pieces[k]->length) memcpy(at, pieces[k]->bytes, pieces[k]->length);
                at += pieces[k]->length;
            }
        }
        made[i].length = (size_t)(at - made[i].bytes);
    }
    if (status == ARTEL_OK) {
        status = give_strings(c, shape, made);
        artel__free(c->e->ctx, block);
    }
    artel__free(c->e->ctx, list);
    return status;
}

static const artel_string *operand(const call *c, int64_t i, int64_t part)
{
    return &c->in[part][c->inputs[part]->shape.rank ? i : 0];
}

static artel_status run_join(const call *c)
{
    const artel_shape *shape = &c->inputs[0]->shape;
    for (int i = 1; i < c->count; i++) {
        const artel_shape *other = &c->inputs[i]->shape;
        if (shape->rank == 0) shape = other;
        bool same = other->rank == shape->rank;
        for (int k = 0; same && k < shape->rank; k++) same = other->dim[k] == shape->dim[k];
        if (!same && other->rank) return wrong(c, "give arrays of one shape, or scalars", "the shapes differ");
    }
    return join_parts(c, shape, c->count, operand);
}

/* Elements along the axis of one array lie `inner` apart. */
static int64_t inner_of(const call *c)
{
    int64_t inner = 1;
    for (int k = (int)c->settings->axis + 1; k < c->inputs[0]->shape.rank; k++) inner *= c->inputs[0]->shape.dim[k];
    return inner;
}

static const artel_string *along(const call *c, int64_t i, int64_t part)
{
    if (c->settings->all) return &c->in[0][part];
    int64_t inner = inner_of(c), extent = c->inputs[0]->shape.dim[c->settings->axis];
    return &c->in[0][(i / inner * extent + part) * inner + i % inner];
}

static artel_status run_reduce_join(const call *c)
{
    artel_shape shape = c->inputs[0]->shape;
    settings s = *c->settings;
    call own = *c;
    own.settings = &s;
    if (s.axis < 0) s.axis += shape.rank;
    if (s.all) {
        int64_t parts = artel_shape_count(&shape);
        return join_parts(&own, &(artel_shape){.rank = 0}, parts, along);
    }
    if (s.axis < 0 || s.axis >= shape.rank) return wrong(c, "give an axis of the array", "there is no such axis");
    int64_t parts = shape.dim[s.axis];
    shape.rank--;
    for (int k = (int)s.axis; k < shape.rank; k++) shape.dim[k] = shape.dim[k + 1];
    return join_parts(&own, &shape, parts, along);
}

/* -- splitting -- */

static size_t leading_spaces(artel_string s)
{
    size_t n = 0;
    while (n < s.length && (s.bytes[n] == ' ' || (s.bytes[n] >= '\t' && s.bytes[n] <= '\r'))) n++;
    return n;
}

/* Where the separator is in a text, and how long; false: nowhere. Without one: spaces in a row. */
static bool find(const artel_string *separator, artel_string s, size_t *at, size_t *length)
{
    *length = separator->length ? separator->length : 1;
    for (*at = 0; *at + *length <= s.length; ++*at) {
        artel_string rest = {s.bytes + *at, s.length - *at};
        if (separator->length ? memcmp(rest.bytes, separator->bytes, separator->length) == 0 : leading_spaces(rest) > 0)
            return true;
    }
    return false;
}

/* The parts of one text, at most `room` of which are written; how many there are. */
static int64_t split(const settings *by, artel_string s, artel_string *out, int64_t room)
{
    int64_t count = 0;
    size_t at, length;
    for (;;) {
        if (!by->separator.length && by->most != 0) { /* not to be split at all: with its spaces */
            size_t spaces = leading_spaces(s);
            s = spaces ? (artel_string){s.bytes + spaces, s.length - spaces} : s;
            if (s.length == 0) return count;
        }
        bool last = count == by->most || !find(&by->separator, s, &at, &length);
        if (count < room) out[count] = last ? s : (artel_string){s.bytes, at};
        count++;
        if (last) return count;
        s = (artel_string){s.bytes + at + length, s.length - at - length};
    }
}

static artel_status run_split(const call *c)
{
    artel_shape shape = c->inputs[0]->shape;
    int64_t count = c->inputs[0]->count, most = 0;
    void *list;
    if (shape.rank == ARTEL_MAX_RANK) return wrong(c, "take axes away", "there is no room for another axis");
    for (int64_t i = 0; i < count; i++) {
        int64_t parts = split(c->settings, c->in[0][i], NULL, 0);
        if (parts > most) most = parts;
    }
    shape.dim[shape.rank++] = most;
    ARTEL_TRY(artel__ndarray_check(c->e, ARTEL_DTYPE_STRING, &shape));
    ARTEL_TRY(artel__calloc(c->e->ctx, (size_t)(count * most) + 1, sizeof(artel_string), "strings", &list));
    artel_string *part = list;
    for (int64_t i = 0; i < count; i++) split(c->settings, c->in[0][i], part + i * most, most);
    artel_status status = give_strings(c, &shape, part);
    artel__free(c->e->ctx, list);
    return status;
}

/* -- places in a vocabulary -- */

typedef struct entry {
    artel_string word;
    int64_t place;
} entry;

static int by_word(const void *a, const void *b)
{
    return artel__string_compare(&((const entry *)a)->word, &((const entry *)b)->word);
}

static artel_status look_up(const call *c, entry *table, int64_t entries)
{
    artel_ndarray *made;
    for (int64_t i = 0; i < entries; i++) table[i] = (entry){c->in[1][i], i};
    if (entries > 1) qsort(table, (size_t)entries, sizeof *table, by_word);
    for (int64_t i = 1; i < entries; i++) {
        if (by_word(&table[i - 1], &table[i]) == 0)
            return artel__fail(c->e->ctx, ARTEL_ERROR_INVALID, c->name, "give each word once",
                               "\"%.*s\" is in the vocabulary twice",
                               (int)(table[i].word.length < 100 ? table[i].word.length : 100), table[i].word.bytes);
    }
    ARTEL_TRY(artel__ndarray_new(c->e, ARTEL_DTYPE_INT64, &c->inputs[0]->shape, &made));
    int64_t *place = (int64_t *)(void *)made->data;
    for (int64_t i = 0; i < made->count; i++) {
        const entry wanted = {c->in[0][i], 0};
        const entry *found = entries > 0 ? bsearch(&wanted, table, (size_t)entries, sizeof *table, by_word) : NULL;
        place[i] = found ? found->place : c->settings->missing;
    }
    *c->out = made;
    return ARTEL_OK;
}

static artel_status run_lookup(const call *c)
{
    void *table;
    if (c->inputs[1]->shape.rank != 1) return wrong(c, "give words in a row", "the vocabulary has not one axis");
    ARTEL_TRY(artel__calloc(c->e->ctx, (size_t)c->inputs[1]->count + 1, sizeof(entry), "vocabulary", &table));
    artel_status status = look_up(c, table, c->inputs[1]->count);
    artel__free(c->e->ctx, table);
    return status;
}

/* -- calls -- */

static const operation operations[] = {
    {"string_join", 1, ARTEL__OPERANDS, 1 << KEY_SEPARATOR, run_join},
    {"string_reduce_join", 1, 1, 1 << KEY_SEPARATOR | 1 << KEY_AXIS, run_reduce_join},
    {"string_split", 1, 1, 1 << KEY_SEP | 1 << KEY_MAXSPLIT, run_split},
    {"string_lookup", 2, 2, 1 << KEY_DEFAULT, run_lookup}};

static bool read_setting(int key, json_t *value, settings *out)
{
    switch (key) {
    case KEY_SEPARATOR:
    case KEY_SEP:
        out->separator = (artel_string){json_string_value(value), json_string_length(value)};
        return json_is_string(value) || (key == KEY_SEP && json_is_null(value));
    case KEY_AXIS: out->all = json_is_null(value); return out->all || artel__json_integer(value, &out->axis);
    case KEY_MAXSPLIT: return artel__json_integer(value, &out->most) && out->most >= -1;
    default: return artel__json_integer(value, &out->missing);
    }
}

static artel_status read_settings(artel_eager *e, const operation *op, const json_t *given, settings *out)
{
    const char *key;
    json_t *value;
    *out = (settings){.most = -1, .missing = -1, .all = true};
    json_object_foreach((json_t *)(uintptr_t)given, key, value)
    {
        bool known = false;
        for (int k = 0; k < KEYS; k++) {
            if (op->keys >> k & 1 && strcmp(key, key_names[k]) == 0) known = read_setting(k, value, out);
        }
        if (!known)
            return artel__fail(e->ctx, ARTEL_ERROR_INVALID, op->name,
                               "see docs/eager.md for the settings of operations on strings",
                               "the setting '%s' is unknown, or has no such value", key);
    }
    return ARTEL_OK;
}

/* With the elements of all operands, one behind another. */
static artel_status run(call *c, const operation *op)
{
    const artel_string *in[ARTEL__OPERANDS];
    size_t total = 0;
    void *block;
    for (int i = 0; i < c->count; i++) {
        if (c->inputs[i]->dtype != ARTEL_DTYPE_STRING)
            return wrong(c, "cast it with artel_ndarray_cast", "an operand is numbers");
        total += (size_t)c->inputs[i]->count;
    }
    ARTEL_TRY(artel__alloc(c->e->ctx, total * sizeof(artel_string) + 1, "strings", &block));
    artel_string *at = block;
    for (int i = 0; i < c->count; i++) {
        artel__ndarray_gather(c->inputs[i], at);
        in[i] = at;
        at += c->inputs[i]->count;
    }
    c->in = in;
    artel_status status = op->run(c);
    artel__free(c->e->ctx, block);
    return status;
}

artel_status artel__eager_words(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                                const char *attributes, artel_ndarray **out)
{
    const operation *op = NULL;
    settings s;
    json_t *json = NULL;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (artel__same_operation(operations[i].name, name)) op = &operations[i];
    }
    if (!op) return ARTEL_AGAIN;
    call c = {.e = e, .name = op->name, .settings = &s, .inputs = inputs, .count = count, .out = out};
    if (count < op->least || count > op->most_inputs)
        return wrong(&c, "see docs/eager.md", "it takes another number of arrays");
    if (attributes) ARTEL_TRY(artel__json_load(e->ctx, op->name, attributes, strlen(attributes), &json));
    artel_status status = json && !json_is_object(json) ? wrong(&c, "give a JSON object", "the settings are no object")
                                                        : read_settings(e, op, json, &s);
    if (status == ARTEL_OK) status = run(&c, op);
    json_decref(json);
    return status;
}
