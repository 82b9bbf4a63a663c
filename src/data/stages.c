/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that a pipeline can name, and what is common to them. To add one: its ops, a line here, its name in
 * stage.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/stage.h"

const artel__stage_ops *const artel__stages[] = {
    &artel__stage_take,
    &artel__stage_skip,
    &artel__stage_repeat,
    &artel__stage_shard,
    &artel__stage_shuffle,
    &artel__stage_filter,
    &artel__stage_window,
    &artel__stage_batch,
    &artel__stage_unbatch,
    &artel__stage_pad,
    &artel__stage_bucket,
    &artel__stage_cache,
    &artel__stage_snapshot,
    &artel__stage_cast,
    &artel__stage_scale,
    &artel__stage_normalise,
    &artel__stage_one_hot,
    &artel__stage_reshape,
    &artel__stage_lookup,
    &artel__stage_map,
    &artel__stage_function,
    &artel__stage_select,
    &artel__stage_rename,
    &artel__stage_stack_columns,
    &artel__stage_concatenate_columns,
    &artel__stage_resize,
    &artel__stage_crop,
    &artel__stage_random_crop,
    &artel__stage_random_flip,
    &artel__stage_random_brightness,
    &artel__stage_random_contrast,
    &artel__stage_concatenate,
    &artel__stage_zip,
    &artel__stage_interleave,
    &artel__stage_sample,
    NULL,
};

artel_status artel__stage_wrong(const artel__stage *stage, const char *advice, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return artel__fail(stage->ctx, ARTEL_ERROR_INVALID, stage->where, advice, "%s", what);
}

artel_status artel__stage_scratch_init(artel_context *ctx, size_t bytes, artel__stage_scratch *out)
{
    out->heap = NULL;
    out->bytes = out->small;
    if (bytes <= sizeof out->small) return ARTEL_OK;
    ARTEL_TRY(artel__alloc(ctx, bytes, "a pipeline's element", &out->heap));
    out->bytes = out->heap;
    return ARTEL_OK;
}

void artel__stage_scratch_fini(artel_context *ctx, artel__stage_scratch *scratch)
{
    artel__free(ctx, scratch->heap);
}

/* `likely`: where it is looked for first, as lists follow the order of the columns. */
static artel_status find_column(const artel__stage *stage, const char *name, int likely, int *out)
{
    const artel__stage *input = stage->inputs[0];
    if (likely < input->column_count && strcmp(input->columns[likely].name, name) == 0) {
        *out = likely;
        return ARTEL_OK;
    }
    const char *names[65];
    int count = 0;
    for (int i = 0; i < input->column_count; i++) {
        if (strcmp(input->columns[i].name, name) == 0) {
            *out = i;
            return ARTEL_OK;
        }
        if (count < 64) names[count++] = input->columns[i].name;
    }
    names[count] = NULL;
    const char *near = artel__nearest_name(name, names);
    return artel__stage_wrong(stage, "name a column of the stage before", "no column '%s' (%s%s)", name,
                              near != NULL ? "the nearest is " : "the first is ",
                              near != NULL ? near
                              : count > 0  ? names[0]
                                           : "none");
}

artel_status artel__stage_find(const artel__stage *stage, const char *name, int *out)
{
    return find_column(stage, name, 0, out);
}

static artel_status read_list(const artel__stage *stage, const json_t *list, bool *named, int *out)
{
    const json_t *name;
    size_t i, most = (size_t)stage->inputs[0]->column_count;
    if (json_array_size(list) < 1 || json_array_size(list) > most)
        return artel__stage_wrong(stage, "write \"columns\": [\"x\", \"y\"]", "columns is no list of some columns");
    json_array_foreach(list, i, name)
    {
        if (!json_is_string(name)) return artel__stage_wrong(stage, "write names", "columns holds no names");
        ARTEL_TRY(find_column(stage, json_string_value(name), i > 0 ? out[i - 1] + 1 : 0, &out[i]));
        if (named[out[i]])
            return artel__stage_wrong(stage, "name each column once", "column '%s' is named twice",
                                      json_string_value(name));
        named[out[i]] = true;
    }
    return ARTEL_OK;
}

artel_status artel__stage_find_list(const artel__stage *stage, const char *text, int *out, int *count)
{
    json_t *list;
    void *named;
    size_t columns = (size_t)stage->inputs[0]->column_count;
    ARTEL_TRY(artel__calloc(stage->ctx, columns + 1, sizeof(bool), stage->where, &named));
    artel_status status = artel__json_load(stage->ctx, stage->where, text, strlen(text), &list);
    if (status == ARTEL_OK) {
        status = read_list(stage, list, named, out);
        *count = (int)json_array_size(list);
        json_decref(list);
    }
    artel__free(stage->ctx, named);
    return status;
}

artel_status artel__stage_set_column(artel__stage *stage, int column, artel_dtype dtype, const artel_shape *row)
{
    artel__stage_column *c = &stage->columns[column];
    int64_t elements = artel_shape_count(row);
    if (elements < 0 || elements > INT64_MAX / 64)
        return artel__stage_wrong(stage, "choose smaller extents", "the shape overflows");
    c->dtype = dtype;
    c->row = *row;
    c->elements = elements;
    c->bytes = (size_t)elements * artel__cell_size(dtype);
    return ARTEL_OK;
}

int64_t artel__stage_span(const artel__stage *stage)
{
    return stage->count >= 0 ? stage->count : stage->reach;
}

artel_status artel__stage_set_span(artel__stage *stage, int64_t span)
{
    *(stage->count >= 0 ? &stage->count : &stage->reach) = span;
    if (stage->count >= 0 || span > 0) return ARTEL_OK;
    return artel__stage_wrong(stage, "choose smaller numbers",
                              "it begins behind the last element that can be numbered");
}

artel_status artel__stage_order(const artel__stage *stage, int64_t count, uint64_t **out)
{
    void *order;
    ARTEL_TRY(artel__calloc(stage->ctx, (size_t)count + 1, sizeof(uint64_t), stage->where, &order));
    *out = order;
    return ARTEL_OK;
}

void artel__stage_draw(const artel__stage *stage, int64_t seed, int64_t index, uint64_t block, uint32_t out[4])
{
    artel__rng_key key = artel__rng_make_key((uint64_t)seed, ARTEL__STREAM_AUGMENT);
    artel__rng_block(key, (uint64_t)index >> 32, stage->ordinal, (uint32_t)index, block, out);
}

/* ---- passes ---- */

static _Thread_local uint64_t running_pass;

uint64_t artel__stage_set_pass(uint64_t pass)
{
    uint64_t before = running_pass;
    running_pass = pass;
    return before;
}

uint64_t artel__stage_pass(void)
{
    return running_pass;
}

void artel__stage_freeze(artel__stage *stage, int column)
{
    for (int i = 0; i < stage->column_count; i++)
        stage->frozen = stage->frozen || (stage->columns[i].draws && (column < 0 || column == i));
    for (int i = 0; stage->frozen && i < stage->column_count; i++) stage->columns[i].draws = false;
}

/* ---- elements ---- */

/* The value that a stage of a run makes of what the one under it made, or of what the run stands on. */
static artel_status made_at(const artel__stage *maker, int64_t index, void *out)
{
    artel__stage_scratch scratch;
    ARTEL_TRY(artel__stage_scratch_init(maker->ctx, maker->given.bytes, &scratch));
    artel_status status = maker->under != NULL ? made_at(maker->under, index, scratch.bytes)
                                               : artel__stage_at(maker->base, maker->target, index, scratch.bytes);
    if (status == ARTEL_OK) status = maker->ops->map(maker, index, scratch.bytes, out);
    artel__stage_scratch_fini(maker->ctx, &scratch);
    return status;
}

static artel_status at_this_pass(const artel__stage *stage, int column, int64_t index, void *out)
{
    int input = 0;
    int64_t at = index;
    if (stage->ops->at != NULL) return stage->ops->at(stage, column, index, out);
    if (stage->base != NULL) {
        const artel__stage *maker = stage->columns[column].maker;
        return maker != NULL ? made_at(maker, index, out) : artel__stage_at(stage->base, column, index, out);
    }
    if (stage->ops->locate != NULL) ARTEL_TRY(stage->ops->locate(stage, index, &input, &at));
    return artel__stage_at(stage->inputs[input], column, at, out);
}

artel_status artel__stage_at(const artel__stage *stage, int column, int64_t index, void *out)
{
    if (!stage->frozen || running_pass == 0) return at_this_pass(stage, column, index, out);
    uint64_t pass = artel__stage_set_pass(0);
    artel_status status = at_this_pass(stage, column, index, out);
    artel__stage_set_pass(pass);
    return status;
}

/* ---- several columns ---- */

/* What `maker`, and those of its run under it, make of the value that the run stands on. */
static artel_status make_from(const artel__stage *maker, int64_t index, const void *in, void *out)
{
    artel__stage_scratch scratch;
    if (maker->under == NULL) return maker->ops->map(maker, index, in, out);
    ARTEL_TRY(artel__stage_scratch_init(maker->ctx, maker->given.bytes, &scratch));
    artel_status status = make_from(maker->under, index, in, scratch.bytes);
    if (status == ARTEL_OK) status = maker->ops->map(maker, index, scratch.bytes, out);
    artel__stage_scratch_fini(maker->ctx, &scratch);
    return status;
}

/* Bytes of a column where a run begins; 0: the run leaves it as it is. */
static size_t raw_bytes(const artel__stage *stage, int column)
{
    const artel__stage *maker = stage->columns[column].maker;
    if (maker == NULL) return 0;
    while (maker->under != NULL) maker = maker->under;
    return (maker->given.bytes + 15) / 16 * 16 + 16;
}

static artel_status run_at(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    artel__stage_want raw[ARTEL__STAGE_TOGETHER];
    artel__stage_scratch scratch;
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += raw_bytes(stage, wants[i].column);
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, bytes, &scratch));
    uint8_t *at = scratch.bytes;
    for (int i = 0; i < count; i++) {
        size_t own = raw_bytes(stage, wants[i].column);
        raw[i] = (artel__stage_want){wants[i].column, own > 0 ? at : wants[i].out};
        at += own;
    }
    artel_status status = artel__stage_at_some(stage->base, raw, count, index);
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        const artel__stage *maker = stage->columns[wants[i].column].maker;
        if (maker != NULL) status = make_from(maker, index, raw[i].out, wants[i].out);
    }
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

/* Up to ARTEL__STAGE_TOGETHER of them, in this pass. */
static artel_status some_at(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    artel__stage_want below[ARTEL__STAGE_TOGETHER];
    int input = 0;
    if (stage->base != NULL) return run_at(stage, wants, count, index);
    if (stage->ops->which != NULL) {
        for (int i = 0; i < count; i++)
            below[i] = (artel__stage_want){stage->ops->which(stage, wants[i].column), wants[i].out};
        return artel__stage_at_some(stage->inputs[0], below, count, index);
    }
    if (stage->ops->at == NULL) {
        if (stage->ops->locate != NULL) ARTEL_TRY(stage->ops->locate(stage, index, &input, &index));
        return artel__stage_at_some(stage->inputs[input], wants, count, index);
    }
    if (stage->ops->at_some != NULL) return stage->ops->at_some(stage, wants, count, index);
    for (int i = 0; i < count; i++) ARTEL_TRY(stage->ops->at(stage, wants[i].column, index, wants[i].out));
    return ARTEL_OK;
}

artel_status artel__stage_at_one(const artel__stage *stage, int column, int64_t index, void *out)
{
    const artel__stage_want want = {column, out};
    return stage->ops->at_some(stage, &want, 1, index);
}

artel_status artel__stage_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    if (count == 1) return artel__stage_at(stage, wants->column, index, wants->out);
    uint64_t pass = stage->frozen ? artel__stage_set_pass(0) : 0;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < count && status == ARTEL_OK; i += ARTEL__STAGE_TOGETHER) {
        int some = count - i < ARTEL__STAGE_TOGETHER ? count - i : ARTEL__STAGE_TOGETHER;
        status = some_at(stage, wants + i, some, index);
    }
    if (stage->frozen) artel__stage_set_pass(pass);
    return status;
}

artel_status artel__stage_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    int input = 0;
    int64_t at = index;
    if (stage->base != NULL) stage = stage->base; /* runs keep numbers */
    if (stage->ops->hash != NULL) return stage->ops->hash(stage, column, index, out);
    if (stage->ops->locate != NULL) ARTEL_TRY(stage->ops->locate(stage, index, &input, &at));
    return artel__stage_hash(stage->inputs[input], column, at, out);
}

artel_status artel__stage_hash_add(const artel__stage *stage, int column, int64_t index, uint64_t *sum)
{
    uint64_t both[2] = {*sum, 0};
    ARTEL_TRY(artel__stage_hash(stage, column, index, &both[1]));
    *sum = artel__hash64(both, sizeof both);
    return ARTEL_OK;
}

artel_status artel__stage_next(const artel__stage *stage, artel__stage_position *position, void *const *out, bool *end)
{
    *end = stage->count >= 0 && position->next >= stage->count;
    if (*end) return ARTEL_OK;
    for (int i = 0; i < stage->column_count; i++) {
        if (out[i] != NULL) ARTEL_TRY(artel__stage_at(stage, i, position->next, out[i]));
    }
    position->next++;
    return ARTEL_OK;
}

void artel__stage_close(artel__stage *stage)
{
    if (stage == NULL) return;
    if (stage->ops->close != NULL && stage->state != NULL) stage->ops->close(stage);
    for (int i = 0; i < stage->input_count; i++) artel__stage_close(stage->inputs[i]);
}
