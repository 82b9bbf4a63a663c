/* SPDX-License-Identifier: Apache-2.0 */
/* For test_saved.py: functions of all kinds are made, run, saved and run on; or loaded and run on. Prints what they
 * give, to the bit.
 *
 *   prog_saved save FILE           makes everything, runs, saves, runs on
 *   prog_saved load FILE [S] [N]   loads it under strategy S with N replicas, runs on
 *   prog_saved together FILE       loads it among the tasks of a cluster, runs on
 *   prog_saved resave FILE TO      loads and saves again
 *   prog_saved cut FILE            like save, but saves what "predict" needs alone
 *   prog_saved try FILE...         loads each, runs all that it gets; one line each */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <artel/artel.h>

enum {
    BATCH = 12,
    WIDTH = 4
};

static artel_context *ctx;
static artel_strategy *strategy;
static artel_model *model;
static artel_variable *total, *counts, *rows_seen; /* the last is on_read */
static artel_optimizer *optimizer;
static artel_metric *distance; /* its accumulators are a variable */
static artel_cluster *cluster;
static uint64_t seen_in[8]; /* by round */

static void must(artel_status status, const char *what)
{
    if (status == ARTEL_OK) return;
    const artel_error *e = artel_context_error(ctx);
    printf("%s: %d: %s: %s; %s\n", what, (int)status, e->where, e->what, e->advice);
    exit(1);
}

/* -- an operation of this program: the cube -- */

static artel_status infer_cube(void *user, const artel_shape *inputs, int count, artel_shape *output)
{
    (void)user, (void)count;
    *output = inputs[0];
    return ARTEL_OK;
}

static void compute_cube(void *user, int64_t rows, int64_t row, const float *const *inputs, float *output)
{
    (void)user;
    for (int64_t i = 0; i < rows * row; i++) output[i] = inputs[0][i] * inputs[0][i] * inputs[0][i];
}

static artel_status gradient_cube(void *user, artel_graph *g, const artel_value *in, int count, artel_value out,
                                  artel_value dy, artel_value *dx)
{
    (void)user, (void)count, (void)out;
    artel_value slope =
        artel_graph_binary(g, "multiply", artel_graph_number(g, 3), artel_graph_unary(g, "square", in[0]));
    dx[0] = artel_graph_binary(g, "multiply", dy, slope);
    return artel_graph_status(g);
}

static const artel_operation cube = {sizeof cube, "cube", infer_cube, compute_cube, gradient_cube, NULL};

/* -- functions -- */

/* A step of Adam on the model, with dropout and moving statistics, penalties, a mask and a scaled loss. */
static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_variable *const *variables;
    artel_value y, wanted[16], gradient[16];
    int count;
    (void)user;
    artel_graph_call(g, model, in, 1, &y, 1);
    artel_value loss = artel_graph_loss(g, "mse", in[1], y), mask = artel_graph_mask(g, y);
    loss = artel_graph_binary(g, "multiply", loss, artel_graph_op(g, "cast", &mask, 1, "{\"dtype\": \"float32\"}"));
    loss = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, loss);
    out[0] = artel_graph_binary(g, "add", loss, artel_graph_model_losses(g, model));
    must(artel_strategy_variables(strategy, model, false, &variables, &count), "variables");
    for (int i = 0; i < count; i++) wanted[i] = artel_graph_variable(g, variables[i]);
    artel_graph_gradients(g, artel_graph_scale_loss(g, optimizer, out[0]), wanted, count, gradient);
    artel_graph_apply(g, optimizer, gradient, count);
    artel_value old = artel_graph_variable(g, total);
    artel_graph_assign(g, total, artel_graph_binary(g, "add", old, out[0]));
    artel_graph_update_metric(g, distance, in[1], y, ARTEL_NO_VALUE);
    return artel_graph_status(g);
}

static artel_status trace_predict(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    return artel_graph_call(g, model, in, 1, out, 1);
}

static artel_status negative(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)in;
    out[0] = artel_graph_unary(g, "negative", *(artel_value *)user);
    return artel_graph_status(g);
}

static artel_status itself(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)in;
    out[0] = artel_graph_op(g, "clip", user, 1, "{\"x_min\": -1, \"x_max\": 2}");
    return artel_graph_status(g);
}

static artel_status below(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_binary(g, "less", in[0], artel_graph_number(g, 20));
    return artel_graph_status(g);
}

static artel_status twice(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_binary(g, "add", in[0], in[0]);
    out[1] = artel_graph_binary(g, "add", in[1], artel_graph_number(g, 1));
    return artel_graph_status(g);
}

static artel_status running(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_binary(g, "add", artel_graph_binary(g, "multiply", in[0], artel_graph_number(g, 0.5)), in[1]);
    out[1] = artel_graph_unary(g, "tanh", out[0]);
    return artel_graph_status(g);
}

/* Everything else that a graph may be asked for. */
static artel_status trace_rest(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    static const int32_t whole[WIDTH] = {2, 0, -3, 1};
    static const uint8_t some[WIDTH] = {1, 0, 0, 1};
    artel_shape width = {1, {WIDTH}};
    artel_value parts[2], x = in[0], sum = artel_graph_op(g, "sum", in, 1, "{\"axis\": 1}");
    (void)user;
    artel_value added = artel_graph_binary(g, "add", x, artel_graph_constant(g, ARTEL_DTYPE_INT32, &width, whole));
    const artel_value chosen[3] = {artel_graph_constant(g, ARTEL_DTYPE_BOOL, &width, some), x, added};
    out[0] = artel_graph_op(g, "where", chosen, 3, NULL);
    artel_graph_op_all(g, "split", &x, 1, "{\"args\": [2], \"axis\": 1}", parts, 2);
    out[1] = artel_graph_binary(g, "maximum", parts[0], parts[1]);
    artel_value zero = artel_graph_number(g, 0), positive = artel_graph_binary(g, "greater", sum, zero);
    artel_graph_choose(g, &(artel_choice){sizeof(artel_choice), positive, itself, negative, &x, NULL, 1}, &out[2]);
    artel_value state[2] = {artel_graph_unary(g, "abs", sum), artel_graph_op(g, "zeros_like", &sum, 1, NULL)};
    artel_graph_loop(g, &(artel_loop){sizeof(artel_loop), below, twice, NULL, 2, 5}, state);
    out[3] = state[1];
    artel_value sequence = artel_graph_op(g, "reshape", &x, 1, "{\"newshape\": [-1, 2, 2]}"),
                carry = artel_graph_op(g, "zeros_like", &parts[0], 1, NULL);
    artel_graph_scan(g, &(artel_scan){sizeof(artel_scan), running, NULL, &sequence, 1, 1, 1, 1, true}, &carry, &out[4]);
    artel_value cubes = artel_graph_custom(g, &cube, &x, 1), slope[1];
    artel_graph_gradients(g, cubes, &x, 1, slope);
    artel_graph_gradients(g, artel_graph_unary(g, "square", slope[0]), &x, 1, &out[5]);
    artel_value noise = artel_graph_normal(g, x, &width, 0.25), even = artel_graph_uniform(g, x, &width, -1, 1, true);
    out[6] = artel_graph_dropout(g, artel_graph_binary(g, "add", noise, even), 0.25);
    out[7] = artel_graph_reduce(g, ARTEL_REDUCTION_MIN, artel_graph_binary(g, "multiply", x, in[1]));
    artel_value all = artel_graph_gather(g, artel_graph_op(g, "sum", &sequence, 1, "{\"axis\": 1}"));
    artel_value pair = artel_graph_op(g, "sum", &all, 1, "{\"axis\": 0}");
    artel_graph_assign(g, counts,
                       artel_graph_binary(g, "add", artel_graph_reduce(g, ARTEL_REDUCTION_SUM, x),
                                          artel_graph_op(g, "tile", &pair, 1, "{\"repeats\": 2}")));
    artel_graph_assign_add(g, rows_seen, artel_graph_op(g, "ones_like", &x, 1, NULL));
    return artel_graph_status(g);
}

/* -- making -- */

static artel_function *make(const char *name, artel_trace_fn *trace, const artel_argument *second, int outputs,
                            bool training)
{
    artel_argument arguments[2] = {{.name = "x", .shape = {1, {WIDTH}}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *f;
    if (second) arguments[1] = *second;
    o.name = name;
    o.arguments = arguments;
    o.argument_count = second ? 2 : 1;
    o.output_count = outputs;
    o.training = training;
    must(artel_function_create(strategy, &o, trace, NULL, &f), name);
    return f;
}

static void make_model(void)
{
    artel_builder *b;
    must(artel_sequential_create(ctx, "net", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, &b), "sequential");
    artel_layer_add(b, "Masking", "{\"mask_value\": 0.0}");
    artel_layer_dense(b, &(artel_dense_options){.units = 6, .activation = "gelu", .kernel_regularizer = "l2"});
    artel_layer_batch_normalization(b, NULL);
    artel_layer_dropout(b, &(artel_dropout_options){.rate = 0.3});
    artel_layer_dense(b, &(artel_dense_options){.units = WIDTH});
    must(artel_sequential_finish(b, &model), "model");
    must(artel_model_initialise(model, 5), "weights");
    must(artel_strategy_add_model(strategy, model), "add");
}

static void make_all(void)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *const *variables;
    const double start = 0.1;
    int count;
    o.batch_size = BATCH;
    o.seed = UINT64_MAX - 6;
    o.strategy = "one-device";
    must(artel_strategy_create(ctx, &o, &strategy), "strategy");
    v.name = "unused";
    must(artel_variable_create(strategy, &v, &total), "variable");
    v.name = "total";
    v.dtype = ARTEL_DTYPE_FLOAT64;
    v.initial = &start;
    must(artel_variable_create(strategy, &v, &total), "variable");
    make_model();
    v.name = "counts";
    v.dtype = ARTEL_DTYPE_FLOAT32;
    v.shape = (artel_shape){1, {WIDTH}};
    v.initial = NULL;
    must(artel_variable_create(strategy, &v, &counts), "variable");
    v.name = "rows";
    v.synchronization = "on_read";
    v.aggregation = "sum";
    must(artel_variable_create(strategy, &v, &rows_seen), "variable");
    must(artel_strategy_variables(strategy, model, false, &variables, &count), "variables");
    must(artel_optimizer_create(strategy, "adam:learning_rate=0.02,loss_scale_factor=8", variables, count, &optimizer),
         "optimizer");
    must(artel_metric_create(strategy, "mae", &(artel_shape){1, {WIDTH}}, &distance), "metric");
    const artel_argument rows = {.name = "y", .shape = {1, {WIDTH}}}, shared = {.name = "scale", .shared = true};
    make("step", trace_step, &rows, 1, true);
    make("predict", trace_predict, NULL, 1, false);
    make("rest", trace_rest, &shared, 8, true);
}

/* -- running: each function with rows that are numbers of the argument's own, what it gives as a sum over the bits --
 */

static artel_status run_one(artel_function *f, int round, int rows, uint64_t *seen)
{
    static float in[4][65536], out[16][65536];
    static artel_string texts[16384];
    artel_array inputs[4], outputs[16];
    int arguments = artel_function_arguments(f), count = artel_function_outputs(f);
    if (arguments > 4 || count > 16) return ARTEL_ERROR_INVALID;
    for (int i = 0; i < arguments; i++) {
        artel_argument a;
        must(artel_function_argument(f, i, &a), "argument");
        bool text = a.dtype == ARTEL_DTYPE_STRING;
        inputs[i] = (artel_array){text ? a.dtype : ARTEL_DTYPE_FLOAT32, a.shape, text ? (void *)texts : in[i]};
        if (!a.shared) {
            memmove(&inputs[i].shape.dim[1], inputs[i].shape.dim, sizeof a.shape.dim - sizeof a.shape.dim[0]);
            inputs[i].shape.dim[0] = rows;
            inputs[i].shape.rank++;
        }
        int64_t elements = artel_shape_count(&inputs[i].shape);
        if (elements > (text ? 16384 : 65536)) return ARTEL_ERROR_INVALID;
        for (int64_t k = 0; k < elements && text; k++) texts[k] = (artel_string){k % 2 ? "b" : "a", 1};
        for (int64_t k = 0; k < elements; k++) in[i][k] = (float)((k * 29 + round * 17 + i * 7) % 23) / 8 - 1.4f;
    }
    memset(out, 0, sizeof out);
    for (int i = 0; i < count; i++) {
        artel_shape shape;
        bool is_rows;
        artel_dtype dtype;
        must(artel_function_output(f, i, &dtype, &shape, &is_rows), "output");
        int64_t most = dtype == ARTEL_DTYPE_STRING ? 16384 : 65536;
        if (artel_shape_count(&shape) * (is_rows ? rows : 1) > most) return ARTEL_ERROR_INVALID;
        outputs[i] = (artel_array){.dtype = dtype, .data = out[i]};
    }
    artel_status status = artel_function_run(f, inputs, arguments, outputs, count);
    const unsigned char *bytes = (const unsigned char *)out;
    for (size_t i = 0; i < sizeof out; i++) *seen = *seen * 1099511628211u + bytes[i];
    return status;
}

/* A round of all functions: a unit, which may be made again when another task is lost. */
static artel_status run_round(void *user, int64_t unit)
{
    static const char *const names[] = {"step", "predict", "rest"};
    const int *from = user;
    int round = *from + (int)unit;
    uint64_t seen = 7;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < 3 && status == ARTEL_OK; i++) {
        artel_function *f;
        must(artel_strategy_function(strategy, names[i], &f), names[i]);
        status = run_one(f, round, BATCH - round % 3, &seen);
    }
    seen_in[round] = seen;
    return status;
}

static void run_on(int from, int to)
{
    uint64_t seen = 7;
    must(artel_strategy_set_units(strategy, 0), "units");
    must(artel_strategy_loop(strategy, to - from, run_round, &from), "loop");
    must(artel_strategy_set_units(strategy, 0), "units");
    for (int round = from; round < to; round++) seen = seen * 1099511628211u + seen_in[round];
    double values[2 * WIDTH + 3];
    artel_variable *sums;
    must(artel_strategy_variable(strategy, "total", &total), "total");
    must(artel_variable_read_as(total, ARTEL_DTYPE_FLOAT64, values, 1), "total");
    must(artel_strategy_variable(strategy, "counts", &counts), "counts");
    must(artel_variable_read_as(counts, ARTEL_DTYPE_FLOAT64, values + 1, WIDTH), "counts");
    must(artel_strategy_variable(strategy, "rows", &rows_seen), "rows");
    must(artel_variable_read_as(rows_seen, ARTEL_DTYPE_FLOAT64, values + 1 + WIDTH, WIDTH), "rows");
    must(artel_strategy_variable(strategy, "metrics/mae", &sums), "metric");
    must(artel_variable_read_as(sums, ARTEL_DTYPE_FLOAT64, values + 1 + 2 * WIDTH, 2), "metric");
    for (size_t i = 0; i < sizeof values; i++) seen = seen * 1099511628211u + ((const unsigned char *)values)[i];
    char digest[65];
    must(artel_strategy_model(strategy, 0, &model), "model");
    must(artel_strategy_store(strategy, model), "store");
    must(artel_model_digest(model, digest), "digest");
    must(artel_strategy_optimizer(strategy, 0, &optimizer), "optimizer");
    printf("%016llx %s runs %lld steps %lld total %a\n", (unsigned long long)seen, digest,
           (long long)artel_strategy_runs(strategy), (long long)artel_optimizer_iterations(optimizer), values[0]);
}

static void load(const char *path, const char *name, int replicas)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = name;
    o.replicas = replicas;
    o.cluster = cluster;
    must(artel_context_add_operation(ctx, &cube), "operation");
    must(artel_functions_load(ctx, path, &o, &strategy), "load");
    /* What a variable takes is known of a loaded one, too. */
    artel_optimizer *none;
    if (artel_strategy_variable(strategy, "rows", &rows_seen) == ARTEL_OK &&
        artel_optimizer_create(strategy, "sgd", &rows_seen, 1, &none) != ARTEL_ERROR_INVALID)
        must(ARTEL_ERROR_INTERNAL, "the optimizer of a variable on_read");
}

/* Whatever the file is, this ends with a line. */
static void try(const char *path)
{
    uint64_t seen = 7;
    artel_strategy *s = NULL;
    artel_status status = artel_functions_load(ctx, path, NULL, &s);
    printf("%d %s", (int)status, status < 0 ? artel_context_error(ctx)->what : "loaded");
    static const char *const names[] = {"step", "predict", "rest", "find"};
    for (int i = 0; i < 4 && status == ARTEL_OK; i++) {
        artel_function *f;
        if (artel_strategy_function(s, names[i], &f) < 0) continue;
        int ran = (int)run_one(f, 1, 3, &seen);
        printf(" %s %d", names[i], ran);
    }
    printf(" %016llx\n", (unsigned long long)seen);
    artel_strategy_destroy(s);
}

/* A model that takes text, and a function that calls it, and gives back text, some of it a variable's. */
static artel_status trace_words(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_string none = {"", 0};
    artel_value pair[2] = {artel_graph_variable(g, user),
                           artel_graph_constant(g, ARTEL_DTYPE_STRING, &(artel_shape){0, {0}}, &none)};
    out[1] = artel_graph_unary(g, "string_upper", in[0]);
    out[2] = pair[0];
    artel_graph_assign(g, user, artel_graph_op(g, "string_join", pair, 2, "{\"separator\": \"\"}"));
    return artel_graph_call(g, model, in, 1, out, 1);
}

static void save_words(const char *path)
{
    artel_builder *b;
    artel_function *f;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument words = {"words", ARTEL_DTYPE_STRING, false, {1, {1}}};
    must(artel_sequential_create(ctx, NULL, ARTEL_DTYPE_STRING, &words.shape, &b), "builder");
    (void)artel_layer_add(b, "StringLookup", "{\"vocabulary\": [\"a\", \"b\"], \"output_mode\": \"one_hot\"}");
    must(artel_sequential_finish(b, &model), "model");
    must(artel_strategy_create(ctx, NULL, &strategy), "strategy");
    must(artel_strategy_add_model(strategy, model), "weights");
    const artel_string names[2] = {{"cat", 3}, {"d\xC3\xB6g", 4}};
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *classes;
    v.name = "classes";
    v.dtype = ARTEL_DTYPE_STRING;
    v.shape = (artel_shape){1, {2}};
    v.initial = names;
    must(artel_variable_create(strategy, &v, &classes), "variable");
    o.name = "find";
    o.arguments = &words;
    o.argument_count = 1;
    o.output_count = 3;
    must(artel_function_create(strategy, &o, trace_words, classes, &f), "function");
    must(artel_functions_save(strategy, &f, 1, path), "save");
}

int main(int argc, char **argv)
{
    if (argc < 3 || artel_context_create(NULL, &ctx) < 0) return 2;
    const char *what = argv[1], *path = argv[2];
    artel_function *predict;
    if (strcmp(what, "save") == 0 || strcmp(what, "cut") == 0) {
        make_all();
        run_on(0, 3);
        must(artel_strategy_function(strategy, "predict", &predict), "predict");
        bool all = strcmp(what, "save") == 0;
        must(artel_functions_save(strategy, all ? NULL : &predict, all ? 0 : 1, path), "save");
        run_on(3, 6);
    } else if (strcmp(what, "load") == 0) {
        load(path, argc > 3 ? argv[3] : NULL, argc > 4 ? atoi(argv[4]) : 0);
        run_on(3, 6);
    } else if (strcmp(what, "together") == 0) {
        must(artel_cluster_open(ctx, NULL, &cluster), "cluster");
        load(path, "multi-worker", 2);
        run_on(3, 6);
        must(artel_cluster_finish(cluster, ARTEL_OK), "finish");
    } else if (strcmp(what, "resave") == 0 && argc > 3) {
        load(path, NULL, 0);
        must(artel_functions_save(strategy, NULL, 0, argv[3]), "save");
    } else if (strcmp(what, "words") == 0) {
        save_words(path);
    } else if (strcmp(what, "try") == 0) {
        must(artel_context_add_operation(ctx, &cube), "operation");
        for (int i = 2; i < argc; i++) try(argv[i]);
    } else {
        return 2;
    }
    bool own = strcmp(what, "save") == 0 || strcmp(what, "cut") == 0 || strcmp(what, "words") == 0;
    artel_strategy_destroy(strategy);
    if (own) artel_model_destroy(model);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
    return 0;
}
