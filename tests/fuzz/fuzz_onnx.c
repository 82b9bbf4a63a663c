/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as a Functional model, exported to ONNX or refused with a reason; what is written is a graph:
 * every value is made once, before it is read, and constants have the bytes of their shapes.
 *
 * Byte 0: inputs. Then three bytes a call: which row of `rows` (the next that takes the rank), of which value, with
 * which second value or, from 200 on, the layer of that call once more. The last byte but one chooses another output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/build.h"
#include "base/file.h"
#include "fuzz/help_fuzz.h"

enum {
    MOST_CALLS = 12,
    MOST_VALUES = MOST_CALLS + 4,
    MOST_NAMES = 4096
};

/* Ranks are those of a row; 0: any, and the result's is the operand's. */
static const struct {
    const char *layer, *config;
    int from, to, operands;
} rows[] = {
    {"Dense", "{\"units\": 3, \"activation\": \"gelu\"}", 0, 0, 1},
    {"Dense", "{\"units\": 1, \"use_bias\": false, \"activation\": \"softmax\"}", 1, 1, 1},
    {"Activation", "{\"activation\": \"mish\"}", 0, 0, 1},
    {"Activation", "{\"activation\": \"hard_silu\"}", 0, 0, 1},
    {"Activation", "{\"activation\": \"log_softmax\"}", 0, 0, 1},
    {"Activation", "{\"activation\": \"sparsemax\"}", 0, 0, 1},
    {"ReLU", "{\"max_value\": 6.0, \"negative_slope\": 0.1, \"threshold\": 0.5}", 0, 0, 1},
    {"LeakyReLU", "{\"negative_slope\": 0}", 0, 0, 1},
    {"ELU", "{\"alpha\": -1}", 0, 0, 1},
    {"Softmax", "{\"axis\": 1}", 0, 0, 1},
    {"Softmax", "{\"axis\": -2}", 0, 0, 1},
    {"Dropout", "{\"rate\": 0.5}", 0, 0, 1},
    {"Identity", "{}", 0, 0, 1},
    {"BatchNormalization", "{\"axis\": 1, \"scale\": false}", 0, 0, 1},
    {"BatchNormalization", "{\"center\": false, \"epsilon\": 0}", 0, 0, 1},
    {"LayerNormalization", "{\"axis\": [-1]}", 0, 0, 1},
    {"LayerNormalization", "{\"axis\": [1, 2]}", 0, 0, 1},
    {"GroupNormalization", "{\"groups\": 3}", 0, 0, 1},
    {"Rescaling", "{\"scale\": 1e30, \"offset\": -0.0}", 0, 0, 1},
    {"Rescaling", "{\"scale\": [1, 2, 3]}", 0, 0, 1},
    {"Flatten", "{}", 0, 1, 1},
    {"Reshape", "{\"target_shape\": [-1, 1]}", 0, 2, 1},
    {"Reshape", "{\"target_shape\": [3, -1, 2]}", 0, 3, 1},
    {"Permute", "{\"dims\": [2, 1]}", 2, 2, 1},
    {"Permute", "{\"dims\": [3, 1, 2]}", 3, 3, 1},
    {"RepeatVector", "{\"n\": 3}", 1, 2, 1},
    {"Conv1D", "{\"filters\": 4, \"kernel_size\": 3, \"padding\": \"causal\", \"dilation_rate\": 2}", 2, 2, 1},
    {"Conv1D", "{\"filters\": 2, \"kernel_size\": 2, \"strides\": 3, \"groups\": 2, \"padding\": \"same\"}", 2, 2, 1},
    {"Conv1DTranspose", "{\"filters\": 2, \"kernel_size\": 3, \"strides\": 2, \"output_padding\": 1}", 2, 2, 1},
    {"DepthwiseConv1D", "{\"kernel_size\": 2, \"depth_multiplier\": 2}", 2, 2, 1},
    {"SeparableConv1D", "{\"filters\": 3, \"kernel_size\": 2, \"padding\": \"same\"}", 2, 2, 1},
    {"Conv2D", "{\"filters\": 3, \"kernel_size\": [3, 2], \"padding\": \"same\", \"strides\": [2, 1]}", 3, 3, 1},
    {"Conv2D", "{\"filters\": 6, \"kernel_size\": 9, \"padding\": \"same\", \"groups\": 3}", 3, 3, 1},
    {"Conv2DTranspose", "{\"filters\": 2, \"kernel_size\": 2, \"strides\": 3, \"padding\": \"same\"}", 3, 3, 1},
    {"DepthwiseConv2D", "{\"kernel_size\": 3, \"padding\": \"same\", \"dilation_rate\": 2}", 3, 3, 1},
    {"SeparableConv2D", "{\"filters\": 2, \"kernel_size\": 1, \"depth_multiplier\": 3}", 3, 3, 1},
    {"MaxPooling1D", "{\"pool_size\": 3, \"strides\": 1, \"padding\": \"same\"}", 2, 2, 1},
    {"AveragePooling1D", "{\"pool_size\": 2, \"padding\": \"same\"}", 2, 2, 1},
    {"MaxPooling2D", "{\"pool_size\": [1, 2]}", 3, 3, 1},
    {"AveragePooling2D", "{\"pool_size\": 3, \"strides\": 2, \"padding\": \"same\"}", 3, 3, 1},
    {"GlobalAveragePooling1D", "{}", 2, 1, 1},
    {"GlobalMaxPooling1D", "{\"keepdims\": true}", 2, 2, 1},
    {"GlobalMaxPooling2D", "{}", 3, 1, 1},
    {"GlobalAveragePooling2D", "{\"keepdims\": true}", 3, 3, 1},
    {"ZeroPadding1D", "{\"padding\": [0, 2]}", 2, 2, 1},
    {"ZeroPadding2D", "{\"padding\": [[1, 0], [0, 2]]}", 3, 3, 1},
    {"Cropping1D", "{\"cropping\": [1, 1]}", 2, 2, 1},
    {"Cropping2D", "{\"cropping\": [[0, 1], [1, 0]]}", 3, 3, 1},
    {"UpSampling1D", "{\"size\": 2}", 2, 2, 1},
    {"UpSampling2D", "{\"size\": [1, 2], \"interpolation\": \"bilinear\"}", 3, 3, 1},
    {"UpSampling2D", "{\"size\": 2, \"interpolation\": \"bicubic\"}", 3, 3, 1},
    {"LSTM", "{\"units\": 2, \"return_sequences\": true, \"go_backwards\": true}", 2, 2, 1},
    {"LSTM", "{\"units\": 3, \"recurrent_activation\": \"hard_sigmoid\"}", 2, 1, 1},
    {"GRU", "{\"units\": 2, \"reset_after\": false}", 2, 1, 1},
    {"GRU", "{\"units\": 2, \"return_sequences\": true}", 2, 2, 1},
    {"SimpleRNN", "{\"units\": 1, \"activation\": \"relu\"}", 2, 1, 1},
    {"Bidirectional",
     "{\"layer\": {\"class_name\": \"GRU\", \"config\": {\"units\": 2, \"return_sequences\": true}}, \"merge_mode\": "
     "\"ave\"}",
     2, 2, 1},
    {"TimeDistributed", "{\"layer\": {\"class_name\": \"Dense\", \"config\": {\"units\": 2}}}", 2, 2, 1},
    {"Add", "{}", 0, 0, 2},
    {"Subtract", "{}", 0, 0, 2},
    {"Multiply", "{}", 0, 0, 2},
    {"Average", "{}", 0, 0, 2},
    {"Maximum", "{}", 0, 0, 2},
    {"Minimum", "{}", 0, 0, 2},
    {"Concatenate", "{\"axis\": -1}", 0, 0, 2},
    {"Concatenate", "{\"axis\": 1}", 0, 0, 2},
    {"Dot", "{\"axes\": 1}", 2, 2, 2},
    {"MultiHeadAttention", "{\"num_heads\": 2, \"key_dim\": 3}", 2, 2, 2},
    {"Attention", "{}", 2, 2, 2},
    {"EinsumDense", "{\"equation\": \"abc,cd->abd\", \"output_shape\": [null, 3], \"bias_axes\": \"d\"}", 2, 2, 1},
    {"Embedding", "{\"input_dim\": 7, \"output_dim\": 4, \"mask_zero\": true}", 1, 2, 1},
};

typedef struct value {
    artel_tensor tensor;
    int rank;
} value;

static char path[64];

static void need(bool fact)
{
    if (!fact) abort();
}

/* -- what was written -- */
typedef struct span {
    const uint8_t *at, *end;
} span;

typedef struct names {
    span made[MOST_NAMES];
    size_t count;
} names;

static uint64_t varint(span *s)
{
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
        need(s->at < s->end && shift < 64);
        number |= (uint64_t)(*s->at & 127) << shift;
        if (!(*s->at++ & 128)) return number;
    }
}

/* The next field: its number; `number` for varints, `bytes` for all else. 0 at the end. */
static unsigned field(span *s, span *bytes, uint64_t *number)
{
    if (s->at == s->end) return 0;
    uint64_t tag = varint(s), size = 0;
    switch (tag & 7) {
    case 0: *number = varint(s); break;
    case 1: size = 8; break;
    case 2: size = varint(s); break;
    case 5: size = 4; break;
    default: abort();
    }
    need(size <= (uint64_t)(s->end - s->at));
    *bytes = (span){s->at, s->at + size};
    s->at += size;
    return (unsigned)(tag >> 3);
}

static bool is_made(const names *n, span name)
{
    size_t size = (size_t)(name.end - name.at);
    for (size_t i = 0; i < n->count; i++) {
        if ((size_t)(n->made[i].end - n->made[i].at) == size && memcmp(n->made[i].at, name.at, size) == 0) return true;
    }
    return false;
}

static void make_name(names *n, span name)
{
    need(name.at < name.end && !is_made(n, name) && n->count < MOST_NAMES);
    n->made[n->count++] = name;
}

/* The name of a ValueInfoProto. */
static span info_name(span info)
{
    span bytes;
    uint64_t number;
    for (unsigned f; (f = field(&info, &bytes, &number)) != 0;) {
        if (f == 1) return bytes;
    }
    abort();
}

static void check_constant(names *n, span tensor)
{
    static const uint64_t bytes_of[] = {[1] = 4, [6] = 4, [7] = 8, [9] = 1, [10] = 2, [16] = 2};
    span bytes, name = {NULL, NULL};
    uint64_t number, count = 1, type = 0, raw = 0;
    for (unsigned f; (f = field(&tensor, &bytes, &number)) != 0;) {
        if (f == 1 && bytes.at == bytes.end) count *= number;
        for (span packed = bytes; f == 1 && packed.at < packed.end;) count *= varint(&packed);
        if (f == 2) type = number;
        if (f == 8) name = bytes;
        if (f == 9) raw = (uint64_t)(bytes.end - bytes.at);
    }
    need(type < sizeof bytes_of / sizeof *bytes_of && bytes_of[type] && raw == count * bytes_of[type]);
    make_name(n, name);
}

static void check_node(names *n, span node)
{
    span bytes, out[8];
    uint64_t number;
    int outs = 0;
    bool typed = false;
    for (unsigned f; (f = field(&node, &bytes, &number)) != 0;) {
        if (f == 1 && bytes.at < bytes.end) need(is_made(n, bytes));
        if (f == 2 && bytes.at < bytes.end && outs < 8) out[outs++] = bytes;
        typed = typed || (f == 4 && bytes.at < bytes.end);
    }
    need(typed && outs > 0);
    for (int i = 0; i < outs; i++) make_name(n, out[i]);
}

/* Field `which` of the graph, each by `check`. */
static void check_fields(names *n, span graph, unsigned which, void (*check)(names *n, span part))
{
    span bytes;
    uint64_t number;
    for (unsigned f; (f = field(&graph, &bytes, &number)) != 0;) {
        if (f == which) check(n, bytes);
    }
}

static void check_input(names *n, span info)
{
    make_name(n, info_name(info));
}

static void check_output(names *n, span info)
{
    need(is_made(n, info_name(info)));
}

static void check_file(artel_context *ctx)
{
    static names made;
    artel__mapping file;
    span bytes, graph = {NULL, NULL};
    uint64_t number;
    made.count = 0;
    need(artel__map_file(ctx, path, &file) == ARTEL_OK);
    span model = {file.bytes, file.bytes + file.size};
    for (unsigned f; (f = field(&model, &bytes, &number)) != 0;) {
        if (f == 7) graph = bytes;
    }
    need(graph.at != NULL);
    check_fields(&made, graph, 11, check_input);
    check_fields(&made, graph, 5, check_constant);
    check_fields(&made, graph, 1, check_node);
    check_fields(&made, graph, 12, check_output);
    artel__unmap_file(&file);
}

/* -- the model -- */
static int find_row(int wanted, int rank)
{
    int count = (int)(sizeof rows / sizeof *rows);
    for (int i = 0; i < count; i++) {
        int row = (wanted + i) % count;
        if (rows[row].from == 0 || rows[row].from == rank) return row;
    }
    return 0;
}

static artel_status call(artel_builder *b, const uint8_t *bytes, value *made, int *count)
{
    const value *first = &made[bytes[1] % *count], *second = first;
    int row = find_row(bytes[0], first->rank);
    for (int i = 0; i < *count && rows[row].operands == 2; i++) {
        const value *other = &made[(bytes[2] + i) % *count];
        if (other->rank != first->rank) continue;
        second = other;
        break;
    }
    artel_tensor operands[] = {first->tensor, second->tensor};
    value *out = &made[*count];
    *out = (value){.rank = rows[row].to ? rows[row].to : first->rank};
    artel_status status = artel_apply(b, rows[row].layer, rows[row].config, operands, rows[row].operands, &out->tensor);
    if (status == ARTEL_OK && bytes[2] >= 200)
        status = artel_apply_again(b, out->tensor, operands, rows[row].operands, &out->tensor);
    if (status == ARTEL_OK) ++*count;
    return status;
}

static artel_status build(artel_context *ctx, const uint8_t *data, size_t size, artel_model **out)
{
    static const artel_shape shapes[] = {{1, {6}},     {2, {5, 4}},      {3, {6, 5, 3}},
                                         {2, {-1, 4}}, {3, {-1, -1, 3}}, {1, {5}}};
    artel_builder *b;
    value made[MOST_VALUES];
    int count = 0, inputs = 1 + data[0] % 3;
    need(artel_functional_create(ctx, "odd", &b) == ARTEL_OK);
    for (int i = 0; i < inputs; i++) {
        int kind = (data[0] / 3 + i * (data[0] & 64 ? 1 : 0)) % 6;
        need(artel_input(b, NULL, kind == 5 ? ARTEL_DTYPE_INT32 : ARTEL_DTYPE_FLOAT32, &shapes[kind],
                         &made[count].tensor) == ARTEL_OK);
        made[count++].rank = shapes[kind].rank;
    }
    artel_status status = ARTEL_OK;
    for (size_t at = 1; at + 3 <= size && status == ARTEL_OK && count < MOST_VALUES; at += 3)
        status = call(b, data + at, made, &count);
    artel_tensor outputs[] = {made[count - 1].tensor, made[data[size - 1] % count].tensor};
    return artel_functional_finish(b, outputs, size % 3 == 2 && outputs[0].call != outputs[1].call ? 2 : 1, out);
}

static void clean_up(void)
{
    unlink(path);
}

static void prepare(void)
{
    snprintf(path, sizeof path, "/dev/shm/artel-fuzz-%ld.onnx", (long)getpid()); /* in memory: files are synchronised */
    if (access("/dev/shm", W_OK) != 0) snprintf(path, sizeof path, "/tmp/artel-fuzz-%ld.onnx", (long)getpid());
    atexit(clean_up);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel_model *model = NULL;
    if (!path[0]) prepare();
    if (size == 0 || artel_context_create(NULL, &ctx) < 0) return 0;
    if (build(ctx, data, size < 1 + 3 * MOST_CALLS ? size : 1 + 3 * MOST_CALLS, &model) < 0) {
        need(artel_context_error(ctx)->what[0] != 0);
        artel_context_destroy(ctx);
        return 0;
    }
    need(artel_model_initialise(model, 1) == ARTEL_OK);
    if (artel_model_save(model, path) == ARTEL_OK)
        check_file(ctx);
    else
        need(artel_context_error(ctx)->what[0] != 0 && artel_context_error(ctx)->status != ARTEL_ERROR_INTERNAL);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return 0;
}

/* Every row alone behind an input of its rank, then chains. */
size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    size_t size = 0;
    if (number >= 60 || room < 1 + 3 * MOST_CALLS) return 0;
    out[size++] = (uint8_t)(number * 37 % 256);
    for (unsigned i = 0; i < 1 + number % 6; i++) {
        out[size++] = (uint8_t)(number + i * 23);
        out[size++] = (uint8_t)(number * 5 + i);
        out[size++] = (uint8_t)(number * 11 + i * 3);
    }
    return size;
}
