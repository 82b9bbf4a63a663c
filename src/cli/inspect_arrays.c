/* SPDX-License-Identifier: Apache-2.0 */
/* artel inspect: files that are sets of arrays: safetensors, HDF5, ONNX, checkpoints. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/inspect.h"
#include "base/protobuf.h"
#include "keras/onnx_read.h"
#include "keras/h5.h"
#include "keras/safetensors.h"

static void print_array(int depth, const char *name, artel_dtype dtype, const artel_shape *shape)
{
    char text[128];
    artel__show(stdout, "%*s%-48s %-9s %s\n", depth * 2, "", name, artel_dtype_name(dtype),
                artel__shape_text(shape, false, text, sizeof text));
}

/* -- safetensors -- */

static artel_status list_safetensors(artel__invocation *call, const char *path, const char *title)
{
    artel__safetensors file;
    ARTEL_TRY(artel__safetensors_open(call->ctx, path, &file));
    artel__show(stdout, "%s: %zu arrays, %llu bytes\n", title, file.count, (unsigned long long)file.size);
    for (size_t i = 0; i < file.count; i++) {
        const artel__keras_array *array = &file.tensor[i].array;
        print_array(1, array->name, array->dtype, &array->shape);
    }
    artel__safetensors_close(&file);
    return ARTEL_OK;
}

artel_status artel__inspect_safetensors(artel__invocation *call, const char *path)
{
    return list_safetensors(call, path, path);
}

/* -- HDF5 -- */

static void print_attribute(int depth, const artel__h5_attribute *a)
{
    char number[32];
    artel__show(stdout, "%*s@%s = ", depth * 2, "", a->name);
    for (size_t i = 0; i < a->count && i < 8; i++) {
        if (i) fputs(", ", stdout);
        switch (a->kind) {
        case ARTEL__H5_INTS: artel__show(stdout, "%lld", (long long)a->ints[i]); break;
        case ARTEL__H5_DOUBLES: fputs(artel__format_double(number, sizeof number, a->doubles[i]), stdout); break;
        case ARTEL__H5_STRINGS:
            artel__show(stdout, "%.60s%s", a->strings[i], strlen(a->strings[i]) > 60 ? "..." : "");
            break;
        }
    }
    puts(a->count > 8 ? ", ..." : "");
}

static void print_node(const artel__h5_node *node, int depth)
{
    if (node->is_dataset && node->readable)
        print_array(depth, node->name, node->dtype, &node->shape);
    else
        artel__show(stdout, "%*s%s%s\n", depth * 2, "", node->name,
                    node->is_dataset ? " (of a type that is not read)"
                    : depth          ? "/"
                                     : "");
    for (const artel__h5_attribute *a = node->attributes; a; a = a->next) print_attribute(depth + 1, a);
    for (const artel__h5_node *child = node->first; child; child = child->next) print_node(child, depth + 1);
}

artel_status artel__inspect_h5(artel__invocation *call, const char *path)
{
    artel__h5_file file = {0};
    artel_status status = artel__h5_read_file(&call->arena, path, &file);
    if (status == ARTEL_OK) {
        artel__show(stdout, "%s: HDF5\n", path);
        print_node(file.root, 0);
    }
    artel__h5_close(&file);
    return status;
}

/* -- ONNX: ModelProto { 1 ir_version, 2 producer_name, 7 graph, 8 opset_import }, GraphProto { 1 node, 5 initializer,
 * 11 input, 12 output }, NodeProto { 4 op_type }, TensorProto { 1 dims, 2 data_type, 8 name }, ValueInfoProto { 1 name,
 * 2 type } -- */

enum {
    MOST_OPS = 256
};

typedef struct op_count {
    char name[48];
    int64_t count;
} op_count;

static const char *onnx_type(uint64_t type)
{
    static const char *const names[] = {"undefined", "float32", "uint8",     "int8",       "uint16",  "int16",
                                        "int32",     "int64",   "string",    "bool",       "float16", "float64",
                                        "uint32",    "uint64",  "complex64", "complex128", "bfloat16"};
    return type < ARTEL__COUNT(names) ? names[type] : "other";
}

/* TypeProto { 1 tensor_type { 1 elem_type, 2 shape { 1 dim { 1 dim_value, 2 dim_param } } } } */
static void print_value_info(const char *what, artel__proto info)
{
    artel__proto_field name = {0}, type, tensor, element, shape, dim, extent;
    char text[96];
    bool first = true;
    artel__proto_find(info, 1, &name);
    artel__show(stdout, "  %s %s:", what, artel__proto_string(name.bytes, text, sizeof text));
    if (!artel__proto_find(info, 2, &type) || !artel__proto_find(type.bytes, 1, &tensor)) {
        puts(" no tensor");
        return;
    }
    artel__show(stdout, " %s (", artel__proto_find(tensor.bytes, 1, &element) ? onnx_type(element.value) : "?");
    if (artel__proto_find(tensor.bytes, 2, &shape)) {
        while (artel__proto_next(&shape.bytes, &dim)) {
            fputs(first ? "" : ", ", stdout);
            first = false;
            if (artel__proto_find(dim.bytes, 1, &extent))
                artel__show(stdout, "%lld", (long long)extent.value);
            else
                artel__show(stdout, "%s",
                            artel__proto_find(dim.bytes, 2, &extent)
                                ? artel__proto_string(extent.bytes, text, sizeof text)
                                : "?");
        }
    }
    puts(")");
}

static void print_initializer(artel__proto tensor)
{
    artel__proto_field f;
    artel_shape shape = {.rank = 0};
    char name[96] = "", text[128];
    const char *type = "?";
    while (artel__proto_next(&tensor, &f)) {
        if (f.number == 8 && f.wire == 2) artel__proto_string(f.bytes, name, sizeof name);
        if (f.number == 2 && f.wire == 0) type = onnx_type(f.value);
        if (f.number != 1) continue;
        if (f.wire == 0 && shape.rank < ARTEL_MAX_RANK) shape.dim[shape.rank++] = (int64_t)f.value;
        artel__proto packed = f.bytes;
        uint64_t extent;
        while (f.wire == 2 && packed.at < packed.end && shape.rank < ARTEL_MAX_RANK &&
               artel__proto_varint(&packed, &extent))
            shape.dim[shape.rank++] = (int64_t)extent;
    }
    artel__show(stdout, "    %-46s %-9s %s\n", name, type, artel__shape_text(&shape, false, text, sizeof text));
}

static int count_op(op_count *ops, int count, artel__proto node)
{
    artel__proto_field type;
    char name[48];
    if (!artel__proto_find(node, 4, &type)) return count;
    artel__proto_string(type.bytes, name, sizeof name);
    for (int i = 0; i < count; i++) {
        if (strcmp(ops[i].name, name) != 0) continue;
        ops[i].count++;
        return count;
    }
    if (count == MOST_OPS) return count;
    memcpy(ops[count].name, name, sizeof name);
    ops[count].count = 1;
    return count + 1;
}

static void print_onnx_graph(artel__proto graph, op_count *ops)
{
    artel__proto_field f;
    int count = 0;
    for (int part = 0; part < 3; part++) { /* inputs and outputs, operators, weights */
        artel__proto again = graph;
        if (part == 2) puts("  weights:");
        while (artel__proto_next(&again, &f)) {
            if (f.wire != 2) continue;
            if (part == 0 && (f.number == 11 || f.number == 12))
                print_value_info(f.number == 11 ? "input " : "output", f.bytes);
            if (part == 1 && f.number == 1) count = count_op(ops, count, f.bytes);
            if (part == 2 && f.number == 5) print_initializer(f.bytes);
        }
        if (part != 1) continue;
        fputs("  operators:", stdout);
        for (int i = 0; i < count; i++)
            artel__show(stdout, "%s %s x%lld", i ? "," : "", ops[i].name, (long long)ops[i].count);
        putchar('\n');
    }
}

artel_status artel__inspect_onnx(artel__invocation *call, const char *path)
{
    artel__mapping mapping;
    artel__proto_field f, version, domain;
    op_count *ops = artel__arena_alloc(&call->arena, MOST_OPS, sizeof *ops);
    char text[96];
    if (!ops) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__map_file(call->ctx, path, &mapping));
    artel__proto model = artel__proto_of(mapping.bytes, mapping.size);
    artel_status status = ARTEL_OK;
    if (!artel__onnx_is(mapping.bytes, mapping.size))
        status = artel__fail(call->ctx, ARTEL_ERROR_CORRUPT, path, "export it again",
                             "this is no ONNX model, or a damaged one");
    else
        artel__show(stdout, "%s: ONNX", path);
    while (status == ARTEL_OK && artel__proto_next(&model, &f)) {
        if (f.number == 1 && f.wire == 0) artel__show(stdout, ", IR version %llu", (unsigned long long)f.value);
        if (f.number == 2 && f.wire == 2)
            artel__show(stdout, ", by %s", artel__proto_string(f.bytes, text, sizeof text));
        if (f.number == 8 && f.wire == 2 && artel__proto_find(f.bytes, 2, &version)) {
            bool named = artel__proto_find(f.bytes, 1, &domain) && domain.bytes.end > domain.bytes.at;
            artel__show(stdout, ", opset %s%s%llu", named ? artel__proto_string(domain.bytes, text, sizeof text) : "",
                        named ? " " : "", (unsigned long long)version.value);
        }
    }
    if (status == ARTEL_OK) putchar('\n');
    if (status == ARTEL_OK && artel__proto_find(artel__proto_of(mapping.bytes, mapping.size), 7, &f))
        print_onnx_graph(f.bytes, ops);
    artel__unmap_file(&mapping);
    return status;
}

/* -- checkpoints -- */

static void print_position(json_t *manifest)
{
    int64_t epochs = json_integer_value(json_object_get(manifest, "epoch"));
    artel__show(stdout, "step %lld: %lld epoch%s", (long long)json_integer_value(json_object_get(manifest, "step")),
                (long long)epochs, epochs == 1 ? "" : "s");
    int64_t steps = json_integer_value(json_object_get(manifest, "step_in_epoch"));
    if (steps) artel__show(stdout, " and %lld step%s of the next", (long long)steps, steps == 1 ? "" : "s");
    puts(json_is_true(json_object_get(manifest, "finished")) ? ", the end of the run" : "");
}

static void print_manifest(const char *path, json_t *manifest)
{
    const char *key;
    json_t *value;
    artel__show(stdout, "%s: checkpoint, ", path);
    print_position(manifest);
    char named[256];
    const char *arithmetic =
        artel__cli_name_options(json_string_value(json_object_get(manifest, "arithmetic")), named, sizeof named);
    if (arithmetic) artel__show(stdout, "  arithmetic: %s\n", arithmetic);
    puts("  identity of the run:");
    json_object_foreach(json_object_get(manifest, "identity"), key, value)
    {
        if (json_is_string(value))
            artel__show(stdout, "    %-20s %s\n", key, json_string_value(value));
        else if (json_is_integer(value))
            artel__show(stdout, "    %-20s %lld\n", key, (long long)json_integer_value(value));
        else
            artel__show(stdout, "    %-20s %s\n", key, json_is_true(value) ? "yes" : "no");
    }
}

artel_status artel__inspect_checkpoint(artel__invocation *call, const char *path)
{
    char file[4200];
    json_t *manifest;
    snprintf(file, sizeof file, "%s/manifest.json", path);
    ARTEL_TRY(artel__json_load_file(call->ctx, file, &manifest));
    print_manifest(path, manifest);
    json_decref(manifest);
    snprintf(file, sizeof file, "%s/state.safetensors", path);
    return list_safetensors(call, file, "  state");
}

artel_status artel__inspect_checkpoints(artel__invocation *call, const char *path)
{
    artel__paths names;
    char file[4400];
    ARTEL_TRY(artel__list_directory(call->ctx, path, &names));
    artel__show(stdout, "%s: a directory of checkpoints\n", path);
    for (size_t i = 0; i < names.count; i++) {
        json_t *manifest;
        snprintf(file, sizeof file, "%s/%s/manifest.json", path, names.items[i]);
        if (!artel__starts_with(names.items[i], "ckpt-") || !artel__file_exists(file)) continue;
        if (artel__json_load_file(call->ctx, file, &manifest) < 0) {
            artel__show(stdout, "  %-24s damaged: %s\n", names.items[i], artel_context_error(call->ctx)->what);
            artel__operation_begin(call->ctx);
            continue;
        }
        artel__show(stdout, "  %-24s ", names.items[i]);
        print_position(manifest);
        json_decref(manifest);
    }
    artel__paths_fini(&names);
    return ARTEL_OK;
}
