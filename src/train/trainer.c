/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers: a session whose batches the caller names, one by one.
 *
 * What fit decides between two steps (which rows, which rate, when to stop) is the caller's; what it counts (batches
 * for random numbers, steps of the optimizer) is counted here in the same way, so that the same batches give the same
 * bits.
 */
#include "artel/trainer.h"

#include "base/argument.h"
#include "base/rng.h"
#include "base/threads.h"
#include "train/fit_impl.h"

#define OPTION(field) offsetof(artel_trainer_options, field)
static const artel__range ranges[] = {{".batch_size", ARTEL__RANGE_INT64, OPTION(batch_size), 1, 1e9, NULL},
                                      {".shards", ARTEL__RANGE_INT64, OPTION(shards), 0, ARTEL__MAX_SHARDS, NULL},
                                      {".steps_before", ARTEL__RANGE_INT64, OPTION(steps_before), 0, 1e15, NULL},
                                      {".replicas", ARTEL__RANGE_INT, OPTION(replicas), 0, 256, NULL},
                                      {".threads", ARTEL__RANGE_INT, OPTION(threads), 0, 4096, NULL},
                                      {.name = NULL}};
static const artel__options_kind kind = {"trainer options", "begin with ARTEL_TRAINER_OPTIONS_INIT",
                                         sizeof(artel_trainer_options), ranges};

struct artel_trainer {
    artel_context *ctx;
    artel_model *model;
    artel__arena arena;
    artel_trainer_options options;
    artel__settings settings;
    artel__feed *feed;
    artel__session *session;
    int64_t samples;
    uint64_t steps;    /* batches consumed */
    int64_t iteration; /* of the optimizer */
    bool evaluates;    /* the mode is prepared */
    bool over;
};

/* -- making -- */

static artel_status bind(artel_trainer *t, artel_data *data)
{
    artel__data_wants wants;
    ARTEL_TRY(artel__objective_wants(&t->arena, t->model->nn, &t->settings, ARTEL__MODE_TRAIN, &wants));
    wants.seed = t->options.seed;
    ARTEL_TRY(artel__data_bind(data, &wants, &t->feed));
    t->samples = artel__feed_count(t->feed);
    return ARTEL_OK;
}

static artel_status open_trainer(artel_trainer *t, artel_data *data)
{
    const artel_trainer_options *o = &t->options;
    artel__arena_init(&t->arena, t->ctx);
    ARTEL_TRY(artel__check_class(t->model, o->standard_step));
    const artel__settings_source source = {.model = t->model, .data = data, .train = true, .batch_size = o->batch_size};
    ARTEL_TRY(artel__settings_read(&t->arena, &source, &t->settings));
    ARTEL_TRY(bind(t, data));
    artel__session_options session = {.model = t->model,
                                      .settings = &t->settings,
                                      .strategy = o->strategy,
                                      .replicas = o->replicas,
                                      .threads = o->threads,
                                      .batch_size = o->batch_size,
                                      .shards = (int32_t)o->shards,
                                      .seed = o->seed,
                                      .train = true,
                                      .device = ARTEL__DEVICE_REQUEST(o, o->allow_mixed_arithmetic, true),
                                      .arithmetic = o->arithmetic};
    ARTEL_TRY(artel__session_create(t->ctx, &session, &t->session));
    const artel__settings_source known = {
        .model = t->model, .train = true, .replicas = artel__session_ranks(t->session), .batch_size = o->batch_size};
    ARTEL_TRY(artel__settings_reschedule(&t->arena, &known, &t->settings));
    t->iteration = artel__session_iteration(t->session);
    return artel__session_prepare(t->session, ARTEL__MODE_TRAIN, t->feed, artel__batch_room(t->feed, o->batch_size));
}

artel_status artel_trainer_create(artel_model *model, artel_data *data, const artel_trainer_options *options,
                                  artel_trainer **out)
{
    artel_trainer_options chosen = ARTEL_TRAINER_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model data out", model, data, out));
    ARTEL_TRY(artel__take_options(model->ctx, &kind, options, &chosen));
    ARTEL_TRY(artel__need_context(model->ctx, artel__data_context(data), "the data"));
    ARTEL_TRY(artel__calloc(model->ctx, 1, sizeof(artel_trainer), "trainer", &block));
    artel_trainer *t = block;
    t->ctx = model->ctx;
    t->model = model;
    t->options = chosen;
    t->steps = (uint64_t)chosen.steps_before;
    uint32_t caller = artel__fp_enter(); /* as fit reads its settings */
    artel_status status = open_trainer(t, data);
    artel__fp_leave(caller);
    if (status < 0) {
        artel_trainer_destroy(t);
        return status;
    }
    *out = t;
    return ARTEL_OK;
}

void artel_trainer_destroy(artel_trainer *t)
{
    if (!t) return;
    artel_context *ctx = t->ctx;
    artel__session_destroy(t->session);
    artel__feed_destroy(t->feed);
    json_decref(t->settings.optimizer.record);
    artel__arena_fini(&t->arena);
    artel__free(ctx, t);
}

/* -- facts -- */

int64_t artel_trainer_samples(const artel_trainer *t)
{
    return t ? t->samples : 0;
}

int artel_trainer_replicas(const artel_trainer *t)
{
    return t ? artel__session_ranks(t->session) : 0;
}

int64_t artel_trainer_iteration(const artel_trainer *t)
{
    return t ? t->iteration : 0;
}

artel_status artel_trainer_order(const artel_trainer *t, int64_t pass, uint64_t *samples, int64_t count)
{
    ARTEL_TRY(artel__enter(t ? t->ctx : NULL, __func__, "trainer samples", t, samples));
    if (pass < 0)
        return artel__fail(t->ctx, ARTEL_ERROR_INVALID, "trainer", "count passes from 0", "there is no pass %lld",
                           (long long)pass);
    if (count != t->samples)
        return artel__fail(t->ctx, ARTEL_ERROR_INVALID, "trainer", "give room for artel_trainer_samples() numbers",
                           "room for %lld of %lld samples", (long long)count, (long long)t->samples);
    artel__rng_permutation(t->options.seed, ARTEL__STREAM_SHUFFLE, (uint64_t)pass, (uint64_t)count, samples);
    return ARTEL_OK;
}

/* -- stepping -- */

static artel_status check_batch(const artel_trainer *t, const uint64_t *samples, int64_t count)
{
    int64_t most = artel__batch_room(t->feed, t->options.batch_size);
    if (t->over)
        return artel__fail(t->ctx, ARTEL_ERROR_INVALID, "trainer", "make a new one",
                           "the training was ended by storing its last state");
    if (count < 1 || count > most)
        return artel__fail(t->ctx, ARTEL_ERROR_INVALID, "trainer", "set batch_size when it is made",
                           "%lld samples in a batch (1 to %lld are possible)", (long long)count, (long long)most);
    for (int64_t i = 0; i < count; i++) {
        if (samples[i] >= (uint64_t)t->samples)
            return artel__fail(t->ctx, ARTEL_ERROR_INVALID, "trainer", "count from 0",
                               "sample %llu of data that has %lld", (unsigned long long)samples[i],
                               (long long)t->samples);
    }
    if (artel__cancelled(t->ctx))
        return artel__fail(t->ctx, ARTEL_ERROR_CANCELLED, "trainer", "call artel_context_clear to go on",
                           "the run was cancelled");
    return ARTEL_OK;
}

static artel_status step(artel_trainer *t, const artel__batch *batch, double *loss)
{
    ARTEL_TRY(artel__session_step(t->session, ARTEL__MODE_TRAIN, batch));
    t->steps++;
    if (artel__session_took_step(t->session)) t->iteration++;
    if (loss) *loss = artel__session_loss(t->session, ARTEL__MODE_TRAIN, NULL);
    const char *fault = artel__session_take_fault(t->session);
    if (fault[0]) artel__log(t->ctx, ARTEL_LOG_WARNING, "%s", fault);
    return ARTEL_OK;
}

artel_status artel_trainer_step(artel_trainer *t, const uint64_t *samples, int64_t count, double learning_rate,
                                double *loss)
{
    ARTEL_TRY(artel__enter(t ? t->ctx : NULL, __func__, "trainer samples", t, samples));
    ARTEL_TRY(check_batch(t, samples, count));
    if (!(learning_rate >= 0 && learning_rate <= 1e9))
        return artel__fail(t->ctx, ARTEL_ERROR_INVALID, "trainer",
                           "give a rate, for example 0.001; 0: what the optimizer has", "a learning rate of %g",
                           learning_rate);
    uint32_t caller = artel__fp_enter();
    double own = artel__schedule_rate(&t->settings.optimizer.schedule, t->iteration);
    const artel__batch batch = {.rows = samples,
                                .count = count,
                                .ordinal = t->steps,
                                .iteration = t->iteration,
                                .learning_rate = learning_rate > 0 ? learning_rate : own};
    artel_status status = step(t, &batch, loss);
    artel__fp_leave(caller);
    return status;
}

static artel_status evaluate(artel_trainer *t, const artel__batch *batch, double *loss)
{
    if (!t->evaluates)
        ARTEL_TRY(artel__session_prepare(t->session, ARTEL__MODE_EVALUATE, t->feed,
                                         artel__batch_room(t->feed, t->options.batch_size)));
    t->evaluates = true;
    ARTEL_TRY(artel__session_step(t->session, ARTEL__MODE_EVALUATE, batch));
    *loss = artel__session_loss(t->session, ARTEL__MODE_EVALUATE, NULL);
    return ARTEL_OK;
}

artel_status artel_trainer_evaluate(artel_trainer *t, const uint64_t *samples, int64_t count, double *loss)
{
    ARTEL_TRY(artel__enter(t ? t->ctx : NULL, __func__, "trainer samples loss", t, samples, loss));
    ARTEL_TRY(check_batch(t, samples, count));
    const artel__batch batch = {.rows = samples, .count = count};
    uint32_t caller = artel__fp_enter();
    artel_status status = evaluate(t, &batch, loss);
    artel__fp_leave(caller);
    return status;
}

artel_status artel_trainer_store(artel_trainer *t, bool last)
{
    ARTEL_TRY(artel__enter(t ? t->ctx : NULL, __func__, "trainer", t));
    uint32_t caller = artel__fp_enter();
    if (last && !t->over) artel__session_finalize(t->session);
    t->over = t->over || last;
    double rate = artel__schedule_rate(&t->settings.optimizer.schedule, t->iteration);
    artel_status status = artel__session_export(t->session, t->model, t->iteration, rate);
    artel__fp_leave(caller);
    return status;
}
