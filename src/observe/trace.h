/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline in Chrome's trace format, for --profile; opens in Perfetto's UI and in chrome://tracing.
 *
 * The file is the array form of the format, which viewers accept without its closing bracket: what a crashed run
 * left can be opened. A process of the trace is a rank, its threads are those of the replicas. Times are
 * CLOCK_MONOTONIC nanoseconds (artel__now_ns) and appear as microseconds with three decimals.
 * All functions but create and destroy may be called from any thread, accept a NULL trace and then do nothing.
 * Failures of writing are kept and reported by destroy.
 */
#ifndef ARTEL_OBSERVE_TRACE_H
#define ARTEL_OBSERVE_TRACE_H

#include "base/context.h"

typedef struct artel__trace artel__trace;

/* Creates the file (an old one is replaced). `rank` is the process of the trace, `process_name` what viewers show. */
artel_status artel__trace_create(artel_context *ctx, const char *path, int64_t rank, const char *process_name,
                                 artel__trace **out);
/* Ends the array, closes, frees; NULL is accepted. */
artel_status artel__trace_destroy(artel__trace *trace);

/* Names a thread. */
void artel__trace_thread(artel__trace *trace, int64_t thread, const char *name);

typedef struct artel__trace_span_record {
    int64_t thread;
    const char *category; /* "op", "step", "comm", "data", ... */
    const char *name;
    int64_t begin_ns, end_ns;
    const char *arguments; /* a JSON object, or NULL */
} artel__trace_span_record;

/* Something that took time. */
void artel__trace_span(artel__trace *trace, const artel__trace_span_record *span);
/* Something that happened. */
void artel__trace_instant(artel__trace *trace, int64_t thread, const char *name, int64_t at_ns);
/* A quantity over time. */
void artel__trace_counter(artel__trace *trace, const char *name, int64_t at_ns, double value);

typedef enum artel__trace_flow_end {
    ARTEL__TRACE_FLOW_BEGIN,
    ARTEL__TRACE_FLOW_STEP,
    ARTEL__TRACE_FLOW_END
} artel__trace_flow_end;

/* One end of an arrow, from a send to its receive: both have the same name and id and lie inside a span. */
void artel__trace_flow(artel__trace *trace, artel__trace_flow_end end, int64_t thread, uint64_t id, int64_t at_ns);

/* Writes out what has gathered (64 KiB do so by themselves). */
void artel__trace_flush(artel__trace *trace);

#endif
