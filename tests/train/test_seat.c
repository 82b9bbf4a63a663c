/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership of shards changes between two steps and changes no bit: two sessions train together, swap their ranks, and
 * one of them goes on alone; the variables are those of one session that did all steps by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help_train.h"
#include "net/inproc.h"
#include "train/session.h"

enum {
    ROWS = 96,
    WIDTH = 9,
    BATCH = 37,
    STEPS = 6
};

static const char mlp[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": \"InputLayer\", "
    "\"config\": "
    "{\"batch_shape\": [null, 9], \"dtype\": \"float32\", \"name\": \"in\"}}, "
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 21, \"activation\": \"relu\"}}, "
    "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"n\"}}, "
    "{\"class_name\": \"Dropout\", \"config\": {\"name\": \"d\", \"rate\": 0.4}}, "
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"b\", \"units\": 4, \"activation\": \"softmax\"}}]}}";

/* Products of two bfloat16 operands of more terms than a block of tiles has. */
static const char mixed[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": \"InputLayer\", "
    "\"config\": "
    "{\"batch_shape\": [null, 9], \"dtype\": \"float32\", \"name\": \"in\"}}, "
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 100, \"activation\": \"relu\", \"dtype\": "
    "\"mixed_bfloat16\"}}, "
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"b\", \"units\": 300, \"activation\": \"tanh\", \"dtype\": "
    "\"mixed_bfloat16\"}}, "
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 100, \"activation\": \"tanh\", \"dtype\": "
    "\"mixed_bfloat16\"}}, "
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"c\", \"units\": 4, \"activation\": \"softmax\"}}]}}";

typedef struct trainer {
    artel_context *ctx;
    artel__arena arena;
    artel_model *model;
    artel_data *data;
    artel__settings settings;
    artel__feed *feed;
    artel__session *session;
    float x[ROWS * WIDTH];
    int32_t y[ROWS];
    uint64_t order[ROWS];
    /* For the thread. */
    const artel__mesh_seat *seat;
    int from, to;
    artel_status status;
    pthread_t thread;
} trainer;

static void open_model(trainer *t, const char *record)
{
    t->model = train_model(t->ctx, record);
    assert_int_equal(artel_model_compile(t->model, "adam", "sparse_categorical_crossentropy", NULL), ARTEL_OK);
}

static void open_data(trainer *t)
{
    artel_shape shape = {.rank = 2, .dim = {ROWS, WIDTH}}, targets = {.rank = 1, .dim = {ROWS}};
    for (int i = 0; i < ROWS * WIDTH; i++) t->x[i] = (float)(i * 7919 % 211) / 100.0f - 1.0f;
    for (int i = 0; i < ROWS; i++) t->y[i] = (i * 31 + i / 7) % 4;
    for (int i = 0; i < ROWS; i++) t->order[i] = (uint64_t)(i * 37 % ROWS);
    artel_data_array arrays[] = {{.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = shape, .values = t->x},
                                 {.name = "y", .dtype = ARTEL_DTYPE_INT32, .shape = targets, .values = t->y}};
    assert_int_equal(artel_data_from_memory(t->ctx, arrays, 2, &t->data), ARTEL_OK);
}

static void open_trainer_of(trainer *t, const char *record, const char *arithmetic)
{
    memset(t, 0, sizeof *t);
    assert_int_equal(artel_context_create(NULL, &t->ctx), ARTEL_OK);
    artel__arena_init(&t->arena, t->ctx);
    open_model(t, record);
    open_data(t);
    artel__data_wants wants;
    const artel__settings_source source = {.model = t->model, .train = true, .replicas = 1, .batch_size = BATCH};
    assert_int_equal(artel__settings_read(&t->arena, &source, &t->settings), ARTEL_OK);
    assert_int_equal(artel__objective_wants(&t->arena, t->model->nn, &t->settings, ARTEL__MODE_TRAIN, &wants),
                     ARTEL_OK);
    assert_int_equal(artel__data_bind(t->data, &wants, &t->feed), ARTEL_OK);
    artel__session_options options = {.model = t->model,
                                      .settings = &t->settings,
                                      .strategy = "one-device",
                                      .threads = 1,
                                      .batch_size = BATCH,
                                      .seed = 5,
                                      .train = true,
                                      .arithmetic = arithmetic};
    assert_int_equal(artel__session_create(t->ctx, &options, &t->session), ARTEL_OK);
    assert_int_equal(artel__session_prepare(t->session, ARTEL__MODE_TRAIN, t->feed, BATCH), ARTEL_OK);
}

static void open_trainer(trainer *t)
{
    open_trainer_of(t, mlp, NULL);
}

static void close_trainer(trainer *t)
{
    artel__session_destroy(t->session);
    artel__feed_destroy(t->feed);
    artel_data_destroy(t->data);
    artel_model_destroy(t->model);
    json_decref(t->settings.optimizer.record);
    artel__arena_fini(&t->arena);
    artel_context_destroy(t->ctx);
}

static void *train(void *user)
{
    trainer *t = user;
    t->status = t->seat ? artel__session_seat(t->session, t->seat) : ARTEL_OK;
    for (int step = t->from; step < t->to && t->status == ARTEL_OK; step++) {
        artel__batch batch = {.rows = t->order + step * 7,
                              .count = step % 2 ? BATCH : BATCH - 9,
                              .ordinal = (uint64_t)step,
                              .iteration = step,
                              .learning_rate = 0.01};
        t->status = artel__session_step(t->session, ARTEL__MODE_TRAIN, &batch);
    }
    return NULL;
}

static void train_alone(trainer *t, int from, int to, const artel__mesh_seat *seat)
{
    t->from = from;
    t->to = to;
    t->seat = seat;
    train(t);
    assert_int_equal(t->status, ARTEL_OK);
}

/* Two trainers in a generation: rank of the first one, steps. */
static void train_together(artel_context *ctx, trainer *pair, uint32_t generation, int first, int from, int to)
{
    artel__fabric *fabric;
    artel__endpoint *endpoint[2];
    artel__mesh_activity activity[2];
    artel__mesh_seat seat[2];
    memset(activity, 0, sizeof activity);
    assert_int_equal(artel__fabric_create(ctx, 2, false, &fabric), ARTEL_OK);
    for (int i = 0; i < 2; i++) {
        int rank = i ? 1 - first : first;
        endpoint[i] = artel__fabric_endpoint(fabric, rank);
        seat[i] = (artel__mesh_seat){.generation = generation,
                                     .job = 9,
                                     .first = rank,
                                     .ranks = 2,
                                     .endpoint = &endpoint[i],
                                     .activity = &activity[i]};
        pair[i].seat = &seat[i];
        pair[i].from = from;
        pair[i].to = to;
        assert_int_equal(pthread_create(&pair[i].thread, NULL, train, &pair[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(pair[i].thread, NULL);
    for (int i = 0; i < 2; i++) assert_int_equal(pair[i].status, ARTEL_OK);
    /* The sessions are seated elsewhere before the fabric goes. */
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            artel__session_seat(pair[i].session, &(artel__mesh_seat){.generation = generation + 1, .ranks = 1}),
            ARTEL_OK);
    artel__fabric_destroy(fabric);
}

static void test_ownership_changes_no_bit(void **state)
{
    (void)state;
    static trainer one, pair[2];
    artel__mesh_seat alone = {.generation = 7, .ranks = 1};
    open_trainer(&one);
    train_alone(&one, 0, STEPS, NULL);
    uint64_t truth = artel__session_hash(one.session);
    for (int i = 0; i < 2; i++) open_trainer(&pair[i]);
    assert_int_not_equal(artel__session_hash(pair[0].session), truth);
    train_together(one.ctx, pair, 1, 0, 0, 2);
    train_together(one.ctx, pair, 3, 1, 2, 5);
    assert_true(artel__session_hash(pair[0].session) == artel__session_hash(pair[1].session));
    train_alone(&pair[1], 5, STEPS, &alone);
    assert_true(artel__session_hash(pair[1].session) == truth);
    for (int i = 0; i < 2; i++) close_trainer(&pair[i]);
    close_trainer(&one);
}

/* Steps of the mixed model: alone as --arithmetic says, or as a record does, which comes to a session that has made a
 * plan already. */
static uint64_t train_mixed(const char *asked, const artel__mesh_seat *seat, artel__arithmetic checkpoint,
                            char words[128])
{
    static trainer one;
    open_trainer_of(&one, mixed, asked);
    if (!asked && !seat) assert_int_equal(artel__session_continue_in(one.session, checkpoint), ARTEL_OK);
    train_alone(&one, 0, STEPS, seat);
    snprintf(words, 128, "%s", artel__session_arithmetic(one.session));
    *strchr(words, '(') = '\0'; /* the instruction set */
    uint64_t hash = artel__session_hash(one.session);
    close_trainer(&one);
    return hash;
}

/* Who asked for an arithmetic, who is told it by a record and who finds it in a checkpoint compute the same, on any
 * machine. */
static void test_arithmetic_is_stated(void **state)
{
    (void)state;
    bool amx = artel__isa_of_machine() == ARTEL__ISA_AMX;
    uint64_t hash[2];
    char words[128], wanted[128];
    for (uint32_t a = ARTEL__ARITHMETIC_CHAIN; a <= ARTEL__ARITHMETIC_TILES; a++) {
        const char *name = artel__arithmetic_name((artel__arithmetic)a);
        bool own = amx == (a == ARTEL__ARITHMETIC_TILES);
        hash[a] = train_mixed(name, NULL, 0, words);
        snprintf(wanted, sizeof wanted, "artel-1 bfloat16 %s: .arithmetic ", name);
        assert_string_equal(words, wanted);
        artel__mesh_seat seat = {.generation = 7, .ranks = 1, .arithmetic = 1 + a, .best = 1 + ARTEL__ARITHMETIC_CHAIN};
        assert_true(train_mixed(NULL, &seat, 0, words) == hash[a]);
        const char *why = own ? (amx ? "this machine has AMX" : "this machine has no AMX")
                          : a ? "as the run began"
                              : "not every member has AMX";
        snprintf(wanted, sizeof wanted, "artel-1 bfloat16 %s: %s ", name, why);
        assert_string_equal(words, wanted);
        assert_true(train_mixed(NULL, NULL, (artel__arithmetic)a, words) == hash[a]);
        snprintf(wanted, sizeof wanted, "artel-1 bfloat16 %s: as in the checkpoint ", name);
        assert_string_equal(words, wanted);
    }
    assert_true(hash[0] != hash[1]);
}

static size_t heap_in_use(void)
{
    struct mallinfo2 info = mallinfo2(); /* zeros under a sanitizer */
    return info.uordblks + info.hblkhd;
}

/* However often the members of a job change, a session takes no more memory. */
static void test_seats_take_no_memory(void **state)
{
    enum {
        WARM = 20,
        SEATS = 2000
    };
    static trainer one;
    artel__mesh_seat alone = {.ranks = 1};
    size_t before = 0;
    (void)state;
    open_trainer(&one);
    for (int i = 0; i < SEATS; i++) {
        alone.generation = (uint32_t)i + 1;
        train_alone(&one, i % STEPS, i % STEPS + (i < WARM), &alone);
        artel__session_unseat(one.session);
        if (i == WARM) before = heap_in_use();
    }
    assert_in_range(heap_in_use(), 0, before + 4096);
    close_trainer(&one);
}

/* Clocks are read when somebody has asked for times, and not before. */
static void test_only_a_profile_reads_clocks(void **state)
{
    static trainer one;
    int64_t begin = -1;
    bool ahead;
    (void)state;
    open_trainer(&one);
    train_alone(&one, 0, 1, NULL);
    assert_int_equal(artel__session_input_time(one.session, &begin, &ahead), 0);
    assert_int_equal(begin, 0);
    assert_int_equal(artel__session_profile(one.session), ARTEL_OK);
    train_alone(&one, 1, 2, NULL);
    assert_true(artel__session_input_time(one.session, &begin, &ahead) > 0);
    assert_true(begin > 0);
    close_trainer(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ownership_changes_no_bit), cmocka_unit_test(test_arithmetic_is_stated),
        cmocka_unit_test(test_seats_take_no_memory), cmocka_unit_test(test_only_a_profile_reads_clocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
