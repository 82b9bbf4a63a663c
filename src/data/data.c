/* SPDX-License-Identifier: Apache-2.0 */
/* artel_data: one source, or several of one format joined end to end.
 *
 * Opening checks that joined sources offer the same arrays; from then on an array means its rows in all of them, one
 * after another. The data is counted: its owner holds one reference, each feed another, and the last one closes the
 * files. Nothing here looks at values; that begins when a model is bound (bind.c).
 */
#include "data/data.h"

#include <string.h>

#include "base/argument.h"
#include "base/budget.h"
#include "data/source.h"

typedef struct artel__source_block {
    struct artel__source_block *next;
    void *bytes;
    size_t size;
} source_block;

artel_status artel__data_go_on(artel_context *ctx, const char *where)
{
    return artel__cancelled(ctx) ? artel__fail(ctx, ARTEL_ERROR_CANCELLED, where, "", "reading was cancelled")
                                 : ARTEL_OK;
}

artel_status artel__source_alloc(artel__source *source, size_t bytes, void **out)
{
    source_block *block = artel__arena_alloc(&source->arena, 1, sizeof *block);
    if (block == NULL) return ARTEL_ERROR_NO_MEMORY;
    block->size = bytes > 0 ? bytes : 1;
    ARTEL_TRY(artel__alloc_aligned(source->ctx, block->size, source->target, &block->bytes));
    block->next = source->blocks;
    source->blocks = block;
    *out = block->bytes;
    return ARTEL_OK;
}

artel_status artel__source_fetch(const artel__source *source, int64_t row, const artel__row_want *wants, int count)
{
    if (source->format->fetch_record != NULL) return source->format->fetch_record(source, row, wants, count);
    for (int i = 0; i < count; i++)
        ARTEL_TRY(source->format->fetch_row(source, wants[i].array, wants[i].shape, row, wants[i].out));
    return ARTEL_OK;
}

int64_t artel__source_expect(const artel__source *source, const int64_t *rows, int64_t count)
{
    return source->far && source->format->expect != NULL ? source->format->expect(source, rows, count) : count;
}

bool artel__array_is_text(const artel__source_array *array)
{
    return array->text && array->dtype == ARTEL_DTYPE_STRING;
}

static const char text_refusal[] = "it holds text, and the model takes numbers here";

void artel__array_set_text(artel__source_array *array)
{
    if (array->dtype != ARTEL_DTYPE_STRING) return;
    array->text = true;
    array->refusal = text_refusal;
}

artel_status artel__source_strings(artel__source *source, int array, const artel__string **out)
{
    int64_t each = artel_shape_count(&source->arrays[array].row), count = source->arrays[array].count;
    const artel__string *all;
    void *block;
    *out = NULL;
    if (source->format->load_text == NULL) return ARTEL_OK;
    ARTEL_TRY(source->format->load_text(source, array, &all));
    *out = all;
    if (source->inner == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__source_alloc(source, (size_t)(count * each) * sizeof(artel__string) + 1, &block));
    artel__string *kept = block;
    for (int64_t row = 0; row < count; row++) {
        for (int64_t i = 0; i < each; i++) kept[row * each + i] = all[(int64_t)source->kept[row] * each + i];
    }
    *out = kept;
    return ARTEL_OK;
}

artel_status artel__source_add_arrays(artel__source *source, int64_t count)
{
    if (count < 1 || count > ARTEL__DATA_MAX_ARRAYS) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "", "%lld arrays (expected 1 to %d)",
                           (long long)count, ARTEL__DATA_MAX_ARRAYS);
    }
    source->arrays = artel__arena_alloc(&source->arena, (size_t)count, sizeof *source->arrays);
    if (source->arrays == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->array_count = (int)count;
    return ARTEL_OK;
}

void artel__source_close(artel__source *source)
{
    if (source->format->close != NULL && source->state != NULL) source->format->close(source);
    artel__unfold_pool_destroy(source->unfold);
    for (artel__blob *blob = source->blobs; blob != NULL; blob = blob->next) {
        artel__free(source->ctx, blob->inflated);
        artel__unmap_file(&blob->mapping);
    }
    for (source_block *block = source->blocks; block != NULL; block = block->next)
        artel__free_aligned(source->ctx, block->bytes, block->size);
    artel__arena_fini(&source->arena);
}

artel_status artel__data_create(artel_context *ctx, const char *specification, artel_data **out)
{
    artel_data *data = NULL;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof *data, "data", (void **)&data));
    data->ctx = ctx;
    data->references = 1;
    artel__arena_init(&data->arena, ctx);
    data->specification = artel__arena_strdup(&data->arena, specification);
    artel_status status = artel__arena_status(&data->arena);
    if (status < 0) {
        artel_data_destroy(data);
        return status;
    }
    *out = data;
    return ARTEL_OK;
}

void artel_data_destroy(artel_data *data)
{
    if (data == NULL || --data->references > 0) return;
    artel_context *ctx = data->ctx;
    for (int i = 0; i < data->source_count; i++) artel__source_close(&data->sources[i]);
    artel__arena_fini(&data->arena);
    artel__free(ctx, data);
}

/* What no array may be, whatever the format: more than can be counted in bytes, each row taking one at least. */
static artel_status check_arrays(const artel__source *source)
{
    for (int i = 0; i < source->array_count; i++) {
        const artel__source_array *array = &source->arrays[i];
        bool open = false;
        for (int axis = 0; axis < array->row.rank; axis++) open |= array->row.dim[axis] < 0;
        int64_t count = artel_shape_count(&array->row);
        if (array->refusal == NULL && !open && (count < 0 || array->count > INT64_MAX / 16 / (count > 0 ? count : 1))) {
            return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, source->target, "",
                               "the shape of array '%s' overflows", array->name);
        }
    }
    return ARTEL_OK;
}

artel_status artel__data_add_source(artel_data *data, const artel__data_format *format, const char *target,
                                    const artel__data_options *options, void *state)
{
    artel__source *source = &data->sources[data->source_count];
    data->source_count++;
    source->ctx = data->ctx;
    source->format = format;
    source->target = target;
    if (options != NULL) source->options = *options;
    source->state = state;
    artel__arena_init(&source->arena, data->ctx);
    if (source->options.skip_errors > 0) source->skips = &data->skips;
    if (format->open != NULL) ARTEL_TRY(format->open(source));
    ARTEL_TRY(check_arrays(source));
    return source->skips != NULL ? artel__source_skip_errors(source) : ARTEL_OK;
}

artel_status artel__data_create_single(artel_context *ctx, const artel__data_format *format, artel_data **out)
{
    artel_data *data;
    ARTEL_TRY(artel__data_create(ctx, format->name, &data));
    data->sources = artel__arena_alloc(&data->arena, 1, sizeof *data->sources);
    artel_status status =
        data->sources != NULL ? artel__data_add_source(data, format, format->name, NULL, NULL) : ARTEL_ERROR_NO_MEMORY;
    if (status < 0) {
        artel_data_destroy(data);
        return status;
    }
    *out = data;
    return ARTEL_OK;
}

/* Joined sources must offer the same arrays in the same order. */
static artel_status check_joined(const artel_data *data)
{
    const artel__source *first = &data->sources[0];
    if (data->source_count > 1 && first->format->fetch_rows != NULL)
        return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, data->specification,
                           "join the data where it is served, or with {\"concatenate\": [...]} in a pipeline",
                           "data of a service is not joined by +");
    for (int s = 1; s < data->source_count; s++) {
        const artel__source *other = &data->sources[s];
        if (other->array_count != first->array_count) {
            return artel__fail(data->ctx, ARTEL_ERROR_INVALID, other->target, "join data of one kind",
                               "%d arrays (%s has %d)", other->array_count, first->target, first->array_count);
        }
        for (int i = 0; i < first->array_count; i++) {
            const artel__source_array *a = &first->arrays[i], *b = &other->arrays[i];
            char sa[128], sb[128];
            bool same_dtype = a->dtype == b->dtype || first->format->table; /* columns are converted one by one */
            if (strcmp(a->name, b->name) == 0 && same_dtype && artel__shape_equal(&a->row, &b->row)) continue;
            return artel__fail(data->ctx, ARTEL_ERROR_INVALID, other->target, "join data of one kind",
                               "array '%s' %s with rows %s (%s has '%s' %s %s)", b->name, artel_dtype_name(b->dtype),
                               artel__shape_text(&b->row, false, sb, sizeof sb), first->target, a->name,
                               artel_dtype_name(a->dtype), artel__shape_text(&a->row, false, sa, sizeof sa));
        }
    }
    return ARTEL_OK;
}

static artel_status open_specification(artel_data *data, int64_t skip_errors, bool *skips)
{
    artel__data_spec spec;
    ARTEL_TRY(artel__data_spec_parse(&data->arena, data->specification, &spec));
    bool can_skip = strstr(spec.parts[0].format->options, "skip-errors") != NULL;
    if (can_skip && skip_errors > 0) spec.options.skip_errors = skip_errors;
    *skips = *skips || can_skip;
    data->skips = spec.options.skip_errors;
    data->sources = artel__arena_alloc(&data->arena, (size_t)spec.part_count, sizeof *data->sources);
    if (data->sources == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < spec.part_count; i++) {
        ARTEL_TRY(artel__data_add_source(data, spec.parts[i].format, spec.parts[i].target, &spec.options, NULL));
    }
    return check_joined(data);
}

artel_status artel_data_set_memory(artel_context *context, uint64_t bytes)
{
    ARTEL_TRY(artel__enter(context, __func__, "context", context));
    artel__budget_set(context, bytes);
    return ARTEL_OK;
}

artel_status artel_data_open(artel_context *context, const char *specification, artel_data **out)
{
    ARTEL_TRY(artel__enter(context, __func__, "context specification out", context, specification, out));
    return artel__data_open(context, specification, out);
}

artel_status artel__data_open(artel_context *ctx, const char *specification, artel_data **out)
{
    bool skips = false;
    return artel__data_open_skipping(ctx, specification, 0, &skips, out);
}

artel_status artel__data_open_skipping(artel_context *ctx, const char *specification, int64_t skip_errors, bool *skips,
                                       artel_data **out)
{
    artel_data *data;
    ARTEL_TRY(artel__data_create(ctx, specification, &data));
    artel_status status = open_specification(data, skip_errors, skips);
    if (status < 0) {
        artel_data_destroy(data);
        return status;
    }
    *out = data;
    return ARTEL_OK;
}

artel_context *artel__data_context(const artel_data *data)
{
    return data->ctx;
}

bool artel__data_is_synthetic(const artel_data *data)
{
    return data->sources[0].format == &artel__data_synthetic;
}

int64_t artel__data_rows(const artel_data *data, int index)
{
    int64_t rows = 0;
    for (int s = 0; s < data->source_count; s++) rows += data->sources[s].arrays[index].count;
    return rows;
}

int64_t artel_data_count(const artel_data *data)
{
    if (data == NULL) return -1;
    int64_t rows = artel__data_rows(data, 0);
    for (int i = 1; i < data->sources[0].array_count; i++) {
        if (artel__data_rows(data, i) != rows) return -1;
    }
    return rows;
}

int artel_data_array_count(const artel_data *data)
{
    return data == NULL || artel__data_is_synthetic(data) ? 0 : data->sources[0].array_count;
}

artel_status artel_data_array_describe(const artel_data *data, int index, artel_data_array *out)
{
    ARTEL_TRY(artel__enter(data ? data->ctx : NULL, __func__, "data out", data, out));
    int count = artel_data_array_count(data);
    if (index < 0 || index >= count) {
        return artel__fail(data->ctx, ARTEL_ERROR_INVALID, data->specification, "", "no array %d (there are %d)", index,
                           count);
    }
    const artel__source_array *array = &data->sources[0].arrays[index];
    *out = (artel_data_array){.name = array->name, .role = array->role, .dtype = array->dtype};
    out->shape.rank = array->row.rank < ARTEL_MAX_RANK ? array->row.rank + 1 : ARTEL_MAX_RANK;
    out->shape.dim[0] = artel__data_rows(data, index);
    memcpy(out->shape.dim + 1, array->row.dim, (size_t)(out->shape.rank - 1) * sizeof(int64_t));
    return ARTEL_OK;
}

void artel__source_array_describe(const artel__source_array *array, int64_t rows, artel__text *out)
{
    char shape[128];
    artel__text_show(out, "%s: %lld rows of %s %s", array->name, (long long)rows, artel_dtype_name(array->dtype),
                     artel__shape_text(&array->row, false, shape, sizeof shape));
    bool told = artel__array_is_text(array) && text_refusal == array->refusal; /* by the dtype */
    if (array->refusal != NULL && !told) artel__text_show(out, " (%s)", array->refusal);
}

/* "classes: 0 cat, 1 dog", as `predict --labels` and class weights count them. */
static void describe_classes(const char *const *classes, artel__text *out)
{
    enum {
        SHOWN = 40
    };
    int count = 0;
    while (classes[count]) count++;
    artel__text_append(out, "  classes:");
    for (int i = 0; i < count && i < SHOWN; i++) artel__text_show(out, "%s %d %s", i ? "," : "", i, classes[i]);
    artel__text_show(out, count > SHOWN ? ", ... (%d in all)\n" : "\n", count);
}

void artel__data_describe(const artel_data *data, artel__text *out)
{
    static const char *const roles[] = {"", "input", "target", "weight"};
    artel__text_show(out, "%s\n", data->specification);
    for (int s = 0; s < data->source_count; s++) {
        const artel__source *source = &data->sources[s];
        artel__text_show(out, "  %s %s\n", source->format->name, source->target);
    }
    if (artel__data_is_synthetic(data)) {
        artel__text_show(out, "  %lld rows in the shapes and dtypes of the model\n",
                         (long long)artel__data_rows(data, 0));
        return;
    }
    for (int i = 0; i < data->sources[0].array_count; i++) {
        const artel__source_array *array = &data->sources[0].arrays[i];
        artel__text_append(out, "  ");
        artel__source_array_describe(array, artel__data_rows(data, i), out);
        if (array->role != ARTEL_DATA_ROLE_AUTO) artel__text_show(out, ", %s", roles[array->role]);
        artel__text_append(out, "\n");
    }
    if (data->sources[0].classes) describe_classes(data->sources[0].classes, out);
}
