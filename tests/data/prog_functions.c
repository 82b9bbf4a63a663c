/* SPDX-License-Identifier: Apache-2.0 */
/* For test_functions.py: prog_functions FILE NAME... writes the functions of these names; prog_functions FILE MODEL
 * calls a model of Keras' (a file with a dot in its name). Exit code 1 with the error on stderr. */
#include <stdio.h>
#include <string.h>

#include <artel/artel.h>

static artel_variable *mean, *words;

static artel_status trace_norm(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value apart = artel_graph_binary(g, "subtract", in[0], artel_graph_variable(g, mean));
    out[0] = artel_graph_binary(g, "multiply", apart, artel_graph_number(g, 0.5));
    return artel_graph_status(g);
}

static artel_status trace_both(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_op(g, "sum", &in[0], 1, "{\"axis\": -1}");
    out[1] = artel_graph_binary(g, "add", in[1], in[1]);
    out[2] = artel_graph_binary(g, "greater", out[0], artel_graph_number(g, 0));
    return artel_graph_status(g);
}

static artel_status trace_noise(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_shape four = {1, {4}};
    (void)user;
    artel_value noise = artel_graph_uniform(g, in[0], &four, 0, 1, false);
    out[0] = artel_graph_binary(g, "add", in[0], noise);
    return artel_graph_status(g);
}

static artel_status trace_writes(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = in[0];
    artel_graph_assign(g, mean, artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, in[0]));
    return artel_graph_status(g);
}

static artel_status trace_words(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = in[0];
    artel_graph_assign(g, words, artel_graph_unary(g, "string_upper", artel_graph_variable(g, words)));
    return artel_graph_status(g);
}

static artel_status trace_reduces(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, in[0]);
    return artel_graph_status(g);
}

static artel_status trace_centres(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value all = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, in[0]);
    out[0] = artel_graph_binary(g, "subtract", in[0], all);
    return artel_graph_status(g);
}

static artel_status trace_fixed(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user, (void)in;
    out[0] = artel_graph_variable(g, mean);
    return artel_graph_status(g);
}

static artel_status trace_shared(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_binary(g, "add", in[0], in[1]);
    return artel_graph_status(g);
}

static artel_status trace_says(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_unary(g, "string_as_string", in[0]);
    return artel_graph_status(g);
}

static artel_status trace_bucket(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value lower = artel_graph_unary(g, "string_lower", in[0]);
    (void)user;
    out[0] = artel_graph_op(g, "string_to_hash_bucket_fast", &lower, 1, "{\"num_buckets\": 100}");
    return artel_graph_status(g);
}

// clang-format off
#define TEXT {.name = "x", .dtype = ARTEL_DTYPE_STRING}
#define X {.name = "x", .shape = {1, {4}}}
#define Y {.name = "y", .dtype = ARTEL_DTYPE_INT32}
#define BY {.name = "by", .shared = true}
// clang-format on

static const struct {
    const char *name;
    artel_trace_fn *trace;
    artel_argument argument[2];
    int arguments, outputs;
} kinds[] = {
    {"norm", trace_norm, {X}, 1, 1},       {"both", trace_both, {X, Y}, 2, 3},
    {"noise", trace_noise, {X}, 1, 1},     {"writes", trace_writes, {X}, 1, 1},
    {"reduces", trace_reduces, {X}, 1, 1}, {"shared", trace_shared, {X, BY}, 2, 1},
    {"centres", trace_centres, {X}, 1, 1}, {"fixed", trace_fixed, {X}, 1, 1},
    {"says", trace_says, {X}, 1, 1},       {"bucket", trace_bucket, {TEXT}, 1, 1},
    {"words", trace_words, {X}, 1, 1},
};

static artel_status add_kind(artel_strategy *s, const char *name)
{
    artel_function *made;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) != 0) continue;
        o.name = name;
        o.arguments = kinds[i].argument;
        o.argument_count = kinds[i].arguments;
        o.output_count = kinds[i].outputs;
        return artel_function_create(s, &o, kinds[i].trace, NULL, &made);
    }
    return ARTEL_ERROR_NOT_FOUND;
}

static artel_status trace_model(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_model *model = user;
    return artel_graph_call(g, user, in, artel_model_input_count(model), out, artel_model_output_count(model));
}

static artel_status add_model(artel_context *ctx, artel_strategy *s, const char *path, artel_model **model)
{
    artel_argument arguments[4] = {{.name = NULL}};
    artel_function *made;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_status status = artel_model_load(ctx, path, model);
    if (status == ARTEL_OK) status = artel_strategy_add_model(s, *model);
    int count = status == ARTEL_OK ? artel_model_input_count(*model) : 0;
    for (int i = 0; i < count && i < 4 && status == ARTEL_OK; i++)
        status = artel_model_input(*model, i, &arguments[i].name, &arguments[i].dtype, &arguments[i].shape);
    o.name = "model";
    o.arguments = arguments;
    o.argument_count = count;
    o.output_count = *model ? artel_model_output_count(*model) : 0;
    return status == ARTEL_OK ? artel_function_create(s, &o, trace_model, *model, &made) : status;
}

int main(int argc, char **argv)
{
    const float values[4] = {1, 2, 3, 4};
    artel_context *ctx = NULL;
    artel_strategy *strategy = NULL;
    artel_model *model = NULL;
    artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options variable = ARTEL_VARIABLE_OPTIONS_INIT, strings = ARTEL_VARIABLE_OPTIONS_INIT;
    options.seed = 5;
    variable.name = "mean";
    variable.shape = (artel_shape){1, {4}};
    variable.initial = values;
    artel_status status = argc < 3 ? ARTEL_ERROR_INVALID : artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &options, &strategy);
    if (status == ARTEL_OK) status = artel_variable_create(strategy, &variable, &mean);
    strings.name = "words";
    strings.dtype = ARTEL_DTYPE_STRING;
    if (status == ARTEL_OK) status = artel_variable_create(strategy, &strings, &words);
    for (int i = 2; i < argc && status == ARTEL_OK; i++)
        status = strchr(argv[i], '.') ? add_model(ctx, strategy, argv[i], &model) : add_kind(strategy, argv[i]);
    if (status == ARTEL_OK) status = artel_functions_save(strategy, NULL, 0, argv[1]);
    if (status < 0) fprintf(stderr, "%s\n", artel_context_error(ctx)->what);
    artel_strategy_destroy(strategy);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return status < 0;
}
