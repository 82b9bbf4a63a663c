/* SPDX-License-Identifier: Apache-2.0 */
/* Binding one array (or the columns of a table) to one input, target or weight: shape, conversion, values.
 *
 * Shapes fit as in Keras: equal extents where the model states them, and an axis of 1 at the end may be added or
 * dropped (keras/src/models/functional.py, _adjust_input_rank; losses, squeeze_or_expand_to_same_rank). Labels become
 * what the loss wants: class numbers stay integers, or are expanded to one-hot rows; the way back from one-hot rows to
 * numbers is refused, since it would hide a loss that does not fit the data.
 */
#include <stdio.h>
#include <string.h>

#include "data/feed.h"

static bool extents_fit(const artel_shape *found, const artel_shape *wanted, int count)
{
    for (int i = 0; i < count; i++) {
        if (wanted->dim[i] >= 0 && found->dim[i] != wanted->dim[i]) return false;
    }
    return true;
}

/* Whether rows of shape `found` can be fed where `wanted` stands; *out is the shape then. `pixels` lets an open last
 * axis stand for one channel. */
static bool shape_fits(const artel_shape *found, const artel_shape *wanted, bool pixels, artel_shape *out)
{
    *out = *found;
    if (wanted->rank < 0) return true;
    if (found->rank == wanted->rank) return extents_fit(found, wanted, found->rank);
    if (found->rank == wanted->rank - 1) {
        int64_t last = wanted->dim[found->rank];
        if (last != 1 && !(pixels && last < 0)) return false;
        out->dim[out->rank++] = 1;
        return extents_fit(found, wanted, found->rank);
    }
    if (found->rank != wanted->rank + 1 || found->dim[wanted->rank] != 1) return false;
    out->rank--;
    return extents_fit(found, wanted, wanted->rank);
}

static const artel__source_array *array_of(const artel__bind_job *job, int i)
{
    return &job->core->data->sources[0].arrays[job->match.arrays[i]];
}

/* "(None, 28, 28)" with None for open extents. */
static const char *rows_text(const artel_shape *row, char *buffer, size_t size)
{
    if (row->rank < 0) return "(None, ...)";
    int used = snprintf(buffer, size, "(None");
    for (int i = 0; i < row->rank && used > 0 && (size_t)used < size; i++) {
        if (row->dim[i] < 0)
            used += snprintf(buffer + used, size - (size_t)used, ", None");
        else
            used += snprintf(buffer + used, size - (size_t)used, ", %lld", (long long)row->dim[i]);
    }
    if (used > 0 && (size_t)used < size) snprintf(buffer + used, size - (size_t)used, row->rank == 0 ? ",)" : ")");
    return buffer;
}

static artel_status misfit(const artel__bind_job *job, const artel_shape *found, const char *advice)
{
    char a[160], b[160];
    const char *noun = job->role == ARTEL_DATA_ROLE_INPUT ? "input" : "output";
    return artel__fail(job->core->ctx, ARTEL_ERROR_INVALID, job->core->data->specification, advice,
                       "array '%s' has shape %s (the %s '%s' takes %s)", array_of(job, 0)->name,
                       rows_text(found, a, sizeof a), noun, job->layer, rows_text(&job->row, b, sizeof b));
}

static void set_cast(const artel__bind_job *job, artel__conversion *conversion)
{
    conversion->to = job->dtype;
    conversion->kind = conversion->from == conversion->to ? ARTEL__CONVERT_COPY : ARTEL__CONVERT_CAST;
}

static artel_status bind_input(artel__bind_job *job, const artel_shape *found, artel__binding *out)
{
    const artel__source *source = &job->core->data->sources[0];
    const artel__data_options *options = &source->options;
    bool pixels = array_of(job, 0)->pixels, scaled = options->has_scale || options->has_shift;
    if (!shape_fits(found, &job->row, pixels, &out->public.row)) {
        return misfit(job, found,
                      source->format->table ? "choose the columns with #columns=A,B"
                                            : "reshape the array or the model's input");
    }
    set_cast(job, &out->conversion);
    if (scaled && !artel__is_floating(job->dtype)) {
        return artel__fail(job->core->ctx, ARTEL_ERROR_INVALID, job->core->data->specification,
                           "leave scale and shift out", "the input '%s' takes %s, which cannot be scaled", job->layer,
                           artel_dtype_name(job->dtype));
    }
    job->pixel_note = pixels && !scaled && artel__is_floating(job->dtype);
    if (!scaled) return ARTEL_OK;
    out->conversion.kind = ARTEL__CONVERT_SCALE;
    out->conversion.scale_by = options->scale_by;
    out->conversion.scale_over = options->scale_over;
    out->conversion.has_shift = options->has_shift;
    out->conversion.shift = options->shift;
    return ARTEL_OK;
}

static void set_classes(const artel__bind_job *job, int64_t classes, artel__conversion *conversion)
{
    conversion->to = job->dtype;
    conversion->classes = classes;
    conversion->has_ignored = job->target->has_ignored;
    conversion->ignored = job->target->ignored;
}

static artel_status bind_indices(artel__bind_job *job, const artel_shape *found, artel__binding *out)
{
    artel_shape one_hot = job->row, ignored;
    if (shape_fits(found, &job->row, false, &out->public.row)) {
        out->conversion.kind = ARTEL__CONVERT_INDICES;
        set_classes(job, job->target->classes, &out->conversion);
        return ARTEL_OK;
    }
    if (one_hot.rank >= 0 && one_hot.rank < ARTEL_MAX_RANK) one_hot.dim[one_hot.rank++] = job->target->classes;
    bool is_one_hot = job->target->classes > 1 && shape_fits(found, &one_hot, false, &ignored);
    return misfit(
        job, found,
        is_one_hot ? "one-hot rows go with categorical_crossentropy; this loss takes class numbers (argmax of the rows)"
                   : "this loss takes one class number for each prediction");
}

static artel_status bind_one_hot(artel__bind_job *job, const artel_shape *found, artel__binding *out)
{
    artel_shape numbers = job->row;
    if (shape_fits(found, &job->row, false, &out->public.row)) {
        set_cast(job, &out->conversion);
        return ARTEL_OK;
    }
    int64_t classes = job->target->classes;
    if (numbers.rank > 0) {
        numbers.rank--;
        if (classes <= 0) classes = numbers.dim[numbers.rank];
    }
    if (job->row.rank < 1 || classes <= 0 || !shape_fits(found, &numbers, false, &out->public.row)) {
        return misfit(job, found, "this loss takes one-hot rows or class numbers");
    }
    out->public.row.dim[out->public.row.rank++] = classes;
    out->conversion.kind = ARTEL__CONVERT_ONE_HOT;
    set_classes(job, classes, &out->conversion);
    return ARTEL_OK;
}

static artel_status bind_target(artel__bind_job *job, const artel_shape *found, artel__binding *out)
{
    switch (job->target->kind) {
    case ARTEL__DATA_TARGET_INDICES: return bind_indices(job, found, out);
    case ARTEL__DATA_TARGET_ONE_HOT: return bind_one_hot(job, found, out);
    case ARTEL__DATA_TARGET_VALUES: break;
    }
    if (!shape_fits(found, &job->row, false, &out->public.row)) {
        return misfit(job, found,
                      "targets of this loss have the shape of the prediction; class numbers go with a sparse loss");
    }
    out->public.without = found->rank > 0 && found->rank == job->row.rank - 1;
    set_cast(job, &out->conversion);
    return ARTEL_OK;
}

static artel_status bind_weight(artel__bind_job *job, const artel_shape *found, artel__binding *out)
{
    out->public.row = *found;
    if (found->rank > 0 && found->dim[found->rank - 1] == 1) out->public.row.rank--;
    set_cast(job, &out->conversion);
    return ARTEL_OK;
}

/* The extents of images come from the options, then from the model. */
static artel_status settle_image(const artel__bind_job *job, artel_shape *row)
{
    const artel__source *source = &job->core->data->sources[0];
    const artel__data_options *options = &source->options;
    bool known = job->row.rank == 3;
    row->dim[0] = options->height > 0 ? options->height : known ? job->row.dim[0] : -1;
    row->dim[1] = options->width > 0 ? options->width : known ? job->row.dim[1] : -1;
    row->dim[2] = options->channels > 0 ? options->channels : known && job->row.dim[2] > 0 ? job->row.dim[2] : 3;
    if (row->dim[0] > 0 && row->dim[1] > 0) return ARTEL_OK;
    return artel__fail(job->core->ctx, ARTEL_ERROR_INVALID, source->target, "add #size=HxW, for example #size=224x224",
                       "the input '%s' does not say how large images are", job->layer);
}

/* The shape of a row as the source delivers it: that of the array, or as many as there are columns. */
static artel_status source_row(const artel__bind_job *job, artel_shape *out)
{
    *out = array_of(job, 0)->row;
    if (job->match.count > 1) *out = (artel_shape){1, {job->match.count}};
    for (int i = 0; i < out->rank; i++) {
        if (out->dim[i] < 0) return settle_image(job, out);
    }
    return ARTEL_OK;
}

/* The rows of an array of a source. Strings lie together; those that are read row by row have no place. */
static artel_status place_rows(const artel__bind_job *job, artel__source *source, int index, artel__segment *out)
{
    const artel__source_array *array = &source->arrays[index];
    const artel__string *strings;
    *out = (artel__segment){out->first, array->count, array->base, array->stride, source};
    if (job->dtype != ARTEL_DTYPE_STRING) return ARTEL_OK;
    out->base = NULL;
    ARTEL_TRY(artel__source_strings(source, index, &strings));
    out->base = (const uint8_t *)strings;
    out->stride = (size_t)artel_shape_count(&array->row) * sizeof *strings;
    return ARTEL_OK;
}

/* One segment for each joined source. */
static artel_status place_segments(const artel__bind_job *job, artel__binding *out)
{
    artel_data *data = job->core->data;
    int64_t first = 0;
    out->array = job->match.arrays[0];
    out->segments = artel__arena_alloc(&job->core->arena, (size_t)data->source_count, sizeof *out->segments);
    if (out->segments == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int s = 0; s < data->source_count; s++) {
        artel__source *source = &data->sources[s];
        bool numbers = job->dtype != ARTEL_DTYPE_STRING;
        if (numbers && source->format->load != NULL) ARTEL_TRY(source->format->load(source, out->array));
        int64_t count = source->arrays[out->array].count;
        if (count == 0) continue;
        artel__segment *segment = &out->segments[out->segment_count++];
        segment->first = first;
        ARTEL_TRY(place_rows(job, source, out->array, segment));
        first += count;
    }
    return ARTEL_OK;
}

/* Converts one column (contiguous cells of 8 bytes) into its place in packed rows. */
static void pack_column(const artel__source_array *column, artel_dtype to, uint8_t *target, size_t row_bytes)
{
    uint64_t converted[256];
    size_t size = artel_dtype_size(to);
    for (int64_t row = 0; row < column->count; row += (int64_t)ARTEL__COUNT(converted)) {
        int64_t left = column->count - row,
                count = left < (int64_t)ARTEL__COUNT(converted) ? left : (int64_t)ARTEL__COUNT(converted);
        artel__convert(column->dtype, column->base + (size_t)row * column->stride, to, converted, count);
        for (int64_t i = 0; i < count; i++)
            memcpy(target + (size_t)(row + i) * row_bytes, (const uint8_t *)converted + (size_t)i * size, size);
    }
}

/* The same for strings. */
static artel_status pack_text(artel__source *source, int array, uint8_t *target, size_t row_bytes)
{
    const artel__string *strings;
    ARTEL_TRY(source->format->load_text(source, array, &strings));
    for (int64_t row = 0; row < source->arrays[array].count; row++)
        memcpy(target + (size_t)row * row_bytes, &strings[row], sizeof *strings);
    return ARTEL_OK;
}

/* Class numbers are packed as they are, since they are checked when they are fetched; the rest as it is delivered. */
static artel_dtype packed_dtype(const artel__bind_job *job)
{
    const artel_data *data = job->core->data;
    if (job->target == NULL || job->target->kind == ARTEL__DATA_TARGET_VALUES) return job->dtype;
    for (int s = 0; s < data->source_count; s++) {
        for (int i = 0; i < job->match.count; i++) {
            if (data->sources[s].arrays[job->match.arrays[i]].dtype == ARTEL_DTYPE_FLOAT64) return ARTEL_DTYPE_FLOAT64;
        }
    }
    return ARTEL_DTYPE_INT64;
}

/* Columns of a table side by side. */
static artel_status pack_columns(const artel__bind_job *job, artel__binding *out)
{
    artel_data *data = job->core->data;
    artel_dtype dtype = out->conversion.from;
    size_t size = artel__cell_size(dtype), row_bytes = (size_t)job->match.count * size;
    int64_t rows = artel__data_rows(data, job->match.arrays[0]), first = 0;
    void *packed;
    if (rows > (int64_t)(SIZE_MAX / 2 / row_bytes))
        return artel__fail_memory(job->core->ctx, data->specification, SIZE_MAX);
    ARTEL_TRY(artel__core_alloc(job->core, (size_t)rows * row_bytes, &packed));
    for (int s = 0; s < data->source_count; s++) {
        for (int i = 0; i < job->match.count; i++) {
            const artel__source_array *column = &data->sources[s].arrays[job->match.arrays[i]];
            uint8_t *target = (uint8_t *)packed + (size_t)first * row_bytes + (size_t)i * size;
            if (dtype == ARTEL_DTYPE_STRING)
                ARTEL_TRY(pack_text(&data->sources[s], job->match.arrays[i], target, row_bytes));
            else
                pack_column(column, dtype, target, row_bytes);
        }
        first += data->sources[s].arrays[job->match.arrays[0]].count;
    }
    out->array = -1;
    out->segments = artel__arena_alloc(&job->core->arena, 1, sizeof *out->segments);
    if (out->segments == NULL) return ARTEL_ERROR_NO_MEMORY;
    out->segments[0] = (artel__segment){0, rows, packed, row_bytes, &data->sources[0]};
    out->segment_count = 1;
    return ARTEL_OK;
}

static artel_status check_feedable(const artel__bind_job *job)
{
    const artel_data *data = job->core->data;
    for (int s = 0; s < data->source_count; s++) {
        for (int i = 0; i < job->match.count; i++) {
            const artel__source_array *array = &data->sources[s].arrays[job->match.arrays[i]];
            artel_status status = array->refusal_status < 0 ? array->refusal_status : ARTEL_ERROR_UNSUPPORTED;
            if (job->dtype == ARTEL_DTYPE_STRING && array->text) continue;
            if (job->dtype == ARTEL_DTYPE_STRING && array->refusal == NULL)
                return artel__fail(job->core->ctx, ARTEL_ERROR_INVALID, data->specification,
                                   "choose an array or a column of text",
                                   "'%s' cannot be fed to '%s': it holds %s, and the input takes strings", array->name,
                                   job->layer, artel_dtype_name(array->dtype));
            if (array->refusal == NULL) continue;
            return artel__fail(job->core->ctx, status, data->specification,
                               "convert this array to numbers, or choose other arrays or columns",
                               "'%s' cannot be fed to '%s': %s", array->name, job->layer, array->refusal);
        }
    }
    return ARTEL_OK;
}

artel_status artel__bind_array(artel__bind_job *job, artel__binding *out)
{
    memset(out, 0, sizeof *out);
    ARTEL_TRY(check_feedable(job));
    ARTEL_TRY(source_row(job, &out->source_row));
    bool packed = job->core->data->sources[0].format->table;
    out->layer = job->layer;
    out->conversion.from = job->dtype == ARTEL_DTYPE_STRING ? job->dtype
                           : packed                         ? packed_dtype(job)
                                                            : array_of(job, 0)->dtype;
    out->conversion.count = artel_shape_count(&out->source_row);
    out->source_bytes = (size_t)out->conversion.count * artel__cell_size(out->conversion.from);
    switch (job->role) {
    case ARTEL_DATA_ROLE_INPUT: ARTEL_TRY(bind_input(job, &out->source_row, out)); break;
    case ARTEL_DATA_ROLE_TARGET: ARTEL_TRY(bind_target(job, &out->source_row, out)); break;
    case ARTEL_DATA_ROLE_WEIGHT:
    case ARTEL_DATA_ROLE_AUTO: ARTEL_TRY(bind_weight(job, &out->source_row, out)); break;
    }
    out->public.name = job->match.count > 1 ? job->layer : array_of(job, 0)->name;
    out->public.role = job->role;
    out->public.index = job->index;
    out->public.dtype = job->dtype;
    out->public.cut = !packed && job->core->data->sources[0].buckets &&
                      job->core->data->sources[0].buckets->cut[job->match.arrays[0]];
    int64_t elements = artel_shape_count(&out->public.row);
    if (elements < 0 || elements > INT64_MAX / 16) return misfit(job, &out->source_row, "the row is too large");
    out->public.row_bytes = (size_t)elements * artel__cell_size(job->dtype);
    return packed ? pack_columns(job, out) : place_segments(job, out);
}
