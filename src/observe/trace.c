/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace format, streamed.
 *
 * An event is built and appended under one mutex; it is a few hundred nanoseconds of printing, which is small against
 * what is worth a span. The separator precedes each event but the first, so that the file is valid JSON once closed
 * and lacks only its bracket when it is not.
 */
#include "observe/trace.h"

#include <pthread.h>

#include "observe/number.h"
#include "observe/stream.h"

enum {
    FLUSH_BYTES = 64 * 1024
};

struct artel__trace {
    artel_context *ctx;
    artel__stream stream;
    int64_t rank;
    pthread_mutex_t mutex; /* guards everything below */
    artel__text pending;
    bool any;            /* an event has been written */
    artel_status status; /* of the first failure */
};

static void flush_locked(artel__trace *trace)
{
    if (trace->status == ARTEL_OK) trace->status = artel__text_status(&trace->pending);
    if (trace->status == ARTEL_OK)
        trace->status = artel__stream_write(&trace->stream, trace->pending.data, trace->pending.length);
    artel__text_clear(&trace->pending);
}

/* Locks and writes the members that every event has. `end_event` must follow. */
static void begin_event(artel__trace *trace, const char *phase, int64_t thread, const char *name)
{
    pthread_mutex_lock(&trace->mutex);
    artel__text_append(&trace->pending, trace->any ? ",\n" : "[\n");
    trace->any = true;
    artel__text_printf(&trace->pending, "{\"ph\": \"%s\", \"pid\": %lld, \"tid\": %lld, \"name\": ", phase,
                       (long long)trace->rank, (long long)thread);
    artel__text_append_json(&trace->pending, name);
}

static void end_event(artel__trace *trace)
{
    artel__text_append(&trace->pending, "}");
    if (trace->pending.length >= FLUSH_BYTES) flush_locked(trace);
    pthread_mutex_unlock(&trace->mutex);
}

/* Nanoseconds as microseconds, exactly. */
static void put_time(artel__trace *trace, const char *key, int64_t ns)
{
    if (ns < 0) ns = 0;
    artel__text_printf(&trace->pending, ", \"%s\": %lld.%03lld", key, (long long)(ns / 1000), (long long)(ns % 1000));
}

/* An event that tells viewers how to call something. */
static void put_name(artel__trace *trace, const char *what, int64_t thread, const char *name)
{
    begin_event(trace, "M", thread, what);
    artel__text_append(&trace->pending, ", \"args\": {\"name\": ");
    artel__text_append_json(&trace->pending, name);
    artel__text_append(&trace->pending, "}");
    end_event(trace);
}

artel_status artel__trace_create(artel_context *ctx, const char *path, int64_t rank, const char *process_name,
                                 artel__trace **out)
{
    void *block;
    artel__stream stream;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__trace), "trace", &block));
    artel_status status = artel__stream_open(ctx, path, ARTEL__STREAM_OVERWRITE, &stream);
    if (status < 0) {
        artel__free(ctx, block);
        return status;
    }
    artel__trace *trace = block;
    trace->ctx = ctx;
    trace->stream = stream;
    trace->rank = rank;
    pthread_mutex_init(&trace->mutex, NULL);
    artel__text_init(&trace->pending, ctx);
    put_name(trace, "process_name", 0, process_name);
    *out = trace;
    return ARTEL_OK;
}

artel_status artel__trace_destroy(artel__trace *trace)
{
    if (!trace) return ARTEL_OK;
    artel__text_append(&trace->pending, "\n]\n");
    flush_locked(trace);
    artel_status status = trace->status, closed = artel__stream_close(&trace->stream);
    artel__text_fini(&trace->pending);
    pthread_mutex_destroy(&trace->mutex);
    artel__free(trace->ctx, trace);
    return status < 0 ? status : closed;
}

void artel__trace_thread(artel__trace *trace, int64_t thread, const char *name)
{
    if (trace) put_name(trace, "thread_name", thread, name);
}

void artel__trace_span(artel__trace *trace, const artel__trace_span_record *span)
{
    if (!trace) return;
    begin_event(trace, "X", span->thread, span->name);
    artel__text_append(&trace->pending, ", \"cat\": ");
    artel__text_append_json(&trace->pending, span->category);
    put_time(trace, "ts", span->begin_ns);
    put_time(trace, "dur", span->end_ns - span->begin_ns);
    if (span->arguments) artel__text_printf(&trace->pending, ", \"args\": %s", span->arguments);
    end_event(trace);
}

void artel__trace_instant(artel__trace *trace, int64_t thread, const char *name, int64_t at_ns)
{
    if (!trace) return;
    begin_event(trace, "i", thread, name);
    put_time(trace, "ts", at_ns);
    artel__text_append(&trace->pending, ", \"s\": \"t\"");
    end_event(trace);
}

void artel__trace_counter(artel__trace *trace, const char *name, int64_t at_ns, double value)
{
    if (!trace) return;
    begin_event(trace, "C", 0, name);
    put_time(trace, "ts", at_ns);
    artel__text_append(&trace->pending, ", \"args\": {\"value\": ");
    artel__put_json_float(&trace->pending, value - value == 0 ? value : 0); /* viewers refuse NaN and infinity */
    artel__text_append(&trace->pending, "}");
    end_event(trace);
}

void artel__trace_flow(artel__trace *trace, artel__trace_flow_end end, int64_t thread, uint64_t id, int64_t at_ns)
{
    static const char *const phases[] = {"s", "t", "f"};
    if (!trace) return;
    begin_event(trace, phases[end], thread, "message");
    put_time(trace, "ts", at_ns);
    artel__text_printf(&trace->pending, ", \"cat\": \"flow\", \"id\": %llu", (unsigned long long)id);
    if (end == ARTEL__TRACE_FLOW_END)
        artel__text_append(&trace->pending, ", \"bp\": \"e\""); /* binds to the span around it */
    end_event(trace);
}

void artel__trace_flush(artel__trace *trace)
{
    if (!trace) return;
    pthread_mutex_lock(&trace->mutex);
    flush_locked(trace);
    pthread_mutex_unlock(&trace->mutex);
}
