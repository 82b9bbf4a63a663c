/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop of one's own, under any strategy.
 *
 *     custom_loop MODEL DATA OUT.keras [PASSES [STRATEGY [REPLICAS [KEEP]]]]
 *
 * MODEL has compile settings (or gets Adam and sparse_categorical_crossentropy), DATA is a specification as of `artel
 * fit --data`. The loop takes the samples in the order of `artel fit --seed 0`, so with KEEP 1 (the default) the result
 * has the bits of that. With KEEP 0.5 each pass after the first trains on the harder half of the samples only, by the
 * loss that the model has for each of them: what no option of fit can say. STRATEGY and REPLICAS change no bit of
 * either.
 */
#include <artel/fit.h>
#include <artel/trainer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 32
};

typedef struct sample {
    double loss;
    uint64_t number;
} sample;

/* The harder first; equal ones by number, so that the order is one. */
static int by_loss(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Leaves the harder share of the samples in `order`, in the order they had; returns how many. */
static artel_status choose(artel_trainer *trainer, double keep, uint64_t *order, int64_t *count)
{
    sample *all = malloc((size_t)*count * sizeof *all);
    char *chosen = calloc((size_t)*count, 1);
    artel_status status = all && chosen ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < *count && status == ARTEL_OK; i++) {
        all[i].number = (uint64_t)i;
        status = artel_trainer_evaluate(trainer, &all[i].number, 1, &all[i].loss);
    }
    if (status == ARTEL_OK) {
        int64_t left = 0, most = (int64_t)(keep * (double)*count);
        qsort(all, (size_t)*count, sizeof *all, by_loss);
        for (int64_t i = 0; i < most; i++) chosen[all[i].number] = 1;
        for (int64_t i = 0; i < *count; i++) {
            if (chosen[order[i]]) order[left++] = order[i];
        }
        *count = left;
    }
    free(chosen);
    free(all);
    return status;
}

static artel_status one_pass(artel_trainer *trainer, int64_t pass, double keep, uint64_t *order)
{
    int64_t count = artel_trainer_samples(trainer), steps = 0;
    double loss, sum = 0;
    artel_status status = artel_trainer_order(trainer, pass, order, count);
    if (status == ARTEL_OK && pass > 0 && keep < 1) status = choose(trainer, keep, order, &count);
    for (int64_t at = 0; at < count && status == ARTEL_OK; at += BATCH, steps++) {
        status = artel_trainer_step(trainer, order + at, count - at < BATCH ? count - at : BATCH, 0, &loss);
        sum += loss;
    }
    if (status == ARTEL_OK)
        printf("pass %lld: %lld steps of %d replicas, loss %.6f\n", (long long)pass + 1, (long long)steps,
               artel_trainer_replicas(trainer), steps ? sum / (double)steps : 0);
    return status;
}

static artel_status train(artel_model *model, artel_data *data, int argc, char **argv)
{
    int64_t passes = argc > 4 ? atoll(argv[4]) : 1;
    double keep = argc > 7 ? atof(argv[7]) : 1;
    artel_trainer *trainer;
    artel_trainer_options options = ARTEL_TRAINER_OPTIONS_INIT;
    options.batch_size = BATCH;
    options.strategy = argc > 5 ? argv[5] : "auto";
    options.replicas = argc > 6 ? atoi(argv[6]) : 0;
    artel_status status = artel_trainer_create(model, data, &options, &trainer);
    if (status < 0) return status;
    uint64_t *order = malloc((size_t)artel_trainer_samples(trainer) * sizeof *order);
    if (!order) status = ARTEL_ERROR_NO_MEMORY;
    for (int64_t pass = 0; pass < passes && status == ARTEL_OK; pass++) status = one_pass(trainer, pass, keep, order);
    if (status == ARTEL_OK) status = artel_trainer_store(trainer, true);
    free(order);
    artel_trainer_destroy(trainer);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 8) {
        fprintf(stderr, "usage: custom_loop MODEL DATA OUT.keras [PASSES [STRATEGY [REPLICAS [KEEP]]]]\n");
        return 1;
    }
    artel_context *ctx = NULL;
    artel_model *model = NULL;
    artel_data *data = NULL;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_model_load(ctx, argv[1], &model);
    if (status == ARTEL_OK && strstr(argv[1], ".json")) /* an architecture alone */
        status = artel_model_compile(model, "adam", "sparse_categorical_crossentropy", NULL);
    if (status == ARTEL_OK) status = artel_data_open(ctx, argv[2], &data);
    if (status == ARTEL_OK) status = train(model, data, argc, argv);
    if (status == ARTEL_OK) status = artel_model_save(model, argv[3]);
    const artel_error *error = artel_context_error(ctx);
    if (status < 0) fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return artel_status_exit_code(status);
}
