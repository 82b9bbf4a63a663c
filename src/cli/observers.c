/* SPDX-License-Identifier: Apache-2.0 */
/* Wiring of a run's events to what shows them. A failed write is remembered and reported when the run has ended: a full
 * disk under the logs must not cost the training. */
#include "cli/observers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/board_graph.h"
#include "cli/health.h"
#include "keras/model.h"

static void remember(artel__observers *o, artel_status status)
{
    if (o->failed.status != ARTEL_OK || status >= 0) return;
    o->failed = *artel_context_error(o->ctx);
    o->failed.status = status;
}

/* The event's values in the form of the observe room. */
static artel__logs logs_of(artel__observers *o, const artel_event *event)
{
    if (event->metric_count > o->capacity) {
        void *wider = o->values;
        artel_status status = artel__realloc(o->ctx, (size_t)event->metric_count * sizeof *o->values, "logs", &wider);
        remember(o, status); /* the command fails with this: a line without values is no result */
        if (status < 0) return (artel__logs){0, NULL};
        o->values = wider;
        o->capacity = event->metric_count;
    }
    for (int i = 0; i < event->metric_count; i++)
        o->values[i] = (artel__log_value){event->metrics[i].name, event->metrics[i].value};
    return (artel__logs){(size_t)event->metric_count, o->values};
}

static void pause_progress(void *user)
{
    artel__progress_pause(user);
}

static artel_status open_board(artel__observers *o, const artel__observer_options *options)
{
    ARTEL_TRY(artel__tensorboard_create(o->ctx, options->log_dir, &options->board, &o->board));
    return options->board.write_graph ? artel__board_write_graph(o->model, o->board) : ARTEL_OK;
}

/* Whether the user's locale says that the terminal has no characters of Unicode. Nothing said is no answer: containers
 * say nothing. */
static bool has_other_characters(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARTEL__COUNT(names); i++) {
        const char *locale = getenv(names[i]);
        if (locale && locale[0]) return !strcasestr(locale, "utf-8") && !strcasestr(locale, "utf8");
    }
    return false;
}

/* What one task of a cluster shows and writes: from the beginning, or from the epoch on in which it takes over. */
static artel_status open_shared(artel__observers *o)
{
    const artel__observer_options *options = &o->options;
    int64_t verbose = options->verbose >= 0 ? options->verbose : options->json ? 0 : isatty(STDERR_FILENO) ? 1 : 2;
    o->quiet = false;
    if (verbose > 0) {
        const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
        bool dumb = term && strcmp(term, "dumb") == 0;
        artel__progress_options progress = {.fd = STDERR_FILENO,
                                            .verbose = (int)verbose,
                                            .terminal = dumb ? 0 : -1,
                                            .plain = no_colour && no_colour[0],
                                            .ascii = has_other_characters()};
        ARTEL_TRY(artel__progress_create(o->ctx, &progress, &o->progress));
        artel__cli_before_notes(pause_progress, o->progress);
    }
    return options->log_dir ? open_board(o, options) : ARTEL_OK;
}

static void close_shared(artel__observers *o)
{
    artel__cli_before_notes(NULL, NULL);
    artel__progress_destroy(o->progress);
    remember(o, artel__tensorboard_destroy(o->board));
    remember(o, artel__csv_log_destroy(o->csv));
    o->progress = NULL;
    o->board = NULL;
    o->csv = NULL;
    o->quiet = true;
}

artel_status artel__observers_open(artel_context *ctx, artel_model *model, const artel__observer_options *options,
                                   artel__observers *out)
{
    *out = (artel__observers){.ctx = ctx, .model = model, .options = *options, .quiet = options->quiet};
    out->csv_options =
        (artel__csv_log_options){.separator = options->csv_separator, .append = options->csv_append, .keep_below = -1};
    if (options->json) {
        bool epochs = strcmp(options->json, "epochs") == 0;
        if (!epochs && strcmp(options->json, "all") != 0)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, "--json", "use --json or --json=epochs",
                               "\"%s\" is not a level of detail", options->json);
        ARTEL_TRY(artel__events_create(ctx, STDOUT_FILENO, epochs ? ARTEL__EVENTS_EPOCHS : ARTEL__EVENTS_STEPS,
                                       &out->events));
    }
    if (options->cluster && artel_cluster_size(options->cluster) > 1) {
        void *block;
        ARTEL_TRY(
            artel__calloc(ctx, (size_t)artel_cluster_size(options->cluster), sizeof *out->task, "observers", &block));
        out->task = block;
    }
    if (options->profile) ARTEL_TRY(artel__profiler_create(ctx, options->profile, &out->profiler));
    return options->quiet ? ARTEL_OK : open_shared(out);
}

artel_status artel__observers_close(artel__observers *o)
{
    close_shared(o);
    if (o->profiler && o->started) artel__profiler_print(o->profiler, o->events ? stderr : stdout);
    remember(o, artel__events_destroy(o->events));
    remember(o, artel__profiler_destroy(o->profiler));
    artel__free(o->ctx, o->values);
    artel__free(o->ctx, o->task);
    artel_error failed = o->failed;
    *o = (artel__observers){.ctx = o->ctx};
    if (failed.status < 0) artel__fail(o->ctx, failed.status, failed.where, failed.advice, "%s", failed.what);
    return failed.status;
}

/* `more`: rows of epochs from `epoch` on are written anew, those before stay. */
static void open_csv(artel__observers *o, bool more, int64_t epoch)
{
    artel__csv_log_options options = o->csv_options;
    if (!o->options.csv_log || o->quiet) return;
    if (more) {
        options.append = true;
        options.keep_below = epoch;
    }
    remember(o, artel__csv_log_create(o->ctx, o->options.csv_log, &options, &o->csv));
}

/* The epoch whose middle this task is in: nothing has told of its begin. */
static void epoch_goes_on(artel__observers *o, const artel_event *event)
{
    o->epoch_started_ns = artel__now_ns();
    o->epoch_first_step = event->step;
    if (o->progress && event->step_in_epoch > 0)
        artel__progress_go_on(o->progress, event->epoch, event->epochs, event->steps_per_epoch, event->step_in_epoch);
}

static void on_start(artel__observers *o, const artel_event *event)
{
    char resumed[64], task[64], arithmetic[256];
    snprintf(task, sizeof task, "%s:%d", event->role ? event->role : "", event->task);
    snprintf(resumed, sizeof resumed, "ckpt-%lld", (long long)event->resumed_from);
    artel__event_start start = {.role = event->role ? event->role : "worker",
                                .task = event->role ? task : NULL,
                                .pid = getpid(),
                                .strategy = event->text,
                                .replicas = event->replicas,
                                .threads = event->threads,
                                .shards = event->shards,
                                .arithmetic = artel__cli_name_options(event->arithmetic, arithmetic, sizeof arithmetic),
                                .resumed_from = event->resumed_from ? resumed : NULL};
    o->started = true;
    if (o->profiler) artel__profiler_start(o->profiler, event->replicas, event->threads);
    if (o->events) remember(o, artel__events_start(o->events, &start));
    open_csv(o, event->resumed_from > 0, event->epoch);
    epoch_goes_on(o, event);
}

/* Another task of the cluster may show the run from here on, or this one. */
static void on_membership(artel__observers *o, const artel_event *event)
{
    if (event->writes && o->quiet) {
        remember(o, open_shared(o));
        if (o->started) open_csv(o, true, event->epoch);
        epoch_goes_on(o, event);
    } else if (!event->writes && !o->quiet)
        close_shared(o);
    if (!o->events || o->quiet) return;
    char why[1024];
    artel__event_membership membership = {.generation = event->generation,
                                          .members = event->member,
                                          .joined = event->joined,
                                          .left = event->left,
                                          .member_count = (size_t)event->members,
                                          .joined_count = (size_t)event->joiners,
                                          .left_count = (size_t)event->leavers,
                                          .why = artel__cli_name_options(event->text, why, sizeof why),
                                          .pause_ms = event->pause_ms};
    remember(o, artel__events_membership(o->events, &membership));
}

typedef struct histogram_target {
    artel__observers *o;
    int64_t epoch;
} histogram_target;

static artel_status one_histogram(void *user, const artel__model_variable *variable)
{
    histogram_target *target = user;
    artel__observers *o = target->o;
    int index = variable->variable->index;
    const artel__variable *declared = &o->model->nn->variables->item[index];
    int64_t count = artel_shape_count(&declared->shape);
    void *plain;
    ARTEL_TRY(artel__alloc(o->ctx, (size_t)(count + 1) * artel_dtype_size(declared->dtype), "histogram", &plain));
    artel__state_fetch(o->model->weights, index, plain);
    artel_status status =
        artel__tensorboard_weight(o->board, target->epoch, declared->name, declared->dtype, plain, count);
    artel__free(o->ctx, plain);
    return status;
}

static void board_epoch(artel__observers *o, const artel_event *event, artel__logs logs)
{
    double seconds = (double)(artel__now_ns() - o->epoch_started_ns) * 1e-9;
    artel__tensorboard_epoch epoch = {.epoch = event->epoch,
                                      .learning_rate = event->learning_rate,
                                      .steps_per_second =
                                          seconds > 0 ? (double)(event->step - o->epoch_first_step) / seconds : NAN};
    if (artel__tensorboard_wants_weights(o->board, event->epoch)) {
        histogram_target target = {o, event->epoch};
        remember(o, artel__model_visit(o->model->nn, one_histogram, &target));
    }
    remember(o, artel__tensorboard_epoch_end(o->board, &epoch, logs));
}

/* Last, since it may shift the logs: of a CSVLogger in a list with the rate as the last callback in front of it that
 * tells the rate has told it, and without where there is none, as in Keras. */
static void csv_epoch(artel__observers *o, const artel_event *event, artel__logs logs)
{
    artel__log_value *kept = o->values;
    size_t count = 0;
    int told = o->options.csv_rates;
    for (size_t i = 0; i < logs.count; i++) {
        bool rate = o->options.csv_by_place && strcmp(logs.item[i].name, "learning_rate") == 0;
        if (rate && told == 0) continue;
        kept[count] = logs.item[i];
        if (rate && told <= event->rate_count) kept[count].value = event->rates[told - 1];
        count++;
    }
    remember(o, artel__csv_log_epoch(o->csv, event->epoch, (artel__logs){count, kept}));
}

static void on_epoch_end(artel__observers *o, const artel_event *event)
{
    artel__logs logs = logs_of(o, event);
    if (o->progress) artel__progress_end(o->progress, logs);
    if (o->events) remember(o, artel__events_epoch(o->events, event->epoch, logs));
    if (o->board) board_epoch(o, event, logs);
    if (o->csv) csv_epoch(o, event, logs);
}

/* Below the bar: how the tasks of the cluster are. */
static void show_tasks(artel__observers *o, const artel_event *event)
{
    int64_t now = artel__now_ns(), steps = event->step - o->rows_step;
    double step_seconds = o->rows_ns && steps > 0 ? (double)(now - o->rows_ns) * 1e-9 / (double)steps : 0;
    int count = artel_cluster_look(o->options.cluster, o->task, artel_cluster_size(o->options.cluster));
    artel__text rows;
    artel__text_init(&rows, o->ctx);
    artel__health_rows(o->task, count, step_seconds, &rows);
    artel__progress_rows(o->progress, rows.data);
    artel__text_fini(&rows);
    o->rows_ns = now;
    o->rows_step = event->step;
}

static void board_step(artel__observers *o, const artel_event *event)
{
    int64_t now = artel__now_ns();
    double seconds = (double)(now - o->step_ns) * 1e-9;
    o->step_ns = now;
    if (artel__tensorboard_wants_batch(o->board, event->step))
        remember(o, artel__tensorboard_batch_end(o->board, event->step, logs_of(o, event), seconds));
}

static void on_step(artel__observers *o, const artel_event *event)
{
    if (event->step_in_epoch == 1 && o->keras_progress && o->progress)
        artel__progress_begin(o->progress, 0, 1, event->steps_per_epoch);
    if (o->events && !o->keras_progress)
        remember(o, artel__events_step(o->events, event->epoch, event->step, event->loss));
    if (o->task && artel__progress_wants_rows(o->progress)) show_tasks(o, event);
    if (o->progress) artel__progress_update(o->progress, event->step_in_epoch, logs_of(o, event));
    if (o->board) board_step(o, event);
}

static void on_evaluate(artel__observers *o, const artel_event *event)
{
    artel__logs logs = logs_of(o, event);
    if (o->events && !o->results_apart)
        remember(o, artel__events_evaluate(o->events, o->follows ? event->step : -1, logs));
    if (o->board) remember(o, artel__tensorboard_test_end(o->board, event->step, logs));
    if (o->keras_progress && o->progress) artel__progress_end(o->progress, logs);
}

static void on_end(artel__observers *o, const artel_event *event)
{
    artel__event_end_of_run end = {.steps = event->step,
                                   .examples = event->examples,
                                   .examples_per_second = event->examples_per_second,
                                   .step_ms = event->step_ms,
                                   .first_step_ms = event->first_step_ms,
                                   .start_ms = event->start_ms,
                                   .peak_rss_bytes = event->peak_rss_bytes,
                                   .digest = event->digest,
                                   .programs_compiled = event->programs_compiled,
                                   .programs_found = event->programs_found};
    if (o->events) remember(o, artel__events_end(o->events, &end));
    if (o->csv) remember(o, artel__csv_log_finish(o->csv));
}

static void on_fault(artel__observers *o, const artel_event *event)
{
    char host[256] = "", cause[1024];
    gethostname(host, sizeof host - 1);
    bool elsewhere = event->host && event->host[0];
    artel__event_fault fault = {.rank = event->rank < 0 ? 0 : event->rank,
                                .host = elsewhere ? event->host : host,
                                .phase = event->phase && event->phase[0] ? event->phase : "step",
                                .cause = artel__cli_name_options(event->text, cause, sizeof cause)};
    if (o->events) remember(o, artel__events_fault(o->events, &fault));
}

void artel__observers_profile(void *user, int64_t step, const artel_profile_node *nodes, int count)
{
    const artel__observers *o = user;
    if (o->profiler) artel__profiler_step(o->profiler, step, nodes, count);
}

static void on_staleness(artel__observers *o, const artel_event *event)
{
    artel__event_staleness s = {event->epoch, event->updates, event->staleness_median, event->staleness_90,
                                event->staleness_most};
    if (o->events) remember(o, artel__events_staleness(o->events, &s));
}

static void on_audit(artel__observers *o, const artel_event *event)
{
    artel__event_audit audit = {event->epoch, event->examples,      event->digest,   event->text,
                                event->rows,  event->pass_examples, event->each_once};
    if (o->events) remember(o, artel__events_audit(o->events, &audit));
}

void artel__observers_event(void *user, const artel_event *event)
{
    artel__observers *o = user;
    bool told =
        event->kind == ARTEL_EVENT_START || event->kind == ARTEL_EVENT_FAULT || event->kind == ARTEL_EVENT_MEMBERSHIP;
    if (o->quiet && !told) return;
    switch (event->kind) {
    case ARTEL_EVENT_START: on_start(o, event); break;
    case ARTEL_EVENT_EPOCH_BEGIN:
        o->epoch_started_ns = o->step_ns = artel__now_ns();
        o->epoch_first_step = event->step;
        if (o->progress) artel__progress_begin(o->progress, event->epoch, event->epochs, event->steps_per_epoch);
        break;
    case ARTEL_EVENT_STEP: on_step(o, event); break;
    case ARTEL_EVENT_EPOCH_END: on_epoch_end(o, event); break;
    case ARTEL_EVENT_EVALUATE: on_evaluate(o, event); break;
    case ARTEL_EVENT_CHECKPOINT:
        if (o->events) remember(o, artel__events_checkpoint(o->events, event->text, event->step));
        break;
    case ARTEL_EVENT_FAULT: on_fault(o, event); break;
    case ARTEL_EVENT_END: on_end(o, event); break;
    case ARTEL_EVENT_MEMBERSHIP: on_membership(o, event); break;
    case ARTEL_EVENT_STALENESS: on_staleness(o, event); break;
    case ARTEL_EVENT_AUDIT: on_audit(o, event); break;
    }
}
