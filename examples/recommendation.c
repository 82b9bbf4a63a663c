/* SPDX-License-Identifier: Apache-2.0 */
/* Recommendations by factors: users and films get a vector each, and a rating is their product.
 *
 *     recommendation [STRATEGY [REPLICAS]]
 *
 * Every user has a taste that nobody tells the model: one of four kinds of film, which he rates high. Two thirds of all
 * pairs are rated; the rest is what the model must guess. A Functional model of two embeddings and a dot product is
 * trained, and for some users the film with the highest guess among those that they have not seen is named.
 */
#include <artel/artel.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    USERS = 40,
    FILMS = 32,
    KINDS = 4,
    PAIRS = USERS * FILMS
};

typedef struct ratings {
    int32_t user[PAIRS], film[PAIRS];
    float rating[PAIRS];
    int count;
} ratings;

static bool is_seen(int user, int film)
{
    return (uint32_t)(user * FILMS + film + 1) * 2654435761u % 1021 % 3 != 0;
}

static float rating_of(int user, int film)
{
    float mood = (float)((user * 13 + film * 11) % 7) / 14 - 0.2f;
    return (user % KINDS == film % KINDS ? 4.5f : 1.5f) + mood;
}

static void collect(bool seen, ratings *out)
{
    for (int user = 0; user < USERS; user++) {
        for (int film = 0; film < FILMS; film++) {
            if (is_seen(user, film) != seen) continue;
            out->user[out->count] = user;
            out->film[out->count] = film;
            out->rating[out->count++] = rating_of(user, film);
        }
    }
}

static artel_status open_ratings(artel_context *ctx, const ratings *r, artel_data **out)
{
    const artel_data_array arrays[3] = {
        {"user", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_INT32, {2, {r->count, 1}}, r->user},
        {"film", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_INT32, {2, {r->count, 1}}, r->film},
        {"y", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_FLOAT32, {2, {r->count, 1}}, r->rating}};
    return artel_data_from_memory(ctx, arrays, 3, out);
}

/* A vector for each number up to `count`. */
static artel_tensor factors(artel_builder *b, const char *name, int count)
{
    char config[200];
    artel_tensor number, vector, flat;
    artel_input(b, name, ARTEL_DTYPE_INT32, &(artel_shape){1, {1}}, &number);
    snprintf(config, sizeof config, "{\"input_dim\": %d, \"output_dim\": 6}", count);
    artel_apply(b, "Embedding", config, &number, 1, &vector);
    artel_apply(b, "Flatten", NULL, &vector, 1, &flat);
    return flat;
}

static artel_status make_model(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_tensor rating;
    artel_status status = artel_functional_create(ctx, "recommendation", &b);
    if (status < 0) return status;
    const artel_tensor both[2] = {factors(b, "user", USERS), factors(b, "film", FILMS)};
    artel_apply(b, "Dot", "{\"axes\": 1}", both, 2, &rating);
    artel_apply(b, "Dense", "{\"units\": 1}", &rating, 1, &rating);
    status = artel_functional_finish(b, &rating, 1, out);
    return status < 0 ? status : artel_model_compile(*out, "adam:learning_rate=0.02", "mean_squared_error", "mae");
}

/* The best guess for a user among what he has not seen; whether it is of his kind. */
static int recommend(const ratings *hidden, const float *guess, int user)
{
    int best = -1;
    for (int i = 0; i < hidden->count; i++) {
        if (hidden->user[i] == user && (best < 0 || guess[i] > guess[best])) best = i;
    }
    if (best < 0) return 0; /* he has seen all */
    if (user < 4) printf("user %d: film %d, guess %a\n", user, hidden->film[best], guess[best]);
    return hidden->film[best] % KINDS == user % KINDS;
}

static artel_status run(artel_context *ctx, artel_model *model, const char *strategy, int replicas)
{
    static ratings seen, hidden;
    artel_data *train = NULL, *rest = NULL;
    artel_predictions *guesses = NULL;
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    artel_evaluate_options evaluate = ARTEL_EVALUATE_OPTIONS_INIT;
    const float *guess;
    artel_shape shape;
    int hits = 0;
    fit.epochs = 30;
    fit.strategy = evaluate.strategy = strategy;
    fit.replicas = evaluate.replicas = replicas;
    collect(true, &seen);
    collect(false, &hidden);
    artel_status status = open_ratings(ctx, &seen, &train);
    if (status == ARTEL_OK) status = open_ratings(ctx, &hidden, &rest);
    if (status == ARTEL_OK) status = artel_model_fit(model, train, &fit, NULL);
    if (status == ARTEL_OK) status = artel_model_predict(model, rest, &evaluate, &guesses);
    if (status == ARTEL_OK) status = artel_predictions_get(guesses, 0, NULL, &shape, &guess);
    for (int user = 0; user < USERS && status == ARTEL_OK; user++) hits += recommend(&hidden, guess, user);
    if (status == ARTEL_OK)
        printf("%d ratings, %d hidden; %d of %d users get a film of their kind\n", seen.count, hidden.count, hits,
               USERS);
    artel_predictions_destroy(guesses);
    artel_data_destroy(rest);
    artel_data_destroy(train);
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
