/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that may work in a cluster, and opening it. */
#ifndef ARTEL_CLI_CLUSTER_H
#define ARTEL_CLI_CLUSTER_H

#include "artel/cluster.h"
#include "cli/cli.h"

typedef struct artel__cluster_choice {
    const char *resolver, *file, *task, *rendezvous, *service, *bind, *cert_dir, *wait, *timeout, *suspect,
        *post_mortem;
    int64_t workers, port, min_workers;
    int on_preempt; /* of artel__preempt_words */
    bool insecure_network, shared_memory;
} artel__cluster_choice;

extern const char *const artel__preempt_words[];

/* Entries of an option table; AT(field) is the offset of a field of the command's struct, which has the choice as
 * `cluster`. */
#define ARTEL__CLUSTER_OPTIONS                                                                                         \
    {"resolver",                                                                                                       \
     "who describes the cluster: auto, file, tf-config, kubernetes, torchrun, mpi, slurm, none",                       \
     ARTEL__OPTION_STRING,                                                                                             \
     AT(cluster.resolver),                                                                                             \
     "auto",                                                                                                           \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL},                                                                                                            \
        {"cluster-file",                                                                                               \
         "a description of the cluster: JSON, or a line HOST:PORT for each worker",                                    \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.file),                                                                                             \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"task",                                                                                                       \
         "which task this is, where TF_CONFIG or the file leaves it open: worker:1",                                   \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.task),                                                                                             \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"rendezvous",                                                                                                 \
         "HOST:PORT of rank 0, where the launcher does not say",                                                       \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.rendezvous),                                                                                       \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"service", "the headless service of an indexed Job", ARTEL__OPTION_STRING, AT(cluster.service), "null", 0, 0, \
         NULL},                                                                                                        \
        {"workers", "completions of an indexed Job", ARTEL__OPTION_INT, AT(cluster.workers), "null", 1, 131072, NULL}, \
        {"port",                                                                                                       \
         "first port where launchers name hosts only; null: 8888",                                                     \
         ARTEL__OPTION_INT,                                                                                            \
         AT(cluster.port),                                                                                             \
         "null",                                                                                                       \
         1,                                                                                                            \
         65535,                                                                                                        \
         NULL},                                                                                                        \
        {"bind",                                                                                                       \
         "address to listen on; null: loopback when this task's address is, else all",                                 \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.bind),                                                                                             \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"cert-dir",                                                                                                   \
         "folder with this task's certificate, from artel cert: encrypts everything between tasks",                    \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.cert_dir),                                                                                         \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"insecure-network",                                                                                           \
         "allow plaintext beyond this machine",                                                                        \
         ARTEL__OPTION_BOOL,                                                                                           \
         AT(cluster.insecure_network),                                                                                 \
         "false",                                                                                                      \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"shared-memory",                                                                                              \
         "exchange with tasks of the same host and user through memory",                                               \
         ARTEL__OPTION_BOOL,                                                                                           \
         AT(cluster.shared_memory),                                                                                    \
         "true",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"wait-for-cluster",                                                                                           \
         "how long to wait for tasks that are not up: 30s, 10min",                                                     \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.wait),                                                                                             \
         "10min",                                                                                                      \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"min-workers",                                                                                                \
         "begin with so many when --wait-for-cluster is over, wait for more below; null: all begin, any number goes "  \
         "on",                                                                                                         \
         ARTEL__OPTION_INT,                                                                                            \
         AT(cluster.min_workers),                                                                                      \
         "null",                                                                                                       \
         1,                                                                                                            \
         4096,                                                                                                         \
         NULL},                                                                                                        \
        {"suspect-after",                                                                                              \
         "how long a task may be silent before the others go on without it",                                           \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.suspect),                                                                                          \
         "2s",                                                                                                         \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"on-preempt",                                                                                                 \
         "SIGTERM to one task: leave (the others go on), or save (all save the same step and end)",                    \
         ARTEL__OPTION_ENUM,                                                                                           \
         AT(cluster.on_preempt),                                                                                       \
         "leave",                                                                                                      \
         0,                                                                                                            \
         0,                                                                                                            \
         artel__preempt_words},                                                                                        \
        {"post-mortem",                                                                                                \
         "folder for a file of what this task knew of the job, written when that ends badly; none: no file",           \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(cluster.post_mortem),                                                                                      \
         ".",                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
    {                                                                                                                  \
        "collective-timeout", "how long a task may be in one part of a step before it fails", ARTEL__OPTION_STRING,    \
            AT(cluster.timeout), "10min", 0, 0, NULL                                                                   \
    }

/* Seconds of "500ms", "2s", "10min", "1h" or a bare number of seconds; negative when it is none of these. */
double artel__cli_seconds(const char *text);
/* The same of an option's value; NULL leaves *out alone. */
artel_status artel__cli_read_seconds(artel__invocation *call, const char *option, const char *text, double *out);

/* With --strategy multi-worker or parameter-server: the cluster this process was started in, else NULL. */
artel_status artel__cli_open_cluster(artel__invocation *call, const char *strategy, const artel__cluster_choice *choice,
                                     artel_cluster **out);

#endif
