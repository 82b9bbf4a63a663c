/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with several inputs, models inside models, and Keras' raw operations, in Functional models. */
#include "help_layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T(layer) "{\"class_name\": \"__keras_tensor__\", \"config\": {\"keras_history\": [\"" layer "\", 0, 0]}}"
#define SLICE(start, stop, step) \
    "{\"class_name\": \"__slice__\", \"config\": {\"start\": " start ", \"stop\": " stop ", \"step\": " step "}}"

static layer_result result;

/* A Functional with inputs "a" and "b" (rows of the shapes given; none: one input) and one more layer or operation "y".
 */
static char *functional(const char *a, const char *b, const char *module, const char *class_name, const char *config,
                        const char *args)
{
    char *text = malloc(8192), second[512] = "";
    assert_non_null(text);
    if (b)
        snprintf(second, sizeof second,
                 "{\"class_name\": \"InputLayer\", \"name\": \"b\", \"config\": {\"name\": \"b\", \"batch_shape\": %s, "
                 "\"dtype\": \"float32\"}, "
                 "\"inbound_nodes\": []}, ",
                 b);
    snprintf(text, 8192,
             "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": "
             "\"InputLayer\", \"name\": \"a\", "
             "\"config\": {\"name\": \"a\", \"batch_shape\": %s, \"dtype\": \"float32\"}, \"inbound_nodes\": []}, "
             "%s{\"module\": \"%s\", "
             "\"class_name\": \"%s\", \"name\": \"y\", \"config\": {\"name\": \"y\"%s%s}, \"inbound_nodes\": "
             "[{\"args\": %s, \"kwargs\": "
             "{}}]}], "
             "\"input_layers\": [[\"a\", 0, 0]%s], \"output_layers\": [[\"y\", 0, 0]]}}",
             a, second, module, class_name, *config ? ", " : "", config, args, b ? ", [\"b\", 0, 0]" : "");
    return text;
}

typedef struct graph_row {
    const char *class_name, *config, *args, *a, *b, *expected;
} graph_row;

#define BOTH "[[" T("a") ", " T("b") "]]"
#define PAIR "[" T("a") ", " T("b") "]"
#define ONE "[" T("a") "]"

static const graph_row merges[] = {
    {"Add", "", BOTH, "[null, 2, 3]", "[null, 2, 3]", "(None, 2, 3)"},
    {"Add", "", BOTH, "[null, 2, 3]", "[null, 3]", "(None, 2, 3)"},
    {"Subtract", "", BOTH, "[null, 2, 3]", "[null, 1, 3]", "(None, 2, 3)"},
    {"Multiply", "", BOTH, "[null, 2, 3]", "[null, 2, 1]", "(None, 2, 3)"},
    {"Average", "", BOTH, "[null, 3]", "[null, 3]", "(None, 3)"},
    {"Maximum", "", BOTH, "[null, 3]", "[null, 3]", "(None, 3)"},
    {"Minimum", "", BOTH, "[null, 3]", "[null, 3]", "(None, 3)"},
    {"Concatenate", "", BOTH, "[null, 2, 3]", "[null, 2, 4]", "(None, 2, 7)"},
    {"Concatenate", "\"axis\": 1", BOTH, "[null, 2, 3]", "[null, 4, 3]", "(None, 6, 3)"},
    {"Dot", "\"axes\": 1", BOTH, "[null, 3]", "[null, 3]", "(None, 1)"},
    {"Dot", "\"axes\": [2, 1], \"normalize\": true", BOTH, "[null, 2, 3]", "[null, 3, 4]", "(None, 2, 4)"},
};

static const graph_row operations[] = {
    {"Add", "", PAIR, "[null, 2, 3]", "[null, 3]", "(None, 2, 3)"},
    {"Multiply", "", "[" T("a") ", 2.5]", "[null, 3]", NULL, "(None, 3)"},
    {"Subtract", "", "[1, " T("a") "]", "[null, 3]", NULL, "(None, 3)"},
    {"Add", "",
     "[" T("a") ", {\"class_name\": \"__numpy__\", \"config\": {\"value\": [[1, 2, 3]], \"dtype\": \"float32\"}}]",
     "[null, 3]", NULL, "(None, 3)"},
    {"Power", "", "[" T("a") ", 2]", "[null, 3]", NULL, "(None, 3)"},
    {"Maximum", "", "[" T("a") ", 0.01]", "[null, 3]", NULL, "(None, 3)"},
    {"Tanh", "", ONE, "[null, 3]", NULL, "(None, 3)"},
    {"Gelu", "\"approximate\": false", ONE, "[null, 3]", NULL, "(None, 3)"},
    {"LeakyRelu", "\"negative_slope\": 0.5", ONE, "[null, 3]", NULL, "(None, 3)"},
    {"Softmax", "\"axis\": 1", ONE, "[null, 3, 2]", NULL, "(None, 3, 2)"},
    {"Sum", "\"axis\": [1, 2], \"keepdims\": true", ONE, "[null, 3, 2]", NULL, "(None, 1, 1)"},
    {"Mean", "\"axis\": -1", ONE, "[null, 3, 2]", NULL, "(None, 3)"},
    {"Max", "\"axis\": 1", ONE, "[null, 3, 2]", NULL, "(None, 2)"},
    {"Var", "\"axis\": 1", ONE, "[null, 3, 2]", NULL, "(None, 2)"},
    {"Logsumexp", "\"axis\": 1", ONE, "[null, 3, 2]", NULL, "(None, 2)"},
    {"Matmul", "", PAIR, "[null, 2, 3]", "[null, 3, 4]", "(None, 2, 4)"},
    {"Reshape", "\"newshape\": [-1, 3, 2]", ONE, "[null, 6]", NULL, "(None, 3, 2)"},
    {"Reshape", "\"newshape\": [-1, 3, -1]", ONE, "[null, 6]", NULL, "(None, 3, 2)"},
    {"Transpose", "\"axes\": [0, 2, 1]", ONE, "[null, 3, 2]", NULL, "(None, 2, 3)"},
    {"ExpandDims", "\"axis\": -1", ONE, "[null, 3]", NULL, "(None, 3, 1)"},
    {"Squeeze", "\"axis\": 1", ONE, "[null, 1, 3]", NULL, "(None, 3)"},
    {"Concatenate", "\"axis\": -1", BOTH, "[null, 3]", "[null, 2]", "(None, 5)"},
    {"Stack", "\"axis\": 1", BOTH, "[null, 3]", "[null, 3]", "(None, 2, 3)"},
    {"Flip", "\"axis\": 1", ONE, "[null, 3]", NULL, "(None, 3)"},
    {"Pad", "\"pad_width\": [[0, 0], [1, 2]]", ONE, "[null, 3]", NULL, "(None, 6)"},
    {"GetItem", "", "[" T("a") ", [" SLICE("null", "null", "null") ", 1]]", "[null, 3, 2]", NULL, "(None, 2)"},
    {"GetItem", "", "[" T("a") ", [" SLICE("null", "null", "null") ", " SLICE("null", "null", "-2") "]]",
     "[null, 4, 2]", NULL, "(None, 2, 2)"},
    {"GetItem", "",
     "[" T("a") ", [{\"class_name\": \"__ellipsis__\", \"config\": {}}, null, " SLICE("1", "null", "null") "]]",
     "[null, 4, 3]", NULL, "(None, 4, 1, 2)"},
};

static void check(const graph_row *row, const char *module)
{
    char *text = functional(row->a, row->b, module, row->class_name, row->config, row->args), shape[128];
    layer_bench bench;
    layer_open_model(&bench, text);
    free(text);
    enum {
        ROWS = 5
    };
    static float a[ROWS * 64], b[ROWS * 64];
    for (int i = 0; i < ROWS * 64; i++) { /* apart from one another and from 0 */
        a[i] = ((float)(i * 41 % 101) - 50.5f) / 40.0f;
        b[i] = ((float)(i * 29 % 103) - 51.25f) / 40.0f + 0.007f;
    }
    const void *in[] = {a, b};
    layer_run(&bench, in, ROWS, false, false, &result);
    if (strcmp(artel__shape_text(&result.shape, true, shape, sizeof shape), row->expected) != 0)
        fail_msg("%s: %s, expected %s", row->class_name, shape, row->expected);
    layer_check_gradients(&bench, in, ROWS, true);
    layer_close(&bench);
}

static void merges_have_shape_and_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(merges); i++) check(&merges[i], "keras.layers");
}

static void operations_have_shape_and_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(operations); i++) check(&operations[i], "keras.src.ops.numpy");
}

static void what_mixes_rows_is_refused(void **state)
{
    (void)state;
    static const graph_row refused[] = {
        {"Sum", "\"axis\": 0", ONE, "[null, 3]", NULL, "batch"},
        {"Mean", "\"axis\": null", ONE, "[null, 3]", NULL, "axis=None"},
        {"Reshape", "\"newshape\": [-1, 2]", ONE, "[null, 3]", NULL, "rows"},
        {"Transpose", "\"axes\": [1, 0]", ONE, "[null, 3]", NULL, "batch"},
        {"GetItem", "", "[" T("a") ", 0]", "[null, 3]", NULL, "batch"},
        {"GetItem", "", "[" T("a") ", [" SLICE("1", "null", "null") "]]", "[null, 3]", NULL, "batch"},
        {"GetItem", "", "[" T("a") ", [" SLICE("null", "null", "null") ", 7]]", "[null, 3]", NULL, "slice"},
        {"Einsum", "\"subscripts\": \"ab->ba\"", ONE, "[null, 3]", NULL, "the batch"},
        {"Vdot", "", PAIR, "[null, 3]", "[null, 3]", "keras.src.ops.numpy.Vdot"},
        {"Bincount", "", ONE, "[null, 3]", NULL, "keras.src.ops.numpy.Bincount"},
        {"Matmul", "", PAIR, "[null, 3]", "[null, 3]", "the batch"},
    };
    for (size_t i = 0; i < ARTEL__COUNT(refused); i++) {
        char message[1100];
        char *text = functional(refused[i].a, refused[i].b, "keras.src.ops.numpy", refused[i].class_name,
                                refused[i].config, refused[i].args);
        artel_status status = layer_refused_model(text, message);
        free(text);
        if (status >= 0 || !strstr(message, refused[i].expected))
            fail_msg("%s: %d %s", refused[i].class_name, status, message);
    }
}

static void layers_and_operations_of_one_name_differ(void **state)
{
    (void)state;
    assert_string_equal(artel__layer_find("Add")->class_name, "Add");
    assert_ptr_not_equal(artel__layer_find("Add"), artel__layer_find("ops.Add"));
}

/* In Keras a masked step of one input is valid when another input's is. */
static void merged_masks_are_valid_where_any_is(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open_model(&bench, "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["
                             "{\"class_name\": \"InputLayer\", \"name\": \"a\", \"config\": {\"name\": \"a\", "
                             "\"batch_input_shape\": [null, 3, 1]}, "
                             "\"inbound_nodes\": []}, "
                             "{\"class_name\": \"InputLayer\", \"name\": \"b\", \"config\": {\"name\": \"b\", "
                             "\"batch_input_shape\": [null, 3, 1]}, "
                             "\"inbound_nodes\": []}, "
                             "{\"class_name\": \"Masking\", \"name\": \"c\", \"config\": {\"name\": \"c\"}, "
                             "\"inbound_nodes\": [[[\"a\", 0, 0, {}]]]}, "
                             "{\"class_name\": \"Masking\", \"name\": \"d\", \"config\": {\"name\": \"d\"}, "
                             "\"inbound_nodes\": [[[\"b\", 0, 0, {}]]]}, "
                             "{\"class_name\": \"Maximum\", \"name\": \"y\", \"config\": {\"name\": \"y\"}, "
                             "\"inbound_nodes\": [[[\"c\", 0, 0, {}], "
                             "[\"d\", 0, 0, {}]]]}], "
                             "\"input_layers\": [[\"a\", 0, 0], [\"b\", 0, 0]], \"output_layers\": [[\"y\", 0, 0]]}}");
    const void *in[] = {(float[]){-1, 0, 0}, (float[]){-2, -3, 0}};
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_floats(&result, (float[]){-1, -3, 0}, 3, 0); /* -3: the masked 0 gives way */
    assert_true(result.masked && result.mask[0] && result.mask[1] && !result.mask[2]);
    layer_close(&bench);
}

/* Keras records a mask as an argument of layers that take one. */
static void a_mask_may_be_an_argument(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open_model(&bench,
                     "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["
                     "{\"class_name\": \"InputLayer\", \"name\": \"a\", \"config\": {\"name\": \"a\", \"batch_shape\": "
                     "[null, 3, 1]}, "
                     "\"inbound_nodes\": []}, "
                     "{\"class_name\": \"InputLayer\", \"name\": \"b\", \"config\": {\"name\": \"b\", \"batch_shape\": "
                     "[null, 3], \"dtype\": "
                     "\"int32\"}, "
                     "\"inbound_nodes\": []}, "
                     "{\"module\": \"keras.src.ops.numpy\", \"class_name\": \"NotEqual\", \"name\": \"n\", \"config\": "
                     "{\"name\": \"n\"}, "
                     "\"inbound_nodes\": [{\"args\": [" T(
                         "b") ", 0], \"kwargs\": {}}]}, "
                              "{\"class_name\": \"GlobalAveragePooling1D\", \"name\": \"y\", \"config\": {\"name\": "
                              "\"y\"}, \"inbound_nodes\": "
                              "[{\"args\": [" T("a") "], "
                                                     "\"kwargs\": {\"mask\": " T(
                                                         "n") "}}]}], \"input_layers\": [[\"a\", 0, 0], [\"b\", 0, "
                                                              "0]], \"output_layers\": [\"y\", 0, 0]}}");
    const void *in[] = {(float[]){1, 2, 6}, (int32_t[]){4, 0, 5}};
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_floats(&result, (float[]){3.5f}, 1, 0);
    layer_close(&bench);
}

/* What is wrong with an array as a mask is said: that it is none, or that its axes do not fit. */
static void an_array_as_a_mask_is_read_first(void **state)
{
    (void)state;
    static const struct {
        const char *mask, *expected;
    } refused[] = {
        {"{\"class_name\": \"__numpy__\", \"config\": {\"dtype\": \"bool\"}}", "can be read"},
        {"{\"class_name\": \"__numpy__\"}", "can be read"},
        {"\"causal\"", "can be read"},
        {"[[[true, false], [true, true]], [[true, true], [true, true]]]", "the same for all rows"},
    };
    for (size_t i = 0; i < ARTEL__COUNT(refused); i++) {
        char message[1100], text[2048];
        snprintf(
            text, sizeof text,
            "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["
            "{\"class_name\": \"InputLayer\", \"name\": \"a\", \"config\": {\"name\": \"a\", \"batch_shape\": "
            "[null, 2, 4]}, \"inbound_nodes\": []}, "
            "{\"class_name\": \"MultiHeadAttention\", \"name\": \"y\", \"config\": {\"name\": \"y\", \"num_heads\": 1, "
            "\"key_dim\": 2}, \"inbound_nodes\": [{\"args\": [" T("a") ", " T(
                "a") "], \"kwargs\": "
                     "{\"attention_mask\": %s}}]}], "
                     "\"input_layers\": [[\"a\", 0, 0]], \"output_layers\": [[\"y\", 0, 0]]}}",
            refused[i].mask);
        artel_status status = layer_refused_model(text, message);
        if (status >= 0 || !strstr(message, refused[i].expected))
            fail_msg("%s: %d %s", refused[i].mask, status, message);
    }
}

#define INNER                                                                                                  \
    "{\"class_name\": \"Functional\", \"name\": \"inner\", \"config\": {\"name\": \"inner\", \"layers\": "     \
    "[{\"class_name\": "                                                                                       \
    "\"InputLayer\", "                                                                                         \
    "\"name\": \"p\", \"config\": {\"name\": \"p\", \"batch_shape\": [null, 2]}, \"inbound_nodes\": []}, "     \
    "{\"class_name\": "                                                                                        \
    "\"InputLayer\", "                                                                                         \
    "\"name\": \"q\", \"config\": {\"name\": \"q\", \"batch_shape\": [null, 2]}, \"inbound_nodes\": []}, "     \
    "{\"class_name\": \"Subtract\", "                                                                          \
    "\"name\": \"s\", \"config\": {\"name\": \"s\"}, \"inbound_nodes\": [{\"args\": [[" T("p") ", " T(         \
        "q") "]], \"kwargs\": {}}]}, "                                                                         \
             "{\"class_name\": \"Dense\", \"name\": \"d\", \"config\": {\"name\": \"d\", \"units\": 1}, "      \
             "\"inbound_nodes\": [{\"args\": "                                                                 \
             "[" T("s") "], "                                                                                  \
                        "\"kwargs\": {}}]}], \"input_layers\": {\"p\": [\"p\", 0, 0], \"q\": [\"q\", 0, 0]}, " \
                        "\"output_layers\": [\"d\", "                                                          \
                        "0, 0]}, "

static artel_status count_paths(void *user, const artel__model_variable *variable)
{
    int *seen = user;
    assert_string_equal(variable->path,
                        *seen ? "layers/functional/layers/dense/vars/1" : "layers/functional/layers/dense/vars/0");
    ++*seen;
    return ARTEL_OK;
}

static void inner_models_take_inputs_by_name(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open_model(
        &bench,
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["
        "{\"class_name\": \"InputLayer\", \"name\": \"a\", \"config\": {\"name\": \"a\", \"batch_shape\": [null, 2]}, "
        "\"inbound_nodes\": []}, {\"class_name\": \"InputLayer\", \"name\": \"b\", \"config\": {\"name\": \"b\", "
        "\"batch_shape\": "
        "[null, 2]}, \"inbound_nodes\": []}, " INNER "\"inbound_nodes\": [{\"args\": [{\"q\": " T("a") ", \"p\": " T(
            "b") "}], \"kwargs\": {\"mask\": null}}]}], \"input_layers\": [[\"a\", 0, 0], [\"b\", 0, 0]], "
                 "\"output_layers\": [[\"inner\", 0, 0]]}}");
    int seen = 0;
    assert_int_equal(artel__model_visit(bench.model, count_paths, &seen), ARTEL_OK);
    assert_int_equal(seen, 2);
    assert_string_equal(bench.model->variables->item[0].name, "inner/d/kernel");
    layer_set(&bench, 0, (float[]){1, 10});
    layer_set(&bench, 1, (float[]){0.5f});
    const void *in[] = {(float[]){1, 2}, (float[]){4, 4}};
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_floats(&result, (float[]){23.5f}, 1, 0);
    layer_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_have_shape_and_gradient),
        cmocka_unit_test(operations_have_shape_and_gradient),
        cmocka_unit_test(what_mixes_rows_is_refused),
        cmocka_unit_test(layers_and_operations_of_one_name_differ),
        cmocka_unit_test(merged_masks_are_valid_where_any_is),
        cmocka_unit_test(a_mask_may_be_an_argument),
        cmocka_unit_test(an_array_as_a_mask_is_read_first),
        cmocka_unit_test(inner_models_take_inputs_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
