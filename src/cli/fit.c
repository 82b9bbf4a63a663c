/* SPDX-License-Identifier: Apache-2.0 */
/* artel fit: trains a model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/data.h"
#include "base/file.h"
#include "base/spill.h"
#include "base/text.h"
#include "cli/callbacks.h"
#include "cli/cluster.h"
#include "cli/follow.h"
#include "data/data.h"
#include "keras/model.h"
#include "observe/history.h"

typedef struct fit_options {
    const char *data, *validation, *strategy, *all_reduce, *optimizer, *loss, *metrics, *checkpoint_dir, *save_every,
        *log_dir, *csv_log, *history, *callbacks, *output, *json, *consistency, *ps_partitioner, *ps_placement,
        *ps_loss, *embedding_updates, *class_weight, *isa, *weights, *freeze, *dtype, *batch_norm, *profile, *recompute,
        *check_data, *auto_shard, *spill, *data_memory, *validation_freq;
    double validation_split, learning_rate;
    int64_t replicas, threads, shards, batch_size, epochs, steps_per_epoch, initial_epoch, seed, keep, verbose,
        validation_steps, validation_batch_size, histogram_freq, preempt_exit_code, skip_errors, ps_copies;
    int arithmetic, log_level;
    const char *device, *plugin, *device_precision, *device_kernels, *device_launches, *device_reduce, *device_memory;
    const char *extensions;
    bool shuffle, audit_data, fresh, resume, stop_on_nan, explain, dry_run, standard_step, allow_mixed_arithmetic;
    artel__cluster_choice cluster;
} fit_options;

#define AT(field) offsetof(fit_options, field)
static const char *const json_words[] = {"all", NULL}, *const recompute_words[] = {"25", NULL};
static const char *const log_levels[] = {"error", "warning", "note", "debug", NULL}; /* as artel_log_level */
static const artel__option options[] = {
    {"data", "training data, see docs/data.md: npz:FILE, idx:IMAGES,LABELS, csv:..., images:DIR, synthetic:N",
     ARTEL__OPTION_STRING, AT(data), "null", 0, 0, NULL},
    {"validation", "validation data, in the same forms", ARTEL__OPTION_STRING, AT(validation), "null", 0, 0, NULL},
    {"validation-split", "part of the training data, taken from its end, to validate on", ARTEL__OPTION_FLOAT,
     AT(validation_split), "0", 0, 1, NULL},
    {"validation-steps", "batches of a validation pass; 0: all", ARTEL__OPTION_INT, AT(validation_steps), "0", 0, 1e15,
     NULL},
    {"validation-freq", "validate every N epochs, or after those of a list: 2,5,9, [2]", ARTEL__OPTION_STRING,
     AT(validation_freq), "1", 0, 0, NULL},
    {"validation-batch-size", "rows of a validation batch; 0: as --batch-size", ARTEL__OPTION_INT,
     AT(validation_batch_size), "0", 0, 1e9, NULL},
    {"class-weight", "object from class number to weight: '{\"0\": 1, \"1\": 5}'", ARTEL__OPTION_JSON, AT(class_weight),
     "null", 0, 0, NULL},
    {"shuffle", "draw a new order of samples for each epoch", ARTEL__OPTION_BOOL, AT(shuffle), "true", 0, 0, NULL},
    {"skip-errors", "leave out up to N rows that cannot be read; all are read once at the start", ARTEL__OPTION_INT,
     AT(skip_errors), "0", 0, 9e15, NULL},
    ARTEL__DATA_MEMORY_OPTION(fit_options),
    {"check-data",
     "when tasks and checkpoints compare the data: start (before the first step), reading (as it is read), off",
     ARTEL__OPTION_STRING, AT(check_data), "auto", 0, 0, NULL},
    {"auto-shard",
     "data: every task has all; file: files may lack; hint: the pipeline's shards; off: each reads all; auto: data",
     ARTEL__OPTION_STRING, AT(auto_shard), "auto", 0, 0, NULL},
    {"audit-data",
     "account for the elements of each epoch: how many, each once or not, digests of their numbers and order",
     ARTEL__OPTION_BOOL, AT(audit_data), "false", 0, 0, NULL},
    {"epochs", "epochs in all, counted from the beginning of training (a continued run counts those it has)",
     ARTEL__OPTION_INT, AT(epochs), "1", 0, 1e9, NULL},
    {"batch-size", "rows of a step over all replicas together: the global batch, as in Keras", ARTEL__OPTION_INT,
     AT(batch_size), "32", 1, 1e9, NULL},
    {"steps-per-epoch", "steps of an epoch, which ends with the data at the latest; 0: once through the data",
     ARTEL__OPTION_INT, AT(steps_per_epoch), "0", 0, 1e15, NULL},
    {"initial-epoch", "epoch to begin with, counted from 0", ARTEL__OPTION_INT, AT(initial_epoch), "0", 0, 1e9, NULL},
    {"seed", "seed of initial weights, order of samples, dropout", ARTEL__OPTION_INT, AT(seed), "0", 0, 9e18, NULL},
    {"weights", "begin with the weights of this file, of any form that holds weights, instead of the model's own",
     ARTEL__OPTION_STRING, AT(weights), "null", 0, 0, NULL},
    {"freeze", "do not train the layers of these names: PATTERN,..., with * and ? as in names of files",
     ARTEL__OPTION_STRING, AT(freeze), "null", 0, 0, NULL},
    {"dtype", "dtype policy instead of the model's: float32, mixed_bfloat16, mixed_float16, bfloat16, float16, float64",
     ARTEL__OPTION_STRING, AT(dtype), "null", 0, 0, NULL},
    {"optimizer", "optimizer instead of the model's: NAME[:key=value,...] or @FILE.json; drops saved optimizer state",
     ARTEL__OPTION_STRING, AT(optimizer), "null", 0, 0, NULL},
    {"learning-rate", "of the model's own optimizer, whose state is kept; without it, the rate that it has",
     ARTEL__OPTION_FLOAT, AT(learning_rate), "0", 0, 1e9, NULL},
    {"loss", "loss instead of the model's: NAME[:key=value,...] or @FILE.json", ARTEL__OPTION_STRING, AT(loss), "null",
     0, 0, NULL},
    {"metrics", "metrics instead of the model's: NAME[:key=value,...],NAME,... or @FILE.json", ARTEL__OPTION_STRING,
     AT(metrics), "null", 0, 0, NULL},
    {"callbacks",
     "NAME[:key=value,...],NAME,... or FILE.json, a list of Keras records; may be given several times "
     "(docs/callbacks.md)",
     ARTEL__OPTION_STRING, AT(callbacks), "null", 0, 0, NULL},
    {"stop-on-nan", "end the run when the loss is not finite", ARTEL__OPTION_BOOL, AT(stop_on_nan), "false", 0, 0,
     NULL},
    {"standard-step", "train a model of your own class by the standard step: its train_step is in no file",
     ARTEL__OPTION_BOOL, AT(standard_step), "false", 0, 0, NULL},
    {"strategy", "auto, one-device, mirrored, central-storage; with other tasks: multi-worker, parameter-server",
     ARTEL__OPTION_STRING, AT(strategy), "auto", 0, 0, NULL},
    {"replicas", "replicas on this machine; 0: the strategy decides", ARTEL__OPTION_INT, AT(replicas), "0", 0, 256,
     NULL},
    {"threads", "compute threads on this machine; 0: the cores allowed to the process", ARTEL__OPTION_INT, AT(threads),
     "0", 0, 4096, NULL},
    ARTEL__DEVICE_OPTIONS(fit_options),
    ARTEL__MIXED_OPTION(fit_options),
    ARTEL__EXTENSION_OPTION(fit_options),
    {"recompute",
     "save memory, change no bit: compute activations again, not keep them; =P: for at most about P % more time, 25",
     ARTEL__OPTION_STRING, AT(recompute), "0", 0, 0, recompute_words},
    {"output", "write the trained model here: .keras, .weights.h5, .h5, .safetensors", ARTEL__OPTION_STRING, AT(output),
     "null", 0, 0, NULL},
    {"history", "write Keras' History as JSON here", ARTEL__OPTION_STRING, AT(history), "null", 0, 0, NULL},
    {"csv-log", "write a line an epoch here", ARTEL__OPTION_STRING, AT(csv_log), "null", 0, 0, NULL},
    {"log-dir", "write TensorBoard logs here", ARTEL__OPTION_STRING, AT(log_dir), "null", 0, 0, NULL},
    {"histogram-freq", "weight histograms every N epochs in --log-dir; 0: none", ARTEL__OPTION_INT, AT(histogram_freq),
     "0", 0, 1e9, NULL},
    {"checkpoint-dir", "save checkpoints here; the same command continues from the newest", ARTEL__OPTION_STRING,
     AT(checkpoint_dir), "null", 0, 0, NULL},
    {"save-every", "how often checkpoints are saved: 500steps, 1epoch", ARTEL__OPTION_STRING, AT(save_every), "1epoch",
     0, 0, NULL},
    {"keep", "how many of the newest checkpoints to keep", ARTEL__OPTION_INT, AT(keep), "3", 1, 1e6, NULL},
    {"resume", "continue from the newest checkpoint, as happens anyway; says so when there is none", ARTEL__OPTION_BOOL,
     AT(resume), "false", 0, 0, NULL},
    {"fresh", "begin anew although the directory holds checkpoints", ARTEL__OPTION_BOOL, AT(fresh), "false", 0, 0,
     NULL},
    {"preempt-exit-code", "exit code after SIGTERM and a saved checkpoint", ARTEL__OPTION_INT, AT(preempt_exit_code),
     "143", 0, 255, NULL},
    {"verbose", "0 silent, 1 progress bar, 2 a line an epoch; -1: 1 on a terminal, else 2", ARTEL__OPTION_INT,
     AT(verbose), "-1", -1, 2, NULL},
    {"log-level", "the least important lines to say: error, warning, note, debug (docs/parameter-servers.md)",
     ARTEL__OPTION_ENUM, AT(log_level), "note", 0, 0, log_levels},
    {"json", "events as JSON lines on stdout; --json=epochs leaves steps out", ARTEL__OPTION_STRING, AT(json), "null",
     0, 0, json_words},
    {"spill",
     "folder for files in which lies what takes 16 MiB and more, instead of in memory: models larger than that; "
     "changes no bit",
     ARTEL__OPTION_STRING, AT(spill), "null", 0, 0, NULL},
    {"dry-run", "load, plan, print the plan, end", ARTEL__OPTION_BOOL, AT(dry_run), "false", 0, 0, NULL},
    {"explain", "print graph, plan and kernels, then train", ARTEL__OPTION_BOOL, AT(explain), "false", 0, 0, NULL},
    {"profile",
     "time of each operation: a timeline for Chrome's viewers here (a file, or trace.json in a directory), a table at "
     "the end",
     ARTEL__OPTION_STRING, AT(profile), "null", 0, 0, NULL},
    {"shards", "virtual shards of a global batch: a power of two, any with --device-reduce fast; 0: by the batch size",
     ARTEL__OPTION_INT, AT(shards), "0", 0, 4096, NULL},
    {"batch-norm",
     "statistics of batch normalisation: global, or groups:G, of each of G groups of shards (G divides --shards)",
     ARTEL__OPTION_STRING, AT(batch_norm), "global", 0, 0, NULL},
    {"isa", "cap of the instruction set: auto, baseline, avx2, avx512, avx512_bf16, amx; changes no bit",
     ARTEL__OPTION_STRING, AT(isa), "auto", 0, 0, NULL},
    {"all-reduce",
     "how sums travel: auto, direct, redundant, ring, hierarchical; changes no bit but of --device-reduce fast",
     ARTEL__OPTION_STRING, AT(all_reduce), "auto", 0, 0, NULL},
    ARTEL__ARITHMETIC_OPTION(fit_options, "as begun, or tiles if all have AMX"),
    {"consistency",
     "when workers of parameter-server agree: async, bounded:S, sync, sync:K (docs/parameter-servers.md)",
     ARTEL__OPTION_STRING, AT(consistency), "async", 0, 0, NULL},
    {"ps-copies",
     "servers with each part of parameter-server's variables, of which all but one may die; 0: 2 where there are two",
     ARTEL__OPTION_INT, AT(ps_copies), "0", 0, 3, NULL},
    {"partitioner", "how parameter-server cuts variables: none, auto, fixed:N, min:BYTES, max:BYTES",
     ARTEL__OPTION_STRING, AT(ps_partitioner), "none", 0, 0, NULL},
    {"ps-placement",
     "which server of parameter-server owns what: traffic (by bytes, then once as measured), bytes, round-robin",
     ARTEL__OPTION_STRING, AT(ps_placement), "traffic", 0, 0, NULL},
    {"ps-loss",
     "when nobody has a part any more: checkpoint (all go back to the last whole state), stop (the run ends)",
     ARTEL__OPTION_STRING, AT(ps_loss), "checkpoint", 0, 0, NULL},
    {"embedding-updates",
     "of tables whose rows travel alone, parameter-server's: exact (as one process), lazy (rows that a batch names)",
     ARTEL__OPTION_STRING, AT(embedding_updates), "exact", 0, 0, NULL},
    ARTEL__CLUSTER_OPTIONS,
    {.name = NULL},
};

static const artel__option_group option_groups[] = {
    {"data", "data", false},
    {"epochs", "training", false},
    {"strategy", "where it computes", false},
    {"output", "results and checkpoints", false},
    {"verbose", "what is said", false},
    {"shards", "arithmetic", true},
    {"consistency", "parameter servers", true},
    {"resolver", "tasks of a cluster", true},
    {.first = NULL},
};

/* "global" or "groups:G"; 0 when it is neither. */
static int batch_norm_groups(const char *text)
{
    int64_t groups = 1;
    if (strcmp(text, "global") == 0) return 1;
    bool good =
        artel__starts_with(text, "groups:") && artel__parse_int64(text + 7, &groups) && groups >= 1 && groups <= 4096;
    return good ? (int)groups : 0;
}

/* Fails early when the trained model could not be written in the end. */
static artel_status check_output(artel__invocation *call, const char *path)
{
    static const char *const endings[] = {".keras", ".weights.h5", ".h5", ".safetensors", NULL};
    for (const char *const *ending = endings; *ending; ending++) {
        if (artel__ends_with(path, *ending)) return ARTEL_OK;
    }
    return artel__cli_usage(call, path, "--output must end in .keras, .weights.h5, .h5 or .safetensors");
}

/* Options that do nothing without another one. */
static void note_idle_options(artel__invocation *call, const fit_options *o)
{
    static const char *const saving[] = {"save-every", "keep", "fresh", "preempt-exit-code"};
    static const char *const validating[] = {"validation-steps", "validation-freq", "validation-batch-size"};
    static const char *const serving[] = {"consistency",  "ps-copies", "partitioner",
                                          "ps-placement", "ps-loss",   "embedding-updates"};
    if (!o->checkpoint_dir) artel__cli_note_idle(call, saving, ARTEL__COUNT(saving), "--checkpoint-dir DIR");
    if (!o->validation && o->validation_split == 0)
        artel__cli_note_idle(call, validating, ARTEL__COUNT(validating), "--validation or --validation-split");
    if (strcmp(o->strategy, "parameter-server") != 0)
        artel__cli_note_idle(call, serving, ARTEL__COUNT(serving), "--strategy parameter-server");
    artel__cli_note_idle_device(call, o->device);
    artel__cli_catch_abort(o->device);
    if (o->steps_per_epoch && !artel__cli_given(call, "batch-size"))
        artel__log(
            call->ctx, ARTEL_LOG_NOTE,
            "--batch-size is 32, as it is not given; Keras divides arrays into as many batches as steps_per_epoch "
            "says when batch_size is not given");
}

static artel_status check(artel__invocation *call, const fit_options *o)
{
    if (!o->data) return artel__cli_usage(call, "--data", "training data is missing");
    ARTEL_TRY(artel__cli_check_data(call, "--data", o->data));
    if (o->validation) ARTEL_TRY(artel__cli_check_data(call, "--validation", o->validation));
    if (o->resume && !o->checkpoint_dir)
        return artel__cli_usage(call, "--resume", "there is nothing to resume from without --checkpoint-dir DIR");
    if (o->resume && o->fresh)
        return artel__cli_usage(call, "--resume", "--resume continues a run, --fresh begins anew; give one of them");
    if (o->histogram_freq && !o->log_dir)
        return artel__cli_usage(call, "--histogram-freq",
                                "histograms are written into --log-dir DIR, which is missing");
    if (!batch_norm_groups(o->batch_norm))
        return artel__cli_usage(call, "--batch-norm",
                                "the value does not fit (found %.60s, expected global or groups:G)", o->batch_norm);
    if (o->learning_rate == 0 && artel__cli_given(call, "learning-rate"))
        return artel__cli_usage(call, "--learning-rate",
                                "a rate of 0 changes no weight; leave the option out for the rate that the optimizer "
                                "has, or give --optimizer NAME:learning_rate=0 for Keras' run at rate 0");
    double percent;
    if (!artel__parse_double(o->recompute, &percent) || !(percent >= 0 && percent <= 100))
        return artel__cli_usage(call, "--recompute",
                                "the value does not fit (found %.60s, expected a percentage from 0 to 100)",
                                o->recompute);
    if (o->output) ARTEL_TRY(check_output(call, o->output));
    note_idle_options(call, o);
    return ARTEL_OK;
}

/* Whether results can be written where they are to go: asked among the others, for they wait for whoever cannot go on.
 */
static artel_status check_targets(artel__invocation *call, const fit_options *o)
{
    const char *const files[] = {o->output, o->history, o->csv_log, o->profile};
    static const char *const names[] = {"--output", "--history", "--csv-log", "--profile"};
    for (size_t i = 0; i < ARTEL__COUNT(files); i++) {
        if (!files[i]) continue;
        if (i < 2) ARTEL_TRY(artel__cli_check_target(call, files[i]));
        ARTEL_TRY(artel__cli_check_apart(call, names[i], files[i], o->data));
        ARTEL_TRY(artel__cli_check_apart(call, names[i], files[i], o->validation));
        if (i > 0) ARTEL_TRY(artel__cli_check_two(call, names[i], files[i], "the model", call->argument[0]));
        for (size_t k = 0; k < i; k++) ARTEL_TRY(artel__cli_check_two(call, names[i], files[i], names[k], files[k]));
    }
    if (o->csv_log) ARTEL_TRY(artel__cli_check_log(call, o->csv_log));
    if (o->profile && !artel__is_directory(o->profile) && !artel__ends_with(o->profile, "/"))
        ARTEL_TRY(artel__cli_check_target(call, o->profile));
    return ARTEL_OK;
}

static artel_status write_history(artel__invocation *call, const artel_history *history, const char *path)
{
    artel__run_history *file;
    int keys = artel_history_keys(history);
    int64_t epochs = 0;
    ARTEL_TRY(artel__run_history_create(call->ctx, &file));
    artel__log_value *row = artel__arena_alloc(&call->arena, (size_t)keys + 1, sizeof *row);
    artel_status status = artel__arena_status(&call->arena);
    if (keys) artel_history_values(history, artel_history_key(history, 0), &epochs);
    for (int64_t e = 0; e < epochs && status == ARTEL_OK; e++) {
        size_t count = 0;
        for (int k = 0; k < keys; k++) {
            double value = artel_history_values(history, artel_history_key(history, k), NULL)[e];
            if (!artel_history_absent(value)) row[count++] = (artel__log_value){artel_history_key(history, k), value};
        }
        status = artel__run_history_append(file, (artel__logs){count, row});
    }
    if (status == ARTEL_OK) status = artel__run_history_write(file, path);
    artel__run_history_destroy(file);
    return status;
}

static artel_status load_data(artel__invocation *call, const fit_options *o, artel_data **train,
                              artel_data **validation)
{
    bool skips = false;
    ARTEL_TRY(artel__cli_set_data_memory(call, o->data_memory));
    ARTEL_TRY(artel__data_open_skipping(call->ctx, o->data, o->skip_errors, &skips, train));
    if (o->validation)
        ARTEL_TRY(artel__data_open_skipping(call->ctx, o->validation, o->skip_errors, &skips, validation));
    return artel__cli_check_skips(call, o->data, o->skip_errors, skips);
}

static void print_plan(void *user, const char *text)
{
    const artel__observers *observers = user;
    FILE *out = observers->events ? stderr : stdout; /* with --json, stdout is for events alone */
    for (size_t length; *text; text += length) {
        char line[1024], named[2048];
        length = strcspn(text, "\n") + (strchr(text, '\n') != NULL);
        bool words = *text == '#' && length < sizeof line; /* other lines name values of the graph */
        snprintf(line, sizeof line, "%.*s", words ? (int)length : 0, text);
        if (words)
            fputs(artel__cli_name_options(line, named, sizeof named), out);
        else
            fwrite(text, 1, length, out);
    }
    fflush(out);
}

/* The callbacks of --callbacks that are the library's; those that write files become observers. */
static artel_status read_callbacks(artel__invocation *call, const char *lines, artel__observer_options *show,
                                   const char **out)
{
    char *text;
    *out = NULL;
    if (!lines) return ARTEL_OK;
    ARTEL_TRY(artel__cli_read_callbacks(call, lines, &text));
    const char *output = ((const fit_options *)call->options)->output;
    artel_status status = artel__observers_take_callbacks(&call->arena, text, show, out);
    if (status == ARTEL_OK) status = artel__cli_check_checkpoints(call, text, output);
    artel__free(call->ctx, text);
    return status;
}

/* What the functions that fit calls are given. */
typedef struct run {
    artel__observers observers; /* first: observers' own functions are given this, too */
    artel__invocation *call;
    const fit_options *options;
} run;

static void on_event(void *user, const artel_event *event)
{
    run *r = user;
    if (event->kind == ARTEL_EVENT_START && event->resumed_from > 0 && r->options->weights)
        artel__log(r->call->ctx, ARTEL_LOG_NOTE,
                   "the weights are those of the checkpoint, not those of --weights, with which the run began");
    artel__observers_event(user, event);
}

/* What is written when all went well, in this order. */
static artel_status write_results(void *user, artel_model *model, const artel_history *history)
{
    run *r = user;
    const fit_options *o = r->options;
    if (o->history) ARTEL_TRY(write_history(r->call, history, o->history));
    return o->output ? artel_model_save(model, o->output) : ARTEL_OK;
}

static void make_fit_options(const fit_options *o, artel_data *validation, const char *callbacks, run *r,
                             artel_fit_options *fit)
{
    *fit = (artel_fit_options)ARTEL_FIT_OPTIONS_INIT;
    fit->epochs = o->epochs;
    fit->initial_epoch = o->initial_epoch;
    fit->batch_size = o->batch_size;
    fit->steps_per_epoch = o->steps_per_epoch;
    fit->shards = o->shards;
    fit->seed = (uint64_t)o->seed;
    fit->shuffle = o->shuffle;
    fit->strategy = o->strategy;
    fit->all_reduce = o->all_reduce;
    fit->consistency = o->consistency;
    fit->ps_copies = o->ps_copies;
    fit->ps_partitioner = o->ps_partitioner;
    fit->ps_placement = o->ps_placement;
    fit->ps_loss = o->ps_loss;
    fit->embedding_updates = o->embedding_updates;
    fit->replicas = (int)o->replicas;
    fit->threads = (int)o->threads;
    fit->validation_data = validation;
    fit->validation_split = o->validation_split;
    fit->validation_steps = o->validation_steps;
    fit->validation_batch_size = o->validation_batch_size;
    if (!artel__parse_int64(o->validation_freq, &fit->validation_frequency) || fit->validation_frequency < 1) {
        fit->validation_frequency = 1;
        fit->validation_epochs = o->validation_freq;
    }
    fit->class_weight = o->class_weight;
    fit->learning_rate = o->learning_rate;
    fit->checkpoint_dir = o->checkpoint_dir;
    fit->save_every = o->save_every;
    fit->keep = (int)o->keep;
    fit->fresh = o->fresh;
    fit->resume = o->resume;
    fit->stop_on_nan = o->stop_on_nan;
    fit->standard_step = o->standard_step;
    fit->check_data = o->check_data;
    fit->audit_data = o->audit_data;
    fit->auto_shard = o->auto_shard;
    fit->dry_run = o->dry_run;
    if (o->explain || o->dry_run) fit->on_plan = print_plan;
    if (o->profile) fit->on_profile = artel__observers_profile;
    fit->on_event = on_event;
    fit->event_user = r;
    fit->on_result = write_results;
    fit->callbacks = callbacks;
    fit->arithmetic = artel__cli_arithmetics[o->arithmetic];
    fit->device = o->device;
    fit->plugin = o->plugin;
    fit->device_precision = o->device_precision;
    fit->device_kernels = o->device_kernels;
    fit->device_launches = o->device_launches;
    fit->device_reduce = o->device_reduce;
    fit->device_memory = o->device_memory;
    fit->allow_mixed_arithmetic = o->allow_mixed_arithmetic;
    fit->batch_norm_groups = batch_norm_groups(o->batch_norm);
    artel__parse_double(o->recompute, &fit->recompute);
}

/* The exit code of a run that was stopped by a signal. */
static int stop_code(const fit_options *o)
{
    if (artel__cli_interrupted()) return 130;
    if (artel__cli_hung_up()) return 129;
    return o->checkpoint_dir ? (int)o->preempt_exit_code : 143;
}

static artel_status train(artel__invocation *call, const fit_options *o, artel_model *model, artel_cluster *cluster)
{
    bool writes = !cluster || artel_cluster_writes(cluster);
    if (writes && !o->output && !o->checkpoint_dir && !o->callbacks && !o->dry_run) /* ModelCheckpoint is a callback */
        artel__log(
            call->ctx, ARTEL_LOG_NOTE,
            "nothing will be left of the trained weights: --output FILE.keras or --checkpoint-dir DIR saves them");
    artel_data *data = NULL, *validation = NULL;
    artel_history *history = NULL;
    run r = {.observers = {.ctx = call->ctx}, .call = call, .options = o};
    artel_fit_options fit;
    const char *callbacks = NULL;
    artel__observer_options show = {
        .json = o->json,
        .verbose = o->verbose,
        .log_dir = o->log_dir,
        .csv_log = o->csv_log,
        .board = {.histogram_freq = o->histogram_freq, .write_graph = true, .write_steps_per_second = true},
        .profile = writes ? o->profile : NULL,
        .quiet = !writes,
        .cluster = cluster};
    artel_status status = load_data(call, o, &data, &validation);
    if (status == ARTEL_OK) status = read_callbacks(call, o->callbacks, &show, &callbacks);
    if (status == ARTEL_OK && show.csv_log && show.csv_log != o->csv_log)
        status = artel__cli_check_log(call, show.csv_log);
    if (o->dry_run) show = (artel__observer_options){.json = o->json, .verbose = 0}; /* nothing is written */
    if (status == ARTEL_OK) status = artel__observers_open(call->ctx, model, &show, &r.observers);
    if (status == ARTEL_OK) {
        make_fit_options(o, validation, callbacks, &r, &fit);
        fit.cluster = cluster;
        if (!writes) fit.on_profile = NULL;
        if (!writes && !o->dry_run) fit.on_plan = NULL;
        artel__cli_catch_signals(call->ctx);
        status = artel_model_fit(model, data, &fit, &history);
    }
    artel_status shown = artel__observers_close(&r.observers);
    if (status == ARTEL_OK) status = shown;
    if (status == ARTEL_ERROR_PREEMPTED) call->exit_code = stop_code(o);
    artel_history_destroy(history);
    artel_data_destroy(validation);
    artel_data_destroy(data);
    return status;
}

/* More than a fresh optimizer's counter and rate: slots, or steps behind it. */
static bool has_optimizer_state(const artel_model *model)
{
    int64_t steps = 0;
    if (model->optimizer.count > 0 && artel_shape_count(&model->optimizer.array[0].shape) == 1)
        artel__convert(model->optimizer.array[0].dtype, model->optimizer.array[0].data, ARTEL_DTYPE_INT64, &steps, 1);
    return steps > 0 || model->optimizer.count > 2;
}

static artel_status freeze(artel__invocation *call, artel_model *model, const char *patterns)
{
    char *copy = artel__arena_strdup(&call->arena, patterns), *rest = NULL;
    ARTEL_TRY(artel__arena_status(&call->arena));
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        ARTEL_TRY(artel_model_freeze(model, word));
    return ARTEL_OK;
}

static artel_status run_with(artel__invocation *call, artel_model *model, artel_cluster *cluster)
{
    const fit_options *o = call->options;
    artel_status status = ARTEL_OK;
    if (o->weights) ARTEL_TRY(artel_model_load_weights(model, o->weights));
    bool trained = has_optimizer_state(model);
    if (o->freeze) ARTEL_TRY(freeze(call, model, o->freeze));
    if (o->optimizer || o->loss || o->metrics) status = artel_model_compile(model, o->optimizer, o->loss, o->metrics);
    if (status == ARTEL_OK && trained && (o->optimizer || o->freeze))
        artel__log(call->ctx, ARTEL_LOG_NOTE, "--%s drops the optimizer state saved in %s%s",
                   o->optimizer ? "optimizer" : "freeze", call->argument[0],
                   o->freeze ? "" : "; --learning-rate alone would keep it");
    artel__fit_files files = {o->output, o->checkpoint_dir, o->keep, o->epochs, o->batch_size};
    if (status == ARTEL_OK && !o->dry_run) status = artel__cli_check_fit_room(call, model, &files);
    return status < 0 ? status : train(call, o, model, cluster);
}

/* The evaluator of a cluster: what the others save is evaluated here, beside them. */
static artel_status follow(artel__invocation *call, artel_model *model)
{
    const fit_options *o = call->options;
    int64_t batch_size = o->validation_batch_size ? o->validation_batch_size : o->batch_size;
    artel__follow follow = {.model = model,
                            .directory = o->checkpoint_dir,
                            .evaluate = ARTEL_EVALUATE_OPTIONS_INIT,
                            .show = {.json = o->json,
                                     .verbose = o->verbose < 0 ? 0 : o->verbose,
                                     .log_dir = o->log_dir,
                                     .board = {.write_graph = true}}};
    if (!o->checkpoint_dir || !o->validation)
        return artel__cli_usage(call, "evaluator",
                                "it needs --checkpoint-dir DIR, where the others save, and --validation SPEC");
    follow.evaluate.batch_size = batch_size;
    follow.evaluate.steps = o->validation_steps;
    follow.evaluate.threads = (int)o->threads;
    if (o->loss || o->metrics) ARTEL_TRY(artel_model_compile(model, NULL, o->loss, o->metrics));
    ARTEL_TRY(artel_data_open(call->ctx, o->validation, &follow.data));
    artel_status status = artel__cli_follow(call, &follow);
    artel_data_destroy(follow.data);
    return status;
}

static artel_status run_fit(artel__invocation *call)
{
    const fit_options *o = call->options;
    artel_model *model = NULL;
    artel_cluster *cluster = NULL;
    artel__log_limit(call->ctx, (artel_log_level)o->log_level);
    ARTEL_TRY(check(call, o));
    int spilled = o->spill ? artel__spill_open(call->ctx, o->spill) : 0; /* before there are threads */
    if (!o->dry_run) ARTEL_TRY(artel__cli_open_cluster(call, o->strategy, &o->cluster, &cluster));
    bool evaluates = cluster && strcmp(artel_cluster_role(cluster), "evaluator") == 0;
    /* What fails from here on is told to the others, who wait for whoever cannot go on. */
    artel_status status = ARTEL_OK;
    if ((errno = spilled) != 0) status = artel__fail_errno(call->ctx, o->spill, "make a file in");
    if (status == ARTEL_OK) status = check_targets(call, o);
    if (status == ARTEL_OK) status = artel__cli_load_with_policy(call, call->argument[0], o->dtype, &model);
    if (status == ARTEL_OK) status = evaluates ? follow(call, model) : run_with(call, model, cluster);
    artel_model_destroy(model);
    if (cluster) status = artel_cluster_finish(cluster, status); /* the results are written: the others may go, too */
    artel_cluster_close(cluster);
    return status;
}

const artel__command artel__command_fit = {
    .name = "fit",
    .summary = "train a model",
    .usage = "MODEL --data SPEC [options]",
    .examples = "  artel fit model.keras --data npz:mnist.npz#x_train,y_train --epochs 5 --batch-size 128 --output "
                "trained.keras\n"
                "  artel fit cnn.json --loss sparse_categorical_crossentropy --optimizer adam:learning_rate=0.001 "
                "--metrics accuracy \\\n"
                "      --data 'idx:train-images.gz,train-labels.gz#scale=1/255' --validation-split 0.1 --strategy "
                "mirrored --replicas 2\n"
                "  artel fit model.keras --data csv:'rows-*.csv#label=price' --checkpoint-dir run1 --save-every "
                "500steps --log-dir logs\n"
                "  srun artel fit model.keras --data npz:/shared/train.npz --strategy multi-worker --cert-dir certs "
                "--output trained.keras\n",
    .more = "MODEL is what Keras writes: a .keras file, a legacy .h5, or the text of model.to_json() (then weights "
            "come from --seed).\n"
            "Compile settings saved in the file are used; options override them. The strategy does not change the "
            "result.\n",
    .options = options,
    .groups = option_groups,
    .options_size = sizeof(fit_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .letter = "o=output",
    .repeats = "callbacks",
    .run = run_fit,
};
