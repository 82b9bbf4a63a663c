/* SPDX-License-Identifier: Apache-2.0 */
/* artel check: everything a model needs that is not there, all at once; whether data fits it; who is who in the
 * cluster. */
#include <string.h>

#include "base/text.h"
#include "cli/check_network.h"
#include "cli/cluster.h"
#include "cluster/cluster.h"
#include "keras/load.h"
#include "train/session.h"

typedef struct check_options {
    const char *data;
    int64_t batch_size;
    bool cluster, json, network, insecure_network;
    const char *bind, *cert_dir, *wait;
    const char *resolver, *cluster_file, *task, *rendezvous, *service;
    int64_t workers, port;
    const char *extensions;
    const char *device, *plugin, *device_precision, *device_kernels, *device_launches, *device_reduce, *device_target,
        *device_memory;
} check_options;

static const artel__option options[] = {
    {"data", "check that this data fits the model", ARTEL__OPTION_STRING, offsetof(check_options, data), "null", 0, 0,
     NULL},
    {"batch-size", "global batch, for learning rate schedules that depend on it", ARTEL__OPTION_INT,
     offsetof(check_options, batch_size), "32", 1, 1e9, NULL},
    {"cluster", "print the tasks of the cluster, which of them this is, and who said so (docs/cluster.md)",
     ARTEL__OPTION_BOOL, offsetof(check_options, cluster), "false", 0, 0, NULL},
    {"network",
     "measure the network to every other task, all of which must do the same now: half a round trip, bytes a second",
     ARTEL__OPTION_BOOL, offsetof(check_options, network), "false", 0, 0, NULL},
    {"json", "print cluster and network as one JSON object each", ARTEL__OPTION_BOOL, offsetof(check_options, json),
     "false", 0, 0, NULL},
    {"bind", "--network: address to listen on, as in fit", ARTEL__OPTION_STRING, offsetof(check_options, bind), "null",
     0, 0, NULL},
    {"cert-dir", "--network: folder with this task's certificate, as in fit", ARTEL__OPTION_STRING,
     offsetof(check_options, cert_dir), "null", 0, 0, NULL},
    {"insecure-network", "--network: allow plaintext beyond this machine", ARTEL__OPTION_BOOL,
     offsetof(check_options, insecure_network), "false", 0, 0, NULL},
    {"wait-for-cluster", "--network: how long to wait for tasks that are not there", ARTEL__OPTION_STRING,
     offsetof(check_options, wait), "1min", 0, 0, NULL},
    {"resolver", "auto, file, tf-config, kubernetes, torchrun, mpi, slurm, none", ARTEL__OPTION_STRING,
     offsetof(check_options, resolver), "auto", 0, 0, NULL},
    {"cluster-file", "a description of the cluster: JSON, or a line HOST:PORT for each worker", ARTEL__OPTION_STRING,
     offsetof(check_options, cluster_file), "null", 0, 0, NULL},
    {"task", "which task this is, where TF_CONFIG or the file leaves it open: worker:1", ARTEL__OPTION_STRING,
     offsetof(check_options, task), "null", 0, 0, NULL},
    {"rendezvous", "HOST:PORT of rank 0, where the launcher does not say", ARTEL__OPTION_STRING,
     offsetof(check_options, rendezvous), "null", 0, 0, NULL},
    {"service", "the headless service of an indexed Job", ARTEL__OPTION_STRING, offsetof(check_options, service),
     "null", 0, 0, NULL},
    {"workers", "completions of an indexed Job", ARTEL__OPTION_INT, offsetof(check_options, workers), "null", 1,
     ARTEL__CLUSTER_MAX_TASKS, NULL},
    {"port", "first port where launchers name hosts only; null: 8888", ARTEL__OPTION_INT, offsetof(check_options, port),
     "null", 1, 65535, NULL},
    ARTEL__EXTENSION_OPTION(check_options),
    ARTEL__DEVICE_OPTIONS(check_options),
    {"device-target", "compile for devices that are not here: h100 (with --device cuda), v5e:2x2 (tpu)",
     ARTEL__OPTION_STRING, offsetof(check_options, device_target), "null", 0, 0, NULL},
    {.name = NULL},
};

/* Prints the recorded failure as one finding and forgets it. */
static void print_finding(artel_context *ctx, int *findings)
{
    const artel_error *error = artel_context_error(ctx);
    char where[sizeof error->where], what[sizeof error->what], advice[sizeof error->advice];
    artel__show(stdout, "missing: %s%s%s%s%s\n", artel__cli_name_options(error->where, where, sizeof where),
                error->where[0] ? ": " : "", artel__cli_name_options(error->what, what, sizeof what),
                error->advice[0] ? "; " : "", artel__cli_name_options(error->advice, advice, sizeof advice));
    artel__operation_begin(ctx);
    ++*findings;
}

/* Tries to make every layer of a config by itself. */
static void check_layers(artel__invocation *call, json_t *config, int *findings)
{
    json_t *record;
    size_t i;
    artel__variables variables;
    json_array_foreach(json_object_get(config, "layers"), i, record)
    {
        json_t *inner = json_object_get(record, "config");
        if (json_is_array(json_object_get(inner, "layers"))) {
            check_layers(call, inner, findings);
            continue;
        }
        artel__layer *layer;
        artel__variables_init(&variables, &call->arena);
        if (artel__layer_create(&call->arena, &variables, record, &layer) < 0) print_finding(call->ctx, findings);
    }
}

/* The record of the model, or NULL when the file itself cannot be read that far. */
static json_t *read_record(artel__invocation *call, const char *path)
{
    artel__keras_kind kind;
    json_t *json = NULL;
    if (artel__keras_sniff(call->ctx, path, &kind) < 0) return NULL;
    if (kind == ARTEL__KERAS_JSON) {
        if (artel__json_load_file(call->ctx, path, &json) < 0) return NULL;
        return json;
    }
    if (kind != ARTEL__KERAS_ARCHIVE) return NULL;
    artel__keras_archive archive;
    memset(&archive, 0, sizeof archive);
    if (artel__keras_archive_open(call->ctx, path, true, &archive) == ARTEL_OK) json = json_incref(archive.config);
    artel__keras_archive_close(&archive);
    return json;
}

static artel__device_request device_of(const check_options *o)
{
    artel__device_request request = ARTEL__DEVICE_REQUEST(o, false, false);
    request.target = o->device_target;
    return request;
}

/* Without data nothing can be compiled, but whether it is there can be said. */
static void find_device(artel__invocation *call, int *findings)
{
    const check_options *o = call->options;
    const artel__device_request wanted = device_of(o);
    artel__device_set *set = NULL;
    if (!artel__cli_given(call, "device")) return;
    artel__cli_catch_abort(o->device);
    if (artel__devices_open(call->ctx, &wanted, &set) < 0)
        print_finding(call->ctx, findings);
    else if (set)
        artel__show(stdout, "device: %s; give --data, too, to have its programs compiled\n", set->arithmetic);
    artel__devices_close(set);
}

/* Whether the programs of training compile, all of them, and what they need. Nothing is computed. */
static artel_status check_device(artel__invocation *call, artel_model *model, const artel__settings *settings,
                                 const artel__feed *feed)
{
    const check_options *o = call->options;
    artel__session *session;
    artel__session_options wanted = {.model = model,
                                     .settings = settings,
                                     .strategy = "one-device",
                                     .batch_size = o->batch_size,
                                     .train = true,
                                     .device = device_of(o)};
    bool named;
    ARTEL_TRY(artel__devices_named(call->ctx, &wanted.device, &named));
    if (!named) return ARTEL_OK;
    artel__cli_catch_abort(o->device);
    ARTEL_TRY(artel__session_create(call->ctx, &wanted, &session));
    artel_status status = artel__session_prepare(session, ARTEL__MODE_TRAIN, feed, o->batch_size);
    if (status == ARTEL_OK) {
        artel__text text;
        artel__text_init(&text, call->ctx);
        artel__session_summary(session, ARTEL__MODE_TRAIN, &text);
        artel__show(stdout, "device: %s\n", artel__session_arithmetic(session));
        fputs(text.data, stdout);
        artel__text_fini(&text);
    }
    artel__session_destroy(session);
    return status;
}

static artel_status check_data(artel__invocation *call, artel_model *model, const artel__settings *settings,
                               artel_data *data)
{
    artel__data_wants wants;
    artel__feed *feed = NULL;
    artel_status status = artel__objective_wants(&call->arena, model->nn, settings, ARTEL__MODE_TRAIN, &wants);
    wants.buckets = true;
    if (status == ARTEL_OK) status = artel__data_bind(data, &wants, &feed);
    if (status == ARTEL_OK) {
        artel__text text;
        artel__text_init(&text, call->ctx);
        artel__feed_describe(feed, &text);
        artel__show(stdout, "data: %lld rows fit the model\n", (long long)artel__feed_count(feed));
        fputs(text.data, stdout);
        artel__text_fini(&text);
        status = check_device(call, model, settings, feed);
    }
    artel__feed_destroy(feed);
    return status;
}

static void check_model(artel__invocation *call, artel_model *model, int *findings)
{
    const check_options *o = call->options;
    artel__settings settings;
    int64_t trainable, frozen;
    artel__keras_count(model, &trainable, &frozen);
    artel__show(stdout, "model: %s, %d layers, %lld parameters\n", model->nn->name, model->nn->layers,
                (long long)(trainable + frozen));
    memset(&settings, 0, sizeof settings);
    if (artel__model_is_custom(model->nn))
        printf("class: %s, the user's own; a train_step, compute_loss or call of its own is not in the file, so fit "
               "wants --standard-step\n",
               model->nn->class_name);
    json_t *loss = json_object_get(model->compile_config, "loss");
    if (!o->data && (!loss || json_is_null(loss))) { /* enough to predict with */
        artel__show(stdout,
                    "compile settings: no loss; fit needs --loss NAME (and --optimizer NAME), evaluate --loss NAME\n");
        find_device(call, findings);
        return;
    }
    artel_data *data = NULL;
    if (o->data && artel_data_open(call->ctx, o->data, &data) < 0) print_finding(call->ctx, findings);
    const artel__settings_source source = {.model = model, .data = data, .train = true, .batch_size = o->batch_size};
    bool settled = artel__settings_read(&call->arena, &source, &settings) == ARTEL_OK;
    if (!settled)
        print_finding(call->ctx, findings);
    else
        artel__show(stdout, "compile settings: optimizer %s, %d output%s\n", settings.optimizer.class_name,
                    settings.outputs, settings.outputs == 1 ? "" : "s");
    if (!o->data) find_device(call, findings);
    if (settled && data && check_data(call, model, &settings, data) < 0) print_finding(call->ctx, findings);
    json_decref(settings.optimizer.record);
    artel_data_destroy(data);
}

static artel_status check_network(artel__invocation *call, const artel__cluster *cluster)
{
    const check_options *o = call->options;
    const artel__measure_options wanted = {.bind = o->bind,
                                           .cert_dir = o->cert_dir,
                                           .insecure_network = o->insecure_network,
                                           .wait = artel__cli_seconds(o->wait)};
    if (!(wanted.wait > 0))
        return artel__cli_usage(call, "--wait-for-cluster",
                                "the value is no time (found %.60s, expected for example 30s or 10min)", o->wait);
    artel__cli_catch_signals(call->ctx);
    return artel__cli_check_network(call, cluster, &wanted, o->json);
}

static artel_status check_cluster(artel__invocation *call)
{
    const check_options *o = call->options;
    const artel__cluster_options wanted = {
        .resolver = artel__cli_given(call, "resolver") ? o->resolver : NULL,
        .file = o->cluster_file,
        .task = o->task,
        .rendezvous = o->rendezvous,
        .service = o->service,
        .workers = (int)o->workers,
        .port = (int)o->port,
    };
    artel__cluster cluster;
    artel__text text;
    ARTEL_TRY(artel__cluster_resolve(call->ctx, artel__process_environment, NULL, &wanted, &cluster));
    artel__text_init(&text, call->ctx);
    artel_status status = ARTEL_OK;
    if (o->cluster && o->json)
        status = artel__cluster_to_json(&cluster, &text);
    else if (o->cluster)
        artel__cluster_describe(&cluster, &text);
    if (status == ARTEL_OK) status = artel__text_status(&text);
    if (status == ARTEL_OK) printf("%s%s", text.data, o->cluster && o->json ? "\n" : "");
    fflush(stdout); /* the network takes its time */
    if (status == ARTEL_OK && o->network) status = check_network(call, &cluster);
    artel__text_fini(&text);
    artel__cluster_fini(&cluster);
    return status;
}

static artel_status run_check(artel__invocation *call)
{
    const check_options *o = call->options;
    if (call->arguments == 0 && !o->cluster && !o->network)
        return artel__cli_usage(call, "check", "an argument is missing; usage: artel check %s", call->command->usage);
    if (o->device_target && !artel__cli_given(call, "device"))
        return artel__cli_usage(call, "--device-target", "give --device, too: cuda for h100, tpu for v5e:2x2");
    if (o->cluster || o->network) ARTEL_TRY(check_cluster(call));
    if (call->arguments == 0) return ARTEL_OK;
    const char *path = call->argument[0];
    artel_model *model = NULL;
    int findings = 0;
    ARTEL_TRY(artel__cli_expect_model(call, path)); /* without its own classes more would be missing than is */
    artel_status status = artel_model_load(call->ctx, path, &model);
    if (status == ARTEL_OK) {
        check_model(call, model, &findings);
        artel_model_destroy(model);
    } else {
        artel_error error = *artel_context_error(call->ctx);
        artel__operation_begin(call->ctx);
        json_t *record = read_record(call, path);
        artel__operation_begin(call->ctx);
        if (record) check_layers(call, json_object_get(record, "config"), &findings);
        json_decref(record);
        if (findings == 0) return artel__fail(call->ctx, error.status, error.where, error.advice, "%s", error.what);
    }
    if (findings) {
        call->exit_code = 1;
        artel__show(stdout, "%d thing%s missing\n", findings, findings == 1 ? " is" : "s are");
    } else {
        artel__show(stdout, "everything is there\n");
    }
    return ARTEL_OK;
}

const artel__command artel__command_check = {
    .name = "check",
    .summary =
        "everything a model needs that is not there, all at once; who is who in the cluster, how fast its network is",
    .usage = "MODEL [--data SPEC [--device NAME]] | --cluster [--network] [--json]",
    .examples = "  artel check model.keras\n  artel check model.keras --data npz:train.npz\n  artel check model.keras "
                "--data npz:train.npz "
                "--batch-size 512 --device gpu\n  srun -n 4 artel check --cluster\n"
                "  artel check --network --cert-dir certs --cluster-file hosts.txt --task worker:0\n",
    .options = options,
    .options_size = sizeof(check_options),
    .min_arguments = 0,
    .max_arguments = 1,
    .run = run_check,
};
