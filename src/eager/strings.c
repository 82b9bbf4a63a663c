/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on arrays of strings: those that look into strings (text/words.h), and those that move them or put them in
 * order (text/moved.h), which are operations on numbers. Everything else is refused by name.
 */
#include <string.h>

#include "eager/eager_impl.h"
#include "text/moved.h"
#include "text/words.h"

/* -- strings as numbers -- */

static artel_status collect(artel_eager *e, artel_ndarray *const *inputs, int count, artel__moved_words *out)
{
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        if (inputs[i]->dtype == ARTEL_DTYPE_STRING) total += (size_t)inputs[i]->count;
    }
    ARTEL_TRY(artel__moved_begin(e->ctx, total, out));
    for (int i = 0; i < count; i++) {
        if (inputs[i]->dtype != ARTEL_DTYPE_STRING) continue;
        artel__ndarray_gather(inputs[i], out->word + out->count);
        out->count += inputs[i]->count;
    }
    return ARTEL_OK;
}

/* The operands with numbers in the place of strings; those that are new are the caller's to release. */
static artel_status encode(artel_eager *e, const artel__moved *op, artel__moved_words *w, artel_ndarray *const *inputs,
                           int count, artel_ndarray **out)
{
    void *block;
    ARTEL_TRY(artel__alloc(e->ctx, (size_t)w->count * sizeof(int32_t) + 1, "strings", &block));
    const int32_t *at = block;
    artel_status status = ARTEL_OK;
    artel__moved_number(op, w, block);
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
static artel_status decode(artel_eager *e, const artel__moved *op, const artel__moved_words *w, artel_ndarray **result)
{
    artel_ndarray *made = NULL;
    const int32_t *number = (const int32_t *)(const void *)(*result)->data;
    void *block;
    ARTEL_TRY(artel__alloc(e->ctx, (size_t)(*result)->count * sizeof(artel_string) + 1, "strings", &block));
    artel_status status = artel__moved_strings(e->ctx, op, w, number, (*result)->count, block);
    if (status == ARTEL_OK) status = artel__ndarray_new(e, ARTEL_DTYPE_STRING, &(*result)->shape, &made);
    if (status == ARTEL_OK) status = artel__ndarray_take_text(made, block);
    artel_ndarray_release(status == ARTEL_OK ? *result : made);
    if (status == ARTEL_OK) *result = made;
    artel__free(e->ctx, block);
    return status;
}

static void release_all(artel_ndarray **list, int count)
{
    for (int i = 0; i < count; i++) artel_ndarray_release(list[i]);
}

static int run_by_number(artel_eager *e, const artel__moved *op, artel_ndarray *const *inputs, int count,
                         const char *attributes, artel_ndarray **outputs, int most)
{
    artel_ndarray *in[ARTEL__OPERANDS] = {NULL}, *made[ARTEL__OPERANDS] = {NULL};
    artel__moved_words w = {.word = NULL};
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
    artel__moved_end(e->ctx, &w);
    return status < 0 ? (int)status : results;
}

/* -- operations that look into them -- */

/* Results become arrays. */
typedef struct array_sink {
    artel__string_sink sink;
    artel_eager *e;
    artel_ndarray *made;
} array_sink;

static artel_status take_numbers(artel__string_sink *to, artel_dtype dtype, const artel_shape *shape, void **out)
{
    array_sink *s = (array_sink *)(void *)to;
    ARTEL_TRY(artel__ndarray_check(s->e, dtype, shape));
    ARTEL_TRY(artel__ndarray_new(s->e, dtype, shape, &s->made));
    *out = s->made->data;
    return ARTEL_OK;
}

static artel_status take_strings(artel__string_sink *to, const artel_shape *shape, const artel_string *from)
{
    array_sink *s = (array_sink *)(void *)to;
    ARTEL_TRY(artel__ndarray_check(s->e, ARTEL_DTYPE_STRING, shape));
    ARTEL_TRY(artel__ndarray_new(s->e, ARTEL_DTYPE_STRING, shape, &s->made));
    return artel__ndarray_take_text(s->made, from);
}

/* The elements of all operands, dense, one behind another in a block of 64 bytes each. */
static artel_status run_dense(artel__string_call *c, artel_ndarray *const *inputs)
{
    artel__cells in[ARTEL__OPERANDS];
    size_t bytes = 1;
    void *block;
    for (int i = 0; i < c->count; i++)
        bytes += ((size_t)inputs[i]->count * artel__cell_size(inputs[i]->dtype) + 63) / 64 * 64;
    ARTEL_TRY(artel__alloc(c->ctx, bytes, "strings", &block));
    char *at = block;
    for (int i = 0; i < c->count; i++) {
        artel__ndarray_gather(inputs[i], at);
        in[i] = (artel__cells){inputs[i]->dtype, inputs[i]->shape, inputs[i]->count, at};
        at += ((size_t)inputs[i]->count * artel__cell_size(inputs[i]->dtype) + 63) / 64 * 64;
    }
    c->in = in;
    artel_status status = artel__string_run(c);
    artel__free(c->ctx, block);
    return status;
}

static artel_status run_words(artel_eager *e, const artel__string_operation *op, artel_ndarray *const *inputs,
                              int count, const char *attributes, artel_ndarray **out)
{
    array_sink sink = {.sink = {take_numbers, take_strings}, .e = e};
    artel__string_settings settings;
    json_t *json;
    artel__string_call c = {.ctx = e->ctx, .operation = op, .settings = &settings, .count = count, .to = &sink.sink};
    artel_status status = artel__string_prepare(e->ctx, op, count, attributes, &settings, &json);
    if (status == ARTEL_OK) status = run_dense(&c, inputs);
    json_decref(json);
    if (status == ARTEL_OK)
        *out = sink.made;
    else
        artel_ndarray_release(sink.made);
    return status;
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
    const artel__moved *moved = any ? artel__moved_find(name) : NULL;
    if (moved) return run_by_number(e, moved, inputs, count, attributes, outputs, most);
    const artel__string_operation *op = artel__string_find(name);
    if (!op || (!any && !op->numbers)) {
        if (!any) return 0;
        return artel__fail(e->ctx, ARTEL_ERROR_UNSUPPORTED, name, "make numbers of them: docs/eager.md says how",
                           "this operation has no strings");
    }
    artel_status status = run_words(e, op, inputs, count, attributes, &made);
    return status < 0 ? (int)status : hand_out(made, outputs, most);
}
