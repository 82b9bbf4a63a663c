/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: what a resolver is, and what resolvers share. */
#ifndef ARTEL_CLUSTER_RESOLVER_H
#define ARTEL_CLUSTER_RESOLVER_H

#include "base/json.h"
#include "cluster/cluster.h"

/* What resolvers are asked with: environment and options, the latter completed from ARTEL_ variables. */
typedef struct artel__resolver_input {
    artel_context *ctx;
    artel__environment_fn *environment;
    void *user;
    artel__cluster_options options;
} artel__resolver_input;

typedef struct artel__resolver {
    const char *name;
    /* Whether this launcher started the process. */
    bool (*applies)(const artel__resolver_input *in);
    /* Fills a cluster that the caller seals; the resolver calls artel__cluster_init first, and on failure leaves it to
     * the caller to finish. */
    artel_status (*resolve)(const artel__resolver_input *in, artel__cluster *out);
} artel__resolver;

extern const artel__resolver artel__resolver_file, artel__resolver_tf_config, artel__resolver_kubernetes,
    artel__resolver_torchrun, artel__resolver_mpi, artel__resolver_slurm;

/* A variable's value; NULL when it is unset or empty. */
const char *artel__resolver_get(const artel__resolver_input *in, const char *name);
/* The first of `names` (NULL-terminated) that is set, and its value in *out_value; NULL when none is. */
const char *artel__resolver_first(const artel__resolver_input *in, const char *const *names, const char **out_value);
/* A whole number from `least` to `most`; a missing variable is an error too. */
typedef struct artel__resolver_number {
    const char *name;
    int64_t least, most;
} artel__resolver_number;
artel_status artel__resolver_int(const artel__resolver_input *in, const artel__resolver_number *wanted, int64_t *out);

/* Jobs and task of TF_CONFIG's form into `out`: {"worker": [...], "ps": {"1": ...}}. */
artel_status artel__resolver_add_jobs(artel__cluster *out, const json_t *jobs);
artel_status artel__resolver_set_task(artel__cluster *out, const json_t *task);
/* options.task into `out`. */
artel_status artel__resolver_set_given_task(artel__cluster *out, const char *text);

/* Fails, alone with ARTEL_ERROR_UNSUPPORTED, when a launcher that no resolver reads has started this process as one of
 * several (resolve_unread.c). */
artel_status artel__resolver_refuse_unread(const artel__resolver_input *in);

/* `count` workers of unknown address, of which this is `rank`. */
artel_status artel__resolver_add_unknown(artel__cluster *out, int64_t rank, int64_t count);
/* Checks "host:port" (or a host, then with `port`) and keeps it as the rendezvous. `from` is the variable that said so.
 */
artel_status artel__resolver_set_rendezvous(artel__cluster *out, const char *from, const char *text, int port);

/* -- Slurm's lists -- */

/* The hosts that a list such as "r[0-1]n[08-11],login" stands for, in its order; nothing is sorted or dropped.
 * A list in brackets may hold numbers, ranges (the width of the first number is kept) and lists in brackets; several
 * brackets multiply, in Slurm's order: the last runs fastest, then the first, the second, ... At most
 * ARTEL__CLUSTER_MAX_TASKS hosts, counted before memory is taken. */
typedef struct artel__hostlist {
    const char **host; /* in the arena */
    int count;
} artel__hostlist;
artel_status artel__hostlist_expand(artel__arena *arena, const char *where, const char *text, artel__hostlist *out);

/* "3(x2),1" is 3, 3, 1. */
typedef struct artel__counts {
    int32_t *item; /* in the arena */
    int count;
    int64_t total;
} artel__counts;
artel_status artel__counts_expand(artel__arena *arena, const char *where, const char *text, artel__counts *out);

#endif
