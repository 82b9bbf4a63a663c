/* SPDX-License-Identifier: Apache-2.0 */
/* ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: an LSTM whose products are convolutions, step after step in the graph.
 *
 *   z = conv(x_t, kernel) + bias + conv_same(h, recurrent_kernel), of four gates i, f, c, o
 *   c = f(z_f) c + f(z_i) g(z_c),  h = f(z_o) g(c)
 * A masked step leaves the states as they are. Dropout draws masks once for a row and all its steps, one for each gate;
 * then each gate has convolutions of its own. Variables belong to a sublayer "cell", as in Keras. After
 * keras/src/layers/rnn/conv_lstm.py.
 */
#include <string.h>

#include "nn/layer_recurrent.h"
#include "nn/row_state.h"
#include "nn/window_float64.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"

#define GATES 4
#define MOST_STEPS 1024

typedef struct conv_lstm_config {
    int64_t filters;
    artel__ints kernel_size, strides, dilation_rate;
    int padding, data_format;
    bool use_bias, unit_forget_bias, return_sequences, return_state, go_backwards, stateful, zero_output_for_mask;
    double dropout, recurrent_dropout;
} conv_lstm_config;

typedef struct conv_lstm_parts {
    int rank;
    artel__activation_config activation, recurrent;
    artel__weight_parts kernel, recurrent_kernel, bias;
    int state[2]; /* of a stateful layer: variables of h and c, channels last */
} conv_lstm_parts;

static const char *const paddings[] = {"valid", "same", NULL};

#define CONFIG(field) offsetof(conv_lstm_config, field)
#define FLAG(name, fallback, help)                                          \
    {                                                                       \
#name, help, ARTEL__OPTION_BOOL, CONFIG(name), fallback, 0, 0, NULL \
    }

static const artel__option conv_lstm_options[] = {
    {"filters", "channels of the output", ARTEL__OPTION_INT, CONFIG(filters), NULL, 1, INT32_MAX / 4, NULL},
    {"kernel_size", "extents of the window", ARTEL__OPTION_INTS, CONFIG(kernel_size), NULL, 1, INT32_MAX, NULL},
    {"strides", "steps between windows", ARTEL__OPTION_INTS, CONFIG(strides), "1", 1, INT32_MAX, NULL},
    {"padding", "valid or same", ARTEL__OPTION_ENUM, CONFIG(padding), "valid", 0, 0, paddings},
    ARTEL__DATA_FORMAT(conv_lstm_config),
    {"dilation_rate", "steps between taps", ARTEL__OPTION_INTS, CONFIG(dilation_rate), "1", 1, INT32_MAX, NULL},
    ARTEL__PART("activation", "activation: a name or a record"),
    ARTEL__PART("recurrent_activation", "activation of the gates: a name or a record"),
    FLAG(use_bias, "true", "whether biases are added"),
    FLAG(unit_forget_bias, "true", "start the forget gate's bias at 1"),
    {"dropout", "share of the inputs dropped", ARTEL__OPTION_FLOAT, CONFIG(dropout), "0", 0, 1, NULL},
    {"recurrent_dropout", "share of the states dropped", ARTEL__OPTION_FLOAT, CONFIG(recurrent_dropout), "0", 0, 1,
     NULL},
    ARTEL__PART("seed", "accepted; the run's seed decides"),
    FLAG(return_sequences, "false", "give every step, not the last"),
    FLAG(return_state, "false", "give the last states too"),
    FLAG(go_backwards, "false", "from the last step to the first"),
    FLAG(stateful, "false", "keep states between batches"),
    FLAG(zero_output_for_mask, "false", "zeros at masked steps"),
    ARTEL__PART("unroll", "accepted; chooses nothing here"),
    ARTEL__WEIGHT_PARTS("kernel"),
    ARTEL__WEIGHT_PARTS("recurrent"),
    ARTEL__WEIGHT_PARTS("bias"),
    ARTEL__OPTIONS_END,
};

static artel_status configure(artel__layer *layer)
{
    conv_lstm_config *c = layer->config;
    conv_lstm_parts *parts = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    artel__layer *held;
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    parts->rank = layer->def->class_name[strlen(layer->def->class_name) - 2] - '0';
    ARTEL_TRY(artel__layer_spread(layer, "kernel_size", &c->kernel_size, parts->rank, 1));
    ARTEL_TRY(artel__layer_spread(layer, "strides", &c->strides, parts->rank, 1));
    ARTEL_TRY(artel__layer_spread(layer, "dilation_rate", &c->dilation_rate, parts->rank, 1));
    ARTEL_TRY(artel__layer_activation(layer, "activation", &parts->activation));
    ARTEL_TRY(artel__layer_activation(layer, "recurrent_activation", &parts->recurrent));
    ARTEL_TRY(artel__layer_weight_parts(layer, "kernel", "glorot_uniform", &parts->kernel));
    ARTEL_TRY(artel__layer_weight_parts(layer, "recurrent", "orthogonal", &parts->recurrent_kernel));
    ARTEL_TRY(artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias));
    if (c->unit_forget_bias) artel__initializer_forget_bias(&parts->bias.initializer);
    return artel__layer_add_holder(layer, "cell", "conv_lstm_cell", &held);
}

static int64_t channels_of(const artel__layer *layer, const artel__call *call)
{
    const conv_lstm_config *c = layer->config;
    const artel_shape *in = artel__call_shape(call, 0);
    return in->dim[c->data_format == 1 ? 1 : in->rank - 1];
}

/* The convolutions of an input of `extent`, channels last, and of the states. */
static artel_status lay_axes(const artel__layer *layer, const int64_t *extent, artel__conv_axis *input,
                             artel__conv_axis *recurrent)
{
    const conv_lstm_config *c = layer->config;
    for (int i = 0; i < ((const conv_lstm_parts *)layer->own)->rank; i++) {
        artel__conv_axis *in = &input[i], *back = &recurrent[i];
        *in = (artel__conv_axis){.kernel = c->kernel_size.item[i],
                                 .stride = c->strides.item[i],
                                 .dilation = c->dilation_rate.item[i],
                                 .in = extent[i]};
        artel__conv_any_lay(in, c->padding == 1);
        if (in->out < 1)
            return artel__layer_fail(
                layer, ARTEL_ERROR_INVALID, "use a larger input, a smaller window or padding \"same\"",
                "the window of %lld does not fit an input of %lld", (long long)in->kernel, (long long)in->in);
        *back = (artel__conv_axis){.kernel = in->kernel, .stride = 1, .dilation = 1, .in = in->out};
        artel__conv_any_lay(back, true);
    }
    return ARTEL_OK;
}

/* They belong to no layer as far as files are concerned: Keras saves none. */
static artel_status declare_states(artel__layer *layer, const artel__call *call)
{
    const conv_lstm_config *c = layer->config;
    conv_lstm_parts *parts = layer->own;
    artel__conv_any input, recurrent;
    artel_shape shape = {.rank = parts->rank + 2};
    if (!c->stateful) return ARTEL_OK;
    ARTEL_TRY(
        lay_axes(layer, artel__call_shape(call, 0)->dim + (c->data_format == 1 ? 2 : 1), input.axis, recurrent.axis));
    ARTEL_TRY(artel__recurrent_batch(layer, &shape.dim[0]));
    for (int i = 0; i < parts->rank; i++) shape.dim[i + 1] = input.axis[i].out;
    shape.dim[parts->rank + 1] = c->filters;
    for (int k = 0; k < 2; k++) {
        char *name = artel__arena_printf(layer->arena, "%s/rnn_state_%d", layer->scope, k);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        parts->state[k] =
            artel__variables_add(layer->variables, name, ARTEL__VARIABLE_ROW_STATE, layer->real, &shape, 0);
        if (parts->state[k] < 0) return (artel_status)parts->state[k];
    }
    return ARTEL_OK;
}

/* States may come behind it. */
static artel_status check_input(const artel__layer *layer, const artel__call *call)
{
    int rank = ((const conv_lstm_parts *)layer->own)->rank + 2;
    artel__call alone = *call;
    if (alone.inputs > 1) alone.inputs = 1;
    return artel__layer_check_input(layer, &alone, rank, rank);
}

static artel_status build(artel__layer *layer, const artel__call *call)
{
    const conv_lstm_config *c = layer->config;
    const conv_lstm_parts *parts = layer->own;
    artel__layer *cell = layer->child[0].layer;
    ARTEL_TRY(check_input(layer, call));
    artel_shape kernel = {.rank = parts->rank + 2}, recurrent, bias = artel__shape(1, GATES * c->filters);
    for (int i = 0; i < parts->rank; i++) kernel.dim[i] = c->kernel_size.item[i];
    kernel.dim[parts->rank] = channels_of(layer, call);
    kernel.dim[parts->rank + 1] = GATES * c->filters;
    recurrent = kernel;
    recurrent.dim[parts->rank] = c->filters;
    ARTEL_TRY(artel__layer_declare(cell, "kernel", &kernel, 0, true, &parts->kernel));
    ARTEL_TRY(artel__layer_declare(cell, "recurrent_kernel", &recurrent, 0, true, &parts->recurrent_kernel));
    if (c->use_bias) ARTEL_TRY(artel__layer_declare(cell, "bias", &bias, 0, true, &parts->bias));
    return declare_states(layer, call);
}

/* -- convolutions of the gates -- */

/* One convolution for all gates, or one for each behind its mask. */
typedef struct gate_conv {
    artel__conv_any conv;
    int gates;
    artel__value_id weights[GATES], bias[GATES], mask[GATES];
} gate_conv;

static void make_gates(artel__graph *graph, gate_conv *g, const artel__layer *cell, int variable, bool use_bias,
                       bool apart)
{
    artel__value_id plain = artel__layer_weight(cell, graph, variable);
    artel__value_id bias = use_bias ? artel__layer_weight(cell, graph, 2) : ARTEL__NO_VALUE;
    if (graph->status < 0) return;
    const artel_shape *shape = &graph->value[plain].shape;
    int last = shape->rank - 1;
    int64_t filters = shape->dim[last] / GATES;
    g->gates = apart ? GATES : 1;
    for (int i = 0; i < g->gates; i++) {
        artel__value_id part = apart ? artel__op_slice(graph, plain, last, i * filters, filters, 1) : plain;
        g->weights[i] = artel__volumes_weights(graph, &g->conv, part);
        g->bias[i] = apart && bias >= 0 ? artel__op_slice(graph, bias, 0, i * filters, filters, 1) : bias;
        g->mask[i] = ARTEL__NO_VALUE;
    }
}

static void draw_masks(artel__graph *graph, gate_conv *g, artel__value_id like, double rate)
{
    for (int i = 0; i < g->gates && g->gates > 1; i++)
        g->mask[i] = artel__op_dropout(graph, artel__op_fill_like(graph, like, 1), rate, NULL);
}

static artel__value_id convolve(artel__graph *graph, const gate_conv *g, artel__value_id x)
{
    artel__value_id part[GATES];
    for (int i = 0; i < g->gates; i++) {
        artel__value_id in = g->mask[i] >= 0 ? artel__op_binary(graph, ARTEL__BINARY_MUL, x, g->mask[i]) : x;
        part[i] = artel__volumes_conv(graph, &g->conv, in, g->weights[i], g->bias[i], ARTEL__FUSED_NONE);
    }
    return g->gates > 1 ? artel__op_concat(graph, part, g->gates, -1) : part[0];
}

/* -- a sequence -- */

typedef struct sequence {
    artel__layer *layer;
    artel__graph *graph;
    gate_conv input, recurrent;
    artel__value_id h, c, out; /* none before the first step */
} sequence;

/* Step t of [t][..] without its axis. */
static artel__value_id take(artel__graph *graph, artel__value_id x, int64_t t)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = {.rank = in.rank - 1};
    for (int i = 0; i < out.rank; i++) out.dim[i] = in.dim[i + 1];
    return artel__op_reshape(graph, artel__op_slice(graph, x, 0, t, 1, 1), &out);
}

static artel_status lay(sequence *s, artel__value_id x)
{
    const conv_lstm_config *c = s->layer->config;
    const conv_lstm_parts *parts = s->layer->own;
    const artel__layer *cell = s->layer->child[0].layer;
    artel__graph *graph = s->graph;
    bool training = graph->training, apart = training && c->dropout > 0 && c->dropout < 1;
    ARTEL_TRY(graph->status);
    s->input.conv = s->recurrent.conv = (artel__conv_any){.rank = parts->rank, .groups = 1};
    ARTEL_TRY(lay_axes(s->layer, graph->value[x].shape.dim, s->input.conv.axis, s->recurrent.conv.axis));
    make_gates(graph, &s->input, cell, 0, c->use_bias, apart);
    make_gates(graph, &s->recurrent, cell, 1, false, training && c->recurrent_dropout > 0 && c->recurrent_dropout < 1);
    draw_masks(graph, &s->input, x, c->dropout);
    return graph->status;
}

/* The states that a call begins with, in the layout of the data. */
static artel_status take_states(sequence *s, const artel__call *call)
{
    const conv_lstm_config *c = s->layer->config;
    const artel__conv_axis *axis = s->input.conv.axis;
    artel__graph *graph = s->graph;
    artel__tensor given[2];
    artel__value_id *to[2] = {&s->h, &s->c};
    int count = artel__recurrent_initial(call, given, 2), rank = ((const conv_lstm_parts *)s->layer->own)->rank;
    bool fits = count == 0 || count == 2;
    for (int i = 0; fits && i < count; i++) {
        *to[i] = artel__channels_last(graph, artel__as_float(graph, given[i].value), c->data_format);
        ARTEL_TRY(graph->status);
        const artel_shape *shape = &graph->value[*to[i]].shape;
        fits = shape->rank == rank + 1 && shape->dim[rank] == c->filters;
        for (int k = 0; fits && k < rank; k++) fits = shape->dim[k] == axis[k].out;
    }
    if (!fits)
        return artel__layer_fail(s->layer, ARTEL_ERROR_INVALID, "give two tensors of the shape of its result",
                                 "its initial_state does not fit");
    if (count) draw_masks(graph, &s->recurrent, s->h, c->recurrent_dropout);
    return graph->status;
}

/* States that are kept, unless others were given. Two calls in one graph would have to follow one another. */
static artel_status read_states(sequence *s)
{
    const conv_lstm_config *c = s->layer->config;
    const conv_lstm_parts *parts = s->layer->own;
    artel__graph *graph = s->graph;
    if (parts->state[0] < graph->variable_values && graph->variable_value[parts->state[0]] >= 0)
        return artel__layer_fail(s->layer, ARTEL_ERROR_UNSUPPORTED, "call it once",
                                 "a stateful layer that is called twice is not supported");
    artel__value_id h = artel__row_state_read(graph, artel__graph_variable(graph, parts->state[0])),
                    cell = artel__row_state_read(graph, artel__graph_variable(graph, parts->state[1]));
    ARTEL_TRY(graph->status);
    if (s->h >= 0) return ARTEL_OK;
    s->h = h;
    s->c = cell;
    draw_masks(graph, &s->recurrent, s->h, c->recurrent_dropout);
    return graph->status;
}

static void write_states(const sequence *s)
{
    const conv_lstm_parts *parts = s->layer->own;
    artel__row_state_write(s->graph, artel__graph_variable(s->graph, parts->state[0]), s->h);
    artel__row_state_write(s->graph, artel__graph_variable(s->graph, parts->state[1]), s->c);
}

static artel__value_id choose(artel__graph *graph, artel__value_id mask, artel__value_id a, artel__value_id b)
{
    return mask < 0 ? a : artel__op_where(graph, mask, a, b);
}

/* One step; `mask` is [1..] of the result's rank, or none. */
static artel_status step(sequence *s, artel__value_id x, artel__value_id mask)
{
    const conv_lstm_config *config = s->layer->config;
    const conv_lstm_parts *parts = s->layer->own;
    artel__graph *graph = s->graph;
    artel__value_id z = convolve(graph, &s->input, x), gate[GATES];
    ARTEL_TRY(graph->status);
    int last = graph->value[z].shape.rank - 1;
    if (s->h >= 0) z = artel__op_add(graph, z, convolve(graph, &s->recurrent, s->h));
    for (int i = 0; i < GATES; i++) {
        gate[i] = artel__op_slice(graph, z, last, i * config->filters, config->filters, 1);
        gate[i] = artel__activation_apply(graph, i == 2 ? &parts->activation : &parts->recurrent, gate[i]);
    }
    artel__value_id c = artel__op_binary(graph, ARTEL__BINARY_MUL, gate[0], gate[2]);
    if (s->c >= 0) c = artel__op_add(graph, artel__op_binary(graph, ARTEL__BINARY_MUL, gate[1], s->c), c);
    artel__value_id h =
        artel__op_binary(graph, ARTEL__BINARY_MUL, gate[3], artel__activation_apply(graph, &parts->activation, c));
    if (s->h < 0) draw_masks(graph, &s->recurrent, h, config->recurrent_dropout);
    artel__value_id before = config->zero_output_for_mask ? ARTEL__NO_VALUE : s->out; /* none: zeros */
    s->out = choose(graph, mask, h, before);
    s->c = choose(graph, mask, c, s->c);
    s->h = choose(graph, mask, h, s->h);
    return graph->status;
}

/* Step t of a mask beside a result of `rank` axes. */
static artel__value_id step_mask(artel__graph *graph, artel__value_id mask, int64_t t, int rank)
{
    artel_shape ones = {.rank = rank};
    for (int i = 0; i < rank; i++) ones.dim[i] = 1;
    if (mask < 0) return ARTEL__NO_VALUE;
    return artel__op_reshape(graph, artel__op_slice(graph, mask, 0, t, 1, 1), &ones);
}

static artel__value_id with_step_axis(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = {.rank = in.rank + 1};
    out.dim[0] = 1;
    for (int i = 0; i < in.rank; i++) out.dim[i + 1] = in.dim[i];
    return artel__op_reshape(graph, x, &out);
}

static artel_status give(sequence *s, artel__call *call, artel__value_id *all, int64_t steps)
{
    const conv_lstm_config *c = s->layer->config;
    artel__graph *graph = s->graph;
    artel__value_id result = artel__channels_back(graph, s->out, c->data_format);
    if (c->return_sequences) result = steps > 1 ? artel__op_concat(graph, all, (int)steps, 0) : all[0];
    call->out[0] = (artel__tensor){result, c->return_sequences ? call->in[0].mask : ARTEL__NO_VALUE};
    call->outputs = 1;
    for (int i = 0; i < 2 && c->return_state; i++)
        call->out[call->outputs++] =
            (artel__tensor){artel__channels_back(graph, i ? s->c : s->h, c->data_format), ARTEL__NO_VALUE};
    return graph->status;
}

static artel_status call_conv_lstm(artel__layer *layer, artel__call *call)
{
    const conv_lstm_config *c = layer->config;
    const conv_lstm_parts *parts = layer->own;
    artel__graph *graph = call->graph;
    sequence s = {.layer = layer, .graph = graph, .h = ARTEL__NO_VALUE, .c = ARTEL__NO_VALUE, .out = ARTEL__NO_VALUE};
    ARTEL_TRY(check_input(layer, call));
    int64_t steps = artel__call_shape(call, 0)->dim[0];
    if (steps < 1 || steps > MOST_STEPS)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "feed 1 to 1024 steps", "%lld steps are not supported",
                                 (long long)steps);
    artel__value_id *all = artel__arena_alloc(graph->arena, (size_t)steps, sizeof *all);
    artel__value_id x = artel__as_float(graph, call->in[0].value);
    if (!all) return ARTEL_ERROR_NO_MEMORY;
    artel__value_id mask = artel__recurrent_mask(call, call->inputs > 1);
    for (int64_t i = 0; i < steps; i++) {
        int64_t t = c->go_backwards ? steps - 1 - i : i;
        artel__value_id now = artel__channels_last(graph, take(graph, x, t), c->data_format);
        if (i == 0) ARTEL_TRY(lay(&s, now));
        if (i == 0) ARTEL_TRY(take_states(&s, call));
        if (i == 0 && c->stateful) ARTEL_TRY(read_states(&s));
        ARTEL_TRY(step(&s, now, step_mask(graph, mask, t, parts->rank + 1)));
        all[i] = with_step_axis(graph, artel__channels_back(graph, s.out, c->data_format));
    }
    if (c->stateful) write_states(&s);
    return give(&s, call, all, steps);
}

bool artel__conv_lstm_view_of(const artel__layer *layer, artel__recurrent_view *out)
{
    conv_lstm_config *c = layer->config;
    if (layer->def->call != call_conv_lstm) return false;
    *out =
        (artel__recurrent_view){&c->return_sequences, &c->return_state, &c->go_backwards, &c->zero_output_for_mask, 2};
    return true;
}

#define CONV_LSTM(symbol, name, sentence)                  \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(conv_lstm_config),           \
        .options = conv_lstm_options,                      \
        .mask = ARTEL__MASK_OWN,                           \
        .configure = configure,                            \
        .build = build,                                    \
        .call = call_conv_lstm,                            \
    }

CONV_LSTM(conv_lstm1d, "ConvLSTM1D", "An LSTM of convolutions over sequences of sequences.");
CONV_LSTM(conv_lstm2d, "ConvLSTM2D", "An LSTM of convolutions over sequences of images.");
CONV_LSTM(conv_lstm3d, "ConvLSTM3D", "An LSTM of convolutions over sequences of volumes.");
