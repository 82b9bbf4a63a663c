/* SPDX-License-Identifier: Apache-2.0 */
/* artel evaluate and artel predict: one pass over data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cli/confusion.h"
#include "cli/follow.h"
#include "data/data.h"
#include "keras/model.h"
#include "train/session.h"

typedef struct pass_options {
    int format, arithmetic;
    const char *device, *plugin, *device_precision, *device_kernels, *device_launches, *device_reduce, *device_memory;
    const char *extensions;
    const char *data, *output, *labels, *strategy, *all_reduce, *loss, *metrics, *json, *isa, *checkpoint_dir, *log_dir,
        *confusion, *data_memory, *dtype, *min_interval, *timeout;
    bool follow, allow_mixed_arithmetic;
    int64_t batch_size, steps, replicas, threads, shards, verbose, skip_errors, evaluations;
    artel__cluster_choice cluster;
} pass_options;

#define AT(field) offsetof(pass_options, field)
static const char *const json_words[] = {"all", NULL};

#define SHARED_OPTIONS                                                                                                  \
    {"data",                                                                                                            \
     "the data, see docs/data.md: npz:FILE, idx:IMAGES,LABELS, csv:..., images:DIR, synthetic:N",                       \
     ARTEL__OPTION_STRING,                                                                                              \
     AT(data),                                                                                                          \
     "null",                                                                                                            \
     0,                                                                                                                 \
     0,                                                                                                                 \
     NULL},                                                                                                             \
        {"batch-size", "rows of a batch", ARTEL__OPTION_INT, AT(batch_size), "32", 1, 1e9, NULL},                       \
        {"skip-errors", "leave out up to N rows that cannot be read", ARTEL__OPTION_INT, AT(skip_errors), "0", 0, 9e15, \
         NULL},                                                                                                         \
        ARTEL__DATA_MEMORY_OPTION(pass_options),                                                                        \
        {"steps", "batches; 0: all", ARTEL__OPTION_INT, AT(steps), "0", 0, 1e15, NULL},                                 \
        {"strategy",                                                                                                    \
         "auto, one-device, mirrored, central-storage, multi-worker",                                                   \
         ARTEL__OPTION_STRING,                                                                                          \
         AT(strategy),                                                                                                  \
         "auto",                                                                                                        \
         0,                                                                                                             \
         0,                                                                                                             \
         NULL},                                                                                                         \
        ARTEL__CLUSTER_OPTIONS, {"replicas",                                                                            \
                                 "replicas on this machine; 0: the strategy decides",                                   \
                                 ARTEL__OPTION_INT,                                                                     \
                                 AT(replicas),                                                                          \
                                 "0",                                                                                   \
                                 0,                                                                                     \
                                 256,                                                                                   \
                                 NULL},                                                                                 \
        {"threads",                                                                                                     \
         "compute threads; 0: the cores allowed to the process",                                                        \
         ARTEL__OPTION_INT,                                                                                             \
         AT(threads),                                                                                                   \
         "0",                                                                                                           \
         0,                                                                                                             \
         4096,                                                                                                          \
         NULL},                                                                                                         \
        {"shards",                                                                                                      \
         "virtual shards of a batch; 0: a function of the batch size",                                                  \
         ARTEL__OPTION_INT,                                                                                             \
         AT(shards),                                                                                                    \
         "0",                                                                                                           \
         0,                                                                                                             \
         4096,                                                                                                          \
         NULL},                                                                                                         \
        {"verbose",                                                                                                     \
         "0 silent, 1 progress bar, 2 a line; -1: 1 on a terminal, else 0",                                             \
         ARTEL__OPTION_INT,                                                                                             \
         AT(verbose),                                                                                                   \
         "-1",                                                                                                          \
         -1,                                                                                                            \
         2,                                                                                                             \
         NULL},                                                                                                         \
        ARTEL__DEVICE_OPTIONS(pass_options), ARTEL__MIXED_OPTION(pass_options), ARTEL__EXTENSION_OPTION(pass_options),  \
        ARTEL__ARITHMETIC_OPTION(pass_options, "tiles if all have AMX"),                                                \
        {"all-reduce",                                                                                                  \
         "how sums travel: auto, direct, redundant, ring, hierarchical; changes no bit",                                \
         ARTEL__OPTION_STRING,                                                                                          \
         AT(all_reduce),                                                                                                \
         "auto",                                                                                                        \
         0,                                                                                                             \
         0,                                                                                                             \
         NULL},                                                                                                         \
        {"dtype",                                                                                                       \
         "dtype policy instead of the model's: float32, mixed_bfloat16, mixed_float16, bfloat16, float16, float64",     \
         ARTEL__OPTION_STRING,                                                                                          \
         AT(dtype),                                                                                                     \
         "null",                                                                                                        \
         0,                                                                                                             \
         0,                                                                                                             \
         NULL},                                                                                                         \
    {                                                                                                                   \
        "isa", "cap of the instruction set: auto, baseline, avx2, avx512, avx512_bf16, amx; changes no bit",            \
            ARTEL__OPTION_STRING, AT(isa), "auto", 0, 0, NULL                                                           \
    }

static const artel__option evaluate_options[] = {
    SHARED_OPTIONS,
    {"loss", "loss instead of the model's: NAME[:key=value,...]", ARTEL__OPTION_STRING, AT(loss), "null", 0, 0, NULL},
    {"metrics", "metrics instead of the model's: NAME[:key=value,...],NAME,...", ARTEL__OPTION_STRING, AT(metrics),
     "null", 0, 0, NULL},
    {"checkpoint-dir", "the weights of the newest checkpoint of a run of fit, instead of the model's",
     ARTEL__OPTION_STRING, AT(checkpoint_dir), "null", 0, 0, NULL},
    {"follow", "evaluate each new checkpoint of --checkpoint-dir until the run has finished", ARTEL__OPTION_BOOL,
     AT(follow), "false", 0, 0, NULL},
    {"min-interval", "with --follow: from one evaluation to the next at least so long: 30s, 10min",
     ARTEL__OPTION_STRING, AT(min_interval), "null", 0, 0, NULL},
    {"timeout", "with --follow: end when no new checkpoint has come for so long", ARTEL__OPTION_STRING, AT(timeout),
     "null", 0, 0, NULL},
    {"evaluations", "with --follow: end after so many; 0: any number", ARTEL__OPTION_INT, AT(evaluations), "0", 0, 1e15,
     NULL},
    {"log-dir", "write TensorBoard logs of these evaluations here", ARTEL__OPTION_STRING, AT(log_dir), "null", 0, 0,
     NULL},
    {"confusion", "FILE.svg or FILE.csv: which classes are taken for which; a report by class is printed",
     ARTEL__OPTION_STRING, AT(confusion), "null", 0, 0, NULL},
    {"labels", "names of the classes for --confusion: a,b,c or @FILE with one in each line", ARTEL__OPTION_STRING,
     AT(labels), "null", 0, 0, NULL},
    {"json", "one `evaluate` event on stdout instead of lines", ARTEL__OPTION_STRING, AT(json), "null", 0, 0,
     json_words},
    {.name = NULL},
};

static const char *const formats[] = {"float32", "native", NULL};

static const artel__option predict_options[] = {
    SHARED_OPTIONS,
    {"format", "float32, or native: integers, bool, float16 as the model gives them; float64 stays in both",
     ARTEL__OPTION_ENUM, AT(format), "float32", 0, 0, formats},
    {"json", "one `end` event on stdout: rows, rate, digest of the model", ARTEL__OPTION_STRING, AT(json), "null", 0, 0,
     json_words},
    {"labels",
     "names of the classes for a .csv: a,b,c or @FILE with one in each line; a column says which is likeliest",
     ARTEL__OPTION_STRING, AT(labels), "null", 0, 0, NULL},
    {"output", "FILE.npy or FILE.csv for one output, FILE.npz for several", ARTEL__OPTION_STRING, AT(output), "null", 0,
     0, NULL},
    {.name = NULL},
};

static artel_status open_all(artel__invocation *call, artel_model **model, artel_data **data)
{
    const pass_options *o = call->options;
    if (!o->data) return artel__cli_usage(call, "--data", "the data is missing");
    ARTEL_TRY(artel__cli_check_data(call, "--data", o->data));
    ARTEL_TRY(artel__cli_load_with_policy(call, call->argument[0], o->dtype, model));
    if (!(*model)->initialised && !o->checkpoint_dir)
        artel__log(call->ctx, ARTEL_LOG_WARNING,
                   "%s holds no weights: they are drawn from seed 0, as those of a model that was never trained",
                   call->argument[0]);
    artel__cli_note_idle_device(call, o->device);
    artel__cli_catch_abort(o->device);
    if (o->loss || o->metrics) ARTEL_TRY(artel_model_compile(*model, NULL, o->loss, o->metrics));
    bool skips = false;
    ARTEL_TRY(artel__cli_set_data_memory(call, o->data_memory));
    ARTEL_TRY(artel__data_open_skipping(call->ctx, o->data, o->skip_errors, &skips, data));
    return artel__cli_check_skips(call, o->data, o->skip_errors, skips);
}

static artel_evaluate_options make_options(const pass_options *o, artel__observers *observers, artel_cluster *cluster)
{
    artel_evaluate_options options = ARTEL_EVALUATE_OPTIONS_INIT;
    options.batch_size = o->batch_size;
    options.steps = o->steps;
    options.shards = o->shards;
    options.strategy = o->strategy;
    options.all_reduce = o->all_reduce;
    options.replicas = (int)o->replicas;
    options.threads = (int)o->threads;
    options.on_event = artel__observers_event;
    options.event_user = observers;
    options.arithmetic = artel__cli_arithmetics[o->arithmetic];
    options.device = o->device;
    options.plugin = o->plugin;
    options.device_precision = o->device_precision;
    options.device_kernels = o->device_kernels;
    options.device_launches = o->device_launches;
    options.device_reduce = o->device_reduce;
    options.device_memory = o->device_memory;
    options.allow_mixed_arithmetic = o->allow_mixed_arithmetic;
    options.cluster = cluster;
    return options;
}

/* What the functions that a pass calls are given. */
typedef struct run {
    artel__observers observers; /* first: observers' own functions are given this, too */
    artel__invocation *call;
    int64_t began_ns;
    artel__cli_labels labels;
} run;

/* Opens model and data, and what shows the pass. */
static artel_status open_run(artel__invocation *call, artel_cluster *cluster, run *r, artel_model **model,
                             artel_data **data)
{
    const pass_options *o = call->options;
    artel__observer_options show = {.json = o->json,
                                    .verbose = o->verbose < 0 && !isatty(2) ? 0 : o->verbose,
                                    .quiet = cluster && !artel_cluster_writes(cluster),
                                    .cluster = cluster};
    *r = (run){.observers = {.ctx = call->ctx}, .call = call, .began_ns = artel__now_ns()};
    ARTEL_TRY(open_all(call, model, data));
    ARTEL_TRY(artel__observers_open(call->ctx, *model, &show, &r->observers));
    r->observers.keras_progress = true;
    artel__cli_catch_signals(call->ctx);
    return ARTEL_OK;
}

static artel_status close_run(run *r, artel_model *model, artel_data *data, artel_status status)
{
    artel_status shown = artel__observers_close(&r->observers);
    artel_data_destroy(data);
    artel_model_destroy(model);
    return status < 0 ? status : shown;
}

/* A line for each: its name and its number, or those of its list. */
static void show_metrics(artel__logs logs)
{
    char number[40];
    bool read = isatty(STDOUT_FILENO); /* as Keras shows them; programs get every digit */
    artel__log_group group = {.first = 0};
    while (artel__logs_next(logs, &group)) {
        artel__show(stdout, "%s ", group.name);
        if (group.list) artel__show(stdout, "[");
        for (size_t i = 0; i < group.count; i++) {
            double value = logs.item[group.first + i].value;
            if (read)
                artel__progress_number(number, sizeof number, value, true);
            else
                artel__format_double(number, sizeof number, value);
            artel__show(stdout, "%s%s", i ? ", " : "", number);
        }
        artel__show(stdout, group.list ? "]\n" : "\n");
    }
}

/* By whoever writes, which may be another task in the end than in the beginning. */
static artel_status write_metrics(void *user, const artel_history *history, const artel_predictions *predictions)
{
    run *r = user;
    int keys = artel_history_keys(history);
    (void)predictions;
    artel__log_value *value = artel__arena_alloc(&r->call->arena, (size_t)keys + 1, sizeof *value);
    ARTEL_TRY(artel__arena_status(&r->call->arena));
    for (int k = 0; k < keys; k++) {
        const char *key = artel_history_key(history, k);
        value[k] = (artel__log_value){key, artel_history_values(history, key, NULL)[0]};
    }
    artel__logs logs = {(size_t)keys, value};
    if (r->observers.events) return artel__events_evaluate(r->observers.events, -1, logs);
    show_metrics(logs);
    return fflush(stdout) == 0 ? ARTEL_OK : artel__fail_errno(r->call->ctx, "standard output", "write");
}

/* By a second pass, which predicts. */
static artel_status confuse(artel__invocation *call, artel_model *model, artel_data *data,
                            const artel_evaluate_options *evaluated, const artel__cli_labels *names)
{
    const pass_options *o = call->options;
    artel_evaluate_options options = *evaluated;
    artel_predictions *predictions = NULL;
    artel__confusion confusion;
    options.on_event = NULL;
    options.on_result = NULL;
    ARTEL_TRY(artel_model_predict(model, data, &options, &predictions));
    artel_status status = artel__confusion_count(call, model, data, predictions, names, &confusion);
    if (status == ARTEL_OK) status = artel__confusion_write(call, &confusion, o->confusion);
    if (status == ARTEL_OK && !o->json) artel__confusion_show(&confusion);
    artel_predictions_destroy(predictions);
    return status;
}

static artel_status evaluate_with(artel__invocation *call, artel_cluster *cluster)
{
    const pass_options *o = call->options;
    artel_model *model = NULL;
    artel_data *data = NULL;
    artel__cli_labels names = {.count = 0};
    run r;
    if (o->confusion && cluster)
        return artel__cli_usage(call, "--confusion",
                                "it is made by one process; use --strategy mirrored, or artel predict for the outputs");
    artel_status status = open_run(call, cluster, &r, &model, &data);
    artel_evaluate_options options = make_options(o, &r.observers, cluster);
    options.on_result = write_metrics;
    r.observers.results_apart = true;
    if (status == ARTEL_OK && o->labels) status = artel__cli_read_labels(call, o->labels, &names);
    if (status == ARTEL_OK && o->confusion) status = artel__confusion_check(call, model, &names);
    if (status == ARTEL_OK) status = artel_model_evaluate(model, data, &options, NULL);
    if (status == ARTEL_OK && o->confusion) status = confuse(call, model, data, &options, &names);
    return close_run(&r, model, data, status);
}

/* Of logits and hinges it is 0. */
static double border_of(artel__invocation *call, const artel_model *model)
{
    artel__settings settings;
    const artel__settings_source source = {.model = model, .replicas = 1, .batch_size = 1};
    bool known = artel__settings_read(&call->arena, &source, &settings) == ARTEL_OK;
    artel__operation_begin(call->ctx); /* a model without a loss */
    return known && settings.output[0].has_loss ? (double)artel__loss_border(&settings.output[0].loss) : 0.5;
}

/* Before the pass, what could not be written behind it. */
static artel_status check_outputs(artel__invocation *call, const artel_model *model, artel__cli_labels *labels)
{
    const pass_options *o = call->options;
    const artel_shape *shape = &model->nn->output[0].shape;
    bool table = artel__ends_with(o->output, ".csv");
    int64_t width = 1;
    if (model->nn->outputs > 1 && !artel__ends_with(o->output, ".npz"))
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, o->output, "name a file that ends in .npz",
                           "%d outputs do not fit one %s", model->nn->outputs, table ? "table" : ".npy file");
    if (!o->labels) return ARTEL_OK;
    for (int i = 0; i < shape->rank; i++) width = shape->dim[i] > 0 ? width * shape->dim[i] : 0;
    ARTEL_TRY(artel__cli_read_labels(call, o->labels, labels));
    labels->border = border_of(call, model);
    return artel__cli_check_labels(call->ctx, labels, width);
}

static artel_status write_predictions(run *r, const artel_predictions *predictions, const char *path)
{
    artel__invocation *call = r->call;
    const pass_options *o = call->options;
    int count = artel_predictions_count(predictions);
    artel__cli_array *arrays = artel__arena_alloc(&call->arena, (size_t)count, sizeof *arrays);
    if (!arrays) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        ARTEL_TRY(artel_predictions_get(predictions, i, &arrays[i].name, &arrays[i].shape, &arrays[i].values));
        ARTEL_TRY(artel_predictions_get_native(predictions, i, &arrays[i].dtype, &arrays[i].native));
        bool native = o->format != 0 || arrays[i].dtype == ARTEL_DTYPE_FLOAT64;
        if (!native) arrays[i].native = NULL;
    }
    if (!artel__ends_with(path, ".csv")) return artel__cli_write_arrays(call->ctx, path, arrays, count);
    return artel__cli_write_table(call->ctx, path, arrays, count, &r->labels);
}

/* What a job that reads events wants to know of a prediction. */
static artel_status end_event(artel__observers *observers, const pass_options *o, const artel_predictions *predictions,
                              double seconds)
{
    const char *name;
    const float *values;
    artel_shape shape;
    char digest[65];
    ARTEL_TRY(artel_predictions_get(predictions, 0, &name, &shape, &values));
    ARTEL_TRY(artel_model_digest(observers->model, digest));
    artel__event_end_of_run end = {.steps = (shape.dim[0] + o->batch_size - 1) / o->batch_size,
                                   .examples = shape.dim[0],
                                   .examples_per_second = seconds > 0 ? (double)shape.dim[0] / seconds : 0,
                                   .step_ms = NAN,
                                   .first_step_ms = NAN,
                                   .start_ms = NAN,
                                   .peak_rss_bytes = artel__peak_rss_bytes(),
                                   .digest = digest};
    return artel__events_end(observers->events, &end);
}

static artel_status write_outputs(void *user, const artel_history *history, const artel_predictions *predictions)
{
    run *r = user;
    const pass_options *o = r->call->options;
    (void)history;
    ARTEL_TRY(write_predictions(r, predictions, o->output));
    double seconds = (double)(artel__now_ns() - r->began_ns) * 1e-9;
    return r->observers.events ? end_event(&r->observers, o, predictions, seconds) : ARTEL_OK;
}

static artel_status predict_with(artel__invocation *call, artel_cluster *cluster)
{
    artel_model *model = NULL;
    artel_data *data = NULL;
    artel_predictions *predictions = NULL;
    run r;
    artel_status status = open_run(call, cluster, &r, &model, &data);
    artel_evaluate_options options = make_options(call->options, &r.observers, cluster);
    options.on_result = write_outputs;
    if (status == ARTEL_OK) status = check_outputs(call, model, &r.labels);
    if (status == ARTEL_OK) status = artel_model_predict(model, data, &options, &predictions);
    artel_predictions_destroy(predictions);
    return close_run(&r, model, data, status);
}

typedef artel_status pass_fn(artel__invocation *call, artel_cluster *cluster);

static artel_status run_in_cluster(artel__invocation *call, pass_fn *pass)
{
    const pass_options *o = call->options;
    artel_cluster *cluster;
    ARTEL_TRY(artel__cli_open_cluster(call, o->strategy, &o->cluster, &cluster));
    artel_status status = pass(call, cluster);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    return status;
}

/* With --checkpoint-dir. */
static artel_status follow(artel__invocation *call, artel_cluster *cluster)
{
    const pass_options *o = call->options;
    artel__follow follow = {.directory = o->checkpoint_dir,
                            .evaluate = make_options(o, NULL, cluster),
                            .show = {.json = o->json,
                                     .verbose = o->verbose < 0 && !isatty(2) ? 0 : o->verbose,
                                     .log_dir = o->log_dir,
                                     .board = {.write_graph = true}},
                            .most = o->evaluations,
                            .once = !o->follow};
    ARTEL_TRY(artel__cli_read_seconds(call, "--min-interval", o->min_interval, &follow.min_interval));
    ARTEL_TRY(artel__cli_read_seconds(call, "--timeout", o->timeout, &follow.timeout));
    artel_status status = open_all(call, &follow.model, &follow.data);
    if (status == ARTEL_OK) status = artel__cli_follow(call, &follow);
    artel_data_destroy(follow.data);
    artel_model_destroy(follow.model);
    return status;
}

static artel_status run_evaluate(artel__invocation *call)
{
    const pass_options *o = call->options;
    if ((o->follow || o->log_dir) && !o->checkpoint_dir)
        return artel__cli_usage(call, o->follow ? "--follow" : "--log-dir",
                                "there are no checkpoints to evaluate without --checkpoint-dir DIR");
    if ((o->min_interval || o->timeout || o->evaluations) && !o->follow)
        return artel__cli_usage(call,
                                o->min_interval ? "--min-interval"
                                : o->timeout    ? "--timeout"
                                                : "--evaluations",
                                "it is about a series of checkpoints; add --follow");
    if (o->checkpoint_dir && strcmp(o->strategy, "multi-worker") == 0)
        return artel__cli_usage(call, "--checkpoint-dir",
                                "checkpoints are evaluated by one process; use another --strategy");
    if (o->confusion && o->checkpoint_dir)
        return artel__cli_usage(call, "--confusion", "it is of one model; save that of the checkpoint and evaluate it");
    if (o->labels && !o->confusion) return artel__cli_usage(call, "--labels", "they name the classes of --confusion");
    if (o->confusion && !artel__ends_with(o->confusion, ".svg") && !artel__ends_with(o->confusion, ".csv"))
        return artel__cli_usage(call, "--confusion", "give a file that ends in .svg or .csv");
    if (o->confusion) ARTEL_TRY(artel__cli_check_target(call, o->confusion));
    if (o->confusion) ARTEL_TRY(artel__cli_check_apart(call, "--confusion", o->confusion, o->data));
    if (o->checkpoint_dir) return follow(call, NULL);
    return run_in_cluster(call, evaluate_with);
}

static artel_status run_predict(artel__invocation *call)
{
    const pass_options *o = call->options;
    bool table = o->output && artel__ends_with(o->output, ".csv");
    if (!o->output || (!table && !artel__ends_with(o->output, ".npy") && !artel__ends_with(o->output, ".npz")))
        return artel__cli_usage(call, "--output", "give a file that ends in .npy, .npz or .csv");
    if (o->labels && !table) return artel__cli_usage(call, "--labels", "names are written to .csv files only");
    ARTEL_TRY(artel__cli_check_target(call, o->output));
    ARTEL_TRY(artel__cli_check_apart(call, "--output", o->output, o->data));
    return run_in_cluster(call, predict_with);
}

const artel__command artel__command_evaluate = {
    .name = "evaluate",
    .summary = "loss and metrics of a model over data",
    .usage = "MODEL --data SPEC [options]",
    .more = "--confusion goes through the data once more, predicts, and counts by true and predicted class, each row "
            "once: weights of rows do\n"
            "not count. The report has precision, recall and their harmonic mean f1 of each class, their mean, and "
            "their mean by rows.\n",
    .examples = "  artel evaluate trained.keras --data npz:mnist.npz#x_test,y_test --batch-size 256\n"
                "  artel evaluate trained.keras --data 'idx:images.gz,labels.gz#scale=1/255' --json\n"
                "  artel evaluate trained.keras --data npz:test.npz --confusion confusion.svg --labels cat,dog,bird\n"
                "  artel evaluate model.keras --data npz:test.npz --checkpoint-dir run1 --follow      beside a fit "
                "that saves there\n",
    .options = evaluate_options,
    .options_size = sizeof(pass_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_evaluate,
};

const artel__command artel__command_predict = {
    .name = "predict",
    .summary = "the model's outputs for data, in input order, as float32",
    .usage = "MODEL --data SPEC --output FILE.npy [options]",
    .examples = "  artel predict trained.keras --data npy:x.npy --output y.npy\n"
                "  artel predict trained.keras --data images:photos --output classes.csv --labels cat,dog\n"
                "  artel predict two-heads.keras --data npz:inputs.npz --output outputs.npz --batch-size 256\n",
    .options = predict_options,
    .options_size = sizeof(pass_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .letter = "o=output",
    .run = run_predict,
};
