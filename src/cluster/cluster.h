/* SPDX-License-Identifier: Apache-2.0 */
/* Who is who: the tasks of a job, which of them this process is, and where they listen.
 *
 * A cluster is a list of tasks in one fixed order: chief, workers by index, parameter servers by index, evaluator. The
 * chief and the workers train; their place in that order is their rank. Launchers differ in what they tell: TF_CONFIG
 * and Slurm name every address, torchrun and MPI only how many there are, which of them this is and where rank 0 can
 * be met (`rendezvous`); the others' addresses are then NULL and are learnt when they register.
 *
 * A cluster is built by a resolver (artel__cluster_resolve) or by hand: init, add, seal; then it is read-only and may
 * be read by any thread. The rules and the chief rule are those of TensorFlow's multi_worker_util.py.
 */
#ifndef ARTEL_CLUSTER_CLUSTER_H
#define ARTEL_CLUSTER_CLUSTER_H

#include "base/arena.h"
#include "base/text.h"

#define ARTEL__CLUSTER_MAX_TASKS 131072
#define ARTEL__CLUSTER_MAX_INDEX 0x7ffffffe
#define ARTEL__CLUSTER_PORT \
    8888 /* where launchers name hosts only: this and the ports after it, as TensorFlow on Slurm */
#define ARTEL__HOST_MAX 255

typedef enum artel__task_type {
    ARTEL__TASK_CHIEF,
    ARTEL__TASK_WORKER,
    ARTEL__TASK_PS,
    ARTEL__TASK_EVALUATOR,
    ARTEL__TASK_COUNT
} artel__task_type;

typedef struct artel__task {
    artel__task_type type;
    int32_t index;       /* within its type; see `sparse` and `gaps` */
    const char *address; /* "host:port" or "[v6]:port"; NULL when only the rendezvous is known */
} artel__task;

typedef struct artel__cluster {
    artel__arena arena;
    const char *where;    /* for messages: the variable or file that said it: "TF_CONFIG" */
    const char *resolver; /* which resolver answered: "tf-config"; "none" when none did */
    artel__task *task;    /* in the order above once sealed */
    int tasks, capacity;
    int count[ARTEL__TASK_COUNT]; /* of each type */
    int trainers;                 /* chief and workers: the first so many tasks */
    artel__task self;             /* this process; an evaluator may be missing from `task` */
    int self_at;                  /* its place in `task`, or -1 */
    int rank;                     /* the chief's is 0, a worker's its place behind the chief; -1 for ps and evaluator */
    bool single;                  /* this process trains alone: nobody to talk to */
    bool is_chief;                /* writes outputs: chief, or rank 0 without one, or an evaluator */
    bool sparse;                  /* the description leaves tasks out; there may be more */
    bool gaps;                    /* it lists all, by indices of which some are left out: ranks count those there are */
    const char *rendezvous;       /* "host:port" of rank 0 where addresses are unknown, else NULL */
    int local_rank, local_count;  /* among the tasks on this host, as the launcher counts them; -1 and 0 when unknown */
    const char *environment;      /* TF_CONFIG's: "cloud", or NULL */
} artel__cluster;

/* -- names and addresses -- */

/* "chief", "worker", "ps", "evaluator". */
const char *artel__task_type_name(artel__task_type type);
/* A task type by its exact name ("master" is TensorFlow 1's chief); false when there is no such type. */
bool artel__task_type_find(const char *name, artel__task_type *out);
/* "worker:1", "worker-1" or "worker/1"; a bare "chief" or "evaluator" means index 0. False when it is not a task. */
bool artel__task_parse(const char *text, artel__task *out);

/* An address taken apart. */
typedef struct artel__host_port {
    char host[ARTEL__HOST_MAX + 1]; /* without brackets */
    int port;                       /* 1 to 65535 */
    bool v6;                        /* the host is an IPv6 address */
} artel__host_port;

/* Reads "host:port", "[v6]:port" or either after "grpc://". NULL, or what is wrong with it (a constant phrase). */
const char *artel__host_port_parse(const char *text, artel__host_port *out);
/* Whether it is a DNS name, neither a number nor "localhost". */
bool artel__host_is_name(const char *host);
/* The form kept in tasks; in the arena, NULL when memory is out. */
const char *artel__host_port_format(artel__arena *arena, const char *host, int port);

/* -- building -- */

/* `where` and `resolver` are copied. */
artel_status artel__cluster_init(artel_context *ctx, artel__cluster *cluster, const char *resolver, const char *where);
void artel__cluster_fini(artel__cluster *cluster); /* a cleared one is accepted */
/* Appends a task. `address` is checked and copied; NULL when unknown. Errors: INVALID (index, address, too many). */
artel_status artel__cluster_add(artel__cluster *cluster, artel__task_type type, int64_t index, const char *address);
void artel__cluster_set_self(artel__cluster *cluster, artel__task_type type, int32_t index);
/* Sorts, checks, and derives ranks. Each violation has its own message: two chiefs, two evaluators, an index twice, a
 * gap in a cluster that is not sparse, an address twice, no trainer, this task not in the cluster, its index too high.
 */
artel_status artel__cluster_seal(artel__cluster *cluster);

/* The place of a task in `task`, or -1. */
int artel__cluster_find(const artel__cluster *cluster, artel__task_type type, int32_t index);

/* -- showing -- */

/* Lines for people. */
void artel__cluster_describe(const artel__cluster *cluster, artel__text *out);
/* One JSON object on one line: resolver, where, task, rank, trainers, chief, single, rendezvous, cluster. */
artel_status artel__cluster_to_json(const artel__cluster *cluster, artel__text *out);
/* The TF_CONFIG of one of its tasks, as TensorFlow reads it; all addresses must be known. For launchers. */
artel_status artel__cluster_tf_config(const artel__cluster *cluster, const artel__task *task, artel__text *out);

/* -- resolving -- */

/* A variable's value or NULL. The text is read before the next call. */
typedef const char *artel__environment_fn(void *user, const char *name);

typedef struct artel__cluster_options {
    const char *resolver;   /* one of artel__resolver_names(), or NULL or "auto" for the order below */
    const char *file;       /* a static description (see resolve_file.c); NULL: ARTEL_CLUSTER_FILE, else none */
    const char *task;       /* this task, over what a file or TF_CONFIG says; NULL: ARTEL_TASK */
    const char *rendezvous; /* where rank 0 listens, for launchers that do not say; NULL: ARTEL_RENDEZVOUS */
    const char *service;    /* the headless service of an indexed Job; NULL: ARTEL_SERVICE */
    int workers;            /* completions of an indexed Job; 0: ARTEL_WORKERS */
    int port;               /* first port where only hosts are known; 0: ARTEL_PORT, else ARTEL__CLUSTER_PORT */
    const char *hostname;   /* this host's name, to find it in a file; NULL: asks the system */
    bool together; /* the tasks are to train one model: one of several that finds no other is an error, not a note */
} artel__cluster_options;

/* Describes the cluster this process was started in. The first of these that applies answers, and `out->resolver` says
 * which: a file that was named, TF_CONFIG, an indexed Job with a service, torchrun, MPI, Slurm; else "none", a cluster
 * of one. Slurm comes before MPI when both count the same tasks, for Slurm knows the hosts. A variable that is set but
 * empty counts as unset. Something that applies and is wrong is an error and never passed over. Errors: INVALID,
 * NOT_FOUND (file), CORRUPT (JSON). The caller finishes *out, on success only. */
artel_status artel__cluster_resolve(artel_context *ctx, artel__environment_fn *environment, void *user,
                                    const artel__cluster_options *options, artel__cluster *out);

/* For artel__cluster_resolve: the environment of the process. */
const char *artel__process_environment(void *user, const char *name);

/* "auto", "file", "tf-config", "kubernetes", "torchrun", "mpi", "slurm", "none"; NULL-terminated. */
const char *const *artel__resolver_names(void);

#endif
