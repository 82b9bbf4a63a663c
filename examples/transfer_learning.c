/* SPDX-License-Identifier: Apache-2.0 */
/* Transfer learning: what a model has learnt from many pictures serves another task that has few.
 *
 *     transfer_learning [STRATEGY [REPLICAS]]
 *
 * The first task: which of eight waves a signal of 32 numbers holds, with many examples. The second one: whether the
 * number of its wave is odd, with 16 examples. The layers of the first model are taken over, frozen, under a new head;
 * beside it the same model learns from nothing. The frozen weights keep their bits.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH = 32,
    WAVES = 8,
    MANY = 800,
    FEW = 16,
    TESTS = 200,
    HIDDEN = 24
};

typedef struct signals {
    float x[MANY][LENGTH];
    int32_t label[MANY];
    int count;
} signals;

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void make_signals(uint64_t seed, int count, bool odd, signals *out)
{
    out->count = count;
    seed *= 0x9e3779b97f4a7c15ULL; /* near seeds begin far apart */
    for (int i = 0; i < count; i++) {
        int wave = (int)(draw(&seed) * WAVES);
        double shift = draw(&seed) * 3; /* not the same each time */
        for (int t = 0; t < LENGTH; t++) out->x[i][t] = (float)(sin(0.2 * (wave + 1) * t + shift) + draw(&seed) - 0.5);
        out->label[i] = odd ? wave % 2 : wave;
    }
}

static artel_status open_signals(artel_context *ctx, const signals *s, artel_data **out)
{
    const artel_data_array arrays[2] = {
        {"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {s->count, LENGTH}}, s->x},
        {"y", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_INT32, {1, {s->count}}, s->label}};
    return artel_data_from_memory(ctx, arrays, 2, out);
}

/* Two layers that look, frozen or not, and a head. */
static artel_status make_model(artel_context *ctx, int classes, bool frozen, artel_model **out)
{
    char config[200];
    artel_builder *b;
    artel_status status = artel_sequential_create(ctx, "signals", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {LENGTH}}, &b);
    if (status < 0) return status;
    for (int i = 0; i < 2; i++) {
        snprintf(config, sizeof config,
                 "{\"name\": \"base_%d\", \"units\": %d, \"activation\": \"relu\", \"trainable\": %s}", i, HIDDEN,
                 frozen ? "false" : "true");
        artel_layer_add(b, "Dense", config);
    }
    artel_layer_dense(b, &(artel_dense_options){.units = classes, .activation = "softmax"});
    status = artel_sequential_finish(b, out);
    if (status == ARTEL_OK)
        status = artel_model_compile(*out, "adam:learning_rate=0.01", "sparse_categorical_crossentropy", "accuracy");
    return status < 0 ? status : artel_model_initialise(*out, 1);
}

/* The weights of the two layers, out of one model; *same: they are those of another one already, which else takes them.
 */
static artel_status take_over(artel_model *from, artel_model *to, bool *same)
{
    static const char *const paths[] = {"layers/dense/vars/0", "layers/dense/vars/1", "layers/dense_1/vars/0",
                                        "layers/dense_1/vars/1"};
    static const int64_t counts[] = {LENGTH * HIDDEN, HIDDEN, HIDDEN * HIDDEN, HIDDEN};
    static float here[LENGTH * HIDDEN], there[LENGTH * HIDDEN];
    artel_status status = ARTEL_OK;
    *same = true;
    for (int i = 0; i < 4 && status == ARTEL_OK; i++) {
        status = artel_model_get_weight(from, paths[i], here, counts[i]);
        if (status == ARTEL_OK) status = artel_model_get_weight(to, paths[i], there, counts[i]);
        if (status == ARTEL_OK) *same = *same && memcmp(here, there, (size_t)counts[i] * sizeof *here) == 0;
        if (status == ARTEL_OK) status = artel_model_set_weight(to, paths[i], here, counts[i]);
    }
    return status;
}

/* Trains, and says how often the model is right about what it has not seen. */
static artel_status train(artel_context *ctx, artel_model *model, const signals *seen, const signals *unseen,
                          artel_fit_options fit, double *right)
{
    artel_data *train = NULL, *test = NULL;
    artel_history *history = NULL;
    artel_evaluate_options evaluate = ARTEL_EVALUATE_OPTIONS_INIT;
    evaluate.strategy = fit.strategy;
    evaluate.replicas = fit.replicas;
    artel_status status = open_signals(ctx, seen, &train);
    if (status == ARTEL_OK) status = open_signals(ctx, unseen, &test);
    if (status == ARTEL_OK) status = artel_model_fit(model, train, &fit, NULL);
    if (status == ARTEL_OK) status = artel_model_evaluate(model, test, &evaluate, &history);
    if (status == ARTEL_OK) *right = artel_history_values(history, "accuracy", NULL)[0];
    artel_history_destroy(history);
    artel_data_destroy(test);
    artel_data_destroy(train);
    return status;
}

static artel_status run(artel_context *ctx, artel_model *model[3], const artel_fit_options *fit)
{
    static signals set[4]; /* many and tests of the first task, few and tests of the second */
    double right[3] = {0};
    bool same = false;
    char digest[65];
    for (int i = 0; i < 4; i++) make_signals(5 + (uint64_t)i, i % 2 ? TESTS : i ? FEW : MANY, i >= 2, &set[i]);
    artel_status status = ARTEL_OK;
    for (int i = 0; i < 3 && status == ARTEL_OK; i++) status = make_model(ctx, i ? 2 : WAVES, i == 1, &model[i]);
    if (status == ARTEL_OK) status = train(ctx, model[0], &set[0], &set[1], *fit, &right[0]);
    if (status == ARTEL_OK) status = take_over(model[0], model[1], &same);
    for (int i = 1; i < 3 && status == ARTEL_OK; i++) status = train(ctx, model[i], &set[2], &set[3], *fit, &right[i]);
    if (status == ARTEL_OK) status = take_over(model[0], model[1], &same);
    if (status == ARTEL_OK) status = artel_model_digest(model[1], digest);
    if (status == ARTEL_OK)
        printf("first task %.3f; second: taken over %.3f, from nothing %.3f\nfrozen weights %s\n%s\n", right[0],
               right[1], right[2], same ? "kept their bits" : "have changed", digest);
    return status;
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    artel_model *model[3] = {NULL, NULL, NULL};
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    fit.epochs = 30;
    fit.strategy = argc > 1 ? argv[1] : "auto";
    fit.replicas = argc > 2 ? atoi(argv[2]) : 0;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = run(ctx, model, &fit);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    for (int i = 0; i < 3; i++) artel_model_destroy(model[i]);
    artel_context_destroy(ctx);
    return status < 0;
}
