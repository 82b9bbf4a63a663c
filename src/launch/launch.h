/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster of processes on this machine, or begun from it on others: planned, described, run to its end.
 *
 * Life: open (tasks and their ports), set_program (what each runs), then describe, or prepare and run; close.
 * A port is reserved for the whole run, restarts included: the launcher keeps a socket bound to it that does not
 * listen. The task binds the same port, which the kernel allows to sockets with SO_REUSEADDR; no other program is given
 * it. Belongs to one thread. The library sets no signal handler: signals reach a running launcher as bytes on a
 * descriptor.
 */
#ifndef ARTEL_LAUNCH_LAUNCH_H
#define ARTEL_LAUNCH_LAUNCH_H

#include "cluster/cluster.h"
#include "cluster/status.h"
#include "launch/process.h"

#define ARTEL__LAUNCH_MAX_TASKS 1024

typedef struct artel__launch_wish {
    int workers; /* the chief among them */
    int ps;
    bool chief, evaluator;
    int cores;               /* of this machine, for all tasks together */
    int threads;             /* of each task; 0: cores / tasks, at least 1 */
    bool pin;                /* each task to cores of its own, as far as there are enough */
    const char *const *host; /* machines, as a remote shell takes them, in turn for the tasks; hosts 0: this one */
    int hosts;
    int port;          /* of the first task of each machine; the next one has the next */
    const char *shell; /* "ssh -o BatchMode=yes" */
    const char *artel; /* this program, there */
    const char *self;  /* and here */
    bool insecure;     /* no certificates */
    bool certified;    /* make certificates for the run; else `cert_dir`, or none */
    const char *cert_dir;
    const char *const *environment; /* NAME=value, NULL-terminated; kept */
} artel__launch_wish;

typedef struct artel__launch_task {
    artel__task task;  /* an evaluator is no member of the cluster and has no address */
    const char *label; /* "worker 1" */
    const char *name;  /* "worker:1" */
    const char *const *words, *const *environment;
    const int *core; /* pinned to; cores 0: any */
    int cores;
    int port; /* the socket that reserves it, or -1 */
    int host; /* of the wish; -1: this machine */
} artel__launch_task;

typedef struct artel__launch {
    artel_context *ctx;
    artel__arena arena;
    artel__launch_wish wish;
    artel__cluster cluster;
    artel__launch_task *task; /* in the cluster's order, the evaluator last */
    int tasks;
    int threads;        /* of each task */
    const char *folder; /* of this run's certificates, or NULL */
    artel__guard guard;
} artel__launch;

/* Errors: INVALID (too many tasks), IO (no ports, no descriptors). After a failure nothing is to be closed. */
artel_status artel__launch_open(artel_context *ctx, const artel__launch_wish *wish, artel__launch *out);
/* Makes folder, guard and certificates, or checks those that were given. Errors: those of net/cert.h; after
 * UNSUPPORTED, for want of the part, it may be called again without `certified`. */
artel_status artel__launch_prepare(artel__launch *launch);
/* `words`: path of a program and its arguments, NULL-terminated, borrowed. After prepare, if that is called at all.
 * Each task sees TF_CONFIG, ARTEL_TASK, ARTEL_THREADS (unless set), ARTEL_CERT_DIR or ARTEL_INSECURE_NETWORK; variables
 * of another cluster are taken away (ARTEL_CLUSTER_FILE, ARTEL_RESOLVER, ARTEL_RENDEZVOUS, ARTEL_SERVICE,
 * ARTEL_WORKERS, ARTEL_PORT). */
artel_status artel__launch_set_program(artel__launch *launch, const char *const *words);
/* What would be started: for each task a line "# worker 1" and a command for a shell. */
void artel__launch_describe(const artel__launch *launch, artel__text *out);
/* How task i is asked for its status (status.h); strings live in the launch's arena. After prepare. */
artel_status artel__launch_question(artel__launch *launch, int i, artel__status_request *out);
/* Releases ports and removes certificates; a cleared one is accepted. */
void artel__launch_close(artel__launch *launch);

typedef struct artel__launch_run_options {
    int restarts;        /* of each task */
    bool together;       /* the tasks work at one result: see job.h */
    bool verdicts;       /* codes 1 and 2 are final: likewise */
    int needed;          /* of a job together, to begin: likewise */
    int served_to_begin; /* of its ps tasks: likewise */
    int served_to_go_on; /* of its ps tasks: likewise */
    bool json;           /* events of tasks go through unchanged, see output.h */
    int control;         /* bytes read here are signals to the launcher: SIGINT, SIGTERM, ...; -1: none */
    int out, err;        /* where output goes */
    bool colour[2];      /* of out and err */
    void (*in_child)(void *user);
    void (*suspend)(
        void *user); /* on SIGTSTP, when all tasks are stopped; they go on when it returns. NULL: not heard */
    void *user;
} artel__launch_run_options;

/* Starts all tasks and returns when they have ended and their output is written. Notes go to `err`. What ends a task is
 * no error here: *out_code is the exit code by the rule of job.h, or 2 when all was well and output could not be
 * written. Errors: NOT_FOUND, INVALID, IO when a task could not be started for the first time; all are ended then. */
artel_status artel__launch_run(artel__launch *launch, const artel__launch_run_options *options, int *out_code);

#endif
