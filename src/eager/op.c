/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and functions that are called at once.
 *
 * The way of a small operation is short: its entry is found, its result taken from the free list, and the one kernel of
 * its function runs on the arrays' own memory. Everything else goes through artel_function_run.
 */
#include <string.h>

#include "eager/eager_impl.h"

#define OPTION(field) offsetof(artel_eager_options, field)
static const artel__range ranges[] = {{".threads", ARTEL__RANGE_INT, OPTION(threads), 0, 4096, NULL},
                                      {".most_functions", ARTEL__RANGE_INT64, OPTION(most_functions), 1, 1e9, NULL},
                                      {.name = NULL}};
static const artel__options_kind kind = {"eager options", "begin with ARTEL_EAGER_OPTIONS_INIT",
                                         sizeof(artel_eager_options), ranges};

/* Elements from which on other threads are worth waking. */
#define LARGE 32768

artel_status artel_eager_create(artel_context *ctx, const artel_eager_options *options, artel_eager **out)
{
    artel_eager_options chosen = ARTEL_EAGER_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context out", ctx, out));
    ARTEL_TRY(artel__take_options(ctx, &kind, options, &chosen));
    if (chosen.threads == 0) chosen.threads = artel__usable_cores();
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_eager), "eager", &block));
    artel_eager *e = block;
    e->ctx = ctx;
    e->options = chosen;
    artel__arena_init(&e->arena, ctx);
    *out = e;
    return ARTEL_OK;
}

void artel_eager_destroy(artel_eager *e)
{
    if (!e) return;
    artel__eager_forget(e);
    while (e->chunk) {
        artel__chunk *chunk = e->chunk;
        e->chunk = chunk->next;
        for (int i = 0; i < ARTEL__CHUNK; i++) {
            if (chunk->array[i].bytes) artel__free_aligned(e->ctx, chunk->array[i].data, chunk->array[i].bytes);
            artel__free(e->ctx, chunk->array[i].text);
        }
        artel__free_aligned(e->ctx, chunk, sizeof *chunk);
    }
    artel__arena_fini(&e->arena);
    artel__free(e->ctx, e);
}

int64_t artel_eager_functions(const artel_eager *e)
{
    return e ? e->entries : 0;
}

/* -- running -- */

/* The array as the function reads it: dense, of a type that it computes with. */
static artel_status prepare(artel_eager *e, artel_ndarray *a, artel_ndarray **out)
{
    bool narrow = a->dtype == ARTEL_DTYPE_FLOAT16 || a->dtype == ARTEL_DTYPE_BFLOAT16;
    if (a->dense && !narrow) {
        *out = artel_ndarray_retain(a);
        return ARTEL_OK;
    }
    artel_ndarray *made;
    ARTEL_TRY(artel__ndarray_new(e, a->dtype, &a->shape, &made));
    artel__ndarray_gather(a, made->data);
    *out = made;
    if (!narrow) return ARTEL_OK;
    artel_ndarray *wide;
    artel_status status = artel__ndarray_new(e, ARTEL_DTYPE_FLOAT32, &a->shape, &wide);
    if (status == ARTEL_OK) {
        artel__convert(made->dtype, made->data, ARTEL_DTYPE_FLOAT32, wide->data, made->count);
        *out = wide;
    }
    artel_ndarray_release(made);
    return status;
}

static artel_status compute(artel_eager *e, const artel__entry *entry, artel_ndarray *const *in,
                            artel_ndarray *const *made)
{
    artel_array from[ARTEL__OPERANDS], to[ARTEL__OPERANDS];
    if (entry->direct && (e->options.threads == 1 || made[0]->count < LARGE)) {
        const void *data[ARTEL__OPERANDS];
        for (int i = 0; i < entry->inputs; i++) data[i] = in[i]->data;
        return artel__direct_run(entry->direct, e->ctx, data, made[0]->data);
    }
    for (int i = 0; i < entry->inputs; i++) from[i] = (artel_array){in[i]->dtype, in[i]->shape, in[i]->data};
    for (int i = 0; i < entry->outputs; i++) to[i] = (artel_array){.dtype = made[i]->dtype, .data = made[i]->data};
    return artel_function_run(entry->function, from, entry->inputs, to, entry->outputs);
}

static artel_status finish(artel_eager *e, const artel__entry *entry, artel_ndarray **made)
{
    for (int i = 0; i < entry->outputs && entry->narrow != ARTEL_DTYPE_FLOAT32; i++) {
        artel_ndarray *rounded;
        if (made[i]->dtype != ARTEL_DTYPE_FLOAT32) continue;
        ARTEL_TRY(artel__ndarray_new(e, entry->narrow, &made[i]->shape, &rounded));
        artel__convert(ARTEL_DTYPE_FLOAT32, made[i]->data, entry->narrow, rounded->data, rounded->count);
        artel_ndarray_release(made[i]);
        made[i] = rounded;
    }
    return ARTEL_OK;
}

/* Strings of results are the function's, until it runs again: each array gets its own. */
static artel_status own_strings(const artel__entry *entry, artel_ndarray *const *made)
{
    for (int i = 0; i < entry->outputs; i++) {
        if (entry->output[i].dtype != ARTEL_DTYPE_STRING) continue;
        ARTEL_TRY(artel__ndarray_take_text(made[i], (const artel_string *)(const void *)made[i]->data));
    }
    return ARTEL_OK;
}

static void release_all(artel_ndarray **list, int count)
{
    for (int i = 0; i < count; i++) artel_ndarray_release(list[i]);
}

/* With operands that must be copied first. */
static artel_status run_prepared(artel_eager *e, artel__entry *entry, artel_ndarray *const *inputs,
                                 artel_ndarray **made)
{
    artel_ndarray *in[ARTEL__OPERANDS] = {NULL};
    artel_status status = ARTEL_OK;
    int ready = 0;
    for (; ready < entry->inputs && status == ARTEL_OK; ready += status == ARTEL_OK)
        status = prepare(e, inputs[ready], &in[ready]);
    if (status == ARTEL_OK) status = compute(e, entry, in, made);
    if (status == ARTEL_OK) status = finish(e, entry, made);
    release_all(in, ready);
    return status;
}

artel_status artel__eager_run(artel_eager *e, artel__entry *entry, artel_ndarray *const *inputs,
                              artel_ndarray **outputs, int most)
{
    artel_ndarray *made[ARTEL__OPERANDS];
    artel_status status = ARTEL_OK;
    int count = 0;
    bool ready = entry->narrow == ARTEL_DTYPE_FLOAT32;
    for (int i = 0; i < entry->inputs; i++) {
        ready = ready && inputs[i]->dense && inputs[i]->dtype != ARTEL_DTYPE_FLOAT16 &&
                inputs[i]->dtype != ARTEL_DTYPE_BFLOAT16;
    }
    for (; count < entry->outputs && status == ARTEL_OK; count += status == ARTEL_OK) {
        artel_dtype dtype =
            entry->output[count].dtype == entry->narrow ? ARTEL_DTYPE_FLOAT32 : entry->output[count].dtype;
        status = artel__ndarray_new(e, dtype, &entry->output[count].shape, &made[count]);
    }
    if (status == ARTEL_OK) status = ready ? compute(e, entry, inputs, made) : run_prepared(e, entry, inputs, made);
    if (status == ARTEL_OK && entry->owner) status = own_strings(entry, made);
    if (status < 0) {
        release_all(made, count);
        return status;
    }
    for (int i = 0; i < count; i++) {
        if (i < most)
            outputs[i] = made[i];
        else
            artel_ndarray_release(made[i]);
    }
    return ARTEL_OK;
}

/* -- operations -- */

static artel_status check_call(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count, int least)
{
    if (count < least || count > ARTEL__OPERANDS)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, name, "give 1 to 32 arrays", "%d arrays", count);
    for (int i = 0; i < count; i++) {
        if (!inputs[i] || inputs[i]->eager != e)
            return artel__fail(e->ctx, ARTEL_ERROR_INVALID, name, "use arrays of this eager object", "array %d is %s",
                               i, inputs[i] ? "another eager object's" : "NULL");
    }
    return ARTEL_OK;
}

/* Of other element types; ARTEL_AGAIN: graphs compute in these, or nobody does. */
static artel_status by_arithmetic(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                                  artel_ndarray **out)
{
    artel_dtype dtype = inputs[0]->dtype;
    if (dtype == ARTEL_DTYPE_FLOAT32 || dtype == ARTEL_DTYPE_FLOAT16 || dtype == ARTEL_DTYPE_BFLOAT16 ||
        dtype == ARTEL_DTYPE_BOOL)
        return ARTEL_AGAIN;
    return artel__eager_arithmetic(e, name, inputs, count, out);
}

static int call_operation(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                          const char *attributes, artel_ndarray **outputs, int most)
{
    artel__entry *entry;
    artel_status status = check_call(e, name, inputs, count, 1);
    if (status < 0) return status;
    int strings = artel__eager_strings(e, name, inputs, count, attributes, outputs, most);
    if (strings != 0) return strings;
    status = by_arithmetic(e, name, inputs, count, outputs);
    if (status != ARTEL_AGAIN) return status < 0 ? (int)status : 1;
    status = artel__eager_find(e, NULL, name, inputs, count, attributes, &entry);
    if (status == ARTEL_OK) status = artel__eager_run(e, entry, inputs, outputs, most);
    return status < 0 ? (int)status : entry->outputs;
}

int artel_eager_op_all(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                       const char *attributes, artel_ndarray **outputs, int most)
{
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "eager name inputs outputs", e, name, inputs, outputs));
    if (most < 1)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, name, "give room for a result", "room for %d results", most);
    return call_operation(e, name, inputs, count, attributes, outputs, most);
}

/* What is in the cache and runs on the arrays' own memory, without a look at anything else. ARTEL_AGAIN: it is not so.
 */
static artel_status call_known(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                               const char *attributes, artel_ndarray **out)
{
    const void *data[ARTEL__OPERANDS];
    artel_ndarray *made;
    for (int i = 0; i < count; i++) {
        if (!inputs[i] || inputs[i]->eager != e || !inputs[i]->dense) return ARTEL_AGAIN;
        data[i] = inputs[i]->data;
    }
    artel__entry *entry = artel__eager_known(e, NULL, name, inputs, count, attributes);
    if (!entry || !entry->direct || entry->narrow != ARTEL_DTYPE_FLOAT32) return ARTEL_AGAIN;
    if (e->options.threads > 1 && artel_shape_count(&entry->output->shape) >= LARGE) return ARTEL_AGAIN;
    if (artel__ndarray_new(e, entry->output->dtype, &entry->output->shape, &made) < 0) return ARTEL_AGAIN;
    artel_status status = artel__direct_run(entry->direct, e->ctx, data, made->data);
    if (status != ARTEL_OK)
        artel_ndarray_release(made);
    else
        *out = made;
    return status;
}

artel_status artel_eager_op(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                            const char *attributes, artel_ndarray **out)
{
    if (e && name && inputs && out && count > 0 && count <= ARTEL__OPERANDS) {
        artel_status known = call_known(e, name, inputs, count, attributes, out);
        if (known != ARTEL_AGAIN) return known;
    }
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "eager name inputs out", e, name, inputs, out));
    int made = call_operation(e, name, inputs, count, attributes, out, 1);
    return made < 0 ? (artel_status)made : ARTEL_OK;
}

artel_status artel_eager_unary(artel_eager *e, const char *name, artel_ndarray *x, artel_ndarray **out)
{
    return artel_eager_op(e, name, &x, 1, NULL, out);
}

artel_status artel_eager_binary(artel_eager *e, const char *name, artel_ndarray *a, artel_ndarray *b,
                                artel_ndarray **out)
{
    artel_ndarray *const both[2] = {a, b};
    return artel_eager_op(e, name, both, 2, NULL, out);
}

/* -- functions of the program's -- */

artel_status artel_eager_function_create(artel_eager *e, const char *name, artel_trace_fn *trace, void *user,
                                         int output_count, artel_eager_function **out)
{
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "eager out", e, out));
    if (!trace || output_count < 0 || output_count > ARTEL__OPERANDS)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "function", "give a function to trace and 0 to 32 outputs",
                           "%d outputs%s", output_count, trace ? "" : ", and trace is NULL");
    artel_eager_function *f = artel__arena_alloc(&e->arena, 1, sizeof *f);
    if (!f) return ARTEL_ERROR_NO_MEMORY;
    *f = (artel_eager_function){.eager = e,
                                .name = artel__arena_strdup(&e->arena, name ? name : "function"),
                                .trace = trace,
                                .user = user,
                                .outputs = output_count,
                                .next = e->function};
    if (!f->name) return ARTEL_ERROR_NO_MEMORY;
    e->function = f;
    *out = f;
    return ARTEL_OK;
}

artel_status artel_eager_call(artel_eager_function *f, artel_ndarray *const *inputs, int input_count,
                              artel_ndarray **outputs, int output_count)
{
    artel__entry *entry;
    ARTEL_TRY(artel__enter(f ? f->eager->ctx : NULL, __func__, "function", f));
    artel_eager *e = f->eager;
    if (output_count != f->outputs || (output_count > 0 && !outputs) || (input_count > 0 && !inputs))
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, f->name, "give what was declared", "%d outputs; it has %d",
                           output_count, f->outputs);
    ARTEL_TRY(check_call(e, f->name, inputs, input_count, 0));
    ARTEL_TRY(artel__eager_find(e, f, f->name, inputs, input_count, NULL, &entry));
    return artel__eager_run(e, entry, inputs, outputs, output_count);
}
