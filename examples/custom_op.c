/* SPDX-License-Identifier: Apache-2.0 */
/* An operation of one's own: a kernel in C with its shape rule and its gradient, in a function that trains.
 *
 *     custom_op [STRATEGY [REPLICAS]]
 *
 * The triangle wave, which goes from -1 to 1 and back in 4, has a kernel, and so has its slope; the gradient of one is
 * a product with the other. A wave a * triangle(b x + c) is fitted to points of another one. Kernels compute with + - *
 * / and floorf only: so the bits are the same on every machine, and here under every strategy.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROWS = 200,
    STEPS = 400
};

static artel_status same_shape(void *user, const artel_shape *inputs, int count, artel_shape *output)
{
    (void)user;
    *output = inputs[0];
    return count == 1 ? ARTEL_OK : ARTEL_ERROR_INVALID;
}

static float phase(float x)
{
    float turns = (x + 1) / 4;
    return 4 * (turns - floorf(turns)); /* 0 to 4: up to 2 it rises */
}

static void triangle(void *user, int64_t rows, int64_t row, const float *const *inputs, float *output)
{
    (void)user;
    for (int64_t i = 0; i < rows * row; i++) {
        float p = phase(inputs[0][i]);
        output[i] = p < 2 ? p - 1 : 3 - p;
    }
}

static void slope(void *user, int64_t rows, int64_t row, const float *const *inputs, float *output)
{
    (void)user;
    for (int64_t i = 0; i < rows * row; i++) output[i] = phase(inputs[0][i]) < 2 ? 1 : -1;
}

static const artel_operation slope_operation = {
    .struct_size = sizeof(artel_operation), .name = "slope", .infer = same_shape, .compute = slope};

static artel_status triangle_gradient(void *user, artel_graph *g, const artel_value *inputs, int count,
                                      artel_value output, artel_value output_gradient, artel_value *input_gradients)
{
    (void)user;
    (void)count;
    (void)output;
    input_gradients[0] =
        artel_graph_binary(g, "multiply", output_gradient, artel_graph_custom(g, &slope_operation, inputs, 1));
    return artel_graph_status(g);
}

static const artel_operation triangle_operation = {.struct_size = sizeof(artel_operation),
                                                   .name = "triangle",
                                                   .infer = same_shape,
                                                   .compute = triangle,
                                                   .gradient = triangle_gradient};

typedef struct wave {
    artel_variable *parameter[3]; /* height, frequency, shift */
    artel_optimizer *optimizer;
} wave;

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    wave *w = user;
    artel_value p[3];
    for (int i = 0; i < 3; i++) p[i] = artel_graph_variable(g, w->parameter[i]);
    artel_value at = artel_graph_binary(g, "add", artel_graph_binary(g, "multiply", in[0], p[1]), p[2]);
    artel_value made = artel_graph_binary(g, "multiply", artel_graph_custom(g, &triangle_operation, &at, 1), p[0]);
    artel_value error = artel_graph_unary(g, "square", artel_graph_binary(g, "subtract", made, in[1]));
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, error);
    artel_graph_minimise(g, w->optimizer, out[0]);
    return artel_graph_status(g);
}

static artel_status fit(artel_strategy *strategy, const artel_array *in)
{
    static const char *const names[] = {"height", "frequency", "shift"};
    static const float begin[] = {1, 0.9f, 0};
    const artel_argument arguments[2] = {{.name = "x"}, {.name = "y"}};
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *step = NULL;
    artel_status status = ARTEL_OK;
    float loss = 0, found[3];
    wave w;
    for (int i = 0; i < 3 && status == ARTEL_OK; i++) {
        artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
        v.name = names[i];
        v.initial = &begin[i];
        status = artel_variable_create(strategy, &v, &w.parameter[i]);
    }
    if (status == ARTEL_OK)
        status = artel_optimizer_create(strategy, "adam:learning_rate=0.01", w.parameter, 3, &w.optimizer);
    f.arguments = arguments;
    f.argument_count = 2;
    f.output_count = 1;
    if (status == ARTEL_OK) status = artel_function_create(strategy, &f, trace, &w, &step);
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &loss};
    for (int i = 0; i < STEPS && status == ARTEL_OK; i++) status = artel_function_run(step, in, 2, &out, 1);
    for (int i = 0; i < 3 && status == ARTEL_OK; i++) status = artel_variable_read(w.parameter[i], &found[i], 1);
    if (status == ARTEL_OK) printf("%a triangle(%a x %+a): loss %.6f\n", found[0], found[1], found[2], loss);
    if (status == ARTEL_OK)
        printf("off by %.3f\n", fabs(found[0] - 1.5) + fabs(found[1] - 1.0) + fabs(found[2] - 0.25));
    return status;
}

int main(int argc, char **argv)
{
    static float x[ROWS], y[ROWS], shifted[ROWS];
    const float *input = shifted;
    for (int i = 0; i < ROWS; i++) {
        x[i] = (float)i / 25 - 4;
        shifted[i] = x[i] + 0.25f;
    }
    triangle(NULL, ROWS, 1, &input, y);
    for (int i = 0; i < ROWS; i++) y[i] *= 1.5f;
    artel_context *ctx = NULL;
    artel_strategy *strategy = NULL;
    artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
    options.strategy = argc > 1 ? argv[1] : NULL;
    options.replicas = argc > 2 ? atoi(argv[2]) : 0;
    options.batch_size = ROWS;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, x}, {ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, y}};
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &options, &strategy);
    if (status == ARTEL_OK) status = fit(strategy, in);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_strategy_destroy(strategy);
    artel_context_destroy(ctx);
    return status < 0;
}
