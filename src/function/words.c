/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of strings: what a program keeps beside its numbers (names of classes, a vocabulary) and finds again in
 * checkpoints.
 *
 * Strings are in no graph, so functions have them outside of theirs (texts.h), and they are in no table, no image and
 * on no device: one block a variable, in the strategy's process; among tasks each has them all, for each computes them
 * of the whole batch, and they go with the state (cluster.c). Who takes variables of numbers refuses them by name
 * (artel__words_refuse).
 */
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "function/function_impl.h"
#include "function/snapshot.h"

struct artel__words {
    artel_shape shape;
    int64_t count;
    artel_string *element; /* a block, with the bytes behind it, each string with a NUL */
    void *next;            /* what takes its place when all variables have theirs; NULL: nothing */
    const char *name;
};

/* -- one -- */

static artel_status check_elements(const artel_variable *v, const artel_string *from)
{
    artel_context *ctx = v->strategy->ctx;
    for (int64_t i = 0; from && i < v->words->count; i++) {
        if (from[i].length > 0 && !from[i].bytes)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, v->words->name, "give its bytes", "element %lld has none",
                               (long long)i);
        if (artel__utf8_valid(from[i].bytes, from[i].length) != from[i].length)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, v->words->name, "write UTF-8", "element %lld is no UTF-8",
                               (long long)i);
        if (from[i].length > 0 && memchr(from[i].bytes, 0, from[i].length))
            return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, v->words->name, "leave it out",
                               "element %lld has a byte of 0, which checkpoints do not hold", (long long)i);
    }
    return ARTEL_OK;
}

/* A block with copies; NULL: empty ones. */
artel_status artel__words_prepare(const artel_variable *v, const artel_string *from, void **out)
{
    const artel__words *w = v->words;
    size_t bytes;
    void *block;
    if (__builtin_mul_overflow((size_t)w->count, sizeof(artel_string) + 1, &bytes))
        return artel__fail_memory(v->strategy->ctx, w->name, SIZE_MAX);
    ARTEL_TRY(check_elements(v, from));
    for (int64_t i = 0; from && i < w->count; i++) {
        if (__builtin_add_overflow(bytes, from[i].length, &bytes))
            return artel__fail_memory(v->strategy->ctx, w->name, SIZE_MAX);
    }
    ARTEL_TRY(artel__alloc(v->strategy->ctx, bytes, w->name, &block));
    artel_string *to = block;
    char *at = (char *)(to + w->count);
    for (int64_t i = 0; i < w->count; i++) {
        size_t length = from ? from[i].length : 0;
        if (length > 0) memcpy(at, from[i].bytes, length);
        at[length] = '\0';
        to[i] = (artel_string){at, length};
        at += length + 1;
    }
    *out = block;
    return ARTEL_OK;
}

artel_string *artel__words_elements(const artel_variable *v)
{
    return v->words->element;
}

void *artel__words_swap(artel_variable *v, void *block)
{
    void *before = v->words->element;
    v->words->element = block;
    return before;
}

/* On failure the variable is as it was. */
static artel_status take(artel_variable *v, const artel_string *from)
{
    void *block;
    ARTEL_TRY(artel__words_prepare(v, from, &block));
    artel__free(v->strategy->ctx, artel__words_swap(v, block));
    return ARTEL_OK;
}

int artel__words_number(const artel_variable *v)
{
    int number = 0;
    for (const artel_variable *before = v->next; before; before = before->next) number++;
    return number;
}

artel_status artel__words_create(artel_strategy *s, const artel_variable_options *o, artel_variable **out)
{
    artel_variable *v = artel__arena_alloc(&s->arena, 1, sizeof *v);
    artel__words *w = artel__arena_alloc(&s->arena, 1, sizeof *w);
    if (!v || !w) return ARTEL_ERROR_NO_MEMORY;
    if (s->servers)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, o->name, "keep them in the program",
                           "parameter servers do not keep variables of strings");
    if (o->initializer)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, o->name, "give .initial", "nothing draws strings");
    *w = (artel__words){
        .shape = o->shape, .count = artel_shape_count(&o->shape), .name = artel__arena_strdup(&s->arena, o->name)};
    if (!w->name) return ARTEL_ERROR_NO_MEMORY;
    *v = (artel_variable){.strategy = s, .index = -1, .words = w, .next = s->words};
    ARTEL_TRY(take(v, o->initial));
    s->words = v;
    *out = v;
    return ARTEL_OK;
}

void artel__words_end(artel_strategy *s)
{
    for (artel_variable *v = s->words; v; v = v->next) artel__free(s->ctx, v->words->element);
}

const char *artel__words_name(const artel__words *w)
{
    return w->name;
}

const artel_shape *artel__words_shape(const artel__words *w)
{
    return &w->shape;
}

static artel_status check_access(const artel_variable *v, artel_dtype dtype, int64_t count)
{
    artel_context *ctx = v->strategy->ctx;
    if (count != v->words->count)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, v->words->name, "give room for all of them",
                           "%lld elements of %lld", (long long)count, (long long)v->words->count);
    if (dtype == ARTEL_DTYPE_STRING) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, v->words->name,
                       "use artel_variable_read_as and _assign_as with ARTEL_DTYPE_STRING", "it holds strings");
}

artel_status artel__words_read(const artel_variable *v, artel_dtype dtype, artel_string *out, int64_t count)
{
    ARTEL_TRY(check_access(v, dtype, count));
    memcpy(out, v->words->element, (size_t)count * sizeof *out);
    return ARTEL_OK;
}

artel_status artel__words_assign(artel_variable *v, artel_dtype dtype, const artel_string *from, int64_t count)
{
    ARTEL_TRY(check_access(v, dtype, count));
    return take(v, from);
}

artel_status artel__words_refuse(const artel_variable *v, const char *what)
{
    if (!v->words) return ARTEL_OK;
    return artel__fail(v->strategy->ctx, ARTEL_ERROR_UNSUPPORTED, v->words->name,
                       "make numbers of them: an argument of text and StringLookup",
                       "%s take numbers, and this variable holds strings", what);
}

/* -- with the state of a task -- */

uint64_t artel__words_hash(const artel_strategy *s, uint64_t hash)
{
    for (const artel_variable *v = s->words; v; v = v->next) {
        for (int64_t i = 0; i < v->words->count; i++) {
            const artel_string *one = &v->words->element[i];
            uint64_t both[2] = {hash, artel__hash64(one->bytes, one->length)};
            hash = artel__hash64(both, sizeof both);
        }
    }
    return hash;
}

/* The lengths of all strings, then their bytes. */
artel_status artel__words_image(const artel_strategy *s, void **out, size_t *bytes)
{
    size_t size = 0, strings = 0;
    void *block;
    *bytes = 0;
    *out = NULL;
    if (!s->words) return ARTEL_OK;
    for (const artel_variable *v = s->words; v; v = v->next) {
        for (int64_t i = 0; i < v->words->count; i++, strings++) size += v->words->element[i].length;
    }
    size += strings * sizeof(uint64_t);
    ARTEL_TRY(artel__alloc(s->ctx, size, "variables of strings", &block));
    uint64_t *length = block;
    char *at = (char *)(length + strings);
    for (const artel_variable *v = s->words; v; v = v->next) {
        for (int64_t i = 0; i < v->words->count; i++) {
            const artel_string *one = &v->words->element[i];
            *length++ = one->length;
            if (one->length) memcpy(at, one->bytes, one->length);
            at += one->length;
        }
    }
    *out = block;
    *bytes = size;
    return ARTEL_OK;
}

static artel_status misfit(const artel_strategy *s)
{
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "state", "run the same program everywhere",
                       "variables of strings do not fit these");
}

static artel_status prepare_next(artel_variable *v, const uint64_t *length, const char **at, const char *end)
{
    void *block;
    ARTEL_TRY(artel__alloc(v->strategy->ctx, (size_t)v->words->count * sizeof(artel_string), v->words->name, &block));
    artel_string *from = block;
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < v->words->count && status == ARTEL_OK; i++) {
        if (length[i] > (uint64_t)(end - *at)) {
            status = misfit(v->strategy);
            continue;
        }
        from[i] = (artel_string){*at, (size_t)length[i]};
        *at += length[i];
    }
    if (status == ARTEL_OK) status = artel__words_prepare(v, from, &v->words->next);
    artel__free(v->strategy->ctx, block);
    return status;
}

artel_status artel__words_take_image(artel_strategy *s, const void *image, size_t bytes)
{
    const uint64_t *length = image;
    const char *end = (const char *)image + bytes;
    size_t strings = 0;
    for (const artel_variable *v = s->words; v; v = v->next) strings += (size_t)v->words->count;
    if (strings > bytes / sizeof *length) return misfit(s);
    const char *at = (const char *)(length + strings);
    artel_status status = ARTEL_OK;
    for (artel_variable *v = s->words; v && status == ARTEL_OK; v = v->next) {
        status = prepare_next(v, length, &at, end);
        length += v->words->count;
    }
    if (status == ARTEL_OK && at != end) status = misfit(s);
    for (artel_variable *v = s->words; v; v = v->next) {
        void *next = v->words->next;
        v->words->next = NULL;
        artel__free(s->ctx, status == ARTEL_OK ? artel__words_swap(v, next) : next);
    }
    return status;
}

/* -- in checkpoints -- */

static json_t *record_of(const artel__words *w)
{
    json_t *strings = json_array(), *shape = json_array();
    bool good = strings && shape;
    for (int d = 0; d < w->shape.rank && good; d++)
        good = json_array_append_new(shape, json_integer(w->shape.dim[d])) == 0;
    for (int64_t i = 0; i < w->count && good; i++)
        good = json_array_append_new(strings, json_stringn(w->element[i].bytes, w->element[i].length)) == 0;
    if (good) return json_pack("{s:o, s:o}", "shape", shape, "strings", strings);
    json_decref(strings);
    json_decref(shape);
    return NULL;
}

artel_status artel__snapshot_words(const artel_strategy *s, json_t **out)
{
    json_t *all = json_object();
    bool good = all != NULL;
    for (const artel_variable *v = s->words; v && good; v = v->next)
        good = json_object_set_new(all, v->words->name, record_of(v->words)) == 0;
    *out = good ? all : NULL;
    if (good) return ARTEL_OK;
    json_decref(all);
    return artel__fail_memory(s->ctx, "variables of strings", 0);
}

static bool fits(const artel__words *w, const json_t *record)
{
    const json_t *shape = json_object_get(record, "shape"), *strings = json_object_get(record, "strings");
    bool good = json_array_size(shape) == (size_t)w->shape.rank && json_array_size(strings) == (size_t)w->count;
    for (int d = 0; d < w->shape.rank && good; d++)
        good = json_integer_value(json_array_get(shape, (size_t)d)) == w->shape.dim[d];
    for (int64_t i = 0; i < w->count && good; i++) good = json_is_string(json_array_get(strings, (size_t)i));
    return good;
}

static artel_status take_record(artel_variable *v, const json_t *record)
{
    const json_t *strings = json_object_get(record, "strings");
    void *block;
    ARTEL_TRY(artel__alloc(v->strategy->ctx, (size_t)v->words->count * sizeof(artel_string), v->words->name, &block));
    artel_string *from = block;
    for (int64_t i = 0; i < v->words->count; i++) {
        const json_t *one = json_array_get(strings, (size_t)i);
        from[i] = (artel_string){json_string_value(one), json_string_length(one)};
    }
    artel_status status = take(v, from);
    artel__free(v->strategy->ctx, block);
    return status;
}

artel_status artel__snapshot_take_words(artel_strategy *s, const char *where, const json_t *all, bool stores)
{
    for (artel_variable *v = s->words; v; v = v->next) {
        const json_t *record = json_object_get(all, v->words->name);
        if (!fits(v->words, record))
            return artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, where,
                               "go on with the program that wrote it, or begin in an empty directory",
                               "it has no variable %.200s of strings, or one of another shape", v->words->name);
        if (stores) ARTEL_TRY(take_record(v, record));
    }
    return ARTEL_OK;
}
