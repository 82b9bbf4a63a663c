/* SPDX-License-Identifier: Apache-2.0 */
/* AttributeProto: name 1, f 2, i 3, s 4, t 5, floats 7, ints 8, strings 9. */
#include <string.h>

#include "base/bytes.h"
#include "keras/onnx_read.h"
#include "keras/onnx_read_impl.h"

/* The attribute of that name, or false. */
static bool find(const artel__onnx_operator *node, const char *name, artel__proto *out)
{
    artel__proto_field field;
    size_t length = strlen(name);
    for (int i = 0; i < node->attributes; i++) {
        if (!artel__proto_find(node->attribute[i], 1, &field) || field.wire != 2 || field.value != length) continue;
        if (memcmp(field.bytes.at, name, length) != 0) continue;
        *out = node->attribute[i];
        return true;
    }
    return false;
}

int64_t artel__onnx_int_of(const artel__onnx_operator *node, const char *name, int64_t fallback)
{
    artel__proto attribute;
    artel__proto_field field;
    return find(node, name, &attribute) && artel__proto_find(attribute, 3, &field) && field.wire == 0
               ? (int64_t)field.value
               : fallback;
}

double artel__onnx_float_of(const artel__onnx_operator *node, const char *name, double fallback)
{
    artel__proto attribute;
    artel__proto_field field;
    return find(node, name, &attribute) && artel__proto_find(attribute, 2, &field)
               ? (double)artel__proto_float(field.value)
               : fallback;
}

int artel__onnx_ints_of(const artel__onnx_operator *node, const char *name, int64_t *out, int room)
{
    artel__proto attribute;
    uint64_t value;
    int count = 0;
    if (!find(node, name, &attribute)) return -1;
    artel__onnx_list list = artel__onnx_list_in(attribute, 8, 0);
    while (count < room && artel__onnx_list_next(&list, &value)) out[count++] = (int64_t)value;
    return count;
}

int artel__onnx_doubles_of(const artel__onnx_operator *node, const char *name, double *out, int room)
{
    artel__proto attribute;
    uint64_t bits;
    int count = 0;
    if (!find(node, name, &attribute)) return -1;
    artel__onnx_list list = artel__onnx_list_in(attribute, 7, 4);
    while (count < room && artel__onnx_list_next(&list, &bits)) out[count++] = (double)artel__proto_float(bits);
    return count;
}

const char *artel__onnx_text_of(const artel__onnx_operator *node, const char *name, int k, char *out, size_t size)
{
    artel__proto attribute;
    artel__proto_field field;
    *out = '\0';
    if (!find(node, name, &attribute)) return out;
    while (artel__proto_next(&attribute, &field)) {
        if (field.number != 9 || field.wire != 2 || k-- > 0) continue;
        return field.value < size ? artel__proto_string(field.bytes, out, size) : out;
    }
    return out;
}

bool artel__onnx_text_is(const artel__onnx_operator *node, const char *name, const char *fallback, const char *wanted)
{
    artel__proto attribute;
    artel__proto_field field;
    if (!find(node, name, &attribute) || !artel__proto_find(attribute, 4, &field) || field.wire != 2)
        return strcmp(fallback, wanted) == 0;
    return field.value == strlen(wanted) && memcmp(field.bytes.at, wanted, (size_t)field.value) == 0;
}

/* The numbers of the attributes that Constant has since version 12: one, or a list. */
static artel_status read_plain(artel__onnx_file *file, artel__proto attribute, bool floating, bool list,
                               artel__onnx_numbers *out)
{
    int number = floating ? (list ? 7 : 2) : (list ? 8 : 3), size = floating ? 4 : 0;
    artel__onnx_list all = artel__onnx_list_in(attribute, number, size), again = all;
    uint64_t bits;
    int64_t count = 0;
    while (artel__onnx_list_next(&all, &bits)) count++;
    float *f = floating ? artel__arena_alloc(file->arena, (size_t)count + 1, sizeof *f) : NULL;
    int64_t *i = floating ? NULL : artel__arena_alloc(file->arena, (size_t)count + 1, sizeof *i);
    if (!f && !i) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t k = 0; k < count && artel__onnx_list_next(&again, &bits); k++) {
        if (f) f[k] = artel__proto_float(bits);
        if (i) i[k] = (int64_t)bits;
    }
    *out = (artel__onnx_numbers){.count = list ? count : 1, .f = f, .i = i}; /* one that is not there is 0 */
    if (list) out->shape = (artel_shape){1, {count}};
    return ARTEL_OK;
}

artel_status artel__onnx_constant_of(artel__onnx_file *file, const artel__onnx_operator *node, artel__onnx_numbers *out)
{
    static const char *const plain[] = {"value_int", "value_ints", "value_float", "value_floats"};
    artel__proto attribute;
    artel__proto_field field;
    artel_status status = ARTEL_ERROR_UNSUPPORTED;
    if (find(node, "value", &attribute) && artel__proto_find(attribute, 5, &field) && field.wire == 2)
        status = artel__onnx_read_tensor(file, field.bytes, out);
    else
        field.number = 0;
    for (int k = 0; k < 4 && !field.number; k++) {
        if (!find(node, plain[k], &attribute)) continue;
        field.number = 1;
        status = read_plain(file, attribute, k > 1, k % 2 == 1, out);
    }
    if (status == ARTEL_OK) out->name = node->output[0];
    if (field.number) return status;
    return artel__fail(file->arena->ctx, ARTEL_ERROR_UNSUPPORTED, file->path, "export it with constants as tensors",
                       "the constant %s has no tensor of numbers", node->label);
}
