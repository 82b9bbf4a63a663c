/* SPDX-License-Identifier: Apache-2.0 */
/* Writing .npy and .npz (NumPy format 1.0: magic, header text padded to 64 bytes, values). */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/zip.h"
#include "cli/cli.h"
#include "tensor/shape.h"

static const void *values_of(const artel__cli_array *array, size_t *bytes)
{
    *bytes =
        (size_t)artel_shape_count(&array->shape) * (array->native ? artel_dtype_size(array->dtype) : sizeof(float));
    return array->native ? array->native : array->values;
}

/* NumPy's name of a type: "<i8", "|b1". */
static const char *descr_of(const artel__cli_array *array)
{
    static const struct {
        artel_dtype dtype;
        const char *descr;
    } descrs[] = {{ARTEL_DTYPE_FLOAT64, "<f8"}, {ARTEL_DTYPE_FLOAT16, "<f2"}, {ARTEL_DTYPE_INT8, "|i1"},
                  {ARTEL_DTYPE_INT16, "<i2"},   {ARTEL_DTYPE_INT32, "<i4"},   {ARTEL_DTYPE_INT64, "<i8"},
                  {ARTEL_DTYPE_UINT8, "|u1"},   {ARTEL_DTYPE_UINT16, "<u2"},  {ARTEL_DTYPE_UINT32, "<u4"},
                  {ARTEL_DTYPE_UINT64, "<u8"},  {ARTEL_DTYPE_BOOL, "|b1"}};
    for (size_t i = 0; array->native && i < ARTEL__COUNT(descrs); i++) {
        if (descrs[i].dtype == array->dtype) return descrs[i].descr;
    }
    return "<f4";
}

static void header(const artel__cli_array *array, artel__text *out)
{
    const artel_shape *shape = &array->shape;
    artel__text dict;
    artel__text_init(&dict, out->ctx);
    artel__text_printf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(array));
    for (int i = 0; i < shape->rank; i++)
        artel__text_printf(&dict, "%lld%s", (long long)shape->dim[i],
                           i + 1 < shape->rank ? ", "
                           : shape->rank == 1  ? ","
                                               : "");
    artel__text_append(&dict, "), }");
    artel__text_pad(&dict, 10 + 1, 64);
    artel__text_append(&dict, "\n");
    uint8_t start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(dict.length & 255), (uint8_t)(dict.length >> 8)};
    artel__text_append_bytes(out, start, sizeof start);
    artel__text_append_text(out, &dict);
    artel__text_fini(&dict);
}

static artel_status write_npy(artel_context *ctx, const char *path, const artel__cli_array *array)
{
    artel__text head;
    artel__output file;
    artel__text_init(&head, ctx);
    header(array, &head);
    artel_status status = artel__text_status(&head);
    if (status == ARTEL_OK) status = artel__output_open(ctx, path, &file);
    if (status < 0) {
        artel__text_fini(&head);
        return status;
    }
    status = artel__output_write(&file, head.data, head.length);
    size_t bytes;
    const void *values = values_of(array, &bytes);
    if (status == ARTEL_OK) status = artel__output_write(&file, values, bytes);
    if (status == ARTEL_OK)
        status = artel__output_commit(&file);
    else
        artel__output_abandon(&file);
    artel__text_fini(&head);
    return status;
}

static bool is_named(const artel__cli_array *arrays, int count, const char *name, const char *suffix)
{
    size_t length = strlen(name);
    for (int k = 0; k < count; k++) {
        if (strncmp(arrays[k].name, name, length) == 0 && strcmp(arrays[k].name + length, suffix) == 0) return true;
    }
    return false;
}

/* What is put behind a name that others before it have, too: the n-th of the numbers that make no name of theirs. "":
 * nothing. */
static void find_suffix(const artel__cli_array *arrays, int count, int i, char suffix[16])
{
    const char *name = arrays[i].name;
    int number = 0;
    suffix[0] = '\0';
    for (int k = 0; k < i; k++) {
        if (strcmp(arrays[k].name, name) != 0) continue;
        do snprintf(suffix, 16, "_%d", ++number);
        while (is_named(arrays, count, name, suffix));
    }
}

static artel_status add_member(artel__zip_writer *zip, artel_context *ctx, const artel__cli_array *array,
                               const char *suffix)
{
    artel__text bytes, name;
    artel__text_init(&bytes, ctx);
    artel__text_init(&name, ctx);
    header(array, &bytes);
    size_t size;
    const void *values = values_of(array, &size);
    artel__text_append_bytes(&bytes, values, size);
    artel__text_printf(&name, "%s%s.npy", array->name, suffix);
    artel_status status = artel__text_status(&bytes);
    if (status == ARTEL_OK) status = artel__text_status(&name);
    if (status == ARTEL_OK) status = artel__zip_add(zip, name.data, bytes.data, bytes.length);
    artel__text_fini(&name);
    artel__text_fini(&bytes);
    return status;
}

artel_status artel__cli_write_arrays(artel_context *ctx, const char *path, const artel__cli_array *arrays, int count)
{
    if (artel__ends_with(path, ".npy")) {
        if (count == 1) return write_npy(ctx, path, &arrays[0]);
        return artel__fail(ctx, ARTEL_ERROR_INVALID, path, "name a file that ends in .npz",
                           "%d outputs do not fit one .npy file", count);
    }
    artel__zip_writer zip;
    ARTEL_TRY(artel__zip_create(ctx, path, &zip));
    artel_status status = ARTEL_OK;
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        char suffix[16];
        find_suffix(arrays, count, i, suffix);
        status = add_member(&zip, ctx, &arrays[i], suffix);
    }
    if (status == ARTEL_OK) return artel__zip_commit(&zip);
    artel__zip_abandon(&zip);
    return status;
}
