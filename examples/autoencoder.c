/* SPDX-License-Identifier: Apache-2.0 */
/* An autoencoder that finds what does not belong: pictures go through a layer of three numbers, and who comes back
 * badly is odd.
 *
 *     autoencoder [STRATEGY [REPLICAS]]
 *
 * Pictures of 8 x 8 show one bright bar, upright or lying. A model of dense layers learns to give back what it gets
 * (its targets are its inputs). Pictures with a diagonal, which it never saw, come back worse than any bar.
 */
#include <artel/artel.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIDE = 8,
    PIXELS = SIDE * SIDE,
    BARS = 320,
    ODD = 16
};

/* The same pictures each time: a bar, or from BARS on a diagonal, with a little noise. */
static void draw(int number, float *picture)
{
    uint64_t state = (uint64_t)number + 1;
    for (int i = 0; i < PIXELS; i++) {
        int row = i / SIDE, column = i % SIDE, place = number / 2 % SIDE;
        bool lit = number >= BARS ? (row + number) % SIDE == column : number % 2 ? row == place : column == place;
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        picture[i] = (lit ? 0.9f : 0.0f) + (float)(state >> 40) / (float)(1 << 24) / 10;
    }
}

static artel_status make_model(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_status status =
        artel_sequential_create(ctx, "autoencoder", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {PIXELS}}, &b);
    if (status < 0) return status;
    artel_layer_dense(b, &(artel_dense_options){.units = 48, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = 3, .name = "code"});
    artel_layer_dense(b, &(artel_dense_options){.units = 48, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = PIXELS, .activation = "sigmoid"});
    status = artel_sequential_finish(b, out);
    return status < 0 ? status : artel_model_compile(*out, "adam:learning_rate=0.01", "mean_squared_error", NULL);
}

static artel_status pictures(artel_context *ctx, const float *values, int count, artel_data **out)
{
    const artel_data_array arrays[2] = {
        {"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {count, PIXELS}}, values},
        {"y", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_FLOAT32, {2, {count, PIXELS}}, values}};
    return artel_data_from_memory(ctx, arrays, 2, out);
}

/* How far each picture is from what came back: the worst bar, the best diagonal. */
static artel_status judge(artel_model *model, artel_data *data, const float *values,
                          const artel_evaluate_options *options)
{
    artel_predictions *predictions = NULL;
    artel_shape shape;
    const float *made;
    double worst = 0, best = 1e9;
    artel_status status = artel_model_predict(model, data, options, &predictions);
    if (status == ARTEL_OK) status = artel_predictions_get(predictions, 0, NULL, &shape, &made);
    for (int n = 0; n < BARS + ODD && status == ARTEL_OK; n++) {
        double error = 0;
        for (int i = 0; i < PIXELS; i++) {
            double away = made[n * PIXELS + i] - values[n * PIXELS + i];
            error += away * away / PIXELS;
        }
        if (n < BARS && error > worst) worst = error;
        if (n >= BARS && error < best) best = error;
    }
    if (status == ARTEL_OK)
        printf("worst bar %a, best diagonal %a\n%s\n", worst, best, best > 2 * worst ? "told apart" : "mixed up");
    artel_predictions_destroy(predictions);
    return status;
}

static artel_status run(artel_context *ctx, artel_model *model, const char *strategy, int replicas)
{
    static float values[(BARS + ODD) * PIXELS];
    artel_data *bars = NULL, *all = NULL;
    artel_history *history = NULL;
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    artel_evaluate_options evaluate = ARTEL_EVALUATE_OPTIONS_INIT;
    fit.epochs = 40;
    fit.strategy = evaluate.strategy = strategy;
    fit.replicas = evaluate.replicas = replicas;
    for (int n = 0; n < BARS + ODD; n++) draw(n, values + n * PIXELS);
    artel_status status = pictures(ctx, values, BARS, &bars);
    if (status == ARTEL_OK) status = pictures(ctx, values, BARS + ODD, &all);
    if (status == ARTEL_OK) status = artel_model_fit(model, bars, &fit, &history);
    if (status == ARTEL_OK) {
        const double *loss = artel_history_values(history, "loss", NULL);
        printf("loss %.5f, after %lld epochs %.5f\n", loss[0], (long long)fit.epochs, loss[fit.epochs - 1]);
        status = judge(model, all, values, &evaluate);
    }
    artel_history_destroy(history);
    artel_data_destroy(all);
    artel_data_destroy(bars);
    return status;
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    artel_model *model = NULL;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = make_model(ctx, &model);
    if (status == ARTEL_OK) status = run(ctx, model, argc > 1 ? argv[1] : "auto", argc > 2 ? atoi(argv[2]) : 0);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return status < 0;
}
