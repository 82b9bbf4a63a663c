/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays without a graph in sight: the leading eigenvector of a covariance matrix, twice.
 *
 *     eager [ROWS]
 *
 * Part one repeats v = C v / |C v|, operation by operation. Part two climbs v' C v / v' v by its gradient; a step is
 * one function, which is traced once. Both print the eigenvalue; they agree to four digits, or the program fails.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WIDTH = 6
};

static artel_context *ctx;
static artel_eager *eager;

static void check(artel_status status)
{
    if (status >= 0) return;
    const artel_error *error = artel_context_error(ctx);
    fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    exit(1);
}

static artel_ndarray *op(const char *name, artel_ndarray *a, artel_ndarray *b)
{
    artel_ndarray *out;
    artel_ndarray *const both[2] = {a, b};
    check(artel_eager_op(eager, name, both, b ? 2 : 1, NULL, &out));
    return out;
}

static artel_ndarray *op_of_temporary(const char *name, artel_ndarray *a, artel_ndarray *temporary)
{
    artel_ndarray *out = op(name, a, temporary);
    artel_ndarray_release(temporary);
    return out;
}

/* Rows whose columns are more spread out the further right, minus their mean: X' X / rows. */
static artel_ndarray *covariance(int64_t rows)
{
    artel_ndarray *x, *turned, *scale, *mean;
    float spread[WIDTH];
    const artel_shape width = {1, {WIDTH}};
    for (int i = 0; i < WIDTH; i++) spread[i] = (float)(i + 1);
    check(artel_ndarray_normal(eager, &(artel_shape){2, {rows, WIDTH}}, 1, 1, &x));
    check(artel_ndarray_create(eager, ARTEL_DTYPE_FLOAT32, &width, spread, &scale));
    x = op_of_temporary("multiply", scale, x);
    check(artel_eager_op(eager, "mean", &x, 1, "{\"axis\": 0}", &mean));
    artel_ndarray *centred = op("subtract", x, mean);
    check(artel_ndarray_transpose(centred, NULL, &turned)); /* a view: nothing is copied */
    artel_ndarray *products = op("matmul", turned, centred), *count;
    check(artel_ndarray_full(eager, ARTEL_DTYPE_FLOAT32, &(artel_shape){0}, (double)rows, &count));
    artel_ndarray *c = op_of_temporary("divide", products, count);
    artel_ndarray *const done[] = {x, mean, scale, centred, turned, products};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) artel_ndarray_release(done[i]);
    return c;
}

static float number(artel_ndarray *scalar)
{
    float value;
    check(artel_ndarray_read(scalar, ARTEL_DTYPE_FLOAT32, &value, 1));
    artel_ndarray_release(scalar);
    return value;
}

/* v' C v / v' v, and the next v: a step along its gradient, of length 1 again. */
static artel_status trace_climb(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value cv = artel_graph_binary(g, "matmul", in[0], in[1]);
    artel_value above = artel_graph_binary(g, "dot", in[1], cv), below = artel_graph_binary(g, "dot", in[1], in[1]);
    out[0] = artel_graph_binary(g, "divide", above, below);
    artel_value slope, next;
    artel_graph_gradients(g, out[0], &in[1], 1, &slope);
    next = artel_graph_binary(g, "add", in[1], artel_graph_binary(g, "multiply", slope, artel_graph_number(g, 0.01)));
    out[1] = artel_graph_binary(g, "divide", next, artel_graph_unary(g, "norm", next));
    return artel_graph_status(g);
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? atoll(argv[1]) : 1000;
    artel_ndarray *v, *out[2];
    artel_eager_function *climb;
    if (artel_context_create(NULL, &ctx) < 0) return fprintf(stderr, "%s\n", artel_context_error(NULL)->what), 1;
    check(artel_eager_create(ctx, NULL, &eager));
    artel_ndarray *c = covariance(rows);

    check(artel_ndarray_full(eager, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, 1, &v));
    float length = 0;
    for (int i = 0; i < 200; i++) {
        v = op_of_temporary("matmul", c, v);
        artel_ndarray *norm = op("norm", v, NULL), *unit = op("divide", v, norm);
        length = number(norm);
        artel_ndarray_release(v);
        v = unit;
    }
    printf("by powers: %.4f\n", length);

    check(artel_eager_function_create(eager, "climb", trace_climb, NULL, 2, &climb));
    check(artel_ndarray_full(eager, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, 1, &v));
    float value = 0;
    for (int i = 0; i < 200; i++) {
        artel_ndarray *const in[2] = {c, v};
        check(artel_eager_call(climb, in, 2, out, 2));
        value = number(out[0]);
        artel_ndarray_release(v);
        v = out[1];
    }
    printf("by its gradient: %.4f, after %lld functions were traced\n", value, (long long)artel_eager_functions(eager));
    artel_eager_destroy(eager); /* with all arrays */
    artel_context_destroy(ctx);
    return fabsf(value - length) > 1e-4f * length;
}
