/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Gradients of gradients through models, losses and reductions: a loss, the slope of it by every pixel and by every
 * weight, squared and added, differentiated once more by the weights. Along its own direction that gradient must be
 * what differences of the value say; the bits are the same under every strategy. What has none is named. */
#include "api/help_api.h"

#include <math.h>

#include "artel/strategy.h"

enum {
    ROWS = 6,
    PIXELS = 6 * 6 * 2,
    CLASSES = 3,
    MOST = 16,
    WEIGHTS = 4096
};

typedef struct plan {
    artel_model *model;
    const char *loss, *activation;
    artel_variable *const *variable;
    int count;
} plan;

static artel_model *convolutions(artel_context *ctx, const char *activation)
{
    artel_builder *b;
    artel_model *model;
    api_ok(ctx, artel_sequential_create(ctx, "net", ARTEL_DTYPE_FLOAT32, &(artel_shape){3, {6, 6, 2}}, &b));
    artel_layer_conv2d(b, &(artel_conv2d_options){.filters = 4, .kernel = {3, 3}, .activation = "tanh"});
    artel_layer_conv2d(
        b, &(artel_conv2d_options){.filters = 4, .kernel = {3, 3}, .padding = "same", .strides = {2, 2}, .groups = 2});
    artel_layer_depthwise_conv2d(b, &(artel_conv2d_options){.kernel = {2, 2}, .activation = "softplus"});
    artel_layer_flatten(b, NULL);
    artel_layer_dense(b, &(artel_dense_options){.units = 9, .activation = activation});
    artel_layer_dense(b, &(artel_dense_options){.units = CLASSES});
    api_ok(ctx, artel_sequential_finish(b, &model));
    api_ok(ctx, artel_model_initialise(model, 3));
    return model;
}

static artel_value add(artel_graph *g, artel_value a, artel_value b)
{
    return artel_graph_binary(g, "add", a, b);
}

static artel_value sum_of_squares(artel_graph *g, artel_value x, bool rows)
{
    artel_value square = artel_graph_unary(g, "square", x);
    return rows ? artel_graph_op(g, "sum", &square, 1, "{\"axis\": [1, 2, 3]}") : artel_graph_unary(g, "sum", square);
}

/* Outputs: the value, and its gradient by each variable. */
static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    plan *p = user;
    artel_value prediction, wanted[MOST + 1], slope[MOST + 1];
    artel_graph_call(g, p->model, &in[0], 1, &prediction, 1);
    artel_value target = in[1];
    if (strncmp(p->loss, "circle", 6) == 0) { /* two classes of directions */
        target = artel_graph_op(g, "slice", &in[1], 1, "{\"start_indices\": [0, 0], \"shape\": [-1, 1]}");
        prediction = artel_graph_op(g, "normalize", &prediction, 1, "{\"axis\": 1}");
    }
    artel_value by_row = artel_graph_loss(g, p->loss, target, prediction);
    artel_value loss = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, by_row);
    for (int i = 0; i < p->count; i++) wanted[i] = artel_graph_variable(g, p->variable[i]);
    wanted[p->count] = in[0];
    artel_graph_gradients(g, loss, wanted, p->count + 1, slope);
    artel_value total =
        add(g, loss, artel_graph_reduce(g, ARTEL_REDUCTION_SUM, sum_of_squares(g, slope[p->count], true)));
    for (int i = 0; i < p->count; i++) total = add(g, total, sum_of_squares(g, slope[i], false));
    out[0] = total;
    return artel_graph_gradients(g, total, wanted, p->count, &out[1]);
}

typedef struct run {
    artel_strategy *strategy;
    artel_function *function;
    plan plan;
    float x[ROWS * PIXELS], y[ROWS * CLASSES];
    float value, gradient[MOST][WEIGHTS], weight[MOST][WEIGHTS];
    int64_t size[MOST];
} run;

static void step(artel_context *ctx, run *r)
{
    artel_array out[MOST + 1] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = &r->value}};
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {4, {ROWS, 6, 6, 2}}, r->x},
                               {ARTEL_DTYPE_FLOAT32, {2, {ROWS, CLASSES}}, r->y}};
    for (int i = 0; i < r->plan.count; i++)
        out[i + 1] = (artel_array){.dtype = ARTEL_DTYPE_FLOAT32, .data = r->gradient[i]};
    api_ok(ctx, artel_function_run(r->function, in, 2, out, r->plan.count + 1));
}

static void open_run(artel_context *ctx, run *r, const plan *p, int replicas)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument arguments[2] = {{.name = "x", .shape = {3, {6, 6, 2}}},
                                         {.name = "y", .shape = {1, {CLASSES}}}};
    o.strategy = replicas > 1 ? "mirrored" : "one-device";
    o.replicas = o.threads = replicas;
    o.batch_size = 8;
    api_ok(ctx, artel_strategy_create(ctx, &o, &r->strategy));
    r->plan = *p;
    r->plan.model = convolutions(ctx, p->activation);
    api_ok(ctx, artel_strategy_add_model(r->strategy, r->plan.model));
    api_ok(ctx, artel_strategy_variables(r->strategy, r->plan.model, false, &r->plan.variable, &r->plan.count));
    assert_int_equal(r->plan.count, 10);
    f.arguments = arguments;
    f.argument_count = 2;
    f.output_count = r->plan.count + 1;
    api_ok(ctx, artel_function_create(r->strategy, &f, trace, &r->plan, &r->function));
    for (int i = 0; i < ROWS * PIXELS; i++) r->x[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < ROWS * CLASSES; i++) r->y[i] = i % CLASSES == i / CLASSES % CLASSES;
    for (int i = 0; i < r->plan.count; i++) {
        artel_shape shape;
        api_ok(ctx, artel_variable_shape(r->plan.variable[i], &shape));
        r->size[i] = artel_shape_count(&shape);
        assert_true(r->size[i] <= WEIGHTS);
    }
    step(ctx, r);
}

static void close_run(run *r)
{
    artel_strategy_destroy(r->strategy);
    artel_model_destroy(r->plan.model);
}

/* The value at the weights plus `length` times the direction of the gradient, whose norm is given. */
static double value_at(artel_context *ctx, run *r, const float (*direction)[WEIGHTS], double length)
{
    float moved[WEIGHTS];
    for (int i = 0; i < r->plan.count; i++) {
        for (int64_t k = 0; k < r->size[i]; k++) moved[k] = (float)(r->weight[i][k] + length * direction[i][k]);
        api_ok(ctx, artel_variable_assign(r->plan.variable[i], moved, r->size[i]));
    }
    step(ctx, r);
    return r->value;
}

static void check_slope(artel_context *ctx, run *r)
{
    float(*direction)[WEIGHTS] = malloc(sizeof r->gradient);
    double norm = 0;
    for (int i = 0; i < r->plan.count; i++) {
        api_ok(ctx, artel_variable_read(r->plan.variable[i], r->weight[i], r->size[i]));
        for (int64_t k = 0; k < r->size[i]; k++) norm += (double)r->gradient[i][k] * r->gradient[i][k];
    }
    norm = sqrt(norm);
    for (int i = 0; i < r->plan.count; i++) {
        for (int64_t k = 0; k < r->size[i]; k++) direction[i][k] = (float)(r->gradient[i][k] / norm);
    }
    double h = 4e-3, above = value_at(ctx, r, (const float(*)[WEIGHTS])direction, h);
    double below = value_at(ctx, r, (const float(*)[WEIGHTS])direction, -h), slope = (above - below) / (2 * h);
    if (fabs(slope - norm) > 5e-3 * norm)
        fail_msg("%s, %s: differences say %g, the gradient %g", r->plan.loss, r->plan.activation, slope, norm);
    free(direction);
}

static void test_second_order(void **state)
{
    (void)state;
    static const plan plans[] = {{.loss = "mean_squared_error", .activation = "tanh_shrink"},
                                 {.loss = "categorical_crossentropy:from_logits=true", .activation = "mish"},
                                 {.loss = "log_cosh", .activation = "silu"},
                                 {.loss = "huber", .activation = "gelu"},
                                 {.loss = "binary_crossentropy:from_logits=true", .activation = "log_sigmoid"},
                                 {.loss = "circle:gamma=2", .activation = "tanh"}};
    run *one = calloc(1, sizeof *one), *three = calloc(1, sizeof *three);
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
        artel_context *ctx = api_context();
        open_run(ctx, one, &plans[p], 1);
        open_run(ctx, three, &plans[p], 3);
        assert_memory_equal(&one->value, &three->value, sizeof one->value);
        assert_memory_equal(one->gradient, three->gradient, sizeof one->gradient);
        check_slope(ctx, one);
        close_run(one);
        close_run(three);
        artel_context_destroy(ctx);
    }
    free(one);
    free(three);
}

/* -- what is written out place by place, or step by step, has a most -- */

typedef struct limit {
    const char *settings; /* of a pool; NULL: a recurrent layer, or CTC */
    bool ctc;
    artel_shape shape;
    const char *refusal; /* NULL: it is within */
    artel_model *model;
} limit;

static artel_status trace_limit(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    limit *l = user;
    artel_value y, first;
    if (l->settings)
        y = artel_graph_op(g, "max_pool", in, 1, l->settings);
    else if (l->ctc)
        y = artel_graph_loss(g, "ctc", in[1], in[0]);
    else
        artel_graph_call(g, l->model, in, 1, &y, 1);
    artel_graph_gradients(g, artel_graph_unary(g, "square", y), in, 1, &first);
    return artel_graph_gradients(g, first, in, 1, out);
}

static void check_limit(limit *l)
{
    artel_context *ctx = api_context();
    artel_strategy *s;
    artel_function *f;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument arguments[2] = {{.name = "x", .shape = l->shape},
                                         {.name = "y", .dtype = ARTEL_DTYPE_INT32, .shape = {1, {2}}}};
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    if (!l->settings && !l->ctc) {
        artel_builder *b;
        api_ok(ctx, artel_sequential_create(ctx, "long", ARTEL_DTYPE_FLOAT32, &l->shape, &b));
        artel_layer_simple_rnn(b, &(artel_recurrent_options){.units = 1});
        api_ok(ctx, artel_sequential_finish(b, &l->model));
        api_ok(ctx, artel_strategy_add_model(s, l->model));
    }
    artel_status status = artel_function_create(s, &o, trace_limit, l, &f);
    assert_int_equal(status, l->refusal ? ARTEL_ERROR_UNSUPPORTED : ARTEL_OK);
    if (l->refusal && !strstr(artel_context_error(ctx)->what, l->refusal))
        fail_msg("%s", artel_context_error(ctx)->what);
    artel_strategy_destroy(s);
    artel_model_destroy(l->model);
    artel_context_destroy(ctx);
}

static void test_limits(void **state)
{
    (void)state;
    limit limits[] = {
        {.settings = "{\"pool_size\": [64, 64], \"strides\": 8}", .shape = {3, {72, 64, 1}}},
        {.settings = "{\"pool_size\": [64, 65], \"strides\": 8}",
         .shape = {3, {72, 72, 1}},
         .refusal = "maxima of windows of more than 4,096 places has no gradient"},
        {.shape = {2, {4097, 1}}, .refusal = "a recurrent cell of more than 4,096 steps has no gradient"},
        {.ctc = true, .shape = {2, {4097, 3}}, .refusal = "an alignment (CTC) of more than 4,096 steps"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) check_limit(&limits[i]);
}

/* Rows of a Jacobian and of a Hessian of y[k] = x[k] tanh(x[0] + 2 x[1]), an element at a time, and all of them. */
static artel_status trace_matrices(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value weighted =
        artel_graph_op(g, "multiply",
                       (artel_value[]){in[0], artel_graph_constant(g, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {2}},
                                                                   (const float[]){1, 2})},
                       2, NULL);
    artel_value inner = artel_graph_op(g, "sum", &weighted, 1, "{\"axis\": 1, \"keepdims\": true}");
    artel_value y = artel_graph_binary(g, "multiply", in[0], artel_graph_unary(g, "tanh", inner));
    for (int k = 0; k < 2; k++) {
        const char *text =
            k ? "{\"start_indices\": [0, 1], \"shape\": [-1, 1]}" : "{\"start_indices\": [0, 0], \"shape\": [-1, 1]}";
        artel_value element = artel_graph_op(g, "slice", &y, 1, text), row;
        artel_graph_gradients(g, element, in, 1, &out[k]);
        row = artel_graph_op(g, "slice", &out[k], 1, text);
        artel_graph_gradients(g, row, in, 1, &out[2 + k]);
    }
    artel_graph_jacobians(g, y, in, 1, &out[4]);
    return artel_graph_jacobians(g, out[4], in, 1, &out[5]);
}

static void test_matrices(void **state)
{
    (void)state;
    enum {
        POINTS = 3
    };
    const float x[POINTS][2] = {{0.3f, -0.4f}, {0.1f, 0.2f}, {-0.6f, 0.1f}};
    float found[4][POINTS][2], whole[POINTS][2][2], bent[POINTS][2][2][2];
    artel_context *ctx = api_context();
    artel_strategy *s;
    artel_function *f;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument argument = {.name = "x", .shape = {1, {2}}};
    artel_array out[6] = {
        [4] = {.dtype = ARTEL_DTYPE_FLOAT32, .data = whole}, [5] = {.dtype = ARTEL_DTYPE_FLOAT32, .data = bent}};
    o.arguments = &argument;
    o.argument_count = 1;
    o.output_count = 6;
    for (int k = 0; k < 4; k++) out[k] = (artel_array){.dtype = ARTEL_DTYPE_FLOAT32, .data = found[k]};
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    api_ok(ctx, artel_function_create(s, &o, trace_matrices, NULL, &f));
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {POINTS, 2}}, (void *)x};
    api_ok(ctx, artel_function_run(f, &in, 1, out, 6));
    for (int i = 0; i < POINTS; i++) {
        double t = tanh((double)x[i][0] + 2 * (double)x[i][1]), bend = 1 - t * t;
        for (int k = 0; k < 2; k++) {
            double own = k + 1, of = x[i][k];
            assert_memory_equal(whole[i][k], found[k][i], sizeof whole[i][k]);
            assert_memory_equal(bent[i][k][k], found[2 + k][i], sizeof bent[i][k][k]);
            for (int j = 0; j < 2; j++) {
                double by = j + 1, slope = of * bend * by + (j == k ? t : 0);
                double second = bend * by - 2 * t * bend * of * own * by + (j == k ? bend * own : 0);
                assert_float_equal(found[k][i][j], slope, 1e-6);
                assert_float_equal(found[2 + k][i][j], second, 1e-6);
            }
        }
    }
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

static artel_status trace_shared(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value y = artel_graph_binary(g, "multiply", in[0], in[1]);
    return artel_graph_jacobians(g, y, &in[1], 1, out);
}

/* One matrix for all rows there is not. */
static void test_jacobian_by_shared(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    artel_strategy *s;
    artel_function *f;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument arguments[2] = {{.name = "x", .shape = {1, {2}}},
                                         {.name = "w", .shared = true, .shape = {1, {2}}}};
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    assert_int_equal(artel_function_create(s, &o, trace_shared, NULL, &f), ARTEL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(artel_context_error(ctx)->what, "by row, and what it is differentiated by is shared"));
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

static artel_status trace_long(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value square = artel_graph_unary(g, "square", in[0]), w = artel_graph_variable(g, user);
    artel_value y = artel_graph_op(g, "sum", &square, 1, "{\"axis\": [1, 2, 3, 4, 5, 6, 7]}");
    artel_graph_jacobians(g, y, in, 1, &out[0]);
    return artel_graph_jacobians(g, artel_graph_unary(g, "sum", artel_graph_unary(g, "square", w)), &w, 1, &out[1]);
}

/* Of one number, by row and not, by as many axes as there may be. */
static void test_jacobian_by_all_axes(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    artel_strategy *s;
    artel_variable *w;
    artel_function *f;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    const artel_shape whole = {8, {1, 1, 2, 1, 1, 1, 2, 1}};
    const artel_argument argument = {.name = "x", .shape = {7, {1, 2, 1, 1, 1, 2, 1}}};
    float x[4] = {1, -2, 3, 0}, found[2][4];
    const artel_array in = {ARTEL_DTYPE_FLOAT32, whole, x};
    artel_array out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = found[0]},
                          {.dtype = ARTEL_DTYPE_FLOAT32, .data = found[1]}};
    v.name = "w";
    v.shape = whole;
    v.initial = x;
    o.arguments = &argument;
    o.argument_count = 1;
    o.output_count = 2;
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    api_ok(ctx, artel_variable_create(s, &v, &w));
    api_ok(ctx, artel_function_create(s, &o, trace_long, w, &f));
    api_ok(ctx, artel_function_run(f, &in, 1, out, 2));
    for (int i = 0; i < 8; i++) assert_true(found[i / 4][i % 4] == 2 * x[i % 4]);
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jacobian_by_shared),
                                       cmocka_unit_test(test_jacobian_by_all_axes), cmocka_unit_test(test_second_order),
                                       cmocka_unit_test(test_limits), cmocka_unit_test(test_matrices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
