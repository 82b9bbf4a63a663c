/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of each example: training that no single row can steer, as differential privacy wants it (DP-SGD, Abadi and
 * others 2016).
 *
 *     per_example [STRATEGY [REPLICAS]]
 *
 * Weights are given to every row, and the gradient by rows of a loss by rows is one gradient for each example. Each is
 * cut to a norm of at most CLIP, gets noise, and only then is the mean of all taken. A few rows have wrong, enormous
 * labels: without the cut they would decide.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROWS = 96,
    STEPS = 150
};
#define CLIP 1.0
#define NOISE 0.05

typedef struct line {
    artel_variable *w, *b;
    bool cut;
} line;

static artel_value op(artel_graph *g, const char *name, artel_value a, artel_value b)
{
    return artel_graph_binary(g, name, a, b);
}

/* The norm of a gradient in two parts, by row. */
static artel_value norm(artel_graph *g, artel_value w, artel_value b)
{
    artel_value square = artel_graph_unary(g, "square", w),
                sum = artel_graph_op(g, "sum", &square, 1, "{\"axis\": -1}");
    return artel_graph_unary(g, "sqrt", op(g, "add", sum, artel_graph_unary(g, "square", b)));
}

static void descend(artel_graph *g, artel_variable *variable, artel_value by_row)
{
    artel_value mean = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, by_row), rate = artel_graph_number(g, 0.1);
    artel_graph_assign(g, variable,
                       op(g, "subtract", artel_graph_variable(g, variable), op(g, "multiply", mean, rate)));
}

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    line *l = user;
    artel_value zero = artel_graph_number(g, 0), rows[2], gradient[2];
    rows[0] = op(g, "add", op(g, "multiply", in[0], zero), artel_graph_variable(g, l->w)); /* of each row its own */
    rows[1] = op(g, "add", op(g, "multiply", in[1], zero), artel_graph_variable(g, l->b));
    artel_value product = op(g, "multiply", in[0], rows[0]),
                sum = artel_graph_op(g, "sum", &product, 1, "{\"axis\": -1}");
    artel_value error = artel_graph_unary(g, "square", op(g, "subtract", op(g, "add", sum, rows[1]), in[1]));
    artel_graph_gradients(g, error, rows, 2, gradient);
    artel_value length = norm(g, gradient[0], gradient[1]);
    if (l->cut) {
        artel_value most = artel_graph_number(g, CLIP), scale = op(g, "divide", most, op(g, "maximum", length, most)),
                    wide = scale;
        wide = artel_graph_op(g, "expand_dims", &wide, 1, "{\"axis\": -1}");
        artel_value noise_w = artel_graph_normal(g, in[0], &(artel_shape){1, {2}}, NOISE);
        artel_value noise_b = artel_graph_normal(g, in[1], &(artel_shape){0, {0}}, NOISE);
        gradient[0] = op(g, "add", op(g, "multiply", gradient[0], wide), noise_w);
        gradient[1] = op(g, "add", op(g, "multiply", gradient[1], scale), noise_b);
    }
    descend(g, l->w, gradient[0]);
    descend(g, l->b, gradient[1]);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, length);
    return artel_graph_status(g);
}

static artel_status train(artel_strategy *strategy, const artel_array *in, bool cut)
{
    const artel_argument arguments[2] = {{.name = "x", .shape = {1, {2}}}, {.name = "y"}};
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *step = NULL;
    float most = 0, w[2], b;
    line l = {.cut = cut};
    v.name = cut ? "cut w" : "w";
    v.shape = (artel_shape){1, {2}};
    artel_status status = artel_variable_create(strategy, &v, &l.w);
    v.name = cut ? "cut b" : "b";
    v.shape = (artel_shape){0, {0}};
    if (status == ARTEL_OK) status = artel_variable_create(strategy, &v, &l.b);
    f.arguments = arguments;
    f.argument_count = 2;
    f.output_count = 1;
    if (status == ARTEL_OK) status = artel_function_create(strategy, &f, trace, &l, &step);
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &most};
    const size_t in_bytes[2] = {ROWS * 2 * sizeof(float), ROWS * sizeof(float)}, out_bytes = sizeof most;
    artel_function_call call = ARTEL_FUNCTION_CALL_INIT; /* with the sizes of its memory, which are checked */
    call.inputs = in;
    call.input_bytes = in_bytes;
    call.input_count = 2;
    call.outputs = &out;
    call.output_bytes = &out_bytes;
    call.output_count = 1;
    for (int i = 0; i < STEPS && status == ARTEL_OK; i++) status = artel_function_run_checked(step, &call);
    if (status == ARTEL_OK) status = artel_variable_read(l.w, w, 2);
    if (status == ARTEL_OK) status = artel_variable_read(l.b, &b, 1);
    if (status == ARTEL_OK)
        printf("%s: y = %a x0 %+a x1 %+a, off by %.2f; the longest gradient is %.1f\n", cut ? "cut" : "plain", w[0],
               w[1], b, fabs(w[0] - 1.0) + fabs(w[1] + 2.0) + fabs(b - 0.5), most);
    return status;
}

int main(int argc, char **argv)
{
    static float x[ROWS][2], y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = (float)(i * 37 % 64) / 32 - 1;
        x[i][1] = (float)(i * 23 % 64) / 32 - 1;
        y[i] = i % 24 == 5 ? 40 : x[i][0] - 2 * x[i][1] + 0.5f;
    }
    artel_context *ctx = NULL;
    artel_strategy *strategy = NULL;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {ROWS, 2}}, x}, {ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, y}};
    artel_status status = artel_context_create(NULL, &ctx);
    for (int cut = 0; cut < 2 && status == ARTEL_OK; cut++) {
        artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
        options.strategy = argc > 1 ? argv[1] : NULL;
        options.replicas = argc > 2 ? atoi(argv[2]) : 0;
        options.batch_size = ROWS;
        status = artel_strategy_create(ctx, &options, &strategy);
        if (status == ARTEL_OK) status = train(strategy, in, cut);
        artel_strategy_destroy(strategy);
        strategy = NULL;
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_context_destroy(ctx);
    return status < 0;
}
