/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of sealed functions: found by name, settings, element types and shapes; traced when there is none.
 *
 * Arrays are shared values, whose axes count from 0. An operation that has a batch in Keras, or can do nothing with
 * shared values, gets the first axis of its first array as the rows of a batch, and with it every other array of as
 * many positions and axes, unless these are weights.
 */
#include <string.h>

#include "eager/eager_impl.h"

/* -- keys -- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    uint64_t word = 0;
    int filled = 0;
    for (; *text; text++) {
        word = word << 8 | (unsigned char)*text;
        if (++filled < 8) continue;
        hash = mix(hash, word);
        word = 0;
        filled = 0;
    }
    return mix(hash, word << 8 | (uint64_t)filled);
}

static uint64_t hash_of(const artel_eager_function *function, const char *name, artel_ndarray *const *inputs, int count,
                        const char *attributes)
{
    uint64_t hash = mix_text((uint64_t)(uintptr_t)function, name);
    if (attributes) hash = mix_text(hash, attributes);
    for (int i = 0; i < count; i++) {
        hash = mix(hash, (uint64_t)inputs[i]->dtype << 8 | (uint64_t)inputs[i]->shape.rank);
        for (int d = 0; d < inputs[i]->shape.rank; d++) hash = mix(hash, (uint64_t)inputs[i]->shape.dim[d]);
    }
    return hash;
}

static bool is_that(const artel__entry *entry, const artel_eager_function *function, const char *name,
                    artel_ndarray *const *inputs, int count, const char *attributes)
{
    if (entry->owner != function || entry->inputs != count || strcmp(entry->name, name) != 0) return false;
    if (strcmp(entry->attributes, attributes ? attributes : "") != 0) return false;
    for (int i = 0; i < count; i++) {
        if (entry->input[i].dtype != inputs[i]->dtype || !artel__shape_equal(&entry->input[i].shape, &inputs[i]->shape))
            return false;
    }
    return true;
}

/* -- making -- */

enum {
    MOST_TRACES = 16 /* one within another */
};

static artel_status batch_of(artel_eager *e, int64_t rows, artel__batch **out)
{
    artel__batch *b = e->batch;
    void *block;
    while (b && b->rows != rows) b = b->next;
    if (b) {
        *out = b;
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__calloc(e->ctx, 1, sizeof *b, "eager", &block));
    b = block;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = "one-device";
    o.threads = e->options.threads;
    o.batch_size = rows ? rows : 1;
    o.shards = rows ? 0 : 1;
    o.seed = e->options.seed;
    artel_status status = artel_strategy_create(e->ctx, &o, &b->strategy);
    if (status < 0) {
        artel__free(e->ctx, b);
        return status;
    }
    b->rows = rows;
    b->next = e->batch;
    e->batch = b;
    *out = b;
    return ARTEL_OK;
}

/* Those without functions. */
static void drop_batches(artel_eager *e)
{
    for (artel__batch **at = &e->batch; *at;) {
        artel__batch *b = *at;
        if (b->functions > 0) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        artel_strategy_destroy(b->strategy);
        artel__free(e->ctx, b);
    }
}

/* What graphs compute with in its place. */
static artel_dtype computed(artel_dtype dtype)
{
    return dtype == ARTEL_DTYPE_FLOAT16 || dtype == ARTEL_DTYPE_BFLOAT16 ? ARTEL_DTYPE_FLOAT32 : dtype;
}

static artel_status trace_operation(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel__entry *entry = user;
    const char *attributes = entry->attributes[0] ? entry->attributes : NULL;
    int made = artel_graph_op_all(g, entry->name, in, entry->inputs, attributes, out, entry->declared);
    if (made < 0) return (artel_status)made;
    if (made > ARTEL__OPERANDS)
        return artel__fail(entry->arena.ctx, ARTEL_ERROR_UNSUPPORTED, entry->name,
                           "cut the array by artel_ndarray_slice first", "%d results, more than 32", made);
    entry->outputs = made;
    for (int i = made; i < entry->declared; i++) out[i] = out[0];
    return artel_graph_status(g);
}

/* How the arrays are arguments: with rows, those with the batch in front. */
static void describe(const artel__entry *entry, artel_argument *argument)
{
    for (int i = 0; i < entry->inputs; i++) {
        const artel_shape *shape = &entry->input[i].shape;
        bool rows = entry->has_rows >> i & 1;
        argument[i] = (artel_argument){
            .dtype = computed(entry->input[i].dtype), .shared = !rows, .shape = {.rank = shape->rank - rows}};
        for (int d = 0; d < argument[i].shape.rank; d++) argument[i].shape.dim[d] = shape->dim[d + rows];
    }
}

static artel_status make_function(artel_eager *e, artel__entry *entry, int64_t rows, int outputs)
{
    artel_argument argument[ARTEL__OPERANDS];
    artel__batch *batch;
    ARTEL_TRY(batch_of(e, rows, &batch));
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.name = entry->name;
    o.arguments = argument;
    o.argument_count = entry->inputs;
    o.output_count = entry->declared = outputs;
    describe(entry, argument);
    const artel_eager_function *f = entry->owner;
    if (e->tracing == MOST_TRACES)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, entry->name, "let it call no function that calls it",
                           "%d functions are traced one within another", e->tracing);
    batch->functions++; /* what is called meanwhile does not take the batch away */
    e->tracing++;
    artel_status status = artel_function_create(batch->strategy, &o, f ? f->trace : trace_operation,
                                                f ? f->user : entry, &entry->function);
    e->tracing--;
    if (status < 0)
        batch->functions--;
    else
        entry->batch = batch;
    return status;
}

static void drop_function(artel__entry *entry)
{
    if (!entry->function) return;
    artel__function_drop(entry->function);
    entry->function = NULL;
    entry->batch->functions--;
}

/* Once more with as many outputs as there are. */
static artel_status trace_all(artel_eager *e, artel__entry *entry, int64_t rows)
{
    if (entry->owner) {
        entry->outputs = entry->owner->outputs;
        return make_function(e, entry, rows, entry->outputs);
    }
    ARTEL_TRY(make_function(e, entry, rows, ARTEL__OPERANDS));
    drop_function(entry);
    return make_function(e, entry, rows, entry->outputs);
}

/* An operation whose first axis is the batch in Keras, from so many axes on: images may come without one. */
typedef struct batched {
    const char *name;
    int rank;
    bool alone; /* its other arrays are weights */
} batched;

static const batched *batched_of(const artel__entry *entry)
{
    static const batched table[] = {{"max_pool", 0, false},
                                    {"average_pool", 0, false},
                                    {"adaptive_max_pool", 0, false},
                                    {"adaptive_average_pool", 0, false},
                                    {"conv", 0, true},
                                    {"depthwise_conv", 0, true},
                                    {"separable_conv", 0, true},
                                    {"conv_transpose", 0, true},
                                    {"batch_norm", 0, false},
                                    {"batch_normalization", 0, false},
                                    {"dot_product_attention", 0, false},
                                    {"resize", 4, false},
                                    {"pad_images", 4, false},
                                    {"crop_images", 4, false},
                                    {"extract_patches", 4, false},
                                    {"unfold", 0, false},
                                    {"fold", 0, false},
                                    {"gaussian_blur", 4, false},
                                    {"sobel_edges", 0, false},
                                    {"ssim", 0, false},
                                    {"affine_transform", 4, false},
                                    {"depth_to_space", 0, false},
                                    {"space_to_depth", 0, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (artel__same_operation(entry->name, table[i].name))
            return entry->input[0].shape.rank >= table[i].rank ? &table[i] : NULL;
    }
    return NULL;
}

static artel_status trace_rows(artel_eager *e, artel__entry *entry, bool alone)
{
    const artel_shape *first = &entry->input[0].shape;
    for (int i = 0; i < (alone ? 1 : entry->inputs); i++) {
        const artel_shape *shape = &entry->input[i].shape;
        if (shape->rank == first->rank && shape->dim[0] == first->dim[0]) entry->has_rows |= 1u << i;
    }
    entry->rows = true;
    return trace_all(e, entry, first->dim[0]);
}

static artel_status trace(artel_eager *e, artel__entry *entry)
{
    const artel_shape *first = entry->inputs ? &entry->input[0].shape : NULL;
    bool possible = !entry->owner && first && first->rank > 0 && first->dim[0] > 0;
    const batched *b = possible ? batched_of(entry) : NULL;
    if (b) return trace_rows(e, entry, b->alone);
    artel_status status = trace_all(e, entry, 0);
    if (status == ARTEL_OK || status == ARTEL_ERROR_NO_MEMORY || !possible) return status;
    artel_error why = *artel_context_error(e->ctx);
    if (trace_rows(e, entry, false) == ARTEL_OK) return ARTEL_OK;
    artel__operation_begin(e->ctx);
    return artel__fail(e->ctx, why.status, why.where, why.advice, "%s", why.what);
}

static artel_status describe_outputs(artel__entry *entry)
{
    for (int i = 0; i < entry->outputs; i++) {
        artel__made *made = &entry->output[i];
        artel_shape shape;
        bool rows;
        ARTEL_TRY(artel_function_output(entry->function, i, &made->dtype, &shape, &rows));
        made->shape = shape;
        if (rows) {
            made->shape =
                (artel_shape){.rank = shape.rank + 1, .dim = {entry->rows ? entry->input[0].shape.dim[0] : 1}};
            for (int d = 0; d < shape.rank; d++) made->shape.dim[d + 1] = shape.dim[d];
        }
        if (made->dtype == ARTEL_DTYPE_FLOAT32 && entry->narrow != ARTEL_DTYPE_FLOAT32) made->dtype = entry->narrow;
    }
    return ARTEL_OK;
}

/* float16 where all floats are that, bfloat16 likewise. */
static artel_dtype narrow_of(const artel__entry *entry)
{
    artel_dtype all = ARTEL_DTYPE_STRING;
    for (int i = 0; i < entry->inputs; i++) {
        artel_dtype dtype = entry->input[i].dtype;
        if (dtype > ARTEL_DTYPE_BFLOAT16) continue;
        all = all == ARTEL_DTYPE_STRING || all == dtype ? dtype : ARTEL_DTYPE_FLOAT32;
    }
    return all == ARTEL_DTYPE_FLOAT16 || all == ARTEL_DTYPE_BFLOAT16 ? all : ARTEL_DTYPE_FLOAT32;
}

/* Functions take strings and int64, too. */
static artel_status check_types(artel_eager *e, const artel_eager_function *function, const char *name,
                                artel_ndarray *const *inputs, int count)
{
    for (int i = 0; i < count; i++) {
        artel_dtype dtype = computed(inputs[i]->dtype);
        bool takes =
            dtype == ARTEL_DTYPE_INT64 || dtype == ARTEL_DTYPE_STRING ? function != NULL : artel__computes_with(dtype);
        if (takes) continue;
        return artel__fail(e->ctx, ARTEL_ERROR_UNSUPPORTED, name, "cast it with artel_ndarray_cast",
                           "computes in float32, float64, int32 and bool, and array %d is %s", i,
                           artel_dtype_name(dtype));
    }
    return ARTEL_OK;
}

static void drop(artel_eager *e, artel__entry *entry)
{
    drop_function(entry);
    artel__direct_fini(e->ctx, entry->direct);
    artel__arena_fini(&entry->arena);
    artel__free(e->ctx, entry);
}

static artel_status fill(artel_eager *e, artel__entry *entry, const char *name, artel_ndarray *const *inputs, int count,
                         const char *attributes)
{
    entry->name = artel__arena_strdup(&entry->arena, name);
    entry->attributes = artel__arena_strdup(&entry->arena, attributes ? attributes : "");
    entry->input = artel__arena_alloc(&entry->arena, (size_t)count + 1, sizeof *entry->input);
    entry->output = artel__arena_alloc(&entry->arena, ARTEL__OPERANDS, sizeof *entry->output);
    entry->inputs = count;
    ARTEL_TRY(artel__arena_status(&entry->arena));
    for (int i = 0; i < count; i++) entry->input[i] = (artel__made){inputs[i]->dtype, inputs[i]->shape};
    entry->narrow = entry->owner ? ARTEL_DTYPE_FLOAT32 : narrow_of(entry);
    ARTEL_TRY(trace(e, entry));
    ARTEL_TRY(describe_outputs(entry));
    return entry->rows ? ARTEL_OK : artel__function_direct(entry->function, &entry->arena, &entry->direct);
}

/* The entry that nobody has asked for for the longest time. */
static void drop_oldest(artel_eager *e)
{
    artel__entry **oldest = NULL;
    for (int b = 0; b < ARTEL__BUCKETS; b++) {
        for (artel__entry **at = &e->bucket[b]; *at; at = &(*at)->next) {
            if (!oldest || (*at)->used < (*oldest)->used) oldest = at;
        }
    }
    if (!oldest) return;
    artel__entry *entry = *oldest;
    *oldest = entry->next;
    e->entries--;
    drop(e, entry);
}

void artel__eager_forget(artel_eager *e)
{
    while (e->entries > 0) drop_oldest(e);
    drop_batches(e);
}

static artel_status make(artel_eager *e, uint64_t hash, const artel_eager_function *function, const char *name,
                         artel_ndarray *const *inputs, int count, const char *attributes, artel__entry **out)
{
    void *block;
    ARTEL_TRY(check_types(e, function, name, inputs, count));
    ARTEL_TRY(artel__calloc(e->ctx, 1, sizeof(artel__entry), name, &block));
    artel__entry *entry = block;
    entry->hash = hash;
    entry->owner = function;
    artel__arena_init(&entry->arena, e->ctx);
    artel_status status = fill(e, entry, name, inputs, count, attributes);
    if (status < 0) {
        drop(e, entry);
        drop_batches(e);
        return status;
    }
    if (e->entries >= e->options.most_functions) drop_oldest(e);
    entry->next = e->bucket[hash % ARTEL__BUCKETS];
    e->bucket[hash % ARTEL__BUCKETS] = entry;
    e->entries++;
    drop_batches(e);
    *out = entry;
    return ARTEL_OK;
}

static artel__entry *look(artel_eager *e, uint64_t hash, const artel_eager_function *function, const char *name,
                          artel_ndarray *const *inputs, int count, const char *attributes)
{
    artel__entry *entry = e->bucket[hash % ARTEL__BUCKETS];
    while (entry && !(entry->hash == hash && is_that(entry, function, name, inputs, count, attributes)))
        entry = entry->next;
    if (entry) entry->used = ++e->tick;
    return entry;
}

artel__entry *artel__eager_known(artel_eager *e, const artel_eager_function *function, const char *name,
                                 artel_ndarray *const *inputs, int count, const char *attributes)
{
    return look(e, hash_of(function, name, inputs, count, attributes), function, name, inputs, count, attributes);
}

artel_status artel__eager_find(artel_eager *e, const artel_eager_function *function, const char *name,
                               artel_ndarray *const *inputs, int count, const char *attributes, artel__entry **out)
{
    uint64_t hash = hash_of(function, name, inputs, count, attributes);
    *out = look(e, hash, function, name, inputs, count, attributes);
    if (*out) return ARTEL_OK;
    ARTEL_TRY(make(e, hash, function, name, inputs, count, attributes, out));
    (*out)->used = ++e->tick;
    return ARTEL_OK;
}
