/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: folders ckpt-<step> that appear whole or not at all.
 *
 * A folder holds state.safetensors (variables in plain form, named by Keras' paths, then slots and the weights kept by
 * callbacks) and manifest.json (identity, counters, accumulators, history, callbacks, SHA-256 of the other file), which
 * is written last, inside a temporary folder that is then renamed. The newest whole folder is found by looking; there
 * is no pointer file. Numbers that must come back exactly are hexadecimal text. A copy of the state is taken between
 * two steps and written by a thread of its own; one write is in flight at a time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/file.h"
#include "base/hash.h"
#include "train/callbacks.h"
#include "train/checkpoint_file.h"
#include "train/audit.h"
#include "train/content.h"
#include "train/identity.h"
#include "train/options.h"
#include "train/mixed.h"

struct artel__checkpointer {
    json_t *identity;
    int64_t every_steps, every_epochs;
    bool finished;
    artel__checkpoint_image image; /* of the write in flight */
    pthread_t thread;
    bool writing;
    atomic_bool done;     /* the write in flight is over; join_write() will not wait */
    artel_status written; /* of the last write */
    bool unpublished;     /* it was written, and another chief may have gone on: it is to be written again */
    int64_t saved_step;
    char programs[65]; /* what a checkpoint that was taken up says of the device's programs; "": nothing, or they are
                          these */
};

enum {
    FORMAT = 2,    /* of the manifest */
    MOST_LOOKS = 5 /* for a checkpoint that is not removed while it is read */
};

/* -- writing -- */

static json_t *hex_list(const double *values, int64_t count)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) {
        if (json_array_append_new(list, artel__hex_real(values[i])) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *history_json(const artel_history *history)
{
    json_t *object = json_object();
    for (int k = 0; k < history->keys; k++) {
        if (json_object_set_new(object, history->key[k], hex_list(history->values[k], history->epochs)) == 0) continue;
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *tally_json(const artel__tally *tally)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "loss_sum", artel__hex_real(tally->loss), "rows",
                     artel__hex_real(tally->weight), "batches", artel__hex_real(tally->batches), "output_losses",
                     hex_list(tally->output_loss, tally->outputs), "metric_sums",
                     hex_list(tally->sums, tally->sum_count));
}

/* Whether processors make products of bfloat16, which they add in one of two ways: not where all workers are devices.
 */
static bool has_products(const artel__fit *fit)
{
    return artel__session_has_products(fit->session) && (!fit->job.on_devices || fit->job.mixed);
}

/* Part of what a run is, in models that have such products: decided, at the latest, before the first step. */
static artel_status identify_arithmetic(const artel__fit *fit, json_t *identity)
{
    artel__arithmetic arithmetic;
    if (!has_products(fit) || !artel__session_products_of(fit->session, &arithmetic)) return ARTEL_OK;
    bool set = json_object_set_new(identity, "arithmetic", json_string(artel__arithmetic_name(arithmetic))) == 0;
    return set ? ARTEL_OK : artel__fail_memory(fit->ctx, "checkpoint", 0);
}

artel_status artel__fit_position(artel__fit *fit, json_t **out)
{
    artel__checkpointer *c = fit->checkpointer;
    if (c) ARTEL_TRY(identify_arithmetic(fit, c->identity));
    char programs[65] = "";
    artel__session_programs(fit->session, programs);
    json_t *callbacks = json_array();
    artel_status status = artel__callbacks_save(fit, callbacks);
    *out = json_pack(
        "{s:i, s:O, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:b, s:b, s:b, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o}",
        "format", FORMAT, "identity", c ? c->identity : json_null(), "arithmetic",
        artel__session_arithmetic(fit->session), "programs", programs, "step", (json_int_t)fit->at.step, "epoch",
        (json_int_t)fit->at.epoch, "step_in_epoch", (json_int_t)fit->at.step_in_epoch, "cursor",
        (json_int_t)fit->input.batches.cursor, "pass", (json_int_t)fit->input.batches.pass, "iteration",
        (json_int_t)fit->at.iteration, "epochs", (json_int_t)fit->options.epochs, "unit", (json_int_t)fit->at.unit,
        "validation_row", (json_int_t)fit->validation.row, "replicas", fit->job.schedule_replicas, "finished",
        c && c->finished, "stopped", fit->callbacks.stop, "ended", fit->at.ended, "epoch_begun", fit->at.epoch_begun,
        "learning_rate", artel__hex_real(fit->learning_rate), "tally", tally_json(&fit->tally), "validation",
        tally_json(&fit->validation.tally), "history", fit->history ? history_json(fit->history) : json_object(),
        "callbacks", callbacks, "content", artel__content_save(fit), "audit", artel__audit_save(fit));
    if (!*out) return artel__fail_memory(fit->ctx, "checkpoint", 4096);
    return status;
}

/* In the writing thread, while the run goes on: asked about what was taken. */
static artel_status may_appear(void *user)
{
    const artel__fit *fit = user;
    return artel__fit_confirm_step(fit, fit->checkpointer->image.step);
}

static void *write_main(void *user)
{
    artel__fit *fit = user;
    artel__checkpointer *c = fit->checkpointer;
    c->image.gate = fit->role == ARTEL__ROLE_COORDINATOR ? may_appear : NULL;
    c->image.gate_user = fit;
    c->written = artel__checkpoint_write(fit->ctx, fit->options.checkpoint_dir, &c->image, fit->options.keep);
    atomic_store(&c->done, true);
    return NULL;
}

/* Waits for the write in flight and reports it. */
static artel_status join_write(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    if (!c->writing) return ARTEL_OK;
    pthread_join(c->thread, NULL);
    c->writing = false;
    c->unpublished = c->written == ARTEL_AGAIN;
    if (c->unpublished) return ARTEL_OK;
    if (c->written < 0) /* where nothing is recorded any more */
        artel__fail(fit->ctx, c->written, fit->options.checkpoint_dir, "see whether the disk is full",
                    "a checkpoint could not be written");
    ARTEL_TRY(c->written);
    char path[4096];
    snprintf(path, sizeof path, "%s/ckpt-%lld", fit->options.checkpoint_dir, (long long)c->image.step);
    artel_event event = {.kind = ARTEL_EVENT_CHECKPOINT, .text = path};
    int64_t step = fit->at.step;
    fit->at.step = c->image.step;
    artel__fit_event(fit, &event);
    fit->at.step = step;
    return ARTEL_OK;
}

static artel_status launch_write(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    c->unpublished = false;
    atomic_store(&c->done, false);
    if (pthread_create(&c->thread, NULL, write_main, fit) == 0) {
        c->writing = true;
        return ARTEL_OK;
    }
    write_main(fit);
    c->unpublished = c->written == ARTEL_AGAIN;
    return c->unpublished ? ARTEL_OK : c->written;
}

static artel_status start_write(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    if (!fit->writes) return ARTEL_OK; /* in a cluster one task does */
    ARTEL_TRY(join_write(fit));
    json_t *manifest = NULL;
    artel_status status = artel__fit_position(fit, &manifest);
    if (status == ARTEL_OK) status = artel__checkpoint_image_take(fit, manifest, &c->image);
    json_decref(manifest);
    ARTEL_TRY(status);
    c->saved_step = fit->at.step;
    return launch_write(fit);
}

/* Whether the interval ends with the unit that was just done. One of steps that falls on an epoch's end waits for that.
 */
static bool is_due(const artel__fit *fit, const artel__checkpointer *c)
{
    bool epoch_ended = !fit->at.epoch_begun && !fit->at.ended;
    bool step_done =
        fit->at.epoch_begun && fit->validation.row == 0 && fit->at.step_in_epoch < fit->input.steps_per_epoch;
    if (c->every_epochs) return epoch_ended && fit->at.epoch % c->every_epochs == 0;
    return (epoch_ended || step_done) && fit->at.step % c->every_steps == 0;
}

/* A run whose kernels were measured goes on with the very programs it began with, or not at all. Among tasks they are
 * known after a step. */
static artel_status check_programs(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    char ours[65];
    if (!c->programs[0] || !artel__session_programs(fit->session, ours)) return ARTEL_OK;
    if (strcmp(c->programs, ours) != 0)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, fit->options.checkpoint_dir,
                           "put its folder \"programs\" back, or give .fresh to begin anew",
                           "the device's programs are not those of the checkpoint: their kernels were measured again, "
                           "and give other bits");
    c->programs[0] = '\0';
    return ARTEL_OK;
}

artel_status artel__checkpointer_unit(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    if (!c) return ARTEL_OK;
    ARTEL_TRY(check_programs(fit));
    if (c->writing && atomic_load(&c->done)) ARTEL_TRY(join_write(fit));
    return is_due(fit, c) ? start_write(fit) : ARTEL_OK;
}

artel_status artel__checkpointer_again(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    if (!c) return ARTEL_OK;
    if (c->writing && atomic_load(&c->done)) ARTEL_TRY(join_write(fit));
    return c->unpublished ? launch_write(fit) : ARTEL_OK;
}

artel_status artel__checkpointer_catch_up(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    if (!c) return ARTEL_OK;
    ARTEL_TRY(join_write(fit));
    if (c->unpublished && fit->at.step == c->saved_step)
        ARTEL_TRY(launch_write(fit));
    else if (fit->at.step > fit->resumed_from && fit->at.step != c->saved_step)
        ARTEL_TRY(start_write(fit));
    ARTEL_TRY(join_write(fit));
    return c->unpublished ? ARTEL_AGAIN : ARTEL_OK;
}

artel_status artel__checkpointer_now(artel__fit *fit)
{
    if (!fit->checkpointer) return ARTEL_OK;
    ARTEL_TRY(start_write(fit));
    ARTEL_TRY(join_write(fit));
    return fit->checkpointer->unpublished ? ARTEL_AGAIN : ARTEL_OK;
}

artel_status artel__checkpointer_finish(artel__fit *fit)
{
    if (!fit->checkpointer) return ARTEL_OK;
    fit->checkpointer->finished = true;
    artel_status status = artel__checkpointer_now(fit);
    if (status == ARTEL_AGAIN) fit->checkpointer->finished = false;
    return status;
}

int64_t artel__checkpointer_steps(const artel__fit *fit)
{
    return fit->checkpointer ? fit->checkpointer->every_steps : 0;
}

bool artel__checkpointer_finished(const artel__fit *fit)
{
    return fit->checkpointer && fit->checkpointer->finished;
}

/* -- taking up -- */

static int64_t integer(json_t *manifest, const char *key)
{
    return json_integer_value(json_object_get(manifest, key));
}

static artel_status read_reals(artel__fit *fit, const char *where, json_t *list, double *out, int count)
{
    if ((int)json_array_size(list) != count)
        return artel__fail(fit->ctx, ARTEL_ERROR_CORRUPT, where, "give .fresh to begin anew",
                           "the checkpoint's losses or metrics do not fit the model");
    for (int i = 0; i < count; i++) out[i] = artel__real_of_hex(json_array_get(list, (size_t)i));
    return ARTEL_OK;
}

static artel_status read_tally(artel__fit *fit, const char *where, json_t *in, artel__tally *out)
{
    out->loss = artel__real_of_hex(json_object_get(in, "loss_sum"));
    out->weight = artel__real_of_hex(json_object_get(in, "rows"));
    out->batches = artel__real_of_hex(json_object_get(in, "batches"));
    ARTEL_TRY(read_reals(fit, where, json_object_get(in, "output_losses"), out->output_loss, out->outputs));
    return read_reals(fit, where, json_object_get(in, "metric_sums"), out->sums, out->sum_count);
}

static artel_status restore_history(artel__fit *fit, json_t *object)
{
    const char *key;
    json_t *list;
    size_t epochs = 0;
    artel_status status = ARTEL_OK;
    void *room;
    artel__history_clear(fit->history);
    json_object_foreach(object, key, list) epochs = json_array_size(list) > epochs ? json_array_size(list) : epochs;
    ARTEL_TRY(artel__alloc(fit->ctx, (json_object_size(object) + 1) * sizeof(artel_metric_value), "history", &room));
    for (size_t e = 0; e < epochs && status == ARTEL_OK; e++) {
        artel__log_list row = {room, 0, (int)json_object_size(object)};
        json_object_foreach(object, key, list)
        {
            double value = artel__real_of_hex(json_array_get(list, e));
            if (!artel_history_absent(value)) row.item[row.count++] = (artel_metric_value){key, value};
        }
        status = artel__history_append(fit->history, &row);
    }
    artel__free(fit->ctx, room);
    return status;
}

/* Whether a position that was read lies within the data of this run; rows are found by it without further looks. */
static bool is_possible(const artel__fit *fit)
{
    const int64_t counts[] = {fit->at.step,      fit->at.epoch, fit->at.step_in_epoch, fit->input.batches.pass,
                              fit->at.iteration, fit->at.unit};
    for (size_t i = 0; i < ARTEL__COUNT(counts); i++) {
        if (counts[i] < 0 || counts[i] > ARTEL__MOST_COUNTED) return false;
    }
    return fit->input.batches.cursor >= 0 && fit->input.batches.cursor <= fit->input.batches.rows &&
           fit->validation.row >= 0 && fit->validation.row <= fit->validation.rows &&
           (!fit->at.units || fit->at.unit <= fit->at.units);
}

artel_status artel__fit_take_position(artel__fit *fit, const char *where, json_t *manifest)
{
    artel__checkpointer *c = fit->checkpointer;
    int64_t replicas = integer(manifest, "replicas");
    ARTEL_TRY(artel__callbacks_restore(fit, json_object_get(manifest, "callbacks")));
    fit->at.step = fit->resumed_from = integer(manifest, "step");
    fit->at.epoch = integer(manifest, "epoch");
    fit->at.step_in_epoch = integer(manifest, "step_in_epoch");
    fit->input.batches.cursor = integer(manifest, "cursor");
    fit->input.batches.pass = integer(manifest, "pass");
    fit->at.iteration = integer(manifest, "iteration");
    fit->learning_rate = artel__real_of_hex(json_object_get(manifest, "learning_rate"));
    fit->at.unit = integer(manifest, "unit");
    fit->validation.row = integer(manifest, "validation_row");
    if (replicas > 0) fit->job.schedule_replicas = (int)replicas;
    fit->at.epoch_begun = json_is_true(json_object_get(manifest, "epoch_begun"));
    ARTEL_TRY(read_tally(fit, where, json_object_get(manifest, "tally"), &fit->tally));
    ARTEL_TRY(read_tally(fit, where, json_object_get(manifest, "validation"), &fit->validation.tally));
    if (fit->history) ARTEL_TRY(restore_history(fit, json_object_get(manifest, "history")));
    bool stopped = json_is_true(json_object_get(manifest, "stopped")),
         done = stopped || fit->at.epoch >= fit->options.epochs;
    bool through = fit->at.units && fit->at.unit == fit->at.units; /* a pass */
    artel__content_restore(fit, json_object_get(manifest, "content"));
    artel__audit_restore(fit, json_object_get(manifest, "audit"));
    fit->callbacks.stop = stopped;
    fit->at.ended = through || (json_is_true(json_object_get(manifest, "ended")) && done);
    if (c) c->finished = json_is_true(json_object_get(manifest, "finished")) && done;
    if (replicas < 0 || replicas > INT32_MAX || !is_possible(fit))
        return artel__fail(fit->ctx, ARTEL_ERROR_CORRUPT, where, "give .fresh to begin anew",
                           "the checkpoint's position is not possible");
    if (fit->input.batches.order[0])
        artel__batches_restore(&fit->input.batches, fit->input.batches.pass,
                               fit->input.batches.cursor); /* not in an evaluation */
    return ARTEL_OK;
}

static artel_status restore(artel__fit *fit, const char *folder, json_t *manifest)
{
    ARTEL_TRY(artel__fit_take_position(fit, folder, manifest));
    ARTEL_TRY(artel__checkpoint_read_state(fit, folder));
    artel__session_broadcast(fit->session);
    return ARTEL_OK;
}

/* Whether the checkpoint is of this run. Unless --arithmetic says otherwise, that goes on in the arithmetic in which it
 * began, whatever the machine; what was written before there were two is a chain. */
static artel_status take_identity(artel__fit *fit, json_t *theirs)
{
    json_t *ours = fit->checkpointer->identity;
    const char *asked = artel__session_asked_arithmetic(fit->session),
               *chain = artel__arithmetic_name(ARTEL__ARITHMETIC_CHAIN);
    bool products = has_products(fit), any = strcmp(asked, "auto") == 0;
    const char *name = json_string_value(json_object_get(theirs, "arithmetic"));
    bool tiles = name && strcmp(name, artel__arithmetic_name(ARTEL__ARITHMETIC_TILES)) == 0;
    if (products && !name) json_object_set_new(theirs, "arithmetic", json_string(chain));
    if (products) json_object_set_new(ours, "arithmetic", json_string(!any ? asked : name ? name : chain));
    if (!artel__identity_equal(ours, theirs))
        return artel__identity_refuse(fit->ctx, fit->options.checkpoint_dir, ours, theirs);
    if (!products || !any) return ARTEL_OK;
    return artel__session_continue_in(fit->session, tiles ? ARTEL__ARITHMETIC_TILES : ARTEL__ARITHMETIC_CHAIN);
}

/* *gone: the checkpoint was removed meanwhile, by a running job that this task is about to join. */
static artel_status take_up(artel__fit *fit, bool *gone)
{
    artel__checkpointer *c = fit->checkpointer;
    char *folder = NULL;
    json_t *manifest = NULL;
    *gone = false;
    if (!fit->writes && artel__file_missing(fit->options.checkpoint_dir)) return ARTEL_OK; /* nobody has made it yet */
    ARTEL_TRY(artel__checkpoint_find(fit->ctx, fit->options.checkpoint_dir, &folder, &manifest));
    if (!manifest) {
        if (fit->options.resume)
            artel__log(fit->ctx, ARTEL_LOG_NOTE, "%s: no checkpoint to continue from; beginning anew",
                       fit->options.checkpoint_dir);
        return ARTEL_OK;
    }
    artel_status status = ARTEL_OK;
    if (integer(manifest, "format") != FORMAT)
        status = artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, folder,
                             "continue with the artel that wrote it, or give .fresh to begin anew",
                             "the checkpoint has format %lld (this artel reads %d)",
                             (long long)integer(manifest, "format"), FORMAT);
    if (status == ARTEL_OK) status = take_identity(fit, json_object_get(manifest, "identity"));
    const char *programs = json_string_value(json_object_get(manifest, "programs"));
    if (programs) snprintf(c->programs, sizeof c->programs, "%s", programs);
    if (status == ARTEL_OK) status = check_programs(fit);
    if (status == ARTEL_OK) status = restore(fit, folder, manifest);
    const char *arithmetic = json_string_value(json_object_get(manifest, "arithmetic"));
    if (status == ARTEL_OK) status = artel__mixed_continue(fit->session, arithmetic);
    if (status == ARTEL_OK) status = artel__fit_continue_workers(fit, arithmetic);
    if (status == ARTEL_OK && c->finished)
        artel__log(fit->ctx, ARTEL_LOG_NOTE,
                   "%s: this run is finished (%lld epochs, %lld steps); raise .epochs to go on", folder,
                   (long long)fit->at.epoch, (long long)fit->at.step);
    else if (status == ARTEL_OK)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "continuing from %s (epoch %lld, step %lld)", folder,
                   (long long)fit->at.epoch + 1, (long long)fit->at.step);
    *gone = status < 0 && artel__file_missing(folder);
    json_decref(manifest);
    artel__free(fit->ctx, folder);
    return status;
}

artel_status artel__checkpointer_create(artel__fit *fit)
{
    void *block;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(artel__checkpointer), "checkpoint", &block));
    fit->checkpointer = block;
    ARTEL_TRY(artel__save_interval(fit->ctx, fit->options.save_every, &fit->checkpointer->every_steps,
                                   &fit->checkpointer->every_epochs));
    if (fit->writes) {
        ARTEL_TRY(artel__make_directory(fit->ctx, fit->options.checkpoint_dir));
        ARTEL_TRY(artel__probe_directory(fit->ctx, fit->options.checkpoint_dir));
        ARTEL_TRY(artel__checkpoint_sweep(fit->ctx, fit->options.checkpoint_dir));
    }
    ARTEL_TRY(artel__identity_make(fit, &fit->checkpointer->identity));
    if (fit->options.fresh && !fit->writes) return ARTEL_OK;
    if (fit->options.fresh) return artel__checkpoint_thin(fit->ctx, fit->options.checkpoint_dir, 0);
    bool gone;
    artel_status status = take_up(fit, &gone);
    for (int i = 0; i < MOST_LOOKS && gone; i++) {
        artel__operation_begin(fit->ctx);
        status = take_up(fit, &gone);
    }
    return status;
}

void artel__checkpointer_destroy(artel__fit *fit)
{
    artel__checkpointer *c = fit->checkpointer;
    if (!c) return;
    if (c->writing) pthread_join(c->thread, NULL);
    if (fit->callbacks.drops_checkpoints && fit->writes) {
        artel__checkpoint_thin(fit->ctx, fit->options.checkpoint_dir, 0);
        rmdir(fit->options.checkpoint_dir); /* stays when there is something else in it */
    }
    artel__checkpoint_image_fini(fit->ctx, &c->image);
    json_decref(c->identity);
    artel__free(fit->ctx, c);
    fit->checkpointer = NULL;
}
