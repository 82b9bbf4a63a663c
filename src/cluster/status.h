/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a running task from outside the job: how is it, please leave. `artel status` and `artel drain` ask them.
 *
 * They come to the task's one port, as control connections whose greeting names no job (0: whoever asks knows none);
 * over TLS the asker needs a certificate of the cluster's authority like anybody else. A question is one control
 * message, "status" or "drain"; the answer is one, a JSON object, after which the asker ends the connection. An asker
 * becomes no member of anything: the desk below is all that it ever reaches.
 *
 * The answer: {"artel": version, "task": "worker:1", "job": 16 hex digits, "pid", "state": "running", "running": bool,
 * "leaving": bool, "generation", "members", "step", "cause": text or null, "total": tasks, "tasks": [{"task",
 * "address", "self", "linked", "member", "replicas", "step", "phase", "phase_ms", "heard_ms", "busy": share or null,
 * "why"}, ...]}, and "servers" with parameter servers; to a question that is not known
 * {"error": text}. `tasks` is cut where it would not fit into a control message. Readers skip fields they do not know.
 */
#ifndef ARTEL_CLUSTER_STATUS_H
#define ARTEL_CLUSTER_STATUS_H

#include "base/text.h"
#include "net/connection.h"

enum {
    ARTEL__STATUS_ASKERS = 8 /* at a time; the oldest gives way */
};

/* A task as the one that answers sees it. */
typedef struct artel__status_task {
    const char *name;    /* "worker:1" */
    const char *address; /* "": not known */
    const char *phase;   /* "compute", ...; "" when unknown */
    const char *why;     /* it could not be reached last time; "" */
    bool self, linked, member;
    int replicas;
    uint64_t step;
    int64_t phase_ns, heard_ns; /* in that phase; since it was heard last */
    double busy; /* share of the last seconds in which it worked and did not wait for others; -1: not known */
} artel__status_task;

/* What one task knows of its job. */
typedef struct artel__status {
    const char *state; /* one word */
    const char *cause; /* why the job has failed; NULL */
    bool running;      /* it is a member of a generation that trains, or has finished in order */
    bool leaving;      /* it was asked to leave */
    uint64_t job, generation, step;
    const artel__status_task *task;
    int tasks, self;     /* entry of this process */
    const char *servers; /* a JSON object: what this task knows of parameter servers' variables; NULL: nothing */
} artel__status;

/* Where answers come from: called by the thread that moves the desk. */
typedef struct artel__status_source {
    void (*look)(void *user, artel__status *out); /* what it points to holds until the next call */
    void (*drain)(void *user);                    /* as SIGTERM: this task leaves in order, or all save and end */
    void *user;
} artel__status_source;

/* The askers of one process. Zero it; belongs to one thread. */
typedef struct artel__status_desk {
    struct artel__status_asker {
        artel__connection *connection;
        int64_t deadline_ns;
    } asker[ARTEL__STATUS_ASKERS];
    int count;
} artel__status_desk;

/* Whether a connection that a listener has handed out is an asker's, for the desk to take. */
bool artel__status_asks(const artel__connection *connection);
/* Takes it. */
void artel__status_desk_take(artel__status_desk *desk, artel__connection *connection, int64_t now);
/* Hears, answers, and ends those that take longer than 5 s. Does not block. */
void artel__status_desk_progress(artel__status_desk *desk, const artel__status_source *source, int64_t now);
void artel__status_desk_close(artel__status_desk *desk);

/* The answer to a question of `count` bytes; exposed for tests. */
artel_status artel__status_answer(const artel__status_source *source, const void *question, size_t count,
                                  artel__text *out);

/* -- asking -- */

typedef struct artel__status_request {
    const char *address;   /* host:port */
    const char *question;  /* "status", "drain" */
    const char *cert_dir;  /* NULL: in plaintext, which works on this machine */
    const char *name;      /* whose certificate of cert_dir; NULL: the folder's own, else `operator` */
    bool insecure_network; /* plaintext anywhere */
    double timeout;        /* seconds for everything; looking up a name may take longer */
} artel__status_request;

/* Asks and waits for the answer, appended to `out` as it came. Errors: ARTEL_ERROR_RUN (nobody answers, not in time),
 * ARTEL_ERROR_INVALID (address, certificate, refused there), ARTEL_ERROR_NOT_FOUND (no such host, no certificate). */
artel_status artel__status_ask(artel_context *ctx, const artel__status_request *request, artel__text *out);

#endif
