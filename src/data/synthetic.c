/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic:COUNT: random inputs and labels in the shapes of the model, for benchmarks and first trials.
 *
 * Element i of row r of array a is a pure function of (seed, a, r, i): Philox with stream SYNTHETIC, node word a, row
 * word r (the bits above 32 in the batch word), block i / 4. Floats are uniform in [0, 1); integers are uniform below
 * the vocabulary or the number of classes by multiply-shift; strings are integers below 256 in digits; one-hot rows are
 * those of such an integer. Up to 64 MiB the values are made once, so that a benchmark measures training and not this.
 */
#include <string.h>

#include "base/rng.h"
#include "data/feed.h"
#include "kernel/shape_ops.h"

#define KEEP_BYTES ((uint64_t)64 << 20)
#define STRINGS 256

/* Runs of four words from `block` on. */
static void four_words(const artel__synthetic *s, artel__rng_key key, int64_t row, int64_t block, uint32_t out[4])
{
    artel__rng_block(key, (uint64_t)row >> 32, s->node, (uint32_t)row, (uint64_t)block, out);
}

static void put_value(const artel__synthetic *s, uint32_t word, uint8_t *target)
{
    if (s->strings) {
        *(artel__string *)(void *)target = s->strings[word >> 24];
    } else if (s->limit > 0) {
        int64_t value = (int64_t)(((uint64_t)word * (uint64_t)s->limit) >> 32);
        artel__convert(ARTEL_DTYPE_INT64, &value, s->dtype, target, 1);
    } else {
        float value = artel__rng_uniform(word);
        artel__convert(ARTEL_DTYPE_FLOAT32, &value, s->dtype, target, 1);
    }
}

/* Float32 without a limit, the common case: the kernel that draws noise inside graphs makes the same numbers, faster.
 */
static void uniform_row(const artel__synthetic *s, artel__rng_key key, int64_t row, float *out)
{
    artel__noise noise = {.op = ARTEL__NOISE_UNIFORM,
                          .key = key,
                          .batch = (uint64_t)row >> 32,
                          .node = s->node,
                          .first_row = (uint32_t)row,
                          .rows = 1,
                          .rank = 1,
                          .dim = {s->count},
                          .noise = {s->count},
                          .scale = 1.0f,
                          .x = out,
                          .y = out};
    const artel__kernel *kernel = artel__kernel_choose(artel__noise_kernels, s->isa, &noise);
    kernel->run(&noise, 0, kernel->tasks(&noise), NULL);
}

void artel__synthetic_row(const artel__synthetic *s, int64_t row, void *out)
{
    artel__rng_key key = artel__rng_make_key(s->seed, ARTEL__STREAM_SYNTHETIC);
    size_t size = artel__cell_size(s->dtype);
    const float one = 1.0f;
    uint32_t words[4];
    if (s->one_hot == 0 && s->limit == 0 && s->dtype == ARTEL_DTYPE_FLOAT32) {
        uniform_row(s, key, row, out);
        return;
    }
    int64_t draws = s->one_hot > 0 ? s->count / s->one_hot : s->count;
    if (s->one_hot > 0) memset(out, 0, (size_t)s->count * size);
    for (int64_t i = 0; i < draws; i++) {
        if (i % 4 == 0) four_words(s, key, row, i / 4, words);
        uint8_t *target = out;
        if (s->one_hot > 0) {
            int64_t class = (int64_t)(((uint64_t)words[i % 4] * (uint64_t)s->one_hot) >> 32);
            artel__convert(ARTEL_DTYPE_FLOAT32, &one, s->dtype, target + (size_t)(i * s->one_hot + class) * size, 1);
        } else {
            put_value(s, words[i % 4], target + (size_t)i * size);
        }
    }
}

static artel_status synthetic_open(artel__source *source)
{
    int64_t count;
    if (!artel__parse_int64(source->target, &count) || count < 1 || count > (int64_t)1 << 40) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                           "write synthetic:COUNT, for example synthetic:1000", "not a number of samples of 1 to 2^40");
    }
    ARTEL_TRY(artel__source_add_arrays(source, 1));
    source->arrays[0].name = "synthetic";
    source->arrays[0].dtype = ARTEL_DTYPE_FLOAT32;
    source->arrays[0].count = count;
    return ARTEL_OK;
}

const artel__data_format artel__data_synthetic = {
    .name = "synthetic", .syntax = "synthetic:COUNT", .options = "", .open = synthetic_open};

/* ---- binding: the model says what is made ---- */

/* The strings that are made up: "0" to "255". */
static artel_status make_strings(artel__feed_core *core, const artel__string **out)
{
    artel__string *strings = artel__arena_alloc(&core->arena, STRINGS, sizeof *strings);
    if (strings == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < STRINGS; i++) {
        strings[i].bytes = artel__arena_printf(&core->arena, "%d", i);
        if (strings[i].bytes == NULL) return ARTEL_ERROR_NO_MEMORY;
        strings[i].length = strlen(strings[i].bytes);
    }
    *out = strings;
    return ARTEL_OK;
}

/* Adds one array; `public` holds role, index, dtype and row, its name is that of the layer. */
static artel_status add_binding(artel__feed_core *core, artel__feed_array public)
{
    artel__binding *binding = &core->bindings[core->binding_count];
    int64_t count = public.row.rank < 0 ? -1 : artel_shape_count(&public.row);
    if (count < 0 || count > INT64_MAX / 16) {
        return artel__fail(core->ctx, ARTEL_ERROR_INVALID, core->data->specification, "use data from files",
                           "'%s' leaves an extent open, so its shape is not known", public.name);
    }
    binding->layer = artel__arena_strdup(&core->arena, public.name);
    if (binding->layer == NULL) return ARTEL_ERROR_NO_MEMORY;
    binding->array = -1;
    binding->is_synthetic = true;
    binding->source_row = public.row;
    binding->public = public;
    binding->public.name = binding->layer;
    binding->public.row_bytes = (size_t)count * artel__cell_size(public.dtype);
    binding->source_bytes = binding->public.row_bytes;
    binding->conversion =
        (artel__conversion){.kind = ARTEL__CONVERT_COPY, .from = public.dtype, .to = public.dtype, .count = count};
    binding->synthetic = (artel__synthetic){.seed = core->seed,
                                            .node = (uint32_t)core->binding_count,
                                            .dtype = public.dtype,
                                            .count = count,
                                            .isa = artel__context_isa(core->ctx)};
    core->binding_count++;
    return ARTEL_OK;
}

static bool is_integer(artel_dtype dtype)
{
    return dtype >= ARTEL_DTYPE_INT8 && dtype <= ARTEL_DTYPE_BOOL;
}

/* The exclusive limit of integers: what the model can take, within 32 bits and the dtype. */
static int64_t integer_limit(artel_dtype dtype, int64_t limit)
{
    int64_t most = dtype == ARTEL_DTYPE_BOOL    ? 2
                   : dtype == ARTEL_DTYPE_INT8  ? 128
                   : dtype == ARTEL_DTYPE_UINT8 ? 256
                                                : (int64_t)1 << 15;
    if (limit <= 0) return most < 256 ? most : 256;
    if (dtype != ARTEL_DTYPE_INT16 && dtype != ARTEL_DTYPE_UINT16 && artel_dtype_size(dtype) > 1) most = INT32_MAX;
    return limit < most ? limit : most;
}

static artel_status bind_targets(artel__feed_core *core, const artel__data_wants *wants)
{
    for (int i = 0; i < wants->target_count; i++) {
        const artel__data_want_target *want = &wants->targets[i];
        bool number = want->kind == ARTEL__DATA_TARGET_VALUES && want->dtype == ARTEL_DTYPE_INT32;
        artel_shape row = want->row;
        if (number && row.rank == 1 && row.dim[0] < 0) row.dim[0] = 1; /* a list of any length */
        ARTEL_TRY(add_binding(
            core,
            (artel__feed_array){
                .name = want->name, .role = ARTEL_DATA_ROLE_TARGET, .index = i, .dtype = want->dtype, .row = row}));
        artel__synthetic *made = &core->bindings[core->binding_count - 1].synthetic;
        if (want->kind == ARTEL__DATA_TARGET_INDICES) made->limit = want->classes > 0 ? want->classes : 2;
        if (number) made->limit = 2;
        if (want->kind == ARTEL__DATA_TARGET_ONE_HOT && want->row.rank > 0)
            made->one_hot = want->row.dim[want->row.rank - 1];
    }
    return ARTEL_OK;
}

/* Values that are worth keeping are computed now. */
static artel_status keep_values(artel__feed_core *core)
{
    uint64_t row_bytes = 0;
    for (int i = 0; i < core->binding_count; i++) row_bytes += core->bindings[i].public.row_bytes;
    if (row_bytes == 0 || (uint64_t)core->count > KEEP_BYTES / row_bytes) return ARTEL_OK;
    for (int i = 0; i < core->binding_count; i++) {
        artel__binding *binding = &core->bindings[i];
        void *block;
        ARTEL_TRY(artel__core_alloc(core, binding->public.row_bytes * (size_t)core->count, &block));
        uint8_t *values = block;
        for (int64_t row = 0; row < core->count; row++) {
            artel__synthetic_row(&binding->synthetic, row, values + (size_t)row * binding->public.row_bytes);
        }
        binding->segments = artel__arena_alloc(&core->arena, 1, sizeof *binding->segments);
        if (binding->segments == NULL) return ARTEL_ERROR_NO_MEMORY;
        binding->segments[0] =
            (artel__segment){0, core->count, values, binding->public.row_bytes, &core->data->sources[0]};
        binding->segment_count = 1;
    }
    return ARTEL_OK;
}

artel_status artel__bind_synthetic(artel__feed_core *core, const artel__data_wants *wants)
{
    core->bindings =
        artel__arena_alloc(&core->arena, (size_t)(wants->input_count + wants->target_count), sizeof *core->bindings);
    if (core->bindings == NULL) return ARTEL_ERROR_NO_MEMORY;
    core->count = artel__data_rows(core->data, 0);
    for (int i = 0; i < wants->input_count; i++) {
        const artel__data_want_input *want = &wants->inputs[i];
        ARTEL_TRY(add_binding(core, (artel__feed_array){.name = want->name,
                                                        .role = ARTEL_DATA_ROLE_INPUT,
                                                        .index = i,
                                                        .dtype = want->dtype,
                                                        .row = want->row}));
        artel__synthetic *made = &core->bindings[core->binding_count - 1].synthetic;
        if (want->dtype == ARTEL_DTYPE_STRING) ARTEL_TRY(make_strings(core, &made->strings));
        /* An Embedding may be fed from a float input, so a limit counts for any dtype. */
        if (is_integer(want->dtype))
            made->limit = integer_limit(want->dtype, want->limit);
        else
            made->limit = want->limit > INT32_MAX ? INT32_MAX : want->limit > 0 ? want->limit : 0;
    }
    if (wants->purpose != ARTEL__DATA_PURPOSE_PREDICT) ARTEL_TRY(bind_targets(core, wants));
    return keep_values(core);
}
