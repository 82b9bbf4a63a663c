/* SPDX-License-Identifier: Apache-2.0 */
/* The summary table. Expected text is what Keras 3.15 prints for such models; test_keras_text.py compares live. */
#include "observe/help_observe.h"

#include <string.h>

#include "observe/table.h"

static void check(const artel__summary *summary, const char *expected)
{
    scratch s;
    artel__text text;
    scratch_init(&s);
    artel__text_init(&text, s.ctx);
    assert_int_equal(artel__summary_render(s.ctx, summary, &text), ARTEL_OK);
    assert_string_equal(text.data, expected);
    artel__text_fini(&text);
    scratch_fini(&s);
}

static void prints_a_chain(void **state)
{
    (void)state;
    const artel__summary_row rows[] = {
        {.name = "flatten", .class_name = "Flatten", .output_shape = "(None, 784)"},
        {.name = "dense", .class_name = "Dense", .output_shape = "(None, 128)", .params = 100480},
    };
    const artel__summary summary = {.model_name = "sequential",
                                    .rows = rows,
                                    .row_count = 2,
                                    .trainable = {101770, 407080},
                                    .non_trainable = {0, 0},
                                    .has_optimizer = true,
                                    .optimizer = {203542, 814168}};
    check(&summary, "Model: \"sequential\"\n"
                    "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
                    "┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃\n"
                    "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
                    "│ flatten (Flatten)               │ (None, 784)            │             0 │\n"
                    "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
                    "│ dense (Dense)                   │ (None, 128)            │       100,480 │\n"
                    "└─────────────────────────────────┴────────────────────────┴───────────────┘\n"
                    " Total params: 305,312 (1.16 MB)\n"
                    " Trainable params: 101,770 (397.54 KB)\n"
                    " Non-trainable params: 0 (0.00 B)\n"
                    " Optimizer params: 203,542 (795.09 KB)\n");
}

static void prints_connections_and_wraps(void **state)
{
    (void)state;
    const artel__summary_row rows[] = {
        {.name = "in_put", .class_name = "InputLayer", .output_shape = "(None, 8, 8, 3)"},
        {.name = "a_very_long_layer_name_which_will_not_fit",
         .class_name = "Conv2D",
         .output_shape = "(None, 8, 8, 4)",
         .connected_to = "in_put[0][0]",
         .params = 112},
        {.name = "lstm",
         .class_name = "LSTM",
         .output_shape = "[(None, 4), (None, 4), (None, 4)]",
         .connected_to = "a_very_long_layer_name_which_will_not_fit[0][0], add[0][0]",
         .params = 272},
    };
    const artel__summary summary = {
        .model_name = "f", .rows = rows, .row_count = 3, .connections = true, .trainable = {407, 1628}};
    check(&summary, "Model: \"f\"\n"
                    "┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓\n"
                    "┃ Layer (type)        ┃ Output Shape      ┃    Param # ┃ Connected to      ┃\n"
                    "┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━┩\n"
                    "│ in_put (InputLayer) │ (None, 8, 8, 3)   │          0 │ -                 │\n"
                    "├─────────────────────┼───────────────────┼────────────┼───────────────────┤\n"
                    "│ a_very_long_layer_… │ (None, 8, 8, 4)   │        112 │ in_put[0][0]      │\n"
                    "│ (Conv2D)            │                   │            │                   │\n"
                    "├─────────────────────┼───────────────────┼────────────┼───────────────────┤\n"
                    "│ lstm (LSTM)         │ [(None, 4),       │        272 │ a_very_long_laye… │\n"
                    "│                     │ (None, 4), (None, │            │ add[0][0]         │\n"
                    "│                     │ 4)]               │            │                   │\n"
                    "└─────────────────────┴───────────────────┴────────────┴───────────────────┘\n"
                    " Total params: 407 (1.59 KB)\n"
                    " Trainable params: 407 (1.59 KB)\n"
                    " Non-trainable params: 0 (0.00 B)\n");
}

static void prints_odd_input(void **state)
{
    (void)state;
    const artel__summary_row rows[] = {
        {.name = "", .class_name = "", .output_shape = "", .unbuilt = true, .depth = 40, .trainable = 'Y'},
        {.name = "\x01\n\t", .class_name = "\xff\xfe", .output_shape = "\xe2", .params = INT64_MIN, .trainable = 'N'},
    };
    for (int columns = 1; columns < 200; columns += 7) {
        scratch s;
        artel__text text;
        const artel__summary summary = {.model_name = "m",
                                        .rows = rows,
                                        .row_count = 2,
                                        .connections = true,
                                        .show_trainable = true,
                                        .columns = columns};
        scratch_init(&s);
        artel__text_init(&text, s.ctx);
        assert_int_equal(artel__summary_render(s.ctx, &summary, &text), ARTEL_OK);
        assert_null(strpbrk(text.data, "\x01\t"));
        artel__text_fini(&text);
        scratch_fini(&s);
    }
}

static void formats_sizes(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(artel__readable_bytes(b, sizeof b, 0), "0.00 B");
    assert_string_equal(artel__readable_bytes(b, sizeof b, 1023), "1023.00 B");
    assert_string_equal(artel__readable_bytes(b, sizeof b, 1024), "1.00 KB");
    assert_string_equal(artel__readable_bytes(b, sizeof b, 407080), "397.54 KB");
    assert_string_equal(artel__readable_bytes(b, sizeof b, 102400000), "97.66 MB");
    assert_string_equal(artel__grouped_digits(b, sizeof b, 0), "0");
    assert_string_equal(artel__grouped_digits(b, sizeof b, 999), "999");
    assert_string_equal(artel__grouped_digits(b, sizeof b, 1000), "1,000");
    assert_string_equal(artel__grouped_digits(b, sizeof b, -123456), "-123,456");
    assert_string_equal(artel__grouped_digits(b, sizeof b, INT64_MAX), "9,223,372,036,854,775,807");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_a_chain),
        cmocka_unit_test(prints_connections_and_wraps),
        cmocka_unit_test(prints_odd_input),
        cmocka_unit_test(formats_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
