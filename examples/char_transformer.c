/* SPDX-License-Identifier: Apache-2.0 */
/* A transformer that writes: from the letters before it, the next one.
 *
 *     char_transformer [STRATEGY [REPLICAS]]
 *
 * A decoder with two heads of attention: letters become vectors, each place adds one of its own, attention looks back
 * and never ahead, two layers and a sum follow. It learns a rhyme by heart, then goes on from its beginning by itself.
 */
#include <artel/artel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LETTERS = 27, /* a blank, a to z */
    LENGTH = 16,
    BATCH = 32,
    EPOCHS = 60
};

static const char rhyme[] =
    "the miller had a little mill that turned when all the wind was still and when the wind began to blow "
    "the mill stood still he did not know that somebody had tied it so ";

enum {
    ROWS = sizeof rhyme - 1 /* windows of it, round and round */
};

static int32_t letter_at(int i)
{
    char c = rhyme[i % ROWS];
    return c == ' ' ? 0 : c - 'a' + 1;
}

/* Letters to what comes next: a number for each letter, at each place. */
static artel_status make_model(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_tensor x, y;
    artel_status status = artel_functional_create(ctx, "writer", &b);
    if (status < 0) return status;
    artel_input(b, "letters", ARTEL_DTYPE_INT32, &(artel_shape){1, {LENGTH}}, &x);
    artel_apply(b, "Embedding", "{\"input_dim\": 27, \"output_dim\": 32}", &x, 1, &x);
    /* a vector for each place: its bias */
    artel_apply(b, "EinsumDense",
                "{\"equation\": \"btc,cd->btd\", \"output_shape\": [null, 32], \"bias_axes\": \"td\", "
                "\"bias_initializer\": \"glorot_uniform\"}",
                &x, 1, &x);
    artel_apply(b, "MultiHeadAttention", "{\"num_heads\": 2, \"key_dim\": 16}", (artel_tensor[]){x, x}, 2, &y);
    artel_apply_arguments(b, y, "{\"use_causal_mask\": true}");
    artel_apply(b, "Add", NULL, (artel_tensor[]){x, y}, 2, &x);
    artel_apply(b, "Dense", "{\"units\": 64, \"activation\": \"relu\"}", &x, 1, &y);
    artel_apply(b, "Dense", "{\"units\": 32}", &y, 1, &y);
    artel_apply(b, "Add", NULL, (artel_tensor[]){x, y}, 2, &x);
    artel_apply(b, "Dense", "{\"units\": 27}", &x, 1, &x);
    status = artel_functional_finish(b, &x, 1, out); /* says what failed first */
    if (status < 0) return status;
    return artel_model_compile(*out, "adam:learning_rate=0.005", "sparse_categorical_crossentropy:from_logits=true",
                               "accuracy");
}

/* Each window of the rhyme, and the same one a letter on. */
static artel_status windows(artel_context *ctx, artel_data **out)
{
    static int32_t before[ROWS][LENGTH], after[ROWS][LENGTH];
    const artel_data_array arrays[2] = {
        {"letters", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_INT32, {2, {ROWS, LENGTH}}, before},
        {"next", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_INT32, {2, {ROWS, LENGTH}}, after}};
    for (int i = 0; i < ROWS * LENGTH; i++) {
        before[i / LENGTH][i % LENGTH] = letter_at(i / LENGTH + i % LENGTH);
        after[i / LENGTH][i % LENGTH] = letter_at(i / LENGTH + i % LENGTH + 1);
    }
    return artel_data_from_memory(ctx, arrays, 2, out);
}

static void show(void *user, const artel_event *event)
{
    (void)user;
    if (event->kind == ARTEL_EVENT_EPOCH_END && (event->epoch + 1) % 20 == 0)
        printf("epoch %lld: loss %a (%.4f)\n", (long long)event->epoch + 1, event->loss, event->loss);
}

/* Gives the letter that is likeliest behind the last one, eighty times. */
static artel_status go_on(artel_predictor *predictor)
{
    static float made[LENGTH][LETTERS];
    int32_t window[LENGTH];
    const void *in = window;
    float *out = made[0];
    artel_status status = ARTEL_OK;
    for (int i = 0; i < LENGTH; i++) window[i] = letter_at(i);
    printf("%.*s|", LENGTH, rhyme);
    for (int i = 0; i < 80 && status == ARTEL_OK; i++) {
        int best = 0;
        status = artel_predictor_run(predictor, &in, 1, &out);
        for (int k = 1; k < LETTERS; k++) {
            if (made[LENGTH - 1][k] > made[LENGTH - 1][best]) best = k;
        }
        memmove(window, window + 1, sizeof window - sizeof *window);
        window[LENGTH - 1] = best;
        putchar(best ? 'a' + best - 1 : ' ');
    }
    printf("\n");
    return status;
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    artel_model *model = NULL;
    artel_data *data = NULL;
    artel_predictor *predictor = NULL;
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    o.epochs = EPOCHS;
    o.batch_size = BATCH;
    o.strategy = argc > 1 ? argv[1] : "auto";
    o.replicas = argc > 2 ? atoi(argv[2]) : 0;
    o.on_event = show;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = make_model(ctx, &model);
    if (status == ARTEL_OK) status = windows(ctx, &data);
    if (status == ARTEL_OK) status = artel_model_fit(model, data, &o, NULL);
    if (status == ARTEL_OK) status = artel_predictor_create(model, NULL, &predictor);
    if (status == ARTEL_OK) status = go_on(predictor);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_predictor_destroy(predictor);
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return status < 0;
}
