/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on arrays of strings.
 *
 * What moves elements, chooses among them or puts them in order is computed of numbers that stand for the strings: of
 * their places where they are only moved, of their ranks where they are compared (by bytes, which in UTF-8 is the
 * order of code points). So these operations are those of numbers, with their settings, shapes and errors. What looks
 * into strings is in words.c. Everything else is refused by name.
 */
#include <stdlib.h>
#include <string.h>

#include "eager/eager_impl.h"

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

/* -- calls -- */

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
    for (int i = 0; i < count; i++) any = any || inputs[i]->dtype == ARTEL_DTYPE_STRING;
    if (!any && !artel__makes_words(name)) return 0;
    for (size_t i = 0; i < sizeof operations / sizeof *operations && any; i++) {
        if (artel__same_operation(operations[i].name, name))
            return run_by_number(e, &operations[i], inputs, count, attributes, outputs, most);
    }
    artel_status status = artel__eager_words(e, name, inputs, count, attributes, &made);
    if (status < 0) return (int)status;
    if (status == ARTEL_OK) return hand_out(made, outputs, most);
    if (!any) return 0;
    return artel__fail(e->ctx, ARTEL_ERROR_UNSUPPORTED, name, "make numbers of them: docs/eager.md says how",
                       "this operation has no strings");
}
