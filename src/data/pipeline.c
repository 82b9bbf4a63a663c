/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline:FILE.json: stages written out.
 *
 *   SOURCE = "npz:train.npz"                                        a data specification
 *          | {"from": SOURCE, "stages": [{"stage": NAME, ...}, ...]}
 *          | {"concatenate" | "zip" | "interleave" | "sample": [SOURCE, ...], ...}
 *
 * A file holds one SOURCE. Building goes from the sources up; each stage is opened when its inputs are, and names
 * itself in messages by its place ("p.json: stage 3 (shuffle)", counted over the whole file from 1).
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/fingerprint.h"
#include "data/json_options.h"
#include "data/stage.h"
#include "data/texts.h"

#define DEEPEST 32
#define DEEPEST_STAGES 500 /* one upon another, for a value: each takes some kilobytes of a thread's stack */

typedef struct builder {
    artel_context *ctx;
    artel__arena *arena;
    const char *where;
    artel__sha256 *hash;
    uint32_t ordinal, before; /* stages so far, and before this worker's */
    const artel__pipeline_recipe *recipe;
    int workers, worker;
    bool all; /* the head joins the pipelines of all workers */
    int depth;
} builder;

static artel_status build(builder *b, json_t *value, artel__stage **out);

/* ---- sources ---- */

static artel_status source_at(const artel__stage *stage, int column, int64_t index, void *out)
{
    return artel__rows_fetch(stage->state, column, index, out);
}

static artel_status source_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    int columns[ARTEL__STAGE_TOGETHER];
    void *out[ARTEL__STAGE_TOGETHER];
    for (int i = 0; i < count; i++) {
        columns[i] = wants[i].column;
        out[i] = wants[i].out;
    }
    return artel__rows_fetch_some(stage->state, columns, count, index, out);
}

static artel_status source_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    const artel__rows *rows = stage->state;
    int64_t whole = index;
    const artel__source *source = artel__rows_source(rows, &index);
    const artel__source_array *array = &source->arrays[rows->columns[column].array];
    artel__stage_scratch scratch;
    bool text = rows->columns[column].dtype == ARTEL_DTYPE_STRING;
    if (array->base != NULL && !text) {
        *out = artel__hash64(array->base + (size_t)index * array->stride, rows->columns[column].bytes);
        return ARTEL_OK;
    }
    if (source->format->hash_row != NULL)
        return source->format->hash_row(source, rows->columns[column].array, index, out);
    artel__texts texts; /* as long as they are looked at */
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, rows->columns[column].bytes, &scratch));
    artel__texts_init(&texts, stage->ctx, 0);
    artel__texts *before = artel__texts_set_keeper(&texts);
    artel_status status = artel__rows_fetch(rows, column, whole, scratch.bytes);
    artel__texts_set_keeper(before);
    if (status == ARTEL_OK)
        *out = text ? artel__strings_hash(scratch.bytes, rows->columns[column].elements)
                    : artel__hash64(scratch.bytes, rows->columns[column].bytes);
    artel__texts_fini(&texts);
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

static void source_close(artel__stage *stage)
{
    artel_data_destroy(((artel__rows *)stage->state)->data);
}

const artel__stage_ops artel__stage_source = {
    .name = "source", .at = source_at, .at_some = source_at_some, .hash = source_hash, .close = source_close};

static artel_status publish_rows(artel__stage *stage, const artel__rows *rows)
{
    stage->columns = artel__arena_alloc(stage->arena, (size_t)rows->column_count + 1, sizeof *stage->columns);
    if (stage->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    stage->column_count = rows->column_count;
    stage->count = rows->count;
    for (int i = 0; i < rows->column_count; i++) {
        const artel__rows_column *from = &rows->columns[i];
        if (from->open)
            return artel__stage_wrong(stage, "say how large images are: #size=HxW", "the size of '%s' is open",
                                      from->name);
        stage->columns[i] = (artel__stage_column){.name = from->name,
                                                  .role = from->role,
                                                  .dtype = from->dtype,
                                                  .row = from->row,
                                                  .elements = from->elements,
                                                  .bytes = from->bytes,
                                                  .pixels = from->pixels};
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
    ARTEL_TRY(artel__rows_open(data, b->arena, true, rows));
    if (data->sources[0].format->fetch_row == NULL && data->sources[0].format->fetch_rows != NULL)
        return artel__stage_wrong(stage, "name files", "data from a function has no rows");
    ARTEL_TRY(artel__data_fingerprint(data, print));
    artel__sha256_update(b->hash, print, sizeof print);
    memcpy(stage->print, print, sizeof print);
    return publish_rows(stage, rows);
}

/* ---- stages ---- */

static artel_status new_stage(builder *b, const artel__stage_ops *ops, artel__stage **out)
{
    artel__stage *stage = artel__arena_alloc(b->arena, 1, sizeof *stage);
    if (stage == NULL) return ARTEL_ERROR_NO_MEMORY;
    *stage = (artel__stage){.ops = ops,
                            .ctx = b->ctx,
                            .arena = b->arena,
                            .ordinal = ++b->ordinal,
                            .recipe = b->recipe,
                            .workers = b->workers,
                            .worker = b->worker,
                            .count = -1,
                            .reach = INT64_MAX};
    stage->where =
        artel__arena_printf(b->arena, "%s: stage %u (%s)", b->where, (unsigned)(stage->ordinal - b->before), ops->name);
    *out = stage;
    return artel__arena_status(b->arena);
}

/* Reads the stage's file, once for all that it identifies. */
static artel_status identify(artel__stage *stage)
{
    const char *path = NULL;
    artel__sha256 hash;
    artel__mapping file;
    if (stage->ops->find_file != NULL) ARTEL_TRY(stage->ops->find_file(stage, &path));
    if (path == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__map_file(stage->ctx, path, &file));
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, file.bytes, file.size);
    artel__sha256_final(&hash, stage->identity);
    artel__unmap_file(&file);
    stage->identified = true;
    return ARTEL_OK;
}

static artel_status hash_settings(builder *b, const artel__stage *stage, json_t *object, const char *passed,
                                  artel__sha256 *hash)
{
    const char *name;
    json_t *value;
    artel__hash_text(hash, stage->ops->name);
    json_object_foreach(object, name, value)
    {
        char *text;
        bool file = stage->ops->file != NULL && strcmp(name, stage->ops->file) == 0 && json_is_string(value);
        if (strcmp(name, passed) == 0 || file) continue;
        ARTEL_TRY(artel__json_dump_string(b->ctx, value, ARTEL__JSON_SORTED | ARTEL__JSON_COMPACT, &text));
        artel__hash_text(hash, name);
        artel__hash_text(hash, text);
        artel__free(b->ctx, text);
    }
    if (stage->identified) artel__sha256_update(hash, stage->identity, sizeof stage->identity);
    return ARTEL_OK;
}

/* What the stage's elements follow from, this far: its place decides what it draws, its worker which part is its own.
 */
static artel_status take_print(builder *b, artel__stage *stage, json_t *object, const char *passed)
{
    artel__sha256 hash;
    artel__sha256_init(&hash);
    artel__hash_integer(&hash, stage->ordinal);
    artel__hash_integer(&hash, (uint64_t)stage->workers);
    artel__hash_integer(&hash, (uint64_t)stage->worker);
    for (int k = 0; k < stage->input_count; k++)
        artel__sha256_update(&hash, stage->inputs[k]->print, sizeof stage->print);
    ARTEL_TRY(hash_settings(b, stage, object, passed, &hash));
    artel__sha256_final(&hash, stage->print);
    return ARTEL_OK;
}

static bool has_column(const artel__stage_ops *ops)
{
    return ops->options[0].name != NULL && strcmp(ops->options[0].name, "column") == 0;
}

/* Those of the first input. Within a run they are taken over, as nobody but this stage asks that input: a stage for
 * each of thousands of columns takes no thousand tables of thousands. */
static artel_status take_columns(builder *b, artel__stage *stage)
{
    artel__stage *first = stage->inputs[0];
    bool runs = has_column(stage->ops) && stage->ops->at == NULL && stage->ops->locate == NULL;
    stage->column_count = first->column_count;
    if (runs) stage->base = first->base != NULL ? first->base : first;
    if (runs && first->base != NULL) {
        stage->columns = first->columns;
        return ARTEL_OK;
    }
    stage->columns = artel__arena_alloc(b->arena, (size_t)first->column_count + 1, sizeof *stage->columns);
    if (stage->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    memcpy(stage->columns, first->columns, (size_t)first->column_count * sizeof *stage->columns);
    for (int i = 0; i < stage->column_count; i++) stage->columns[i].maker = NULL;
    return ARTEL_OK;
}

static int deepest_of(const artel__stage *stage)
{
    int deepest = 0;
    for (int k = 0; k < stage->input_count; k++) {
        for (int i = 0; i < stage->inputs[k]->column_count; i++)
            if (stage->inputs[k]->columns[i].deep > deepest) deepest = stage->inputs[k]->columns[i].deep;
    }
    return deepest;
}

/* How deep its values lie, and who makes them. */
static artel_status settle_columns(artel__stage *stage)
{
    int deep = stage->base != NULL ? stage->given.deep : deepest_of(stage);
    if (++deep > DEEPEST_STAGES)
        return artel__stage_wrong(stage, "keep what comes out as records (artel data make), and begin anew there",
                                  "more than %d stages stand on one another", DEEPEST_STAGES);
    if (stage->base == NULL) {
        for (int i = 0; i < stage->column_count; i++) {
            stage->columns[i].deep = deep;
            stage->columns[i].maker = NULL;
        }
        return ARTEL_OK;
    }
    artel__stage_column *column = &stage->columns[stage->target];
    if (stage->ops->map != NULL) {
        column->deep = deep;
        column->maker = stage;
    }
    stage->made = *column;
    stage->is_open = true;
    return ARTEL_OK;
}

/* Settings, columns of the first input, then what the stage makes of them. `passed`: the member that names the stage.
 */
static artel_status open_stage(builder *b, artel__stage *stage, json_t *object, const char *passed)
{
    const artel__stage *first = stage->inputs[0];
    stage->options = artel__arena_alloc(b->arena, 1, stage->ops->options_size);
    ARTEL_TRY(artel__arena_status(b->arena));
    ARTEL_TRY(artel__json_options(b->arena, stage->ops->options, stage->options, stage->where, object, passed));
    ARTEL_TRY(identify(stage));
    ARTEL_TRY(hash_settings(b, stage, object, passed, b->hash));
    ARTEL_TRY(take_print(b, stage, object, passed));
    ARTEL_TRY(take_columns(b, stage));
    stage->count = first->count;
    stage->reach = first->reach;
    for (int k = 0; k < stage->input_count; k++) {
        stage->hinted |= stage->inputs[k]->hinted;
        if (artel__stage_buckets(stage->inputs[k]))
            return artel__stage_wrong(stage, "let it be the last stage: it says how batches are made of what is there",
                                      "it stands on %s", stage->inputs[k]->ops->name);
    }
    bool one_column = has_column(stage->ops);
    if (one_column) ARTEL_TRY(artel__stage_find(stage, *(const char *const *)stage->options, &stage->target));
    if (one_column && !stage->ops->texts && stage->columns[stage->target].dtype == ARTEL_DTYPE_STRING)
        return artel__stage_wrong(
            stage, "lookup makes numbers of words, as do layers in front of a model (docs/layers-text.md)",
            "column '%s' holds text", stage->columns[stage->target].name);
    stage->given = stage->columns[stage->target];
    stage->under = stage->given.maker;
    ARTEL_TRY(stage->ops->open(stage));
    if (stage->ops->draws) stage->columns[stage->target].draws = true;
    for (int k = 1; stage->ops->joins && stage->ops->locate != NULL && k < stage->input_count; k++) {
        for (int i = 0; i < stage->column_count; i++) stage->columns[i].draws |= stage->inputs[k]->columns[i].draws;
    }
    return settle_columns(stage);
}

static const artel__stage_ops *find_ops(const char *name, bool joins)
{
    for (int i = 0; artel__stages[i] != NULL; i++) {
        if (artel__stages[i]->joins == joins && strcmp(artel__stages[i]->name, name) == 0) return artel__stages[i];
    }
    return NULL;
}

#define ELEMENT_ALONE "an element does not depend on those before it, so that any may be asked for at any time"
#define DECODED                                                                                                     \
    "images:DIR decodes files; of records the feature specification says what is decoded: tfrecord:FILES#features=" \
    "FILE.json"
#define AS_LAYER "put the layer in front of the model, or save it as a function for the stage function"

/* What other libraries have as a stage, and what does it here. */
static const char *const elsewhere[][2] = {
    {"padded_batch", "rows have one shape: \"ragged\" in a feature specification or the stage pad fills them up to it; "
                     "batches are made by .batch_size, or rows of several elements by the stage batch"},
    {"ragged_batch",
     "rows have one shape: \"ragged\" in a feature specification pads them to it; batches are made by .batch_size"},
    {"group_by_window", "batches are made by .batch_size, and of rows of like length by bucket_by_sequence_length"},
    {"rebatch", "batches are made by .batch_size"},
    {"prefetch", "rows are read ahead by themselves"},
    {"map", "name what it does: cast, scale, normalise, one_hot, reshape, lookup, resize, crop, random_crop, ...; the "
            "stage function runs a saved function or model; C programs map by functions of their own "
            "(artel/pipeline.h)"},
    {"flat_map",
     "interleave joins sources that are named, and files of a pattern are read as one; unbatch takes rows apart"},
    {"scan", ELEMENT_ALONE},
    {"reduce", ELEMENT_ALONE},
    {"take_while", ELEMENT_ALONE},
    {"unique", ELEMENT_ALONE},
    {"dedupe", ELEMENT_ALONE},
    {"rejection_resample", "sample joins sources by weights: {\"sample\": [A, B], \"weights\": [1, 3]}"},
    {"sample_from_datasets", "sample joins sources: {\"from\": {\"sample\": [A, B], \"weights\": [1, 3]}}"},
    {"choose_from_datasets", "interleave and sample join sources; not by a column's values"},
    {"ignore_errors", "#skip-errors=N behind the name of the pipeline leaves damaged elements out"},
    {"with_options", "there is nothing to choose: rows are read ahead by themselves, in order"},
    {"options", "there is nothing to choose: rows are read ahead by themselves, in order"},
    {"apply", "name what it does"},
    {"flip", "random_flip with \"probability\": 1 flips all"},
    {"center_crop", "crop takes the middle unless it is told where"},
    {"central_crop", "crop takes the middle unless it is told where"},
    {"normalize", "the stage is called normalise"},
    {"rescale", "the stage is called scale"},
    {"standardize", "normalise takes a mean and a deviation for each place of the last axis"},
    {"decode_image", DECODED},
    {"decode_jpeg", DECODED},
    {"decode_png", DECODED},
    {"decode_raw", DECODED},
    {"decode_wav", "audio:DIR reads WAV files"},
    {"parse_example", DECODED},
    {"parse_sequence_example", DECODED},
    {"random_rotation", AS_LAYER},
    {"random_zoom", AS_LAYER},
    {"random_translation", AS_LAYER},
    {"random_shear", AS_LAYER},
    {"random_hue", AS_LAYER},
    {"random_saturation", AS_LAYER},
    {"random_erasing", AS_LAYER},
    {"mixup", "an element does not depend on others: put the layer MixUp in front of the model"},
    {"cutmix", "an element does not depend on others: put the layer CutMix in front of the model"},
    {"save", "artel data make pipeline:FILE.json writes what comes out as records, to be read back"},
    {"stack", "stack_columns puts columns side by side, as tf.stack does with an element's values"},
    {"concat", "concatenate_columns puts columns side by side, as tf.concat does with an element's values"},
    {"column_stack", "stack_columns puts single values side by side, concatenate_columns vectors too"},
    {"hstack", "concatenate_columns puts columns side by side"},
    {"enumerate", "zip it with a column of numbers"},
    {"range", "write the numbers into an npz"},
};

static artel_status unknown_stage(builder *b, const char *name)
{
    for (size_t i = 0; i < ARTEL__COUNT(elsewhere); i++) {
        if (strcmp(elsewhere[i][0], name) == 0)
            return artel__fail(b->ctx, ARTEL_ERROR_UNSUPPORTED, b->where, elsewhere[i][1],
                               "a pipeline has no stage '%s'", name);
    }
    if (find_ops(name, true) != NULL)
        return artel__fail(
            b->ctx, ARTEL_ERROR_INVALID, b->where,
            "sources are joined where a source stands: {\"from\": {\"zip\": [SOURCE, SOURCE]}}; columns by "
            "stack_columns and concatenate_columns",
            "'%s' is no stage, but joins sources", name);
    const char *names[64];
    int count = 0;
    for (int i = 0; artel__stages[i] != NULL && count < 63; i++) {
        if (!artel__stages[i]->joins) names[count++] = artel__stages[i]->name;
    }
    names[count] = NULL;
    const char *near = artel__nearest_name(name, names);
    return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "docs/data.md lists the stages", "no stage '%s'%s%s",
                       name, near != NULL ? "; the nearest is " : "", near != NULL ? near : "");
}

/* One stage on what is there so far; *out is replaced. */
static artel_status add_stage(builder *b, json_t *object, size_t place, artel__stage **out)
{
    const char *name = json_string_value(json_object_get(object, "stage"));
    artel__stage *stage;
    if (name == NULL)
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "write {\"stage\": \"shuffle\", ...}",
                           json_is_object(object) ? "entry %zu of \"stages\" has no \"stage\" that names it"
                                                  : "entry %zu of \"stages\" is no object",
                           place + 1);
    const artel__stage_ops *ops = find_ops(name, false);
    bool lacks_function = ops == &artel__stage_map && b->recipe->function_count == 0; /* as every file */
    if (ops == NULL || lacks_function) return unknown_stage(b, name);
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
    const char *name;
    json_t *member;
    json_object_foreach(object, name, member)
    {
        if (strcmp(name, "from") != 0 && strcmp(name, "stages") != 0)
            return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "write {\"from\": SOURCE, \"stages\": [...]}",
                               "an object with \"from\" holds \"stages\" and nothing else (found \"%.100s\")", name);
    }
    if (stages != NULL && !json_is_array(stages))
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "write {\"from\": SOURCE, \"stages\": [...]}",
                           "\"stages\" is no list");
    ARTEL_TRY(build(b, json_object_get(object, "from"), out));
    json_array_foreach(stages, i, stage) ARTEL_TRY(add_stage(b, stage, i, out));
    return ARTEL_OK;
}

static artel_status build_join(builder *b, const artel__stage_ops *ops, json_t *object, artel__stage **out)
{
    json_t *list = json_object_get(object, ops->name);
    size_t count = json_array_size(list);
    artel__stage *stage;
    if (count < 1 || count > 65535)
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "give a list of sources",
                           "%s stands on no list of sources", ops->name);
    artel__stage **inputs = artel__arena_alloc(b->arena, count, sizeof(artel__stage *));
    if (inputs == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(new_stage(b, ops, &stage));
    *out = stage;
    stage->inputs = inputs;
    bool of_workers = b->all && b->depth == 1;
    for (size_t i = 0; i < count; i++) {
        if (of_workers) b->worker = (int)i;
        if (of_workers) b->before = b->ordinal;
        artel_status status = build(b, json_array_get(list, i), &inputs[i]);
        if (inputs[i] != NULL) stage->input_count++;
        if (status < 0) return status;
    }
    return open_stage(b, stage, object, ops->name);
}

static artel_status no_source(builder *b, json_t *value)
{
    const char *names[16] = {"from"}, *near = NULL, *name;
    json_t *member;
    int count = 1;
    for (int i = 0; artel__stages[i] != NULL && count < 15; i++) {
        if (artel__stages[i]->joins) names[count++] = artel__stages[i]->name;
    }
    if (json_is_array(value))
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where,
                           "say how: {\"concatenate\": [...]}, zip, interleave, sample",
                           "a source is expected (found a list)");
    json_object_foreach(value, name, member)
    {
        if (near == NULL) near = artel__nearest_name(name, names);
    }
    return artel__fail(
        b->ctx, ARTEL_ERROR_INVALID, b->where, "write a specification, {\"from\": ...}, or {\"zip\": [...]}",
        "a source is expected (found something else%s%s)", near != NULL ? "; is it " : "", near != NULL ? near : "");
}

/* *out is set as soon as there is something to close. */
static artel_status build(builder *b, json_t *value, artel__stage **out)
{
    *out = NULL;
    if (b->depth == DEEPEST)
        return artel__fail(b->ctx, ARTEL_ERROR_INVALID, b->where, "nest less", "sources are nested more than %d deep",
                           DEEPEST);
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
        status = no_source(b, value);
    }
    b->depth--;
    return status;
}

static artel_status build_whole(builder *b, json_t *value, artel__stage **out)
{
    artel__stage *built = NULL;
    artel_status status = build(b, value, &built);
    if (status == ARTEL_OK)
        *out = built;
    else
        artel__stage_close(built);
    return status;
}

artel_status artel__pipeline_build_recipe(artel_context *ctx, artel__arena *arena, const char *where,
                                          const artel__pipeline_recipe *recipe, artel__sha256 *hash, artel__stage **out)
{
    int workers = recipe->workers > 0 ? recipe->workers : 1;
    artel__pipeline_recipe *kept = artel__arena_alloc(arena, 1, sizeof *kept);
    if (kept == NULL) return ARTEL_ERROR_NO_MEMORY;
    *kept = *recipe;
    builder b = {.ctx = ctx,
                 .arena = arena,
                 .where = where,
                 .hash = hash,
                 .recipe = kept,
                 .workers = workers,
                 .all = recipe->workers > 0};
    if (!b.all) return build_whole(&b, recipe->value, out);
    json_t *list = json_array(), *joined;
    bool whole = list != NULL;
    for (int i = 0; i < workers && whole; i++) whole = json_array_append(list, recipe->value) == 0;
    joined = whole ? json_pack("{s:O}", artel__stage_concatenate.name, list) : NULL;
    json_decref(list);
    if (!joined) return artel__fail_memory(ctx, where, 64);
    artel_status status = build_whole(&b, joined, out);
    json_decref(joined);
    return status;
}

artel_status artel__pipeline_build(artel_context *ctx, artel__arena *arena, const char *where, json_t *value,
                                   artel__sha256 *hash, artel__stage **out)
{
    const artel__pipeline_recipe recipe = {.value = value};
    return artel__pipeline_build_recipe(ctx, arena, where, &recipe, hash, out);
}
