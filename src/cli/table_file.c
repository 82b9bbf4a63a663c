/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions as a table: a row a record, a column a number, names in the first line (RFC 4180). */
#include "cli/table_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "tensor/shape.h"

void artel__cli_put_field(artel__text *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        artel__text_append(out, text);
        return;
    }
    artel__text_append(out, "\"");
    for (; *text; text++) artel__text_printf(out, *text == '"' ? "\"\"" : "%c", *text);
    artel__text_append(out, "\"");
}

/* "a,b,c", or @FILE with a name in each line. */
artel_status artel__cli_read_labels(artel__invocation *call, const char *text, artel__cli_labels *out)
{
    char *copy = NULL;
    if (text[0] == '@') {
        artel__mapping file;
        ARTEL_TRY(artel__map_file(call->ctx, text + 1, &file));
        copy = artel__arena_printf(&call->arena, "%.*s", (int)file.size, (const char *)file.bytes);
        artel__unmap_file(&file);
    } else
        copy = artel__arena_strdup(&call->arena, text);
    if (!copy) return ARTEL_ERROR_NO_MEMORY;
    const char *separator = text[0] == '@' ? "\r\n" : ",";
    size_t most = 1;
    for (const char *c = copy; *c; c++) most += strchr(separator, *c) != NULL;
    out->name = artel__arena_alloc(&call->arena, most, sizeof *out->name);
    if (!out->name) return ARTEL_ERROR_NO_MEMORY;
    out->count = 0;
    out->border = 0.5;
    char *rest = NULL;
    for (char *name = strtok_r(copy, separator, &rest); name; name = strtok_r(NULL, separator, &rest))
        out->name[out->count++] = name;
    if (out->count < 2)
        return artel__cli_usage(call, "--labels", "name at least two classes: a,b,c or @FILE with one in each line");
    return ARTEL_OK;
}

artel_status artel__cli_check_labels(artel_context *ctx, const artel__cli_labels *labels, int64_t width)
{
    int64_t classes = width == 1 ? 2 : width;
    if (labels->count == 0 || labels->count == classes || width == 0) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "labels", "name each class once, in the order of the classes",
                       "there are %d names (the output has %lld classes)", labels->count, (long long)classes);
}

static bool is_wide(const artel__cli_array *array)
{
    return array->native && array->dtype == ARTEL_DTYPE_FLOAT64;
}

/* Whole numbers of any type. */
static bool is_whole(const artel__cli_array *array)
{
    return array->native && array->dtype != ARTEL_DTYPE_FLOAT64 && array->dtype != ARTEL_DTYPE_FLOAT16 &&
           array->dtype != ARTEL_DTYPE_FLOAT32;
}

static double number_at(const artel__cli_array *array, int64_t i)
{
    return is_wide(array) ? ((const double *)array->native)[i] : (double)array->values[i];
}

/* As few digits as tell it from its neighbours. */
static const char *written(const artel__cli_array *array, int64_t i, char *buffer, size_t size)
{
    const uint8_t *at = array->native;
    if (is_wide(array)) return artel__format_double(buffer, size, number_at(array, i));
    if (!is_whole(array)) return artel__format_float(buffer, size, array->values[i]);
    at += (size_t)i * artel_dtype_size(array->dtype);
    int64_t whole;
    artel__convert(array->dtype, at, ARTEL_DTYPE_INT64, &whole, 1);
    snprintf(buffer, size, array->dtype == ARTEL_DTYPE_UINT64 ? "%llu" : "%lld", (long long)whole);
    return buffer;
}

/* Of one row: the largest of several numbers, or on which side of the border the only one is. */
static int64_t class_of(const artel__cli_array *array, int64_t row, int64_t width, double border)
{
    int64_t best = row * width;
    if (width == 1) return number_at(array, best) > border;
    for (int64_t i = best + 1; i < (row + 1) * width; i++) {
        if (number_at(array, i) > number_at(array, best)) best = i;
    }
    return best - row * width;
}

static void put_header(artel__text *out, const artel__cli_array *array, int64_t width, const artel__cli_labels *labels)
{
    if (labels->count) artel__text_append(out, "label,");
    for (int64_t i = 0; i < width; i++) {
        if (i) artel__text_append(out, ",");
        if (labels->count == width)
            artel__cli_put_field(out, labels->name[i]);
        else if (width == 1)
            artel__cli_put_field(out, array->name);
        else {
            artel__cli_put_field(out, array->name);
            artel__text_printf(out, "_%lld", (long long)i);
        }
    }
    artel__text_append(out, "\n");
}

static artel_status write_rows(artel__output *file, const artel__cli_array *array, int64_t width,
                               const artel__cli_labels *labels, artel__text *line)
{
    char number[32];
    put_header(line, array, width, labels);
    for (int64_t r = 0; r < array->shape.dim[0]; r++) {
        if (labels->count) {
            artel__cli_put_field(line, labels->name[class_of(array, r, width, labels->border)]);
            artel__text_append(line, ",");
        }
        for (int64_t i = 0; i < width; i++)
            artel__text_printf(line, "%s%s", i ? "," : "", written(array, r * width + i, number, sizeof number));
        artel__text_append(line, "\n");
        if (line->length < 1 << 16) continue;
        ARTEL_TRY(artel__text_status(line));
        ARTEL_TRY(artel__output_write(file, line->data, line->length));
        artel__text_clear(line);
    }
    ARTEL_TRY(artel__text_status(line));
    return artel__output_write(file, line->data, line->length);
}

artel_status artel__cli_write_table(artel_context *ctx, const char *path, const artel__cli_array *arrays, int count,
                                    const artel__cli_labels *labels)
{
    artel__output file;
    artel__text line;
    const artel__cli_array *array = &arrays[0];
    int64_t rows = array->shape.dim[0], width = rows > 0 ? artel_shape_count(&array->shape) / rows : 1;
    if (count != 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, path, "name a file that ends in .npz",
                           "%d outputs do not fit one table", count);
    ARTEL_TRY(artel__cli_check_labels(ctx, labels, width));
    ARTEL_TRY(artel__output_open(ctx, path, &file));
    artel__text_init(&line, ctx);
    artel_status status = write_rows(&file, array, width, labels, &line);
    artel__text_fini(&line);
    if (status == ARTEL_OK) return artel__output_commit(&file);
    artel__output_abandon(&file);
    return status;
}
