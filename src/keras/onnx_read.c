/* SPDX-License-Identifier: Apache-2.0 */
/* Two walks over the graph: one counts, one fills. */
#include "keras/onnx_read.h"

#include <string.h>

#include "base/bytes.h"
#include "base/foreign.h"
#include "keras/onnx_read_impl.h"

typedef artel__onnx_file file;

static artel_status damaged(const file *f, const char *name, const char *what)
{
    return artel__fail(f->arena->ctx, ARTEL_ERROR_CORRUPT, f->path, "export it again", "%s%s%s", name,
                       *name ? ": " : "", what);
}

static const char *text_of(const file *f, artel__proto bytes)
{
    return artel__arena_printf(f->arena, "%.*s", (int)(bytes.end - bytes.at), (const char *)bytes.at);
}

bool artel__onnx_list_next(artel__onnx_list *n, uint64_t *out)
{
    artel__proto_field f;
    while (n->packed.at == n->packed.end) {
        if (!artel__proto_next(&n->message, &f)) return false;
        if (f.number != n->number) continue;
        if (f.wire != 2) {
            *out = f.value;
            return true;
        }
        n->packed = f.bytes;
    }
    if (!n->size) return artel__proto_varint(&n->packed, out);
    if (n->packed.end - n->packed.at < n->size) return false;
    *out = artel__bytes_get(n->packed.at, n->size);
    n->packed.at += n->size;
    return true;
}

artel__onnx_list artel__onnx_list_in(artel__proto message, int number, int size)
{
    return (artel__onnx_list){.message = message, .packed = artel__proto_of("", 0), .number = number, .size = size};
}

/* -- tensors -- */

/* TensorProto.DataType, the field that holds its numbers when raw_data does not, and the size of a number in either. */
static const struct {
    int type, field, packed, raw;
    bool floating, is_signed;
} types[] = {{1, 4, 4, 4, true, true},   {11, 10, 8, 8, true, true}, {6, 5, 0, 4, false, true},
             {7, 7, 0, 8, false, true},  {2, 5, 0, 1, false, false}, {3, 5, 0, 1, false, true},
             {9, 5, 0, 1, false, false}, {5, 5, 0, 2, false, true}};

static double number_of(uint64_t bits, int size)
{
    double wide;
    if (size == 4) return (double)artel__proto_float(bits);
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

static int64_t integer_of(uint64_t bits, int size, bool is_signed)
{
    int shift = size ? 64 - 8 * size : 0;
    return is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
}

static artel_status read_numbers(const file *f, artel__proto tensor, int kind, artel__onnx_numbers *out)
{
    artel__proto_field raw;
    bool is_raw = artel__proto_find(tensor, 9, &raw) && raw.wire == 2;
    int size = is_raw ? types[kind].raw : types[kind].packed;
    artel__onnx_list n = is_raw
                             ? (artel__onnx_list){.message = artel__proto_of("", 0), .packed = raw.bytes, .size = size}
                             : artel__onnx_list_in(tensor, types[kind].field, size);
    uint64_t bits;
    if (is_raw && (uint64_t)(raw.bytes.end - raw.bytes.at) != (uint64_t)out->count * (uint64_t)size)
        return damaged(f, out->name, "its shape does not match its size");
    if (!is_raw && out->count > tensor.end - tensor.at)
        return damaged(f, out->name, "its shape does not match its size");
    float *floats = types[kind].floating ? artel__arena_alloc(f->arena, (size_t)out->count + 1, sizeof *floats) : NULL;
    int64_t *whole = types[kind].floating ? NULL : artel__arena_alloc(f->arena, (size_t)out->count + 1, sizeof *whole);
    if (!floats && !whole) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < out->count; i++) {
        if (!artel__onnx_list_next(&n, &bits))
            return damaged(f, out->name, "it holds fewer numbers than its shape says");
        if (floats) floats[i] = (float)number_of(bits, size);
        if (whole) whole[i] = integer_of(bits, size, types[kind].is_signed);
    }
    out->f = floats;
    out->i = whole;
    return ARTEL_OK;
}

/* TensorProto: dims 1, data_type 2, name 8, raw_data 9, data_location 14. */
artel_status artel__onnx_read_tensor(const file *f, artel__proto tensor, artel__onnx_numbers *out)
{
    artel__proto_field field;
    uint64_t extent;
    *out =
        (artel__onnx_numbers){.name = artel__proto_find(tensor, 8, &field) ? text_of(f, field.bytes) : "", .count = 1};
    if (!out->name) return ARTEL_ERROR_NO_MEMORY;
    if (artel__proto_find(tensor, 14, &field) && field.value)
        return artel__fail(f->arena->ctx, ARTEL_ERROR_UNSUPPORTED, f->path, "save the model with its data inside",
                           "%s lies in another file", out->name);
    artel__onnx_list dims = artel__onnx_list_in(tensor, 1, 0);
    while (artel__onnx_list_next(&dims, &extent)) {
        if (out->shape.rank == ARTEL_MAX_RANK || extent > (uint64_t)f->mapping.size ||
            (extent && out->count > (int64_t)f->mapping.size / (int64_t)extent))
            return damaged(f, out->name, "its shape is damaged");
        out->shape.dim[out->shape.rank++] = (int64_t)extent;
        out->count *= (int64_t)extent;
    }
    int type = artel__proto_find(tensor, 2, &field) ? (int)field.value : 0;
    for (size_t k = 0; k < ARTEL__COUNT(types); k++) {
        if (types[k].type == type) return read_numbers(f, tensor, (int)k, out);
    }
    return artel__fail(f->arena->ctx, ARTEL_ERROR_UNSUPPORTED, f->path, "export it with float32 weights",
                       "%s has numbers of ONNX' type %d", out->name, type);
}

/* -- graph -- */

/* NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7. */
static artel_status read_node(const file *f, artel__proto node, artel__onnx_operator *out)
{
    artel__proto again = node;
    artel__proto_field field;
    int count[8] = {0};
    while (artel__proto_next(&again, &field)) count[field.number < 8 && field.wire == 2 ? field.number : 0]++;
    *out = (artel__onnx_operator){.type = "", .label = ""};
    out->input = artel__arena_alloc(f->arena, (size_t)count[1] + 1, sizeof *out->input);
    out->output = artel__arena_alloc(f->arena, (size_t)count[2] + 1, sizeof *out->output);
    out->attribute = artel__arena_alloc(f->arena, (size_t)count[5] + 1, sizeof *out->attribute);
    ARTEL_TRY(artel__arena_status(f->arena));
    while (artel__proto_next(&node, &field)) {
        if (field.wire != 2) continue;
        if (field.number == 1) out->input[out->inputs++] = text_of(f, field.bytes);
        if (field.number == 2) out->output[out->outputs++] = text_of(f, field.bytes);
        if (field.number == 3) out->label = text_of(f, field.bytes);
        if (field.number == 4) out->type = text_of(f, field.bytes);
        if (field.number == 5) out->attribute[out->attributes++] = field.bytes;
        if (field.number == 7 && field.value && field.bytes.end - field.bytes.at != 7)
            return artel__fail(f->arena->ctx, ARTEL_ERROR_UNSUPPORTED, f->path, "export it with ONNX' own operators",
                               "a node is of another domain than ai.onnx");
    }
    ARTEL_TRY(artel__arena_status(f->arena));
    if (!out->outputs) return damaged(f, out->type, "a node without outputs");
    if (!*out->label) out->label = out->output[0];
    return node.damaged ? damaged(f, out->label, "the node is damaged") : ARTEL_OK;
}

/* ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 } } } }. */
static artel_status read_port(const file *f, artel__proto info, artel__onnx_port *out)
{
    artel__proto_field field, type, tensor, shape, dim, extent;
    *out = (artel__onnx_port){.name = artel__proto_find(info, 1, &field) ? text_of(f, field.bytes) : "",
                              .dtype = ARTEL_DTYPE_FLOAT32};
    if (!out->name) return ARTEL_ERROR_NO_MEMORY;
    if (!artel__proto_find(info, 2, &type) || !artel__proto_find(type.bytes, 1, &tensor) ||
        !artel__proto_find(tensor.bytes, 2, &shape))
        return artel__fail(f->arena->ctx, ARTEL_ERROR_UNSUPPORTED, f->path, "export it with shapes",
                           "the shape of %s is not in the file", out->name);
    uint64_t element = artel__proto_find(tensor.bytes, 1, &field) ? field.value : 0;
    if (element == 6) out->dtype = ARTEL_DTYPE_INT32;
    if (element == 7) out->dtype = ARTEL_DTYPE_INT64;
    if (element != 1 && element != 6 && element != 7)
        return artel__fail(f->arena->ctx, ARTEL_ERROR_UNSUPPORTED, f->path, "export it for float32 or whole numbers",
                           "%s is of ONNX' type %d", out->name, (int)element);
    while (artel__proto_next(&shape.bytes, &dim)) {
        if (dim.number != 1) continue;
        if (out->shape.rank == ARTEL_MAX_RANK) return damaged(f, out->name, "its shape has too many axes");
        bool known = artel__proto_find(dim.bytes, 1, &extent) && extent.value > 0 && extent.value < INT32_MAX;
        out->shape.dim[out->shape.rank++] = known ? (int64_t)extent.value : -1;
    }
    return ARTEL_OK;
}

/* GraphProto: node 1, name 2, initializer 5, input 11, output 12. */
static artel_status read_item(file *f, const artel__proto_field *field)
{
    if (field->number == 1) return read_node(f, field->bytes, &f->node[f->nodes++]);
    if (field->number == 2) f->name = text_of(f, field->bytes);
    if (field->number == 5) {
        ARTEL_TRY(artel__onnx_read_tensor(f, field->bytes, &f->tensor[f->tensors]));
        ARTEL_TRY(artel__names_set(&f->by_name, f->tensor[f->tensors].name, f->tensors));
        f->tensors++;
    }
    artel__proto_field name;
    if (field->number == 12)
        f->output[f->outputs++] = artel__proto_find(field->bytes, 1, &name) ? text_of(f, name.bytes) : "";
    return artel__arena_status(f->arena);
}

static artel_status read_graph(file *f, artel__proto graph)
{
    artel__proto again = graph;
    artel__proto_field field;
    int count[16] = {0};
    while (artel__proto_next(&again, &field)) count[field.number < 16 && field.wire == 2 ? field.number : 0]++;
    f->node = artel__arena_alloc(f->arena, (size_t)count[1] + 1, sizeof *f->node);
    f->tensor = artel__arena_alloc(f->arena, (size_t)(count[5] + count[1]) + 1,
                                   sizeof *f->tensor); /* constants of nodes, too */
    f->input = artel__arena_alloc(f->arena, (size_t)count[11] + 1, sizeof *f->input);
    f->output = artel__arena_alloc(f->arena, (size_t)count[12] + 1, sizeof *f->output);
    ARTEL_TRY(artel__arena_status(f->arena));
    again = graph;
    while (artel__proto_next(&again, &field)) {
        if (field.wire == 2) ARTEL_TRY(read_item(f, &field));
    }
    if (again.damaged || !f->nodes || !f->outputs) return damaged(f, "", "the graph is damaged or empty");
    again = graph;
    while (artel__proto_next(&again, &field)) { /* initializers may come behind the inputs that they stand for */
        artel__proto_field name;
        if (field.number != 11 || field.wire != 2) continue;
        const char *text = artel__proto_find(field.bytes, 1, &name) ? text_of(f, name.bytes) : "";
        if (!text) return ARTEL_ERROR_NO_MEMORY;
        if (!artel__names_find(&f->by_name, text)) ARTEL_TRY(read_port(f, field.bytes, &f->input[f->inputs++]));
    }
    return ARTEL_OK;
}

bool artel__onnx_is(const uint8_t *bytes, size_t size)
{
    artel__proto model = artel__proto_of(bytes, size);
    artel__proto_field field;
    bool graph = false, opset = false;
    while (artel__proto_next(&model, &field)) {
        graph = graph || (field.number == 7 && field.wire == 2);
        opset = opset || (field.number == 8 && field.wire == 2);
    }
    return graph && opset && !model.damaged;
}

/* ModelProto: graph 7, opset_import 8 {domain 1, version 2}. */
artel_status artel__onnx_read(artel__arena *arena, const char *path, artel__onnx_file *out)
{
    artel__proto_field field, graph = {0}, version, domain;
    *out = (artel__onnx_file){.arena = arena, .path = path, .name = "", .by_name = {.arena = arena}};
    ARTEL_TRY(artel__map_file(arena->ctx, path, &out->mapping));
    if (out->mapping.size > INT32_MAX) return damaged(out, "", "it is longer than messages of protobuf can be");
    artel__proto model = artel__proto_of(out->mapping.bytes, out->mapping.size);
    while (artel__proto_next(&model, &field)) {
        if (field.number == 7 && field.wire == 2) graph = field;
        if (field.number != 8 || field.wire != 2) continue;
        bool named = artel__proto_find(field.bytes, 1, &domain) && domain.value > 0 && domain.value != 7;
        if (!named && artel__proto_find(field.bytes, 2, &version)) out->opset = (int64_t)version.value;
    }
    if (model.damaged || !graph.number)
        ARTEL_TRY(artel__check_foreign(arena->ctx, path, out->mapping.bytes, out->mapping.size));
    if (model.damaged || !graph.number) return damaged(out, "", "this is no ONNX model, or a damaged one");
    if (out->opset < 7 || out->opset > 1000)
        return artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, path, "convert it with onnx.version_converter",
                           "its operators are of version %lld, before 7", (long long)out->opset);
    return read_graph(out, graph.bytes);
}

void artel__onnx_close(artel__onnx_file *f)
{
    artel__unmap_file(&f->mapping);
}

const artel__onnx_numbers *artel__onnx_numbers_of(const file *f, const char *name)
{
    const int *number = artel__names_find(&f->by_name, name);
    return number ? &f->tensor[*number] : NULL;
}
