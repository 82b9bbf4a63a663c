/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes for recurrent layers: LSTM, GRU, SimpleRNN, Bidirectional and TimeDistributed.
 *
 * ONNX wants time in front, weights as [1][gates * units][in], gates in the order i o f c (Keras: i f c o) and z r h
 * (the same in Keras), and the biases of input and recurrence one after the other. reset_after is linear_before_reset.
 */
#include <stdio.h>
#include <string.h>

#include "keras/onnx.h"

typedef artel__onnx_call call;

typedef struct cell_form {
    const char *op;
    int gates;
    int order[4]; /* Keras' gate for each of ONNX' */
} cell_form;

static const cell_form lstm_form = {"LSTM", 4, {0, 3, 1, 2}}, gru_form = {"GRU", 3, {0, 1, 2}},
                       rnn_form = {"RNN", 1, {0}};

static const cell_form *form_of(const char *class_name)
{
    if (strcmp(class_name, "LSTM") == 0) return &lstm_form;
    if (strcmp(class_name, "GRU") == 0) return &gru_form;
    return strcmp(class_name, "SimpleRNN") == 0 ? &rnn_form : NULL;
}

/* [in][gates * units] to [1][gates * units][in] with the gates in ONNX' order. */
static const char *gate_matrix(artel__onnx *o, const artel__layer *cell, int n, const cell_form *form)
{
    artel_shape shape = {.rank = 0};
    const float *from = artel__onnx_weight(o, cell, n, &shape);
    if (!from || shape.rank != 2) return NULL;
    int64_t in = shape.dim[0], wide = shape.dim[1], units = wide / form->gates;
    float *to = artel__arena_alloc(&o->arena, (size_t)(in * wide) + 1, sizeof *to);
    if (!to) return NULL;
    for (int g = 0; g < form->gates; g++) {
        for (int64_t u = 0; u < units; u++) {
            for (int64_t i = 0; i < in; i++) to[(g * units + u) * in + i] = from[i * wide + form->order[g] * units + u];
        }
    }
    return artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &(artel_shape){3, {1, wide, in}}, to);
}

/* [gates * units] or [2][gates * units] to [1][2 * gates * units]. */
static const char *gate_bias(artel__onnx *o, const artel__layer *cell, const cell_form *form, int64_t units)
{
    artel_shape shape = {.rank = 0};
    const float *from = artel__onnx_weight(o, cell, 2, &shape);
    int64_t wide = units * form->gates;
    float *to = artel__arena_alloc(&o->arena, (size_t)wide * 2, sizeof *to);
    if (!to) return NULL;
    for (int64_t half = 0; from && half < (shape.rank == 2 ? 2 : 1); half++) {
        for (int g = 0; g < form->gates; g++)
            memcpy(to + half * wide + g * units, from + half * wide + form->order[g] * units, (size_t)units * 4);
    }
    return artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &(artel_shape){2, {1, wide * 2}}, to);
}

static const char *gate_activation(const char *name)
{
    static const char *const known[][2] = {
        {"tanh", "Tanh"}, {"sigmoid", "Sigmoid"}, {"relu", "Relu"}, {"softsign", "Softsign"}, {"softplus", "Softplus"}};
    for (size_t i = 0; i < ARTEL__COUNT(known); i++) {
        if (strcmp(known[i][0], name) == 0) return known[i][1];
    }
    return NULL;
}

static const char *named(json_t *config, const char *key, const char *fallback)
{
    json_t *value = json_object_get(config, key);
    return value ? gate_activation(artel__onnx_activation_name(value)) : fallback;
}

/* The activations that ONNX lists: of the gates and of the candidate. False when one is not known there. */
static bool set_activations(artel__text *node, const cell_form *form, json_t *config)
{
    const char *outer = named(config, "activation", "Tanh"), *inner = named(config, "recurrent_activation", "Sigmoid");
    if (!outer || !inner) return false;
    const char *lstm[3] = {inner, outer, outer}, *gru[2] = {inner, outer};
    if (form->gates == 4)
        artel__onnx_strings(node, "activations", lstm, 3);
    else if (form->gates == 3)
        artel__onnx_strings(node, "activations", gru, 2);
    else
        artel__onnx_strings(node, "activations", &outer, 1);
    return true;
}

static const char *squeeze(artel__onnx *o, const char *x, int64_t axis)
{
    return artel__onnx_node2(o, "Squeeze", x, artel__onnx_ints_constant(o, &axis, 1));
}

/* One direction: [batch, time, in] to [batch, time, units] or [batch, units]. Backwards, the sequence keeps its own
 * order. */
static const char *run_cell(call *c, const artel__layer *layer, const char *x, bool reverse, bool sequences)
{
    static const int64_t swap[3] = {1, 0, 2};
    artel__onnx *o = c->onnx;
    json_t *config = json_object_get(layer->record, "config");
    const cell_form *form = form_of(layer->def->class_name);
    const artel__layer *cell = artel__onnx_child(layer, "cell");
    int64_t units = artel__onnx_integer(config, "units", 0);
    if (!form) return artel__onnx_refuse(c, "this kind of recurrent layer");
    if (!cell) cell = layer;
    x = artel__onnx_transpose(o, x, swap, 3);
    const char *w = gate_matrix(o, cell, 0, form), *r = gate_matrix(o, cell, 1, form);
    const char *b = artel__onnx_flag(config, "use_bias", true) ? gate_bias(o, cell, form, units) : NULL;
    artel__text node = artel__onnx_start(o, form->op);
    artel__onnx_int(&node, "hidden_size", units);
    artel__onnx_string(&node, "direction", reverse ? "reverse" : "forward");
    if (form->gates == 3) artel__onnx_int(&node, "linear_before_reset", artel__onnx_flag(config, "reset_after", true));
    if (!set_activations(&node, form, config)) {
        artel__text_fini(&node);
        return artel__onnx_refuse(c, "this activation in a recurrent layer");
    }
    if (sequences) {
        const char *y =
            artel__onnx_end(o, &node, (const char *[]){x, w, r, b}, b ? 4 : 3); /* [time, 1, batch, units] */
        return artel__onnx_transpose(o, squeeze(o, y, 1), swap, 3);
    }
    artel__put_string(&node, 2, ""); /* the sequence is not asked for; the last state is the second output */
    return squeeze(o, artel__onnx_end(o, &node, (const char *[]){x, w, r, b}, b ? 4 : 3), 0);
}

/* Settings that an export cannot keep. */
static bool is_plain(call *c, json_t *config)
{
    const char *what = NULL;
    if (c->in[0].tensor.mask >= 0)
        what = "masks";
    else if (c->inputs > 1)
        what = "initial states";
    else if (artel__onnx_flag(config, "stateful", false))
        what = "stateful layers";
    if (what) artel__onnx_refuse(c, what);
    return !what;
}

static const char *recurrent(call *c)
{
    bool sequences = artel__onnx_flag(c->config, "return_sequences", false),
         reverse = artel__onnx_flag(c->config, "go_backwards", false);
    if (!is_plain(c, c->config)) return NULL;
    if (sequences && reverse) return artel__onnx_refuse(c, "go_backwards with return_sequences");
    return run_cell(c, c->layer, c->in[0].name, reverse, sequences);
}

static const char *join(call *c, const char *mode, const char *forward, const char *backward)
{
    artel__onnx *o = c->onnx;
    if (strcmp(mode, "sum") == 0) return artel__onnx_node2(o, "Add", forward, backward);
    if (strcmp(mode, "mul") == 0) return artel__onnx_node2(o, "Mul", forward, backward);
    if (strcmp(mode, "ave") == 0) return artel__onnx_node2(o, "Mean", forward, backward);
    artel__text node = artel__onnx_start(o, "Concat");
    artel__onnx_int(&node, "axis", -1);
    return artel__onnx_end(o, &node, (const char *[]){forward, backward}, 2);
}

static const char *bidirectional(call *c)
{
    const artel__layer *forward = artel__onnx_child(c->layer, "forward_layer"),
                       *backward = artel__onnx_child(c->layer, "backward_layer");
    if (!forward || !backward) return artel__onnx_refuse(c, "this form of Bidirectional");
    json_t *config = json_object_get(forward->record, "config");
    bool sequences = artel__onnx_flag(config, "return_sequences", false);
    if (!is_plain(c, config)) return NULL;
    if (artel__onnx_flag(config, "go_backwards", false))
        return artel__onnx_refuse(c, "a forward layer that goes backwards");
    const char *mode = artel__onnx_word(c->config, "merge_mode", "concat");
    const char *there = run_cell(c, forward, c->in[0].name, false, sequences);
    const char *back = there ? run_cell(c, backward, c->in[0].name, true, sequences) : NULL;
    return back ? join(c, mode, there, back) : NULL;
}

/* Layers that treat the last axis alone do not mind a time axis. */
static const char *time_distributed(call *c)
{
    const artel__layer *inner = artel__onnx_child(c->layer, "layer");
    if (!inner || strcmp(inner->def->class_name, "Dense") != 0)
        return artel__onnx_refuse(c, "TimeDistributed around anything but Dense");
    call own = *c;
    own.layer = inner;
    own.config = json_object_get(inner->record, "config");
    for (const artel__onnx_row *row = artel__onnx_layers; row->class_name; row++) {
        if (strcmp(row->class_name, "Dense") == 0) return row->export(&own);
    }
    return NULL;
}

const artel__onnx_row artel__onnx_recurrent[] = {
    {"LSTM", recurrent, NULL},
    {"GRU", recurrent, NULL},
    {"SimpleRNN", recurrent, NULL},
    {"Bidirectional", bidirectional, NULL},
    {"TimeDistributed", time_distributed, NULL},
    {NULL, NULL, NULL},
};
