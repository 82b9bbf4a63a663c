/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON lines of `--json`: one object a line, each written by a single write call as soon as it is complete.
 *
 * The first member of every object is "event". The fields of the known kinds are fixed here (and described in
 * docs/events.md); artel__event_begin and the field functions write others. Floats are spelled as Python does, so
 * NaN and Infinity may occur. Every function accepts a NULL sink and does nothing, so that callers need no condition.
 * A failed write is kept: artel__event_end and everything after it answers with it. A sink belongs to one thread.
 */
#ifndef ARTEL_OBSERVE_EVENTS_H
#define ARTEL_OBSERVE_EVENTS_H

#include "observe/number.h"

typedef struct artel__events artel__events;

typedef enum artel__events_detail {
    ARTEL__EVENTS_STEPS, /* --json: everything */
    ARTEL__EVENTS_EPOCHS /* --json=epochs: no `step` events */
} artel__events_detail;

/* Writes to `fd`, which stays the caller's (standard output for the command line). */
artel_status artel__events_create(artel_context *ctx, int fd, artel__events_detail detail, artel__events **out);
/* NULL is accepted. Answers with the first failure of a write. */
artel_status artel__events_destroy(artel__events *events);

/* --- Building one event --- */

/* Begins {"event": kind. An event that was begun and not ended is dropped. */
void artel__event_begin(artel__events *events, const char *kind);
/* Fields of the innermost open object; inside a list `key` is NULL. */
void artel__event_int(artel__events *events, const char *key, int64_t value);
void artel__event_float(artel__events *events, const char *key, double value);
void artel__event_bool(artel__events *events, const char *key, bool value);
/* A NULL string becomes null. */
void artel__event_string(artel__events *events, const char *key, const char *value);
/* `json` is taken as it is: one JSON value without line breaks. */
void artel__event_json(artel__events *events, const char *key, const char *json);
void artel__event_logs(artel__events *events, artel__logs logs);
void artel__event_strings(artel__events *events, const char *key, const char *const *items, size_t count);
void artel__event_object_begin(artel__events *events, const char *key);
void artel__event_object_end(artel__events *events);
void artel__event_list_begin(artel__events *events, const char *key);
void artel__event_list_end(artel__events *events);
/* Closes the object and writes the line. */
artel_status artel__event_end(artel__events *events);

/* --- The kinds that a run sends --- */

typedef struct artel__event_start {
    const char *role, *task; /* "chief", "worker", ...; "worker:0"; NULL task outside a cluster */
    int64_t pid;
    const char *strategy; /* the one chosen, never "auto" */
    int64_t replicas, threads, shards;
    const char *arithmetic;   /* the arithmetic class in short */
    const char *resumed_from; /* path of the checkpoint, or NULL */
} artel__event_start;

typedef struct artel__event_membership {
    int64_t generation;
    const char *const *members, *const *joined, *const *left; /* addresses or task names */
    size_t member_count, joined_count, left_count;
    const char *why;
    double pause_ms;
} artel__event_membership;

typedef struct artel__event_fault {
    int64_t rank;
    const char *host, *phase, *cause;
} artel__event_fault;

typedef struct artel__event_end_of_run {
    int64_t steps, examples;    /* of the whole job */
    double examples_per_second; /* of the whole job */
    double step_ms;             /* median, first step left out; NaN (written as null) with fewer than two steps */
    double first_step_ms;
    double start_ms; /* exec to the end of the first step */
    int64_t peak_rss_bytes;
    const char *digest;                    /* 64 hex digits */
    int programs_compiled, programs_found; /* of devices; both 0: not written */
} artel__event_end_of_run;

artel_status artel__events_start(artel__events *events, const artel__event_start *start);
/* `epoch` from 0; `step` counts the whole run, from 1. Nothing with ARTEL__EVENTS_EPOCHS. */
artel_status artel__events_step(artel__events *events, int64_t epoch, int64_t step, double loss);
/* `epoch` from 0 as in Keras' callbacks, then the logs by name. */
artel_status artel__events_epoch(artel__events *events, int64_t epoch, artel__logs logs);
/* The metrics by name, as Keras' evaluate(return_dict=True), and once more as the object "metrics". */
artel_status artel__events_evaluate(artel__events *events, int64_t step, artel__logs logs); /* step -1: not of a run */
artel_status artel__events_checkpoint(artel__events *events, const char *path, int64_t step);
artel_status artel__events_membership(artel__events *events, const artel__event_membership *membership);
/* How old the gradients of `updates` updates were, in updates. */
typedef struct artel__event_staleness {
    int64_t epoch, updates, median, most_90, most;
} artel__event_staleness;
artel_status artel__events_staleness(artel__events *events, const artel__event_staleness *staleness);
/* Which elements an epoch had (train/audit.h); each_once -1: its pass is not over. */
typedef struct artel__event_audit {
    int64_t epoch, elements;
    const char *digest, *order;
    int64_t rows, pass_elements;
    int each_once;
} artel__event_audit;
artel_status artel__events_audit(artel__events *events, const artel__event_audit *audit);
artel_status artel__events_fault(artel__events *events, const artel__event_fault *fault);
artel_status artel__events_end(artel__events *events, const artel__event_end_of_run *end);

#endif
