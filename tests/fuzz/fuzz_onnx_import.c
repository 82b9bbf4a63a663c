/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: an ONNX file is read as a model, or refused with a reason; a model that was read has the file's outputs
 * and weights that are numbers of the file.
 *
 * Byte 0: 0, what follows is the whole file; else which inputs the graph has. Then eight bytes a node: a row of `rows`,
 * four inputs, three attributes. Inputs stand as the row says, values by their byte; from 240 on a byte names anything
 * else instead, which may not be there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artel/model.h"
#include "fuzz/help_fuzz.h"
#include "keras/model.h"
#include "keras/onnx_proto.h"

enum {
    MOST_NODES = 16,
    BYTES = 8
};

/* v: a value that was computed; else a constant of this letter. */
static const struct {
    const char *type, *inputs;
    int outputs;
    const char *plain; /* attributes that are there without being drawn, by letters of `put_plain` */
} rows[] = {
    {"Transpose", "v", 1, "p"},
    {"LSTM", "vWRB", 3, ""},
    {"LSTM", "vVQD", 3, "b"},
    {"GRU", "vGHJ", 2, ""},
    {"RNN", "vKLM", 2, ""},
    {"LSTM", "vWRB_vv", 3, ""},
    {"Squeeze", "vo", 1, ""},
    {"Squeeze", "vz", 1, ""},
    {"Unsqueeze", "vz", 1, ""},
    {"Unsqueeze", "vo", 1, ""},
    {"Reshape", "vf", 1, ""},
    {"Reshape", "vk", 1, ""},
    {"Gather", "vi", 1, "a"},
    {"Gather", "vi", 1, ""},
    {"Slice", "vmeo", 1, ""},
    {"Slice", "vmeoo", 1, ""},
    {"Slice", "vzoz", 1, ""},
    {"Split", "v", 2, "a"},
    {"Concat", "vv", 1, "a"},
    {"Concat", "vv", 1, ""},
    {"Shape", "v", 1, ""},
    {"Gather", "vi", 1, ""},
    {"Concat", "vz", 1, ""},
    {"ConstantOfShape", "v", 1, ""},
    {"Expand", "cv", 1, ""},
    {"Mul", "vv", 1, ""},
    {"Add", "vv", 1, ""},
    {"Sub", "vc", 1, ""},
    {"Add", "vA", 1, ""},
    {"Relu", "v", 1, ""},
    {"Tanh", "v", 1, ""},
    {"Softmax", "v", 1, ""},
    {"Cast", "v", 1, ""},
    {"Identity", "v", 1, ""},
    {"MatMul", "vF", 1, ""},
    {"Gemm", "vFA", 1, ""},
    {"Gather", "Fv", 1, ""},
    {"Flatten", "v", 1, ""},
    {"Conv", "vC", 1, ""},
    {"MaxPool", "v", 1, "w"},
    {"AveragePool", "v", 1, "w"},
    {"GlobalAveragePool", "v", 1, ""},
    {"ReduceMean", "v", 1, "x"},
    {"BatchNormalization", "vAAAA", 1, ""},
    {"Pad", "vd", 1, ""},
    {"Resize", "v_u", 1, ""},
    {"PRelu", "vA", 1, ""},
    {"LayerNormalization", "vAA", 1, ""},
    {"ConvTranspose", "vC", 1, "w"},
    {"Clip", "vcc", 1, ""},
    {"Constant", "", 1, "t"},
    {"Constant", "", 1, "s"},
    {"LogSoftmax", "v", 1, "a"},
};

/* Constants: floats (all 0 where `zero`) or whole numbers. */
static const struct {
    char name[2];
    bool whole, zero;
    artel_shape shape;
    int64_t value[8];
} constants[] = {
    {"W", false, false, {3, {1, 12, 4}}, {0}},
    {"R", false, false, {3, {1, 12, 3}}, {0}},
    {"B", false, false, {2, {1, 24}}, {0}},
    {"V", false, false, {3, {2, 12, 4}}, {0}},
    {"Q", false, false, {3, {2, 12, 3}}, {0}},
    {"D", false, false, {2, {2, 24}}, {0}},
    {"G", false, false, {3, {1, 9, 4}}, {0}},
    {"H", false, false, {3, {1, 9, 3}}, {0}},
    {"J", false, false, {2, {1, 18}}, {0}},
    {"K", false, false, {3, {1, 3, 4}}, {0}},
    {"L", false, false, {3, {1, 3, 3}}, {0}},
    {"M", false, false, {2, {1, 6}}, {0}},
    {"F", false, false, {2, {4, 3}}, {0}},
    {"A", false, false, {1, {4}}, {0}},
    {"C", false, false, {4, {3, 3, 2, 2}}, {0}},
    {"c", false, true, {0, {0}}, {0}},
    {"P", false, true, {3, {1, 1, 3}}, {0}},
    {"u", false, false, {1, {4}}, {0}},
    {"o", true, false, {1, {1}}, {1}},
    {"z", true, false, {1, {1}}, {0}},
    {"f", true, false, {1, {3}}, {0, 0, -1}},
    {"k", true, false, {1, {3}}, {-1, 7, 6}},
    {"i", true, false, {0, {0}}, {-1}},
    {"j", true, false, {0, {0}}, {2}},
    {"m", true, false, {1, {1}}, {-1}},
    {"e", true, false, {1, {1}}, {INT64_MAX}},
    {"d", true, false, {1, {8}}, {0, 0, 1, 1, 0, 0, 1, 1}},
    {"n", true, false, {1, {1}}, {INT64_MIN}},
    {"g", true, false, {1, {1}}, {INT64_MIN + 0x5a5a}},
    {"h", true, false, {1, {2}}, {INT64_MAX, 2}},
    {"y", true, false, {1, {1}}, {3}},
    {"q", true, false, {1, {0}}, {0}},
};

static void need(bool fact)
{
    if (!fact) abort();
}

static void put_constants(artel__text *graph)
{
    float floats[128];
    for (size_t i = 0; i < ARTEL__COUNT(constants); i++) {
        for (int k = 0; k < 128; k++)
            floats[k] = constants[i].zero ? 0 : constants[i].name[0] == 'u' ? 1 + (float)(k > 1) : (float)k / 64 - 1;
        artel__onnx_initializer(graph, constants[i].name, constants[i].whole ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_FLOAT32,
                                &constants[i].shape, constants[i].whole ? (const void *)constants[i].value : floats);
    }
}

/* -- attributes -- */

static void put_tensor(artel__text *node)
{
    static const int64_t one[1] = {1};
    artel__text holder, tensor;
    artel__text_init(&holder, node->ctx);
    artel__text_init(&tensor, node->ctx);
    artel__put_integer(&tensor, 1, 1);
    artel__put_integer(&tensor, 2, 7);
    artel__put_bytes(&tensor, 9, one, sizeof one);
    artel__put_string(&holder, 1, "value");
    artel__put_message(&holder, 5, &tensor);
    artel__put_message(node, 5, &holder);
    artel__text_fini(&tensor);
    artel__text_fini(&holder);
}

static void put_plain(artel__text *node, const char *plain)
{
    static const int64_t swap[3] = {1, 0, 2}, window[2] = {2, 2}, space[2] = {2, 3};
    if (strchr(plain, 'p')) artel__onnx_ints(node, "perm", swap, 3);
    if (strchr(plain, 'w')) artel__onnx_ints(node, "kernel_shape", window, 2);
    if (strchr(plain, 'x')) artel__onnx_ints(node, "axes", space, 2);
    if (strchr(plain, 'a')) artel__onnx_int(node, "axis", 1);
    if (strchr(plain, 'b')) artel__onnx_string(node, "direction", "bidirectional");
    if (strchr(plain, 's')) artel__onnx_ints(node, "value_ints", swap, 1);
    if (strchr(plain, 't')) put_tensor(node);
}

/* Any attribute with any value: 0 none. */
static void put_attribute(artel__text *node, uint8_t byte)
{
    static const char *const numbers[] = {"axis",  "hidden_size", "layout", "linear_before_reset", "keepdims", "to",
                                          "group", "transB",      "start"};
    static const char *const lists[] = {"perm", "axes",    "starts",    "ends",        "split",
                                        "pads", "strides", "dilations", "kernel_shape"};
    static const char *const texts[] = {"direction", "auto_pad", "mode"};
    static const char *const words[] = {"reverse", "bidirectional", "SAME_UPPER", "nearest"};
    static const char *const activations[][3] = {{"Sigmoid", "Relu", "Relu"}, {"HardSigmoid", "Tanh", "Elu"}};
    static const int64_t number[] = {0, 1, -1, 2, 3, INT64_MIN, (int64_t)1 << 62, 5};
    static const int64_t list[][4] = {
        {0, 2, 1, 3}, {1, 0, 2, 3}, {2, 0, 1, 3}, {-1, -1, 1, 1}, {(int64_t)1 << 62, 4, INT64_MIN, 0}};
    int value = byte >> 5, kind = byte & 31;
    if (byte == 0) return;
    if (kind < 9) artel__onnx_int(node, numbers[kind], number[value]);
    if (kind >= 9 && kind < 18) artel__onnx_ints(node, lists[kind - 9], list[value % 5], value < 5 ? 3 : value - 4);
    if (kind >= 18 && kind < 21) artel__onnx_string(node, texts[kind - 18], words[value % 4]);
    if (kind == 21) artel__onnx_strings(node, "activations", activations[value % 2], 3);
    if (kind == 22) artel__onnx_float(node, "clip", value);
    if (kind == 23) artel__onnx_ints(node, "activation_alpha", number, value); /* of another kind than it is */
}

/* -- nodes -- */

static void put_input(artel__text *node, char letter, uint8_t byte, int values)
{
    char name[16] = {letter};
    if (byte >= 240)
        name[0] = constants[(size_t)(byte - 240) * 2 % ARTEL__COUNT(constants)].name[0];
    else if (letter == '_')
        name[0] = '\0';
    else if (letter == 'v')
        snprintf(name, sizeof name, "v%d", values - 1 - byte % values);
    artel__put_string(node, 1, name);
}

/* Returns how many outputs the node has. */
static int put_node(artel__text *graph, const uint8_t *bytes, int values)
{
    artel__text node;
    size_t row = bytes[0] % ARTEL__COUNT(rows);
    char name[16];
    artel__text_init(&node, graph->ctx);
    artel__put_string(&node, 4, rows[row].type);
    for (size_t k = 0; rows[row].inputs[k]; k++) put_input(&node, rows[row].inputs[k], bytes[1 + k % 4], values);
    for (int k = 0; k < rows[row].outputs; k++) {
        snprintf(name, sizeof name, "v%d", values + k);
        artel__put_string(&node, 2, name);
    }
    for (int k = 5; k < BYTES; k++) put_attribute(&node, bytes[k]);
    put_plain(&node, rows[row].plain);
    artel__put_message(graph, 1, &node);
    artel__text_fini(&node);
    return rows[row].outputs;
}

static void build(artel__text *file, const uint8_t *data, size_t size)
{
    static const artel_shape shapes[] = {{2, {7, 4}}, {2, {-1, 4}}, {3, {3, 6, 6}}, {1, {4}}, {2, {1, 3}}};
    artel__text graph, opset;
    int values = 0, inputs = 1 + data[0] % 3;
    char name[16];
    artel__text_init(&graph, file->ctx);
    artel__text_init(&opset, file->ctx);
    for (int i = 0; i < inputs; i++) {
        snprintf(name, sizeof name, "v%d", values++);
        artel__onnx_value_info(&graph, 11, name, data[0] & 128 ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_FLOAT32,
                               &shapes[(data[0] / 3 + i) % (int)ARTEL__COUNT(shapes)], name);
    }
    put_constants(&graph);
    for (size_t at = 1; at + BYTES <= size && at < 1 + BYTES * MOST_NODES; at += BYTES)
        values += put_node(&graph, data + at, values);
    for (int k = 1; k <= 2 && values - k >= inputs; k++) {
        snprintf(name, sizeof name, "v%d", values - k);
        artel__onnx_value_info(&graph, 12, name, ARTEL_DTYPE_FLOAT32, &shapes[0], name);
    }
    artel__put_integer(&opset, 2, data[0] & 64 ? 11 : 17);
    artel__put_integer(file, 1, 8);
    artel__put_message(file, 8, &opset);
    artel__put_message(file, 7, &graph);
    artel__text_fini(&opset);
    artel__text_fini(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel_model *model = NULL;
    artel__text file;
    char path[64];
    if (size == 0 || artel_context_create(NULL, &ctx) < 0) return 0;
    artel__text_init(&file, ctx);
    if (data[0] == 0)
        artel__text_append_bytes(&file, data + 1, size - 1);
    else
        build(&file, data, size);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    need(fd >= 0 && (file.length == 0 || write(fd, file.data, file.length) == (ssize_t)file.length));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (artel_model_load(ctx, path, &model) == ARTEL_OK) {
        char digest[65];
        need(data[0] == 0 || artel_model_digest(model, digest) == ARTEL_OK);
    } else {
        const artel_error *error = artel_context_error(ctx);
        need(error->what[0] != 0 && error->status != ARTEL_ERROR_INTERNAL && error->status != ARTEL_ERROR_NO_MEMORY);
    }
    artel_model_destroy(model);
    close(fd);
    artel__text_fini(&file);
    artel_context_destroy(ctx);
    return 0;
}

/* Every row behind a Transpose and a recurrent node; then whole files. */
size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    size_t size = 1;
    if (number >= ARTEL__COUNT(rows) + 8 || room < 2048) return 0;
    memset(out, 0, 1 + BYTES * 4);
    out[0] = (uint8_t)(number % 2 ? 3 : 6);
    for (unsigned i = 0; i < 3; i++, size += BYTES)
        out[size] = (uint8_t)(i == 0 ? 0 : i == 1 ? 1 + number % 6 : number);
    if (number < ARTEL__COUNT(rows)) return size;
    artel_context *ctx;
    artel__text file;
    need(artel_context_create(NULL, &ctx) == ARTEL_OK);
    artel__text_init(&file, ctx);
    build(&file, out, size);
    size = file.length < room - 1 ? file.length : room - 1;
    out[0] = 0;
    memcpy(out + 1, file.data, size);
    artel__text_fini(&file);
    artel_context_destroy(ctx);
    return size + 1;
}
