/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells of the graph as a Scan: masks, states given from outside and every activation, which ONNX' own LSTM,
 * GRU and RNN have not.
 *
 * The body is a graph of its own, whose nodes may use names of the outer one; so constants go there as ever. It carries
 * h, c (LSTM) and what was put out last, takes a step of the projected input and of the mask, and gives what it puts
 * out. Formulas: kernel/recurrent.h.
 */
#include <string.h>

#include "keras/onnx_graph.h"
#include "op/lower_recurrent.h"
#include "op/ops.h"

typedef struct scan {
    artel__onnx_site *site;
    artel__onnx *onnx;
    const artel__recurrent_settings *settings;
    const char *weights;                /* [u][g * u] */
    const char *h, *c, *put, *x, *mask; /* in the body; c, put and mask: NULL where there are none */
} scan;

static const char *add(scan *s, const char *a, const char *b)
{
    return artel__onnx_node2(s->onnx, "Add", a, b);
}

static const char *multiply(scan *s, const char *a, const char *b)
{
    return artel__onnx_node2(s->onnx, "Mul", a, b);
}

static const char *activate(scan *s, const artel__cell_activation *how, const char *x)
{
    return artel__onnx_function(s->onnx, ARTEL_DTYPE_FLOAT32, how->function, how->parameter, x);
}

/* The columns of gate k. */
static const char *gate(scan *s, const char *x, int k)
{
    const int64_t begin = k * s->settings->units, end = begin + s->settings->units, axis = -1;
    artel__text node = artel__onnx_start(s->onnx, "Slice");
    return artel__onnx_end(s->onnx, &node,
                           (const char *[]){x, artel__onnx_ints_constant(s->onnx, &begin, 1),
                                            artel__onnx_ints_constant(s->onnx, &end, 1),
                                            artel__onnx_ints_constant(s->onnx, &axis, 1)},
                           4);
}

static const char *choose(scan *s, const char *then, const char *otherwise)
{
    artel__text node = artel__onnx_start(s->onnx, "Where");
    return artel__onnx_end(s->onnx, &node, (const char *[]){s->mask, then, otherwise}, 3);
}

/* -- cells: the next h; LSTM also *c -- */

static const char *lstm(scan *s, const char **c)
{
    const artel__cell_activation *inner = &s->settings->recurrent, *outer = &s->settings->activation;
    const char *z = add(s, s->x, artel__onnx_node2(s->onnx, "MatMul", s->h, s->weights));
    const char *kept = multiply(s, activate(s, inner, gate(s, z, 1)), s->c);
    *c = add(s, kept, multiply(s, activate(s, inner, gate(s, z, 0)), activate(s, outer, gate(s, z, 2))));
    return multiply(s, activate(s, inner, gate(s, z, 3)), activate(s, outer, *c));
}

static const char *gru(scan *s)
{
    const artel__cell_activation *inner = &s->settings->recurrent, *outer = &s->settings->activation;
    const char *q = artel__onnx_node2(s->onnx, "MatMul", s->h, s->weights), *bias = s->site->in[ARTEL__RECURRENT_BIAS],
               *n;
    if (bias) q = add(s, q, bias);
    const char *z = activate(s, inner, add(s, gate(s, s->x, 0), gate(s, q, 0))),
               *r = activate(s, inner, add(s, gate(s, s->x, 1), gate(s, q, 1)));
    if (s->settings->reset_after)
        n = multiply(s, r, gate(s, q, 2));
    else
        n = artel__onnx_node2(s->onnx, "MatMul", multiply(s, r, s->h), gate(s, s->weights, 2));
    n = activate(s, outer, add(s, gate(s, s->x, 2), n));
    return add(s, multiply(s, z, artel__onnx_node2(s->onnx, "Sub", s->h, n)), n);
}

static const char *simple(scan *s)
{
    return activate(s, &s->settings->activation, add(s, s->x, artel__onnx_node2(s->onnx, "MatMul", s->h, s->weights)));
}

/* -- the body -- */

static void put_value(artel__text *graph, int field, const char *name)
{
    artel__text value;
    artel__text_init(&value, graph->ctx);
    if (name) artel__put_string(&value, 1, name);
    artel__put_message(graph, field, &value);
    artel__text_fini(&value);
}

static const char *same(scan *s, const char *x)
{
    return artel__onnx_node1(s->onnx, "Identity", x);
}

/* Writes the nodes of a step into `graph`; outputs: h, c, what was put out, and that once more as the sequence. */
static void write_step(scan *s, artel__text *graph)
{
    const char *c = NULL, *h, *put, *in[] = {s->h, s->c, s->put, s->x, s->mask};
    if (s->mask) {
        const int64_t behind = -1;
        s->mask = artel__onnx_node2(s->onnx, "Unsqueeze", s->mask, artel__onnx_ints_constant(s->onnx, &behind, 1));
    }
    h = s->settings->cell == ARTEL__CELL_LSTM ? lstm(s, &c) : s->settings->cell == ARTEL__CELL_GRU ? gru(s) : simple(s);
    put = h;
    if (s->mask) {
        put = choose(s, h, s->settings->zero_output_for_mask ? artel__onnx_scalar(s->onnx, 0) : s->put);
        h = choose(s, h, s->h);
        if (c) c = choose(s, c, s->c);
    }
    const char *out[] = {same(s, h), c ? same(s, c) : NULL, s->put ? same(s, put) : NULL, same(s, put)};
    for (size_t i = 0; i < ARTEL__COUNT(in); i++) {
        if (in[i]) put_value(graph, 11, in[i]);
    }
    for (size_t i = 0; i < ARTEL__COUNT(out); i++) {
        if (out[i]) put_value(graph, 12, out[i]);
    }
}

/* Nodes of the body go to a text of their own. */
static void write_body(scan *s, artel__text *graph)
{
    artel__text outer = s->onnx->nodes;
    artel__text_init(&s->onnx->nodes, outer.ctx);
    artel__put_string(graph, 2, "step");
    write_step(s, graph);
    artel__text_append_text(graph, &s->onnx->nodes);
    artel__text_fini(&s->onnx->nodes);
    s->onnx->nodes = outer;
}

/* [batch][units] zeros. */
static const char *zeros(scan *s)
{
    const int64_t begin = 0, end = 1, axis = 0;
    artel__onnx *o = s->onnx;
    const char *at[] = {artel__onnx_node1(o, "Shape", s->site->in[ARTEL__RECURRENT_PROJECTED]),
                        artel__onnx_ints_constant(o, &begin, 1), artel__onnx_ints_constant(o, &end, 1),
                        artel__onnx_ints_constant(o, &axis, 1)};
    artel__text node = artel__onnx_start(o, "Slice"), joined = artel__onnx_start(o, "Concat");
    const char *rows = artel__onnx_end(o, &node, at, 4);
    artel__onnx_int(&joined, "axis", 0);
    const char *shape =
        artel__onnx_end(o, &joined, (const char *[]){rows, artel__onnx_ints_constant(o, &s->settings->units, 1)}, 2);
    return artel__onnx_node2(o, "Expand", artel__onnx_scalar(o, 0), shape);
}

static const char *first_state(scan *s, int k)
{
    const int64_t units = s->settings->units;
    return s->site->in[k] ? artel__onnx_reshaped(s->site, s->site->in[k], true, &units, 1) : zeros(s);
}

void artel__onnx_write_scan(artel__onnx_site *site)
{
    const artel__recurrent_settings *settings = site->node->attributes;
    artel__onnx *o = site->onnx;
    bool has_c = settings->cell == ARTEL__CELL_LSTM, masked = site->in[ARTEL__RECURRENT_MASK] != NULL;
    const int64_t matrix[2] = {settings->units, settings->units * artel__cell_gates(settings->cell)}, ones[2] = {1, 1};
    if (settings->keeps) {
        site->refused = "factors of states";
        return;
    }
    scan s = {.site = site, .onnx = o, .settings = settings};
    s.weights = artel__onnx_reshaped(site, site->in[ARTEL__RECURRENT_WEIGHTS], false, matrix, 2);
    const char *operands[5];
    int states = 0, count;
    operands[states++] = first_state(&s, ARTEL__RECURRENT_H0);
    if (has_c) operands[states++] = first_state(&s, ARTEL__RECURRENT_C0);
    if (masked) operands[states++] = zeros(&s);
    count = states;
    operands[count++] = site->in[ARTEL__RECURRENT_PROJECTED];
    if (masked) operands[count++] = site->in[ARTEL__RECURRENT_MASK];
    s.h = artel__onnx_name(o);
    s.c = has_c ? artel__onnx_name(o) : NULL;
    s.put = masked ? artel__onnx_name(o) : NULL;
    s.x = artel__onnx_name(o);
    s.mask = masked ? artel__onnx_name(o) : NULL;
    artel__text body, node = artel__onnx_start(o, "Scan");
    artel__text_init(&body, o->nodes.ctx);
    write_body(&s, &body);
    artel__onnx_graph_attribute(&node, "body", &body);
    artel__text_fini(&body);
    const int64_t directions[2] = {settings->go_backwards, settings->go_backwards};
    artel__onnx_int(&node, "num_scan_inputs", count - states);
    artel__onnx_ints(&node, "scan_input_axes", ones, count - states);
    artel__onnx_ints(&node, "scan_input_directions", directions, count - states);
    artel__onnx_ints(&node, "scan_output_axes", ones, 1);
    const char *last[3];
    for (int i = 0; i < states; i++) {
        last[i] = artel__onnx_name(o);
        if (last[i]) artel__put_string(&node, 2, last[i]);
    }
    const char *sequence = artel__onnx_end(o, &node, operands, count);
    site->out[1] = last[0];
    if (has_c) site->out[2] = last[1];
    site->out[0] = settings->sequences ? sequence : masked ? last[states - 1] : last[0];
    if (!sequence) site->out[0] = NULL;
}
