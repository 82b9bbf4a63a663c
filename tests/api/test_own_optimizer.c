/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Optimizers that a program adds to its context: SGD's formulas written by hand have the bits of Keras' class here, in
 * fit, in a function's minimise, with panels, under strategies, with float64; what a definition or an update may not be
 * is named. */
#include "api/help_api.h"
#include "api/help_ball.h"

#include "artel/strategy.h"

static void digest_of_fit(artel_context *ctx, artel_model *model, bool images, int replicas, const char *optimizer,
                          char digest[65])
{
    artel_data *data = api_rows(ctx, images);
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    options.epochs = 2;
    options.batch_size = 16;
    options.strategy = replicas > 1 ? "mirrored" : "one-device";
    options.replicas = replicas;
    api_ok(ctx, artel_model_compile(model, optimizer, "sparse_categorical_crossentropy", "accuracy"));
    api_ok(ctx, artel_model_initialise(model, 7));
    api_ok(ctx, artel_model_fit(model, data, &options, NULL));
    api_ok(ctx, artel_model_digest(model, digest));
    artel_data_destroy(data);
    artel_model_destroy(model);
}

static void test_has_the_bits_of_sgd(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    char theirs[65], ours[65];
    api_ok(ctx, artel_context_add_optimizer(ctx, &ball));
    for (int images = 0; images < 2; images++) {
        digest_of_fit(ctx, images ? api_cnn(ctx) : api_mlp(ctx), images, 1, "sgd:learning_rate=0.03,momentum=0.8",
                      theirs);
        for (int replicas = 1; replicas < 4; replicas += 2) {
            digest_of_fit(ctx, images ? api_cnn(ctx) : api_mlp(ctx), images, replicas,
                          "mine>HeavyBall:learning_rate=0.03,momentum=0.8", ours);
            assert_string_equal(ours, theirs);
        }
    }
    /* Keras' class rounds its momentum to float32 first: 0.5 is that already */
    digest_of_fit(ctx, api_wide(ctx, false), false, 1, "sgd:learning_rate=0.03,momentum=0.5", theirs);
    digest_of_fit(ctx, api_wide(ctx, false), false, 1, "HeavyBall:learning_rate=0.03,momentum=0.5", ours);
    assert_string_equal(ours, theirs);
    artel_context_destroy(ctx);
}

/* -- in a function -- */

typedef struct loop {
    artel_variable *variable;
    artel_optimizer *optimizer;
} loop;

static artel_status minimise(void *user, artel_graph *g, const artel_value *inputs, artel_value *outputs)
{
    const loop *l = user;
    artel_value error = artel_graph_binary(g, "subtract", inputs[0], artel_graph_variable(g, l->variable));
    artel_value square = artel_graph_unary(g, "square", error);
    outputs[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_op(g, "mean", &square, 1, "{\"axis\": -1}"));
    artel_graph_minimise(g, l->optimizer, outputs[0]);
    return artel_graph_status(g);
}

static void run_loop(artel_context *ctx, const char *optimizer, float after[3])
{
    const artel_argument argument = {.name = "x", .shape = {1, {3}}};
    const artel_function_options options = {
        .struct_size = sizeof options, .name = "step", .arguments = &argument, .argument_count = 1, .output_count = 1};
    const artel_strategy_options strategy = {.struct_size = sizeof strategy, .batch_size = 2, .threads = 1};
    const artel_variable_options variable = {.struct_size = sizeof variable, .name = "v", .shape = {1, {3}}};
    float x[6] = {1, 2, 3, 4, 5, 6}, loss;
    artel_strategy *s;
    artel_function *f;
    loop l;
    api_ok(ctx, artel_strategy_create(ctx, &strategy, &s));
    api_ok(ctx, artel_variable_create(s, &variable, &l.variable));
    api_ok(ctx, artel_optimizer_create(s, optimizer, &l.variable, 1, &l.optimizer));
    api_ok(ctx, artel_function_create(s, &options, minimise, &l, &f));
    for (int i = 0; i < 5; i++)
        api_ok(ctx, artel_function_run(f, &(artel_array){.shape = {2, {2, 3}}, .data = x}, 1,
                                       &(artel_array){.shape = {0}, .data = &loss}, 1));
    api_ok(ctx, artel_variable_read(l.variable, after, 3));
    artel_strategy_destroy(s);
}

static void test_steps_in_a_function(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    float theirs[3], ours[3];
    api_ok(ctx, artel_context_add_optimizer(ctx, &ball));
    run_loop(ctx, "sgd:learning_rate=0.1,momentum=0.5", theirs);
    run_loop(ctx, "HeavyBall:learning_rate=0.1,momentum=0.5", ours);
    assert_memory_equal(ours, theirs, sizeof ours);
    artel_context_destroy(ctx);
}

/* -- refusals -- */

static void refuse(artel_context *ctx, artel_optimizer_definition definition, const char *what)
{
    assert_int_equal(artel_context_add_optimizer(ctx, &definition), ARTEL_ERROR_INVALID);
    if (!strstr(artel_context_error(ctx)->what, what)) fail_msg("%s", artel_context_error(ctx)->what);
}

static void test_definitions_are_checked(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    artel_optimizer_definition d = ball;
    char settings[512] = "{", name[200] = "";
    memset(name, 'n', sizeof name - 1);
    for (int i = 0; i < 17; i++) sprintf(settings + strlen(settings), "%s\"s%d\": 0", i ? ", " : "", i);
    strcat(settings, "}");
    d.class_name = NULL, refuse(ctx, d, "no name");
    d.class_name = name, refuse(ctx, d, "too long");
    d.class_name = "adam", refuse(ctx, d, "Keras has an optimizer");
    d = ball, d.update = NULL, refuse(ctx, d, "has none");
    d = ball, d.learning_rate = -1, refuse(ctx, d, "rate");
    d = ball, d.slot_count = 4, refuse(ctx, d, "slots");
    d = ball, d.slots = NULL, refuse(ctx, d, "slots");
    d = ball, d.slots = &(artel_optimizer_slot){.name = ""}, refuse(ctx, d, "no name");
    d = ball, d.slots = &(artel_optimizer_slot){.name = "m", .group = 3}, refuse(ctx, d, "group");
    d = ball, d.slots = &(artel_optimizer_slot){.name = "m", .start = 1e300}, refuse(ctx, d, "starts");
    d = ball, d.settings = "[1]", refuse(ctx, d, "no JSON object");
    d = ball, d.settings = "{\"clipnorm\": 1}", refuse(ctx, d, "base class");
    d = ball, d.settings = settings, refuse(ctx, d, "more than 16");
    api_ok(ctx, artel_context_add_optimizer(ctx, &ball));
    refuse(ctx, ball, "there is a optimizer of this name");
    d = ball, d.class_name = "mine>Adam"; /* its package tells it from Keras' */
    api_ok(ctx, artel_context_add_optimizer(ctx, &d));
    artel_context_destroy(ctx);
}

typedef enum fault {
    WRITES_NOTHING,
    WRITES_ANOTHER_SHAPE,
    LOOKS_UP,
    FAILS,
    FAULTS
} fault;

static artel_status faulty(void *user, const char *config, artel_graph *g, artel_optimizer_update *u)
{
    (void)config;
    u->next = u->variable;
    switch (*(const fault *)user) {
    case WRITES_NOTHING: u->next = ARTEL_NO_VALUE; break;
    case WRITES_ANOTHER_SHAPE: u->next = u->rate; break;
    case LOOKS_UP: u->next = artel_graph_op(g, "take", &u->variable, 1, "{\"args\": [[0]], \"axis\": 0}"); break;
    default: return ARTEL_ERROR_UNSUPPORTED;
    }
    return ARTEL_OK;
}

static void test_updates_are_checked(void **state)
{
    (void)state;
    static const char *const what[FAULTS] = {"was not written", "another shape", "is not for an update",
                                             "own code failed"};
    for (fault f = WRITES_NOTHING; f < FAULTS; f++) {
        artel_context *ctx = api_context();
        artel_model *model = api_mlp(ctx);
        artel_data *data = api_rows(ctx, false);
        artel_optimizer_definition d = {.struct_size = sizeof d, .class_name = "Faulty", .update = faulty, .user = &f};
        api_ok(ctx, artel_context_add_optimizer(ctx, &d));
        api_ok(ctx, artel_model_compile(model, "Faulty", "sparse_categorical_crossentropy", NULL));
        api_ok(ctx, artel_model_initialise(model, 1));
        assert_true(artel_model_fit(model, data, NULL, NULL) < 0);
        if (!strstr(artel_context_error(ctx)->what, what[f])) fail_msg("%s", artel_context_error(ctx)->what);
        artel_data_destroy(data);
        artel_model_destroy(model);
        artel_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_has_the_bits_of_sgd),
        cmocka_unit_test(test_steps_in_a_function),
        cmocka_unit_test(test_definitions_are_checked),
        cmocka_unit_test(test_updates_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
