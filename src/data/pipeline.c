/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline:FILE.json: stages written out.
 *
 *   SOURCE = "npz:train.npz"                                        a data specification
 *          | {"from": SOURCE, "stages": [{"stage": NAME, ...}, ...]}
 *          | {"concatenate" | "zip" | "interleave" | "sample": [SOURCE, ...], ...}
 *
 * A file holds one SOURCE. Building goes from the sources up; each stage is opened when its inputs are, and names itself in messages
 * by its place ("p.json: stage 3 (shuffle)", counted over the whole file from 1). As a data format a pipeline offers its columns as
 * arrays; a row asks for its column only, whatever the stages are.
 */
#include <stdio.h>
#include <string.h>

#include "data/fingerprint.h"
#include "data/json_options.h"
#include "data/remote.h"
#include "data/stage.h"

#define DEEPEST 32

typedef struct builder {
    artel_context *ctx;
    artel__arena *arena;
    const char *where;
    artel__sha256 *hash;
    uint32_t ordinal;
    int depth;
} builder;

static artel_status build(builder *b, json_t *value, artel__stage **out);

/* ---- sources ---- */

static artel_status source_at(const artel__stage *stage, int column, int64_t index, void *out)
{
    return artel__rows_fetch(stage->state, column, index, out);
}

static artel_status source_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    const artel__rows *rows = stage->state;
    const artel__source *source = artel__rows_source(rows, &index);
    const artel__source_array *array = &source->arrays[rows->columns[column].array];
    artel__stage_scratch scratch;
    if (array->base != NULL) {
        *out = artel__hash64(array->base + (size_t)index * array->stride, rows->columns[column].bytes);
        return ARTEL_OK;
    }
    if (source->format->hash_row != NULL) return source->format->hash_row(source, rows->columns[column].array, index, out);
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, rows->columns[column].bytes, &scratch));
    artel_status status = source->format->fetch_row(source, rows->columns[column].array, &rows->columns[column].row, index, scratch.bytes);
    if (status == ARTEL_OK) *out = artel__hash64(scratch.bytes, rows->columns[column].bytes);
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

static void source_close(artel__stage *stage)
{
    artel_data_destroy(((artel__rows *)stage->state)->data);
}

const artel__stage_ops artel__stage_source = {.name = "source", .at = source_at, .hash = source_hash, .close = source_close};

static artel_status publish_rows(artel__stage *stage, const artel__rows *rows)
{
    stage->columns = artel__arena_alloc(stage->arena, (size_t)rows->column_count + 1, sizeof *stage->columns);
    if (stage->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    stage->column_count = rows->column_count;
    stage->count = rows->count;
    for (int i = 0; i < rows->column_count; i++) {
        const artel__rows_column *from = &rows->columns[i];
        if (from->resized) return artel__stage_wrong(stage, "say how large images are: #size=HxW", "the size of '%s' is open", from->name);
        stage->columns[i] =
            (artel__stage_column){from->name, from->role, from->dtype, from->row, from->elements, from->bytes, from->pixels};
    }
    return ARTEL_OK;
}

/* Opens what a specification names. Column names must stay when the data does, which the stage holds. */
static artel_status build_source(builder *b, const char *text, artel__stage *stage)
{
    artel__rows *rows = artel__arena_alloc(b->arena, 1, sizeof *rows);
    uint8_t print[32];
    artel_data *data;
    if (rows == NULL) return ARTEL_ERROR_NO_MEMORY;
    stage->ops = &artel__stage_source;
    if (artel__starts_with(text, "pipeline:"))
        return artel__stage_wrong(stage, "put its content in place of its name", "a pipeline file cannot name another");
    ARTEL_TRY(artel__data_open(b->ctx, text, &data));
    rows->data = data;
    stage->state = rows;
    ARTEL_TRY(artel__rows_open(data, b->arena, rows));
    if (data->sources[0].format->fetch_rows != NULL) return artel__stage_wrong(stage, "name files", "data from a function has no rows");
    ARTEL_TRY(artel__data_fingerprint(data, print));
    artel__sha256_update(b->hash, print, sizeof print);
    return publish_rows(stage, rows);
}

/* ---- stages ---- */

static artel_status new_stage(builder *b, const artel__stage_ops *ops, artel__stage **out)
{
    artel__stage *stage = artel__arena_alloc(b->arena, 1, sizeof *stage);
    if (stage == NULL) return ARTEL_ERROR_NO_MEMORY;
    *stage = (artel__stage){.ops = ops, .ctx = b->ctx, .arena = b->arena, .ordinal = ++b->ordinal, .count = -1, .reach = INT64_MAX};
    stage->where = artel__arena_printf(b->arena, "%s: stage %u (%s)", b->where, (unsigned)stage->ordinal, ops->name);
    *out = stage;
    return artel__arena_status(b->arena);
}

static artel_status hash_settings(builder *b, const artel__stage *stage, json_t *object, const char *passed)
{
    const char *name;
    json_t *value;
    artel__hash_text(b->hash, stage->ops->name);
    json_object_foreach(object, name, value)
    {
        char *text;
        if (strcmp(name, passed) == 0) continue;
        ARTEL_TRY(artel__json_dump_string(b->ctx, value, ARTEL__JSON_SORTED | ARTEL__JSON_COMPACT, &text));
        artel__hash_text(b->hash, name);
        artel__hash_text(b->hash, text);
        artel__free(b->ctx, text);
    }
    return ARTEL_OK;
}

/* Settings, columns of the first input, then what the stage makes of them. `passed`: the member that names the stage. */
static artel_status open_stage(builder *b, artel__stage *stage, json_t *object, const char *passed)
{
    const artel__stage *first = stage->inputs[0];
    stage->options = artel__arena_alloc(b->arena, 1, stage->ops->options_size);
    stage->columns = artel__arena_alloc(b->arena, (size_t)first->column_count + 1, sizeof *stage->columns);
    ARTEL_TRY(artel__arena_status(b->arena));
    ARTEL_TRY(artel__json_options(b->arena, stage->ops->options, stage->options, stage->where, object, passed));
    ARTEL_TRY(hash_settings(b, stage, object, passed));
    memcpy(stage->columns, first->columns, (size_t)first->column_count * sizeof *stage->columns);
    stage->column_count = first->column_count;
    stage->count = first->count;
    stage->reach = first->reach;
    bool one_column = stage->ops->options[0].name != NULL && strcmp(stage->ops->options[0].name, "column") == 0;
    if (one_column) ARTEL_TRY(artel__stage_find(stage, *(const char *const *)stage->options, &stage->target));
    return stage->ops->open(stage);
}

static artel_status unknown_stage(builder *b, const char *name, bool joins)
{
    const char *names[64];
    int count = 0;
    for (int i = 0; artel__stages[i] != NULL && count < 63; i++) {
        if (artel__stages[i]->joins == joins) names[count++] = artel__stages[i]->name;
    }
    names[count] = NULL;
    const char *near = artel__nearest_name(name, names);
    return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "docs/data.md lists the stages", "no stage '%s'%s%s", name,
                       near != NULL ? "; the nearest is " : "", near != NULL ? near : "");
}

static const artel__stage_ops *find_ops(const char *name, bool joins)
{
    for (int i = 0; artel__stages[i] != NULL; i++) {
        if (artel__stages[i]->joins == joins && strcmp(artel__stages[i]->name, name) == 0) return artel__stages[i];
    }
    return NULL;
}

/* One stage on what is there so far; *out is replaced. */
static artel_status add_stage(builder *b, json_t *object, artel__stage **out)
{
    const char *name = json_string_value(json_object_get(object, "stage"));
    artel__stage *stage;
    if (name == NULL)
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "write {\"stage\": \"shuffle\", ...}", "a stage without a name");
    const artel__stage_ops *ops = find_ops(name, false);
    if (ops == NULL) return unknown_stage(b, name, false);
    artel__stage **inputs = artel__arena_alloc(b->arena, 1, sizeof *inputs);
    if (inputs == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(new_stage(b, ops, &stage));
    inputs[0] = *out;
    stage->inputs = inputs;
    stage->input_count = 1;
    *out = stage; /* closes what lies below it, too */
    return open_stage(b, stage, object, "stage");
}

static artel_status build_chain(builder *b, json_t *object, artel__stage **out)
{
    json_t *stages = json_object_get(object, "stages"), *stage;
    size_t i;
    if (json_object_size(object) > (stages != NULL ? 2u : 1u) || (stages != NULL && !json_is_array(stages)))
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "write {\"from\": SOURCE, \"stages\": [...]}",
                           "an object with \"from\" holds \"stages\", a list, and nothing else");
    ARTEL_TRY(build(b, json_object_get(object, "from"), out));
    json_array_foreach(stages, i, stage) ARTEL_TRY(add_stage(b, stage, out));
    return ARTEL_OK;
}

static artel_status build_join(builder *b, const artel__stage_ops *ops, json_t *object, artel__stage **out)
{
    json_t *list = json_object_get(object, ops->name);
    size_t count = json_array_size(list);
    artel__stage *stage;
    if (count < 1 || count > 65535)
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "give a list of sources", "%s stands on no list of sources", ops->name);
    artel__stage **inputs = artel__arena_alloc(b->arena, count, sizeof(artel__stage *));
    if (inputs == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(new_stage(b, ops, &stage));
    *out = stage;
    stage->inputs = inputs;
    for (size_t i = 0; i < count; i++) {
        artel_status status = build(b, json_array_get(list, i), &inputs[i]);
        if (inputs[i] != NULL) stage->input_count++;
        if (status < 0) return status;
    }
    return open_stage(b, stage, object, ops->name);
}

/* *out is set as soon as there is something to close. */
static artel_status build(builder *b, json_t *value, artel__stage **out)
{
    *out = NULL;
    if (b->depth == DEEPEST)
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "nest less", "sources are nested more than %d deep", DEEPEST);
    b->depth++;
    artel_status status;
    const artel__stage_ops *join = NULL;
    for (int i = 0; artel__stages[i] != NULL; i++) {
        if (artel__stages[i]->joins && json_object_get(value, artel__stages[i]->name) != NULL) join = artel__stages[i];
    }
    if (json_is_string(value)) {
        status = new_stage(b, &artel__stage_source, out);
        if (status == ARTEL_OK) status = build_source(b, json_string_value(value), *out);
    } else if (json_object_get(value, "from") != NULL) {
        status = build_chain(b, value, out);
    } else if (join != NULL) {
        status = build_join(b, join, value, out);
    } else {
        status = artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "write a specification, {\"from\": ...}, or {\"zip\": [...]}",
                             "a source is expected (found something else)");
    }
    b->depth--;
    return status;
}

artel_status artel__pipeline_build(artel_context *ctx, artel__arena *arena, const char *where, json_t *value, artel__sha256 *hash,
                                   artel__stage **out)
{
    builder b = {.ctx = ctx, .arena = arena, .where = where, .hash = hash};
    artel__stage *built = NULL;
    artel_status status = build(&b, value, &built);
    if (status == ARTEL_OK)
        *out = built;
    else
        artel__stage_close(built);
    return status;
}

/* ---- the format ---- */

typedef struct pipeline_state {
    artel__stage *top;
    uint8_t hash[32];
} pipeline_state;

static artel_status publish(artel__source *source, const artel__stage *top)
{
    if (top->count < 0) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                           "give repeat a count, or take some; each epoch is a pass over the whole", "the pipeline has no end");
    }
    ARTEL_TRY(artel__source_add_arrays(source, top->column_count));
    for (int i = 0; i < top->column_count; i++) {
        const artel__stage_column *c = &top->columns[i];
        source->arrays[i] = (artel__source_array){
            .name = c->name, .role = c->role, .dtype = c->dtype, .row = c->row, .count = top->count, .pixels = c->pixels};
    }
    return ARTEL_OK;
}

static artel_status pipeline_open(artel__source *source)
{
    artel__sha256 hash;
    json_t *value;
    pipeline_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__data_load_json(source->ctx, source->target, false, &value));
    artel__sha256_init(&hash);
    artel_status status = artel__pipeline_build(source->ctx, &source->arena, source->target, value, &hash, &state->top);
    json_decref(value);
    if (status < 0) return status;
    source->state = state;
    artel__sha256_final(&hash, state->hash);
    return publish(source, state->top);
}

static artel_status pipeline_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row, void *out)
{
    (void)row_shape;
    return artel__stage_at(((const pipeline_state *)source->state)->top, array, row, out);
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
    artel__stage_close(((pipeline_state *)source->state)->top);
}

const artel__data_format artel__data_pipeline = {
    .name = "pipeline",
    .syntax = "pipeline:FILE.json",
    .options = "names scale shift skip-errors",
    .open = pipeline_open,
    .fetch_row = pipeline_fetch,
    .hash_row = pipeline_hash_row,
    .fingerprint = pipeline_fingerprint,
    .close = pipeline_close,
};
