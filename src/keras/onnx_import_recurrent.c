/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN as Keras' layers; both directions as Bidirectional.
 *
 * ONNX: weights [direction][gates * units][in], gates in the order i o f c or z r h, the biases of input and recurrence
 * one after the other, which Keras keeps apart in a GRU with reset_after (linear_before_reset) alone. A node that runs
 * backwards gives its sequence in the order of the input, Keras' in its own: hence the Flip. What Keras' cells have not
 * is refused: peepholes, clips, lengths of each row, coupled gates, activations that are not element by element the
 * same for both uses.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keras/onnx_import.h"

typedef artel__onnx_import import;
typedef artel__onnx_operator operator;
typedef artel__onnx_held held;

typedef struct kind {
    const char *type, *class_name, *snake;
    int gates, order[4]; /* Keras' gate for each of ONNX' */
    int functions;       /* activations of a direction */
} kind;

static const kind kinds[] = {{"LSTM", "LSTM", "lstm", 4, {0, 3, 1, 2}, 3},
                             {"GRU", "GRU", "gru", 3, {0, 1, 2}, 2},
                             {"RNN", "SimpleRNN", "simple_rnn", 1, {0}, 1}};

typedef struct recurrence {
    import *m;
    const operator* node;
    const kind *kind;
    held x;
    int64_t units, width;
    int directions;
    bool backwards, batch_first, reset_after;
    const artel__onnx_numbers *w, *r, *b;
    const char *outer[2], *inner[2]; /* activations by direction: of the candidate, of the gates */
    bool sequence, hidden, cell;     /* which outputs are read */
    bool states;                     /* the layer gives its states, too */
    artel_tensor begin[4];
    int begins;
} recurrence;

static artel_status refuse(const recurrence *c, const char *what)
{
    return artel__onnx_import_refuse(c->m, c->node, what);
}

/* -- settings -- */

/* ONNX' function k of the list, which is Keras' in every number; NULL: it is none. */
static const char *function_of(const operator* node, int k, const char *fallback, int *alphas)
{
    static const struct {
        const char *onnx, *keras;
        double alpha; /* NAN: it has none */
    } known[] = {{"Tanh", "tanh", NAN},
                 {"Sigmoid", "sigmoid", NAN},
                 {"Relu", "relu", NAN},
                 {"Softsign", "softsign", NAN},
                 {"Softplus", "softplus", NAN},
                 {"Elu", "elu", 1},
                 {"HardSigmoid", "hard_sigmoid", 1 / 6.0}};
    char name[32];
    double alpha[8], beta[8];
    artel__onnx_text_of(node, "activations", k, name, sizeof name);
    if (!*name) snprintf(name, sizeof name, "%s", fallback);
    int given = artel__onnx_doubles_of(node, "activation_alpha", alpha, 8),
        more = artel__onnx_doubles_of(node, "activation_beta", beta, 8);
    for (size_t i = 0; i < ARTEL__COUNT(known); i++) {
        if (strcmp(known[i].onnx, name) != 0) continue;
        if (isnan(known[i].alpha)) return known[i].keras;
        double value = *alphas < given ? alpha[*alphas] : strcmp(name, "HardSigmoid") == 0 ? 0.2 : 1;
        ++*alphas;
        bool half = strcmp(name, "HardSigmoid") != 0 || more < 1 || (more == 1 && beta[0] == 0.5);
        return fabs(value - known[i].alpha) < 1e-5 && half ? known[i].keras : NULL;
    }
    return NULL;
}

static artel_status read_activations(recurrence *c)
{
    int alphas = 0, most = c->kind->functions;
    for (int d = 0; d < c->directions; d++) {
        const char *f[3] = {NULL};
        for (int k = 0; k < most; k++)
            f[k] = function_of(c->node, d * most + k, k == 0 && most > 1 ? "Sigmoid" : "Tanh", &alphas);
        for (int k = 0; k < most; k++) {
            if (!f[k]) return refuse(c, "activations with other numbers than Keras', or that it has not");
        }
        if (most == 3 && strcmp(f[1], f[2]) != 0)
            return refuse(c, "other activations for the candidate and for the output");
        c->inner[d] = f[0];
        c->outer[d] = f[most > 1];
    }
    return ARTEL_OK;
}

static artel_status check_settings(recurrence *c)
{
    const operator* node = c->node;
    int64_t layout = artel__onnx_int_of(node, "layout", 0);
    bool both = artel__onnx_text_is(node, "direction", "forward", "bidirectional");
    c->backwards = artel__onnx_text_is(node, "direction", "forward", "reverse");
    c->directions = both ? 2 : 1;
    c->batch_first = layout == 1;
    c->reset_after = artel__onnx_int_of(node, "linear_before_reset", 0) != 0;
    if (!both && !c->backwards && !artel__onnx_text_is(node, "direction", "forward", "forward"))
        return refuse(c, "this direction");
    if (layout != 0 && layout != 1) return refuse(c, "this layout");
    if (artel__onnx_float_of(node, "clip", 0) != 0) return refuse(c, "clip");
    if (artel__onnx_int_of(node, "input_forget", 0)) return refuse(c, "input_forget");
    if (node->inputs > 4 && *node->input[4]) return refuse(c, "sequence_lens");
    if (!artel__onnx_is_zero(c->m, node, 7)) return refuse(c, "peepholes");
    return read_activations(c);
}

static bool has_shape(const artel__onnx_numbers *n, int64_t a, int64_t b, int64_t c)
{
    bool good = n && n->f && n->shape.rank == (c ? 3 : 2) && n->shape.dim[0] == a && n->shape.dim[1] == b;
    return good && (!c || n->shape.dim[2] == c);
}

static artel_status take_weights(recurrence *c)
{
    c->w = artel__onnx_fixed(c->m, c->node, 1);
    c->r = artel__onnx_fixed(c->m, c->node, 2);
    ARTEL_TRY(artel__onnx_optional(c->m, c->node, 3, &c->b));
    if (!c->w || !c->w->f || !c->r || !c->r->f) return refuse(c, "weights that are computed");
    int64_t units = c->r->shape.rank == 3 ? c->r->shape.dim[2] : 0, wide = units * c->kind->gates;
    c->units = units;
    c->width = c->w->shape.rank == 3 ? c->w->shape.dim[2] : 0;
    bool good = units > 0 && c->width > 0 && has_shape(c->w, c->directions, wide, c->width) &&
                has_shape(c->r, c->directions, wide, units) && (!c->b || has_shape(c->b, c->directions, 2 * wide, 0)) &&
                artel__onnx_int_of(c->node, "hidden_size", units) == units;
    return good ? ARTEL_OK : refuse(c, "weights of other shapes");
}

static artel_status take_sequence(recurrence *c)
{
    ARTEL_TRY(artel__onnx_take_any(c->m, c->node, 0, &c->x));
    if (c->x.shape.rank != 2) return refuse(c, "other than sequences of vectors");
    if (c->x.batch != !c->batch_first) return refuse(c, "a sequence whose batch is another axis");
    if (c->x.shape.dim[1] != c->width) return refuse(c, "a sequence of other vectors than the weights are for");
    return artel__onnx_to_plain(c->m, &c->x);
}

/* States as rows of a direction each. */
static artel_status take_state(recurrence *c, int k, artel_tensor *out, int step)
{
    held all, one;
    ARTEL_TRY(artel__onnx_take_any(c->m, c->node, k, &all));
    if (all.batch != !c->batch_first || all.shape.rank != 2 || all.shape.dim[0] != c->directions ||
        all.shape.dim[1] != c->units)
        return refuse(c, "initial states of another shape");
    if (all.last) ARTEL_TRY(artel__onnx_to_plain(c->m, &all));
    for (int d = 0; d < c->directions; d++) {
        one = all;
        ARTEL_TRY(artel__onnx_cut(c->m, c->node, &one, 0, d, 1));
        artel__onnx_see(&one, &(artel_shape){1, {c->units}});
        ARTEL_TRY(artel__onnx_settle(c->m, &one));
        out[d * step] = one.tensor;
    }
    return ARTEL_OK;
}

static artel_status take_states(recurrence *c)
{
    int each = c->kind->gates == 4 ? 2 : 1;
    bool zero[2] = {artel__onnx_is_zero(c->m, c->node, 5), each == 1 || artel__onnx_is_zero(c->m, c->node, 6)};
    if (zero[0] && zero[1]) return ARTEL_OK;
    if (zero[0] || (each == 2 && zero[1])) return refuse(c, "one initial state of two");
    for (int k = 0; k < each; k++) {
        if (artel__onnx_fixed(c->m, c->node, 5 + k))
            return refuse(c, "initial states that are constants other than zeros");
        ARTEL_TRY(take_state(c, 5 + k, c->begin + k, each));
    }
    c->begins = each * c->directions;
    return ARTEL_OK;
}

static bool is_read(const recurrence *c, int k)
{
    return k < c->node->outputs && *c->node->output[k] && artel__names_find(&c->m->uses, c->node->output[k]);
}

/* Whether a node takes parts of values: then the last step is given beside the sequence, for it may be what is wanted.
 */
static bool takes_parts(const import *m)
{
    for (int i = 0; i < m->file.nodes; i++) {
        const operator* node = & m->file.node[i];
        bool part = strcmp(node->type, "Slice") == 0 || strcmp(node->type, "Gather") == 0;
        if (part && node->inputs && !artel__onnx_fixed(m, node, 0)) return true;
    }
    return false;
}

/* -- the layer -- */

static const char *config_of(const recurrence *c, int d, bool backwards)
{
    const char *gates =
        c->kind->gates == 1 ? "" : artel__arena_printf(c->m->arena, ", \"recurrent_activation\": \"%s\"", c->inner[d]);
    const char *reset = c->kind->gates != 3 ? ""
                        : c->reset_after    ? ", \"reset_after\": true"
                                            : ", \"reset_after\": false";
    if (!gates) return NULL;
    return artel__arena_printf(c->m->arena,
                               "\"units\": %lld, \"activation\": \"%s\"%s%s, \"use_bias\": %s, \"return_sequences\": "
                               "%s, \"return_state\": %s, "
                               "\"go_backwards\": %s",
                               (long long)c->units, c->outer[d], gates, reset, c->b ? "true" : "false",
                               c->sequence ? "true" : "false", c->states ? "true" : "false",
                               backwards ? "true" : "false");
}

/* [gates * units][in] of a direction as Keras' [in][gates * units]. */
static float *matrix_of(const recurrence *c, const artel__onnx_numbers *n, int d, int64_t in)
{
    int64_t u = c->units, wide = u * c->kind->gates;
    float *out = artel__onnx_floats(c->m, in * wide);
    const float *from = n->f + d * wide * in;
    for (int64_t k = 0; out && k < wide; k++) {
        int64_t place = c->kind->order[k / u] * u + k % u;
        for (int64_t i = 0; i < in; i++) out[i * wide + place] = from[k * in + i];
    }
    return out;
}

static float *bias_of(const recurrence *c, int d, int64_t *count)
{
    int64_t u = c->units, wide = u * c->kind->gates;
    bool apart = c->kind->gates == 3 && c->reset_after;
    *count = apart ? 2 * wide : wide;
    float *out = artel__onnx_floats(c->m, *count);
    const float *from = c->b->f + d * 2 * wide;
    for (int64_t k = 0; out && k < wide; k++) {
        int64_t place = c->kind->order[k / u] * u + k % u;
        out[place] = apart ? from[k] : from[k] + from[wide + k];
        if (apart) out[wide + place] = from[wide + k];
    }
    return out;
}

static artel_status put_weights(const recurrence *c, const char *layer, int d)
{
    int64_t wide = c->units * c->kind->gates, count;
    static const char *const side[] = {"forward", "backward"};
    const char *within =
        c->directions == 1 ? layer : artel__arena_printf(c->m->arena, "%s/%s_%s", layer, side[d], c->kind->snake);
    const char *cell = within ? artel__arena_printf(c->m->arena, "%s/%s_cell", within, c->kind->snake) : NULL;
    if (!cell) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__onnx_weight_is(c->m, cell, "kernel", matrix_of(c, c->w, d, c->width), c->width * wide));
    ARTEL_TRY(artel__onnx_weight_is(c->m, cell, "recurrent_kernel", matrix_of(c, c->r, d, c->units), c->units * wide));
    if (!c->b) return ARTEL_OK;
    float *bias = bias_of(c, d, &count);
    return artel__onnx_weight_is(c->m, cell, "bias", bias, count);
}

static artel_status put_layer(const recurrence *c, artel_tensor *out)
{
    const char *name, *config = config_of(c, 0, c->backwards), *k = c->kind->class_name, *s = c->kind->snake;
    artel_tensor in[5] = {c->x.tensor};
    memcpy(in + 1, c->begin, sizeof c->begin);
    if (c->directions == 2) {
        const char *back = config_of(c, 1, true);
        if (!config || !back) return ARTEL_ERROR_NO_MEMORY;
        config = artel__arena_printf(
            c->m->arena,
            "\"merge_mode\": \"concat\", \"layer\": {\"class_name\": \"%s\", \"config\": {\"name\": \"forward_%s\", "
            "%s}}, "
            "\"backward_layer\": {\"class_name\": \"%s\", \"config\": {\"name\": \"backward_%s\", %s}}",
            k, s, config, k, s, back);
    }
    if (!config) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__onnx_layer(c->m, c->directions == 2 ? "Bidirectional" : k, in, 1 + c->begins, config, out, &name));
    for (int d = 0; d < c->directions; d++) ARTEL_TRY(put_weights(c, name, d));
    return ARTEL_OK;
}

/* -- outputs -- */

/* [time][direction][batch][units], or with the batch in front. */
static artel_status give_sequence(const recurrence *c, artel_tensor layer)
{
    held y = {.tensor = layer, .shape = {2, {c->x.shape.dim[0], c->directions * c->units}}};
    artel__onnx_final *final = artel__arena_alloc(c->m->arena, 1, sizeof *final);
    if (!final) return ARTEL_ERROR_NO_MEMORY;
    if (c->backwards) ARTEL_TRY(artel__onnx_flip(c->m, &y, 0));
    *final = (artel__onnx_final){
        .of = y.tensor, .tensor = artel_output(layer, 1), .step = c->backwards ? 0 : -1, .units = c->units};
    if (c->states && c->directions == 1) y.final = final;
    artel__onnx_see(&y, &(artel_shape){3, {c->x.shape.dim[0], c->directions, c->units}});
    y.batch = c->batch_first ? 0 : 2;
    return artel__onnx_give(c->m, c->node->output[0], &y);
}

/* State k, 1 or 2, is output k of the node: [direction][batch][units], or with the batch in front. */
static artel_status give_state(const recurrence *c, artel_tensor layer, int k)
{
    int each = c->kind->gates == 4 ? 2 : 1;
    const artel_tensor both[2] = {artel_output(layer, k), artel_output(layer, k + each)};
    held h = {.tensor = c->states ? both[0] : layer, .shape = {1, {c->directions * c->units}}};
    if (c->states && c->directions == 2)
        ARTEL_TRY(artel__onnx_layer(c->m, "Concatenate", both, 2, "\"axis\": -1", &h.tensor, NULL));
    artel__onnx_see(&h, &(artel_shape){2, {c->directions, c->units}});
    h.batch = c->batch_first ? 0 : 1;
    return artel__onnx_give(c->m, c->node->output[k], &h);
}

static artel_status read_recurrent(import *m, const operator* node)
{
    recurrence c = {.m = m, .node = node, .kind = kinds};
    artel_tensor layer;
    while (strcmp(c.kind->type, node->type) != 0) c.kind++;
    c.sequence = is_read(&c, 0);
    c.hidden = is_read(&c, 1);
    c.cell = c.kind->gates == 4 && is_read(&c, 2);
    ARTEL_TRY(check_settings(&c));
    ARTEL_TRY(take_weights(&c));
    ARTEL_TRY(take_sequence(&c));
    ARTEL_TRY(take_states(&c));
    c.states = c.cell || (c.sequence && (c.hidden || takes_parts(m)));
    ARTEL_TRY(put_layer(&c, &layer));
    if (c.sequence) ARTEL_TRY(give_sequence(&c, layer));
    if (c.hidden) ARTEL_TRY(give_state(&c, layer, 1));
    if (c.cell) ARTEL_TRY(give_state(&c, layer, 2));
    return ARTEL_OK;
}

const artel__onnx_import_row artel__onnx_imports_recurrent[] = {
    {"LSTM", read_recurrent}, {"GRU", read_recurrent}, {"RNN", read_recurrent}, {NULL, NULL}};
