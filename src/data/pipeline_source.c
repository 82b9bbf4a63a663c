/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline:FILE.json as a data format: what a file holds is built when it is opened, and again when each worker of a
 * training is to have a pipeline of its own. */
#include "data/fingerprint.h"
#include "data/remote.h"
#include "data/stage.h"

typedef struct pipeline_state {
    artel__pipeline_recipe recipe; /* its value is held */
    artel__stage *top;
    uint8_t hash[32];
} pipeline_state;

/* The first of its inputs that has no element, or NULL. */
static const artel__stage *empty_input(const artel__stage *stage)
{
    for (int k = 0; k < stage->input_count; k++) {
        if (stage->inputs[k]->count == 0) return stage->inputs[k];
    }
    return NULL;
}

/* Which stage it is that leaves nothing: whoever is to train on it says only that there is none. */
static void say_nothing_left(const artel__stage *top)
{
    const artel__stage *at = top, *below;
    if (top->count != 0) return;
    while ((below = empty_input(at)) != NULL) at = below;
    artel__log(at->ctx, ARTEL_LOG_NOTE, "%s: no element is left", at->where);
}

static artel_status publish(artel__source *source, const artel__stage *top)
{
    if (top->count < 0) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                           "give repeat a count, or take some; each epoch is a pass over the whole",
                           "the pipeline has no end");
    }
    say_nothing_left(top);
    ARTEL_TRY(artel__source_add_arrays(source, top->column_count));
    for (int i = 0; i < top->column_count; i++) {
        const artel__stage_column *c = &top->columns[i];
        source->arrays[i] = (artel__source_array){.name = c->name,
                                                  .role = c->role,
                                                  .dtype = c->dtype,
                                                  .row = c->row,
                                                  .count = top->count,
                                                  .pixels = c->pixels};
        artel__array_set_text(&source->arrays[i]);
    }
    return ARTEL_OK;
}

/* Takes the stages that were built, and what identifies them. */
static artel_status settle(artel__source *source, artel__stage *top, artel__sha256 *hash)
{
    pipeline_state *state = source->state;
    artel__stage_close(state->top);
    state->top = top;
    artel__sha256_final(hash, state->hash);
    source->draws = false;
    for (int i = 0; i < top->column_count; i++) source->draws |= top->columns[i].draws;
    source->far = artel__stage_is_far(top);
    source->buckets = artel__stage_buckets(top);
    return publish(source, top);
}

static artel_status pipeline_open(artel__source *source)
{
    artel__sha256 hash;
    artel__stage *top;
    pipeline_state *state = source->state; /* with a recipe that a program has made, or none yet */
    if (state == NULL) {
        source->state = state = artel__arena_alloc(&source->arena, 1, sizeof *state);
        if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(artel__data_load_json(source->ctx, source->target, false, &state->recipe.value));
    }
    artel__sha256_init(&hash);
    ARTEL_TRY(artel__pipeline_build_recipe(source->ctx, &source->arena, source->target, &state->recipe, &hash, &top));
    return settle(source, top, &hash);
}

static artel_status pipeline_divide(artel__source *source, int workers, int64_t *first)
{
    pipeline_state *state = source->state;
    artel__sha256 hash;
    artel__stage *top;
    if (!state->top->hinted)
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                           "put {\"stage\": \"shard\", \"hint\": true} where workers part, or use another .auto_shard",
                           "no stage of the pipeline says which part is a worker's");
    if (source->buckets)
        return artel__fail(source->ctx, ARTEL_ERROR_UNSUPPORTED, source->target, "use .auto_shard data",
                           "batches of like length (%s) are made of all rows, not of each worker's",
                           artel__stage_bucket.name);
    state->recipe.workers = workers;
    artel__sha256_init(&hash);
    ARTEL_TRY(artel__pipeline_build_recipe(source->ctx, &source->arena, source->target, &state->recipe, &hash, &top));
    first[0] = 0;
    for (int i = 0; i < workers; i++) first[i + 1] = first[i] + top->inputs[i]->count;
    return settle(source, top, &hash);
}

static artel_status pipeline_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                   void *out)
{
    (void)row_shape;
    return artel__stage_at(((const pipeline_state *)source->state)->top, array, row, out);
}

static artel_status pipeline_fetch_record(const artel__source *source, int64_t row, const artel__row_want *wants,
                                          int count)
{
    const artel__stage *top = ((const pipeline_state *)source->state)->top;
    artel__stage_want some[ARTEL__STAGE_TOGETHER];
    for (int i = 0; i < count; i += ARTEL__STAGE_TOGETHER) {
        int least = count - i < ARTEL__STAGE_TOGETHER ? count - i : ARTEL__STAGE_TOGETHER;
        for (int k = 0; k < least; k++) some[k] = (artel__stage_want){wants[i + k].array, wants[i + k].out};
        ARTEL_TRY(artel__stage_at_some(top, some, least, row));
    }
    return ARTEL_OK;
}

static int64_t pipeline_expect(const artel__source *source, const int64_t *rows, int64_t count)
{
    return artel__stage_expect(((const pipeline_state *)source->state)->top, rows, count);
}

static artel_status pipeline_hash_row(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    return artel__stage_hash(((const pipeline_state *)source->state)->top, array, row, out);
}

static artel_status pipeline_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    artel__sha256_update(hash, ((const pipeline_state *)source->state)->hash, 32);
    return ARTEL_OK;
}

static void pipeline_close(artel__source *source)
{
    pipeline_state *state = source->state;
    artel__stage_close(state->top);
    json_decref(state->recipe.value);
}

const artel__data_format artel__data_pipeline = {
    .name = "pipeline",
    .syntax = "pipeline:FILE.json",
    .options = "names scale shift skip-errors",
    .open = pipeline_open,
    .reads_ahead = true,
    .fetch_row = pipeline_fetch,
    .fetch_record = pipeline_fetch_record,
    .expect = pipeline_expect,
    .hash_row = pipeline_hash_row,
    .fingerprint = pipeline_fingerprint,
    .divide = pipeline_divide,
    .close = pipeline_close,
};

/* The functions with their names, in the data's arena. */
static artel_status copy_recipe(artel_data *data, const artel__pipeline_recipe *recipe, artel__pipeline_recipe *out)
{
    artel_pipeline_function *functions =
        artel__arena_alloc(&data->arena, (size_t)recipe->function_count + 1, sizeof *functions);
    ARTEL_TRY(artel__arena_status(&data->arena));
    for (int i = 0; i < recipe->function_count; i++) {
        functions[i] = recipe->functions[i];
        functions[i].name = artel__arena_strdup(&data->arena, functions[i].name);
    }
    ARTEL_TRY(artel__arena_status(&data->arena));
    *out = *recipe;
    out->functions = functions;
    out->value = artel__json_copy_deep(recipe->value); /* the program may go on adding stages */
    return out->value ? ARTEL_OK : artel__fail_memory(data->ctx, "pipeline", 64);
}

artel_status artel__pipeline_data(artel_context *ctx, const artel__pipeline_recipe *recipe, artel_data **out)
{
    artel_data *data;
    ARTEL_TRY(artel__data_create(ctx, "pipeline", &data));
    pipeline_state *state = artel__arena_alloc(&data->arena, 1, sizeof *state);
    data->sources = artel__arena_alloc(&data->arena, 1, sizeof *data->sources);
    artel_status status = artel__arena_status(&data->arena);
    if (status == ARTEL_OK) status = copy_recipe(data, recipe, &state->recipe);
    if (status == ARTEL_OK) status = artel__data_add_source(data, &artel__data_pipeline, "pipeline", NULL, state);
    if (status < 0) {
        artel_data_destroy(data);
        return status;
    }
    *out = data;
    return ARTEL_OK;
}
