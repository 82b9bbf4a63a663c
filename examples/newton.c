/* SPDX-License-Identifier: Apache-2.0 */
/* Newton's method for many problems at once: gradients of gradients in a loop that each row leaves when it is done.
 *
 *     newton [STRATEGY [REPLICAS]]
 *
 * Row r asks for the x with the least log cosh(x - a) + b x^4 / 4, a and b being its own. A step is x - f' / f'', and
 * both come from artel_graph_gradients(). A row goes round until |f'| is small. Prints x, f' and the rounds of some
 * rows; the text is the same under every strategy, to the bit.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROWS = 64,
    MOST = 40
};

static artel_value op(artel_graph *g, const char *name, artel_value a, artel_value b)
{
    return artel_graph_binary(g, name, a, b);
}

/* log cosh(z) = softplus(2 z) - z - log 2 */
static artel_value objective(artel_graph *g, artel_value x, artel_value a, artel_value b)
{
    artel_value z = op(g, "subtract", x, a), fourth = artel_graph_unary(g, "square", artel_graph_unary(g, "square", x));
    artel_value cosh =
        op(g, "subtract", artel_graph_unary(g, "softplus", op(g, "multiply", z, artel_graph_number(g, 2))), z);
    return op(g, "add", cosh, op(g, "multiply", op(g, "multiply", b, fourth), artel_graph_number(g, 0.25)));
}

/* The state: x, a, b, f' there, rounds. */
static artel_status is_steep(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = op(g, "greater", artel_graph_unary(g, "absolute", in[3]), artel_graph_number(g, 1e-6));
    return artel_graph_status(g);
}

static artel_status step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value first, second;
    (void)user;
    artel_graph_gradients(g, objective(g, in[0], in[1], in[2]), in, 1, &first);
    artel_graph_gradients(g, first, in, 1, &second);
    out[0] = op(g, "subtract", in[0], op(g, "divide", first, second));
    out[1] = in[1];
    out[2] = in[2];
    artel_graph_gradients(g, objective(g, out[0], in[1], in[2]), out, 1, &out[3]);
    out[4] = op(g, "add", in[4], artel_graph_number(g, 1));
    return artel_graph_status(g);
}

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value state[5] = {in[0], in[0], in[1], artel_graph_unary(g, "ones_like", in[0]), artel_graph_number(g, 0)};
    const artel_loop loop = {
        .struct_size = sizeof loop, .condition = is_steep, .body = step, .state_count = 5, .most = MOST};
    artel_graph_loop(g, &loop, state);
    out[0] = state[0];
    out[1] = state[3];
    out[2] = state[4];
    out[3] = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, state[4]);
    return artel_graph_status(g);
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    artel_strategy *strategy = NULL;
    artel_function *function = NULL;
    float a[ROWS], b[ROWS], x[ROWS], slope[ROWS], rounds[ROWS], most = 0;
    for (int r = 0; r < ROWS; r++) {
        a[r] = (float)(r % 16) / 16 - 0.5f;
        b[r] = (float)(r / 16 + 1) / 2;
    }
    artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
    options.strategy = argc > 1 ? argv[1] : "one-device";
    options.replicas = argc > 2 ? atoi(argv[2]) : 0;
    options.batch_size = ROWS;
    const artel_argument arguments[2] = {{.name = "a"}, {.name = "b"}}; /* one number a row */
    artel_function_options traced = ARTEL_FUNCTION_OPTIONS_INIT;
    traced.arguments = arguments;
    traced.argument_count = 2;
    traced.output_count = 4;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, a}, {ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, b}};
    artel_array out[4] = {{.data = x}, {.data = slope}, {.data = rounds}, {.data = &most}};
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &options, &strategy);
    if (status == ARTEL_OK) status = artel_function_create(strategy, &traced, trace, NULL, &function);
    if (status == ARTEL_OK) status = artel_function_run(function, in, 2, out, 4);
    if (status < 0) {
        const artel_error *error = artel_context_error(ctx);
        fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    }
    int left = 0;
    for (int r = 0; status == ARTEL_OK && r < ROWS; r++) {
        if (r % 9 == 0)
            printf("a = %.4f, b = %.1f: x = %a, f' = %.1e after %d rounds\n", a[r], b[r], x[r], slope[r],
                   (int)rounds[r]);
        left += !(fabsf(slope[r]) <= 1e-6f);
    }
    if (status == ARTEL_OK) printf("%d rounds at most, %d rows are not there\n", (int)most, left);
    artel_strategy_destroy(strategy);
    artel_context_destroy(ctx);
    return status < 0 || left > 0;
}
