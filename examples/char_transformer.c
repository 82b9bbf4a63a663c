/* SPDX-License-Identifier: Apache-2.0 */
/* A transformer that writes: from the letters before it, the next one.
 *
 *     char_transformer [STRATEGY [REPLICAS]]
 *
 * A decoder with one head of attention, built of operations: letters and places become vectors, attention looks back
 * and never ahead, two layers and a sum follow. It learns a rhyme by heart, then goes on from its beginning by itself.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LETTERS = 27, /* a blank, a to z */
    LENGTH = 16,
    WIDTH = 32,
    BATCH = 32,
    STEPS = 300,
    WEIGHTS = 9
};

/* Weights: 0 of letters, 1 of places, 2 of what comes next; 3 query, 4 key, 5 value and 6 what attention gives; 7 and 8
 * two layers. */
static const int64_t shapes[WEIGHTS][2] = {{LETTERS, WIDTH}, {LENGTH, WIDTH},    {WIDTH, LETTERS},
                                           {WIDTH, WIDTH},   {WIDTH, WIDTH},     {WIDTH, WIDTH},
                                           {WIDTH, WIDTH},   {WIDTH, 2 * WIDTH}, {2 * WIDTH, WIDTH}};

static const char rhyme[] =
    "the miller had a little mill that turned when all the wind was still and when the wind began to blow "
    "the mill stood still he did not know that somebody had tied it so ";

typedef struct net {
    artel_strategy *strategy;
    artel_variable *weight[WEIGHTS];
    artel_optimizer *optimizer;
} net;

static artel_value op(artel_graph *g, const char *name, artel_value a, artel_value b)
{
    return artel_graph_binary(g, name, a, b);
}

static artel_value product(artel_graph *g, net *n, artel_value x, int weight)
{
    return op(g, "matmul", x, artel_graph_variable(g, n->weight[weight]));
}

/* Attention of each place to those before it and itself. */
static artel_value attend(artel_graph *g, net *n, artel_value x)
{
    static float ahead[LENGTH][LENGTH];
    for (int i = 0; i < LENGTH * LENGTH; i++) ahead[i / LENGTH][i % LENGTH] = i % LENGTH > i / LENGTH ? -1e9f : 0;
    artel_value mask = artel_graph_constant(g, ARTEL_DTYPE_FLOAT32, &(artel_shape){2, {LENGTH, LENGTH}}, ahead);
    artel_value key = product(g, n, x, 4), turned = artel_graph_op(g, "transpose", &key, 1, "{\"axes\": [0, 2, 1]}");
    artel_value score =
        op(g, "divide", op(g, "matmul", product(g, n, x, 3), turned), artel_graph_number(g, sqrt(WIDTH)));
    score = op(g, "add", score, mask);
    score = artel_graph_op(g, "softmax", &score, 1, "{\"axis\": -1}");
    return product(g, n, op(g, "matmul", score, product(g, n, x, 5)), 6);
}

/* Letters to what comes next: a number for each letter, at each place. */
static artel_value logits(artel_graph *g, net *n, artel_value letters)
{
    artel_value x = artel_graph_op(g, "one_hot", &letters, 1, "{\"num_classes\": 27}");
    x = op(g, "add", product(g, n, x, 0), artel_graph_variable(g, n->weight[1]));
    x = op(g, "add", x, attend(g, n, x));
    x = op(g, "add", x, product(g, n, artel_graph_unary(g, "relu", product(g, n, x, 7)), 8));
    return product(g, n, x, 2);
}

/* In training the loss, and a step against it; else the likeliest letters. */
static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    net *n = user;
    const char *crossentropy =
        "{\"class_name\": \"SparseCategoricalCrossentropy\", \"config\": {\"from_logits\": true}}";
    artel_value made = logits(g, n, in[0]);
    if (artel_graph_training(g)) {
        artel_value loss = artel_graph_loss(g, crossentropy, in[1], made);
        out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_op(g, "mean", &loss, 1, "{\"axis\": -1}"));
        artel_graph_minimise(g, n->optimizer, out[0]);
    } else
        out[0] = artel_graph_op(g, "argmax", &made, 1, "{\"axis\": -1}");
    return artel_graph_status(g);
}

static artel_status make_weights(net *n)
{
    static float initial[WIDTH * 2 * WIDTH];
    uint64_t state = 3;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < WEIGHTS && status == ARTEL_OK; i++) {
        char name[16];
        artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
        o.shape = (artel_shape){2, {shapes[i][0], shapes[i][1]}};
        for (int64_t k = 0; k < artel_shape_count(&o.shape); k++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            initial[k] = ((float)(state >> 40) / (float)(1 << 23) - 1) * 0.25f;
        }
        snprintf(name, sizeof name, "weight %d", i);
        o.name = name;
        o.initial = initial;
        status = artel_variable_create(n->strategy, &o, &n->weight[i]);
    }
    return status < 0
               ? status
               : artel_optimizer_create(n->strategy, "adam:learning_rate=0.005", n->weight, WEIGHTS, &n->optimizer);
}

static int32_t letter_at(int i)
{
    char c = rhyme[i % (int)strlen(rhyme)];
    return c == ' ' ? 0 : c - 'a' + 1;
}

/* Windows of the rhyme, of which a step sees other ones than the step before. */
static artel_status learn(artel_function *step)
{
    static int32_t before[BATCH][LENGTH], after[BATCH][LENGTH];
    float loss = 0;
    const artel_array in[2] = {{ARTEL_DTYPE_INT32, {2, {BATCH, LENGTH}}, before},
                               {ARTEL_DTYPE_INT32, {2, {BATCH, LENGTH}}, after}};
    const artel_array out = {.data = &loss};
    artel_status status = ARTEL_OK;
    for (int i = 0; i < STEPS && status == ARTEL_OK; i++) {
        for (int k = 0; k < BATCH * LENGTH; k++) {
            int first = (i * BATCH + k / LENGTH) * 37;
            before[k / LENGTH][k % LENGTH] = letter_at(first + k % LENGTH);
            after[k / LENGTH][k % LENGTH] = letter_at(first + k % LENGTH + 1);
        }
        status = artel_function_run(step, in, 2, &out, 1);
        if (status == ARTEL_OK && (i + 1) % 100 == 0) printf("step %d: loss %a (%.4f)\n", i + 1, loss, loss);
    }
    return status;
}

static artel_status go_on(artel_function *guess)
{
    int32_t window[LENGTH], next[LENGTH];
    const artel_array in = {ARTEL_DTYPE_INT32, {2, {1, LENGTH}}, window},
                      out = {.dtype = ARTEL_DTYPE_INT32, .data = next};
    artel_status status = ARTEL_OK;
    for (int i = 0; i < LENGTH; i++) window[i] = letter_at(i);
    printf("%.*s|", LENGTH, rhyme);
    for (int i = 0; i < 80 && status == ARTEL_OK; i++) {
        status = artel_function_run(guess, &in, 1, &out, 1);
        memmove(window, window + 1, sizeof window - sizeof *window);
        window[LENGTH - 1] = next[LENGTH - 1];
        putchar(next[LENGTH - 1] ? 'a' + next[LENGTH - 1] - 1 : ' ');
    }
    printf("\n");
    return status;
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    net n = {.strategy = NULL};
    artel_function *function[2] = {NULL, NULL}; /* a step, a guess */
    const artel_argument letters[2] = {{"before", ARTEL_DTYPE_INT32, false, {1, {LENGTH}}},
                                       {"after", ARTEL_DTYPE_INT32, false, {1, {LENGTH}}}};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    o.strategy = argc > 1 ? argv[1] : NULL;
    o.replicas = argc > 2 ? atoi(argv[2]) : 0;
    o.batch_size = BATCH;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &o, &n.strategy);
    if (status == ARTEL_OK) status = make_weights(&n);
    f.arguments = letters;
    f.output_count = 1;
    for (int i = 0; i < 2 && status == ARTEL_OK; i++) {
        f.training = i == 0;
        f.argument_count = 2 - i;
        status = artel_function_create(n.strategy, &f, trace, &n, &function[i]);
    }
    if (status == ARTEL_OK) status = learn(function[0]);
    if (status == ARTEL_OK) status = go_on(function[1]);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_strategy_destroy(n.strategy);
    artel_context_destroy(ctx);
    return status < 0;
}
