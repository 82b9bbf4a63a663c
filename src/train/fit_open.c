/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of training is made of, and the end of it: data bound to the model, session, orders of samples, callbacks,
 * checkpoints.
 *
 * artel__fit_close takes whatever a failed artel__fit_open has left.
 */
#include <string.h>

#include "base/text.h"
#include "op/ops.h"
#include "train/audit.h"
#include "train/content.h"
#include "train/deal.h"
#include "train/divide.h"

enum {
    STEP_ROOM = 65536
};

/* Workers of parameter servers take batches of any rows. */
static artel_status check_role(const artel__fit *fit, const artel_data *data)
{
    if (fit->role == ARTEL__ROLE_NONE || !data || !artel__data_buckets_of(data)) return ARTEL_OK;
    return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, "bucket_by_sequence_length",
                       "name a pipeline without that stage, or train without parameter servers",
                       "workers of parameter servers take batches of any rows");
}

static artel_status bind_data(artel__fit *fit, artel_data *data)
{
    artel__data_wants wants;
    artel__arena *arena = &fit->arena;
    ARTEL_TRY(check_role(fit, data));
    ARTEL_TRY(check_role(fit, fit->options.validation_data));
    ARTEL_TRY(artel__objective_wants(arena, fit->model->nn, &fit->settings, ARTEL__MODE_TRAIN, &wants));
    wants.seed = fit->options.seed;
    wants.apart = artel__deal_is_file(fit);
    wants.buckets = true;
    ARTEL_TRY(artel__data_bind(data, &wants, &fit->input.train));
    if (fit->options.validation_data) {
        ARTEL_TRY(artel__objective_wants(arena, fit->model->nn, &fit->settings, ARTEL__MODE_EVALUATE, &wants));
        wants.seed = fit->options.seed;
        wants.apart = artel__deal_is_file(fit) && artel__data_can_lie_apart(fit->options.validation_data);
        wants.buckets = true;
        return artel__data_bind(fit->options.validation_data, &wants, &fit->validation.feed);
    }
    if (fit->options.validation_split == 0) return ARTEL_OK;
    fit->input.whole = fit->input.train;
    fit->input.train = NULL;
    return artel__feed_split(fit->input.whole, fit->options.validation_split, &fit->input.train, &fit->validation.feed);
}

/* "2,5,9", in brackets or not. */
static artel_status read_epochs(artel__fit *fit)
{
    const char *text = fit->options.validation_epochs;
    if (!text) return ARTEL_OK;
    size_t length = strlen(text);
    bool bracketed = length > 1 && text[0] == '[' && text[length - 1] == ']';
    char *word = artel__arena_printf(&fit->arena, "%.*s", (int)(length - (bracketed ? 2 : 0)), text + bracketed);
    fit->validation.epoch = artel__arena_alloc(&fit->arena, length + 1, sizeof *fit->validation.epoch);
    ARTEL_TRY(artel__arena_status(&fit->arena));
    for (char *next = word; next; word = next) {
        next = strchr(word, ',');
        if (next) *next++ = 0;
        int64_t *epoch = &fit->validation.epoch[fit->validation.epochs++];
        if (!artel__parse_int64(word[0] == ' ' ? word + 1 : word, epoch) || *epoch < 1 || *epoch > 1000000000)
            return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".validation_epochs",
                               "name epochs from 1 on, as in 2,5,9; [2] is epoch 2 alone",
                               "\"%.100s\" is no list of epochs", text);
    }
    return ARTEL_OK;
}

static artel_status open_session(artel__fit *fit)
{
    artel__session_options options = {
        .model = fit->model,
        .settings = &fit->settings,
        .strategy = fit->options.strategy,
        .all_reduce = fit->options.all_reduce,
        .replicas = fit->options.replicas,
        .threads = fit->options.threads,
        .batch_size = fit->input.batch_size,
        .shards = (int32_t)fit->options.shards,
        .seed = fit->options.seed,
        .train = true,
        .batch_groups = fit->options.batch_norm_groups,
        .recompute = fit->options.recompute * 0.01,
        .stop_on_nan = fit->options.stop_on_nan,
        .device = ARTEL__DEVICE_REQUEST(&fit->options, fit->options.allow_mixed_arithmetic, true),
        .arithmetic = fit->options.arithmetic,
        .elsewhere = fit->role != ARTEL__ROLE_NONE,
        .whole = fit->options.consistency && artel__starts_with(fit->options.consistency, "sync:"),
        .alone = fit->role != ARTEL__ROLE_NONE,
        .cache = fit->role == ARTEL__ROLE_WORKER || fit->role == ARTEL__ROLE_SERVER,
        .unplaced = fit->role == ARTEL__ROLE_COORDINATOR || fit->role == ARTEL__ROLE_SERVER};
    if (fit->options.checkpoint_dir && !fit->options.dry_run) {
        options.device.programs = artel__arena_printf(&fit->arena, "%s/programs", fit->options.checkpoint_dir);
        options.device.writes = fit->writes;
        ARTEL_TRY(artel__arena_status(&fit->arena));
    }
    if (fit->options.class_weight) ARTEL_TRY(artel__class_weight_read(fit, &options.class_weight, &options.classes));
    if (!fit->options.dry_run) options.cluster = fit->options.cluster;
    ARTEL_TRY(artel__fit_check_device(fit, &options));
    ARTEL_TRY(artel__session_create(fit->ctx, &options, &fit->session));
    fit->at.iteration = artel__session_iteration(fit->session);
    if (!artel__session_cluster(fit->session)) fit->job.schedule_replicas = artel__session_ranks(fit->session);
    return artel__fit_apply_replicas(fit);
}

artel_status artel__fit_apply_replicas(artel__fit *fit)
{
    bool applied = fit->job.schedule_replicas ==
                   fit->job.applied_replicas; /* as in most new seats: the arena does not grow with them */
    fit->job.applied_replicas = fit->job.schedule_replicas;
    if (applied) return ARTEL_OK;
    const artel__settings_source source = {.model = fit->model,
                                           .train = true,
                                           .replicas = fit->job.schedule_replicas,
                                           .batch_size = fit->input.batch_size};
    return artel__settings_reschedule(&fit->arena, &source, &fit->settings);
}

static artel_status prepare_modes(artel__fit *fit)
{
    ARTEL_TRY(artel__session_prepare(fit->session, ARTEL__MODE_TRAIN, fit->input.train,
                                     artel__batch_room(fit->input.train, fit->input.batch_size)));
    ARTEL_TRY(artel__tally_init(&fit->arena, &fit->settings, artel__session_objective(fit->session, ARTEL__MODE_TRAIN),
                                &fit->tally));
    bool tokens =
        fit->role == ARTEL__ROLE_WORKER && artel__session_objective(fit->session, ARTEL__MODE_TRAIN)->tables > 0;
    if (tokens)
        ARTEL_TRY(artel__session_prepare(fit->session, ARTEL__MODE_TRAIN_TOKENS, fit->input.train,
                                         artel__batch_room(fit->input.train, fit->input.batch_size)));
    if (!fit->validation.feed) return ARTEL_OK;
    int64_t batch_size = artel__fit_validation_batch(fit);
    ARTEL_TRY(artel__session_prepare(fit->session, ARTEL__MODE_EVALUATE, fit->validation.feed,
                                     artel__batch_room(fit->validation.feed, batch_size)));
    if (tokens)
        ARTEL_TRY(artel__session_prepare(fit->session, ARTEL__MODE_EVALUATE_TOKENS, fit->validation.feed,
                                         artel__batch_room(fit->validation.feed, batch_size)));
    return artel__tally_init(&fit->arena, &fit->settings, artel__session_objective(fit->session, ARTEL__MODE_EVALUATE),
                             &fit->validation.tally);
}

static artel_status make_validation_order(artel__fit *fit)
{
    artel__fit_validation *v = &fit->validation;
    int64_t batch = artel__fit_validation_batch(fit), limit = fit->options.validation_steps;
    if (!v->feed) return ARTEL_OK;
    ARTEL_TRY(artel__batch_cut_init(&fit->arena, v->feed, batch, &v->cut));
    ARTEL_TRY(artel__batch_order(&fit->arena, &v->cut, &v->order));
    v->rows = v->cut.rows;
    v->end = limit > 0 ? artel__batch_behind(&v->cut, v->order, 0, limit) : v->rows;
    int64_t all = artel__batch_count(&v->cut);
    if (limit > all && fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_WARNING, "validation ends after %lld of %lld steps, with the data, as in Keras",
                   (long long)all, (long long)limit);
    return ARTEL_OK;
}

/* Pipelines that workers have for themselves (fit --auto-shard) fill no buckets together. */
static artel_status check_buckets(const artel__fit *fit, const artel__batches *batches)
{
    if (!batches->cut.buckets || batches->pipelines == 0) return ARTEL_OK;
    return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, ".auto_shard", "use .auto_shard data",
                       "batches of like length (bucket_by_sequence_length) are made of all rows, not of each worker's");
}

static artel_status make_orders(artel__fit *fit)
{
    artel__batches *batches = &fit->input.batches;
    *batches = (artel__batches){.rows = artel__feed_count(fit->input.train),
                                .batch_size = fit->input.batch_size,
                                .seed = fit->options.seed,
                                .shuffle = fit->options.shuffle};
    ARTEL_TRY(artel__batch_cut_init(&fit->arena, fit->input.train, fit->input.batch_size, &batches->cut));
    ARTEL_TRY(artel__divide_batches(fit, batches));
    ARTEL_TRY(check_buckets(fit, batches));
    bool peeks = artel__feed_reads_ahead(fit->input.train) || artel__session_device_class(fit->session);
    ARTEL_TRY(artel__batches_init(&fit->arena, batches, fit->options.initial_epoch, peeks));
    ARTEL_TRY(make_validation_order(fit));
    fit->pace.step_room = STEP_ROOM;
    fit->pace.step_ms = artel__arena_alloc(&fit->arena, STEP_ROOM, sizeof *fit->pace.step_ms);
    ARTEL_TRY(artel__arena_status(&fit->arena));
    int64_t pass_steps = artel__batch_count(&batches->cut);
    fit->input.steps_per_epoch = fit->options.steps_per_epoch ? fit->options.steps_per_epoch : pass_steps;
    return ARTEL_OK;
}

/* Validation data, and no epoch of this run that it belongs to: Keras says nothing. */
static void note_no_validation(const artel__fit *fit)
{
    const artel_fit_options *o = &fit->options;
    bool any = artel__fit_next_judged(fit, o->initial_epoch) <= o->epochs;
    if (fit->validation.feed && fit->writes && !any && o->initial_epoch < o->epochs)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "no validation will take place: %s names none of the epochs %lld to %lld",
                   o->validation_epochs ? ".validation_epochs" : ".validation_frequency",
                   (long long)o->initial_epoch + 1, (long long)o->epochs);
}

static artel_status check_options(artel__fit *fit)
{
    const artel_fit_options *o = &fit->options;
    if (o->epochs == 0)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, ".epochs is 0: nothing is trained, and the history is empty, as in Keras");
    else if (o->initial_epoch > 0 && o->initial_epoch >= o->epochs)
        artel__log(fit->ctx, ARTEL_LOG_NOTE,
                   ".epochs %lld counts from the beginning, and .initial_epoch is %lld: nothing is left to train",
                   (long long)o->epochs, (long long)o->initial_epoch);
    if (!(o->validation_split >= 0 && o->validation_split < 1))
        return artel__fail(
            fit->ctx, ARTEL_ERROR_INVALID, ".validation_split", "give the part to validate on, for example 0.1",
            "the value does not fit (found %g, expected at least 0 and less than 1)", o->validation_split);
    if (o->validation_data && o->validation_split > 0)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".validation_split", "give one or the other",
                           "validation data and a validation split were both given");
    return ARTEL_OK;
}

artel_status artel__check_class(artel_model *model, bool standard_step)
{
    const artel__model *nn = model->nn;
    if (!artel__model_is_custom(nn)) return ARTEL_OK;
    if (!standard_step)
        return artel__fail(model->ctx, ARTEL_ERROR_UNSUPPORTED, nn->class_name,
                           "if it has none, or the standard ones will do, give .standard_step",
                           "the model's class is the user's own, and a train_step, compute_loss or call of its own is "
                           "not in the file");
    artel__log(model->ctx, ARTEL_LOG_NOTE, "the model of the class %s is trained with the standard step",
               nn->class_name);
    return ARTEL_OK;
}

/* Said, not refused: it may come from the environment, and frozen layers have no statistics of the batch either. */
static void note_idle_groups(const artel__fit *fit)
{
    const artel__objective *objective = artel__session_objective(fit->session, ARTEL__MODE_TRAIN);
    if (fit->options.batch_norm_groups <= 1 || !objective) return;
    for (int i = 0; i < objective->graph.nodes; i++) {
        if (objective->graph.node[i].op == &artel__op_batch_groups_def) return;
    }
    artel__log(fit->ctx, ARTEL_LOG_NOTE,
               ".batch_norm_groups does nothing: the model has no BatchNormalization that takes statistics of a batch");
}

artel_status artel__fit_open(artel__fit *fit, artel_data *data)
{
    ARTEL_TRY(check_options(fit));
    ARTEL_TRY(artel__check_class(fit->model, fit->options.standard_step));
    fit->input.batch_size = artel__batch_size_of(data, fit->options.batch_size);
    ARTEL_TRY(artel__fit_find_role(fit));
    ARTEL_TRY(artel__divide_check_option(fit));
    fit->writes = !fit->options.cluster || artel_cluster_writes(fit->options.cluster);
    const artel__settings_source source = {
        .model = fit->model, .data = data, .train = true, .batch_size = fit->input.batch_size};
    ARTEL_TRY(artel__settings_read(&fit->arena, &source, &fit->settings));
    ARTEL_TRY(artel__fit_read_row_updates(fit));
    artel__settings_warn(fit->model, &fit->settings);
    json_t *optimizer = json_object_get(fit->model->compile_config, "optimizer");
    if (!optimizer || json_is_null(optimizer))
        artel__log(fit->ctx, ARTEL_LOG_NOTE,
                   "the compile settings name no optimizer: it is RMSprop, the default of Keras' compile()");
    fit->learning_rate = fit->options.learning_rate > 0 ? fit->options.learning_rate : -1;
    ARTEL_TRY(artel__divide_open(fit, data));
    ARTEL_TRY(read_epochs(fit));
    ARTEL_TRY(bind_data(fit, data));
    ARTEL_TRY(open_session(fit));
    ARTEL_TRY(make_orders(fit));
    bool course = fit->role == ARTEL__ROLE_NONE ||
                  fit->role == ARTEL__ROLE_COORDINATOR; /* callbacks and checkpoints are these tasks' */
    if (course) ARTEL_TRY(artel__callbacks_read(fit));  /* whether rows are compared goes by checkpoints */
    const char *check =
        fit->role == ARTEL__ROLE_NONE || (fit->options.check_data && strcmp(fit->options.check_data, "start") == 0)
            ? fit->options.check_data
            : "off";
    if (artel__deal_is_file(fit))
        check = "off"; /* nobody else has a task's files: what can be compared are their indexes */
    ARTEL_TRY(artel__content_begin(fit, fit->input.train, fit->validation.feed, check));
    ARTEL_TRY(artel__deal_open(fit));
    ARTEL_TRY(artel__audit_begin(fit));
    ARTEL_TRY(prepare_modes(fit));
    note_idle_groups(fit);
    note_no_validation(fit);
    if (fit->options.on_profile) {
        int nodes = artel__session_nodes(fit->session, ARTEL__MODE_TRAIN);
        fit->pace.profile = artel__arena_alloc(&fit->arena, (size_t)nodes + 2, sizeof *fit->pace.profile);
        ARTEL_TRY(artel__arena_status(&fit->arena));
    }
    ARTEL_TRY(artel__history_create(fit->ctx, &fit->history));
    if (course) ARTEL_TRY(artel__callbacks_begin(fit));
    fit->at.epoch = fit->options.initial_epoch;
    if (course && fit->options.checkpoint_dir && !fit->options.dry_run)
        ARTEL_TRY(artel__checkpointer_create(fit)); /* creates, sweeps, removes */
    ARTEL_TRY(artel__fit_apply_replicas(fit));      /* those that the run began with */
    return ARTEL_OK;
}

void artel__fit_close(artel__fit *fit)
{
    artel__checkpointer_destroy(fit);
    artel__callbacks_destroy(fit);
    artel__session_destroy(fit->session);
    artel__feed_destroy(fit->input.train);
    artel__feed_destroy(fit->validation.feed);
    artel__feed_destroy(fit->input.whole);
    artel_history_destroy(fit->history);
    artel__free(fit->ctx, fit->input.deal.held);
    json_decref(fit->settings.optimizer.record);
    artel__arena_fini(&fit->arena);
}
