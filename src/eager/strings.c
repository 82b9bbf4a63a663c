/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on arrays of strings.
 *
 * What moves elements, chooses among them or puts them in order is computed of numbers that stand for the strings: of
 * their places where they are only moved, of their ranks where they are compared (by bytes, which in UTF-8 is the
 * order of code points). So these operations are those of numbers, with their settings, shapes and errors. What looks
 * into strings is a table of functions of its own, after tf.strings. Everything else is refused by name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "eager/eager_impl.h"
#include "text/hash.h"

/* -- strings as numbers -- */

typedef struct by_number {
    const char *name;
    uint32_t numbers; /* operands, by bit, that are numbers: a condition, places */
    bool order;       /* of ranks */
    bool strings;     /* the results are strings */
} by_number;

static const by_number operations[] = {
    {"append", 0, false, true},       {"array_split", 0, false, true}, {"broadcast_to", 0, false, true},
    {"concatenate", 0, false, true},  {"copy", 0, false, true},        {"diagonal", 0, false, true},
    {"dstack", 0, false, true},       {"expand_dims", 0, false, true}, {"flip", 0, false, true},
    {"fliplr", 0, false, true},       {"flipud", 0, false, true},      {"hsplit", 0, false, true},
    {"hstack", 0, false, true},       {"moveaxis", 0, false, true},    {"ravel", 0, false, true},
    {"repeat", 0, false, true},       {"reshape", 0, false, true},     {"roll", 0, false, true},
    {"rot90", 0, false, true},        {"slice", 0, false, true},       {"split", 0, false, true},
    {"squeeze", 0, false, true},      {"stack", 0, false, true},       {"swapaxes", 0, false, true},
    {"take", 2, false, true},         {"tile", 0, false, true},        {"take_along_axis", 2, false, true},
    {"transpose", 0, false, true},    {"unstack", 0, false, true},     {"vsplit", 0, false, true},
    {"vstack", 0, false, true},       {"where", 1, false, true},       {"sort", 0, true, true},
    {"argsort", 0, true, false},      {"equal", 0, true, false},       {"not_equal", 0, true, false},
    {"less", 0, true, false},         {"less_equal", 0, true, false},  {"greater", 0, true, false},
    {"greater_equal", 0, true, false}};

/* All strings of a call, one array behind another. */
typedef struct words {
    artel_string *word;          /* by place */
    const artel_string **sorted; /* by rank */
    int64_t count;
} words;

int artel__string_compare(const artel_string *a, const artel_string *b)
{
    size_t shared = a->length < b->length ? a->length : b->length;
    int order = shared ? memcmp(a->bytes, b->bytes, shared) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_places(const void *a, const void *b)
{
    const artel_string *const *one = a, *const *other = b;
    return artel__string_compare(*one, *other);
}

static artel_status collect(artel_eager *e, artel_ndarray *const *inputs, int count, words *out)
{
    void *block;
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        if (inputs[i]->dtype == ARTEL_DTYPE_STRING) total += (size_t)inputs[i]->count;
    }
    if (total > INT32_MAX)
        return artel__fail(e->ctx, ARTEL_ERROR_UNSUPPORTED, "strings", "take them in parts", "%zu strings in a call",
                           total);
    ARTEL_TRY(artel__alloc(e->ctx, total * (sizeof *out->word + sizeof *out->sorted) + 1, "strings", &block));
    *out = (words){block, (const artel_string **)(void *)((artel_string *)block + total), 0};
    for (int i = 0; i < count; i++) {
        if (inputs[i]->dtype != ARTEL_DTYPE_STRING) continue;
        artel__ndarray_gather(inputs[i], out->word + out->count);
        out->count += inputs[i]->count;
    }
    return ARTEL_OK;
}

/* Numbers of all strings: equal ones have the same rank, which is the first of their places among the sorted. */
static void rank(words *w, int32_t *number)
{
    for (int64_t i = 0; i < w->count; i++) w->sorted[i] = &w->word[i];
    if (w->count > 0) qsort(w->sorted, (size_t)w->count, sizeof(const artel_string *), compare_places);
    int64_t first = 0;
    for (int64_t i = 0; i < w->count; i++) {
        if (artel__string_compare(w->sorted[first], w->sorted[i]) != 0) first = i;
        number[w->sorted[i] - w->word] = (int32_t)first;
    }
}

static void place(const words *w, int32_t *number)
{
    for (int64_t i = 0; i < w->count; i++) number[i] = (int32_t)i;
}

/* The operands with numbers in the place of strings; those that are new are the caller's to release. */
static artel_status encode(artel_eager *e, const by_number *op, words *w, artel_ndarray *const *inputs, int count,
                           artel_ndarray **out)
{
    void *block;
    ARTEL_TRY(artel__alloc(e->ctx, (size_t)w->count * sizeof(int32_t) + 1, "strings", &block));
    const int32_t *at = block;
    artel_status status = ARTEL_OK;
    op->order ? rank(w, block) : place(w, block);
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        if (inputs[i]->dtype != ARTEL_DTYPE_STRING) {
            out[i] = artel_ndarray_retain(inputs[i]);
            continue;
        }
        status = artel__ndarray_new(e, ARTEL_DTYPE_INT32, &inputs[i]->shape, &out[i]);
        if (status < 0) break;
        memcpy(out[i]->data, at, (size_t)inputs[i]->count * sizeof *at);
        at += inputs[i]->count;
    }
    artel__free(e->ctx, block);
    return status;
}

/* The strings that the numbers of a result stand for, in its place. */
static artel_status decode(artel_eager *e, const by_number *op, const words *w, artel_ndarray **result)
{
    artel_ndarray *made;
    const int32_t *number = (const int32_t *)(const void *)(*result)->data;
    void *block;
    ARTEL_TRY(artel__alloc(e->ctx, (size_t)(*result)->count * sizeof(artel_string) + 1, "strings", &block));
    artel_string *from = block;
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < (*result)->count && status == ARTEL_OK; i++) {
        if (number[i] < 0 || number[i] >= w->count)
            status = artel__fail(e->ctx, ARTEL_ERROR_UNSUPPORTED, op->name, "use settings that only move elements",
                                 "with these settings it makes elements that are no strings of its operands");
        else
            from[i] = op->order ? *w->sorted[number[i]] : w->word[number[i]];
    }
    if (status == ARTEL_OK) status = artel__ndarray_new(e, ARTEL_DTYPE_STRING, &(*result)->shape, &made);
    if (status == ARTEL_OK) {
        status = artel__ndarray_take_text(made, from);
        if (status == ARTEL_OK) {
            artel_ndarray_release(*result);
            *result = made;
        } else {
            artel_ndarray_release(made);
        }
    }
    artel__free(e->ctx, block);
    return status;
}

static void release_all(artel_ndarray **list, int count)
{
    for (int i = 0; i < count; i++) artel_ndarray_release(list[i]);
}

static int run_by_number(artel_eager *e, const by_number *op, artel_ndarray *const *inputs, int count,
                         const char *attributes, artel_ndarray **outputs, int most)
{
    artel_ndarray *in[ARTEL__OPERANDS] = {NULL}, *made[ARTEL__OPERANDS] = {NULL};
    words w = {.word = NULL};
    for (int i = 0; i < count; i++) {
        bool number = i < 32 && (op->numbers >> i & 1);
        if (number != (inputs[i]->dtype == ARTEL_DTYPE_STRING)) continue;
        return artel__fail(
            e->ctx, ARTEL_ERROR_INVALID, op->name, "cast it with artel_ndarray_cast",
            number ? "operand %d is strings, and must be numbers" : "operand %d is numbers, and others are strings", i);
    }
    ARTEL_TRY(collect(e, inputs, count, &w));
    artel_status status = encode(e, op, &w, inputs, count, in);
    int results =
        status < 0 ? (int)status : artel_eager_op_all(e, op->name, in, count, attributes, made, ARTEL__OPERANDS);
    int given = results < ARTEL__OPERANDS ? results : ARTEL__OPERANDS;
    for (int i = 0; i < given && op->strings && status == ARTEL_OK; i++) status = decode(e, op, &w, &made[i]);
    for (int i = 0; i < given; i++) {
        if (status == ARTEL_OK && i < most)
            outputs[i] = made[i];
        else
            artel_ndarray_release(made[i]);
    }
    release_all(in, count);
    artel__free(e->ctx, w.word);
    return status < 0 ? (int)status : results;
}

/* -- functions of a string, after tf.strings -- */

typedef struct settings {
    int64_t buckets;
    bool characters; /* lengths count these, not bytes */
    artel_dtype dtype;
} settings;

typedef struct call {
    artel_eager *e;
    const settings *settings;
    const artel_string *in; /* dense */
    artel_ndarray *out;
} call;

static artel_status run_hash(const call *c)
{
    int64_t *out = (int64_t *)(void *)c->out->data;
    for (int64_t i = 0; i < c->out->count; i++) {
        uint64_t hash = artel__fingerprint(c->in[i].length ? c->in[i].bytes : "", c->in[i].length);
        out[i] = (int64_t)(hash % (uint64_t)c->settings->buckets);
    }
    return ARTEL_OK;
}

static artel_status run_length(const call *c)
{
    int32_t *out = (int32_t *)(void *)c->out->data;
    for (int64_t i = 0; i < c->out->count; i++) {
        size_t count = c->in[i].length;
        for (size_t b = 0; c->settings->characters && b < c->in[i].length; b++)
            count -= (c->in[i].bytes[b] & 0xC0) == 0x80; /* not the first of its character */
        out[i] = count > INT32_MAX ? INT32_MAX : (int32_t)count;
    }
    return ARTEL_OK;
}

static artel_status run_number(const call *c)
{
    return artel__ndarray_convert(c->e, ARTEL_DTYPE_STRING, c->in, c->settings->dtype, c->out->data, c->out->count);
}

/* The letters of ASCII in place, in the block that the result owns. */
static artel_status change_case(const call *c, char first, char last)
{
    ARTEL_TRY(artel__ndarray_take_text(c->out, c->in));
    const artel_string *made = (const artel_string *)(const void *)c->out->data;
    for (int64_t i = 0; i < c->out->count; i++) {
        char *at = c->out->text + (made[i].bytes - c->out->text);
        for (size_t b = 0; b < made[i].length; b++) {
            if (at[b] >= first && at[b] <= last) at[b] ^= 0x20;
        }
    }
    return ARTEL_OK;
}

static artel_status run_lower(const call *c)
{
    return change_case(c, 'A', 'Z');
}

static artel_status run_upper(const call *c)
{
    return change_case(c, 'a', 'z');
}

static artel_status run_strip(const call *c)
{
    void *block;
    ARTEL_TRY(artel__alloc(c->e->ctx, (size_t)c->out->count * sizeof(artel_string) + 1, "strings", &block));
    artel_string *part = block;
    for (int64_t i = 0; i < c->out->count; i++) part[i] = artel__strip(c->in[i]);
    artel_status status = artel__ndarray_take_text(c->out, part);
    artel__free(c->e->ctx, block);
    return status;
}

typedef struct function {
    const char *name;
    artel_dtype dtype; /* of the result; FLOAT32: the setting's */
    const char *key;   /* of its setting; NULL: it has none */
    artel_status (*run)(const call *call);
} function;

static const function functions[] = {{"string_to_hash_bucket_fast", ARTEL_DTYPE_INT64, "num_buckets", run_hash},
                                     {"string_length", ARTEL_DTYPE_INT32, "unit", run_length},
                                     {"string_to_number", ARTEL_DTYPE_FLOAT32, "out_type", run_number},
                                     {"string_lower", ARTEL_DTYPE_STRING, NULL, run_lower},
                                     {"string_upper", ARTEL_DTYPE_STRING, NULL, run_upper},
                                     {"string_strip", ARTEL_DTYPE_STRING, NULL, run_strip}};

static artel_status refuse_setting(artel_eager *e, const function *f, const char *key)
{
    return artel__fail(e->ctx, ARTEL_ERROR_INVALID, f->name,
                       "see docs/eager.md for the settings of operations on strings",
                       "the setting '%s' is missing, unknown, or has no such value", key);
}

static artel_status read_settings(artel_eager *e, const function *f, const json_t *given, settings *out)
{
    const char *key;
    json_t *value;
    *out = (settings){.dtype = ARTEL_DTYPE_FLOAT32};
    json_object_foreach((json_t *)(uintptr_t)given, key, value)
    {
        const char *text = json_string_value(value);
        bool known = f->key && strcmp(key, f->key) == 0;
        if (known && f->run == run_hash) known = artel__json_integer(value, &out->buckets) && out->buckets > 0;
        if (known && f->run == run_length) {
            out->characters = text && strcmp(text, "UTF8_CHAR") == 0;
            known = out->characters || (text && strcmp(text, "BYTE") == 0);
        }
        if (known && f->run == run_number)
            known = text && artel_dtype_parse(text, &out->dtype) == ARTEL_OK && artel_dtype_size(out->dtype) > 0;
        if (!known) return refuse_setting(e, f, key);
    }
    return f->run == run_hash && out->buckets == 0 ? refuse_setting(e, f, f->key) : ARTEL_OK;
}

static artel_status run_function(artel_eager *e, const function *f, artel_ndarray *const *inputs, int count,
                                 const char *attributes, artel_ndarray **out)
{
    artel_ndarray *dense = NULL, *made = NULL;
    settings s = {.dtype = ARTEL_DTYPE_FLOAT32};
    json_t *json = NULL;
    if (count != 1)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, f->name, "give one array of strings", "%d arrays", count);
    if (attributes) ARTEL_TRY(artel__json_load(e->ctx, f->name, attributes, strlen(attributes), &json));
    artel_status status =
        !json || json_is_object(json) ? read_settings(e, f, json, &s) : refuse_setting(e, f, attributes);
    artel_dtype dtype = f->run == run_number ? s.dtype : f->dtype;
    json_decref(json);
    if (status == ARTEL_OK) status = artel__ndarray_new(e, ARTEL_DTYPE_STRING, &inputs[0]->shape, &dense);
    if (status == ARTEL_OK) status = artel__ndarray_new(e, dtype, &inputs[0]->shape, &made);
    if (status == ARTEL_OK) {
        artel__ndarray_gather(inputs[0], dense->data);
        status = f->run(&(call){e, &s, (const artel_string *)(const void *)dense->data, made});
    }
    artel_ndarray_release(dense);
    if (status < 0)
        artel_ndarray_release(made);
    else
        *out = made;
    return status;
}

/* The one result there is, if it is wanted; how many there are. */
static int hand_out(artel_ndarray *made, artel_ndarray **outputs, int most)
{
    if (most > 0)
        outputs[0] = made;
    else
        artel_ndarray_release(made);
    return 1;
}

int artel__eager_strings(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                         const char *attributes, artel_ndarray **outputs, int most)
{
    bool any = false;
    artel_ndarray *made = NULL;
    artel_status status;
    for (int i = 0; i < count; i++) any = any || inputs[i]->dtype == ARTEL_DTYPE_STRING;
    if (!any) return 0;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (artel__same_operation(operations[i].name, name))
            return run_by_number(e, &operations[i], inputs, count, attributes, outputs, most);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!artel__same_operation(functions[i].name, name)) continue;
        status = run_function(e, &functions[i], inputs, count, attributes, &made);
        return status < 0 ? (int)status : hand_out(made, outputs, most);
    }
    status = artel__eager_words(e, name, inputs, count, attributes, &made);
    if (status < 0) return (int)status;
    if (status == ARTEL_OK) return hand_out(made, outputs, most);
    return artel__fail(e->ctx, ARTEL_ERROR_UNSUPPORTED, name, "make numbers of them: docs/eager.md says how",
                       "this operation has no strings");
}
