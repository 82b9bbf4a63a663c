/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines, built in one buffer and written one by one.
 *
 * `comma` says whether the innermost open object or list has a member already; opening one clears it, and closing one
 * sets it, because the closed one is itself a member of what surrounds it. So no stack is needed, and well-formedness
 * is the caller's pairing of begin and end.
 */
#include "observe/events.h"

#include <math.h>

#include "observe/stream.h"

struct artel__events {
    artel_context *ctx;
    artel__stream stream;
    artel__events_detail detail;
    artel__text line;
    bool comma;
    artel_status status; /* of the first failure */
};

artel_status artel__events_create(artel_context *ctx, int fd, artel__events_detail detail, artel__events **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__events), "events", &block));
    artel__events *events = block;
    events->ctx = ctx;
    events->detail = detail;
    artel__text_init(&events->line, ctx);
    artel_status status = artel__stream_borrow(ctx, fd, fd == 1 ? "standard output" : "event stream", &events->stream);
    if (status < 0) {
        (void)artel__events_destroy(events);
        return status;
    }
    *out = events;
    return ARTEL_OK;
}

artel_status artel__events_destroy(artel__events *events)
{
    if (!events) return ARTEL_OK;
    artel_status status = events->status;
    (void)artel__stream_close(&events->stream);
    artel__text_fini(&events->line);
    artel__free(events->ctx, events);
    return status;
}

/* Writes what precedes a value: the comma, and the key when there is one. */
static void begin_value(artel__events *events, const char *key)
{
    if (events->comma) artel__text_append(&events->line, ", ");
    events->comma = true;
    if (!key) return;
    artel__text_append_json(&events->line, key);
    artel__text_append(&events->line, ": ");
}

void artel__event_begin(artel__events *events, const char *kind)
{
    if (!events) return;
    artel__text_clear(&events->line);
    artel__text_append(&events->line, "{");
    events->comma = false;
    artel__event_string(events, "event", kind);
}

void artel__event_int(artel__events *events, const char *key, int64_t value)
{
    if (!events) return;
    begin_value(events, key);
    artel__text_printf(&events->line, "%lld", (long long)value);
}

void artel__event_float(artel__events *events, const char *key, double value)
{
    if (!events) return;
    begin_value(events, key);
    artel__put_json_float(&events->line, value);
}

void artel__event_bool(artel__events *events, const char *key, bool value)
{
    artel__event_json(events, key, value ? "true" : "false");
}

void artel__event_string(artel__events *events, const char *key, const char *value)
{
    if (!events) return;
    begin_value(events, key);
    if (value) {
        artel__text_append_json(&events->line, value);
    } else {
        artel__text_append(&events->line, "null");
    }
}

void artel__event_json(artel__events *events, const char *key, const char *json)
{
    if (!events) return;
    begin_value(events, key);
    artel__text_append(&events->line, json);
}

void artel__event_logs(artel__events *events, artel__logs logs)
{
    artel__log_group group = {.first = 0};
    while (artel__logs_next(logs, &group)) {
        if (group.list) artel__event_list_begin(events, group.name);
        for (size_t i = 0; i < group.count; i++)
            artel__event_float(events, group.list ? NULL : group.name, logs.item[group.first + i].value);
        if (group.list) artel__event_list_end(events);
    }
}

void artel__event_strings(artel__events *events, const char *key, const char *const *items, size_t count)
{
    artel__event_list_begin(events, key);
    for (size_t i = 0; i < count; i++) artel__event_string(events, NULL, items[i]);
    artel__event_list_end(events);
}

static void open_nested(artel__events *events, const char *key, const char *bracket)
{
    if (!events) return;
    begin_value(events, key);
    artel__text_append(&events->line, bracket);
    events->comma = false;
}

static void close_nested(artel__events *events, const char *bracket)
{
    if (!events) return;
    artel__text_append(&events->line, bracket);
    events->comma = true;
}

void artel__event_object_begin(artel__events *events, const char *key)
{
    open_nested(events, key, "{");
}

void artel__event_object_end(artel__events *events)
{
    close_nested(events, "}");
}

void artel__event_list_begin(artel__events *events, const char *key)
{
    open_nested(events, key, "[");
}

void artel__event_list_end(artel__events *events)
{
    close_nested(events, "]");
}

artel_status artel__event_end(artel__events *events)
{
    if (!events) return ARTEL_OK;
    artel__text_append(&events->line, "}\n");
    if (events->status == ARTEL_OK) events->status = artel__text_status(&events->line);
    if (events->status == ARTEL_OK)
        events->status = artel__stream_write(&events->stream, events->line.data, events->line.length);
    artel__text_clear(&events->line);
    return events->status;
}

artel_status artel__events_start(artel__events *events, const artel__event_start *start)
{
    artel__event_begin(events, "start");
    artel__event_string(events, "role", start->role);
    artel__event_string(events, "task", start->task);
    artel__event_int(events, "pid", start->pid);
    artel__event_string(events, "strategy", start->strategy);
    artel__event_int(events, "replicas", start->replicas);
    artel__event_int(events, "threads", start->threads);
    artel__event_int(events, "shards", start->shards);
    artel__event_string(events, "arithmetic", start->arithmetic);
    artel__event_string(events, "resumed_from", start->resumed_from);
    return artel__event_end(events);
}

artel_status artel__events_step(artel__events *events, int64_t epoch, int64_t step, double loss)
{
    if (!events || events->detail == ARTEL__EVENTS_EPOCHS) return ARTEL_OK;
    artel__event_begin(events, "step");
    artel__event_int(events, "epoch", epoch);
    artel__event_int(events, "step", step);
    artel__event_float(events, "loss", loss);
    return artel__event_end(events);
}

artel_status artel__events_epoch(artel__events *events, int64_t epoch, artel__logs logs)
{
    artel__event_begin(events, "epoch");
    artel__event_int(events, "epoch", epoch);
    artel__event_logs(events, logs);
    return artel__event_end(events);
}

artel_status artel__events_evaluate(artel__events *events, int64_t step, artel__logs logs)
{
    artel__event_begin(events, "evaluate");
    if (step >= 0) artel__event_int(events, "step", step);
    artel__event_logs(events, logs);
    artel__event_object_begin(events, "metrics");
    artel__event_logs(events, logs);
    artel__event_object_end(events);
    return artel__event_end(events);
}

artel_status artel__events_checkpoint(artel__events *events, const char *path, int64_t step)
{
    artel__event_begin(events, "checkpoint");
    artel__event_string(events, "path", path);
    artel__event_int(events, "step", step);
    return artel__event_end(events);
}

artel_status artel__events_membership(artel__events *events, const artel__event_membership *membership)
{
    artel__event_begin(events, "membership");
    artel__event_int(events, "generation", membership->generation);
    artel__event_strings(events, "members", membership->members, membership->member_count);
    artel__event_strings(events, "joined", membership->joined, membership->joined_count);
    artel__event_strings(events, "left", membership->left, membership->left_count);
    artel__event_string(events, "why", membership->why);
    artel__event_float(events, "pause_ms", membership->pause_ms);
    return artel__event_end(events);
}

artel_status artel__events_staleness(artel__events *events, const artel__event_staleness *staleness)
{
    artel__event_begin(events, "staleness");
    artel__event_int(events, "epoch", staleness->epoch);
    artel__event_int(events, "updates", staleness->updates);
    artel__event_int(events, "p50", staleness->median);
    artel__event_int(events, "p90", staleness->most_90);
    artel__event_int(events, "max", staleness->most);
    return artel__event_end(events);
}

artel_status artel__events_audit(artel__events *events, const artel__event_audit *audit)
{
    artel__event_begin(events, "audit");
    artel__event_int(events, "epoch", audit->epoch);
    artel__event_int(events, "elements", audit->elements);
    artel__event_string(events, "digest", audit->digest);
    artel__event_string(events, "order", audit->order);
    artel__event_int(events, "of", audit->rows);
    artel__event_int(events, "pass_elements", audit->pass_elements);
    artel__event_json(events, "each_once", audit->each_once < 0 ? "null" : audit->each_once ? "true" : "false");
    return artel__event_end(events);
}

artel_status artel__events_fault(artel__events *events, const artel__event_fault *fault)
{
    artel__event_begin(events, "fault");
    artel__event_int(events, "rank", fault->rank);
    artel__event_string(events, "host", fault->host);
    artel__event_string(events, "phase", fault->phase);
    artel__event_string(events, "cause", fault->cause);
    return artel__event_end(events);
}

/* A measured figure; null when there was nothing to measure. */
static void measured(artel__events *events, const char *key, double value)
{
    if (isnan(value)) {
        artel__event_json(events, key, "null");
    } else {
        artel__event_float(events, key, value);
    }
}

artel_status artel__events_end(artel__events *events, const artel__event_end_of_run *end)
{
    artel__event_begin(events, "end");
    artel__event_int(events, "steps", end->steps);
    artel__event_int(events, "examples", end->examples);
    measured(events, "examples_per_second", end->examples_per_second);
    measured(events, "step_ms", end->step_ms);
    measured(events, "first_step_ms", end->first_step_ms);
    measured(events, "start_ms", end->start_ms);
    artel__event_int(events, "peak_rss_bytes", end->peak_rss_bytes);
    artel__event_string(events, "digest", end->digest);
    if (end->programs_compiled || end->programs_found) {
        artel__event_int(events, "programs_compiled", end->programs_compiled);
        artel__event_int(events, "programs_found", end->programs_found);
    }
    return artel__event_end(events);
}
