/* SPDX-License-Identifier: Apache-2.0 */
/* A convolutional network, built layer by layer, trained on Fashion-MNIST (or any idx: images of 28 x 28), and saved
 * for Keras.
 *
 *     fashion_mnist IMAGES LABELS OUT.keras [EPOCHS [REPLICAS]]
 *
 * IMAGES and LABELS are the idx files as they are distributed, gzipped or not. The last tenth is kept for validation.
 * The weights that come out do not depend on REPLICAS; the digest that is printed shows it.
 */
#include <artel/build.h>
#include <artel/fit.h>
#include <stdio.h>
#include <stdlib.h>

/* Every failure has its record in the context: where, what, and what to do. */
static int report(const artel_context *ctx)
{
    const artel_error *error = artel_context_error(ctx);
    fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    return artel_status_exit_code(error->status);
}

/* A builder remembers its first failure, so only finish is checked. */
static artel_status build(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_status status =
        artel_sequential_create(ctx, "fashion_mnist", ARTEL_DTYPE_FLOAT32, &(artel_shape){3, {28, 28, 1}}, &b);
    if (status < 0) return status;
    artel_layer_conv2d(b, &(artel_conv2d_options){.filters = 32, .kernel = {3, 3}, .activation = "relu"});
    artel_layer_max_pooling2d(b, NULL);
    artel_layer_conv2d(b, &(artel_conv2d_options){.filters = 64, .kernel = {3, 3}, .no_bias = true});
    artel_layer_batch_normalization(b, NULL);
    artel_layer_activation(b, &(artel_activation_options){.activation = "relu"});
    artel_layer_max_pooling2d(b, NULL);
    artel_layer_flatten(b, NULL);
    artel_layer_dropout(b, &(artel_dropout_options){.rate = 0.25});
    artel_layer_dense(b, &(artel_dense_options){.units = 10, .activation = "softmax"});
    return artel_sequential_finish(b, out);
}

/* Progress: the library calls this on the thread that called artel_model_fit, one event at a time. */
static void show(void *user, const artel_event *event)
{
    (void)user;
    switch (event->kind) {
    case ARTEL_EVENT_START:
        printf("strategy %s, replicas %d, threads %d\n", event->text ? event->text : "?", event->replicas,
               event->threads);
        break;
    case ARTEL_EVENT_STEP:
        if (!event->validation && event->step_in_epoch % 100 == 0)
            printf("  step %lld of %lld: loss %.4f\n", (long long)event->step_in_epoch,
                   (long long)event->steps_per_epoch, event->loss);
        break;
    case ARTEL_EVENT_EPOCH_END:
        printf("epoch %lld of %lld:", (long long)event->epoch + 1, (long long)event->epochs);
        for (int i = 0; i < event->metric_count; i++)
            printf(" %s %.4f", event->metrics[i].name, event->metrics[i].value);
        printf("\n");
        break;
    case ARTEL_EVENT_END: printf("%.0f examples a second\n", event->examples_per_second); break;
    default: break;
    }
}

static artel_status train(artel_context *ctx, artel_model *model, char **argv, int argc)
{
    char specification[4096], digest[65];
    artel_data *data;
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    options.epochs = argc > 4 ? atoi(argv[4]) : 3;
    options.strategy = argc > 5 ? "mirrored" : "auto";
    options.replicas = argc > 5 ? atoi(argv[5]) : 0;
    options.batch_size = 128;
    options.validation_split = 0.1;
    options.on_event = show;
    artel_status status = artel_model_compile(model, "adam", "sparse_categorical_crossentropy", "accuracy");
    if (status < 0) return status;
    snprintf(specification, sizeof specification, "idx:%s,%s#scale=1/255", argv[1], argv[2]);
    status = artel_data_open(ctx, specification, &data);
    if (status < 0) return status;
    status = artel_model_fit(model, data, &options, NULL);
    if (status == ARTEL_OK) status = artel_model_save(model, argv[3]);
    if (status == ARTEL_OK) status = artel_model_digest(model, digest);
    if (status == ARTEL_OK) printf("saved %s, digest %s\n", argv[3], digest);
    artel_data_destroy(data);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 6) {
        fprintf(stderr, "usage: fashion_mnist IMAGES LABELS OUT.keras [EPOCHS [REPLICAS]]\n");
        return 1;
    }
    artel_context *ctx;
    artel_model *model = NULL;
    if (artel_context_create(NULL, &ctx) < 0) return fprintf(stderr, "%s\n", artel_context_error(NULL)->what), 2;
    artel_status status = build(ctx, &model);
    if (status == ARTEL_OK) status = train(ctx, model, argv, argc);
    int code = status < 0 ? report(ctx) : 0;
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return code;
}
