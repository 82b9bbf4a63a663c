/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of one's own for models that Keras has saved with them: a layer, a loss, a metric, an optimizer, and a
 * layer around an operation with a kernel.
 *
 *     cc -shared -fPIC my_layers.c -o my_layers.so $(pkg-config --cflags --libs artel)
 *     artel fit model.keras --extensions ./my_layers.so --data npz:train.npz --output trained.keras
 *
 * In Python they are, registered in the package "mine":
 *
 *     class Gate(keras.layers.Layer):      # x * sigmoid(x @ kernel + bias) * scale
 *     class Mish2(keras.layers.Layer):     # x * tanh(log(1 + e^x))
 *     def log_cosh2(y, p):                 # log(cosh(2 (p - y))), the mean over the last axis
 *     def within_half(y, p):               # the share of |p - y| < 0.5
 *     class Bounded(keras.optimizers.Optimizer):  # its steps are at most the rate: see step_bounded
 */
#include <artel/artel.h>
#include <math.h>

/* -- Gate: weights, and operations by name -- */

static artel_status build_gate(void *user, artel_custom_layer *layer, const artel_shape *inputs, int count)
{
    (void)user;
    (void)count;
    int64_t width = inputs[0].dim[inputs[0].rank - 1];
    int kernel = artel_custom_add_weight(layer, "kernel", &(artel_shape){2, {width, width}}, NULL, true);
    if (kernel < 0) return (artel_status)kernel;
    int bias = artel_custom_add_weight(layer, "bias", &(artel_shape){1, {width}}, "zeros", true);
    return bias < 0 ? (artel_status)bias : ARTEL_OK;
}

static artel_status call_gate(void *user, artel_custom_layer *layer, artel_graph *g, const artel_value *in, int count,
                              artel_value *out)
{
    (void)user;
    (void)count;
    artel_value z = artel_graph_binary(g, "matmul", in[0], artel_custom_weight(layer, g, 0));
    artel_value gate =
        artel_graph_unary(g, "sigmoid", artel_graph_binary(g, "add", z, artel_custom_weight(layer, g, 1)));
    artel_value scale = artel_graph_number(g, artel_custom_number(layer, "scale", 1));
    out[0] = artel_graph_binary(g, "multiply", artel_graph_binary(g, "multiply", in[0], gate), scale);
    return artel_graph_status(g);
}

/* -- Mish2: an operation with a kernel of its own -- */

static artel_status infer_mish(void *user, const artel_shape *inputs, int count, artel_shape *out)
{
    (void)user;
    *out = inputs[0];
    return count == 1 ? ARTEL_OK : ARTEL_ERROR_INVALID;
}

static void compute_mish(void *user, int64_t rows, int64_t row, const float *const *in, float *out)
{
    (void)user;
    for (int64_t i = 0; i < rows * row; i++) out[i] = in[0][i] * tanhf(log1pf(expf(in[0][i])));
}

/* d/dx = tanh(s) + x (1 - tanh(s)^2) sigmoid(x), s = log(1 + e^x). */
static artel_status gradient_mish(void *user, artel_graph *g, const artel_value *in, int count, artel_value out,
                                  artel_value dy, artel_value *dx)
{
    (void)user;
    (void)count;
    (void)out;
    artel_value t = artel_graph_unary(g, "tanh", artel_graph_unary(g, "softplus", in[0]));
    artel_value rest = artel_graph_binary(g, "subtract", artel_graph_number(g, 1), artel_graph_unary(g, "square", t));
    artel_value slope = artel_graph_binary(
        g, "multiply", in[0], artel_graph_binary(g, "multiply", rest, artel_graph_unary(g, "sigmoid", in[0])));
    dx[0] = artel_graph_binary(g, "multiply", dy, artel_graph_binary(g, "add", t, slope));
    return artel_graph_status(g);
}

static const artel_operation mish = {sizeof mish, "mish2", infer_mish, compute_mish, gradient_mish, NULL};

static artel_status call_mish(void *user, artel_custom_layer *layer, artel_graph *g, const artel_value *in, int count,
                              artel_value *out)
{
    (void)user;
    (void)layer;
    out[0] = artel_graph_custom(g, &mish, in, count);
    return artel_graph_status(g);
}

/* -- a loss and a metric -- */

static artel_value call_log_cosh(void *user, const char *config, artel_graph *g, artel_value y, artel_value p)
{
    (void)user;
    (void)config;
    artel_value d =
        artel_graph_binary(g, "multiply", artel_graph_binary(g, "subtract", p, y), artel_graph_number(g, 2));
    artel_value each = artel_graph_unary(g, "log", artel_graph_unary(g, "cosh", d));
    return artel_graph_op(g, "mean", &each, 1, "{\"axis\": -1}");
}

static artel_value call_within(void *user, const char *config, artel_graph *g, artel_value y, artel_value p)
{
    (void)user, (void)config;
    artel_value near =
        artel_graph_binary(g, "less", artel_graph_unary(g, "absolute", artel_graph_binary(g, "subtract", p, y)),
                           artel_graph_number(g, 0.5));
    artel_value each = artel_graph_op(g, "cast", &near, 1, "{\"dtype\": \"float32\"}");
    return artel_graph_op(g, "mean", &each, 1, "{\"axis\": -1}");
}

/* -- an optimizer: m = beta m + (1 - beta) g; with m' = m / (1 - beta^t), w -= rate m' / (|m'| + softness) -- */

static const artel_optimizer_slot bounded_slots[] = {{.name = "momentum"}};

static artel_status step_bounded(void *user, const char *config, artel_graph *g, artel_optimizer_update *u)
{
    (void)user;
    double beta = artel_graph_setting(g, config, "beta", 0.9);
    artel_value softness = artel_graph_number(g, artel_graph_setting(g, config, "softness", 0.01));
    artel_value left = artel_graph_binary(g, "multiply", u->slots[0], artel_graph_number(g, beta));
    artel_value fresh = artel_graph_binary(g, "multiply", u->gradient, artel_graph_number(g, 1 - beta));
    artel_value power = artel_graph_binary(g, "power", artel_graph_number(g, beta), u->count);
    artel_value less = artel_graph_binary(g, "subtract", artel_graph_number(g, 1), power);
    u->next_slots[0] = artel_graph_binary(g, "add", left, fresh);
    artel_value mean = artel_graph_binary(g, "divide", u->next_slots[0], less);
    artel_value size = artel_graph_binary(g, "add", artel_graph_unary(g, "absolute", mean), softness);
    artel_value step = artel_graph_binary(g, "multiply", artel_graph_binary(g, "divide", mean, size), u->rate);
    u->next = artel_graph_binary(g, "subtract", u->variable, step);
    return artel_graph_status(g);
}

ARTEL_EXTENSION artel_status artel_extension(artel_context *ctx);
ARTEL_EXTENSION artel_status artel_extension(artel_context *ctx)
{
    const artel_layer_definition gate = {
        .struct_size = sizeof gate, .class_name = "mine>Gate", .build = build_gate, .call = call_gate};
    const artel_layer_definition curve = {.struct_size = sizeof curve, .class_name = "mine>Mish2", .call = call_mish};
    const artel_loss_definition loss = {.struct_size = sizeof loss, .name = "mine>log_cosh2", .call = call_log_cosh};
    const artel_loss_definition metric = {
        .struct_size = sizeof metric, .name = "mine>within_half", .call = call_within};
    const artel_optimizer_definition bounded = {.struct_size = sizeof bounded,
                                                .class_name = "mine>Bounded",
                                                .settings = "{\"beta\": 0.9, \"softness\": 0.01}",
                                                .learning_rate = 0.01,
                                                .slots = bounded_slots,
                                                .slot_count = 1,
                                                .update = step_bounded};
    artel_status status = artel_context_add_layer(ctx, &gate);
    if (status == ARTEL_OK) status = artel_context_add_layer(ctx, &curve);
    if (status == ARTEL_OK) status = artel_context_add_loss(ctx, &loss);
    if (status == ARTEL_OK) status = artel_context_add_metric(ctx, &metric);
    return status < 0 ? status : artel_context_add_optimizer(ctx, &bounded);
}
