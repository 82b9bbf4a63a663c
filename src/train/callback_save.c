/* SPDX-License-Identifier: Apache-2.0 */
/* ModelCheckpoint, after keras/src/callbacks/model_checkpoint.py, and the table of callbacks.
 *
 * File names may hold {epoch}, {epoch:02d}, {val_loss:.2f}, in any format of Python: epoch counts from 1, the rest are
 * the epoch's logs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/format_spec.h"
#include "train/callbacks.h"

typedef struct save_config {
    const char *filepath, *monitor, *mode, *save_freq;
    int64_t verbose;
    bool save_best_only, save_weights_only;
    const char *initial_value_threshold;
} save_config;

#define AT(field) offsetof(save_config, field)
static const artel__option save_options[] = {
    {"filepath", "where to save; may hold {epoch:02d} and {val_loss:.2f}", ARTEL__OPTION_STRING, AT(filepath), NULL, 0,
     0, NULL},
    {"monitor", "quantity to watch", ARTEL__OPTION_STRING, AT(monitor), "val_loss", 0, 0, NULL},
    {"verbose", "1: say so", ARTEL__OPTION_INT, AT(verbose), "0", 0, 2, NULL},
    {"save_best_only", "only when the quantity is better than ever before", ARTEL__OPTION_BOOL, AT(save_best_only),
     "false", 0, 0, NULL},
    {"save_weights_only", "weights alone (.weights.h5)", ARTEL__OPTION_BOOL, AT(save_weights_only), "false", 0, 0,
     NULL},
    {"mode", "auto, min, max", ARTEL__OPTION_STRING, AT(mode), "auto", 0, 0, NULL},
    {"save_freq", "\"epoch\", or a number of batches", ARTEL__OPTION_STRING, AT(save_freq), "epoch", 0, 0, NULL},
    {"initial_value_threshold", "value to be better than at first", ARTEL__OPTION_JSON, AT(initial_value_threshold),
     "null", 0, 0, NULL},
    {.name = NULL},
};

typedef struct save_own {
    int64_t every; /* batches; 0: epochs */
    bool told;     /* that there is nothing to compare */
} save_own;

/* Creates the folder that the file goes to, as Keras does, and sees that it can be written into. */
static artel_status make_folder(artel__fit *fit, const char *path)
{
    char buffer[4096];
    const char *folder = artel__folder_of(path, buffer, sizeof buffer);
    if (!folder) return ARTEL_OK;
    if (!artel__is_directory(folder)) ARTEL_TRY(artel__make_directory(fit->ctx, folder));
    return artel__probe_directory(fit->ctx, folder);
}

/* One part of a file name, as Python's str.format() cuts it: a character, or a field {name:spec}. */
typedef struct name_part {
    char name[128]; /* empty: it is `character` */
    char character;
    const char *spec;
    size_t spec_length;
} name_part;

static artel_status bad_name(artel__fit *fit, const char *filepath, const char *what)
{
    return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "ModelCheckpoint", "write fields as {epoch:02d}, braces as {{ }}",
                       "filepath \"%s\": %s", filepath, what);
}

static artel_status next_part(artel__fit *fit, const char *filepath, const char **at, name_part *out)
{
    const char *p = *at;
    *out = (name_part){.character = *p};
    if ((*p != '{' && *p != '}') || p[1] == *p) {
        *at = p + (p[0] == p[1] && (*p == '{' || *p == '}') ? 2 : 1);
        return ARTEL_OK;
    }
    size_t length = strcspn(p + 1, ":}");
    const char *end = strchr(p + 1, '}');
    if (*p == '}' || !end || length == 0 || length >= sizeof out->name)
        return bad_name(fit, filepath, "a brace stands alone, or a field has no name");
    memcpy(out->name, p + 1, length);
    out->spec = p[1 + length] == ':' ? p + 2 + length : end;
    out->spec_length = (size_t)(end - out->spec);
    *at = end + 1;
    return ARTEL_OK;
}

static bool is_counted(const char *name, bool by_batch)
{
    return strcmp(name, "epoch") == 0 || (by_batch && strcmp(name, "batch") == 0);
}

/* Whether each {name} of the file name will be known when it is written, and can be written so. */
static artel_status check_fields(artel__fit *fit, const save_config *c, bool by_batch)
{
    artel__text sample;
    artel__text_init(&sample, fit->ctx);
    artel_status status = ARTEL_OK;
    for (const char *p = c->filepath; *p && status == ARTEL_OK;) {
        name_part part;
        status = next_part(fit, c->filepath, &p, &part);
        if (status < 0 || !part.name[0]) continue;
        bool counted = is_counted(part.name, by_batch);
        bool late = by_batch && (artel__starts_with(part.name, "val_") || strcmp(part.name, "learning_rate") == 0);
        if (!counted && (late || !artel__monitor_exists(fit, part.name)))
            status = artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "ModelCheckpoint",
                                 late ? "save_freq \"epoch\" knows it; use epoch, batch or a name of the batch's logs"
                                      : "use epoch or a name of the epoch's logs",
                                 "filepath names \"%s\", which is not known when the file is written", part.name);
        else if (!artel__format_number(&sample, part.spec, part.spec_length, 1, counted))
            status = bad_name(fit, c->filepath, "a number cannot be written in such a format");
    }
    artel__text_fini(&sample);
    return status;
}

static artel_status save_begin(artel__fit *fit, artel__callback *callback)
{
    const save_config *c = callback->config;
    save_own *own = artel__arena_alloc(&fit->arena, 1, sizeof *own);
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    callback->own = own;
    if (c->save_best_only) ARTEL_TRY(artel__monitor_direction(fit, callback, c->mode, c->monitor));
    if (c->initial_value_threshold) artel__parse_double(c->initial_value_threshold, &callback->state.best);
    const char *ending = c->save_weights_only ? ".weights.h5" : ".keras";
    bool legacy = !c->save_weights_only && c->filepath && artel__ends_with(c->filepath, ".h5");
    if (!c->filepath || (!artel__ends_with(c->filepath, ending) && !legacy))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "ModelCheckpoint", "as Keras wants it",
                           "filepath must end in %s", ending);
    if (strcmp(c->save_freq, "epoch") != 0 && (!artel__parse_int64(c->save_freq, &own->every) || own->every < 1))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "ModelCheckpoint", "give \"epoch\" or a number of batches",
                           "save_freq is \"%s\"", c->save_freq);
    ARTEL_TRY(check_fields(fit, c, own->every > 0));
    const char *name = strrchr(c->filepath, '/'), *brace = strpbrk(c->filepath, "{}");
    bool known = !brace || (name && brace > name); /* else the folder waits until its fields are known */
    return known && !fit->options.dry_run && fit->writes ? make_folder(fit, c->filepath) : ARTEL_OK;
}

static artel_status expand_field(artel__fit *fit, const name_part *part, artel__text *out)
{
    bool counted = is_counted(part->name, true), epoch = strcmp(part->name, "epoch") == 0;
    double value = counted ? (double)(epoch ? fit->at.epoch + 1 : fit->at.step_in_epoch)
                           : artel__logs_get(&fit->logs.epoch, part->name);
    if (!counted && isnan(value) && !artel__logs_has(&fit->logs.epoch, part->name))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "ModelCheckpoint", "use epoch or a name of the epoch's logs",
                           "filepath names \"%s\", which is not known", part->name);
    artel__format_number(out, part->spec, part->spec_length, value, counted);
    return ARTEL_OK;
}

static artel_status expand(artel__fit *fit, const char *filepath, artel__text *out)
{
    for (const char *p = filepath; *p;) {
        name_part part;
        ARTEL_TRY(next_part(fit, filepath, &p, &part));
        if (part.name[0])
            ARTEL_TRY(expand_field(fit, &part, out));
        else
            artel__text_append_bytes(out, &part.character, 1);
    }
    return artel__text_status(out);
}

static artel_status write_owed(artel__fit *fit, artel__callback *callback)
{
    const save_config *c = callback->config;
    ARTEL_TRY(artel__session_export(fit->session, fit->model, fit->at.iteration, artel__fit_rate(fit)));
    ARTEL_TRY(make_folder(fit, callback->owed));
    ARTEL_TRY(artel__keras_save(fit->model, callback->owed));
    if (c->verbose > 0)
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "Epoch %lld: saving model to %s", (long long)fit->at.epoch + 1,
                   callback->owed);
    return ARTEL_OK;
}

/* In a cluster one task writes; the others remember what, until the next unit shows that it has. */
static artel_status save_now(artel__fit *fit, artel__callback *callback)
{
    const save_config *c = callback->config;
    artel__text path;
    artel__text_init(&path, fit->ctx);
    artel_status status = expand(fit, c->filepath, &path);
    if (status == ARTEL_OK && path.length >= sizeof callback->owed)
        status = artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "ModelCheckpoint", "choose a shorter one",
                             "the file name %.40s... is too long", path.data);
    if (status == ARTEL_OK) snprintf(callback->owed, sizeof callback->owed, "%s", path.data);
    artel__text_fini(&path);
    ARTEL_TRY(status);
    callback->owed_unit = fit->at.unit + 1;
    return fit->writes ? write_owed(fit, callback) : ARTEL_OK;
}

/* With save_best_only: whether this value is the best so far. What is not there is saved without comparing, as Keras
 * does. */
static bool is_best(artel__fit *fit, artel__callback *callback)
{
    const save_config *c = callback->config;
    save_own *own = callback->own;
    if (!artel__logs_has(&fit->logs.epoch, c->monitor)) {
        if (!own->told && fit->writes)
            artel__log(
                fit->ctx, ARTEL_LOG_WARNING,
                "ModelCheckpoint monitors \"%s\", which %s does not have: it saves without comparing, as Keras does%s",
                c->monitor, own->every ? "a batch" : "this epoch", own->every ? "; save_freq \"epoch\" compares" : "");
        own->told = true;
        return true;
    }
    double value = artel__logs_get(&fit->logs.epoch, c->monitor);
    double best = callback->state.best;
    bool better = isnan(best) || (callback->state.up ? value > best : value < best);
    if (better) callback->state.best = value;
    return better;
}

static artel_status save_epoch_end(artel__fit *fit, artel__callback *callback)
{
    const save_config *c = callback->config;
    const save_own *own = callback->own;
    if (own->every || (c->save_best_only && !is_best(fit, callback))) return ARTEL_OK;
    return save_now(fit, callback);
}

static bool save_reads_at(const artel__callback *callback, int64_t step)
{
    const save_own *own = callback->own;
    return own->every && step % own->every == 0;
}

static artel_status save_batch_end(artel__fit *fit, artel__callback *callback, double loss)
{
    const save_config *c = callback->config;
    (void)loss;
    if (!save_reads_at(callback, fit->at.step)) return ARTEL_OK;
    fit->logs.epoch.count = 0;
    ARTEL_TRY(artel__tally_logs(fit, &fit->tally, artel__session_objective(fit->session, ARTEL__MODE_TRAIN), "",
                                &fit->logs.epoch));
    if (c->save_best_only && !is_best(fit, callback)) return ARTEL_OK;
    return save_now(fit, callback);
}

static const artel__callback_def model_checkpoint = {
    .class_name = "ModelCheckpoint",
    .doc = "Saves the model or its weights while it trains.",
    .config_size = sizeof(save_config),
    .options = save_options,
    .begin = save_begin,
    .batch_end = save_batch_end,
    .reads_at = save_reads_at,
    .epoch_end = save_epoch_end,
    .take_over = write_owed,
};

extern const artel__callback_def artel__callback_early_stopping, artel__callback_terminate_on_nan,
    artel__callback_history, artel__callback_progbar, artel__callback_reduce_lr, artel__callback_scheduler,
    artel__callback_swap_averages, artel__callback_backup;

const artel__callback_def *const artel__callback_defs[] = {
    &artel__callback_early_stopping,   &model_checkpoint,
    &artel__callback_reduce_lr,        &artel__callback_scheduler,
    &artel__callback_terminate_on_nan, &artel__callback_history,
    &artel__callback_progbar,          &artel__callback_swap_averages,
    &artel__callback_backup,           NULL,
};
